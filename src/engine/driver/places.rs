//! Where each checkpoint of a run lies: in the run's storage, or as a savepoint in a place of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::MAIN_SEPARATOR;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::resources::SavepointTarget;
use super::rng::SplitMix64;
use crate::engine::event::EventKind;
use crate::engine::storage::{CheckpointMetadata, CheckpointStorage, StorageError};
use crate::model::CheckpointId;

/// What a job waits for that is to end with a savepoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AfterSavepoint {
    /// The subtasks finish once it is complete. `stored`: it is, under this name.
    Finish { stored: Option<String> },
    /// The job is canceled once it is complete.
    Cancel,
}

impl AfterSavepoint {
    /// Something failed. If the savepoint was there already, the cause names it, and all of the job begins again
    /// (Flink: `StopWithSavepointStoppingException`).
    #[must_use]
    pub fn cause_of(self, cause: &str) -> Option<String> {
        match self {
            Self::Finish { stored: Some(name) } => Some(format!(
                "Savepoint {name} was stored, but not every subtask finished: {cause} The job goes on."
            )),
            Self::Finish { stored: None } | Self::Cancel => None,
        }
    }
}

/// The places of one run, in either driver.
pub struct Places {
    storage: Arc<dyn CheckpointStorage>,
    target: Option<Arc<dyn SavepointTarget>>,
    /// With the names under which they lie.
    savepoints: Mutex<BTreeMap<CheckpointId, Place>>,
}

/// A savepoint's name and storage.
type Place = (String, Arc<dyn CheckpointStorage>);

impl Places {
    pub fn new(
        storage: Arc<dyn CheckpointStorage>,
        target: Option<Arc<dyn SavepointTarget>>,
    ) -> Self {
        Self {
            storage,
            target,
            savepoints: Mutex::default(),
        }
    }

    #[must_use]
    pub fn takes_savepoints(&self) -> bool {
        self.target.is_some()
    }

    /// Make room for a checkpoint; for a savepoint, with the name that it should have. Returns what the recording is told
    /// if that is not possible.
    #[must_use]
    pub fn begin(&self, checkpoint: CheckpointId, savepoint: Option<&str>) -> Option<EventKind> {
        if let Some(name) = savepoint {
            // Which folder that is, is not for the recording.
            let opened = self.target.as_ref().map(|target| target.open(name));
            let Some(Ok(place)) = opened else {
                let reason = "No folder can be made for the savepoint.".to_owned();
                return Some(EventKind::StorageFailed { checkpoint, reason });
            };
            self.lock().insert(checkpoint, place);
        }
        let begun = self.of(checkpoint).begin(checkpoint);
        begun.err().map(|error| self.failed(checkpoint, &error))
    }

    /// Complete the checkpoint. Returns what the recording is told if that is not possible.
    #[must_use]
    pub fn write_metadata(&self, metadata: &CheckpointMetadata) -> Option<EventKind> {
        let checkpoint = metadata.checkpoint;
        let written = self.of(checkpoint).write_metadata(metadata);
        written.err().map(|error| self.failed(checkpoint, &error))
    }

    fn failed(&self, checkpoint: CheckpointId, error: &StorageError) -> EventKind {
        let reason = format!("{}.", told(error, &*self.of(checkpoint)));
        EventKind::StorageFailed { checkpoint, reason }
    }

    /// Where the state of `checkpoint` is written.
    #[must_use]
    pub fn of(&self, checkpoint: CheckpointId) -> Arc<dyn CheckpointStorage> {
        let savepoints = self.lock();
        let own = savepoints.get(&checkpoint).map(|(_, storage)| storage);
        own.unwrap_or(&self.storage).clone()
    }

    /// The name of this savepoint; none: it is none.
    #[must_use]
    pub fn name_of(&self, checkpoint: CheckpointId) -> Option<String> {
        self.lock().get(&checkpoint).map(|(name, _)| name.clone())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<CheckpointId, Place>> {
        self.savepoints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Delete the shared files of checkpoints before `before` that are not among `keep`. What cannot be deleted is never
    /// read again, but tried again. Returns what the recording is told then.
    #[must_use]
    pub fn retain_shared(
        &self,
        keep: &BTreeSet<String>,
        before: CheckpointId,
    ) -> Option<EventKind> {
        let error = self.storage.retain_shared(keep, before).err()?;
        let reason = format!("{}.", told(&error, &*self.storage));
        Some(EventKind::SharedDiscardFailed { reason })
    }

    /// Remove a file or a checkpoint of the run's own storage, by its path there. Savepoints are a person's, and lie
    /// elsewhere.
    ///
    /// # Errors
    /// A sentence, and nothing was changed: there is no such thing, or the disk refuses.
    pub fn delete_stored(&self, path: &str) -> Result<(), String> {
        let deleted = self.storage.delete_stored(path);
        deleted.map_err(|error| format!("{}.", told(&error, &*self.storage)))
    }

    /// Delete it. Returns what the recording is told if that is not possible: nothing of the run depends on it.
    #[must_use]
    pub fn discard(&self, checkpoint: CheckpointId) -> Option<EventKind> {
        let discarded = self.of(checkpoint).discard(checkpoint);
        if let (Some(target), Some(name)) = (&self.target, self.name_of(checkpoint)) {
            target.drop_empty(&name);
        }
        let reason = format!("{}.", told(&discarded.err()?, &*self.of(checkpoint)));
        Some(EventKind::DiscardFailed { checkpoint, reason })
    }
}

/// What is wrong with a storage, as a run tells it: where its folder lies is not for the recording, since a branch does the
/// same in another one.
#[must_use]
pub fn told(error: &impl Display, storage: &dyn CheckpointStorage) -> String {
    let sentence = error.to_string();
    match storage.location() {
        Some(root) => {
            let root = root.display().to_string();
            let relative = sentence.replace(&format!("{root}{MAIN_SEPARATOR}"), "");
            relative.replace(&root, "its folder")
        }
        None => sentence,
    }
}

/// What a run tells of the snapshot that it was started from.
#[must_use]
pub fn discard_failed(checkpoint: CheckpointId, error: &StorageError) -> EventKind {
    EventKind::DiscardFailed {
        checkpoint,
        reason: format!("{error}."),
    }
}

/// The id of the job that runs with this seed: 32 hex digits, as Flink's.
#[must_use]
pub fn job_id(seed: u64) -> String {
    let mut chance = SplitMix64(seed);
    format!("{:016x}{:016x}", chance.next(), chance.next())
}

/// `savepoint-<6 hex digits of the job>-<12 more>`, as Flink calls them.
#[must_use]
pub fn savepoint_name(job: u64, random: u64) -> String {
    format!("savepoint-{:06x}-{:012x}", job >> 40, random >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_savepoint_is_called_as_flink_calls_it() {
        assert_eq!(
            savepoint_name(0xabcd_ef01_2345_6789, 0x0000_1234_5678_9abc),
            "savepoint-abcdef-000012345678"
        );
    }
}
