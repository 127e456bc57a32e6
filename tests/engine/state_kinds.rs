//! Keyed functions, rules and buffers in whole jobs: what the samples promise, what a restore refuses, and how operator list
//! state goes to other subtasks.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate::engine::driver::live::LiveOptions;
use lockgate::engine::driver::stepper::Stepper;
use lockgate::engine::driver::{Feeds, Resources, StartPoint, fit};
use lockgate::engine::event::{EventKind, JobStatus};
use lockgate::engine::plan::ExecutionGraph;
use lockgate::engine::state::inspect;
use lockgate::engine::storage::{CheckpointMetadata, CheckpointStorage, MemoryStorage};
use lockgate::model::{
    BackendKind, CheckpointId, ClaimMode, Command, Decimal, Edge, EntryValue, JobGraph, Key,
    KeyExpr, KeyedFunction, KeyedProcessSpec, KeyedSumSpec, OperatorSpec, Partitioning, Record,
    SavepointFormat, SinkKind, SinkSpec, SourceKind, SourcePause, SourceSpec, StateEntry, TtlSpec,
    Uid, Vertex, WindowAggregate, WindowSpec, validate,
};
use lockgate::recording::view::CheckpointStatus;
use lockgate::run::Run;
use proptest::prelude::*;

use crate::drivers::run_live_from;
use crate::rig::{MemorySavepoints, Rig};
use crate::samples::play_with;

fn source(uid: &str, rate_per_s: f64, end: u64) -> Vertex {
    let spec = SourceSpec::new(SourceKind::Sequence, rate_per_s, Some(end));
    Vertex::new(Uid::new(uid), OperatorSpec::Source(spec))
}

fn edge(from: &str, to: &str, partitioning: Partitioning) -> Edge {
    Edge {
        from: Uid::new(from),
        to: Uid::new(to),
        partitioning,
    }
}

/// `s0` and `s1` → `function` (by value modulo 3, two subtasks) → `filter` (two), with the rules of `rules` → `out`, which
/// gathers three records.
pub fn states_job(function: KeyedFunction, ttl: Option<TtlSpec>) -> JobGraph {
    let key = KeyExpr::Modulo {
        modulus: 3,
        labels: Vec::new(),
    };
    let spec = KeyedProcessSpec {
        key: Some(key),
        function,
        ttl,
    };
    let mut keyed = Vertex::new(Uid::new("function"), OperatorSpec::KeyedProcess(spec));
    keyed.parallelism = 2;
    keyed.max_parallelism = Some(12);
    let mut filter = Vertex::new(Uid::new("filter"), OperatorSpec::RuleFilter);
    filter.parallelism = 2;
    let kind = SinkKind::Buffering { threshold: 3 };
    let out = Vertex::new(Uid::new("out"), OperatorSpec::Sink(SinkSpec { kind }));
    let job = JobGraph {
        name: "states".to_owned(),
        vertices: vec![
            source("s0", 60.0, 40),
            source("s1", 25.0, 16),
            source("rules", 8.0, 5),
            keyed,
            filter,
            out,
        ],
        edges: vec![
            edge("s0", "function", Partitioning::Hash),
            edge("s1", "function", Partitioning::Hash),
            edge("function", "filter", Partitioning::Rebalance),
            edge("rules", "filter", Partitioning::Broadcast),
            edge("filter", "out", Partitioning::Rebalance),
        ],
        ..JobGraph::default()
    };
    assert_eq!(validate(&job), []);
    job
}

fn number(value: i64) -> Decimal {
    value.into()
}

/// What the sinks of a run have let out, as key and value.
fn outputs(run: &Run) -> Vec<(String, Decimal)> {
    let outputs = run.recording().outputs(run.view());
    let pair = |record: &Record| {
        let key = record.key.as_ref().map(ToString::to_string);
        (key.unwrap_or_default(), record.value)
    };
    outputs.map(|(_, record)| pair(record)).collect()
}

/// All entries of a run, by key.
fn entries(run: &Run) -> BTreeMap<String, Vec<StateEntry>> {
    let rows = run
        .view()
        .subtasks
        .iter()
        .flat_map(|subtask| &subtask.entries);
    rows.map(|(key, row)| (key.to_string(), row.entries.clone()))
        .collect()
}

