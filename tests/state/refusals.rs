//! What a backend or storage must not accept, each with a sentence that says what to do.

use std::fs;
use std::path::Path;

use lockgate::engine::state::{KeyedBackend, StateError};
use lockgate::engine::storage::{
    CheckpointStorage, KeyedStateHandle, MemoryStorage, StorageError, StreamHandle,
};
use lockgate::model::key_group::{key_group, key_group_range};
use lockgate::model::{BackendKind, Decimal, Key};

use crate::support::{CP1, MAX_PARALLELISM, PLACES, Place, World, fill, names_in};

/// Law 23: more than 5 MiB in one stream does not fit the JobManager's heap. Catches a limit that is not asked, or is
/// off by one.
#[test]
fn an_oversize_stream_is_refused_by_the_job_manager() {
    let storage = MemoryStorage::default();
    storage.begin(CP1).unwrap();
    let limit = 5 * 1024 * 1024;
    storage.write_stream(CP1, "sum-0", &vec![0; limit]).unwrap();
    let error = storage
        .write_stream(CP1, "sum-1", &vec![0; limit + 1])
        .unwrap_err();
    assert!(matches!(error, StorageError::Oversize { .. }));
    assert_eq!(
        error.to_string(),
        "the state sum-1 is 5242881 bytes; the JobManager's heap takes at most 5242880 in one piece. \
         Choose the file system as checkpoint storage"
    );
}

/// Catches a restore that starts empty when it does not understand.
#[test]
fn a_native_snapshot_does_not_change_backends() {
    for (taken, wanted) in [
        (BackendKind::Heap, BackendKind::RocksDb),
        (BackendKind::RocksDb, BackendKind::Heap),
    ] {
        for place in PLACES {
            let mut world = World::new(place);
            let mut backend = world.open(taken);
            fill(&mut backend);
            let handle = world.checkpoint(&mut backend, CP1);
            drop(backend);
            let error = world.restore(wanted, &handle).unwrap_err();
            let sentence = error.to_string();
            assert!(
                sentence.contains("only a canonical savepoint could change backends"),
                "{sentence}"
            );
            assert!(names_in(&world.work()).is_empty());
        }
    }
}

/// Law 28, for one subtask: it holds the keys of its own groups and no other. Catches state kept where no rescale would
/// look for it.
#[test]
fn another_subtasks_key_is_refused() {
    for kind in BackendKind::ALL {
        let world = World::new(Place::JobManager);
        let range = key_group_range(1, 2, MAX_PARALLELISM);
        let mut backend = KeyedBackend::open(
            kind,
            &world.work().join("sum-1"),
            MAX_PARALLELISM,
            range.clone(),
        )
        .unwrap();
        for value in 0..100 {
            let key = Key::int(value);
            let ours = range.contains(&key_group(&key, MAX_PARALLELISM));
            let added = backend.add(&key, Decimal::ONE);
            assert_eq!(added.is_ok(), ours);
            if let Err(error) = added {
                assert!(matches!(error, StateError::ForeignKey { .. }));
            }
        }
    }
}

/// Catches a restore with another max parallelism that silently drops or misplaces keys.
#[test]
fn a_key_in_another_group_is_refused() {
    for kind in BackendKind::ALL {
        let mut world = World::new(Place::JobManager);
        let mut backend = world.open(kind);
        for value in 0..50 {
            backend.add(&Key::int(value), Decimal::ONE).unwrap();
        }
        let handle = world.checkpoint(&mut backend, CP1);
        let max = 2 * MAX_PARALLELISM;
        let error = KeyedBackend::restore(
            kind,
            &world.fresh_dir(),
            max,
            0..=max - 1,
            &[&handle],
            world.storage.as_ref(),
        )
        .unwrap_err();
        assert!(matches!(error, StateError::Malformed { .. }), "{error}");
    }
}

#[test]
fn absurd_key_groups_are_refused() {
    for kind in BackendKind::ALL {
        let world = World::new(Place::JobManager);
        for (max, groups) in [(0, 0..=0), (6, 0..=6), (6, 7..=9), (32_769, 0..=5)] {
            let error = KeyedBackend::open(kind, &world.work().join("x"), max, groups).unwrap_err();
            assert!(matches!(error, StateError::BadKeyGroups { .. }));
        }
    }
}

