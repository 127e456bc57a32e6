//! Jobs that begin from another job's savepoint or checkpoint.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lockgate::engine::driver::stepper::Stepper;
use lockgate::engine::driver::{Feeds, Resources, SavepointTarget, StartPoint, fit};
use lockgate::engine::event::{EventKind, JobStatus};
use lockgate::engine::plan::ExecutionGraph;
use lockgate::engine::storage::{
    CheckpointMetadata, CheckpointStorage, FileSystemStorage, MemoryStorage,
};
use lockgate::model::{
    BackendKind, ClaimMode, Command, Decimal, Edge, JobGraph, Key, MapSpec, OperatorSpec,
    Partitioning, SavepointFormat, Uid, Vertex,
};
use lockgate::recording::Recording;
use proptest::prelude::*;

use crate::rig::{Source, expected_sums, sum_job, with_backend};

const SOURCES: [Source; 2] = [
    Source {
        rate_per_s: 50,
        end: 40,
        parallelism: 2,
    },
    Source {
        rate_per_s: 30,
        end: 25,
        parallelism: 1,
    },
];
const MODULUS: u32 = 7;

/// A folder for savepoints.
struct Target(PathBuf);

impl SavepointTarget for Target {
    fn open(&self, name: &str) -> Result<(String, Arc<dyn CheckpointStorage>), String> {
        let folder = self.0.join(name);
        std::fs::create_dir(&folder).unwrap();
        let storage = FileSystemStorage::single(&folder, 0);
        Ok((name.to_owned(), Arc::new(storage)))
    }

    fn drop_empty(&self, _name: &str) {}
}

/// A savepoint, opened.
struct Snapshot {
    storage: Arc<dyn CheckpointStorage>,
    metadata: CheckpointMetadata,
}

impl Snapshot {
    fn open(path: &Path) -> Self {
        let (storage, metadata) = FileSystemStorage::open_snapshot(path).unwrap();
        let storage = Arc::new(storage);
        Self { storage, metadata }
    }
}

/// A stepped job and its folder of savepoints.
struct Play {
    stepper: Stepper,
    recording: Recording,
    savepoints: tempfile::TempDir,
    storage: Arc<dyn CheckpointStorage>,
    _work: tempfile::TempDir,
}

impl Play {
    fn start(job: &JobGraph, start: Option<StartPoint>) -> Result<Self, String> {
        let (work, savepoints) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (job, plan) = (Arc::new(job.clone()), Arc::new(ExecutionGraph::of(job)));
        let target = Target(savepoints.path().to_owned());
        let storage: Arc<dyn CheckpointStorage> = Arc::new(MemoryStorage::default());
        let resources = Resources {
            feeds: Feeds::new(),
            storage: storage.clone(),
            dir: work.path().to_owned(),
            start,
            savepoints: Some(Arc::new(target)),
        };
        let mut begun = Self {
            stepper: Stepper::new(job.clone(), plan.clone(), resources)?,
            recording: Recording::new(job, plan),
            savepoints,
            storage,
            _work: work,
        };
        begun.record();
        Ok(begun)
    }

    fn record(&mut self) {
        for event in self.stepper.take_log() {
            self.recording.append(event);
        }
    }

    fn step(&mut self) -> bool {
        let stepped = self.stepper.step();
        self.record();
        stepped
    }

    /// After `steps`, take a savepoint. None: the job was at its end.
    fn savepoint(mut self, steps: usize, format: SavepointFormat) -> Option<(Snapshot, Self)> {
        for _ in 0..steps {
            self.step();
        }
        self.stepper.command(&Command::Savepoint { format });
        loop {
            let events = self.recording.events().iter();
            let mut names = events.filter_map(|event| match &event.kind {
                EventKind::SavepointStored { name, .. } => Some(name.clone()),
                _ => None,
            });
            if let Some(name) = names.next() {
                let path = self.savepoints.path().join(name);
                return Some((Snapshot::open(&path), self));
            }
            if !self.step() {
                return None;
            }
        }
    }

    /// After `steps`, take a checkpoint. None: the job was at its end.
    fn checkpoint(mut self, steps: usize) -> Option<(Snapshot, Self)> {
        for _ in 0..steps {
            self.step();
        }
        self.stepper.command(&Command::Checkpoint);
        while self.recording.head().store.is_empty() {
            if !self.step() {
                return None;
            }
        }
        let snapshot = Snapshot {
            metadata: self
                .storage
                .read_metadata(self.recording.head().store[0])
                .unwrap(),
            storage: self.storage.clone(),
        };
        Some((snapshot, self))
    }

    fn played_out(mut self) -> Self {
        for _ in 0..1_000_000 {
            if !self.step() {
                assert_eq!(self.recording.head().job, JobStatus::Finished);
                return self;
            }
        }
        panic!("the job does not end");
    }

