//! Barrier handling at least once, as Flink's `CheckpointBarrierTracker` does it.
//!
//! Barriers are only counted, and no input ever waits: a record behind a barrier is processed at once, becomes part of
//! the snapshot that is taken when the last barrier has come, and is replayed all the same after a restore.

use std::collections::{BTreeSet, VecDeque};

use super::GateAction;
use crate::engine::event::AbortReason;
use crate::model::{CheckpointBarrier, CheckpointId};

/// Of more checkpoints than these the oldest is forgotten (Flink: `MAX_CHECKPOINTS_TO_TRACK`).
pub const MAX_TRACKED: usize = 50;

/// One checkpoint whose barriers are being counted.
#[derive(Clone, Debug)]
struct Count {
    id: CheckpointId,
    /// None: known from a cancel marker only.
    barrier: Option<CheckpointBarrier>,
    missing: BTreeSet<usize>,
    /// Given up here; the rest of its barriers is still counted, so that it is known when none can follow.
    is_aborted: bool,
}

/// The gate of one subtask.
#[derive(Clone, Debug)]
pub struct BarrierTracker {
    open: BTreeSet<usize>,
    /// Oldest first.
    pending: VecDeque<Count>,
    /// The newest checkpoint that was ever counted; 0 before the first.
    newest: CheckpointId,
    after_tasks_finish: bool,
}

impl BarrierTracker {
    #[must_use]
    pub fn new(inputs: usize, after_tasks_finish: bool) -> Self {
        Self {
            open: (0..inputs).collect(),
            pending: VecDeque::new(),
            newest: CheckpointId(0),
            after_tasks_finish,
        }
    }

    /// The inputs on which something may still come.
    pub fn unfinished_inputs(&self) -> impl Iterator<Item = usize> + '_ {
        self.open.iter().copied()
    }

    /// A barrier was taken from `input`.
    pub fn on_barrier(&mut self, input: usize, barrier: CheckpointBarrier) -> Vec<GateAction> {
        if self.place(barrier.id).is_none() && barrier.id > self.newest {
            self.track(barrier.id);
        }
        let mut actions = Vec::new();
        if let Some(place) = self.place(barrier.id) {
            self.pending[place].barrier.get_or_insert(barrier);
            self.count(place, input, &mut actions);
        }
        actions
    }

    /// A cancel marker was taken from `input`: older checkpoints cannot complete any more either.
    pub fn on_cancel(&mut self, input: usize, id: CheckpointId) -> Vec<GateAction> {
        let mut actions = Vec::new();
        while let Some(older) = self.pending.pop_front_if(|first| first.id < id) {
            give_up(&older, &mut actions);
        }
        if self.place(id).is_none() && id > self.newest {
            self.track(id);
        }
        if let Some(place) = self.place(id) {
            give_up(&self.pending[place], &mut actions);
            self.pending[place].is_aborted = true;
            self.count(place, input, &mut actions);
        }
        actions
    }

    /// `input` has ended for good. That may be what checkpoints were waiting for.
    pub fn on_end(&mut self, input: usize) -> Vec<GateAction> {
        self.open.remove(&input);
        let mut actions = Vec::new();
        if !self.after_tasks_finish {
            for count in std::mem::take(&mut self.pending) {
                if !count.is_aborted {
                    let reason = AbortReason::DeclinedInputEndOfStream;
                    actions.push(GateAction::Abort(count.id, reason));
                }
            }
            return actions;
        }
        let ids: Vec<CheckpointId> = self.pending.iter().map(|count| count.id).collect();
        for id in ids {
            if let Some(place) = self.place(id) {
                self.count(place, input, &mut actions);
            }
        }
        actions
    }

    fn place(&self, id: CheckpointId) -> Option<usize> {
        self.pending.iter().position(|count| count.id == id)
    }

    fn track(&mut self, id: CheckpointId) {
        self.newest = id;
        self.pending.push_back(Count {
            id,
            barrier: None,
            missing: self.open.clone(),
            is_aborted: false,
        });
        if self.pending.len() > MAX_TRACKED {
            self.pending.pop_front();
        }
    }

    /// The barrier (or its marker, or the end) has come from `input`. After the last one, the older checkpoints are
    /// dropped without a word.
    fn count(&mut self, place: usize, input: usize, actions: &mut Vec<GateAction>) {
        let count = &mut self.pending[place];
        count.missing.remove(&input);
        if !count.missing.is_empty() {
            return;
        }
        let done = self.pending.drain(..=place).next_back();
        if let Some(barrier) = done
            .filter(|count| !count.is_aborted)
            .and_then(|c| c.barrier)
        {
            actions.push(GateAction::Snapshot(barrier));
        }
    }
}

