//! Files that were there and are not any more, and why.

use std::collections::BTreeMap;

use super::{StorageLook, StoredLook, checkpoint_of};
use crate::engine::event::{CommandOrigin, EventKind, TraceEvent};
use crate::engine::storage::{self, StoredFile};
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
    /// A command said so: a person's, or the script's.
    Command(CommandOrigin),
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
                "No completed checkpoint has ever referred to it: the one that it was written for came to nothing."
                    .to_owned()
            }
            (Why::Command(CommandOrigin::Script(_)), _) => "The job’s script deleted it.".to_owned(),
            (Why::Command(_), _) => "You deleted it.".to_owned(),
            (Why::Unknown, _) => "It was not deleted by this run.".to_owned(),
        }
    }
}

/// What `next` does not have of `last`, `events` being what has happened between them. `last_users`: by file, the newest
/// checkpoint that has ever referred to it.
pub(super) fn between(
    last: &StorageLook,
    next: &StorageLook,
    events: &[TraceEvent],
    last_users: &BTreeMap<String, CheckpointId>,
) -> Vec<Gone> {
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
        why: why(&file.path, events, &next.stored),
        last_used_by: last_users.get(&file.path).copied(),
    })
    .collect()
}

fn why(path: &str, events: &[TraceEvent], next: &StoredLook) -> Why {
    let by_command = |event: &TraceEvent| match &event.kind {
        EventKind::CommandAccepted {
            command: Command::DeleteStored { path: doomed },
            by,
        } => {
            let rest = path.strip_prefix(doomed.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                .then_some(*by)
        }
        _ => None,
    };
    if let Some(by) = events.iter().find_map(by_command) {
        return Why::Command(by);
    }
    match checkpoint_of(path) {
        None => why_shared(path, events, next),
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

/// The run takes no shared file that a checkpoint which is still there refers to.
fn why_shared(path: &str, events: &[TraceEvent], next: &StoredLook) -> Why {
    if next.users(path).next().is_some() {
        return Why::Unknown;
    }
    let has_ended = |event: &TraceEvent| matches!(event.kind, EventKind::DiscardedAtEnd { .. });
    let is_told = |event: &TraceEvent| match &event.kind {
        EventKind::SharedDiscarded { files } => {
            files.iter().any(|name| storage::shared_path(name) == path)
        }
        _ => false,
    };
    // What was never acknowledged is swept without a word, when checkpoints are.
    let is_sweep = |event: &TraceEvent| {
        matches!(
            event.kind,
            EventKind::Subsumed { .. } | EventKind::Completed { .. } | EventKind::Aborted { .. }
        )
    };
    if events.iter().any(has_ended) {
        Why::JobEnded(None)
    } else if events.iter().any(|event| is_told(event) || is_sweep(event)) {
        Why::Unused
    } else {
        Why::Unknown
    }
}
