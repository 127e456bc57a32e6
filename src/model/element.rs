//! What travels along a channel: records, and the events between them.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::ids::{CheckpointId, SplitId};

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

/// What type keys are of: Java's, as Flink's serializers know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyKind {
    Int,
    Text,
}

impl KeyKind {
    /// `whole numbers`, `texts`
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Int => "whole numbers",
            Self::Text => "texts",
        }
    }
}

impl Key {
    #[must_use]
    pub fn kind(&self) -> KeyKind {
        match self {
            Self::Int { .. } => KeyKind::Int,
            Self::Text(_) => KeyKind::Text,
        }
    }

    #[must_use]
    pub fn int(value: i32) -> Self {
        Self::Int { value, label: None }
    }

    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// The same key, as keyed state holds it.
    #[must_use]
    pub fn without_label(&self) -> Self {
        match self {
            Self::Int { value, .. } => Self::int(*value),
            Self::Text(_) => self.clone(),
        }
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

/// Where an effect began: the `offset`-th record of a source's split (counted from 1).
///
/// Every element derived from it carries the same origin, so that each effect can be traced back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Origin {
    pub split: SplitId,
    pub offset: u64,
}

/// A value on its way, exact to the last digit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The key column: none for plain numbers; the group's key for a sum.
    pub key: Option<Key>,
    pub value: Decimal,
    pub origin: Origin,
    /// When it happened, for event-time windows; not when it was read.
    pub event_time: EventTime,
}

/// Milliseconds of event time: an own clock that the records carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventTime(pub i64);

impl EventTime {
    /// The record has none (Flink: `StreamRecord.hasTimestamp()` is false).
    pub const NONE: Self = Self(i64::MIN);
    /// The watermark after which nothing comes (Flink: `Watermark.MAX_WATERMARK`).
    pub const MAX: Self = Self(i64::MAX);

    #[must_use]
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }
}

/// The event times `start_ms..end_ms` (Flink: `TimeWindow`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TimeWindow {
    pub start_ms: i64,
    pub end_ms: i64,
}

impl TimeWindow {
    /// The tumbling window of `size_ms` (> 0) that `time` is in.
    #[must_use]
    pub fn tumbling(time: EventTime, size_ms: u64) -> Self {
        let size_ms = i64::try_from(size_ms).unwrap_or(i64::MAX).max(1);
        let start_ms = time.0.saturating_sub(time.0.rem_euclid(size_ms));
        Self {
            start_ms,
            end_ms: start_ms.saturating_add(size_ms),
        }
    }

    /// The last event time in it: its timer is set to this.
    #[must_use]
    pub fn max_timestamp(self) -> EventTime {
        EventTime(self.end_ms - 1)
    }
}

impl fmt::Display for TimeWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}–{} ms", self.start_ms, self.end_ms)
    }
}

/// The marker that separates the records of checkpoint `id` from those after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointBarrier {
    pub id: CheckpointId,
    /// When the coordinator triggered the checkpoint, in the driver's microseconds.
    pub triggered_us: u64,
    pub alignment: Alignment,
    pub kind: SnapshotKind,
}

impl CheckpointBarrier {
    /// The barrier of an aligned checkpoint.
    #[must_use]
    pub fn aligned(id: CheckpointId, triggered_us: u64) -> Self {
        Self {
            id,
            triggered_us,
            alignment: Alignment::Aligned,
            kind: SnapshotKind::Checkpoint,
        }
    }

    #[must_use]
    pub fn with(self, alignment: Alignment) -> Self {
        Self { alignment, ..self }
    }
}

impl Alignment {
    /// On an edge where nothing can overtake (Flink: `CheckpointOptions.withUnalignedUnsupported`).
    #[must_use]
    pub fn forced(self) -> Self {
        match self {
            Self::Unaligned => Self::ForcedAligned { deadline_us: None },
            Self::AlignedUntil { deadline_us } => Self::ForcedAligned {
                deadline_us: Some(deadline_us),
            },
            Self::AtLeastOnce | Self::Aligned | Self::ForcedAligned { .. } => self,
        }
    }

    /// Behind such an edge (Flink: `CheckpointOptions.withUnalignedSupported`).
    #[must_use]
    pub fn unforced(self) -> Self {
        match self {
            Self::ForcedAligned { deadline_us: None } => Self::Unaligned,
            Self::ForcedAligned {
                deadline_us: Some(deadline_us),
            } => Self::AlignedUntil { deadline_us },
            _ => self,
        }
    }
}

/// How a barrier and the records around it treat each other (Flink: `CheckpointOptions.AlignmentType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Alignment {
    /// Records behind it are processed while others of its checkpoint are awaited.
    AtLeastOnce,
    /// Records behind it wait.
    Aligned,
    /// It overtakes the records before it, and they become part of the checkpoint.
    Unaligned,
    /// Records behind it wait, because nothing can overtake on this edge; after its receiver it is unaligned again
    /// (from `deadline_us` on; none: at once).
    ForcedAligned { deadline_us: Option<u64> },
    /// Aligned until then (from the trigger on, in the driver's microseconds); unaligned afterwards.
    AlignedUntil { deadline_us: u64 },
}

/// What a snapshot is for (Flink: `SnapshotType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SnapshotKind {
    Checkpoint,
    /// A person's: never subsumed, complete in itself.
    Savepoint(SavepointFormat),
    /// The same, and the job ends with it. `drain`: it first processes and emits all that it holds.
    StopWithSavepoint {
        format: SavepointFormat,
        drain: bool,
    },
}

impl SnapshotKind {
    #[must_use]
    pub fn is_savepoint(self) -> bool {
        self != Self::Checkpoint
    }

    #[must_use]
    pub fn format(self) -> Option<SavepointFormat> {
        match self {
            Self::Checkpoint => None,
            Self::Savepoint(format) | Self::StopWithSavepoint { format, .. } => Some(format),
        }
    }
}

/// How the keyed state of a savepoint is written (Flink: `SavepointFormatType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SavepointFormat {
    /// The same for every backend, so that it can be restored by another.
    Canonical,
    /// The backend's own.
    Native,
}

impl SavepointFormat {
    pub const ALL: [Self; 2] = [Self::Canonical, Self::Native];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Canonical => "canonical",
            Self::Native => "native",
        }
    }
}

/// What is not data, and keeps its place between the records of its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StreamEvent {
    Barrier(CheckpointBarrier),
    /// This checkpoint was given up upstream: stop waiting for its barrier (Flink: `CancelCheckpointMarker`).
    CancelCheckpoint(CheckpointId),
    /// No record with an event time up to this one will follow (Flink: `Watermark`).
    Watermark(EventTime),
    /// The channel does not hold back the watermark any more: nothing may come for long (`WatermarkStatus.IDLE`).
    Idle,
    /// It does again (`WatermarkStatus.ACTIVE`).
    Active,
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
