//! What begins ends: checkpoints, late writers, folders. Nothing is left over.

use std::fs;
use std::sync::Barrier;
use std::thread;

use lockgate::engine::storage::{CheckpointStorage, FileSystemStorage, StorageError};
use lockgate::model::{BackendKind, CheckpointId, Decimal, Key};
use proptest::prelude::*;

use crate::support::{CP1, CP2, PLACES, Place, World, files_in, fill, metadata, names_in};

/// Catches a checkpoint that stays open and listed since something is in the place where it would go.
#[test]
fn a_checkpoint_is_closed_whatever_an_earlier_discard_has_left() {
    let dir = tempfile::tempdir().unwrap();
    let storage = FileSystemStorage::create(&dir.path().join("checkpoints"), 0).unwrap();
    let id = CheckpointId(1);
    fs::write(
        storage.location().unwrap().join(".discarded-1"),
        "in the way",
    )
    .unwrap();
    storage.begin(id).unwrap();
    storage.discard(id).unwrap();
    assert!(storage.write_stream(id, "late", b"late").is_err());
    assert_eq!(storage.list().unwrap(), []);
}

/// Catches a discard that forgets a file, or that fails the second time.
#[test]
fn discard_leaves_nothing_and_may_be_repeated() {
    for kind in BackendKind::ALL {
        for place in PLACES {
            let mut world = World::new(place);
            let mut backend = world.open(kind);
            fill(&mut backend);
            world.checkpoint(&mut backend, CP1);
            world.checkpoint(&mut backend, CP2);
            assert_eq!(world.storage.list().unwrap(), [CP1, CP2]);
            assert!(world.storage.stored_bytes(CP1).unwrap() > backend.size_bytes());

            for _ in 0..2 {
                world.storage.discard(CP1).unwrap();
                assert_eq!(world.storage.list().unwrap(), [CP2]);
                assert!(world.storage.stored_bytes(CP1).is_err());
                world.storage.verify(CP2).unwrap();
            }
            world.storage.discard(CP2).unwrap();
            assert!(names_in(&world.checkpoints()).is_empty());
        }
    }
}

/// The size that is reported is that of the files.
#[test]
fn stored_bytes_are_measured() {
    for kind in BackendKind::ALL {
        let mut world = World::new(Place::Files);
        let mut backend = world.open(kind);
        fill(&mut backend);
        let handle = world.checkpoint(&mut backend, CP1);
        let on_disk: u64 = files_in(&world.checkpoints())
            .iter()
            .map(|file| file.metadata().unwrap().len())
            .sum();
        let in_metadata = world
            .checkpoints()
            .join("chk-1/_metadata")
            .metadata()
            .unwrap();
        assert_eq!(world.storage.stored_bytes(CP1).unwrap(), on_disk);
        assert_eq!(handle.stored_bytes() + in_metadata.len(), on_disk);
    }
}

/// A subtask that is late with its asynchronous part gets an error and need do nothing.
///
/// Catches a write that makes the folder again, or inline state that is handed out for a checkpoint that is gone.
#[test]
fn a_late_write_for_a_discarded_checkpoint_leaks_nothing() {
    for kind in BackendKind::ALL {
        for place in PLACES {
            let mut world = World::new(place);
            let mut backend = world.open(kind);
            fill(&mut backend);
            world.storage.begin(CP1).unwrap();
            let snapshot = backend.snapshot(CP1).unwrap();
            world.storage.discard(CP1).unwrap();
            let error = snapshot
                .write((CP1, None), "sum-0", world.storage.as_ref())
                .unwrap_err();
            assert!(matches!(error, StorageError::NotOpen { checkpoint: CP1 }));
            drop(backend);
            assert!(names_in(&world.checkpoints()).is_empty());
            assert!(names_in(&world.work()).is_empty());
        }
    }
}

