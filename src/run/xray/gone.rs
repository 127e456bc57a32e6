//! Files that were there and are not any more, and why.

use super::{StorageLook, checkpoint_of};
use crate::engine::event::{EventKind, TraceEvent};
use crate::engine::storage::StoredFile;
use crate::model::{CheckpointId, Command};

/// A file that is not there any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gone {
    pub file: StoredFile,
    /// It is gone in the look of this position.
    pub position: usize,
    pub at_us: u64,
    pub why: Why,
    /// The newest checkpoint that had referred to it.
    pub last_used_by: Option<CheckpointId>,
}

/// Why a file was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its checkpoint was subsumed.
    Subsumed(CheckpointId),
    /// Its checkpoint was aborted.
    Aborted(CheckpointId),
    /// The job has ended, and does not keep this checkpoint; none: or any of those that referred to the file.
    JobEnded(Option<CheckpointId>),
    /// A shared file that no retained checkpoint refers to.
    Unused,
    /// A person said so.
    Person,
    /// Not by this run.
    Unknown,
}

impl Gone {
    /// What became of it, as a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match (self.why, self.last_used_by) {
            (Why::Subsumed(id), _) => {
                format!(
                    "Checkpoint {id} was subsumed by a newer one, and its own files went with it."
                )
            }
            (Why::Aborted(id), _) => {
                format!("Checkpoint {id} was aborted: what was written for it is nobody’s.")
            }
            (Why::JobEnded(Some(id)), _) => {
                format!("The job has ended, and its retention does not keep checkpoint {id}.")
            }
            (Why::JobEnded(None), _) => {
                "The job has ended, and no checkpoint that it keeps refers to it.".to_owned()
            }
            (Why::Unused, Some(id)) => format!(
                "Checkpoint {id} was the last that referred to it, and is older than every retained one."
            ),
            (Why::Unused, None) => {
                "No completed checkpoint has ever referred to it: its checkpoint was aborted."
                    .to_owned()
            }
            (Why::Person, _) => "You deleted it.".to_owned(),
            (Why::Unknown, _) => "It was not deleted by this run.".to_owned(),
        }
    }
}

/// What `next` does not have of `last`, `events` being what has happened between them.
pub(super) fn between(last: &StorageLook, next: &StorageLook, events: &[TraceEvent]) -> Vec<Gone> {
    let is_lasting = |file: &&StoredFile| {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        !name.starts_with('.') && !file.path.starts_with('.')
    };
    let files = last.stored.files.iter().filter(is_lasting);
    // On the JobManager's heap, what a completed checkpoint consists of is in its metadata.
    let is_taken_in = |file: &StoredFile| {
        checkpoint_of(&file.path).is_some_and(|id| {
            next.stored.checkpoints.contains_key(&id) && !last.stored.checkpoints.contains_key(&id)
        })
    };
    let gone = files
        .filter(|file| next.stored.file(&file.path).is_none())
        .filter(|file| !is_taken_in(file));
    gone.map(|file| Gone {
        file: file.clone(),
        position: next.position,
        at_us: next.at_us,
        why: why(&file.path, events),
        last_used_by: last.stored.users(&file.path).last(),
    })
    .collect()
}

fn why(path: &str, events: &[TraceEvent]) -> Why {
    let by_person = |event: &TraceEvent| match &event.kind {
        EventKind::CommandAccepted {
            command: Command::DeleteStored { path: doomed },
            ..
        } => {
            path == doomed
                || path
                    .strip_prefix(doomed.as_str())
                    .is_some_and(|rest| rest.starts_with('/'))
        }
        _ => false,
    };
    if events.iter().any(by_person) {
        return Why::Person;
    }
    let has_ended = |event: &TraceEvent| matches!(event.kind, EventKind::DiscardedAtEnd { .. });
    match checkpoint_of(path) {
        None if events.iter().any(has_ended) => Why::JobEnded(None),
        None => {
            let is_swept = |event: &TraceEvent| {
                matches!(
                    event.kind,
                    EventKind::SharedDiscarded { .. }
                        | EventKind::Subsumed { .. }
                        | EventKind::DiscardedAtEnd { .. }
                        | EventKind::Completed { .. }
                        | EventKind::Aborted { .. }
                )
            };
            if events.iter().any(is_swept) {
                Why::Unused
            } else {
                Why::Unknown
            }
        }
        Some(id) => {
            let mut reasons = events.iter().filter_map(|event| match event.kind {
                EventKind::Subsumed { checkpoint } if checkpoint == id => Some(Why::Subsumed(id)),
                EventKind::Aborted { checkpoint, .. } if checkpoint == id => Some(Why::Aborted(id)),
                EventKind::DiscardedAtEnd { checkpoint } if checkpoint == id => {
                    Some(Why::JobEnded(Some(id)))
                }
                _ => None,
            });
            reasons.next_back().unwrap_or(Why::Unknown)
        }
    }
}
