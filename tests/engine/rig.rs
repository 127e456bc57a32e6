//! A small world for tests: jobs made in code, and a stepper whose storage can be looked into.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use lockgate::engine::driver::stepper::Stepper;
use lockgate::engine::driver::{Feeds, Resources, SavepointTarget};
use lockgate::engine::plan::ExecutionGraph;
use lockgate::engine::storage::{CheckpointStorage, MemoryStorage};
use lockgate::model::{
    BackendKind, Command, Decimal, Edge, JobGraph, Key, KeyExpr, KeyedSumSpec, MapSpec,
    OperatorSpec, Partitioning, Position, SinkKind, SinkSpec, SourceKind, SourceSpec, SubtaskId,
    Uid, Vertex, VertexCosts, validate,
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
        OperatorSpec::KeyedSum(KeyedSumSpec { key, ttl: None }),
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

/// `s` → `map` → `out`, all forward: as many lanes as the parallelism, with nothing between them.
pub fn lanes_job(source: Source, parallelism: u32) -> JobGraph {
    let spec = SourceSpec::new(
        SourceKind::Sequence,
        f64::from(source.rate_per_s),
        Some(source.end),
    );
    let operators = [
        ("s", OperatorSpec::Source(spec)),
        ("map", OperatorSpec::Map(MapSpec::default())),
        ("out", OperatorSpec::Sink(SinkSpec::default())),
    ];
    let mut job = JobGraph {
        name: "lanes".to_owned(),
        ..JobGraph::default()
    };
    for (uid, operator) in operators {
        job.vertices.push(vertex(uid, parallelism, operator));
    }
    job.edges.push(edge("s", "map", Partitioning::Forward));
    job.edges.push(edge("map", "out", Partitioning::Forward));
    assert_eq!(validate(&job), [], "a test's job must be valid");
    job
}

/// Savepoints that lie in memory, by name.
#[derive(Default)]
pub struct MemorySavepoints(Mutex<BTreeMap<String, Arc<MemoryStorage>>>);

impl MemorySavepoints {
    pub fn names(&self) -> Vec<String> {
        self.0.lock().unwrap().keys().cloned().collect()
    }

    pub fn get(&self, name: &str) -> Arc<MemoryStorage> {
        self.0.lock().unwrap()[name].clone()
    }
}

impl SavepointTarget for MemorySavepoints {
    fn open(&self, name: &str) -> Result<(String, Arc<dyn CheckpointStorage>), String> {
        let storage = Arc::new(MemoryStorage::default());
        let mut places = self.0.lock().unwrap();
        assert!(places.insert(name.to_owned(), storage.clone()).is_none());
        Ok((name.to_owned(), storage))
    }
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
        Self::with_resources(job, |resources| resources.storage = storage)
    }

    /// `edit`: what is other than usual in the world around the job.
    pub fn with_resources(job: &JobGraph, edit: impl FnOnce(&mut Resources)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (job, plan) = (Arc::new(job.clone()), Arc::new(ExecutionGraph::of(job)));
        let mut resources = Resources {
            feeds: Feeds::new(),
            storage: Arc::new(MemoryStorage::default()),
            dir: dir.path().to_owned(),
            start: None,
            savepoints: None,
        };
        edit(&mut resources);
        let storage = resources.storage.clone();
        let mut rig = Self {
            stepper: Stepper::new(job.clone(), plan.clone(), resources).unwrap(),
            recording: Recording::new(job, plan),
            storage,
            dir,
        };
        rig.record();
        rig
    }

    /// Fails the test if what has happened has left the engine in a state that cannot be.
    pub fn record(&mut self) {
        assert_eq!(self.stepper.broken_invariant(), None);
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

/// Let sink `out` of a [`sum_job`] be of this kind, with so many subtasks.
pub fn set_sink(job: &mut JobGraph, kind: SinkKind, parallelism: u32) {
    let is_out = |vertex: &&mut Vertex| vertex.uid.as_str() == "out";
    let out = job.vertices.iter_mut().find(is_out).unwrap();
    out.operator = OperatorSpec::Sink(SinkSpec { kind });
    out.parallelism = parallelism;
}

pub fn transactional(transaction_timeout_ms: u64) -> SinkKind {
    SinkKind::TwoPhaseCommit {
        transaction_timeout_ms,
        ignore_failures_after_timeout: false,
    }
}
