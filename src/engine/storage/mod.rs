//! Where checkpoints lie: in the JobManager's memory, or in folders (`chk-N/_metadata` and state files); and savepoints,
//! each in a folder of its own, which can be moved.
//!
//! One checkpoint's life here: [`begin`](CheckpointStorage::begin) when the coordinator triggers it,
//! [`write_stream`](CheckpointStorage::write_stream) by each subtask's asynchronous part,
//! [`write_metadata`](CheckpointStorage::write_metadata) when all have acknowledged, and at last
//! [`discard`](CheckpointStorage::discard) when it is aborted or subsumed. **A checkpoint exists from the moment its
//! metadata is there**: without it, what lies in `chk-N` is nobody's.
//!
//! What was written is never believed, always checked: each state file by the length and checksum in its handle,
//! the metadata by those in its header. Damage is an error that names the file, never other data.
//!
//! May know: the model, files, locks. Must not know: operators, state backends, the coordinator, clocks, threads.

pub(crate) mod bytes;
mod error;
mod file_name;
mod file_system;
mod handle;
mod memory;
mod metadata;
mod snapshots;
mod stored;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::model::{CheckpointId, JobConfig, StorageKind};

pub use error::StorageError;
pub use file_system::{FileSystemStorage, SHARED};
pub use handle::{GroupOffsets, KeyedStateHandle, SharedFile, StreamHandle};
pub use memory::MemoryStorage;
pub use metadata::{
    ChannelState, CheckpointMetadata, Distribution, ListState, OperatorState, SubtaskState,
};
pub use snapshots::{FoundSnapshot, find_snapshots, snapshots_in};
pub use stored::{StoredFile, shared_path};

/// A place for checkpoints (Flink: `CheckpointStorage`, `CheckpointStorageLocation`, `CheckpointStreamFactory`).
///
/// Subtasks write at the same time, each its own streams; the coordinator alone begins, completes and discards.
pub trait CheckpointStorage: Send + Sync {
    /// Open `checkpoint` for writing. Ids are never reused, so neither may be a checkpoint's place.
    ///
    /// # Errors
    /// [`StorageError::AlreadyBegun`], or the folder cannot be made.
    fn begin(&self, checkpoint: CheckpointId) -> Result<(), StorageError>;

    /// Keep `bytes` as the stream `name` of `checkpoint`. Any text is a name; no two streams may share one (what lies
    /// in its handle needs no name, and need not be refused).
    ///
    /// After an error nothing of this stream is left. In particular a subtask that is late, whose checkpoint was
    /// discarded meanwhile, gets [`StorageError::NotOpen`] and has nothing to clean up; it need only drop the
    /// handles it already holds, whose files went with the checkpoint.
    ///
    /// # Errors
    /// [`StorageError::NotOpen`], [`StorageError::AlreadyWritten`], [`StorageError::Oversize`], or the disk's.
    fn write_stream(
        &self,
        checkpoint: CheckpointId,
        name: &str,
        bytes: &[u8],
    ) -> Result<StreamHandle, StorageError>;

    /// Keep `bytes` as a file called `name` that later checkpoints may refer to, too (Flink: `CheckpointedStateScope`
    /// `SHARED`). A file of that name may be there: then it is the same, or is about to be removed. It stays when `checkpoint` is discarded, until [`retain_shared`](Self::retain_shared) finds no use for it. What is small
    /// enough lies in its handle, as with [`write_stream`](Self::write_stream).
    ///
    /// # Errors
    /// As for [`write_stream`](Self::write_stream).
    fn write_shared(
        &self,
        checkpoint: CheckpointId,
        name: &str,
        bytes: &[u8],
    ) -> Result<StreamHandle, StorageError>;

    /// Remove the shared files that checkpoints before `before` have written, save those in `keep`.
    ///
    /// # Errors
    /// The disk's; as many as can be are removed even then.
    fn retain_shared(
        &self,
        keep: &BTreeSet<String>,
        before: CheckpointId,
    ) -> Result<(), StorageError>;

