//! Requests for checkpoints that cannot begin yet (Flink: `CheckpointRequestDecider`'s queue).

use std::collections::BTreeMap;

use crate::engine::event::CheckpointKind;

/// Flink's bound on waiting requests.
pub const MAX_QUEUED_REQUESTS: usize = 1000;

/// A request for a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub kind: CheckpointKind,
    /// It may begin although as many as allowed are pending: a savepoint, unless checkpoints are unaligned.
    pub is_forced: bool,
    pub at_us: u64,
}

impl Request {
    #[must_use]
    pub fn is_periodic(&self) -> bool {
        self.kind == CheckpointKind::Periodic
    }
}

/// Smaller goes first: savepoints, then forced ones, then those asked for, then the older ones. The last number keeps
/// those of one moment in the order of asking.
type Rank = (bool, bool, bool, u64, u64);

/// What became of a request that was put into the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It waits, under this number.
    Queued(u64),
    /// The queue was full; the last in it is dropped. That may be the new one.
    Dropped(CheckpointKind),
    /// The queue is full of requests that a person made; those stay.
    TurnedAway,
}

/// The waiting requests, first to begin first.
#[derive(Clone, Debug, Default)]
pub struct RequestQueue {
    requests: BTreeMap<Rank, Request>,
    asked: u64,
}

impl RequestQueue {
    pub fn add(&mut self, request: Request) -> Admission {
        let is_full = self.requests.len() >= MAX_QUEUED_REQUESTS;
        let last = self.requests.values().next_back();
        if is_full && last.is_some_and(|last| !last.is_periodic()) {
            return Admission::TurnedAway;
        }
        self.asked += 1;
        let rank = (
            !request.kind.is_savepoint(),
            !request.is_forced,
            request.is_periodic(),
            request.at_us,
            self.asked,
        );
        self.requests.insert(rank, request);
        if self.requests.len() > MAX_QUEUED_REQUESTS
            && let Some((_, dropped)) = self.requests.pop_last()
        {
            return Admission::Dropped(dropped.kind);
        }
        Admission::Queued(self.asked)
    }

    /// Whether the request of this number still waits.
    #[must_use]
    pub fn is_waiting(&self, number: u64) -> bool {
        self.requests.keys().any(|rank| rank.4 == number)
    }

    #[must_use]
    pub fn first(&self) -> Option<Request> {
        self.requests.values().next().copied()
    }

    pub fn pop(&mut self) -> Option<Request> {
        self.requests.pop_first().map(|(_, request)| request)
    }

    pub fn iter(&self) -> impl Iterator<Item = CheckpointKind> + '_ {
        self.requests.values().map(|request| request.kind)
    }

    /// Drop those that `unwanted` names.
    pub fn remove(&mut self, unwanted: impl Fn(CheckpointKind) -> bool) -> Vec<CheckpointKind> {
        let ranks = self.requests.iter();
        let gone: Vec<Rank> = ranks
            .filter(|(_, request)| unwanted(request.kind))
            .map(|(rank, _)| *rank)
            .collect();
        gone.iter()
            .filter_map(|rank| self.requests.remove(rank))
            .map(|request| request.kind)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SavepointFormat;

    fn request(kind: CheckpointKind, is_forced: bool, at_us: u64) -> Request {
        Request {
            kind,
            is_forced,
            at_us,
        }
    }

    /// Flink's order: savepoints, forced, non-periodic, time.
    #[test]
    fn the_order_of_requests_is_flinks() {
        let savepoint = CheckpointKind::Savepoint(SavepointFormat::Canonical);
        let asked = [
            request(CheckpointKind::Periodic, false, 1),
            request(CheckpointKind::Manual, false, 3),
            request(CheckpointKind::Manual, false, 2),
            request(savepoint, false, 5),
            request(savepoint, true, 6),
            request(CheckpointKind::Periodic, true, 7),
        ];
        let mut queue = RequestQueue::default();
        for one in asked {
            assert!(matches!(queue.add(one), Admission::Queued(_)));
        }
        let order: Vec<u64> = std::iter::from_fn(|| queue.pop())
            .map(|r| r.at_us)
            .collect();
        assert_eq!(order, [6, 5, 7, 2, 3, 1]);
    }

    #[test]
    fn a_full_queue_drops_the_last_which_is_periodic_first() {
        let mut queue = RequestQueue::default();
        for at_us in 0..1000 {
            queue.add(request(CheckpointKind::Periodic, false, at_us));
        }
        let dropped = Admission::Dropped(CheckpointKind::Periodic);
        assert_eq!(
            queue.add(request(CheckpointKind::Periodic, false, 2000)),
            dropped
        );
        assert_eq!(
            queue.add(request(CheckpointKind::Manual, false, 3000)),
            dropped
        );
        assert_eq!(queue.iter().count(), MAX_QUEUED_REQUESTS);
        assert_eq!(queue.first().map(|first| first.at_us), Some(3000));
        for _ in 0..999 {
            queue.add(request(CheckpointKind::Manual, false, 4000));
        }
        let one_more = request(CheckpointKind::Manual, false, 1);
        assert_eq!(queue.add(one_more), Admission::TurnedAway);
    }
}
