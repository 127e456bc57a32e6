//! State that goes to other subtasks, or to another backend, than those that wrote it.

use std::collections::BTreeSet;

use lockgate::engine::state::{KeyedBackend, StateError, Window};
use lockgate::engine::storage::{KeyedStateHandle, StreamHandle};
use lockgate::model::key_group::{key_group, key_group_range};
use lockgate::model::{BackendKind, Decimal, Key, SavepointFormat, TimeWindow};
use proptest::prelude::*;

use crate::support::{CP1, Entries, MAX_PARALLELISM, PLACES, Place, World, names_in};

const FORMATS: [Option<SavepointFormat>; 3] = [
    None,
    Some(SavepointFormat::Native),
    Some(SavepointFormat::Canonical),
];

/// Which backend reads what which one wrote, in which format.
fn ways() -> impl Iterator<Item = (BackendKind, Option<SavepointFormat>, BackendKind)> {
    let written = BackendKind::ALL
        .into_iter()
        .flat_map(|kind| FORMATS.map(move |format| (kind, format)));
    written
        .flat_map(|(old, format)| BackendKind::ALL.map(move |new| (old, format, new)))
        .filter(|(old, format, new)| old == new || *format == Some(SavepointFormat::Canonical))
}

fn window(place: i64) -> TimeWindow {
    TimeWindow {
        start_ms: 10 * place,
        end_ms: 10 * place + 10,
    }
}

/// One subtask per range of key groups; together they hold a sum and a window for each of `keys`.
fn filled(
    world: &mut World,
    kind: BackendKind,
    parallelism: u32,
    keys: &[Key],
) -> Vec<KeyedBackend> {
    (0..parallelism)
        .map(|index| {
            let range = key_group_range(index, parallelism, MAX_PARALLELISM);
            let dir = world.fresh_dir();
            let mut backend =
                KeyedBackend::open(kind, &dir, MAX_PARALLELISM, range.clone()).unwrap();
            for (key, value) in keys.iter().zip(1_i64..) {
                if range.contains(&key_group(key, MAX_PARALLELISM)) {
                    backend.add(key, value.into()).unwrap();
                    backend
                        .window_add(key, window(value % 3), Decimal::new(value, 1))
                        .unwrap();
                }
            }
            backend
        })
        .collect()
}

fn written(
    world: &World,
    backends: &mut [KeyedBackend],
    format: Option<SavepointFormat>,
) -> Vec<KeyedStateHandle> {
    world.storage.begin(CP1).unwrap();
    let write = |(backend, index): (&mut KeyedBackend, u32)| {
        let snapshot = backend.snapshot(CP1).unwrap();
        let owner = format!("sum-{index}");
        snapshot
            .write((CP1, format), &owner, world.storage.as_ref())
            .unwrap()
    };
    backends.iter_mut().zip(0..).map(write).collect()
}

fn restored(
    world: &mut World,
    kind: BackendKind,
    (index, parallelism): (u32, u32),
    handles: &[KeyedStateHandle],
) -> Result<KeyedBackend, StateError> {
    let dir = world.fresh_dir();
    let range = key_group_range(index, parallelism, MAX_PARALLELISM);
    let handles: Vec<_> = handles.iter().collect();
    KeyedBackend::restore(
        kind,
        &dir,
        MAX_PARALLELISM,
        range,
        &handles,
        world.storage.as_ref(),
    )
}

