//! The checkpoint coordinator: when a checkpoint begins, what it waits for, and when it counts.
//!
//! A state machine like the subtasks: it is handed requests, acknowledgements, timers and news of the tasks, with
//! `now_us` (and a number drawn by chance where Flink draws one), and answers with [`Order`]s for the driver. Follows Flink's
//! `CheckpointCoordinator`, `CheckpointRequestDecider` and `DefaultCheckpointPlanCalculator`.
//!
//! | part | file |
//! |---|---|
//! | waiting requests and their order | `request.rs` |
//! | whether the first of them may begin; which acknowledgements count | `decide.rs` |
//! | the periodic timer | `periodic.rs` |
//! | from a request to barriers | `trigger.rs` |
//! | acknowledgements, completion | `complete.rs` |
//! | failure, and what the job bears of it | `abort.rs`, `failures.rs` |
//! | the store, and what outlives the job | `store.rs`, `retention.rs` |
//! | files that several checkpoints refer to | `shared.rs` |
//! | when a failed job begins again | `restart.rs` |
//!
//! One thing is simpler than in Flink: deleting a checkpoint takes no time, so no trigger waits for it.

mod abort;
mod complete;
mod decide;
mod describe;
mod failures;
mod order;
mod pending;
mod periodic;
mod request;
pub mod restart;
mod retention;
mod shared;
mod store;
mod tasks;
mod trigger;

use std::collections::{BTreeMap, BTreeSet};

use super::event::{CheckpointKind, EventKind, RejectReason};
use super::plan::ExecutionGraph;
use crate::model::{
    BackendKind, CheckpointConfig, CheckpointId, CheckpointMode, ClaimMode, SubtaskId,
};
use describe::Description;
use failures::FailureManager;
use pending::Pending;
use periodic::Periodic;
use tasks::Task;

pub use order::{Order, Timer};
pub use request::{MAX_QUEUED_REQUESTS, RequestQueue};
pub use retention::{JobEnd, keeps};
pub use shared::SharedStateRegistry;
pub use store::{CompletedStore, Departure, Owner};

/// What a job begins with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beginning {
    /// The snapshot that it is started from.
    pub from: Option<(CheckpointId, ClaimMode)>,
    /// Processing time when it begins, in milliseconds.
    pub processing_time_ms: u64,
}

/// One job's coordinator.
pub struct CheckpointCoordinator {
    config: CheckpointConfig,
    /// What processing time was at the driver's zero.
    begun_ms: u64,
    job: Description,
    predecessors: Vec<Vec<SubtaskId>>,
    tasks: Vec<Task>,
    next_id: CheckpointId,
    pending: BTreeMap<CheckpointId, Pending>,
    /// The one whose place is being made; no other begins meanwhile.
    initialising: Option<CheckpointId>,
    queue: RequestQueue,
    periodic: Periodic,
    store: CompletedStore,
    shared: SharedStateRegistry,
    failures: FailureManager,
    /// When the last checkpoint or savepoint was completed.
    completed_us: Option<u64>,
    /// Complete, and not in the store.
    savepoints: BTreeSet<CheckpointId>,
    /// The driver was told to fail the job, and has not done so yet.
    is_failing: bool,
    is_shut_down: bool,
    /// A checkpoint taken after the end of all data (or the savepoint that the job stops with) is complete: the
    /// subtasks are about to finish.
    final_complete: bool,
    orders: Vec<Order>,
}

impl CheckpointCoordinator {
    /// The first number is 1, or one more than that of the snapshot that the job is started from.
    #[must_use]
    pub fn new(
        graph: &ExecutionGraph,
        config: CheckpointConfig,
        backend: BackendKind,
        Beginning {
            from,
            processing_time_ms,
        }: Beginning,
    ) -> Self {
        let mut predecessors = vec![Vec::new(); graph.subtasks.len()];
        for channel in &graph.channels {
            predecessors[channel.to.index()].push(channel.from);
        }
        let mut coordinator = Self {
            config,
            begun_ms: processing_time_ms,
            job: Description::of(graph, backend),
            predecessors,
            tasks: vec![Task::NotRunning; graph.subtasks.len()],
            next_id: CheckpointId(from.map_or(1, |(id, _)| id.0 + 1)),
            pending: BTreeMap::new(),
            initialising: None,
            queue: RequestQueue::default(),
            periodic: Periodic::new(&config),
            store: CompletedStore::default(),
            shared: SharedStateRegistry::default(),
            failures: FailureManager::new(config.tolerable_failed),
            completed_us: None,
            savepoints: BTreeSet::new(),
            is_failing: false,
            is_shut_down: false,
            final_complete: false,
            orders: Vec::new(),
        };
        if let Some((checkpoint, claim)) = from {
            coordinator.store.start_from(checkpoint, claim);
            coordinator.record(EventKind::StartedFrom {
                checkpoint,
                claim,
                processing_time_ms,
            });
        }
        coordinator
    }

    /// What to do now, in order. Call after every input.
    pub fn take_orders(&mut self) -> Vec<Order> {
        std::mem::take(&mut self.orders)
    }

    #[must_use]
    pub fn store(&self) -> &CompletedStore {
        &self.store
    }

