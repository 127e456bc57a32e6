//! A run as a person has it: playing, stepping back, acting in the past, starting from a checkpoint.

#![allow(clippy::unwrap_used, reason = "a test may end where it stands")]

#[path = "run/start.rs"]
mod start_from;
#[path = "run/xray.rs"]
mod xray;

use std::path::Path;

use lockgate::engine::event::{EventKind, JobStatus};
use lockgate::model::{BackendKind, CheckpointId, Command, JobGraph, StorageKind, Uid};
use lockgate::project;
use lockgate::recording::View;
use lockgate::run::{Run, RunAction, RunOptions};

fn job() -> JobGraph {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/odd-even.ron");
    let mut job = project::check(&path).unwrap();
    job.script.clear();
    job
}

fn start(job: &JobGraph) -> Run {
    let mut run = Run::start(job, &RunOptions::default()).unwrap();
    settle(&mut run);
    run
}

/// Frames without time passing, until the engine owes nothing.
fn settle(run: &mut Run) {
    while run.update(0.0) {
        std::thread::yield_now();
    }
}

fn act(run: &mut Run, action: RunAction) {
    run.act(action);
    settle(run);
}

fn command(run: &mut Run, command: Command) {
    act(run, RunAction::Command(command));
}

/// Step until `done`, as a person would who presses the button.
fn step_until(run: &mut Run, done: impl Fn(&View) -> bool) {
    while !done(run.view()) {
        assert!(
            !run.is_quiet(),
            "the job ended before what the test waits for"
        );
        act(run, RunAction::Step);
    }
}

fn offset_is(offset: u64) -> impl Fn(&View) -> bool {
    move |view| view.subtasks[0].offset == offset
}

fn crash_odd() -> Command {
    Command::Crash {
        uid: Uid::new("sum"),
        subtask: 0,
    }
}

/// The story of the sample, by hand.
#[test]
fn a_person_checkpoints_crashes_and_restores() {
    let mut run = start(&job());
    step_until(&mut run, offset_is(5));
    command(&mut run, Command::Checkpoint);
    step_until(&mut run, |view| view.store == [CheckpointId(1)]);
    step_until(&mut run, |view| view.subtasks[1].processed == 4);
    command(&mut run, crash_odd());
    assert!(matches!(run.view().job, JobStatus::Restarting { .. }));
    command(&mut run, Command::Restore { checkpoint: None });
    step_until(&mut run, |view| view.job == JobStatus::Running);
    assert_eq!(run.view().subtasks[0].offset, 5);
    run.finish(None, |_| ()).unwrap();
    let state = run.recording().ledger(run.view()).state.unwrap();
    assert_eq!((state.zero, state.once, state.more), (0, 10, 0));
}

#[test]
fn stepping_back_is_exact_and_forward_again_is_the_same() {
    let mut run = start(&job());
    let mut views = vec![run.view().clone()];
    for _ in 0..40 {
        act(&mut run, RunAction::Step);
        views.push(run.view().clone());
    }
    for view in views.iter().rev().skip(1) {
        act(&mut run, RunAction::StepBack);
        assert!(run.view() == view, "back to event {}", view.position);
    }
    for view in &views[1..] {
        act(&mut run, RunAction::Step);
        assert!(run.view() == view, "forward to event {}", view.position);
    }
    assert!(run.is_at_end());
}

/// Breaks if the engine runs ahead of what is shown, or time passes while paused.
#[test]
fn playing_moves_the_clock_by_the_speed_and_pausing_stops_it() {
    let mut run = start(&job());
    run.act(RunAction::SetSpeed(2.0));
    run.act(RunAction::Play);
    for frame in 1..=50 {
        run.update(0.01);
        while run.clock_us() < frame * 19_990 {
            run.update(0.0);
        }
        assert_eq!(
            run.reached_us(),
            run.clock_us(),
            "the engine is never ahead of what is shown"
        );
    }
    run.act(RunAction::Pause);
    settle(&mut run);
    let clock_us = run.clock_us();
    assert!((999_000..=1_000_000).contains(&clock_us), "{clock_us}");
    for _ in 0..10 {
        run.update(0.5);
    }
    assert_eq!(run.clock_us(), clock_us, "paused means still");
}

