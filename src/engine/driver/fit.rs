//! Whether a checkpoint can be restored into a job, which may not be the one that wrote it; and what of the job follows
//! the checkpoint.

use crate::engine::plan::ExecutionGraph;
use crate::engine::storage::{CheckpointMetadata, KeyedStateHandle, OperatorState};
use crate::model::{
    BackendKind, JobGraph, OperatorId, OperatorSpec, Partitioning, SnapshotKind, Vertex,
    operator_ids,
};

use super::assign::{number_of, split_count};

/// The job as it runs when it starts from `metadata`: a max parallelism that nobody has set is the checkpoint's, and a source
/// has the number of splits that it had. To be called before the plan is made.
///
/// # Errors
/// A sentence: an operator's max parallelism was set to another one, or is less than its parallelism now.
pub fn adapt(job: &JobGraph, metadata: &CheckpointMetadata) -> Result<JobGraph, String> {
    let mut adapted = job.clone();
    for (vertex, id) in adapted.vertices.iter_mut().zip(operator_ids(job)) {
        let Some(old) = metadata.operator(id) else {
            continue;
        };
        check_max_parallelism(metadata, old, vertex)?;
        vertex.max_parallelism = Some(old.max_parallelism);
        if let OperatorSpec::Source(spec) = &mut vertex.operator {
            spec.splits = split_count(old).or(spec.splits);
        }
    }
    Ok(adapted)
}

/// Flink: `StateAssignmentOperation.checkParallelismPreconditions`.
fn check_max_parallelism(
    metadata: &CheckpointMetadata,
    old: &OperatorState,
    vertex: &Vertex,
) -> Result<(), String> {
    let (snapshot, name) = (title(metadata), &vertex.name);
    let (max, parallelism) = (old.max_parallelism, vertex.parallelism);
    if let Some(wanted) = vertex.max_parallelism.filter(|wanted| *wanted != max) {
        return Err(format!(
            "{snapshot} was taken with max parallelism {max} of {name}; in this job it is set to {wanted}, and keys \
             cannot move between key groups. Set it to {max}, or leave it open."
        ));
    }
    if max < parallelism {
        return Err(format!(
            "{snapshot} was taken with max parallelism {max} of {name}, which has parallelism {parallelism} in this job. \
             Reduce that to at most {max}."
        ));
    }
    Ok(())
}

/// Whether `metadata` can be restored into `plan` on `backend`. `allow_non_restored_state`: state of operators that the plan
/// does not have is left out (Flink: `--allowNonRestoredState`; in a failover always).
///
/// # Errors
/// A sentence, which says what to do.
pub fn check(
    plan: &ExecutionGraph,
    backend: BackendKind,
    metadata: &CheckpointMetadata,
    allow_non_restored_state: bool,
) -> Result<(), String> {
    let is_here = |id: OperatorId| {
        let mut subtasks = plan.subtasks.iter();
        subtasks.any(|subtask| subtask.operator_id == id)
    };
    for operator in &metadata.operators {
        if is_here(operator.id) {
            check_operator(plan, metadata, operator)?;
            check_backend(backend, metadata, operator)?;
        } else if operator.has_state() && !allow_non_restored_state {
            return Err(unmatched(metadata, operator));
        }
    }
    check_in_flight(plan, metadata, &is_here)?;
    check_finished(plan, metadata)
}

/// How a sentence calls it.
fn title(metadata: &CheckpointMetadata) -> String {
    let id = metadata.checkpoint;
    match metadata.kind {
        SnapshotKind::Checkpoint => format!("Checkpoint {id}"),
        _ => format!("Savepoint {id}"),
    }
}

/// Flink: `Checkpoints.throwNonRestoredStateException`.
fn unmatched(metadata: &CheckpointMetadata, operator: &OperatorState) -> String {
    let (snapshot, id) = (title(metadata), operator.id);
    let advice = if operator.has_explicit_uid {
        format!("Give an operator the uid {}", operator.uid)
    } else {
        "Its id was generated from the graph, which has changed; operators with a uid are found again. Change the graph \
         back"
            .to_owned()
    };
    format!(
        "{snapshot} holds state of operator {} ({id}), and there is no operator for that state in this job. {advice}, or \
         allow non-restored state to leave it out.",
        operator.name
    )
}

/// What [`adapt`] has seen to, unless the plan was made without it.
fn check_operator(
    plan: &ExecutionGraph,
    metadata: &CheckpointMetadata,
    old: &OperatorState,
) -> Result<(), String> {
    let mut subtasks = plan.subtasks.iter();
    let new = subtasks.find(|subtask| subtask.operator_id == old.id);
    match new {
        Some(new) if new.max_parallelism != old.max_parallelism => Err(format!(
            "{} was taken with max parallelism {} of {}; in this job it is {}. Set it to {}.",
            title(metadata),
            old.max_parallelism,
            new.name,
            new.max_parallelism,
            old.max_parallelism
        )),
        _ => Ok(()),
    }
}

