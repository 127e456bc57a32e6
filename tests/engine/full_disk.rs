//! A disk that is full, or may not be written to: the checkpoint comes to nothing and says why, and the job goes on.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use lockgate::engine::event::{AbortReason, EventKind, JobStatus};
use lockgate::engine::storage::{self, CheckpointStorage, SHARED};
use lockgate::model::{BackendKind, CheckpointId, JobGraph, StorageKind};
use lockgate::recording::view::CheckpointStatus;

use crate::failing::{FailingStorage, Trouble};
use crate::rig::{Rig, Source, expected_sums, sum_job};

const SOURCES: [Source; 1] = [Source {
    rate_per_s: 50,
    end: 120,
    parallelism: 1,
}];
const KEYS: u32 = 20;

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A stream for each subtask, then the metadata.
    Heap,
    /// Shared files, others, then the metadata.
    Incremental,
    /// All of it in the JobManager's heap.
    JobManager,
}

const KINDS: [Kind; 3] = [Kind::Heap, Kind::Incremental, Kind::JobManager];

fn job(kind: Kind) -> JobGraph {
    let mut job = sum_job(&SOURCES, KEYS, 2);
    job.config.storage = match kind {
        Kind::JobManager => StorageKind::JobManager,
        Kind::Heap | Kind::Incremental => StorageKind::FileSystem {
            inline_threshold_bytes: 0,
        },
    };
    if matches!(kind, Kind::Incremental) {
        job.config.backend = BackendKind::RocksDb;
        job.config.state.incremental = true;
    }
    job.config.checkpointing.tolerable_failed = 1;
    job
}

fn failing(job: &JobGraph, dir: &Path) -> (Rig, Arc<FailingStorage>) {
    let storage = FailingStorage::around(storage::open(&job.config, dir).unwrap());
    let mut rig = Rig::with_storage(job, storage.clone());
    rig.run_until(|view| view.state_changes >= 20);
    (rig, storage)
}

const FULL: Trouble = Trouble {
    room_bytes: Some(0),
    is_read_only: false,
    unreadable_from: None,
    keeps_files: false,
};

/// Take a checkpoint and see what becomes of it.
fn outcome(rig: &mut Rig) -> (CheckpointId, CheckpointStatus) {
    let last = rig.view().checkpoints.keys().next_back().copied();
    rig.checkpoint();
    let id = *rig.view().checkpoints.keys().next_back().unwrap();
    assert_ne!(last, Some(id), "it has begun");
    rig.run_until(|view| view.checkpoints[&id].status != CheckpointStatus::Pending);
    (id, rig.view().checkpoints[&id].status)
}

/// What the disk is said to have said of `checkpoint`.
fn reasons(rig: &Rig, id: CheckpointId) -> Vec<String> {
    let events = rig.recording.events().iter();
    events
        .filter_map(|event| match &event.kind {
            EventKind::SnapshotFailed {
                checkpoint, reason, ..
            }
            | EventKind::StorageFailed { checkpoint, reason }
                if *checkpoint == id =>
            {
                Some(reason.clone())
            }
            _ => None,
        })
        .collect()
}

fn paths(storage: &dyn CheckpointStorage) -> BTreeSet<String> {
    let files = storage.stored_files().unwrap();
    files.into_iter().map(|file| file.path).collect()
}

/// What the completed checkpoints need.
fn needed(storage: &dyn CheckpointStorage) -> BTreeSet<String> {
    let mut needed = BTreeSet::new();
    for id in storage.list().unwrap() {
        storage.verify(id).unwrap();
        let metadata = storage.read_metadata(id).unwrap();
        needed.extend(
            metadata
                .streams()
                .filter_map(|stream| storage.path_of(stream)),
        );
        needed.insert(format!("chk-{id}/_metadata"));
    }
    needed
}

/// Once there is room again, a checkpoint is complete, and nothing is there that it does not need.
fn assert_recovers(mut rig: Rig, storage: &FailingStorage) {
    storage.set(Trouble::default());
    assert_eq!(outcome(&mut rig).1, CheckpointStatus::Completed);
    assert_eq!(paths(storage), needed(storage));
    rig.crash("sum", 0);
    rig.restore();
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    assert_eq!(rig.sums("sum"), expected_sums(&SOURCES, KEYS));
}

