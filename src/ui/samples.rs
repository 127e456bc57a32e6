//! The jobs under File ▸ Samples.

use std::sync::Arc;

use crate::model::{
    Edge, JobGraph, KeyExpr, KeyedSumSpec, OperatorSpec, Partitioning, Position, SinkSpec,
    SourceKind, SourceSpec, Uid, Vertex,
};

/// A sample's name, what it shows, and the job.
pub struct Sample {
    pub name: &'static str,
    pub hint: &'static str,
    pub job: fn() -> JobGraph,
}

#[must_use]
pub fn all() -> &'static [Sample] {
    &[
        Sample {
            name: "odd-even",
            hint: "one source, a sum by parity",
            job: odd_even,
        },
        Sample {
            name: "two-sources",
            hint: "two speeds: watch barriers align",
            job: two_sources,
        },
    ]
}

fn sequence(uid: &str, name: &str, rate_per_s: f64, at: (f32, f32)) -> Vertex {
    let spec = SourceSpec {
        kind: SourceKind::Sequence,
        rate_per_s,
        end: None,
    };
    vertex(uid, name, 1, at, OperatorSpec::Source(spec))
}

fn vertex(
    uid: &str,
    name: &str,
    parallelism: u32,
    (x, y): (f32, f32),
    operator: OperatorSpec,
) -> Vertex {
    Vertex {
        uid: Uid::new(uid),
        name: name.to_owned(),
        parallelism,
        max_parallelism: None,
        position: Position { x, y },
        operator,
    }
}

fn sum_by_parity(at: (f32, f32)) -> Vertex {
    let labels = vec![Arc::from("even"), Arc::from("odd")];
    let key = Some(KeyExpr::Modulo { modulus: 2, labels });
    let mut sum = vertex(
        "sum",
        "sum",
        2,
        at,
        OperatorSpec::KeyedSum(KeyedSumSpec { key }),
    );
    sum.max_parallelism = Some(6);
    sum
}

fn edge(from: &str, to: &str, partitioning: Partitioning) -> Edge {
    Edge {
        from: Uid::new(from),
        to: Uid::new(to),
        partitioning,
    }
}

/// One source, summed by parity in two subtasks.
#[must_use]
pub fn odd_even() -> JobGraph {
    JobGraph {
        name: "odd-even".to_owned(),
        note: "Six key groups put even and odd on different subtasks. With Flink’s default of 128 both keys land on \
               the same one."
            .to_owned(),
        vertices: vec![
            sequence("numbers", "numbers", 10.0, (40.0, 311.0)),
            sum_by_parity((460.0, 311.0)),
            vertex("sink", "sink", 1, (900.0, 311.0), OperatorSpec::Sink(SinkSpec {})),
        ],
        edges: vec![edge("numbers", "sum", Partitioning::Hash), edge("sum", "sink", Partitioning::Rebalance)],
        ..JobGraph::default()
    }
}

/// Two sources of different speeds: barriers arrive at different times, and early records wait.
#[must_use]
pub fn two_sources() -> JobGraph {
    JobGraph {
        name: "two-sources".to_owned(),
        note: "Press Checkpoint and watch the faster source’s records wait behind its barrier."
            .to_owned(),
        vertices: vec![
            sequence("a", "source a", 40.0, (40.0, 200.0)),
            sequence("b", "source b", 15.0, (40.0, 440.0)),
            sum_by_parity((560.0, 311.0)),
            vertex(
                "sink",
                "sink",
                1,
                (900.0, 311.0),
                OperatorSpec::Sink(SinkSpec {}),
            ),
        ],
        edges: vec![
            edge("a", "sum", Partitioning::Hash),
            edge("b", "sum", Partitioning::Hash),
            edge("sum", "sink", Partitioning::Rebalance),
        ],
        ..JobGraph::default()
    }
}
