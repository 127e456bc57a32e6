//! Law 12, as far as it is about files: nobody's state is left behind, and nobody else's is deleted.
//!
//! What the log says is compared with what lies in the storage, which is outside the engine as the log is.

use super::{History, Violation, violation};
use crate::engine::event::EventKind;
use crate::model::{CheckpointId, ClaimMode};

/// What lies in the storages after a run.
pub struct Stored<'a> {
    /// Whether anything of this checkpoint does: in the run's own storage, or for a savepoint in its own.
    pub holds: &'a dyn Fn(CheckpointId, bool) -> bool,
    /// Whether the snapshot that the run has started from is still there.
    pub holds_start: Option<bool>,
}

/// Breaks if an aborted or subsumed checkpoint leaves something behind (a late acknowledgement's state, say), or if one
/// that is to be kept is gone.
pub fn leaked(history: &History, stored: &Stored) -> Vec<Violation> {
    let at = history.events.len().saturating_sub(1);
    let mut found = Vec::new();
    for (id, story) in &history.checkpoints {
        let is_kept = match (story.completed, story.aborted) {
            (Some(_), _) => !is_deleted(history, *id),
            (None, Some(_)) => false,
            // It is being written.
            (None, None) => continue,
        };
        let holds = (stored.holds)(*id, story.kind.is_savepoint());
        if holds != is_kept {
            let what = if holds {
                "is given up or deleted, but something of it is still stored"
            } else {
                "is complete and kept, but is not stored any more"
            };
            found.push(violation(12, at, format!("checkpoint {id} {what}")));
        }
    }
    found.extend(lost_start(history, stored).map(|text| violation(12, at, text)));
    found
}

fn is_deleted(history: &History, id: CheckpointId) -> bool {
    history.events.iter().any(|event| {
        matches!(event.kind, EventKind::Subsumed { checkpoint } | EventKind::DiscardedAtEnd { checkpoint } if checkpoint == id)
    })
}

/// The snapshot that a run starts from is deleted only where the run has claimed it, and when it is subsumed.
fn lost_start(history: &History, stored: &Stored) -> Option<String> {
    let holds = stored.holds_start?;
    let begun = history.events.iter().find_map(|event| match event.kind {
        EventKind::StartedFrom {
            checkpoint, claim, ..
        } => Some((checkpoint, claim)),
        _ => None,
    });
    let (checkpoint, claim) = begun?;
    let is_kept = claim == ClaimMode::NoClaim || !is_deleted(history, checkpoint);
    (holds != is_kept).then(|| {
        let what = if holds { "is still stored" } else { "is gone" };
        format!("snapshot {checkpoint}, which the run has started from, {what}")
    })
}
