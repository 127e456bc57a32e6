//! Which channel a record takes (Flink: `StreamPartitioner` and `RecordWriter`).

use super::event::ChannelSide;
use super::in_flight::InFlight;
use super::plan::{OutputPlan, SubtaskPlan};
use super::subtask::{Effects, TaskFailure};
use crate::model::key_group::{key_group, owner};
use crate::model::{Alignment, ChannelId, CheckpointBarrier, Partitioning, Record, StreamEvent};

/// The outgoing edges of one subtask.
#[derive(Clone, Debug)]
pub struct Router {
    outputs: Vec<Output>,
}

#[derive(Clone, Debug)]
struct Output {
    plan: OutputPlan,
    /// The receiver of the next record, for rebalancing.
    next: usize,
}

impl Router {
    /// Rebalancing starts at the sender's own index, so that several senders do not all begin with the same
    /// receiver (Flink begins at random).
    #[must_use]
    pub fn new(subtask: &SubtaskPlan) -> Self {
        let output = |plan: &OutputPlan| Output {
            plan: plan.clone(),
            next: subtask.index as usize % plan.channels.len().max(1),
        };
        Self {
            outputs: subtask.outputs.iter().map(output).collect(),
        }
    }

    /// Send `record` over every outgoing edge.
    ///
    /// # Errors
    /// A hash edge met a record without a key.
    pub fn route<E: Effects>(&mut self, record: Record, out: &mut E) -> Result<(), TaskFailure> {
        let Some((last, others)) = self.outputs.split_last_mut() else {
            return Ok(());
        };
        for output in others {
            output.route(record.clone(), out)?;
        }
        last.route(record, out)
    }

    /// Put `event` on every channel.
    pub fn broadcast<E: Effects>(&self, event: StreamEvent, out: &mut E) {
        for channel in self.channels() {
            out.send_event(channel, event);
        }
    }

    /// Put `barrier` on every channel: ahead of what has not left yet where it is unaligned and the edge allows that.
    /// Returns what it overtakes.
    pub fn broadcast_barrier<E: Effects>(
        &self,
        barrier: CheckpointBarrier,
        out: &mut E,
    ) -> Vec<InFlight> {
        let mut overtaken = Vec::new();
        let mut place = 0;
        for output in &self.outputs {
            for channel in output.plan.channels.iter().copied() {
                if output.plan.is_forced_aligned {
                    let forced = barrier.with(barrier.alignment.forced());
                    out.send_event(channel, StreamEvent::Barrier(forced));
                } else if barrier.alignment == Alignment::Unaligned {
                    overtaken.push(InFlight {
                        channel,
                        side: ChannelSide::Output,
                        place,
                        records: out.send_ahead(channel, barrier),
                    });
                } else {
                    out.send_event(channel, StreamEvent::Barrier(barrier));
                }
                place += 1;
            }
        }
        overtaken.retain(|in_flight| !in_flight.records.is_empty());
        overtaken
    }

    /// All outgoing channels.
    pub fn channels(&self) -> impl Iterator<Item = ChannelId> + '_ {
        self.outputs
            .iter()
            .flat_map(|output| output.plan.channels.iter().copied())
    }
}

impl Output {
    fn route<E: Effects>(&mut self, record: Record, out: &mut E) -> Result<(), TaskFailure> {
        let channels = &self.plan.channels;
        match self.plan.partitioning {
            Partitioning::Forward => {
                if let Some(channel) = channels.first() {
                    out.send_record(*channel, record);
                }
            }
            Partitioning::Hash => {
                let key = self.plan.key.key_of(&record).ok_or(TaskFailure::NoKey)?;
                let parallelism = u32::try_from(channels.len()).unwrap_or(u32::MAX);
                let group = key_group(&key, self.plan.max_parallelism);
                let receiver = owner(group, parallelism, self.plan.max_parallelism);
                out.send_record(channels[receiver as usize], record);
            }
            Partitioning::Rebalance => {
                out.send_record(channels[self.next], record);
                self.next = (self.next + 1) % channels.len();
            }
            Partitioning::Broadcast => {
                for channel in channels {
                    out.send_record(*channel, record.clone());
                }
            }
        }
        Ok(())
    }
}
