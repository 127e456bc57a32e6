//! What is on screen: a run's state as folded from its events, and nothing else.
//!
//! `View::apply` is the only writer. It never looks at a clock or at the engine; two equal prefixes of a log give
//! equal views.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use rust_decimal::Decimal;

use super::load::{Load, LoadMeter};
use super::sink_view::{SinkView, TableView};
use crate::engine::event::{AbortReason, ChannelSide, CheckpointKind, JobStatus, SubtaskStatus};
use crate::model::{
    ChannelId, CheckpointId, ClaimMode, EventTime, Fault, Key, Record, SplitId, StateEntry,
    StreamElement, StreamEvent, SubtaskId, TimeWindow, Uid,
};

/// The state of a run after a prefix of its events.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// How many events are folded in.
    pub position: usize,
    /// The step of the last event.
    pub step: u64,
    /// The time of the last event.
    pub at_us: u64,
    pub job: JobStatus,
    /// How often the job was restored.
    pub restarts: u32,
    /// By [`SubtaskId`].
    pub subtasks: Vec<SubtaskView>,
    /// By [`ChannelId`].
    pub channels: Vec<ChannelView>,
    /// By [`SplitId`].
    pub splits: Vec<SplitView>,
    /// By upsert sink: what readers see of it.
    pub tables: BTreeMap<Uid, Arc<TableView>>,
    /// All that were ever triggered.
    pub checkpoints: BTreeMap<CheckpointId, Arc<CheckpointView>>,
    /// The completed checkpoints that can be restored, in the order of the store: the last one is the latest.
    pub store: Vec<CheckpointId>,
    /// The snapshot of another run with which this one began.
    pub started_from: Option<StartView>,
    /// The files that several checkpoints may refer to, by name.
    pub shared: BTreeMap<String, SharedFileView>,
    /// Requests that wait for a pending checkpoint to end, in the order in which they came.
    pub queued: Vec<CheckpointKind>,
    /// Requests refused before they became a checkpoint, as far as Flink's statistics count them (both as triggered
    /// and as failed).
    pub refused_triggers: u32,
    /// What begins again after a failure, and when; none: the job is not down.
    pub failover: Option<FailoverView>,
    /// Injected faults that wait for their occasion.
    pub faults: Vec<Fault>,
    /// The savepoints that lie in the savepoint folder, by name.
    pub savepoints: Vec<(CheckpointId, String)>,
    /// The checkpoints for which the sources pause (stop-the-world).
    pub paused_for: Vec<CheckpointId>,
    /// By script entry: when it fired, if it has.
    pub script_fired_us: Vec<Option<u64>>,
    /// How many times a keyed operator has counted a record (or dropped it as late): numbers the [`Lineage`]s.
    pub state_changes: u32,
    /// What processing time was when the run began: see [`View::processing_time_ms`].
    pub begun_ms: u64,
}

/// With what a run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartView {
    pub checkpoint: CheckpointId,
    pub claim: ClaimMode,
    /// When the run could do without it: it has a checkpoint of its own. None: it would still be restored, or it
    /// belongs to the run.
    pub released_us: Option<u64>,
}

/// A file that several checkpoints may refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedFileView {
    /// The checkpoint that has uploaded it.
    pub created_by: CheckpointId,
    /// What its entries take.
    pub entry_bytes: u64,
    /// Those that have referred to it, retained or not.
    pub used_by: BTreeSet<CheckpointId>,
}

/// A restart that is planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailoverView {
    pub restarting: Vec<SubtaskId>,
    /// None: when a person says so.
    pub at_us: Option<u64>,
}

impl View {
    /// The time that keyed state lives by. It goes on where the snapshot had stopped from which the run began.
    #[must_use]
    pub fn processing_time_ms(&self) -> u64 {
        self.begun_ms.saturating_add(self.at_us / 1000)
    }

    /// How many requests wait.
    #[must_use]
    pub fn queued_triggers(&self) -> usize {
        self.queued.len()
    }

