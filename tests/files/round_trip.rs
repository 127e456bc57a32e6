//! Properties: what is saved is what loads, and no text whatever does harm.

use std::sync::Arc;

use lockgate::model::{
    BackendKind, CheckpointConfig, CheckpointId, Command, CostModel, CsvSpec, Edge, JobConfig,
    JobGraph, KeyExpr, KeyedSumSpec, OperatorSpec, Partitioning, Position, RestartStrategy,
    ScriptEntry, Severity, SinkSpec, SourceKind, SourceSpec, StorageKind, Uid, Vertex, VertexCosts,
    When, validate,
};
use lockgate::project;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::FileFailurePersistence;

/// Any text of a few characters, odd ones too.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}",
        "[ -~\\n\\t]{0,20}",
        "\\PC{0,8}",
        any::<String>().prop_map(|text| text.chars().take(12).collect()),
    ]
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
    (kind, rate, option::of(0..1_000_000_000_u64)).prop_map(|(kind, rate_per_s, end)| {
        OperatorSpec::Source(SourceSpec::new(kind, rate_per_s, end))
    })
}

fn keyed_sum() -> impl Strategy<Value = OperatorSpec> {
    let modulo = (1..1000_u32, vec(text(), 0..3)).prop_map(|(modulus, labels)| KeyExpr::Modulo {
        modulus,
        labels: labels.into_iter().map(Arc::from).collect(),
    });
    let key = prop_oneof![4 => modulo, 1 => Just(KeyExpr::Column)];
    option::weighted(0.9, key).prop_map(|key| OperatorSpec::KeyedSum(KeyedSumSpec { key }))
}

