//! The folder `shared`: files that several checkpoints refer to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};

use super::part::{Part, read_file, sync_folder};
use super::{FileSystemStorage, Layout, METADATA, SHARED};
use crate::engine::storage::file_name::state_file_name;
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
        for (name, by) in doomed {
            let removed = self.remove_shared(&name);
            if removed.is_err() {
                // The next call tries it again.
                shared.insert(name, by);
            }
            result = result.and(removed);
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

    /// The shared files that this snapshot refers to, and no other one beside it does. None of them if that cannot be told.
    pub(super) fn exclusively_shared(&self) -> Vec<String> {
        self.try_exclusively_shared().unwrap_or_default()
    }

    /// Whatever lies beside this one, is no part of it and has metadata may need files, also where a link leads to it.
    /// (What lies deeper has a folder of shared files of its own.)
    fn try_exclusively_shared(&self) -> Result<Vec<String>, StorageError> {
        let unreadable = |source| StorageError::io("read", self.above())(source);
        let mut own = shared_names_in(&self.root)?;
        if own.is_empty() {
            return Ok(Vec::new());
        }
        for entry in fs::read_dir(self.above()).map_err(unreadable)? {
            let other = entry.map_err(unreadable)?.path();
            let is_folder = fs::metadata(&other).map_err(unreadable)?.is_dir();
            let is_snapshot = is_folder && other.join(METADATA).try_exists().map_err(unreadable)?;
            if is_snapshot && other != self.root {
                let used = shared_names_in(&other)?;
                own.retain(|name| !used.contains(name));
            }
        }
        Ok(own.into_iter().collect())
    }

    fn lock_shared(&self) -> MutexGuard<'_, BTreeMap<String, CheckpointId>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The shared files that the snapshot in `folder` refers to.
fn shared_names_in(folder: &Path) -> Result<BTreeSet<String>, StorageError> {
    let file = folder.join(METADATA);
    let metadata = CheckpointMetadata::decode(&file, &read_file(&file)?, None)?;
    let shared = metadata.streams().filter_map(StreamHandle::shared_name);
    Ok(shared.map(str::to_owned).collect())
}