/// More subtasks than key groups: the rest own none, in Flink too.
#[test]
fn a_subtask_without_key_groups_works() {
    for kind in BackendKind::ALL {
        let world = World::new(Place::Files);
        let none = key_group_range(0, 1, 1).end() + 1..=0;
        let dir = world.work().join("idle");
        let mut backend = KeyedBackend::open(kind, &dir, 1, none.clone()).unwrap();
        assert!(backend.add(&Key::int(1), Decimal::ONE).is_err());
        let handle = world.checkpoint(&mut backend, CP1);
        drop(backend);
        let storage = world.storage.as_ref();
        let restored = KeyedBackend::restore(kind, &dir, 1, none, &[&handle], storage).unwrap();
        assert!(restored.entries().unwrap().is_empty());
    }
}

/// Catches a second attempt that would work in the first one's database.
#[test]
fn a_used_folder_is_refused_and_kept() {
    let world = World::new(Place::JobManager);
    let dir = world.work().join("sum-0");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("precious"), "data").unwrap();
    let error = KeyedBackend::open(BackendKind::RocksDb, &dir, 6, 0..=5).unwrap_err();
    assert!(matches!(error, StateError::FolderExists { .. }));
    assert_eq!(names_in(&dir), ["precious"]);
}

/// Catches an empty database in place of an incomplete one, and a file name that leaves the folder.
#[test]
fn rocksdb_files_must_be_whole_and_plain() {
    let mut world = World::new(Place::JobManager);
    let mut backend = world.open(BackendKind::RocksDb);
    fill(&mut backend);
    let KeyedStateHandle::RocksDb {
        first_group,
        group_count,
        private: files,
        ..
    } = world.checkpoint(&mut backend, CP1)
    else {
        panic!("a RocksDB handle");
    };
    let handle = |private| KeyedStateHandle::RocksDb {
        first_group,
        group_count,
        shared: Vec::new(),
        private,
        timers: None,
    };
    for missing in 0..files.len() {
        let name = &files[missing].0;
        if name.starts_with("OPTIONS") || Path::new(name).extension() == Some("log".as_ref()) {
            continue; // RocksDB opens without them; the log is empty, as nothing is written to it.
        }
        let mut files = files.clone();
        files.remove(missing);
        let error = world
            .restore(BackendKind::RocksDb, &handle(files))
            .unwrap_err();
        assert!(matches!(error, StateError::RocksDb { .. }), "{error}");
    }
    let none = handle(Vec::new());
    let error = world.restore(BackendKind::RocksDb, &none).unwrap_err();
    assert!(matches!(error, StateError::RocksDb { .. }), "{error}");
    for path in ["../stray", "/tmp/stray", "a/b", "..", ""] {
        let mut files = files.clone();
        files[0].0 = path.to_owned();
        let error = world
            .restore(BackendKind::RocksDb, &handle(files))
            .unwrap_err();
        assert!(matches!(error, StateError::Malformed { .. }), "{error}");
    }
}

/// The bytes of a heap stream are checked again where they mean something. Catches a decoder that trusts offsets.
#[test]
fn nonsense_key_groups_are_refused() {
    let mut world = World::new(Place::JobManager);
    let mut backend = world.open(BackendKind::Heap);
    fill(&mut backend);
    let KeyedStateHandle::KeyGroups {
        stream: StreamHandle::Inline(bytes),
        offsets,
    } = world.checkpoint(&mut backend, CP1)
    else {
        panic!("an inline heap handle");
    };
    let mut restore = |bytes: &[u8], offsets: &[(u32, u64)]| {
        let handle = KeyedStateHandle::KeyGroups {
            stream: StreamHandle::Inline(bytes.into()),
            offsets: offsets.to_vec(),
        };
        world.restore(BackendKind::Heap, &handle)
    };
    assert!(restore(&bytes, &offsets).is_ok());
    assert!(restore(&bytes, &[(0, u64::MAX)]).is_err());
    assert!(restore(&bytes, &[offsets.clone(), offsets.clone()].concat()).is_err());
    for cut in 0..bytes.len() {
        assert!(restore(&bytes[..cut], &offsets).is_err());
    }
    for at in 0..bytes.len() {
        let mut bad = bytes.to_vec();
        bad[at] ^= 0x80;
        let _ = restore(&bad, &offsets); // refused or other sums, but no panic
    }
}

/// A handle from a folder means nothing to the JobManager's heap.
#[test]
fn a_file_handle_is_refused_by_the_job_manager() {
    let mut world = World::new(Place::Files);
    let mut backend = world.open(BackendKind::Heap);
    fill(&mut backend);
    let handle = world.checkpoint(&mut backend, CP1);
    world.storage = Box::new(MemoryStorage::default());
    let error = world.restore(BackendKind::Heap, &handle).unwrap_err();
    assert!(
        error.to_string().contains("Choose the file system"),
        "{error}"
    );
}
