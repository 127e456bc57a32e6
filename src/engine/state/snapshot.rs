//! Keyed state as it was at one moment, whichever backend it is of.

use super::ttl::Deadline;
use super::{HeapSnapshot, RocksDbSnapshot};
use crate::engine::storage::{CheckpointStorage, KeyedStateHandle, StorageError};
use crate::model::{CheckpointId, SavepointFormat};

/// State as it was at one moment, not yet written to the checkpoint storage. Dropping it, written or not, leaves
/// nothing behind.
#[derive(Debug)]
pub enum KeyedSnapshot {
    Heap(HeapSnapshot),
    RocksDb(RocksDbSnapshot),
}

impl KeyedSnapshot {
    /// The logical size in bytes, as [`super::KeyedBackend::size_bytes`] was when the snapshot was taken.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::Heap(heap) => heap.size_bytes(),
            Self::RocksDb(rocks) => rocks.size_bytes(),
        }
    }

    /// What the asynchronous part will write of it, in bytes of entries: all, or what the base of an incremental snapshot
    /// does not have. The same on every machine.
    #[must_use]
    pub fn upload_bytes(&self) -> u64 {
        match self {
            Self::Heap(heap) => heap.size_bytes(),
            Self::RocksDb(rocks) => rocks.upload_bytes(),
        }
    }

    /// What was copied in the synchronous part and is in no file of the database, in bytes of entries: the timers that
    /// RocksDB's backend has on the heap.
    #[must_use]
    pub fn timer_bytes(&self) -> u64 {
        match self {
            Self::Heap(_) => 0,
            Self::RocksDb(rocks) => rocks.timer_bytes(),
        }
    }

    /// What has expired by then will not be written in this format: none, all will. The heap writes entry by entry, and
    /// so does RocksDB in canonical format; else it gives its files as they are.
    #[must_use]
    pub fn leaves_out_expired_ms(&self, format: Option<SavepointFormat>) -> Option<u64> {
        let deadline = match self {
            Self::Heap(heap) => heap.deadline(),
            Self::RocksDb(rocks) if format == Some(SavepointFormat::Canonical) => rocks.deadline(),
            Self::RocksDb(_) => None,
        };
        deadline.map(Deadline::now_ms)
    }

    /// The asynchronous part. `owner` is unique in the checkpoint ("sum-0": uid and subtask) and names the streams.
    /// `format` is none for a checkpoint, which is always in the backend's own form.
    ///
    /// # Errors
    /// The storage's. Streams already written then lie in the checkpoint's place until the coordinator discards it, as
    /// it does with every aborted checkpoint; a checkpoint that was discarded already takes nothing and keeps nothing.
    pub fn write(
        self,
        (checkpoint, format): (CheckpointId, Option<SavepointFormat>),
        owner: &str,
        storage: &dyn CheckpointStorage,
    ) -> Result<KeyedStateHandle, StorageError> {
        match self {
            Self::Heap(heap) => heap.write((checkpoint, format), owner, storage),
            Self::RocksDb(rocks) => rocks.write((checkpoint, format), owner, storage),
        }
    }
}
