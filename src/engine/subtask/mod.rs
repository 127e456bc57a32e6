//! One parallel instance of an operator: a state machine without thread, clock, queue or file.
//!
//! A driver hands it what arrives (records of an input, an event, a trigger, a notification) and it answers through
//! [`Effects`]. Both drivers run this same code; the trait is inlined into each, so that the fast one pays nothing
//! for tracing it does not want.
//!
//! Taking a snapshot is one uninterrupted step, in Flink's order (`SubtaskCheckpointCoordinatorImpl`): the barrier is
//! broadcast first, then the state is captured; nothing can come in between. Writing the captured state is a task that
//! the driver runs whenever it likes.

mod effects;

use std::collections::BTreeSet;

use super::event::AbortReason;
use super::gate::{AlignedGate, GateAction};
use super::operator::Operator;
use super::plan::SubtaskPlan;
use super::router::Router;
use super::state::StateError;
use super::storage::{StorageError, SubtaskState};
use crate::model::{ChannelId, CheckpointBarrier, CheckpointId, Record, StreamEvent};
pub use effects::{Effects, SnapshotTask, TaskFailure, TaskMessage};

/// How far a subtask is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// All input has ended. `confirmed`: a snapshot taken from here on has become part of a completed checkpoint.
    EndOfData {
        confirmed: bool,
    },
    Finished,
}

/// A running subtask.
pub struct Subtask {
    inputs: Vec<ChannelId>,
    operator: Operator,
    gate: AlignedGate,
    router: Router,
    phase: Phase,
    /// Inputs on which the last record has passed.
    ended_inputs: usize,
    /// The newest checkpoint whose snapshot was taken or refused here.
    newest: CheckpointId,
    /// The newest checkpoint that this subtask knows to be complete.
    completed: CheckpointId,
    /// Told to be aborted before their barrier came.
    aborted_early: BTreeSet<CheckpointId>,
    /// Snapshots whose asynchronous part runs, with whether they were taken at the end of data.
    writing: Vec<(CheckpointId, bool)>,
    /// The first snapshot that was taken at the end of data.
    final_from: Option<CheckpointId>,
}

impl Subtask {
    /// `restored`: the checkpoint that `operator`'s state comes from; older barriers are obsolete then.
    #[must_use]
    pub fn new(plan: &SubtaskPlan, operator: Operator, restored: Option<CheckpointId>) -> Self {
        let newest = restored.unwrap_or(CheckpointId(0));
        Self {
            inputs: plan.inputs.clone(),
            operator,
            gate: AlignedGate::new(plan.inputs.len()),
            router: Router::new(plan),
            phase: Phase::Running,
            ended_inputs: 0,
            newest,
            completed: newest,
            aborted_early: BTreeSet::new(),
            writing: Vec::new(),
            final_from: None,
        }
    }

    #[must_use]
    pub fn operator(&self) -> &Operator {
        &self.operator
    }

    #[must_use]
    pub fn is_source(&self) -> bool {
        matches!(self.operator, Operator::Source(_))
    }

    #[must_use]
    pub fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    /// A source's turn: emit up to `max_records`, then, if that was all there is, end the data.
    ///
    /// # Errors
    /// A record could not be routed.
    pub fn poll_source<E: Effects>(
        &mut self,
        max_records: usize,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        let Operator::Source(source) = &mut self.operator else {
            return Ok(());
        };
        if self.phase != Phase::Running {
            return Ok(());
        }
        for _ in 0..max_records {
            let Some(record) = source.emit() else { break };
            out.on_source_advanced(record.origin);
            self.router.route(record, out)?;
        }
        if source.is_exhausted() {
            self.end_of_data(out);
        }
        Ok(())
    }

    /// Records were taken from an input, in order.
    ///
    /// # Errors
    /// A record cannot be processed, or the state backend failed.
    pub fn on_records<E: Effects>(
        &mut self,
        records: impl IntoIterator<Item = Record>,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        self.operator.process(records, &mut self.router, out)
    }

