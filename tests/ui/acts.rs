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

/// Let the present job name `path` as its savepoint folder: the dialog begins with it.
fn name_savepoints(window: &mut Window, path: &str) {
    let mut config = window.state().job().config.clone();
    config.savepoint_dir = Some(path.into());
    command(window, UiCommand::SetConfig(Box::new(config)));
}

#[test]
fn a_job_starts_from_a_savepoint_that_it_fits_and_says_why_from_one_that_it_does_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = window();
    command(
        &mut window,
        UiCommand::SaveFile(folder.path().join("job.ron")),
    );
    name_savepoints(&mut window, "saved");
    click(&mut window, "Run");
    wait_for(&mut window, "the run", |window| shows(window, "sum 1/2:"));
    press(&mut window, Modifiers::NONE, Key::S);
    let saved = || {
        let mut entries = std::fs::read_dir(folder.path().join("saved")).ok()?;
        let entry = entries.find_map(Result::ok)?.path();
        entry.join("_metadata").is_file().then_some(entry)
    };
    wait_for(&mut window, "the savepoint", |_| saved().is_some());
    let path = saved().expect("the savepoint").display().to_string();
    click(&mut window, "Edit the job");

    name_savepoints(&mut window, &path);
    command(&mut window, UiCommand::RunFromDialog);
    assert!(shows(&window, "canonical savepoint 1, of Heap"));
    assert!(shows(&window, "It can start from there."));
    click(&mut window, "Run from it");
    wait_for(&mut window, "the new run", |window| {
        shows(window, "sum 1/2:") && window.state().is_running()
    });
    click(&mut window, "Edit the job");

    let uid = lockgate::model::Uid::new("sum");
    let mut vertex = window.state().job().vertex(&uid).cloned().expect("a sum");
    vertex.uid = lockgate::model::Uid::new("total");
    let vertex = Box::new(vertex);
    command(&mut window, UiCommand::SetVertex { uid, vertex });
    command(&mut window, UiCommand::RunFromDialog);
    assert!(shows(&window, "there is no operator for that state"));
    assert!(window.query_by_label("Run from it").is_none());
    click(
        &mut window,
        "Leave out state of operators that this job does not have",
    );
    assert!(shows(&window, "It can start from there."));
}

#[test]
fn a_folder_that_is_no_savepoint_is_told_in_the_dialog() {
    let mut window = window();
    name_savepoints(&mut window, "no/such/folder");
    click(&mut window, "File");
    click(&mut window, "Run from savepoint…");
    assert!(window.query_by_label("Run from it").is_none());
    assert!(shows(&window, "no/such/folder"));
}

/// Breaks if what can crash nothing stays on the screen.
#[test]
fn a_job_that_has_ended_has_nothing_to_crash() {
    let mut window = running();
    command(&mut window, UiCommand::Select(Selection::None));
    press(&mut window, Modifiers::NONE, Key::X);
    assert!(window.state().is_armed());
    click(&mut window, "Savepoints and stopping");
    click(&mut window, "Cancel the job");
    wait_for(&mut window, "the end", |window| {
        shows(window, "The job was canceled")
    });
    assert!(!window.state().is_armed());
}

/// Breaks if whoever has said that the changes may go is asked again when the path is typed.
#[test]
fn opening_by_path_asks_once_about_unsaved_changes() {
    let mut window = window();
    let mut config = window.state().job().config.clone();
    config.seed = 7;
    command(&mut window, UiCommand::SetConfig(Box::new(config)));
    command(&mut window, UiCommand::OpenByPath);
    assert!(shows(&window, "Save the changes to"));
    click(&mut window, "Don’t save");
    assert!(shows(&window, "Open a job file"));
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/rescale.ron");
    command(&mut window, UiCommand::OpenFile(sample.into()));
    assert!(!shows(&window, "Save the changes to"));
    assert_eq!(window.state().job().name, "rescale");
}
