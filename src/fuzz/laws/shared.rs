//! Laws 20–22: the files that several checkpoints refer to.

use std::collections::{BTreeMap, BTreeSet};

use super::{History, Violation, violation};
use crate::engine::event::{EventKind, Outcome, SharedUse, SubtaskStatus, TraceEvent};
use crate::model::{CheckpointId, SubtaskId};

/// Who refers to which file, and which are deleted.
#[derive(Default)]
struct Files {
    by_checkpoint: BTreeMap<CheckpointId, BTreeSet<String>>,
    last_used_by: BTreeMap<String, CheckpointId>,
    retained: BTreeSet<CheckpointId>,
    deleted: BTreeSet<String>,
}

impl Files {
    fn register(&mut self, checkpoint: CheckpointId, files: &[SharedUse]) {
        for file in files {
            let own = self.by_checkpoint.entry(checkpoint).or_default();
            own.insert(file.name.clone());
            let last = self.last_used_by.entry(file.name.clone());
            let last = last.or_insert(checkpoint);
            *last = checkpoint.max(*last);
        }
    }

    fn lowest(&self) -> CheckpointId {
        let lowest = self.retained.first().copied();
        lowest.unwrap_or(CheckpointId(u64::MAX))
    }

    /// Those that should have gone by now.
    fn unused(&self) -> impl Iterator<Item = (&String, CheckpointId)> {
        let lowest = self.lowest();
        let files = self.last_used_by.iter().map(|(name, last)| (name, *last));
        files.filter(move |(name, last)| *last < lowest && !self.deleted.contains(*name))
    }
}

/// Breaks if a file goes that a retained checkpoint refers to, or that a checkpoint not older than the oldest retained
/// one has used; or if one stays after that.
pub fn kept(history: &History) -> Vec<Violation> {
    let mut files = Files::default();
    let mut found = Vec::new();
    for (at, event) in history.events.iter().enumerate() {
        // What is subsumed, and what goes with it, is one step.
        let next = history.events.get(at + 1);
        match &event.kind {
            EventKind::SharedRegistered {
                checkpoint,
                files: used,
                ..
            } => {
                for file in used.iter().filter(|file| file.created_by == *checkpoint) {
                    files.deleted.remove(&file.name);
                }
                let gone = used.iter().find(|file| files.deleted.contains(&file.name));
                let story = history.checkpoints.get(checkpoint);
                let is_over = story
                    .and_then(|story| story.aborted)
                    .is_some_and(|(end, _)| end < at);
                if let Some(gone) = gone.filter(|_| !is_over) {
                    let text = format!(
                        "checkpoint {checkpoint} refers to {}, which is deleted",
                        gone.name
                    );
                    found.push(violation(20, at, text));
                }
                files.register(*checkpoint, used);
            }
            EventKind::Completed { checkpoint } => {
                let story = &history.checkpoints[checkpoint];
                if !story.kind.is_savepoint() {
                    files.retained.insert(*checkpoint);
                }
            }
            EventKind::StartedFrom { checkpoint, .. } => {
                files.retained.insert(*checkpoint);
            }
            EventKind::Subsumed { checkpoint }
            | EventKind::Released { checkpoint }
            | EventKind::DiscardedAtEnd { checkpoint } => {
                files.retained.remove(checkpoint);
                if !next.is_some_and(is_of_the_store) {
                    let left = files.unused().map(|(name, last)| {
                        format!("{name}, last used by checkpoint {last}, is not deleted")
                    });
                    found.extend(left.map(|text| violation(21, at, text)));
                }
            }
            EventKind::SharedDiscarded { files: gone } => {
                for name in gone {
                    let users = files
                        .by_checkpoint
                        .iter()
                        .filter(|(_, own)| own.contains(name));
                    let lowest = files.lowest();
                    for (user, _) in users.filter(|(user, _)| **user >= lowest) {
                        let law = if files.retained.contains(user) {
                            20
                        } else {
                            21
                        };
                        let text = format!("{name} is deleted, and checkpoint {user} refers to it");
                        found.push(violation(law, at, text));
                    }
                    files.deleted.insert(name.clone());
                }
            }
            _ => {}
        }
    }
    found
}

fn is_of_the_store(event: &TraceEvent) -> bool {
    matches!(
        event.kind,
        EventKind::Subsumed { .. }
            | EventKind::Released { .. }
            | EventKind::DiscardedAtEnd { .. }
            | EventKind::SharedDiscarded { .. }
    )
}

/// Breaks if a subtask takes a file for uploaded that is in no checkpoint which it knows to be complete: that it was told
/// of, or restored from.
pub fn confirmed(history: &History) -> Vec<Violation> {
    let mut known: BTreeMap<SubtaskId, BTreeSet<CheckpointId>> = BTreeMap::new();
    let mut files: BTreeMap<(SubtaskId, CheckpointId), BTreeSet<String>> = BTreeMap::new();
    let mut restored_from = None;
    let mut found = Vec::new();
    for (at, event) in history.events.iter().enumerate() {
        match &event.kind {
            EventKind::SharedRegistered {
                subtask,
                checkpoint,
                files: used,
            } => {
                let is_known = |name: &String| {
                    let complete = known.get(subtask).into_iter().flatten();
                    complete
                        .filter_map(|id| files.get(&(*subtask, *id)))
                        .any(|own| own.contains(name))
                };
                let reused = used.iter().filter(|file| file.created_by != *checkpoint);
                for file in reused.filter(|file| !is_known(&file.name)) {
                    let name = history.plan.subtask_name(*subtask);
                    let text = format!("{name} takes {} for uploaded, unconfirmed", file.name);
                    found.push(violation(22, at, text));
                }
                let own = used.iter().map(|file| file.name.clone()).collect();
                files.insert((*subtask, *checkpoint), own);
            }
            EventKind::Notified {
                subtask,
                checkpoint,
                outcome: Outcome::Completed,
            } => {
                known.entry(*subtask).or_default().insert(*checkpoint);
            }
            EventKind::JobStatus(crate::engine::event::JobStatus::Restoring { from }) => {
                restored_from = *from;
            }
            EventKind::SubtaskStatus {
                subtask,
                status: SubtaskStatus::Initializing,
            } => {
                known.insert(*subtask, restored_from.into_iter().collect());
            }
            _ => {}
        }
    }
    found
}
