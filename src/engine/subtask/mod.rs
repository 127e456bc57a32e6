//! One parallel instance of an operator: a state machine without thread, clock, queue or file.
//!
//! A driver hands it what arrives (records of an input, an event, a trigger, a notification) and it answers through
//! [`Effects`]. Both drivers run this same code; the trait is inlined into each, so that the fast one pays nothing
//! for tracing it does not want.
//!
//! Taking a snapshot is one uninterrupted step, in Flink's order (`SubtaskCheckpointCoordinatorImpl`): the barrier is
//! broadcast first, then the state is captured; nothing can come in between. Writing the captured state is a task that
//! the driver runs whenever it likes.

mod barriers;
mod effects;
mod recording;
mod time;
mod valve;

use std::collections::BTreeSet;

use super::gate::Gate;
use super::operator::Operator;
use super::plan::SubtaskPlan;
use super::router::Router;
use crate::model::{ChannelId, CheckpointId, Record, StreamEvent};
pub use effects::{Effects, SnapshotTask, TaskFailure, TaskMessage};
use recording::Recording;
use valve::WatermarkValve;

/// How far a subtask is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// So many restored records must be processed before anything else (Flink: `INITIALIZING`).
    Initializing {
        records: usize,
    },
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
    gate: Gate,
    /// Otherwise the end of the data is the end.
    after_tasks_finish: bool,
    router: Router,
    valve: WatermarkValve,
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
    /// The unaligned checkpoint whose last barriers are still to come.
    recording: Option<Recording>,
    /// The savepoint that the job stops with: after its snapshot nothing more is processed.
    stopping: Option<CheckpointId>,
}

impl Subtask {
    /// Where a source's own clock enters the valve: it has no other input.
    const OWN_TIME: usize = 0;

    /// `restored`: the checkpoint that `operator`'s state comes from; older barriers are obsolete then.
    #[must_use]
    pub fn new(plan: &SubtaskPlan, operator: Operator, restored: Option<CheckpointId>) -> Self {
        let newest = restored.unwrap_or(CheckpointId(0));
        Self {
            inputs: plan.inputs.clone(),
            operator,
            gate: Gate::new(plan.gate, plan.inputs.len()),
            after_tasks_finish: plan.gate.after_tasks_finish,
            router: Router::new(plan),
            valve: WatermarkValve::new(plan.inputs.len().max(1)),
            phase: Phase::Running,
            ended_inputs: 0,
            newest,
            completed: newest,
            aborted_early: BTreeSet::new(),
            writing: Vec::new(),
            final_from: None,
            recording: None,
            stopping: None,
        }
    }

