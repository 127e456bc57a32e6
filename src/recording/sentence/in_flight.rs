//! Sentences about barriers that overtake, records in flight, and a world that stands still.

use crate::engine::event::{ChannelSide, EventKind};
use crate::recording::Recording;
use crate::recording::sentence::{count, describe_element};

impl Recording {
    pub(super) fn describe_in_flight(&self, event: &EventKind) -> String {
        match event {
            EventKind::SentAhead {
                channel,
                element,
                place,
                ..
            } => {
                let ends = self.plan.channel(*channel);
                let (from, to) = (self.name(ends.from), self.name(ends.to));
                let what = describe_element(element);
                format!(
                    "{from} sends {what} to {to}, ahead of what has not left yet (to place {}).",
                    place + 1
                )
            }
            EventKind::TakenAhead { channel, place } => {
                let ends = self.plan.channel(*channel);
                let (from, to) = (self.name(ends.from), self.name(ends.to));
                format!(
                    "{to} takes a barrier from {from} before {} ahead of it.",
                    count(*place as usize, "element")
                )
            }
            EventKind::BarrierPromoted {
                channel,
                checkpoint,
                ..
            } => {
                let channel = self.channel_name(*channel);
                format!(
                    "The time to align is over: barrier {checkpoint} on {channel} overtakes now."
                )
            }
            EventKind::InFlightPersisted {
                subtask,
                checkpoint,
                channel,
                side,
                records,
            } => {
                let (name, channel) = (self.name(*subtask), self.channel_name(*channel));
                let end = describe_side(*side);
                let records = count(records.len(), "record");
                format!(
                    "{name} saves {records} in flight on {channel} ({end}) in checkpoint {checkpoint}."
                )
            }
            EventKind::InFlightRestored {
                subtask,
                channel,
                side,
                records,
            } => {
                let (name, channel) = (self.name(*subtask), self.channel_name(*channel));
                let end = describe_side(*side);
                let records = count(records.len(), "record");
                format!("{name} puts {records} in flight back on {channel} ({end}).")
            }
            EventKind::Backpressured { subtask, is_on } => {
                let name = self.name(*subtask);
                match is_on {
                    true => format!("{name} cannot go on: an outgoing channel is full."),
                    false => format!("{name} can go on: there is room again."),
                }
            }
            EventKind::IntakePaused { checkpoint } => {
                format!("All sources pause for checkpoint {checkpoint}.")
            }
            EventKind::Drained { checkpoint } => {
                format!(
                    "Nothing is under way any more: all state is copied for checkpoint {checkpoint}."
                )
            }
            EventKind::IntakeResumed { checkpoint } => {
                format!("Checkpoint {checkpoint} is over: the sources go on.")
            }
            _ => String::new(),
        }
    }
}

fn describe_side(side: ChannelSide) -> &'static str {
    match side {
        ChannelSide::Output => "at the sender",
        ChannelSide::Input => "at the receiver",
    }
}
