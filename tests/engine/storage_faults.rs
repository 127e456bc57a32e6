//! Storage that fails, or was tampered with: told clearly, and nothing is lost.

use std::path::Path;
use std::sync::Arc;

use lockgate::engine::event::{AbortReason, EventKind, JobStatus, SubtaskStatus};
use lockgate::engine::storage::{self, MemoryStorage};
use lockgate::model::{
    BackendKind, CheckpointId, Command, JobConfig, JobGraph, StorageKind, StreamElement,
    StreamEvent,
};
use lockgate::recording::view::CheckpointStatus;

use crate::rig::{Rig, Source, sum_job, with_backend};

fn job() -> JobGraph {
    let mut job = sum_job(&[Source::new(50, 40)], 2, 2);
    job.config.checkpointing.retained = 2;
    job
}

fn on_disk(dir: &Path) -> Rig {
    let storage = StorageKind::FileSystem {
        inline_threshold_bytes: 0,
    };
    let config = JobConfig {
        storage,
        ..JobConfig::default()
    };
    Rig::with_storage(&job(), storage::open(&config, dir).unwrap())
}

/// Two completed checkpoints on disk, and the job down.
fn two_checkpoints_and_a_crash(dir: &Path) -> Rig {
    let mut rig = on_disk(dir);
    for changes in [4, 12] {
        rig.run_until(|view| view.state_changes >= changes);
        rig.checkpoint();
        let wanted = rig.view().store.len() + 1;
        rig.run_until(|view| view.store.len() == wanted);
    }
    rig.crash("sum", 0);
    rig
}

fn files_of(dir: &Path, checkpoint: u64) -> Vec<std::path::PathBuf> {
    let folder = dir.join(format!("chk-{checkpoint}"));
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Breaks if a file is used without checking it, or if a refused restore has already cancelled something.
#[test]
fn a_torn_checkpoint_is_refused_and_an_older_one_is_offered() {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<_> = {
        let rig = two_checkpoints_and_a_crash(dir.path());
        let names = files_of(dir.path(), 2);
        drop(rig);
        names
    };
    assert!(
        names.len() >= 3,
        "metadata and a state file for each sum: {names:?}"
    );
    for victim in names {
        std::fs::remove_dir_all(dir.path()).unwrap();
        let mut rig = two_checkpoints_and_a_crash(dir.path());
        let mut bytes = std::fs::read(&victim).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&victim, bytes).unwrap();
        let before = rig.stepper.project();
        rig.command(&Command::Restore {
            checkpoint: Some(CheckpointId(2)),
        });
        assert_eq!(
            rig.stepper.project(),
            before,
            "a refused restore changes nothing"
        );
        let last = &rig.recording.events().last().unwrap().kind;
        let EventKind::CommandRefused { reason, .. } = last else {
            panic!(
                "{} was flipped and yet restored: {last:?}",
                victim.display()
            );
        };
        assert!(
            reason.contains("Still retained: checkpoint 1. Restore that one."),
            "{reason}"
        );
        rig.command(&Command::Restore {
            checkpoint: Some(CheckpointId(1)),
        });
        rig.run_to_end();
        assert_eq!(rig.view().job, JobStatus::Finished);
        let state = rig.recording.ledger(rig.view()).state.unwrap();
        assert_eq!((state.zero, state.more), (0, 0));
    }
}

/// Breaks if a failing write is taken for a good one, or if an aborted checkpoint leaves its files behind.
#[test]
fn state_that_does_not_fit_fails_the_checkpoint_and_then_the_job() {
    let limit = Arc::new(MemoryStorage::with_limit(10));
    let mut rig = Rig::with_storage(&job(), limit);
    rig.run_until(|view| view.state_changes >= 6);
    rig.checkpoint();
    rig.run_until(|view| matches!(view.job, JobStatus::Restarting { .. }));
    let first = &rig.view().checkpoints[&CheckpointId(1)];
    assert_eq!(
        first.status,
        CheckpointStatus::Aborted(AbortReason::AsyncException)
    );
    assert_eq!(rig.storage.list().unwrap(), []);
}

