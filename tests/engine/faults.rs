//! Injected faults: each strikes once, at its next occasion, with the consequence that Flink knows for it.

use lockgate::engine::event::{AbortReason, EventKind, JobStatus, Outcome, RejectReason};
use lockgate::model::{
    CheckpointId, Command, Fault, FaultKind, JobGraph, RestartStrategy, StorageKind, Uid,
};
use lockgate::recording::view::CheckpointStatus;

use crate::rig::{Rig, Source, expected_sums, sum_job};

const SOURCE: Source = Source {
    rate_per_s: 100,
    end: 60,
    parallelism: 1,
};

fn job() -> JobGraph {
    let mut job = sum_job(&[SOURCE], 3, 2);
    job.config.checkpointing.tolerable_failed = 9;
    job.config.checkpointing.retained = 3;
    job
}

fn inject(rig: &mut Rig, kind: FaultKind, uid: &str) {
    let uid = Uid::new(uid);
    rig.command(&Command::Inject(Fault {
        kind,
        uid,
        subtask: 0,
    }));
    assert_eq!(rig.view().faults.len(), 1, "it waits");
}

fn status_of(rig: &Rig, checkpoint: u64) -> CheckpointStatus {
    rig.view().checkpoints[&CheckpointId(checkpoint)].status
}

/// Take a checkpoint and see what becomes of it.
fn outcome(rig: &mut Rig) -> CheckpointStatus {
    rig.checkpoint();
    let number = *rig.view().checkpoints.keys().next_back().unwrap();
    rig.run_until(|view| view.checkpoints[&number].status != CheckpointStatus::Pending);
    status_of(rig, number.0)
}

fn last_refusal(rig: &Rig) -> String {
    let refused = |event: &EventKind| match event {
        EventKind::CommandRefused { reason, .. } => Some(reason.clone()),
        _ => None,
    };
    let mut events = rig.recording.events().iter().rev();
    events.find_map(|event| refused(&event.kind)).unwrap()
}

fn assert_ends_right(mut rig: Rig) {
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    assert_eq!(rig.sums("sum"), expected_sums(&[SOURCE], 3));
    assert!(rig.view().faults.is_empty(), "it has struck");
}

/// The task fails, however many failed checkpoints are tolerable; nothing is declined.
#[test]
fn a_failing_synchronous_part_fails_the_task() {
    let mut rig = Rig::new(&job());
    inject(&mut rig, FaultKind::SyncPart, "sum");
    let aborted = CheckpointStatus::Aborted(AbortReason::CoordinatorSuspend);
    assert_eq!(outcome(&mut rig), aborted);
    let JobStatus::Restarting { cause } = rig.view().job.clone() else {
        panic!("it is down");
    };
    assert!(
        cause.starts_with("sum 1/2 failed: an injected fault"),
        "{cause}"
    );
    rig.restore();
    rig.run_until(|view| view.job == JobStatus::Running);
    assert_eq!(
        outcome(&mut rig),
        CheckpointStatus::Completed,
        "it strikes once"
    );
    assert_ends_right(rig);
}

#[test]
fn a_failing_asynchronous_part_and_a_storage_error_decline() {
    for kind in [FaultKind::AsyncPart, FaultKind::StorageError] {
        let mut rig = Rig::new(&job());
        inject(&mut rig, kind, "sum");
        let aborted = CheckpointStatus::Aborted(AbortReason::AsyncException);
        assert_eq!(outcome(&mut rig), aborted);
        assert_eq!(rig.view().job, JobStatus::Running);
        assert_eq!(
            outcome(&mut rig),
            CheckpointStatus::Completed,
            "it strikes once"
        );
        assert_ends_right(rig);
    }
}

#[test]
fn slow_storage_delays_one_acknowledgement() {
    let mut rig = Rig::new(&job());
    inject(&mut rig, FaultKind::StorageSlow { by_ms: 700 }, "sum");
    assert_eq!(outcome(&mut rig), CheckpointStatus::Completed);
    let view = &rig.view().checkpoints[&CheckpointId(1)];
    let took = |index: usize| {
        let part = &view.subtasks[&rig.subtasks("sum")[index]];
        part.written_us.unwrap() - part.captured_us.unwrap()
    };
    assert!(took(0) >= 700_000 && took(1) < 100_000);
    assert_ends_right(rig);
}

#[test]
fn metadata_that_cannot_be_written_aborts_the_checkpoint() {
    let mut rig = Rig::new(&job());
    inject(&mut rig, FaultKind::Metadata, "out");
    let aborted = CheckpointStatus::Aborted(AbortReason::FinalizeFailure);
    assert_eq!(outcome(&mut rig), aborted);
    assert_eq!(rig.storage.list().unwrap(), [], "nothing is left");
    assert_ends_right(rig);
}

