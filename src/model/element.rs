//! What travels along a channel: records, and the events between them.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::ids::{CheckpointId, SubtaskId};

/// The key of a record or of a piece of keyed state.
///
/// Two keys are the same when their values are; the label of an integer key is only how people read it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Key {
    /// An integer, as `value mod m` gives; hashed as Java's `Integer`.
    Int { value: i32, label: Option<Arc<str>> },
    /// A text, as a CSV column gives; hashed as Java's `String`.
    Text(Arc<str>),
}

impl Key {
    #[must_use]
    pub fn int(value: i32) -> Self {
        Self::Int { value, label: None }
    }

    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    fn identity(&self) -> (Option<i32>, Option<&str>) {
        match self {
            Self::Int { value, .. } => (Some(*value), None),
            Self::Text(text) => (None, Some(text)),
        }
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.identity().cmp(&other.identity())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int {
                label: Some(label), ..
            } => f.write_str(label),
            Self::Int { value, label: None } => value.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// Where an effect began: the record that a source subtask emitted as its `offset`-th (counted from 1).
///
/// Every element derived from it carries the same origin, so that each effect can be traced back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Origin {
    pub source: SubtaskId,
    pub offset: u64,
}

/// A value on its way, exact to the last digit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The key column: none for plain numbers; the group's key for a sum.
    pub key: Option<Key>,
    pub value: Decimal,
    pub origin: Origin,
}

/// The marker that separates the records of checkpoint `id` from those after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointBarrier {
    pub id: CheckpointId,
    /// When the coordinator triggered the checkpoint, in the driver's microseconds.
    pub triggered_us: u64,
}

/// What is not data, and keeps its place between the records of its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StreamEvent {
    Barrier(CheckpointBarrier),
    /// This checkpoint was given up upstream: stop waiting for its barrier (Flink: `CancelCheckpointMarker`).
    CancelCheckpoint(CheckpointId),
    /// The last record of this channel has passed; barriers may still follow (Flink: `EndOfData`).
    EndOfData,
    /// Nothing at all follows (Flink: `EndOfPartitionEvent`).
    EndOfPartition,
}

/// One element of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StreamElement {
    Record(Record),
    Event(StreamEvent),
}
