//! What cleans up state that has expired, and what does not; and snapshots of before there was any.

use std::time::{Duration, Instant};

use lockgate::engine::state::{BackendSetup, KeyedBackend, KeyedState, StateDescriptor, StateId};
use lockgate::engine::storage::{KeyedStateHandle, StreamHandle};
use lockgate::model::{
    BackendKind, CheckpointId, Decimal, Key, SavepointFormat, StateOptions, TtlSpec, TtlUpdate,
    TtlVisibility,
};

use crate::support::{CP1, MAX_PARALLELISM, Place, World, fill, keys};

fn descriptor(ttl: TtlSpec) -> StateDescriptor {
    StateDescriptor {
        id: StateId::Max,
        ttl: Some(ttl),
    }
}

/// So many keys, used at 0 ms.
fn filled(world: &mut World, kind: BackendKind, ttl: TtlSpec, count: i32) -> KeyedBackend {
    let mut backend = world.open(kind);
    backend.declare(descriptor(ttl)).unwrap();
    for key in 0..count {
        touch(&mut backend, ttl, (key, 0));
    }
    backend
}

fn touch(backend: &mut KeyedBackend, ttl: TtlSpec, (key, now_ms): (i32, u64)) -> usize {
    let key = Key::int(key);
    let mut state = KeyedState::new(backend, descriptor(ttl), (&key, now_ms));
    let take_new = |_, new| Ok(new);
    state.as_reducing().add(Decimal::ONE, take_new).unwrap();
    state.into_cleaned().len()
}

fn count(backend: &KeyedBackend) -> usize {
    backend.contents().unwrap().len()
}

/// Flink: `cleanupIncrementally(5, false)`. Breaks if an access looks at four or six, or begins anew each time.
#[test]
fn each_access_to_the_heap_looks_at_five_cells() {
    let ttl = TtlSpec::new(10);
    let mut world = World::new(Place::JobManager);
    // As many as there are, all of them old: what an access looks at goes.
    let mut heap = filled(&mut world, BackendKind::Heap, ttl, 100);
    for access in 1..=10 {
        assert_eq!(touch(&mut heap, ttl, (1000, 10)), 5, "access {access}");
        assert_eq!(count(&heap), 100 + 1 - 5 * access);
    }
    // Where all live, a walk through so many takes so many accesses: then the one that is old is found once.
    let mut heap = filled(&mut world, BackendKind::Heap, ttl, 1);
    for key in 1..100 {
        touch(&mut heap, ttl, (key, 9));
    }
    let cleaned: usize = (0..21).map(|_| touch(&mut heap, ttl, (50, 10))).sum();
    assert_eq!((cleaned, count(&heap)), (1, 99));
}

/// Breaks if RocksDB does the same as the heap, or does not when it compacts.
#[test]
fn rocksdb_cleans_up_when_it_compacts() {
    let ttl = TtlSpec::new(10);
    let mut world = World::new(Place::JobManager);
    let mut rocks = filled(&mut world, BackendKind::RocksDb, ttl, 20);
    assert_eq!(touch(&mut rocks, ttl, (99, 10)), 0);
    assert_eq!(count(&rocks), 21);
    rocks.compact(9).unwrap();
    assert_eq!(count(&rocks), 21, "nothing has expired at 9 ms");
    let compaction = rocks.compact(10).unwrap().unwrap();
    assert_eq!(compaction.cleaned.len(), 20);
    assert_eq!(count(&rocks), 1);
    assert_eq!(rocks.table_files().unwrap().len(), 1);
    assert_eq!(
        rocks.table_files().unwrap()[0].deletions,
        0,
        "no trace is left"
    );
}

