//! What can be wrong with a script: commands and moments that can never be.

use super::topology::Topology;
use super::{Problem, Site, grouped, quoted};
use crate::model::graph::{OperatorSpec, SinkKind, SinkSpec, Vertex};
use crate::model::ids::{CheckpointId, Uid};
use crate::model::limits::MAX_TIME_MS;
use crate::model::script::{Command, Fault, FaultKind, When};

pub(super) fn check(topology: &Topology, problems: &mut Vec<Problem>) {
    for (index, entry) in topology.job.script.iter().enumerate() {
        let site = || Site::Script(index);
        if let Some(message) = time_problem(&entry.when) {
            problems.push(Problem::absurd(site(), "when", message));
        }
        if let Some(message) = when_problem(topology, &entry.when) {
            problems.push(Problem::unfinished(site(), "when", message));
        }
        if let Some(message) = delay_problem(&entry.command) {
            problems.push(Problem::absurd(site(), "command", message));
        }
        if let Some(message) = command_problem(topology, &entry.command) {
            problems.push(Problem::unfinished(site(), "command", message));
        }
    }
}

fn time_problem(when: &When) -> Option<String> {
    match when {
        When::AtMs(at) if *at > MAX_TIME_MS => {
            let (at, max) = (grouped(*at), grouped(MAX_TIME_MS));
            Some(format!(
                "The script waits for {at} milliseconds: let it wait for at most {max}."
            ))
        }
        _ => None,
    }
}

fn delay_problem(command: &Command) -> Option<String> {
    let Command::Inject(Fault { kind, .. }) = command else {
        return None;
    };
    match kind {
        FaultKind::StorageSlow { by_ms } | FaultKind::DelayNotification { by_ms }
            if *by_ms > MAX_TIME_MS =>
        {
            let (by, max) = (grouped(*by_ms), grouped(MAX_TIME_MS));
            Some(format!(
                "The script delays something by {by} milliseconds: delay it by at most {max}."
            ))
        }
        _ => None,
    }
}

fn when_problem(topology: &Topology, when: &When) -> Option<String> {
    match when {
        When::AtMs(_) => None,
        When::Emitted { uid, records } => match operator(topology, uid) {
            Err(message) => Some(message),
            Ok(vertex) if !vertex.is_source() => Some(format!(
                "The script waits for what {} has emitted, but it is a {}: name a source, or wait for what it has processed.",
                quoted(&vertex.name),
                vertex.operator.kind_name()
            )),
            Ok(_) => zeroth_record(*records),
        },
        When::Processed {
            uid,
            subtask,
            records,
        } => match operator(topology, uid) {
            Err(message) => Some(message),
            Ok(vertex) if vertex.is_source() => Some(format!(
                "The script waits for what {} has processed, but it is a source: wait for what it has emitted.",
                quoted(&vertex.name)
            )),
            Ok(vertex) => no_such_subtask(vertex, *subtask).or_else(|| zeroth_record(*records)),
        },
    }
}

fn command_problem(topology: &Topology, command: &Command) -> Option<String> {
    match command {
        Command::Savepoint { .. }
        | Command::StopWithSavepoint { .. }
        | Command::CancelWithSavepoint { .. } => no_savepoint_folder(topology),
        Command::Crash { uid, subtask } => subtask_problem(topology, uid, *subtask),
        Command::CrashSeveral { subtasks } if subtasks.is_empty() => Some(
            "The script lets several subtasks fail, but names none: name them, or remove the entry."
                .into(),
        ),
        Command::CrashSeveral { subtasks } => subtasks
            .iter()
            .find_map(|(uid, subtask)| subtask_problem(topology, uid, *subtask)),
        Command::CrashTaskManager { index } => no_such_task_manager(topology, *index),
        Command::Compact { uid } => operator(topology, uid).err(),
        Command::DeleteStored { path } => path_problem(path),
        Command::Inject(fault) => fault_problem(topology, fault),
        Command::Restore {
            checkpoint: Some(CheckpointId(0)),
        } => Some(
            "The script restores checkpoint 0, but the first checkpoint is 1: name one from 1 on, or none for the latest."
                .into(),
        ),
        Command::Restore { .. } | Command::Checkpoint | Command::Stop | Command::Suspend => None,
    }
}

fn operator<'a>(topology: &Topology<'a>, uid: &Uid) -> Result<&'a Vertex, String> {
    topology.vertex(uid).ok_or_else(|| {
        format!(
            "The script names {}, but there is no operator of that uid: correct the uid, or remove the entry.",
            quoted(uid.as_str())
        )
    })
}

/// Whether a storage can ever have this: whether it has it then, only the run knows.
fn path_problem(path: &str) -> Option<String> {
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(['\\', '\0']);
    if path.split('/').all(is_name) {
        return None;
    }
    Some(format!(
        "The script deletes {}, which no checkpoint storage holds: name a file such as chk-1/_metadata, or a checkpoint \
         such as chk-1.",
        quoted(path)
    ))
}

fn subtask_problem(topology: &Topology, uid: &Uid, subtask: u32) -> Option<String> {
    match operator(topology, uid) {
        Err(message) => Some(message),
        Ok(vertex) => no_such_subtask(vertex, subtask),
    }
}

fn no_such_subtask(vertex: &Vertex, subtask: u32) -> Option<String> {
    let last = vertex.parallelism.saturating_sub(1);
    (subtask > last).then(|| {
        format!(
            "The script names subtask {} of {}, whose subtasks are 0 to {last}: name one of them, or raise the parallelism.",
            grouped(subtask.into()),
            quoted(&vertex.name)
        )
    })
}

/// Slot `i` holds subtask `i` of every operator, so the widest operator says how many there are.
fn no_such_task_manager(topology: &Topology, index: u32) -> Option<String> {
    let vertices = topology.job.vertices.iter();
    let slots = vertices.map(|vertex| vertex.parallelism).max()?;
    let count = slots.div_ceil(topology.job.config.slots_per_task_manager.max(1));
    let last = count.saturating_sub(1);
    (index > last).then(|| {
        format!(
            "The script names TaskManager {}, but the job runs on TaskManagers 0 to {last}: name one of them, or give each fewer slots.",
            grouped(index.into())
        )
    })
}

/// Flink refuses a savepoint without a target, too.
fn no_savepoint_folder(topology: &Topology) -> Option<String> {
    topology.job.config.savepoint_dir.is_none().then(|| {
        "The script takes a savepoint, but the job has no savepoint folder: name one in the settings."
            .into()
    })
}

fn fault_problem(topology: &Topology, fault: &Fault) -> Option<String> {
    if let Some(message) = subtask_problem(topology, &fault.uid, fault.subtask) {
        return Some(message);
    }
    let vertex = topology.vertex(&fault.uid)?;
    let commits = matches!(
        vertex.operator,
        OperatorSpec::Sink(SinkSpec {
            kind: SinkKind::TwoPhaseCommit { .. },
            ..
        })
    );
    (fault.kind == FaultKind::Commit && !commits).then(|| {
        format!(
            "The script lets a commit of {} fail, but it commits nothing: name a two-phase commit sink.",
            quoted(&vertex.name)
        )
    })
}

fn zeroth_record(records: u64) -> Option<String> {
    (records == 0).then(|| {
        "The script waits for 0 records, which is before anything happens: wait for at least 1."
            .into()
    })
}
