//! Savepoints, jobs that end with one, and jobs that start from one.

use std::sync::Arc;

use lockgate::engine::driver::StartPoint;
use lockgate::engine::event::{AbortReason, EventKind, JobStatus, Outcome, SubtaskStatus};
use lockgate::engine::storage::{CheckpointStorage, MemoryStorage};
use lockgate::model::{
    CheckpointId, ClaimMode, Command, Fault, FaultKind, JobGraph, RestartStrategy, SavepointFormat,
    StreamElement, StreamEvent, Uid,
};
use lockgate::recording::view::CheckpointStatus;

use crate::rig::{MemorySavepoints, Rig, Source, expected_sums, lanes_job, sum_job};

const SOURCE: Source = Source {
    rate_per_s: 100,
    end: 60,
    parallelism: 1,
};
const FORMAT: SavepointFormat = SavepointFormat::Canonical;

fn job() -> JobGraph {
    let mut job = sum_job(&[SOURCE], 3, 2);
    job.config.restart = RestartStrategy::FixedDelay {
        attempts: 9,
        delay_ms: 100,
    };
    job
}

fn rig(job: &JobGraph) -> (Rig, Arc<MemorySavepoints>) {
    let savepoints = Arc::new(MemorySavepoints::default());
    let target = savepoints.clone();
    let rig = Rig::with_resources(job, |resources| resources.savepoints = Some(target));
    (rig, savepoints)
}

fn id(number: u64) -> CheckpointId {
    CheckpointId(number)
}

fn complete(rig: &mut Rig, number: u64) {
    rig.run_until(|view| {
        let checkpoint = view.checkpoints.get(&id(number));
        checkpoint.is_some_and(|it| it.status == CheckpointStatus::Completed)
    });
}

fn notified(rig: &Rig, number: u64) -> usize {
    let is_it = |event: &EventKind| {
        matches!(event, EventKind::Notified { checkpoint, outcome: Outcome::Completed, .. }
            if *checkpoint == id(number))
    };
    let events = rig.recording.events().iter();
    events.filter(|event| is_it(&event.kind)).count()
}

fn last_refusal(rig: &Rig) -> String {
    let refused = |event: &EventKind| match event {
        EventKind::CommandRefused { reason, .. } => Some(reason.clone()),
        _ => None,
    };
    let mut events = rig.recording.events().iter().rev();
    events.find_map(|event| refused(&event.kind)).unwrap()
}

/// Appendix B, "Savepoint": 1, savepoint 2 (no news of it), 3; a failure goes back to 1, not to the savepoint.
#[test]
fn a_plain_savepoint_has_a_number_and_no_side_effects() {
    let (mut rig, savepoints) = rig(&job());
    rig.checkpoint();
    complete(&mut rig, 1);
    rig.command(&Command::Savepoint { format: FORMAT });
    complete(&mut rig, 2);
    let (checkpoint, name) = rig.view().savepoints[0].clone();
    assert_eq!(checkpoint, id(2));
    assert_eq!(savepoints.names(), std::slice::from_ref(&name));
    assert!(name.starts_with("savepoint-") && name.len() == 29, "{name}");
    assert_eq!(rig.view().store, [id(1)]);
    rig.crash("sum", 0);
    rig.run_until(|view| matches!(view.job, JobStatus::Restoring { .. }));
    assert_eq!(rig.view().job, JobStatus::Restoring { from: Some(id(1)) });
    rig.run_until(|view| view.job == JobStatus::Running);
    rig.checkpoint();
    complete(&mut rig, 3);
    rig.run_to_end();
    assert_eq!((notified(&rig, 2), notified(&rig, 3)), (0, 4));
    assert_eq!(savepoints.names(), [name], "it stays");
    assert_eq!(rig.sums("sum"), expected_sums(&[SOURCE], 3));
}

/// Breaks if an aligned savepoint waits for a pending checkpoint, or a completed checkpoint gives it up.
#[test]
fn a_savepoint_is_forced_and_never_subsumed() {
    let mut job = job();
    job.config.checkpointing.max_concurrent = 1;
    let (mut rig, _) = rig(&job);
    rig.checkpoint();
    rig.command(&Command::Savepoint { format: FORMAT });
    assert_eq!(rig.stepper.coordinator().pending().count(), 2);
    complete(&mut rig, 2);
    assert_eq!(
        rig.view().checkpoints[&id(1)].status,
        CheckpointStatus::Completed
    );
}

