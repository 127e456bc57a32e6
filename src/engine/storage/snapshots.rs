//! Snapshots that lie in folders: savepoints and retained checkpoints, each with all that it needs beside its `_metadata`.
//!
//! Such a folder refers to its own files only, and by their names, so that it can be moved and copied.

use std::fs;
use std::path::{Path, PathBuf};

use super::file_system::{METADATA, read_file};
use super::{CheckpointMetadata, CheckpointStorage, FileSystemStorage, StorageError};

/// How deep below a folder snapshots are looked for: `<dir>/<job-id>/chk-N` is two levels.
const MAX_DEPTH: u32 = 4;

/// A folder with a `_metadata` in it, which may be damaged.
#[derive(Debug)]
pub struct FoundSnapshot {
    pub path: PathBuf,
    pub metadata: Result<CheckpointMetadata, StorageError>,
    /// What its files take, in bytes. None: they cannot be read.
    pub stored_bytes: Option<u64>,
}

/// All snapshots in `dir` and below it, as for [`snapshots_in`], and what they say of themselves.
///
/// # Errors
/// `dir` cannot be read.
pub fn find_snapshots(dir: &Path) -> Result<Vec<FoundSnapshot>, StorageError> {
    fs::read_dir(dir).map_err(StorageError::io("read", dir))?;
    let mut folders = snapshots_in(dir);
    if dir.join(METADATA).is_file() {
        folders.insert(0, dir.to_owned());
    }
    Ok(folders.into_iter().map(found).collect())
}

fn found(path: PathBuf) -> FoundSnapshot {
    let file = path.join(METADATA);
    let bytes = read_file(&file);
    let metadata = bytes.and_then(|bytes| CheckpointMetadata::decode(&file, &bytes, None));
    let stored_bytes = metadata.as_ref().ok().and_then(|metadata| {
        let storage = FileSystemStorage::single(&path, 0);
        storage.stored_bytes(metadata.checkpoint).ok()
    });
    FoundSnapshot {
        path,
        metadata,
        stored_bytes,
    }
}

/// The folders below `folder` that are snapshots, by path; `chk-9` comes before `chk-10`. What cannot be looked into,
/// links and hidden folders are left out.
#[must_use]
pub fn snapshots_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(folder, MAX_DEPTH, &mut found);
    found.sort_by_cached_key(|path| natural(path));
    found
}

fn walk(folder: &Path, depth: u32, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        // Of the entry itself: a link is not followed.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_hidden || !is_folder {
            continue;
        }
        let path = entry.path();
        if path.join(METADATA).is_file() {
            found.push(path);
        } else if depth > 1 {
            walk(&path, depth - 1, found);
        }
    }
}

/// Text and numbers of a path in turn, to sort by.
fn natural(path: &Path) -> Vec<(String, u128)> {
    let mut parts = vec![(String::new(), 0_u128)];
    let mut in_number = false;
    for letter in path.to_string_lossy().chars() {
        let digit = letter.to_digit(10);
        if in_number && digit.is_none() {
            parts.push((String::new(), 0));
        }
        in_number = digit.is_some();
        if let Some((text, number)) = parts.last_mut() {
            match digit {
                Some(digit) => *number = number.saturating_mul(10).saturating_add(digit.into()),
                None => text.push(letter),
            }
        }
    }
    parts
}
