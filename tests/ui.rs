//! The window as a person uses it: the real app, driven by what is on screen, found by its label.

#[path = "ui/acts.rs"]
mod acts;
#[path = "ui/keys.rs"]
mod keys;
#[path = "ui/runs.rs"]
mod runs;
#[path = "ui/script.rs"]
mod script;
#[path = "ui/settings.rs"]
mod settings;
#[path = "ui/states.rs"]
mod states;
#[path = "ui/storage.rs"]
mod storage;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use egui::accesskit::Role;
use egui::{Key, Modifiers, Vec2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use egui_kittest::{Harness, Node};
use lockgate::model::{JobGraph, KeyExpr, OperatorSpec, Partitioning, Uid};
use lockgate::ui::LockgateApp;
use lockgate::ui::command::{Selection, UiCommand};

type Window = Harness<'static, LockgateApp>;

const SIZE: Vec2 = vec2(1440.0, 900.0);

fn window() -> Window {
    open_window(None)
}

/// A window with `job`, which is that of the file `path`.
fn window_of(job: JobGraph, path: PathBuf) -> Window {
    open_window(Some((job, path)))
}

fn open_window(job: Option<(JobGraph, PathBuf)>) -> Window {
    let mut window = Harness::builder()
        .with_size(SIZE)
        .with_step_dt(1.0 / 60.0)
        .build_eframe(|cc| LockgateApp::new(&cc.egui_ctx, job));
    window.run_steps(3);
    window
}

/// A window with nothing on its canvas.
fn empty_window() -> Window {
    let mut window = window();
    command(&mut window, UiCommand::New);
    window
}

fn command(window: &mut Window, command: UiCommand) {
    let ctx = window.ctx.clone();
    window.state_mut().command(&ctx, command);
    window.run_steps(3);
}

fn click(window: &mut Window, label: &str) {
    window.get_by_label(label).click();
    window.run_steps(3);
}

/// The button (card, channel, row …) whose label begins with `start`.
fn button<'w>(window: &'w Window, start: &'w str) -> Node<'w> {
    let is_it = move |node: &egui_kittest::kittest::AccessKitNode<'_>| {
        node.role() == Role::Button && node.label().is_some_and(|label| label.starts_with(start))
    };
    window.get_by(is_it)
}

fn click_part(window: &mut Window, start: &str) {
    button(window, start).click();
    window.run_steps(3);
}

fn press(window: &mut Window, modifiers: Modifiers, key: Key) {
    window.key_press_modifiers(modifiers, key);
    window.run_steps(3);
}

fn drag(window: &mut Window, from: egui::Pos2, to: egui::Pos2) {
    window.hover_at(from);
    window.run_steps(1);
    window.drag_at(from);
    window.run_steps(1);
    for share in [0.2, 0.4, 0.6, 0.8, 1.0] {
        window.hover_at(from.lerp(to, share));
        window.run_steps(1);
    }
    window.drop_at(to);
    window.run_steps(3);
}

fn connect(window: &mut Window, from: &str, to: &str) {
    let start = window
        .get_by_label(&format!("output of {from}"))
        .rect()
        .center();
    let end = button(window, &format!("{to} (")).rect().center();
    drag(window, start, end);
}

fn is_disabled(window: &Window, label: &str) -> bool {
    window.get_by_label(label).accesskit_node().is_disabled()
}

/// Let frames pass until `wanted` holds; a run's engine works on its own thread.
fn wait_for(window: &mut Window, what: &str, wanted: impl Fn(&Window) -> bool) {
    let begun = Instant::now();
    while !wanted(window) {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{what} did not come about"
        );
        window.run_steps(1);
        std::thread::yield_now();
    }
}

fn shows(window: &Window, part: &str) -> bool {
    window.query_all_by_label_contains(part).next().is_some()
}

#[test]
fn the_window_opens_with_a_sample_that_is_ready_to_run() {
    let window = window();
    assert!(shows(&window, "sum (keyed sum)"));
    assert!(shows(&window, "edge numbers → sum, hash"));
    assert!(!is_disabled(&window, "Run"));
    assert!(is_disabled(&window, "Checkpoint"));
}

#[test]
fn a_job_is_built_from_the_palette_by_dragging_connections() {
    let mut window = empty_window();
    for item in ["Add sequence source", "Add keyed sum", "Add sink"] {
        click(&mut window, item);
    }
    connect(&mut window, "numbers", "sum");
    connect(&mut window, "sum", "sink");
    let edges: Vec<_> = window
        .state()
        .job()
        .edges
        .iter()
        .map(|edge| edge.partitioning)
        .collect();
    assert_eq!(edges, [Partitioning::Hash, Partitioning::Rebalance]);
    assert!(shows(&window, "Problem: "), "the sum has no key yet");
    assert!(is_disabled(&window, "Run"));

    click_part(&mut window, "sum (");
    click(&mut window, "value modulo m");
    let sum = window
        .state()
        .job()
        .vertex(&Uid::new("sum"))
        .cloned()
        .expect("the sum");
    let OperatorSpec::KeyedSum(spec) = sum.operator else {
        panic!("{:?}", sum.operator)
    };
    assert!(matches!(spec.key, Some(KeyExpr::Modulo { modulus: 2, .. })));
    assert!(!is_disabled(&window, "Run"));
}

