//! A checkpoint under way (Flink: `PendingCheckpoint`).

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::event::CheckpointKind;
use crate::engine::storage::SubtaskState;
use crate::model::SubtaskId;

/// Who must acknowledge, and what has come.
#[derive(Clone, Debug)]
pub struct Pending {
    pub kind: CheckpointKind,
    pub triggered_us: u64,
    /// It is given up then.
    pub timeout_us: u64,
    pub must_ack: BTreeSet<SubtaskId>,
    pub acknowledged: BTreeMap<SubtaskId, SubtaskState>,
    /// How many of them were captured after the end of all input.
    at_end: usize,
}

impl Pending {
    pub fn new(kind: CheckpointKind, must_ack: Vec<SubtaskId>) -> Self {
        Self {
            kind,
            triggered_us: 0,
            timeout_us: u64::MAX,
            must_ack: must_ack.into_iter().collect(),
            acknowledged: BTreeMap::new(),
            at_end: 0,
        }
    }

    pub fn accept(&mut self, subtask: SubtaskId, state: SubtaskState, at_end: bool) {
        self.acknowledged.insert(subtask, state);
        self.at_end += usize::from(at_end);
    }

    pub fn is_fully_acknowledged(&self) -> bool {
        self.acknowledged.len() == self.must_ack.len()
    }

    /// Every part was captured after the end of its input: nothing can follow this checkpoint.
    pub fn all_at_end(&self) -> bool {
        self.at_end == self.must_ack.len()
    }
}
