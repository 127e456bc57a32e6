//! Incremental checkpoints of a whole job, on disk: what is uploaded, what is kept, what a restore gives back.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lockgate::engine::driver::live::{self, LiveOptions};
use lockgate::engine::driver::{Feeds, Resources, StartPoint};
use lockgate::engine::event::{EventKind, JobStatus, SharedUse, TraceEvent};
use lockgate::engine::plan::ExecutionGraph;
use lockgate::engine::storage::{self, CheckpointMetadata, SHARED, StreamHandle};
use lockgate::model::{
    BackendKind, CheckpointId, ClaimMode, Command, Fault, FaultKind, JobGraph, RestartStrategy,
    Retention, ScriptEntry, StorageKind, Uid, When,
};
use lockgate::recording::View;
use lockgate::recording::view::CheckpointStatus;
use proptest::prelude::*;

use crate::rig::{Rig, Source, expected_sums, sum_job};

const SOURCES: [Source; 2] = [
    Source {
        rate_per_s: 50,
        end: 120,
        parallelism: 1,
    },
    Source {
        rate_per_s: 35,
        end: 80,
        parallelism: 1,
    },
];
const KEYS: u32 = 30;

fn job() -> JobGraph {
    let mut job = sum_job(&SOURCES, KEYS, 2);
    job.config.backend = BackendKind::RocksDb;
    job.config.state.incremental = true;
    job.config.storage = StorageKind::FileSystem {
        inline_threshold_bytes: 0,
    };
    job.config.restart = RestartStrategy::FixedDelay {
        attempts: 100,
        delay_ms: 10,
    };
    let checkpointing = &mut job.config.checkpointing;
    checkpointing.interval_ms = Some(200);
    checkpointing.max_concurrent = 2;
    checkpointing.tolerable_failed = 100;
    checkpointing.retained = 2;
    job
}

fn rig(job: &JobGraph, dir: &Path) -> Rig {
    Rig::with_storage(job, storage::open(&job.config, dir).unwrap())
}

