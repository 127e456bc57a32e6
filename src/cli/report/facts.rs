//! What happened in a run beside its checkpoints and its state: counted from the events.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::engine::event::{EventKind, TransactionEnd};
use crate::model::{CheckpointId, OperatorSpec, SinkKind, SubtaskId, Uid};
use crate::recording::{Recording, View};

/// A savepoint, and where it lies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Savepoint {
    pub id: u64,
    pub name: String,
    /// None: in the scratch folder of a run that was lived through again.
    pub path: Option<String>,
}

/// The snapshot of another run with which this one began.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StartedFrom {
    pub id: u64,
    pub path: Option<String>,
    /// `no-claim` or `claim`.
    pub claim: &'static str,
}

/// How many requests were turned away before they became a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rejected {
    /// Flink's name.
    pub reason: &'static str,
    pub count: u64,
}

/// The transactions of a two-phase commit sink.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Transactions {
    pub uid: String,
    pub begun: u64,
    pub pre_committed: u64,
    /// Each counts once, however often it was committed.
    pub committed: u64,
    /// Commits of what was committed already.
    pub committed_again: u64,
    pub commits_failed: u64,
    pub aborted: BTreeMap<&'static str, u64>,
}

/// A window operator's results.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Windows {
    pub uid: String,
    /// All that have fired, in their order; again after a restore.
    pub fired: Vec<WindowResult>,
    /// Those that have not fired.
    pub open: Vec<WindowResult>,
    /// Records that came after their window had fired.
    pub late: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WindowResult {
    pub start_ms: i64,
    pub end_ms: i64,
    pub key: String,
    pub value: String,
}

/// How one subtask has spent its time, in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SubtaskLoad {
    pub subtask: String,
    pub busy_us: u64,
    pub backpressured_us: u64,
    pub idle_us: u64,
}

/// A failure, and what began again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failover {
    pub at_us: u64,
    pub restarting: Vec<String>,
    /// None: when a person says so.
    pub restart_at_us: Option<u64>,
}

pub fn savepoints(view: &View, path: impl Fn(CheckpointId) -> Option<String>) -> Vec<Savepoint> {
    let savepoint = |(id, name): &(CheckpointId, String)| Savepoint {
        id: id.0,
        name: name.clone(),
        path: path(*id),
    };
    view.savepoints.iter().map(savepoint).collect()
}

pub fn started_from(recording: &Recording) -> Option<StartedFrom> {
    let mut events = recording.events().iter();
    events.find_map(|event| match &event.kind {
        EventKind::StartedFrom {
            checkpoint, claim, ..
        } => Some(StartedFrom {
            id: checkpoint.0,
            path: None,
            claim: claim.name(),
        }),
        _ => None,
    })
}

pub fn rejected(recording: &Recording) -> Vec<Rejected> {
    let mut counts = BTreeMap::new();
    for event in recording.events() {
        if let EventKind::TriggerRejected { reason, .. } = &event.kind {
            *counts.entry(reason.name()).or_insert(0) += 1;
        }
    }
    counts
        .into_iter()
        .map(|(reason, count)| Rejected { reason, count })
        .collect()
}

pub fn failovers(recording: &Recording) -> Vec<Failover> {
    let mut found = Vec::new();
    for event in recording.events() {
        if let EventKind::FailoverPlanned { restarting, at_us } = &event.kind {
            let name = |id: &SubtaskId| recording.plan.subtask_name(*id);
            found.push(Failover {
                at_us: event.at_us,
                restarting: restarting.iter().map(name).collect(),
                restart_at_us: *at_us,
            });
        }
    }
    found
}

pub fn load(recording: &Recording, view: &View, at_us: u64) -> Vec<SubtaskLoad> {
    let subtasks = recording.plan.subtasks.iter().zip(&view.subtasks);
    subtasks
        .map(|(plan, subtask)| {
            let load = subtask.load(at_us.max(view.at_us));
            SubtaskLoad {
                subtask: recording.plan.subtask_name(plan.id),
                busy_us: load.busy_us,
                backpressured_us: load.backpressured_us,
                idle_us: load.idle_us,
            }
        })
        .collect()
}

/// The uids of the operators of one kind.
fn uids(recording: &Recording, is_it: impl Fn(&OperatorSpec) -> bool) -> Vec<Uid> {
    let vertices = recording.job.vertices.iter();
    vertices
        .filter(|vertex| is_it(&vertex.operator))
        .map(|vertex| vertex.uid.clone())
        .collect()
}

pub fn transactions(recording: &Recording) -> Vec<Transactions> {
    let commits = |operator: &OperatorSpec| match operator {
        OperatorSpec::Sink(spec) => matches!(spec.kind, SinkKind::TwoPhaseCommit { .. }),
        _ => false,
    };
    uids(recording, commits)
        .into_iter()
        .map(|uid| {
            let mut counts = Transactions {
                uid: uid.to_string(),
                ..Transactions::default()
            };
            let is_its = |subtask: SubtaskId| recording.plan.subtask(subtask).uid == uid;
            for event in recording.events() {
                count(&mut counts, &event.kind, &is_its);
            }
            counts
        })
        .collect()
}

fn count(counts: &mut Transactions, event: &EventKind, is_its: &impl Fn(SubtaskId) -> bool) {
    match event {
        EventKind::TransactionBegun { subtask, .. } if is_its(*subtask) => counts.begun += 1,
        EventKind::PreCommitted { subtask, .. } if is_its(*subtask) => counts.pre_committed += 1,
        EventKind::Committed { subtask, again, .. } if is_its(*subtask) => {
            counts.committed += u64::from(!again);
            counts.committed_again += u64::from(*again);
        }
        EventKind::CommitFailed { subtask, .. } if is_its(*subtask) => counts.commits_failed += 1,
        EventKind::TransactionAborted { subtask, why, .. } if is_its(*subtask) => {
            let why = match why {
                TransactionEnd::TaskClosed => "task closed",
                TransactionEnd::RecoverAndAbort => "recover and abort",
                TransactionEnd::Fenced => "fenced",
                TransactionEnd::TimedOut => "timed out",
            };
            *counts.aborted.entry(why).or_insert(0) += 1;
        }
        _ => {}
    }
}

pub fn windows(recording: &Recording, view: &View) -> Vec<Windows> {
    let is_window = |operator: &OperatorSpec| matches!(operator, OperatorSpec::Window(_));
    uids(recording, is_window)
        .into_iter()
        .map(|uid| {
            let ids = recording.plan.subtasks_of(&uid);
            let fired = recording.events().iter().filter_map(|event| {
                let EventKind::WindowFired {
                    subtask,
                    key,
                    window,
                    value,
                } = &event.kind
                else {
                    return None;
                };
                let is_its = recording.plan.subtask(*subtask).uid == uid;
                is_its.then(|| result(*window, &key.to_string(), &value.to_string()))
            });
            let subtasks = || ids.iter().map(|id| &view.subtasks[id.index()]);
            let open = subtasks().flat_map(|subtask| &subtask.windows);
            let open = open.map(|((window, key), row)| {
                result(*window, &key.to_string(), &row.value.to_string())
            });
            Windows {
                uid: uid.to_string(),
                fired: fired.collect(),
                open: open.collect(),
                late: subtasks().map(|subtask| subtask.late).sum(),
            }
        })
        .collect()
}

fn result(window: crate::model::TimeWindow, key: &str, value: &str) -> WindowResult {
    WindowResult {
        start_ms: window.start_ms,
        end_ms: window.end_ms,
        key: key.to_owned(),
        value: value.to_owned(),
    }
}
