//! Exactly-once alignment, as Flink's `SingleCheckpointBarrierHandler.aligned` does it.
//!
//! The first barrier of a checkpoint shuts its input; so does each further one, until every input that is still open
//! has delivered it. Then the snapshot is taken and all inputs are opened again. A newer barrier or a cancel marker
//! ends an alignment early; an input that has ended counts as aligned.

use super::GateAction;
use crate::engine::event::AbortReason;
use crate::model::{CheckpointBarrier, CheckpointId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    Open,
    /// Its barrier of the pending checkpoint has arrived.
    Aligned,
    /// Nothing follows on it.
    Ended,
}

/// The gate of one subtask.
#[derive(Clone, Debug)]
pub struct AlignedGate {
    inputs: Vec<Input>,
    pending: Option<CheckpointBarrier>,
    /// The newest checkpoint that was begun, finished or cancelled here; 0 before the first.
    newest: CheckpointId,
    after_tasks_finish: bool,
}

impl AlignedGate {
    /// `after_tasks_finish`: an input that has ended counts as aligned.
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

    /// A barrier was taken from `input`.
    pub fn on_barrier(&mut self, input: usize, barrier: CheckpointBarrier) -> Vec<GateAction> {
        let mut actions = Vec::new();
        if self.is_obsolete(barrier.id) {
            return actions;
        }
        if let Some(older) = self.pending.filter(|pending| pending.id < barrier.id) {
            self.release(&mut actions);
            actions.push(GateAction::Abort(older.id, AbortReason::DeclinedSubsumed));
        }
        self.pending = Some(barrier);
        self.newest = barrier.id;
        self.inputs[input] = Input::Aligned;
        if self.all_aligned() {
            self.complete(&mut actions, Some(input));
        } else {
            actions.push(GateAction::Block(input, barrier.id));
        }
        actions
    }

    /// A cancel marker was taken: from whichever input, it ends the alignment of `id`.
    pub fn on_cancel(&mut self, id: CheckpointId) -> Vec<GateAction> {
        let mut actions = Vec::new();
        let is_pending = self.pending.is_some_and(|pending| pending.id == id);
        if is_pending || id > self.newest {
            self.release(&mut actions);
            self.newest = self.newest.max(id);
            actions.push(GateAction::Abort(
                id,
                AbortReason::DeclinedOnCancellationBarrier,
            ));
        }
        actions
    }

    /// `input` has ended for good. That may be what an alignment was waiting for.
    pub fn on_end(&mut self, input: usize) -> Vec<GateAction> {
        let mut actions = Vec::new();
        self.inputs[input] = Input::Ended;
        let Some(pending) = self.pending else {
            return actions;
        };
        if !self.after_tasks_finish {
            self.release(&mut actions);
            let reason = AbortReason::DeclinedInputEndOfStream;
            actions.push(GateAction::Abort(pending.id, reason));
        } else if self.all_aligned() {
            self.complete(&mut actions, None);
        }
        actions
    }

    /// Older than what is going on here, or already decided.
    fn is_obsolete(&self, id: CheckpointId) -> bool {
        match self.pending {
            Some(pending) => id < pending.id,
            None => id <= self.newest,
        }
    }

    fn all_aligned(&self) -> bool {
        self.inputs.iter().all(|input| *input != Input::Open)
    }

    /// `last` delivered the last barrier and was never blocked.
    fn complete(&mut self, actions: &mut Vec<GateAction>, last: Option<usize>) {
        let Some(barrier) = self.pending else { return };
        actions.push(GateAction::Snapshot(barrier));
        if let Some(last) = last {
            self.inputs[last] = Input::Open;
        }
        self.release(actions);
    }

