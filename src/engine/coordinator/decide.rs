//! The coordinator's decisions, as pure functions of what it knows.

use super::Task;
use super::pending::Pending;
use crate::engine::event::{IgnoredAck, RejectReason};
use crate::model::SubtaskId;

/// What becomes of the first waiting request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerVerdict {
    /// As many checkpoints as allowed are pending: the request stays in the queue.
    Wait,
    Reject(RejectReason),
    Begin,
}

/// Flink's order: first the number of pending checkpoints, then whether all that must acknowledge are running.
/// A refused request uses up no number.
pub fn trigger(tasks: &[Task], pending: usize, max_concurrent: u32) -> TriggerVerdict {
    let all_finished = tasks.iter().all(|task| *task == Task::Finished);
    if pending >= max_concurrent as usize {
        TriggerVerdict::Wait
    } else if all_finished || tasks.contains(&Task::NotRunning) {
        TriggerVerdict::Reject(RejectReason::NotAllRequiredTasksRunning)
    } else {
        TriggerVerdict::Begin
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckVerdict {
    Accept,
    Ignore(IgnoredAck),
}

/// Whether an acknowledgement counts. `pending` is none for a checkpoint that is decided.
pub fn ack(pending: Option<&Pending>, subtask: SubtaskId) -> AckVerdict {
    match pending {
        None => AckVerdict::Ignore(IgnoredAck::Late),
        Some(pending) if pending.acknowledged.contains_key(&subtask) => {
            AckVerdict::Ignore(IgnoredAck::Duplicate)
        }
        Some(pending) if !pending.must_ack.contains(&subtask) => {
            AckVerdict::Ignore(IgnoredAck::Unknown)
        }
        Some(_) => AckVerdict::Accept,
    }
}
