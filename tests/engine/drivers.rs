//! Law: both drivers agree on final sums and on what comes out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockgate::engine::driver::live::{self, LiveOptions, LiveOutcome};
use lockgate::engine::driver::{Feeds, Resources, StartPoint};
use lockgate::engine::event::{EventKind, JobStatus, SubtaskStatus};
use lockgate::engine::plan::ExecutionGraph;
use lockgate::engine::storage::MemoryStorage;
use lockgate::model::{
    BackendKind, CheckpointId, Command, Decimal, Edge, JobGraph, Key, KeyExpr, KeyedSumSpec,
    OperatorSpec, Origin, Partitioning, RestartStrategy, ScriptEntry, SourcePause, SubtaskId, Uid,
    Vertex, When, WindowAggregate,
};

use crate::rig::{Rig, Source, expected_sums, sum_job, with_backend};
use crate::windows::{on_time, result_of, source, window_job};

pub fn run_live(job: &JobGraph, options: LiveOptions) -> LiveOutcome {
    run_live_from(job, options, None)
}

pub fn run_live_from(
    job: &JobGraph,
    options: LiveOptions,
    start: Option<StartPoint>,
) -> LiveOutcome {
    let dir = tempfile::tempdir().unwrap();
    let resources = Resources {
        feeds: Feeds::new(),
        storage: Arc::new(MemoryStorage::default()),
        dir: dir.path().to_owned(),
        start,
        savepoints: None,
    };
    let plan = Arc::new(ExecutionGraph::of(job));
    live::run(&Arc::new(job.clone()), &plan, resources, options).unwrap()
}

fn sums(outcome: &LiveOutcome) -> BTreeMap<Key, Decimal> {
    outcome.state.iter().flatten().flatten().cloned().collect()
}

/// Every record's last effect on its key: what a sink that keeps the newest value shows.
fn last_values(records: impl Iterator<Item = (Option<Key>, Decimal)>) -> BTreeMap<Key, Decimal> {
    let mut last = BTreeMap::new();
    for (key, value) in records {
        let newest = last.entry(key.unwrap()).or_insert(value);
        *newest = (*newest).max(value);
    }
    last
}

const SOURCES: [Source; 2] = [
    Source {
        rate_per_s: 1_000_000,
        end: 40_000,
        parallelism: 2,
    },
    Source {
        rate_per_s: 1_000_000,
        end: 25_000,
        parallelism: 1,
    },
];

fn script(records: u64) -> Vec<ScriptEntry> {
    let sum = || Uid::new("sum");
    let processed = |records| When::Processed {
        uid: sum(),
        subtask: 1,
        records,
    };
    vec![
        ScriptEntry {
            when: processed(records / 2),
            command: Command::Checkpoint,
        },
        ScriptEntry {
            when: processed(records),
            command: Command::Crash {
                uid: sum(),
                subtask: 1,
            },
        },
    ]
}

/// Breaks if threads, buffers or real time let a record slip through a barrier, or a killed thread's work survives.
#[test]
fn a_live_run_with_a_killed_thread_ends_with_the_steppers_sums() {
    for backend in BackendKind::ALL {
        let mut job = with_backend(sum_job(&SOURCES, 7, 3), backend);
        job.script = script(9_000);
        job.config.restart = RestartStrategy::FixedDelay {
            attempts: RestartStrategy::UNLIMITED_ATTEMPTS,
            delay_ms: 1,
        };
        let outcome = run_live(&job, LiveOptions::default());
        assert_eq!(outcome.status, JobStatus::Finished);
        assert_eq!(outcome.fired, [true, true], "the crash took place");
        let restarted = outcome.events.iter().filter(|event| {
            matches!(
                event.kind,
                EventKind::JobStatus(JobStatus::Restoring { .. })
            )
        });
        assert_eq!(restarted.count(), 1);
        assert_eq!(sums(&outcome), expected_sums(&SOURCES, 7));
    }
}