/// The classic example, through a crash. Breaks if the state is not cleared when the average goes on, if division is not
/// that of whole numbers, or if a restored count begins again.
#[test]
fn five_pairs_give_two_averages_and_leave_a_count_and_a_sum() {
    for backend in BackendKind::ALL {
        let run = play_with("count-average.ron", backend, |_| ());
        assert_eq!(run.view().job, JobStatus::Finished);
        let captured = &run.view().checkpoints[&CheckpointId(1)];
        assert_eq!(captured.status, CheckpointStatus::Completed);
        let held: Vec<EntryValue> = captured
            .subtasks
            .values()
            .flat_map(|snapshot| snapshot.entries.values().flatten())
            .map(|entry| entry.value)
            .collect();
        let average = |count, sum| EntryValue::Average {
            count,
            sum: number(sum),
        };
        assert_eq!(held, [average(1, 7)]);
        let averages = outputs(&run);
        let pair = |value| ("1".to_owned(), number(value));
        assert_eq!(averages, [pair(4), pair(6)]);
        let left = entries(&run);
        assert_eq!(left["1"][0].value, average(1, 2));
        assert_eq!((left.len(), left["1"].len()), (1, 1));
    }
}

/// Breaks if an entry lives longer or shorter than its time, if another's use renews it, or if a restore does.
#[test]
fn distinct_values_are_counted_for_as_long_as_they_live() {
    for backend in BackendKind::ALL {
        let run = play_with("distinct-ttl.ron", backend, |_| ());
        assert_eq!(run.view().job, JobStatus::Finished);
        let ttl = TtlSpec::new(1_000);
        // Ten a second, every second one of a key: what is exactly a second old has expired.
        let counts: Vec<Decimal> = outputs(&run).into_iter().map(|(_, count)| count).collect();
        assert_eq!(counts.iter().max(), Some(&number(5)));
        let mut restored: Vec<StateEntry> = Vec::new();
        let mut was_down = false;
        for event in run.recording().events() {
            match &event.kind {
                EventKind::JobStatus(JobStatus::Restarting { .. }) => was_down = true,
                EventKind::Restored { entries, .. } if was_down => {
                    restored.extend(entries.iter().flat_map(|(_, entries)| entries.clone()));
                }
                EventKind::EntriesChanged { entries, .. } => {
                    let now_ms = event.at_us / 1000;
                    let newest = entries
                        .iter()
                        .filter_map(|entry| entry.last_access_ms)
                        .max();
                    assert_eq!(newest, Some(now_ms), "what is written lives anew");
                }
                EventKind::EntriesCleaned { .. } => assert_eq!(backend, BackendKind::Heap),
                _ => {}
            }
        }
        let held = &run.view().checkpoints[&CheckpointId(1)];
        let captured = held
            .subtasks
            .values()
            .flat_map(|it| it.entries.values().flatten());
        let captured: Vec<StateEntry> = captured.copied().collect();
        assert!(!captured.is_empty());
        assert_eq!(restored, captured, "a restore renews nothing");
        // It was down for longer than anything lives.
        assert!(
            restored
                .iter()
                .all(|entry| entry.is_expired(Some(ttl), 2_600))
        );
        let after = |at_us: u64| {
            let events = run.recording().events().iter();
            events
                .filter(move |event| event.at_us > at_us)
                .find_map(|event| match &event.kind {
                    EventKind::Collected { record, .. } => Some(record.value),
                    _ => None,
                })
        };
        assert_eq!(
            after(2_600_000),
            Some(number(1)),
            "time went on while it was down"
        );
    }
}

