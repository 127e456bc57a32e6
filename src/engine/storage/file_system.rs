//! Checkpoints in a folder, `chk-N/_metadata` and state files; or a single snapshot that a folder is.

mod opened;
mod part;
mod shared;
mod stored;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::file_name::state_file_name;
use super::snapshots::snapshots_in;
use super::stored::{checkpoint_of_folder, folder_name};
use super::{CheckpointMetadata, CheckpointStorage, StorageError, StoredFile, StreamHandle};
use crate::model::CheckpointId;
use part::{Part, read_checked, remove_folder, sync_folder};

pub(super) use part::read_file;

pub(super) const METADATA: &str = "_metadata";

/// The folder beside the checkpoints' own, for files that several of them refer to.
pub const SHARED: &str = "shared";

/// A folder of checkpoints (Flink: `FileSystemCheckpointStorage`).
///
/// A file appears under its name only when all of it is on the disk: it is written to a name of its own, synced, and
/// renamed. A checkpoint disappears in one step too: its folder is renamed away, then emptied. The lock makes
/// these steps exclude one another, so that no late file can land in a folder that is being emptied; the writing
/// itself happens outside of it.
#[derive(Debug)]
pub struct FileSystemStorage {
    root: PathBuf,
    layout: Layout,
    inline_threshold_bytes: u32,
    naming: Mutex<()>,
    /// The shared files that were written here, and by which checkpoint each: also those that nobody has acknowledged.
    shared: Mutex<BTreeMap<String, CheckpointId>>,
}

/// What a storage's folder holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Checkpoints, a folder each.
    Many,
    /// The files of one snapshot: a savepoint, or a checkpoint's own folder.
    Single,
    /// The same, complete, perhaps among a person's other things: it may be read and discarded, not written to.
    Opened,
}

impl FileSystemStorage {
    /// The folder `root`, which is there, with one snapshot in it, or none yet.
    #[must_use]
    pub fn single(root: &Path, inline_threshold_bytes: u32) -> Self {
        Self::with(root, Layout::Single, inline_threshold_bytes)
    }

    fn with(root: &Path, layout: Layout, inline_threshold_bytes: u32) -> Self {
        Self {
            root: root.to_owned(),
            layout,
            inline_threshold_bytes,
            naming: Mutex::default(),
            shared: Mutex::default(),
        }
    }

    /// The snapshot that the folder `path` is, or that its `_metadata` file describes. It can be read, and discarded;
    /// it is not written to. Only the metadata is checked; see [`CheckpointStorage::verify`].
    ///
    /// # Errors
    /// There is no such folder, it is none of a snapshot, or the metadata is torn, altered, not ours, or of a newer
    /// version.
    pub fn open_snapshot(path: &Path) -> Result<(Self, CheckpointMetadata), StorageError> {
        // What lies beside a snapshot is asked for, and "chk-4" alone says nothing of where it lies.
        let path = &absolute(path).map_err(StorageError::io("find", path))?;
        let is_metadata = path.file_name().is_some_and(|name| name == METADATA);
        let folder = match path.parent() {
            Some(parent) if is_metadata => parent,
            _ => path,
        };
        let file = folder.join(METADATA);
        if !file.is_file() {
            return Err(StorageError::NoSnapshot {
                folder: folder.to_owned(),
                others: snapshots_in(folder),
            });
        }
        let metadata = CheckpointMetadata::decode(&file, &read_file(&file)?, None)?;
        Ok((Self::with(folder, Layout::Opened, 0), metadata))
    }

