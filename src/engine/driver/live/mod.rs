//! The live driver: one thread per subtask, bounded channels of record buffers, the wall clock.
//!
//! It runs the same state machines as the stepper, at full speed and without tracing records; what it reports is
//! *measured*. The calling thread is the JobManager: it holds the coordinator, obeys the script, and restores the job.

mod attempt;
mod commands;
mod faults;
mod life;
mod orders;
mod outside;
mod pace;
mod savepoints;
mod task;
mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::clock;
use super::places::{AfterSavepoint, Places};
use super::resources::{Prepared, Resources, setup_of};
use super::rng::SplitMix64;
use crate::engine::coordinator::restart::{RestartBackoff, Verdict};
use crate::engine::coordinator::{Beginning, CheckpointCoordinator, JobEnd};
use crate::engine::event::{EventKind, JobStatus, TraceEvent};
use crate::engine::plan::{ExecutionGraph, SubtaskPlan};
use crate::engine::subtask::TaskMessage;
use crate::model::{
    CheckpointConfig, CheckpointId, CheckpointMode, Decimal, JobGraph, Key, KeyContents,
    OperatorSpec, Record, SubtaskId, Uid,
};
use attempt::Attempt;
use faults::LiveFaults;
use life::Life;
use outside::Outsides;
use wire::{Clock, Control, Meter, Report};
pub use wire::{Collected, MAX_KEPT_RECORDS};

/// How often the JobManager looks at counts and clocks when nothing else wakes it.
const TICK: Duration = Duration::from_millis(1);

/// How a live run differs from what its job says.
#[derive(Clone, Copy, Debug)]
pub struct LiveOptions {
    /// Stop after this much wall time.
    pub until: Option<Duration>,
    /// Let sources emit as fast as they can, whatever their rate.
    pub is_unpaced: bool,
    /// Records per buffer; at most this many wait in a subtask before they are handed on.
    pub buffer_records: usize,
    /// Buffers per channel.
    pub channel_buffers: usize,
    /// A job whose sources have all ended, and which waits for nothing by the clock, is stuck if nothing at all happens
    /// for so long.
    pub stuck_after: Duration,
}

impl Default for LiveOptions {
    fn default() -> Self {
        Self {
            until: None,
            is_unpaced: false,
            buffer_records: 256,
            channel_buffers: 8,
            stuck_after: Duration::from_secs(10),
        }
    }
}

/// What a live run has come to. Times are measured, in microseconds of wall time since its start.
#[derive(Debug)]
pub struct LiveOutcome {
    pub status: JobStatus,
    pub elapsed: Duration,
    /// The life of the job and its checkpoints; no records.
    pub events: Vec<TraceEvent>,
    /// Per subtask: keyed state at the end. None: it has none, or it was not running.
    pub state: Vec<Option<Vec<(Key, Decimal)>>>,
    /// Per subtask: the entries of other keyed functions at the end.
    pub entries: Vec<Vec<KeyContents>>,
    /// Per subtask: what readers see of a sink, over all attempts.
    pub collected: Vec<Collected>,
    /// By upsert sink: the newest record of each key.
    pub tables: BTreeMap<Uid, BTreeMap<Key, Record>>,
    /// Per subtask, over all attempts.
    pub emitted: Vec<u64>,
    pub processed: Vec<u64>,
    /// Per subtask, over all attempts: records that a window dropped because it had fired.
    pub late: Vec<u64>,
    /// Source offsets in each completed checkpoint.
    pub offsets: Vec<(CheckpointId, Vec<(SubtaskId, u64)>)>,
    /// By script entry.
    pub fired: Vec<bool>,
    /// The run was ended because nothing could happen any more, and the job had not ended.
    pub is_stuck: bool,
}

