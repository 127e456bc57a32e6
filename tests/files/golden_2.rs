//! Files of format 2, written once, must mean the same for ever.

use lockgate::model::{
    BackendKind, CheckpointConfig, CheckpointId, CheckpointMode, Command, CostModel, EventTimeSpec,
    ExponentialDelay, FailoverStrategy, Fault, FaultKind, JobConfig, JobGraph, KeyExpr, MapSpec,
    OperatorSpec, Partitioning, RestartStrategy, Retention, SavepointFormat, ScriptEntry, SinkKind,
    SinkSpec, SourceKind, SourcePause, SourceSpec, StateOptions, StorageKind, TimerService, Vertex,
    VertexCosts, When, WindowAggregate, WindowSpec,
};
use lockgate::project;

use super::golden::{csv, edge, modulo, source, sum, vertex};
use super::runnable;

fn sources() -> [Vertex; 2] {
    let rows = SourceSpec {
        splits: Some(4),
        event_time: Some(EventTimeSpec {
            step_ms: 10,
            late_every: 5,
            late_by_ms: 100,
            max_lateness_ms: 30,
            idle_after_ms: Some(700),
        }),
        pause: Some(SourcePause {
            after_records: 3,
            for_ms: 2000,
        }),
        ..SourceSpec::new(csv("data/rows.csv"), 0.25, Some(7))
    };
    let numbers = SourceSpec {
        splits: Some(2),
        event_time: Some(EventTimeSpec {
            step_ms: 20,
            late_every: 0,
            late_by_ms: 0,
            max_lateness_ms: 40,
            idle_after_ms: None,
        }),
        pause: Some(SourcePause {
            after_records: 5,
            for_ms: 1000,
        }),
        ..SourceSpec::new(SourceKind::Sequence, 10.0, Some(100))
    };
    [
        Vertex {
            name: "Rows".into(),
            parallelism: 3,
            ..vertex("rows", OperatorSpec::Source(rows), -12.5, 40.0)
        },
        Vertex {
            has_explicit_uid: false,
            parallelism: 2,
            ..vertex("numbers", OperatorSpec::Source(numbers), 0.0, 200.0)
        },
    ]
}

fn window(key: KeyExpr, size_ms: u64, aggregate: WindowAggregate) -> OperatorSpec {
    OperatorSpec::Window(WindowSpec {
        key: Some(key),
        size_ms,
        aggregate,
    })
}

fn inner() -> [Vertex; 4] {
    let slow = VertexCosts {
        process_us: Some(60_000),
        only_subtask: Some(1),
        ..VertexCosts::default()
    };
    let other = VertexCosts {
        process_us: Some(1),
        snapshot_sync_us: Some(2),
        snapshot_async_us: Some(3),
        only_subtask: None,
    };
    let twice = OperatorSpec::Map(MapSpec { factor: -2 });
    [
        Vertex {
            parallelism: 2,
            costs: slow,
            ..vertex("twice", twice, 400.0, 200.0)
        },
        Vertex {
            parallelism: 2,
            max_parallelism: Some(6),
            costs: other,
            ..vertex("parity", sum(modulo(2, &["even", "odd"])), 800.0, 100.0)
        },
        vertex(
            "sums",
            window(KeyExpr::Column, 1000, WindowAggregate::Sum),
            400.0,
            500.0,
        ),
        vertex(
            "counts",
            window(modulo(3, &[]), 250, WindowAggregate::Count),
            800.0,
            500.0,
        ),
    ]
}

fn sink(kind: SinkKind) -> OperatorSpec {
    OperatorSpec::Sink(SinkSpec { kind })
}

fn sinks() -> [Vertex; 3] {
    let exact = SinkKind::TwoPhaseCommit {
        transaction_timeout_ms: 5000,
        ignore_failures_after_timeout: true,
    };
    [
        Vertex {
            parallelism: 2,
            ..vertex("plain", sink(SinkKind::Plain), 1200.0, 100.0)
        },
        vertex("newest", sink(SinkKind::Upsert), 1200.0, 500.0),
        vertex("exact", sink(exact), 1200.0, 900.0),
    ]
}