/// Breaks if a branch changes what lies before it, or if the course that was left is lost.
#[test]
fn acting_in_the_past_opens_a_branch_and_the_other_course_is_kept() {
    let mut run = start(&job());
    step_until(&mut run, offset_is(3));
    command(&mut run, Command::Checkpoint);
    run.finish(None, |_| ()).unwrap();
    let first_course = run.recording().events().to_vec();
    act(&mut run, RunAction::SeekUs(900_000));
    let here = run.view().position;
    command(&mut run, crash_odd());
    assert_eq!(run.branches().len(), 1);
    let common = &run.recording().events()[..here];
    assert!(common == &first_course[..here], "the past is the same");
    assert!(matches!(run.view().job, JobStatus::Restarting { .. }));
    command(&mut run, Command::Restore { checkpoint: None });
    run.finish(None, |_| ()).unwrap();
    let second_course = run.recording().events().to_vec();
    assert!(second_course != first_course);
    act(&mut run, RunAction::SwitchBranch(0));
    assert!(run.recording().events() == first_course);
    assert_eq!(run.branches().len(), 1);
    act(&mut run, RunAction::SwitchBranch(0));
    assert!(run.recording().events() == second_course);
}

/// Breaks if a branch that is left and taken up again is not where it was.
#[test]
fn a_branch_can_be_gone_on_with() {
    let mut run = start(&job());
    step_until(&mut run, offset_is(6));
    act(&mut run, RunAction::SeekUs(300_000));
    command(&mut run, Command::Stop);
    assert_eq!(run.view().job, JobStatus::Canceled);
    act(&mut run, RunAction::SwitchBranch(0));
    assert_eq!(run.view().subtasks[0].offset, 6);
    run.finish(None, |_| ()).unwrap();
    assert_eq!(run.view().job, JobStatus::Finished);
    let state = run.recording().ledger(run.view()).state.unwrap();
    assert_eq!((state.zero, state.once, state.more), (0, 10, 0));
    assert!(run.view() == run.recording().head());
}

/// Breaks if a branch is taken up again with the commands of the one that was left for it.
#[test]
fn a_branch_taken_up_again_keeps_its_own_commands() {
    let mut run = start(&job());
    step_until(&mut run, offset_is(3));
    command(&mut run, Command::Checkpoint);
    step_until(&mut run, offset_is(6));
    let first_course = run.recording().events().to_vec();
    act(&mut run, RunAction::SeekUs(100_000));
    command(&mut run, crash_odd());
    act(&mut run, RunAction::SwitchBranch(0));
    assert!(run.recording().events() == first_course);
    act(&mut run, RunAction::StepBack);
    act(&mut run, RunAction::StepBack);
    let here = run.view().position;
    command(&mut run, Command::Stop);
    assert!(run.recording().events()[..here] == first_course[..here]);
    step_until_quiet(&mut run);
    // Were another course replayed below, its own steps and places would come to light here.
    let offset = run.view().subtasks[0].offset;
    assert_eq!(run.view().job, JobStatus::Canceled);
    let status = run.recording().events()[here..]
        .iter()
        .filter(|event| matches!(event.kind, EventKind::SubtaskStatus { .. }));
    assert_eq!(status.count(), 4, "all four subtasks were running");
    assert!(offset >= 5);
}

fn step_until_quiet(run: &mut Run) {
    while !run.is_quiet() {
        act(run, RunAction::Step);
    }
}

#[test]
fn the_next_barrier_event_is_where_the_engine_stops() {
    let mut run = start(&job());
    step_until(&mut run, offset_is(2));
    command(&mut run, Command::Checkpoint);
    let triggered = run.view().position;
    act(&mut run, RunAction::NextBarrierEvent);
    assert!(run.view().position > triggered);
    assert!(run.is_at_end(), "nothing has happened that is not shown");
    let last = run.recording().events().last().unwrap().step;
    let story = |kind: &EventKind| lockgate::recording::concerns_barriers(kind);
    let step = run
        .recording()
        .events()
        .iter()
        .filter(|event| event.step == last);
    assert!(step.map(|event| &event.kind).any(story));
    act(&mut run, RunAction::PreviousBarrierEvent);
    assert_eq!(run.view().position, triggered);
}

