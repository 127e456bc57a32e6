//! One channel of the stepper: a queue with two sides.
//!
//! What is ready is at the receiver; the rest has not left the sender yet. So a barrier that overtakes is put before the
//! first element that is not ready, and what it passes belongs to the sender's snapshot; once it is ready itself, the
//! receiver may take it before everything else, and what it passes then belongs to the receiver's.

use std::collections::VecDeque;

use crate::model::{
    Alignment, CheckpointBarrier, CheckpointId, Record, StreamElement, StreamEvent,
};

/// One FIFO channel. Records are bounded by the capacity; events need no credit, as in Flink.
#[derive(Default)]
pub struct Channel {
    pub queue: VecDeque<(StreamElement, u64)>,
    pub records: usize,
    pub blocked: Option<CheckpointId>,
    /// So many records at the front are restored ones, which the receiver feeds itself before anything else.
    pub restored: usize,
    /// How many barriers in the queue are not simply aligned; where there are none, nobody looks for them.
    special: usize,
    /// When the newest element is ready: the next one is not earlier.
    last_ready_us: u64,
}

/// A barrier in the queue.
#[derive(Clone, Copy)]
pub struct Placed {
    pub place: usize,
    pub ready_us: u64,
    pub barrier: CheckpointBarrier,
}

impl Channel {
    /// Put `element` at the end; it is ready at `ready_us` at the earliest. Returns when it is.
    pub fn push(&mut self, element: StreamElement, ready_us: u64) -> u64 {
        self.last_ready_us = self.last_ready_us.max(ready_us);
        self.count(&element, 1);
        self.queue.push_back((element, self.last_ready_us));
        self.last_ready_us
    }

    /// Take the element at `place`.
    pub fn take(&mut self, place: usize) -> Option<StreamElement> {
        let (element, _) = self.queue.remove(place)?;
        self.count(&element, -1);
        if matches!(element, StreamElement::Record(_)) {
            self.restored = self.restored.saturating_sub(1);
        }
        Some(element)
    }

    fn count(&mut self, element: &StreamElement, by: isize) {
        let counter = match element {
            StreamElement::Record(_) => &mut self.records,
            StreamElement::Event(StreamEvent::Barrier(barrier)) if is_special(*barrier) => {
                &mut self.special
            }
            StreamElement::Event(_) => return,
        };
        *counter = counter.saturating_add_signed(by);
    }

    /// The barriers that overtake, or may yet.
    fn barriers(&self) -> impl Iterator<Item = Placed> {
        let queue = (self.special > 0).then_some(&self.queue);
        let places = queue.into_iter().flatten().enumerate();
        places.filter_map(|(place, (element, ready_us))| match element {
            StreamElement::Event(StreamEvent::Barrier(barrier)) if is_special(*barrier) => {
                Some(Placed {
                    place,
                    ready_us: *ready_us,
                    barrier: *barrier,
                })
            }
            _ => None,
        })
    }

    /// The first barrier that the receiver may take before what is ahead of it.
    pub fn first_overtaking(&self) -> Option<Placed> {
        self.barriers()
            .find(|placed| placed.barrier.alignment == Alignment::Unaligned)
    }

    /// The barriers that are aligned until a deadline, with it.
    pub fn timed(&self) -> impl Iterator<Item = (Placed, u64)> {
        self.barriers()
            .filter_map(|placed| match placed.barrier.alignment {
                Alignment::AlignedUntil { deadline_us } => Some((placed, deadline_us)),
                _ => None,
            })
    }

    /// Put `barrier` before everything that is not ready at `now_us`, but never before another one that overtakes.
    /// `ready_us`: if there is nothing such. Returns its place, when it is ready, and the records that it has passed.
    pub fn push_ahead(
        &mut self,
        barrier: CheckpointBarrier,
        now_us: u64,
        ready_us: u64,
    ) -> (Placed, Vec<Record>) {
        let end = self.queue.len();
        let (placed, records) = self.insert_ahead((barrier, ready_us), now_us, end);
        self.last_ready_us = self.last_ready_us.max(placed.ready_us);
        (placed, records)
    }

    fn insert_ahead(
        &mut self,
        (barrier, ready_us): (CheckpointBarrier, u64),
        now_us: u64,
        end: usize,
    ) -> (Placed, Vec<Record>) {
        let unsent = self.queue.partition_point(|(_, ready)| *ready <= now_us);
        let others = self.barriers();
        let after = others
            .filter(|other| other.barrier.alignment == Alignment::Unaligned)
            .map(|other| other.place + 1)
            .last();
        let place = unsent.max(after.unwrap_or(0)).min(end);
        let next = self.queue.get(place).filter(|_| place < end);
        let ready_us = next.map_or(ready_us.max(self.ready_before(place)), |(_, ready)| *ready);
        let passed = self.queue.range(place..end);
        let records = records_in(passed);
        let element = StreamElement::Event(StreamEvent::Barrier(barrier));
        self.count(&element, 1);
        self.queue.insert(place, (element, ready_us));
        let placed = Placed {
            place,
            ready_us,
            barrier,
        };
        (placed, records)
    }

    fn ready_before(&self, place: usize) -> u64 {
        let before = place.checked_sub(1).and_then(|place| self.queue.get(place));
        before.map_or(0, |(_, ready_us)| *ready_us)
    }

    /// The barrier at `from` was aligned so far, and overtakes now: within the sender's side if it is still there,
    /// otherwise where it stands. Returns its place, and the records that it has passed.
    pub fn promote(&mut self, from: Placed, now_us: u64) -> (Placed, Vec<Record>) {
        let barrier = from.barrier.with(Alignment::Unaligned);
        let element = StreamElement::Event(StreamEvent::Barrier(barrier));
        if from.ready_us <= now_us {
            self.queue[from.place].0 = element;
            return (Placed { barrier, ..from }, Vec::new());
        }
        if let Some((element, _)) = self.queue.remove(from.place) {
            self.count(&element, -1);
        }
        self.insert_ahead((barrier, from.ready_us), now_us, from.place)
    }

    /// The records among the first `count` elements, in order.
    pub fn records_ahead(&self, count: usize) -> Vec<Record> {
        records_in(self.queue.range(..count.min(self.queue.len())))
    }
}

fn is_special(barrier: CheckpointBarrier) -> bool {
    matches!(
        barrier.alignment,
        Alignment::Unaligned | Alignment::AlignedUntil { .. }
    )
}

fn records_in<'a>(queue: impl Iterator<Item = &'a (StreamElement, u64)>) -> Vec<Record> {
    let records = queue.filter_map(|(element, _)| match element {
        StreamElement::Record(record) => Some(record.clone()),
        StreamElement::Event(_) => None,
    });
    records.collect()
}
