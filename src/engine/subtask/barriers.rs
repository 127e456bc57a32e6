//! A subtask's part in a checkpoint: triggers, barriers, the snapshot, and its end.

use super::{Effects, Phase, Recording, SnapshotTask, Subtask, TaskFailure, TaskMessage};
use crate::engine::event::{AbortReason, ChannelSide};
use crate::engine::gate::GateAction;
use crate::engine::in_flight::InFlight;
use crate::engine::plan::to_u32;
use crate::engine::state::Compaction;
use crate::engine::storage::{StorageError, SubtaskState};
use crate::model::{CheckpointBarrier, CheckpointId, SnapshotKind, StreamEvent};

impl Subtask {
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
        if self.refuses(barrier, out) {
            return Ok(());
        }
        self.drain(barrier, out)?;
        let unfinished = self.gate.unfinished_inputs();
        if unfinished.is_empty() {
            return self.checkpoint(barrier, out);
        }
        for input in unfinished {
            self.on_event(input, StreamEvent::Barrier(barrier), out)?;
        }
        Ok(())
    }

    /// A source ends its data before the savepoint that the job stops with, if it is to be drained: all windows fire. If
    /// the savepoint fails, there is no way back to reading.
    ///
    /// # Errors
    /// As for any change of the watermark.
    pub fn drain<E: Effects>(
        &mut self,
        barrier: CheckpointBarrier,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        let drains = matches!(
            barrier.kind,
            SnapshotKind::StopWithSavepoint { drain: true, .. }
        );
        if drains && self.is_reading() {
            self.end_event_time(out)?;
            self.end_of_data(out);
            self.stopping = Some(barrier.id);
        }
        Ok(())
    }

    /// Copy the state with the world standing still: no barrier goes out, and none is awaited.
    ///
    /// # Errors
    /// The state backend failed.
    pub fn on_copy<E: Effects>(
        &mut self,
        barrier: CheckpointBarrier,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        if self.refuses(barrier, out) || barrier.id <= self.newest {
            return Ok(());
        }
        self.newest = barrier.id;
        if out.sync_part_fails() {
            return Err(TaskFailure::SyncPart);
        }
        let task = SnapshotTask {
            is_synchronous: true,
            ..self.capture(barrier, out)?
        };
        self.start(task, barrier.kind, out)
    }

    /// A subtask that does not run declines, and lets nobody wait for its barrier.
    fn refuses<E: Effects>(&mut self, barrier: CheckpointBarrier, out: &mut E) -> bool {
        match self.phase {
            Phase::Finished => out.tell(TaskMessage::Decline {
                checkpoint: barrier.id,
                reason: AbortReason::DeclinedTaskClosing,
            }),
            Phase::Initializing { .. } => {
                self.abort(barrier.id, AbortReason::DeclinedTaskNotReady, out);
            }
            Phase::Running | Phase::EndOfData { .. } => return false,
        }
        true
    }

    /// The time that barriers had to align is over at `now_us`.
    ///
    /// # Errors
    /// The synchronous part of a snapshot failed.
    pub fn on_alignment_timeout<E: Effects>(
        &mut self,
        now_us: u64,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        let actions = self.gate.on_alignment_timeout(now_us);
        self.obey(actions, out)
    }

    /// When [`Subtask::on_alignment_timeout`] will have something to do; none: never.
    #[must_use]
    pub fn alignment_deadline_us(&self) -> Option<u64> {
        self.gate.alignment_deadline_us()
    }

    /// The checkpoint was given up; `latest` is the newest complete one, in case that news was missed.
    ///
    /// # Errors
    /// It was the savepoint that the job was to stop with: what has stopped cannot go on. Or a sink could not commit.
    pub fn on_aborted<E: Effects>(
        &mut self,
        checkpoint: CheckpointId,
        latest: Option<CheckpointId>,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        if let Some(latest) = latest {
            self.on_complete(latest, out)?;
        }
        if self.stopping == Some(checkpoint) {
            return Err(TaskFailure::StopFailed);
        }
        if let Some(backend) = self.operator.keyed_mut() {
            backend.on_aborted(checkpoint);
        }
        self.writing.retain(|(id, _)| *id != checkpoint);
        self.end_recording(checkpoint, out);
        if checkpoint > self.newest {
            self.aborted_early.insert(checkpoint);
        }
        Ok(())
    }

    /// Whether the asynchronous part of this checkpoint's snapshot still matters.
    #[must_use]
    pub fn is_writing(&self, checkpoint: CheckpointId) -> bool {
        self.writing.iter().any(|(id, _)| *id == checkpoint)
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
        if let (Ok(state), Some(backend)) = (&result, self.operator.keyed_mut())
            && let Some(handle) = &state.keyed
        {
            backend.on_written(checkpoint, handle);
        }
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

    pub(super) fn obey<E: Effects>(
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
                GateAction::Begin(barrier) => {
                    self.recording = Some(Recording::new(barrier.id, self.inputs.len()));
                    self.checkpoint(barrier, out)?;
                }
                GateAction::Reached(input) => self.persist_input(input, out),
                GateAction::AllReached(checkpoint) => self.end_recording(checkpoint, out),
            }
        }
        Ok(())
    }

    /// The barrier has come on `input`: what came before it and is not in the captured state is part of the checkpoint
    /// as it is, processed since then or not.
    fn persist_input<E: Effects>(&mut self, input: usize, out: &mut E) {
        let Some(recording) = &mut self.recording else {
            return;
        };
        let Some(mut records) = recording.end(input) else {
            return;
        };
        let channel = self.inputs[input];
        records.extend(out.overtaken(channel));
        if !records.is_empty() {
            let in_flight = InFlight {
                channel,
                side: ChannelSide::Input,
                place: to_u32(input),
                records,
            };
            out.add_in_flight(recording.checkpoint, in_flight);
        }
    }

    fn end_recording<E: Effects>(&mut self, checkpoint: CheckpointId, out: &mut E) {
        if let Some(recording) = self.recording.take_if(|it| it.checkpoint == checkpoint) {
            out.end_recording(recording.checkpoint);
        }
    }

    /// One uninterrupted step: barrier on, state captured, writing handed over.
    fn checkpoint<E: Effects>(
        &mut self,
        barrier: CheckpointBarrier,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        let checkpoint = barrier.id;
        if checkpoint <= self.newest {
            self.recording = None;
            return Ok(());
        }
        self.newest = checkpoint;
        let aborted = self.aborted_early.contains(&checkpoint);
        self.aborted_early = self
            .aborted_early
            .split_off(&CheckpointId(checkpoint.0 + 1));
        if aborted {
            self.recording = None;
            self.router
                .broadcast(StreamEvent::CancelCheckpoint(checkpoint), out);
            return Ok(());
        }
        let barrier = barrier.with(barrier.alignment.unforced());
        let in_flight = self.router.broadcast_barrier(barrier, out);
        if out.sync_part_fails() {
            return Err(TaskFailure::SyncPart);
        }
        let task = SnapshotTask {
            in_flight,
            is_recording: self.recording.is_some(),
            ..self.capture(barrier, out)?
        };
        self.start(task, barrier.kind, out)
    }

    fn start<E: Effects>(
        &mut self,
        task: SnapshotTask,
        kind: SnapshotKind,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        let checkpoint = task.checkpoint;
        let at_end = self.phase != Phase::Running;
        if at_end {
            self.final_from.get_or_insert(checkpoint);
        }
        self.writing.push((checkpoint, at_end));
        out.start_snapshot(task, &self.operator);
        if matches!(kind, SnapshotKind::StopWithSavepoint { .. }) {
            self.stopping = Some(checkpoint);
        }
        let now_ms = out.processing_time_ms();
        let backend = self.operator.keyed_mut();
        let compaction = backend.map_or(Ok(None), |state| state.compact_if_due(now_ms))?;
        self.tell_compacted(compaction, out)
    }

    /// Merge the files of the state's database now, if it is in one.
    ///
    /// # Errors
    /// The state backend failed.
    pub fn on_compact<E: Effects>(&mut self, out: &mut E) -> Result<(), TaskFailure> {
        let now_ms = out.processing_time_ms();
        let backend = self.operator.keyed_mut();
        let compaction = backend.map_or(Ok(None), |state| state.compact(now_ms))?;
        self.tell_compacted(compaction, out)
    }

    fn tell_compacted<E: Effects>(
        &self,
        compaction: Option<Compaction>,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        let Some(compaction) = compaction else {
            return Ok(());
        };
        if out.is_traced() {
            self.operator.tell_cleaned(&compaction.cleaned, out)?;
        }
        out.on_compacted(&compaction);
        Ok(())
    }

    /// The synchronous part of a snapshot.
    fn capture<E: Effects>(
        &mut self,
        barrier: CheckpointBarrier,
        out: &mut E,
    ) -> Result<SnapshotTask, TaskFailure> {
        let checkpoint = barrier.id;
        let is_at_end = self.phase != Phase::Running;
        self.operator.before_snapshot(checkpoint, is_at_end, out)?;
        let now_ms = out.processing_time_ms();
        let keyed = self.operator.keyed_mut();
        let is_synchronous = keyed.as_ref().is_some_and(|state| state.is_synchronous());
        let keyed = keyed.map(|state| state.snapshot_at(checkpoint, now_ms));
        Ok(SnapshotTask {
            checkpoint,
            format: barrier.kind.format(),
            keyed: keyed.transpose()?,
            lists: self.operator.list_states(),
            in_flight: Vec::new(),
            is_recording: false,
            is_synchronous,
        })
    }

    /// Decline, and tell those behind not to wait. What an unaligned checkpoint had begun here is given up, too.
    fn abort<E: Effects>(&mut self, checkpoint: CheckpointId, reason: AbortReason, out: &mut E) {
        let recorded = self
            .recording
            .as_ref()
            .map(|recording| recording.checkpoint);
        // A marker of a newer checkpoint ends the recording of an older one, too: its barriers no longer count.
        if let Some(recorded) = recorded.filter(|recorded| *recorded <= checkpoint) {
            self.writing.retain(|(id, _)| *id != recorded);
            self.end_recording(recorded, out);
        }
        if checkpoint <= self.newest && recorded != Some(checkpoint) {
            return;
        }
        self.newest = self.newest.max(checkpoint);
        self.aborted_early.remove(&checkpoint);
        out.tell(TaskMessage::Decline { checkpoint, reason });
        self.router
            .broadcast(StreamEvent::CancelCheckpoint(checkpoint), out);
    }
}
