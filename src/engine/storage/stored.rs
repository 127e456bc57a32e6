//! What a checkpoint storage holds, file by file: to look at, and to delete.

use super::StorageError;
use super::file_name::state_file_name;
use super::file_system::{METADATA, SHARED};
use crate::model::CheckpointId;

/// One file that a checkpoint storage holds now (in the JobManager's heap: one stream).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredFile {
    /// Relative to the storage, with `/`: `chk-3/_metadata`, `chk-3/state-…`, `shared/state-…`; also what is left over or
    /// not complete, such as `chk-3/.part-…` and `.discarded-2/…`. Of a single snapshot: the same, with its folder's own
    /// name for `chk-3`.
    pub path: String,
    pub size_bytes: u64,
}

/// `chk-3`.
pub(super) fn folder_name(checkpoint: CheckpointId) -> String {
    format!("chk-{checkpoint}")
}

/// The checkpoint whose folder is called `name`.
pub(super) fn checkpoint_of_folder(name: &str) -> Option<CheckpointId> {
    let number = name.strip_prefix("chk-")?;
    let id: u64 = number.parse().ok()?;
    // Not "+3", not "03".
    (id.to_string() == number).then_some(CheckpointId(id))
}

/// `chk-3/_metadata`.
pub(super) fn metadata_path(folder: &str) -> String {
    format!("{folder}/{METADATA}")
}

/// `chk-3/state-sum-0`.
pub(super) fn stream_path(folder: &str, name: &str) -> String {
    format!("{folder}/{}", state_file_name(name))
}

/// Where the shared file called `name` lies in a storage of files: `shared/state-sum-0.000008.sst`.
#[must_use]
pub fn shared_path(name: &str) -> String {
    stream_path(SHARED, name)
}

/// There is nothing to delete under this path.
pub(super) fn not_stored(path: &str) -> StorageError {
    StorageError::NotDeletable {
        path: path.to_owned(),
        reason: "it is neither a file of the checkpoint storage nor a checkpoint's folder. \
                 Choose one that is there, such as chk-3/_metadata or chk-3",
    }
}
