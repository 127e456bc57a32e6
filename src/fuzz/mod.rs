//! Random jobs against the laws of checkpointing.
//!
//! A seed becomes a [job](generate::job) with settings, a script and faults. [`play`] runs it in the stepper and hands
//! its event log to the [laws]. A seed that breaks one is [shrunk](shrink) and written as a job file, which
//! `lockgate run` replays.
//!
//! May know: the model, the engine and its stepper, recordings, job files. Must not know: a run, egui, the command line.
//! The laws look at the event log alone: an oracle that asked the engine would believe it.

mod chance;
mod end;
pub mod fold;
pub mod generate;
pub mod history;
pub mod laws;
pub mod play;
mod replay;
mod second;
mod shrink;

use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::{io, thread};

use crate::engine::event::TraceEvent;
use crate::model::JobGraph;
use history::Violation;
use play::{Limits, Played, SecondRun, play};

/// Of so many seeds one is run twice, to see that both runs give the same events.
const TWICE_EVERY: u64 = 16;
/// How many smaller jobs are tried for one that fails, and how many events they may have in all.
const SHRINK_BUDGET: usize = 600;
const SHRINK_EVENTS: usize = 1_000_000;
/// Results that wait for an earlier seed's.
const MAX_AHEAD: usize = 256;

/// A seed that breaks a law.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub seed: u64,
    pub violation: Violation,
    /// The smallest job found that breaks the same law.
    pub job: JobGraph,
    /// How that job breaks it.
    pub shrunk: Violation,
    /// What happens in it.
    pub events: Vec<TraceEvent>,
    /// What followed from what that one had left.
    pub second: Option<SecondRun>,
}

/// What was seen of one seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub seed: u64,
    pub events: usize,
    pub failure: Option<Box<Failure>>,
}

/// Runs every seed on `threads` threads and tells `on_outcome` of each, in the order of the seeds, until it says to stop
/// by returning false.
///
/// # Errors
/// A temporary folder cannot be made.
pub fn run(
    seeds: Range<u64>,
    threads: usize,
    limits: Limits,
    mut on_outcome: impl FnMut(Outcome) -> bool,
) -> io::Result<()> {
    let next = AtomicU64::new(seeds.start);
    let stop = AtomicBool::new(false);
    let folder = folder()?;
    let (sender, receiver) = crossbeam_channel::bounded(MAX_AHEAD);
    thread::scope(|scope| {
        for number in 0..threads.max(1) {
            let sender = sender.clone();
            let dir = folder.path().join(number.to_string());
            let (next, stop, end) = (&next, &stop, seeds.end);
            scope.spawn(move || {
                loop {
                    // The counter stays at the end: beyond the last number it would begin again.
                    let after = |seed| (seed < end).then(|| seed + 1);
                    let seed = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after);
                    let Ok(seed) = seed else { return };
                    let over = stop.load(Ordering::Relaxed);
                    if over || sender.send(try_seed(seed, &dir, limits)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut early = std::collections::BTreeMap::new();
        let mut wanted = seeds.start;
        for outcome in receiver {
            early.insert(outcome.seed, outcome);
            while let Some(outcome) = early.remove(&wanted) {
                wanted += 1;
                if !stop.load(Ordering::Relaxed) && !on_outcome(outcome) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        }
    });
    Ok(())
}

/// In memory where the system has a place for that: what is written here need not survive anything.
fn folder() -> io::Result<tempfile::TempDir> {
    let in_memory = tempfile::tempdir_in("/dev/shm");
    in_memory.or_else(|_| tempfile::tempdir())
}

/// One seed: run, judged, and shrunk if it fails.
#[must_use]
pub fn try_seed(seed: u64, dir: &Path, limits: Limits) -> Outcome {
    let job = generate::job(seed);
    let mut played = play_safely(&job, dir, limits);
    if seed.is_multiple_of(TWICE_EVERY) && play_safely(&job, dir, limits).events != played.events {
        played.violations.push(Violation {
            law: 0,
            sentence: "two runs of the same job give different events".to_owned(),
            at: 0,
        });
    }
    let failure = played.violations.first().map(|violation| {
        let (job, shrunk) = smallest(&job, violation, dir, limits);
        let last = play_safely(&job, dir, limits);
        let (events, second) = (last.events, last.second);
        Box::new(Failure {
            seed,
            violation: violation.clone(),
            job,
            shrunk,
            events,
            second,
        })
    });
    Outcome {
        seed,
        events: played.events.len(),
        failure,
    }
}

fn smallest(
    job: &JobGraph,
    violation: &Violation,
    dir: &Path,
    limits: Limits,
) -> (JobGraph, Violation) {
    let mut left = SHRINK_EVENTS;
    let mut broken = |job: &JobGraph| {
        if left == 0 {
            return None;
        }
        let played = play_safely(job, dir, limits);
        left = left.saturating_sub(played.events.len());
        let mut found = played.violations.into_iter();
        found.find(|found| found.law == violation.law)
    };
    let mut last = violation.clone();
    let job = shrink::shrink(job, SHRINK_BUDGET, |job| match broken(job) {
        Some(found) => {
            last = found;
            true
        }
        None => false,
    });
    (job, last)
}

/// A panic is a violation like any other. Whatever the run left in `dir` is removed.
fn play_safely(job: &JobGraph, dir: &Path, limits: Limits) -> Played {
    let played = panic::catch_unwind(AssertUnwindSafe(|| play(job, dir, limits)));
    // Nothing may be there: most jobs keep all in memory.
    let _ = std::fs::remove_dir_all(dir);
    played.unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        let sentence = format!("panic: {}", text.unwrap_or_default());
        Played {
            events: Vec::new(),
            violations: vec![Violation {
                law: 0,
                sentence,
                at: 0,
            }],
            second: None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ClaimMode, Retention};

    /// Breaks if no job leaves incremental files any more from which a second life can start, claimed or not.
    #[test]
    fn second_lives_start_from_incremental_files() {
        let dir = tempfile::tempdir().unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for seed in 500..3_500 {
            let job = generate::job(seed);
            let leaves_files = job.config.state.incremental
                && job.config.checkpointing.retention == Retention::RetainOnCancellation;
            if !leaves_files {
                continue;
            }
            let played = play(&job, &dir.path().join(seed.to_string()), Limits::default());
            let Some(second) = played.second else {
                continue;
            };
            let subtasks = second.snapshot.operators.iter();
            let mut keyed = subtasks
                .flat_map(|operator| &operator.subtasks)
                .filter_map(|subtask| subtask.keyed.as_ref());
            if keyed.any(|handle| handle.shared().next().is_some()) {
                seen.insert(second.claim == ClaimMode::Claim);
            }
            if seen.len() == 2 {
                return;
            }
        }
        panic!("of 3,000 seeds, those claimed: {seen:?}");
    }

    /// Breaks if the counter of seeds goes over its end and begins again: the run would never end.
    #[test]
    fn the_last_seeds_of_all_are_run_once() {
        let mut seen = Vec::new();
        let limits = Limits {
            until_us: Some(0),
            ..Limits::default()
        };
        run(u64::MAX - 2..u64::MAX, 2, limits, |outcome| {
            seen.push(outcome.seed);
            seen.len() < 10
        })
        .unwrap();
        assert_eq!(seen, [u64::MAX - 2, u64::MAX - 1]);
    }
}
