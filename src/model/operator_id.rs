//! By which id state in a checkpoint finds its operator, as Flink's `StreamGraphHasherV2` gives it.
//!
//! An operator with a uid has an id that follows from the uid alone. One without has an id that follows from where it
//! stands in the graph: how many operators come before it, and what the ids of its inputs are. So a change of the graph
//! changes the ids of operators without uid, and their state is not found again.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use super::graph::JobGraph;
use super::ids::Uid;

/// 128 bits, shown as 32 hexadecimal digits (Flink: `OperatorID`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperatorId(pub [u8; 16]);

impl OperatorId {
    /// Of the operator with this uid.
    #[must_use]
    pub fn of_uid(uid: &str) -> Self {
        Self(murmur3_128(uid.as_bytes()))
    }
}

impl fmt::Display for OperatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for OperatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The id of each of the job's vertices, in their order.
///
/// The graph is walked in breadth from the sources; an operator's turn comes when all its inputs have their ids. In a
/// graph that is not valid (a cycle, an operator without a way from a source) the rest follows in its order, from the ids
/// that are known.
#[must_use]
pub fn operator_ids(job: &JobGraph) -> Vec<OperatorId> {
    let mut walk = Walk::new(job);
    let sources = (0..job.vertices.len()).filter(|vertex| walk.inputs[*vertex].is_empty());
    walk.queue.extend(sources);
    walk.visited.extend(walk.queue.iter().copied());
    while let Some(vertex) = walk.queue.pop_front() {
        walk.visit(vertex);
    }
    for vertex in 0..job.vertices.len() {
        if walk.ids[vertex].is_none() {
            walk.identify(vertex);
        }
    }
    walk.ids
        .into_iter()
        .map(|id| id.unwrap_or(OperatorId([0; 16])))
        .collect()
}

/// `StreamGraphHasherV2.traverseStreamGraphAndGenerateHashes`
struct Walk<'a> {
    job: &'a JobGraph,
    /// Of each vertex, by its edges in their order.
    inputs: Vec<Vec<usize>>,
    outputs: Vec<Vec<usize>>,
    ids: Vec<Option<OperatorId>>,
    known: u32,
    queue: VecDeque<usize>,
    visited: BTreeSet<usize>,
}

impl<'a> Walk<'a> {
    fn new(job: &'a JobGraph) -> Self {
        let count = job.vertices.len();
        let place = |uid: &Uid| job.vertices.iter().position(|vertex| vertex.uid == *uid);
        let (mut inputs, mut outputs) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for edge in &job.edges {
            if let (Some(from), Some(to)) = (place(&edge.from), place(&edge.to)) {
                inputs[to].push(from);
                outputs[from].push(to);
            }
        }
        Self {
            job,
            inputs,
            outputs,
            ids: vec![None; count],
            known: 0,
            queue: VecDeque::new(),
            visited: BTreeSet::new(),
        }
    }

    fn visit(&mut self, vertex: usize) {
        let is_ready = |input: &usize| self.ids[*input].is_some();
        if !self.inputs[vertex].iter().all(is_ready) {
            // It comes again after the input that is missing.
            self.visited.remove(&vertex);
            return;
        }
        self.identify(vertex);
        for output in self.outputs[vertex].clone() {
            if self.visited.insert(output) {
                self.queue.push_back(output);
            }
        }
    }

    fn identify(&mut self, vertex: usize) {
        let spec = &self.job.vertices[vertex];
        let id = if spec.has_explicit_uid {
            OperatorId::of_uid(spec.uid.as_str())
        } else {
            self.generate(vertex)
        };
        self.ids[vertex] = Some(id);
        self.known += 1;
    }

    /// `generateDeterministicHash`, as without chaining: each operator is a node of its own.
    fn generate(&self, vertex: usize) -> OperatorId {
        let mut hash = murmur3_128(&self.known.to_le_bytes());
        let inputs = self.inputs[vertex].iter();
        for input in inputs.filter_map(|input| self.ids[*input]) {
            for (byte, other) in hash.iter_mut().zip(input.0) {
                *byte = byte.wrapping_mul(37) ^ other;
            }
        }
        OperatorId(hash)
    }
}

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// `MurmurHash3` (x64, 128 bits, seed 0), as the bytes that Guava's `murmur3_128` gives.
fn murmur3_128(bytes: &[u8]) -> [u8; 16] {
    let (mut h1, mut h2) = (0_u64, 0_u64);
    let (blocks, tail) = bytes.as_chunks::<16>();
    for block in blocks {
        let (k1, k2) = words(block);
        h1 ^= mix_k1(k1);
        h1 = h1
            .rotate_left(27)
            .wrapping_add(h2)
            .wrapping_mul(5)
            .wrapping_add(0x52dc_e729);
        h2 ^= mix_k2(k2);
        h2 = h2
            .rotate_left(31)
            .wrapping_add(h1)
            .wrapping_mul(5)
            .wrapping_add(0x3849_5ab5);
    }
    // The words of an empty tail are zero, and so is what they are mixed to.
    let mut block = [0; 16];
    block[..tail.len()].copy_from_slice(tail);
    let (k1, k2) = words(&block);
    h1 ^= mix_k1(k1);
    h2 ^= mix_k2(k2);

    let length = bytes.len() as u64;
    h1 ^= length;
    h2 ^= length;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = fmix64(h1);
    h2 = fmix64(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);

    (u128::from(h1) | (u128::from(h2) << 64)).to_le_bytes()
}