#[test]
fn a_source_with_an_input_is_marked_with_the_reason_and_cannot_run() {
    let mut window = window();
    let back = UiCommand::Connect {
        from: Uid::new("sum"),
        to: Uid::new("numbers"),
    };
    command(&mut window, back);
    assert!(shows(&window, "Problem: "));
    assert!(is_disabled(&window, "Run"));
    click(&mut window, "Run");
    assert!(!window.state().is_running());
}

#[test]
fn delete_takes_an_operator_with_its_edges_and_undo_brings_them_back() {
    let mut window = window();
    let before = window.state().job().clone();
    click_part(&mut window, "sum (");
    press(&mut window, Modifiers::NONE, Key::Delete);
    assert_eq!(window.state().job().vertices.len(), 2);
    assert!(window.state().job().edges.is_empty());
    press(&mut window, Modifiers::COMMAND, Key::Z);
    assert_eq!(*window.state().job(), before);
    press(&mut window, Modifiers::COMMAND, Key::Y);
    assert_eq!(window.state().job().vertices.len(), 2);
}

#[test]
fn dragging_a_card_moves_the_operator_and_is_one_step_back() {
    let mut window = window();
    let before = window.state().job().clone();
    let from = button(&window, "sum (").rect().center() - vec2(40.0, 30.0);
    drag(&mut window, from, from + vec2(64.0, 48.0));
    let position = |job: &JobGraph| job.vertices[1].position;
    assert!(position(window.state().job()).x > position(&before).x + 30.0);
    press(&mut window, Modifiers::COMMAND, Key::Z);
    assert_eq!(*window.state().job(), before);
}

#[test]
fn unsaved_changes_stand_in_the_way_of_a_new_job() {
    let mut window = window();
    click(&mut window, "Add sink");
    press(&mut window, Modifiers::COMMAND, Key::N);
    assert!(shows(&window, "Save the changes to odd-even?"));
    click(&mut window, "Cancel");
    assert_eq!(window.state().job().vertices.len(), 4);
    press(&mut window, Modifiers::COMMAND, Key::N);
    click(&mut window, "Don’t save");
    assert!(window.state().job().vertices.is_empty());
}

#[test]
fn a_job_is_saved_and_opened_by_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mine.ron");
    let mut window = window();
    let job = window.state().job().clone();
    command(&mut window, UiCommand::SaveFile(path.clone()));
    command(&mut window, UiCommand::New);
    assert!(window.state().job().vertices.is_empty());
    command(&mut window, UiCommand::OpenFile(path));
    assert_eq!(*window.state().job(), job);
}

#[test]
fn a_file_that_is_no_job_changes_nothing_and_says_why() {
    let mut window = window();
    let job = window.state().job().clone();
    command(&mut window, UiCommand::OpenFile("no/such/file.ron".into()));
    assert!(shows(&window, "The job was not opened"));
    click(&mut window, "Close");
    assert_eq!(*window.state().job(), job);
}

#[test]
fn run_expands_the_graph_into_subtasks_and_channels() {
    let mut window = window();
    click(&mut window, "Run");
    wait_for(&mut window, "the first record", |window| {
        shows(window, "numbers 1/1 → sum 1/2")
    });
    for subtask in ["numbers 1/1:", "sum 1/2:", "sum 2/2:", "out 1/1:"] {
        assert!(shows(&window, subtask), "{subtask} is not on the canvas");
    }
    assert!(!is_disabled(&window, "Checkpoint"));
    click(&mut window, "Edit the job");
    assert!(shows(&window, "sum (keyed sum)"));
}

/// The odd–even story, by its script: checkpoint, crash, restore, the end.
#[test]
fn a_scripted_crash_is_seen_and_the_job_ends_exactly_once() {
    let mut window = window();
    click(&mut window, "Run");
    speed_up(&mut window);
    wait_for(&mut window, "the crash", |window| {
        shows(window, "sum 1/2: failed")
    });
    assert!(is_disabled(&window, "Checkpoint"));
    wait_for(&mut window, "the end", |window| {
        shows(window, "The job has finished")
    });
    assert!(shows(&window, "10 emitted · 10 counted once"));
}

fn speed_up(window: &mut Window) {
    command(
        window,
        UiCommand::Act(lockgate::run::RunAction::SetSpeed(4.0)),
    );
}

