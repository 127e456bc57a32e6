//! Sentences about what the coordinator does.

use super::{describe_outcome, describe_time};
use crate::engine::event::{EventKind, IgnoredAck, SharedUse};
use crate::model::ClaimMode;
use crate::recording::Recording;

impl Recording {
    pub(super) fn describe_coordination(&self, event: &EventKind) -> String {
        match event {
            EventKind::TriggerQueued { kind } => {
                format!("A {} waits until a pending one has ended.", kind.name())
            }
            EventKind::TriggerRejected { kind, reason } => {
                format!(
                    "No {} begins: {} ({})",
                    kind.name(),
                    reason.sentence(),
                    reason.name()
                )
            }
            EventKind::TriggerWithdrawn { kind } => {
                format!("No {} is needed any more.", kind.name())
            }
            EventKind::Triggered {
                checkpoint,
                kind,
                must_ack,
                ..
            } => format!(
                "The coordinator triggers {} {checkpoint}; {} subtasks must acknowledge.",
                kind.name(),
                must_ack.len()
            ),
            EventKind::Acknowledged {
                subtask,
                checkpoint,
            } => format!(
                "{} acknowledges checkpoint {checkpoint}.",
                self.name(*subtask)
            ),
            EventKind::AckIgnored {
                subtask,
                checkpoint,
                why,
            } => {
                let why = match why {
                    IgnoredAck::Late => "late",
                    IgnoredAck::Duplicate => "a duplicate",
                    IgnoredAck::Unknown => "not asked for",
                };
                let name = self.name(*subtask);
                format!(
                    "The acknowledgement of checkpoint {checkpoint} by {name} is {why}: ignored."
                )
            }
            EventKind::Declined {
                subtask,
                checkpoint,
                reason,
            } => {
                let name = self.name(*subtask);
                format!(
                    "{name} declines checkpoint {checkpoint}. {}",
                    reason.sentence()
                )
            }
            EventKind::Completed { checkpoint } => format!("Checkpoint {checkpoint} is complete."),
            EventKind::Aborted { checkpoint, reason } => {
                format!(
                    "Checkpoint {checkpoint} is aborted. {} ({})",
                    reason.sentence(),
                    reason.name()
                )
            }
            EventKind::Subsumed { checkpoint } => {
                format!("Checkpoint {checkpoint} is subsumed by a newer one and deleted.")
            }
            _ => self.describe_lifetime(event),
        }
    }

    /// What becomes of the job and of its snapshots.
    fn describe_lifetime(&self, event: &EventKind) -> String {
        match event {
            EventKind::StartedFrom {
                checkpoint, claim, ..
            } => {
                let whose = match claim {
                    ClaimMode::NoClaim => "and leaves it alone",
                    ClaimMode::Claim => "and owns it from now on",
                };
                format!(
                    "The job starts from snapshot {checkpoint}, {whose} ({}).",
                    claim.name()
                )
            }
            EventKind::SharedRegistered {
                subtask,
                checkpoint,
                files,
            } => {
                let is_new = |file: &&SharedUse| file.created_by == *checkpoint;
                let new = files.iter().filter(is_new).count();
                format!(
                    "Checkpoint {checkpoint} refers to {} files of {}: {new} new, {} that were there.",
                    files.len(),
                    self.name(*subtask),
                    files.len() - new
                )
            }
            EventKind::SharedDiscarded { files } => format!(
                "{} shared files that no retained checkpoint refers to are deleted.",
                files.len()
            ),
            EventKind::Released { checkpoint } => {
                format!(
                    "Snapshot {checkpoint}, from which the job was started, is not needed any more; it stays."
                )
            }
            EventKind::DiscardFailed { checkpoint, reason } => {
                format!("What was stored for checkpoint {checkpoint} cannot be deleted. {reason}")
            }
            EventKind::SharedDiscardFailed { reason } => {
                format!("Shared files that nothing refers to any more cannot be deleted. {reason}")
            }
            EventKind::StorageFailed { checkpoint, reason } => {
                format!("The storage fails for checkpoint {checkpoint}: {reason}")
            }
            EventKind::DiscardedAtEnd { checkpoint } => {
                format!(
                    "Checkpoint {checkpoint} is deleted: the job has ended, and its retention does not keep it."
                )
            }
            EventKind::SavepointStored { checkpoint, name } => {
                format!("Savepoint {checkpoint} lies in {name} until somebody deletes it.")
            }
            EventKind::NotificationLost {
                subtask,
                checkpoint,
                outcome,
            } => format!(
                "The news that checkpoint {checkpoint} is {} does not reach {}.",
                describe_outcome(*outcome),
                self.name(*subtask)
            ),
            EventKind::FailoverPlanned { restarting, at_us } => {
                let what = if restarting.len() == self.plan.subtasks.len() {
                    "All subtasks".to_owned()
                } else {
                    format!(
                        "{} of {} subtasks",
                        restarting.len(),
                        self.plan.subtasks.len()
                    )
                };
                match at_us {
                    Some(at_us) => format!("{what} begin again at {}.", describe_time(*at_us)),
                    None => format!("{what} wait for somebody to restore the job."),
                }
            }
            EventKind::FaultStruck { fault } => {
                format!(
                    "The injected fault strikes: {} at {} {}.",
                    fault.kind.name(),
                    fault.uid,
                    fault.subtask + 1
                )
            }
            _ => self.describe_in_flight(event),
        }
    }
}
