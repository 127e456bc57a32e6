//! The stepper's world between the state machines: channels, messages, snapshots being written, and the log.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::channel::Channel;
use super::outside::Outsides;
use crate::engine::event::{EventKind, TraceEvent};
use crate::engine::in_flight::InFlight;
use crate::engine::operator::Operator;
use crate::engine::plan::{ExecutionGraph, to_u32};
use crate::engine::state::Compaction;
use crate::engine::storage::CheckpointMetadata;
use crate::engine::subtask::{Effects, SnapshotTask, TaskMessage};
use crate::model::{
    Alignment, ChannelId, CheckpointBarrier, CheckpointId, CostModel, Decimal, EventTime, Fault,
    FaultKind, Key, Origin, Record, StateEntry, StreamElement, StreamEvent, SubtaskId, TimeWindow,
};

/// From the coordinator to a subtask.
pub enum ToTask {
    Trigger(CheckpointBarrier),
    Complete(CheckpointId),
    Aborted {
        checkpoint: CheckpointId,
        latest: Option<CheckpointId>,
    },
}

/// A snapshot whose asynchronous part ends at `ready_us`.
pub struct Write {
    pub ready_us: u64,
    /// When the barriers that may yet overtake have left the subtask's outputs: not before then is it known what belongs
    /// to this snapshot.
    pub left_us: u64,
    pub subtask: SubtaskId,
    pub task: SnapshotTask,
}

fn persisted(subtask: SubtaskId, checkpoint: CheckpointId, in_flight: InFlight) -> EventKind {
    EventKind::InFlightPersisted {
        subtask,
        checkpoint,
        channel: in_flight.channel,
        side: in_flight.side,
        records: in_flight.records,
    }
}

/// Everything that is under way, by when it arrives.
pub struct Net {
    pub now_us: u64,
    /// What processing time was when the run began: where the snapshot that it began from had stopped.
    pub begun_ms: u64,
    pub step: u64,
    pub log: Vec<TraceEvent>,
    pub costs: CostModel,
    pub channels: Vec<Channel>,
    /// Barriers may be aligned until a deadline.
    pub has_deadlines: bool,
    /// The channel and place from which an element was just taken.
    pub taken: Option<(ChannelId, usize)>,
    /// Per subtask, in order: messages between one pair never overtake each other.
    pub to_task: Vec<VecDeque<(u64, ToTask)>>,
    pub to_coordinator: Vec<VecDeque<(u64, TaskMessage)>>,
    pub writes: Vec<Write>,
    pub finalizing: BTreeMap<CheckpointId, (u64, CheckpointMetadata)>,
    pub outside: Outsides,
    /// Injected faults that wait for their occasion, with the subtask that each is meant for.
    pub faults: Vec<(SubtaskId, Fault)>,
}

impl Net {
    pub fn new(subtasks: usize, channels: usize, costs: CostModel) -> Self {
        Self {
            now_us: 0,
            begun_ms: 0,
            step: 0,
            log: Vec::new(),
            costs,
            channels: std::iter::repeat_with(Channel::default)
                .take(channels)
                .collect(),
            to_task: std::iter::repeat_with(VecDeque::new)
                .take(subtasks)
                .collect(),
            to_coordinator: std::iter::repeat_with(VecDeque::new)
                .take(subtasks)
                .collect(),
            has_deadlines: false,
            taken: None,
            writes: Vec::new(),
            finalizing: BTreeMap::new(),
            outside: Outsides::default(),
            faults: Vec::new(),
        }
    }

    pub fn record(&mut self, kind: EventKind) {
        self.log.push(TraceEvent {
            at_us: self.now_us,
            step: self.step,
            kind,
        });
    }

    /// Put `element` on `channel`; it is ready after the transfer, and never before what was sent earlier. Returns when.
    pub fn send(&mut self, channel: ChannelId, element: StreamElement) -> u64 {
        let ready_us = self.now_us.saturating_add(self.costs.transfer_us);
        self.put(channel, element, ready_us)
    }

