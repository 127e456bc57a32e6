//! The fold of what travels along channels, and of what stands still for it.

use crate::engine::event::{ChannelSide, EventKind};
use crate::engine::in_flight;
use crate::engine::plan::ExecutionGraph;
use crate::model::{
    Alignment, ChannelId, CheckpointBarrier, CheckpointId, StreamElement, StreamEvent, SubtaskId,
};
use crate::recording::view::{ChannelView, InFlight, PersistedView, View};

impl View {
    pub(super) fn channel(&mut self, id: ChannelId) -> &mut ChannelView {
        &mut self.channels[id.index()]
    }

    pub(super) fn apply_channel(&mut self, plan: &ExecutionGraph, event: &EventKind) {
        let at_us = self.at_us;
        match event {
            EventKind::Sent {
                channel,
                element,
                ready_us,
            } => {
                let end = self.channel(*channel).queue.len();
                self.put(*channel, element, (*ready_us, end));
            }
            EventKind::SentAhead {
                channel,
                element,
                ready_us,
                place,
            } => self.put(*channel, element, (*ready_us, *place as usize)),
            EventKind::Taken { channel } => self.take(plan, *channel, 0),
            EventKind::TakenAhead { channel, place } => {
                self.take(plan, *channel, *place as usize);
            }
            EventKind::BarrierPromoted { .. } => self.promote(event),
            EventKind::ChannelCleared { channel } => {
                *self.channel(*channel) = ChannelView::default();
            }
            EventKind::InputBlocked {
                channel,
                checkpoint,
            } => self.channel(*channel).blocked = Some((*checkpoint, at_us)),
            EventKind::InputUnblocked { channel, .. } => self.channel(*channel).blocked = None,
            EventKind::InFlightRestored {
                channel,
                side: ChannelSide::Input,
                records,
                ..
            } => self.channel(*channel).restored += records.len(),
            EventKind::InFlightPersisted {
                subtask,
                checkpoint,
                channel,
                side,
                records,
            } => {
                let records = PersistedView {
                    channel: *channel,
                    side: *side,
                    records: records.clone(),
                };
                self.persist(*subtask, *checkpoint, records);
            }
            EventKind::Backpressured { subtask, is_on } => {
                self.subtasks[subtask.index()]
                    .meter
                    .set_backpressured(at_us, *is_on);
            }
            EventKind::IntakePaused { checkpoint } => self.paused_for.push(*checkpoint),
            EventKind::IntakeResumed { checkpoint } => {
                self.paused_for.retain(|id| id != checkpoint);
            }
            _ => {}
        }
    }

    fn put(
        &mut self,
        channel: ChannelId,
        element: &StreamElement,
        (ready_us, place): (u64, usize),
    ) {
        let item = InFlight {
            element: element.clone(),
            sent_us: self.at_us,
            ready_us,
        };
        let queue = &mut self.channel(channel).queue;
        queue.insert(place.min(queue.len()), item);
    }

    fn promote(&mut self, event: &EventKind) {
        let EventKind::BarrierPromoted {
            channel,
            checkpoint,
            place,
            ready_us,
        } = event
        else {
            return;
        };
        let queue = &mut self.channel(*channel).queue;
        let found = queue
            .iter()
            .position(|item| item.barrier() == Some(*checkpoint));
        let Some(mut item) = found.and_then(|place| queue.remove(place)) else {
            return;
        };
        if let StreamElement::Event(StreamEvent::Barrier(barrier)) = &mut item.element {
            *barrier = barrier.with(Alignment::Unaligned);
        }
        item.ready_us = *ready_us;
        queue.insert((*place as usize).min(queue.len()), item);
    }

    fn take(&mut self, plan: &ExecutionGraph, id: ChannelId, place: usize) {
        let to = plan.channel(id).to;
        let channel = self.channel(id);
        let Some(item) = channel.queue.remove(place) else {
            return;
        };
        match item.element {
            StreamElement::Record(record) => {
                channel.restored = channel.restored.saturating_sub(1);
                let view = &mut self.subtasks[to.index()];
                view.processed += 1;
                view.processed_bytes += in_flight::size_bytes(&record);
            }
            StreamElement::Event(StreamEvent::Barrier(barrier)) => self.meet(to, barrier),
            StreamElement::Event(StreamEvent::EndOfPartition) => channel.ended = true,
            StreamElement::Event(_) => {}
        }
    }

    /// A barrier reached `subtask`: between its first and its last one it aligns.
    fn meet(&mut self, subtask: SubtaskId, barrier: CheckpointBarrier) {
        let at_us = self.at_us;
        let bytes = self.subtasks[subtask.index()].processed_bytes;
        self.edit_snapshot(barrier.id, subtask, |snapshot| {
            if snapshot.first_barrier_us.is_none() {
                snapshot.first_barrier_us = Some(at_us);
                snapshot.bytes_before = bytes;
            }
            snapshot.last_barrier_us = Some(at_us);
            snapshot.processed_bytes = bytes - snapshot.bytes_before;
        });
    }

    /// One barrier after another may overtake more of the same channel.
    fn persist(&mut self, subtask: SubtaskId, checkpoint: CheckpointId, more: PersistedView) {
        let bytes: u64 = more.records.iter().map(in_flight::size_bytes).sum();
        self.edit_snapshot(checkpoint, subtask, |snapshot| {
            snapshot.persisted_bytes += bytes;
            snapshot.persisted_records += more.records.len() as u64;
            let mut known = snapshot.persisted.iter_mut();
            match known.find(|known| known.channel == more.channel && known.side == more.side) {
                Some(known) => known.records.extend(more.records),
                None => snapshot.persisted.push(more),
            }
        });
    }
}
