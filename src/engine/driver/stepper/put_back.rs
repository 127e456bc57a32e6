//! Records in flight of a restored checkpoint: back onto their channels (Flink: channel state recovery).
//!
//! What was at the receiver comes first and is at the receiver again; behind it comes what was at the sender; new
//! records follow. A subtask that has some of the first kind to process is not running yet, and so no checkpoint
//! begins.

use super::Stepper;
use crate::engine::event::{ChannelSide, EventKind, SubtaskStatus};
use crate::engine::in_flight::InFlight;
use crate::model::{StreamElement, SubtaskId};

impl Stepper {
    /// The subtask has begun: it runs, unless it has restored records to process first.
    pub(super) fn begin_recovery(&mut self, id: SubtaskId, in_flight: &[InFlight]) {
        let inputs = in_flight.iter().filter(|it| it.side == ChannelSide::Input);
        let records = inputs.map(|it| it.records.len()).sum();
        if let Some(subtask) = &mut self.tasks[id.index()].subtask {
            subtask.recover(records);
        }
        if records == 0 {
            self.set_subtask_status(id, SubtaskStatus::Running);
            self.coordinator.on_running(id);
        }
    }

    /// All of `in_flight`, by the subtask that saved it, goes back.
    pub(super) fn put_back(&mut self, in_flight: Vec<(SubtaskId, InFlight)>) {
        let (inputs, outputs): (Vec<_>, Vec<_>) = in_flight
            .into_iter()
            .partition(|(_, it)| it.side == ChannelSide::Input);
        for (subtask, it) in inputs.into_iter().chain(outputs) {
            self.put_back_one(subtask, it);
        }
    }

    fn put_back_one(&mut self, subtask: SubtaskId, in_flight: InFlight) {
        let InFlight {
            channel,
            side,
            records,
            ..
        } = in_flight;
        self.net.record(EventKind::InFlightRestored {
            subtask,
            channel,
            side,
            records: records.clone(),
        });
        let now_us = self.net.now_us;
        if side == ChannelSide::Input {
            self.net.channels[channel.index()].restored += records.len();
        }
        for record in records {
            let element = StreamElement::Record(record);
            match side {
                ChannelSide::Input => self.net.put(channel, element, now_us),
                ChannelSide::Output => self.net.send(channel, element),
            };
        }
    }
}