    /// Use the folder `root`, and make it if it is not there. Streams of at most `inline_threshold_bytes` become
    /// part of the metadata.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn create(root: &Path, inline_threshold_bytes: u32) -> Result<Self, StorageError> {
        fs::create_dir_all(root).map_err(StorageError::io("make the folder", root))?;
        Ok(Self::with(root, Layout::Many, inline_threshold_bytes))
    }

    fn folder(&self, checkpoint: CheckpointId) -> PathBuf {
        match self.layout {
            Layout::Many => self.root.join(folder_name(checkpoint)),
            Layout::Single | Layout::Opened => self.root.clone(),
        }
    }

    /// The folder in which the checkpoint's folder lies.
    fn above(&self) -> &Path {
        match self.layout {
            Layout::Many => &self.root,
            Layout::Single | Layout::Opened => self.root.parent().unwrap_or(&self.root),
        }
    }

    fn check_writable(&self, checkpoint: CheckpointId) -> Result<(), StorageError> {
        match self.layout {
            Layout::Many | Layout::Single => Ok(()),
            Layout::Opened => Err(StorageError::NotOpen { checkpoint }),
        }
    }

    /// The lock guards names on the disk and no memory, so that a panic under it leaves nothing half done here.
    fn lock_names(&self) -> MutexGuard<'_, ()> {
        self.naming.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of `bytes` durably under `name` in the folder of `checkpoint`, or nothing.
    fn write_file(
        &self,
        checkpoint: CheckpointId,
        name: &str,
        bytes: &[u8],
    ) -> Result<(), StorageError> {
        let folder = self.folder(checkpoint);
        self.write_part(
            &Part {
                path: folder.join(format!(".part-{name}")),
                target: folder.join(name),
                folder,
                checkpoint,
                replaces: false,
            },
            bytes,
        )
    }

    fn write_part(&self, part: &Part, bytes: &[u8]) -> Result<(), StorageError> {
        let file = {
            let _names = self.lock_names();
            part.create()?
        };
        let written = part.fill(file, bytes).and_then(|()| {
            let _names = self.lock_names();
            part.publish()
        });
        if written.is_err() {
            // Best effort: if the folder was discarded, the part went with it.
            let _ = fs::remove_file(&part.path);
        }
        written
    }
}

/// By its own name, from the root: a `..` at its end has no parent that one could tell by its name.
fn absolute(path: &Path) -> io::Result<PathBuf> {
    if path.components().any(|it| it == Component::ParentDir) {
        return path.canonicalize();
    }
    std::path::absolute(path)
}

/// Where the folder of a snapshot goes before it is emptied.
fn beside(root: &Path, checkpoint: CheckpointId) -> PathBuf {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    root.with_file_name(format!(".discarded-{checkpoint}-{name}"))
}

/// `path`, or the first of `path-1`, `path-2` … that is free.
fn free_name(path: PathBuf) -> PathBuf {
    let numbered = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!("-{number}"));
        PathBuf::from(name)
    };
    let is_free = |path: &PathBuf| path.symlink_metadata().is_err();
    if is_free(&path) {
        return path;
    }
    (1..1000).map(numbered).find(is_free).unwrap_or(path)
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

impl CheckpointStorage for FileSystemStorage {
    fn begin(&self, checkpoint: CheckpointId) -> Result<(), StorageError> {
        let folder = self.folder(checkpoint);
        if self.layout == Layout::Single && is_empty(&folder) {
            return Ok(());
        }
        fs::create_dir(&folder).map_err(|source| match source.kind() {
            ErrorKind::AlreadyExists => StorageError::AlreadyBegun { checkpoint },
            _ => StorageError::io("make the folder", &folder)(source),
        })
    }

    fn write_stream(
        &self,
        checkpoint: CheckpointId,
        name: &str,
        bytes: &[u8],
    ) -> Result<StreamHandle, StorageError> {
        self.check_writable(checkpoint)?;
        let size_bytes = bytes.len() as u64;
        if size_bytes <= u64::from(self.inline_threshold_bytes) {
            return if self.folder(checkpoint).is_dir() {
                Ok(StreamHandle::Inline(bytes.into()))
            } else {
                Err(StorageError::NotOpen { checkpoint })
            };
        }
        self.write_file(checkpoint, &state_file_name(name), bytes)?;
        Ok(StreamHandle::File {
            checkpoint,
            name: name.to_owned(),
            size_bytes,
            crc32: crc32fast::hash(bytes),
        })
    }

    fn write_shared(
        &self,
        checkpoint: CheckpointId,
        name: &str,
        bytes: &[u8],
    ) -> Result<StreamHandle, StorageError> {
        self.share(checkpoint, name, bytes)
    }

    fn retain_shared(
        &self,
        keep: &BTreeSet<String>,
        before: CheckpointId,
    ) -> Result<(), StorageError> {
        self.unshare(keep, before)
    }