fn give_up(count: &Count, actions: &mut Vec<GateAction>) {
    if !count.is_aborted {
        let reason = AbortReason::DeclinedOnCancellationBarrier;
        actions.push(GateAction::Abort(count.id, reason));
    }
}

#[cfg(test)]
mod tests {
    use super::GateAction::{Abort, Snapshot};
    use super::*;

    fn barrier(id: u64) -> CheckpointBarrier {
        CheckpointBarrier::aligned(CheckpointId(id), 0)
    }

    fn canceled(id: u64) -> GateAction {
        Abort(CheckpointId(id), AbortReason::DeclinedOnCancellationBarrier)
    }

    #[test]
    fn nothing_waits_and_the_last_barrier_takes_the_snapshot() {
        let mut gate = BarrierTracker::new(2, true);
        assert_eq!(gate.on_barrier(0, barrier(1)), []);
        assert_eq!(gate.on_barrier(1, barrier(1)), [Snapshot(barrier(1))]);
        assert_eq!(gate.on_barrier(1, barrier(1)), [], "a duplicate is late");
    }

    #[test]
    fn older_checkpoints_are_dropped_without_a_word() {
        let mut gate = BarrierTracker::new(2, true);
        gate.on_barrier(0, barrier(1));
        gate.on_barrier(0, barrier(2));
        assert_eq!(gate.on_barrier(1, barrier(2)), [Snapshot(barrier(2))]);
        assert_eq!(gate.on_barrier(1, barrier(1)), []);
    }

    #[test]
    fn two_checkpoints_are_counted_side_by_side() {
        let mut gate = BarrierTracker::new(2, true);
        gate.on_barrier(0, barrier(1));
        gate.on_barrier(0, barrier(2));
        assert_eq!(gate.on_barrier(1, barrier(1)), [Snapshot(barrier(1))]);
        assert_eq!(gate.on_barrier(1, barrier(2)), [Snapshot(barrier(2))]);
    }

    #[test]
    fn at_most_fifty_are_tracked() {
        let mut gate = BarrierTracker::new(2, true);
        for id in 1..=51 {
            gate.on_barrier(0, barrier(id));
        }
        assert_eq!(gate.on_barrier(1, barrier(1)), [], "forgotten");
        assert_eq!(gate.on_barrier(1, barrier(2)), [Snapshot(barrier(2))]);
    }

    #[test]
    fn a_cancel_marker_gives_up_its_checkpoint_and_the_older_ones_once() {
        let mut gate = BarrierTracker::new(3, true);
        gate.on_barrier(0, barrier(1));
        gate.on_barrier(0, barrier(2));
        assert_eq!(
            gate.on_cancel(1, CheckpointId(2)),
            [canceled(1), canceled(2)]
        );
        assert_eq!(gate.on_cancel(2, CheckpointId(2)), []);
        assert_eq!(gate.on_barrier(1, barrier(1)), []);
    }

    #[test]
    fn a_cancel_marker_may_come_before_any_barrier() {
        let mut gate = BarrierTracker::new(2, true);
        assert_eq!(gate.on_cancel(0, CheckpointId(1)), [canceled(1)]);
        assert_eq!(gate.on_barrier(1, barrier(1)), []);
        gate.on_barrier(0, barrier(2));
        assert_eq!(gate.on_barrier(1, barrier(2)), [Snapshot(barrier(2))]);
    }

    #[test]
    fn an_ended_input_counts() {
        let mut gate = BarrierTracker::new(2, true);
        gate.on_barrier(0, barrier(1));
        assert_eq!(gate.on_end(1), [Snapshot(barrier(1))]);
        assert_eq!(gate.on_barrier(0, barrier(2)), [Snapshot(barrier(2))]);
    }

    #[test]
    fn or_gives_up_what_is_pending() {
        let mut gate = BarrierTracker::new(2, false);
        gate.on_barrier(0, barrier(1));
        let abort = Abort(CheckpointId(1), AbortReason::DeclinedInputEndOfStream);
        assert_eq!(gate.on_end(1), [abort]);
    }
}
