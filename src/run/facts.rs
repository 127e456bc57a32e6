//! What a run tells: of itself, of the moment at the cursor, and of where its state lies.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::branch::BranchTimes;
use super::worker::Request;
use super::xray::{Counted, FileRef, Gone, LookedInto, StorageLook};
use super::{Run, RunError};
use crate::model::{BackendKind, CheckpointId, JobGraph};
use crate::recording::view::CheckpointStatus;
use crate::recording::{Recording, View};

impl Run {
    /// The state at the cursor.
    #[must_use]
    pub fn view(&self) -> &View {
        self.cursor.view()
    }

    /// Virtual time at the cursor: at least `view().at_us`, and before the next event. Tokens move by it.
    #[must_use]
    pub fn clock_us(&self) -> u64 {
        self.cursor.clock_us()
    }

    /// The newest moment that the engine has lived through.
    #[must_use]
    pub fn reached_us(&self) -> u64 {
        self.reached_us
    }

    #[must_use]
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    #[must_use]
    pub fn is_playing(&self) -> bool {
        self.is_playing
    }

    #[must_use]
    pub fn speed(&self) -> f32 {
        self.speed
    }

    /// The cursor is at the newest recorded moment.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.cursor.view().position == self.recording.events().len()
    }

    /// Nothing will happen by itself after the newest recorded moment.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.next_at_us.is_none()
    }

    #[must_use]
    pub fn backend(&self) -> BackendKind {
        self.blueprint.job.config.backend
    }

    /// The branches left behind by acting in the past.
    pub fn branches(&self) -> impl ExactSizeIterator<Item = BranchTimes> + '_ {
        self.branches.iter().map(|branch| branch.times)
    }

    /// The folder of a file-system checkpoint storage.
    #[must_use]
    pub fn storage_dir(&self) -> Option<&Path> {
        self.storage_dir.as_deref()
    }

    /// Where the state lay at the cursor, as it was read; none: nobody has looked, or asked for looks.
    #[must_use]
    pub fn look(&self) -> Option<&StorageLook> {
        let position = self.cursor.view().position;
        let present = self.present.as_ref();
        let is_now = |look: &&StorageLook| look.position <= position && self.is_at_end();
        let kept = self.looks.at(position);
        let newer =
            |present: &&StorageLook| kept.is_none_or(|kept| kept.position <= present.position);
        present.filter(is_now).filter(newer).or(kept)
    }

    /// Have `file` read, if what was read of it last is not how it is now. To be called as long as a person looks at it;
    /// what is found is told by [`Run::looked_into`].
    pub fn keep_reading(&mut self, file: &FileRef) {
        let newest = self.recording.events().len();
        let never_changes = !matches!(file, FileRef::Local { table: None, .. });
        let is_read = self.looked_into.as_ref().is_some_and(|looked| {
            let is_settled = never_changes && looked.contents.is_ok() || self.is_playing;
            looked.file == *file && (is_settled || looked.position == newest)
        });
        let asked = Some((file.clone(), newest));
        if is_read || self.asked_for == asked || self.error.is_some() {
            return;
        }
        if self.worker.request(Request::LookInto(file.clone())) {
            self.asked_for = asked;
        }
    }

    /// The checkpoints that the job counts on at the cursor.
    #[must_use]
    pub fn counted(&self) -> Counted {
        let view = self.view();
        let pending = view.checkpoints.values();
        let pending = pending.filter(|it| it.status == CheckpointStatus::Pending);
        Counted {
            store: view.store.clone(),
            elsewhere: view.started_from.map(|start| start.checkpoint),
            pending: pending.map(|it| it.id).collect(),
        }
    }

    /// The files that were gone by the cursor, latest first.
    pub fn gone_files(&self) -> impl Iterator<Item = &Gone> {
        self.looks.gone(self.cursor.view().position)
    }

    /// At the cursor: the checkpoints in the job's store of which the `_metadata` is gone.
    #[must_use]
    pub fn lost_checkpoints(&self) -> Vec<CheckpointId> {
        let is_lost = |id: &CheckpointId| {
            let path = format!("chk-{id}/_metadata");
            let is_there = |look: &StorageLook| look.stored.file(&path).is_some();
            !self.look().is_some_and(is_there)
                && self.gone_files().any(|gone| gone.file.path == path)
        };
        let store = self.view().store.iter().copied();
        store.filter(is_lost).collect()
    }

    /// What has become of a file of the storage by the newest recorded moment, if it is gone.
    #[must_use]
    pub fn fate_of(&self, file: &FileRef) -> Option<&Gone> {
        let FileRef::Stored(path) = file else {
            return None;
        };
        let mut gone = self.looks.gone(self.recording.events().len());
        gone.find(|gone| gone.file.path == *path)
    }

    /// What was read last: see [`Run::keep_reading`].
    #[must_use]
    pub fn looked_into(&self) -> Option<&LookedInto> {
        self.looked_into.as_deref()
    }

    /// Where a savepoint of this run lies. None: it is none, or the folder is not known yet.
    #[must_use]
    pub fn savepoint_path(&self, checkpoint: CheckpointId) -> Option<PathBuf> {
        let mut savepoints = self.recording.head().savepoints.iter();
        let (_, name) = savepoints.find(|(id, _)| *id == checkpoint)?;
        let home = self.worker.read().progress.home.clone()?;
        home.savepoints.as_ref()?.path_of(name)
    }

    /// Why the latest savepoint that had no place had none, as a sentence.
    #[must_use]
    pub fn savepoint_trouble(&self) -> Option<String> {
        let home = self.worker.read().progress.home.clone()?;
        home.savepoints.as_ref()?.trouble()
    }

    /// Measured: what a retained checkpoint takes in its storage, in bytes. Reads the storage: not for every frame.
    #[must_use]
    pub fn stored_bytes(&self, checkpoint: CheckpointId) -> Option<u64> {
        let home = self.worker.read().progress.home.clone()?;
        home.storage.stored_bytes(checkpoint).ok()
    }

    /// Why the engine could not begin or cannot go on.
    #[must_use]
    pub fn error(&self) -> Option<&RunError> {
        self.error.as_ref()
    }

    /// A message that the last action left for the person (a refused command, a torn checkpoint); cleared by the
    /// next action.
    #[must_use]
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// The job as it runs: with the backend and seed of this run.
    #[must_use]
    pub fn job(&self) -> &Arc<JobGraph> {
        &self.blueprint.job
    }
}
