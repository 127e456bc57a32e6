//! Which barriers overtake records, and which records they overtake: told from the order of a channel's queue and
//! when its elements were sent.

use std::collections::VecDeque;

use crate::model::CheckpointId;
use crate::recording::view::InFlight;

/// How an element of a channel stands to a barrier that overtakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// It keeps its place in the row.
    Keeps,
    /// A barrier that is before elements sent earlier: it goes past the row.
    Overtakes,
    /// It was sent earlier than this barrier and stands behind it: it becomes part of that checkpoint.
    Overtaken(CheckpointId),
}

/// The same for all of a channel, head first.
#[must_use]
pub fn passing(queue: &VecDeque<InFlight>) -> Vec<Passing> {
    let mut found = vec![Passing::Keeps; queue.len()];
    let barriers = queue
        .iter()
        .enumerate()
        .filter_map(|(place, item)| Some((place, item.barrier()?, item.sent_us)));
    for (place, checkpoint, sent_us) in barriers {
        for (later, item) in queue.iter().enumerate().skip(place + 1) {
            if item.sent_us < sent_us && item.barrier().is_none() {
                found[place] = Passing::Overtakes;
                found[later] = Passing::Overtaken(checkpoint);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CheckpointBarrier, StreamElement, StreamEvent};

    fn item(sent_us: u64, barrier: Option<u64>) -> InFlight {
        let event = match barrier {
            Some(id) => StreamEvent::Barrier(CheckpointBarrier::aligned(CheckpointId(id), sent_us)),
            None => StreamEvent::Idle,
        };
        InFlight {
            element: StreamElement::Event(event),
            sent_us,
            ready_us: sent_us + 100,
        }
    }

    #[test]
    fn a_barrier_before_what_was_sent_earlier_overtakes_it() {
        let queue = [
            item(30, Some(1)),
            item(10, None),
            item(20, None),
            item(40, None),
        ];
        assert_eq!(
            passing(&queue.into()),
            [
                Passing::Overtakes,
                Passing::Overtaken(CheckpointId(1)),
                Passing::Overtaken(CheckpointId(1)),
                Passing::Keeps
            ]
        );
    }

    #[test]
    fn a_barrier_in_its_row_overtakes_nothing() {
        let queue = [
            item(10, None),
            item(20, Some(1)),
            item(30, None),
            item(40, Some(2)),
        ];
        assert_eq!(passing(&queue.into()), [Passing::Keeps; 4]);
    }
}
