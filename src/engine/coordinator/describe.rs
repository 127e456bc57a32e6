//! What a checkpoint's metadata says of the job, beside the state.

use std::collections::BTreeMap;

use crate::engine::event::CheckpointKind;
use crate::engine::plan::{EdgePlan, ExecutionGraph};
use crate::engine::storage::{CheckpointMetadata, OperatorState, SubtaskState};
use crate::model::{BackendKind, CheckpointId, SubtaskId};

/// The job's operators, as every checkpoint names them.
pub struct Description {
    backend: BackendKind,
    /// Without state.
    operators: Vec<OperatorState>,
    edges: Vec<EdgePlan>,
}

impl Description {
    pub fn of(graph: &ExecutionGraph, backend: BackendKind) -> Self {
        let first = graph.subtasks.iter().filter(|subtask| subtask.index == 0);
        let operators = first.map(|subtask| OperatorState {
            id: subtask.operator_id,
            uid: subtask.uid.clone(),
            has_explicit_uid: subtask.has_explicit_uid,
            name: subtask.name.clone(),
            parallelism: subtask.parallelism,
            max_parallelism: subtask.max_parallelism,
            subtasks: Vec::new(),
        });
        Self {
            backend,
            operators: operators.collect(),
            edges: graph.edges.clone(),
        }
    }

    /// All that a checkpoint is that was triggered at this processing time, by operator and subtask. Who has not acknowledged had finished before.
    pub fn metadata(
        &self,
        (checkpoint, kind): (CheckpointId, CheckpointKind),
        processing_time_ms: u64,
        acknowledged: &BTreeMap<SubtaskId, SubtaskState>,
    ) -> CheckpointMetadata {
        let mut next = 0;
        let with_state = |operator: &OperatorState| {
            let ids = next..next + operator.parallelism;
            next = ids.end;
            let states = ids.map(|id| acknowledged.get(&SubtaskId(id)).cloned());
            OperatorState {
                subtasks: states
                    .map(|state| state.unwrap_or_else(finished_state))
                    .collect(),
                ..operator.clone()
            }
        };
        CheckpointMetadata {
            checkpoint,
            kind: kind.snapshot(),
            backend: self.backend,
            operators: self.operators.iter().map(with_state).collect(),
            edges: self.edges.clone(),
            processing_time_ms: Some(processing_time_ms),
        }
    }
}

fn finished_state() -> SubtaskState {
    SubtaskState {
        finished: true,
        ..SubtaskState::default()
    }
}
