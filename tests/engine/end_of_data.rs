//! How bounded jobs end: data, then one more checkpoint, then the subtasks.

use lockgate::engine::event::{
    AbortReason, CheckpointKind, EventKind, JobStatus, RejectReason, SubtaskStatus, TraceEvent,
};
use lockgate::model::{CheckpointId, JobGraph};
use lockgate::project;

use lockgate::recording::view::{ChannelView, CheckpointStatus};

use crate::rig::{Rig, Source, sum_job};

/// Breaks if subtasks finish before a checkpoint holds their last records.
#[test]
fn a_bounded_job_ends_only_after_a_checkpoint_begun_at_its_end() {
    let mut rig = Rig::new(&sum_job(&[Source::new(50, 8)], 2, 2));
    rig.run_until(|view| view.subtasks[0].status == SubtaskStatus::EndOfData);
    rig.run_until(|view| !view.checkpoints.is_empty());
    let checkpoint = rig.view().checkpoints[&CheckpointId(1)].clone();
    assert_eq!(checkpoint.kind, CheckpointKind::Final);
    let at_end = |status| matches!(status, SubtaskStatus::EndOfData);
    assert!(
        rig.view()
            .subtasks
            .iter()
            .all(|subtask| at_end(subtask.status))
    );
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    assert_eq!(
        rig.view().checkpoints.len(),
        1,
        "one final checkpoint is enough"
    );
}

/// Breaks if a subtask takes a checkpoint from before its end for the one that lets it finish.
#[test]
fn a_checkpoint_from_before_the_end_lets_nobody_finish() {
    let mut rig = Rig::new(&sum_job(&[Source::new(50, 8)], 2, 2));
    rig.run_until(|view| view.subtasks[0].offset == 7);
    rig.checkpoint();
    rig.run_until(|view| view.subtasks[0].status == SubtaskStatus::EndOfData);
    assert!(rig.view().store.is_empty(), "it is still pending");
    rig.run_to_end();
    let last = &rig.view().checkpoints[&CheckpointId(2)];
    assert_eq!(last.kind, CheckpointKind::Final);
    assert_eq!(last.finished, []);
    assert_eq!(last.status, CheckpointStatus::Completed);
    assert_eq!(rig.view().store, [], "a job that has finished keeps none");
}

/// Breaks if a finished input is waited for, or a finished subtask is asked to acknowledge.
#[test]
fn checkpoints_go_on_after_one_source_has_finished() {
    let mut rig = Rig::new(&sum_job(&[Source::new(50, 4), Source::new(20, 60)], 2, 2));
    rig.run_until(|view| view.subtasks[0].status == SubtaskStatus::EndOfData);
    rig.checkpoint();
    rig.run_until(|view| view.subtasks[0].status == SubtaskStatus::Finished);
    // The coordinator must have heard of it; before that, as in Flink, the finished subtask makes a checkpoint fail.
    let heard_us = rig.view().at_us + rig.recording.job.config.costs.rpc_us;
    rig.run_until(|view| view.at_us > heard_us);
    rig.checkpoint();
    rig.run_until(|view| view.store == [CheckpointId(2)]);
    let second = rig.view().checkpoints[&CheckpointId(2)].clone();
    assert_eq!(second.finished, rig.subtasks("s0"));
    rig.crash("sum", 0);
    rig.restore();
    rig.run_until(|view| view.job == JobStatus::Running);
    assert_eq!(
        rig.view().subtasks[0].status,
        SubtaskStatus::Finished,
        "it is finished at once"
    );
    rig.run_to_end();
    let state = rig.recording.ledger(rig.view()).state.unwrap();
    assert_eq!((state.zero, state.once, state.more), (0, 64, 0));
}

#[test]
fn a_source_of_nothing_ends_the_job_at_once() {
    let mut rig = Rig::new(&sum_job(&[Source::new(50, 0)], 2, 2));
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    assert!(rig.sums("sum").is_empty());
}

/// A script or person asks for one just when the final one is due: both may come, none may hang.
#[test]
fn checkpoints_asked_for_at_the_end_do_not_keep_the_job_from_ending() {
    for every in 1..12 {
        let mut job = sum_job(&[Source::new(50, 6), Source::new(30, 6)], 2, 2);
        job.config.checkpointing.max_concurrent = 1 + every % 3;
        let mut rig = Rig::new(&job);
        let mut steps = 0;
        while rig.step() {
            steps += 1;
            if steps % every == 0 {
                rig.checkpoint();
            }
            assert!(steps < 20_000, "the job does not end");
        }
        assert_eq!(
            rig.view().job,
            JobStatus::Finished,
            "a request every {every} steps"
        );
        let triggered = |kind: &EventKind| matches!(kind, EventKind::Triggered { .. });
        assert!(
            rig.recording
                .events()
                .iter()
                .any(|event| triggered(&event.kind))
        );
    }
}

fn job_without_checkpoints_after_the_end(sources: &[Source]) -> JobGraph {
    let mut job = sum_job(sources, 2, 2);
    job.config.checkpointing.after_tasks_finish = false;
    job.config.checkpointing.tolerable_failed = 9;
    job
}

