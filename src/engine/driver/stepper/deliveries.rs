//! What a receiver takes out of a channel.

use super::Stepper;
use crate::engine::event::{EventKind, SubtaskStatus};
use crate::model::{Alignment, ChannelId, StreamElement, StreamEvent};

impl Stepper {
    pub(super) fn deliver_ahead(&mut self, channel: ChannelId) {
        let first = self.net.channels[channel.index()].first_overtaking();
        if let Some(placed) = first {
            self.deliver_from(channel, placed.place);
        }
    }

    pub(super) fn deliver(&mut self, channel: ChannelId) {
        self.deliver_from(channel, 0);
    }

    fn deliver_from(&mut self, channel: ChannelId, place: usize) {
        let plan = self.plan.channel(channel);
        let (from, to, input) = (plan.from, plan.to, plan.input);
        let Some(element) = self.net.take(channel, place) else {
            return;
        };
        self.net.taken = Some((channel, place));
        match element {
            StreamElement::Record(record) => {
                let task = &mut self.tasks[to.index()];
                let until_us = self.net.now_us.saturating_add(task.costs.process_us);
                task.processed += 1;
                task.busy_until_us = until_us;
                self.net.record(EventKind::Busy {
                    subtask: to,
                    until_us,
                });
                self.turn(to, |subtask, turn| subtask.on_record(input, record, turn));
            }
            StreamElement::Event(event) => {
                let event = self.without_deadline(event);
                self.turn(to, |subtask, turn| subtask.on_event(input, event, turn));
            }
        }
        self.net.taken = None;
        self.tasks[to.index()].end_turn(self.net.now_us);
        let is_waiting = self.tasks[from.index()].status == SubtaskStatus::EndOfData;
        if is_waiting && self.net.channels[channel.index()].records == 0 {
            self.turn(from, |subtask, turn| {
                subtask.on_consumed(turn);
                Ok(())
            });
        }
    }

    /// A barrier whose time to align is over is unaligned, even where it has not been looked at before.
    fn without_deadline(&self, event: StreamEvent) -> StreamEvent {
        match event {
            StreamEvent::Barrier(barrier) => match barrier.alignment {
                Alignment::AlignedUntil { deadline_us } if deadline_us <= self.net.now_us => {
                    StreamEvent::Barrier(barrier.with(Alignment::Unaligned))
                }
                _ => event,
            },
            _ => event,
        }
    }
}