    fn sums(&self) -> BTreeMap<Key, Decimal> {
        let ids = self.recording.plan.subtasks_of(&Uid::new("sum"));
        let rows = ids
            .iter()
            .flat_map(|id| &self.recording.head().subtasks[id.index()].rows);
        rows.map(|(key, row)| (key.clone(), row.value)).collect()
    }
}

fn start_point(snapshot: &Snapshot, allow_non_restored_state: bool) -> StartPoint {
    StartPoint {
        storage: snapshot.storage.clone(),
        checkpoint: snapshot.metadata.checkpoint,
        claim: ClaimMode::NoClaim,
        allow_non_restored_state,
    }
}

fn go_on(job: &JobGraph, snapshot: &Snapshot, allow: bool) -> Result<Play, String> {
    let job = fit::adapt(job, &snapshot.metadata)?;
    Play::start(&job, Some(start_point(snapshot, allow)))
}

fn job(backend: BackendKind, parallelism: u32) -> JobGraph {
    with_backend(sum_job(&SOURCES, MODULUS, parallelism), backend)
}

/// A savepoint of `job` in the middle of it.
fn saved(job: &JobGraph, format: SavepointFormat) -> (Snapshot, Play) {
    Play::start(job, None)
        .unwrap()
        .savepoint(100, format)
        .unwrap()
}

