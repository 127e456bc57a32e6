//! Any job that a person could have made, good or unfinished, for properties.

use std::sync::Arc;

use lockgate::model::{
    BackendKind, CheckpointConfig, CheckpointId, CheckpointMode, Command, CostModel, CsvSpec, Edge,
    EventTimeSpec, ExponentialDelay, FailoverStrategy, Fault, FaultKind, JobConfig, JobGraph,
    KeyExpr, KeyedFunction, KeyedProcessSpec, KeyedSumSpec, MapSpec, OperatorSpec, Partitioning,
    Position, RestartStrategy, Retention, SavepointFormat, ScriptEntry, SinkKind, SinkSpec,
    SourceKind, SourcePause, SourceSpec, StateOptions, StorageKind, TimerService, TtlSpec,
    TtlUpdate, TtlVisibility, Uid, Vertex, VertexCosts, When, WindowAggregate, WindowSpec,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Any text of a few characters, odd ones too.
pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}",
        "[ -~\\n\\t]{0,20}",
        "\\PC{0,8}",
        any::<String>().prop_map(|text| text.chars().take(12).collect()),
    ]
}

const MS: std::ops::Range<u64> = 1..1_000_000_000;

fn event_time() -> impl Strategy<Value = EventTimeSpec> {
    let parts = (
        MS,
        0..1000_u32,
        0..10_000_u64,
        0..10_000_u64,
        option::of(MS),
    );
    parts.prop_map(
        |(step_ms, late_every, late_by_ms, max_lateness_ms, idle)| EventTimeSpec {
            step_ms,
            late_every,
            late_by_ms,
            max_lateness_ms,
            idle_after_ms: idle,
        },
    )
}

fn source() -> impl Strategy<Value = OperatorSpec> {
    let csv = (text(), text(), text()).prop_map(|(path, key_column, value_column)| {
        SourceKind::Csv(CsvSpec {
            path: path.into(),
            key_column,
            value_column,
        })
    });
    let kind = prop_oneof![Just(SourceKind::Sequence), csv];
    let rate = prop_oneof![0.001..1_000_000.0, (1..1000_u32).prop_map(f64::from)];
    let pause = (0..1_000_u64, MS).prop_map(|(after_records, for_ms)| SourcePause {
        after_records,
        for_ms,
    });
    let parts = (
        kind,
        rate,
        option::of(0..1_000_000_000_u64),
        option::of(1..=64_u32),
        option::of(event_time()),
        option::of(pause),
    );
    parts.prop_map(|(kind, rate_per_s, end, splits, event_time, pause)| {
        OperatorSpec::Source(SourceSpec {
            splits,
            event_time,
            pause,
            ..SourceSpec::new(kind, rate_per_s, end)
        })
    })
}

fn key() -> impl Strategy<Value = Option<KeyExpr>> {
    let modulo = (1..1000_u32, vec(text(), 0..3)).prop_map(|(modulus, labels)| KeyExpr::Modulo {
        modulus,
        labels: labels.into_iter().map(Arc::from).collect(),
    });
    option::weighted(0.9, prop_oneof![4 => modulo, 1 => Just(KeyExpr::Column)])
}

fn keyed_sum() -> impl Strategy<Value = OperatorSpec> {
    let parts = (key(), option::of(ttl()));
    parts.prop_map(|(key, ttl)| OperatorSpec::KeyedSum(KeyedSumSpec { key, ttl }))
}

fn ttl() -> impl Strategy<Value = TtlSpec> {
    let parts = (
        MS,
        select(TtlUpdate::ALL.to_vec()),
        select(TtlVisibility::ALL.to_vec()),
        any::<bool>(),
        any::<bool>(),
    );
    parts.prop_map(
        |(ttl_ms, update, visibility, background_cleanup, full_snapshot_cleanup)| TtlSpec {
            ttl_ms,
            update,
            visibility,
            background_cleanup,
            full_snapshot_cleanup,
        },
    )
}

fn keyed_process() -> impl Strategy<Value = OperatorSpec> {
    let function = prop_oneof![
        (1..=1000_u32).prop_map(|every| KeyedFunction::CountAverage { every }),
        (1..=1000_u32).prop_map(|n| KeyedFunction::LastN { n }),
        Just(KeyedFunction::Distinct),
        Just(KeyedFunction::Max),
        Just(KeyedFunction::Average),
    ];
    let parts = (key(), function, option::of(ttl()));
    parts.prop_map(|(key, function, ttl)| {
        OperatorSpec::KeyedProcess(KeyedProcessSpec { key, function, ttl })
    })
}