fn check_backend(
    backend: BackendKind,
    metadata: &CheckpointMetadata,
    operator: &OperatorState,
) -> Result<(), String> {
    let keyed = operator
        .subtasks
        .iter()
        .filter_map(|old| old.keyed.as_ref());
    let foreign = keyed
        .filter_map(|handle| Some((handle, handle.backend()?)))
        .find(|(_, written)| *written != backend);
    match foreign {
        None => Ok(()),
        Some((handle, written)) => Err(wrong_backend(metadata, backend, (handle, written))),
    }
}

/// Flink: `StateUtil.unexpectedStateHandleException`.
fn wrong_backend(
    metadata: &CheckpointMetadata,
    wanted: BackendKind,
    (handle, written): (&KeyedStateHandle, BackendKind),
) -> String {
    let snapshot = title(metadata);
    let (wanted, written, class) = (wanted.name(), written.name(), handle.class_name());
    let why = match metadata.kind {
        SnapshotKind::Checkpoint => "a checkpoint is always in its backend's own format",
        _ => "it is in the native format",
    };
    format!(
        "{snapshot} was written by the {written} backend, which {wanted} cannot read: {why} (Flink: \"Unexpected state \
         handle type\", found {class}). Choose {written} again, or take a savepoint in canonical format there and start \
         from that."
    )
}

/// Records in flight go on only in the edges that they were in.
fn check_in_flight(
    plan: &ExecutionGraph,
    metadata: &CheckpointMetadata,
    is_here: &impl Fn(OperatorId) -> bool,
) -> Result<(), String> {
    if !metadata.has_in_flight() {
        return Ok(());
    }
    let snapshot = title(metadata);
    for (position, old) in metadata.edges.iter().enumerate() {
        let is_forced_aligned = matches!(
            old.partitioning,
            Partitioning::Forward | Partitioning::Broadcast
        );
        if is_forced_aligned || !is_here(old.from) || !is_here(old.to) {
            continue;
        }
        let name = |id| {
            metadata
                .operator(id)
                .map_or("?", |operator| &*operator.name)
        };
        let (from, to) = (name(old.from), name(old.to));
        let number = number_of(&metadata.edges, position);
        let mut same = plan
            .edges
            .iter()
            .filter(|edge| (edge.from, edge.to) == (old.from, old.to));
        let Some(new) = same.nth(number) else {
            return Err(format!(
                "{snapshot} is unaligned and holds records in flight, and the edge from {from} to {to} is not in this job: \
                 \"Cannot recover from unaligned checkpoint when topology changes\", as Flink says. Put the edge back, or \
                 start from a savepoint, which is always aligned."
            ));
        };
        if matches!(
            new.partitioning,
            Partitioning::Forward | Partitioning::Broadcast
        ) {
            return Err(format!(
                "{snapshot} is unaligned and holds records in flight, and the edge from {from} to {to} is {} now: \"Cannot \
                 rescale the given pointwise partitioner\", as Flink says. Make it {} again, or start from a savepoint, \
                 which is always aligned.",
                new.partitioning.name(),
                old.partitioning.name()
            ));
        }
        if new.partitioning != old.partitioning {
            return Err(format!(
                "{snapshot} is unaligned and holds records in flight, and the edge from {from} to {to} is {} now: they are \
                 on their way to the subtasks that they had under {}. Make it that again, or start from a savepoint, which \
                 is always aligned.",
                new.partitioning.name(),
                old.partitioning.name()
            ));
        }
    }
    Ok(())
}

/// What comes after an operator that has something to do has something to do, too
/// (Flink: `VertexFinishedStateChecker`).
fn check_finished(plan: &ExecutionGraph, metadata: &CheckpointMetadata) -> Result<(), String> {
    let is_finished = |id: OperatorId| {
        let operator = metadata.operator(id);
        operator.is_some_and(OperatorState::is_fully_finished)
    };
    let name = |id: OperatorId| {
        let mut subtasks = plan.subtasks.iter();
        let found = subtasks.find(|subtask| subtask.operator_id == id);
        found.map_or("?", |subtask| &*subtask.name)
    };
    let illegal =
        |edge: &&crate::engine::plan::EdgePlan| is_finished(edge.to) && !is_finished(edge.from);
    match plan.edges.iter().find(illegal) {
        None => Ok(()),
        Some(edge) => Err(format!(
            "In {}, operator {} had finished, and in this job it comes after {}, which had not: \"Illegal JobGraph \
             modification\", as Flink says. Take that edge away, or start from an older checkpoint.",
            title(metadata).to_lowercase(),
            name(edge.to),
            name(edge.from)
        )),
    }
}
