//! How a run ended, and whether the rules allow it to end so: that a job stands still, or goes on for ever, is right only
//! where its log shows a cause that Flink has as well.

use std::collections::BTreeSet;

use super::history::{History, Lane};
use crate::engine::event::{
    AbortReason, CheckpointKind, EventKind, JobStatus, Outcome, SubtaskStatus, TransactionEnd,
};
use crate::model::{
    Alignment, CheckpointConfig, CheckpointId, JobGraph, OperatorSpec, RestartStrategy, SinkKind,
    SubtaskId,
};

/// Why a run is over.
#[derive(Clone, Debug)]
pub enum End {
    Over,
    /// Nothing can happen any more, but the job has not ended.
    Stands(JobStatus),
    TimeIsUp,
    TooManySteps,
}

/// What follows from an end.
pub enum Verdict {
    Sound,
    /// A time limit of the job's own is to blame: without it ([`patient`]) the job must end.
    TooImpatient,
    Wrong(String),
}

/// How often something must happen in the second half of a run to keep the job from ever ending.
const OFTEN: usize = 5;

pub fn judge(history: &History, end: End) -> Verdict {
    match end {
        End::Over | End::TimeIsUp => Verdict::Sound,
        // Down, and nobody is there to restore it.
        End::Stands(JobStatus::Restarting { .. })
            if history.job.config.restart == RestartStrategy::Manual =>
        {
            Verdict::Sound
        }
        End::Stands(JobStatus::Running) if waits_for_lost_news(history) => Verdict::Sound,
        End::Stands(status) => Verdict::Wrong(format!(
            "nothing can happen any more, but the job is {status:?}"
        )),
        End::TooManySteps if misses(history, News::OfStop) => Verdict::Sound,
        End::TooManySteps if is_crossed(history) => Verdict::Sound,
        End::TooManySteps if expires_again_and_again(history) => Verdict::TooImpatient,
        End::TooManySteps if transactions_time_out_again_and_again(history) => {
            Verdict::TooImpatient
        }
        End::TooManySteps => Verdict::Wrong("the job does not end".to_owned()),
    }
}

/// The same job without the time limits that are shorter than what it has to do.
#[must_use]
pub fn patient(job: &JobGraph) -> JobGraph {
    let mut job = job.clone();
    job.config.checkpointing.timeout_ms = CheckpointConfig::default().timeout_ms;
    for vertex in &mut job.vertices {
        if let OperatorSpec::Sink(sink) = &mut vertex.operator
            && let SinkKind::TwoPhaseCommit {
                transaction_timeout_ms,
                ..
            } = &mut sink.kind
        {
            *transaction_timeout_ms = SinkKind::DEFAULT_TRANSACTION_TIMEOUT_MS;
        }
    }
    job
}

/// No more checkpoints come, and every subtask that has not finished waits for news that was lost.
fn waits_for_lost_news(history: &History) -> bool {
    let is_stopping = history.checkpoints.values().any(|story| {
        let is_stop = matches!(story.kind, CheckpointKind::StopWithSavepoint { .. });
        is_stop && story.completed.is_some()
    });
    let is_periodic = history.job.config.checkpointing.interval_ms.is_some();
    (!is_periodic || is_stopping) && misses(history, News::OfEnd)
}

/// The news without which a subtask never finishes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum News {
    /// Of the savepoint that the job stops with: nothing else will do, even if checkpoints go on because it has failed.
    OfStop,
    /// Of that, or of a checkpoint that it took at the end of its data: the next one would do as well.
    OfEnd,
}

/// Every subtask that has not finished missed such news (Flink: notifications are best effort and never repeated), or
/// stands behind one that did.
fn misses(history: &History, news: News) -> bool {
    let mut excused = BTreeSet::new();
    loop {
        let before = excused.len();
        for plan in &history.plan.subtasks {
            let mut senders = plan.inputs.iter().map(|id| history.plan.channel(*id).from);
            let waits_behind = senders.any(|sender| excused.contains(&sender));
            let is_excused = waits_behind || is_deaf(history, plan.id, news);
            if !has_finished(history, plan.id) && is_excused {
                excused.insert(plan.id);
            }
        }
        if excused.len() == before {
            break;
        }
    }
    let mut subtasks = history.plan.subtasks.iter().map(|plan| plan.id);
    subtasks.all(|id| has_finished(history, id) || excused.contains(&id))
}

fn has_finished(history: &History, subtask: SubtaskId) -> bool {
    history.tasks[subtask.index()].status == SubtaskStatus::Finished
}

