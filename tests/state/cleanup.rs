//! What cleans up state that has expired, and what does not; and snapshots of before there was any.

use lockgate::engine::state::{KeyedBackend, KeyedState, StateDescriptor, StateId};
use lockgate::engine::storage::{KeyedStateHandle, StreamHandle};
use lockgate::model::{BackendKind, Decimal, Key, SavepointFormat, TtlSpec};

use crate::support::{CP1, Place, World, fill, keys};

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

/// Flink: `cleanupIncrementally(5, false)`. Breaks if an access looks at more or fewer, begins anew each time, or if
/// RocksDB does the same.
#[test]
fn each_access_to_the_heap_looks_at_five_cells() {
    let ttl = TtlSpec::new(10);
    let mut world = World::new(Place::JobManager);
    let mut heap = filled(&mut world, BackendKind::Heap, ttl, 20);
    // One is written anew; the walk goes on where it was, and takes all of the old ones with it in the end.
    let cleaned: Vec<usize> = (0..5).map(|_| touch(&mut heap, ttl, (99, 10))).collect();
    assert!(cleaned.iter().all(|cleaned| *cleaned <= 5), "{cleaned:?}");
    assert!(cleaned.iter().sum::<usize>() >= 19, "{cleaned:?}");
    let mut rocks = filled(&mut world, BackendKind::RocksDb, ttl, 20);
    assert_eq!(touch(&mut rocks, ttl, (99, 10)), 0);
    assert_eq!(count(&rocks), 21);
    rocks.compact(9).unwrap();
    assert_eq!(count(&rocks), 21, "nothing has expired at 9 ms");
    rocks.compact(10).unwrap();
    assert_eq!(count(&rocks), 1);
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
