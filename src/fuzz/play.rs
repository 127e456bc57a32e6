//! One job, run in the stepper from its beginning to its end, and judged.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::end::{self, End, Verdict};
use super::fold::projection_of;
use super::history::{Baseline, History, Violation};
use super::laws;
use super::second::{self, SecondLife};
use crate::engine::driver::resources::SavepointTarget;
use crate::engine::driver::stepper::Stepper;
use crate::engine::driver::{Feeds, Resources, StartPoint};
use crate::engine::event::TraceEvent;
use crate::engine::plan::ExecutionGraph;
use crate::engine::storage::{self, CheckpointMetadata, CheckpointStorage, MemoryStorage};
use crate::model::{ClaimMode, JobGraph};
use crate::recording::View;

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

/// After so many steps the fold of the log is compared with the engine.
const FOLD_EVERY: usize = 61;

/// What happened, and what was wrong with it.
pub struct Played {
    pub events: Vec<TraceEvent>,
    pub violations: Vec<Violation>,
    pub second: Option<SecondRun>,
}

/// The changed job that took up what a run had left, and what happened in it.
#[derive(Clone, Debug, PartialEq)]
pub struct SecondRun {
    pub job: JobGraph,
    pub claim: ClaimMode,
    /// All of the snapshot that it started from.
    pub snapshot: CheckpointMetadata,
    pub events: Vec<TraceEvent>,
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
            snapshot,
            others,
        })) => {
            let (id, claim) = (baseline.checkpoint, start.claim);
            let (next, _) = live(&job, (&dir.join("2"), Some((start, baseline))), limits);
            let told = next.violations.into_iter().map(|found| Violation {
                sentence: format!("in a changed job, started from {id}: {}", found.sentence),
                ..found
            });
            played.violations.extend(told);
            let hurt = others.iter().filter_map(|(other, storage)| {
                let error = storage.verify(*other).err()?;
                Some(Violation {
                    law: 20,
                    sentence: format!("a run started from {id} has damaged {other}: {error}"),
                    at: 0,
                })
            });
            played.violations.extend(hurt);
            played.second = Some(SecondRun {
                job,
                claim,
                snapshot,
                events: next.events,
            });
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
    let (point, baseline) = start.clone().unzip();
    let savepoints = Arc::new(SavepointsInMemory::default());
    let started = storage::open(&job.config, &dir.join("checkpoints"))
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
    let (storage, stepper) = match started {
        Ok(started) => started,
        Err(reason) => return (refused(&reason), None),
    };
    let mut course = Course {
        stepper,
        plan: &plan,
        events: Vec::new(),
        view: View::new(&plan, job.script.len()),
        contradiction: None,
    };
    let end = course.run(limits);
    let Course {
        events,
        contradiction,
        ..
    } = course;
    let history = History::read(job, &plan, &events, baseline);
    let mut violations = laws::check(&history);
    let places = savepoints.all();
    let stored = laws::Stored {
        holds: &|id, is_savepoint| {
            if is_savepoint {
                places.values().any(|place| place.stored_bytes(id).is_ok())
            } else {
                storage.stored_bytes(id).is_ok()
            }
        },
        holds_start: start
            .as_ref()
            .map(|(point, _)| point.storage.stored_bytes(point.checkpoint).is_ok()),
    };
    violations.extend(laws::leaked(&history, &stored));
    let at = events.len().saturating_sub(1);
    let wrong_end = match end::judge(&history, end) {
        Verdict::Sound => None,
        Verdict::Wrong(sentence) => Some(sentence),
        Verdict::TooImpatient => ends_for_no_reason(job, (dir, start), limits),
    };
    violations.extend(wrong_end.map(|sentence| Violation {
        law: 0,
        sentence,
        at,
    }));
    violations.extend(contradiction.map(|at| Violation {
        law: 0,
        sentence: format!("after event {at} the fold of the log is not what the engine holds"),
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

/// What is wrong with the end of a job whose own time limits seem to keep it from ending: without them it must end.
fn ends_for_no_reason(
    job: &JobGraph,
    (dir, start): (&Path, Option<(StartPoint, Baseline)>),
    limits: Limits,
) -> Option<String> {
    let patient = end::patient(job);
    if patient == *job {
        return Some("the job does not end".to_owned());
    }
    if start
        .as_ref()
        .is_some_and(|(start, _)| start.claim == ClaimMode::Claim)
    {
        // What it would start from again is perhaps deleted.
        return None;
    }
    let (again, _) = live(&patient, (&dir.join("patient"), start), limits);
    let mut wrong = again.violations.into_iter().filter(|found| found.law == 0);
    let found = wrong.next()?;
    Some(format!("even without its time limits: {}", found.sentence))
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
        all.insert(name.to_owned(), storage.clone());
        Ok((name.to_owned(), storage))
    }
}

/// A run under way: the engine, its log, and what is folded from that.
struct Course<'a> {
    stepper: Stepper,
    plan: &'a ExecutionGraph,
    events: Vec<TraceEvent>,
    view: View,
    /// The first event after which the fold was not what the engine holds.
    contradiction: Option<usize>,
}

impl Course<'_> {
    fn run(&mut self, limits: Limits) -> End {
        let until_us = limits.until_us.unwrap_or(u64::MAX);
        self.fold();
        for step in 0..limits.max_steps {
            let goes_on = self.stepper.step_until(until_us);
            self.fold();
            if step.is_multiple_of(FOLD_EVERY) || !goes_on {
                self.compare();
            }
            if !goes_on {
                let status = self.stepper.status().clone();
                return match status {
                    status if status.is_terminal() => End::Over,
                    _ if self.stepper.next_at_us().is_some() => End::TimeIsUp,
                    status => End::Stands(status),
                };
            }
        }
        End::TooManySteps
    }

    fn fold(&mut self) {
        for event in self.stepper.take_log() {
            self.view.apply(self.plan, &event);
            self.events.push(event);
        }
    }

    fn compare(&mut self) {
        let engine = self.stepper.project();
        if projection_of(&self.view, self.plan, &engine) != engine {
            self.contradiction.get_or_insert(self.events.len());
        }
    }
}
