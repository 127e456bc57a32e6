//! The engine's own state, read out for comparison: what the fold of the log must give as well.

use std::collections::BTreeMap;

use super::{Stepper, Task};
use crate::engine::driver::outside::{Outside, Stage};
use crate::engine::event::{CheckpointKind, JobStatus, SubtaskStatus};
use crate::engine::operator::Operator;
use crate::model::{
    CheckpointId, Decimal, EventTime, Fault, Key, Record, StateEntry, StreamElement, SubtaskId,
    TimeWindow, TransactionId,
};

/// What the engine itself holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    pub job: JobStatus,
    pub statuses: Vec<SubtaskStatus>,
    /// Per subtask that runs: source offset.
    pub offsets: Vec<Option<u64>>,
    /// Per subtask that runs: keyed state.
    pub rows: Vec<Option<BTreeMap<Key, Decimal>>>,
    /// Per subtask that runs: windows that have not fired.
    pub windows: Vec<Option<BTreeMap<(TimeWindow, Key), Decimal>>>,
    /// Per subtask that runs: other keyed state.
    pub entries: Vec<Option<BTreeMap<Key, Vec<StateEntry>>>>,
    /// Per subtask that runs: records in operator list state.
    pub listed: Vec<Option<Vec<Record>>>,
    /// What processing time was when the run began.
    pub begun_ms: u64,
    /// Per subtask that runs: its watermark, and whether it is idle.
    pub event_time: Vec<Option<(EventTime, bool)>>,
    pub channels: Vec<Vec<(StreamElement, u64)>>,
    /// Per sink subtask: its transactions that are not committed.
    pub uncommitted: Vec<Vec<OpenTransaction>>,
    /// Per sink subtask: what readers see of its sink's table.
    pub tables: Vec<BTreeMap<Key, Decimal>>,
    pub blocked: Vec<Option<CheckpointId>>,
    /// Per channel: how many restored records at its front its receiver feeds itself.
    pub restored: Vec<usize>,
    /// Per subtask.
    pub backpressured: Vec<bool>,
    /// The checkpoints for which the sources pause.
    pub paused_for: Vec<CheckpointId>,
    pub pending: Vec<CheckpointId>,
    pub retained: Vec<CheckpointId>,
    /// Shared files, with the newest checkpoint that has referred to each.
    pub shared: Vec<(String, CheckpointId)>,
    /// Sorted: the log does not say in which order they will begin.
    pub queued: Vec<&'static str>,
    /// What waits to begin again, and when.
    pub failover: Option<(Vec<SubtaskId>, Option<u64>)>,
    pub faults: Vec<Fault>,
}

/// A transaction with its timeout, the checkpoint for which it is pre-committed, and what it holds.
pub type OpenTransaction = (TransactionId, u64, Option<CheckpointId>, Vec<Record>);

fn open_transactions(outside: &Outside, subtask: SubtaskId) -> Vec<OpenTransaction> {
    let own = outside.uncommitted().iter();
    let own = own.filter(|(id, _)| id.subtask == subtask);
    own.filter_map(|(id, transaction)| {
        let checkpoint = match transaction.stage {
            Stage::PreCommitted(checkpoint) => Some(checkpoint),
            Stage::Open => None,
            Stage::Foreign => return None,
        };
        let records = transaction.records.clone();
        Some((*id, transaction.timeout_us?, checkpoint, records))
    })
    .collect()
}

fn table(outside: &Outside) -> BTreeMap<Key, Decimal> {
    let rows = outside.table().iter();
    rows.map(|(key, record)| (key.clone(), record.value))
        .collect()
}

impl Stepper {
    /// Read the state machines, channels and the coordinator.
    #[must_use]
    pub fn project(&self) -> Projection {
        let operators = self.tasks.iter().map(|task| {
            let subtask = task.subtask.as_ref();
            subtask.map(crate::engine::subtask::Subtask::operator)
        });
        let rows = |operator: Option<&Operator>| {
            let contents = operator?.contents().ok()?;
            Some(contents.rows.into_iter().collect())
        };
        let windows = |operator: Option<&Operator>| {
            let windows = operator?.contents().ok()?.windows.into_iter();
            Some(
                windows
                    .map(|(window, key, value)| ((window, key), value))
                    .collect(),
            )
        };
        let entries = |operator: Option<&Operator>| {
            let entries = operator?.contents().ok()?.entries.into_iter();
            Some(entries.collect())
        };
        let event_time = |task: &Task| {
            let subtask = task.subtask.as_ref()?;
            Some((subtask.watermark(), subtask.is_idle()))
        };
        let channels = &self.net.channels;
        let subtasks = self.plan.subtasks.iter();
        let sinks =
            subtasks.filter_map(|plan| Some((plan.id, self.net.outside.of_subtask(plan.id)?)));
        Projection {
            job: self.status.clone(),
            statuses: self.tasks.iter().map(|task| task.status).collect(),
            offsets: operators
                .clone()
                .map(|operator| operator?.source_offset())
                .collect(),
            rows: operators.clone().map(rows).collect(),
            windows: operators.clone().map(windows).collect(),
            entries: operators.clone().map(entries).collect(),
            listed: operators
                .map(|operator| Some(operator?.contents().ok()?.listed))
                .collect(),
            begun_ms: self.net.begun_ms,
            event_time: self.tasks.iter().map(event_time).collect(),
            channels: channels
                .iter()
                .map(|c| c.queue.iter().cloned().collect())
                .collect(),
            uncommitted: sinks
                .clone()
                .map(|(id, outside)| open_transactions(outside, id))
                .collect(),
            tables: sinks.map(|(_, outside)| table(outside)).collect(),
            blocked: channels.iter().map(|channel| channel.blocked).collect(),
            restored: channels.iter().map(|channel| channel.restored).collect(),
            backpressured: self
                .tasks
                .iter()
                .map(|task| task.is_backpressured)
                .collect(),
            paused_for: self.paused_for().collect(),
            pending: self.coordinator.pending().collect(),
            retained: self.coordinator.store().iter().collect(),
            shared: self
                .coordinator
                .shared()
                .iter()
                .map(|(name, last)| (name.to_owned(), last))
                .collect(),
            queued: sorted_names(self.coordinator.queued()),
            failover: self.planned_failover(),
            faults: self
                .net
                .faults
                .iter()
                .map(|(_, fault)| fault.clone())
                .collect(),
        }
    }
}

/// The names of requests, for comparison.
pub fn sorted_names(kinds: impl Iterator<Item = CheckpointKind>) -> Vec<&'static str> {
    let mut names: Vec<&str> = kinds.map(CheckpointKind::name).collect();
    names.sort_unstable();
    names
}
