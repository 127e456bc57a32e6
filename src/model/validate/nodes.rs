//! What every operator has in common: names, parallelism, its place, and how it is connected.

use super::costs;
use super::topology::Topology;
use super::{MAX_NAME_CHARS, MAX_PARALLELISM, Problem, Site, grouped, quoted};
use crate::model::graph::Vertex;
use crate::model::limits::KEY_GROUPS;

/// How far from the origin a node may lie, in points.
const MAX_COORDINATE: f32 = 1_000_000.0;

pub(super) fn check(topology: &Topology, index: usize, problems: &mut Vec<Problem>) {
    let vertex = &topology.job.vertices[index];
    if topology.index_of(&vertex.uid) != Some(index) {
        // Edges and scripts cannot tell it from the first: nothing else that is said about it would help.
        let uid = quoted(vertex.uid.as_str());
        let message = format!("Two operators have the uid {uid}: give each its own.");
        problems.push(Problem::absurd(site(vertex), "uid", message));
        return;
    }
    problems.extend(uid_problem(vertex));
    problems.extend(name_problem(vertex));
    problems.extend(parallelism_problem(vertex));
    problems.extend(max_parallelism_problem(vertex));
    problems.extend(position_problem(vertex));
    costs::check(vertex, problems);
    problems.extend(input_problem(topology, index));
    problems.extend(output_problem(topology, index));
    if topology.on_cycle[index] {
        let message = format!(
            "{} is on a cycle: remove one of the cycle’s edges, because its records would go round for ever.",
            quoted(&vertex.name)
        );
        problems.push(Problem::unfinished(site(vertex), None, message));
    }
}

pub(super) fn site(vertex: &Vertex) -> Site {
    Site::Vertex(vertex.uid.clone())
}

fn uid_problem(vertex: &Vertex) -> Option<Problem> {
    let uid = vertex.uid.as_str();
    let message = if uid.trim().is_empty() {
        "An operator has no uid: give it one, because state in a checkpoint belongs to a uid."
            .into()
    } else if uid.chars().nth(MAX_NAME_CHARS).is_some() {
        format!(
            "The uid {} is too long: keep to {MAX_NAME_CHARS} characters.",
            quoted(uid)
        )
    } else {
        return None;
    };
    Some(Problem::unfinished(site(vertex), "uid", message))
}

fn name_problem(vertex: &Vertex) -> Option<Problem> {
    let name = &vertex.name;
    let message = if name.trim().is_empty() {
        format!(
            "The operator with the uid {} has no name: give it one.",
            quoted(vertex.uid.as_str())
        )
    } else if name.chars().nth(MAX_NAME_CHARS).is_some() {
        format!(
            "The name {} is too long: keep to {MAX_NAME_CHARS} characters.",
            quoted(name)
        )
    } else {
        return None;
    };
    Some(Problem::unfinished(site(vertex), "name", message))
}

fn parallelism_problem(vertex: &Vertex) -> Option<Problem> {
    if (1..=MAX_PARALLELISM).contains(&vertex.parallelism) {
        return None;
    }
    let message = format!(
        "The parallelism of {} is {}: set it to 1 to {MAX_PARALLELISM}.",
        quoted(&vertex.name),
        grouped(vertex.parallelism.into())
    );
    Some(Problem::absurd(site(vertex), "parallelism", message))
}

fn max_parallelism_problem(vertex: &Vertex) -> Option<Problem> {
    let max = vertex.max_parallelism?;
    let name = quoted(&vertex.name);
    if !KEY_GROUPS.contains(&max.into()) {
        let (max, bound) = (grouped(max.into()), grouped(*KEY_GROUPS.end()));
        let message = format!("The max parallelism of {name} is {max}: set it to 1 to {bound}.");
        return Some(Problem::absurd(site(vertex), "max_parallelism", message));
    }
    (max < vertex.parallelism).then(|| {
        let message = format!(
            "The max parallelism of {name} ({max}) is below its parallelism ({}): raise it, or lower the parallelism.",
            vertex.parallelism
        );
        Problem::unfinished(site(vertex), "max_parallelism", message)
    })
}

fn position_problem(vertex: &Vertex) -> Option<Problem> {
    let position = vertex.position;
    // A coordinate that is no number is within no range.
    let is_near = |coordinate: f32| coordinate.abs() <= MAX_COORDINATE;
    (!is_near(position.x) || !is_near(position.y)).then(|| {
        let message = format!(
            "The position of {} is not on the canvas: set both coordinates to numbers between -1,000,000 and 1,000,000.",
            quoted(&vertex.name)
        );
        Problem::absurd(site(vertex), "position", message)
    })
}

fn input_problem(topology: &Topology, index: usize) -> Option<Problem> {
    let vertex = &topology.job.vertices[index];
    let name = quoted(&vertex.name);
    let message = match (vertex.is_source(), topology.inputs[index].is_empty()) {
        (true, false) => {
            format!("{name} is a source and takes no input: remove the edge that leads to it.")
        }
        (false, true) => {
            format!("{name} has no input: connect the output of a source or keyed sum to it.")
        }
        (true, true) | (false, false) => return None,
    };
    Some(Problem::unfinished(site(vertex), None, message))
}

/// A keyed sum may be the end of a job: its state is what one looks at. A source may not: nothing would happen.
fn output_problem(topology: &Topology, index: usize) -> Option<Problem> {
    let vertex = &topology.job.vertices[index];
    let name = quoted(&vertex.name);
    let has_output = !topology.outputs[index].is_empty();
    let message = if vertex.is_sink() && has_output {
        format!("{name} is a sink and has no output: remove the edge that leaves it.")
    } else if vertex.is_source() && !has_output {
        format!("{name} leads nowhere: connect its output to a keyed sum or to a sink.")
    } else {
        return None;
    };
    Some(Problem::unfinished(site(vertex), None, message))
}