    /// The same, ready at `ready_us`.
    pub fn put(&mut self, channel: ChannelId, element: StreamElement, ready_us: u64) -> u64 {
        let ready_us = self.channels[channel.index()].push(element.clone(), ready_us);
        self.record(EventKind::Sent {
            channel,
            element,
            ready_us,
        });
        ready_us
    }

    /// Put `barrier` before all that has not left the sender's side; returns the records that it passes.
    fn send_ahead(&mut self, channel: ChannelId, barrier: CheckpointBarrier) -> Vec<Record> {
        let ready_us = self.now_us.saturating_add(self.costs.transfer_us);
        let state = &mut self.channels[channel.index()];
        let (placed, records) = state.push_ahead(barrier, self.now_us, ready_us);
        self.record(EventKind::SentAhead {
            channel,
            element: StreamElement::Event(StreamEvent::Barrier(barrier)),
            ready_us: placed.ready_us,
            place: to_u32(placed.place),
        });
        records
    }

    /// Take the element at `place` of `channel`.
    pub fn take(&mut self, channel: ChannelId, place: usize) -> Option<StreamElement> {
        let element = self.channels[channel.index()].take(place)?;
        self.record(match to_u32(place) {
            0 => EventKind::Taken { channel },
            place => EventKind::TakenAhead { channel, place },
        });
        Some(element)
    }

    /// The snapshot that this subtask still writes for `checkpoint`.
    fn write_of(&mut self, subtask: SubtaskId, checkpoint: CheckpointId) -> Option<&mut Write> {
        let mut writes = self.writes.iter_mut();
        writes.find(|write| write.subtask == subtask && write.task.checkpoint == checkpoint)
    }

    /// `records` become part of what `subtask` writes for `checkpoint`, if it still does.
    fn add_in_flight(&mut self, subtask: SubtaskId, checkpoint: CheckpointId, records: InFlight) {
        if records.records.is_empty() {
            return;
        }
        let took_us = self.costs.write_us(records.size_bytes());
        let Some(write) = self.write_of(subtask, checkpoint) else {
            return;
        };
        write.ready_us = write.ready_us.saturating_add(took_us);
        write.task.in_flight.push(records.clone());
        self.record(persisted(subtask, checkpoint, records));
    }

    /// A barrier of `checkpoint` overtakes at the output of `subtask`: nothing there need be awaited any more.
    pub fn let_go(&mut self, subtask: SubtaskId, checkpoint: CheckpointId, records: InFlight) {
        self.add_in_flight(subtask, checkpoint, records);
        if let Some(write) = self.write_of(subtask, checkpoint) {
            write.left_us = 0;
        }
    }

    pub fn tell_task(&mut self, subtask: SubtaskId, message: ToTask) {
        let ready_us = self.now_us.saturating_add(self.costs.rpc_us);
        let queue = &mut self.to_task[subtask.index()];
        // Only what a fault delays is still behind this one.
        let place = queue.partition_point(|(at_us, _)| *at_us <= ready_us);
        queue.insert(place, (ready_us, message));
    }

    /// These subtasks are gone, and with them what they had sent and were about to write. No channel leads from one
    /// that is gone to one that is not.
    pub fn clear(&mut self, plan: &ExecutionGraph, down: &BTreeSet<SubtaskId>) {
        for plan in plan.channels.iter().filter(|plan| down.contains(&plan.to)) {
            let channel = &mut self.channels[plan.id.index()];
            let held = !channel.queue.is_empty() || channel.blocked.is_some();
            *channel = Channel::default();
            if held {
                self.record(EventKind::ChannelCleared { channel: plan.id });
            }
        }
        for subtask in down {
            self.to_task[subtask.index()].clear();
            self.to_coordinator[subtask.index()].clear();
        }
        self.writes.retain(|write| !down.contains(&write.subtask));
    }
}

