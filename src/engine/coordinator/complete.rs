//! Acknowledgements, and what follows the last of them.

use super::CheckpointCoordinator;
use super::decide::{self, AckVerdict};
use super::order::Order;
use crate::engine::event::{AbortReason, CheckpointKind, EventKind, IgnoredAck, SharedUse};
use crate::engine::storage::SubtaskState;
use crate::model::{CheckpointId, SubtaskId};

impl CheckpointCoordinator {
    /// A subtask's state is written.
    pub fn on_ack(
        &mut self,
        (subtask, checkpoint): (SubtaskId, CheckpointId),
        state: SubtaskState,
        at_end: bool,
    ) {
        self.register_shared((subtask, checkpoint), &state);
        let pending = self.pending.get_mut(&checkpoint);
        match decide::ack(pending.as_deref(), subtask) {
            AckVerdict::Ignore(why) => {
                self.record(EventKind::AckIgnored {
                    subtask,
                    checkpoint,
                    why,
                });
                if why == IgnoredAck::Late && !self.is_complete(checkpoint) {
                    self.orders.push(Order::Discard(checkpoint));
                }
            }
            AckVerdict::Accept => {
                let Some(pending) = pending else { return };
                pending.accept(subtask, state, at_end);
                let metadata = pending.is_fully_acknowledged().then(|| {
                    let triggered_ms = self.begun_ms.saturating_add(pending.triggered_us / 1000);
                    let which = (checkpoint, pending.kind);
                    self.job
                        .metadata(which, triggered_ms, &pending.acknowledged)
                });
                self.record(EventKind::Acknowledged {
                    subtask,
                    checkpoint,
                });
                if let Some(metadata) = metadata {
                    self.orders.push(Order::WriteMetadata(metadata));
                }
            }
        }
    }

    /// Also of an acknowledgement that comes too late: only the registry ever deletes such files.
    fn register_shared(
        &mut self,
        (subtask, checkpoint): (SubtaskId, CheckpointId),
        state: &SubtaskState,
    ) {
        let files: Vec<SharedUse> = state
            .shared_files()
            .map(|(name, file)| SharedUse {
                name: name.to_owned(),
                created_by: file.created_by,
                entry_bytes: file.entry_bytes,
            })
            .collect();
        if files.is_empty() {
            return;
        }
        self.shared.register(checkpoint, state);
        self.record(EventKind::SharedRegistered {
            subtask,
            checkpoint,
            files,
        });
    }

    /// Whether `checkpoint` was completed and still lies somewhere: in the store, or as a savepoint.
    fn is_complete(&self, checkpoint: CheckpointId) -> bool {
        self.store.contains(checkpoint) || self.savepoints.contains(&checkpoint)
    }

    /// The metadata is written, or could not be.
    pub fn on_metadata(&mut self, checkpoint: CheckpointId, written: bool, now_us: u64) {
        if !self.pending.contains_key(&checkpoint) {
            self.orders.push(Order::Discard(checkpoint));
        } else if written {
            self.complete(checkpoint, now_us);
        } else {
            self.abort(checkpoint, (AbortReason::FinalizeFailure, None));
            self.after_abort(now_us);
        }
    }

    /// In Flink's order: into the store, the oldest out of it; the counter of failures back to zero; the time of
    /// completion; older pending checkpoints given up; at last the news to the subtasks.
    fn complete(&mut self, checkpoint: CheckpointId, now_us: u64) {
        let Some(pending) = self.pending.remove(&checkpoint) else {
            return;
        };
        let kind = pending.kind;
        self.record(EventKind::Completed { checkpoint });
        if kind.is_savepoint() {
            self.savepoints.insert(checkpoint);
        } else {
            self.subsume(checkpoint);
        }
        self.failures.on_success(checkpoint);
        self.completed_us = Some(now_us);
        if kind.is_savepoint() {
            self.orders.push(Order::SavepointDecided {
                kind,
                checkpoint: Some(checkpoint),
                is_complete: true,
            });
        }
        if !matches!(kind, CheckpointKind::Savepoint(_)) {
            let stops = matches!(kind, CheckpointKind::StopWithSavepoint { .. });
            self.announce(checkpoint, stops || pending.all_at_end());
        }
        self.run_queue(now_us);
    }

    fn subsume(&mut self, checkpoint: CheckpointId) {
        for gone in self.store.add(checkpoint, self.config.retained) {
            let checkpoint = gone.checkpoint;
            if gone.is_ours() {
                self.record(EventKind::Subsumed { checkpoint });
                self.delete(gone);
            } else {
                self.record(EventKind::Released { checkpoint });
            }
        }
        self.delete_unused();
    }

    /// Tell the subtasks. A plain savepoint is not told: it has no side effects (since Flink 1.15). `ends_the_job`:
    /// nothing can follow this one, and no other final checkpoint is needed.
    fn announce(&mut self, checkpoint: CheckpointId, ends_the_job: bool) {
        if ends_the_job {
            self.final_complete = true;
            for kind in self.queue.remove(|kind| kind == CheckpointKind::Final) {
                self.record(EventKind::TriggerWithdrawn { kind });
            }
        }
        let older = self.pending.range(..checkpoint);
        let older: Vec<CheckpointId> = older
            .filter(|(_, pending)| !pending.kind.is_savepoint())
            .map(|(id, _)| *id)
            .collect();
        for id in older {
            self.abort(id, (AbortReason::Subsumed, None));
        }
        for subtask in self.listening() {
            self.orders.push(Order::NotifyComplete {
                subtask,
                checkpoint,
            });
        }
    }
}
