//! What the seam between the state machines and their drivers costs per record, and what a live job reaches with it.
//!
//! The first three measure the same work (find the key, add to its sum, hand the result on) with ever more of the
//! engine around it: what they differ by is the engine's own cost.

#![allow(clippy::unwrap_used, reason = "a benchmark may end where it stands")]

use std::hint::black_box;
use std::sync::Arc;

use divan::Bencher;
use divan::counter::ItemsCount;
use lockgate::engine::driver::live::{self, LiveOptions};
use lockgate::engine::driver::{Feeds, Resources};
use lockgate::engine::event::TransactionEnd;
use lockgate::engine::operator::{External, KeyedSum, Operator, TransactionError};
use lockgate::engine::plan::ExecutionGraph;
use lockgate::engine::state::KeyedBackend;
use lockgate::engine::storage::MemoryStorage;
use lockgate::engine::subtask::{Effects, SnapshotTask, Subtask, TaskMessage};
use lockgate::model::{
    BackendKind, ChannelId, CheckpointId, Decimal, Edge, JobGraph, Key, KeyExpr, KeyedSumSpec,
    OperatorSpec, Origin, Partitioning, Position, Record, SinkSpec, SourceKind, SourceSpec,
    SplitId, StreamEvent, SubtaskId, TransactionId, Uid, Vertex, VertexCosts,
};

fn main() {
    divan::main();
}

const BUFFER: usize = 256;
const KEYS: u32 = 1000;
const BACKENDS: [BackendKind; 2] = BackendKind::ALL;

fn key() -> KeyExpr {
    KeyExpr::Modulo {
        modulus: KEYS,
        labels: Vec::new(),
    }
}

fn buffer() -> Vec<Record> {
    let record = |offset: u64| Record {
        key: None,
        value: Decimal::from(offset),
        origin: Origin {
            split: SplitId(0),
            offset,
        },
        event_time: lockgate::model::EventTime::NONE,
    };
    (1..=BUFFER as u64).map(record).collect()
}

/// source → sum → sink, one subtask each, with `records` records.
fn job(backend: BackendKind, records: u64) -> JobGraph {
    let vertex = |uid: &str, operator| Vertex {
        has_explicit_uid: true,
        costs: VertexCosts::default(),
        uid: Uid::new(uid),
        name: uid.to_owned(),
        parallelism: 1,
        max_parallelism: None,
        position: Position::default(),
        operator,
    };
    let edge = |from: &str, to: &str, partitioning| Edge {
        from: Uid::new(from),
        to: Uid::new(to),
        partitioning,
    };
    let source = SourceSpec::new(SourceKind::Sequence, 1e6, Some(records));
    let mut job = JobGraph {
        vertices: vec![
            vertex("source", OperatorSpec::Source(source)),
            vertex(
                "sum",
                OperatorSpec::KeyedSum(KeyedSumSpec {
                    key: Some(key()),
                    ttl: None,
                }),
            ),
            vertex("sink", OperatorSpec::Sink(SinkSpec::default())),
        ],
        edges: vec![
            edge("source", "sum", Partitioning::Hash),
            edge("sum", "sink", Partitioning::Forward),
        ],
        ..JobGraph::default()
    };
    job.config.backend = backend;
    job
}

/// A keyed sum outside any job, with its folder.
fn keyed_sum(backend: BackendKind) -> (KeyedSum, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let state = KeyedBackend::open(backend, &dir.path().join("db"), 128, 0..=127).unwrap();
    (KeyedSum { key: key(), state }, dir)
}

/// Takes what a subtask sends and throws full buffers away.
#[derive(Default)]
struct Void {
    buffer: Vec<Record>,
}

/// What comes out is gone.
impl External for Void {
    fn let_out(&mut self, _record: Record) {}
    fn overwrite(&mut self, _key: Key, _record: Record) {}