#[test]
fn a_person_takes_a_checkpoint_crashes_a_subtask_and_restores() {
    let mut window = window();
    command(&mut window, UiCommand::OpenSample(1));
    click(&mut window, "Run");
    wait_for(&mut window, "records", |window| shows(window, "in flight"));
    click(&mut window, "Checkpoint");
    wait_for(&mut window, "a barrier", |window| {
        shows(window, "barrier 1 on ")
    });
    wait_for(&mut window, "completion", |window| {
        shows(window, "Checkpoint 1 completed")
    });

    click_part(&mut window, "sum 2/2:");
    press(&mut window, Modifiers::NONE, Key::X);
    wait_for(&mut window, "the failure", |window| {
        shows(window, "sum 2/2: failed")
    });
    press(&mut window, Modifiers::NONE, Key::Escape);
    click(&mut window, "Restore");
    wait_for(&mut window, "the restore", |window| {
        shows(window, "Restarts: 1")
    });
    wait_for(&mut window, "life", |window| {
        shows(window, "sum 2/2: busy") || shows(window, "sum 2/2: idle")
    });
}

#[test]
fn crash_without_a_selection_asks_for_a_subtask() {
    let mut window = window();
    click(&mut window, "Run");
    wait_for(&mut window, "the run", |window| shows(window, "sum 1/2:"));
    command(&mut window, UiCommand::Select(Selection::None));
    click(&mut window, "Crash");
    click_part(&mut window, "out 1/1:");
    wait_for(&mut window, "the failure", |window| {
        shows(window, "out 1/1: failed")
    });
}

#[test]
fn stepping_back_shows_exactly_what_was_there() {
    let mut window = window();
    click(&mut window, "Run");
    wait_for(&mut window, "some events", |window| {
        shows(window, "in flight")
    });
    click(&mut window, "Pause");
    window.run_steps(5);
    let labels = |window: &Window| -> Vec<String> {
        let nodes = window.query_all_by_role(Role::Button);
        nodes
            .filter_map(|node| node.accesskit_node().label())
            .filter(|label| label.contains("1/1"))
            .collect()
    };
    for _ in 0..3 {
        click(&mut window, "Step");
        window.run_steps(20);
    }
    let before = labels(&window);
    click(&mut window, "Step");
    window.run_steps(20);
    click(&mut window, "Step back");
    assert_eq!(labels(&window), before);
}

#[test]
fn every_event_is_in_the_log_and_every_checkpoint_in_the_table() {
    let mut window = window();
    click(&mut window, "Run");
    speed_up(&mut window);
    wait_for(&mut window, "the end", |window| {
        shows(window, "The job has finished")
    });
    click(&mut window, "Checkpoints");
    assert!(shows(&window, "Checkpoint 1: checkpoint"));
    assert!(shows(&window, "final checkpoint"));
    click(&mut window, "Log");
    window.run_steps(2);
    assert!(shows(&window, "The job has finished."));
}

#[test]
fn another_backend_starts_a_new_run() {
    let mut window = window();
    click(&mut window, "Run");
    wait_for(&mut window, "the run", |window| shows(window, "sum 1/2:"));
    click(&mut window, "Backend: Heap");
    click(&mut window, "RocksDB: one database per subtask");
    click(&mut window, "From the beginning");
    wait_for(&mut window, "the new run", |window| {
        shows(window, "Backend: RocksDB")
    });
    assert!(window.state().is_running());
}

/// Nothing a person can reach may panic: try every shortcut in both modes.
#[test]
fn no_key_does_harm() {
    let mut window = window();
    let keys = [
        Key::Delete,
        Key::Escape,
        Key::Space,
        Key::ArrowLeft,
        Key::ArrowRight,
        Key::C,
        Key::X,
        Key::R,
        Key::F,
        Key::Plus,
        Key::Minus,
        Key::Home,
        Key::End,
        Key::F1,
        Key::Escape,
    ];
    for mode in ["Run", "Edit the job"] {
        for key in keys {
            press(&mut window, Modifiers::NONE, key);
            press(&mut window, Modifiers::SHIFT, key);
        }
        click(&mut window, mode);
    }
}

#[test]
fn the_window_fits_small_screens() {
    for size in [vec2(1280.0, 720.0), vec2(960.0, 600.0)] {
        let mut window = window();
        window.set_size(size);
        window.run_steps(3);
        click(&mut window, "Run");
        wait_for(&mut window, "the run", |window| shows(window, "sum 1/2:"));
        for label in ["Checkpoint", "Crash", "Restore", "Pause", "Edit the job"] {
            let rect = window.get_by_label(label).rect();
            let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, size);
            assert!(
                screen.contains_rect(rect),
                "{label} at {rect:?} is not within {size:?}"
            );
        }
    }
}