/// One subtask's turn: its effects on the world.
pub struct Turn<'a> {
    pub net: &'a mut Net,
    pub subtask: SubtaskId,
    pub busy_until_us: &'a mut u64,
    pub costs: CostModel,
    /// When the newest barrier that may yet overtake is gone.
    pub left_us: u64,
}

impl Net {
    /// The time that state lives by.
    pub fn processing_time_ms(&self) -> u64 {
        self.begun_ms.saturating_add(self.now_us / 1000)
    }
}

impl Effects for Turn<'_> {
    fn send_record(&mut self, channel: ChannelId, record: Record) {
        self.net.send(channel, StreamElement::Record(record));
    }

    fn send_event(&mut self, channel: ChannelId, event: StreamEvent) {
        let ready_us = self.net.send(channel, StreamElement::Event(event));
        if let StreamEvent::Barrier(barrier) = event
            && let Alignment::AlignedUntil { .. } = barrier.alignment
        {
            self.left_us = self.left_us.max(ready_us);
        }
    }

    fn send_ahead(&mut self, channel: ChannelId, barrier: CheckpointBarrier) -> Vec<Record> {
        self.net.send_ahead(channel, barrier)
    }

    fn overtaken(&mut self, channel: ChannelId) -> Vec<Record> {
        match self.net.taken {
            Some((taken, place)) if taken == channel => {
                self.net.channels[channel.index()].records_ahead(place)
            }
            _ => Vec::new(),
        }
    }

    fn add_in_flight(&mut self, checkpoint: CheckpointId, records: InFlight) {
        self.net.add_in_flight(self.subtask, checkpoint, records);
    }

    fn end_recording(&mut self, checkpoint: CheckpointId) {
        let now_us = self.net.now_us;
        if let Some(write) = self.net.write_of(self.subtask, checkpoint) {
            write.task.is_recording = false;
            write.ready_us = write.ready_us.max(now_us);
        }
    }

    fn is_consumed(&self, channel: ChannelId) -> bool {
        self.net.channels[channel.index()].records == 0
    }

    fn block(&mut self, channel: ChannelId, checkpoint: CheckpointId) {
        self.net.channels[channel.index()].blocked = Some(checkpoint);
        self.net.record(EventKind::InputBlocked {
            channel,
            checkpoint,
        });
    }

    fn unblock(&mut self, channel: ChannelId) {
        if let Some(checkpoint) = self.net.channels[channel.index()].blocked.take() {
            self.net.record(EventKind::InputUnblocked {
                channel,
                checkpoint,
            });
        }
    }

    fn start_snapshot(&mut self, task: SnapshotTask, operator: &Operator) {
        let size_bytes = operator.size_bytes();
        let upload_bytes = task.upload_bytes(size_bytes);
        let in_flight_bytes: u64 = task.in_flight.iter().map(InFlight::size_bytes).sum();
        let sync_bytes = task.sync_bytes();
        let async_bytes = upload_bytes
            .saturating_sub(sync_bytes)
            .saturating_add(in_flight_bytes);
        let write_us = self.costs.write_us(async_bytes);
        let write_us = write_us.saturating_add(self.costs.snapshot_async_us);
        let mut sync_until_us = self.net.now_us + self.costs.snapshot_sync_us;
        sync_until_us = sync_until_us.saturating_add(self.costs.write_us(sync_bytes));
        let mut ready_us = sync_until_us.saturating_add(write_us);
        let is_slow = |kind| matches!(kind, FaultKind::StorageSlow { .. });
        if let Some(FaultKind::StorageSlow { by_ms }) = self.net.strike(Some(self.subtask), is_slow)
        {
            ready_us = ready_us.saturating_add(by_ms.saturating_mul(1000));
        }
        if task.is_synchronous {
            sync_until_us = ready_us;
        }
        *self.busy_until_us = (*self.busy_until_us).max(sync_until_us);
        let (subtask, checkpoint) = (self.subtask, task.checkpoint);
        let keyed = task.keyed.as_ref();
        self.net.record(EventKind::SnapshotStarted {
            subtask,
            checkpoint,
            sync_until_us,
            size_bytes,
            upload_bytes,
            expired_ms: keyed.and_then(|keyed| keyed.leaves_out_expired_ms(task.format)),
        });
        for in_flight in task.in_flight.clone() {
            self.net.record(persisted(subtask, checkpoint, in_flight));
        }
        self.net.writes.push(Write {
            ready_us,
            left_us: self.left_us,
            subtask,
            task,
        });
    }

    fn sync_part_fails(&mut self) -> bool {
        let is_meant = |kind| kind == FaultKind::SyncPart;
        self.net.strike(Some(self.subtask), is_meant).is_some()
    }

    fn processing_time_ms(&self) -> u64 {
        self.net.processing_time_ms()
    }

    fn is_traced(&self) -> bool {
        true
    }

    fn tell(&mut self, message: TaskMessage) {
        let ready_us = self.net.now_us.saturating_add(self.net.costs.rpc_us);
        self.net.to_coordinator[self.subtask.index()].push_back((ready_us, message));
    }

    fn on_source_advanced(&mut self, origin: Origin) {
        self.net.record(EventKind::SourceAdvanced {
            subtask: self.subtask,
            split: origin.split,
            offset: origin.offset,
        });
    }

    fn on_state_changed(&mut self, key: &Key, value: Decimal, origin: Origin) {
        self.net.record(EventKind::StateChanged {
            subtask: self.subtask,
            key: key.clone(),
            value,
            origin,
        });
    }

    fn on_entries_changed(&mut self, key: &Key, entries: Vec<StateEntry>, origin: Origin) {
        self.net.record(EventKind::EntriesChanged {
            subtask: self.subtask,
            key: key.clone(),
            entries,
            origin,
        });
    }

    fn on_entries_cleaned(&mut self, key: &Key, entries: Vec<StateEntry>) {
        self.net.record(EventKind::EntriesCleaned {
            subtask: self.subtask,
            key: key.clone(),
            entries,
        });
    }

    fn on_rule(&mut self, rule: &Record) {
        self.net.record(EventKind::RuleSet {
            subtask: self.subtask,
            rule: rule.clone(),
        });
    }

    fn on_filtered(&mut self, record: &Record) {
        self.net.record(EventKind::Filtered {
            subtask: self.subtask,
            record: record.clone(),
        });
    }

    fn on_window_changed(&mut self, key: &Key, window: TimeWindow, value: Decimal, origin: Origin) {
        self.net.record(EventKind::WindowChanged {
            subtask: self.subtask,
            key: key.clone(),
            window,
            value,
            origin,
        });
    }

    fn on_window_fired(&mut self, key: &Key, window: TimeWindow, value: Decimal) {
        self.net.record(EventKind::WindowFired {
            subtask: self.subtask,
            key: key.clone(),
            window,
            value,
        });
    }

    fn on_late_dropped(&mut self, record: &Record) {
        self.net.record(EventKind::LateDropped {
            subtask: self.subtask,
            record: record.clone(),
        });
    }

    fn on_watermark(&mut self, watermark: EventTime) {
        self.net.record(EventKind::WatermarkAdvanced {
            subtask: self.subtask,
            watermark,
        });
    }

    fn on_compacted(&mut self, compaction: &Compaction) {
        self.net.record(EventKind::Compacted {
            subtask: self.subtask,
            files_before: compaction.files_before,
            files_after: compaction.files_after,
        });
    }

    fn on_idleness(&mut self, is_idle: bool) {
        self.net.record(EventKind::Idleness {
            subtask: self.subtask,
            is_idle,
        });
    }
}
