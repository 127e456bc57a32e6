//! The fold: how each event changes the view. Nothing else ever writes to a view.

mod channels;
mod checkpoints;
mod sinks;
mod state;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::load::LoadMeter;
use super::sink_view::SinkView;
use super::view::{
    AtFinish, ChannelView, FailoverView, Lineage, Row, SplitView, SubtaskView, View,
};
use crate::engine::event::{CommandOrigin, EventKind, JobStatus, SubtaskStatus, TraceEvent};
use crate::engine::plan::ExecutionGraph;
use crate::model::{
    CheckpointId, Command, Decimal, EventTime, Key, KeyContents, SplitId, SubtaskId,
};

impl View {
    /// Before the first event.
    #[must_use]
    pub fn new(plan: &ExecutionGraph, script_entries: usize) -> Self {
        Self {
            position: 0,
            step: 0,
            at_us: 0,
            job: JobStatus::Running,
            restarts: 0,
            subtasks: plan.subtasks.iter().map(|_| SubtaskView::new()).collect(),
            channels: vec![ChannelView::default(); plan.channels.len()],
            splits: vec![SplitView::default(); plan.splits.len()],
            tables: BTreeMap::new(),
            checkpoints: BTreeMap::new(),
            store: Vec::new(),
            started_from: None,
            shared: BTreeMap::new(),
            queued: Vec::new(),
            refused_triggers: 0,
            failover: None,
            faults: Vec::new(),
            savepoints: Vec::new(),
            paused_for: Vec::new(),
            script_fired_us: vec![None; script_entries],
            state_changes: 0,
            begun_ms: 0,
        }
    }

    /// Fold in the next event. `plan` says which subtask a channel leads to.
    pub fn apply(&mut self, plan: &ExecutionGraph, event: &TraceEvent) {
        self.position += 1;
        self.step = event.step;
        self.at_us = event.at_us;
        match &event.kind {
            EventKind::Sent { .. }
            | EventKind::SentAhead { .. }
            | EventKind::Taken { .. }
            | EventKind::TakenAhead { .. }
            | EventKind::BarrierPromoted { .. }
            | EventKind::InFlightPersisted { .. }
            | EventKind::InFlightRestored { .. }
            | EventKind::Backpressured { .. }
            | EventKind::IntakePaused { .. }
            | EventKind::IntakeResumed { .. }
            | EventKind::ChannelCleared { .. }
            | EventKind::InputBlocked { .. }
            | EventKind::InputUnblocked { .. } => self.apply_channel(plan, &event.kind),
            EventKind::JobStatus(_)
            | EventKind::CommandAccepted { .. }
            | EventKind::CommandRefused { .. }
            | EventKind::FailoverPlanned { .. }
            | EventKind::FaultStruck { .. } => self.apply_job(&event.kind),
            EventKind::SourceAdvanced { .. }
            | EventKind::StateChanged { .. }
            | EventKind::Busy { .. }
            | EventKind::SubtaskStatus { .. }
            | EventKind::Restored { .. } => self.apply_subtask(plan, &event.kind),
            EventKind::EntriesChanged { .. }
            | EventKind::EntriesCleaned { .. }
            | EventKind::RuleSet { .. }
            | EventKind::Filtered { .. }
            | EventKind::Buffered { .. }
            | EventKind::BufferFlushed { .. } => self.apply_state(&event.kind),
            EventKind::WindowChanged { .. }
            | EventKind::WindowFired { .. }
            | EventKind::LateDropped { .. }
            | EventKind::WatermarkAdvanced { .. }
            | EventKind::Idleness { .. } => self.apply_event_time(&event.kind),
            EventKind::Collected { .. }
            | EventKind::TransactionBegun { .. }
            | EventKind::PreCommitted { .. }
            | EventKind::Committed { .. }
            | EventKind::CommitFailed { .. }
            | EventKind::TransactionAborted { .. } => self.apply_sink(plan, &event.kind),
            _ => self.apply_checkpoint(plan, &event.kind),
        }
    }

    fn subtask(&mut self, id: SubtaskId) -> &mut SubtaskView {
        &mut self.subtasks[id.index()]
    }

    fn apply_job(&mut self, event: &EventKind) {
        match event {
            EventKind::JobStatus(status) => {
                if let JobStatus::Restoring { from } = status {
                    self.restarts += 1;
                    if let Some(from) = from.filter(|from| self.store.contains(from)) {
                        self.store.retain(|id| *id != from);
                        self.store.push(from);
                    }
                }
                if !matches!(status, JobStatus::Restarting { .. }) {
                    self.failover = None;
                }
                self.job = status.clone();
            }
            EventKind::CommandAccepted { by, command } => {
                self.note_script(*by);
                if let Command::Inject(fault) = command {
                    self.faults.push(fault.clone());
                }
            }
            EventKind::CommandRefused { by, .. } => self.note_script(*by),
            EventKind::FailoverPlanned { restarting, at_us } => {
                self.failover = Some(FailoverView {
                    restarting: restarting.clone(),
                    at_us: *at_us,
                });
            }
            EventKind::FaultStruck { fault } => {
                if let Some(place) = self.faults.iter().position(|armed| armed == fault) {
                    self.faults.remove(place);
                }
            }
            _ => {}
        }
    }

    fn note_script(&mut self, by: CommandOrigin) {
        if let CommandOrigin::Script(entry) = by {
            self.script_fired_us[entry] = Some(self.at_us);
        }
    }