    /// Open every blocked input, once.
    fn release(&mut self, actions: &mut Vec<GateAction>) {
        self.pending = None;
        for (index, input) in self.inputs.iter_mut().enumerate() {
            if *input == Input::Aligned {
                *input = Input::Open;
                actions.push(GateAction::Unblock(index));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use GateAction::{Abort, Block, Snapshot, Unblock};

    fn barrier(id: u64) -> CheckpointBarrier {
        CheckpointBarrier::aligned(CheckpointId(id), 0)
    }

    #[test]
    fn a_single_input_never_blocks() {
        let mut gate = AlignedGate::new(1, true);
        assert_eq!(gate.on_barrier(0, barrier(1)), [Snapshot(barrier(1))]);
    }

    #[test]
    fn the_last_barrier_takes_the_snapshot_and_opens_the_others() {
        let mut gate = AlignedGate::new(3, true);
        assert_eq!(gate.on_barrier(1, barrier(1)), [Block(1, CheckpointId(1))]);
        assert_eq!(gate.on_barrier(0, barrier(1)), [Block(0, CheckpointId(1))]);
        assert_eq!(
            gate.on_barrier(2, barrier(1)),
            [Snapshot(barrier(1)), Unblock(0), Unblock(1)]
        );
        assert_eq!(gate.on_barrier(2, barrier(2)), [Block(2, CheckpointId(2))]);
    }

    #[test]
    fn a_newer_barrier_preempts_an_older_alignment() {
        let mut gate = AlignedGate::new(2, true);
        gate.on_barrier(0, barrier(1));
        let abort = Abort(CheckpointId(1), AbortReason::DeclinedSubsumed);
        assert_eq!(
            gate.on_barrier(1, barrier(2)),
            [Unblock(0), abort, Block(1, CheckpointId(2))]
        );
        assert_eq!(
            gate.on_barrier(0, barrier(2)),
            [Snapshot(barrier(2)), Unblock(1)]
        );
    }

    #[test]
    fn an_older_barrier_is_ignored() {
        let mut gate = AlignedGate::new(2, true);
        gate.on_barrier(0, barrier(2));
        assert_eq!(gate.on_barrier(1, barrier(1)), []);
        assert_eq!(
            gate.on_barrier(1, barrier(2)),
            [Snapshot(barrier(2)), Unblock(0)]
        );
        assert_eq!(gate.on_barrier(0, barrier(2)), [], "a duplicate is late");
    }

    #[test]
    fn a_cancel_marker_frees_the_inputs_and_later_barriers_start_nothing() {
        let mut gate = AlignedGate::new(2, true);
        gate.on_barrier(0, barrier(1));
        let abort = Abort(CheckpointId(1), AbortReason::DeclinedOnCancellationBarrier);
        assert_eq!(gate.on_cancel(CheckpointId(1)), [Unblock(0), abort]);
        assert_eq!(
            gate.on_cancel(CheckpointId(1)),
            [],
            "the second marker is late"
        );
        assert_eq!(gate.on_barrier(1, barrier(1)), []);
    }

    #[test]
    fn a_cancel_marker_may_come_before_any_barrier() {
        let mut gate = AlignedGate::new(2, true);
        let abort = Abort(CheckpointId(1), AbortReason::DeclinedOnCancellationBarrier);
        assert_eq!(gate.on_cancel(CheckpointId(1)), [abort]);
        assert_eq!(gate.on_barrier(0, barrier(1)), []);
        assert_eq!(gate.on_barrier(0, barrier(2)), [Block(0, CheckpointId(2))]);
    }

    #[test]
    fn an_ended_input_counts_as_aligned() {
        let mut gate = AlignedGate::new(2, true);
        gate.on_barrier(0, barrier(1));
        assert_eq!(gate.on_end(1), [Snapshot(barrier(1)), Unblock(0)]);
        assert_eq!(gate.on_barrier(0, barrier(2)), [Snapshot(barrier(2))]);
        assert_eq!(gate.on_end(0), []);
    }
    /// `execution.checkpointing.checkpoints-after-tasks-finish` is off.
    #[test]
    fn an_ended_input_gives_the_alignment_up_where_tasks_may_not_finish() {
        let mut gate = AlignedGate::new(3, false);
        gate.on_barrier(0, barrier(1));
        let abort = Abort(CheckpointId(1), AbortReason::DeclinedInputEndOfStream);
        assert_eq!(gate.on_end(1), [Unblock(0), abort]);
        assert_eq!(gate.on_barrier(2, barrier(1)), [], "it is given up");
    }
}
