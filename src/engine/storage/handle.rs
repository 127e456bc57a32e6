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
    /// A file that several checkpoints of a run may refer to, beside their folders.
    Shared {
        /// As the writer called it: no two files of a run are called so.
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
            Self::File { size_bytes, .. } | Self::Shared { size_bytes, .. } => *size_bytes,
        }
    }

    /// The name of a shared file; none: it is nobody else's.
    #[must_use]
    pub fn shared_name(&self) -> Option<&str> {
        match self {
            Self::Shared { name, .. } => Some(name),
            Self::Inline(_) | Self::File { .. } => None,
        }
    }
}

/// A file of RocksDB with its entries, which later checkpoints need not upload again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedFile {
    /// The checkpoint that has uploaded it, as this handle knows: the same file may have been uploaded again since.
    pub created_by: CheckpointId,
    /// What its entries take, in bytes: the same on every machine, other than the file's size.
    pub entry_bytes: u64,
    pub stream: StreamHandle,
}

/// A stream in which key group after key group lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupOffsets {
    pub stream: StreamHandle,
    /// Each key group and where in the stream it begins, in order. Empty groups are there too.
    pub offsets: Vec<(u32, u64)>,
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
    /// RocksDB's own: all files of its checkpoint (Flink: `IncrementalRemoteKeyedStateHandle`).
    RocksDb {
        /// The key groups in it are this one and those after it.
        first_group: u32,
        group_count: u32,
        /// Of an incremental checkpoint: the files with the entries, by RocksDB's own name for each, sorted.
        shared: Vec<(String, SharedFile)>,
        /// All others, the same: a checkpoint that is not incremental has all its files here.
        private: Vec<(String, StreamHandle)>,
        /// The timers of its windows, if the job had them on the heap (Flink: raw keyed state, a handle of its own).
        timers: Option<GroupOffsets>,
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
        let one = match self {
            Self::KeyGroups { stream, .. } | Self::Savepoint { stream, .. } => Some(stream),
            Self::RocksDb { timers, .. } => timers.as_ref().map(|timers| &timers.stream),
        };
        one.into_iter()
            .chain(self.files().map(|(_, stream)| stream))
    }

    /// RocksDB's files, those that are shared first; no others have any.
    pub fn files(&self) -> impl Iterator<Item = (&str, &StreamHandle)> {
        let (shared, private) = match self {
            Self::RocksDb {
                shared, private, ..
            } => (&shared[..], &private[..]),
            Self::KeyGroups { .. } | Self::Savepoint { .. } => (&[][..], &[][..]),
        };
        let shared = shared.iter().map(|(name, file)| (&**name, &file.stream));
        shared.chain(private.iter().map(|(name, stream)| (&**name, stream)))
    }

    /// RocksDB's timers, where they were on the heap.
    #[must_use]
    pub fn timers(&self) -> Option<&GroupOffsets> {
        match self {
            Self::RocksDb { timers, .. } => timers.as_ref(),
            Self::KeyGroups { .. } | Self::Savepoint { .. } => None,
        }
    }

    /// The files that other checkpoints may refer to, too.
    pub fn shared(&self) -> impl Iterator<Item = &SharedFile> {
        let shared = match self {
            Self::RocksDb { shared, .. } => &shared[..],
            Self::KeyGroups { .. } | Self::Savepoint { .. } => &[],
        };
        shared.iter().map(|(_, file)| file)
    }

    pub fn streams_mut(&mut self) -> impl Iterator<Item = &mut StreamHandle> {
        let (one, shared, private) = match self {
            Self::KeyGroups { stream, .. } | Self::Savepoint { stream, .. } => {
                (Some(stream), &mut [][..], &mut [][..])
            }
            Self::RocksDb {
                shared,
                private,
                timers,
                ..
            } => {
                let timers = timers.as_mut().map(|timers| &mut timers.stream);
                (timers, &mut shared[..], &mut private[..])
            }
        };
        let shared = shared.iter_mut().map(|(_, file)| &mut file.stream);
        let private = private.iter_mut().map(|(_, stream)| stream);
        one.into_iter().chain(shared).chain(private)
    }

    /// What its streams take, in bytes. Physical, hence other on each backend and machine.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.streams().map(StreamHandle::size_bytes).sum()
    }

    /// What `checkpoint` has written anew of that, in bytes (Flink: `getCheckpointedSize`).
    #[must_use]
    pub fn uploaded_bytes(&self, checkpoint: CheckpointId) -> u64 {
        let reused = self.shared().filter(|file| file.created_by != checkpoint);
        let reused: u64 = reused.map(|file| file.stream.size_bytes()).sum();
        self.stored_bytes() - reused
    }
}
