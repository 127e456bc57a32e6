//! Laws 11–16: what the checkpoint coordinator decides.

use std::collections::BTreeMap;

use super::{History, Violation, violation};
use crate::engine::event::{
    AbortReason, CheckpointKind, CommandOrigin, EventKind, JobStatus, Outcome, TraceEvent,
};
use crate::fuzz::history::Story;
use crate::model::{CheckpointId, Command, FaultKind, SubtaskId};

/// Breaks if a refused request uses up an id, or a restart turns the counter back.
pub fn ids(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    let baseline = history.baseline.as_ref();
    let mut last = baseline.map_or(CheckpointId(0), |baseline| baseline.checkpoint);
    for (at, event) in history.events.iter().enumerate() {
        let EventKind::Triggered { checkpoint, .. } = event.kind else {
            continue;
        };
        if checkpoint.0 != last.0 + 1 {
            let text = format!("checkpoint {checkpoint} follows {last}");
            found.push(violation(11, at, text));
        }
        last = checkpoint;
    }
    found
}

/// Breaks if a checkpoint completes without an acknowledgement or after its timeout, or is left undecided by the end.
pub fn decisions(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    let timeout_us = history.job.config.checkpointing.timeout_ms * 1000;
    let end = history.events.len().saturating_sub(1);
    for (id, story) in &history.checkpoints {
        if let Some(at) = story.completed {
            let acked = |id: &SubtaskId| story.acks.get(id).is_some_and(|ack| *ack < at);
            if let Some(silent) = story.must_ack.iter().find(|id| !acked(id)) {
                let name = history.plan.subtask_name(*silent);
                let text = format!("checkpoint {id} completes, but {name} did not acknowledge it");
                found.push(violation(12, at, text));
            }
            if history.at_us(at) > history.at_us(story.triggered).saturating_add(timeout_us) {
                found.push(violation(
                    12,
                    at,
                    format!("checkpoint {id} completes too late"),
                ));
            }
        }
        let decided = story.decided();
        if let Some((subtask, at)) = story
            .acks
            .iter()
            .find(|(_, at)| decided.is_some_and(|decided| decided < **at))
        {
            let name = history.plan.subtask_name(*subtask);
            let text = format!("an acknowledgement by {name} counts after {id} is decided");
            found.push(violation(12, *at, text));
        }
        if decided.is_none() && history.status.is_terminal() {
            let text = format!("the job has ended, but checkpoint {id} is still pending");
            found.push(violation(12, end, text));
        }
    }
    found
}

fn is_pending(story: &Story, at: usize) -> bool {
    story.triggered < at && story.decided().is_none_or(|decided| decided >= at)
}

/// Breaks if more are begun than may be pending, or a periodic one comes within the pause.
pub fn limits(history: &History) -> Vec<Violation> {
    let config = &history.job.config.checkpointing;
    let mut found = Vec::new();
    for (id, story) in &history.checkpoints {
        let is_forced = story.kind.is_savepoint() && !config.unaligned;
        let at = story.triggered;
        let others = history.checkpoints.values();
        let pending = others.filter(|other| is_pending(other, at)).count();
        if !is_forced && pending >= config.max_concurrent as usize {
            let text = format!("checkpoint {id} begins while {pending} are pending");
            found.push(violation(13, at, text));
        }
        if story.kind != CheckpointKind::Periodic {
            continue;
        }
        let completed = history.checkpoints.values();
        let completed = completed.filter_map(|other| other.completed);
        let last = completed.filter(|done| *done < at).max();
        let pause_us = config.min_pause_ms * 1000;
        if last.is_some_and(|done| history.at_us(at) < history.at_us(done) + pause_us) {
            let text = format!("periodic checkpoint {id} begins within the pause");
            found.push(violation(13, at, text));
        }
    }
    found
}

