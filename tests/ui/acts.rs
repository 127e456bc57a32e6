//! Savepoints, ways to end a job, and everything that can go wrong in it: each is an item of a menu.

use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;
use lockgate::ui::command::Selection;
use lockgate::ui::command::UiCommand;

use super::{Window, click, click_part, command, is_disabled, press, shows, wait_for, window};

fn running() -> Window {
    let mut window = window();
    click(&mut window, "Run");
    wait_for(&mut window, "the run", |window| shows(window, "sum 1/2:"));
    window
}

#[test]
fn while_editing_the_menus_are_shut() {
    let window = window();
    for arrow in ["Savepoints and stopping", "More failures", "Restore from"] {
        assert!(is_disabled(&window, arrow), "{arrow}");
    }
}

#[test]
fn the_job_is_ended_from_the_menu_beside_checkpoint() {
    let mut window = running();
    click(&mut window, "Savepoints and stopping");
    for item in [
        "Savepoint, canonical S",
        "Savepoint, native",
        "Stop with savepoint",
        "Stop with savepoint, and drain",
        "Cancel with savepoint",
        "Suspend the job",
    ] {
        assert!(!is_disabled(&window, item), "{item}");
    }
    click(&mut window, "Cancel the job");
    wait_for(&mut window, "the end", |window| {
        shows(window, "The job was canceled")
    });
    assert!(is_disabled(&window, "Checkpoint"));
}

#[test]
fn a_fault_needs_a_subtask_and_only_a_committing_sink_can_fail_to_commit() {
    let mut window = running();
    command(&mut window, UiCommand::Select(Selection::None));
    click(&mut window, "More failures");
    assert!(is_disabled(&window, "Crash the selected subtask X"));
    assert!(shows(&window, "Select a subtask first"));
    press(&mut window, Modifiers::NONE, Key::Escape);
    click_part(&mut window, "sum 1/2:");
    click(&mut window, "More failures");
    assert!(!is_disabled(&window, "Crash sum 1/2 X"));
    assert!(!is_disabled(&window, "Failure in the synchronous part"));
    assert!(is_disabled(&window, "Failure in the commit"));
    click(&mut window, "Crash sum 1/2 X");
    wait_for(&mut window, "the failure", |window| {
        shows(window, "sum 1/2: failed")
    });
}

#[test]
fn several_subtasks_are_chosen_in_a_dialog() {
    let mut window = running();
    command(&mut window, UiCommand::Select(Selection::None));
    click(&mut window, "More failures");
    click(&mut window, "Crash several subtasks…");
    assert!(window.query_by_label("Crash 1 subtask").is_none());
    click(&mut window, "sum 1/2");
    click(&mut window, "out 1/1");
    click(&mut window, "Crash 2 subtasks");
    assert!(!shows(&window, "They fail in the same moment"));
}

#[test]
fn a_task_manager_takes_its_slots_along() {
    let mut window = running();
    click(&mut window, "More failures");
    // One slot each: the first holds the source, a sum and the sink.
    assert!(shows(&window, "Crash TaskManager 1 (3 subtasks)"));
    assert!(shows(&window, "Crash TaskManager 2 (1 subtask)"));
}
