//! Files of format 1, written once, must mean the same for ever.

use lockgate::model::{
    BackendKind, CheckpointConfig, CheckpointId, Command, CostModel, CsvSpec, Edge, JobConfig,
    JobGraph, KeyExpr, KeyedSumSpec, OperatorSpec, Partitioning, Position, RestartStrategy,
    ScriptEntry, SinkSpec, SourceKind, SourceSpec, StorageKind, Vertex, VertexCosts, When,
};
use lockgate::project;

use super::runnable;

pub fn vertex(uid: &str, operator: OperatorSpec, x: f32, y: f32) -> Vertex {
    Vertex {
        has_explicit_uid: true,
        costs: VertexCosts::default(),
        uid: uid.into(),
        name: uid.into(),
        parallelism: 1,
        max_parallelism: None,
        position: Position { x, y },
        operator,
    }
}

pub fn source(kind: SourceKind, rate_per_s: f64, end: Option<u64>) -> OperatorSpec {
    OperatorSpec::Source(SourceSpec::new(kind, rate_per_s, end))
}

pub fn csv(path: &str) -> SourceKind {
    SourceKind::Csv(CsvSpec {
        path: path.into(),
        key_column: "k".into(),
        value_column: "v".into(),
    })
}

pub fn sum(key: KeyExpr) -> OperatorSpec {
    OperatorSpec::KeyedSum(KeyedSumSpec {
        key: Some(key),
        ttl: None,
    })
}

pub fn modulo(modulus: u32, labels: &[&str]) -> KeyExpr {
    let labels = labels.iter().map(|label| (*label).into()).collect();
    KeyExpr::Modulo { modulus, labels }
}

pub fn edge(from: &str, to: &str, partitioning: Partitioning) -> Edge {
    Edge {
        from: from.into(),
        to: to.into(),
        partitioning,
    }
}

fn everything() -> JobGraph {
    let rows = Vertex {
        name: "Rows".into(),
        parallelism: 3,
        ..vertex(
            "rows",
            source(csv("data/rows.csv"), 0.25, Some(7)),
            -12.5,
            40.0,
        )
    };
    let parity = Vertex {
        parallelism: 2,
        max_parallelism: Some(6),
        ..vertex("parity", sum(modulo(2, &["even", "odd"])), 400.0, 100.0)
    };
    let out = Vertex {
        parallelism: 2,
        ..vertex(
            "out",
            OperatorSpec::Sink(SinkSpec::default()),
            1200.0,
            100.0,
        )
    };
    JobGraph {
        name: "everything".into(),
        note: "first line\nsecond line".into(),
        vertices: vec![
            rows,
            vertex("all", source(csv("../all.csv"), 1000.0, None), 0.0, 0.0),
            vertex(
                "numbers",
                source(SourceKind::Sequence, 10.0, None),
                0.0,
                200.0,
            ),
            vertex(
                "ten",
                source(SourceKind::Sequence, 10.0, Some(10)),
                0.0,
                400.0,
            ),
            parity,
            vertex("total", sum(KeyExpr::Column), 800.0, 100.0),
            out,
        ],
        edges: vec![
            edge("rows", "total", Partitioning::Hash),
            edge("all", "parity", Partitioning::Hash),
            edge("numbers", "parity", Partitioning::Hash),
            edge("ten", "out", Partitioning::Broadcast),
            edge("parity", "out", Partitioning::Forward),
            edge("total", "out", Partitioning::Rebalance),
        ],
        config: config(),
        script: script(),
    }
}