fn is_deaf(history: &History, subtask: SubtaskId, news: News) -> bool {
    let restores = history.restores.iter();
    let own = restores.filter(|restore| restore.subtask == subtask);
    let begun = own.map(|restore| restore.at).max().unwrap_or(0);
    let at_end = history.tasks[subtask.index()].status == SubtaskStatus::EndOfData;
    let waits_for = |checkpoint: &CheckpointId, lost: Outcome| {
        let story = history.checkpoints.get(checkpoint);
        story.is_some_and(|story| {
            let stops = matches!(story.kind, CheckpointKind::StopWithSavepoint { .. });
            let ends = news == News::OfEnd && at_end && lost == Outcome::Completed;
            story.captures.contains_key(&subtask) && (stops || ends)
        })
    };
    history.events[begun..].iter().any(|event| {
        matches!(&event.kind, EventKind::NotificationLost { subtask: deaf, checkpoint, outcome }
            if *deaf == subtask && waits_for(checkpoint, *outcome))
    })
}

fn second_half<'a>(history: &'a History) -> impl Iterator<Item = &'a EventKind> {
    let half = history.events.len() / 2;
    history.events[half..].iter().map(|event| &event.kind)
}

/// Checkpoints take longer than their timeout, the last one too.
fn expires_again_and_again(history: &History) -> bool {
    let expired = second_half(history).filter(|event| {
        matches!(
            event,
            EventKind::Aborted {
                reason: AbortReason::Expired,
                ..
            }
        )
    });
    expired.count() >= OFTEN
}

/// A transaction times out before its checkpoint is complete: writing into it, its pre-commit or its commit fails the job,
/// which begins again.
fn transactions_time_out_again_and_again(history: &History) -> bool {
    let failed = second_half(history).filter(|event| {
        matches!(
            event,
            EventKind::CommitFailed { .. }
                | EventKind::TransactionAborted {
                    why: TransactionEnd::TimedOut,
                    ..
                }
        )
    });
    failed.count() >= OFTEN
}

/// A checkpoint has tied the job into a knot, as it does in Flink where barriers overtake on some edges and must not on
/// others (pointwise and broadcast ones, and all that enter the same operator): a subtask that overtook stands before an
/// input that its own barrier shut, and the barrier that would open it is behind records that wait for that subtask. The
/// abort of the checkpoint opens nothing, since the subtask that aligns does not hear a barrier that it cannot take.
fn is_crossed(history: &History) -> bool {
    let alive = || history.lanes.iter().filter(|lane| lane.died.is_none());
    alive().any(|lane| {
        let Some(checkpoint) = shut_for(lane) else {
            return false;
        };
        let is_forced = lane.barrier(checkpoint).is_some_and(|(barrier, _)| {
            matches!(barrier.alignment, Alignment::ForcedAligned { .. })
        });
        let (from, to) = ends(history, lane);
        is_forced && is_full(history, lane) && awaits(history, (to, checkpoint), from)
    })
}

fn ends(history: &History, lane: &Lane) -> (SubtaskId, SubtaskId) {
    let channel = history.plan.channel(lane.channel);
    (channel.from, channel.to)
}

fn shut_for(lane: &Lane) -> Option<CheckpointId> {
    let last = lane.blocks.last()?;
    last.to.is_none().then_some(last.checkpoint)
}

fn is_full(history: &History, lane: &Lane) -> bool {
    let waiting = lane.records.iter().filter(|record| record.taken.is_none());
    waiting.count() >= history.job.config.channel_capacity as usize
}

/// Whether the alignment of `checkpoint` at `aligning` waits, over however many others, for `wanted`.
fn awaits(
    history: &History,
    (aligning, checkpoint): (SubtaskId, CheckpointId),
    wanted: SubtaskId,
) -> bool {
    let alive = || history.lanes.iter().filter(|lane| lane.died.is_none());
    let has_come = |lane: &Lane| {
        let barrier = lane.barrier(checkpoint);
        barrier.is_some_and(|(_, sent)| sent.taken.is_some())
    };
    // Those whose barrier is awaited: what they must take first, and where they cannot go on.
    let senders = |to: SubtaskId| {
        let inputs = alive().filter(move |lane| ends(history, lane).1 == to && !has_come(lane));
        inputs.map(|lane| ends(history, lane).0)
    };
    let mut waiting: Vec<SubtaskId> = senders(aligning).collect();
    let mut seen = BTreeSet::new();
    while let Some(next) = waiting.pop() {
        if next == wanted {
            return true;
        }
        if !seen.insert(next) {
            continue;
        }
        waiting.extend(senders(next));
        for lane in alive().filter(|lane| ends(history, lane).0 == next && is_full(history, lane)) {
            waiting.push(ends(history, lane).1);
            if shut_for(lane).is_some() {
                waiting.extend(senders(ends(history, lane).1));
            }
        }
    }
    false
}