/// What the first checkpoint of the job writes, and what of that is its metadata, in bytes.
fn sizes(job: &JobGraph) -> (u64, u64) {
    let dir = tempfile::tempdir().unwrap();
    let (mut rig, storage) = failing(job, dir.path());
    storage.set(Trouble {
        room_bytes: Some(u64::MAX),
        ..FULL
    });
    assert_eq!(outcome(&mut rig).1, CheckpointStatus::Completed);
    let files = storage.stored_files().unwrap();
    let metadata = files.iter().find(|file| file.path == "chk-1/_metadata");
    let written = u64::MAX - storage.room_bytes().unwrap();
    (written, metadata.unwrap().size_bytes)
}

/// The disk fills up somewhere in a checkpoint: with its first byte, its last, and in between.
///
/// Breaks if a write that fails is taken for a good one, if it fails the job, if it is not told why, or if what was
/// written before it stays.
#[test]
fn wherever_the_disk_is_full_the_checkpoint_is_given_up_and_the_job_goes_on() {
    for kind in KINDS {
        let job = job(kind);
        let mut seen = BTreeSet::new();
        let (all_bytes, metadata_bytes) = sizes(&job);
        let parts = (0..8).map(|eighth| all_bytes * eighth / 8);
        for room_bytes in parts.chain([all_bytes - metadata_bytes / 2]) {
            let dir = tempfile::tempdir().unwrap();
            let (mut rig, storage) = failing(&job, dir.path());
            storage.set(Trouble {
                room_bytes: Some(room_bytes),
                ..FULL
            });
            let (id, status) = outcome(&mut rig);
            let CheckpointStatus::Aborted(reason) = status else {
                panic!("{status:?} with room for {room_bytes} bytes of {all_bytes}");
            };
            seen.insert(reason.name());
            let said = reasons(&rig, id);
            assert!(!said.is_empty(), "{reason:?}");
            for said in said {
                assert!(said.contains("no storage space"), "{said}");
                assert!(said.contains("Check that the disk has room"), "{said}");
            }
            assert_eq!(rig.view().job, JobStatus::Running);
            let left = paths(&*storage);
            assert!(left.iter().all(|path| path.starts_with(SHARED)), "{left:?}");
            assert_recovers(rig, &storage);
        }
        let all = [AbortReason::AsyncException, AbortReason::FinalizeFailure];
        assert_eq!(seen, all.map(AbortReason::name).into(), "{kind:?}");
    }
}

/// Breaks if such failures are not counted, or if one that was made good still counts.
#[test]
fn a_full_disk_is_tolerated_as_often_as_the_job_says() {
    for kind in KINDS {
        for trouble in [
            FULL,
            Trouble {
                room_bytes: None,
                is_read_only: true,
                ..FULL
            },
        ] {
            let dir = tempfile::tempdir().unwrap();
            let (mut rig, storage) = failing(&job(kind), dir.path());
            storage.set(trouble);
            outcome(&mut rig);
            assert_eq!(rig.view().job, JobStatus::Running);
            storage.set(Trouble::default());
            assert_eq!(outcome(&mut rig).1, CheckpointStatus::Completed);
            storage.set(trouble);
            outcome(&mut rig);
            assert_eq!(rig.view().job, JobStatus::Running, "the count began again");
            outcome(&mut rig);
            assert!(
                matches!(rig.view().job, JobStatus::Restarting { .. }),
                "one too many"
            );
            assert_eq!(
                rig.view().store,
                [CheckpointId(2)],
                "what was complete stays"
            );
            storage.set(Trouble::default());
            rig.restore();
            rig.run_to_end();
            assert_eq!(rig.sums("sum"), expected_sums(&SOURCES, KEYS));
        }
    }
}

/// Nothing can be begun there (Flink: `IO_EXCEPTION`). Breaks if the barriers go out for a checkpoint that has no place.
#[test]
fn where_nothing_may_be_written_no_checkpoint_begins() {
    for kind in KINDS {
        let dir = tempfile::tempdir().unwrap();
        let (mut rig, storage) = failing(&job(kind), dir.path());
        storage.set(Trouble {
            is_read_only: true,
            ..Trouble::default()
        });
        let (id, status) = outcome(&mut rig);
        assert_eq!(status, CheckpointStatus::Aborted(AbortReason::IoException));
        let said = reasons(&rig, id);
        assert_eq!(said.len(), 1);
        assert!(said[0].contains("read-only"), "{said:?}");
        assert_eq!(paths(&*storage), BTreeSet::new());
        let barrier = |event: &EventKind| matches!(event, EventKind::SnapshotStarted { .. });
        assert!(
            !rig.recording
                .events()
                .iter()
                .any(|event| barrier(&event.kind))
        );
        assert_recovers(rig, &storage);
    }
}