/// Breaks if a rule reaches only one subtask, is forgotten in a crash, or if a buffer loses a record or lets it out twice.
#[test]
fn rules_are_everywhere_and_a_buffer_comes_back() {
    for backend in BackendKind::ALL {
        let run = play_with("broadcast-rules.ron", backend, |_| ());
        assert_eq!(run.view().job, JobStatus::Finished);
        let least: BTreeMap<&str, Decimal> = [("rain", number(10)), ("snow", number(5))].into();
        let filters = run.recording().plan.subtasks_of(&Uid::new("filter"));
        for id in filters {
            let rules = run.view().subtasks[id.index()].rules.values();
            let rules: BTreeMap<String, Decimal> = rules
                .map(|rule| (rule.key.as_ref().unwrap().to_string(), rule.value))
                .collect();
            assert_eq!(
                rules,
                least.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect()
            );
            let captured = &run.view().checkpoints[&CheckpointId(1)].subtasks[&id];
            assert_eq!(captured.listed.len(), 2, "each subtask writes its copy");
        }
        let sink = run.recording().plan.subtasks_of(&Uid::new("out"))[0];
        let sink = &run.view().subtasks[sink.index()];
        assert_eq!(sink.collected % 5, 0, "they come out by fives");
        assert!(sink.sink.buffer.len() < 5);
        let late = outputs(&run);
        let late = late.iter().skip(10);
        for (kind, amount) in late {
            let least = least.get(kind.as_str()).copied().unwrap_or_default();
            assert!(*amount >= least, "{kind} {amount} is against the rules");
        }
    }
}

/// A savepoint of a run of `job` at `at_us`, and where it lies.
pub fn savepoint(job: &JobGraph, at_us: u64, format: SavepointFormat) -> (Rig, StartPoint) {
    let places = Arc::new(MemorySavepoints::default());
    let mut rig = Rig::with_resources(job, |resources| {
        resources.savepoints = Some(places.clone());
    });
    rig.run_until(|view| view.at_us >= at_us);
    rig.command(&Command::Savepoint { format });
    rig.run_until(|view| !view.savepoints.is_empty());
    let (checkpoint, name) = rig.view().savepoints[0].clone();
    let start = StartPoint {
        storage: places.get(&name),
        checkpoint,
        claim: ClaimMode::NoClaim,
        allow_non_restored_state: false,
    };
    (rig, start)
}

fn begin(job: &JobGraph, start: &StartPoint) -> Result<Stepper, String> {
    let metadata = start.storage.read_metadata(start.checkpoint).unwrap();
    let job = Arc::new(fit::adapt(job, &metadata)?);
    let plan = Arc::new(ExecutionGraph::of(&job));
    let dir = tempfile::tempdir().unwrap();
    let resources = Resources {
        feeds: Feeds::new(),
        storage: Arc::new(MemoryStorage::default()),
        dir: dir.path().to_owned(),
        start: Some(start.clone()),
        savepoints: None,
    };
    Stepper::new(job, plan, resources)
}

fn change(job: &JobGraph, uid: &str, edit: impl FnOnce(&mut Vertex)) -> JobGraph {
    let mut job = job.clone();
    let mut vertices = job.vertices.iter_mut();
    edit(vertices.find(|vertex| vertex.uid.as_str() == uid).unwrap());
    job
}

/// What each subtask of `uid` begins with, of its operator list state.
fn begun_with(stepper: &Stepper, job: &JobGraph, uid: &str) -> Vec<Vec<Record>> {
    let of = |id| {
        let mut log = stepper.log().iter();
        log.find_map(|event| match &event.kind {
            EventKind::Restored {
                subtask, listed, ..
            } if *subtask == id => Some(listed.clone()),
            _ => None,
        })
    };
    let ids = ExecutionGraph::of(job).subtasks_of(&Uid::new(uid));
    ids.into_iter().map(|id| of(id).unwrap()).collect()
}

fn with_ttl(job: &JobGraph, ttl: Option<TtlSpec>) -> JobGraph {
    change(job, "function", |vertex| {
        *vertex.operator.ttl_mut().unwrap() = ttl;
    })
}

fn with_operator(job: &JobGraph, operator: OperatorSpec) -> JobGraph {
    change(job, "function", |vertex| vertex.operator = operator)
}

