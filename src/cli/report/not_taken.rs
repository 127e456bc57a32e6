//! What was asked for and did not come about: savepoints, and checkpoints that were turned away.
//!
//! A periodic checkpoint that is rejected or aborted is an everyday thing, and so is one that was begun by hand and
//! expired: those are told among the checkpoints. But who asks for a savepoint relies on it.

use serde::Serialize;

use super::troubles::failure;
use crate::engine::event::{AbortReason, CheckpointKind, EventKind, RejectReason};
use crate::recording::view::CheckpointStatus;
use crate::recording::{Recording, View};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NotTaken {
    /// `savepoint`, `savepoint (stop)`, `checkpoint` …
    pub kind: &'static str,
    /// When that was certain.
    pub at_us: u64,
    /// Flink's name of why.
    pub reason: &'static str,
    /// Why, and what to do.
    pub sentence: String,
}

/// In the order in which they came to nothing.
pub fn not_taken(recording: &Recording, view: &View) -> Vec<NotTaken> {
    let mut found: Vec<NotTaken> = recording
        .events()
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::TriggerRejected { kind, reason } if is_asked_for(kind) => Some(NotTaken {
                kind: kind.name(),
                at_us: event.at_us,
                reason: reason.name(),
                sentence: format!("{} {}", reason.sentence(), after_rejection(reason)),
            }),
            _ => None,
        })
        .collect();
    for checkpoint in view.checkpoints.values() {
        if let CheckpointStatus::Aborted(reason) = checkpoint.status
            && checkpoint.kind.is_savepoint()
        {
            let why = failure(recording, checkpoint.id);
            let why = why.unwrap_or_else(|| reason.sentence().to_owned());
            found.push(NotTaken {
                kind: checkpoint.kind.name(),
                at_us: checkpoint.decided_us.unwrap_or(checkpoint.triggered_us),
                reason: reason.name(),
                sentence: format!("{why} {}", after_abort(reason)),
            });
        }
    }
    found.sort_by_key(|it| it.at_us);
    found
}

/// Where a savepoint had no place, `trouble` says why better than the JobManager does.
pub fn explain_places(not_taken: &mut [NotTaken], trouble: Option<String>) {
    let Some(trouble) = trouble else { return };
    for it in not_taken {
        if it.reason == AbortReason::IoException.name() {
            it.sentence = format!("{trouble} Choose another savepoint folder.");
        }
    }
}

fn is_asked_for(kind: CheckpointKind) -> bool {
    kind.is_savepoint() || kind == CheckpointKind::Manual
}

fn after_rejection(reason: RejectReason) -> &'static str {
    match reason {
        RejectReason::NotAllRequiredTasksRunning | RejectReason::CoordinatorSuspend => {
            "Ask for it while all of them run."
        }
        RejectReason::CoordinatorShutdown => "Ask for it before the job ends.",
        RejectReason::TooManyCheckpointRequests
        | RejectReason::MinimumTimeBetweenCheckpoints
        | RejectReason::PeriodicSchedulerShutdown => "Ask for it later.",
    }
}

fn after_abort(reason: AbortReason) -> &'static str {
    match reason {
        AbortReason::Expired => "Give it more time (checkpointing.timeout_ms).",
        AbortReason::AsyncException | AbortReason::FinalizeFailure | AbortReason::IoException => {
            "See that its folder has room and may be written to."
        }
        AbortReason::CoordinatorSuspend => "Ask for it again once the job runs.",
        AbortReason::Subsumed
        | AbortReason::DeclinedSubsumed
        | AbortReason::DeclinedOnCancellationBarrier
        | AbortReason::DeclinedTaskClosing
        | AbortReason::DeclinedTaskNotReady
        | AbortReason::DeclinedInputEndOfStream => "Ask for it again.",
    }
}
