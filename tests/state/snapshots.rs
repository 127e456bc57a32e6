//! Snapshots in small: one mechanism each. Random lives are in [`super::conformance`].

use lockgate::model::{BackendKind, Decimal, EventTime, Key, TimeWindow};

use crate::support::{CP1, CP2, PLACES, Place, World, fill, offset_5};

const SIZE_MS: i64 = 10;

/// The `place`-th window of ten milliseconds; the ones below 0 are before the epoch.
fn window(place: i64) -> TimeWindow {
    TimeWindow {
        start_ms: place * SIZE_MS,
        end_ms: (place + 1) * SIZE_MS,
    }
}

/// Law 19 in small. Catches on its own a heap that copies nothing and a RocksDB checkpoint that is made only on writing.
#[test]
fn changes_after_the_synchronous_part_are_not_in_the_snapshot() {
    for kind in BackendKind::ALL {
        let mut world = World::new(Place::Files);
        let mut backend = world.open(kind);
        fill(&mut backend);
        let then = backend.entries().unwrap();
        world.storage.begin(CP1).unwrap();
        let snapshot = backend.snapshot(CP1).unwrap();

        fill(&mut backend);
        backend.add(&Key::text("new"), Decimal::ONE).unwrap();
        world.storage.begin(CP2).unwrap();
        let later = backend.snapshot(CP2).unwrap();
        drop(backend); // the subtask is cancelled while its snapshot is being written

        let handle = snapshot
            .write((CP1, None), "sum-0", world.storage.as_ref())
            .unwrap();
        assert_eq!(
            world.restore(kind, &handle).unwrap().entries().unwrap(),
            then
        );
        let handle = later
            .write((CP2, None), "sum-0", world.storage.as_ref())
            .unwrap();
        let restored = world.restore(kind, &handle).unwrap();
        assert_eq!(restored.entries().unwrap().len(), then.len() + 1);
    }
}

/// The asynchronous part runs on another thread while the subtask goes on.
#[test]
fn a_snapshot_is_written_while_the_backend_is_changed() {
    for kind in BackendKind::ALL {
        let mut world = World::new(Place::Files);
        let mut backend = world.open(kind);
        for value in 0..2_000 {
            backend.add(&Key::int(value), Decimal::ONE).unwrap();
        }
        let then = backend.entries().unwrap();
        world.storage.begin(CP1).unwrap();
        let snapshot = backend.snapshot(CP1).unwrap();
        let storage = world.storage.as_ref();
        let handle = std::thread::scope(|scope| {
            let writer = scope.spawn(move || snapshot.write((CP1, None), "sum-0", storage));
            for value in 0..2_000 {
                backend.add(&Key::int(value), Decimal::TEN).unwrap();
            }
            writer.join().unwrap().unwrap()
        });
        assert_eq!(
            world.restore(kind, &handle).unwrap().entries().unwrap(),
            then
        );
    }
}

/// What a checkpoint says survives the way through `_metadata`.
#[test]
fn a_restore_by_the_metadata_alone() {
    for kind in BackendKind::ALL {
        for place in PLACES {
            let mut world = World::new(place);
            let mut backend = world.open(kind);
            fill(&mut backend);
            let then = backend.entries().unwrap();
            world.checkpoint(&mut backend, CP1);
            drop(backend);

            world.storage.verify(CP1).unwrap();
            let metadata = world.storage.read_metadata(CP1).unwrap();
            assert_eq!(metadata.backend, kind);
            assert_eq!(metadata.operators[0].subtasks[0].lists, [offset_5()]);
            let handle = metadata.operators[1].subtasks[0].keyed.clone().unwrap();
            assert_eq!(
                world.restore(kind, &handle).unwrap().entries().unwrap(),
                then
            );
        }
    }
}

/// The label of a key is how people read it, not state. Catches a label that comes back from one backend only.
#[test]
fn labels_are_not_state() {
    for kind in BackendKind::ALL {
        let mut backend = World::new(Place::JobManager).open(kind);
        let even = Key::Int {
            value: 0,
            label: Some("even".into()),
        };
        backend.add(&even, Decimal::TWO).unwrap();
        let entries = backend.entries().unwrap();
        assert_eq!(entries, [(even, Decimal::TWO)]);
        assert!(matches!(entries[0].0, Key::Int { label: None, .. }));
    }
}

/// Windows of other lengths, at the ends of time, added under a labelled key: the order of timers is that of their ends.
///
/// Catches a scan that stops at the first key group, an order by start, and an overflow at the last watermark.
#[test]
fn timers_are_due_in_their_order() {
    for kind in BackendKind::ALL {
        let mut backend = World::new(Place::JobManager).open(kind);
        let far = TimeWindow {
            start_ms: i64::MAX - 1,
            end_ms: i64::MAX,
        };
        let past = TimeWindow {
            start_ms: i64::MIN,
            end_ms: i64::MIN + 1,
        };
        let long = TimeWindow {
            start_ms: 0,
            end_ms: 30,
        };
        let labelled = Key::Int {
            value: 0,
            label: Some("even".into()),
        };
        for (key, window) in [
            (&labelled, far),
            (&labelled, long),
            (&Key::text("sun"), window(1)),
            (&Key::int(-7), window(1)),
            (&labelled, past),
        ] {
            backend.window_add(key, window, Decimal::ONE).unwrap();
        }
        let mut due = |watermark| -> Vec<(TimeWindow, Key)> {
            let due = backend.due_windows(EventTime(watermark)).unwrap();
            due.into_iter()
                .map(|(window, key, _)| (window, key))
                .collect()
        };
        let first = (past, Key::int(0));
        assert_eq!(due(i64::MIN), std::slice::from_ref(&first));
        assert_eq!(
            due(18),
            std::slice::from_ref(&first),
            "19 is the window's last millisecond"
        );
        let up_to_19 = [
            first,
            (window(1), Key::text("sun")),
            (window(1), Key::int(-7)),
        ];
        assert_eq!(due(19), up_to_19);
        let all = [
            up_to_19.to_vec(),
            vec![(long, Key::int(0)), (far, Key::int(0))],
        ]
        .concat();
        assert_eq!(due(i64::MAX), all);
        assert_eq!(backend.entries().unwrap(), [], "a window is no sum");
        assert_eq!(backend.windows().unwrap()[1].0, long, "by start");
    }
}
