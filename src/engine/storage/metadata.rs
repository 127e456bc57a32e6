//! What a completed checkpoint says about itself: the `_metadata` file.
//!
//! ```text
//! header   magic "LgCp" · version u32 · length of the payload u64 · CRC-32 of version and payload u32    (20 bytes)
//! payload  checkpoint u64 · kind u8 · backend u8 · operators · edges · time
//! operator id (16 bytes) · uid · explicit u8 · name · parallelism u32 · max parallelism u32 · subtasks
//! edge     from (16 bytes) · to (16 bytes) · partitioning u8
//! subtask  flags u8 (1 finished, 4 has keyed state) · lists · [keyed] · channels
//! list     name · distribution u8 · elements (bytes each)
//! channel  side u8 (0 output, 1 input) · place u32 · stream
//! keyed    0 · stream · [key group u32, offset u64]          one stream of key groups, the heap's
//!          1 · first key group u32 · how many u32 · files    those of a RocksDB checkpoint, in version 2
//!          2 · as 0                                          one stream of key groups, canonical
//!          3 · first key group u32 · how many u32 · shared · files          those of a RocksDB checkpoint
//!          4 · as 3 · as 0                                   the same, and its timers, which were on the heap
//! shared   [file name, created by (checkpoint u64), bytes of its entries u64, stream]
//! files    [file name, stream]
//! time     0, or 1 · processing time u64                     milliseconds
//! stream   0 · bytes                                         in here
//!          1 · checkpoint u64 · name · size u64 · CRC-32 u32 in a file of the checkpoint
//!          2 · name · size u64 · CRC-32 u32                  in a shared file
//! ```
//!
//! In version 2 the checksum is of the payload alone. Before version 4 there is no time at the end, and no keyed state 4;
//! version 3 is written where neither is needed. Numbers are big-endian. A list comes after its count (u32), a text or bytes after its length (u64). Any change
//! of this layout needs a new version and a reader for the old one: the tests hold
//! one of each version, byte by byte.

mod put;
mod read;

use std::sync::Arc;

use super::{KeyedStateHandle, SharedFile, StreamHandle};
use crate::engine::event::ChannelSide;
use crate::engine::plan::EdgePlan;
use crate::model::{BackendKind, CheckpointId, OperatorId, SavepointFormat, SnapshotKind, Uid};

const MAGIC: [u8; 4] = *b"LgCp";
const VERSION: u32 = 4;
/// Where no timers were on the heap and no time is known.
const VERSION_WITHOUT_TIME: u32 = 3;
const OLDEST_VERSION: u32 = 2;
const HEADER_BYTES: usize = 20;

/// The kinds of snapshots, by their numbers.
const KINDS: [SnapshotKind; 7] = {
    use SavepointFormat::{Canonical, Native};
    const fn stop(format: SavepointFormat, drain: bool) -> SnapshotKind {
        SnapshotKind::StopWithSavepoint { format, drain }
    }
    [
        SnapshotKind::Checkpoint,
        SnapshotKind::Savepoint(Canonical),
        SnapshotKind::Savepoint(Native),
        stop(Canonical, false),
        stop(Canonical, true),
        stop(Native, false),
        stop(Native, true),
    ]
};

/// As the header has it.
fn checksum(version: u32, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    if version > 2 {
        hasher.update(&version.to_be_bytes());
    }
    hasher.update(payload);
    hasher.finalize()
}

const FINISHED: u8 = 1;
const HAS_KEYED: u8 = 4;

/// All that a job needs to go on from checkpoint `checkpoint` (Flink: `CheckpointMetadata`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointMetadata {
    pub checkpoint: CheckpointId,
    /// A checkpoint, or a savepoint and in which format.
    pub kind: SnapshotKind,
    /// Where the working state was when it was taken.
    pub backend: BackendKind,
    pub operators: Vec<OperatorState>,
    /// How the operators were connected, in the order of their channels.
    pub edges: Vec<EdgePlan>,
    /// Processing time when it was triggered, in milliseconds: time goes on from there, and state does not grow younger.
    /// None: its writer did not say.
    pub processing_time_ms: Option<u64>,
}

/// One operator's part, found again by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorState {
    pub id: OperatorId,
    pub uid: Uid,
    /// Whether the id follows from the uid, or from where the operator stood in the graph.
    pub has_explicit_uid: bool,
    pub name: String,
    pub parallelism: u32,
    pub max_parallelism: u32,
    /// By index within the operator.
    pub subtasks: Vec<SubtaskState>,
}

impl OperatorState {
    /// Whether it would be missed (Flink: `OperatorSubtaskState.hasState`).
    #[must_use]
    pub fn has_state(&self) -> bool {
        self.subtasks.iter().any(|subtask| {
            let has_elements = |list: &ListState| !list.elements.is_empty();
            subtask.keyed.is_some()
                || !subtask.channels.is_empty()
                || subtask.lists.iter().any(has_elements)
        })
    }