fn window() -> impl Strategy<Value = OperatorSpec> {
    let aggregate = select(vec![WindowAggregate::Sum, WindowAggregate::Count]);
    (key(), MS, aggregate).prop_map(|(key, size_ms, aggregate)| {
        OperatorSpec::Window(WindowSpec {
            key,
            size_ms,
            aggregate,
        })
    })
}

fn map() -> impl Strategy<Value = OperatorSpec> {
    (-1000..=1000_i32).prop_map(|factor| OperatorSpec::Map(MapSpec { factor }))
}

fn sink() -> impl Strategy<Value = OperatorSpec> {
    let two_phase =
        (MS, any::<bool>()).prop_map(
            |(transaction_timeout_ms, ignore)| SinkKind::TwoPhaseCommit {
                transaction_timeout_ms,
                ignore_failures_after_timeout: ignore,
            },
        );
    let buffering = (1..=10_000_u32).prop_map(|threshold| SinkKind::Buffering { threshold });
    let kind = prop_oneof![
        Just(SinkKind::Plain),
        Just(SinkKind::Upsert),
        two_phase,
        buffering
    ];
    kind.prop_map(|kind| OperatorSpec::Sink(SinkSpec { kind }))
}

fn vertex_costs() -> impl Strategy<Value = VertexCosts> {
    let cost = || option::of(0..1_000_000_000_u64);
    let parts = (cost(), cost(), cost(), option::of(0..4_u32));
    let any = parts.prop_map(
        |(process_us, sync_us, async_us, only_subtask)| VertexCosts {
            process_us,
            snapshot_sync_us: sync_us,
            snapshot_async_us: async_us,
            only_subtask,
        },
    );
    prop_oneof![Just(VertexCosts::default()), any]
}

/// An operator whose uid ends in its place among the others, and so is its own.
fn vertex(operator: impl Strategy<Value = OperatorSpec>) -> impl Strategy<Value = Vertex> {
    let position = (-1.0e6_f32..1.0e6, -1.0e6_f32..1.0e6).prop_map(|(x, y)| Position { x, y });
    let max = option::of(1..32_768_u32);
    let parts = (
        (text(), option::of(text()), any::<bool>()),
        1..5_u32,
        max,
        position,
        operator,
        vertex_costs(),
    );
    parts.prop_map(
        |((uid, name, explicit), parallelism, max_parallelism, position, operator, costs)| Vertex {
            name: name.unwrap_or_else(|| uid.clone()),
            uid: Uid::new(&uid),
            parallelism,
            max_parallelism,
            position,
            operator,
            has_explicit_uid: explicit,
            costs,
        },
    )
}

fn costs() -> impl Strategy<Value = CostModel> {
    proptest::array::uniform7(0..1_000_000_000_u64).prop_map(|us| CostModel {
        transfer_us: us[0],
        process_us: us[1],
        rpc_us: us[2],
        snapshot_sync_us: us[3],
        snapshot_async_us: us[4],
        snapshot_async_us_per_kib: us[5],
        restore_us: us[6],
    })
}

/// So many times, or always.
fn amount() -> impl Strategy<Value = u32> {
    prop_oneof![0..=1_000_000_u32, Just(u32::MAX)]
}

/// One that runs: unaligned only where it may be.
fn checkpointing() -> impl Strategy<Value = CheckpointConfig> {
    let times = (
        option::of(10..1_000_000_000_u64),
        10..1_000_000_000_u64,
        0..1_000_000_u64,
        MS,
    );
    let numbers = (1..=16_u32, amount(), 1..=100_u32);
    let words = (
        select(&CheckpointMode::ALL[..]),
        select(&Retention::ALL[..]),
        any::<bool>(),
        any::<bool>(),
    );
    (times, numbers, words).prop_map(
        |(times, numbers, (mode, retention, unaligned, after_end))| {
            let unaligned = unaligned && mode == CheckpointMode::ExactlyOnce;
            CheckpointConfig {
                interval_ms: times.0,
                mode,
                timeout_ms: times.1,
                min_pause_ms: times.2,
                max_concurrent: if unaligned || mode == CheckpointMode::StopTheWorld {
                    1
                } else {
                    numbers.0
                },
                tolerable_failed: numbers.1,
                retained: numbers.2,
                retention,
                unaligned,
                aligned_timeout_ms: if unaligned { times.3 } else { 0 },
                after_tasks_finish: after_end,
            }
        },
    )
}

