//! Law 29: what the lists of the old subtasks held is with the new ones, each element once.
//!
//! Splits are judged by the offsets with which sources begin (`state.rs`). A two-phase commit sink's list shows by what
//! it does before its first transaction begins: what its elements have as pre-committed is committed, what they have as
//! current is aborted.

use std::collections::{BTreeMap, BTreeSet};

use super::{History, Violation, violation};
use crate::engine::event::{EventKind, TransactionEnd};
use crate::fuzz::history::{Saved, Story};
use crate::model::{OperatorSpec, SinkKind, SubtaskId, TransactionId, Uid};

/// What each subtask of the sinks has in its list in this checkpoint, by the index of the subtask.
pub fn saved(history: &History, story: &Story) -> BTreeMap<Uid, BTreeMap<u32, Saved>> {
    let mut all: BTreeMap<Uid, BTreeMap<u32, Saved>> = BTreeMap::new();
    for (id, index) in &story.captures {
        let plan = history.plan.subtask(*id);
        if is_transactional(&plan.operator) {
            let list = saved_at(history, *id, history.captures[*index].at);
            all.entry(plan.uid.clone())
                .or_default()
                .insert(plan.index, list);
        }
    }
    all
}

fn is_transactional(operator: &OperatorSpec) -> bool {
    matches!(operator, OperatorSpec::Sink(sink) if matches!(sink.kind, SinkKind::TwoPhaseCommit { .. }))
}

/// What `sink` had begun, and not committed, by event `at`.
fn saved_at(history: &History, sink: SubtaskId, at: usize) -> Saved {
    let mut saved = Saved::default();
    for event in &history.events[..at] {
        match &event.kind {
            EventKind::Restored { subtask, .. } if *subtask == sink => saved = Saved::default(),
            EventKind::TransactionBegun {
                subtask,
                transaction,
                ..
            } if *subtask == sink => saved.current = Some(*transaction),
            EventKind::PreCommitted {
                subtask,
                transaction,
                ..
            } if *subtask == sink => {
                saved.current = None;
                saved.pending.insert(*transaction);
            }
            EventKind::Committed {
                subtask,
                transaction,
                ..
            } if *subtask == sink => {
                saved.pending.remove(transaction);
            }
            _ => {}
        }
    }
    saved
}

/// Breaks if an element of an operator's list is lost, or goes to two subtasks, to too many of them to one, or to another
/// one although the parallelism has not changed.
pub fn lists(history: &History) -> Vec<Violation> {
    let Some(baseline) = &history.baseline else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (uid, old) in &baseline.saved {
        let subtasks = history.plan.subtasks_of(uid);
        let begun: Option<Vec<Beginning>> = subtasks
            .iter()
            .map(|id| Beginning::of(history, *id))
            .collect();
        // Where a commit fails, the rest is not tried.
        let Some(begun) = begun else { continue };
        let is_rescaled = baseline.is_rescaled(uid, subtasks.len());
        found.extend(judge(uid, old, (&begun, is_rescaled)));
    }
    found
}

/// What a sink does with its list before its first transaction begins.
struct Beginning {
    at: usize,
    did: Done,
}

/// The transactions that it has committed, and those that it has aborted.
#[derive(Default)]
struct Done {
    committed: Vec<TransactionId>,
    aborted: Vec<TransactionId>,
}

impl Beginning {
    fn of(history: &History, sink: SubtaskId) -> Option<Self> {
        let mut did = Done::default();
        for (at, event) in history.events.iter().enumerate() {
            match &event.kind {
                EventKind::TransactionBegun { subtask, .. } if *subtask == sink => {
                    return Some(Self { at, did });
                }
                EventKind::CommitFailed { subtask, .. } if *subtask == sink => return None,
                EventKind::Committed {
                    subtask,
                    transaction,
                    ..
                } if *subtask == sink => did.committed.push(*transaction),
                EventKind::TransactionAborted {
                    subtask,
                    transaction,
                    why: TransactionEnd::RecoverAndAbort,
                } if *subtask == sink => did.aborted.push(*transaction),
                _ => {}
            }
        }
        None
    }
}

fn judge(
    uid: &Uid,
    old: &BTreeMap<u32, Saved>,
    (begun, is_rescaled): (&[Beginning], bool),
) -> Vec<Violation> {
    let mut found = Vec::new();
    let at = begun.iter().map(|begun| begun.at).max().unwrap_or(0);
    let mut wrong = |text: String| found.push(violation(29, at, text));
    let sorted = |ids: &mut dyn Iterator<Item = TransactionId>| {
        let mut ids: Vec<TransactionId> = ids.collect();
        ids.sort_unstable();
        ids
    };
    let pending = sorted(&mut old.values().flat_map(|old| old.pending.iter().copied()));
    let committed = sorted(&mut begun.iter().flat_map(|it| it.did.committed.iter().copied()));
    if committed != pending {
        let (now, before) = (committed.len(), pending.len());
        wrong(format!(
            "{uid} commits {now} transactions as it begins; the lists in the snapshot hold {before}, or others"
        ));
    }
    let current = sorted(&mut old.values().filter_map(|old| old.current));
    let aborted = sorted(&mut begun.iter().flat_map(|it| it.did.aborted.iter().copied()));
    if aborted != current {
        let (now, before) = (aborted.len(), current.len());
        wrong(format!(
            "{uid} aborts {now} transactions as it begins; {before} are current in the snapshot, or others"
        ));
    }
    // Which element went where: by the transactions in it. One that is empty leaves no trace.
    let is_of = |begun: &Beginning, old: &Saved| {
        let current = old.current.iter().any(|id| begun.did.aborted.contains(id));
        current
            || old
                .pending
                .iter()
                .any(|id| begun.did.committed.contains(id))
    };
    let takers: Vec<(u32, BTreeSet<usize>)> = old
        .iter()
        .filter(|(_, old)| old.current.is_some() || !old.pending.is_empty())
        .map(|(index, old)| {
            let takers = begun.iter().enumerate().filter(|(_, it)| is_of(it, old));
            (*index, takers.map(|(place, _)| place).collect())
        })
        .collect();
    let mut sizes = vec![0_usize; begun.len()];
    for (index, takers) in &takers {
        for taker in takers {
            sizes[*taker] += 1;
        }
        if !is_rescaled && takers.iter().any(|taker| *taker != *index as usize) {
            wrong(format!(
                "the list of {uid} {index} goes to another subtask, though their number has not changed"
            ));
        }
    }
    let (least, most) = (sizes.iter().min(), sizes.iter().max());
    if takers.len() == old.len() && is_rescaled && most.unwrap_or(&0) > &(least.unwrap_or(&0) + 1) {
        wrong(format!(
            "the list elements of {uid} are dealt out as {sizes:?}"
        ));
    }
    found
}
