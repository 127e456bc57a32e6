//! Handles: how metadata refers to state without holding it.

use std::sync::Arc;

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
    /// One stream in which key group after key group lies (Flink: `KeyGroupsStateHandle`).
    KeyGroups {
        stream: StreamHandle,
        /// Each key group and where in the stream it begins, in order. Empty groups are there too.
        offsets: Vec<(u32, u64)>,
    },
    /// All files of a RocksDB checkpoint (Flink: `IncrementalRemoteKeyedStateHandle` with nothing shared).
    RocksDb {
        /// RocksDB's own name for each file, sorted.
        files: Vec<(String, StreamHandle)>,
    },
}

impl KeyedStateHandle {
    /// The only backend that can read it.
    #[must_use]
    pub fn backend(&self) -> BackendKind {
        match self {
            Self::KeyGroups { .. } => BackendKind::Heap,
            Self::RocksDb { .. } => BackendKind::RocksDb,
        }
    }

    pub fn streams(&self) -> impl Iterator<Item = &StreamHandle> {
        let (one, many) = match self {
            Self::KeyGroups { stream, .. } => (Some(stream), &[][..]),
            Self::RocksDb { files } => (None, &files[..]),
        };
        one.into_iter().chain(many.iter().map(|(_, stream)| stream))
    }

    /// What its streams take, in bytes. Physical, hence other on each backend and machine.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.streams().map(StreamHandle::size_bytes).sum()
    }
}
