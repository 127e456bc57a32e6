//! Failure and recovery.
//!
//! In Flink's order (`DefaultScheduler`, `SchedulerBase.restoreState`): the failed region is found and the restart
//! strategy asked; the job is RESTARTING, and what is pending is given up; the region's subtasks are canceled; after
//! the delay the latest completed checkpoint is read, and assigned to them. No completed checkpoint: a fresh start. A
//! checkpoint is read and checked *before* anything is canceled for it.
//!
//! A failure while another one waits for its restart joins it: both begin again together, at the later moment.

use std::collections::BTreeSet;

use super::{Ready, Stepper};
use crate::engine::coordinator::restart::{RestartBackoff, Verdict};
use crate::engine::coordinator::{CompletedStore, JobEnd};
use crate::engine::driver::resources::{Prepared, setup_of};
use crate::engine::driver::restoring::first_readable;
use crate::engine::event::{CommandOrigin, EventKind, JobStatus, SubtaskStatus};
use crate::engine::in_flight::InFlight;
use crate::engine::subtask::Subtask;
use crate::model::{CheckpointId, FailoverStrategy, RestartStrategy, SubtaskId};

/// A restore that becomes real at `ready_us`.
pub(super) struct Deployment {
    pub ready_us: u64,
    pub from: Option<CheckpointId>,
    pub ready: Vec<(SubtaskId, Ready)>,
}

/// A checkpoint that was read; none: a fresh start.
type Restore = (Option<CheckpointId>, Vec<Ready>);

/// What a restore has come to.
pub(super) struct Found {
    /// None: nothing can be restored.
    pub found: Option<Restore>,
    /// Why not what was tried first.
    cause: String,
}

/// What is down, and what will be done about it.
pub(super) struct Recovery {
    backoff: RestartBackoff,
    /// The subtasks that wait to begin again.
    pub down: BTreeSet<SubtaskId>,
    /// When the restart strategy restores them by itself.
    pub restart_at_us: Option<u64>,
    pub deployment: Option<Deployment>,
}

impl Recovery {
    pub fn new(strategy: RestartStrategy) -> Self {
        Self {
            backoff: RestartBackoff::new(strategy),
            down: BTreeSet::new(),
            restart_at_us: None,
            deployment: None,
        }
    }

    /// Nothing is down or planned any more.
    fn clear(&mut self) {
        self.down.clear();
        self.restart_at_us = None;
        self.deployment = None;
    }
}

impl Stepper {
    /// These subtasks failed; none: the job as a whole did.
    pub(super) fn fail(&mut self, failed: &[SubtaskId], cause: &str) {
        let (is_global, cause) = self.note_failed_stop(failed.is_empty(), cause);
        let random = if self.recovery.backoff.draws() {
            self.rng.next()
        } else {
            0
        };
        let now_us = self.net.now_us;
        match self.recovery.backoff.on_failure(now_us, random) {
            Verdict::GiveUp(reason) => {
                self.cancel(&self.all_subtasks(), failed);
                let cause = format!("{cause} {reason}");
                self.end(JobStatus::Failed { cause });
            }
            Verdict::Wait => self.go_down(self.all_subtasks(), (failed, cause), None),
            Verdict::Restart { delay_us } => {
                let affected = self.affected(failed, is_global);
                let at_us = now_us.saturating_add(delay_us);
                self.go_down(affected, (failed, cause), Some(at_us));
            }
        }
    }

    fn go_down(
        &mut self,
        mut affected: BTreeSet<SubtaskId>,
        (failed, cause): (&[SubtaskId], String),
        at_us: Option<u64>,
    ) {
        if let Some(Deployment { ready, .. }) = self.recovery.deployment.take() {
            affected.extend(ready.iter().map(|(id, _)| *id));
        }
        affected.append(&mut self.recovery.down);
        let at_us = at_us.map(|at_us| at_us.max(self.recovery.restart_at_us.unwrap_or(0)));
        self.set_status(JobStatus::Restarting { cause });
        self.cancel(&affected, failed);
        self.net.record(EventKind::FailoverPlanned {
            restarting: affected.iter().copied().collect(),
            at_us,
        });
        self.recovery.down = affected;
        self.recovery.restart_at_us = at_us;
    }