/// Breaks if a completion leaves an older checkpoint pending or aborts a savepoint, or a task hears both outcomes.
pub fn notifications(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    for (id, story) in &history.checkpoints {
        if let Some((at, AbortReason::Subsumed)) = story.aborted
            && story.kind.is_savepoint()
        {
            found.push(violation(14, at, format!("savepoint {id} is subsumed")));
        }
        let Some(at) = story.completed else { continue };
        if matches!(story.kind, CheckpointKind::Savepoint(_)) {
            continue;
        }
        let step = history.events[at].step;
        for (older, other) in history.checkpoints.range(..id) {
            let late = |decided: usize| history.events[decided].step > step;
            if !other.kind.is_savepoint() && other.decided().is_none_or(late) {
                let text = format!("checkpoint {older} is pending after {id} is complete");
                found.push(violation(14, at, text));
            }
        }
    }
    found.extend(news(history));
    found
}

fn news(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut heard: BTreeMap<(SubtaskId, CheckpointId), Outcome> = BTreeMap::new();
    for (at, event) in history.events.iter().enumerate() {
        let EventKind::Notified {
            subtask,
            checkpoint,
            outcome,
        } = event.kind
        else {
            continue;
        };
        let name = || history.plan.subtask_name(subtask);
        let before = heard.insert((subtask, checkpoint), outcome);
        if before.is_some_and(|before| before != outcome) {
            let text = format!("{} hears both outcomes of {checkpoint}", name());
            found.push(violation(14, at, text));
        }
        let story = history.checkpoints.get(&checkpoint);
        let is_true = match outcome {
            Outcome::Completed => story.and_then(|story| story.completed),
            Outcome::Aborted => story.and_then(|story| story.aborted).map(|(at, _)| at),
        };
        if is_true.is_none_or(|decided| decided > at) {
            let text = format!(
                "{} hears an outcome of {checkpoint} that it has not",
                name()
            );
            found.push(violation(14, at, text));
        }
        let is_plain = story.is_some_and(|s| matches!(s.kind, CheckpointKind::Savepoint(_)));
        if is_plain && outcome == Outcome::Completed {
            let text = format!("{} hears of savepoint {checkpoint}", name());
            found.push(violation(27, at, text));
        }
    }
    found
}

const THRESHOLD: &str = "tolerable";

/// Breaks if the failure counter is wrong by one, counts what does not count, or is not reset by a success; or if a failed
/// synchronous part counts at all.
pub fn failures(history: &History) -> Vec<Violation> {
    let tolerable = history.job.config.checkpointing.tolerable_failed;
    let mut found = ignored_sync_parts(history);
    let (mut count, mut last_success, mut due) = (0_u32, CheckpointId(0), None);
    for (at, event) in history.events.iter().enumerate() {
        if let Some((since, step)) = due
            && event.step != step
        {
            let text = "too many checkpoints have failed, but the job goes on".to_owned();
            found.push(violation(15, since, text));
            due = None;
        }
        match &event.kind {
            EventKind::Aborted { checkpoint, reason } => {
                let story = history.checkpoints.get(checkpoint);
                let by_task = matches!(reason, AbortReason::AsyncException);
                // One that is to end the job fails it by itself, without counting.
                let may_count = match story.map(|story| story.kind) {
                    Some(CheckpointKind::StopWithSavepoint { .. }) => false,
                    Some(CheckpointKind::Savepoint(_)) => by_task,
                    _ => true,
                };
                let counts = may_count && reason.counts_as_failure();
                if counts && *checkpoint > last_success {
                    count += 1;
                    if count > tolerable {
                        count = 0;
                        due = Some((at, event.step));
                    }
                }
            }
            EventKind::Completed { checkpoint } => {
                count = 0;
                last_success = *checkpoint;
            }
            EventKind::JobStatus(JobStatus::Restarting { cause } | JobStatus::Failed { cause }) => {
                let exceeded = cause.contains(THRESHOLD);
                if exceeded && due.is_none() {
                    let text = "the job fails before too many checkpoints have".to_owned();
                    found.push(violation(15, at, text));
                }
                due = None;
            }
            _ => {}
        }
    }
    found
}