/// Breaks if a failing synchronous part only fails the checkpoint: the subtask fails, whatever is tolerated. And breaks
/// if the state is captured before the barrier has gone on.
#[test]
fn a_synchronous_part_that_fails_fails_the_subtask_after_its_barrier() {
    let mut job = with_backend(job(), BackendKind::RocksDb);
    job.config.checkpointing.tolerable_failed = 100;
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.state_changes >= 6);
    let sum = rig.subtasks("sum")[0];
    // RocksDB cannot link its files into a folder that is already there.
    let occupied = rig.dir.path().join(format!("state-0-{sum}.chk-1"));
    std::fs::create_dir(occupied).unwrap();
    rig.checkpoint();
    rig.run_until(|view| matches!(view.job, JobStatus::Restarting { .. }));
    let status = rig.view().subtasks[sum.index()].status;
    assert_eq!(status, SubtaskStatus::Failed);
    let checkpoint = &rig.view().checkpoints[&CheckpointId(1)];
    let given_up = CheckpointStatus::Aborted(AbortReason::CoordinatorSuspend);
    assert_eq!(checkpoint.status, given_up);
    let plan = rig.recording.plan.clone();
    let passed_on = |event: &EventKind| match event {
        EventKind::Sent {
            channel,
            element: StreamElement::Event(StreamEvent::Barrier(_)),
            ..
        } => plan.channel(*channel).from == sum,
        _ => false,
    };
    assert!(
        rig.recording
            .events()
            .iter()
            .any(|event| passed_on(&event.kind))
    );
}

#[test]
fn a_tolerated_failure_leaves_the_job_running() {
    let mut job = job();
    job.config.checkpointing.tolerable_failed = 1;
    let limit = Arc::new(MemoryStorage::with_limit(10));
    let mut rig = Rig::with_storage(&job, limit);
    for round in 1..=2 {
        rig.run_until(|view| view.state_changes >= round * 6);
        rig.checkpoint();
        let id = CheckpointId(u64::from(round));
        rig.run_until(|view| {
            let checkpoint = view.checkpoints.get(&id);
            checkpoint.is_some_and(|checkpoint| checkpoint.status != CheckpointStatus::Pending)
        });
        let expected_down = round == 2;
        let is_down = matches!(rig.view().job, JobStatus::Restarting { .. });
        assert_eq!(is_down, expected_down, "after failure {round}");
    }
}

#[test]
fn a_checkpoint_that_takes_too_long_expires_and_late_acknowledgements_change_nothing() {
    let mut job = job();
    job.config.checkpointing.timeout_ms = 60;
    job.config.checkpointing.tolerable_failed = 100;
    job.config.costs.snapshot_async_us = 500_000;
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.state_changes >= 4);
    rig.checkpoint();
    rig.run_until(|view| {
        let first = view.checkpoints.get(&CheckpointId(1));
        first.is_some_and(|first| first.status == CheckpointStatus::Aborted(AbortReason::Expired))
    });
    for _ in 0..200 {
        rig.step();
    }
    assert_eq!(rig.view().store, []);
    assert_eq!(rig.storage.list().unwrap(), []);
    assert!(
        rig.view()
            .channels
            .iter()
            .all(|channel| channel.blocked.is_none())
    );
}

/// Breaks if subsumed or aborted checkpoints keep files, or a retained one loses some.
#[test]
fn the_store_and_the_disk_hold_the_same_checkpoints() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = on_disk(dir.path());
    let mut steps = 0;
    while rig.step() {
        steps += 1;
        if steps % 40 == 0 {
            rig.checkpoint();
        }
        let mut held = rig.view().store.clone();
        held.sort_unstable();
        assert_eq!(rig.storage.list().unwrap(), held);
        assert!(held.len() <= 2);
        for id in held {
            rig.storage.verify(id).unwrap();
        }
    }
    let folders = std::fs::read_dir(dir.path()).unwrap();
    let of_checkpoints = folders.filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with("chk-")
    });
    assert_eq!(of_checkpoints.count(), rig.view().store.len());
}