fn everything() -> JobGraph {
    let mut vertices = Vec::from(sources());
    vertices.extend(inner());
    vertices.extend(sinks());
    JobGraph {
        name: "everything".into(),
        note: "first line\nsecond line".into(),
        vertices,
        edges: vec![
            edge("rows", "sums", Partitioning::Hash),
            edge("numbers", "twice", Partitioning::Forward),
            edge("twice", "parity", Partitioning::Hash),
            edge("twice", "counts", Partitioning::Hash),
            edge("parity", "plain", Partitioning::Forward),
            edge("sums", "newest", Partitioning::Rebalance),
            edge("counts", "exact", Partitioning::Broadcast),
        ],
        config: config(),
        script: script(),
    }
}

fn config() -> JobConfig {
    JobConfig {
        seed: u64::MAX,
        backend: BackendKind::RocksDb,
        state: StateOptions {
            incremental: false,
            asynchronous: true,
            compaction_trigger: 4,
            memory_mib: 12,
            max_state_bytes: 5_242_880,
            timers: TimerService::RocksDb,
        },
        storage: StorageKind::FileSystem {
            inline_threshold_bytes: 1024,
        },
        checkpoint_dir: Some("kept/checkpoints".into()),
        savepoint_dir: Some("kept/savepoints".into()),
        checkpointing: CheckpointConfig {
            interval_ms: Some(500),
            mode: CheckpointMode::ExactlyOnce,
            timeout_ms: 5000,
            min_pause_ms: 100,
            max_concurrent: 1,
            tolerable_failed: CheckpointConfig::UNLIMITED_FAILURES,
            retained: 3,
            retention: Retention::RetainOnCancellation,
            unaligned: true,
            aligned_timeout_ms: 200,
            after_tasks_finish: false,
        },
        restart: RestartStrategy::ExponentialDelay(ExponentialDelay {
            initial_ms: 10,
            max_ms: 20,
            multiplier_percent: 200,
            jitter_percent: 0,
            reset_after_ms: 30,
            attempts: 40,
        }),
        failover: FailoverStrategy::Full,
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
        slots_per_task_manager: 2,
    }
}

fn faults() -> impl Iterator<Item = Command> {
    [
        (FaultKind::SyncPart, "parity"),
        (FaultKind::AsyncPart, "parity"),
        (FaultKind::StorageError, "parity"),
        (FaultKind::StorageSlow { by_ms: 300 }, "parity"),
        (FaultKind::TornWrite, "parity"),
        (FaultKind::Metadata, "parity"),
        (FaultKind::Commit, "exact"),
        (FaultKind::LoseNotification, "exact"),
        (FaultKind::DelayNotification { by_ms: 50 }, "exact"),
    ]
    .into_iter()
    .map(|(kind, uid)| {
        Command::Inject(Fault {
            kind,
            uid: uid.into(),
            subtask: 0,
        })
    })
}

fn script() -> Vec<ScriptEntry> {
    let restore = |checkpoint| Command::Restore { checkpoint };
    let canonical = SavepointFormat::Canonical;
    let native = SavepointFormat::Native;
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
    let several = Command::CrashSeveral {
        subtasks: vec![("parity".into(), 0), ("plain".into(), 1)],
    };
    let mut entries = vec![
        (When::AtMs(400), Command::Checkpoint),
        (emitted, crash),
        (processed, restore(None)),
        (When::AtMs(900), restore(Some(CheckpointId(2)))),
    ];
    let begin = [
        Command::Savepoint { format: canonical },
        Command::Savepoint { format: native },
        several,
        Command::CrashTaskManager { index: 0 },
    ];
    let end = [
        Command::StopWithSavepoint {
            format: native,
            drain: true,
        },
        Command::CancelWithSavepoint { format: native },
        Command::Stop,
        Command::Suspend,
        Command::Compact {
            uid: "parity".into(),
        },
        Command::DeleteStored {
            path: "chk-3/_metadata".to_owned(),
        },
    ];
    let commands = begin.into_iter().chain(faults()).chain(end);
    entries.extend((1000..).map(When::AtMs).zip(commands));
    entries
        .into_iter()
        .map(|(when, command)| ScriptEntry { when, command })
        .collect()
}

#[test]
fn a_file_of_format_2_keeps_its_meaning() {
    assert_eq!(runnable(include_str!("v2-everything.ron")), everything());
}

