//! The completed checkpoints that can be restored (Flink: `CompletedCheckpointStore`, `CheckpointSubsumeHelper`).

use std::collections::VecDeque;

use super::retention::{JobEnd, keeps};
use crate::model::{CheckpointId, ClaimMode, Retention};

/// Whose a snapshot in the store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A checkpoint of this run.
    Run,
    /// The snapshot that the run was started from.
    Start(ClaimMode),
}

/// What leaves the store, and what is to be done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    pub checkpoint: CheckpointId,
    pub owner: Owner,
}

impl Departure {
    /// Whether it may be deleted: the person's own snapshot may not.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.owner != Owner::Start(ClaimMode::NoClaim)
    }
}

/// The retained checkpoints, oldest first. The last one is what a failing job returns to.
#[derive(Clone, Debug, Default)]
pub struct CompletedStore {
    retained: VecDeque<Departure>,
}

impl CompletedStore {
    /// The run begins with this snapshot of another one. It counts as the first entry.
    pub fn start_from(&mut self, checkpoint: CheckpointId, claim: ClaimMode) {
        let owner = Owner::Start(claim);
        self.retained.push_front(Departure { checkpoint, owner });
    }

    /// Add the newest one; returns those that make room for it, at most `retain` (≥ 1) being kept.
    pub fn add(&mut self, checkpoint: CheckpointId, retain: u32) -> Vec<Departure> {
        let owner = Owner::Run;
        self.retained.push_back(Departure { checkpoint, owner });
        let surplus = self.retained.len().saturating_sub(retain.max(1) as usize);
        self.retained.drain(..surplus).collect()
    }

    /// The job has ended so: returns what its retention does not keep.
    pub fn end(&mut self, retention: Retention, end: JobEnd) -> Vec<Departure> {
        let stays = |entry: &Departure| !entry.is_ours() || keeps(retention, end);
        let entries = std::mem::take(&mut self.retained).into_iter();
        let (kept, gone): (VecDeque<_>, VecDeque<_>) = entries.partition(stays);
        self.retained = kept;
        gone.into()
    }

    /// The job went back to `checkpoint`: now that is the latest.
    ///
    /// Where a person returns to an older checkpoint, the newer ones belong to a course of events that is given up.
    /// They stay restorable, but by name only, until they are subsumed.
    pub fn promote(&mut self, checkpoint: CheckpointId) {
        let is_it = |entry: &Departure| entry.checkpoint == checkpoint;
        if let Some(entry) = self.retained.iter().position(is_it) {
            let entry = self.retained.remove(entry);
            self.retained.extend(entry);
        }
    }

    #[must_use]
    pub fn latest(&self) -> Option<CheckpointId> {
        self.retained.back().map(|entry| entry.checkpoint)
    }

    /// What a restore that names no checkpoint tries to read, one after the other: the latest (where there is none, what
    /// comes instead of it), then the older ones, newest first. What came after the latest, in a course of events that
    /// was given up, is taken by name only.
    #[must_use]
    pub fn restore_order(&self) -> Vec<Option<CheckpointId>> {
        let latest = self.latest();
        let mut older: Vec<CheckpointId> = self.iter().filter(|id| Some(*id) < latest).collect();
        older.sort_unstable();
        let older = older.into_iter().rev().map(Some);
        std::iter::once(None).chain(older).collect()
    }

    #[must_use]
    pub fn contains(&self, checkpoint: CheckpointId) -> bool {
        self.iter().any(|id| id == checkpoint)
    }

    /// Whether `checkpoint` is the snapshot that the run was started from, rather than one of its own.
    #[must_use]
    pub fn is_start(&self, checkpoint: CheckpointId) -> bool {
        let mut entries = self.retained.iter();
        entries.any(|entry| entry.checkpoint == checkpoint && entry.owner != Owner::Run)
    }

    /// Oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = CheckpointId> + '_ {
        self.retained.iter().map(|entry| entry.checkpoint)
    }
}