#[test]
fn a_run_starts_from_a_checkpoint_where_the_backend_can_read_it() {
    let mut job = job();
    job.config.storage = StorageKind::FileSystem {
        inline_threshold_bytes: 0,
    };
    let mut run = start(&job);
    step_until(&mut run, offset_is(4));
    command(&mut run, Command::Checkpoint);
    step_until(&mut run, |view| view.store == [CheckpointId(1)]);
    let mut next = run
        .start_from(&job, CheckpointId(1), &RunOptions::default())
        .unwrap();
    let options = RunOptions {
        backend: Some(BackendKind::RocksDb),
        ..RunOptions::default()
    };
    let mut other = run.start_from(&job, CheckpointId(1), &options).unwrap();
    drop(run);
    settle(&mut next);
    assert_eq!(next.view().subtasks[0].offset, 4);
    step_until(&mut next, offset_is(7));
    command(&mut next, crash_odd());
    command(&mut next, Command::Restore { checkpoint: None });
    step_until(&mut next, |view| view.job == JobStatus::Running);
    assert_eq!(
        next.view().subtasks[0].offset,
        4,
        "back to where it started from"
    );
    next.finish(None, |_| ()).unwrap();
    let numbers: Vec<CheckpointId> = next.view().checkpoints.keys().copied().collect();
    assert_eq!(numbers, [CheckpointId(2)], "numbers go on");
    let state = next.recording().ledger(next.view()).state.unwrap();
    assert_eq!(
        (state.zero, state.once, state.more),
        (0, 6, 0),
        "the six records after the checkpoint"
    );
    settle(&mut other);
    let error = other.error().unwrap().to_string();
    assert!(error.contains("written by the heap backend"), "{error}");
}

#[test]
fn refusals_are_told_and_change_nothing() {
    let mut run = start(&job());
    step_until(&mut run, offset_is(2));
    let position = run.view().position;
    command(
        &mut run,
        Command::Restore {
            checkpoint: Some(CheckpointId(9)),
        },
    );
    assert!(run.notice().unwrap().contains("not among the retained"));
    assert_eq!(
        run.view().position,
        position + 1,
        "only the refusal is recorded"
    );
    command(&mut run, crash_odd());
    assert_eq!(run.notice(), None);
    command(&mut run, Command::Checkpoint);
    assert!(
        run.notice()
            .unwrap()
            .contains("Not all required subtasks are running.")
    );
}

#[test]
fn a_file_that_is_missing_is_told_by_the_run() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/weather.ron");
    let job = project::check(&path).unwrap();
    let options = RunOptions {
        base_dir: "/nowhere".into(),
        ..RunOptions::default()
    };
    let mut run = Run::start(&job, &options).unwrap();
    settle(&mut run);
    assert!(
        run.error()
            .unwrap()
            .to_string()
            .contains("seattle-weather.csv")
    );
    run.act(RunAction::Play);
    command(&mut run, Command::Checkpoint);
    act(&mut run, RunAction::Step);
    assert!(!run.is_playing());
}

/// Whatever is pressed, in whatever order: never a panic, never an answer owed for ever.
#[test]
fn a_child_presses_everything() {
    let mut run = start(&job());
    let mut state = 12_345_u32;
    for _ in 0..600 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let number = state >> 16;
        run.act(match number % 13 {
            0 => RunAction::Play,
            1 => RunAction::Pause,
            2 | 3 => RunAction::Step,
            4 => RunAction::StepBack,
            5 => RunAction::NextBarrierEvent,
            6 => RunAction::PreviousBarrierEvent,
            7 => RunAction::SeekUs(u64::from(number) * 97),
            8 => RunAction::SwitchBranch(number as usize % 4),
            9 => RunAction::Command(Command::Checkpoint),
            10 => RunAction::Command(crash_odd()),
            11 => RunAction::Command(Command::Restore { checkpoint: None }),
            _ => RunAction::SetSpeed(f32::NAN),
        });
        run.update(0.05);
    }
    act(&mut run, RunAction::Pause);
    act(&mut run, RunAction::SeekEnd);
    assert!(run.error().is_none());
    assert!(run.view() == run.recording().head());
}

