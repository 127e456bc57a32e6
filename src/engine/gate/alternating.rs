//! Barriers that overtake, as Flink's `SingleCheckpointBarrierHandler.alternating` handles them.
//!
//! An unaligned barrier begins the snapshot wherever it comes first; the inputs whose barrier is still to come are
//! recorded until it does. A barrier with a deadline is aligned until then: its input waits, as at an
//! [`AlignedGate`](super::AlignedGate). At the deadline (or at the first barrier that overtakes) what is being aligned
//! becomes unaligned: all inputs are opened, and the snapshot begins. Aligned barriers (of savepoints, and on edges where
//! nothing may overtake) stay aligned.

use super::GateAction;
use crate::engine::event::AbortReason;
use crate::model::{Alignment, CheckpointBarrier, CheckpointId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    Open,
    /// Its barrier of the pending checkpoint has arrived, and it waits.
    Blocked,
    /// Its barrier of the pending checkpoint has arrived, and it goes on.
    Reached,
    /// Nothing follows on it.
    Ended,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    barrier: CheckpointBarrier,
    /// The snapshot is taken, and the inputs are recorded.
    has_begun: bool,
}

/// The gate of one subtask.
#[derive(Clone, Debug)]
pub struct AlternatingGate {
    inputs: Vec<Input>,
    pending: Option<Pending>,
    /// The newest checkpoint that was begun, finished or cancelled here; 0 before the first.
    newest: CheckpointId,
    after_tasks_finish: bool,
}

impl AlternatingGate {
    #[must_use]
    pub fn new(inputs: usize, after_tasks_finish: bool) -> Self {
        Self {
            inputs: vec![Input::Open; inputs],
            pending: None,
            newest: CheckpointId(0),
            after_tasks_finish,
        }
    }

