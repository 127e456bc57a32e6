//! The fold of what the coordinator and the snapshots do.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::event::{CheckpointKind, EventKind, Outcome, SharedUse};
use crate::engine::plan::ExecutionGraph;
use crate::model::{CheckpointId, SubtaskId};
use crate::recording::view::{
    CheckpointStatus, CheckpointView, SharedFileView, SnapshotView, StartView, View,
};

impl View {
    fn edit_checkpoint(&mut self, id: CheckpointId, edit: impl FnOnce(&mut CheckpointView)) {
        if let Some(checkpoint) = self.checkpoints.get_mut(&id) {
            edit(Arc::make_mut(checkpoint));
        }
    }

    pub(super) fn edit_snapshot(
        &mut self,
        id: CheckpointId,
        subtask: SubtaskId,
        edit: impl FnOnce(&mut SnapshotView),
    ) {
        self.edit_checkpoint(id, |checkpoint| {
            if let Some(snapshot) = checkpoint.subtasks.get_mut(&subtask) {
                edit(snapshot);
            }
        });
    }

    pub(super) fn apply_checkpoint(&mut self, plan: &ExecutionGraph, event: &EventKind) {
        let at_us = self.at_us;
        match event {
            EventKind::TriggerQueued { kind } => self.queued.push(*kind),
            EventKind::TriggerRejected { kind, reason } => {
                self.unqueue(*kind);
                self.refused_triggers += u32::from(reason.counts_in_statistics());
            }
            EventKind::TriggerWithdrawn { kind } => self.unqueue(*kind),
            EventKind::Triggered { .. } => self.trigger(event),
            EventKind::SnapshotStarted { .. } => self.capture(plan, event),
            EventKind::SnapshotWritten {
                subtask,
                checkpoint,
            } => {
                self.stop_writing(*subtask, *checkpoint);
                self.edit_snapshot(*checkpoint, *subtask, |s| s.written_us = Some(at_us));
            }
            EventKind::Acknowledged {
                subtask,
                checkpoint,
            } => self.edit_snapshot(*checkpoint, *subtask, |s| s.acknowledged_us = Some(at_us)),
            EventKind::Declined {
                subtask,
                checkpoint,
                reason,
            } => self.edit_snapshot(*checkpoint, *subtask, |s| s.declined = Some(*reason)),
            EventKind::Completed { checkpoint } => {
                self.decide(*checkpoint, CheckpointStatus::Completed);
                let kind = self.checkpoints.get(checkpoint).map(|c| c.kind);
                if !kind.is_some_and(CheckpointKind::is_savepoint) {
                    self.store.push(*checkpoint);
                }
            }
            EventKind::SavepointStored { checkpoint, name } => {
                self.savepoints.push((*checkpoint, name.clone()));
            }
            EventKind::SharedRegistered {
                checkpoint, files, ..
            } => self.share(*checkpoint, files),
            EventKind::SharedDiscarded { files } => {
                for name in files {
                    self.shared.remove(name);
                }
            }
            EventKind::StartedFrom {
                checkpoint,
                claim,
                processing_time_ms,
            } => {
                self.begun_ms = *processing_time_ms;
                self.store.push(*checkpoint);
                self.started_from = Some(StartView {
                    checkpoint: *checkpoint,
                    claim: *claim,
                    released_us: None,
                });
            }
            EventKind::Released { checkpoint } => {
                self.store.retain(|id| id != checkpoint);
                let start = self.started_from.as_mut();
                if let Some(start) = start.filter(|start| start.checkpoint == *checkpoint) {
                    start.released_us = Some(at_us);
                }
            }
            EventKind::Aborted { checkpoint, reason } => {
                self.decide(*checkpoint, CheckpointStatus::Aborted(*reason));
            }
            EventKind::Subsumed { checkpoint } | EventKind::DiscardedAtEnd { checkpoint } => {
                self.store.retain(|id| id != checkpoint);
                self.edit_checkpoint(*checkpoint, |checkpoint| checkpoint.retained = false);
            }
            EventKind::SnapshotFailed {
                subtask,
                checkpoint,
                ..
            }
            | EventKind::Notified {
                subtask,
                checkpoint,
                outcome: Outcome::Aborted,
            } => self.stop_writing(*subtask, *checkpoint),
            _ => {}
        }
    }