/// Breaks if a buffer carries a watermark before the records that it stands behind, or if a live source that ends,
/// pauses or goes idle holds windows back.
#[test]
fn both_drivers_fire_the_same_windows() {
    let mut paused = source(2_000, 60, on_time());
    paused.pause = Some(SourcePause {
        after_records: 20,
        for_ms: 40,
    });
    let sources = [source(4_000, 300, on_time()), paused];
    let job = window_job(&sources, (5, WindowAggregate::Sum), 2);
    let mut rig = Rig::new(&job);
    rig.run_to_end();
    let outcome = run_live(&job, LiveOptions::default());
    assert_eq!(outcome.status, JobStatus::Finished);
    assert!(outcome.elapsed >= std::time::Duration::from_millis(40));
    assert_eq!(outcome.late.iter().sum::<u64>(), 0);
    let stepped = rig.recording.outputs(rig.view());
    let mut stepped: Vec<_> = stepped.map(|(_, record)| result_of(record)).collect();
    let live = outcome.collected.iter().flat_map(|sink| &sink.records);
    let mut live: Vec<_> = live.map(result_of).collect();
    stepped.sort();
    live.sort();
    assert!(stepped.len() > 200, "{}", stepped.len());
    assert_eq!(live, stepped);
}

/// A plain sink repeats what it let out since the restored checkpoint, and never misses anything.
#[test]
fn both_drivers_let_out_the_same() {
    let sources = [Source::new(1000, 300), Source::new(1000, 200)];
    let mut job = sum_job(&sources, 3, 2);
    let mut rig = Rig::new(&job);
    rig.run_to_end();
    let stepped: Vec<_> = rig
        .recording
        .outputs(rig.view())
        .map(|(_, record)| record.clone())
        .collect();
    job.script = script(60);
    job.config.restart = RestartStrategy::FixedDelay {
        attempts: RestartStrategy::UNLIMITED_ATTEMPTS,
        delay_ms: 1,
    };
    let outcome = run_live(&job, LiveOptions::default());
    let live: Vec<_> = outcome
        .collected
        .iter()
        .flat_map(|collected| &collected.records)
        .cloned()
        .collect();
    let origins = |records: &[lockgate::model::Record]| -> BTreeSet<Origin> {
        records.iter().map(|record| record.origin).collect()
    };
    assert_eq!(
        origins(&live),
        origins(&stepped),
        "each record has come out"
    );
    let values = |records: &[lockgate::model::Record]| {
        last_values(
            records
                .iter()
                .map(|record| (record.key.clone(), record.value)),
        )
    };
    assert_eq!(values(&live), values(&stepped));
    assert_eq!(sums(&outcome), rig.sums("sum"));
}

/// Breaks if a barrier leaves a subtask before the records that it had sent: the second sum would miss them. At full
/// speed, so that there are such records.
#[test]
fn a_chain_of_sums_is_exact_through_a_live_crash() {
    let records = 400_000_u64;
    let mut job = sum_job(&[Source::new(1_000_000, records)], 5, 2);
    chain_second_sum(&mut job);
    job.script = script(60_000);
    job.config.restart = RestartStrategy::FixedDelay {
        attempts: RestartStrategy::UNLIMITED_ATTEMPTS,
        delay_ms: 1,
    };
    let options = LiveOptions {
        is_unpaced: true,
        ..LiveOptions::default()
    };
    let outcome = run_live(&job, options);
    assert_eq!(outcome.fired, [true, true], "the crash took place");
    let plan = ExecutionGraph::of(&job);
    let second = plan.subtasks_of(&Uid::new("second"));
    let of_second = second
        .iter()
        .flat_map(|id| outcome.state[id.index()].clone().unwrap());
    assert_eq!(
        of_second.collect::<BTreeMap<_, _>>(),
        sums_of_running_sums(records, 5)
    );
}