    /// The inputs on which something may still come.
    pub fn unfinished_inputs(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.inputs.len()).filter(|input| self.inputs[*input] != Input::Ended)
    }

    /// When the alignment under way becomes unaligned; none: there is none, or it never does.
    #[must_use]
    pub fn deadline_us(&self) -> Option<u64> {
        let pending = self.pending.filter(|pending| !pending.has_begun)?;
        match pending.barrier.alignment {
            Alignment::AlignedUntil { deadline_us } => Some(deadline_us),
            _ => None,
        }
    }

    /// A barrier was taken from `input`. One whose deadline has passed must come as unaligned.
    pub fn on_barrier(&mut self, input: usize, barrier: CheckpointBarrier) -> Vec<GateAction> {
        let mut actions = Vec::new();
        if self.is_obsolete(barrier.id) {
            return actions;
        }
        if let Some(older) = self.pending.filter(|older| older.barrier.id < barrier.id) {
            self.release(&mut actions);
            let reason = AbortReason::DeclinedSubsumed;
            actions.push(GateAction::Abort(older.barrier.id, reason));
        }
        let has_begun = self.pending.is_some_and(|pending| pending.has_begun);
        self.pending.get_or_insert(Pending {
            barrier,
            has_begun: false,
        });
        self.newest = barrier.id;
        if barrier.alignment == Alignment::Unaligned && !has_begun {
            self.begin(&mut actions);
        }
        self.arrive(input, &mut actions);
        actions
    }

    /// The barrier has come from `input`.
    fn arrive(&mut self, input: usize, actions: &mut Vec<GateAction>) {
        let Some(pending) = self.pending else { return };
        let is_first = self.inputs[input] == Input::Open;
        if pending.has_begun {
            if is_first {
                self.inputs[input] = Input::Reached;
                actions.push(GateAction::Reached(input));
            }
            self.complete_if_all_reached(actions);
            return;
        }
        self.inputs[input] = Input::Reached;
        if self.is_open_anywhere() {
            self.inputs[input] = Input::Blocked;
            actions.push(GateAction::Block(input, pending.barrier.id));
        } else {
            actions.push(GateAction::Snapshot(pending.barrier));
            self.release(actions);
        }
    }

    /// Aligned no longer: the snapshot begins now, and what waited goes on.
    fn begin(&mut self, actions: &mut Vec<GateAction>) {
        let Some(pending) = &mut self.pending else {
            return;
        };
        pending.has_begun = true;
        pending.barrier.alignment = Alignment::Unaligned;
        actions.push(GateAction::Begin(pending.barrier));
        for (index, input) in self.inputs.iter_mut().enumerate() {
            match input {
                Input::Blocked => {
                    *input = Input::Reached;
                    actions.push(GateAction::Reached(index));
                    actions.push(GateAction::Unblock(index));
                }
                Input::Ended => actions.push(GateAction::Reached(index)),
                Input::Open | Input::Reached => {}
            }
        }
    }

    /// The time to align is over at `now_us`.
    pub fn on_timeout(&mut self, now_us: u64) -> Vec<GateAction> {
        let mut actions = Vec::new();
        if self
            .deadline_us()
            .is_some_and(|deadline| deadline <= now_us)
        {
            self.begin(&mut actions);
            self.complete_if_all_reached(&mut actions);
        }
        actions
    }

    /// A cancel marker was taken: from whichever input, it ends what is pending of `id`.
    pub fn on_cancel(&mut self, id: CheckpointId) -> Vec<GateAction> {
        let mut actions = Vec::new();
        let is_pending = self.pending.is_some_and(|pending| pending.barrier.id == id);
        if is_pending || id > self.newest {
            self.release(&mut actions);
            self.newest = self.newest.max(id);
            let reason = AbortReason::DeclinedOnCancellationBarrier;
            actions.push(GateAction::Abort(id, reason));
        }
        actions
    }

    /// `input` has ended for good. That may be what was waited for.
    pub fn on_end(&mut self, input: usize) -> Vec<GateAction> {
        let mut actions = Vec::new();
        let was_open = self.inputs[input] == Input::Open;
        self.inputs[input] = Input::Ended;
        let Some(pending) = self.pending else {
            return actions;
        };
        if !self.after_tasks_finish {
            self.release(&mut actions);
            let reason = AbortReason::DeclinedInputEndOfStream;
            actions.push(GateAction::Abort(pending.barrier.id, reason));
        } else if pending.has_begun {
            if was_open {
                actions.push(GateAction::Reached(input));
            }
            self.complete_if_all_reached(&mut actions);
        } else if !self.is_open_anywhere() {
            actions.push(GateAction::Snapshot(pending.barrier));
            self.release(&mut actions);
        }
        actions
    }

    /// Older than what is going on here, or already decided.
    fn is_obsolete(&self, id: CheckpointId) -> bool {
        match self.pending {
            Some(pending) => id < pending.barrier.id,
            None => id <= self.newest,
        }
    }

    fn is_open_anywhere(&self) -> bool {
        self.inputs.contains(&Input::Open)
    }

    fn complete_if_all_reached(&mut self, actions: &mut Vec<GateAction>) {
        let Some(pending) = self.pending.filter(|_| !self.is_open_anywhere()) else {
            return;
        };
        actions.push(GateAction::AllReached(pending.barrier.id));
        self.release(actions);
    }

    /// Nothing is pending any more: open every blocked input, once.
    fn release(&mut self, actions: &mut Vec<GateAction>) {
        self.pending = None;
        for (index, input) in self.inputs.iter_mut().enumerate() {
            if *input == Input::Blocked {
                actions.push(GateAction::Unblock(index));
            }
            if *input != Input::Ended {
                *input = Input::Open;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::GateAction::{Abort, AllReached, Begin, Block, Reached, Snapshot, Unblock};
    use super::*;

    const ID: CheckpointId = CheckpointId(1);

    fn barrier(id: u64, alignment: Alignment) -> CheckpointBarrier {
        let barrier = CheckpointBarrier::aligned(CheckpointId(id), 0);
        CheckpointBarrier {
            alignment,
            ..barrier
        }
    }

    fn unaligned(id: u64) -> CheckpointBarrier {
        barrier(id, Alignment::Unaligned)
    }

    fn until(id: u64, deadline_us: u64) -> CheckpointBarrier {
        barrier(id, Alignment::AlignedUntil { deadline_us })
    }

    #[test]
    fn the_first_barrier_anywhere_begins_and_the_last_one_ends() {
        let mut gate = AlternatingGate::new(3, true);
        assert_eq!(
            gate.on_barrier(1, unaligned(1)),
            [Begin(unaligned(1)), Reached(1)]
        );
        assert_eq!(gate.on_barrier(0, unaligned(1)), [Reached(0)]);
        assert_eq!(
            gate.on_barrier(2, unaligned(1)),
            [Reached(2), AllReached(ID)]
        );
        assert_eq!(gate.on_barrier(2, unaligned(1)), [], "a duplicate is late");
    }

    #[test]
    fn a_single_input_begins_and_ends_at_once() {
        let mut gate = AlternatingGate::new(1, true);
        let all = [Begin(unaligned(1)), Reached(0), AllReached(ID)];
        assert_eq!(gate.on_barrier(0, unaligned(1)), all);
    }

    #[test]
    fn before_its_deadline_a_barrier_is_aligned() {
        let mut gate = AlternatingGate::new(2, true);
        assert_eq!(gate.on_barrier(0, until(1, 50)), [Block(0, ID)]);
        assert_eq!(gate.deadline_us(), Some(50));
        assert_eq!(gate.on_timeout(49), [], "too early");
        assert_eq!(
            gate.on_barrier(1, until(1, 50)),
            [Snapshot(until(1, 50)), Unblock(0)]
        );
        assert_eq!(gate.on_timeout(50), [], "it is over");
    }

    #[test]
    fn at_its_deadline_it_becomes_unaligned() {
        let mut gate = AlternatingGate::new(3, true);
        gate.on_barrier(0, until(1, 50));
        gate.on_end(1);
        assert_eq!(
            gate.on_timeout(50),
            [Begin(unaligned(1)), Reached(0), Unblock(0), Reached(1)]
        );
        assert_eq!(
            gate.on_barrier(2, unaligned(1)),
            [Reached(2), AllReached(ID)]
        );
    }

    #[test]
    fn a_barrier_that_overtook_turns_the_alignment_over() {
        let mut gate = AlternatingGate::new(3, true);
        gate.on_barrier(0, until(1, 50));
        assert_eq!(
            gate.on_barrier(1, unaligned(1)),
            [Begin(unaligned(1)), Reached(0), Unblock(0), Reached(1)]
        );
        assert_eq!(
            gate.on_barrier(2, until(1, 50)),
            [Reached(2), AllReached(ID)]
        );
    }

    #[test]
    fn a_savepoint_is_aligned_however_long_it_takes() {
        let mut gate = AlternatingGate::new(2, true);
        let savepoint = CheckpointBarrier::aligned(ID, 0);
        gate.on_barrier(0, savepoint);
        assert_eq!(gate.deadline_us(), None);
        assert_eq!(gate.on_timeout(u64::MAX), []);
        assert_eq!(
            gate.on_barrier(1, savepoint),
            [Snapshot(savepoint), Unblock(0)]
        );
    }

    #[test]
    fn a_newer_barrier_gives_the_older_checkpoint_up() {
        let mut gate = AlternatingGate::new(2, true);
        gate.on_barrier(0, unaligned(1));
        let abort = Abort(ID, AbortReason::DeclinedSubsumed);
        assert_eq!(
            gate.on_barrier(1, unaligned(2)),
            [abort, Begin(unaligned(2)), Reached(1)]
        );
        assert_eq!(gate.on_barrier(1, unaligned(1)), [], "an older one is late");
        assert_eq!(
            gate.on_barrier(0, unaligned(2)),
            [Reached(0), AllReached(CheckpointId(2))]
        );
    }

    #[test]
    fn a_cancel_marker_ends_alignment_and_recording() {
        let abort = Abort(ID, AbortReason::DeclinedOnCancellationBarrier);
        let mut gate = AlternatingGate::new(2, true);
        gate.on_barrier(0, until(1, 50));
        assert_eq!(gate.on_cancel(ID), [Unblock(0), abort]);
        let mut gate = AlternatingGate::new(2, true);
        gate.on_barrier(0, unaligned(1));
        assert_eq!(gate.on_cancel(ID), [abort]);
        assert_eq!(gate.on_cancel(ID), [], "the second marker is late");
        assert_eq!(gate.on_barrier(1, unaligned(1)), []);
    }

    #[test]
    fn an_ended_input_counts_as_reached() {
        let mut gate = AlternatingGate::new(2, true);
        gate.on_barrier(0, unaligned(1));
        assert_eq!(gate.on_end(1), [Reached(1), AllReached(ID)]);
        let second = [
            Begin(unaligned(2)),
            Reached(1),
            Reached(0),
            AllReached(CheckpointId(2)),
        ];
        assert_eq!(gate.on_barrier(0, unaligned(2)), second);
    }

    #[test]
    fn or_gives_up_what_is_pending() {
        let mut gate = AlternatingGate::new(2, false);
        gate.on_barrier(0, unaligned(1));
        let abort = Abort(ID, AbortReason::DeclinedInputEndOfStream);
        assert_eq!(gate.on_end(1), [abort]);
    }
}
