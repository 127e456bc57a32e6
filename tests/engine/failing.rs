//! A disk that fails when a test says so, around any storage.

use std::collections::BTreeSet;
use std::io::{Error, ErrorKind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use lockgate::engine::storage::{
    CheckpointMetadata, CheckpointStorage, MemoryStorage, StorageError, StoredFile, StreamHandle,
};
use lockgate::model::CheckpointId;

/// What is the matter with it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trouble {
    /// It takes so many more bytes; none: any number.
    pub room_bytes: Option<u64>,
    /// Nothing can be made, written or removed.
    pub is_read_only: bool,
    /// Checkpoints from this one on cannot be read.
    pub unreadable_from: Option<CheckpointId>,
    /// What is there stays.
    pub keeps_files: bool,
}

/// Passes everything on, unless there is trouble. What is refused was not begun: so the storage inside is clean as far as
/// those who use it clean up.
pub struct FailingStorage {
    pub inner: Arc<dyn CheckpointStorage>,
    trouble: Mutex<Trouble>,
}

impl FailingStorage {
    pub fn around(inner: Arc<dyn CheckpointStorage>) -> Arc<Self> {
        let trouble = Mutex::default();
        Arc::new(Self { inner, trouble })
    }

    pub fn set(&self, trouble: Trouble) {
        *self.lock() = trouble;
    }

    /// How many more bytes it takes; none: any number.
    pub fn room_bytes(&self) -> Option<u64> {
        self.lock().room_bytes
    }

    fn lock(&self) -> MutexGuard<'_, Trouble> {
        self.trouble.lock().unwrap()
    }

    fn fail<T>(&self, action: &'static str, kind: ErrorKind) -> Result<T, StorageError> {
        let path = self.inner.location().unwrap_or(Path::new("storage"));
        Err(StorageError::Io {
            action,
            path: path.join("disk"),
            source: Error::from(kind),
        })
    }

    fn check_writable(&self, action: &'static str) -> Result<(), StorageError> {
        if self.lock().is_read_only {
            return self.fail(action, ErrorKind::ReadOnlyFilesystem);
        }
        Ok(())
    }

    fn check_removable(&self) -> Result<(), StorageError> {
        self.check_writable("remove")?;
        if self.lock().keeps_files {
            return self.fail("remove", ErrorKind::PermissionDenied);
        }
        Ok(())
    }

    /// Take room for so many bytes.
    fn take(&self, size_bytes: usize) -> Result<(), StorageError> {
        self.check_writable("write")?;
        let mut trouble = self.lock();
        if let Some(room) = &mut trouble.room_bytes {
            let Some(rest) = room.checked_sub(size_bytes as u64) else {
                drop(trouble);
                return self.fail("write", ErrorKind::StorageFull);
            };
            *room = rest;
        }
        Ok(())
    }

    fn check_readable(&self, checkpoint: CheckpointId) -> Result<(), StorageError> {
        let first = self.lock().unreadable_from;
        if first.is_some_and(|first| checkpoint >= first) {
            return self.fail("read", ErrorKind::PermissionDenied);
        }
        Ok(())
    }
}

/// In bytes, as a storage that takes it tells.
fn size_of(metadata: &CheckpointMetadata) -> Result<usize, StorageError> {
    let scratch = MemoryStorage::default();
    scratch.begin(metadata.checkpoint)?;
    let size_bytes = scratch.write_metadata(metadata)?;
    Ok(usize::try_from(size_bytes).unwrap())
}

impl CheckpointStorage for FailingStorage {
    fn begin(&self, checkpoint: CheckpointId) -> Result<(), StorageError> {
        self.check_writable("make the folder")?;
        self.inner.begin(checkpoint)
    }

    fn write_stream(
        &self,
        checkpoint: CheckpointId,
        name: &str,
        bytes: &[u8],
    ) -> Result<StreamHandle, StorageError> {
        self.take(bytes.len())?;
        self.inner.write_stream(checkpoint, name, bytes)
    }

    fn write_shared(
        &self,
        checkpoint: CheckpointId,
        name: &str,
        bytes: &[u8],
    ) -> Result<StreamHandle, StorageError> {
        self.take(bytes.len())?;
        self.inner.write_shared(checkpoint, name, bytes)
    }

    fn retain_shared(
        &self,
        keep: &BTreeSet<String>,
        before: CheckpointId,
    ) -> Result<(), StorageError> {
        self.check_removable()?;
        self.inner.retain_shared(keep, before)
    }

    fn read_stream(&self, handle: &StreamHandle) -> Result<Vec<u8>, StorageError> {
        self.inner.read_stream(handle)
    }

    fn write_metadata(&self, metadata: &CheckpointMetadata) -> Result<u64, StorageError> {
        self.take(size_of(metadata)?)?;
        self.inner.write_metadata(metadata)
    }

    fn read_metadata(&self, checkpoint: CheckpointId) -> Result<CheckpointMetadata, StorageError> {
        self.check_readable(checkpoint)?;
        self.inner.read_metadata(checkpoint)
    }

    fn discard(&self, checkpoint: CheckpointId) -> Result<(), StorageError> {
        self.check_removable()?;
        self.inner.discard(checkpoint)
    }

    fn list(&self) -> Result<Vec<CheckpointId>, StorageError> {
        self.inner.list()
    }

    fn stored_bytes(&self, checkpoint: CheckpointId) -> Result<u64, StorageError> {
        self.inner.stored_bytes(checkpoint)
    }

    fn stored_files(&self) -> Result<Vec<StoredFile>, StorageError> {
        self.inner.stored_files()
    }

    fn path_of(&self, handle: &StreamHandle) -> Option<String> {
        self.inner.path_of(handle)
    }

    fn delete_stored(&self, path: &str) -> Result<(), StorageError> {
        self.check_removable()?;
        self.inner.delete_stored(path)
    }

    fn location(&self) -> Option<&Path> {
        self.inner.location()
    }
}
