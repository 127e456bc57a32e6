//! The parameters that only one kind of operator has.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::nodes::site;
use super::sources;
use super::topology::Topology;
use super::{MAX_NAME_CHARS, Problem, grouped, quoted};
use crate::model::graph::{KeyExpr, MapSpec, OperatorSpec, SinkKind, SinkSpec, Vertex, WindowSpec};
use crate::model::limits::{FACTOR, FUNCTION_NUMBER, MODULUS, POSITIVE_TIME_MS, SINK_THRESHOLD};
use crate::model::process::KeyedFunction;
use crate::model::state::TtlSpec;

pub(super) fn check(topology: &Topology, index: usize, problems: &mut Vec<Problem>) {
    let vertex = &topology.job.vertices[index];
    match &vertex.operator {
        OperatorSpec::Source(spec) => sources::check(vertex, spec, problems),
        OperatorSpec::Map(spec) => problems.extend(factor_problem(vertex, *spec)),
        OperatorSpec::KeyedSum(spec) => {
            check_key(topology, index, problems);
            problems.extend(ttl_problem(vertex, spec.ttl));
        }
        OperatorSpec::KeyedProcess(spec) => {
            check_key(topology, index, problems);
            problems.extend(function_problem(vertex, spec.function));
            problems.extend(ttl_problem(vertex, spec.ttl));
        }
        OperatorSpec::RuleFilter => problems.extend(rules_problem(topology, index)),
        OperatorSpec::Window(spec) => {
            check_key(topology, index, problems);
            problems.extend(size_problem(vertex, spec));
            problems.extend(event_time_problem(topology, index));
        }
        OperatorSpec::Sink(spec) => problems.extend(sink_problem(topology, index, *spec)),
    }
}

fn check_key(topology: &Topology, index: usize, problems: &mut Vec<Problem>) {
    let vertex = &topology.job.vertices[index];
    match vertex.operator.key() {
        None => problems.push(missing_key(vertex)),
        Some(KeyExpr::Column) => problems.extend(key_column_problem(topology, index)),
        Some(KeyExpr::Modulo { modulus, labels }) => {
            check_modulo(vertex, *modulus, labels, problems);
        }
    }
}

fn factor_problem(vertex: &Vertex, spec: MapSpec) -> Option<Problem> {
    (!FACTOR.contains(&spec.factor)).then(|| {
        let message = format!(
            "The factor of {} is {}: set it to -10,000 to 10,000.",
            quoted(&vertex.name),
            spec.factor
        );
        Problem::absurd(site(vertex), "factor", message)
    })
}

fn function_problem(vertex: &Vertex, function: KeyedFunction) -> Option<Problem> {
    let number = function.number()?;
    let (field, what) = match function {
        KeyedFunction::CountAverage { .. } => ("every", "The number of records of an average"),
        _ => ("n", "The number of last values"),
    };
    (!FUNCTION_NUMBER.contains(&number.into())).then(|| {
        let message = format!(
            "{what} of {} is {}: set it to 1 to {}.",
            quoted(&vertex.name),
            grouped(number.into()),
            grouped(*FUNCTION_NUMBER.end())
        );
        Problem::absurd(site(vertex), field, message)
    })
}

/// Flink: `StateTtlConfig` takes no time of zero.
fn ttl_problem(vertex: &Vertex, ttl: Option<TtlSpec>) -> Option<Problem> {
    let ttl_ms = ttl?.ttl_ms;
    (!POSITIVE_TIME_MS.contains(&ttl_ms)).then(|| {
        let message = format!(
            "The state of {} lives for {} milliseconds: set it to 1 to {}, or let it live for ever.",
            quoted(&vertex.name),
            grouped(ttl_ms),
            grouped(*POSITIVE_TIME_MS.end())
        );
        Problem::absurd(site(vertex), "ttl.ttl_ms", message)
    })
}

/// Rules come on broadcast edges, and what they are about on others.
fn rules_problem(topology: &Topology, index: usize) -> Option<Problem> {
    let vertex = &topology.job.vertices[index];
    let name = quoted(&vertex.name);
    let edges = || {
        topology.inputs[index]
            .iter()
            .map(|edge| &topology.job.edges[*edge])
    };
    let message = if edges().next().is_none() {
        return None;
    } else if !edges().any(|edge| topology.is_rules(edge)) {
        format!(
            "{name} has no rules: connect the stream of rules to it, and make that edge broadcast."
        )
    } else if edges().all(|edge| topology.is_rules(edge)) {
        format!(
            "{name} has rules and nothing to filter: connect another stream to it, on an edge that is not broadcast."
        )
    } else {
        return None;
    };
    Some(Problem::unfinished(site(vertex), None, message))
}

