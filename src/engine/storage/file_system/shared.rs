//! The folder `shared`: files that several checkpoints refer to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};

use super::part::{Part, read_file, sync_folder};
use super::{FileSystemStorage, Layout, METADATA, SHARED};
use crate::engine::storage::file_name::state_file_name;
use crate::engine::storage::snapshots::snapshots_in;
use crate::engine::storage::{CheckpointMetadata, CheckpointStorage, StorageError, StreamHandle};
use crate::model::CheckpointId;

impl FileSystemStorage {
    pub(super) fn shared_folder(&self) -> PathBuf {
        self.above().join(SHARED)
    }

    pub(super) fn shared_file(&self, name: &str) -> PathBuf {
        self.shared_folder().join(state_file_name(name))
    }

    /// See [`CheckpointStorage::write_shared`].
    pub(super) fn share(
        &self,
        checkpoint: CheckpointId,
        name: &str,
        bytes: &[u8],
    ) -> Result<StreamHandle, StorageError> {
        if self.layout != Layout::Many || bytes.len() as u64 <= self.inline_threshold_bytes.into() {
            // A snapshot that is to stand by itself has nothing to share.
            return self.write_stream(checkpoint, name, bytes);
        }
        let target = self.shared_file(name);
        self.make_shared_folder()?;
        let part = Part {
            path: target.with_file_name(format!(".part-{checkpoint}-{}", state_file_name(name))),
            target,
            folder: self.folder(checkpoint),
            checkpoint,
            replaces: true,
        };
        self.lock_shared().insert(name.to_owned(), checkpoint);
        self.write_part(&part, bytes)?;
        Ok(StreamHandle::Shared {
            name: name.to_owned(),
            size_bytes: bytes.len() as u64,
            crc32: crc32fast::hash(bytes),
        })
    }

    /// See [`CheckpointStorage::retain_shared`].
    pub(super) fn unshare(
        &self,
        keep: &BTreeSet<String>,
        before: CheckpointId,
    ) -> Result<(), StorageError> {
        let mut shared = self.lock_shared();
        let is_doomed = |name: &String, by: &mut CheckpointId| *by < before && !keep.contains(name);
        let doomed: Vec<(String, CheckpointId)> = shared.extract_if(.., is_doomed).collect();
        let mut result = Ok(());
        for (name, _) in doomed {
            result = result.and(self.remove_shared(&name));
        }
        result
    }

    pub(super) fn remove_shared(&self, name: &str) -> Result<(), StorageError> {
        let file = self.shared_file(name);
        match fs::remove_file(&file) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                Err(StorageError::io("remove", &file)(source))
            }
            _ => Ok(()),
        }
    }

    /// Its own name is durable before any file in it counts.
    fn make_shared_folder(&self) -> Result<(), StorageError> {
        let folder = self.shared_folder();
        if folder.is_dir() {
            return Ok(());
        }
        fs::create_dir_all(&folder).map_err(StorageError::io("make the folder", &folder))?;
        sync_folder(self.above()).map_err(StorageError::io("sync", self.above()))
    }

    /// The shared files that this snapshot refers to, and no other one beside it does.
    pub(super) fn exclusively_shared(&self) -> Vec<String> {
        let names = |folder: &Path| {
            let file = folder.join(METADATA);
            let bytes = read_file(&file).ok()?;
            let metadata = CheckpointMetadata::decode(&file, &bytes, None).ok()?;
            let shared = metadata.streams().filter_map(StreamHandle::shared_name);
            Some(shared.map(str::to_owned).collect::<BTreeSet<String>>())
        };
        let Some(mut own) = names(&self.root).filter(|own| !own.is_empty()) else {
            return Vec::new();
        };
        for other in snapshots_in(self.above()) {
            if other != self.root {
                // One that cannot be read may need all of them.
                let Some(used) = names(&other) else {
                    return Vec::new();
                };
                own.retain(|name| !used.contains(name));
            }
        }
        own.into_iter().collect()
    }

    fn lock_shared(&self) -> MutexGuard<'_, BTreeMap<String, CheckpointId>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