fn names_in(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Breaks if living through the past once more makes the person's savepoint again, or touches it; or if what the new
/// course makes does not come to lie there.
#[test]
fn a_savepoint_of_the_past_is_not_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut job = job();
    job.config.savepoint_dir = Some(dir.path().to_owned());
    let format = lockgate::model::SavepointFormat::Canonical;
    let mut run = start(&job);
    step_until(&mut run, offset_is(4));
    command(&mut run, Command::Savepoint { format });
    step_until(&mut run, |view| view.savepoints.len() == 1);
    let (_, name) = run.view().savepoints[0].clone();
    assert_eq!(names_in(dir.path()), std::slice::from_ref(&name));
    let after = run.view().position;
    step_until(&mut run, offset_is(7));
    act(&mut run, RunAction::SeekPosition(after));
    command(&mut run, Command::Checkpoint);
    assert_eq!(run.branches().len(), 1);
    assert_eq!(names_in(dir.path()), std::slice::from_ref(&name));
    let told = run.savepoint_path(run.view().savepoints[0].0);
    assert_eq!(
        told,
        Some(dir.path().join(&name)),
        "it is still told where it lies"
    );
    command(&mut run, Command::Savepoint { format });
    step_until(&mut run, |view| view.savepoints.len() == 2);
    let names = names_in(dir.path());
    assert_eq!(names.len(), 2);
    assert!(names.contains(&name) && names.contains(&run.view().savepoints[1].1));
    drop(run);
    assert_eq!(names_in(dir.path()), names, "they are the person's");
}

/// Breaks if a run leaves behind what its retention does not keep, or takes away what it does.
#[test]
fn a_checkpoint_folder_keeps_what_the_retention_says() {
    for (retention, kept) in [
        (lockgate::model::Retention::NoExternalized, 0),
        (lockgate::model::Retention::RetainOnCancellation, 1),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mut job = job();
        job.config.checkpoint_dir = Some(dir.path().join("checkpoints"));
        job.config.checkpointing.retention = retention;
        job.config.storage = StorageKind::FileSystem {
            inline_threshold_bytes: 0,
        };
        let mut run = start(&job);
        step_until(&mut run, offset_is(4));
        command(&mut run, Command::Checkpoint);
        step_until(&mut run, |view| view.store == [CheckpointId(1)]);
        assert_eq!(names_in(&dir.path().join("checkpoints")).len(), 1);
        command(&mut run, Command::Stop);
        drop(run);
        let jobs = names_in(&dir.path().join("checkpoints"));
        assert_eq!(jobs.len(), kept, "{retention:?}");
        for job in jobs {
            let place = dir.path().join("checkpoints").join(job);
            assert_eq!(names_in(&place), ["chk-1", "shared", "taskowned"]);
        }
    }
}

/// Breaks if a branch is made without the deletions before it, or if they hit other files there.
#[test]
fn a_branch_lacks_what_was_deleted_before_it() {
    let mut job = job();
    job.config.storage = StorageKind::FileSystem {
        inline_threshold_bytes: 0,
    };
    let mut run = start(&job);
    step_until(&mut run, offset_is(5));
    command(&mut run, Command::Checkpoint);
    step_until(&mut run, |view| view.store == [CheckpointId(1)]);
    let path = "chk-1/_metadata".to_owned();
    command(&mut run, Command::DeleteStored { path });
    act(&mut run, RunAction::Step);
    let here = run.view().position;
    let refusal = |run: &mut Run| {
        let checkpoint = Some(CheckpointId(1));
        command(run, Command::Restore { checkpoint });
        run.recording().events()[here..]
            .iter()
            .find(|event| matches!(event.kind, EventKind::CommandRefused { .. }))
            .cloned()
            .expect("its metadata is gone")
    };
    let first = refusal(&mut run);
    for _ in 0..3 {
        act(&mut run, RunAction::Step);
    }
    act(&mut run, RunAction::SeekPosition(here));
    let second = refusal(&mut run);
    assert_eq!(run.branches().len(), 1);
    assert_eq!(first, second);
    run.finish(None, |_| ()).unwrap();
    let state = run.recording().ledger(run.view()).state.unwrap();
    assert_eq!((state.zero, state.once, state.more), (0, 10, 0));
}
