//! Runs that start from a savepoint: a person's folder is touched once, however often such a run is lived through.

use std::fs;
use std::path::{Path, PathBuf};

use lockgate::model::{ClaimMode, SavepointFormat};

use super::*;

/// The odd-even job, stopped with a savepoint after five numbers in `dir`; where that lies.
fn stopped(dir: &Path, backend: BackendKind) -> (Run, PathBuf) {
    let mut job = job();
    job.config.savepoint_dir = Some(dir.to_owned());
    job.config.backend = backend;
    let mut run = start(&job);
    step_until(&mut run, offset_is(5));
    let format = SavepointFormat::Canonical;
    let drain = false;
    command(&mut run, Command::StopWithSavepoint { format, drain });
    step_until_quiet(&mut run);
    assert_eq!(run.view().job, JobStatus::Finished);
    let path = run.savepoint_path(CheckpointId(1)).unwrap();
    assert!(path.starts_with(dir));
    (run, path)
}

fn from(path: &Path, claim: ClaimMode) -> RunOptions {
    RunOptions {
        start: Some(path.to_owned()),
        claim,
        ..RunOptions::default()
    }
}

/// The sums by label.
fn sums(run: &Run) -> Vec<(String, String)> {
    let rows = run.view().subtasks.iter().flat_map(|subtask| &subtask.rows);
    let mut sums: Vec<(String, String)> = rows
        .map(|(key, row)| (key.to_string(), row.value.to_string()))
        .collect();
    sums.sort();
    sums
}

fn whole() -> Vec<(String, String)> {
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    vec![pair("even", "30"), pair("odd", "25")]
}

/// Breaks if a branch needs the snapshot that its first course has claimed and deleted, or claims it a second time.
#[test]
fn a_branch_of_a_run_that_has_claimed_its_savepoint_can_still_be_taken() {
    let dir = tempfile::tempdir().unwrap();
    let (_, savepoint) = stopped(dir.path(), BackendKind::Heap);
    let mut run = Run::start(&job(), &from(&savepoint, ClaimMode::Claim)).unwrap();
    settle(&mut run);
    step_until(&mut run, offset_is(7));
    let middle = run.view().position;
    command(&mut run, Command::Checkpoint);
    step_until_quiet(&mut run);
    assert_eq!(sums(&run), whole());
    assert!(!savepoint.exists(), "claimed, and subsumed");
    for _ in 0..2 {
        act(&mut run, RunAction::SeekPosition(middle));
        command(&mut run, crash_odd());
        command(&mut run, Command::Restore { checkpoint: None });
        step_until_quiet(&mut run);
        assert!(run.error().is_none(), "{:?}", run.error());
        assert_eq!(sums(&run), whole());
    }
}

/// Breaks if a run writes to a snapshot that is a person's, or needs it after it has begun.
#[test]
fn a_savepoint_that_is_not_claimed_stays_and_may_be_deleted_by_its_owner() {
    let dir = tempfile::tempdir().unwrap();
    let (_, savepoint) = stopped(dir.path(), BackendKind::Heap);
    let before = fs::read(savepoint.join("_metadata")).unwrap();
    let mut run = Run::start(&job(), &from(&savepoint, ClaimMode::NoClaim)).unwrap();
    settle(&mut run);
    step_until(&mut run, offset_is(6));
    let middle = run.view().position;
    command(&mut run, Command::Checkpoint);
    step_until_quiet(&mut run);
    assert_eq!(sums(&run), whole());
    assert_eq!(fs::read(savepoint.join("_metadata")).unwrap(), before);
    fs::remove_dir_all(&savepoint).unwrap();
    act(&mut run, RunAction::SeekPosition(middle));
    command(&mut run, Command::Checkpoint);
    step_until_quiet(&mut run);
    assert_eq!(sums(&run), whole(), "a branch has a copy");
}

/// Breaks if a run's own savepoint cannot be started from, on another backend and with another parallelism.
#[test]
fn a_run_starts_from_a_savepoint_of_another_on_any_backend() {
    for backend in BackendKind::ALL {
        let dir = tempfile::tempdir().unwrap();
        let (first, _) = stopped(dir.path(), backend);
        for other in BackendKind::ALL {
            let mut changed = job();
            changed.vertices[1].parallelism = 3;
            changed.config.backend = other;
            let options = RunOptions::default();
            let mut run = first
                .start_from(&changed, CheckpointId(1), &options)
                .unwrap();
            settle(&mut run);
            step_until_quiet(&mut run);
            assert!(run.error().is_none(), "{:?}", run.error());
            assert_eq!(sums(&run), whole(), "{backend:?} to {other:?}");
        }
    }
}

/// Breaks if a start that fails is told late, or as a panic.
#[test]
fn a_start_that_is_refused_is_told_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let (_, savepoint) = stopped(dir.path(), BackendKind::Heap);
    let refused =
        |job: &JobGraph, path: &Path| match Run::start(job, &from(path, ClaimMode::NoClaim)) {
            Ok(mut run) => {
                settle(&mut run);
                run.error().map(ToString::to_string).unwrap()
            }
            Err(error) => error.to_string(),
        };
    assert!(refused(&job(), &dir.path().join("nowhere")).contains("there is no such folder"));
    let mut other = job();
    other.vertices[1].uid = "total".into();
    for edge in &mut other.edges {
        for end in [&mut edge.from, &mut edge.to] {
            if end.as_str() == "sum" {
                *end = "total".into();
            }
        }
    }
    assert!(refused(&other, &savepoint).contains("no operator for that state"));
}