/// Without drain: no source emits after its barrier, windows and operators are not flushed, and every subtask finishes
/// on the news. The next job goes on where this one stopped.
#[test]
fn stop_with_savepoint_ends_the_job_and_another_goes_on_from_it() {
    let (mut rig, savepoints) = rig(&job());
    rig.run_until(|view| view.subtasks[0].offset == 20);
    rig.checkpoint();
    rig.command(&Command::StopWithSavepoint {
        format: FORMAT,
        drain: false,
    });
    let suspended = CheckpointStatus::Aborted(AbortReason::CoordinatorSuspend);
    assert_eq!(rig.view().checkpoints[&id(1)].status, suspended);
    rig.checkpoint();
    assert!(last_refusal(&rig).contains("is stopping with a savepoint"));
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    assert_eq!(notified(&rig, 2), 4);
    let ended = |event: &EventKind| {
        let data = StreamElement::Event(StreamEvent::EndOfData);
        matches!(event, EventKind::Sent { element, .. } if *element == data)
    };
    assert!(
        !rig.recording
            .events()
            .iter()
            .any(|event| ended(&event.kind))
    );
    let view = rig.view();
    let sources = &view.checkpoints[&id(2)].subtasks[&rig.subtasks("s0")[0]];
    assert_eq!(
        sources.offset,
        Some(view.subtasks[0].offset),
        "nothing after it"
    );

    let (_, name) = view.savepoints[0].clone();
    let start = StartPoint {
        storage: savepoints.get(&name),
        checkpoint: id(2),
        claim: ClaimMode::NoClaim,
        allow_non_restored_state: false,
    };
    let mut next = Rig::with_resources(&job(), |resources| resources.start = Some(start));
    assert_eq!(next.view().store, [id(2)]);
    next.checkpoint();
    complete(&mut next, 3);
    assert_eq!(next.view().store, [id(3)]);
    assert_eq!(
        savepoints.get(&name).list().unwrap(),
        [id(2)],
        "not ours to delete"
    );
    next.run_to_end();
    assert_eq!(next.sums("sum"), expected_sums(&[SOURCE], 3));
}

/// With drain the sources end their data first, as at their real end.
#[test]
fn stop_with_drain_ends_the_data_before_the_barrier() {
    let (mut rig, _) = rig(&job());
    rig.run_until(|view| view.subtasks[0].offset == 20);
    rig.command(&Command::StopWithSavepoint {
        format: FORMAT,
        drain: true,
    });
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    assert_eq!(rig.view().checkpoints.len(), 1, "no other final checkpoint");
    let source = rig.subtasks("s0")[0];
    let sent: Vec<StreamEvent> = rig
        .recording
        .events()
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Sent {
                channel,
                element: StreamElement::Event(event),
                ..
            } if rig.recording.plan.channel(*channel).from == source => Some(*event),
            _ => None,
        })
        .collect();
    let place = |wanted: fn(&StreamEvent) -> bool| sent.iter().position(wanted).unwrap();
    let end = place(|event| matches!(event, StreamEvent::EndOfData));
    let barrier = place(|event| matches!(event, StreamEvent::Barrier(_)));
    let last = place(|event| matches!(event, StreamEvent::EndOfPartition));
    assert!(end < barrier && barrier < last, "{sent:?}");
}

#[test]
fn cancel_with_savepoint_takes_a_plain_one_first() {
    let (mut rig, savepoints) = rig(&job());
    rig.run_until(|view| view.subtasks[0].offset == 20);
    rig.command(&Command::CancelWithSavepoint { format: FORMAT });
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Canceled);
    assert_eq!((savepoints.names().len(), notified(&rig, 1)), (1, 0));
    let captured = rig.view().checkpoints[&id(1)].subtasks[&rig.subtasks("s0")[0]].offset;
    assert!(
        captured.unwrap() < rig.view().subtasks[0].offset,
        "not in one step"
    );
}

/// Breaks if a job whose savepoint failed at a subtask stands still, or its periodic checkpoints do.
#[test]
fn a_stop_that_fails_at_a_subtask_fails_the_job_over() {
    let mut job = job();
    job.config.checkpointing.interval_ms = Some(100);
    job.config.checkpointing.tolerable_failed = 99;
    let (mut rig, savepoints) = rig(&job);
    rig.run_until(|view| view.store.len() == 1);
    let (kind, uid) = (FaultKind::StorageError, Uid::new("sum"));
    rig.command(&Command::Inject(Fault {
        kind,
        uid,
        subtask: 1,
    }));
    rig.command(&Command::StopWithSavepoint {
        format: FORMAT,
        drain: false,
    });
    rig.run_until(|view| matches!(view.job, JobStatus::Restarting { .. }));
    let JobStatus::Restarting { cause } = rig.view().job.clone() else {
        panic!("it is down");
    };
    assert!(cause.contains("Stop-with-savepoint failed"), "{cause}");
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    assert!(rig.view().savepoints.is_empty());
    assert!(savepoints.names().len() <= 1);
    assert_eq!(rig.sums("sum"), expected_sums(&[SOURCE], 3));
}

