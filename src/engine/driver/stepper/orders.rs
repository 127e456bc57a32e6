//! The coordinator's side of a step: messages from subtasks, storage, and the orders that follow.

use super::net::{ToTask, Turn};
use super::{Stepper, Task};
use crate::engine::coordinator::{Order, Timer};
use crate::engine::driver::faults::injected;
use crate::engine::driver::places::{discard_failed, told};
use crate::engine::driver::torn::TornStorage;
use crate::engine::event::{EventKind, JobStatus};
use crate::engine::storage::{StorageError, SubtaskState};
use crate::engine::subtask::{SnapshotTask, TaskMessage};
use crate::model::{CheckpointId, FaultKind, SubtaskId};

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
            TaskMessage::Finished => self.coordinator.on_finished(subtask, now_us),
        }
        self.obey();
        if self.coordinator.all_finished() && !self.status.is_terminal() {
            self.end(JobStatus::Finished);
        }
    }

    /// Do what the coordinator ordered, until it has no more to say.
    ///
    /// An order may end in another call of this (a savepoint that cancels the job): what was ordered before still comes
    /// first.
    pub(super) fn obey(&mut self) {
        loop {
            self.orders.extend(self.coordinator.take_orders());
            let Some(order) = self.orders.pop_front() else {
                return self.resume_intake();
            };
            self.obey_one(order);
        }
    }

    fn obey_one(&mut self, order: Order) {
        match order {
            Order::Begin { checkpoint, kind } => {
                let is_made = self.make_place(checkpoint, kind);
                let now_us = self.net.now_us;
                self.coordinator.on_location(checkpoint, is_made, now_us);
            }
            Order::Trigger { barrier, .. } if self.stops_the_world() => self.pause_intake(barrier),
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
            Order::RetainShared { keep, before } => {
                let failure = self.places.retain_shared(&keep, before);
                failure.into_iter().for_each(|event| self.net.record(event));
            }
            Order::DiscardStart => self.discard_start(),
            Order::SavepointDecided {
                checkpoint,
                is_complete,
                ..
            } => self.savepoint_decided(checkpoint, is_complete),
            Order::FailJob { cause, subtask } => self.fail(subtask.as_slice(), &cause),
            Order::Record(event) => self.net.record(event),
        }
    }

    fn discard(&mut self, checkpoint: CheckpointId) {
        self.net.finalizing.remove(&checkpoint);
        if let Some(event) = self.places.discard(checkpoint) {
            self.net.record(event);
        }
    }

    /// The snapshot that the run was started from was the run's own, and is subsumed.
    fn discard_start(&mut self) {
        if let Some(start) = &self.resources.start {
            let id = start.checkpoint;
            if let Err(error) = start.storage.discard(id) {
                self.net.record(discard_failed(id, &error));
            }
        }
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
        let result = self.write(id, write.task, &owner);
        self.net.record(match &result {
            Ok(_) => EventKind::SnapshotWritten {
                subtask: id,
                checkpoint,
            },
            Err(error) => EventKind::SnapshotFailed {
                subtask: id,
                checkpoint,
                reason: told(error, &*self.places.of(checkpoint)),
            },
        });
        self.turn(id, |subtask, turn: &mut Turn<'_>| {
            subtask.on_snapshot_end(checkpoint, result, turn);
            Ok(())
        });
    }

    /// Write it, unless a fault strikes.
    fn write(
        &mut self,
        id: SubtaskId,
        task: SnapshotTask,
        owner: &str,
    ) -> Result<SubtaskState, StorageError> {
        let is_meant = |kind| {
            matches!(
                kind,
                FaultKind::AsyncPart | FaultKind::StorageError | FaultKind::TornWrite
            )
        };
        let storage = self.places.of(task.checkpoint);
        match self.net.strike(Some(id), is_meant) {
            None => task.write(owner, &*storage),
            Some(FaultKind::TornWrite) => task.write(owner, &TornStorage(&*storage)),
            Some(FaultKind::AsyncPart) => Err(injected("serialize", owner)),
            Some(_) => Err(injected("write", owner)),
        }
    }

    pub(super) fn finalize(&mut self, checkpoint: CheckpointId) {
        let Some((_, metadata)) = self.net.finalizing.remove(&checkpoint) else {
            return;
        };
        let is_meant = |kind| kind == FaultKind::Metadata;
        let written = if self.net.strike(None, is_meant).is_some() {
            false
        } else {
            let failure = self.places.write_metadata(&metadata);
            let is_written = failure.is_none();
            failure.into_iter().for_each(|event| self.net.record(event));
            is_written
        };
        self.coordinator
            .on_metadata(checkpoint, written, self.net.now_us);
        self.obey();
    }

    pub(super) fn coordinator_timer(&mut self, timer: Timer) {
        self.coordinator.on_timer(timer, self.net.now_us);
        self.obey();
    }
}
