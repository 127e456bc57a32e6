//! Which injected faults can ever strike, in either driver.

use crate::engine::plan::ExecutionGraph;
use crate::engine::storage::StorageError;
use crate::model::{Fault, FaultKind, OperatorSpec, SinkKind, SubtaskId};

/// More than this many never wait.
pub const MAX_ARMED: usize = 100;

/// The subtask that `fault` is meant for.
///
/// # Errors
/// It could never strike; why, as a sentence.
pub fn target_of(plan: &ExecutionGraph, fault: &Fault) -> Result<SubtaskId, String> {
    let id = plan.find_subtask(&fault.uid, fault.subtask)?;
    let name = plan.subtask_name(id);
    let operator = &plan.subtask(id).operator;
    match fault.kind {
        FaultKind::Commit if !commits(operator) => Err(format!(
            "{name} commits nothing. Choose a sink with two-phase commit."
        )),
        FaultKind::TornWrite if !operator.is_keyed() => Err(format!(
            "{name} writes no state file that could be torn. Choose a keyed operator."
        )),
        _ => Ok(id),
    }
}

fn commits(operator: &OperatorSpec) -> bool {
    matches!(operator, OperatorSpec::Sink(sink) if matches!(sink.kind, SinkKind::TwoPhaseCommit { .. }))
}

/// What an injected fault of the storage looks like.
pub fn injected(action: &'static str, owner: &str) -> StorageError {
    StorageError::Io {
        action,
        path: owner.into(),
        source: std::io::Error::other("an injected fault"),
    }
}
