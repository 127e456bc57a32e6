//! The stepper: a discrete-event simulation in integer virtual time, and the driver behind everything on screen.
//!
//! At any moment a set of [`Action`]s is *enabled*, each with the time at which it becomes ready. The timed policy
//! takes the earliest (ties by the seed); a person may take any other. Each action is one step; its events go to the
//! log. Same job, seed and commands ⇒ the same log, byte for byte.

mod action;
mod channel;
mod commands;
mod deliveries;
mod failover;
mod faults;
mod halt;
mod invariants;
mod net;
mod orders;
mod outside;
mod pressure;
mod project;
mod put_back;
mod savepoints;
mod sources;
mod timeouts;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::engine::coordinator::{Beginning, CheckpointCoordinator, Order};
use crate::engine::event::{EventKind, JobStatus, Outcome, SubtaskStatus, TraceEvent};
use crate::engine::operator::Contents;
use crate::engine::plan::{ExecutionGraph, SubtaskPlan};
use crate::engine::state::KeyedBackend;
use crate::engine::subtask::{Subtask, TaskFailure};
use crate::model::{CostModel, JobGraph, SubtaskId, When};

pub use action::Action;
pub use project::{OpenTransaction, Projection, sorted_names};

use super::clock;
use super::places::{AfterSavepoint, Places};
use super::resources::{Prepared, Resources, setup_of};
use super::rng::SplitMix64;
use failover::Recovery;
use halt::Halt;
use net::{Net, ToTask, Turn};
use outside::Outsides;

/// One slot of the execution graph, with or without a running subtask in it.
struct Task {
    /// None while canceled, failed or restoring.
    subtask: Option<Subtask>,
    status: SubtaskStatus,
    busy_until_us: u64,
    /// The job's, or the operator's own.
    costs: CostModel,
    next_emit_us: u64,
    /// One of its outputs is full.
    is_backpressured: bool,
    /// When its present turn began: the messages that were there then come before the next record, and those that have
    /// come since do not (Flink: the batch of `TaskMailbox`).
    turn_us: u64,
    /// A source: when it is idle, if no record comes before. None: never, or it is.
    idle_at_us: Option<u64>,
    /// A source: it has nothing to read before this time, whatever happens to the job meanwhile.
    silent_until_us: u64,
    /// Since the run's beginning; scripts count by these.
    emitted: u64,
    processed: u64,
}

impl Task {
    /// When the turn that it is in at `now_us` began. While it has nothing to do, each moment begins one.
    fn turn_at(&self, now_us: u64) -> u64 {
        if self.busy_until_us < now_us {
            now_us
        } else {
            self.turn_us
        }
    }

    /// It has processed what it took, and begins a turn as soon as that is over.
    fn end_turn(&mut self, now_us: u64) {
        self.turn_us = self.busy_until_us.max(now_us);
    }

    /// Whether a subtask is here that has processed all that was restored.
    fn is_up(&self) -> bool {
        let subtask = self.subtask.as_ref();
        subtask.is_some_and(|subtask| !subtask.is_initializing())
    }
}

/// A subtask's operator with its state as people read it.
type Ready = (Prepared, Contents);

/// What things cost at one subtask.
fn costs_of(job: &JobGraph, plan: &SubtaskPlan) -> CostModel {
    let model = job.config.costs;
    let vertex = job.vertex(&plan.uid);
    vertex.map_or(model, |vertex| vertex.costs.of(plan.index, model))
}

/// One job under virtual time.
pub struct Stepper {
    job: Arc<JobGraph>,
    plan: Arc<ExecutionGraph>,
    resources: Resources,
    tasks: Vec<Task>,
    net: Net,
    coordinator: CheckpointCoordinator,
    status: JobStatus,
    /// What the coordinator ordered and is not yet done; empty between steps.
    orders: VecDeque<Order>,
    rng: SplitMix64,
    attempt: u32,
    /// What is down, and what will be done about it.
    recovery: Recovery,
    places: Places,
    /// The job is about to end with a savepoint.
    after_savepoint: Option<AfterSavepoint>,
    /// By script entry: whether it has fired.
    fired: Vec<bool>,
    /// The checkpoints for which the world stands still, oldest first.
    halts: Vec<Halt>,
}

