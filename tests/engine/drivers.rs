//! Law: both drivers agree on final sums and on what comes out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockgate::engine::driver::live::{self, LiveOptions, LiveOutcome};
use lockgate::engine::driver::{Feeds, Resources};
use lockgate::engine::event::JobStatus;
use lockgate::engine::plan::ExecutionGraph;
use lockgate::engine::storage::MemoryStorage;
use lockgate::model::{
    BackendKind, Command, Decimal, JobGraph, Key, Origin, RestartStrategy, ScriptEntry, Uid, When,
};

use crate::rig::{Rig, Source, expected_sums, sum_job, with_backend};

fn run_live(job: &JobGraph, options: LiveOptions) -> LiveOutcome {
    let dir = tempfile::tempdir().unwrap();
    let resources = Resources {
        feeds: Feeds::new(),
        storage: Arc::new(MemoryStorage::default()),
        dir: dir.path().to_owned(),
        start: None,
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
        job.config.restart = RestartStrategy::FixedDelay { delay_ms: 1 };
        let outcome = run_live(&job, LiveOptions::default());
        assert_eq!(outcome.status, JobStatus::Finished);
        assert_eq!(outcome.fired, [true, true], "the crash took place");
        let restarted = outcome.events.iter().filter(|event| {
            use lockgate::engine::event::EventKind;
            matches!(
                event.kind,
                EventKind::JobStatus(JobStatus::Restoring { .. })
            )
        });
        assert_eq!(restarted.count(), 1);
        assert_eq!(sums(&outcome), expected_sums(&SOURCES, 7));
    }
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
    job.config.restart = RestartStrategy::FixedDelay { delay_ms: 1 };
    let outcome = run_live(&job, LiveOptions::default());
    let live: Vec<_> = outcome.collected.iter().flatten().cloned().collect();
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
