//! Checkpoints in the JobManager's heap: gone with the run, and small.

mod stored;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{CheckpointMetadata, CheckpointStorage, StorageError, StoredFile, StreamHandle};
use crate::model::CheckpointId;

/// Keeps every stream in its handle, and so all state in the metadata (Flink: `JobManagerCheckpointStorage`).
///
/// The metadata is kept as the bytes that a file would hold, so that its size and its reading are the same.
#[derive(Debug)]
pub struct MemoryStorage {
    max_stream_bytes: u64,
    open: Mutex<BTreeMap<CheckpointId, Slot>>,
}

/// A checkpoint that was begun and not discarded.
#[derive(Debug, Default)]
struct Slot {
    /// What was written so far, by file name, and its size in bytes. The bytes are in the handles.
    streams: BTreeMap<String, u64>,
    metadata: Option<Vec<u8>>,
}

impl MemoryStorage {
    /// The largest stream taken (Flink: `DEFAULT_MAX_STATE_SIZE`; more would not pass the JobManager's RPC frame).
    pub const MAX_STREAM_BYTES: u64 = 5 * 1024 * 1024;

    /// A storage with another limit, for tests and lessons.
    #[must_use]
    pub fn with_limit(max_stream_bytes: u64) -> Self {
        Self {
            max_stream_bytes,
            open: Mutex::default(),
        }
    }

    /// A thread that panicked while it held the lock left the map whole: each change is a single step.
    fn slots(&self) -> MutexGuard<'_, BTreeMap<CheckpointId, Slot>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStorage {
    fn default() -> Self {
        Self::with_limit(Self::MAX_STREAM_BYTES)
    }
}

/// What error sentences call the place of a checkpoint's metadata.
fn place(checkpoint: CheckpointId) -> PathBuf {
    PathBuf::from(format!(
        "the metadata of checkpoint {checkpoint} in the JobManager's heap"
    ))
}

fn missing(checkpoint: CheckpointId) -> StorageError {
    StorageError::Missing {
        file: place(checkpoint),
    }
}

impl CheckpointStorage for MemoryStorage {
    fn begin(&self, checkpoint: CheckpointId) -> Result<(), StorageError> {
        let mut slots = self.slots();
        if slots.contains_key(&checkpoint) {
            return Err(StorageError::AlreadyBegun { checkpoint });
        }
        slots.insert(checkpoint, Slot::default());
        Ok(())
    }

    fn write_stream(
        &self,
        checkpoint: CheckpointId,
        name: &str,
        bytes: &[u8],
    ) -> Result<StreamHandle, StorageError> {
        let size_bytes = bytes.len() as u64;
        if size_bytes > self.max_stream_bytes {
            return Err(StorageError::Oversize {
                stream: name.to_owned(),
                size_bytes,
                limit_bytes: self.max_stream_bytes,
            });
        }
        let mut slots = self.slots();
        let slot = slots
            .get_mut(&checkpoint)
            .ok_or(StorageError::NotOpen { checkpoint })?;
        slot.note(name, size_bytes);
        Ok(StreamHandle::Inline(bytes.into()))
    }

    /// Nothing is shared here: every metadata holds all of its bytes.
    fn write_shared(
        &self,
        checkpoint: CheckpointId,
        name: &str,
        bytes: &[u8],
    ) -> Result<StreamHandle, StorageError> {
        self.write_stream(checkpoint, name, bytes)
    }

    fn retain_shared(
        &self,
        _keep: &BTreeSet<String>,
        _before: CheckpointId,
    ) -> Result<(), StorageError> {
        Ok(())
    }

    fn read_stream(&self, handle: &StreamHandle) -> Result<Vec<u8>, StorageError> {
        match handle {
            StreamHandle::Inline(bytes) => Ok(bytes.to_vec()),
            StreamHandle::Shared { name, .. } => Err(StorageError::Missing {
                file: PathBuf::from(format!("the state {name} in the JobManager's heap")),
            }),
            StreamHandle::File {
                checkpoint, name, ..
            } if self.slots().contains_key(checkpoint) => Err(StorageError::Missing {
                file: PathBuf::from(format!(
                    "the state {name} of checkpoint {checkpoint} in the JobManager's heap"
                )),
            }),
            StreamHandle::File {
                checkpoint, name, ..
            } => Err(StorageError::NotInMemory {
                checkpoint: *checkpoint,
                name: name.clone(),
            }),
        }
    }

    fn write_metadata(&self, metadata: &CheckpointMetadata) -> Result<u64, StorageError> {
        let checkpoint = metadata.checkpoint;
        let mut slots = self.slots();
        let slot = slots
            .get_mut(&checkpoint)
            .ok_or(StorageError::NotOpen { checkpoint })?;
        if slot.metadata.is_some() {
            return Err(StorageError::AlreadyWritten {
                file: place(checkpoint),
            });
        }
        let bytes = metadata.encode();
        let size_bytes = bytes.len() as u64;
        slot.metadata = Some(bytes);
        Ok(size_bytes)
    }

    fn read_metadata(&self, checkpoint: CheckpointId) -> Result<CheckpointMetadata, StorageError> {
        let slots = self.slots();
        let bytes = slots
            .get(&checkpoint)
            .and_then(|slot| slot.metadata.as_deref())
            .ok_or_else(|| missing(checkpoint))?;
        CheckpointMetadata::decode(&place(checkpoint), bytes, Some(checkpoint))
    }

    fn discard(&self, checkpoint: CheckpointId) -> Result<(), StorageError> {
        self.slots().remove(&checkpoint);
        Ok(())
    }

    fn list(&self) -> Result<Vec<CheckpointId>, StorageError> {
        let slots = self.slots();
        Ok(slots
            .iter()
            .filter(|(_, slot)| slot.metadata.is_some())
            .map(|(checkpoint, _)| *checkpoint)
            .collect())
    }

    fn stored_bytes(&self, checkpoint: CheckpointId) -> Result<u64, StorageError> {
        let slots = self.slots();
        let slot = slots.get(&checkpoint).ok_or_else(|| missing(checkpoint))?;
        // The streams are in the metadata as soon as there is one.
        Ok(match &slot.metadata {
            Some(bytes) => bytes.len() as u64,
            None => slot.stream_bytes(),
        })
    }

    fn stored_files(&self) -> Result<Vec<StoredFile>, StorageError> {
        Ok(self.files())
    }

    fn path_of(&self, handle: &StreamHandle) -> Option<String> {
        Self::path_in_storage(handle)
    }

    fn delete_stored(&self, path: &str) -> Result<(), StorageError> {
        self.delete(path)
    }

    fn location(&self) -> Option<&Path> {
        None
    }
}
