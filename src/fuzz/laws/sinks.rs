//! Laws 24–27: what a two-phase commit sink lets others see.

use std::collections::BTreeMap;

use super::multiplicity::{self, Tally};
use super::{History, Violation, violation};
use crate::engine::event::{CheckpointKind, EventKind, JobStatus, Outcome, TransactionEnd};
use crate::model::{
    CheckpointId, CheckpointMode, OperatorSpec, Origin, SinkKind, SubtaskId, TransactionId, Uid,
    Vertex,
};

/// A transaction as the log tells of it.
#[derive(Debug, Default)]
struct Transaction {
    /// Otherwise it is of the run that left the snapshot with which this one begins.
    is_ours: bool,
    records: Vec<Origin>,
    pre_committed: Option<(usize, CheckpointId)>,
    committed: Option<usize>,
    aborted: Option<(usize, TransactionEnd)>,
    failed: Vec<usize>,
}

/// By sink: an earlier run may have numbered its subtasks otherwise.
type Transactions = BTreeMap<(Uid, TransactionId), Transaction>;

fn transactions(history: &History) -> (Transactions, Vec<Violation>) {
    let mut all = Transactions::new();
    let mut found = Vec::new();
    for (at, event) in history.events.iter().enumerate() {
        let Some((subtask, id)) = transaction_of(&event.kind) else {
            continue;
        };
        let sink = history.plan.subtask(subtask).uid.clone();
        let is_known = all.contains_key(&(sink.clone(), id));
        let transaction = all.entry((sink, id)).or_default();
        let may_be_foreign = history.baseline.is_some() && !transaction.is_ours;
        if let EventKind::TransactionBegun { .. } = &event.kind {
            transaction.is_ours = true;
            if is_known {
                let text = format!("transaction {id} is begun twice");
                found.push(violation(24, at, text));
            }
            continue;
        }
        if !transaction.is_ours && !may_be_foreign {
            let text = format!("transaction {id} was never begun");
            found.push(violation(24, at, text));
        }
        found.extend(transaction.apply((at, id), &event.kind));
    }
    (all, found)
}

/// The transaction of which `event` tells, and whose sink it is of.
fn transaction_of(event: &EventKind) -> Option<(SubtaskId, TransactionId)> {
    match event {
        EventKind::TransactionBegun {
            subtask,
            transaction,
            ..
        }
        | EventKind::Collected {
            subtask,
            transaction: Some(transaction),
            ..
        }
        | EventKind::PreCommitted {
            subtask,
            transaction,
            ..
        }
        | EventKind::Committed {
            subtask,
            transaction,
            ..
        }
        | EventKind::CommitFailed {
            subtask,
            transaction,
            ..
        }
        | EventKind::TransactionAborted {
            subtask,
            transaction,
            ..
        } => Some((*subtask, *transaction)),
        _ => None,
    }
}

impl Transaction {
    fn apply(&mut self, (at, id): (usize, TransactionId), event: &EventKind) -> Option<Violation> {
        let mut wrong = None;
        match event {
            EventKind::Collected { record, .. } => {
                if self.pre_committed.is_some() || self.aborted.is_some() {
                    let text =
                        format!("a record is written into transaction {id}, which is closed");
                    wrong = Some((24, text));
                }
                self.records.push(record.origin);
            }
            EventKind::PreCommitted { checkpoint, .. } => {
                if self.pre_committed.is_some() {
                    wrong = Some((24, format!("transaction {id} is pre-committed twice")));
                }
                self.pre_committed = Some((at, *checkpoint));
            }
            EventKind::Committed { again, .. } => {
                // Of another run's it is known to that run alone whether it was committed there.
                if self.is_ours && self.committed.is_some() != *again {
                    let text =
                        format!("commit of {id}: whether it is a repetition is told wrongly");
                    wrong = Some((26, text));
                }
                if self.aborted.is_some() {
                    let text = format!("transaction {id} is committed after it was aborted");
                    wrong = Some((24, text));
                }
                self.committed.get_or_insert(at);
            }
            EventKind::TransactionAborted { why, .. } => {
                if self.committed.is_some() {
                    let text = format!("transaction {id} is aborted after it was committed");
                    wrong = Some((24, text));
                }
                self.aborted.get_or_insert((at, *why));
            }
            EventKind::CommitFailed { .. } => self.failed.push(at),
            _ => {}
        }
        wrong.map(|(law, text)| violation(law, at, text))
    }
}

