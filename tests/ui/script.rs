//! The job's script is written in the window: commands are added, changed, moved, deleted, and each step is undone.

use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use lockgate::model::{Command, FaultKind, ScriptEntry, When};
use lockgate::ui::command::{Selection, UiCommand};

use super::{Role, Window, click, click_part, command, press, shows, wait_for, window};

fn script(window: &Window) -> &[ScriptEntry] {
    &window.state().job().script
}

/// A window whose job has no script yet, with the group of settings open.
fn editor() -> Window {
    let mut window = window();
    command(&mut window, UiCommand::Select(Selection::None));
    while !script(&window).is_empty() {
        let edit = lockgate::ui::command::ScriptEdit::Delete(0);
        command(&mut window, UiCommand::EditScript(edit));
    }
    click(&mut window, "Script");
    window.run_steps(20);
    window
}

fn choose(window: &mut Window, label: &str, option: &str) {
    let mut nodes = window.query_all_by_label(label);
    let combo = nodes.find(|node| node.accesskit_node().role() == Role::ComboBox);
    assert!(combo.is_some(), "{label} is a list");
    if let Some(combo) = combo {
        combo.scroll_to_me();
        combo.click();
    }
    drop(nodes);
    window.run_steps(3);
    click(window, option);
}

#[test]
fn a_command_is_added_changed_moved_and_deleted_and_each_step_undone() {
    let mut window = editor();
    click(&mut window, "Add a command");
    assert_eq!(script(&window).len(), 1);
    choose(&mut window, "What", "crash a subtask");
    let Command::Crash { uid, subtask: 0 } = &script(&window)[0].command else {
        panic!("{:?}", script(&window));
    };
    assert_eq!(uid.as_str(), "sum", "what has state is worth losing");
    choose(&mut window, "When", "records emitted");
    assert!(matches!(script(&window)[0].when, When::Emitted { .. }));
    click(&mut window, "Add a command");
    assert_eq!(script(&window)[1].command, Command::Checkpoint);
    click(&mut window, "Up");
    assert_eq!(script(&window)[0].command, Command::Checkpoint);
    let before = script(&window).to_vec();
    click(&mut window, "Delete command");
    assert_eq!(script(&window), &before[1..]);
    press(&mut window, Modifiers::COMMAND, Key::Z);
    assert_eq!(script(&window), before);
    press(&mut window, Modifiers::COMMAND, Key::Z);
    assert_eq!(script(&window)[1].command, Command::Checkpoint);
    press(&mut window, Modifiers::COMMAND, Key::Y);
    assert_eq!(script(&window), before);
}

#[test]
fn what_a_command_lacks_is_said_below_it() {
    let mut window = editor();
    click(&mut window, "Add a command");
    choose(&mut window, "What", "take a savepoint");
    assert!(shows(&window, "the job has no savepoint folder"));
}

#[test]
fn how_long_a_fault_takes_is_chosen_in_the_menu() {
    let mut window = window();
    click(&mut window, "Run");
    wait_for(&mut window, "the run", |window| shows(window, "sum 1/2:"));
    click_part(&mut window, "sum 1/2:");
    click(&mut window, "More failures");
    assert!(shows(&window, "Slow storage, 2 s"));
    let time = "Time of slow storage";
    window.get_by_label(time).click();
    window.run_steps(3);
    // Its digits are chosen: what is typed takes their place.
    window.event(egui::Event::Text("700".to_owned()));
    window.run_steps(2);
    press(&mut window, Modifiers::NONE, Key::Enter);
    assert!(
        shows(&window, "Slow storage, 700 ms"),
        "the menu stays open"
    );
    click(&mut window, "Slow storage, 700 ms");
    assert!(!shows(&window, "Inject at"), "an item closes it");
    wait_for(&mut window, "the fault", |window| {
        shows(
            window,
            &format!("armed: {}", FaultKind::StorageSlow { by_ms: 700 }.name()),
        )
    });
}