    /// The files that several checkpoints may refer to.
    #[must_use]
    pub fn shared(&self) -> &SharedStateRegistry {
        &self.shared
    }

    /// Checkpoints that are neither complete nor aborted.
    pub fn pending(&self) -> impl Iterator<Item = CheckpointId> + '_ {
        self.pending.keys().copied()
    }

    /// Requests that wait, in the order in which they will begin.
    pub fn queued(&self) -> impl Iterator<Item = CheckpointKind> + '_ {
        self.queue.iter()
    }

    /// How many checkpoints in a row have failed in a way that counts.
    #[must_use]
    pub fn consecutive_failures(&self) -> u32 {
        self.failures.consecutive()
    }

    /// All that the coordinator waits for by the clock; call [`on_timer`](Self::on_timer) when it is due.
    pub fn timers(&self) -> impl Iterator<Item = (u64, Timer)> + '_ {
        let tick = self.periodic.next_us().map(|at_us| (at_us, Timer::Tick));
        let expire =
            |(id, pending): (&CheckpointId, &Pending)| (pending.timeout_us, Timer::Expire(*id));
        tick.into_iter().chain(self.pending.iter().map(expire))
    }

    /// A timer is due. One that is no longer waited for changes nothing.
    pub fn on_timer(&mut self, timer: Timer, now_us: u64) {
        match timer {
            Timer::Tick if self.periodic.is_on() => {
                self.periodic.tick();
                if self.config.mode == CheckpointMode::StopTheWorld && !self.pending.is_empty() {
                    // Queued, it would stop the world again before a source has emitted anything.
                    let reason = RejectReason::TooManyCheckpointRequests;
                    return self.reject(CheckpointKind::Periodic, reason);
                }
                self.request(CheckpointKind::Periodic, now_us);
            }
            Timer::Tick => {}
            Timer::Expire(checkpoint) => self.on_timeout(checkpoint, now_us),
        }
    }

    /// Whether [`start_scheduler`](Self::start_scheduler) needs a number drawn by chance.
    #[must_use]
    pub fn is_periodic(&self) -> bool {
        self.periodic.has_interval()
    }

    /// Whether periodic checkpoints are switched on.
    #[must_use]
    pub fn is_scheduling(&self) -> bool {
        self.periodic.is_on()
    }

    /// The job runs: periodic checkpoints may begin. `chance`: for the first tick of a new job; none after a
    /// failover, or when a savepoint that was to stop the job has failed.
    pub fn start_scheduler(&mut self, now_us: u64, chance: Option<u64>) {
        self.periodic.start(now_us, chance);
    }

    /// No periodic checkpoint begins any more, and what is pending or queued is given up: before a savepoint that the
    /// job stops with, and while it is down.
    pub fn stop_scheduler(&mut self) {
        self.periodic.stop();
        for kind in self.queue.remove(|_| true) {
            self.reject(kind, RejectReason::CoordinatorSuspend);
        }
        let pending: Vec<CheckpointId> = self.pending.keys().copied().collect();
        for checkpoint in pending {
            self.give_up(checkpoint);
        }
    }

    /// These subtasks are down (all of them, or a region): what is pending or queued is given up, not counted as
    /// failures, and periodic checkpoints wait until the job runs again.
    pub fn suspend(&mut self, down: impl IntoIterator<Item = SubtaskId>) {
        for subtask in down {
            self.tasks[subtask.index()] = Task::NotRunning;
        }
        self.final_complete = false;
        self.stop_scheduler();
        self.is_failing = false;
    }

    /// The job begins again from `checkpoint`, which thereby is the latest one.
    pub fn on_restored(&mut self, checkpoint: CheckpointId) {
        self.store.promote(checkpoint);
    }

    /// The job has ended so: nothing begins any more, and the store is cleared of what its retention does not keep.
    pub fn shut_down(&mut self, end: JobEnd) {
        self.stop_scheduler();
        self.is_shut_down = true;
        for gone in self.store.end(self.config.retention, end) {
            let checkpoint = gone.checkpoint;
            self.record(EventKind::DiscardedAtEnd { checkpoint });
            self.delete(gone);
        }
        self.delete_unused();
    }

    /// Shared files that no retained checkpoint refers to any more.
    fn delete_unused(&mut self) {
        let lowest = self.store.iter().min().unwrap_or(CheckpointId(u64::MAX));
        let files = self.shared.unregister_unused(lowest);
        if !files.is_empty() {
            self.record(EventKind::SharedDiscarded { files });
        }
        if self.shared.was_used() {
            self.orders.push(Order::RetainShared {
                keep: self.shared.names(),
                before: lowest,
            });
        }
    }

    fn delete(&mut self, gone: Departure) {
        self.orders.push(match gone.owner {
            Owner::Run => Order::Discard(gone.checkpoint),
            Owner::Start(_) => Order::DiscardStart,
        });
    }

    fn reject(&mut self, kind: CheckpointKind, reason: RejectReason) {
        self.record(EventKind::TriggerRejected { kind, reason });
        if kind.is_savepoint() {
            self.orders.push(Order::SavepointDecided {
                kind,
                checkpoint: None,
                is_complete: false,
            });
        }
    }

    fn record(&mut self, event: EventKind) {
        self.orders.push(Order::Record(event));
    }
}
