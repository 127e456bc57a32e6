//! The checkpoint coordinator: when a checkpoint begins, what it waits for, and when it counts.
//!
//! A state machine like the subtasks: it is handed requests, acknowledgements, timeouts and news of the tasks, with
//! `now_us`, and answers with [`Order`]s for the driver. Follows Flink's `CheckpointCoordinator`,
//! `CheckpointRequestDecider` and `DefaultCheckpointPlanCalculator`.

mod decide;
mod pending;
mod store;

use std::collections::{BTreeMap, VecDeque};

use super::event::{AbortReason, CheckpointKind, EventKind, IgnoredAck, RejectReason};
use super::plan::ExecutionGraph;
use super::storage::{CheckpointMetadata, SubtaskState};
use crate::model::{
    Alignment, BackendKind, CheckpointBarrier, CheckpointConfig, CheckpointId, CheckpointMode,
    SubtaskId, Uid,
};
use decide::{AckVerdict, TriggerVerdict};
use pending::Pending;
pub use store::CompletedStore;

/// Flink's bound on waiting requests.
pub const MAX_QUEUED_REQUESTS: usize = 1000;

/// What the driver must do for the coordinator, in order.
#[derive(Debug)]
pub enum Order {
    /// Make room in the storage for this checkpoint; from now on its timeout runs.
    Begin {
        checkpoint: CheckpointId,
        timeout_us: u64,
    },
    Trigger {
        subtask: SubtaskId,
        barrier: CheckpointBarrier,
    },
    /// Write this, then report with [`CheckpointCoordinator::on_metadata`].
    WriteMetadata(CheckpointMetadata),
    NotifyComplete {
        subtask: SubtaskId,
        checkpoint: CheckpointId,
    },
    NotifyAborted {
        subtask: SubtaskId,
        checkpoint: CheckpointId,
        latest: Option<CheckpointId>,
    },
    /// Delete all that was written for this checkpoint, now and whatever a late writer still adds.
    Discard(CheckpointId),
    /// Too many checkpoints failed: fail the job.
    FailJob(String),
    /// For the recording.
    Record(EventKind),
}

/// How the coordinator knows a subtask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    NotRunning,
    Running,
    AtEndOfData,
    Finished,
}

/// One job's coordinator.
pub struct CheckpointCoordinator {
    config: CheckpointConfig,
    backend: BackendKind,
    operators: Vec<(Uid, u32, u32)>,
    predecessors: Vec<Vec<SubtaskId>>,
    tasks: Vec<Task>,
    next_id: CheckpointId,
    pending: BTreeMap<CheckpointId, Pending>,
    queue: VecDeque<CheckpointKind>,
    store: CompletedStore,
    consecutive_failures: u32,
    last_success: CheckpointId,
    /// A checkpoint taken after the end of all data is complete: the subtasks are about to finish.
    final_complete: bool,
    orders: Vec<Order>,
}

impl CheckpointCoordinator {
    /// `first_id`: 1, or one more than the checkpoint that the job is started from.
    #[must_use]
    pub fn new(
        graph: &ExecutionGraph,
        config: CheckpointConfig,
        backend: BackendKind,
        first_id: CheckpointId,
    ) -> Self {
        let mut operators: Vec<(Uid, u32, u32)> = Vec::new();
        for subtask in graph.subtasks.iter().filter(|subtask| subtask.index == 0) {
            operators.push((
                subtask.uid.clone(),
                subtask.parallelism,
                subtask.max_parallelism,
            ));
        }
        let mut predecessors = vec![Vec::new(); graph.subtasks.len()];
        for channel in &graph.channels {
            predecessors[channel.to.index()].push(channel.from);
        }
        Self {
            config,
            backend,
            operators,
            predecessors,
            tasks: vec![Task::NotRunning; graph.subtasks.len()],
            next_id: first_id,
            pending: BTreeMap::new(),
            queue: VecDeque::new(),
            store: CompletedStore::default(),
            consecutive_failures: 0,
            last_success: CheckpointId(0),
            final_complete: false,
            orders: Vec::new(),
        }
    }

