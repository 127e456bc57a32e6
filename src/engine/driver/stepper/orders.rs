//! The coordinator's side of a step: messages from subtasks, storage, and the orders that follow.

use super::net::{ToTask, Turn};
use super::{Stepper, Task};
use crate::engine::coordinator::Order;
use crate::engine::event::{EventKind, JobStatus};
use crate::engine::storage::CheckpointStorage;
use crate::engine::subtask::TaskMessage;
use crate::model::{CheckpointId, SubtaskId};

impl Stepper {
    pub(super) fn deliver_to_coordinator(&mut self, subtask: SubtaskId) {
        let now_us = self.net.now_us;
        let Some((_, message)) = self.net.to_coordinator[subtask.index()].pop_front() else {
            return;
        };
        match message {
            TaskMessage::Acknowledge {
                checkpoint,
                state,
                at_end,
            } => self
                .coordinator
                .on_ack((subtask, checkpoint), state, at_end),
            TaskMessage::Decline { checkpoint, reason } => {
                self.coordinator
                    .on_decline((subtask, checkpoint), reason, now_us);
            }
            TaskMessage::EndOfData => self.coordinator.on_end_of_data(subtask, now_us),
            TaskMessage::Finished => self.coordinator.on_finished(subtask),
        }
        self.obey();
        if self.coordinator.all_finished() {
            self.set_status(JobStatus::Finished);
        }
    }

    /// Do what the coordinator ordered, until it has no more to say.
    pub(super) fn obey(&mut self) {
        loop {
            let orders = self.coordinator.take_orders();
            if orders.is_empty() {
                return;
            }
            for order in orders {
                self.obey_one(order);
            }
        }
    }

    fn obey_one(&mut self, order: Order) {
        match order {
            Order::Begin {
                checkpoint,
                timeout_us,
            } => {
                // Where no room can be made, every later write fails and says so.
                let _ = self.storage().begin(checkpoint);
                self.net.timeouts.insert(checkpoint, timeout_us);
            }
            Order::Trigger { subtask, barrier } => {
                self.net.tell_task(subtask, ToTask::Trigger(barrier));
            }
            Order::NotifyComplete {
                subtask,
                checkpoint,
            } => self.net.tell_task(subtask, ToTask::Complete(checkpoint)),
            Order::NotifyAborted {
                subtask,
                checkpoint,
                latest,
            } => self
                .net
                .tell_task(subtask, ToTask::Aborted { checkpoint, latest }),
            Order::WriteMetadata(metadata) => {
                let ready_us = self
                    .net
                    .now_us
                    .saturating_add(self.net.costs.snapshot_async_us);
                self.net
                    .finalizing
                    .insert(metadata.checkpoint, (ready_us, metadata));
            }
            Order::Discard(checkpoint) => self.discard(checkpoint),
            Order::FailJob(cause) => self.fail(None, &cause),
            Order::Record(event) => {
                if let EventKind::Completed { checkpoint } = event {
                    self.net.timeouts.remove(&checkpoint);
                }
                self.net.record(event);
            }
        }
    }

    fn storage(&self) -> &dyn CheckpointStorage {
        &*self.resources.storage
    }

    fn discard(&mut self, checkpoint: CheckpointId) {
        self.net.timeouts.remove(&checkpoint);
        self.net.finalizing.remove(&checkpoint);
        // What cannot be deleted is never read again, and goes with the run's folder.
        let _ = self.storage().discard(checkpoint);
    }

    /// The asynchronous part of a snapshot really runs now: at its modelled end, long after the state may have
    /// changed.
    pub(super) fn finish_write(&mut self, index: usize) {
        let write = self.net.writes.remove(index);
        let (id, checkpoint) = (write.subtask, write.task.checkpoint);
        let still_wanted = |task: &Task| {
            task.subtask
                .as_ref()
                .is_some_and(|subtask| subtask.is_writing(checkpoint))
        };
        if !still_wanted(&self.tasks[id.index()]) {
            return;
        }
        let plan = self.plan.subtask(id);
        let owner = format!("{}-{}", plan.uid, plan.index);
        let result = write.task.write(&owner, self.storage());
        self.net.record(match &result {
            Ok(_) => EventKind::SnapshotWritten {
                subtask: id,
                checkpoint,
            },
            Err(error) => EventKind::SnapshotFailed {
                subtask: id,
                checkpoint,
                reason: error.to_string(),
            },
        });
        self.turn(id, |subtask, turn: &mut Turn<'_>| {
            subtask.on_snapshot_end(checkpoint, result, turn);
            Ok(())
        });
    }

    pub(super) fn finalize(&mut self, checkpoint: CheckpointId) {
        let Some((_, metadata)) = self.net.finalizing.remove(&checkpoint) else {
            return;
        };
        let written = self.storage().write_metadata(&metadata).is_ok();
        self.coordinator
            .on_metadata(checkpoint, written, self.net.now_us);
        self.obey();
    }

    pub(super) fn expire(&mut self, checkpoint: CheckpointId) {
        self.net.timeouts.remove(&checkpoint);
        self.coordinator.on_timeout(checkpoint, self.net.now_us);
        self.obey();
    }
}
