//! The completed checkpoints that can be restored (Flink: `CompletedCheckpointStore`, `CheckpointSubsumeHelper`).

use std::collections::VecDeque;

use crate::model::CheckpointId;

/// The retained checkpoints, oldest first. The last one is what a failing job returns to.
#[derive(Clone, Debug, Default)]
pub struct CompletedStore {
    retained: VecDeque<CheckpointId>,
}

impl CompletedStore {
    /// Add the newest one; returns those that make room for it, at most `retain` (≥ 1) being kept.
    pub fn add(&mut self, checkpoint: CheckpointId, retain: u32) -> Vec<CheckpointId> {
        self.retained.push_back(checkpoint);
        let surplus = self.retained.len().saturating_sub(retain.max(1) as usize);
        self.retained.drain(..surplus).collect()
    }

    /// The job went back to `checkpoint`: now that is the latest.
    ///
    /// Where a person returns to an older checkpoint, the newer ones belong to a course of events that is given up.
    /// They stay restorable, but by name only, until they are subsumed.
    pub fn promote(&mut self, checkpoint: CheckpointId) {
        if let Some(place) = self.retained.iter().position(|id| *id == checkpoint) {
            self.retained.remove(place);
            self.retained.push_back(checkpoint);
        }
    }

    #[must_use]
    pub fn latest(&self) -> Option<CheckpointId> {
        self.retained.back().copied()
    }

    #[must_use]
    pub fn contains(&self, checkpoint: CheckpointId) -> bool {
        self.retained.contains(&checkpoint)
    }

    /// Oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = CheckpointId> + '_ {
        self.retained.iter().copied()
    }
}