/// In a live run RocksDB compacts when it sees fit, on its own threads. Breaks if it keeps what has expired then, whole or
/// at the beginning of a list; if it takes anything else; or if the size is computed from what has gone so, in which case
/// it falls below zero.
#[test]
fn rocksdb_cleans_up_in_compactions_of_its_own() {
    for id in [StateId::Max, StateId::LastN] {
        let ttl = TtlSpec::new(10);
        let descriptor = StateDescriptor { id, ttl: Some(ttl) };
        let mut world = World::new(Place::Files);
        let setup = BackendSetup {
            is_stepped: false,
            options: StateOptions {
                compaction_trigger: 2,
                ..StateOptions::default()
            },
            ..BackendKind::RocksDb.into()
        };
        let dir = world.fresh_dir();
        let groups = 0..=MAX_PARALLELISM - 1;
        let mut backend = KeyedBackend::open(setup, &dir, MAX_PARALLELISM, groups).unwrap();
        backend.declare(descriptor).unwrap();
        let add = |backend: &mut KeyedBackend, key: i32, now_ms| {
            let key = Key::int(key);
            let mut state = KeyedState::new(backend, descriptor, (&key, now_ms));
            if id == StateId::LastN {
                state.as_list().add(Decimal::ONE).unwrap();
            } else {
                let add = |old, new| Ok(old + new);
                state.as_reducing().add(Decimal::ONE, add).unwrap();
            }
        };
        for key in 0..50 {
            add(&mut backend, key, 0);
        }
        let patience = Instant::now() + Duration::from_mins(1);
        let mut checkpoint = 0;
        // Each snapshot writes a file, and two of them are merged.
        while count(&backend) > 1 || backend.contents().unwrap()[0].1.len() > 2 {
            assert!(
                Instant::now() < patience,
                "{:?}",
                backend.contents().unwrap()
            );
            checkpoint += 1;
            // The first element of a list is old, those after it are not.
            let now_ms = if checkpoint < 3 { 0 } else { 100 };
            if checkpoint < 5 {
                add(&mut backend, 7, now_ms);
            } else {
                // An access that changes nothing tells the time.
                let key = Key::int(7);
                let mut state = KeyedState::new(&mut backend, descriptor, (&key, now_ms));
                if id == StateId::LastN {
                    assert_eq!(state.as_list().get().unwrap().len(), 2);
                } else {
                    assert_eq!(state.as_reducing().get().unwrap(), Some(2.into()));
                }
                // Keys before and after it: RocksDB merges files whose keys overlap, and looks into no others.
                for key in 0..50 {
                    backend.add(&Key::int(key), Decimal::ONE).unwrap();
                }
            }
            backend.snapshot(CheckpointId(checkpoint)).unwrap();
        }
        assert_eq!(backend.contents().unwrap()[0].0, Key::int(7));
        let upper_bound = backend.size_bytes();
        assert!(upper_bound < 1 << 20, "{upper_bound}");
        backend.compact(100).unwrap();
        assert!(backend.size_bytes() < upper_bound, "counted again");
    }
}

/// Flink: `TtlListState`. Breaks if a read takes expired elements out of a list of which something lives, if one that renews
/// leaves them, if one in which nothing lives stays, or if they are given when they should not be.
#[test]
fn a_read_leaves_a_list_as_it_is_while_something_lives() {
    for kind in BackendKind::ALL {
        for update in TtlUpdate::ALL {
            for visibility in TtlVisibility::ALL {
                let ttl = TtlSpec {
                    update,
                    visibility,
                    background_cleanup: false,
                    ..TtlSpec::new(10)
                };
                let descriptor = StateDescriptor {
                    id: StateId::LastN,
                    ttl: Some(ttl),
                };
                let mut world = World::new(Place::JobManager);
                let mut backend = world.open(kind);
                backend.declare(descriptor).unwrap();
                let key = Key::int(1);
                for (value, now_ms) in [(1, 0), (2, 0), (3, 8)] {
                    let mut state = KeyedState::new(&mut backend, descriptor, (&key, now_ms));
                    state.as_list().add(value.into()).unwrap();
                }
                let mut read = |now_ms| {
                    let mut state = KeyedState::new(&mut backend, descriptor, (&key, now_ms));
                    let given = state.as_list().get().unwrap().len();
                    let stored = backend.contents_of(StateId::LastN, &key).unwrap().len();
                    (given, stored)
                };
                let shows = visibility == TtlVisibility::ReturnExpiredIfNotCleanedUp;
                let renews = update == TtlUpdate::OnReadAndWrite;
                let given = if shows { 3 } else { 1 };
                assert_eq!(read(10), (given, if renews { 1 } else { 3 }));
                let given = match (shows, renews) {
                    (true, true) => 1,
                    (true, false) => 3,
                    (false, _) => 0,
                };
                assert_eq!(read(30), (given, 0), "nothing lives");
            }
        }
    }
}

