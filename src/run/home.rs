//! The place of one execution: its temporary folder, its checkpoint storage, and where its savepoints go.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::RunError;
use super::keep::{KeptFolder, SavepointFolder};
use super::workdir::WorkDir;
use crate::engine::driver::SavepointTarget;
use crate::engine::event::JobStatus;
use crate::engine::storage::{self, CheckpointStorage};
use crate::model::{JobConfig, StorageKind};

/// A folder for one execution, and the checkpoint storage that may lie in it. Both live as long as anybody may
/// still restore from here.
pub struct Home {
    workdir: WorkDir,
    pub storage: Arc<dyn CheckpointStorage>,
    /// Where the storage keeps files, if it does.
    pub storage_dir: Option<PathBuf>,
    /// Outside the temporary folder, where the job has a checkpoint folder.
    kept: Option<KeptFolder>,
    pub savepoints: Option<Arc<SavepointFolder>>,
}

impl Home {
    /// # Errors
    /// A sentence: a folder cannot be made.
    pub fn create(config: &JobConfig, base_dir: &Path, is_replay: bool) -> Result<Self, RunError> {
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            RunError(format!(
                "The run's temporary folder could not be {what}: {error}. Free some space, or set TMPDIR to a \
                 folder that can be written."
            ))
        };
        let workdir = WorkDir::create(None).map_err(|error| failed("made", &error))?;
        let is_on_disk = matches!(config.storage, StorageKind::FileSystem { .. });
        let dir = config.checkpoint_dir.as_ref().filter(|_| is_on_disk);
        let kept = dir.map(|dir| {
            let dir = base_dir.join(dir);
            KeptFolder::create(&dir, config.checkpointing.retention).map_err(|error| {
                RunError(format!(
                    "The checkpoint folder {} could not be used: {error}. Choose another one.",
                    dir.display()
                ))
            })
        });
        let kept = kept.transpose()?;
        let root = match &kept {
            Some(kept) => kept.path().to_owned(),
            None => workdir.path().join("checkpoints"),
        };
        let storage = storage::open(config, &root).map_err(|error| failed("used", &error))?;
        let storage_dir = storage.location().map(Path::to_owned);
        let scratch = workdir.path().join("savepoints");
        let savepoints = config.savepoint_dir.as_ref().map(|dir| {
            let dir = base_dir.join(dir);
            Arc::new(SavepointFolder::new(dir, scratch, is_replay))
        });
        Ok(Self {
            workdir,
            storage,
            storage_dir,
            kept,
            savepoints,
        })
    }

    /// How the job stands: that decides what is kept of it.
    pub fn note(&self, status: &JobStatus) {
        if let Some(kept) = &self.kept {
            kept.note(status);
        }
    }

    /// The run goes on in another place; nobody needs what is kept here.
    pub fn abandon(&self) {
        if let Some(kept) = &self.kept {
            kept.abandon();
        }
    }

    /// What happens here has happened in `other`, up to a point.
    pub fn follow(&self, other: &Self) {
        if let (Some(here), Some(there)) = (&self.savepoints, &other.savepoints) {
            here.follow(there);
        }
    }

    /// What was lived through once more is over.
    pub fn end_replay(&self) {
        if let Some(savepoints) = &self.savepoints {
            savepoints.end_replay();
        }
    }

    #[must_use]
    pub fn savepoint_target(&self) -> Option<Arc<dyn SavepointTarget>> {
        let savepoints = self.savepoints.clone()?;
        Some(savepoints)
    }

    /// For working state.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.workdir.path()
    }
}
