//! A storage that loses half of what it is given, and does not notice: an injected fault.

use std::path::Path;

use crate::engine::storage::{CheckpointMetadata, CheckpointStorage, StorageError, StreamHandle};
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
        Ok(match self.0.write_stream(checkpoint, name, half)? {
            StreamHandle::File {
                checkpoint, name, ..
            } => StreamHandle::File {
                checkpoint,
                name,
                size_bytes: bytes.len() as u64,
                crc32: crc32fast::hash(bytes),
            },
            inline @ StreamHandle::Inline(_) => inline,
        })
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

    fn location(&self) -> Option<&Path> {
        self.0.location()
    }
}