/// Run `job` to its end (or its time's).
///
/// # Errors
/// A sentence: working state cannot be made, or the checkpoint to start from cannot be read.
pub fn run(
    job: &Arc<JobGraph>,
    plan: &Arc<ExecutionGraph>,
    resources: Resources,
    options: LiveOptions,
) -> Result<LiveOutcome, String> {
    if let Some(reason) = refusal(&job.config.checkpointing) {
        return Err(reason.to_owned());
    }
    let meters: Vec<Meter> = plan.subtasks.iter().map(|_| Meter::default()).collect();
    let start = resources.start.clone();
    let from = start
        .as_ref()
        .map(|start| (&*start.storage, start.checkpoint));
    let backend = job.config.backend;
    let mut prepared = Some(resources.prepare(plan, setup_of(&job.config, false), 0, from)?);
    let clock = Clock::begin(clock::begin_ms_of(
        start.as_ref(),
        prepared.as_deref().unwrap_or_default(),
    )?);
    let start = start.map(|start| (start.checkpoint, start.claim));
    let places = Arc::new(Places::new(
        resources.storage.clone(),
        resources.savepoints.clone(),
    ));
    let started = Instant::now();
    let outsides = Outsides::of(plan, started);
    let mut manager = JobManager {
        job,
        plan,
        resources,
        options,
        meters: &meters,
        coordinator: CheckpointCoordinator::new(
            plan,
            job.config.checkpointing,
            backend,
            Beginning {
                from: start,
                processing_time_ms: clock.now_ms(),
            },
        ),
        clock,
        outsides: &outsides,
        started,
        events: Vec::new(),
        status: JobStatus::Running,
        fired: vec![false; job.script.len()],
        attempts: 0,
        restart_at: None,
        backoff: RestartBackoff::new(job.config.restart),
        rng: SplitMix64(job.config.seed),
        places,
        after_savepoint: None,
        faults: Arc::default(),
        late_news: Vec::new(),
        offsets: Vec::new(),
        next: None,
        is_stuck: false,
    };
    let mut from = start.map(|(checkpoint, _)| checkpoint);
    let mut contents = vec![None; plan.subtasks.len()];
    while let Some(operators) = prepared.take() {
        contents = manager.run_attempt(from, operators);
        (from, prepared) = match manager.wait_for_restore() {
            Some((from, operators)) => (from, Some(operators)),
            None => (None, None),
        };
    }
    manager.shut_down();
    let counts = |of: fn(&Meter) -> u64| meters.iter().map(of).collect();
    Ok(LiveOutcome {
        status: manager.status,
        elapsed: manager.started.elapsed(),
        events: manager.events,
        entries: contents.iter().map(entries).collect(),
        state: keyed_sums(plan, contents),
        collected: meters.iter().map(Meter::take_collected).collect(),
        tables: outsides.tables(plan),
        emitted: counts(|meter| meter.emitted.load(Ordering::Relaxed)),
        processed: counts(|meter| meter.processed.load(Ordering::Relaxed)),
        late: counts(|meter| meter.late.load(Ordering::Relaxed)),
        offsets: manager.offsets,
        fired: manager.fired,
        is_stuck: manager.is_stuck,
    })
}

fn entries(contents: &task::FinalState) -> Vec<KeyContents> {
    let contents = contents.as_ref();
    contents.map_or_else(Vec::new, |contents| contents.entries.clone())
}

/// Of what the subtasks brought home, the state of keyed operators: of each key one number, or its entries elsewhere.
fn keyed_sums(
    plan: &ExecutionGraph,
    contents: Vec<task::FinalState>,
) -> Vec<Option<Vec<(Key, Decimal)>>> {
    let is_sum = |operator: &OperatorSpec| {
        operator.entries_kind().is_some() || matches!(operator, OperatorSpec::KeyedSum(_))
    };
    let subtasks = plan.subtasks.iter().zip(contents);
    let rows = |(subtask, contents): (&SubtaskPlan, task::FinalState)| {
        let contents = contents.filter(|_| is_sum(&subtask.operator))?;
        Some(contents.rows)
    };
    subtasks.map(rows).collect()
}