/// As before Flink 1.14: breaks if the end waits for a checkpoint that nobody takes.
#[test]
fn without_checkpoints_after_tasks_finish_the_end_of_the_data_is_the_end() {
    let mut rig = Rig::new(&job_without_checkpoints_after_the_end(&[Source::new(
        50, 8,
    )]));
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    assert!(rig.view().checkpoints.is_empty());
    let state = rig.recording.ledger(rig.view()).state.unwrap();
    assert_eq!((state.zero, state.once), (0, 8));
}

/// Breaks if a checkpoint goes on without the finished source, or if its request uses a number up.
#[test]
fn without_them_no_checkpoint_begins_once_a_source_has_finished() {
    let sources = [Source::new(50, 4), Source::new(20, 60)];
    let mut rig = Rig::new(&job_without_checkpoints_after_the_end(&sources));
    rig.run_until(|view| view.subtasks[0].status == SubtaskStatus::Finished);
    let heard_us = rig.view().at_us + rig.recording.job.config.costs.rpc_us;
    rig.run_until(|view| view.at_us > heard_us);
    rig.checkpoint();
    let rejected = |event: &TraceEvent| match event.kind {
        EventKind::TriggerRejected { reason, .. } => Some(reason),
        _ => None,
    };
    let reasons: Vec<RejectReason> = rig.recording.events().iter().filter_map(rejected).collect();
    assert_eq!(reasons, [RejectReason::NotAllRequiredTasksRunning]);
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    assert!(rig.view().checkpoints.is_empty());
}

/// The trigger reaches the source when it has just finished, while the other one's barrier is on its way. Breaks if the
/// end of an input counts as its barrier although such checkpoints are switched off, or if the alignment hangs.
#[test]
fn without_them_a_source_that_finishes_meanwhile_aborts_the_checkpoint() {
    let sources = [Source::new(50, 4), Source::new(20, 60)];
    let mut rig = Rig::new(&job_without_checkpoints_after_the_end(&sources));
    rig.run_until(|view| view.subtasks[0].offset == 3);
    let just_before_us = rig.view().at_us + 20_000 - 3_000;
    while rig
        .stepper
        .next_at_us()
        .is_some_and(|at_us| at_us <= just_before_us)
    {
        rig.step();
    }
    rig.stepper.wait_until(just_before_us);
    rig.checkpoint();
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    let first = &rig.view().checkpoints[&CheckpointId(1)];
    let closing = CheckpointStatus::Aborted(AbortReason::DeclinedTaskClosing);
    assert_eq!(first.status, closing);
    let taken = |event: &TraceEvent| matches!(event.kind, EventKind::SnapshotStarted { subtask, .. } if subtask == rig.subtasks("sum")[0]);
    assert!(!rig.recording.events().iter().any(taken));
    let is_open = |channel: &ChannelView| channel.blocked.is_none();
    assert!(rig.view().channels.iter().all(is_open));
}

/// A source that ended early, and one that is at its end when the job crashes: beside each other, and told of in any order.
const TWO_ENDS: &str = r#"(
    version: 2,
    name: "two ends",
    operators: [
        (uid: "a", kind: SequenceSource(rate_per_s: 10, end: 5), at: (0, 0)),
        (uid: "b", kind: SequenceSource(rate_per_s: 10, end: 30), at: (0, 0)),
        (uid: "outa", kind: Sink, at: (0, 0)),
        (uid: "outb", kind: Sink, at: (0, 0)),
    ],
    edges: [ ("a", "outa", Forward), ("b", "outb", Forward) ],
    settings: (
        failover: Full,
        restart: FixedDelay(attempts: 5, delay_ms: 300),
        costs: (transfer_us: 0, rpc_us: 50000, process_us: 0),
    ),
    script: [(AtMs(1000), Checkpoint), (AtMs(2000), Checkpoint), (AtMs(3150), Crash("outb", 0))],
)"#;

/// Breaks if the coordinator asks for the final checkpoint only when a subtask comes to its end, and not when the last
/// one that it waited for turns out to have finished.
#[test]
fn what_had_finished_before_may_be_the_last_to_say_so() {
    for seed in 0..32 {
        let mut job = project::parse(TWO_ENDS, "two ends").unwrap().job;
        job.config.seed = seed;
        let mut rig = Rig::new(&job);
        rig.run_to_end();
        assert_eq!(rig.view().job, JobStatus::Finished, "seed {seed}");
    }
}

/// Breaks if a final checkpoint that another one has made needless counts as refused: Flink's statistics know of none.
#[test]
fn a_final_checkpoint_that_is_not_needed_is_not_refused() {
    let mut job = sum_job(&[Source::new(50, 8)], 2, 2);
    job.config.checkpointing.interval_ms = Some(20);
    let withdrawn = |rig: &Rig| {
        let events = rig.recording.events().iter();
        let kind = CheckpointKind::Final;
        let of_it = |event: &&TraceEvent| event.kind == EventKind::TriggerWithdrawn { kind };
        events.filter(of_it).count()
    };
    let mut seen = 0;
    for seed in 0..16 {
        job.config.seed = seed;
        let mut rig = Rig::new(&job);
        rig.run_to_end();
        assert_eq!(rig.view().refused_triggers, 0, "seed {seed}");
        assert_eq!(rig.view().queued, []);
        seen += withdrawn(&rig);
    }
    assert!(seen > 0, "the story needs a queue");
}