impl Stepper {
    /// `job` at its beginning (or at the checkpoint that `resources` names), deployed and running.
    ///
    /// # Errors
    /// A sentence: working state cannot be made, or the checkpoint to start from does not fit or is torn.
    pub fn new(
        job: Arc<JobGraph>,
        plan: Arc<ExecutionGraph>,
        resources: Resources,
    ) -> Result<Self, String> {
        let config = &job.config;
        let start = resources.start.clone();
        let from = start
            .as_ref()
            .map(|start| (&*start.storage, start.checkpoint));
        let ready =
            failover::read_states(resources.prepare(&plan, setup_of(config, true), 0, from)?)?;
        let contents = ready.iter().flat_map(|(_, contents)| &contents.entries);
        let begun_ms = clock::begin_ms(start.as_ref(), contents)?;
        let start = start.map(|start| (start.checkpoint, start.claim));
        let task = |plan: &SubtaskPlan| Task {
            subtask: None,
            status: SubtaskStatus::Initializing,
            busy_until_us: 0,
            costs: costs_of(&job, plan),
            next_emit_us: 0,
            is_backpressured: false,
            turn_us: 0,
            idle_at_us: None,
            silent_until_us: 0,
            emitted: 0,
            processed: 0,
        };
        let mut stepper = Self {
            tasks: plan.subtasks.iter().map(task).collect(),
            net: Net::new(plan.subtasks.len(), plan.channels.len(), config.costs),
            coordinator: CheckpointCoordinator::new(
                &plan,
                config.checkpointing,
                config.backend,
                Beginning {
                    from: start,
                    processing_time_ms: begun_ms,
                },
            ),
            status: JobStatus::Running,
            orders: VecDeque::new(),
            rng: SplitMix64(config.seed),
            attempt: 0,
            recovery: Recovery::new(config.restart),
            places: Places::new(resources.storage.clone(), resources.savepoints.clone()),
            after_savepoint: None,
            fired: vec![false; job.script.len()],
            halts: Vec::new(),
            job,
            plan,
            resources,
        };
        stepper.net.has_deadlines = stepper.job.config.checkpointing.has_alignment_timeout();
        stepper.net.outside = Outsides::of(&stepper.plan);
        stepper.net.begun_ms = begun_ms;
        stepper.obey();
        let ids: Vec<SubtaskId> = stepper.all_subtasks().into_iter().collect();
        let ready = ids.into_iter().zip(ready).collect();
        stepper.begin_silent();
        stepper.deploy(start.map(|(checkpoint, _)| checkpoint), ready);
        if stepper.coordinator.is_periodic() {
            let random = Some(stepper.rng.next());
            stepper.start_scheduler(random);
        }
        Ok(stepper)
    }

    #[must_use]
    pub fn now_us(&self) -> u64 {
        self.net.now_us
    }

    /// How many steps were taken, commands included.
    #[must_use]
    pub fn step_number(&self) -> u64 {
        self.net.step
    }

    #[must_use]
    pub fn status(&self) -> &JobStatus {
        &self.status
    }

    #[must_use]
    pub fn coordinator(&self) -> &CheckpointCoordinator {
        &self.coordinator
    }

    /// The working state of keyed subtasks that are there.
    pub fn keyed(&self) -> impl Iterator<Item = (SubtaskId, &KeyedBackend)> {
        let slots = self.plan.subtasks.iter().zip(&self.tasks);
        slots.filter_map(|(plan, task)| Some((plan.id, task.subtask.as_ref()?.operator().keyed()?)))
    }

