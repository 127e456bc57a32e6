//! The vocabulary in which the engine tells what happened.
//!
//! These events are all that a recording holds and all that the window sees. Whatever a reader needs to know of a
//! run's state can be folded from them. Times are in the driver's microseconds.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::model::{
    ChannelId, CheckpointId, Command, EventTime, Fault, Key, Origin, Record, SavepointFormat,
    SnapshotKind, SplitId, StreamElement, SubtaskId, TimeWindow, TransactionId,
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
    /// The same for a barrier that overtakes: it stands before the element that was `place`-th (from 0) until now.
    SentAhead {
        channel: ChannelId,
        element: StreamElement,
        ready_us: u64,
        place: u32,
    },
    /// The receiver took the first element of `channel`.
    Taken {
        channel: ChannelId,
    },
    /// The receiver took a barrier out of the queue before the `place` elements ahead of it.
    TakenAhead {
        channel: ChannelId,
        place: u32,
    },
    /// A barrier that was aligned so far overtakes now: it moves up to `place` and can be taken at once.
    BarrierPromoted {
        channel: ChannelId,
        checkpoint: CheckpointId,
        place: u32,
        ready_us: u64,
    },
    /// What `channel` held is gone: its subtasks were cancelled.
    ChannelCleared {
        channel: ChannelId,
    },
    /// A source subtask has emitted the `offset`-th record of `split`.
    SourceAdvanced {
        subtask: SubtaskId,
        split: SplitId,
        offset: u64,
    },
    /// A keyed sum counted the record `origin`; `value` is the new sum of `key`.
    StateChanged {
        subtask: SubtaskId,
        key: Key,
        value: Decimal,
        origin: Origin,
    },
    /// A window of `key` counted the record `origin`; `value` is what it comes to now.
    WindowChanged {
        subtask: SubtaskId,
        key: Key,
        window: TimeWindow,
        value: Decimal,
        origin: Origin,
    },
    /// The watermark has passed the window's end: its result was emitted, and its state is cleared.
    WindowFired {
        subtask: SubtaskId,
        key: Key,
        window: TimeWindow,
        value: Decimal,
    },
    /// A record came after its window had fired, and was dropped.
    LateDropped {
        subtask: SubtaskId,
        record: Record,
    },
    /// The subtask's own watermark, the least of its inputs', has risen.
    WatermarkAdvanced {
        subtask: SubtaskId,
        watermark: EventTime,
    },
    /// The subtask does not (or does again) hold back the watermark of those after it.
    Idleness {
        subtask: SubtaskId,
        is_idle: bool,
    },
    /// A sink took `record`: out of the job at once, or into `transaction`.
    Collected {
        subtask: SubtaskId,
        record: Record,
        transaction: Option<TransactionId>,
    },
    /// The outside system opened a transaction, and will abort it at `timeout_us`.
    TransactionBegun {
        subtask: SubtaskId,
        transaction: TransactionId,
        timeout_us: u64,
    },
    /// It is flushed and closed, and belongs to `checkpoint`.
    PreCommitted {
        subtask: SubtaskId,
        transaction: TransactionId,
        checkpoint: CheckpointId,
    },
    /// Its records are visible. `again`: they were before, and the commit did nothing.
    Committed {
        subtask: SubtaskId,
        transaction: TransactionId,
        again: bool,
    },
    CommitFailed {
        subtask: SubtaskId,
        transaction: TransactionId,
        reason: String,
    },
    /// Its records are gone.
    TransactionAborted {
        subtask: SubtaskId,
        transaction: TransactionId,
        why: TransactionEnd,
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
    /// The subtask has work and cannot do it, because an outgoing channel is full; or it can again.
    Backpressured {
        subtask: SubtaskId,
        is_on: bool,
    },
    /// The subtask begins with this: its state in checkpoint `from`, or nothing.
    Restored {
        subtask: SubtaskId,
        from: Option<CheckpointId>,
        /// Of the splits that it reads.
        offsets: Vec<(SplitId, u64)>,
        /// Of a keyed sum.
        state: Vec<(Key, Decimal)>,
        /// Of a window operator.
        windows: Vec<(TimeWindow, Key, Decimal)>,
    },
    /// What begins again after a failure: the subtasks of the failed region (or all), at `at_us`; none: when a person
    /// says so.
    FailoverPlanned {
        restarting: Vec<SubtaskId>,
        at_us: Option<u64>,
    },
    /// An injected fault has had its effect.
    FaultStruck {
        fault: Fault,
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
    /// These records of `channel` became part of the checkpoint: the barrier overtook them.
    InFlightPersisted {
        subtask: SubtaskId,
        checkpoint: CheckpointId,
        channel: ChannelId,
        side: ChannelSide,
        records: Vec<Record>,
    },
    /// The subtask feeds these records of the checkpoint back before anything else (Flink: channel state recovery).
    InFlightRestored {
        subtask: SubtaskId,
        channel: ChannelId,
        side: ChannelSide,
        records: Vec<Record>,
    },
    /// Stop-the-world: the sources pause, until [`EventKind::IntakeResumed`].
    IntakePaused {
        checkpoint: CheckpointId,
    },
    /// Stop-the-world: nothing is under way any more, so all state can be copied.
    Drained {
        checkpoint: CheckpointId,
    },
    IntakeResumed {
        checkpoint: CheckpointId,
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
    /// The job has ended, and its retention setting does not keep this one.
    DiscardedAtEnd {
        checkpoint: CheckpointId,
    },
    /// The savepoint lies in the savepoint folder, under this name, until a person deletes it.
    SavepointStored {
        checkpoint: CheckpointId,
        name: String,
    },
    /// The subtask learned that the checkpoint is complete (or aborted).
    Notified {
        subtask: SubtaskId,
        checkpoint: CheckpointId,
        outcome: Outcome,
    },
    /// The news did not reach the subtask: notifications are best effort, and are not repeated.
    NotificationLost {
        subtask: SubtaskId,
        checkpoint: CheckpointId,
        outcome: Outcome,
    },
}

/// At which end of a channel records were when they became part of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChannelSide {
    /// Not yet sent off (Flink: result subpartition state).
    Output,
    /// Received and not yet processed (Flink: input channel state).
    Input,
}

/// Why a transaction was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TransactionEnd {
    /// Its task failed or was canceled while it was open.
    TaskClosed,
    /// It was open in the checkpoint that was restored.
    RecoverAndAbort,
    /// Its successor began with the same id (Kafka: fencing).
    Fenced,
    /// It was open for too long.
    TimedOut,
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
    /// The restart strategy gave up.
    Failed {
        cause: String,
    },
    /// The JobManager has gone.
    Suspended,
}