fn restart() -> impl Strategy<Value = RestartStrategy> {
    let fixed = (amount(), MS)
        .prop_map(|(attempts, delay_ms)| RestartStrategy::FixedDelay { attempts, delay_ms });
    let rate = (1..1_000_u32, MS, MS).prop_map(|(max_failures, interval_ms, delay_ms)| {
        RestartStrategy::FailureRate {
            max_failures,
            interval_ms,
            delay_ms,
        }
    });
    let exponential = (
        1..1_000_u64,
        1_000..1_000_000_u64,
        100..1_000_u32,
        0..=100_u32,
        MS,
        amount(),
    )
        .prop_map(
            |(initial_ms, max_ms, multiplier, jitter, reset_after_ms, attempts)| {
                RestartStrategy::ExponentialDelay(ExponentialDelay {
                    initial_ms,
                    max_ms,
                    multiplier_percent: multiplier,
                    jitter_percent: jitter,
                    reset_after_ms,
                    attempts,
                })
            },
        );
    prop_oneof![
        Just(RestartStrategy::Manual),
        Just(RestartStrategy::NoRestart),
        fixed,
        rate,
        exponential,
    ]
}

fn state_options() -> impl Strategy<Value = StateOptions> {
    let numbers = (0..=1_000_u32, 1..=4_096_u32, 1..=1_u32 << 30);
    let timers = select(&TimerService::ALL[..]);
    let parts = (any::<(bool, bool)>(), numbers, timers);
    parts.prop_map(
        |((incremental, asynchronous), numbers, timers)| StateOptions {
            timers,
            incremental,
            asynchronous,
            compaction_trigger: numbers.0,
            memory_mib: numbers.1,
            max_state_bytes: numbers.2,
        },
    )
}

pub fn config() -> impl Strategy<Value = JobConfig> {
    let storage = prop_oneof![
        Just(StorageKind::JobManager),
        (0..1_048_576_u32).prop_map(|inline_threshold_bytes| StorageKind::FileSystem {
            inline_threshold_bytes
        }),
    ];
    let folder = || option::of("[a-z./]{0,10}[a-z]".prop_map(std::path::PathBuf::from));
    let failover = select(vec![FailoverStrategy::Region, FailoverStrategy::Full]);
    let parts = (
        (any::<u64>(), 1..=1_000_u32, 1..=64_u32),
        select(&BackendKind::ALL[..]),
        storage,
        (folder(), folder()),
        checkpointing(),
        restart(),
        failover,
        costs(),
        state_options(),
    );
    let any = parts.prop_map(|parts| {
        let (seed, channel_capacity, slots_per_task_manager) = parts.0;
        let (checkpoint_dir, savepoint_dir) = parts.3;
        JobConfig {
            seed,
            backend: parts.1,
            state: parts.8,
            storage: parts.2,
            checkpoint_dir: checkpoint_dir.filter(|_| parts.2 != StorageKind::JobManager),
            savepoint_dir,
            checkpointing: parts.4,
            restart: parts.5,
            failover: parts.6,
            costs: parts.7,
            channel_capacity,
            slots_per_task_manager,
        }
    });
    prop_oneof![Just(JobConfig::default()), any]
}

fn fault_kind(number: u64, which: u8) -> FaultKind {
    match which {
        0 => FaultKind::SyncPart,
        1 => FaultKind::AsyncPart,
        2 => FaultKind::StorageError,
        3 => FaultKind::StorageSlow { by_ms: number },
        4 => FaultKind::TornWrite,
        5 => FaultKind::Metadata,
        6 => FaultKind::Commit,
        7 => FaultKind::LoseNotification,
        _ => FaultKind::DelayNotification { by_ms: number },
    }
}

/// A script entry about the operator that the index falls on.
type EntryParts = (Index, u32, u64, u8, u8, bool);

fn script_entry() -> impl Strategy<Value = EntryParts> {
    (
        any::<Index>(),
        0..4_u32,
        1..100_000_u64,
        0..3_u8,
        0..22_u8,
        any::<bool>(),
    )
}