    /// An event was taken from `input`. To a subtask that has finished it is no news: one that was restored as finished
    /// hears the ends of its inputs only afterwards.
    ///
    /// # Errors
    /// The synchronous part of a snapshot failed.
    pub fn on_event<E: Effects>(
        &mut self,
        input: usize,
        event: StreamEvent,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        if self.phase == Phase::Finished {
            return Ok(());
        }
        match event {
            StreamEvent::Barrier(barrier) => {
                let actions = self.gate.on_barrier(input, barrier);
                self.obey(actions, out)
            }
            StreamEvent::CancelCheckpoint(id) => {
                let actions = self.gate.on_cancel(id);
                self.obey(actions, out)
            }
            // Event time is not there yet.
            StreamEvent::Watermark(_) | StreamEvent::Idle | StreamEvent::Active => Ok(()),
            StreamEvent::EndOfData => {
                self.ended_inputs += 1;
                if self.ended_inputs == self.inputs.len() {
                    self.end_of_data(out);
                }
                Ok(())
            }
            StreamEvent::EndOfPartition => {
                let actions = self.gate.on_end(input);
                self.obey(actions, out)?;
                self.finish_if_done(out);
                Ok(())
            }
        }
    }

    /// The coordinator triggers this subtask directly: it has no input, or only such as have ended or will not bring
    /// a barrier any more (those count as if it had arrived).
    ///
    /// # Errors
    /// The synchronous part of the snapshot failed.
    pub fn on_trigger<E: Effects>(
        &mut self,
        barrier: CheckpointBarrier,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        if self.phase == Phase::Finished {
            let reason = AbortReason::DeclinedTaskClosing;
            out.tell(TaskMessage::Decline {
                checkpoint: barrier.id,
                reason,
            });
            return Ok(());
        }
        let unfinished: Vec<usize> = self.gate.unfinished_inputs().collect();
        if unfinished.is_empty() {
            return self.checkpoint(barrier, out);
        }
        for input in unfinished {
            self.on_event(input, StreamEvent::Barrier(barrier), out)?;
        }
        Ok(())
    }

    /// The checkpoint is complete. Older or repeated news changes nothing.
    pub fn on_complete<E: Effects>(&mut self, checkpoint: CheckpointId, out: &mut E) {
        if checkpoint <= self.completed {
            return;
        }
        self.completed = checkpoint;
        let is_final = self.final_from.is_some_and(|first| checkpoint >= first);
        if let Phase::EndOfData { confirmed } = &mut self.phase {
            *confirmed |= is_final;
            self.finish_if_done(out);
        }
    }

    /// The checkpoint was given up; `latest` is the newest complete one, in case that news was missed.
    pub fn on_aborted<E: Effects>(
        &mut self,
        checkpoint: CheckpointId,
        latest: Option<CheckpointId>,
        out: &mut E,
    ) {
        if let Some(latest) = latest {
            self.on_complete(latest, out);
        }
        self.writing.retain(|(id, _)| *id != checkpoint);
        if checkpoint > self.newest {
            self.aborted_early.insert(checkpoint);
        }
    }

    /// Whether the asynchronous part of this checkpoint's snapshot still matters.
    #[must_use]
    pub fn is_writing(&self, checkpoint: CheckpointId) -> bool {
        self.writing.iter().any(|(id, _)| *id == checkpoint)
    }

