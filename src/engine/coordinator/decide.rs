//! The coordinator's decisions, as pure functions of what it knows.

use super::pending::Pending;
use super::request::Request;
use super::tasks::Task;
use crate::engine::event::{CheckpointKind, IgnoredAck, RejectReason};
use crate::model::{Alignment, CheckpointConfig, CheckpointMode, SubtaskId};

/// What becomes of the first waiting request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerVerdict {
    /// Another one is being begun, or as many as allowed are pending: the request stays in the queue.
    Wait,
    /// A periodic one before the minimum pause is over: refused, and the timer is set to the rest of the pause.
    TooEarly {
        remaining_us: u64,
    },
    Reject(RejectReason),
    Begin,
}

/// What the decision depends on.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    pub config: &'a CheckpointConfig,
    pub tasks: &'a [Task],
    pub is_initialising: bool,
    pub pending: usize,
    pub is_shut_down: bool,
    /// Whether periodic checkpoints are switched on.
    pub is_scheduling: bool,
    /// The last completion of a checkpoint or savepoint.
    pub completed_us: Option<u64>,
    pub now_us: u64,
}

/// Flink's order: the queue's conditions first, then whether the coordinator may at all, then whether all that must
/// acknowledge are running. A refused request uses up no number.
pub fn trigger(request: &Request, situation: &Situation<'_>) -> TriggerVerdict {
    let config = situation.config;
    let is_full = situation.pending >= config.max_concurrent.max(1) as usize;
    if situation.is_initialising || is_full && !request.is_forced {
        return TriggerVerdict::Wait;
    }
    if request.is_periodic() && !request.is_forced {
        let remaining_us = remaining_pause_us(situation);
        if remaining_us > 0 {
            return TriggerVerdict::TooEarly { remaining_us };
        }
    }
    let reject = TriggerVerdict::Reject;
    if situation.is_shut_down {
        reject(RejectReason::CoordinatorShutdown)
    } else if request.is_periodic() && !situation.is_scheduling {
        reject(RejectReason::PeriodicSchedulerShutdown)
    } else if !may_all_take_part(situation) {
        reject(RejectReason::NotAllRequiredTasksRunning)
    } else {
        TriggerVerdict::Begin
    }
}

/// The minimum pause counts from the last completion, never from a failure.
fn remaining_pause_us(situation: &Situation<'_>) -> u64 {
    let pause_us = situation.config.min_pause_ms.saturating_mul(1000);
    let over_us = situation.completed_us.map(|at| at.saturating_add(pause_us));
    over_us.map_or(0, |over_us| over_us.saturating_sub(situation.now_us))
}

/// `DefaultCheckpointPlanCalculator`: all that have not finished must run, and without checkpoints after the end of
/// tasks none may have finished.
fn may_all_take_part(situation: &Situation<'_>) -> bool {
    let tasks = situation.tasks;
    let has_finished = tasks.contains(&Task::Finished);
    let all_finished = tasks.iter().all(|task| *task == Task::Finished);
    !all_finished
        && !tasks.contains(&Task::NotRunning)
        && (situation.config.after_tasks_finish || !has_finished)
}

/// Whether barriers may overtake. Only exactly-once checkpoints can; at-least-once switches it off.
pub fn is_unaligned(config: &CheckpointConfig) -> bool {
    config.unaligned && config.mode == CheckpointMode::ExactlyOnce
}

/// How a barrier goes through the job (Flink: `CheckpointOptions.forConfig`). Savepoints never overtake.
pub fn alignment(config: &CheckpointConfig, kind: CheckpointKind, now_us: u64) -> Alignment {
    match config.mode {
        CheckpointMode::AtLeastOnce => Alignment::AtLeastOnce,
        CheckpointMode::StopTheWorld => Alignment::Aligned,
        CheckpointMode::ExactlyOnce if !is_unaligned(config) || kind.is_savepoint() => {
            Alignment::Aligned
        }
        CheckpointMode::ExactlyOnce if config.aligned_timeout_ms == 0 => Alignment::Unaligned,
        CheckpointMode::ExactlyOnce => Alignment::AlignedUntil {
            deadline_us: now_us.saturating_add(config.aligned_timeout_ms.saturating_mul(1000)),
        },
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