/// Flink: `StateMigrationException`. Breaks if entries without a time of use are taken for expired or for eternal, and if
/// state is taken for that of another function.
#[test]
fn what_is_restored_must_be_of_the_same_kind_and_live_as_long_or_for_ever() {
    let key = || {
        Some(KeyExpr::Modulo {
            modulus: 3,
            labels: Vec::new(),
        })
    };
    for backend in BackendKind::ALL {
        for format in SavepointFormat::ALL {
            for had_ttl in [false, true] {
                let ttl = |has_ttl: bool| has_ttl.then(|| TtlSpec::new(50_000));
                let mut job = states_job(KeyedFunction::Max, ttl(had_ttl));
                job.config.backend = backend;
                let (_rig, start) = savepoint(&job, 300_000, format);
                begin(&job, &start).unwrap();
                // The settings of a time to live are not in the snapshot, and may change.
                if had_ttl {
                    begin(&with_ttl(&job, Some(TtlSpec::new(1))), &start).unwrap();
                }
                let refused = begin(&with_ttl(&job, ttl(!had_ttl)), &start).err().unwrap();
                assert!(refused.contains("StateMigrationException"), "{refused}");
                let average = KeyedProcessSpec {
                    key: key(),
                    function: KeyedFunction::Average,
                    ttl: ttl(had_ttl),
                };
                let window = WindowSpec {
                    key: key(),
                    size_ms: 100,
                    aggregate: WindowAggregate::Sum,
                };
                for other in [
                    OperatorSpec::KeyedProcess(average),
                    OperatorSpec::KeyedSum(KeyedSumSpec {
                        key: key(),
                        ttl: ttl(had_ttl),
                    }),
                    OperatorSpec::Window(window),
                ] {
                    let refused = begin(&with_operator(&job, other), &start).err().unwrap();
                    assert!(refused.contains("another uid"), "{refused}");
                }
            }
        }
    }
}

/// A plain sum has a table of its own in each backend; one with a time to live is the same state all the same.
#[test]
fn a_sum_gets_no_time_to_live_afterwards_and_loses_none() {
    let sum = |ttl| {
        let spec = KeyedSumSpec {
            key: Some(KeyExpr::Modulo {
                modulus: 3,
                labels: Vec::new(),
            }),
            ttl,
        };
        with_operator(
            &states_job(KeyedFunction::Max, None),
            OperatorSpec::KeyedSum(spec),
        )
    };
    let (plain, mortal) = (sum(None), sum(Some(TtlSpec::new(100_000))));
    for (old, new) in [(&plain, &mortal), (&mortal, &plain)] {
        for backend in BackendKind::ALL {
            let mut old = old.clone();
            old.config.backend = backend;
            let mut new = new.clone();
            new.config.backend = backend;
            let (_rig, start) = savepoint(&old, 300_000, SavepointFormat::Native);
            begin(&old, &start).unwrap();
            let refused = begin(&new, &start).err().unwrap();
            assert!(refused.contains("adding or removing TTL"), "{refused}");
        }
    }
}

/// The job's records come in the first second, and those of others for a minute more.
fn silent_for_a_minute(job: &JobGraph) -> JobGraph {
    let quiet = |vertex: &mut Vertex| {
        if let OperatorSpec::Source(spec) = &mut vertex.operator {
            spec.pause = Some(SourcePause {
                after_records: 8,
                for_ms: 3_600_000,
            });
        }
    };
    let job = change(&change(job, "s0", quiet), "s1", quiet);
    change(&job, "rules", |vertex| {
        *vertex = source("rules", 1.0, 1000);
    })
}

/// As if it had been written before processing time was.
fn without_time(start: &StartPoint) -> StartPoint {
    with_time(start, None)
}

fn with_time(start: &StartPoint, processing_time_ms: Option<u64>) -> StartPoint {
    let metadata = start.storage.read_metadata(start.checkpoint).unwrap();
    let storage = MemoryStorage::default();
    storage.begin(start.checkpoint).unwrap();
    let metadata = CheckpointMetadata {
        processing_time_ms,
        ..metadata
    };
    storage.write_metadata(&metadata).unwrap();
    StartPoint {
        storage: Arc::new(storage),
        ..start.clone()
    }
}