    /// All outgoing channels.
    pub fn outputs(&self) -> impl Iterator<Item = ChannelId> + '_ {
        self.router.channels()
    }

    /// The asynchronous part ended. Nothing is told to the coordinator if the checkpoint was aborted meanwhile; then the
    /// driver discards what was written. Returns whether the snapshot still matters.
    pub fn on_snapshot_end<E: Effects>(
        &mut self,
        checkpoint: CheckpointId,
        result: Result<SubtaskState, StorageError>,
        out: &mut E,
    ) -> bool {
        let Some(place) = self.writing.iter().position(|(id, _)| *id == checkpoint) else {
            return false;
        };
        let (_, at_end) = self.writing.remove(place);
        out.tell(match result {
            Ok(state) => TaskMessage::Acknowledge {
                checkpoint,
                state,
                at_end,
            },
            Err(_) => TaskMessage::Decline {
                checkpoint,
                reason: AbortReason::AsyncException,
            },
        });
        true
    }

    /// A subtask that had finished before the restored checkpoint: it is finished again at once.
    pub fn finish_restored<E: Effects>(&mut self, out: &mut E) {
        self.router.broadcast(StreamEvent::EndOfData, out);
        self.finish(out);
    }

    fn obey<E: Effects>(
        &mut self,
        actions: Vec<GateAction>,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        for action in actions {
            match action {
                GateAction::Block(input, checkpoint) => out.block(self.inputs[input], checkpoint),
                GateAction::Unblock(input) => out.unblock(self.inputs[input]),
                GateAction::Abort(id, reason) => self.abort(id, reason, out),
                GateAction::Snapshot(barrier) => self.checkpoint(barrier, out)?,
            }
        }
        Ok(())
    }

    /// One uninterrupted step: barrier on, state captured, writing handed over.
    fn checkpoint<E: Effects>(
        &mut self,
        barrier: CheckpointBarrier,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        let checkpoint = barrier.id;
        if checkpoint <= self.newest {
            return Ok(());
        }
        self.newest = checkpoint;
        let aborted = self.aborted_early.contains(&checkpoint);
        self.aborted_early = self
            .aborted_early
            .split_off(&CheckpointId(checkpoint.0 + 1));
        if aborted {
            self.router
                .broadcast(StreamEvent::CancelCheckpoint(checkpoint), out);
            return Ok(());
        }
        self.router.broadcast(StreamEvent::Barrier(barrier), out);
        let task = self.capture(checkpoint)?;
        let at_end = self.phase != Phase::Running;
        if at_end {
            self.final_from.get_or_insert(checkpoint);
        }
        self.writing.push((checkpoint, at_end));
        out.start_snapshot(task, &self.operator);
        Ok(())
    }

    /// The synchronous part of a snapshot.
    fn capture(&mut self, checkpoint: CheckpointId) -> Result<SnapshotTask, StateError> {
        let keyed = self.operator.keyed_mut();
        Ok(SnapshotTask {
            checkpoint,
            keyed: keyed.map(|state| state.snapshot(checkpoint)).transpose()?,
            lists: self.operator.list_states(),
        })
    }

    fn abort<E: Effects>(&mut self, checkpoint: CheckpointId, reason: AbortReason, out: &mut E) {
        if checkpoint <= self.newest {
            return;
        }
        self.newest = checkpoint;
        self.aborted_early.remove(&checkpoint);
        out.tell(TaskMessage::Decline { checkpoint, reason });
        self.router
            .broadcast(StreamEvent::CancelCheckpoint(checkpoint), out);
    }

    fn end_of_data<E: Effects>(&mut self, out: &mut E) {
        self.phase = Phase::EndOfData { confirmed: false };
        self.router.broadcast(StreamEvent::EndOfData, out);
        out.tell(TaskMessage::EndOfData);
    }

    fn finish_if_done<E: Effects>(&mut self, out: &mut E) {
        let inputs_over = self.gate.unfinished_inputs().next().is_none();
        if inputs_over && self.phase == (Phase::EndOfData { confirmed: true }) {
            self.finish(out);
        }
    }

    fn finish<E: Effects>(&mut self, out: &mut E) {
        self.phase = Phase::Finished;
        self.router.broadcast(StreamEvent::EndOfPartition, out);
        out.tell(TaskMessage::Finished);
    }
}
