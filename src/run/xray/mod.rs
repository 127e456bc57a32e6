//! Where a run's state really lies: working state in memory and on the local disk, and the files of the checkpoints.
//!
//! Nothing here follows from the recording. A *look* reads the checkpoint storage and the state backends themselves, on the
//! engine's thread, whenever they may have changed; it is kept with the position in the recording at which it was taken,
//! so that the past can be looked at, too. Sizes are measured, and other on each machine.

mod contents;
mod gone;
mod looks;
mod loss;
mod references;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::engine::driver::stepper::Stepper;
use crate::engine::event::EventKind;
use crate::engine::state::LocalState;
use crate::engine::storage::{CheckpointStorage, StoredFile};
use crate::model::{CheckpointId, SubtaskId};

pub(super) use contents::Reader;
pub use contents::{FileContents, MAX_ENTRIES, Part};
pub use gone::{Gone, Why};
pub use looks::Looks;
pub use loss::{Counted, Loss};
pub use references::{Reference, Role};

/// One look, at one moment of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageLook {
    /// After so many events.
    pub position: usize,
    pub at_us: u64,
    pub stored: Arc<StoredLook>,
    /// Of the keyed subtasks that are there.
    pub local: Vec<Arc<LocalLook>>,
}

/// The checkpoint storage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredLook {
    /// None: it is the JobManager's heap.
    pub folder: Option<PathBuf>,
    /// All that is there, by path.
    pub files: Vec<StoredFile>,
    /// What each checkpoint that has a `_metadata` refers to; or why that cannot be read, as a sentence.
    pub checkpoints: BTreeMap<CheckpointId, Arc<References>>,
    /// Why the storage could not be read, as a sentence.
    pub trouble: Option<String>,
}

/// What a checkpoint refers to, or why its `_metadata` cannot be read, as a sentence.
pub type References = Result<Vec<Reference>, String>;

/// The working state of one subtask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalLook {
    pub subtask: SubtaskId,
    /// Or why it could not be read, as a sentence.
    pub state: Result<LocalState, String>,
}

/// Something that can be looked into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileRef {
    /// A file of the checkpoint storage, by its path there; or the folder of a checkpoint.
    Stored(String),
    /// A table file (SST) of a subtask's database, by RocksDB's name; none: all of its working state.
    Local {
        subtask: SubtaskId,
        table: Option<String>,
    },
}

/// What was in a file when it was looked into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookedInto {
    pub file: FileRef,
    /// After so many events.
    pub position: usize,
    pub at_us: u64,
    /// Or why it could not be read, as a sentence.
    pub contents: Result<FileContents, String>,
}

/// Whether the event has to do with where state lies: then it is looked at again.
#[must_use]
pub fn concerns_storage(event: &EventKind) -> bool {
    matches!(
        event,
        EventKind::Restored { .. }
            | EventKind::SnapshotStarted { .. }
            | EventKind::SnapshotWritten { .. }
            | EventKind::SnapshotFailed { .. }
            | EventKind::Compacted { .. }
            | EventKind::Triggered { .. }
            | EventKind::SharedDiscarded { .. }
            | EventKind::Completed { .. }
            | EventKind::Aborted { .. }
            | EventKind::Subsumed { .. }
            | EventKind::DiscardFailed { .. }
            | EventKind::DiscardedAtEnd { .. }
            | EventKind::CommandAccepted { .. }
            | EventKind::JobStatus(_)
    )
}

impl StoredLook {
    /// Read the storage. What has not changed since `last` is not read again.
    #[must_use]
    pub fn take(storage: &dyn CheckpointStorage, last: Option<&Arc<Self>>) -> Arc<Self> {
        let folder = storage.location().map(std::path::Path::to_owned);
        let files = match storage.stored_files() {
            Ok(files) => files,
            Err(error) => {
                return Arc::new(Self {
                    folder,
                    trouble: Some(format!("The checkpoint storage cannot be read: {error}.")),
                    ..Self::default()
                });
            }
        };
        if let Some(last) = last
            && last.files == files
            && last.trouble.is_none()
        {
            return Arc::clone(last);
        }
        let mut look = Self {
            folder,
            checkpoints: BTreeMap::new(),
            files,
            trouble: None,
        };
        for id in storage.list().unwrap_or_default() {
            let path = format!("chk-{id}/_metadata");
            let known = last
                .filter(|last| last.file(&path).is_some() && last.file(&path) == look.file(&path))
                .and_then(|last| last.checkpoints.get(&id));
            let references =
                known.map_or_else(|| Arc::new(references::of(storage, id)), Arc::clone);
            look.checkpoints.insert(id, references);
        }
        Arc::new(look)
    }

