//! A storage that loses half of what it is given, and does not notice: an injected fault.

use std::collections::BTreeSet;
use std::path::Path;

use crate::engine::storage::{
    CheckpointMetadata, CheckpointStorage, StorageError, StoredFile, StreamHandle,
};
use crate::model::CheckpointId;

/// Writes only the first half of each stream, and hands out handles as for the whole of it.
pub struct TornStorage<'a>(pub &'a dyn CheckpointStorage);

impl CheckpointStorage for TornStorage<'_> {
    fn begin(&self, checkpoint: CheckpointId) -> Result<(), StorageError> {
        self.0.begin(checkpoint)
    }

    fn write_stream(
        &self,
        checkpoint: CheckpointId,
        name: &str,
        bytes: &[u8],
    ) -> Result<StreamHandle, StorageError> {
        let half = &bytes[..bytes.len() / 2];
        self.0.write_stream(checkpoint, name, half)?;
        // Also where the storage would have put the bytes into the handle: with that, nobody could tell that half of them
        // is missing.
        Ok(StreamHandle::File {
            checkpoint,
            name: name.to_owned(),
            size_bytes: bytes.len() as u64,
            crc32: crc32fast::hash(bytes),
        })
    }

    fn write_shared(
        &self,
        checkpoint: CheckpointId,
        name: &str,
        bytes: &[u8],
    ) -> Result<StreamHandle, StorageError> {
        let half = &bytes[..bytes.len() / 2];
        self.0.write_shared(checkpoint, name, half)?;
        Ok(StreamHandle::Shared {
            name: name.to_owned(),
            size_bytes: bytes.len() as u64,
            crc32: crc32fast::hash(bytes),
        })
    }

    fn retain_shared(
        &self,
        keep: &BTreeSet<String>,
        before: CheckpointId,
    ) -> Result<(), StorageError> {
        self.0.retain_shared(keep, before)
    }

    fn read_stream(&self, handle: &StreamHandle) -> Result<Vec<u8>, StorageError> {
        self.0.read_stream(handle)
    }

    fn write_metadata(&self, metadata: &CheckpointMetadata) -> Result<u64, StorageError> {
        self.0.write_metadata(metadata)
    }

    fn read_metadata(&self, checkpoint: CheckpointId) -> Result<CheckpointMetadata, StorageError> {
        self.0.read_metadata(checkpoint)
    }

    fn discard(&self, checkpoint: CheckpointId) -> Result<(), StorageError> {
        self.0.discard(checkpoint)
    }

    fn list(&self) -> Result<Vec<CheckpointId>, StorageError> {
        self.0.list()
    }

    fn stored_bytes(&self, checkpoint: CheckpointId) -> Result<u64, StorageError> {
        self.0.stored_bytes(checkpoint)
    }

    fn stored_files(&self) -> Result<Vec<StoredFile>, StorageError> {
        self.0.stored_files()
    }

    fn path_of(&self, handle: &StreamHandle) -> Option<String> {
        self.0.path_of(handle)
    }

    fn delete_stored(&self, path: &str) -> Result<(), StorageError> {
        self.0.delete_stored(path)
    }

    fn location(&self) -> Option<&Path> {
        self.0.location()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::storage::{FileSystemStorage, MemoryStorage};

    /// Catches a torn write that a restore would take for the whole.
    #[test]
    fn half_a_stream_is_seen_when_it_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let files =
            |name, inline| FileSystemStorage::create(&dir.path().join(name), inline).unwrap();
        let storages: [Box<dyn CheckpointStorage>; 3] = [
            Box::new(MemoryStorage::default()),
            Box::new(files("files", 0)),
            Box::new(files("inline", 100)),
        ];
        for storage in storages {
            let id = CheckpointId(1);
            storage.begin(id).unwrap();
            let torn = TornStorage(&*storage);
            let handle = torn.write_stream(id, "sum-0", b"ten bytes!").unwrap();
            assert_eq!(handle.size_bytes(), 10, "acknowledged as a whole");
            let error = storage.read_stream(&handle).unwrap_err();
            assert!(error.is_damage(), "{error}");
            assert!(error.to_string().contains("sum-0"), "{error}");
        }
    }
}