/// Why a job with these checkpoints cannot run here.
fn refusal(config: &CheckpointConfig) -> Option<&'static str> {
    if config.mode == CheckpointMode::StopTheWorld {
        return Some(
            "The live driver does not stop the world. Run this job stepped, or choose another checkpointing mode.",
        );
    }
    config.is_unaligned().then_some(
        "The live driver's channels hold buffers that no barrier overtakes, so it takes no unaligned checkpoints. Run \
         this job stepped, or switch unaligned checkpoints off.",
    )
}

/// A restore that is ready: from which checkpoint, and the operators with their state.
type Restore = (Option<CheckpointId>, Vec<Prepared>);

/// News for a subtask that comes late.
struct LateNews {
    at_us: u64,
    subtask: SubtaskId,
    control: Control,
}

struct JobManager<'a> {
    job: &'a JobGraph,
    plan: &'a ExecutionGraph,
    resources: Resources,
    options: LiveOptions,
    meters: &'a [Meter],
    outsides: &'a Outsides,
    clock: Clock,
    coordinator: CheckpointCoordinator,
    started: Instant,
    events: Vec<TraceEvent>,
    status: JobStatus,
    fired: Vec<bool>,
    attempts: u32,
    restart_at: Option<Instant>,
    backoff: RestartBackoff,
    rng: SplitMix64,
    places: Arc<Places>,
    /// The job is about to end with a savepoint.
    after_savepoint: Option<AfterSavepoint>,
    faults: Arc<LiveFaults>,
    /// Notifications that a fault has delayed.
    late_news: Vec<LateNews>,
    offsets: Vec<(CheckpointId, Vec<(SubtaskId, u64)>)>,
    /// The restore that a command asked for.
    next: Option<Restore>,
    is_stuck: bool,
}