    /// The bytes of a stream, exactly as they were written.
    ///
    /// # Errors
    /// The file is missing, torn or altered; or the handle belongs to another kind of storage.
    fn read_stream(&self, handle: &StreamHandle) -> Result<Vec<u8>, StorageError>;

    /// Complete the checkpoint: all or nothing, and durable once this returns. Returns the metadata's size in bytes.
    ///
    /// # Errors
    /// [`StorageError::NotOpen`], [`StorageError::AlreadyWritten`], or the disk's.
    fn write_metadata(&self, metadata: &CheckpointMetadata) -> Result<u64, StorageError>;

    /// What `checkpoint` holds. Only the metadata is checked; see [`verify`](Self::verify).
    ///
    /// # Errors
    /// The metadata is missing, torn, altered, another checkpoint's, or of a newer version.
    fn read_metadata(&self, checkpoint: CheckpointId) -> Result<CheckpointMetadata, StorageError>;

    /// Read the metadata and every stream it refers to: whether a restore from `checkpoint` can succeed.
    ///
    /// # Errors
    /// The first damage found.
    fn verify(&self, checkpoint: CheckpointId) -> Result<(), StorageError> {
        let metadata = self.read_metadata(checkpoint)?;
        metadata
            .streams()
            .try_for_each(|stream| self.read_stream(stream).map(drop))
    }

    /// Remove all of `checkpoint`, complete or not, and close it to late writers. Again, or for one that never was: no
    /// effect.
    ///
    /// # Errors
    /// The disk's. Where its folder could be moved aside, the checkpoint is closed and no longer listed even then; where
    /// not, it stays as it is.
    fn discard(&self, checkpoint: CheckpointId) -> Result<(), StorageError>;

    /// The completed checkpoints, oldest first. One without metadata is none.
    ///
    /// # Errors
    /// The folder cannot be read.
    fn list(&self) -> Result<Vec<CheckpointId>, StorageError>;

    /// What `checkpoint` physically takes, in bytes: metadata, state files, and the shared files that it refers to.
    /// Measured, and other on each backend.
    ///
    /// # Errors
    /// There is no such checkpoint, or the folder cannot be read.
    fn stored_bytes(&self, checkpoint: CheckpointId) -> Result<u64, StorageError>;

    /// All that is there now, complete or not, sorted by path. Read from the real folder, or the real memory.
    ///
    /// # Errors
    /// The folder cannot be read.
    fn stored_files(&self) -> Result<Vec<StoredFile>, StorageError>;

    /// Where the stream lies, as a path of [`stored_files`](Self::stored_files): if it is not among those, it is missing.
    /// None: inside the metadata itself.
    fn path_of(&self, handle: &StreamHandle) -> Option<String>;

    /// Remove one file by its path, or a whole checkpoint by its folder's (`chk-3`), as a person with a file manager
    /// would: nobody is told. Shared files stay when a whole checkpoint goes.
    ///
    /// # Errors
    /// [`StorageError::NotDeletable`], and nothing is changed: it is neither a path of
    /// [`stored_files`](Self::stored_files), letter by letter, nor a checkpoint's folder. Or the disk's.
    fn delete_stored(&self, path: &str) -> Result<(), StorageError>;

    /// The folder that a person can look into.
    fn location(&self) -> Option<&Path>;
}

/// The largest message to the JobManager, which all that a subtask acknowledges must fit into (Flink:
/// `pekko.framesize`).
pub const MAX_FRAME_BYTES: u64 = 10 * 1024 * 1024;

/// The storage that a job asks for; `root` (made if absent) is used by the file system only.
///
/// # Errors
/// The folder cannot be made.
pub fn open(config: &JobConfig, root: &Path) -> Result<Arc<dyn CheckpointStorage>, StorageError> {
    Ok(match config.storage {
        StorageKind::JobManager => Arc::new(MemoryStorage::with_limit(
            config.state.max_state_bytes.into(),
        )),
        StorageKind::FileSystem {
            inline_threshold_bytes,
        } => Arc::new(FileSystemStorage::create(root, inline_threshold_bytes)?),
    })
}
