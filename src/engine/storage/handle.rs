//! Handles: how metadata refers to state without holding it.

use std::sync::Arc;

use crate::model::key_group::UPPER_BOUND_MAX_PARALLELISM;
use crate::model::{BackendKind, CheckpointId};

/// One written stream: its bytes, or the file in which they lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamHandle {
    /// The bytes themselves, carried along in the metadata (Flink: `ByteStreamStateHandle`).
    Inline(Arc<[u8]>),
    /// A file of a checkpoint's folder (Flink: `RelativeFileStateHandle`; relative, so that a folder can be moved).
    File {
        checkpoint: CheckpointId,
        /// As the writer called it. The storage derives the file's name from it.
        name: String,
        size_bytes: u64,
        crc32: u32,
    },
}

impl StreamHandle {
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::Inline(bytes) => bytes.len() as u64,
            Self::File { size_bytes, .. } => *size_bytes,
        }
    }
}

/// The keyed state of one subtask in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyedStateHandle {
    /// The heap's own: one stream in which key group after key group lies (Flink: `KeyGroupsStateHandle`).
    KeyGroups {
        stream: StreamHandle,
        /// Each key group and where in the stream it begins, in order. Empty groups are there too.
        offsets: Vec<(u32, u64)>,
    },
    /// RocksDB's own: all files of its checkpoint (Flink: `IncrementalRemoteKeyedStateHandle` with nothing shared).
    RocksDb {
        /// The key groups in it are this one and those after it.
        first_group: u32,
        group_count: u32,
        /// RocksDB's own name for each file, sorted.
        files: Vec<(String, StreamHandle)>,
    },
    /// The canonical form of a savepoint, which any backend writes and reads (Flink: `KeyGroupsSavepointStateHandle`).
    Savepoint {
        stream: StreamHandle,
        /// As for [`KeyedStateHandle::KeyGroups`].
        offsets: Vec<(u32, u64)>,
    },
}

impl KeyedStateHandle {
    /// The only backend that can read it; none: any can.
    #[must_use]
    pub fn backend(&self) -> Option<BackendKind> {
        match self {
            Self::KeyGroups { .. } => Some(BackendKind::Heap),
            Self::RocksDb { .. } => Some(BackendKind::RocksDb),
            Self::Savepoint { .. } => None,
        }
    }

    /// The key groups in it, in order where nothing is wrong.
    #[must_use]
    pub fn groups(&self) -> Vec<u32> {
        match self {
            Self::KeyGroups { offsets, .. } | Self::Savepoint { offsets, .. } => {
                offsets.iter().map(|(group, _)| *group).collect()
            }
            Self::RocksDb {
                first_group,
                group_count,
                ..
            } => {
                let count = (*group_count).min(UPPER_BOUND_MAX_PARALLELISM);
                (*first_group..first_group.saturating_add(count)).collect()
            }
        }
    }

    /// Flink's class for it.
    #[must_use]
    pub fn class_name(&self) -> &'static str {
        match self {
            Self::KeyGroups { .. } => "KeyGroupsStateHandle",
            Self::RocksDb { .. } => "IncrementalRemoteKeyedStateHandle",
            Self::Savepoint { .. } => "KeyGroupsSavepointStateHandle",
        }
    }

    pub fn streams(&self) -> impl Iterator<Item = &StreamHandle> {
        let (one, many) = match self {
            Self::KeyGroups { stream, .. } | Self::Savepoint { stream, .. } => {
                (Some(stream), &[][..])
            }
            Self::RocksDb { files, .. } => (None, &files[..]),
        };
        one.into_iter().chain(many.iter().map(|(_, stream)| stream))
    }

    pub fn streams_mut(&mut self) -> impl Iterator<Item = &mut StreamHandle> {
        let (one, many) = match self {
            Self::KeyGroups { stream, .. } | Self::Savepoint { stream, .. } => {
                (Some(stream), &mut [][..])
            }
            Self::RocksDb { files, .. } => (None, &mut files[..]),
        };
        one.into_iter()
            .chain(many.iter_mut().map(|(_, stream)| stream))
    }

    /// What its streams take, in bytes. Physical, hence other on each backend and machine.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.streams().map(StreamHandle::size_bytes).sum()
    }
}