    fn share(&mut self, checkpoint: CheckpointId, files: &[SharedUse]) {
        for file in files {
            let known = self.shared.entry(file.name.clone());
            let known = known.or_insert_with(|| SharedFileView {
                created_by: file.created_by,
                entry_bytes: file.entry_bytes,
                used_by: BTreeSet::new(),
            });
            known.used_by.insert(checkpoint);
        }
    }

    /// A request has its answer, whether it waited or not.
    fn unqueue(&mut self, kind: CheckpointKind) {
        if let Some(place) = self.queued.iter().position(|queued| *queued == kind) {
            self.queued.remove(place);
        }
    }

    fn trigger(&mut self, event: &EventKind) {
        let EventKind::Triggered {
            checkpoint,
            kind,
            must_ack,
            finished,
        } = event
        else {
            return;
        };
        self.unqueue(*kind);
        let subtasks = must_ack
            .iter()
            .map(|id| (*id, SnapshotView::default()))
            .collect();
        let view = CheckpointView {
            id: *checkpoint,
            kind: *kind,
            status: CheckpointStatus::Pending,
            triggered_us: self.at_us,
            decided_us: None,
            subtasks,
            finished: finished.clone(),
            retained: false,
        };
        self.checkpoints.insert(*checkpoint, Arc::new(view));
    }

    /// The snapshot holds what the subtask's state is at this very moment, perhaps without what has expired.
    fn capture(&mut self, plan: &ExecutionGraph, event: &EventKind) {
        let EventKind::SnapshotStarted {
            subtask,
            checkpoint,
            sync_until_us,
            size_bytes,
            upload_bytes,
            expired_ms,
        } = *event
        else {
            return;
        };
        let at_us = self.at_us;
        let is_source = plan.subtask(subtask).inputs.is_empty();
        let splits = self.subtasks[subtask.index()].splits.iter();
        let offsets = splits.map(|split| (*split, self.splits[split.index()].offset));
        let offsets = offsets.collect();
        let view = self.subtask(subtask);
        view.sync = Some((checkpoint, sync_until_us));
        view.writing.push(checkpoint);
        view.set_busy(at_us, view.busy_until_us.max(sync_until_us));
        let offset = is_source.then_some(view.offset);
        let rows = view
            .rows
            .iter()
            .map(|(key, row)| (key.clone(), row.value))
            .collect();
        let windows = view.captured_windows();
        let ttl = plan.subtask(subtask).operator.ttl();
        let left_out = ttl.zip(expired_ms);
        let (entries, listed) = (view.captured_entries(left_out), view.listed());
        let counted = view.counted;
        self.edit_snapshot(checkpoint, subtask, |snapshot| {
            snapshot.first_barrier_us.get_or_insert(at_us);
            snapshot.last_barrier_us.get_or_insert(at_us);
            snapshot.captured_us = Some(at_us);
            snapshot.sync_until_us = Some(sync_until_us);
            snapshot.size_bytes = size_bytes;
            snapshot.upload_bytes = upload_bytes;
            snapshot.offset = offset;
            snapshot.offsets = offsets;
            snapshot.rows = rows;
            snapshot.windows = windows;
            snapshot.entries = entries;
            snapshot.listed = listed;
            snapshot.counted = counted;
        });
    }

    fn stop_writing(&mut self, subtask: SubtaskId, checkpoint: CheckpointId) {
        self.subtask(subtask).writing.retain(|id| *id != checkpoint);
    }

    fn decide(&mut self, checkpoint: CheckpointId, status: CheckpointStatus) {
        let at_us = self.at_us;
        self.edit_checkpoint(checkpoint, |view| {
            view.status = status;
            view.decided_us = Some(at_us);
            view.retained = status == CheckpointStatus::Completed && !view.kind.is_savepoint();
        });
    }
}
