//! What the storage has brought about: checkpoints that could not be written, read or deleted, in its own words.

use super::Restart;
use crate::engine::event::{CommandOrigin, EventKind, JobStatus};
use crate::model::{CheckpointId, Command};
use crate::recording::Recording;

/// Every time the job was restored, and why: because it was down, else because somebody asked.
pub fn restarts(recording: &Recording) -> Vec<Restart> {
    let (mut asked, mut down) = ("", None);
    let mut tries = Tries::default();
    let mut restarts = Vec::new();
    for event in recording.events() {
        match &event.kind {
            EventKind::CommandAccepted { by, .. } => {
                asked = match by {
                    CommandOrigin::Person => "A person asked for it.",
                    CommandOrigin::Script(_) => "The script asked for it.",
                    CommandOrigin::Job => "The restart strategy asked for it.",
                };
            }
            EventKind::JobStatus(JobStatus::Restarting { cause }) => down = Some(cause.clone()),
            EventKind::JobStatus(JobStatus::Restoring { from }) => restarts.push(Restart {
                at_us: event.at_us,
                cause: down.take().unwrap_or_else(|| asked.to_owned()),
                from: from.map(|id| id.0),
                unreadable: std::mem::take(&mut tries.unreadable),
            }),
            _ => {}
        }
        tries.follow(&event.kind);
    }
    restarts
}

/// What a restore has tried before it found a checkpoint that can be read: told right before it is accepted.
#[derive(Default)]
struct Tries {
    refused: Vec<String>,
    by: Option<CommandOrigin>,
    /// Of the restore that was accepted last.
    unreadable: Vec<String>,
}

impl Tries {
    fn follow(&mut self, event: &EventKind) {
        match event {
            EventKind::CommandRefused {
                command: Command::Restore { checkpoint },
                by,
                reason,
            } => {
                // The latest is tried first, without being named.
                if checkpoint.is_none() || self.by != Some(*by) {
                    self.refused.clear();
                }
                self.by = Some(*by);
                self.refused.push(reason.clone());
            }
            EventKind::CommandAccepted {
                command: Command::Restore { .. },
                by,
            } => {
                let is_its = self.by.take() == Some(*by);
                let refused = std::mem::take(&mut self.refused);
                self.unreadable = if is_its { refused } else { Vec::new() };
            }
            _ => {
                self.refused.clear();
                self.by = None;
            }
        }
    }
}

/// Why `id` could not be written, as the first subtask whose part it was or the storage says: told before it is aborted.
/// What fails afterwards fails because of that.
pub fn failure(recording: &Recording, id: CheckpointId) -> Option<String> {
    let events = recording.events().iter();
    let mut until_aborted = events.take_while(
        |event| !matches!(event.kind, EventKind::Aborted { checkpoint, .. } if checkpoint == id),
    );
    until_aborted.find_map(|event| match &event.kind {
        EventKind::SnapshotFailed {
            checkpoint, reason, ..
        }
        | EventKind::StorageFailed { checkpoint, reason }
            if *checkpoint == id =>
        {
            Some(sentence(reason))
        }
        _ => None,
    })
}

/// What was not needed any more and could not be deleted, each once.
pub fn not_deleted(recording: &Recording) -> Vec<String> {
    let mut told = Vec::new();
    for event in recording.events() {
        let sentence = match &event.kind {
            EventKind::DiscardFailed { checkpoint, reason } => {
                format!("checkpoint {checkpoint}: {}", sentence(reason))
            }
            EventKind::SharedDiscardFailed { reason } => {
                format!("shared files: {}", sentence(reason))
            }
            _ => continue,
        };
        if !told.contains(&sentence) {
            told.push(sentence);
        }
    }
    told
}

fn sentence(reason: &str) -> String {
    format!("{}.", reason.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::event::TraceEvent;
    use crate::engine::plan::ExecutionGraph;
    use crate::model::JobGraph;

    const CP: CheckpointId = CheckpointId(6);

    fn recording(events: Vec<EventKind>) -> Recording {
        let job = JobGraph::default();
        let plan = Arc::new(ExecutionGraph::of(&job));
        let mut recording = Recording::new(Arc::new(job), plan);
        for (step, kind) in (0..).zip(events) {
            recording.append(TraceEvent {
                at_us: step,
                step,
                kind,
            });
        }
        recording
    }

    fn restore(checkpoint: Option<CheckpointId>) -> Command {
        Command::Restore { checkpoint }
    }

    fn refused(checkpoint: Option<CheckpointId>, by: CommandOrigin, reason: &str) -> EventKind {
        let command = restore(checkpoint);
        let reason = reason.to_owned();
        EventKind::CommandRefused {
            command,
            by,
            reason,
        }
    }

    fn accepted(checkpoint: Option<CheckpointId>, by: CommandOrigin) -> [EventKind; 2] {
        let command = restore(checkpoint);
        // Where it goes back to does not matter here, and the recording knows of no checkpoint.
        let from = None;
        [
            EventKind::CommandAccepted { command, by },
            EventKind::JobStatus(JobStatus::Restoring { from }),
        ]
    }

    /// Breaks if a restore is said to have tried what another one has, or not all that it has itself.
    #[test]
    fn each_restore_tells_what_it_has_tried() {
        let (first, second) = (CommandOrigin::Person, CommandOrigin::Job);
        let mut events = vec![
            refused(None, first, "8 is torn"),
            refused(Some(CP), first, "6 is torn"),
            refused(None, second, "8 is torn"),
            refused(Some(CheckpointId(7)), second, "7 is torn"),
        ];
        events.extend(accepted(Some(CP), second));
        events.push(refused(None, first, "8 is torn"));
        events.extend(accepted(Some(CP), second));
        events.extend(accepted(None, first));
        let restarts = restarts(&recording(events));
        let unreadable: Vec<_> = restarts.iter().map(|it| &it.unreadable[..]).collect();
        let both = ["8 is torn".to_owned(), "7 is torn".to_owned()];
        assert_eq!(unreadable, [&both[..], &[], &[]]);
    }

    /// Breaks if what cannot be deleted is told again at each try, or not at all.
    #[test]
    fn what_cannot_be_deleted_is_told_once() {
        let reason = "it is busy.".to_owned();
        let again = || EventKind::SharedDiscardFailed {
            reason: reason.clone(),
        };
        let lost = EventKind::DiscardFailed {
            checkpoint: CP,
            reason: reason.clone(),
        };
        let told = not_deleted(&recording(vec![again(), lost, again()]));
        assert_eq!(
            told,
            ["shared files: it is busy.", "checkpoint 6: it is busy."]
        );
    }
}
