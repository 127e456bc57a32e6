//! Beginning, leaving and losing runs.

use egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::Queryable;
use lockgate::model::{BackendKind, Command, OperatorSpec, SourceKind, Uid};
use lockgate::run::RunAction;
use lockgate::ui::command::{Dialog, UiCommand};

use super::{Window, click, command, is_disabled, press, shows, speed_up, wait_for, window};

/// A run with a completed checkpoint, paused.
fn run_with_checkpoint(window: &mut Window) {
    command(window, UiCommand::OpenSample(1));
    click(window, "Run");
    speed_up(window);
    wait_for(window, "records", |window| shows(window, "in flight"));
    click(window, "Checkpoint");
    wait_for(window, "completion", |window| {
        shows(window, "Checkpoint 1 completed")
    });
    click(window, "Pause");
    window.run_steps(20);
}

fn finish(window: &mut Window) {
    click(window, "Run");
    speed_up(window);
    wait_for(window, "the end", |window| {
        shows(window, "The job has finished")
    });
}

fn backend_of(window: &Window) -> &'static str {
    if shows(window, "Backend: RocksDB") {
        "RocksDB"
    } else {
        "Heap"
    }
}

#[test]
fn another_backend_begins_only_from_the_beginning_and_says_why() {
    let mut window = window();
    run_with_checkpoint(&mut window);
    click(&mut window, "Backend: Heap");
    click(&mut window, "RocksDB: one database per subtask");
    assert!(shows(
        &window,
        "written by the heap backend; RocksDB cannot read them"
    ));
    assert!(!shows(&window, "From checkpoint"));
    assert!(shows(&window, "From the beginning"));
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(!shows(&window, "From the beginning"));
    assert!(shows(&window, "Checkpoint 1"), "the run is still there");
}

#[test]
fn the_present_backend_begins_a_new_run_from_a_checkpoint() {
    let mut window = window();
    run_with_checkpoint(&mut window);
    click(&mut window, "Backend: Heap");
    click(&mut window, "Heap: maps in memory");
    click(&mut window, "From checkpoint 1");
    wait_for(&mut window, "life", |window| {
        shows(window, ": busy") || shows(window, ": idle")
    });
    assert!(window.state().clock_us() < 1_000_000);
}

#[test]
fn a_start_that_fails_keeps_the_old_run() {
    let mut window = window();
    run_with_checkpoint(&mut window);
    let before = window.state().clock_us();
    let restart = UiCommand::RestartOn {
        backend: BackendKind::RocksDb,
        from: Some(lockgate::model::CheckpointId(1)),
    };
    command(&mut window, restart);
    wait_for(&mut window, "the refusal", |window| {
        shows(window, "The run does not start")
    });
    assert!(shows(&window, "was written by the"));
    press(&mut window, Modifiers::NONE, Key::Enter);
    assert!(!shows(&window, "The run does not start"));
    assert_eq!(window.state().clock_us(), before);
    assert_eq!(backend_of(&window), "Heap");
    click(&mut window, "Step");
}

#[test]
fn a_job_whose_file_is_missing_stays_in_the_editor() {
    let mut window = window();
    let uid = open_csv_sample(&mut window);
    let path = "no/such.csv".into();
    command(&mut window, UiCommand::SetCsvPath { uid, path });
    click(&mut window, "Run");
    wait_for(&mut window, "the message", |window| {
        shows(window, "The run does not start")
    });
    assert!(!window.state().is_running());
}

/// Open the first sample that reads a CSV file. Returns its source.
fn open_csv_sample(window: &mut Window) -> Uid {
    let nothing = Uid::new("");
    for index in 0..50 {
        command(window, UiCommand::OpenSample(index));
        let uid = csv_source(window);
        if uid != nothing {
            return uid;
        }
    }
    panic!("no sample reads a CSV file")
}

fn csv_source(window: &Window) -> Uid {
    let mut vertices = window.state().job().vertices.iter();
    let source = vertices.find(|vertex| {
        matches!(&vertex.operator, OperatorSpec::Source(source) if matches!(source.kind, SourceKind::Csv(_)))
    });
    source.map_or_else(|| Uid::new(""), |vertex| vertex.uid.clone())
}