fn transactional<'a>(history: &'a History) -> impl Iterator<Item = &'a Vertex> {
    let is_transactional = |vertex: &&Vertex| {
        matches!(&vertex.operator, OperatorSpec::Sink(sink)
            if matches!(sink.kind, SinkKind::TwoPhaseCommit { .. }))
    };
    history.job.vertices.iter().filter(is_transactional)
}

/// Breaks if an abort loses what a commit should have shown, or a record is committed by two transactions.
pub fn committed_once(history: &History) -> Vec<Violation> {
    let (all, mut found) = transactions(history);
    let end = history.events.len().saturating_sub(1);
    let exactly = history.job.config.checkpointing.mode != CheckpointMode::AtLeastOnce;
    // What was committed since is there, and comes again.
    let comes_again = !exactly || is_stopped_in_vain(history) || goes_far_back(history);
    let offsets = history.tasks.iter().flat_map(|task| &task.image.offsets);
    let offsets = offsets.map(|(split, offset)| (*split, *offset)).collect();
    for vertex in transactional(history) {
        if multiplicity::is_behind_window(history.job, &vertex.uid) {
            continue;
        }
        let (committed, lost) = outcome(history, vertex, &all);
        let expected = multiplicity::expected(history, &offsets, &vertex.uid);
        let mut least = expected.clone();
        for (origin, count) in lost {
            let wanted = least.entry(origin).or_default();
            *wanted = wanted.saturating_sub(count);
        }
        let missing = (history.status == JobStatus::Finished)
            .then(|| multiplicity::difference(&committed, &least, true));
        let too_many = (!comes_again).then(|| {
            let times = committed.keys().map(|origin| {
                let source = &history.plan.split(origin.split).uid;
                (
                    *origin,
                    multiplicity::times(history.job, source, &vertex.uid),
                )
            });
            multiplicity::difference(&times.collect(), &committed, true)
                .map(|(origin, allowed, count)| (origin, count, allowed))
        });
        for difference in [missing, too_many].into_iter().flatten().flatten() {
            let what = format!("in the output of {}", vertex.name);
            let text = multiplicity::tell(history, &what, difference);
            found.push(violation(24, end, text));
        }
    }
    found
}

/// What a sink has committed, and what it may have lost for ever: what the outside system aborted after its
/// pre-commit, if the sink goes on without it (Flink: `ignoreFailuresAfterTransactionTimeout`). Otherwise the job could
/// not get past it.
fn outcome(history: &History, vertex: &Vertex, all: &Transactions) -> (Tally, Tally) {
    let (mut committed, mut lost) = (Tally::new(), Tally::new());
    if let Some(baseline) = &history.baseline {
        let before = baseline.written.get(&vertex.uid);
        committed.extend(before.into_iter().flatten());
    }
    let goes_on_without = matches!(&vertex.operator, OperatorSpec::Sink(sink)
    if matches!(sink.kind, SinkKind::TwoPhaseCommit {
        ignore_failures_after_timeout: true, ..
    }));
    for ((sink, _), transaction) in all {
        if *sink != vertex.uid {
            continue;
        }
        let records = transaction.records.iter().copied();
        let timed_out = matches!(transaction.aborted, Some((_, TransactionEnd::TimedOut)));
        if transaction.committed.is_some() {
            multiplicity::add(&mut committed, records, 1);
        } else if goes_on_without && timed_out && transaction.pre_committed.is_some() {
            multiplicity::add(&mut lost, records, 1);
        }
    }
    (committed, lost)
}

