//! One life of a channel: what was put on it, and what was taken, by the index of the event.

use std::collections::{BTreeMap, VecDeque};

use crate::model::{
    ChannelId, CheckpointBarrier, CheckpointId, Record, StreamElement, StreamEvent,
};

/// A channel from the start (or restart) of its subtasks until they are gone.
#[derive(Debug)]
pub struct Lane {
    pub channel: ChannelId,
    /// The event after which it is gone.
    pub died: Option<usize>,
    pub records: Vec<Sent<Record>>,
    pub events: Vec<Sent<StreamEvent>>,
    pub blocks: Vec<Block>,
    queue: VecDeque<Place>,
    /// The first place among the events of each barrier.
    barriers: BTreeMap<CheckpointId, usize>,
    ended: Option<usize>,
}

/// An element with the events at which it was sent and taken.
#[derive(Debug)]
pub struct Sent<T> {
    pub what: T,
    pub sent: usize,
    pub taken: Option<usize>,
}

/// The input was shut for `checkpoint` from one event to another.
#[derive(Debug)]
pub struct Block {
    pub checkpoint: CheckpointId,
    pub from: usize,
    pub to: Option<usize>,
}

/// Where an element of the queue is found.
#[derive(Clone, Copy, Debug)]
enum Place {
    Record(usize),
    Event(usize),
}

/// What was taken.
pub enum Taken {
    Record(Record),
    Event(StreamEvent),
    /// The queue has no such place: the log contradicts itself.
    Nothing,
}

impl Lane {
    pub fn new(channel: ChannelId) -> Self {
        Self {
            channel,
            died: None,
            records: Vec::new(),
            events: Vec::new(),
            blocks: Vec::new(),
            queue: VecDeque::new(),
            barriers: BTreeMap::new(),
            ended: None,
        }
    }

    /// Put `element` before what is now at `place` (none: at the end).
    pub fn send(&mut self, element: &StreamElement, sent: usize, place: Option<usize>) {
        let entry = match element {
            StreamElement::Record(record) => {
                self.records.push(Sent {
                    what: record.clone(),
                    sent,
                    taken: None,
                });
                Place::Record(self.records.len() - 1)
            }
            StreamElement::Event(event) => {
                let index = self.events.len();
                match event {
                    StreamEvent::Barrier(barrier) => {
                        self.barriers.entry(barrier.id).or_insert(index);
                    }
                    StreamEvent::EndOfPartition => {
                        self.ended.get_or_insert(sent);
                    }
                    _ => {}
                }
                self.events.push(Sent {
                    what: *event,
                    sent,
                    taken: None,
                });
                Place::Event(self.events.len() - 1)
            }
        };
        let place = place.unwrap_or(self.queue.len()).min(self.queue.len());
        self.queue.insert(place, entry);
    }

    /// The element at `place` of the queue was taken at event `at`.
    pub fn take(&mut self, place: usize, at: usize) -> Taken {
        match self.queue.remove(place) {
            Some(Place::Record(index)) => {
                self.records[index].taken = Some(at);
                Taken::Record(self.records[index].what.clone())
            }
            Some(Place::Event(index)) => {
                self.events[index].taken = Some(at);
                Taken::Event(self.events[index].what)
            }
            None => Taken::Nothing,
        }
    }

    /// The barrier of `checkpoint` moves up to `place`. False: it is not in the queue.
    pub fn promote(&mut self, checkpoint: CheckpointId, place: usize) -> bool {
        let is_it = |entry: &Place| match entry {
            Place::Event(index) => {
                matches!(self.events[*index].what, StreamEvent::Barrier(b) if b.id == checkpoint)
            }
            Place::Record(_) => false,
        };
        let Some(old) = self.queue.iter().position(is_it) else {
            return false;
        };
        if let Some(entry) = self.queue.remove(old) {
            self.queue.insert(place.min(self.queue.len()), entry);
        }
        true
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub fn is_alive_at(&self, at: usize) -> bool {
        self.died.is_none_or(|died| at < died)
    }

    /// All barriers, in the order in which they were sent.
    pub fn barriers(&self) -> impl Iterator<Item = (&CheckpointBarrier, &Sent<StreamEvent>)> {
        self.events.iter().filter_map(|sent| match &sent.what {
            StreamEvent::Barrier(barrier) => Some((barrier, sent)),
            _ => None,
        })
    }

    pub fn barrier(
        &self,
        checkpoint: CheckpointId,
    ) -> Option<(&CheckpointBarrier, &Sent<StreamEvent>)> {
        let sent = &self.events[*self.barriers.get(&checkpoint)?];
        match &sent.what {
            StreamEvent::Barrier(barrier) => Some((barrier, sent)),
            _ => None,
        }
    }

    /// When the last thing was sent that there will ever be.
    pub fn ended(&self) -> Option<usize> {
        self.ended
    }

    /// When `event` was sent.
    pub fn sent_event(&self, event: StreamEvent) -> Option<&Sent<StreamEvent>> {
        self.events.iter().find(|sent| sent.what == event)
    }

    /// How many records were sent before event `at`.
    pub fn sent_before(&self, at: usize) -> usize {
        self.records.partition_point(|record| record.sent < at)
    }

    /// How many records were taken before event `at`. They are taken in order.
    pub fn taken_before(&self, at: usize) -> usize {
        let taken = |record: &Sent<Record>| record.taken.is_some_and(|taken| taken < at);
        self.records.partition_point(taken)
    }
}