/// The numbers of one source, in order: each adds the new sum of its key to that key's second sum.
fn sums_of_running_sums(records: u64, modulus: u64) -> BTreeMap<Key, Decimal> {
    let mut sums: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for value in 1..=records {
        let (first, second) = sums.entry(value % modulus).or_default();
        *first += value;
        *second += *first;
    }
    let key = |key: u64| Key::int(i32::try_from(key).unwrap());
    sums.into_iter()
        .map(|(k, (_, second))| (key(k), Decimal::from(second)))
        .collect()
}

/// `sum` → `second` → `out`: the running sums, summed by the same key.
fn chain_second_sum(job: &mut JobGraph) {
    let mut second = job.vertices[1].clone();
    second.uid = Uid::new("second");
    "second".clone_into(&mut second.name);
    let key = Some(KeyExpr::Column);
    second.operator = OperatorSpec::KeyedSum(KeyedSumSpec { key, ttl: None });
    job.vertices.insert(2, second);
    job.edges[1] = Edge {
        from: Uid::new("sum"),
        to: Uid::new("second"),
        partitioning: Partitioning::Hash,
    };
    job.edges.push(Edge {
        from: Uid::new("second"),
        to: Uid::new("out"),
        partitioning: Partitioning::Rebalance,
    });
    assert_eq!(lockgate::model::validate(job), []);
}

#[test]
fn a_live_run_stops_at_its_time() {
    let mut job = sum_job(&[Source::new(100, 1_000_000)], 2, 2);
    job.script = vec![ScriptEntry {
        when: When::AtMs(20),
        command: Command::Checkpoint,
    }];
    let options = LiveOptions {
        until: Some(std::time::Duration::from_millis(120)),
        ..LiveOptions::default()
    };
    let outcome = run_live(&job, options);
    assert_eq!(outcome.status, JobStatus::Running);
    assert_eq!(outcome.offsets.len(), 1, "the checkpoint is complete");
}

/// The outcome of a live run, or a failed test where it does not come to an end.
fn run_live_within_a_minute(job: JobGraph, options: LiveOptions) -> LiveOutcome {
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || drop(send.send(run_live(&job, options))));
    receive
        .recv_timeout(std::time::Duration::from_mins(1))
        .unwrap_or_else(|error| panic!("the run hangs: {error}"))
}

/// Breaks if a thread that waits for room in a channel does not hear that the run is over.
#[test]
fn a_live_run_stops_in_the_middle_of_back_pressure() {
    for _ in 0..5 {
        let mut job = sum_job(&[Source::new(1_000_000, 1_000_000_000)], 7, 3);
        job.script = vec![ScriptEntry {
            when: When::AtMs(30),
            command: Command::Stop,
        }];
        let options = LiveOptions {
            is_unpaced: true,
            buffer_records: 16,
            channel_buffers: 1,
            ..LiveOptions::default()
        };
        let outcome = run_live_within_a_minute(job, options);
        assert_eq!(outcome.status, JobStatus::Canceled);
        let state = outcome.state.iter().filter(|state| state.is_some());
        assert_eq!(state.count(), 3, "every sum brings its state home");
    }
}

/// Breaks if the live driver waits for counts that cannot grow while the job is down.
#[test]
fn a_live_run_that_nothing_will_restore_ends() {
    let mut job = sum_job(&[Source::new(1000, 50)], 2, 2);
    let sum = Uid::new("sum");
    let processed = |records| When::Processed {
        uid: Uid::new("sum"),
        subtask: 1,
        records,
    };
    job.script = vec![
        ScriptEntry {
            when: processed(3),
            command: Command::Crash {
                uid: sum,
                subtask: 1,
            },
        },
        ScriptEntry {
            when: processed(1_000_000),
            command: Command::Restore { checkpoint: None },
        },
    ];
    let outcome = run_live_within_a_minute(job, LiveOptions::default());
    assert!(matches!(outcome.status, JobStatus::Restarting { .. }));
    assert_eq!(outcome.fired, [true, false]);
}