    /// What to do now, in order. Call after every input.
    pub fn take_orders(&mut self) -> Vec<Order> {
        std::mem::take(&mut self.orders)
    }

    #[must_use]
    pub fn store(&self) -> &CompletedStore {
        &self.store
    }

    /// Checkpoints that are neither complete nor aborted.
    pub fn pending(&self) -> impl Iterator<Item = CheckpointId> + '_ {
        self.pending.keys().copied()
    }

    /// A person, a script or the coordinator itself asks for a checkpoint.
    pub fn request(&mut self, kind: CheckpointKind, now_us: u64) {
        if self.queue.len() >= MAX_QUEUED_REQUESTS {
            return self.reject(kind, RejectReason::TooManyCheckpointRequests);
        }
        self.queue.push_back(kind);
        self.run_queue(now_us);
        if self.queue.back() == Some(&kind) {
            self.record(EventKind::TriggerQueued { kind });
        }
    }

    fn run_queue(&mut self, now_us: u64) {
        while let Some(kind) = self.queue.front().copied() {
            match decide::trigger(&self.tasks, self.pending.len(), self.config.max_concurrent) {
                TriggerVerdict::Wait => return,
                TriggerVerdict::Reject(reason) => {
                    self.queue.pop_front();
                    self.reject(kind, reason);
                }
                TriggerVerdict::Begin => {
                    self.queue.pop_front();
                    self.begin(kind, now_us);
                }
            }
        }
    }

    fn begin(&mut self, kind: CheckpointKind, now_us: u64) {
        let checkpoint = self.next_id;
        self.next_id = CheckpointId(checkpoint.0 + 1);
        let (must_ack, finished) = self.split_by(|task| *task != Task::Finished);
        self.pending
            .insert(checkpoint, Pending::new(kind, must_ack.clone()));
        self.record(EventKind::Triggered {
            checkpoint,
            kind,
            must_ack: must_ack.clone(),
            finished,
        });
        let timeout_us = now_us.saturating_add(self.config.timeout_ms.saturating_mul(1000));
        self.orders.push(Order::Begin {
            checkpoint,
            timeout_us,
        });
        let barrier = CheckpointBarrier {
            id: checkpoint,
            triggered_us: now_us,
            alignment: self.alignment(kind, now_us),
            kind: kind.snapshot(),
        };
        for subtask in must_ack {
            if self.has_no_running_predecessor(subtask) {
                self.orders.push(Order::Trigger { subtask, barrier });
            }
        }
    }

    /// Savepoints are always aligned, and at least once no barrier overtakes.
    fn alignment(&self, kind: CheckpointKind, now_us: u64) -> Alignment {
        let CheckpointConfig {
            mode,
            unaligned,
            aligned_timeout_ms,
            ..
        } = self.config;
        match mode {
            CheckpointMode::AtLeastOnce => Alignment::AtLeastOnce,
            CheckpointMode::ExactlyOnce if unaligned && !kind.is_savepoint() => {
                match aligned_timeout_ms {
                    0 => Alignment::Unaligned,
                    timeout_ms => Alignment::AlignedUntil {
                        deadline_us: now_us.saturating_add(timeout_ms.saturating_mul(1000)),
                    },
                }
            }
            CheckpointMode::ExactlyOnce | CheckpointMode::StopTheWorld => Alignment::Aligned,
        }
    }

    fn has_no_running_predecessor(&self, subtask: SubtaskId) -> bool {
        let finished = |from: &SubtaskId| self.tasks[from.index()] == Task::Finished;
        self.predecessors[subtask.index()].iter().all(finished)
    }

    /// A subtask's state is written.
    pub fn on_ack(
        &mut self,
        (subtask, checkpoint): (SubtaskId, CheckpointId),
        state: SubtaskState,
        at_end: bool,
    ) {
        let pending = self.pending.get_mut(&checkpoint);
        match decide::ack(pending.as_deref(), subtask) {
            AckVerdict::Ignore(why) => {
                self.record(EventKind::AckIgnored {
                    subtask,
                    checkpoint,
                    why,
                });
                if why == IgnoredAck::Late && !self.store.contains(checkpoint) {
                    self.orders.push(Order::Discard(checkpoint));
                }
            }
            AckVerdict::Accept => {
                let Some(pending) = pending else { return };
                pending.accept(subtask, state, at_end);
                let complete = pending.is_fully_acknowledged();
                self.record(EventKind::Acknowledged {
                    subtask,
                    checkpoint,
                });
                if complete {
                    let metadata = self.metadata(checkpoint);
                    self.orders.push(Order::WriteMetadata(metadata));
                }
            }
        }
    }

    /// All that a checkpoint is, by operator and subtask.
    fn metadata(&self, checkpoint: CheckpointId) -> CheckpointMetadata {
        let acknowledged = self
            .pending
            .get(&checkpoint)
            .map(|pending| &pending.acknowledged);
        let mut next = 0;
        let mut operators = Vec::new();
        for (uid, parallelism, max_parallelism) in &self.operators {
            let ids = next..next + *parallelism;
            next = ids.end;
            let state = |id| acknowledged.and_then(|states| states.get(&SubtaskId(id)).cloned());
            operators.push(super::storage::OperatorState {
                uid: uid.clone(),
                parallelism: *parallelism,
                max_parallelism: *max_parallelism,
                subtasks: ids
                    .map(|id| state(id).unwrap_or_else(finished_state))
                    .collect(),
            });
        }
        CheckpointMetadata {
            checkpoint,
            backend: self.backend,
            operators,
        }
    }

    /// The metadata is written, or could not be.
    pub fn on_metadata(&mut self, checkpoint: CheckpointId, written: bool, now_us: u64) {
        if !self.pending.contains_key(&checkpoint) {
            self.orders.push(Order::Discard(checkpoint));
        } else if written {
            self.complete(checkpoint, now_us);
        } else {
            self.abort(checkpoint, AbortReason::FinalizeFailure);
            self.after_abort(now_us);
        }
    }

    fn complete(&mut self, checkpoint: CheckpointId, now_us: u64) {
        let subsumed = self.store.add(checkpoint, self.config.retained);
        self.consecutive_failures = 0;
        self.last_success = self.last_success.max(checkpoint);
        let at_end = self
            .pending
            .remove(&checkpoint)
            .is_some_and(|pending| pending.all_at_end());
        if at_end {
            // The job ends with this one; no further final checkpoint is needed.
            self.final_complete = true;
            self.queue.retain(|kind| *kind != CheckpointKind::Final);
        }
        self.record(EventKind::Completed { checkpoint });
        for old in subsumed {
            self.record(EventKind::Subsumed { checkpoint: old });
            self.orders.push(Order::Discard(old));
        }
        let older: Vec<CheckpointId> = self
            .pending
            .range(..checkpoint)
            .map(|(id, _)| *id)
            .collect();
        for id in older {
            self.abort(id, AbortReason::Subsumed);
        }
        for subtask in self.unfinished() {
            self.orders.push(Order::NotifyComplete {
                subtask,
                checkpoint,
            });
        }
        self.run_queue(now_us);
    }

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
            self.abort(checkpoint, reason);
            self.after_abort(now_us);
        }
    }

    /// The checkpoint's time is over. Nothing happens if it is decided.
    pub fn on_timeout(&mut self, checkpoint: CheckpointId, now_us: u64) {
        if self.pending.contains_key(&checkpoint) {
            self.abort(checkpoint, AbortReason::Expired);
            self.after_abort(now_us);
        }
    }

    fn abort(&mut self, checkpoint: CheckpointId, reason: AbortReason) {
        self.pending.remove(&checkpoint);
        self.orders.push(Order::Discard(checkpoint));
        self.record(EventKind::Aborted { checkpoint, reason });
        if reason.counts_as_failure() && checkpoint > self.last_success {
            self.consecutive_failures += 1;
            if self.consecutive_failures > self.config.tolerable_failed {
                self.consecutive_failures = 0;
                let cause = "Exceeded checkpoint tolerable failure threshold.".to_owned();
                self.orders.push(Order::FailJob(cause));
                self.suspend();
            }
        }
        for subtask in self.unfinished() {
            self.orders.push(Order::NotifyAborted {
                subtask,
                checkpoint,
                latest: self.store.latest(),
            });
        }
    }

    fn after_abort(&mut self, now_us: u64) {
        self.run_queue(now_us);
        self.request_final_if_due(now_us);
    }

    pub fn on_running(&mut self, subtask: SubtaskId) {
        self.tasks[subtask.index()] = Task::Running;
    }

    /// A subtask has no more input. When this holds for all, the job needs one more checkpoint to end.
    pub fn on_end_of_data(&mut self, subtask: SubtaskId, now_us: u64) {
        self.tasks[subtask.index()] = Task::AtEndOfData;
        self.request_final_if_due(now_us);
    }

    pub fn on_finished(&mut self, subtask: SubtaskId) {
        self.tasks[subtask.index()] = Task::Finished;
    }

    fn request_final_if_due(&mut self, now_us: u64) {
        let at_end = |task: &Task| matches!(task, Task::AtEndOfData | Task::Finished);
        let waiting = self.tasks.contains(&Task::AtEndOfData);
        let is_final = |kind: &CheckpointKind| *kind == CheckpointKind::Final;
        let asked = self.queue.iter().any(is_final)
            || self.pending.values().any(|pending| is_final(&pending.kind));
        if self.tasks.iter().all(at_end) && waiting && !asked && !self.final_complete {
            self.request(CheckpointKind::Final, now_us);
        }
    }

    /// The job failed or was stopped: whatever is pending or queued is given up. Not counted as failures.
    pub fn suspend(&mut self) {
        for kind in std::mem::take(&mut self.queue) {
            self.reject(kind, RejectReason::CoordinatorSuspend);
        }
        self.final_complete = false;
        self.tasks.fill(Task::NotRunning);
        let pending: Vec<CheckpointId> = self.pending.keys().copied().collect();
        for checkpoint in pending {
            self.pending.remove(&checkpoint);
            self.orders.push(Order::Discard(checkpoint));
            self.record(EventKind::Aborted {
                checkpoint,
                reason: AbortReason::CoordinatorSuspend,
            });
        }
    }

    /// The job begins again from `checkpoint`, which thereby is the latest one.
    pub fn on_restored(&mut self, checkpoint: CheckpointId) {
        self.store.promote(checkpoint);
    }

    /// Whether this subtask is known to have finished.
    #[must_use]
    pub fn is_finished(&self, subtask: SubtaskId) -> bool {
        self.tasks[subtask.index()] == Task::Finished
    }

    /// Whether every subtask has finished.
    #[must_use]
    pub fn all_finished(&self) -> bool {
        self.tasks.iter().all(|task| *task == Task::Finished)
    }

    fn unfinished(&self) -> Vec<SubtaskId> {
        self.split_by(|task| !matches!(task, Task::Finished | Task::NotRunning))
            .0
    }

    fn split_by(&self, wanted: impl Fn(&Task) -> bool) -> (Vec<SubtaskId>, Vec<SubtaskId>) {
        let ids = (0_u32..).zip(&self.tasks);
        let (yes, no): (Vec<_>, Vec<_>) = ids.partition(|(_, task)| wanted(task));
        let strip =
            |list: Vec<(u32, &Task)>| list.into_iter().map(|(id, _)| SubtaskId(id)).collect();
        (strip(yes), strip(no))
    }

    fn reject(&mut self, kind: CheckpointKind, reason: RejectReason) {
        self.record(EventKind::TriggerRejected { kind, reason });
    }

    fn record(&mut self, event: EventKind) {
        self.orders.push(Order::Record(event));
    }
}

fn finished_state() -> SubtaskState {
    SubtaskState {
        finished: true,
        ..SubtaskState::default()
    }
}
