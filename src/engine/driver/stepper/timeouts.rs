//! Barriers whose time to align is over (Flink: `alignedBarrierTimeout` at the sender's output,
//! `BarrierAlignmentUtil`'s timer at the receiver).
//!
//! The time counts from the trigger. A subtask looks at its own ends of its channels, between two records: a barrier
//! that has not left it overtakes what has not left either, and that belongs to this subtask's snapshot, whose
//! acknowledgement waits until its barriers are gone; one that has come to it can be taken before everything else; and
//! what is being aligned becomes unaligned.

use super::channel::Placed;
use super::{Action, Stepper};
use crate::engine::event::{ChannelSide, EventKind};
use crate::engine::in_flight::InFlight;
use crate::engine::plan::to_u32;
use crate::model::{ChannelId, CheckpointId, SubtaskId};

impl Stepper {
    pub(super) fn add_alignment_timeouts(&self, actions: &mut Vec<(u64, Action)>) {
        if !self.net.has_deadlines {
            return;
        }
        for plan in &self.plan.subtasks {
            if let Some(at_us) = self.alignment_timeout_us(plan.id) {
                actions.push((at_us, Action::AlignmentTimeout(plan.id)));
            }
        }
    }

    /// When this subtask has to look.
    fn alignment_timeout_us(&self, id: SubtaskId) -> Option<u64> {
        let task = &self.tasks[id.index()];
        let subtask = task.subtask.as_ref()?;
        let earliest_us = self.net.now_us.max(task.busy_until_us);
        let leaving = subtask.outputs().flat_map(|channel| self.timed(channel));
        let leaving = leaving.filter_map(|(placed, deadline_us)| {
            let at_us = deadline_us.max(earliest_us);
            (at_us < placed.ready_us).then_some(at_us)
        });
        let inputs = self.plan.subtask(id).inputs.iter().copied();
        let arrived = inputs.flat_map(|channel| self.arrived_timed(channel));
        let arrived = arrived.map(|(placed, deadline_us)| deadline_us.max(placed.ready_us));
        let all = leaving
            .chain(arrived)
            .chain(subtask.alignment_deadline_us());
        all.min().map(|at_us| at_us.max(earliest_us))
    }

    fn timed(&self, channel: ChannelId) -> impl Iterator<Item = (Placed, u64)> {
        self.net.channels[channel.index()].timed()
    }

    /// Behind another checkpoint's barrier nothing is looked at.
    fn arrived_timed(&self, channel: ChannelId) -> impl Iterator<Item = (Placed, u64)> {
        let is_open = self.net.channels[channel.index()].blocked.is_none();
        self.timed(channel).filter(move |_| is_open)
    }

    pub(super) fn time_out_alignment(&mut self, id: SubtaskId) {
        let now_us = self.net.now_us;
        let plan = self.plan.clone();
        let plan = plan.subtask(id);
        let outputs = plan.outputs.iter().flat_map(|output| &output.channels);
        for (place, channel) in outputs.enumerate() {
            let due = self
                .timed(*channel)
                .find(|(placed, deadline_us)| *deadline_us <= now_us && placed.ready_us > now_us);
            if let Some((placed, _)) = due {
                let records = self.promote(*channel, placed);
                let in_flight = InFlight {
                    channel: *channel,
                    side: ChannelSide::Output,
                    place: to_u32(place),
                    records,
                };
                self.net.let_go(id, placed.barrier.id, in_flight);
            }
        }
        for channel in &plan.inputs {
            let due = self
                .arrived_timed(*channel)
                .find(|(placed, deadline_us)| *deadline_us <= now_us && placed.ready_us <= now_us);
            if let Some((placed, _)) = due {
                self.promote(*channel, placed);
            }
        }
        self.turn(id, |subtask, turn| {
            subtask.on_alignment_timeout(now_us, turn)
        });
    }

    fn promote(&mut self, channel: ChannelId, from: Placed) -> Vec<crate::model::Record> {
        let now_us = self.net.now_us;
        let (placed, records) = self.net.channels[channel.index()].promote(from, now_us);
        let checkpoint: CheckpointId = placed.barrier.id;
        self.net.record(EventKind::BarrierPromoted {
            channel,
            checkpoint,
            place: to_u32(placed.place),
            ready_us: placed.ready_us,
        });
        records
    }
}