/// Breaks if `disableCleanupInBackground` does not.
#[test]
fn without_the_background_only_reads_clean_up() {
    let ttl = TtlSpec {
        background_cleanup: false,
        ..TtlSpec::new(10)
    };
    for kind in BackendKind::ALL {
        let mut world = World::new(Place::JobManager);
        let mut backend = filled(&mut world, kind, ttl, 20);
        assert_eq!(touch(&mut backend, ttl, (99, 50)), 0);
        backend.compact(50).unwrap();
        assert_eq!(count(&backend), 21);
        let key = Key::int(3);
        let mut state = KeyedState::new(&mut backend, descriptor(ttl), (&key, 50));
        assert_eq!(state.as_reducing().get().unwrap(), None);
        assert_eq!(count(&backend), 20);
    }
}

/// Flink: `cleanupFullSnapshot`. Breaks if it takes from the working state, if it is on by itself, or if RocksDB's own
/// files are thought to be without what has expired.
#[test]
fn a_full_snapshot_leaves_out_what_has_expired_if_it_is_told_to() {
    let formats = [
        None,
        Some(SavepointFormat::Native),
        Some(SavepointFormat::Canonical),
    ];
    for kind in BackendKind::ALL {
        for format in formats {
            for full_snapshot_cleanup in [false, true] {
                let ttl = TtlSpec {
                    full_snapshot_cleanup,
                    background_cleanup: false,
                    ..TtlSpec::new(10)
                };
                let mut world = World::new(Place::JobManager);
                let mut backend = filled(&mut world, kind, ttl, 6);
                touch(&mut backend, ttl, (2, 5));
                world.storage.begin(CP1).unwrap();
                let snapshot = backend.snapshot_at(CP1, 12).unwrap();
                let handle = snapshot
                    .write((CP1, format), "op-0", &*world.storage)
                    .unwrap();
                assert_eq!(count(&backend), 6, "the working state keeps it");
                let is_written_entry_by_entry =
                    kind == BackendKind::Heap || format == Some(SavepointFormat::Canonical);
                let is_left_out = full_snapshot_cleanup && is_written_entry_by_entry;
                let restored = world.restore(kind, &handle).unwrap();
                assert_eq!(count(&restored), if is_left_out { 1 } else { 6 });
            }
        }
    }
}

/// A canonical savepoint of before states had kinds: its header names all states that there were.
#[test]
fn a_canonical_savepoint_of_the_first_format_is_read() {
    let mut world = World::new(Place::JobManager);
    let mut old = world.open(BackendKind::Heap);
    fill(&mut old);
    world.storage.begin(CP1).unwrap();
    let snapshot = old.snapshot(CP1).unwrap();
    let canonical = Some(SavepointFormat::Canonical);
    let handle = snapshot.write((CP1, canonical), "sum-0", &*world.storage);
    let KeyedStateHandle::Savepoint { stream, offsets } = handle.unwrap() else {
        panic!("a canonical savepoint");
    };
    let bytes = world.storage.read_stream(&stream).unwrap();
    let first = usize::try_from(offsets[0].1).unwrap();
    let mut header = vec![0, 0, 0, 1, 0, 0, 0, 2];
    for (number, name) in [(0, "sums"), (1, "windows")] {
        header.push(number);
        header.extend_from_slice(&(name.len() as u64).to_be_bytes());
        header.extend_from_slice(name.as_bytes());
    }
    let moved = |offset: u64| offset - offsets[0].1 + header.len() as u64;
    let offsets = offsets
        .iter()
        .map(|(group, offset)| (*group, moved(*offset)))
        .collect();
    let bytes = [&header, &bytes[first..]].concat();
    let stream = StreamHandle::Inline(bytes.into());
    let handle = KeyedStateHandle::Savepoint { stream, offsets };
    for kind in BackendKind::ALL {
        let mut restored = world.restore(kind, &handle).unwrap();
        assert_eq!(restored.entries().unwrap().len(), keys().len());
        restored
            .declare(StateDescriptor::new(StateId::Sums))
            .unwrap();
    }
}