impl JobManager<'_> {
    fn now_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn record(&mut self, kind: EventKind) {
        let at_us = self.now_us();
        let step = self.events.len() as u64;
        self.events.push(TraceEvent { at_us, step, kind });
    }

    fn set_status(&mut self, status: JobStatus) {
        if status.is_terminal() {
            // A restore that was asked for in the same moment does not bring back what has ended.
            self.next = None;
        }
        self.status = status.clone();
        self.record(EventKind::JobStatus(status));
    }

    /// Where the job has ended, its checkpoints are deleted, as far as its retention says.
    fn shut_down(&mut self) {
        if let Some(end) = JobEnd::of(&self.status) {
            self.coordinator.shut_down(end);
        }
        self.obey(None);
    }

    fn is_time_over(&self) -> bool {
        self.options
            .until
            .is_some_and(|until| self.started.elapsed() >= until)
    }

    /// All subtasks on their threads, until the job ends, fails, or is to be restored. Their final state, if it ended.
    fn run_attempt(
        &mut self,
        from: Option<CheckpointId>,
        prepared: Vec<Prepared>,
    ) -> Vec<task::FinalState> {
        let (plan, meters, outsides) = (self.plan, self.meters, self.outsides);
        outsides.make_known(plan, &prepared);
        let surroundings = (plan, meters, outsides, self.options);
        let shared = (self.places.clone(), self.faults.clone(), self.clock);
        std::thread::scope(|scope| {
            let attempt = Attempt::spawn(scope, surroundings, (from, prepared), &shared);
            self.set_status(JobStatus::Running);
            let random = (self.attempts == 0).then(|| self.rng.next());
            for subtask in &plan.subtasks {
                self.coordinator.on_running(subtask.id);
            }
            self.coordinator.start_scheduler(self.now_us(), random);
            self.lead(&attempt);
            let ends_well =
                !matches!(self.status, JobStatus::Restarting { .. }) && self.next.is_none();
            let all = plan.subtasks.iter().map(|subtask| subtask.id);
            self.coordinator.suspend(all);
            self.obey(Some(&attempt));
            self.late_news.clear();
            let (states, events) = attempt.end(if ends_well {
                || Control::Release
            } else {
                || Control::Die
            });
            events.into_iter().for_each(|event| self.record(event));
            states
        })
    }

    /// The JobManager's loop during one attempt.
    fn lead(&mut self, attempt: &Attempt<'_>) {
        let mut life = Life::new(self.meters);
        while self.status == JobStatus::Running && self.next.is_none() {
            if self.is_time_over() {
                return;
            }
            if let Ok((subtask, report)) = attempt.reports.recv_timeout(TICK) {
                self.hear(subtask, report, attempt);
                life = Life::new(self.meters);
            }
            life.look(self.meters);
            if life.since.elapsed() > self.options.stuck_after && !self.is_anything_coming() {
                self.is_stuck = true;
                return;
            }
            if let Some(dead) = attempt.first_dead() {
                let name = self.plan.subtask_name(dead);
                return self.fail(&format!("The thread of {name} ended unexpectedly."));
            }
            self.run_script(Some(attempt));
            self.timers(attempt);
            self.time_out();
            self.obey(Some(attempt));
            if self.coordinator.all_finished() && self.status == JobStatus::Running {
                self.set_status(JobStatus::Finished);
            }
        }
    }

    /// Outside, time goes on whatever becomes of the job.
    fn time_out(&mut self) {
        for event in self.outsides.time_out() {
            self.record(event);
        }
    }

    fn hear(&mut self, subtask: SubtaskId, report: Report, attempt: &Attempt<'_>) {
        let now_us = self.now_us();
        match report {
            Report::Message(TaskMessage::Acknowledge {
                checkpoint,
                state,
                at_end,
            }) => self
                .coordinator
                .on_ack((subtask, checkpoint), state, at_end),
            Report::Message(TaskMessage::Decline { checkpoint, reason }) => {
                self.coordinator
                    .on_decline((subtask, checkpoint), reason, now_us);
            }
            Report::Message(TaskMessage::EndOfData) => {
                self.coordinator.on_end_of_data(subtask, now_us);
            }
            Report::Message(TaskMessage::Finished) => {
                self.coordinator.on_finished(subtask, now_us);
            }
            Report::Failed(cause) => {
                let name = self.plan.subtask_name(subtask);
                self.fail(&format!("{name} failed: {cause}."));
            }
            Report::Event(event) => self.record(event),
            Report::Orphaned(checkpoint) => self.discard(checkpoint),
        }
        self.obey(Some(attempt));
    }

    /// All subtasks are always canceled: regions begin again alone in the stepper only.
    fn fail(&mut self, original: &str) {
        if self.status != JobStatus::Running {
            return;
        }
        let stopping = self.after_savepoint.take();
        let cause = stopping.and_then(|stopping| stopping.cause_of(original));
        let cause = cause.unwrap_or_else(|| original.to_owned());
        let random = if self.backoff.draws() {
            self.rng.next()
        } else {
            0
        };
        let now_us = self.now_us();
        let delay_us = match self.backoff.on_failure(now_us, random) {
            Verdict::GiveUp(reason) => {
                let cause = format!("{cause} {reason}");
                return self.set_status(JobStatus::Failed { cause });
            }
            Verdict::Wait => None,
            Verdict::Restart { delay_us } => Some(delay_us),
        };
        self.set_status(JobStatus::Restarting { cause });
        self.record(EventKind::FailoverPlanned {
            restarting: self
                .plan
                .subtasks
                .iter()
                .map(|subtask| subtask.id)
                .collect(),
            at_us: delay_us.map(|delay_us| now_us.saturating_add(delay_us)),
        });
        self.restart_at = delay_us.map(|delay_us| Instant::now() + Duration::from_micros(delay_us));
    }
}
