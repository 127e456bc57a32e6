//! What the JobManager's heap holds, as if it were files.

use super::{MemoryStorage, Slot};
use crate::engine::storage::file_name::state_file_name;
use crate::engine::storage::stored::{
    checkpoint_of_folder, folder_name, metadata_path, not_stored, shared_path, stream_path,
};
use crate::engine::storage::{StorageError, StoredFile, StreamHandle};

impl MemoryStorage {
    /// Of a complete checkpoint its metadata, in which all of its streams are; of one that is not, the streams that
    /// were written so far.
    pub(super) fn files(&self) -> Vec<StoredFile> {
        let slots = self.slots();
        let mut found = Vec::new();
        for (checkpoint, slot) in &*slots {
            let folder = folder_name(*checkpoint);
            match slot {
                Slot {
                    metadata: Some(bytes),
                    ..
                } => found.push(StoredFile {
                    path: metadata_path(&folder),
                    size_bytes: bytes.len() as u64,
                }),
                Slot { streams, .. } => {
                    found.extend(streams.iter().map(|(name, size_bytes)| StoredFile {
                        path: format!("{folder}/{name}"),
                        size_bytes: *size_bytes,
                    }));
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// Only a torn stream is not in its handle: then it is nowhere.
    pub(super) fn path_in_storage(handle: &StreamHandle) -> Option<String> {
        match handle {
            StreamHandle::Inline(_) => None,
            StreamHandle::Shared { name, .. } => Some(shared_path(name)),
            StreamHandle::File {
                checkpoint, name, ..
            } => Some(stream_path(&folder_name(*checkpoint), name)),
        }
    }

    pub(super) fn delete(&self, path: &str) -> Result<(), StorageError> {
        let mut slots = self.slots();
        if let Some(checkpoint) = checkpoint_of_folder(path) {
            let removed = slots.remove(&checkpoint);
            return removed.map(drop).ok_or_else(|| not_stored(path));
        }
        let (folder, name) = path.split_once('/').ok_or_else(|| not_stored(path))?;
        let slot = checkpoint_of_folder(folder).and_then(|checkpoint| slots.get_mut(&checkpoint));
        let slot = slot.ok_or_else(|| not_stored(path))?;
        if slot.metadata.is_some() && path == metadata_path(folder) {
            *slot = Slot::default();
            return Ok(());
        }
        if slot.metadata.is_none() && slot.streams.contains_key(name) {
            return Err(StorageError::NotDeletable {
                path: path.to_owned(),
                reason: "it lies in a handle that is on its way to the JobManager. \
                         Delete its checkpoint, or wait until that is complete",
            });
        }
        Err(not_stored(path))
    }
}

impl Slot {
    /// Note a stream, which its handle holds. Two may share a name here.
    pub(super) fn note(&mut self, name: &str, size_bytes: u64) {
        *self.streams.entry(state_file_name(name)).or_default() += size_bytes;
    }

    pub(super) fn stream_bytes(&self) -> u64 {
        self.streams.values().sum()
    }
}
