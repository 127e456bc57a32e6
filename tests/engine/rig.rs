//! A small world for tests: jobs made in code, and a stepper whose storage can be looked into.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate::engine::driver::stepper::Stepper;
use lockgate::engine::driver::{Feeds, Resources};
use lockgate::engine::plan::ExecutionGraph;
use lockgate::engine::storage::{CheckpointStorage, MemoryStorage};
use lockgate::model::{
    BackendKind, Command, Decimal, Edge, JobGraph, Key, KeyExpr, KeyedSumSpec, OperatorSpec,
    Partitioning, Position, SinkSpec, SourceKind, SourceSpec, SubtaskId, Uid, Vertex, VertexCosts,
    validate,
};
use lockgate::recording::{Recording, View};

/// A bounded sequence source.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    pub rate_per_s: u32,
    pub end: u64,
    pub parallelism: u32,
}

impl Source {
    pub fn new(rate_per_s: u32, end: u64) -> Self {
        Self {
            rate_per_s,
            end,
            parallelism: 1,
        }
    }
}

fn vertex(uid: &str, parallelism: u32, operator: OperatorSpec) -> Vertex {
    Vertex {
        has_explicit_uid: true,
        costs: VertexCosts::default(),
        uid: Uid::new(uid),
        name: uid.to_owned(),
        parallelism,
        max_parallelism: None,
        position: Position::default(),
        operator,
    }
}

fn edge(from: &str, to: &str, partitioning: Partitioning) -> Edge {
    Edge {
        from: Uid::new(from),
        to: Uid::new(to),
        partitioning,
    }
}

/// Sources `s0`, `s1` … → `sum` (by value modulo `modulus`) → `out`.
pub fn sum_job(sources: &[Source], modulus: u32, parallelism: u32) -> JobGraph {
    let mut job = JobGraph {
        name: "test".to_owned(),
        ..JobGraph::default()
    };
    for (index, source) in sources.iter().enumerate() {
        let uid = format!("s{index}");
        let spec = SourceSpec::new(
            SourceKind::Sequence,
            f64::from(source.rate_per_s),
            Some(source.end),
        );
        job.vertices
            .push(vertex(&uid, source.parallelism, OperatorSpec::Source(spec)));
        job.edges.push(edge(&uid, "sum", Partitioning::Hash));
    }
    let labels = vec![];
    let key = Some(KeyExpr::Modulo { modulus, labels });
    let mut sum = vertex(
        "sum",
        parallelism,
        OperatorSpec::KeyedSum(KeyedSumSpec { key }),
    );
    sum.max_parallelism = Some(12);
    job.vertices.push(sum);
    job.vertices
        .push(vertex("out", 1, OperatorSpec::Sink(SinkSpec::default())));
    job.edges.push(edge("sum", "out", Partitioning::Rebalance));
    assert_eq!(validate(&job), [], "a test's job must be valid");
    job
}

/// The sums that these sources come to, computed without the engine.
pub fn expected_sums(sources: &[Source], modulus: u32) -> BTreeMap<Key, Decimal> {
    let mut sums = BTreeMap::new();
    for value in sources.iter().flat_map(|source| 1..=source.end) {
        let key = Key::int(i32::try_from(value % u64::from(modulus)).unwrap());
        *sums.entry(key).or_insert(Decimal::ZERO) += Decimal::from(value);
    }
    sums
}

/// A stepped job with its recording.
pub struct Rig {
    pub stepper: Stepper,
    pub recording: Recording,
    pub storage: Arc<dyn CheckpointStorage>,
    /// Where working state lies.
    pub dir: tempfile::TempDir,
}

impl Rig {
    pub fn new(job: &JobGraph) -> Self {
        Self::with_storage(job, Arc::new(MemoryStorage::default()))
    }

    pub fn with_storage(job: &JobGraph, storage: Arc<dyn CheckpointStorage>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (job, plan) = (Arc::new(job.clone()), Arc::new(ExecutionGraph::of(job)));
        let resources = Resources {
            feeds: Feeds::new(),
            storage: storage.clone(),
            dir: dir.path().to_owned(),
            start: None,
            savepoints: None,
        };
        let mut rig = Self {
            stepper: Stepper::new(job.clone(), plan.clone(), resources).unwrap(),
            recording: Recording::new(job, plan),
            storage,
            dir,
        };
        rig.record();
        rig
    }

    pub fn record(&mut self) {
        for event in self.stepper.take_log() {
            self.recording.append(event);
        }
    }

    pub fn step(&mut self) -> bool {
        let stepped = self.stepper.step();
        self.record();
        stepped
    }

    pub fn command(&mut self, command: &Command) {
        self.stepper.command(command);
        self.record();
    }

    pub fn checkpoint(&mut self) {
        self.command(&Command::Checkpoint);
    }

    pub fn crash(&mut self, uid: &str, subtask: u32) {
        let uid = Uid::new(uid);
        self.command(&Command::Crash { uid, subtask });
    }

    pub fn restore(&mut self) {
        self.command(&Command::Restore { checkpoint: None });
    }

    /// Step until `done`; a job that ends before fails the test.
    pub fn run_until(&mut self, done: impl Fn(&View) -> bool) {
        while !done(self.view()) {
            assert!(self.step(), "the job ended before what the test waits for");
        }
    }

    /// Step until nothing more can happen; a bound keeps a stuck engine from hanging the test.
    pub fn run_to_end(&mut self) {
        for _ in 0..1_000_000 {
            if !self.step() {
                return;
            }
        }
        panic!("the job does not end");
    }

    pub fn view(&self) -> &View {
        self.recording.head()
    }

    pub fn subtasks(&self, uid: &str) -> Vec<SubtaskId> {
        self.recording.plan.subtasks_of(&Uid::new(uid))
    }

    /// The keyed state of `uid`, all subtasks together, as folded from the log.
    pub fn sums(&self, uid: &str) -> BTreeMap<Key, Decimal> {
        let ids = self.subtasks(uid);
        let rows = ids
            .iter()
            .flat_map(|id| &self.view().subtasks[id.index()].rows);
        rows.map(|(key, row)| (key.clone(), row.value)).collect()
    }
}

pub fn with_backend(mut job: JobGraph, backend: BackendKind) -> JobGraph {
    job.config.backend = backend;
    job
}
