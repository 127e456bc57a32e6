//! What kind of key an operator's records have: it follows from the graph, and state with keys of another kind is not
//! its own.

use std::collections::BTreeSet;

use crate::engine::plan::{ExecutionGraph, SubtaskPlan};
use crate::model::{KeyExpr, KeyKind, OperatorId, OperatorSpec, Partitioning, SourceKind};

/// The kind of the keys of a keyed operator; none: its inputs bring several kinds, or it is not keyed.
#[must_use]
pub fn key_kind(plan: &ExecutionGraph, subtask: &SubtaskPlan) -> Option<KeyKind> {
    match subtask.operator.key()? {
        KeyExpr::Modulo { .. } => Some(KeyKind::Int),
        KeyExpr::Column => {
            let kinds = kinds_before(plan, subtask.operator_id);
            kinds.first().copied().filter(|_| kinds.len() == 1)
        }
    }
}

/// The kinds of the keys that the records have which come to an operator.
fn kinds_before(plan: &ExecutionGraph, operator: OperatorId) -> BTreeSet<KeyKind> {
    let mut kinds = BTreeSet::new();
    let mut seen = BTreeSet::from([operator]);
    let mut open = vec![operator];
    while let Some(to) = open.pop() {
        for edge in plan.edges.iter().filter(|edge| edge.to == to) {
            let is_rules = edge.partitioning == Partitioning::Broadcast
                && matches!(spec(plan, to), Some(OperatorSpec::RuleFilter));
            if is_rules || !seen.insert(edge.from) {
                continue;
            }
            let before = spec(plan, edge.from);
            match before.and_then(OperatorSpec::key) {
                Some(KeyExpr::Modulo { .. }) => {
                    kinds.insert(KeyKind::Int);
                }
                // Its records go on with the key that they came with.
                Some(KeyExpr::Column) | None => open.push(edge.from),
            }
            if let Some(OperatorSpec::Source(source)) = before
                && matches!(source.kind, SourceKind::Csv(_))
            {
                kinds.insert(KeyKind::Text);
            }
        }
    }
    kinds
}

fn spec(plan: &ExecutionGraph, operator: OperatorId) -> Option<&OperatorSpec> {
    let mut subtasks = plan.subtasks.iter();
    let found = subtasks.find(|subtask| subtask.operator_id == operator);
    found.map(|subtask| &subtask.operator)
}