impl JobStatus {
    /// Nothing can happen any more.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(
            self,
            Self::Finished | Self::Canceled | Self::Failed { .. } | Self::Suspended
        )
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

/// Why a checkpoint was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckpointKind {
    /// The interval has passed.
    Periodic,
    /// Asked for by a person or a script.
    Manual,
    /// Taken by itself once every subtask has reached the end of its data, so that the last records count too.
    Final,
    Savepoint(SavepointFormat),
    /// The job ends with it.
    StopWithSavepoint {
        format: SavepointFormat,
        drain: bool,
    },
}

impl CheckpointKind {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Periodic | Self::Manual => "checkpoint",
            Self::Final => "final checkpoint",
            Self::Savepoint(_) => "savepoint",
            Self::StopWithSavepoint { drain: true, .. } => "savepoint (stop with drain)",
            Self::StopWithSavepoint { drain: false, .. } => "savepoint (stop)",
        }
    }

    #[must_use]
    pub fn is_savepoint(self) -> bool {
        matches!(self, Self::Savepoint(_) | Self::StopWithSavepoint { .. })
    }

    /// What the barriers say it is.
    #[must_use]
    pub fn snapshot(self) -> SnapshotKind {
        match self {
            Self::Periodic | Self::Manual | Self::Final => SnapshotKind::Checkpoint,
            Self::Savepoint(format) => SnapshotKind::Savepoint(format),
            Self::StopWithSavepoint { format, drain } => {
                SnapshotKind::StopWithSavepoint { format, drain }
            }
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