    /// What begins again when these fail: their pipelined regions, or everything.
    fn affected(&self, failed: &[SubtaskId], is_global: bool) -> BTreeSet<SubtaskId> {
        if is_global || self.job.config.failover == FailoverStrategy::Full {
            return self.all_subtasks();
        }
        let regions = failed.iter().flat_map(|id| self.plan.region_of(*id));
        regions.collect()
    }

    pub(super) fn all_subtasks(&self) -> BTreeSet<SubtaskId> {
        self.plan
            .subtasks
            .iter()
            .map(|subtask| subtask.id)
            .collect()
    }

    /// Take these subtasks down, with all that was under way between them.
    pub(super) fn cancel(&mut self, down: &BTreeSet<SubtaskId>, failed: &[SubtaskId]) {
        self.coordinator.suspend(down.iter().copied());
        self.obey();
        for id in down {
            let status = if failed.contains(id) {
                SubtaskStatus::Failed
            } else {
                SubtaskStatus::Canceled
            };
            self.close(*id);
            if self.tasks[id.index()].status != SubtaskStatus::Finished {
                self.set_subtask_status(*id, status);
            }
        }
        self.net.clear(&self.plan, down);
    }

    /// The job ends here.
    pub(super) fn end(&mut self, status: JobStatus) {
        self.recovery.clear();
        self.after_savepoint = None;
        self.set_status(status);
        if let Some(end) = JobEnd::of(&self.status) {
            self.coordinator.shut_down(end);
            self.obey();
        }
    }

    /// The restart strategy's turn: back to the newest checkpoint that can be read.
    pub(super) fn restart(&mut self) {
        self.recovery.restart_at_us = None;
        let Found { found, cause } = self.find_restore(None, CommandOrigin::Job);
        if let Some((from, ready)) = found {
            let down = std::mem::take(&mut self.recovery.down);
            return self.begin_restore(from, ready, &down);
        }
        let all = self.all_subtasks();
        self.cancel(&all, &[]);
        self.end(JobStatus::Failed { cause });
    }

    /// Read the checkpoint to return to, and tell what was tried. Nothing else changes here.
    pub(super) fn find_restore(
        &mut self,
        wanted: Option<CheckpointId>,
        by: CommandOrigin,
    ) -> Found {
        let store = self.coordinator.store().clone();
        let tried = first_readable(&store, (wanted, by), |checkpoint| {
            self.load(&store, checkpoint)
        });
        for refusal in tried.refused {
            self.net.record(refusal);
        }
        let found = tried.found.map(|(command, found)| {
            self.net.record(EventKind::CommandAccepted { command, by });
            found
        });
        Found {
            found,
            cause: tried.cause,
        }
    }

    /// A person's restore is always of the whole job.
    pub(super) fn restore_all(&mut self, from: Option<CheckpointId>, ready: Vec<Ready>) {
        let all = self.all_subtasks();
        self.recovery.clear();
        self.after_savepoint = None;
        if !matches!(self.status, JobStatus::Restarting { .. }) || self.is_anything_up() {
            self.cancel(&all, &[]);
        }
        self.begin_restore(from, ready, &all);
    }

    /// What waits to begin again, and when; none: nothing is down.
    pub(super) fn planned_failover(&self) -> Option<(Vec<SubtaskId>, Option<u64>)> {
        let down: Vec<SubtaskId> = self.recovery.down.iter().copied().collect();
        (!down.is_empty()).then_some((down, self.recovery.restart_at_us))
    }

    fn is_anything_up(&self) -> bool {
        self.tasks.iter().any(|task| task.subtask.is_some())
    }

    fn load(
        &mut self,
        store: &CompletedStore,
        checkpoint: Option<CheckpointId>,
    ) -> Result<Restore, String> {
        self.attempt += 1;
        let target = (&*self.plan, setup_of(&self.job.config, true), self.attempt);
        let (from, prepared) = self.resources.prepare_restore(target, store, checkpoint)?;
        Ok((from, read_states(prepared)?))
    }

