//! How bounded jobs end: data, then one more checkpoint, then the subtasks.

use lockgate::engine::event::{CheckpointKind, EventKind, JobStatus, SubtaskStatus};
use lockgate::model::CheckpointId;

use lockgate::recording::view::CheckpointStatus;

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
