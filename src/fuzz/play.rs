//! One job, run in the stepper from its beginning to its end, and judged.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::history::{History, Violation};
use super::laws;
use crate::engine::driver::resources::SavepointTarget;
use crate::engine::driver::stepper::Stepper;
use crate::engine::driver::{Feeds, Resources};
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
            max_steps: 60_000,
        }
    }
}

/// What happened, and what was wrong with it.
pub struct Played {
    pub events: Vec<TraceEvent>,
    pub violations: Vec<Violation>,
}

/// Runs `job` in `dir`, an empty folder of its own that need not exist.
#[must_use]
pub fn play(job: &JobGraph, dir: &Path, limits: Limits) -> Played {
    let plan = Arc::new(ExecutionGraph::of(job));
    let mut stepper = match start(job, &plan, dir) {
        Ok(stepper) => stepper,
        Err(reason) => return refused(&reason),
    };
    let (events, end) = run(&mut stepper, limits);
    let is_deaf = events
        .iter()
        .any(|event| matches!(event.kind, EventKind::NotificationLost { .. }));
    let mut violations = laws::check(&History::read(job, &plan, &events));
    let at = events.len().saturating_sub(1);
    violations.extend(judge_end(job, end, is_deaf).map(|sentence| Violation {
        law: 0,
        sentence,
        at,
    }));
    Played { events, violations }
}

fn refused(reason: &str) -> Played {
    let sentence = format!("the job cannot begin: {reason}");
    let violation = Violation {
        law: 0,
        sentence,
        at: 0,
    };
    Played {
        events: Vec::new(),
        violations: vec![violation],
    }
}

fn start(job: &JobGraph, plan: &Arc<ExecutionGraph>, dir: &Path) -> Result<Stepper, String> {
    let root: PathBuf = dir.join("checkpoints");
    let storage = storage::open(job.config.storage, &root).map_err(|error| error.to_string())?;
    let resources = Resources {
        feeds: Feeds::new(),
        storage,
        dir: dir.join("state"),
        start: None,
        savepoints: Some(Arc::new(SavepointsInMemory)),
    };
    Stepper::new(Arc::new(job.clone()), plan.clone(), resources)
}

/// A savepoint folder that keeps nothing on the disk.
struct SavepointsInMemory;

impl SavepointTarget for SavepointsInMemory {
    fn open(&self, name: &str) -> Result<(String, Arc<dyn CheckpointStorage>), String> {
        Ok((name.to_owned(), Arc::new(MemoryStorage::default())))
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