    /// `ready` is of all subtasks; those of `down` are used.
    fn begin_restore(
        &mut self,
        from: Option<CheckpointId>,
        ready: Vec<Ready>,
        down: &BTreeSet<SubtaskId>,
    ) {
        self.set_status(JobStatus::Restoring { from });
        for id in down {
            self.set_subtask_status(*id, SubtaskStatus::Initializing);
        }
        if let Some(checkpoint) = from {
            self.coordinator.on_restored(checkpoint);
        }
        let of_all = self.plan.subtasks.iter().map(|subtask| subtask.id);
        let ready = of_all.zip(ready).filter(|(id, _)| down.contains(id));
        self.recovery.deployment = Some(Deployment {
            ready_us: self.net.now_us.saturating_add(self.net.costs.restore_us),
            from,
            ready: ready.collect(),
        });
    }

    pub(super) fn finish_deployment(&mut self) {
        if let Some(Deployment { from, ready, .. }) = self.recovery.deployment.take() {
            self.deploy(from, ready);
            // After a failover exactly after the minimum pause: no chance in it.
            self.start_scheduler(None);
        }
    }

    /// Periodic checkpoints begin, if the job runs: one that has gone down again waits for its restart (Flink:
    /// `CheckpointCoordinatorDeActivator`).
    pub(super) fn start_scheduler(&mut self, random: Option<u64>) {
        if self.status == JobStatus::Running {
            self.coordinator.start_scheduler(self.net.now_us, random);
        }
    }

    /// Subtasks begin, with what was prepared for them, each for itself: one that cannot begin takes its own region
    /// down again, and the others go on.
    pub(super) fn deploy(&mut self, from: Option<CheckpointId>, ready: Vec<(SubtaskId, Ready)>) {
        self.set_status(JobStatus::Running);
        for (id, (prepared, _)) in &ready {
            let transactions = prepared.operator.restored_transactions();
            self.net.outside.make_known(*id, transactions);
        }
        let mut in_flight = Vec::new();
        for (id, mut ready) in ready {
            if self.is_down(id) {
                continue;
            }
            let own = std::mem::take(&mut ready.0.in_flight);
            self.deploy_one(id.index(), (from, &own), ready);
            in_flight.extend(own.into_iter().map(|it| (id, it)));
        }
        in_flight.retain(|(id, _)| !self.is_down(*id));
        self.put_back(in_flight);
    }

    /// It waits to begin again, or the job has ended.
    fn is_down(&self, id: SubtaskId) -> bool {
        self.status.is_terminal() || self.recovery.down.contains(&id)
    }

    fn deploy_one(
        &mut self,
        index: usize,
        (from, in_flight): (Option<CheckpointId>, &[InFlight]),
        ready: Ready,
    ) {
        let (prepared, contents) = ready;
        let plan = self.plan.clone();
        let plan = &plan.subtasks[index];
        let task = &mut self.tasks[index];
        task.subtask = Some(Subtask::new(plan, prepared.operator, from));
        task.busy_until_us = self.net.now_us;
        task.end_turn(self.net.now_us);
        self.await_record(plan.id);
        self.net.record(EventKind::Restored {
            subtask: plan.id,
            from,
            offsets: contents.offsets,
            state: contents.rows,
            windows: contents.windows,
            entries: contents.entries,
            listed: contents.listed,
        });
        if !prepared.finished && !self.open(plan.id) {
            return;
        }
        self.begin_recovery(plan.id, in_flight);
        if prepared.finished {
            self.turn(plan.id, |subtask, turn| subtask.finish_restored(turn));
        }
    }

    pub(super) fn set_status(&mut self, status: JobStatus) {
        if self.net.log.is_empty() && self.net.step == 0 || self.status != status {
            self.status = status.clone();
            self.net.record(EventKind::JobStatus(status));
        }
    }

    pub(super) fn set_subtask_status(&mut self, subtask: SubtaskId, status: SubtaskStatus) {
        let current = &mut self.tasks[subtask.index()].status;
        if *current != status {
            *current = status;
            self.net
                .record(EventKind::SubtaskStatus { subtask, status });
        }
    }
}

/// The state that each operator begins with. Read here, so that a state that cannot be read is refused before anything
/// is canceled for it.
pub(super) fn read_states(prepared: Vec<Prepared>) -> Result<Vec<Ready>, String> {
    let read = |prepared: Prepared| {
        let contents = prepared.operator.contents();
        contents
            .map(|contents| (prepared, contents))
            .map_err(|error| error.to_string())
    };
    prepared.into_iter().map(read).collect()
}
