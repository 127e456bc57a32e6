//! What one operator costs other than the others.

use super::nodes::site;
use super::{Problem, grouped, quoted};
use crate::model::graph::Vertex;
use crate::model::limits::COST_US;

pub(super) fn check(vertex: &Vertex, problems: &mut Vec<Problem>) {
    let costs = vertex.costs;
    let numbers = [
        ("costs.process_us", "The processing cost", costs.process_us),
        (
            "costs.snapshot_sync_us",
            "The cost of a snapshot’s synchronous part",
            costs.snapshot_sync_us,
        ),
        (
            "costs.snapshot_async_us",
            "The cost of a snapshot’s asynchronous part",
            costs.snapshot_async_us,
        ),
    ];
    for (field, title, cost_us) in numbers {
        if let Some(cost_us) = cost_us.filter(|cost_us| !COST_US.contains(cost_us)) {
            let message = format!(
                "{title} of {} in microseconds is {}: set it to 0 to {}.",
                quoted(&vertex.name),
                grouped(cost_us),
                grouped(*COST_US.end())
            );
            problems.push(Problem::absurd(site(vertex), field, message));
        }
    }
    let last = vertex.parallelism.saturating_sub(1);
    if let Some(index) = costs.only_subtask.filter(|index| *index > last) {
        let message = format!(
            "The costs of {} are those of subtask {}, but its subtasks are 0 to {last}: name one of them, or raise the parallelism.",
            quoted(&vertex.name),
            grouped(index.into())
        );
        problems.push(Problem::unfinished(
            site(vertex),
            "costs.only_subtask",
            message,
        ));
    }
}
