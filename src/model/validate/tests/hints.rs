//! Hints: a job that runs, and perhaps not as its maker wants.

use super::*;
use crate::model::{CheckpointMode, Retention, SinkKind};

fn hinted(change: impl FnOnce(&mut JobGraph)) -> Vec<String> {
    let mut job = good();
    change(&mut job);
    assert_eq!(validate(&job), [], "a hint is no problem");
    let shown = |hint: Hint| format!("{}: {}", hint.field, hint.message);
    hints(&job).into_iter().map(shown).collect()
}

fn two_phase(transaction_timeout_ms: u64) -> Vertex {
    let kind = SinkKind::TwoPhaseCommit {
        transaction_timeout_ms,
        ignore_failures_after_timeout: false,
    };
    vertex("out", OperatorSpec::Sink(SinkSpec { kind }))
}

#[test]
fn a_job_like_most_has_no_hints() {
    assert_eq!(hinted(|_| ()), [""; 0]);
    let long_enough = hinted(|job| {
        job.vertices[2] = two_phase(60_000);
        job.config.checkpointing.interval_ms = Some(1_000);
    });
    assert_eq!(long_enough, [""; 0]);
}

#[test]
fn transactions_outlive_the_time_between_checkpoints() {
    let short = hinted(|job| {
        job.vertices[2] = two_phase(1_000);
        job.config.checkpointing.interval_ms = Some(1_000);
    });
    assert_eq!(
        short,
        [
            "transaction_timeout_ms: “out” gives a transaction 1,000 ms, and the checkpoint that commits it comes every 1,000 ms: let the timeout be longer than the interval, a checkpoint and the longest outage together."
        ]
    );
    let never = hinted(|job| job.vertices[2] = two_phase(1_000));
    assert_eq!(
        never,
        [
            "transaction_timeout_ms: “out” commits with checkpoints only, and the job takes none before its end: set an interval, or ask for them."
        ]
    );
    let twice = hinted(|job| {
        job.vertices[2] = two_phase(60_000);
        job.config.checkpointing.interval_ms = Some(1_000);
        job.config.checkpointing.mode = CheckpointMode::AtLeastOnce;
    });
    assert!(twice[0].contains("exactly once takes both"), "{twice:?}");
}

/// Flink: the last records wait for a final checkpoint that is switched off.
#[test]
fn a_sink_that_commits_needs_a_checkpoint_after_the_end() {
    let found = hinted(|job| {
        job.vertices[2] = two_phase(60_000);
        job.config.checkpointing.interval_ms = Some(1_000);
        job.config.checkpointing.after_tasks_finish = false;
    });
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("checkpointing.after_tasks_finish: "),
        "{found:?}"
    );
    assert!(found[0].contains("never committed"), "{found:?}");
}

#[test]
fn settings_that_have_no_effect_are_told() {
    let found = hinted(|job| {
        job.vertices[1].has_explicit_uid = false;
        job.config.checkpointing.interval_ms = Some(100);
        job.config.checkpointing.min_pause_ms = 200;
        job.config.checkpointing.retention = Retention::RetainOnCancellation;
    });
    assert_eq!(
        found,
        [
            "generated_uid: “sum” has state and no uid: in a changed graph, its state will not be found in a savepoint.",
            "checkpointing.min_pause_ms: The pause between checkpoints (200 ms) is longer than their interval (100 ms): as in Flink, the interval is then as long as the pause.",
            "checkpointing.retention: Checkpoints are to outlive the job, but they lie where they go with the run: store them in files, and name a checkpoint folder.",
        ]
    );
    let kept = hinted(|job| {
        job.config.checkpointing.retention = Retention::RetainOnCancellation;
        job.config.checkpoint_dir = Some("kept".into());
        job.config.storage = StorageKind::FileSystem {
            inline_threshold_bytes: 0,
        };
    });
    assert_eq!(kept, [""; 0]);
}
