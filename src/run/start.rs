//! What a run starts from: a snapshot of another run, or one that lies in a folder.

use std::path::Path;
use std::sync::Arc;

use super::home::Home;
use super::workdir::WorkDir;
use super::{RunError, RunOptions};
use crate::engine::driver::StartPoint;
use crate::engine::storage::{CheckpointMetadata, CheckpointStorage, FileSystemStorage};
use crate::model::{CheckpointId, ClaimMode};

/// The folder of a copy.
const SNAPSHOT: &str = "start";

/// A completed checkpoint of another execution, to start from.
#[derive(Clone)]
pub struct Start {
    pub checkpoint: CheckpointId,
    storage: Arc<dyn CheckpointStorage>,
    claim: ClaimMode,
    allow_non_restored_state: bool,
    /// For every execution after the first: a snapshot that the first one claims may be gone by then.
    copy: Option<Arc<WorkDir>>,
    /// Whose storage it is; it goes when nobody can start from it any more.
    _home: Option<Arc<Home>>,
}

impl Start {
    /// From the snapshot that the folder `path` is: `…/savepoint-…`, `…/chk-3`, or the `_metadata` file in one.
    ///
    /// # Errors
    /// A sentence: it is no snapshot, or damaged.
    pub fn from_folder(path: &Path, options: &RunOptions) -> Result<Self, RunError> {
        let refused = |error: &dyn std::fmt::Display| {
            RunError(format!("The job cannot start from there: {error}."))
        };
        let opened = FileSystemStorage::open_snapshot(path);
        let (storage, metadata) = opened.map_err(|error| refused(&error))?;
        storage
            .verify(metadata.checkpoint)
            .map_err(|error| refused(&error))?;
        let copy = WorkDir::create(None).map_err(|error| refused(&error))?;
        storage
            .copy_to(&copy.path().join(SNAPSHOT))
            .map_err(|error| refused(&error))?;
        Ok(Self {
            checkpoint: metadata.checkpoint,
            storage: Arc::new(storage),
            claim: options.claim,
            allow_non_restored_state: options.allow_non_restored_state,
            copy: Some(Arc::new(copy)),
            _home: None,
        })
    }

    /// A checkpoint of another run in this process, which stays that run's.
    #[must_use]
    pub fn from_run(home: Arc<Home>, checkpoint: CheckpointId, options: &RunOptions) -> Self {
        Self {
            checkpoint,
            storage: home.storage.clone(),
            claim: ClaimMode::NoClaim,
            allow_non_restored_state: options.allow_non_restored_state,
            copy: None,
            _home: Some(home),
        }
    }

    /// # Errors
    /// A sentence: it is gone or damaged.
    pub fn metadata(&self) -> Result<CheckpointMetadata, RunError> {
        let metadata = self.storage.read_metadata(self.checkpoint);
        metadata.map_err(|error| RunError(format!("The job cannot start from there: {error}.")))
    }

    /// For the first execution.
    #[must_use]
    pub fn point(&self) -> StartPoint {
        self.point_at(self.storage.clone())
    }

    /// For an execution that repeats the first one: a copy in `scratch`, where the snapshot lay in a person's folder.
    ///
    /// # Errors
    /// A sentence: the copy cannot be made.
    pub fn point_in(&self, scratch: &Path) -> Result<StartPoint, RunError> {
        let Some(copy) = &self.copy else {
            return Ok(self.point());
        };
        let folder = scratch.join(SNAPSHOT);
        let snapshot = FileSystemStorage::single(&copy.path().join(SNAPSHOT), 0);
        snapshot.copy_to(&folder).map_err(|error| {
            RunError(format!(
                "What the run started from cannot be copied: {error}."
            ))
        })?;
        Ok(self.point_at(Arc::new(FileSystemStorage::single(&folder, 0))))
    }

    fn point_at(&self, storage: Arc<dyn CheckpointStorage>) -> StartPoint {
        StartPoint {
            storage,
            checkpoint: self.checkpoint,
            claim: self.claim,
            allow_non_restored_state: self.allow_non_restored_state,
        }
    }
}