/// A run that begins from a snapshot goes on in processing time: virtual time begins at zero, and state does not grow
/// younger for it. Breaks if the clock of the second run is where state was last used, a minute before the snapshot: then
/// what had expired lives again.
#[test]
fn a_second_run_does_not_turn_the_clock_back() {
    let job = states_job(KeyedFunction::LastN { n: 2 }, Some(TtlSpec::new(5_000)));
    let quiet = silent_for_a_minute(&job);
    let (rig, start) = savepoint(&quiet, 60_000_000, SavepointFormat::Canonical);
    let checkpoint = &rig.view().checkpoints[&start.checkpoint];
    let captured = checkpoint.subtasks.values();
    let newest = captured
        .flat_map(|it| it.entries.values().flatten())
        .filter_map(|entry| entry.last_access_ms)
        .max();
    assert!(newest > Some(0) && newest < Some(2_000), "{newest:?}");

    let mut second = begin(&job, &start).unwrap();
    let begun_ms = second.project().begun_ms;
    assert_eq!(begun_ms, checkpoint.triggered_us / 1000);
    assert!(begun_ms >= 60_000);
    let first_change = loop {
        assert!(second.step());
        let changed = second
            .take_log()
            .into_iter()
            .find_map(|event| match event.kind {
                EventKind::EntriesChanged { entries, .. } => Some(entries),
                _ => None,
            });
        if let Some(entries) = changed {
            break entries;
        }
    };
    assert_eq!(first_change.len(), 1, "the older ones expired long ago");

    let unaware = begin(&job, &without_time(&start)).unwrap();
    assert_eq!(Some(unaware.project().begun_ms), newest, "the best guess");
    let early = begin(&job, &with_time(&start, Some(1))).unwrap();
    assert_eq!(Some(early.project().begun_ms), newest, "used after that");
}

/// Breaks if the live driver's clock is the computer's alone: that may be behind the one that wrote a snapshot.
#[test]
fn a_live_run_does_not_turn_the_clock_back_either() {
    let job = states_job(KeyedFunction::Max, Some(TtlSpec::new(5_000)));
    let (_rig, start) = savepoint(&job, 300_000, SavepointFormat::Canonical);
    let in_2096_ms = 4_000_000_000_000;
    let start = with_time(&start, Some(in_2096_ms));
    let metadata = start.storage.read_metadata(start.checkpoint).unwrap();
    let job = fit::adapt(&job, &metadata).unwrap();
    let outcome = run_live_from(&job, LiveOptions::default(), Some(start));
    assert_eq!(outcome.status, JobStatus::Finished);
    let entries = outcome.entries.iter().flatten();
    let entries: Vec<StateEntry> = entries.flat_map(|(_, entries)| entries.clone()).collect();
    assert!(!entries.is_empty());
    assert!(
        entries
            .iter()
            .all(|entry| entry.last_access_ms >= Some(in_2096_ms))
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Law 29 for rules and buffers. Breaks if a rule gets lost or a subtask begins without, and if a record that waits is
    /// dealt out twice, to nobody, or unevenly.
    #[test]
    fn rules_and_buffers_go_to_however_many_subtasks_there_are(
        at_ms in 100_u64..900, old in 1_u32..4, new in 1_u32..5, sinks in (1_u32..4, 1_u32..5),
    ) {
        let job = states_job(KeyedFunction::Distinct, None);
        let job = change(&job, "filter", |filter| filter.parallelism = old);
        let job = change(&job, "out", |out| {
            out.parallelism = sinks.0;
            out.operator = OperatorSpec::Sink(SinkSpec { kind: SinkKind::Buffering { threshold: 9 } });
        });
        let (rig, start) = savepoint(&job, at_ms * 1000, SavepointFormat::Canonical);
        let captured = |uid: &str| -> Vec<Vec<Record>> {
            let subtasks = &rig.view().checkpoints[&start.checkpoint].subtasks;
            rig.subtasks(uid).iter().map(|id| subtasks[id].listed.clone()).collect()
        };
        let second = change(&job, "filter", |filter| filter.parallelism = new);
        let second = change(&second, "out", |out| out.parallelism = sinks.1);
        let begun = begin(&second, &start).unwrap();
        let copies = captured("filter");
        for (index, rules) in begun_with(&begun, &second, "filter").into_iter().enumerate() {
            prop_assert_eq!(&rules, &copies[index % copies.len()]);
        }
        let buffers = begun_with(&begun, &second, "out");
        let old_buffers = captured("out");
        prop_assert_eq!(buffers.concat(), old_buffers.concat());
        if sinks.0 == sinks.1 {
            prop_assert_eq!(buffers, old_buffers);
        } else {
            let sizes = || buffers.iter().map(Vec::len);
            prop_assert!(sizes().max() <= sizes().min().map(|least| least + 1));
        }
    }
}

/// Breaks if a record comes out of a buffer before its time, or if a crash loses one that waits or lets it out twice where
/// nothing was out yet.
#[test]
fn a_buffer_holds_back_until_there_are_enough() {
    let mut job = states_job(KeyedFunction::Max, None);
    job.vertices
        .retain(|vertex| ["s0", "out"].contains(&vertex.uid.as_str()));
    job.edges = vec![edge("s0", "out", Partitioning::Rebalance)];
    job.vertices[0] = source("s0", 5.0, 40);
    let job = change(&job, "out", |out| {
        out.operator = OperatorSpec::Sink(SinkSpec {
            kind: SinkKind::Buffering { threshold: 16 },
        });
    });
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.subtasks[1].sink.buffer.len() == 7);
    assert_eq!(rig.view().subtasks[1].collected, 0);
    rig.checkpoint();
    rig.run_until(|view| view.store.contains(&CheckpointId(1)));
    rig.crash("out", 0);
    rig.restore();
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    let values: Vec<Decimal> = rig
        .recording
        .outputs(rig.view())
        .map(|(_, record)| record.value)
        .collect();
    let expected: Vec<Decimal> = (1..=32).map(number).collect();
    assert_eq!(values, expected);
    let left = &rig.view().subtasks[1].sink.buffer;
    assert_eq!(
        left.len(),
        8,
        "what waits in the end stays there, as in Flink's documentation"
    );
    let ledger = rig.recording.ledger(rig.view());
    assert_eq!((ledger.uncommitted, ledger.open.uncommitted), (8, 8));
}

