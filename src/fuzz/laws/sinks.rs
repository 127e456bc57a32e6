//! Laws 24–27: what a two-phase commit sink lets others see.

use std::collections::BTreeMap;

use super::multiplicity::{self, Tally};
use super::{History, Violation, violation};
use crate::engine::event::{CheckpointKind, EventKind, JobStatus, Outcome, TransactionEnd};
use crate::model::{
    CheckpointId, CheckpointMode, OperatorSpec, Origin, SinkKind, SubtaskId, TransactionId, Vertex,
};

/// A transaction as the log tells of it.
#[derive(Debug, Default)]
struct Transaction {
    records: Vec<Origin>,
    pre_committed: Option<(usize, CheckpointId)>,
    committed: Option<usize>,
    aborted: Option<(usize, TransactionEnd)>,
    failed: Option<usize>,
}

fn transactions(history: &History) -> (BTreeMap<TransactionId, Transaction>, Vec<Violation>) {
    if history.baseline.is_some() {
        // Some of them began in another run.
        return (BTreeMap::new(), Vec::new());
    }
    let mut all: BTreeMap<TransactionId, Transaction> = BTreeMap::new();
    let mut found = Vec::new();
    for (at, event) in history.events.iter().enumerate() {
        match &event.kind {
            EventKind::TransactionBegun { transaction, .. } => {
                let before = all.insert(*transaction, Transaction::default());
                if before.is_some() {
                    let text = format!("transaction {transaction} is begun twice");
                    found.push(violation(24, at, text));
                }
            }
            EventKind::Collected {
                record,
                transaction: Some(id),
                ..
            } => {
                let transaction = all.entry(*id).or_default();
                if transaction.pre_committed.is_some() || transaction.aborted.is_some() {
                    let text =
                        format!("a record is written into transaction {id}, which is closed");
                    found.push(violation(24, at, text));
                }
                transaction.records.push(record.origin);
            }
            EventKind::PreCommitted {
                transaction,
                checkpoint,
                ..
            } => {
                all.entry(*transaction).or_default().pre_committed = Some((at, *checkpoint));
            }
            EventKind::Committed {
                transaction: id,
                again,
                ..
            } => {
                let transaction = all.entry(*id).or_default();
                if transaction.committed.is_some() != *again {
                    let text =
                        format!("commit of {id}: whether it is a repetition is told wrongly");
                    found.push(violation(26, at, text));
                }
                if transaction.aborted.is_some() {
                    let text = format!("transaction {id} is committed after it was aborted");
                    found.push(violation(24, at, text));
                }
                transaction.committed.get_or_insert(at);
            }
            EventKind::TransactionAborted {
                transaction: id,
                why,
                ..
            } => {
                let transaction = all.entry(*id).or_default();
                if transaction.committed.is_some() {
                    let text = format!("transaction {id} is aborted after it was committed");
                    found.push(violation(24, at, text));
                }
                transaction.aborted.get_or_insert((at, *why));
            }
            EventKind::CommitFailed { transaction, .. } => {
                all.entry(*transaction).or_default().failed = Some(at);
            }
            _ => {}
        }
    }
    (all, found)
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
    let exactly = history.job.config.checkpointing.mode != CheckpointMode::AtLeastOnce;
    let timed_out = all
        .values()
        .any(|transaction| matches!(transaction.aborted, Some((_, TransactionEnd::TimedOut))));
    let end = history.events.len().saturating_sub(1);
    for vertex in transactional(history).filter(|_| history.baseline.is_none()) {
        if multiplicity::is_behind_window(history.job, &vertex.uid) {
            continue;
        }
        let subtasks = history.plan.subtasks_of(&vertex.uid);
        let mut committed = Tally::new();
        for (id, transaction) in &all {
            if subtasks.contains(&id.subtask) && transaction.committed.is_some() {
                multiplicity::add(&mut committed, transaction.records.iter().copied(), 1);
            }
        }
        let offsets = history.tasks.iter().flat_map(|task| &task.image.offsets);
        let offsets = offsets.map(|(split, offset)| (*split, *offset)).collect();
        let expected = multiplicity::expected(history, &offsets, &vertex.uid);
        let is_over = history.status == JobStatus::Finished;
        if is_over && !timed_out {
            let difference = multiplicity::difference(&committed, &expected, !exactly);
            found.extend(difference.map(|difference| {
                let what = format!("in the output of {}", vertex.name);
                violation(24, end, multiplicity::tell(history, &what, difference))
            }));
        } else if exactly {
            let each = |origin: &Origin| {
                let source = &history.plan.split(origin.split).uid;
                multiplicity::times(history.job, source, &vertex.uid)
            };
            let twice = committed
                .iter()
                .find(|(origin, count)| **count > each(origin));
            found.extend(twice.map(|(origin, count)| {
                let what = format!("in the output of {}", vertex.name);
                let difference = (*origin, *count, each(origin));
                violation(24, end, multiplicity::tell(history, &what, difference))
            }));
        }
    }
    found
}

/// Breaks if a transaction is committed with an aborted checkpoint, or with a plain savepoint.
pub fn visible(history: &History) -> Vec<Violation> {
    let (all, _) = transactions(history);
    let exactly = history.job.config.checkpointing.mode != CheckpointMode::AtLeastOnce;
    let mut found = Vec::new();
    for (id, transaction) in &all {
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
        for (id, transaction) in &all {
            let Some((pre, of)) = transaction.pre_committed else {
                continue;
            };
            let is_open = transaction.committed.is_none_or(|done| done >= step_end)
                && transaction.aborted.is_none_or(|(done, _)| done >= step_end)
                && transaction.failed.is_none();
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