    /// By script entry: whether it has fired.
    #[must_use]
    pub fn fired(&self) -> &[bool] {
        &self.fired
    }

    /// The events since the log was last taken.
    #[must_use]
    pub fn log(&self) -> &[TraceEvent] {
        &self.net.log
    }

    /// The events since the last call.
    pub fn take_log(&mut self) -> Vec<TraceEvent> {
        std::mem::take(&mut self.net.log)
    }

    /// The earliest enabled action's time; none: nothing will ever happen by itself.
    #[must_use]
    pub fn next_at_us(&self) -> Option<u64> {
        self.enabled().into_iter().map(|(at_us, _)| at_us).min()
    }

    /// One step under the timed policy. False: nothing is enabled.
    pub fn step(&mut self) -> bool {
        let enabled = self.enabled();
        let earliest = enabled.iter().map(|(at_us, _)| *at_us).min();
        earliest.is_some_and(|earliest| self.take_one(enabled, earliest))
    }

    /// The same if something is due until `until_us`. False: nothing more is, and time has passed until then; where
    /// nothing will ever happen, time stands.
    pub fn step_until(&mut self, until_us: u64) -> bool {
        let enabled = self.enabled();
        let Some(earliest) = enabled.iter().map(|(at_us, _)| *at_us).min() else {
            return false;
        };
        if earliest <= until_us {
            return self.take_one(enabled, earliest);
        }
        self.net.now_us = self.net.now_us.max(until_us);
        false
    }

    /// One of the actions that are due at `earliest`.
    fn take_one(&mut self, enabled: Vec<(u64, Action)>, earliest: u64) -> bool {
        let mut ready = enabled.into_iter().filter(|(at_us, _)| *at_us == earliest);
        let ties = ready.clone().count();
        let place = if ties > 1 { self.rng.below(ties) } else { 0 };
        if let Some((at_us, action)) = ready.nth(place) {
            self.fire(at_us, action);
        }
        true
    }

    /// Take `action`, which must be enabled, at its time `at_us`.
    pub fn fire(&mut self, at_us: u64, action: Action) {
        self.net.now_us = self.net.now_us.max(at_us);
        self.net.step += 1;
        match action {
            Action::Script(entry) => self.run_script_entry(entry),
            Action::Emit(subtask) => self.emit(subtask),
            Action::GoIdle(subtask) => self.go_idle(subtask),
            Action::Deliver(channel) => self.deliver(channel),
            Action::DeliverAhead(channel) => self.deliver_ahead(channel),
            Action::AlignmentTimeout(subtask) => self.time_out_alignment(subtask),
            Action::CopyAll(checkpoint) => self.copy_all(checkpoint),
            Action::ToTask(subtask) => self.deliver_to_task(subtask),
            Action::ToCoordinator(subtask) => self.deliver_to_coordinator(subtask),
            Action::FinishWrite(index) => self.finish_write(index),
            Action::Finalize(checkpoint) => self.finalize(checkpoint),
            Action::Timer(timer) => self.coordinator_timer(timer),
            Action::TimeOut(transaction) => self.time_out(transaction),
            Action::Restart => self.restart(),
            Action::Deploy => self.finish_deployment(),
        }
        self.note_pressure();
    }

