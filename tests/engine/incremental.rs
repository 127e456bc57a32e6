//! Incremental checkpoints of a whole job, on disk: what is uploaded, what is kept, what a restore gives back.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use lockgate::engine::event::{EventKind, SharedUse};
use lockgate::engine::storage::{self, CheckpointMetadata, SHARED, StreamHandle};
use lockgate::model::{
    BackendKind, CheckpointId, Command, Fault, FaultKind, JobGraph, RestartStrategy, StorageKind,
    Uid,
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
    let events = rig.recording.events().iter();
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