/// The same when both happen at once. Catches a discard that empties a folder into which others still write.
#[test]
fn discarding_while_writing_leaks_nothing() {
    let world = World::new(Place::Files);
    let storage = world.storage.as_ref();
    for number in 1..=30 {
        let checkpoint = CheckpointId(number);
        storage.begin(checkpoint).unwrap();
        // Enough to remove that the writers are not done before.
        for file in 0..300 {
            let name = format!("chk-{checkpoint}/filler-{file}");
            fs::write(world.checkpoints().join(name), "").unwrap();
        }
        let writers_ready = Barrier::new(3);
        thread::scope(|scope| {
            for writer in 0..2 {
                let writers_ready = &writers_ready;
                scope.spawn(move || {
                    writers_ready.wait();
                    for stream in 0..1_000 {
                        let name = format!("sum-{writer}.{stream}");
                        match storage.write_stream(checkpoint, &name, b"state") {
                            Ok(_) => {}
                            Err(StorageError::NotOpen { .. }) => break,
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
            writers_ready.wait();
            storage.discard(checkpoint).unwrap();
        });
        assert!(names_in(&world.checkpoints()).is_empty());
    }
}

/// Catches a second stream that silently takes the place of the first, and a failed write that leaves its half.
#[test]
fn no_two_streams_share_a_name() {
    for place in PLACES {
        let world = World::new(place);
        world.storage.begin(CP1).unwrap();
        let first = world.storage.write_stream(CP1, "sum-0", b"one").unwrap();
        let files = files_in(&world.checkpoints());
        let second = world.storage.write_stream(CP1, "sum-0", b"two");
        // What lies in its handle cannot take another's place.
        assert_eq!(second.is_err(), matches!(place, Place::Files));
        assert_eq!(files_in(&world.checkpoints()), files);
        assert_eq!(world.storage.read_stream(&first).unwrap(), b"one");
    }
}

/// Also when the subtask dies between the two parts. Catches a snapshot or database without an owner.
#[test]
fn a_snapshot_that_is_never_written_leaves_no_folder() {
    for kind in BackendKind::ALL {
        let mut world = World::new(Place::Files);
        let mut backend = world.open(kind);
        fill(&mut backend);
        let snapshot = backend.snapshot(CP1).unwrap();
        let with_both = names_in(&world.work()).len();
        assert_eq!(with_both, if kind == BackendKind::RocksDb { 2 } else { 0 });
        drop(backend);
        assert_eq!(names_in(&world.work()).len(), with_both / 2);
        drop(snapshot);
        assert!(names_in(&world.work()).is_empty());
    }
}

/// Catches snapshots that pile up beside a database that runs for long.
#[test]
fn a_written_snapshot_leaves_no_folder() {
    let mut world = World::new(Place::Files);
    let mut backend = world.open(BackendKind::RocksDb);
    for number in 1..=10 {
        fill(&mut backend);
        world.checkpoint(&mut backend, CheckpointId(number));
    }
    assert_eq!(names_in(&world.work()).len(), 1);
    let expected: Vec<_> = (1..=10).map(CheckpointId).collect();
    assert_eq!(world.storage.list().unwrap(), expected, "in order of age");
}

/// Catches a restore that leaves its folder when it fails.
#[test]
fn a_failed_restore_leaves_no_folder() {
    let mut world = World::new(Place::Files);
    let mut backend = world.open(BackendKind::RocksDb);
    fill(&mut backend);
    let handle = world.checkpoint(&mut backend, CP1);
    drop(backend);
    world.storage.discard(CP1).unwrap();
    world.restore(BackendKind::RocksDb, &handle).unwrap_err();
    assert!(names_in(&world.work()).is_empty());
}

#[test]
fn an_id_is_begun_once_and_completed_once() {
    for place in PLACES {
        let mut world = World::new(place);
        let mut backend = world.open(BackendKind::Heap);
        let handle = world.checkpoint(&mut backend, CP1);
        let error = world.storage.begin(CP1).unwrap_err();
        assert!(matches!(error, StorageError::AlreadyBegun { .. }));
        let again = world
            .storage
            .write_metadata(&metadata(CP1, &handle))
            .unwrap_err();
        assert!(
            matches!(again, StorageError::AlreadyWritten { .. }),
            "{again}"
        );
        let unbegun = world
            .storage
            .write_metadata(&metadata(CP2, &handle))
            .unwrap_err();
        assert!(matches!(unbegun, StorageError::NotOpen { .. }), "{unbegun}");
        world.storage.verify(CP1).unwrap();
    }
}

/// A uid may hold anything. Catches names that leave the folder, and names that become the same file.
#[test]
fn any_owner_name_is_safe() {
    let owners = [
        "../../escape-0",
        "/etc/passwd-0",
        "a/b-0",
        "a\\b-0",
        "a%2fb-0",
        "Sum-0",
        "sum-0",
        "..",
        ".",
        "",
        "_metadata",
        "Größe ☁-0",
        "nul\0-0",
    ];
    let long = [
        format!("{}-0", "x".repeat(400)),
        format!("{}-1", "x".repeat(400)),
    ];
    let owners: Vec<_> = owners
        .into_iter()
        .chain(long.iter().map(String::as_str))
        .collect();
    let mut world = World::new(Place::Files);
    world.storage.begin(CP1).unwrap();
    let mut handles = Vec::new();
    for (owner, value) in owners.iter().zip(1_i64..) {
        let mut backend = world.open(BackendKind::Heap);
        backend.add(&Key::int(0), value.into()).unwrap();
        let snapshot = backend.snapshot(CP1).unwrap();
        handles.push(
            snapshot
                .write((CP1, None), owner, world.storage.as_ref())
                .unwrap(),
        );
    }
    for (handle, value) in handles.iter().zip(1_i64..) {
        let restored = world.restore(BackendKind::Heap, handle).unwrap();
        assert_eq!(restored.entries().unwrap(), [(Key::int(0), value.into())]);
    }
    assert_eq!(names_in(&world.checkpoints()), ["chk-1"]);
    assert_eq!(
        names_in(&world.checkpoints().join("chk-1")).len(),
        owners.len()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Streams come back byte for byte, inline and in files, right at the threshold too.
    #[test]
    fn a_stream_comes_back_as_it_was(bytes in proptest::collection::vec(any::<u8>(), 0..64), threshold in 0..64_u32) {
        let folder = tempfile::tempdir().unwrap();
        let config = lockgate::model::JobConfig {
            storage: lockgate::model::StorageKind::FileSystem { inline_threshold_bytes: threshold },
            ..lockgate::model::JobConfig::default()
        };
        let storage = lockgate::engine::storage::open(&config, folder.path()).unwrap();
        storage.begin(CP1).unwrap();
        let handle = storage.write_stream(CP1, "sum-0", &bytes).unwrap();
        prop_assert_eq!(storage.read_stream(&handle).unwrap(), &bytes[..]);
        // Law 23: at or below the threshold there is no data file.
        let inline = bytes.len() <= threshold as usize;
        prop_assert_eq!(files_in(folder.path()).is_empty(), inline);
    }
}

/// Many keys: several files' worth, compactions in between.
#[test]
fn a_larger_state_comes_back() {
    for kind in BackendKind::ALL {
        let mut world = World::new(Place::Files);
        let mut backend = world.open(kind);
        for round in 1..=6 {
            for value in 0..3_000 {
                backend.add(&Key::int(value), Decimal::ONE).unwrap();
            }
            world.checkpoint(&mut backend, CheckpointId(round));
        }
        let handle = world.checkpoint(&mut backend, CheckpointId(7));
        let restored = world.restore(kind, &handle).unwrap();
        assert_eq!(restored.entries().unwrap(), backend.entries().unwrap());
        assert_eq!(restored.size_bytes(), 3_000 * 21);
    }
}
