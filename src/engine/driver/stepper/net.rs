//! The stepper's world between the state machines: channels, messages, snapshots being written, and the log.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::engine::event::{EventKind, TraceEvent};
use crate::engine::operator::Operator;
use crate::engine::plan::ExecutionGraph;
use crate::engine::storage::CheckpointMetadata;
use crate::engine::subtask::{Effects, SnapshotTask, TaskMessage};
use crate::model::{
    ChannelId, CheckpointBarrier, CheckpointId, CostModel, Decimal, EventTime, Fault, FaultKind,
    Key, Origin, Record, StreamElement, StreamEvent, SubtaskId, TimeWindow,
};

/// One FIFO channel. Records are bounded by the capacity; events need no credit, as in Flink.
#[derive(Default)]
pub struct Channel {
    pub queue: VecDeque<(StreamElement, u64)>,
    pub records: usize,
    pub blocked: Option<CheckpointId>,
    /// When the newest element is ready: the next one is not earlier.
    last_ready_us: u64,
}

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
    pub subtask: SubtaskId,
    pub task: SnapshotTask,
}

/// Everything that is under way, by when it arrives.
pub struct Net {
    pub now_us: u64,
    pub step: u64,
    pub log: Vec<TraceEvent>,
    pub costs: CostModel,
    pub channels: Vec<Channel>,
    /// Per subtask, in order: messages between one pair never overtake each other.
    pub to_task: Vec<VecDeque<(u64, ToTask)>>,
    pub to_coordinator: Vec<VecDeque<(u64, TaskMessage)>>,
    pub writes: Vec<Write>,
    pub finalizing: BTreeMap<CheckpointId, (u64, CheckpointMetadata)>,
    /// Injected faults that wait for their occasion, with the subtask that each is meant for.
    pub faults: Vec<(SubtaskId, Fault)>,
}

impl Net {
    pub fn new(subtasks: usize, channels: usize, costs: CostModel) -> Self {
        Self {
            now_us: 0,
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
            writes: Vec::new(),
            finalizing: BTreeMap::new(),
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

    /// Put `element` on `channel`; it is ready after the transfer, and never before what was sent earlier.
    pub fn send(&mut self, channel: ChannelId, element: StreamElement) {
        let state = &mut self.channels[channel.index()];
        let ready_us = self
            .now_us
            .saturating_add(self.costs.transfer_us)
            .max(state.last_ready_us);
        state.last_ready_us = ready_us;
        state.records += usize::from(matches!(element, StreamElement::Record(_)));
        state.queue.push_back((element.clone(), ready_us));
        self.record(EventKind::Sent {
            channel,
            element,
            ready_us,
        });
    }

    /// Take the first element of `channel`.
    pub fn take(&mut self, channel: ChannelId) -> Option<StreamElement> {
        let state = &mut self.channels[channel.index()];
        let (element, _) = state.queue.pop_front()?;
        state.records -= usize::from(matches!(element, StreamElement::Record(_)));
        self.record(EventKind::Taken { channel });
        Some(element)
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
}

impl Effects for Turn<'_> {
    fn send_record(&mut self, channel: ChannelId, record: Record) {
        self.net.send(channel, StreamElement::Record(record));
    }

    fn send_event(&mut self, channel: ChannelId, event: StreamEvent) {
        self.net.send(channel, StreamElement::Event(event));
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
        let costs = &self.net.costs;
        let size_bytes = operator.size_bytes();
        let sync_until_us = self.net.now_us + costs.snapshot_sync_us;
        let per_kib = size_bytes
            .div_ceil(1024)
            .saturating_mul(costs.snapshot_async_us_per_kib);
        let mut ready_us = sync_until_us + costs.snapshot_async_us.saturating_add(per_kib);
        *self.busy_until_us = (*self.busy_until_us).max(sync_until_us);
        self.net.record(EventKind::SnapshotStarted {
            subtask: self.subtask,
            checkpoint: task.checkpoint,
            sync_until_us,
            size_bytes,
        });
        let is_slow = |kind| matches!(kind, FaultKind::StorageSlow { .. });
        if let Some(FaultKind::StorageSlow { by_ms }) = self.net.strike(Some(self.subtask), is_slow)
        {
            ready_us = ready_us.saturating_add(by_ms.saturating_mul(1000));
        }
        self.net.writes.push(Write {
            ready_us,
            subtask: self.subtask,
            task,
        });
    }

    fn sync_part_fails(&mut self) -> bool {
        let is_meant = |kind| kind == FaultKind::SyncPart;
        self.net.strike(Some(self.subtask), is_meant).is_some()
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

    fn on_idleness(&mut self, is_idle: bool) {
        self.net.record(EventKind::Idleness {
            subtask: self.subtask,
            is_idle,
        });
    }

    fn on_collected(&mut self, record: Record) {
        let subtask = self.subtask;
        self.net.record(EventKind::Collected {
            subtask,
            record,
            transaction: None,
        });
    }
}