/// An operator whose uid ends in its place among the others, and so is its own.
fn vertex(operator: impl Strategy<Value = OperatorSpec>) -> impl Strategy<Value = Vertex> {
    let position = (-1.0e6_f32..1.0e6, -1.0e6_f32..1.0e6).prop_map(|(x, y)| Position { x, y });
    let max = option::of(1..32_768_u32);
    let parts = (
        text(),
        option::of(text()),
        1..5_u32,
        max,
        position,
        operator,
    );
    parts.prop_map(
        |(uid, name, parallelism, max_parallelism, position, operator)| Vertex {
            name: name.unwrap_or_else(|| uid.clone()),
            uid: Uid::new(&uid),
            parallelism,
            max_parallelism,
            position,
            operator,
            has_explicit_uid: true,
            costs: VertexCosts::default(),
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

fn checkpointing() -> impl Strategy<Value = CheckpointConfig> {
    let parts = (
        1..=100_u32,
        1..=16_u32,
        10..1_000_000_000_u64,
        0..=1_000_000_u32,
    );
    parts.prop_map(
        |(retained, max_concurrent, timeout_ms, tolerable_failed)| CheckpointConfig {
            retained,
            max_concurrent,
            timeout_ms,
            tolerable_failed,
            ..CheckpointConfig::default()
        },
    )
}

fn config() -> impl Strategy<Value = JobConfig> {
    let storage = prop_oneof![
        Just(StorageKind::JobManager),
        (0..1_048_576_u32).prop_map(|inline_threshold_bytes| StorageKind::FileSystem {
            inline_threshold_bytes
        }),
    ];
    let restart = prop_oneof![
        Just(RestartStrategy::Manual),
        (0..1_000_000_000_u64).prop_map(|delay_ms| RestartStrategy::FixedDelay {
            attempts: RestartStrategy::UNLIMITED_ATTEMPTS,
            delay_ms
        }),
    ];
    let backend = select(&BackendKind::ALL[..]);
    let parts = (
        any::<u64>(),
        backend,
        storage,
        checkpointing(),
        restart,
        costs(),
        1..=1_000_u32,
    );
    let any = parts.prop_map(|parts| JobConfig {
        seed: parts.0,
        backend: parts.1,
        storage: parts.2,
        checkpointing: parts.3,
        restart: parts.4,
        costs: parts.5,
        channel_capacity: parts.6,
        ..JobConfig::default()
    });
    prop_oneof![Just(JobConfig::default()), any]
}

/// A script entry about the operator that the index falls on.
fn script_entry() -> impl Strategy<Value = (Index, u32, u64, u8, u8)> {
    (any::<Index>(), 0..4_u32, 1..100_000_u64, 0..3_u8, 0..5_u8)
}

fn entry(job: &JobGraph, parts: (Index, u32, u64, u8, u8)) -> ScriptEntry {
    let (index, subtask, number, when, command) = parts;
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
    let checkpoint = CheckpointId(number);
    let command = match command {
        0 => Command::Checkpoint,
        1 => Command::Crash { uid, subtask },
        2 => Command::Restore { checkpoint: None },
        3 => Command::Restore {
            checkpoint: Some(checkpoint),
        },
        _ => Command::Stop,
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
fn job() -> impl Strategy<Value = JobGraph> {
    let sink = Just(OperatorSpec::Sink(SinkSpec::default()));
    let operator = prop_oneof![source(), keyed_sum(), sink];
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
fn good_job() -> impl Strategy<Value = JobGraph> {
    let sink = Just(OperatorSpec::Sink(SinkSpec::default()));
    let sequence = (0.001..1_000_000.0, option::of(0..1000_u64)).prop_map(|(rate_per_s, end)| {
        OperatorSpec::Source(SourceSpec::new(SourceKind::Sequence, rate_per_s, end))
    });
    let modulo = (1..1000_u32).prop_map(|modulus| {
        let labels = Vec::new();
        let key = Some(KeyExpr::Modulo { modulus, labels });
        OperatorSpec::KeyedSum(KeyedSumSpec { key })
    });
    let layers = (
        vec(vertex(sequence), 1..3),
        vec(vertex(modulo), 1..3),
        vec(vertex(sink), 0..3),
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

/// A good file with a few bytes taken out, put in or doubled.
fn spoilt_file() -> impl Strategy<Value = String> {
    let files = vec![
        include_str!("v1-everything.ron"),
        include_str!("v1-draft.ron"),
        include_str!("../../samples/odd-even.ron"),
        include_str!("../../samples/weather.ron"),
    ];
    let cut = (
        any::<Index>(),
        0..40_usize,
        "[(){}\\[\\],:\"'/*#a0-9-]{0,4}",
    );
    (select(files), vec(cut, 1..4)).prop_map(|(file, cuts)| {
        let mut text: Vec<char> = file.chars().collect();
        for (at, length, new) in cuts {
            let at = at.index(text.len());
            let end = (at + length).min(text.len());
            text.splice(at..end, new.chars());
        }
        text.into_iter().collect()
    })
}

/// Whatever loads has no problem, or says that it is a draft; whatever does not says why in this many characters.
fn loads_or_says_why(text: &str) -> Result<(), TestCaseError> {
    match project::parse(text, "any.ron") {
        Ok(loaded) => {
            let problems = validate(&loaded.job);
            prop_assert_eq!(loaded.is_draft(), !problems.is_empty());
            prop_assert!(
                problems
                    .iter()
                    .all(|each| each.severity == Severity::Unfinished)
            );
        }
        Err(error) => {
            let message = error.to_string();
            prop_assert!(message.starts_with("any.ron"), "{}", message);
            prop_assert!(message.ends_with('.'), "{}", message);
        }
    }
    Ok(())
}

/// Files of failed cases lie beside their source, and are committed.
pub fn with_regressions() -> ProptestConfig {
    let beside = FileFailurePersistence::WithSource("regressions");
    ProptestConfig {
        failure_persistence: Some(Box::new(beside)),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(with_regressions())]

    #[test]
    fn a_job_that_runs_comes_back_as_it_was(job in good_job()) {
        prop_assert_eq!(validate(&job), []);
        let loaded = project::parse(&project::to_text(&job), "good.ron");
        let job_again = loaded.and_then(project::LoadedJob::into_runnable);
        prop_assert_eq!(job_again.map_err(|error| error.to_string()), Ok(job));
    }

    #[test]
    fn a_job_in_the_making_comes_back_as_it_was(job in job()) {
        let problems = validate(&job);
        prop_assert!(problems.iter().all(|each| each.severity == Severity::Unfinished));
        let text = project::to_text(&job);
        let loaded = project::parse(&text, "draft.ron").map_err(|error| error.to_string());
        prop_assert_eq!(loaded.as_ref().map(project::LoadedJob::is_draft), Ok(!problems.is_empty()));
        prop_assert_eq!(loaded.map(|loaded| loaded.job), Ok(job));
    }

    #[test]
    fn a_spoilt_file_loads_or_says_why(text in spoilt_file()) {
        loads_or_says_why(&text)?;
    }

    #[test]
    fn any_text_loads_or_says_why(text in any::<String>(), soup in "(\\(version: ?1,)?[(){}\\[\\],:\"'/*#a0-9 -]{0,60}") {
        loads_or_says_why(&text)?;
        loads_or_says_why(&soup)?;
    }
}