    #[must_use]
    pub fn file(&self, path: &str) -> Option<&StoredFile> {
        let place = self
            .files
            .binary_search_by(|file| file.path.as_str().cmp(path));
        place.ok().map(|place| &self.files[place])
    }

    /// The files of the folder `chk-N` of a checkpoint.
    pub fn files_of(&self, id: CheckpointId) -> impl Iterator<Item = &StoredFile> {
        let folder = format!("chk-{id}/");
        self.files
            .iter()
            .filter(move |file| file.path.starts_with(&folder))
    }

    /// The checkpoints with a folder, whether complete or not.
    #[must_use]
    pub fn folders(&self) -> Vec<CheckpointId> {
        let ids = self
            .files
            .iter()
            .filter_map(|file| checkpoint_of(&file.path));
        let mut ids: Vec<CheckpointId> = ids.chain(self.checkpoints.keys().copied()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// The checkpoints that refer to this file, oldest first.
    pub fn users<'a>(&'a self, path: &'a str) -> impl Iterator<Item = CheckpointId> + 'a {
        let uses = |reference: &Reference| reference.path.as_deref() == Some(path);
        let checkpoints = self.checkpoints.keys();
        checkpoints
            .copied()
            .filter(move |id| self.references(*id).iter().any(uses))
    }

    /// What `checkpoint` has written anew, and what a restore from it reads, in bytes: with its own folder.
    #[must_use]
    pub fn sizes(&self, checkpoint: CheckpointId) -> (u64, u64) {
        let own: u64 = self.files_of(checkpoint).map(|file| file.size_bytes).sum();
        let references = self.references(checkpoint);
        let (mut uploaded, mut needed) = (own, own);
        for reference in references {
            let is_elsewhere = |path: &String| checkpoint_of(path) != Some(checkpoint);
            if !reference.path.as_ref().is_some_and(is_elsewhere) {
                continue;
            }
            needed += reference.size_bytes;
            if reference.is_created_by(checkpoint) {
                uploaded += reference.size_bytes;
            }
        }
        (uploaded, needed)
    }

    /// What `checkpoint` needs and has not got: a file that is not there, or is not as long as what was written.
    #[must_use]
    pub fn damage(&self, checkpoint: CheckpointId) -> Option<String> {
        if let Err(error) = &**self.checkpoints.get(&checkpoint)? {
            return Some(error.clone());
        }
        let mut references = self.references(checkpoint).iter();
        references.find_map(|reference| {
            let path = reference.path.as_deref()?;
            match self.file(path) {
                None => Some(format!("{path} is missing.")),
                Some(file) if file.size_bytes != reference.size_bytes => Some(format!(
                    "{path} holds {} bytes, and {} were written.",
                    file.size_bytes, reference.size_bytes
                )),
                Some(_) => None,
            }
        })
    }

    /// What a checkpoint refers to; nothing, if its `_metadata` is not there or cannot be read.
    #[must_use]
    pub fn references(&self, checkpoint: CheckpointId) -> &[Reference] {
        match self.checkpoints.get(&checkpoint).map(|it| &**it) {
            Some(Ok(references)) => references,
            Some(Err(_)) | None => &[],
        }
    }
}

/// In whose folder `chk-N` a file lies.
#[must_use]
pub fn checkpoint_of(path: &str) -> Option<CheckpointId> {
    let number = path.split('/').next()?.strip_prefix("chk-")?;
    number.parse().ok().map(CheckpointId)
}

/// Look at the working state of all subtasks. What has not changed since `last` is shared with it.
#[must_use]
pub fn local(stepper: &Stepper, last: &[Arc<LocalLook>]) -> Vec<Arc<LocalLook>> {
    let looks = stepper.keyed().map(|(subtask, keyed)| LocalLook {
        subtask,
        state: keyed
            .local()
            .map_err(|error| format!("The working state cannot be read: {error}.")),
    });
    let same = |mut look: LocalLook| {
        let known = last.iter().find(|known| known.subtask == look.subtask);
        if let Some(known) = known {
            if **known == look {
                return Arc::clone(known);
            }
            if let (Ok(state), Ok(last)) = (&mut look.state, &known.state) {
                state.share(last);
            }
        }
        Arc::new(look)
    };
    looks.map(same).collect()
}
