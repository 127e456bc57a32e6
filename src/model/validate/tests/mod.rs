//! Each story changes a good job in one way and reads what is said about it.

mod graph;
mod hints;
mod parameters;
mod settings;
mod time_and_sinks;

use super::*;
use crate::model::{
    CheckpointId, Command, CsvSpec, Edge, KeyExpr, KeyedSumSpec, OperatorSpec, Partitioning,
    Position, RestartStrategy, ScriptEntry, SinkSpec, SourceKind, SourceSpec, StorageKind, Vertex,
    VertexCosts, When,
};

fn vertex(uid: &str, operator: OperatorSpec) -> Vertex {
    Vertex {
        has_explicit_uid: true,
        costs: VertexCosts::default(),
        uid: uid.into(),
        name: uid.into(),
        parallelism: 1,
        max_parallelism: None,
        position: Position::default(),
        operator,
    }
}

fn source(uid: &str) -> Vertex {
    let spec = SourceSpec::new(SourceKind::Sequence, 10.0, Some(10));
    vertex(uid, OperatorSpec::Source(spec))
}

fn csv(uid: &str) -> Vertex {
    let csv = CsvSpec {
        path: "data.csv".into(),
        key_column: "key".into(),
        value_column: "value".into(),
    };
    let mut vertex = source(uid);
    source_of(&mut vertex).kind = SourceKind::Csv(csv);
    vertex
}

fn sum(uid: &str, key: impl Into<Option<KeyExpr>>) -> Vertex {
    let spec = KeyedSumSpec {
        key: key.into(),
        ttl: None,
    };
    vertex(uid, OperatorSpec::KeyedSum(spec))
}

fn sink(uid: &str) -> Vertex {
    vertex(uid, OperatorSpec::Sink(SinkSpec::default()))
}

fn parity() -> KeyExpr {
    modulo(2, &["even", "odd"])
}

fn modulo(modulus: u32, labels: &[&str]) -> KeyExpr {
    let labels = labels.iter().map(|label| (*label).into()).collect();
    KeyExpr::Modulo { modulus, labels }
}

fn edge(from: &str, to: &str, partitioning: Partitioning) -> Edge {
    Edge {
        from: from.into(),
        to: to.into(),
        partitioning,
    }
}

fn source_of(vertex: &mut Vertex) -> &mut SourceSpec {
    match &mut vertex.operator {
        OperatorSpec::Source(spec) => spec,
        other => panic!("a {} is no source", other.kind_name()),
    }
}

/// numbers → sum (by parity) → out.
fn good() -> JobGraph {
    JobGraph {
        name: "good".into(),
        vertices: vec![source("numbers"), sum("sum", parity()), sink("out")],
        edges: vec![
            edge("numbers", "sum", Partitioning::Hash),
            edge("sum", "out", Partitioning::Rebalance),
        ],
        ..JobGraph::default()
    }
}

/// The problems of the good job after `change`, as `site field: message`.
fn problems(change: impl FnOnce(&mut JobGraph)) -> Vec<String> {
    let mut job = good();
    change(&mut job);
    validate(&job).iter().map(shown).collect()
}

fn shown(problem: &Problem) -> String {
    let site = match &problem.site {
        Site::Job => "job".to_owned(),
        Site::Vertex(uid) => uid.to_string(),
        Site::Edge(index) => format!("edge {index}"),
        Site::Script(index) => format!("script {index}"),
    };
    let mark = match problem.severity {
        Severity::Unfinished => "",
        Severity::Absurd => "!",
    };
    let field = problem
        .field
        .map(|field| format!(".{field}"))
        .unwrap_or_default();
    format!("{site}{field}{mark}: {}", problem.message)
}

#[track_caller]
fn says(change: impl FnOnce(&mut JobGraph), expected: &[&str]) {
    assert_eq!(problems(change), expected);
}
