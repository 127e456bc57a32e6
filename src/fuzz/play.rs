//! One job, run in the stepper from its beginning to its end, and judged.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::history::{Baseline, History, Violation};
use super::laws;
use super::second::{self, SecondLife};
use crate::engine::driver::resources::SavepointTarget;
use crate::engine::driver::stepper::Stepper;
use crate::engine::driver::{Feeds, Resources, StartPoint};
use crate::engine::event::{EventKind, JobStatus, TraceEvent};
use crate::engine::plan::ExecutionGraph;
use crate::engine::storage::{self, CheckpointStorage, MemoryStorage};
use crate::model::{JobGraph, RestartStrategy};

/// How long a run may last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// In virtual time; what happens later is not looked at.
    pub until_us: Option<u64>,
    /// A job that must end and does not within so many steps never will.
    pub max_steps: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            until_us: None,
            max_steps: 30_000,
        }
    }
}

/// What happened, and what was wrong with it.
pub struct Played {
    pub events: Vec<TraceEvent>,
    pub violations: Vec<Violation>,
    /// The changed job that took up what this run had left, and what happened in it.
    pub second: Option<(JobGraph, Vec<TraceEvent>)>,
}

/// Runs `job` in `dir`, an empty folder of its own that need not exist; then a changed job, from a snapshot that the first
/// has left behind, if it has.
#[must_use]
pub fn play(job: &JobGraph, dir: &Path, limits: Limits) -> Played {
    let (mut played, second) = live(job, (&dir.join("1"), None), limits);
    match second {
        None => {}
        Some(Err(reason)) => played.violations.push(at_beginning(&format!(
            "what the run has left cannot be taken up: {reason}"
        ))),
        Some(Ok(SecondLife {
            job,
            start,
            baseline,
        })) => {
            let id = baseline.checkpoint;
            let (next, _) = live(&job, (&dir.join("2"), Some((start, baseline))), limits);
            let told = next.violations.into_iter().map(|found| Violation {
                sentence: format!("in a changed job, started from {id}: {}", found.sentence),
                ..found
            });
            played.violations.extend(told);
            played.second = Some((job, next.events));
        }
    }
    played
}

type Second = Option<Result<SecondLife, String>>;

/// One run, and what can follow it.
fn live(
    job: &JobGraph,
    (dir, start): (&Path, Option<(StartPoint, Baseline)>),
    limits: Limits,
) -> (Played, Second) {
    let plan = Arc::new(ExecutionGraph::of(job));
    let (point, baseline) = start.unzip();
    let savepoints = Arc::new(SavepointsInMemory::default());
    let started = storage::open(job.config.storage, &dir.join("checkpoints"))
        .map_err(|error| error.to_string())
        .and_then(|storage| {
            let resources = Resources {
                feeds: Feeds::new(),
                storage: storage.clone(),
                dir: dir.join("state"),
                start: point,
                savepoints: Some(savepoints.clone()),
            };
            let stepper = Stepper::new(Arc::new(job.clone()), plan.clone(), resources)?;
            Ok((storage, stepper))
        });
    let (storage, mut stepper) = match started {
        Ok(started) => started,
        Err(reason) => return (refused(&reason), None),
    };
    let (events, end) = run(&mut stepper, limits);
    let history = History::read(job, &plan, &events, baseline);
    let mut violations = laws::check(&history);
    let at = events.len().saturating_sub(1);
    let is_deaf = events
        .iter()
        .any(|event| matches!(event.kind, EventKind::NotificationLost { .. }));
    violations.extend(judge_end(job, end, is_deaf).map(|sentence| Violation {
        law: 0,
        sentence,
        at,
    }));
    let second = match history.baseline {
        None => second::of(&history, &(storage, savepoints.all())),
        Some(_) => None,
    };
    let played = Played {
        events,
        violations,
        second: None,
    };
    (played, second)
}

fn refused(reason: &str) -> Played {
    Played {
        events: Vec::new(),
        violations: vec![at_beginning(&format!("the job cannot begin: {reason}"))],
        second: None,
    }
}

fn at_beginning(sentence: &str) -> Violation {
    Violation {
        law: 0,
        sentence: sentence.to_owned(),
        at: 0,
    }
}

/// A savepoint folder that keeps nothing on the disk.
#[derive(Default)]
struct SavepointsInMemory(Mutex<BTreeMap<String, Arc<dyn CheckpointStorage>>>);

impl SavepointsInMemory {
    fn all(&self) -> BTreeMap<String, Arc<dyn CheckpointStorage>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }
}

impl SavepointTarget for SavepointsInMemory {
    fn open(&self, name: &str) -> Result<(String, Arc<dyn CheckpointStorage>), String> {
        let storage: Arc<dyn CheckpointStorage> = Arc::new(MemoryStorage::default());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = format!("{name}-{}", all.len());
        all.insert(name.clone(), storage.clone());
        Ok((name, storage))
    }
}

/// Why a run is over.
enum End {
    Over,
    /// Nothing can happen any more, but the job has not ended.
    Stands(JobStatus),
    TimeIsUp,
    TooManySteps,
}

fn run(stepper: &mut Stepper, limits: Limits) -> (Vec<TraceEvent>, End) {
    let until_us = limits.until_us.unwrap_or(u64::MAX);
    let mut events = stepper.take_log();
    for _ in 0..limits.max_steps {
        let goes_on = stepper.step_until(until_us);
        events.append(&mut stepper.take_log());
        if !goes_on {
            let status = stepper.status().clone();
            let end = match status {
                status if status.is_terminal() => End::Over,
                _ if stepper.next_at_us().is_some() => End::TimeIsUp,
                status => End::Stands(status),
            };
            return (events, end);
        }
    }
    (events, End::TooManySteps)
}

/// What is wrong with the way a run ended, if anything is. `is_deaf`: news of a checkpoint was lost.
fn judge_end(job: &JobGraph, end: End, is_deaf: bool) -> Option<String> {
    match end {
        End::Over | End::TimeIsUp => None,
        // Down, and nobody is there to restore it.
        End::Stands(JobStatus::Restarting { .. })
            if job.config.restart == RestartStrategy::Manual =>
        {
            None
        }
        // A subtask that missed the news of the final checkpoint waits for the next one, and none is due.
        End::Stands(JobStatus::Running)
            if is_deaf && job.config.checkpointing.interval_ms.is_none() =>
        {
            None
        }
        End::Stands(status) => Some(format!(
            "nothing can happen any more, but the job is {status:?}"
        )),
        // Where checkpoints may expire, the last one may do so again and again.
        End::TooManySteps if job.config.checkpointing.timeout_ms < 60_000 => None,
        End::TooManySteps => Some("the job does not end".to_owned()),
    }
}