    /// Begin with `records` restored ones on the inputs: until they are processed, the subtask does not count as running.
    pub fn recover(&mut self, records: usize) {
        if records > 0 {
            self.phase = Phase::Initializing { records };
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

    /// Whether it still processes restored records.
    #[must_use]
    pub fn is_initializing(&self) -> bool {
        matches!(self.phase, Phase::Initializing { .. })
    }

    /// How many restored records it must process before it counts as running.
    #[must_use]
    pub fn restored_left(&self) -> usize {
        match self.phase {
            Phase::Initializing { records } => records,
            _ => 0,
        }
    }

    /// Whether it is a source that may emit.
    #[must_use]
    pub fn is_reading(&self) -> bool {
        self.is_source() && self.is_running() && self.stopping.is_none()
    }

    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    /// Before anything else: the operator begins with what it was restored with.
    ///
    /// # Errors
    /// A transaction of the restored checkpoint cannot be committed.
    pub fn open<E: Effects>(&mut self, out: &mut E) -> Result<(), TaskFailure> {
        self.operator.open(out)
    }

    /// The task fails or is canceled, in good order: nothing of it goes on (Flink: `close`).
    pub fn close<E: Effects>(&mut self, out: &mut E) {
        self.operator.close(out);
    }

    /// A source's turn: emit up to `max_records`, then the watermark that follows from them (Flink sends it at intervals);
    /// then, if that was all there is, end the data.
    ///
    /// # Errors
    /// A record could not be routed.
    pub fn poll_source<E: Effects>(
        &mut self,
        max_records: usize,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        if !self.is_reading() {
            return Ok(());
        }
        self.wake(out)?;
        let Operator::Source(source) = &mut self.operator else {
            return Ok(());
        };
        for _ in 0..max_records {
            let Some(record) = source.emit() else { break };
            out.on_source_advanced(record.origin);
            self.router.route(record, out)?;
        }
        let is_over = source.is_exhausted();
        self.tick(out)?;
        if is_over {
            self.end_event_time(out)?;
            self.end_of_data(out);
        }
        Ok(())
    }

    /// A record was taken from `input`, where records may become part of a checkpoint on their way.
    ///
    /// # Errors
    /// As [`Subtask::on_records`].
    pub fn on_record<E: Effects>(
        &mut self,
        input: usize,
        record: Record,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        if let Some(recording) = &mut self.recording {
            recording.note(input, &record);
        }
        self.on_records(input, [record], out)?;
        if let Phase::Initializing { records } = &mut self.phase {
            *records -= 1;
            if *records == 0 {
                self.phase = Phase::Running;
            }
        }
        Ok(())
    }

    /// Records were taken from `input`, in order.
    ///
    /// # Errors
    /// A record cannot be processed, or the state backend failed.
    pub fn on_records<E: Effects>(
        &mut self,
        input: usize,
        records: impl IntoIterator<Item = Record>,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        self.operator
            .process((input, records), &mut self.router, out)
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
                let actions = self.gate.on_cancel(input, id);
                self.obey(actions, out)
            }
            StreamEvent::Watermark(watermark) => {
                let output = self.valve.on_watermark(input, watermark);
                self.pass(output, out)
            }
            StreamEvent::Idle => {
                let outputs = self.valve.on_idle(input);
                self.pass(outputs, out)
            }
            StreamEvent::Active => {
                let output = self.valve.on_active(input);
                self.pass(output, out)
            }
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

    /// The checkpoint is complete. Older or repeated news changes nothing.
    ///
    /// # Errors
    /// A sink could not commit.
    pub fn on_complete<E: Effects>(
        &mut self,
        checkpoint: CheckpointId,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        if checkpoint <= self.completed {
            return Ok(());
        }
        self.completed = checkpoint;
        if let Some(backend) = self.operator.keyed_mut() {
            backend.on_complete(checkpoint);
        }
        self.operator.on_complete(checkpoint, out)?;
        if self.stopping == Some(checkpoint) {
            self.stopping = None;
            self.finish(out);
            return Ok(());
        }
        // Whoever has stopped waits for the news of that savepoint and no other (Flink: `isCurrentSyncSavepoint`): had it
        // failed, and that news been lost, a later checkpoint would end what must go on.
        let is_final =
            self.stopping.is_none() && self.final_from.is_some_and(|first| checkpoint >= first);
        if let Phase::EndOfData { confirmed } = &mut self.phase {
            *confirmed |= is_final;
            self.finish_if_done(out);
        }
        Ok(())
    }

    /// All outgoing channels.
    pub fn outputs(&self) -> impl Iterator<Item = ChannelId> + '_ {
        self.router.channels()
    }

    /// A subtask that had finished before the restored checkpoint: it is finished again at once.
    ///
    /// # Errors
    /// None by itself; as for any change of the watermark.
    pub fn finish_restored<E: Effects>(&mut self, out: &mut E) -> Result<(), TaskFailure> {
        self.end_event_time(out)?;
        self.router.broadcast(StreamEvent::EndOfData, out);
        self.finish(out);
        Ok(())
    }

    fn end_of_data<E: Effects>(&mut self, out: &mut E) {
        self.phase = Phase::EndOfData { confirmed: false };
        self.router.broadcast(StreamEvent::EndOfData, out);
        out.tell(TaskMessage::EndOfData);
        if !self.after_tasks_finish {
            self.phase = Phase::EndOfData { confirmed: true };
            self.finish_if_done(out);
        }
    }

    /// The receivers have taken the last record of an outgoing channel.
    pub fn on_consumed<E: Effects>(&mut self, out: &mut E) {
        self.finish_if_done(out);
    }

    fn finish_if_done<E: Effects>(&mut self, out: &mut E) {
        let confirmed = self.phase == (Phase::EndOfData { confirmed: true });
        // Otherwise records that an unaligned barrier overtook would be in no later checkpoint: a finished subtask
        // has no part in those.
        let consumed = || self.outputs().all(|channel| out.is_consumed(channel));
        if confirmed && self.gate.is_over() && (!self.after_tasks_finish || consumed()) {
            self.finish(out);
        }
    }

    fn finish<E: Effects>(&mut self, out: &mut E) {
        self.phase = Phase::Finished;
        self.operator.close(out);
        self.router.broadcast(StreamEvent::EndOfPartition, out);
        out.tell(TaskMessage::Finished);
    }
}