fn names_in(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn shared_of(metadata: &CheckpointMetadata) -> BTreeSet<String> {
    let names = metadata.streams().filter_map(StreamHandle::shared_name);
    names.map(|name| format!("state-{name}")).collect()
}

/// Each retained checkpoint is whole.
fn check_retained(rig: &Rig) -> BTreeSet<String> {
    let mut needed = BTreeSet::new();
    for id in &rig.view().store {
        rig.storage.verify(*id).unwrap();
        needed.extend(shared_of(&rig.storage.read_metadata(*id).unwrap()));
    }
    needed
}

fn last_files(rig: &Rig) -> Vec<(CheckpointId, Vec<SharedUse>)> {
    files_used(rig.recording.events())
}

/// By checkpoint and subtask.
fn files_used(events: &[TraceEvent]) -> Vec<(CheckpointId, Vec<SharedUse>)> {
    let events = events.iter();
    events
        .filter_map(|event| match &event.kind {
            EventKind::SharedRegistered {
                checkpoint, files, ..
            } => Some((*checkpoint, files.clone())),
            _ => None,
        })
        .collect()
}

/// Breaks if files are deleted that one of the two needs, or if others stay.
#[test]
fn after_many_checkpoints_the_folder_holds_what_the_last_two_refer_to() {
    let mut job = job();
    // Long enough for each to end before the next.
    job.config.checkpointing.interval_ms = Some(500);
    for vertex in &mut job.vertices {
        if let lockgate::model::OperatorSpec::Source(source) = &mut vertex.operator {
            source.end = None;
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let mut rig = rig(&job, dir.path());
    let is_pending = |view: &View| {
        let mut all = view.checkpoints.values();
        all.any(|it| it.status == CheckpointStatus::Pending)
    };
    while rig.view().store.last().is_none_or(|last| last.0 < 20) || is_pending(rig.view()) {
        assert!(rig.step());
    }
    let needed = check_retained(&rig);
    assert_eq!(rig.view().store.len(), 2);
    assert!(
        needed.len() >= 4,
        "two subtasks with more than one file each"
    );
    assert_eq!(names_in(&dir.path().join(SHARED)), needed);
    let folders = names_in(dir.path());
    assert_eq!(
        folders
            .iter()
            .filter(|name| name.starts_with("chk-"))
            .count(),
        2
    );
    let uploads = last_files(&rig);
    let is_reuse = |(id, files): &(CheckpointId, Vec<SharedUse>)| {
        files.iter().any(|file| file.created_by < *id)
    };
    assert!(uploads.iter().any(is_reuse), "something is reused");
}

/// RocksDB's threads merge files while snapshots are taken and written. Breaks if a table is then taken for a file of the
/// checkpoint alone, or for none, if nothing is reused, or if a file that is referred to is not there. Twice: from the
/// last checkpoint of a live run another live run goes on.
#[test]
fn live_checkpoints_share_files_while_rocksdb_merges_them() {
    let source = |end| Source {
        rate_per_s: 20_000,
        end,
        parallelism: 1,
    };
    let job_with = |end| {
        let sum = sum_job(&[source(end)], 3_000, 2);
        let mut job = JobGraph {
            vertices: sum.vertices,
            edges: sum.edges,
            ..job()
        };
        job.config.state.compaction_trigger = 3;
        job.config.checkpointing.interval_ms = Some(10);
        job.config.checkpointing.retention = Retention::RetainOnCancellation;
        job
    };
    let run = |job: &JobGraph, dir: &Path, start, is_unpaced| {
        let storage = storage::open(&job.config, &dir.join("checkpoints")).unwrap();
        let resources = Resources {
            feeds: Feeds::new(),
            storage: storage.clone(),
            dir: dir.join("state"),
            start,
            savepoints: None,
        };
        let options = LiveOptions {
            until: Some(Duration::from_mins(1)),
            is_unpaced,
            ..LiveOptions::default()
        };
        let plan = Arc::new(ExecutionGraph::of(job));
        let outcome = live::run(&Arc::new(job.clone()), &plan, resources, options).unwrap();
        (storage, outcome)
    };
    let mut endless = job_with(100_000_000);
    endless.script = vec![ScriptEntry {
        when: When::Emitted {
            uid: Uid::new("s0"),
            records: 15_000,
        },
        command: Command::Stop,
    }];
    let dir = tempfile::tempdir().unwrap();
    let (storage, outcome) = run(&endless, &dir.path().join("1"), None, false);
    assert_eq!(outcome.status, JobStatus::Canceled);
    let used = files_used(&outcome.events);
    assert!(used.len() > 10, "{} snapshots of subtasks", used.len());
    let is_reuse = |(id, files): &(CheckpointId, Vec<SharedUse>)| {
        files.iter().any(|file| file.created_by < *id)
    };
    assert!(used.iter().any(is_reuse), "nothing was uploaded twice");
    let all: BTreeSet<&str> = used
        .iter()
        .flat_map(|(_, files)| files.iter().map(|file| &*file.name))
        .collect();
    assert!(all.len() > 10, "merges made new files");

    let retained = storage.list().unwrap();
    assert_eq!(retained.len(), 2);
    for id in &retained {
        storage.verify(*id).unwrap();
        let metadata = storage.read_metadata(*id).unwrap();
        for stream in metadata.streams() {
            let path = storage.path_of(stream).unwrap_or_default();
            let is_table = Path::new(&path).extension().is_some_and(|it| it == "sst");
            assert_eq!(is_table, path.starts_with(SHARED), "{path}");
        }
    }
    let start = StartPoint {
        storage,
        checkpoint: retained[1],
        claim: ClaimMode::NoClaim,
        allow_non_restored_state: false,
    };
    let last = job_with(80_000);
    let (_, outcome) = run(&last, &dir.path().join("2"), Some(start), true);
    assert_eq!(outcome.status, JobStatus::Finished);
    let sums = outcome.state.into_iter().flatten().flatten().collect();
    assert_eq!(
        expected_sums(&[source(80_000)], 3_000),
        sums,
        "{retained:?}"
    );
}

/// What a person might do to it.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Checkpoint,
    Compact,
    Crash(u32),
    Fault(FaultKind, u32),
    /// Return to the oldest retained one.
    RestoreOldest,
}

fn deed() -> impl Strategy<Value = Deed> {
    let kind = prop_oneof![
        Just(FaultKind::AsyncPart),
        Just(FaultKind::StorageError),
        Just(FaultKind::StorageSlow { by_ms: 300 }),
        Just(FaultKind::Metadata),
        Just(FaultKind::LoseNotification),
        Just(FaultKind::DelayNotification { by_ms: 250 }),
    ];
    prop_oneof![
        Just(Deed::Checkpoint),
        Just(Deed::Compact),
        (0..2_u32).prop_map(Deed::Crash),
        (kind, 0..2_u32).prop_map(|(kind, subtask)| Deed::Fault(kind, subtask)),
        Just(Deed::RestoreOldest),
    ]
}

fn command(deed: Deed, rig: &Rig) -> Command {
    let uid = Uid::new("sum");
    match deed {
        Deed::Checkpoint => Command::Checkpoint,
        Deed::Compact => Command::Compact { uid },
        Deed::Crash(subtask) => Command::Crash { uid, subtask },
        Deed::Fault(kind, subtask) => Command::Inject(Fault { kind, uid, subtask }),
        Deed::RestoreOldest => Command::Restore {
            checkpoint: rig.view().store.iter().min().copied(),
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Breaks if a lost notification, an abort, a crash or a merge of files costs more than uploads: if any retained
    /// checkpoint misses a file at any time, or the sums in the end are not those of a run without failures.
    #[test]
    fn whatever_happens_each_retained_checkpoint_is_whole(
        deeds in proptest::collection::vec((1..60_usize, deed()), 0..12),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = rig(&job(), dir.path());
        for (steps, deed) in deeds {
            for _ in 0..steps {
                rig.step();
            }
            let command = command(deed, &rig);
            rig.command(&command);
            check_retained(&rig);
        }
        while rig.step() {}
        let sums = rig.sums("sum");
        prop_assert_eq!(sums, expected_sums(&SOURCES, KEYS));
    }
}
