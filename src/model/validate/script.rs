//! What can be wrong with a script: commands and moments that can never be.

use super::settings::MAX_TIME_MS;
use super::topology::Topology;
use super::{Problem, Site, grouped, quoted};
use crate::model::graph::Vertex;
use crate::model::ids::{CheckpointId, Uid};
use crate::model::script::{Command, When};

pub(super) fn check(topology: &Topology, problems: &mut Vec<Problem>) {
    for (index, entry) in topology.job.script.iter().enumerate() {
        problems.extend(time_problem(index, &entry.when));
        if let Some(message) = when_problem(topology, &entry.when) {
            problems.push(Problem::unfinished(Site::Script(index), "when", message));
        }
        if let Some(message) = command_problem(topology, &entry.command) {
            problems.push(Problem::unfinished(Site::Script(index), "command", message));
        }
    }
}

fn time_problem(index: usize, when: &When) -> Option<Problem> {
    match when {
        When::AtMs(at) if *at > MAX_TIME_MS => {
            let (at, max) = (grouped(*at), grouped(MAX_TIME_MS));
            let message =
                format!("The script waits for {at} milliseconds: let it wait for at most {max}.");
            Some(Problem::absurd(Site::Script(index), "when", message))
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
        Command::Crash { uid, subtask } => match operator(topology, uid) {
            Err(message) => Some(message),
            Ok(vertex) => no_such_subtask(vertex, *subtask),
        },
        Command::Restore {
            checkpoint: Some(CheckpointId(0)),
        } => Some(
            "The script restores checkpoint 0, but the first checkpoint is 1: name one from 1 on, or none for the latest."
                .into(),
        ),
        _ => None,
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

fn zeroth_record(records: u64) -> Option<String> {
    (records == 0).then(|| {
        "The script waits for 0 records, which is before anything happens: wait for at least 1."
            .into()
    })
}
