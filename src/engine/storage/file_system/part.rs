//! Files that appear when all of them is there, and reading that believes nothing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::engine::storage::StorageError;
use crate::model::CheckpointId;

/// A file that is not yet complete. No complete file's name begins with a dot.
pub(super) struct Part {
    pub path: PathBuf,
    pub target: PathBuf,
    /// That of the checkpoint, which must be there still when the file is complete.
    pub folder: PathBuf,
    pub checkpoint: CheckpointId,
    /// There may be one of the same name and content.
    pub replaces: bool,
}

impl Part {
    pub fn create(&self) -> Result<File, StorageError> {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&self.path)
            .map_err(|source| self.error("create", source))
    }

    pub fn fill(&self, mut file: File, bytes: &[u8]) -> Result<(), StorageError> {
        file.write_all(bytes)
            .and_then(|()| file.sync_all())
            .map_err(|source| self.error("write", source))
    }

    pub fn publish(&self) -> Result<(), StorageError> {
        if !self.folder.is_dir() {
            return Err(self.error("write", ErrorKind::NotFound.into()));
        }
        if !self.replaces && self.target.exists() {
            return Err(self.error("write", ErrorKind::AlreadyExists.into()));
        }
        fs::rename(&self.path, &self.target).map_err(|source| self.error("write", source))
    }

    fn error(&self, action: &'static str, source: io::Error) -> StorageError {
        match source.kind() {
            ErrorKind::NotFound => StorageError::NotOpen {
                checkpoint: self.checkpoint,
            },
            ErrorKind::AlreadyExists => StorageError::AlreadyWritten {
                file: self.target.clone(),
            },
            _ => StorageError::io(action, &self.target)(source),
        }
    }
}

/// Make the names in `folder` durable. Other systems than Unix cannot open a folder, and need not.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

pub(in crate::engine::storage) fn read_file(file: &Path) -> Result<Vec<u8>, StorageError> {
    check_regular(file)?;
    fs::read(file).map_err(|source| unreadable(file, source))
}

/// Whoever opens a pipe waits until somebody writes into it, and a device may never end: neither is opened.
pub(super) fn check_regular(file: &Path) -> Result<(), StorageError> {
    let metadata = fs::metadata(file).map_err(|source| unreadable(file, source))?;
    if metadata.is_file() {
        return Ok(());
    }
    Err(StorageError::NotAFile {
        file: file.to_owned(),
    })
}

fn unreadable(file: &Path, source: io::Error) -> StorageError {
    match source.kind() {
        ErrorKind::NotFound => StorageError::Missing {
            file: file.to_owned(),
        },
        _ => StorageError::io("read", file)(source),
    }
}

pub(super) fn read_checked(
    file: &Path,
    size_bytes: u64,
    crc32: u32,
) -> Result<Vec<u8>, StorageError> {
    let bytes = read_file(file)?;
    if bytes.len() as u64 != size_bytes {
        return Err(StorageError::Torn {
            file: file.to_owned(),
            expected_bytes: size_bytes,
            found_bytes: bytes.len() as u64,
        });
    }
    let found_crc32 = crc32fast::hash(&bytes);
    if found_crc32 != crc32 {
        return Err(StorageError::Altered {
            file: file.to_owned(),
            expected_crc32: crc32,
            found_crc32,
        });
    }
    Ok(bytes)
}

pub(super) fn remove_folder(folder: &Path) -> Result<(), StorageError> {
    match fs::remove_dir_all(folder) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(StorageError::io("remove", folder)(source))
        }
        _ => Ok(()),
    }
}