    /// How much there is to copy: rows, elements, subtasks, channels, checkpoints.
    #[must_use]
    pub fn weight(&self) -> usize {
        let in_subtask = |view: &SubtaskView| {
            let sink = view.recent.len() + view.sink.waiting();
            let keyed = view.rows.len() + view.windows.len() + view.entries.len();
            1 + keyed + view.rules.len() + sink
        };
        let in_channel = |view: &ChannelView| 1 + view.queue.len();
        let subtasks: usize = self.subtasks.iter().map(in_subtask).sum();
        let channels: usize = self.channels.iter().map(in_channel).sum();
        let tables: usize = self.tables.values().map(|table| table.rows.len()).sum();
        subtasks + channels + tables + self.checkpoints.len() + self.shared.len()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct SubtaskView {
    pub status: SubtaskStatus,
    /// Sources: how many records of its splits are emitted (also what its checkpoint holds).
    pub offset: u64,
    /// Sources: the splits that it reads.
    pub splits: Vec<SplitId>,
    /// Keyed sums: the running sum per key, sorted by key.
    pub rows: BTreeMap<Key, Row>,
    /// Window operators: what each window that has not fired has come to, sorted by window and key.
    pub windows: BTreeMap<(TimeWindow, Key), Row>,
    /// Other keyed operators: all that is stored of each key, expired or not, sorted by key.
    pub entries: BTreeMap<Key, EntriesRow>,
    /// Rule filters: the rules, by key.
    pub rules: BTreeMap<Option<Key>, Record>,
    /// Rule filters: records that were against the rules, since the run's beginning; never turned back.
    pub filtered: u64,
    /// Entries that had expired and were cleaned up in the background, since the run's beginning; never turned back.
    pub cleaned: u64,
    /// Window operators: records that came after their window had fired, since the run's beginning; never turned back.
    pub late: u64,
    /// The newest watermark; [`EventTime::NONE`]: none yet, in this attempt.
    pub watermark: EventTime,
    /// It does not hold back the watermark of those after it.
    pub is_idle: bool,
    /// Sinks: how many records were collected since the run's beginning, visible or not; never turned back.
    pub collected: u64,
    /// Sinks: the latest records that readers see, newest last; at most [`SubtaskView::RECENT`].
    pub recent: VecDeque<Record>,
    /// Sinks: what is outside the job.
    pub sink: SinkView,
    /// Records taken since the run's beginning; never turned back.
    pub processed: u64,
    /// Records emitted since the run's beginning; never turned back.
    pub emitted: u64,
    /// The subtask takes nothing before this time.
    pub busy_until_us: u64,
    /// How it has spent its time; see [`SubtaskView::load`].
    pub meter: LoadMeter,
    /// What it has taken since the run's beginning, in bytes.
    pub processed_bytes: u64,
    /// The checkpoint whose synchronous part lasts until then.
    pub sync: Option<(CheckpointId, u64)>,
    /// Checkpoints whose asynchronous part runs.
    pub writing: Vec<CheckpointId>,
    /// The records counted in the state; see [`super::Recording::origins`].
    pub counted: Lineage,
    /// The keyed state with which this subtask last finished.
    pub at_finish: Option<Arc<AtFinish>>,
    /// It had finished before the checkpoint that it was restored from: the engine holds no state for it any more (Flink
    /// restarts fully finished operators as no-ops), and `rows` are what it last finished with.
    pub is_restored_finished: bool,
}

impl SubtaskView {
    pub const RECENT: usize = 64;

    /// How it has spent its time until `at_us` ([`View::at_us`], or later while nothing happens).
    #[must_use]
    pub fn load(&self, at_us: u64) -> Load {
        self.meter.at(at_us)
    }

    /// An outgoing channel is full.
    #[must_use]
    pub fn is_backpressured(&self) -> bool {
        self.meter.is_backpressured()
    }
}

/// How far one split of a source is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SplitView {
    pub offset: u64,
    /// The highest offset ever emitted, and the one that the run began with.
    pub highest_offset: u64,
    pub first_offset: u64,
}

impl SplitView {
    /// How many of its records this run has emitted, each once.
    #[must_use]
    pub fn emitted(&self) -> u64 {
        self.highest_offset - self.first_offset
    }
}

/// One key's sum.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub value: Decimal,
    /// When it last changed; none: since the restore it has not.
    pub changed_us: Option<u64>,
}

/// All that is stored of one key.
#[derive(Clone, Debug, PartialEq)]
pub struct EntriesRow {
    pub entries: Vec<StateEntry>,
    /// When it last changed; none: since the restore it has not.
    pub changed_us: Option<u64>,
}

/// Keyed state that cannot change any more.
#[derive(Clone, Debug, PartialEq)]
pub struct AtFinish {
    pub rows: BTreeMap<Key, Row>,
    pub entries: BTreeMap<Key, EntriesRow>,
    pub counted: Lineage,
}

/// A prefix-sharing list of origins: an index into the recording's arena, 0 for the empty list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lineage(pub u32);

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChannelView {
    /// What the channel holds, next first.
    pub queue: VecDeque<InFlight>,
    /// The checkpoint whose barrier shut this input, and since when.
    pub blocked: Option<(CheckpointId, u64)>,
    /// The last element has passed for good.
    pub ended: bool,
    /// So many records at its front were in flight in the restored checkpoint: the receiver processes them before
    /// anything else.
    pub restored: usize,
}

impl ChannelView {
    /// How many of the queued elements are records (these take up capacity; events do not).
    #[must_use]
    pub fn records(&self) -> usize {
        self.queue
            .iter()
            .filter(|item| matches!(item.element, StreamElement::Record(_)))
            .count()
    }
}

