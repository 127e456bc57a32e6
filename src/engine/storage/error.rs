//! What can be wrong with a stored checkpoint, as a sentence each: what, where, what to do.

use std::io;
use std::path::{Path, PathBuf};

use crate::model::CheckpointId;

/// Why a checkpoint could not be written, or must not be believed.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    #[error(
        "could not {action} {}: {source}. Check that the disk has room and that the folder may be written to",
        path.display()
    )]
    Io {
        /// A verb: "write", "read" …
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },

    #[error(
        "checkpoint {checkpoint} takes no more data: it was discarded, or never begun. Drop what was to be written"
    )]
    NotOpen { checkpoint: CheckpointId },

    #[error("checkpoint {checkpoint} was begun before; a checkpoint id is never used twice")]
    AlreadyBegun { checkpoint: CheckpointId },

    #[error("{} was written before; no two streams of a checkpoint may share a name", file.display())]
    AlreadyWritten { file: PathBuf },

    /// Flink: "Size of the state is larger than the maximum permitted memory-backed state."
    #[error(
        "the state {stream} is {size_bytes} bytes; the JobManager's heap takes at most {limit_bytes} in one piece. \
         Choose the file system as checkpoint storage"
    )]
    Oversize {
        stream: String,
        size_bytes: u64,
        limit_bytes: u64,
    },

    /// Flink: the acknowledgement exceeds `pekko.framesize` and is not sent.
    #[error(
        "the state of {owner} is {size_bytes} bytes, and one message to the JobManager takes at most {limit_bytes}, \
         whatever its heap may take. Choose the file system as checkpoint storage"
    )]
    FrameSize {
        owner: String,
        size_bytes: u64,
        limit_bytes: u64,
    },

    #[error("“{path}” cannot be deleted: {reason}")]
    NotDeletable { path: String, reason: &'static str },

    #[error("{} is missing. Take another checkpoint or savepoint", file.display())]
    Missing { file: PathBuf },

    /// A folder, a pipe or a device lies where a file should.
    #[error("{} is no regular file. Take another checkpoint or savepoint", file.display())]
    NotAFile { file: PathBuf },

    #[error(
        "{} is torn: it holds {found_bytes} bytes, but {expected_bytes} were written. \
         Take another checkpoint or savepoint",
        file.display()
    )]
    Torn {
        file: PathBuf,
        expected_bytes: u64,
        found_bytes: u64,
    },

    #[error("{} is torn: it holds {found_bytes} bytes, less than its header. Take another checkpoint or savepoint", file.display())]
    Cut { file: PathBuf, found_bytes: u64 },

    #[error(
        "{} was altered: its checksum is {found_crc32:08x}, but {expected_crc32:08x} was written. \
         Take another checkpoint or savepoint",
        file.display()
    )]
    Altered {
        file: PathBuf,
        expected_crc32: u32,
        found_crc32: u32,
    },

    #[error("{} is not what it should be: {reason}. Take another checkpoint or savepoint", file.display())]
    Foreign { file: PathBuf, reason: String },

    #[error("{} is no savepoint and no checkpoint: {}", folder.display(), what_is_there(folder, others))]
    NoSnapshot {
        folder: PathBuf,
        /// The snapshots that lie in it.
        others: Vec<PathBuf>,
    },

    #[error(
        "{} has format version {version}, and this Lockgate knows versions up to {known}. \
         Open it with a newer Lockgate, or take another checkpoint or savepoint",
        file.display()
    )]
    NewerVersion {
        file: PathBuf,
        version: u32,
        known: u32,
    },

    #[error(
        "the stream {name} of checkpoint {checkpoint} lies in a checkpoint folder, and this run keeps its checkpoints \
         in the JobManager's heap. Choose the file system as checkpoint storage"
    )]
    NotInMemory {
        checkpoint: CheckpointId,
        name: String,
    },
}

fn what_is_there(folder: &Path, others: &[PathBuf]) -> String {
    match others.last() {
        Some(other) => format!(
            "it only contains some. Name one of them, such as {}",
            other.display()
        ),
        None if folder.is_file() => {
            "it is a file. Name the folder in which its _metadata lies".to_owned()
        }
        None if folder.is_dir() => {
            "it has no _metadata file. Name a folder such as savepoint-… or chk-3".to_owned()
        }
        None if folder.exists() => {
            "it is no folder. Name one such as savepoint-… or chk-3".to_owned()
        }
        None => "there is no such folder. Check its name".to_owned(),
    }
}

impl StorageError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }

    /// What is stored is not what was written, so that only another checkpoint can help.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Missing { .. }
            | Self::NotAFile { .. }
            | Self::Torn { .. }
            | Self::Cut { .. }
            | Self::Altered { .. }
            | Self::Foreign { .. }
            | Self::NoSnapshot { .. }
            | Self::NewerVersion { .. } => true,
            Self::Io { .. }
            | Self::NotOpen { .. }
            | Self::AlreadyBegun { .. }
            | Self::AlreadyWritten { .. }
            | Self::Oversize { .. }
            | Self::FrameSize { .. }
            | Self::NotDeletable { .. }
            | Self::NotInMemory { .. } => false,
        }
    }
}
