//! The shape of the graph, worked out once per validation, and what can be wrong with the job as a whole.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    MAX_CHANNELS, MAX_EDGES, MAX_OPERATORS, MAX_SCRIPT_ENTRIES, MAX_SUBTASKS, Problem, Site,
    grouped,
};
use crate::model::graph::{Edge, JobGraph, OperatorSpec, Partitioning, SourceKind, Vertex};
use crate::model::ids::Uid;

/// A job with its edges resolved to indices of vertices.
pub(super) struct Topology<'a> {
    pub job: &'a JobGraph,
    /// The first vertex of each uid.
    by_uid: BTreeMap<&'a Uid, usize>,
    /// Per vertex: the edges that arrive and leave, by index, in the graph's order.
    pub inputs: Vec<Vec<usize>>,
    pub outputs: Vec<Vec<usize>>,
    /// Per vertex: the other vertices that it sends to.
    successors: Vec<Vec<usize>>,
    pub on_cycle: Vec<bool>,
    /// Per vertex: whether the records that it sends carry a key column.
    carries_key: Vec<bool>,
    /// Per vertex: whether the records that it sends all have an event time.
    has_event_time: Vec<bool>,
    /// Per edge: whether an earlier one has the same ends.
    pub is_repeated: Vec<bool>,
}

impl<'a> Topology<'a> {
    pub fn of(job: &'a JobGraph) -> Self {
        let mut by_uid = BTreeMap::new();
        for (index, vertex) in job.vertices.iter().enumerate() {
            by_uid.entry(&vertex.uid).or_insert(index);
        }
        let none = vec![Vec::new(); job.vertices.len()];
        let (mut inputs, mut outputs, mut successors) = (none.clone(), none.clone(), none);
        for (index, edge) in job.edges.iter().enumerate() {
            let from = by_uid.get(&edge.from).copied();
            let to = by_uid.get(&edge.to).copied();
            if let Some(from) = from {
                outputs[from].push(index);
                successors[from].extend(to.filter(|to| *to != from));
            }
            if let Some(to) = to {
                inputs[to].push(index);
            }
        }
        let mut seen = BTreeSet::new();
        let is_repeated = |edge: &'a Edge| !seen.insert((&edge.from, &edge.to));
        let mut topology = Self {
            job,
            by_uid,
            inputs,
            outputs,
            successors,
            on_cycle: Vec::new(),
            carries_key: Vec::new(),
            has_event_time: Vec::new(),
            is_repeated: job.edges.iter().map(is_repeated).collect(),
        };
        topology.on_cycle = topology.cycles();
        topology.carries_key = topology.carried(carries_key);
        topology.has_event_time = topology.carried(has_event_time);
        topology
    }

    /// Whether the records that `uid` sends carry a key column.
    pub fn carries_key(&self, uid: &Uid) -> bool {
        self.index_of(uid)
            .is_some_and(|index| self.carries_key[index])
    }

    /// The operator before `vertex` whose records have no key column, if there is one.
    pub fn keyless_input(&self, index: usize) -> Option<&'a Vertex> {
        self.input_without(index, &self.carries_key)
    }

    /// The operator before `vertex` whose records have no event time, if there is one.
    pub fn timeless_input(&self, index: usize) -> Option<&'a Vertex> {
        self.input_without(index, &self.has_event_time)
    }

    fn input_without(&self, index: usize, carried: &[bool]) -> Option<&'a Vertex> {
        let from = self.inputs_of(index).find(|from| !carried[*from])?;
        Some(&self.job.vertices[from])
    }

    fn inputs_of(&self, index: usize) -> impl Iterator<Item = usize> {
        let edges = self.inputs[index].iter();
        edges.filter_map(|edge| self.index_of(&self.job.edges[*edge].from))
    }

    /// Per vertex: whether what it sends carries something. `own` says what the operator does about it; where it does
    /// nothing, its records carry what all its inputs do.
    fn carried(&self, own: impl Fn(&OperatorSpec) -> Option<bool>) -> Vec<bool> {
        let decided: Vec<Option<bool>> = self
            .job
            .vertices
            .iter()
            .map(|vertex| own(&vertex.operator))
            .collect();
        let mut carried: Vec<bool> = decided.iter().map(|own| own.unwrap_or(true)).collect();
        let mut lost: Vec<usize> = (0..carried.len())
            .filter(|index| !carried[*index])
            .collect();
        while let Some(index) = lost.pop() {
            let edges = self.outputs[index]
                .iter()
                .map(|edge| &self.job.edges[*edge]);
            // Rules do not go on: what they are without is not missed.
            for to in
                edges.filter_map(|edge| self.index_of(&edge.to).filter(|_| !self.is_rules(edge)))
            {
                if decided[to].is_none() && std::mem::replace(&mut carried[to], false) {
                    lost.push(to);
                }
            }
        }
        carried
    }

    /// Whether rules come on `edge`.
    pub fn is_rules(&self, edge: &Edge) -> bool {
        let to = self.vertex(&edge.to);
        edge.partitioning == Partitioning::Broadcast
            && to.is_some_and(|to| to.operator == OperatorSpec::RuleFilter)
    }

    pub fn index_of(&self, uid: &Uid) -> Option<usize> {
        self.by_uid.get(uid).copied()
    }

    pub fn vertex(&self, uid: &Uid) -> Option<&'a Vertex> {
        self.index_of(uid).map(|index| &self.job.vertices[index])
    }

    /// Per vertex: whether a way leads from it back to itself, over at least one other.
    fn cycles(&self) -> Vec<bool> {
        let candidates = self.left_after_peeling();
        (0..self.job.vertices.len())
            .map(|index| candidates[index] && self.reaches_itself(index, &candidates))
            .collect()
    }

    /// Takes away vertex after vertex that has no input left (Kahn). What stays is on a cycle or behind one.
    fn left_after_peeling(&self) -> Vec<bool> {
        let count = self.job.vertices.len();
        let mut waiting_for = vec![0_usize; count];
        for to in self.successors.iter().flatten() {
            waiting_for[*to] += 1;
        }
        let mut free: Vec<usize> = (0..count).filter(|i| waiting_for[*i] == 0).collect();
        let mut left = vec![true; count];
        while let Some(index) = free.pop() {
            left[index] = false;
            for to in &self.successors[index] {
                waiting_for[*to] -= 1;
                if waiting_for[*to] == 0 {
                    free.push(*to);
                }
            }
        }
        left
    }

    fn reaches_itself(&self, start: usize, among: &[bool]) -> bool {
        let mut seen = vec![false; among.len()];
        let mut frontier = vec![start];
        while let Some(index) = frontier.pop() {
            for to in self.successors[index].iter().filter(|to| among[**to]) {
                if *to == start {
                    return true;
                }
                if !std::mem::replace(&mut seen[*to], true) {
                    frontier.push(*to);
                }
            }
        }
        false
    }

    fn subtasks(&self) -> u64 {
        let parallelism = |vertex: &Vertex| u64::from(vertex.parallelism);
        self.job.vertices.iter().map(parallelism).sum()
    }

    fn channels(&self) -> u64 {
        self.job
            .edges
            .iter()
            .map(|edge| self.channels_of(edge))
            .fold(0, u64::saturating_add)
    }

    fn channels_of(&self, edge: &Edge) -> u64 {
        let parallelism = |uid| -> u64 {
            self.vertex(uid)
                .map_or(0, |vertex| vertex.parallelism.into())
        };
        let (from, to) = (parallelism(&edge.from), parallelism(&edge.to));
        match edge.partitioning {
            Partitioning::Forward => from.min(to),
            Partitioning::Hash | Partitioning::Rebalance | Partitioning::Broadcast => {
                from.saturating_mul(to)
            }
        }
    }
}