/// An element on its way or queued up.
#[derive(Clone, Debug, PartialEq)]
pub struct InFlight {
    pub element: StreamElement,
    pub sent_us: u64,
    /// From then on the receiver may take it.
    pub ready_us: u64,
}

impl InFlight {
    /// The checkpoint whose barrier this is.
    #[must_use]
    pub fn barrier(&self) -> Option<CheckpointId> {
        match &self.element {
            StreamElement::Event(StreamEvent::Barrier(barrier)) => Some(barrier.id),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct CheckpointView {
    pub id: CheckpointId,
    pub kind: CheckpointKind,
    pub status: CheckpointStatus,
    pub triggered_us: u64,
    /// When it was completed or aborted.
    pub decided_us: Option<u64>,
    /// By every subtask that must acknowledge.
    pub subtasks: BTreeMap<SubtaskId, SnapshotView>,
    /// Subtasks that had finished before it.
    pub finished: Vec<SubtaskId>,
    /// Whether it lies in the store, so that it can be restored.
    pub retained: bool,
}

impl CheckpointView {
    /// The modelled size of all state in it.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.subtasks
            .values()
            .map(|snapshot| snapshot.size_bytes)
            .sum()
    }

    /// What of it was to be written anew: less than all where it is incremental (Flink: "checkpointed data size").
    #[must_use]
    pub fn upload_bytes(&self) -> u64 {
        let snapshots = self.subtasks.values();
        snapshots.map(|snapshot| snapshot.upload_bytes).sum()
    }

    #[must_use]
    pub fn acknowledged(&self) -> usize {
        self.subtasks
            .values()
            .filter(|snapshot| snapshot.acknowledged_us.is_some())
            .count()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointStatus {
    Pending,
    Completed,
    Aborted(AbortReason),
}

/// One subtask's part of a checkpoint: its phases, and what was captured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SnapshotView {
    /// The first barrier was taken (sources: the trigger arrived).
    pub first_barrier_us: Option<u64>,
    /// The newest barrier was taken; later than the capture if the checkpoint is unaligned here.
    pub last_barrier_us: Option<u64>,
    /// What had been processed here when the first one came, in bytes.
    pub bytes_before: u64,
    /// Processed between the first and the last barrier, in bytes (Flink: processed in-flight data).
    pub processed_bytes: u64,
    /// Records in flight that became part of the checkpoint (Flink: persisted in-flight data).
    pub persisted_bytes: u64,
    pub persisted_records: u64,
    /// The same records, by channel and end.
    pub persisted: Vec<PersistedView>,
    /// The state was captured: at the last barrier, or at the first one if the checkpoint is unaligned here.
    pub captured_us: Option<u64>,
    pub sync_until_us: Option<u64>,
    pub written_us: Option<u64>,
    /// The coordinator received the acknowledgement.
    pub acknowledged_us: Option<u64>,
    pub declined: Option<AbortReason>,
    pub size_bytes: u64,
    /// What of it was to be written anew (Flink: "checkpointed data size").
    pub upload_bytes: u64,
    /// Captured source offset, all splits together.
    pub offset: Option<u64>,
    /// The same by split.
    pub offsets: Vec<(SplitId, u64)>,
    /// Captured keyed state.
    pub rows: BTreeMap<Key, Decimal>,
    /// Captured windows.
    pub windows: BTreeMap<(TimeWindow, Key), Decimal>,
    /// Captured entries of other keyed state.
    pub entries: BTreeMap<Key, Vec<StateEntry>>,
    /// Captured operator list state: a filter's rules, a sink's buffer.
    pub listed: Vec<Record>,
    /// The records counted in the captured state.
    pub counted: Lineage,
}

/// Records that were in flight in one channel when a barrier overtook them, at one end of it.
#[derive(Clone, Debug, PartialEq)]
pub struct PersistedView {
    pub channel: ChannelId,
    pub side: ChannelSide,
    pub records: Vec<Record>,
}

impl SnapshotView {
    /// From the first barrier to the last one so far; 0 where there is only one input (Flink: alignment duration).
    #[must_use]
    pub fn alignment_us(&self) -> Option<u64> {
        Some(self.last_barrier_us? - self.first_barrier_us?)
    }

    /// From the trigger at `triggered_us` to the first barrier.
    #[must_use]
    pub fn start_delay_us(&self, triggered_us: u64) -> Option<u64> {
        Some(self.first_barrier_us? - triggered_us)
    }

    /// Whether records in flight are part of it. Where nothing was under way, an unaligned checkpoint is none, as in
    /// Flink's web interface.
    #[must_use]
    pub fn is_unaligned(&self) -> bool {
        self.persisted_bytes > 0
    }
}
