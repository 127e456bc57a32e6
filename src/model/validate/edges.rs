//! What can be wrong with one edge.

use super::topology::Topology;
use super::{Problem, Site, quoted};
use crate::model::graph::{Edge, OperatorSpec, Partitioning, Vertex};
use crate::model::ids::Uid;

pub(super) fn check(topology: &Topology, index: usize, problems: &mut Vec<Problem>) {
    let edge = &topology.job.edges[index];
    let ends = (topology.vertex(&edge.from), topology.vertex(&edge.to));
    let (Some(from), Some(to)) = ends else {
        problems.extend(dangling_problem(topology, index, &edge.from, "from"));
        problems.extend(dangling_problem(topology, index, &edge.to, "to"));
        return;
    };
    if edge.from == edge.to {
        let name = quoted(&from.name);
        let message = format!(
            "An edge leads from {name} back to itself: remove it, because its records would go round for ever."
        );
        problems.push(Problem::unfinished(Site::Edge(index), None, message));
        return;
    }
    if topology.is_repeated[index] {
        let message = format!("{} is there twice: remove one.", title(from, to));
        problems.push(Problem::unfinished(Site::Edge(index), None, message));
    }
    if let Some(message) = partitioning_problem(topology, edge, from, to) {
        problems.push(Problem::unfinished(
            Site::Edge(index),
            "partitioning",
            message,
        ));
    }
}

fn title(from: &Vertex, to: &Vertex) -> String {
    format!(
        "The edge from {} to {}",
        quoted(&from.name),
        quoted(&to.name)
    )
}

fn dangling_problem(
    topology: &Topology,
    index: usize,
    uid: &Uid,
    field: &'static str,
) -> Option<Problem> {
    topology.vertex(uid).is_none().then(|| {
        let message = format!(
            "An edge leads {field} {}, but there is no operator of that uid: correct the uid, or remove the edge.",
            quoted(uid.as_str())
        );
        Problem::absurd(Site::Edge(index), field, message)
    })
}

fn partitioning_problem(
    topology: &Topology,
    edge: &Edge,
    from: &Vertex,
    to: &Vertex,
) -> Option<String> {
    let title = title(from, to);
    match (&to.operator, edge.partitioning) {
        (OperatorSpec::Source(_), _)
        | (
            OperatorSpec::KeyedSum(_) | OperatorSpec::KeyedProcess(_) | OperatorSpec::Window(_),
            Partitioning::Hash,
        )
        | (
            OperatorSpec::Map(_) | OperatorSpec::RuleFilter | OperatorSpec::Sink(_),
            Partitioning::Rebalance | Partitioning::Broadcast,
        ) => None,
        (
            OperatorSpec::KeyedSum(_) | OperatorSpec::KeyedProcess(_) | OperatorSpec::Window(_),
            other,
        ) => Some(format!(
            "{title} is {}: make it hash, because keyed state needs every record at the subtask that owns its key.",
            other.name()
        )),
        (OperatorSpec::Map(_) | OperatorSpec::RuleFilter | OperatorSpec::Sink(_), Partitioning::Hash) => (!topology.carries_key(&edge.from)).then(|| {
            format!("{title} is hash, but the records have no key column: make it rebalance.")
        }),
        (OperatorSpec::Map(_) | OperatorSpec::RuleFilter | OperatorSpec::Sink(_), Partitioning::Forward) => {
            (from.parallelism != to.parallelism).then(|| {
                format!(
                    "{title} is forward, but their parallelisms differ ({} and {}): make them equal, or make the edge rebalance.",
                    from.parallelism, to.parallelism
                )
            })
        }
    }
}