fn carries_key(operator: &OperatorSpec) -> Option<bool> {
    match operator {
        OperatorSpec::Source(spec) => Some(matches!(spec.kind, SourceKind::Csv(_))),
        OperatorSpec::KeyedSum(_) | OperatorSpec::KeyedProcess(_) | OperatorSpec::Window(_) => {
            Some(true)
        }
        OperatorSpec::Map(_) | OperatorSpec::RuleFilter | OperatorSpec::Sink(_) => None,
    }
}

/// A window's results happened at its end.
fn has_event_time(operator: &OperatorSpec) -> Option<bool> {
    match operator {
        OperatorSpec::Source(spec) => Some(spec.event_time.is_some()),
        OperatorSpec::Window(_) => Some(true),
        OperatorSpec::Map(_)
        | OperatorSpec::KeyedSum(_)
        | OperatorSpec::KeyedProcess(_)
        | OperatorSpec::RuleFilter
        | OperatorSpec::Sink(_) => None,
    }
}

/// Jobs so large that looking at their parts would take time that a person notices.
pub(super) fn size_problems(job: &JobGraph) -> Vec<Problem> {
    let parts = [
        ("operators", job.vertices.len(), MAX_OPERATORS),
        ("edges", job.edges.len(), MAX_EDGES),
        ("script", job.script.len(), MAX_SCRIPT_ENTRIES),
    ];
    parts
        .into_iter()
        .filter(|(_, count, max)| count > max)
        .map(|(field, count, max)| {
            let what = if field == "script" {
                "script entries"
            } else {
                field
            };
            let (count, max) = (grouped(count as u64), grouped(max as u64));
            let message =
                format!("The job has {count} {what}; at most {max} are possible: remove some.");
            Problem::absurd(Site::Job, field, message)
        })
        .collect()
}

pub(super) fn check(topology: &Topology, problems: &mut Vec<Problem>) {
    if let Some(message) = what_is_missing(topology.job) {
        problems.push(Problem::unfinished(Site::Job, "operators", message.into()));
    }
    let subtasks = topology.subtasks();
    if subtasks > MAX_SUBTASKS {
        let message = format!(
            "The job has {} subtasks in all; at most {MAX_SUBTASKS} are possible: lower the parallelism of some operators.",
            grouped(subtasks)
        );
        problems.push(Problem::unfinished(Site::Job, "operators", message));
    }
    let channels = topology.channels();
    if channels > MAX_CHANNELS {
        let message = format!(
            "The job has {} channels in all; at most {} are possible: lower the parallelism of some operators.",
            grouped(channels),
            grouped(MAX_CHANNELS)
        );
        problems.push(Problem::unfinished(Site::Job, "edges", message));
    }
}

fn what_is_missing(job: &JobGraph) -> Option<&'static str> {
    if job.vertices.is_empty() {
        return Some("The job is empty: add a source and connect it to a keyed sum or to a sink.");
    }
    let has_source = job.vertices.iter().any(Vertex::is_source);
    (!has_source)
        .then_some("The job has no source: add one, because all records come from sources.")
}