fn size_problem(vertex: &Vertex, spec: &WindowSpec) -> Option<Problem> {
    (!POSITIVE_TIME_MS.contains(&spec.size_ms)).then(|| {
        let message = format!(
            "The size of the windows of {} in milliseconds is {}: set it to 1 to {}.",
            quoted(&vertex.name),
            grouped(spec.size_ms),
            grouped(*POSITIVE_TIME_MS.end())
        );
        Problem::absurd(site(vertex), "size_ms", message)
    })
}

/// Flink throws at the first record without a timestamp (`TumblingEventTimeWindows`).
fn event_time_problem(topology: &Topology, index: usize) -> Option<Problem> {
    let vertex = &topology.job.vertices[index];
    let timeless = topology.timeless_input(index)?;
    let message = format!(
        "{} gathers records by their event time, but those of {} have none: give their source an event time.",
        quoted(&vertex.name),
        quoted(&timeless.name)
    );
    Some(Problem::unfinished(site(vertex), None, message))
}

fn sink_problem(topology: &Topology, index: usize, spec: SinkSpec) -> Option<Problem> {
    let vertex = &topology.job.vertices[index];
    let name = quoted(&vertex.name);
    match spec.kind {
        SinkKind::Plain => None,
        SinkKind::Buffering { threshold } => (!SINK_THRESHOLD.contains(&threshold.into())).then(|| {
            let message = format!(
                "{name} gathers {} records: set it to 1 to {}.",
                grouped(threshold.into()),
                grouped(*SINK_THRESHOLD.end())
            );
            Problem::absurd(site(vertex), "threshold", message)
        }),
        SinkKind::Upsert => topology.keyless_input(index).map(|keyless| {
            let message = format!(
                "{name} keeps the newest value of each key, but the records of {} have no key: put a keyed sum before it, or choose another sink.",
                quoted(&keyless.name)
            );
            Problem::unfinished(site(vertex), "kind", message)
        }),
        SinkKind::TwoPhaseCommit {
            transaction_timeout_ms: timeout_ms,
            ..
        } => (!POSITIVE_TIME_MS.contains(&timeout_ms)).then(|| {
            let message = format!(
                "The transaction timeout of {name} in milliseconds is {}: set it to 1 to {}.",
                grouped(timeout_ms),
                grouped(*POSITIVE_TIME_MS.end())
            );
            Problem::absurd(site(vertex), "transaction_timeout_ms", message)
        }),
    }
}

fn missing_key(vertex: &Vertex) -> Problem {
    let message = format!(
        "{} has no key: choose the key column, or the value modulo a number.",
        quoted(&vertex.name)
    );
    Problem::unfinished(site(vertex), "key", message)
}

/// The key column must be there in the records of every input.
fn key_column_problem(topology: &Topology, index: usize) -> Option<Problem> {
    let vertex = &topology.job.vertices[index];
    let keyless = topology.keyless_input(index)?;
    let message = format!(
        "{} takes its key from the key column, but the records of {} have none: choose the value modulo a number instead.",
        quoted(&vertex.name),
        quoted(&keyless.name)
    );
    Some(Problem::unfinished(site(vertex), "key", message))
}

fn check_modulo(vertex: &Vertex, modulus: u32, labels: &[Arc<str>], problems: &mut Vec<Problem>) {
    let name = quoted(&vertex.name);
    if !MODULUS.contains(&modulus.into()) {
        let message = format!(
            "The key of {name} is the value modulo {}: set the modulus to 1 to {}.",
            grouped(modulus.into()),
            grouped(*MODULUS.end())
        );
        problems.push(Problem::absurd(site(vertex), "key", message));
    } else if labels.len() > modulus as usize {
        let message = format!(
            "{name} has more labels ({}) than keys ({modulus}): remove some, or raise the modulus.",
            labels.len()
        );
        problems.push(Problem::unfinished(site(vertex), "key", message));
    }
    if let Some(message) = label_problem(&name, labels) {
        problems.push(Problem::unfinished(site(vertex), "key", message));
    }
}

fn label_problem(name: &str, labels: &[Arc<str>]) -> Option<String> {
    let mut seen = BTreeSet::new();
    for label in labels {
        if label.trim().is_empty() {
            return Some(format!(
                "{name} has a key with an empty label: give it one."
            ));
        }
        if label.chars().nth(MAX_NAME_CHARS).is_some() {
            let label = quoted(label);
            return Some(format!(
                "The label {label} is too long: keep to {MAX_NAME_CHARS} characters."
            ));
        }
        if !seen.insert(label) {
            let label = quoted(label);
            return Some(format!(
                "{name} has the label {label} twice: give each key its own."
            ));
        }
    }
    None
}
