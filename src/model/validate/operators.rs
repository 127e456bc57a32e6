//! The parameters that only one kind of operator has.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::nodes::site;
use super::topology::Topology;
use super::{MAX_NAME_CHARS, Problem, grouped, quoted};
use crate::model::graph::{CsvSpec, KeyExpr, OperatorSpec, SourceKind, SourceSpec, Vertex};

const MIN_RATE_PER_S: f64 = 0.001;
const MAX_RATE_PER_S: f64 = 1_000_000.0;
/// The sum of 1, 2, 3 … up to here still fits into an exact decimal, with digits to spare for sums of sums.
const MAX_END: u64 = 1_000_000_000_000;
const MAX_MODULUS: u32 = 1_000_000;

pub(super) fn check(topology: &Topology, index: usize, problems: &mut Vec<Problem>) {
    let vertex = &topology.job.vertices[index];
    match &vertex.operator {
        OperatorSpec::Source(spec) => check_source(vertex, spec, problems),
        OperatorSpec::KeyedSum(_) | OperatorSpec::Window(_) => match vertex.operator.key() {
            None => problems.push(missing_key(vertex)),
            Some(KeyExpr::Column) => problems.extend(key_column_problem(topology, index)),
            Some(KeyExpr::Modulo { modulus, labels }) => {
                check_modulo(vertex, *modulus, labels, problems);
            }
        },
        OperatorSpec::Map(_) | OperatorSpec::Sink(_) => {}
    }
}

/// Whether the records that `vertex` sends carry a key column.
pub(super) fn gives_key_column(vertex: &Vertex) -> bool {
    match &vertex.operator {
        OperatorSpec::Source(spec) => matches!(spec.kind, SourceKind::Csv(_)),
        OperatorSpec::KeyedSum(_) | OperatorSpec::Window(_) => true,
        OperatorSpec::Map(_) | OperatorSpec::Sink(_) => false,
    }
}

fn check_source(vertex: &Vertex, spec: &SourceSpec, problems: &mut Vec<Problem>) {
    let name = quoted(&vertex.name);
    // A rate that is no number is within no range.
    if !(MIN_RATE_PER_S..=MAX_RATE_PER_S).contains(&spec.rate_per_s) {
        let message = format!(
            "The rate of {name} is {:?} records per second: set it to {MIN_RATE_PER_S} to 1,000,000.",
            spec.rate_per_s
        );
        problems.push(Problem::absurd(site(vertex), "rate_per_s", message));
    }
    if let Some(end) = spec.end.filter(|end| *end > MAX_END) {
        let message = format!(
            "{name} ends after {} records: let it end after at most {}, or never.",
            grouped(end),
            grouped(MAX_END)
        );
        problems.push(Problem::absurd(site(vertex), "end", message));
    }
    if let SourceKind::Csv(csv) = &spec.kind {
        problems.extend(path_problem(vertex, csv));
        problems.extend(column_problem(vertex, "key_column", "key", &csv.key_column));
        problems.extend(column_problem(
            vertex,
            "value_column",
            "value",
            &csv.value_column,
        ));
    }
}

fn path_problem(vertex: &Vertex, csv: &CsvSpec) -> Option<Problem> {
    let name = quoted(&vertex.name);
    match csv.path.to_str() {
        None => {
            let message = format!(
                "The path of the CSV file of {name} is not Unicode text: rename the file or its folder."
            );
            Some(Problem::absurd(site(vertex), "path", message))
        }
        Some(path) if path.trim().is_empty() => {
            let message = format!("{name} has no CSV file: choose one.");
            Some(Problem::unfinished(site(vertex), "path", message))
        }
        Some(_) => None,
    }
}

fn column_problem(
    vertex: &Vertex,
    field: &'static str,
    role: &str,
    column: &str,
) -> Option<Problem> {
    column.is_empty().then(|| {
        let name = quoted(&vertex.name);
        let message = format!("{name} has no {role} column: name the column of the CSV file.");
        Problem::unfinished(site(vertex), field, message)
    })
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
    let keyless = topology.inputs[index]
        .iter()
        .filter_map(|edge| topology.vertex(&topology.job.edges[*edge].from))
        .find(|from| !gives_key_column(from))?;
    let message = format!(
        "{} takes its key from the key column, but the records of {} have none: choose the value modulo a number instead.",
        quoted(&vertex.name),
        quoted(&keyless.name)
    );
    Some(Problem::unfinished(site(vertex), "key", message))
}

fn check_modulo(vertex: &Vertex, modulus: u32, labels: &[Arc<str>], problems: &mut Vec<Problem>) {
    let name = quoted(&vertex.name);
    if !(1..=MAX_MODULUS).contains(&modulus) {
        let message = format!(
            "The key of {name} is the value modulo {}: set the modulus to 1 to {}.",
            grouped(modulus.into()),
            grouped(MAX_MODULUS.into())
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
