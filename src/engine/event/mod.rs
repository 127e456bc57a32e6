//! The vocabulary in which the engine tells what happened.
//!
//! These events are all that a recording holds and all that the window sees. Whatever a reader needs to know of a
//! run's state can be folded from them. Times are in the driver's microseconds.

mod reason;
mod status;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::model::{
    ChannelId, CheckpointId, ClaimMode, Command, EventTime, Fault, Key, KeyContents, Origin,
    Record, SplitId, StateEntry, StreamElement, SubtaskId, TimeWindow, TransactionId,
};
pub use reason::{AbortReason, RejectReason};
pub use status::{CheckpointKind, CommandOrigin, IgnoredAck, JobStatus, Outcome, SubtaskStatus};

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
    /// A keyed function took the record `origin`; `entries` is all that is stored of `key` now, expired or not.
    EntriesChanged {
        subtask: SubtaskId,
        key: Key,
        entries: Vec<StateEntry>,
        origin: Origin,
    },
    /// Entries of `key` had expired and were cleaned up in the background; `entries` is what is left.
    EntriesCleaned {
        subtask: SubtaskId,
        key: Key,
        entries: Vec<StateEntry>,
    },
    /// A rule filter has a new rule, or a newer one for a key.
    RuleSet {
        subtask: SubtaskId,
        rule: Record,
    },
    /// A record is against the rules, and does not go on.
    Filtered {
        subtask: SubtaskId,
        record: Record,
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
    /// A buffering sink holds `record` back.
    Buffered {
        subtask: SubtaskId,
        record: Record,
    },
    /// It has as many as it waits for: all of them come out now.
    BufferFlushed {
        subtask: SubtaskId,
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
        /// Of other keyed functions.
        entries: Vec<KeyContents>,
        /// Operator list state: a filter's rules, a sink's buffer.
        listed: Vec<Record>,
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
    /// The synchronous part lasts until `sync_until_us`; then `upload_bytes` of `size_bytes` of state remain to be
    /// written: all of it, or what an incremental checkpoint has anew.
    SnapshotStarted {
        subtask: SubtaskId,
        checkpoint: CheckpointId,
        sync_until_us: u64,
        size_bytes: u64,
        upload_bytes: u64,
        /// Entries that had expired by then, in processing time, are not written (a full snapshot's clean-up); none: all
        /// are.
        expired_ms: Option<u64>,
    },
    /// The files of the subtask's database were merged.
    Compacted {
        subtask: SubtaskId,
        files_before: u32,
        files_after: u32,
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
    /// A waiting request is not needed any more: what it was to bring about has come about.
    TriggerWithdrawn {
        kind: CheckpointKind,
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
    /// The checkpoint refers to these files, which others may refer to, too.
    SharedRegistered {
        subtask: SubtaskId,
        checkpoint: CheckpointId,
        files: Vec<SharedUse>,
    },
    /// No retained checkpoint refers to these files any more, and they are deleted.
    SharedDiscarded {
        files: Vec<String>,
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
    /// The run begins with this snapshot of another one: the first entry of its store.
    StartedFrom {
        checkpoint: CheckpointId,
        claim: ClaimMode,
        /// Where processing time goes on from, in milliseconds.
        processing_time_ms: u64,
    },
    /// The snapshot that the run was started from is not needed any more. It is not the run's, and stays where it is.
    Released {
        checkpoint: CheckpointId,
    },
    /// Not all that was stored for it could be deleted. Nothing depends on it any more.
    DiscardFailed {
        checkpoint: CheckpointId,
        reason: String,
    },
    /// The same for shared files that nothing refers to any more. They are tried again with the next ones.
    SharedDiscardFailed {
        reason: String,
    },
    /// The checkpoint has no place, or its metadata could not be written: what the storage says of it. What follows from
    /// that is told by itself.
    StorageFailed {
        checkpoint: CheckpointId,
        reason: String,
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

/// A file that a checkpoint refers to and others may, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedUse {
    pub name: String,
    /// The checkpoint that has uploaded it.
    pub created_by: CheckpointId,
    /// What its entries take: the same on every machine.
    pub entry_bytes: u64,
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