/// A block as two little-endian words.
fn words(block: &[u8; 16]) -> (u64, u64) {
    let (words, _) = block.as_chunks::<8>();
    match words {
        [low, high] => (u64::from_le_bytes(*low), u64::from_le_bytes(*high)),
        // Not reached: sixteen bytes are two words.
        _ => (0, 0),
    }
}

fn mix_k1(k1: u64) -> u64 {
    k1.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn mix_k2(k2: u64) -> u64 {
    k2.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn fmix64(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xff51_afd7_ed55_8ccd);
    k ^= k >> 33;
    k = k.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        Edge, MapSpec, OperatorSpec, Partitioning, SinkSpec, SourceKind, SourceSpec, Vertex,
    };

    fn hex(bytes: &[u8]) -> String {
        OperatorId(murmur3_128(bytes)).to_string()
    }

    /// The vectors of Guava's own tests, as bytes in order; and those that every Flink user has seen.
    #[test]
    fn murmur_agrees_with_guava() {
        assert_eq!(hex(b""), "00000000000000000000000000000000");
        // Murmur3_128HashFunctionTest: words of the result, little-endian in `asBytes`.
        let words = |h1: u64, h2: u64| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&h1.to_le_bytes());
            bytes[8..].copy_from_slice(&h2.to_le_bytes());
            OperatorId(bytes).to_string()
        };
        let hello = words(0xcbd8_a7b3_41bd_9b02, 0x5b1e_906a_48ae_1d19);
        assert_eq!(hex(b"hello"), hello);
        let dog = words(0xe34b_bc7b_bc07_1b6c, 0x7a43_3ca9_c49a_9347);
        assert_eq!(hex(b"The quick brown fox jumps over the lazy dog"), dog);
        // The first operator of a job, alone and with an operator chained to it.
        assert_eq!(
            hex(&[0, 0, 0, 0]),
            "bc764cd8ddf7a0cff126f51c16239658",
            "alone"
        );
        assert_eq!(hex(&[0; 8]), "cbc357ccb763df2852fee8c4fc7d55f2");
    }

    /// source → map → sink, all without uid.
    fn job() -> JobGraph {
        let vertex = |uid: &str, operator| Vertex {
            has_explicit_uid: false,
            ..Vertex::new(Uid::new(uid), operator)
        };
        let source = SourceSpec::new(SourceKind::Sequence, 1.0, None);
        JobGraph {
            vertices: vec![
                vertex("source", OperatorSpec::Source(source)),
                vertex("map", OperatorSpec::Map(MapSpec::default())),
                vertex("sink", OperatorSpec::Sink(SinkSpec::default())),
            ],
            edges: vec![edge("source", "map"), edge("map", "sink")],
            ..JobGraph::default()
        }
    }

    fn edge(from: &str, to: &str) -> Edge {
        Edge {
            from: Uid::new(from),
            to: Uid::new(to),
            partitioning: Partitioning::Rebalance,
        }
    }

    /// Catches an id that depends on a name that nobody has given as a uid.
    #[test]
    fn a_generated_id_follows_from_the_graph_alone() {
        let mut renamed = job();
        renamed.vertices[1].uid = Uid::new("other");
        renamed.vertices[1].name = "another".to_owned();
        renamed.edges = vec![edge("source", "other"), edge("other", "sink")];
        assert_eq!(operator_ids(&job()), operator_ids(&renamed));
        assert_eq!(
            operator_ids(&job())[0].to_string(),
            "bc764cd8ddf7a0cff126f51c16239658"
        );
    }

    /// An operator in between changes those after it, and none that has a uid.
    #[test]
    fn a_changed_graph_changes_generated_ids_only() {
        let mut job = job();
        job.vertices[2].has_explicit_uid = true;
        let before = operator_ids(&job);
        let between = Vertex {
            has_explicit_uid: false,
            ..Vertex::new(Uid::new("new"), OperatorSpec::Map(MapSpec::default()))
        };
        job.vertices.push(between);
        job.edges = vec![
            edge("source", "new"),
            edge("new", "map"),
            edge("map", "sink"),
        ];
        let after = operator_ids(&job);
        assert_eq!(after[0], before[0], "nothing has changed before the source");
        assert_ne!(after[1], before[1]);
        assert_eq!(after[2], before[2]);
        assert_eq!(after[2], OperatorId::of_uid("sink"));
    }

    /// Catches a walk that goes on for ever, or leaves one out, where the graph is not valid.
    #[test]
    fn every_vertex_has_an_id_of_its_own() {
        let mut job = job();
        job.edges.push(edge("sink", "map"));
        job.edges.push(edge("nowhere", "map"));
        let ids = operator_ids(&job);
        let distinct: BTreeSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), 3);
        assert!(!ids.contains(&OperatorId([0; 16])));
    }

    /// A join waits for both its inputs, whichever is reached first.
    #[test]
    fn an_operator_comes_after_all_its_inputs() {
        let mut job = job();
        job.edges = vec![
            edge("source", "sink"),
            edge("source", "map"),
            edge("map", "sink"),
        ];
        let direct = operator_ids(&job);
        job.edges.swap(0, 1);
        let other = operator_ids(&job);
        assert_eq!(direct[..2], other[..2]);
        assert_eq!(direct.iter().collect::<BTreeSet<_>>().len(), 3);
    }
}