/// What cannot be removed is told, and shared files are removed with the next ones. Breaks if such a failure is swallowed,
/// if it stops the job, or if the files are forgotten.
#[test]
fn what_cannot_be_removed_is_told_and_shared_files_go_later() {
    let dir = tempfile::tempdir().unwrap();
    let mut job = job(Kind::Incremental);
    job.config.state.compaction_trigger = 2;
    let (mut rig, storage) = failing(&job, dir.path());
    assert_eq!(outcome(&mut rig).1, CheckpointStatus::Completed);
    storage.set(Trouble {
        keeps_files: true,
        ..Trouble::default()
    });
    let uid = lockgate::model::Uid::new("sum");
    rig.command(&lockgate::model::Command::Compact { uid });
    assert_eq!(outcome(&mut rig).1, CheckpointStatus::Completed);
    let told = |wanted: fn(&EventKind) -> Option<&String>| {
        let events = rig.recording.events().iter();
        let reasons = events.filter_map(|event| wanted(&event.kind));
        reasons.cloned().collect::<Vec<String>>()
    };
    let own = told(|event| match event {
        EventKind::DiscardFailed { reason, .. } => Some(reason),
        _ => None,
    });
    let shared = told(|event| match event {
        EventKind::SharedDiscardFailed { reason } => Some(reason),
        _ => None,
    });
    for reasons in [own, shared] {
        assert_eq!(reasons.len(), 1, "{reasons:?}");
        assert!(reasons[0].contains("could not remove"), "{reasons:?}");
        assert!(
            !reasons[0].contains(dir.path().to_str().unwrap()),
            "{reasons:?}"
        );
    }
    assert_eq!(rig.view().job, JobStatus::Running);
    assert_eq!(rig.view().store, [CheckpointId(2)]);
    let is_shared = |path: &String| path.starts_with(SHARED);
    let unused = |storage: &FailingStorage| {
        let latest = *storage.list().unwrap().last().unwrap();
        let metadata = storage.read_metadata(latest).unwrap();
        let used: BTreeSet<String> = metadata
            .streams()
            .filter_map(|stream| storage.path_of(stream))
            .collect();
        let shared = paths(storage).into_iter().filter(is_shared);
        shared.filter(|path| !used.contains(path)).count()
    };
    assert!(
        unused(&storage) > 0,
        "the compaction has made new files of all"
    );
    storage.set(Trouble::default());
    assert_eq!(outcome(&mut rig).1, CheckpointStatus::Completed);
    assert_eq!(unused(&storage), 0);
    rig.run_to_end();
    assert_eq!(rig.sums("sum"), expected_sums(&SOURCES, KEYS));
}

/// A real file system: while the checkpoint is being written, its folder is put away and a file takes its place, so that
/// nothing can be made there, whoever asks.
#[test]
fn a_folder_that_is_none_any_more_fails_the_checkpoint_alone() {
    for kind in [Kind::Heap, Kind::Incremental] {
        for is_begun in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let (root, aside) = (dir.path().join("root"), dir.path().join("aside"));
            let job = job(kind);
            let mut rig = Rig::with_storage(&job, storage::open(&job.config, &root).unwrap());
            rig.run_until(|view| view.state_changes >= 20);
            let put_away = || {
                fs::rename(&root, &aside).unwrap();
                fs::write(&root, "a file").unwrap();
            };
            if is_begun {
                rig.checkpoint();
                put_away();
            } else {
                put_away();
                rig.checkpoint();
            }
            let id = CheckpointId(1);
            rig.run_until(|view| view.checkpoints[&id].status != CheckpointStatus::Pending);
            let status = rig.view().checkpoints[&id].status;
            let expected = if is_begun {
                AbortReason::AsyncException
            } else {
                AbortReason::IoException
            };
            assert_eq!(status, CheckpointStatus::Aborted(expected));
            let said = reasons(&rig, id);
            assert!(!said.is_empty());
            let named = root.to_str().unwrap();
            assert!(said.iter().all(|said| !said.contains(named)), "{said:?}");
            assert_eq!(rig.view().job, JobStatus::Running);
            fs::remove_file(&root).unwrap();
            fs::rename(&aside, &root).unwrap();
            assert_eq!(outcome(&mut rig).1, CheckpointStatus::Completed);
            rig.run_to_end();
            assert_eq!(rig.sums("sum"), expected_sums(&SOURCES, KEYS));
        }
    }
}
