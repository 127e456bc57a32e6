//! How many failed checkpoints a job bears (Flink: `CheckpointFailureManager`).

use std::collections::BTreeSet;

use crate::engine::event::{AbortReason, CheckpointKind};
use crate::model::{CheckpointConfig, CheckpointId, SubtaskId};

/// A pending checkpoint that was given up.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    pub checkpoint: CheckpointId,
    pub kind: CheckpointKind,
    pub reason: AbortReason,
    /// The subtask that declined it; none: the JobManager's doing.
    pub subtask: Option<SubtaskId>,
}

/// Counts consecutive failures.
#[derive(Clone, Debug)]
pub struct FailureManager {
    tolerable: u32,
    counted: BTreeSet<CheckpointId>,
    last_success: CheckpointId,
}

impl FailureManager {
    pub fn new(tolerable: u32) -> Self {
        Self {
            tolerable,
            counted: BTreeSet::new(),
            last_success: CheckpointId(0),
        }
    }

    /// How many in a row have failed so far.
    #[must_use]
    pub fn consecutive(&self) -> u32 {
        u32::try_from(self.counted.len()).unwrap_or(u32::MAX)
    }

    pub fn on_success(&mut self, checkpoint: CheckpointId) {
        self.last_success = checkpoint;
        self.counted.clear();
    }

    /// Why the job must fail, if this failure was one too many.
    ///
    /// A savepoint fails for itself alone, unless a subtask is the reason: then it counts like a checkpoint, and one
    /// that was to end the job fails it at once.
    pub fn on_failure(&mut self, failure: Failure) -> Option<String> {
        let Failure {
            checkpoint, kind, ..
        } = failure;
        if kind.is_savepoint() && failure.subtask.is_none() {
            return None;
        }
        if matches!(kind, CheckpointKind::StopWithSavepoint { .. }) {
            return Some(format!(
                "Stop-with-savepoint failed: {} ({})",
                failure.reason.sentence(),
                failure.reason.name()
            ));
        }
        let is_tolerant = self.tolerable == CheckpointConfig::UNLIMITED_FAILURES;
        let is_old = checkpoint <= self.last_success;
        if is_tolerant || is_old || !failure.reason.counts_as_failure() {
            return None;
        }
        self.counted.insert(checkpoint);
        if self.consecutive() <= self.tolerable {
            return None;
        }
        self.counted.clear();
        Some("Exceeded checkpoint tolerable failure threshold.".to_owned())
    }
}