/// Of a snapshot the window tells what is in it. Breaks if it lists entries that a full snapshot leaves out, or the other
/// way round: the heap leaves out what has expired, RocksDB's files are as they are.
#[test]
fn a_snapshot_lists_what_it_holds() {
    for backend in BackendKind::ALL {
        let ttl = TtlSpec {
            full_snapshot_cleanup: true,
            background_cleanup: false,
            ..TtlSpec::new(120)
        };
        let job = states_job(KeyedFunction::Distinct, Some(ttl));
        let mut job = change(&job, "s0", |vertex| {
            if let OperatorSpec::Source(source) = &mut vertex.operator {
                source.end = None;
            }
        });
        job.config.backend = backend;
        job.config.checkpointing.interval_ms = Some(130);
        job.config.checkpointing.retained = 100;
        let mut rig = Rig::new(&job);
        rig.run_until(|view| view.store.len() >= 6);
        let mut expired = 0;
        for id in &rig.view().store {
            let metadata = rig.storage.read_metadata(*id).unwrap();
            let stored = metadata.operators.iter().find(|it| it.name == "function");
            let work = rig.dir.path().join("look");
            let held = inspect::contents(stored.unwrap(), &*rig.storage, &work).unwrap();
            let held: BTreeMap<Key, Vec<StateEntry>> = held.entries.into_iter().collect();
            let view = &rig.view().checkpoints[id];
            let mut listed = BTreeMap::new();
            for subtask in rig.subtasks("function") {
                let snapshot = &view.subtasks[&subtask];
                let now_ms = snapshot.captured_us.unwrap() / 1000;
                let entries = snapshot.entries.values().flatten();
                expired += entries
                    .filter(|entry| entry.is_expired(Some(ttl), now_ms))
                    .count();
                listed.extend(snapshot.entries.clone());
            }
            assert_eq!(listed, held, "{backend:?}, checkpoint {id}");
            assert!(!held.is_empty());
        }
        assert_eq!(expired > 0, backend == BackendKind::RocksDb);
    }
}