    fn apply_subtask(&mut self, plan: &ExecutionGraph, event: &EventKind) {
        match event {
            EventKind::SourceAdvanced {
                subtask,
                split,
                offset,
            } => {
                let view = &mut self.splits[split.index()];
                view.offset = *offset;
                view.highest_offset = view.highest_offset.max(*offset);
                let view = self.subtask(*subtask);
                view.offset += 1;
                view.emitted += 1;
            }
            EventKind::StateChanged {
                subtask,
                key,
                value,
                ..
            } => self.change_state(*subtask, key, *value),
            EventKind::Busy { subtask, until_us } => {
                let at_us = self.at_us;
                self.subtask(*subtask).set_busy(at_us, *until_us);
            }
            EventKind::SubtaskStatus { subtask, status } => {
                if *status == SubtaskStatus::Initializing {
                    for input in &plan.subtask(*subtask).inputs {
                        *self.channel(*input) = ChannelView::default();
                    }
                }
                self.set_status(*subtask, *status);
            }
            EventKind::Restored {
                subtask,
                from,
                offsets,
                state,
                windows,
                entries,
                listed,
            } => {
                self.restore_offsets(*subtask, offsets);
                self.restore_listed(plan, *subtask, listed);
                self.restore(plan, (*subtask, *from), (state, entries));
                self.subtask(*subtask).restart_event_time(windows);
            }
            _ => {}
        }
    }

    fn change_state(&mut self, subtask: SubtaskId, key: &Key, value: Decimal) {
        let changed_us = Some(self.at_us);
        let view = self.note_record(subtask);
        view.rows.insert(key.clone(), Row { value, changed_us });
    }

    fn set_status(&mut self, subtask: SubtaskId, status: SubtaskStatus) {
        let at_us = self.at_us;
        let view = self.subtask(subtask);
        view.status = status;
        let runs = matches!(status, SubtaskStatus::Running | SubtaskStatus::EndOfData);
        view.meter.set_running(at_us, runs);
        if matches!(status, SubtaskStatus::Failed | SubtaskStatus::Canceled) {
            view.sync = None;
            view.writing.clear();
            view.busy_until_us = 0;
        }
        if status == SubtaskStatus::Finished {
            view.at_finish = Some(Arc::new(AtFinish {
                rows: view.rows.clone(),
                entries: view.entries.clone(),
                counted: view.counted,
            }));
        }
    }

    fn restore_offsets(&mut self, subtask: SubtaskId, offsets: &[(SplitId, u64)]) {
        let is_first = self.restarts == 0;
        for (split, offset) in offsets {
            let view = &mut self.splits[split.index()];
            view.offset = *offset;
            if is_first {
                view.first_offset = *offset;
                view.highest_offset = *offset;
            }
        }
        let view = self.subtask(subtask);
        view.offset = offsets.iter().map(|(_, offset)| offset).sum();
        view.splits = offsets.iter().map(|(split, _)| *split).collect();
    }

    fn restore(
        &mut self,
        plan: &ExecutionGraph,
        (subtask, from): (SubtaskId, Option<CheckpointId>),
        (state, entries): (&[(Key, Decimal)], &[KeyContents]),
    ) {
        let checkpoint = from.and_then(|id| self.checkpoints.get(&id)).cloned();
        let view = self.subtask(subtask);
        let is_keyed = plan.subtask(subtask).operator.is_keyed();
        let finished = checkpoint
            .as_ref()
            .is_some_and(|c| c.finished.contains(&subtask));
        view.is_restored_finished = finished;
        if let (true, true, Some(at_finish)) = (is_keyed, finished, &view.at_finish) {
            // It had finished before the checkpoint: its last state stands, and nothing can change it.
            let AtFinish {
                rows,
                entries,
                counted,
            } = (**at_finish).clone();
            (view.rows, view.entries, view.counted) = (rows, entries, counted);
            return;
        }
        let row = |value| Row {
            value,
            changed_us: None,
        };
        view.rows = state
            .iter()
            .map(|(key, value)| (key.clone(), row(*value)))
            .collect();
        view.entries = state::unchanged(entries);
        let snapshot = checkpoint.as_ref().and_then(|c| c.subtasks.get(&subtask));
        view.counted = snapshot.map_or(Lineage::default(), |snapshot| snapshot.counted);
    }
}

impl SubtaskView {
    fn set_busy(&mut self, at_us: u64, busy_until_us: u64) {
        self.busy_until_us = busy_until_us;
        self.meter.set_busy(at_us, busy_until_us);
    }

    fn new() -> Self {
        Self {
            status: SubtaskStatus::Initializing,
            offset: 0,
            splits: Vec::new(),
            rows: BTreeMap::new(),
            windows: BTreeMap::new(),
            entries: BTreeMap::new(),
            rules: BTreeMap::new(),
            filtered: 0,
            cleaned: 0,
            late: 0,
            watermark: EventTime::NONE,
            is_idle: false,
            collected: 0,
            recent: VecDeque::new(),
            sink: SinkView::default(),
            processed: 0,
            emitted: 0,
            busy_until_us: 0,
            meter: LoadMeter::default(),
            processed_bytes: 0,
            sync: None,
            writing: Vec::new(),
            counted: Lineage::default(),
            at_finish: None,
            is_restored_finished: false,
        }
    }
}