/// Breaks if a live run lets a subtask crash that a stepped one would not.
#[test]
fn a_finished_subtask_cannot_crash_in_a_live_run_either() {
    let mut job = two_lanes();
    let at = |records, command| ScriptEntry {
        when: When::Emitted {
            uid: Uid::new("b-s0"),
            records,
        },
        command,
    };
    let crash = Command::Crash {
        uid: Uid::new("sum"),
        subtask: 0,
    };
    job.script = vec![at(50, Command::Checkpoint), at(300, crash)];
    let outcome = run_live_within_a_minute(job, LiveOptions::default());
    assert_eq!(outcome.status, JobStatus::Finished);
    let refused = |kind: &EventKind| match kind {
        EventKind::CommandRefused { reason, .. } => reason.contains("has finished"),
        _ => false,
    };
    assert!(outcome.events.iter().any(|event| refused(&event.kind)));
}

/// Two jobs in one: the first lane ends early and is finished in the checkpoint that the second one's crash returns to.
#[test]
fn a_lane_that_had_finished_stays_finished_after_a_restore() {
    let mut job = two_lanes();
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.subtasks[0].status == SubtaskStatus::EndOfData);
    rig.checkpoint();
    let lane = ["s0", "sum", "out"].map(|uid| rig.subtasks(uid)).concat();
    rig.run_until(|view| {
        let status = |id: &SubtaskId| view.subtasks[id.index()].status;
        lane.iter().all(|id| status(id) == SubtaskStatus::Finished)
    });
    let heard_us = rig.view().at_us + rig.recording.job.config.costs.rpc_us;
    rig.run_until(|view| view.at_us > heard_us);
    rig.checkpoint();
    rig.run_until(|view| view.store == [CheckpointId(2)]);
    rig.crash("b-out", 0);
    rig.restore();
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    assert_eq!(rig.sums("sum"), expected_sums(&[Source::new(1000, 5)], 2));
    let left = rig.stepper.project().channels.into_iter().flatten();
    assert_eq!(left.count(), 0, "nothing is left lying in a channel");

    let emitted = |records| When::Emitted {
        uid: Uid::new("b-s0"),
        records,
    };
    let at = |records, command| ScriptEntry {
        when: emitted(records),
        command,
    };
    let crash = Command::Crash {
        uid: Uid::new("b-out"),
        subtask: 0,
    };
    job.script = vec![
        at(50, Command::Checkpoint),
        at(150, Command::Checkpoint),
        at(250, crash),
    ];
    job.config.restart = RestartStrategy::FixedDelay {
        attempts: RestartStrategy::UNLIMITED_ATTEMPTS,
        delay_ms: 1,
    };
    let outcome = run_live_within_a_minute(job, LiveOptions::default());
    assert_eq!(outcome.status, JobStatus::Finished);
    let restored = EventKind::JobStatus(JobStatus::Restoring {
        from: Some(CheckpointId(2)),
    });
    let at = outcome
        .events
        .iter()
        .position(|event| event.kind == restored);
    let finals = outcome.events[at.unwrap()..]
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Triggered { .. }));
    assert_eq!(finals.count(), 1, "the final checkpoint of the second lane");
}

/// `s0 → sum → out`, five records, and beside it `b-s0 → b-sum → b-out`, four hundred.
fn two_lanes() -> JobGraph {
    let mut job = sum_job(&[Source::new(1000, 5)], 2, 1);
    let other = sum_job(&[Source::new(1000, 400)], 2, 1);
    let renamed = |uid: &Uid| Uid::new(&format!("b-{}", uid.as_str()));
    for vertex in other.vertices {
        let uid = renamed(&vertex.uid);
        job.vertices.push(Vertex {
            name: uid.as_str().to_owned(),
            uid,
            ..vertex
        });
    }
    for edge in other.edges {
        job.edges.push(Edge {
            from: renamed(&edge.from),
            to: renamed(&edge.to),
            ..edge
        });
    }
    job
}
