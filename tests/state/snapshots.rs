//! Both backends against an oracle, through any sequence of additions, snapshots, late writes and restores.

use std::collections::BTreeMap;

use lockgate::engine::state::{KeyedBackend, KeyedSnapshot, Window};
use lockgate::engine::storage::KeyedStateHandle;
use lockgate::model::{BackendKind, CheckpointId, Decimal, EventTime, Key, TimeWindow};
use proptest::prelude::*;

use crate::support::{CP1, CP2, Entries, PLACES, Place, World, fill, keys, offset_5};

#[derive(Clone, Debug)]
enum Op {
    /// To the key with this index, this many hundredths, written with this scale (2 ..= 4).
    Add(usize, i64, u32),
    /// To the window at this place of the key with this index, this many hundredths.
    Window(usize, i64, i64),
    /// The windows that this watermark reaches fire and are removed.
    Watermark(i64),
    /// The synchronous part only.
    Snapshot,
    /// The asynchronous part of the oldest snapshot that waits for it.
    Write,
    /// From the n-th written handle, counted around.
    Restore(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0..keys().len(), -10_000_i64..10_000, 2..=4_u32).prop_map(|(k, v, s)| Op::Add(k, v, s)),
        6 => (0..keys().len(), -4..4_i64, -100_i64..100).prop_map(|(k, w, v)| Op::Window(k, w, v)),
        2 => (-45..45_i64).prop_map(Op::Watermark),
        2 => Just(Op::Snapshot),
        2 => Just(Op::Write),
        1 => (0..100_usize).prop_map(Op::Restore),
    ]
}

/// Sums in hundredths: integers, so that the oracle shares no arithmetic with the backends.
#[derive(Clone, Debug, Default)]
struct Oracle {
    sums: BTreeMap<Key, i64>,
    windows: BTreeMap<(TimeWindow, Key), i64>,
}

const SIZE_MS: i64 = 10;

/// The `place`-th window of ten milliseconds; the ones below 0 are before the epoch.
fn window(place: i64) -> TimeWindow {
    TimeWindow {
        start_ms: place * SIZE_MS,
        end_ms: (place + 1) * SIZE_MS,
    }
}

impl Oracle {
    fn entries(&self) -> Entries {
        let sum = |(key, hundredths): (&Key, &i64)| (key.clone(), Decimal::new(*hundredths, 2));
        self.sums.iter().map(sum).collect()
    }

    fn windows(&self) -> Vec<Window> {
        let cell = |((window, key), hundredths): (&(TimeWindow, Key), &i64)| {
            (*window, key.clone(), Decimal::new(*hundredths, 2))
        };
        self.windows.iter().map(cell).collect()
    }

    fn size_bytes(&self) -> u64 {
        let key_bytes = |key: &Key| match key {
            Key::Int { .. } => 5,
            Key::Text(text) => 1 + text.len() as u64,
        };
        let sums = self.sums.keys().map(|key| key_bytes(key) + 16);
        let windows = self.windows.keys().map(|(_, key)| key_bytes(key) + 16 + 16);
        sums.chain(windows).sum()
    }
}

/// One backend under test, and what it should hold.
struct Story {
    world: World,
    kind: BackendKind,
    backend: KeyedBackend,
    now: Oracle,
    next: u64,
    waiting: Vec<(CheckpointId, KeyedSnapshot, Oracle)>,
    written: Vec<(KeyedStateHandle, Oracle)>,
}

impl Story {
    fn begin(kind: BackendKind, place: Place) -> Self {
        let mut world = World::new(place);
        let backend = world.open(kind);
        Self {
            world,
            kind,
            backend,
            now: Oracle::default(),
            next: 1,
            waiting: Vec::new(),
            written: Vec::new(),
        }
    }

    fn act(&mut self, op: &Op) {
        match op {
            Op::Add(key, hundredths, scale) => {
                let key = &keys()[*key];
                let mut value = Decimal::new(*hundredths, 2);
                value.rescale(*scale);
                let sum = self.now.sums.entry(key.clone()).or_default();
                *sum += hundredths;
                let expected = Decimal::new(*sum, 2);
                assert_eq!(self.backend.add(key, value).unwrap(), expected);
            }
            Op::Window(key, place, hundredths) => {
                let (key, window) = (&keys()[*key], window(*place));
                let cell = self.now.windows.entry((window, key.clone())).or_default();
                *cell += hundredths;
                let (value, expected) = (Decimal::new(*hundredths, 2), Decimal::new(*cell, 2));
                let found = self.backend.window_add(key, window, value).unwrap();
                assert_eq!(found, expected);
            }
            Op::Watermark(watermark) => {
                // The windows are equally long: in the order of their timers and of the oracle is the same.
                let mut expected = self.now.windows();
                expected.retain(|(window, ..)| window.end_ms <= watermark + 1);
                let due = self.backend.due_windows(EventTime(*watermark)).unwrap();
                assert_eq!(due, expected);
                for (window, key, _) in due {
                    self.backend.window_remove(&key, window).unwrap();
                    self.now.windows.remove(&(window, key));
                }
                assert_eq!(self.backend.due_windows(EventTime(*watermark)).unwrap(), []);
            }
            Op::Snapshot => {
                let checkpoint = CheckpointId(self.next);
                self.next += 1;
                self.world.storage.begin(checkpoint).unwrap();
                let snapshot = self.backend.snapshot(checkpoint).unwrap();
                assert_eq!(snapshot.size_bytes(), self.now.size_bytes());
                self.waiting.push((checkpoint, snapshot, self.now.clone()));
            }
            Op::Write => {
                if !self.waiting.is_empty() {
                    let (checkpoint, snapshot, then) = self.waiting.remove(0);
                    let handle = snapshot
                        .write((checkpoint, None), "sum-0", self.world.storage.as_ref())
                        .unwrap();
                    self.written.push((handle, then));
                }
            }
            Op::Restore(which) => {
                if !self.written.is_empty() {
                    let (handle, then) = &self.written[which % self.written.len()];
                    self.backend = self.world.restore(self.kind, handle).unwrap();
                    self.now = then.clone();
                }
            }
        }
    }

    fn check(&self) {
        assert_eq!(self.backend.entries().unwrap(), self.now.entries());
        assert_eq!(self.backend.windows().unwrap(), self.now.windows());
        assert_eq!(self.backend.size_bytes(), self.now.size_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Heap ≡ RocksDB ≡ oracle, law 19 (snapshot isolation: every snapshot, written as late as one likes, restores to
    /// what was there when it was taken), and law 31 for state: after a restore a timer is set exactly if its window is
    /// in the snapshot.
    ///
    /// Catches: a snapshot that shares what the backend goes on to change; one that misses the memtable; a restore
    /// that keeps, loses or doubles entries, or forgets when the first timer is due; a size that forgets a key or
    /// counts an update; windows that are taken for sums.
    #[test]
    fn every_backend_is_a_map_of_sums_and_windows(
        ops in proptest::collection::vec(op(), 1..60),
        place in proptest::sample::select(PLACES.to_vec()),
    ) {
        for kind in BackendKind::ALL {
            let mut story = Story::begin(kind, place);
            for op in &ops {
                story.act(op);
            }
            story.check();
            while !story.waiting.is_empty() {
                story.act(&Op::Write);
            }
            for which in 0..story.written.len() {
                story.act(&Op::Restore(which));
                story.check();
            }
        }
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