/// The job went back to a checkpoint that was not the newest.
fn goes_far_back(history: &History) -> bool {
    let mut newest = None;
    for event in history.events {
        match &event.kind {
            EventKind::Completed { checkpoint } => {
                let story = history.checkpoints.get(checkpoint);
                if story.is_some_and(|story| !story.kind.is_savepoint()) {
                    newest = newest.max(Some(*checkpoint));
                }
            }
            EventKind::JobStatus(JobStatus::Restoring { from }) if *from < newest => return true,
            _ => {}
        }
    }
    false
}

/// A stop-with-savepoint was complete, but the job had to go on: from a checkpoint of before it (Flink:
/// `StopWithSavepointStoppingException`).
fn is_stopped_in_vain(history: &History) -> bool {
    let stops = history.checkpoints.values().filter_map(|story| {
        let is_stop = matches!(story.kind, CheckpointKind::StopWithSavepoint { .. });
        story.completed.filter(|_| is_stop)
    });
    stops.into_iter().any(|done| {
        let mut restores = history.restores.iter();
        restores.any(|restore| restore.at > done)
    })
}

/// Breaks if a transaction is committed with an aborted checkpoint, or with a plain savepoint.
pub fn visible(history: &History) -> Vec<Violation> {
    let (all, _) = transactions(history);
    let exactly = history.job.config.checkpointing.mode != CheckpointMode::AtLeastOnce;
    let mut found = Vec::new();
    for ((_, id), transaction) in all.iter().filter(|(_, it)| it.is_ours) {
        let Some(at) = transaction.committed else {
            continue;
        };
        let Some((_, first)) = transaction.pre_committed else {
            let text = format!("transaction {id} is committed, but was not pre-committed");
            found.push(violation(25, at, text));
            continue;
        };
        let mut since = history.checkpoints.range(first..);
        let complete = |kind: CheckpointKind| !matches!(kind, CheckpointKind::Savepoint(_));
        let covered = since.find(|(_, story)| {
            complete(story.kind) && story.completed.is_some_and(|done| done < at)
        });
        if let Some((cover, story)) = covered {
            let offsets = super::cut::offsets_of(history, story);
            let is_beyond = |origin: &&Origin| {
                let read = offsets.get(&origin.split).copied().unwrap_or(0);
                origin.offset > read
            };
            if exactly && let Some(origin) = transaction.records.iter().find(is_beyond) {
                let text = format!(
                    "record {} is visible with checkpoint {cover}, whose sources have not read it",
                    origin.offset
                );
                found.push(violation(25, at, text));
            }
        } else {
            let saved = history.checkpoints.get(&first);
            let by_savepoint = saved.is_some_and(|story| !complete(story.kind));
            let law = if by_savepoint { 27 } else { 25 };
            let text = format!("transaction {id} of checkpoint {first} is committed before that");
            found.push(violation(law, at, text));
        }
    }
    found
}

/// Breaks if news of a completion leaves an older transaction open, as one of an aborted checkpoint.
pub fn together(history: &History) -> Vec<Violation> {
    let (all, _) = transactions(history);
    let mut found = Vec::new();
    for (at, event) in history.events.iter().enumerate() {
        let EventKind::Notified {
            subtask,
            checkpoint,
            outcome: Outcome::Completed,
        } = event.kind
        else {
            continue;
        };
        let restored = last_restore(history, subtask, at);
        let step_end = history
            .events
            .partition_point(|other| other.step <= event.step);
        for ((_, id), transaction) in &all {
            let Some((pre, of)) = transaction.pre_committed else {
                continue;
            };
            let is_open = transaction.committed.is_none_or(|done| done >= step_end)
                && transaction.aborted.is_none_or(|(done, _)| done >= step_end)
                && !transaction
                    .failed
                    .iter()
                    .any(|failed| (at..step_end).contains(failed));
            if id.subtask == subtask && of <= checkpoint && pre < at && pre > restored && is_open {
                let text = format!("{checkpoint} is complete, but transaction {id} stays open");
                found.push(violation(26, at, text));
            }
        }
    }
    found
}

/// The event at which the subtask last began.
fn last_restore(history: &History, subtask: SubtaskId, at: usize) -> usize {
    let restores = history.restores.iter();
    let own = restores.filter(|restore| restore.subtask == subtask && restore.at < at);
    own.map(|restore| restore.at).max().unwrap_or(0)
}
