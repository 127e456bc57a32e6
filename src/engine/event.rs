//! The vocabulary in which the engine tells what happened.
//!
//! These events are all that a recording holds and all that the window sees. Whatever a reader needs to know of a
//! run's state can be folded from them. Times are in the driver's microseconds.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::model::{
    ChannelId, CheckpointId, Command, Key, Origin, Record, StreamElement, SubtaskId,
};

/// Something that happened, when, and in which step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceEvent {
    pub at_us: u64,
    /// The number of the driver's action that caused it, from 1. One action may cause several events; stepping
    /// moves by actions. 0: before the first action.
    pub step: u64,
    pub kind: EventKind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum EventKind {
    JobStatus(JobStatus),
    CommandAccepted {
        command: Command,
        by: CommandOrigin,
    },
    /// The command changed nothing; the reason is a sentence.
    CommandRefused {
        command: Command,
        by: CommandOrigin,
        reason: String,
    },

    /// `element` was put on `channel` and can be taken from `ready_us` on.
    Sent {
        channel: ChannelId,
        element: StreamElement,
        ready_us: u64,
    },
    /// The receiver took the first element of `channel`.
    Taken {
        channel: ChannelId,
    },
    /// What `channel` held is gone: its subtasks were cancelled.
    ChannelCleared {
        channel: ChannelId,
    },
    /// A source subtask has emitted its `offset`-th record.
    SourceAdvanced {
        subtask: SubtaskId,
        offset: u64,
    },
    /// A keyed sum counted the record `origin`; `value` is the new sum of `key`.
    StateChanged {
        subtask: SubtaskId,
        key: Key,
        value: Decimal,
        origin: Origin,
    },
    /// A sink took `record` out of the job.
    Collected {
        subtask: SubtaskId,
        record: Record,
    },
    /// The subtask takes nothing else before `until_us`.
    Busy {
        subtask: SubtaskId,
        until_us: u64,
    },

    SubtaskStatus {
        subtask: SubtaskId,
        status: SubtaskStatus,
    },
    /// The subtask begins with this: its state in checkpoint `from`, or nothing.
    Restored {
        subtask: SubtaskId,
        from: Option<CheckpointId>,
        offset: Option<u64>,
        state: Vec<(Key, Decimal)>,
    },

    /// A barrier arrived on `channel`; nothing more is taken from it until the others have arrived.
    InputBlocked {
        channel: ChannelId,
        checkpoint: CheckpointId,
    },
    InputUnblocked {
        channel: ChannelId,
        checkpoint: CheckpointId,
    },
    /// All barriers are there, the barrier went on, and the state is captured: what follows cannot change it.
    /// The synchronous part lasts until `sync_until_us`; then `size_bytes` of state remain to be written.
    SnapshotStarted {
        subtask: SubtaskId,
        checkpoint: CheckpointId,
        sync_until_us: u64,
        size_bytes: u64,
    },
    /// The asynchronous part ended well; the acknowledgement is on its way.
    SnapshotWritten {
        subtask: SubtaskId,
        checkpoint: CheckpointId,
    },
    /// The asynchronous part failed; the subtask declines.
    SnapshotFailed {
        subtask: SubtaskId,
        checkpoint: CheckpointId,
        reason: String,
    },

    /// A request waits because as many checkpoints as allowed are pending.
    TriggerQueued {
        kind: CheckpointKind,
    },
    /// The coordinator refused a request; no number was used up.
    TriggerRejected {
        kind: CheckpointKind,
        reason: RejectReason,
    },
    /// A checkpoint began; all of `must_ack` must acknowledge. `finished` subtasks need not.
    Triggered {
        checkpoint: CheckpointId,
        kind: CheckpointKind,
        must_ack: Vec<SubtaskId>,
        finished: Vec<SubtaskId>,
    },
    /// The coordinator received the acknowledgement.
    Acknowledged {
        subtask: SubtaskId,
        checkpoint: CheckpointId,
    },
    /// An acknowledgement that changed nothing: of a decided checkpoint, or a second one.
    AckIgnored {
        subtask: SubtaskId,
        checkpoint: CheckpointId,
        why: IgnoredAck,
    },
    Declined {
        subtask: SubtaskId,
        checkpoint: CheckpointId,
        reason: AbortReason,
    },
    /// The metadata is written: the checkpoint counts.
    Completed {
        checkpoint: CheckpointId,
    },
    Aborted {
        checkpoint: CheckpointId,
        reason: AbortReason,
    },
    /// A newer checkpoint took its place in the store, and its files are deleted.
    Subsumed {
        checkpoint: CheckpointId,
    },
    /// The subtask learned that the checkpoint is complete (or aborted).
    Notified {
        subtask: SubtaskId,
        checkpoint: CheckpointId,
        outcome: Outcome,
    },
}

/// Who gave a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandOrigin {
    Person,
    /// The job's script, by the entry's index.
    Script(usize),
    /// The restart strategy.
    Job,
}

/// Flink's `JobStatus`, as far as it is met here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobStatus {
    Running,
    /// A subtask failed and all are cancelled; the job waits to be restored (by a person, or until its delay ends).
    Restarting {
        cause: String,
    },
    /// Checkpoint state is being read back; `from` none: a fresh start.
    Restoring {
        from: Option<CheckpointId>,
    },
    /// All subtasks finished: the job's end.
    Finished,
    /// Stopped by a command.
    Canceled,
}

impl JobStatus {
    /// Nothing can happen any more.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Finished | Self::Canceled)
    }
}

/// Flink's `ExecutionState`, as far as it is met here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SubtaskStatus {
    /// Reading its state back.
    Initializing,
    Running,
    /// All input has ended; waits for a checkpoint begun from now on to complete.
    EndOfData,
    Finished,
    Failed,
    Canceled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckpointKind {
    /// Asked for by a person or a script.
    Manual,
    /// Taken by itself once every subtask has reached the end of its data, so that the last records count too.
    Final,
}

impl CheckpointKind {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Manual => "checkpoint",
            Self::Final => "final checkpoint",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    Completed,
    Aborted,
}

/// Why an acknowledgement was ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IgnoredAck {
    /// The checkpoint had been completed or aborted.
    Late,
    Duplicate,
    /// From a subtask that this checkpoint does not wait for, or from before a restart.
    Unknown,
}

/// Why no checkpoint was begun (Flink: `CheckpointFailureReason`, the part before triggering).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RejectReason {
    NotAllRequiredTasksRunning,
    TooManyCheckpointRequests,
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
            Self::CoordinatorSuspend => "CHECKPOINT_COORDINATOR_SUSPEND",
        }
    }

    /// What it means, as a sentence.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NotAllRequiredTasksRunning => "Not all required subtasks are running.",
            Self::TooManyCheckpointRequests => "Too many checkpoint requests are waiting.",
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
        }
    }

    /// Whether it counts toward the tolerable failures (`CheckpointFailureManager`).
    #[must_use]
    pub fn counts_as_failure(self) -> bool {
        matches!(
            self,
            Self::Expired | Self::AsyncException | Self::FinalizeFailure
        )
    }
}