/// A fault in the synchronous part is no decline: the task fails, and the job with it, however many are tolerable.
fn ignored_sync_parts(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    for (at, event) in history.events.iter().enumerate() {
        let EventKind::FaultStruck { fault } = &event.kind else {
            continue;
        };
        let fails = |other: &TraceEvent| {
            let down = |status: &JobStatus| {
                matches!(
                    status,
                    JobStatus::Restarting { .. } | JobStatus::Failed { .. }
                )
            };
            matches!(&other.kind, EventKind::JobStatus(status) if down(status))
        };
        let same_step = |other: &&TraceEvent| other.step == event.step;
        let mut rest = history.events[at..].iter().take_while(same_step);
        if fault.kind == FaultKind::SyncPart && !rest.any(fails) {
            let text = "the synchronous part of a snapshot fails, but not the job".to_owned();
            found.push(violation(15, at, text));
        }
    }
    found
}

/// Breaks if the store grows beyond its size or drops the newest, or if a restart takes another than the latest.
pub fn store(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    let baseline = history.baseline.iter();
    let mut store: Vec<CheckpointId> = baseline.map(|baseline| baseline.checkpoint).collect();
    let retained = history.job.config.checkpointing.retained as usize;
    let mut wanted: Option<Option<CheckpointId>> = None;
    // In which step restores were refused, and how many: what comes next is one that is older.
    let mut refused = (0, 0);
    for (at, event) in history.events.iter().enumerate() {
        match &event.kind {
            EventKind::Completed { checkpoint } => {
                let known = history.checkpoints.get(checkpoint);
                if known.is_some_and(|story| !story.kind.is_savepoint()) {
                    store.push(*checkpoint);
                }
            }
            EventKind::Subsumed { checkpoint } | EventKind::Released { checkpoint } => {
                if store.last() == Some(checkpoint) {
                    let text = format!("the newest checkpoint {checkpoint} is dropped");
                    found.push(violation(16, at, text));
                }
                store.retain(|id| id != checkpoint);
            }
            EventKind::CommandAccepted {
                command: Command::Restore { checkpoint },
                by,
            } => {
                let tries = if refused.0 == event.step {
                    refused.1
                } else {
                    0
                };
                // What is newer than the latest belongs to a course that was given up.
                let mut in_turn: Vec<CheckpointId> = store.clone();
                in_turn.retain(|id| Some(id) <= store.last());
                in_turn.sort_unstable();
                let older = in_turn.iter().rev().nth(tries).copied();
                if tries > 0 && *checkpoint != older {
                    let text = format!("after {tries} tries the job falls back to {checkpoint:?}");
                    found.push(violation(16, at, text));
                }
                if tries > 0 || *by != CommandOrigin::Job {
                    wanted = Some(*checkpoint);
                }
            }
            EventKind::CommandRefused {
                command: Command::Restore { .. },
                ..
            } => {
                let before = if refused.0 == event.step {
                    refused.1
                } else {
                    0
                };
                refused = (event.step, before + 1);
            }
            EventKind::JobStatus(JobStatus::Restoring { from }) => {
                let asked = wanted.take().flatten();
                let expected = asked.or(store.last().copied());
                if *from != expected {
                    let tell = |id: Option<CheckpointId>| {
                        id.map_or("nothing".to_owned(), |id| id.to_string())
                    };
                    let text = format!(
                        "the job is restored from {}, not from {}",
                        tell(*from),
                        tell(expected)
                    );
                    found.push(violation(16, at, text));
                }
                if let Some(from) = from.filter(|from| store.contains(from)) {
                    store.retain(|id| *id != from);
                    store.push(from);
                }
            }
            _ => {}
        }
        let next = history.events.get(at + 1);
        let step_goes_on = next.is_some_and(|next| next.step == event.step);
        if store.len() > retained && !step_goes_on {
            let text = format!(
                "{} checkpoints are kept, of at most {retained}",
                store.len()
            );
            found.push(violation(16, at, text));
            store.drain(..store.len() - retained);
        }
    }
    found
}
