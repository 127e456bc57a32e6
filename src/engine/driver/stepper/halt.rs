//! The naive algorithm: stop the world, drain it, copy everything, go on. Not Flink's; made for comparing.
//!
//! The coordinator's order to the sources does not reach them: instead all of them pause at once (and end their data, where
//! the job is to be drained). When nothing is in any
//! channel and nobody is busy, every subtask copies its state, and does nothing else until that is written. No barrier
//! is sent and none is needed: there is nothing that one could separate. The sources go on when the checkpoint is
//! complete or given up.

use super::{Action, Stepper};
use crate::engine::event::{EventKind, JobStatus};
use crate::model::{CheckpointBarrier, CheckpointId, CheckpointMode, SubtaskId};

/// The sources pause for this checkpoint.
pub struct Halt {
    barrier: CheckpointBarrier,
    /// Those that had not finished when it began. One that has since declines.
    must_ack: Vec<SubtaskId>,
    is_copied: bool,
}

impl Stepper {
    pub(super) fn stops_the_world(&self) -> bool {
        self.job.config.checkpointing.mode == CheckpointMode::StopTheWorld
    }

    pub(super) fn paused_for(&self) -> impl Iterator<Item = CheckpointId> {
        self.halts.iter().map(|halt| halt.barrier.id)
    }

    /// Whether the sources may emit.
    pub(super) fn is_intake_open(&self) -> bool {
        self.halts.is_empty()
    }

    /// A checkpoint begins (the coordinator triggers each source; the first of these is enough).
    pub(super) fn pause_intake(&mut self, barrier: CheckpointBarrier) {
        let checkpoint = barrier.id;
        if self.halts.iter().any(|halt| halt.barrier.id == checkpoint) {
            return;
        }
        let ids = self.plan.subtasks.iter().map(|plan| plan.id);
        let must_ack = ids
            .filter(|id| !self.coordinator.is_finished(*id))
            .collect();
        self.halts.push(Halt {
            barrier,
            must_ack,
            is_copied: false,
        });
        self.net.record(EventKind::IntakePaused { checkpoint });
        for id in self.all_subtasks() {
            self.turn(id, |subtask, turn| subtask.drain(barrier, turn));
        }
    }

    /// Go on where a checkpoint is complete or given up.
    pub(super) fn resume_intake(&mut self) {
        if self.is_intake_open() {
            return;
        }
        let pending: Vec<CheckpointId> = self.coordinator.pending().collect();
        let is_pending = |halt: &Halt| pending.contains(&halt.barrier.id);
        let (halts, over): (Vec<Halt>, Vec<Halt>) = std::mem::take(&mut self.halts)
            .into_iter()
            .partition(is_pending);
        self.halts = halts;
        for halt in over {
            let checkpoint = halt.barrier.id;
            self.net.record(EventKind::IntakeResumed { checkpoint });
        }
    }

    pub(super) fn add_copies(&self, actions: &mut Vec<(u64, Action)>) {
        let Some(halt) = self.halts.iter().find(|halt| !halt.is_copied) else {
            return;
        };
        let is_drained = self.net.channels.iter().all(|it| it.queue.is_empty());
        if is_drained && self.status == JobStatus::Running {
            let busy_until_us = self.tasks.iter().map(|task| task.busy_until_us);
            let at_us = busy_until_us.max().unwrap_or(0);
            actions.push((at_us, Action::CopyAll(halt.barrier.id)));
        }
    }

    /// Every subtask that has a part in the checkpoint copies its state.
    pub(super) fn copy_all(&mut self, checkpoint: CheckpointId) {
        let mut halts = self.halts.iter_mut();
        let Some(halt) = halts.find(|halt| halt.barrier.id == checkpoint) else {
            return;
        };
        halt.is_copied = true;
        let (barrier, must_ack) = (halt.barrier, halt.must_ack.clone());
        self.net.record(EventKind::Drained { checkpoint });
        for id in must_ack {
            self.turn(id, |subtask, turn| subtask.on_copy(barrier, turn));
        }
    }
}