    fn begin_transaction(&mut self) -> TransactionId {
        TransactionId {
            subtask: SubtaskId(0),
            number: 1,
        }
    }

    fn write(&mut self, _id: TransactionId, _record: Record) -> Result<(), TransactionError> {
        Ok(())
    }

    fn pre_commit(&mut self, _: TransactionId, _: CheckpointId) -> Result<(), TransactionError> {
        Ok(())
    }

    fn commit(&mut self, _id: TransactionId) -> Result<(), TransactionError> {
        Ok(())
    }

    fn abort_transaction(&mut self, _id: TransactionId, _why: TransactionEnd) {}
}

impl Effects for Void {
    fn send_record(&mut self, _channel: ChannelId, record: Record) {
        self.buffer.push(record);
        if self.buffer.len() >= BUFFER {
            black_box(&self.buffer);
            self.buffer.clear();
        }
    }

    fn send_event(&mut self, _channel: ChannelId, _event: StreamEvent) {}
    fn block(&mut self, _channel: ChannelId, _checkpoint: CheckpointId) {}
    fn unblock(&mut self, _channel: ChannelId) {}
    fn start_snapshot(&mut self, _snapshot: SnapshotTask, _operator: &Operator) {}
    fn processing_time_ms(&self) -> u64 {
        0
    }
    fn tell(&mut self, _message: TaskMessage) {}
}

/// The state backend alone.
#[divan::bench(args = BACKENDS)]
fn a_backend_alone(bencher: Bencher, backend: BackendKind) {
    let (mut sum, _dir) = keyed_sum(backend);
    let records = buffer();
    let keys: Vec<_> = records
        .iter()
        .map(|record| sum.key.key_of(record).unwrap())
        .collect();
    bencher.counter(ItemsCount::new(BUFFER)).bench_local(|| {
        for (key, record) in keys.iter().zip(&records) {
            black_box(sum.state.add(key, record.value).unwrap());
        }
    });
}

/// The operator alone: key, sum, resulting record.
#[divan::bench(args = BACKENDS)]
fn b_operator_alone(bencher: Bencher, backend: BackendKind) {
    let (mut sum, _dir) = keyed_sum(backend);
    let records = buffer();
    bencher.counter(ItemsCount::new(BUFFER)).bench_local(|| {
        for record in &records {
            black_box(sum.count(record).unwrap());
        }
    });
}

/// The operator in its subtask, through the seam and the router into a buffer.
#[divan::bench(args = BACKENDS)]
fn c_through_the_seam(bencher: Bencher, backend: BackendKind) {
    let graph = ExecutionGraph::of(&job(backend, 0));
    let (sum, _dir) = keyed_sum(backend);
    let mut subtask = Subtask::new(&graph.subtasks[1], Operator::KeyedSum(sum), None);
    let mut void = Void::default();
    bencher
        .counter(ItemsCount::new(BUFFER))
        .with_inputs(buffer)
        .bench_local_values(|records| subtask.on_records(0, records, &mut void).unwrap());
}

/// A whole live job at full speed: three threads, two channels, end to end.
#[divan::bench(args = BACKENDS, sample_count = 5, sample_size = 1)]
fn d_live_job(bencher: Bencher, backend: BackendKind) {
    let records = 400_000;
    let job = Arc::new(job(backend, records));
    let plan = Arc::new(ExecutionGraph::of(&job));
    bencher
        .counter(ItemsCount::new(usize::try_from(records).unwrap()))
        .with_inputs(|| tempfile::tempdir().unwrap())
        .bench_local_values(|dir| {
            let resources = Resources {
                feeds: Feeds::new(),
                storage: Arc::new(MemoryStorage::default()),
                dir: dir.path().to_owned(),
                start: None,
                savepoints: None,
            };
            let options = LiveOptions {
                is_unpaced: true,
                ..LiveOptions::default()
            };
            live::run(&job, &plan, resources, options).unwrap()
        });
}
