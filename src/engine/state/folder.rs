//! A folder that lives as long as its owner.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::StateError;

/// A folder that is removed, with all it holds, when this is dropped.
///
/// A struct that keeps files open in it must declare it *after* what holds them: fields drop in order.
#[derive(Debug)]
pub(super) struct OwnedFolder {
    path: PathBuf,
}

impl OwnedFolder {
    /// Make the folder, and those above it where needed.
    pub(super) fn create(path: &Path) -> Result<Self, StateError> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(StateError::io("make the folder", parent))?;
        }
        fs::create_dir(path).map_err(|source| match source.kind() {
            ErrorKind::AlreadyExists => StateError::FolderExists {
                path: path.to_owned(),
            },
            _ => StateError::io("make the folder", path)(source),
        })?;
        Ok(Self {
            path: path.to_owned(),
        })
    }

    /// Own a folder that someone else is about to make, whole or in part.
    pub(super) fn reserve(path: PathBuf) -> Result<Self, StateError> {
        if path.exists() {
            return Err(StateError::FolderExists { path });
        }
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for OwnedFolder {
    fn drop(&mut self) {
        // Best effort: it lies in the run's working folder, which is removed as a whole in the end.
        let _ = fs::remove_dir_all(&self.path);
    }
}