fn refusal(job: &JobGraph, snapshot: &Snapshot) -> String {
    match go_on(job, snapshot, false) {
        Ok(_) => panic!("it should be refused"),
        Err(sentence) => sentence,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Law 28 for whole jobs, and law 10 over a change of parallelism and backend: every record counts once.
    ///
    /// Catches splits that two subtasks read or nobody does, a split count that follows the new parallelism, key groups
    /// at the wrong owner, a canonical savepoint that only its own backend reads.
    #[test]
    fn a_job_goes_on_with_another_parallelism_on_another_backend(
        old in 1_u32..5, new in 1_u32..5, steps in 1_usize..250,
        sources in (1_u32..4, 1_u32..4), from in 0..2_usize, to in 0..2_usize, is_native: bool,
    ) {
        let (from, mut to) = (BackendKind::ALL[from], BackendKind::ALL[to]);
        let format = if is_native { SavepointFormat::Native } else { SavepointFormat::Canonical };
        if is_native {
            to = from;
        }
        let first = Play::start(&job(from, old), None).unwrap();
        let saved = first.savepoint(steps, format);
        prop_assume!(saved.is_some());
        let (snapshot, _first) = saved.unwrap();
        let mut changed = job(to, new);
        changed.vertices[0].parallelism = sources.0;
        changed.vertices[1].parallelism = sources.1;
        let play = go_on(&changed, &snapshot, false).unwrap().played_out();
        prop_assert_eq!(play.sums(), expected_sums(&SOURCES, MODULUS));
    }
}

/// Laws 3 and 28 for a whole job: records that barriers have overtaken go on in other subtasks, each once.
///
/// Catches records in flight that are lost, doubled or at a subtask that does not own their key; on its own also an
/// unaligned checkpoint that is taken for an aligned one.
#[test]
fn records_in_flight_move_to_other_subtasks() {
    let mut with_records = 0;
    for steps in (20..140).step_by(24) {
        for (old, new) in [(2, 3), (3, 1), (1, 4), (2, 2)] {
            let unaligned = |parallelism| {
                let mut job = job(BackendKind::Heap, parallelism);
                job.config.checkpointing.unaligned = true;
                job.config.costs.process_us = 60_000;
                job
            };
            let first = Play::start(&unaligned(old), None).unwrap();
            let Some((snapshot, _first)) = first.checkpoint(steps) else {
                continue;
            };
            with_records += usize::from(snapshot.metadata.has_in_flight());
            let mut changed = unaligned(new);
            changed.vertices[0].parallelism = new;
            let play = go_on(&changed, &snapshot, false).unwrap().played_out();
            assert_eq!(play.sums(), expected_sums(&SOURCES, MODULUS));
        }
    }
    assert!(with_records > 5, "{with_records}");
}

/// Only a canonical savepoint changes backends. Catches a restore that starts empty.
#[test]
fn a_native_savepoint_stays_with_its_backend() {
    for (from, to) in [
        (BackendKind::Heap, BackendKind::RocksDb),
        (BackendKind::RocksDb, BackendKind::Heap),
    ] {
        let (snapshot, _play) = saved(&job(from, 2), SavepointFormat::Native);
        let sentence = refusal(&job(to, 2), &snapshot);
        assert!(
            sentence.contains("Unexpected state handle type"),
            "{sentence}"
        );
        assert!(sentence.contains("native format"), "{sentence}");
        assert!(sentence.contains("canonical"), "{sentence}");
    }
}

/// source … → double → sum: an operator more than [`job`] has.
fn with_map(mut job: JobGraph, uid: &str, has_explicit_uid: bool) -> JobGraph {
    let map = OperatorSpec::Map(MapSpec { factor: 1 });
    job.vertices.push(Vertex {
        has_explicit_uid,
        ..Vertex::new(Uid::new(uid), map)
    });
    job.edges[0].to = Uid::new(uid);
    job.edges[0].partitioning = Partitioning::Rebalance;
    job.edges.push(Edge {
        from: Uid::new(uid),
        to: Uid::new("sum"),
        partitioning: Partitioning::Hash,
    });
    job
}

/// Catches matching by place in the graph, and a new operator that is refused.
#[test]
fn an_operator_with_a_uid_is_found_in_a_changed_graph() {
    let (snapshot, _play) = saved(&job(BackendKind::Heap, 2), SavepointFormat::Canonical);
    let mut changed = with_map(job(BackendKind::Heap, 2), "new", false);
    changed.vertices.reverse();
    let play = go_on(&changed, &snapshot, false).unwrap().played_out();
    assert_eq!(play.sums(), expected_sums(&SOURCES, MODULUS));
}

/// Catches state that is lost without a word; and a word that is said where nothing is lost.
#[test]
fn state_without_operator_is_refused_unless_allowed() {
    let mut job = job(BackendKind::Heap, 2);
    let (snapshot, _play) = saved(&job, SavepointFormat::Canonical);
    let sum = snapshot.metadata.operators[2].id;
    job.vertices[2].uid = Uid::new("total");
    for edge in &mut job.edges {
        if edge.to == Uid::new("sum") {
            edge.to = Uid::new("total");
        } else {
            edge.from = Uid::new("total");
        }
    }
    let sentence = refusal(&job, &snapshot);
    assert!(
        sentence.contains("no operator for that state"),
        "{sentence}"
    );
    assert!(sentence.contains(&sum.to_string()), "{sentence}");
    assert!(
        sentence.contains("Give an operator the uid sum"),
        "{sentence}"
    );
    assert!(go_on(&job, &snapshot, true).is_ok());

    // The sink has no state: that it is another one now is nobody's loss.
    let mut other_sink = self::job(BackendKind::Heap, 2);
    other_sink.vertices[3].uid = Uid::new("elsewhere");
    other_sink.edges[2].to = Uid::new("elsewhere");
    assert!(go_on(&other_sink, &snapshot, false).is_ok());
}

/// A generated id follows the graph. Catches ids that are made of hidden names; the uid that a file gives an operator is
/// not one that a person has given.
#[test]
fn without_uids_a_changed_graph_loses_its_state() {
    let without_uids = |mut job: JobGraph| {
        for vertex in &mut job.vertices {
            vertex.has_explicit_uid = false;
        }
        job
    };
    let same = without_uids(job(BackendKind::Heap, 2));
    let (snapshot, _play) = saved(&same, SavepointFormat::Canonical);
    let play = go_on(&same, &snapshot, false).unwrap().played_out();
    assert_eq!(play.sums(), expected_sums(&SOURCES, MODULUS));
    let changed = without_uids(with_map(job(BackendKind::Heap, 2), "new", false));
    let sentence = refusal(&changed, &snapshot);
    assert!(sentence.contains("generated from the graph"), "{sentence}");
    assert!(go_on(&changed, &snapshot, true).is_ok());
}

/// §4: set explicitly it cannot change; by default it is the snapshot's; it bounds the parallelism.
#[test]
fn the_max_parallelism_stays() {
    let (snapshot, _play) = saved(&job(BackendKind::Heap, 2), SavepointFormat::Canonical);
    let mut changed = job(BackendKind::Heap, 2);
    changed.vertices[2].max_parallelism = Some(24);
    let sentence = refusal(&changed, &snapshot);
    assert!(sentence.contains("max parallelism 12 of sum"), "{sentence}");
    changed.vertices[2].max_parallelism = None;
    let adapted = fit::adapt(&changed, &snapshot.metadata).unwrap();
    assert_eq!(adapted.vertices[2].max_parallelism, Some(12));
    let play = go_on(&changed, &snapshot, false).unwrap().played_out();
    assert_eq!(play.sums(), expected_sums(&SOURCES, MODULUS));
    changed.vertices[2].parallelism = 13;
    let sentence = refusal(&changed, &snapshot);
    assert!(sentence.contains("at most 12"), "{sentence}");

    // A plan that was made of the job as it is says so, too.
    changed.vertices[2].parallelism = 2;
    let unadapted = Play::start(&changed, Some(start_point(&snapshot, false)));
    assert!(unadapted.err().unwrap().contains("max parallelism"));
}

/// A source keeps its splits, however many subtasks read them. Catches a count that is taken from the splits that are
/// left: those that had finished are not in the snapshot.
#[test]
fn a_source_keeps_its_number_of_splits() {
    let (snapshot, _play) = saved(&job(BackendKind::Heap, 2), SavepointFormat::Canonical);
    let mut changed = job(BackendKind::Heap, 2);
    changed.vertices[0].parallelism = 3;
    let adapted = fit::adapt(&changed, &snapshot.metadata).unwrap();
    let OperatorSpec::Source(spec) = &adapted.vertices[0].operator else {
        panic!("a source");
    };
    assert_eq!(spec.splits, Some(2));
}

fn check(job: &JobGraph, metadata: &CheckpointMetadata) -> Result<(), String> {
    let plan = ExecutionGraph::of(&fit::adapt(job, metadata)?);
    fit::check(&plan, job.config.backend, metadata, false)
}

/// The same snapshot, as if its barriers had overtaken a record before the sum.
fn unaligned(snapshot: &Snapshot) -> CheckpointMetadata {
    use lockgate::engine::event::ChannelSide;
    use lockgate::engine::storage::{ChannelState, StreamHandle};
    let mut metadata = snapshot.metadata.clone();
    metadata.operators[2].subtasks[0].channels = vec![ChannelState {
        side: ChannelSide::Input,
        place: 0,
        stream: StreamHandle::Inline([].into()),
    }];
    metadata
}

/// Catches records in flight that are dropped, or read into other channels than they were in.
#[test]
fn records_in_flight_go_on_in_their_own_edges_only() {
    let (snapshot, _play) = saved(&job(BackendKind::Heap, 2), SavepointFormat::Canonical);
    let metadata = unaligned(&snapshot);
    assert!(metadata.has_in_flight());
    check(&job(BackendKind::Heap, 3), &metadata).unwrap();
    let sentence = check(&with_map(job(BackendKind::Heap, 2), "new", true), &metadata).unwrap_err();
    assert!(
        sentence.contains("Cannot recover from unaligned checkpoint when topology changes"),
        "{sentence}"
    );
    let mut pointwise = job(BackendKind::Heap, 2);
    pointwise.edges[2].partitioning = Partitioning::Forward;
    let sentence = check(&pointwise, &metadata).unwrap_err();
    assert!(
        sentence.contains("Cannot rescale the given pointwise partitioner"),
        "{sentence}"
    );
    let mut other = job(BackendKind::Heap, 2);
    other.edges[2].partitioning = Partitioning::Hash;
    let sentence = check(&other, &metadata).unwrap_err();
    assert!(sentence.contains("hash now"), "{sentence}");
    // Without records in flight, all are fine.
    check(&pointwise, &snapshot.metadata).unwrap();
    check(&other, &snapshot.metadata).unwrap();
}

/// Catches an operator that is not run although its input is not at its end.
#[test]
fn what_had_finished_does_not_come_after_what_had_not() {
    let (snapshot, _play) = saved(&job(BackendKind::Heap, 2), SavepointFormat::Canonical);
    let mut metadata = snapshot.metadata.clone();
    for subtask in &mut metadata.operators[2].subtasks {
        subtask.finished = true;
    }
    let sentence = check(&job(BackendKind::Heap, 2), &metadata).unwrap_err();
    assert!(
        sentence.contains("Illegal JobGraph modification"),
        "{sentence}"
    );
}

/// A snapshot that the run was started from and has released is not the run's to go back to: its own checkpoints have taken
/// its place, and the next failure would go back to those. Breaks if the snapshot can be restored without being in the store.
#[test]
fn a_released_start_is_not_restored() {
    let job = job(BackendKind::Heap, 2);
    let (snapshot, _first) = saved(&job, SavepointFormat::Canonical);
    let id = snapshot.metadata.checkpoint;
    let mut play = go_on(&job, &snapshot, false).unwrap();
    let restore = Command::Restore {
        checkpoint: Some(id),
    };
    let is_refused = |play: &Play| {
        let last = play.recording.events().last().unwrap();
        matches!(last.kind, EventKind::CommandRefused { .. })
    };
    play.stepper.command(&restore);
    play.record();
    assert!(!is_refused(&play), "it is the run's first checkpoint");
    play.stepper.command(&Command::Checkpoint);
    while play.recording.head().store == [id] {
        assert!(play.step(), "no checkpoint came about");
        if play.recording.head().job == JobStatus::Running
            && play.recording.head().checkpoints.is_empty()
        {
            play.stepper.command(&Command::Checkpoint);
            play.record();
        }
    }
    assert!(!play.recording.head().store.contains(&id));
    play.stepper.command(&restore);
    play.record();
    assert!(is_refused(&play));
    assert_eq!(play.played_out().sums(), expected_sums(&SOURCES, MODULUS));
}
