//! Why a checkpoint was not begun, or was given up: Flink's `CheckpointFailureReason`.

use serde::{Deserialize, Serialize};

/// Why no checkpoint was begun (Flink: `CheckpointFailureReason`, the part before triggering).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RejectReason {
    NotAllRequiredTasksRunning,
    TooManyCheckpointRequests,
    /// A periodic one came too soon after the last completion.
    MinimumTimeBetweenCheckpoints,
    /// The job has ended.
    CoordinatorShutdown,
    /// Periodic ones are switched off: the job is down, or stops with a savepoint.
    PeriodicSchedulerShutdown,
    /// It was still waiting when the job went down.
    CoordinatorSuspend,
}

impl RejectReason {
    /// Flink's name for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotAllRequiredTasksRunning => "NOT_ALL_REQUIRED_TASKS_RUNNING",
            Self::TooManyCheckpointRequests => "TOO_MANY_CHECKPOINT_REQUESTS",
            Self::MinimumTimeBetweenCheckpoints => "MINIMUM_TIME_BETWEEN_CHECKPOINTS",
            Self::CoordinatorShutdown => "CHECKPOINT_COORDINATOR_SHUTDOWN",
            Self::PeriodicSchedulerShutdown => "PERIODIC_SCHEDULER_SHUTDOWN",
            Self::CoordinatorSuspend => "CHECKPOINT_COORDINATOR_SUSPEND",
        }
    }

    /// Whether Flink's statistics count it, as triggered and as failed, although no checkpoint came of it: a request
    /// that failed once it was begun, not one that the queue turned away.
    #[must_use]
    pub fn counts_in_statistics(self) -> bool {
        matches!(
            self,
            Self::NotAllRequiredTasksRunning
                | Self::CoordinatorShutdown
                | Self::PeriodicSchedulerShutdown
        )
    }

    /// What it means, as a sentence.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NotAllRequiredTasksRunning => "Not all required subtasks are running.",
            Self::TooManyCheckpointRequests => "Too many checkpoint requests are waiting.",
            Self::MinimumTimeBetweenCheckpoints => {
                "The minimum pause after the last completed checkpoint is not over."
            }
            Self::CoordinatorShutdown => "The job has ended.",
            Self::PeriodicSchedulerShutdown => "Periodic checkpoints are switched off.",
            Self::CoordinatorSuspend => "The job went down while it was waiting.",
        }
    }
}

/// Why a pending checkpoint was given up (Flink: `CheckpointFailureReason`, the part after triggering).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AbortReason {
    /// It took longer than the timeout.
    Expired,
    /// The asynchronous part of a subtask's snapshot failed.
    AsyncException,
    /// The metadata could not be written.
    FinalizeFailure,
    /// A newer checkpoint completed first.
    Subsumed,
    /// The job failed (or was stopped) while it was pending.
    CoordinatorSuspend,
    /// At a subtask, the barrier of a newer checkpoint came before all of this one's.
    DeclinedSubsumed,
    /// At a subtask, a cancel marker came instead of a barrier.
    DeclinedOnCancellationBarrier,
    /// A subtask had finished when it was triggered.
    DeclinedTaskClosing,
    /// A subtask was still reading its state back.
    DeclinedTaskNotReady,
    /// An input ended during the alignment, and checkpoints after the end of tasks are switched off.
    DeclinedInputEndOfStream,
    /// The place for it could not be made, or the JobManager could not write.
    IoException,
}

impl AbortReason {
    /// Flink's name for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Expired => "CHECKPOINT_EXPIRED",
            Self::AsyncException => "CHECKPOINT_ASYNC_EXCEPTION",
            Self::FinalizeFailure => "FINALIZE_CHECKPOINT_FAILURE",
            Self::Subsumed => "CHECKPOINT_SUBSUMED",
            Self::CoordinatorSuspend => "CHECKPOINT_COORDINATOR_SUSPEND",
            Self::DeclinedSubsumed => "CHECKPOINT_DECLINED_SUBSUMED",
            Self::DeclinedOnCancellationBarrier => "CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER",
            Self::DeclinedTaskClosing => "CHECKPOINT_DECLINED_TASK_CLOSING",
            Self::DeclinedTaskNotReady => "CHECKPOINT_DECLINED_TASK_NOT_READY",
            Self::DeclinedInputEndOfStream => "CHECKPOINT_DECLINED_INPUT_END_OF_STREAM",
            Self::IoException => "IO_EXCEPTION",
        }
    }

    /// What it means, as a sentence.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Expired => "It took longer than the timeout.",
            Self::AsyncException => "A subtask could not write its state.",
            Self::FinalizeFailure => "Its metadata could not be written.",
            Self::Subsumed => "A newer checkpoint completed first.",
            Self::CoordinatorSuspend => "The job went down while it was pending.",
            Self::DeclinedSubsumed => "A newer barrier overtook it at a subtask.",
            Self::DeclinedOnCancellationBarrier => "It was given up further upstream.",
            Self::DeclinedTaskClosing => "A subtask had just finished.",
            Self::DeclinedTaskNotReady => "A subtask was still reading its state back.",
            Self::DeclinedInputEndOfStream => "An input ended while its barrier was awaited.",
            Self::IoException => "The JobManager could not write.",
        }
    }

    /// Whether it counts toward the tolerable failures (`CheckpointFailureManager`).
    #[must_use]
    pub fn counts_as_failure(self) -> bool {
        matches!(
            self,
            Self::Expired | Self::AsyncException | Self::FinalizeFailure | Self::IoException
        )
    }
}
