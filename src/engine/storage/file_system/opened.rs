//! A snapshot that lies in a person's folder: what is deleted or copied of it are its own files, and nothing else.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::part::{check_regular, read_file};
use super::{FileSystemStorage, METADATA};
use crate::engine::storage::file_name::state_file_name;
use crate::engine::storage::{CheckpointMetadata, StorageError, StreamHandle};

impl FileSystemStorage {
    /// Other things may lie in the folder, so it goes only if it is empty then. The metadata goes first: without it, what
    /// is left is no snapshot.
    pub(super) fn discard_opened(&self) -> Result<(), StorageError> {
        let metadata_file = self.root.join(METADATA);
        if !metadata_file.is_file() {
            return Ok(());
        }
        let metadata =
            CheckpointMetadata::decode(&metadata_file, &read_file(&metadata_file)?, None)?;
        let shared = self.exclusively_shared();
        {
            let _names = self.lock_names();
            remove_file(&metadata_file)?;
        }
        for stream in metadata.streams() {
            if let StreamHandle::File { name, .. } = stream {
                remove_file(&self.root.join(state_file_name(name)))?;
            }
        }
        for name in shared {
            self.remove_shared(&name)?;
        }
        // Best effort: it stays where something else is in it.
        let _ = fs::remove_dir(&self.root);
        Ok(())
    }
}

impl FileSystemStorage {
    /// Copy the one snapshot that this is into the new folder `to`, and the shared files that it refers to beside that.
    /// Other things that lie in its folder stay where they are.
    ///
    /// # Errors
    /// The metadata or a file cannot be read, or the copy cannot be written.
    pub fn copy_to(&self, to: &Path) -> Result<(), StorageError> {
        let metadata_file = self.root.join(METADATA);
        let metadata =
            CheckpointMetadata::decode(&metadata_file, &read_file(&metadata_file)?, None)?;
        fs::create_dir(to).map_err(StorageError::io("make the folder", to))?;
        let copy = Self::single(to, 0);
        for stream in metadata.streams() {
            match stream {
                StreamHandle::Inline(_) => {}
                StreamHandle::File { name, .. } => {
                    let name = state_file_name(name);
                    copy_file(&self.root.join(&name), &to.join(&name))?;
                }
                StreamHandle::Shared { name, .. } => {
                    let folder = copy.shared_folder();
                    fs::create_dir_all(&folder)
                        .map_err(StorageError::io("make the folder", &folder))?;
                    copy_file(&self.shared_file(name), &copy.shared_file(name))?;
                }
            }
        }
        copy_file(&metadata_file, &to.join(METADATA))
    }
}

fn copy_file(from: &Path, to: &Path) -> Result<(), StorageError> {
    check_regular(from)?;
    fs::copy(from, to).map_err(StorageError::io("copy", from))?;
    Ok(())
}

fn remove_file(file: &Path) -> Result<(), StorageError> {
    match fs::remove_file(file) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(StorageError::io("remove", file)(source))
        }
        _ => Ok(()),
    }
}