#[test]
fn editing_parks_the_run_and_there_is_a_way_back() {
    let mut window = window();
    run_with_checkpoint(&mut window);
    let before = window.state().clock_us();
    press(&mut window, Modifiers::NONE, Key::F5);
    assert!(!window.state().is_running());
    // Where a card lies is not what runs.
    let to = lockgate::model::Position { x: 5.0, y: 5.0 };
    let uid = window.state().job().vertices[0].uid.clone();
    command(&mut window, UiCommand::MoveVertex { uid, to });
    click(&mut window, "Back to the run");
    assert_eq!(window.state().clock_us(), before);
    click(&mut window, "Edit the job");
    click(&mut window, "Add sink");
    assert!(!shows(&window, "Back to the run"));
    press(&mut window, Modifiers::COMMAND, Key::Z);
    assert!(shows(&window, "Back to the run"));
    click(&mut window, "Run");
    wait_for(&mut window, "the new run", |window| {
        shows(window, "in flight")
    });
    assert!(window.state().clock_us() < before);
}

#[test]
fn a_job_that_has_ended_can_only_be_looked_at_or_run_again() {
    let mut window = window();
    finish(&mut window);
    for label in ["Play", "Step", "Next barrier event", "Checkpoint", "Crash"] {
        assert!(is_disabled(&window, label), "{label} looks live");
    }
    let at = window.get_by_label("Step").rect().center();
    window.hover_at(at);
    window.run_steps(90);
    assert!(shows(&window, "The job has ended"));
    click(&mut window, "Step back");
    assert!(!is_disabled(&window, "Step"));
    press(&mut window, Modifiers::NONE, Key::End);
    let ended_at = window.state().clock_us();
    click(&mut window, "Run again");
    wait_for(&mut window, "the new run", |window| {
        shows(window, "in flight")
    });
    assert!(window.state().clock_us() < ended_at);
    assert!(!is_disabled(&window, "Restore"));
}

#[test]
fn a_restore_in_pause_says_how_it_goes_on() {
    let mut window = window();
    run_with_checkpoint(&mut window);
    let crash = Command::Crash {
        uid: Uid::new("sum"),
        subtask: 0,
    };
    command(&mut window, UiCommand::Act(RunAction::Command(crash)));
    wait_for(&mut window, "the failure", |window| {
        shows(window, "sum 1/2: failed")
    });
    press(&mut window, Modifiers::NONE, Key::R);
    wait_for(&mut window, "the hint", |window| {
        shows(window, "press Space to go on")
    });
}

#[test]
fn a_branch_says_where_it_was_left() {
    let mut window = window();
    run_with_checkpoint(&mut window);
    for _ in 0..5 {
        click(&mut window, "Step back");
    }
    let forked_us = window.state().clock_us();
    command(
        &mut window,
        UiCommand::Act(RunAction::Command(Command::Checkpoint)),
    );
    wait_for(&mut window, "a branch", |window| {
        shows(window, "1 other branch")
    });
    click(&mut window, "1 other branch");
    let millis = (forked_us + 500) / 1000;
    let (whole, thousandths) = (millis / 1000, millis % 1000);
    let left = format!("Branch left at {whole}.{thousandths:03}");
    assert!(shows(&window, &left), "{left}");
}

#[test]
fn the_way_back_fits_small_screens() {
    for size in [vec2(1280.0, 720.0), vec2(960.0, 600.0)] {
        let mut window = window();
        window.set_size(size);
        window.run_steps(3);
        click(&mut window, "Run");
        speed_up(&mut window);
        wait_for(&mut window, "the end", |window| shows(window, "Run again"));
        let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, size);
        assert!(screen.contains_rect(window.get_by_label("Run again").rect()));
        click(&mut window, "Edit the job");
        let back = window.get_by_label("Back to the run").rect();
        assert!(screen.contains_rect(back));
        assert!(back.right() < window.get_by_label("Checkpoint").rect().left());
        let next = window.get_by_label("Next barrier event").rect();
        assert!(next.right() < window.get_by_label("Checkpoint").rect().left());
    }
}

#[test]
fn the_list_of_keys_fits_and_later_dialogs_are_small_again() {
    let mut window = window();
    let size = vec2(1280.0, 720.0);
    window.set_size(size);
    window.run_steps(2);
    press(&mut window, Modifiers::NONE, Key::F1);
    let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, size);
    assert!(screen.contains_rect(window.get_by_label("Close").rect()));
    press(&mut window, Modifiers::NONE, Key::Enter);
    assert!(!shows(&window, "Keyboard shortcuts"));
    let message = |text: &str| {
        UiCommand::Show(Dialog::Message {
            title: "Title".to_owned(),
            text: text.to_owned(),
        })
    };
    let height = |window: &Window| {
        let top = window.get_by_label("Title").rect().top();
        window.get_by_label("Close").rect().bottom() - top
    };
    command(&mut window, message(&"A long sentence. ".repeat(60)));
    let long = height(&window);
    press(&mut window, Modifiers::NONE, Key::Escape);
    command(&mut window, message("Short."));
    assert!(height(&window) < 130.0 && height(&window) < long);
}