fn torn(restart: RestartStrategy, storage: StorageKind, earlier: u32) -> (Rig, tempfile::TempDir) {
    let mut job = job();
    job.config.restart = restart;
    job.config.storage = storage;
    let dir = tempfile::tempdir().unwrap();
    let storage = lockgate::engine::storage::open(&job.config, dir.path()).unwrap();
    let mut rig = Rig::with_storage(&job, storage);
    for _ in 0..earlier {
        assert_eq!(outcome(&mut rig), CheckpointStatus::Completed);
    }
    inject(&mut rig, FaultKind::TornWrite, "sum");
    assert_eq!(
        outcome(&mut rig),
        CheckpointStatus::Completed,
        "nobody sees it yet"
    );
    rig.crash("sum", 1);
    (rig, dir)
}

const FILES: StorageKind = StorageKind::FileSystem {
    inline_threshold_bytes: 0,
};

/// Breaks if half a state is restored, or the sentence does not say what to do.
#[test]
fn a_torn_write_is_found_at_the_restore_and_another_one_is_named() {
    for storage in [FILES, StorageKind::JobManager] {
        let (mut rig, _dir) = torn(RestartStrategy::Manual, storage, 1);
        rig.command(&Command::Restore {
            checkpoint: Some(CheckpointId(2)),
        });
        let reason = last_refusal(&rig);
        assert!(
            reason.contains("Checkpoint 2 cannot be restored"),
            "{reason}"
        );
        assert!(reason.contains("Restore that one"), "{reason}");
        rig.command(&Command::Restore {
            checkpoint: Some(CheckpointId(1)),
        });
        assert_ends_right(rig);
    }
}

#[test]
fn the_restart_strategy_falls_back_to_an_older_checkpoint_or_gives_up() {
    let strategy = RestartStrategy::FixedDelay {
        attempts: 9,
        delay_ms: 10,
    };
    let (mut rig, _dir) = torn(strategy, FILES, 1);
    rig.run_until(|view| matches!(view.job, JobStatus::Restoring { .. }));
    let from = Some(CheckpointId(1));
    assert_eq!(rig.view().job, JobStatus::Restoring { from });
    assert!(last_refusal(&rig).contains("Checkpoint 2 cannot be restored"));
    assert_ends_right(rig);

    let (mut rig, _dir) = torn(strategy, FILES, 0);
    rig.run_to_end();
    let JobStatus::Failed { cause } = &rig.view().job else {
        panic!("there is nothing to go back to: {:?}", rig.view().job);
    };
    assert!(
        cause.contains("No other checkpoint is retained."),
        "{cause}"
    );
}

#[test]
fn news_that_is_lost_is_made_up_for_by_the_next() {
    let mut rig = Rig::new(&job());
    inject(&mut rig, FaultKind::LoseNotification, "sum");
    assert_eq!(outcome(&mut rig), CheckpointStatus::Completed);
    let lost = EventKind::NotificationLost {
        subtask: rig.subtasks("sum")[0],
        checkpoint: CheckpointId(1),
        outcome: Outcome::Completed,
    };
    rig.run_until(|view| view.faults.is_empty());
    assert!(
        rig.recording
            .events()
            .iter()
            .any(|event| event.kind == lost)
    );
    assert_ends_right(rig);
}

/// Breaks if news that comes late holds up what is sent later, or old news is believed.
#[test]
fn news_that_comes_late_is_overtaken() {
    let mut rig = Rig::new(&job());
    inject(&mut rig, FaultKind::DelayNotification { by_ms: 400 }, "sum");
    assert_eq!(outcome(&mut rig), CheckpointStatus::Completed);
    assert_eq!(outcome(&mut rig), CheckpointStatus::Completed);
    rig.run_to_end();
    let first = rig.subtasks("sum")[0];
    let heard = |event: &EventKind| match event {
        EventKind::Notified {
            subtask,
            checkpoint,
            ..
        } if *subtask == first => Some(checkpoint.0),
        _ => None,
    };
    let events = rig.recording.events().iter();
    let heard: Vec<u64> = events.filter_map(|event| heard(&event.kind)).collect();
    assert_eq!(heard[..2], [2, 1]);
    assert_ends_right(rig);
}

#[test]
fn what_can_never_strike_is_refused() {
    let mut rig = Rig::new(&job());
    let mut refusal = |kind, uid: &str, subtask| {
        let uid = Uid::new(uid);
        rig.command(&Command::Inject(Fault { kind, uid, subtask }));
        assert!(rig.view().faults.is_empty());
        last_refusal(&rig)
    };
    assert!(refusal(FaultKind::SyncPart, "sum", 2).contains("no subtask 3 of sum"));
    assert!(refusal(FaultKind::Commit, "out", 0).contains("out 1/1 commits nothing"));
    assert!(refusal(FaultKind::TornWrite, "s0", 0).contains("no state file"));
}

/// Pre-flight refusals use no number up and count in the statistics; the queue's own do not.
#[test]
fn refused_requests_are_counted() {
    let mut rig = Rig::new(&job());
    rig.crash("sum", 0);
    rig.checkpoint();
    rig.checkpoint();
    assert_eq!(rig.view().refused_triggers, 2);
    assert!(rig.view().checkpoints.is_empty());
    assert!(!RejectReason::TooManyCheckpointRequests.counts_in_statistics());
}