fn config() -> JobConfig {
    JobConfig {
        seed: u64::MAX,
        backend: BackendKind::RocksDb,
        storage: StorageKind::FileSystem {
            inline_threshold_bytes: 1024,
        },
        checkpointing: CheckpointConfig {
            retained: 3,
            max_concurrent: 2,
            timeout_ms: 5000,
            tolerable_failed: 4,
            ..CheckpointConfig::default()
        },
        restart: RestartStrategy::FixedDelay {
            attempts: RestartStrategy::UNLIMITED_ATTEMPTS,
            delay_ms: 250,
        },
        costs: CostModel {
            transfer_us: 1,
            process_us: 2,
            rpc_us: 3,
            snapshot_sync_us: 4,
            snapshot_async_us: 5,
            snapshot_async_us_per_kib: 6,
            restore_us: 7,
        },
        channel_capacity: 32,
        ..JobConfig::default()
    }
}

fn script() -> Vec<ScriptEntry> {
    let crash = Command::Crash {
        uid: "parity".into(),
        subtask: 1,
    };
    let emitted = When::Emitted {
        uid: "numbers".into(),
        records: 5,
    };
    let processed = When::Processed {
        uid: "parity".into(),
        subtask: 1,
        records: 4,
    };
    let restore = |checkpoint| Command::Restore { checkpoint };
    [
        (When::AtMs(400), Command::Checkpoint),
        (emitted, crash),
        (processed, restore(None)),
        (When::AtMs(900), restore(Some(CheckpointId(2)))),
        (When::AtMs(1000), Command::Stop),
    ]
    .map(|(when, command)| ScriptEntry { when, command })
    .into()
}

#[test]
fn a_file_of_format_1_keeps_its_meaning() {
    assert_eq!(runnable(include_str!("v1-everything.ron")), everything());
}

/// What format 1 leaves out is what it was when format 1 was released, whatever the model's defaults are today.
#[test]
fn what_a_file_of_format_1_leaves_out_keeps_its_meaning() {
    let job = runnable(include_str!("v1-silent.ron"));
    let vertices = vec![
        vertex("numbers", source(SourceKind::Sequence, 1.0, None), 0.0, 0.0),
        vertex("sum", sum(modulo(3, &[])), 330.0, 0.0),
    ];
    let config = JobConfig {
        seed: 1,
        backend: BackendKind::Heap,
        storage: StorageKind::FileSystem {
            inline_threshold_bytes: 20_480,
        },
        checkpointing: CheckpointConfig {
            retained: 1,
            max_concurrent: 1,
            timeout_ms: 600_000,
            tolerable_failed: 0,
            ..CheckpointConfig::default()
        },
        restart: RestartStrategy::Manual,
        costs: CostModel {
            transfer_us: 100_000,
            process_us: 10_000,
            rpc_us: 5_000,
            snapshot_sync_us: 15_000,
            snapshot_async_us: 40_000,
            snapshot_async_us_per_kib: 1_000,
            restore_us: 200_000,
        },
        channel_capacity: 10,
        ..JobConfig::default()
    };
    assert_eq!(job.name, "job", "the file’s name");
    assert_eq!(job.note, "");
    assert_eq!(job.vertices, vertices);
    assert_eq!(job.edges, [edge("numbers", "sum", Partitioning::Hash)]);
    assert_eq!(job.config, config);
    assert_eq!(job.script, []);
}

#[test]
fn a_draft_of_format_1_opens_with_its_problems_and_does_not_run() {
    let draft = project::parse(include_str!("v1-draft.ron"), "draft.ron").unwrap();
    assert!(draft.is_draft());
    assert_eq!(draft.job.vertices.len(), 2);
    let error = draft.into_runnable().unwrap_err();
    assert_eq!(
        error.to_string(),
        "draft.ron:6:9: “numbers” leads nowhere: connect its output to a keyed sum or to a sink.\n\
         draft.ron:7:9: “sum” has no input: connect the output of a source or keyed sum to it.\n\
         draft.ron:7:28: “sum” has no key: choose the key column, or the value modulo a number."
    );
}

/// As the window of those days wrote it.
#[test]
fn what_was_written_in_format_1_keeps_its_meaning() {
    assert_eq!(runnable(include_str!("v1-written.ron")), everything());
}