fn entry(job: &JobGraph, parts: EntryParts) -> ScriptEntry {
    let (index, subtask, number, when, command, is_native) = parts;
    let uid = index.get(&job.vertices).uid.clone();
    let when = match when {
        0 => When::AtMs(number),
        1 => When::Emitted {
            uid: uid.clone(),
            records: number,
        },
        _ => When::Processed {
            uid: uid.clone(),
            subtask,
            records: number,
        },
    };
    let format = if is_native {
        SavepointFormat::Native
    } else {
        SavepointFormat::Canonical
    };
    let restore = |checkpoint| Command::Restore { checkpoint };
    let command = match command {
        0 => Command::Checkpoint,
        1 => Command::Crash { uid, subtask },
        2 => restore(None),
        3 => restore(Some(CheckpointId(number))),
        4 => Command::Stop,
        5 => Command::Suspend,
        6 => Command::Savepoint { format },
        7 => Command::CancelWithSavepoint { format },
        8 | 9 => Command::StopWithSavepoint {
            format,
            drain: command == 8,
        },
        10 => Command::CrashSeveral {
            subtasks: vec![(uid.clone(), subtask), (uid, 0)],
        },
        11 => Command::CrashTaskManager { index: subtask },
        12 => Command::Compact { uid },
        13 => Command::DeleteStored {
            path: format!("chk-{number}/state-ü “{subtask}”"),
        },
        other => Command::Inject(Fault {
            kind: fault_kind(number, other - 14),
            uid,
            subtask,
        }),
    };
    ScriptEntry { when, command }
}

fn edge(job: &JobGraph, (from, to, partitioning): (Index, Index, Partitioning)) -> Edge {
    Edge {
        from: from.get(&job.vertices).uid.clone(),
        to: to.get(&job.vertices).uid.clone(),
        partitioning,
    }
}

/// A job as a person may have it on the canvas: anything between good and hopelessly unfinished.
pub fn job() -> impl Strategy<Value = JobGraph> {
    let operator = prop_oneof![
        source(),
        map(),
        keyed_sum(),
        keyed_process(),
        Just(OperatorSpec::RuleFilter),
        window(),
        sink()
    ];
    let edges = vec(
        (
            any::<Index>(),
            any::<Index>(),
            select(&Partitioning::ALL[..]),
        ),
        0..6,
    );
    let script = vec(script_entry(), 0..4);
    let parts = (
        text(),
        text(),
        vec(vertex(operator), 1..6),
        edges,
        config(),
        script,
    );
    parts.prop_map(|(name, note, mut vertices, edges, config, script)| {
        for (index, vertex) in vertices.iter_mut().enumerate() {
            vertex.uid = Uid::new(&format!("{}{index}", vertex.uid));
        }
        let mut job = JobGraph {
            name,
            note,
            vertices,
            config,
            ..JobGraph::default()
        };
        job.edges = edges.into_iter().map(|parts| edge(&job, parts)).collect();
        job.script = script.into_iter().map(|parts| entry(&job, parts)).collect();
        job
    })
}

/// A job that runs: sources → sums by a modulus → sinks, everything connected with everything.
pub fn good_job() -> impl Strategy<Value = JobGraph> {
    let sequence = (0.001..1_000_000.0, option::of(0..1000_u64)).prop_map(|(rate_per_s, end)| {
        OperatorSpec::Source(SourceSpec::new(SourceKind::Sequence, rate_per_s, end))
    });
    let modulo = (1..1000_u32).prop_map(|modulus| {
        let labels = Vec::new();
        let key = Some(KeyExpr::Modulo { modulus, labels });
        OperatorSpec::KeyedSum(KeyedSumSpec { key, ttl: None })
    });
    let layers = (
        vec(vertex(sequence), 1..3),
        vec(vertex(modulo), 1..3),
        vec(vertex(sink()), 0..3),
    );
    (layers, text(), config()).prop_map(|((sources, sums, sinks), note, config)| {
        let mut job = JobGraph {
            name: "good".into(),
            note,
            config,
            ..JobGraph::default()
        };
        job.edges = [
            connect(&sources, &sums, 0),
            connect(&sums, &sinks, sources.len()),
        ]
        .concat();
        job.vertices = [sources, sums, sinks].concat();
        for (index, vertex) in job.vertices.iter_mut().enumerate() {
            vertex.uid = uid_at(index);
            vertex.name = format!("operator {index}");
            vertex.max_parallelism = vertex.max_parallelism.map(|max| max.max(4));
            vertex.costs.only_subtask = vertex
                .costs
                .only_subtask
                .map(|index| index % vertex.parallelism);
        }
        job
    })
}

fn uid_at(index: usize) -> Uid {
    Uid::new(&format!("op-{index}"))
}

fn connect(from: &[Vertex], to: &[Vertex], start: usize) -> Vec<Edge> {
    let middle = start + from.len();
    (start..middle)
        .flat_map(|from| (middle..middle + to.len()).map(move |to| (from, to)))
        .map(|(from, to)| Edge {
            from: uid_at(from),
            to: uid_at(to),
            partitioning: Partitioning::Hash,
        })
        .collect()
}