/// The JobManager's own failure: the scheduler begins again, and what had stopped fails on the news.
#[test]
fn a_stop_whose_metadata_cannot_be_written_lets_the_job_go_on() {
    let (mut rig, _) = rig(&job());
    let (kind, uid) = (FaultKind::Metadata, Uid::new("sum"));
    rig.command(&Command::Inject(Fault {
        kind,
        uid,
        subtask: 1,
    }));
    rig.command(&Command::StopWithSavepoint {
        format: FORMAT,
        drain: false,
    });
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    assert_eq!(rig.view().restarts, 1);
    assert_eq!(rig.sums("sum"), expected_sums(&[SOURCE], 3));
}

/// The savepoint is good, but a subtask fails before it finishes: all begins again, and the cause names the savepoint.
#[test]
fn a_failure_after_the_savepoint_names_it() {
    let (mut rig, _) = rig(&job());
    rig.run_until(|view| view.subtasks[0].offset == 10);
    rig.command(&Command::StopWithSavepoint {
        format: FORMAT,
        drain: false,
    });
    rig.run_until(|view| !view.savepoints.is_empty());
    rig.crash("sum", 0);
    let (_, name) = rig.view().savepoints[0].clone();
    let JobStatus::Restarting { cause } = rig.view().job.clone() else {
        panic!("it is down");
    };
    assert!(cause.contains(&name), "{cause}");
    rig.run_until(|view| view.job == JobStatus::Running);
    rig.run_to_end();
    assert_eq!(rig.sums("sum"), expected_sums(&[SOURCE], 3));
}

#[test]
fn without_a_folder_savepoints_are_refused() {
    let mut rig = Rig::new(&job());
    for command in [
        Command::Savepoint { format: FORMAT },
        Command::StopWithSavepoint {
            format: FORMAT,
            drain: true,
        },
        Command::CancelWithSavepoint { format: FORMAT },
    ] {
        rig.command(&command);
        let reason = last_refusal(&rig);
        assert!(
            reason.starts_with("No savepoint directory configured."),
            "{reason}"
        );
    }
    assert_eq!(rig.view().subtasks[0].status, SubtaskStatus::Running);
}

/// A claimed snapshot is the run's: it goes when it is subsumed.
#[test]
fn a_claimed_snapshot_is_deleted_when_it_is_subsumed() {
    let (mut first, savepoints) = rig(&job());
    first.command(&Command::Savepoint { format: FORMAT });
    complete(&mut first, 1);
    let (_, name) = first.view().savepoints[0].clone();
    let storage: Arc<MemoryStorage> = savepoints.get(&name);
    let start = StartPoint {
        storage: storage.clone(),
        checkpoint: id(1),
        claim: ClaimMode::Claim,
        allow_non_restored_state: false,
    };
    let mut next = Rig::with_resources(&job(), |resources| resources.start = Some(start));
    next.crash("sum", 0);
    next.run_until(|view| matches!(view.job, JobStatus::Restoring { .. }));
    assert_eq!(next.view().job, JobStatus::Restoring { from: Some(id(1)) });
    next.run_until(|view| view.job == JobStatus::Running);
    next.checkpoint();
    complete(&mut next, 2);
    assert_eq!(storage.list().unwrap(), []);
    assert_eq!(next.view().store, [id(2)]);
}

/// Breaks if only the lane whose snapshot failed begins again: then each other lane, which has stopped as well, fails once
/// more, and uses up another restart.
#[test]
fn a_stop_that_fails_in_one_lane_is_one_failure_of_the_job() {
    let mut job = lanes_job(Source::new(50, 60), 2);
    job.config.restart = RestartStrategy::FixedDelay {
        attempts: 1,
        delay_ms: 300,
    };
    let savepoints = Arc::new(MemorySavepoints::default());
    let mut rig = Rig::with_resources(&job, |it| it.savepoints = Some(savepoints.clone()));
    rig.run_until(|view| view.subtasks[0].offset == 10);
    let (kind, uid, subtask) = (FaultKind::AsyncPart, Uid::new("out"), 0);
    rig.command(&Command::Inject(Fault { kind, uid, subtask }));
    let (format, drain) = (SavepointFormat::Canonical, false);
    rig.command(&Command::StopWithSavepoint { format, drain });
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    let planned = rig
        .recording
        .events()
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::FailoverPlanned { restarting, .. } => Some(restarting.len()),
            _ => None,
        });
    assert_eq!(planned.collect::<Vec<_>>(), [6]);
}
