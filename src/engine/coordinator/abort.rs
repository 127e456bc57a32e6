//! Checkpoints that come to nothing.

use super::CheckpointCoordinator;
use super::failures::Failure;
use super::order::Order;
use crate::engine::event::{AbortReason, CheckpointKind, EventKind};
use crate::model::{CheckpointId, SubtaskId};

impl CheckpointCoordinator {
    /// A subtask cannot take part in the checkpoint.
    pub fn on_decline(
        &mut self,
        (subtask, checkpoint): (SubtaskId, CheckpointId),
        reason: AbortReason,
        now_us: u64,
    ) {
        self.record(EventKind::Declined {
            subtask,
            checkpoint,
            reason,
        });
        if self.pending.contains_key(&checkpoint) {
            self.abort(checkpoint, (reason, Some(subtask)));
            self.after_abort(now_us);
        }
    }

    /// The checkpoint's time is over. Nothing happens if it is decided.
    pub(super) fn on_timeout(&mut self, checkpoint: CheckpointId, now_us: u64) {
        if self.pending.contains_key(&checkpoint) {
            self.abort(checkpoint, (AbortReason::Expired, None));
            self.after_abort(now_us);
        }
    }

    /// Delete its state, count the failure, tell the subtasks. `subtask`: who declined it.
    pub(super) fn abort(
        &mut self,
        checkpoint: CheckpointId,
        (reason, subtask): (AbortReason, Option<SubtaskId>),
    ) {
        let Some(kind) = self.drop_pending(checkpoint, reason) else {
            return;
        };
        let cause = self.failures.on_failure(Failure {
            checkpoint,
            kind,
            reason,
            subtask,
        });
        if let Some(cause) = cause {
            self.is_failing = true;
            // Then it is the job that fails, not a region (Flink: `FailJobCallback.failJob`).
            let is_stop = matches!(kind, CheckpointKind::StopWithSavepoint { .. });
            let subtask = subtask.filter(|_| !is_stop);
            self.orders.push(Order::FailJob { cause, subtask });
            self.stop_scheduler();
        }
        self.tell_aborted(checkpoint);
    }

    /// The job is down, or ends: nobody is to blame.
    pub(super) fn give_up(&mut self, checkpoint: CheckpointId) {
        self.drop_pending(checkpoint, AbortReason::CoordinatorSuspend);
        self.tell_aborted(checkpoint);
    }

    fn drop_pending(
        &mut self,
        checkpoint: CheckpointId,
        reason: AbortReason,
    ) -> Option<CheckpointKind> {
        let kind = self.pending.remove(&checkpoint)?.kind;
        self.orders.push(Order::Discard(checkpoint));
        self.record(EventKind::Aborted { checkpoint, reason });
        if kind.is_savepoint() {
            self.orders.push(Order::SavepointDecided {
                kind,
                checkpoint: Some(checkpoint),
                is_complete: false,
            });
        }
        Some(kind)
    }

    fn tell_aborted(&mut self, checkpoint: CheckpointId) {
        let latest = self.store.latest();
        for subtask in self.listening() {
            self.orders.push(Order::NotifyAborted {
                subtask,
                checkpoint,
                latest,
            });
        }
    }

    pub(super) fn after_abort(&mut self, now_us: u64) {
        self.run_queue(now_us);
        self.request_final_if_due(now_us);
    }
}
