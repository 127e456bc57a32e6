//! The engine's own state, read out for comparison: what the fold of the log must give as well.

use std::collections::BTreeMap;

use super::Stepper;
use crate::engine::event::{JobStatus, SubtaskStatus};
use crate::engine::operator::Operator;
use crate::model::{CheckpointId, Decimal, Key, StreamElement};

/// What the engine itself holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    pub job: JobStatus,
    pub statuses: Vec<SubtaskStatus>,
    /// Per subtask that runs: source offset.
    pub offsets: Vec<Option<u64>>,
    /// Per subtask that runs: keyed state.
    pub rows: Vec<Option<BTreeMap<Key, Decimal>>>,
    pub channels: Vec<Vec<(StreamElement, u64)>>,
    pub blocked: Vec<Option<CheckpointId>>,
    pub pending: Vec<CheckpointId>,
    pub retained: Vec<CheckpointId>,
}

impl Stepper {
    /// Read the state machines, channels and the coordinator.
    #[must_use]
    pub fn project(&self) -> Projection {
        let operators = self.tasks.iter().map(|task| {
            let subtask = task.subtask.as_ref();
            subtask.map(crate::engine::subtask::Subtask::operator)
        });
        let rows = |operator: Option<&Operator>| {
            let contents = operator?.contents().ok()?;
            Some(contents.rows.into_iter().collect())
        };
        let channels = &self.net.channels;
        Projection {
            job: self.status.clone(),
            statuses: self.tasks.iter().map(|task| task.status).collect(),
            offsets: operators
                .clone()
                .map(|operator| operator?.source_offset())
                .collect(),
            rows: operators.map(rows).collect(),
            channels: channels
                .iter()
                .map(|c| c.queue.iter().cloned().collect())
                .collect(),
            blocked: channels.iter().map(|channel| channel.blocked).collect(),
            pending: self.coordinator.pending().collect(),
            retained: self.coordinator.store().iter().collect(),
        }
    }
}