    /// All subtasks had finished before (Flink: `FullyFinishedOperatorState`).
    #[must_use]
    pub fn is_fully_finished(&self) -> bool {
        self.subtasks.iter().all(|subtask| subtask.finished)
    }

    /// What its streams and lists take, in bytes.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.subtasks.iter().map(SubtaskState::stored_bytes).sum()
    }
}

/// One subtask's part (Flink: `OperatorSubtaskState`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubtaskState {
    /// It had finished before the checkpoint and has nothing left to do.
    pub finished: bool,
    /// Operator list state, by name.
    pub lists: Vec<ListState>,
    pub keyed: Option<KeyedStateHandle>,
    /// Records in flight, of an unaligned checkpoint.
    pub channels: Vec<ChannelState>,
}

impl SubtaskState {
    /// What of it lies in its handles, and so goes to the JobManager with the acknowledgement, in bytes.
    #[must_use]
    pub fn inline_bytes(&self) -> u64 {
        let in_files = |stream: &StreamHandle| match stream {
            StreamHandle::Inline(_) => 0,
            StreamHandle::File { .. } | StreamHandle::Shared { .. } => stream.size_bytes(),
        };
        let keyed = self.keyed.iter().flat_map(KeyedStateHandle::streams);
        let channels = self.channels.iter().map(|channel| &channel.stream);
        let in_files: u64 = keyed.chain(channels).map(in_files).sum();
        self.stored_bytes() - in_files
    }

    /// The files in which other checkpoints may have a part, too, each with its name.
    pub fn shared_files(&self) -> impl Iterator<Item = (&str, &SharedFile)> {
        let files = self.keyed.iter().flat_map(KeyedStateHandle::shared);
        files.filter_map(|file| Some((file.stream.shared_name()?, file)))
    }

    /// What its streams and lists take, in bytes.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        let elements = self.lists.iter().flat_map(|list| &list.elements);
        let lists: u64 = elements.map(|element| element.len() as u64).sum();
        let channels = self.channels.iter().map(|channel| &channel.stream);
        let channels: u64 = channels.map(StreamHandle::size_bytes).sum();
        let keyed = self.keyed.as_ref().map(KeyedStateHandle::stored_bytes);
        lists + channels + keyed.unwrap_or(0)
    }
}

/// One list of operator state: what a subtask holds beside keyed state (Flink: `OperatorStateHandle`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListState {
    pub name: String,
    pub distribution: Distribution,
    pub elements: Vec<Arc<[u8]>>,
}

/// Who gets which elements when the parallelism changes (Flink: `OperatorStateHandle.Mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Each element goes to one subtask.
    Split,
    /// Every subtask gets all elements.
    Union,
    /// Every subtask has the same list.
    Broadcast,
}

/// The records of one channel that are part of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelState {
    pub side: ChannelSide,
    /// The channel's place among the subtask's inputs, or among its outputs.
    pub place: u32,
    pub stream: StreamHandle,
}

impl CheckpointMetadata {
    /// Every stream that a restore would read.
    pub fn streams(&self) -> impl Iterator<Item = &StreamHandle> {
        let subtasks = self
            .operators
            .iter()
            .flat_map(|operator| &operator.subtasks);
        subtasks.flat_map(|subtask| {
            let keyed = subtask.keyed.iter().flat_map(KeyedStateHandle::streams);
            keyed.chain(subtask.channels.iter().map(|channel| &channel.stream))
        })
    }

    /// The same, to be replaced.
    pub fn streams_mut(&mut self) -> impl Iterator<Item = &mut StreamHandle> {
        let operators = self.operators.iter_mut();
        let subtasks = operators.flat_map(|operator| &mut operator.subtasks);
        subtasks.flat_map(|subtask| {
            let keyed = subtask.keyed.iter_mut();
            let keyed = keyed.flat_map(KeyedStateHandle::streams_mut);
            let channels = subtask.channels.iter_mut();
            keyed.chain(channels.map(|channel| &mut channel.stream))
        })
    }

    /// Records in flight are part of it: it was unaligned, and its barriers have overtaken some.
    #[must_use]
    pub fn has_in_flight(&self) -> bool {
        let mut subtasks = self
            .operators
            .iter()
            .flat_map(|operator| &operator.subtasks);
        subtasks.any(|subtask| !subtask.channels.is_empty())
    }

    #[must_use]
    pub fn operator(&self, id: OperatorId) -> Option<&OperatorState> {
        self.operators.iter().find(|operator| operator.id == id)
    }
}

#[cfg(test)]
mod tests;
