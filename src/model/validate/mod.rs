//! Whether a job can run, and if not, why: one sentence per problem, and the place it belongs to.
//!
//! Cheap enough to ask after every edit: a few passes over the graph, no recursion, and a job beyond
//! [`MAX_OPERATORS`] or its like is refused before anything is done per part. Never panics, whatever the job holds.

mod costs;
mod edges;
mod hints;
mod nodes;
mod operators;
mod script;
mod settings;
mod sources;
mod topology;

pub use hints::{Hint, hints};
pub use settings::bounds;

use super::graph::JobGraph;
use super::ids::Uid;
pub use super::limits::{MAX_PARALLELISM, MAX_SUBTASKS};
use topology::Topology;

/// How many operators, edges and script entries a job may have at all.
pub const MAX_OPERATORS: usize = 1_000;
pub const MAX_EDGES: usize = 10_000;
pub const MAX_SCRIPT_ENTRIES: usize = 10_000;
pub const MAX_CHANNELS: u64 = 4_096;
/// Characters of a uid, name or label.
pub const MAX_NAME_CHARS: usize = 100;

/// Where a problem belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Site {
    Job,
    Vertex(Uid),
    /// An index into [`JobGraph::edges`].
    Edge(usize),
    /// An index into [`JobGraph::script`].
    Script(usize),
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The job is not ready yet. A person can finish it on the canvas; meanwhile it is kept as a draft.
    Unfinished,
    /// No job at all: a number out of all bounds, a reference to nothing, two things of one name. The canvas makes
    /// none of these, and files with one are neither opened nor written.
    Absurd,
}

/// A reason why a job cannot run: what is wrong and what to do, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub site: Site,
    /// The parameter concerned, by its name in the model (`parallelism`, `checkpointing.retained`). None: the part as
    /// a whole.
    pub field: Option<&'static str>,
    pub severity: Severity,
    pub message: String,
}

impl Problem {
    fn unfinished(site: Site, field: impl Into<Option<&'static str>>, message: String) -> Self {
        Self {
            site,
            field: field.into(),
            severity: Severity::Unfinished,
            message,
        }
    }

    fn absurd(site: Site, field: impl Into<Option<&'static str>>, message: String) -> Self {
        Self {
            severity: Severity::Absurd,
            ..Self::unfinished(site, field, message)
        }
    }
}

/// All problems of `job`, in the order of its parts; none: it runs.
#[must_use]
pub fn validate(job: &JobGraph) -> Vec<Problem> {
    let mut problems = topology::size_problems(job);
    if !problems.is_empty() {
        return problems;
    }
    let topology = Topology::of(job);
    topology::check(&topology, &mut problems);
    for index in 0..job.vertices.len() {
        nodes::check(&topology, index, &mut problems);
        operators::check(&topology, index, &mut problems);
    }
    for index in 0..job.edges.len() {
        edges::check(&topology, index, &mut problems);
    }
    settings::check(&job.config, &mut problems);
    script::check(&topology, &mut problems);
    problems
}

/// `1234567` as `1,234,567`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A name, quoted as every message quotes names: cut where nobody would read on, and safe for a terminal.
fn quoted(name: &str) -> String {
    let is_long = name.chars().nth(MAX_NAME_CHARS).is_some();
    let start: String = name
        .chars()
        .take(MAX_NAME_CHARS)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    let dots = if is_long { "…" } else { "" };
    format!("“{start}{dots}”")
}

#[cfg(test)]
mod tests;