    /// Let one subtask act; none: there is none in this slot.
    fn act<T>(
        &mut self,
        id: SubtaskId,
        act: impl FnOnce(&mut Subtask, &mut Turn<'_>) -> T,
    ) -> Option<T> {
        let task = &mut self.tasks[id.index()];
        let subtask = task.subtask.as_mut()?;
        let mut turn = Turn {
            net: &mut self.net,
            subtask: id,
            busy_until_us: &mut task.busy_until_us,
            costs: task.costs,
            left_us: 0,
        };
        Some(act(subtask, &mut turn))
    }

    /// Give one subtask a turn, and deal with its failure.
    fn turn(
        &mut self,
        id: SubtaskId,
        act: impl FnOnce(&mut Subtask, &mut Turn<'_>) -> Result<(), TaskFailure>,
    ) {
        if let Some(result) = self.act(id, act) {
            self.note_status(id);
            self.note_result(id, result);
        }
    }

    fn note_result(&mut self, id: SubtaskId, result: Result<(), TaskFailure>) {
        if let Err(failure) = result {
            let cause = format!("{} failed: {failure}.", self.plan.subtask_name(id));
            self.fail(&[id], &cause);
        }
    }

    /// The subtask in this slot begins with what it was restored with, before it counts as running. False: it cannot, and
    /// the job has failed.
    fn open(&mut self, id: SubtaskId) -> bool {
        if let Some(result) = self.act(id, |subtask, turn| subtask.open(turn)) {
            self.note_result(id, result);
        }
        self.tasks[id.index()].subtask.is_some()
    }

    /// The subtask in this slot ends in good order, if there is one.
    fn close(&mut self, id: SubtaskId) {
        self.act(id, |subtask, turn| subtask.close(turn));
        self.tasks[id.index()].subtask = None;
    }

    /// Record a change of the subtask's own phase.
    fn note_status(&mut self, id: SubtaskId) {
        let task = &mut self.tasks[id.index()];
        let Some(subtask) = &task.subtask else { return };
        let status = if subtask.is_initializing() {
            SubtaskStatus::Initializing
        } else if subtask.is_running() {
            SubtaskStatus::Running
        } else if subtask.is_finished() {
            SubtaskStatus::Finished
        } else {
            SubtaskStatus::EndOfData
        };
        if status != task.status {
            if task.status == SubtaskStatus::Initializing {
                self.coordinator.on_running(id);
            }
            task.status = status;
            self.net.record(EventKind::SubtaskStatus {
                subtask: id,
                status,
            });
        }
    }

    fn deliver_to_task(&mut self, id: SubtaskId) {
        let task = &mut self.tasks[id.index()];
        task.turn_us = task.turn_at(self.net.now_us);
        let Some((_, message)) = self.net.to_task[id.index()].pop_front() else {
            return;
        };
        let (checkpoint, outcome) = match &message {
            ToTask::Trigger(barrier) => {
                let barrier = *barrier;
                return self.turn(id, |subtask, turn| subtask.on_trigger(barrier, turn));
            }
            ToTask::Complete(checkpoint) => (*checkpoint, Outcome::Completed),
            ToTask::Aborted { checkpoint, .. } => (*checkpoint, Outcome::Aborted),
        };
        let Some(message) = self.net.hold_back(id, message, (checkpoint, outcome)) else {
            return;
        };
        self.net.record(EventKind::Notified {
            subtask: id,
            checkpoint,
            outcome,
        });
        self.turn(id, |subtask, turn| match message {
            ToTask::Aborted { checkpoint, latest } => subtask.on_aborted(checkpoint, latest, turn),
            _ => subtask.on_complete(checkpoint, turn),
        });
    }

    /// Whether the moment of script entry `entry` has come (by a count; times are actions of their own).
    fn is_due(&self, entry: usize) -> bool {
        let count = |uid, wanted: Option<u32>, of: fn(&Task) -> u64| -> u64 {
            let subtasks = self.plan.subtasks_of(uid).into_iter();
            let chosen = subtasks
                .filter(|id| wanted.is_none_or(|index| self.plan.subtask(*id).index == index));
            chosen.map(|id| of(&self.tasks[id.index()])).sum()
        };
        match &self.job.script[entry].when {
            When::AtMs(_) => false,
            When::Emitted { uid, records } => count(uid, None, |task| task.emitted) >= *records,
            When::Processed {
                uid,
                subtask,
                records,
            } => count(uid, Some(*subtask), |task| task.processed) >= *records,
        }
    }
}