    fn read_stream(&self, handle: &StreamHandle) -> Result<Vec<u8>, StorageError> {
        match handle {
            StreamHandle::Inline(bytes) => Ok(bytes.to_vec()),
            StreamHandle::Shared {
                name,
                size_bytes,
                crc32,
            } => read_checked(&self.shared_file(name), *size_bytes, *crc32),
            StreamHandle::File {
                checkpoint,
                name,
                size_bytes,
                crc32,
            } => {
                let file = self.folder(*checkpoint).join(state_file_name(name));
                read_checked(&file, *size_bytes, *crc32)
            }
        }
    }

    fn write_metadata(&self, metadata: &CheckpointMetadata) -> Result<u64, StorageError> {
        let checkpoint = metadata.checkpoint;
        self.check_writable(checkpoint)?;
        let folder = self.folder(checkpoint);
        // The state files' names become durable before the one that makes them count; then the folder's own.
        sync_folder(&folder).map_err(|source| match source.kind() {
            ErrorKind::NotFound => StorageError::NotOpen { checkpoint },
            _ => StorageError::io("sync", &folder)(source),
        })?;
        if metadata.streams().any(|it| it.shared_name().is_some()) {
            let shared = self.shared_folder();
            sync_folder(&shared).map_err(StorageError::io("sync", &shared))?;
        }
        let bytes = metadata.encode();
        self.write_file(checkpoint, METADATA, &bytes)?;
        sync_folder(&folder).map_err(StorageError::io("sync", &folder))?;
        sync_folder(self.above()).map_err(StorageError::io("sync", self.above()))?;
        Ok(bytes.len() as u64)
    }

    fn read_metadata(&self, checkpoint: CheckpointId) -> Result<CheckpointMetadata, StorageError> {
        let file = self.folder(checkpoint).join(METADATA);
        CheckpointMetadata::decode(&file, &read_file(&file)?, Some(checkpoint))
    }

    fn discard(&self, checkpoint: CheckpointId) -> Result<(), StorageError> {
        let folder = self.folder(checkpoint);
        let doomed = match self.layout {
            Layout::Many => self.root.join(format!(".discarded-{checkpoint}")),
            Layout::Single => beside(&self.root, checkpoint),
            Layout::Opened => return self.discard_opened(),
        };
        // What an earlier, failed discard may have left does not keep this one from being closed.
        let doomed = free_name(doomed);
        {
            let _names = self.lock_names();
            match fs::rename(&folder, &doomed) {
                Err(source) if source.kind() == ErrorKind::NotFound => return Ok(()),
                renamed => renamed.map_err(StorageError::io("remove", &folder))?,
            }
        }
        remove_folder(&doomed)
    }

    fn list(&self) -> Result<Vec<CheckpointId>, StorageError> {
        let unreadable = |source| StorageError::io("read", &self.root)(source);
        let mut found = Vec::new();
        if self.layout != Layout::Many {
            let snapshot = Self::open_snapshot(&self.root);
            found.extend(snapshot.map(|(_, metadata)| metadata.checkpoint).ok());
            return Ok(found);
        }
        for entry in fs::read_dir(&self.root).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let checkpoint = entry.file_name().to_str().and_then(checkpoint_of_folder);
            if entry.path().join(METADATA).is_file() {
                found.extend(checkpoint);
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    fn stored_bytes(&self, checkpoint: CheckpointId) -> Result<u64, StorageError> {
        let folder = self.folder(checkpoint);
        let entries = fs::read_dir(&folder).map_err(|source| match source.kind() {
            ErrorKind::NotFound => StorageError::Missing {
                file: folder.clone(),
            },
            _ => StorageError::io("read", &folder)(source),
        })?;
        let own_bytes = entries
            .map(|entry| Ok(entry?.metadata()?.len()))
            .sum::<io::Result<u64>>()
            .map_err(StorageError::io("read", &folder))?;
        let metadata = self.read_metadata(checkpoint).ok();
        let streams = metadata.iter().flat_map(CheckpointMetadata::streams);
        let shared = streams.filter(|stream| stream.shared_name().is_some());
        Ok(own_bytes + shared.map(StreamHandle::size_bytes).sum::<u64>())
    }

    fn stored_files(&self) -> Result<Vec<StoredFile>, StorageError> {
        self.files()
    }

    fn path_of(&self, handle: &StreamHandle) -> Option<String> {
        self.path_in_storage(handle)
    }

    fn delete_stored(&self, path: &str) -> Result<(), StorageError> {
        self.delete(path)
    }

    fn location(&self) -> Option<&Path> {
        Some(&self.root)
    }
}
