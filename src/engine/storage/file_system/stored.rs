//! What lies in a folder of checkpoints, file by file. Links are neither listed nor followed.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::part::read_file;
use super::{FileSystemStorage, Layout, METADATA, SHARED};
use crate::engine::storage::stored::{
    checkpoint_of_folder, folder_name, metadata_path, not_stored, shared_path, stream_path,
};
use crate::engine::storage::{
    CheckpointMetadata, CheckpointStorage, StorageError, StoredFile, StreamHandle,
};
use crate::model::CheckpointId;

/// Deeper than Lockgate ever makes folders here.
const MAX_DEPTH: u32 = 4;

impl FileSystemStorage {
    /// See [`CheckpointStorage::stored_files`].
    pub(super) fn files(&self) -> Result<Vec<StoredFile>, StorageError> {
        let mut found = match self.layout {
            Layout::Many => self.files_of_all(),
            Layout::Single => self.files_of_one(),
            Layout::Opened => self.files_of_opened(),
        }?;
        found.sort_unstable();
        Ok(found)
    }

    /// See [`CheckpointStorage::path_of`].
    pub(super) fn path_in_storage(&self, handle: &StreamHandle) -> Option<String> {
        match handle {
            StreamHandle::Inline(_) => None,
            StreamHandle::Shared { name, .. } => Some(shared_path(name)),
            StreamHandle::File {
                checkpoint, name, ..
            } => Some(stream_path(&self.name_of_folder(*checkpoint), name)),
        }
    }

    /// See [`CheckpointStorage::delete_stored`].
    ///
    /// What is deleted was listed a moment before, letter by letter: so no path leads out of the folder.
    pub(super) fn delete(&self, path: &str) -> Result<(), StorageError> {
        if self.files()?.iter().any(|file| file.path == path) {
            let file = self.file_at(path);
            let _names = self.lock_names();
            return fs::remove_file(&file).map_err(StorageError::io("delete", &file));
        }
        let Some(checkpoint) = self.checkpoint_called(path) else {
            return Err(not_stored(path));
        };
        self.discard_files(checkpoint)
    }

    /// The file of a path that was listed. Joined to folders of which we know that they are ours.
    fn file_at(&self, path: &str) -> PathBuf {
        match (self.layout, path.split_once('/')) {
            (Layout::Single | Layout::Opened, Some((SHARED, name))) => {
                self.shared_folder().join(name)
            }
            (Layout::Single | Layout::Opened, Some((_, name))) => self.root.join(name),
            _ => self.root.join(path),
        }
    }

    fn name_of_folder(&self, checkpoint: CheckpointId) -> String {
        match self.layout {
            Layout::Many => folder_name(checkpoint),
            Layout::Single | Layout::Opened => self.own_name(),
        }
    }

    fn own_name(&self) -> String {
        // A folder can be named in ways that do not end in its name, such as “.”.
        let name = self.root.file_name().map(OsStr::to_string_lossy);
        name.unwrap_or("snapshot".into()).into_owned()
    }

    /// The checkpoint whose folder is there under this name.
    fn checkpoint_called(&self, name: &str) -> Option<CheckpointId> {
        let checkpoint = match self.layout {
            Layout::Many => checkpoint_of_folder(name)?,
            Layout::Single | Layout::Opened if name == self.own_name() => {
                *self.list().ok()?.first()?
            }
            Layout::Single | Layout::Opened => return None,
        };
        is_folder(&self.folder(checkpoint)).then_some(checkpoint)
    }

    /// A whole checkpoint. Shared files stay: they are others', too.
    fn discard_files(&self, checkpoint: CheckpointId) -> Result<(), StorageError> {
        if self.layout != Layout::Opened {
            return self.discard(checkpoint);
        }
        let prefix = format!("{}/", self.own_name());
        for file in self.files()? {
            if file.path.starts_with(&prefix) {
                let file = self.file_at(&file.path);
                fs::remove_file(&file).map_err(StorageError::io("delete", &file))?;
            }
        }
        // Best effort: it stays where something of a person's is in it.
        let _ = fs::remove_dir(&self.root);
        Ok(())
    }

    /// Only what is called as this storage calls its own: other things may lie there.
    fn files_of_all(&self) -> Result<Vec<StoredFile>, StorageError> {
        let mut found = Vec::new();
        for (name, path, kind) in entries(&self.root)? {
            let is_folder_of_ours = checkpoint_of_folder(&name).is_some() || name == SHARED;
            if name.starts_with(".discarded-") || (is_folder_of_ours && kind.is_dir()) {
                walk((&name, &path), kind, MAX_DEPTH, &mut found)?;
            }
        }
        Ok(found)
    }

    fn files_of_one(&self) -> Result<Vec<StoredFile>, StorageError> {
        let mut found = Vec::new();
        for (name, path, kind) in entries(&self.root)? {
            let name = format!("{}/{name}", self.own_name());
            walk((&name, &path), kind, MAX_DEPTH, &mut found)?;
        }
        Ok(found)
    }

    /// The folder may be full of other things: what the metadata names, and itself. Where that cannot be read, nobody knows
    /// what else is the snapshot's.
    fn files_of_opened(&self) -> Result<Vec<StoredFile>, StorageError> {
        let file = self.root.join(METADATA);
        let mut found = Vec::new();
        found.extend(self.listed(metadata_path(&self.own_name())));
        let bytes = match read_file(&file) {
            Err(error) if error.is_damage() => return Ok(found),
            bytes => bytes?,
        };
        let Ok(metadata) = CheckpointMetadata::decode(&file, &bytes, None) else {
            return Ok(found);
        };
        // As for the others: a link to a folder is not followed.
        let has_shared = is_folder(&self.shared_folder());
        let streams = metadata.streams();
        let reachable = streams.filter(|stream| has_shared || stream.shared_name().is_none());
        let paths = reachable.filter_map(|stream| self.path_in_storage(stream));
        found.extend(paths.filter_map(|path| self.listed(path)));
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// This one, if it is a file.
    fn listed(&self, path: String) -> Option<StoredFile> {
        let metadata = self.file_at(&path).symlink_metadata().ok()?;
        metadata.is_file().then_some(StoredFile {
            path,
            size_bytes: metadata.len(),
        })
    }
}

/// Itself, and not by a link.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|it| it.is_dir())
}

type Entry = (String, PathBuf, fs::FileType);

/// What lies in `folder`; nothing if it is gone. A name that is no text is none that Lockgate has given.
fn entries(folder: &Path) -> Result<Vec<Entry>, StorageError> {
    let read = || -> io::Result<Vec<Entry>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().into_string() {
                // Of the entry itself: a link is not followed.
                found.push((name, entry.path(), entry.file_type()?));
            }
        }
        Ok(found)
    };
    match read() {
        // In a running job, folders go while they are looked at.
        Err(source) if source.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        result => result.map_err(StorageError::io("read", folder)),
    }
}

/// The file `path`, or all files in it and below.
fn walk(
    (name, path): (&str, &Path),
    kind: fs::FileType,
    depth: u32,
    found: &mut Vec<StoredFile>,
) -> Result<(), StorageError> {
    if kind.is_file() {
        // One that is gone in this moment is left out.
        found.extend(path.symlink_metadata().ok().map(|metadata| StoredFile {
            path: name.to_owned(),
            size_bytes: metadata.len(),
        }));
    } else if kind.is_dir() && depth > 0 {
        for (inner, path, kind) in entries(path)? {
            walk((&format!("{name}/{inner}"), &path), kind, depth - 1, found)?;
        }
    }
    Ok(())
}