/// All that the subtasks hold, and how much that is.
fn contents(backends: &[KeyedBackend]) -> (BTreeSet<(Key, Decimal)>, BTreeSet<Window>, u64) {
    let entries: Vec<Entries> = backends.iter().map(|b| b.entries().unwrap()).collect();
    let windows: Vec<Vec<Window>> = backends.iter().map(|b| b.windows().unwrap()).collect();
    let size_bytes = backends.iter().map(KeyedBackend::size_bytes).sum();
    (
        entries.into_iter().flatten().collect(),
        windows.into_iter().flatten().collect(),
        size_bytes,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Law 28: after a rescale, each key's sum and windows are at exactly its owner, unchanged; from any backend in
    /// any format to any that can read it.
    ///
    /// Catches: groups that nobody takes or that two take, a copy that stops at the first old subtask, entries of the
    /// groups on the border, a first timer that is forgotten when entries are copied.
    #[test]
    fn keys_move_with_their_groups(
        values in proptest::collection::btree_set(-100..100_i32, 0..40),
        old in 1_u32..6,
        new in 1_u32..6,
        place in proptest::sample::select(PLACES.to_vec()),
    ) {
        let keys: Vec<Key> = values
            .iter()
            .map(|value| if value % 2 == 0 { Key::int(*value) } else { Key::text(&format!("key {value}")) })
            .collect();
        for (kind, format, other) in ways() {
            let mut world = World::new(place);
            let mut backends = filled(&mut world, kind, old, &keys);
            let handles = written(&world, &mut backends, format);
            let before = contents(&backends);
            drop(backends);
            let mut after = Vec::new();
            for index in 0..new {
                let mut backend = restored(&mut world, other, (index, new), &handles).unwrap();
                let range = key_group_range(index, new, MAX_PARALLELISM);
                for (key, _) in backend.entries().unwrap() {
                    prop_assert!(range.contains(&key_group(&key, MAX_PARALLELISM)));
                }
                let all = backend.windows().unwrap().len();
                let due = backend.due_windows(window(2).max_timestamp()).unwrap();
                prop_assert_eq!(due.len(), all);
                after.push(backend);
            }
            prop_assert_eq!(&contents(&after), &before, "{:?} {:?} → {:?}", kind, format, other);
            prop_assert_eq!(names_in(&world.work()).len(), if other == BackendKind::RocksDb { after.len() } else { 0 });
        }
    }
}

/// Catches bytes that depend on the backend, or on the order in which keys came.
#[test]
fn a_canonical_savepoint_is_the_same_from_every_backend() {
    let keys: Vec<Key> = (0..50).map(Key::int).collect();
    let backwards: Vec<Key> = keys.iter().rev().cloned().collect();
    let mut streams = Vec::new();
    for kind in BackendKind::ALL {
        for keys in [&keys, &backwards] {
            let mut world = World::new(Place::JobManager);
            let mut backend = world.open(kind);
            for key in keys {
                backend.add(key, Decimal::ONE).unwrap();
                backend.window_add(key, window(1), Decimal::TWO).unwrap();
            }
            let canonical = Some(SavepointFormat::Canonical);
            let handles = written(&world, &mut [backend], canonical);
            assert!(matches!(handles[..], [KeyedStateHandle::Savepoint { .. }]));
            streams.push(handles);
        }
    }
    for other in &streams[1..] {
        assert_eq!(&streams[0], other);
    }
}

/// Law 19 for the canonical format. Catches a savepoint that is read from the database as it is when it is written.
#[test]
fn a_canonical_savepoint_holds_what_was_there_in_the_synchronous_part() {
    for kind in BackendKind::ALL {
        let mut world = World::new(Place::Files);
        let mut backend = world.open(kind);
        backend.add(&Key::int(1), Decimal::ONE).unwrap();
        world.storage.begin(CP1).unwrap();
        let snapshot = backend.snapshot(CP1).unwrap();
        backend.add(&Key::int(1), Decimal::TEN).unwrap();
        backend.add(&Key::int(2), Decimal::TEN).unwrap();
        drop(backend);
        let canonical = Some(SavepointFormat::Canonical);
        let handle = snapshot
            .write((CP1, canonical), "sum-0", world.storage.as_ref())
            .unwrap();
        assert!(names_in(&world.work()).is_empty());
        for other in BackendKind::ALL {
            let restored = world.restore(other, &handle).unwrap();
            assert_eq!(restored.entries().unwrap(), [(Key::int(1), Decimal::ONE)]);
        }
    }
}

/// Catches two handles of the same subtask, of which the second would overwrite the first.
#[test]
fn a_key_group_that_is_there_twice_is_refused() {
    for (kind, format, other) in ways() {
        let mut world = World::new(Place::JobManager);
        let mut backends = filled(&mut world, kind, 1, &[Key::int(1)]);
        let handles = written(&world, &mut backends, format);
        let twice = [handles[0].clone(), handles[0].clone()];
        let error = restored(&mut world, other, (0, 1), &twice).unwrap_err();
        assert!(error.to_string().contains("twice"), "{error}");
    }
}

/// Damage of another subtask's part does not concern whoever needs none of it. Catches a rescale that reads all.
#[test]
fn only_what_is_owned_is_read() {
    let keys: Vec<Key> = (0..50).map(Key::int).collect();
    for (kind, format, other) in ways() {
        let mut world = World::new(Place::Files);
        let mut backends = filled(&mut world, kind, 2, &keys);
        let handles = written(&world, &mut backends, format);
        for stream in handles[1].streams() {
            // RocksDB's log is empty, and so in its handle.
            let StreamHandle::File { name, .. } = stream else {
                continue;
            };
            let file = world.checkpoints().join(format!("chk-1/state-{name}"));
            std::fs::remove_file(file).unwrap();
        }
        assert!(restored(&mut world, other, (0, 2), &handles).is_ok());
        assert!(restored(&mut world, other, (0, 4), &handles).is_ok());
        assert!(restored(&mut world, other, (1, 2), &handles).is_err());
        let left = names_in(&world.work());
        drop(backends);
        assert!(left.len() <= 2, "only the old ones: {left:?}");
    }
}

/// The bytes are checked again where they mean something. Catches a reader that trusts a header or an order.
#[test]
fn a_nonsense_canonical_stream_is_refused() {
    let mut world = World::new(Place::JobManager);
    let mut backends = filled(
        &mut world,
        BackendKind::Heap,
        1,
        &[Key::int(1), Key::int(2)],
    );
    let handles = written(&world, &mut backends, Some(SavepointFormat::Canonical));
    let KeyedStateHandle::Savepoint {
        stream: StreamHandle::Inline(bytes),
        offsets,
    } = &handles[0]
    else {
        panic!("an inline savepoint");
    };
    for kind in BackendKind::ALL {
        let mut restore = |bytes: &[u8]| {
            let handle = KeyedStateHandle::Savepoint {
                stream: StreamHandle::Inline(bytes.into()),
                offsets: offsets.clone(),
            };
            restored(&mut world, kind, (0, 1), &[handle])
        };
        assert!(restore(bytes).is_ok());
        for cut in (0..bytes.len()).step_by(7) {
            assert!(restore(&bytes[..cut]).is_err());
        }
        let header = u64::min(offsets[0].1, bytes.len() as u64);
        for at in 0..usize::try_from(header).unwrap() {
            let mut bad = bytes.to_vec();
            bad[at] ^= 0x40;
            assert!(restore(&bad).is_err(), "byte {at} of the header");
        }
        for at in 0..bytes.len() {
            let mut bad = bytes.to_vec();
            bad[at] ^= 0x80;
            if kind == BackendKind::Heap {
                let _ = restore(&bad); // refused or other sums, but no panic
            }
        }
    }
}
