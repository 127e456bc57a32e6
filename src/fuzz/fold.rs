//! What is folded from the log, in the terms in which the engine tells its own state: both must be the same.

use std::collections::BTreeMap;

use crate::engine::driver::stepper::{OpenTransaction, Projection, sorted_names};
use crate::engine::plan::{ExecutionGraph, SubtaskPlan};
use crate::model::{
    CheckpointId, Decimal, Key, OperatorSpec, StateEntry, StreamElement, TimeWindow,
};
use crate::recording::View;
use crate::recording::view::{ChannelView, CheckpointStatus, Row, SubtaskView};

/// What a keyed function holds; one that is restored as finished holds nothing, whatever is shown of it.
fn entries(subtask: &SubtaskView) -> BTreeMap<Key, Vec<StateEntry>> {
    let held = subtask.entries.iter();
    held.filter(|_| !subtask.is_restored_finished)
        .map(|(key, row)| (key.clone(), row.entries.clone()))
        .collect()
}

/// Shared files, with the newest checkpoint that has referred to each.
fn shared(view: &View) -> Vec<(String, CheckpointId)> {
    let files = view.shared.iter();
    files
        .filter_map(|(name, file)| Some((name.clone(), *file.used_by.last()?)))
        .collect()
}

/// What waits on a channel, and when each is ready.
fn queue(channel: &ChannelView) -> Vec<(StreamElement, u64)> {
    let queue = channel.queue.iter();
    queue
        .map(|item| (item.element.clone(), item.ready_us))
        .collect()
}

/// The view, in the engine's own terms.
#[must_use]
pub fn projection_of(view: &View, plan: &ExecutionGraph, engine: &Projection) -> Projection {
    let rows = |index: usize| -> BTreeMap<Key, Decimal> {
        let subtask = &view.subtasks[index];
        // What such a one shows is what it had once; it holds nothing.
        let held = subtask
            .rows
            .iter()
            .filter(|_| !subtask.is_restored_finished);
        held.map(|(key, row)| (key.clone(), row.value)).collect()
    };
    let windows = |index: usize| -> BTreeMap<(TimeWindow, Key), Decimal> {
        let windows = &view.subtasks[index].windows;
        let value = |(place, row): (&(TimeWindow, Key), &Row)| (place.clone(), row.value);
        windows.iter().map(value).collect()
    };
    let plans = plan.subtasks.iter();
    let sinks = plans
        .zip(&view.subtasks)
        .filter(|(plan, _)| matches!(plan.operator, OperatorSpec::Sink(_)));
    let transactions = |(_, view): (&SubtaskPlan, &SubtaskView)| -> Vec<OpenTransaction> {
        let open = view.sink.uncommitted.iter();
        open.map(|tx| (tx.id, tx.timeout_us, tx.pre_committed, tx.records.clone()))
            .collect()
    };
    let table = |uid| -> BTreeMap<Key, Decimal> {
        let rows = view
            .tables
            .get(uid)
            .into_iter()
            .flat_map(|table| &table.rows);
        rows.map(|(key, row)| (key.clone(), row.value)).collect()
    };
    let is_pending = |status| status == CheckpointStatus::Pending;
    let pending = view
        .checkpoints
        .values()
        .filter(|checkpoint| is_pending(checkpoint.status));
    let subtasks = 0..plan.subtasks.len();
    Projection {
        job: view.job.clone(),
        statuses: view.subtasks.iter().map(|subtask| subtask.status).collect(),
        // Where the engine holds nothing (the subtask is down), there is nothing to compare.
        offsets: subtasks
            .clone()
            .map(|i| engine.offsets[i].map(|_| view.subtasks[i].offset))
            .collect(),
        rows: subtasks
            .clone()
            .map(|i| engine.rows[i].as_ref().map(|_| rows(i)))
            .collect(),
        windows: subtasks
            .clone()
            .map(|i| engine.windows[i].as_ref().map(|_| windows(i)))
            .collect(),
        entries: subtasks
            .clone()
            .map(|i| {
                engine.entries[i]
                    .as_ref()
                    .map(|_| entries(&view.subtasks[i]))
            })
            .collect(),
        listed: subtasks
            .clone()
            .map(|i| engine.listed[i].as_ref().map(|_| view.subtasks[i].listed()))
            .collect(),
        begun_ms: view.begun_ms,
        event_time: subtasks
            .map(|i| {
                let subtask = &view.subtasks[i];
                engine.event_time[i].map(|_| (subtask.watermark, subtask.is_idle))
            })
            .collect(),
        channels: view.channels.iter().map(queue).collect(),
        uncommitted: sinks.clone().map(transactions).collect(),
        tables: sinks.map(|(plan, _)| table(&plan.uid)).collect(),
        blocked: view
            .channels
            .iter()
            .map(|c| c.blocked.map(|(id, _)| id))
            .collect(),
        restored: view.channels.iter().map(|c| c.restored).collect(),
        backpressured: view
            .subtasks
            .iter()
            .map(SubtaskView::is_backpressured)
            .collect(),
        paused_for: view.paused_for.clone(),
        pending: pending.map(|checkpoint| checkpoint.id).collect(),
        retained: view.store.clone(),
        shared: shared(view),
        queued: sorted_names(view.queued.iter().copied()),
        failover: view
            .failover
            .clone()
            .map(|plan| (plan.restarting, plan.at_us)),
        faults: view.faults.clone(),
    }
}
