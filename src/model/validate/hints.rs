//! What is possible in a job, and yet perhaps not what its maker wants.

use super::{Site, grouped, quoted};
use crate::model::config::{CheckpointConfig, CheckpointMode, Retention, StorageKind};
use crate::model::graph::{JobGraph, OperatorSpec, SinkKind, Vertex};
use crate::model::script::Command;

/// A sentence about a job that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    pub site: Site,
    /// As in [`super::Problem::field`].
    pub field: &'static str,
    pub message: String,
}

/// What to consider about `job`, which has no problem.
#[must_use]
pub fn hints(job: &JobGraph) -> Vec<Hint> {
    let mut hints: Vec<Hint> = job
        .vertices
        .iter()
        .flat_map(|vertex| vertex_hints(job, vertex))
        .collect();
    hints.extend(interval_hint(&job.config.checkpointing));
    hints.extend(retention_hint(job));
    hints.extend(end_hint(job));
    hints
}

fn vertex_hints(job: &JobGraph, vertex: &Vertex) -> Vec<Hint> {
    let name = quoted(&vertex.name);
    let hint = |field, message| Hint {
        site: Site::Vertex(vertex.uid.clone()),
        field,
        message,
    };
    let mut hints = Vec::new();
    if vertex.operator.is_keyed() && !vertex.has_explicit_uid {
        let message = format!(
            "{name} has state and no uid: in a changed graph, its state will not be found in a savepoint."
        );
        hints.push(hint("generated_uid", message));
    }
    if let OperatorSpec::Sink(spec) = &vertex.operator
        && let SinkKind::TwoPhaseCommit {
            transaction_timeout_ms: timeout_ms,
            ..
        } = spec.kind
    {
        let message = transaction_hint(job, &name, timeout_ms);
        hints.extend(message.map(|message| hint("transaction_timeout_ms", message)));
        if job.config.checkpointing.mode == CheckpointMode::AtLeastOnce {
            let message = format!(
                "{name} commits each record once, but in at-least-once mode records come to it several times: exactly once takes both."
            );
            hints.push(hint("kind", message));
        }
    }
    hints
}

fn transaction_hint(job: &JobGraph, name: &str, timeout_ms: u64) -> Option<String> {
    match job.config.checkpointing.interval_ms {
        None if !takes_checkpoints(job) => Some(format!(
            "{name} commits with checkpoints only, and the job takes none before its end: set an interval, or ask for them."
        )),
        Some(interval_ms) if timeout_ms <= interval_ms => Some(format!(
            "{name} gives a transaction {} ms, and the checkpoint that commits it comes every {} ms: let the timeout be longer than the interval, a checkpoint and the longest outage together.",
            grouped(timeout_ms),
            grouped(interval_ms)
        )),
        _ => None,
    }
}

fn takes_checkpoints(job: &JobGraph) -> bool {
    job.script.iter().any(|entry| {
        matches!(
            entry.command,
            Command::Checkpoint | Command::StopWithSavepoint { .. }
        )
    })
}

/// Flink: `CheckpointConfig`, base interval.
fn interval_hint(checkpointing: &CheckpointConfig) -> Option<Hint> {
    let interval_ms = checkpointing.interval_ms?;
    let pause_ms = checkpointing.min_pause_ms;
    (pause_ms > interval_ms).then(|| Hint {
        site: Site::Job,
        field: "checkpointing.min_pause_ms",
        message: format!(
            "The pause between checkpoints ({} ms) is longer than their interval ({} ms): as in Flink, the interval is then as long as the pause.",
            grouped(pause_ms),
            grouped(interval_ms)
        ),
    })
}

/// Flink: without checkpoints after the end of tasks, what comes after the last one is not committed.
fn end_hint(job: &JobGraph) -> Option<Hint> {
    let commits = |vertex: &&Vertex| {
        matches!(&vertex.operator, OperatorSpec::Sink(spec)
            if matches!(spec.kind, SinkKind::TwoPhaseCommit { .. }))
    };
    let sink = job.vertices.iter().find(commits)?;
    (!job.config.checkpointing.after_tasks_finish).then(|| Hint {
        site: Site::Job,
        field: "checkpointing.after_tasks_finish",
        message: format!(
            "There is no checkpoint after the end of the data, so what {} takes after the last one is never committed: let checkpoints go on after tasks finish.",
            quoted(&sink.name)
        ),
    })
}

fn retention_hint(job: &JobGraph) -> Option<Hint> {
    let config = &job.config;
    let stays = config.checkpoint_dir.is_some() && config.storage != StorageKind::JobManager;
    (config.checkpointing.retention != Retention::NoExternalized && !stays).then(|| Hint {
        site: Site::Job,
        field: "checkpointing.retention",
        message: "Checkpoints are to outlive the job, but they lie where they go with the run: store them in files, and name a checkpoint folder."
            .to_owned(),
    })
}