/// What format 2 leaves out is what it was when format 2 was released, whatever the model's defaults are today.
#[test]
fn what_a_file_of_format_2_leaves_out_keeps_its_meaning() {
    let job = runnable(include_str!("v2-silent.ron"));
    let config = JobConfig {
        seed: 1,
        backend: BackendKind::Heap,
        state: StateOptions {
            incremental: false,
            asynchronous: true,
            compaction_trigger: 4,
            memory_mib: 12,
            max_state_bytes: 5_242_880,
            timers: TimerService::RocksDb,
        },
        storage: StorageKind::FileSystem {
            inline_threshold_bytes: 20_480,
        },
        checkpoint_dir: None,
        savepoint_dir: Some("s".into()),
        checkpointing: CheckpointConfig {
            interval_ms: Some(500),
            mode: CheckpointMode::ExactlyOnce,
            timeout_ms: 600_000,
            min_pause_ms: 0,
            max_concurrent: 1,
            tolerable_failed: 0,
            retained: 1,
            retention: Retention::NoExternalized,
            unaligned: false,
            aligned_timeout_ms: 0,
            after_tasks_finish: true,
        },
        restart: RestartStrategy::FixedDelay {
            attempts: 1,
            delay_ms: 1_000,
        },
        failover: FailoverStrategy::Region,
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
        slots_per_task_manager: 1,
    };
    assert_eq!((&*job.name, &*job.note), ("job", ""), "the file’s name");
    assert_eq!(job.config, config);
    assert_eq!(job.vertices, silent_vertices());
    let format = SavepointFormat::Canonical;
    let commands: Vec<Command> = job.script.into_iter().map(|entry| entry.command).collect();
    let expected = [
        Command::Savepoint { format },
        Command::CancelWithSavepoint { format },
        Command::StopWithSavepoint {
            format,
            drain: false,
        },
    ];
    assert_eq!(commands, expected);
}

fn silent_vertices() -> Vec<Vertex> {
    let OperatorSpec::Source(numbers) = source(SourceKind::Sequence, 1.0, None) else {
        panic!("a source");
    };
    let numbers = SourceSpec {
        event_time: Some(EventTimeSpec {
            step_ms: 10,
            late_every: 0,
            late_by_ms: 0,
            max_lateness_ms: 0,
            idle_after_ms: None,
        }),
        ..numbers
    };
    let out = SinkKind::TwoPhaseCommit {
        transaction_timeout_ms: 3_600_000,
        ignore_failures_after_timeout: false,
    };
    vec![
        vertex("numbers", OperatorSpec::Source(numbers), 0.0, 0.0),
        vertex("same", OperatorSpec::Map(MapSpec { factor: 1 }), 330.0, 0.0),
        vertex("sum", sum(modulo(3, &[])), 660.0, 0.0),
        vertex("out", sink(out), 990.0, 0.0),
    ]
}

#[test]
fn a_draft_of_format_2_opens_with_its_problems_and_does_not_run() {
    let draft = project::parse(include_str!("v2-draft.ron"), "draft.ron").unwrap();
    assert!(draft.is_draft());
    let error = draft.into_runnable().unwrap_err().to_string();
    assert_eq!(
        error,
        "draft.ron:6:9: “numbers” leads nowhere: connect its output to a keyed sum or to a sink.\n\
         draft.ron:7:9: “win” has no input: connect the output of a source or keyed sum to it.\n\
         draft.ron:7:28: “win” has no key: choose the key column, or the value modulo a number."
    );
}

/// The window writes what these files say.
#[test]
fn what_is_written_is_laid_out_for_reading() {
    assert_eq!(
        project::to_text(&everything()),
        include_str!("v2-written.ron")
    );
}

/// A job of format 1 means the same when it is saved again, in format 2.
#[test]
fn a_file_of_format_1_is_carried_over() {
    for text in [
        include_str!("v1-everything.ron"),
        include_str!("v1-silent.ron"),
        include_str!("v1-written.ron"),
    ] {
        let job = runnable(text);
        let saved = project::to_text(&job);
        assert!(saved.contains("version: 2,"), "{saved}");
        assert_eq!(runnable(&saved), job);
    }
}
