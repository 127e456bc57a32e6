//! One suite for every way in which state can be kept: backend × storage × (full, incremental) × (asynchronous or not) ×
//! timers. The same operations, the same results, and the same state after every restore, judged by maps of numbers.
//!
//! Laws 19 to 22, 28, 30 and 31 as far as state goes.

use std::collections::{BTreeMap, BTreeSet};

use lockgate::engine::coordinator::SharedStateRegistry;
use lockgate::engine::state::{
    BackendSetup, KeyedBackend, KeyedSnapshot, KeyedState, StateDescriptor, StateError, StateId,
    Window,
};
use lockgate::engine::storage::{
    GroupOffsets, KeyedStateHandle, SHARED, StreamHandle, SubtaskState,
};
use lockgate::model::key_group::{key_group, key_group_range, owner};
use lockgate::model::{
    BackendKind, CheckpointId, Decimal, EventTime, Key, SavepointFormat, StateKind, StateOptions,
    TimeWindow, TimerService, TtlSpec, TtlVisibility,
};
use proptest::prelude::*;

use crate::oracle::{Model, Op, act, keys, op, same, ttl};
use crate::support::{MAX_PARALLELISM, PLACES, Place, World, metadata, names_in};

/// One way to keep state.
#[derive(Clone, Copy, Debug)]
struct Way {
    kind: BackendKind,
    place: Place,
    options: StateOptions,
}

/// All that differ: RocksDB takes no notice of `asynchronous`, the heap none of where timers are.
fn ways() -> Vec<Way> {
    let mut ways = Vec::new();
    for place in PLACES {
        for incremental in [false, true] {
            let options = StateOptions {
                incremental,
                compaction_trigger: 3,
                ..StateOptions::default()
            };
            ways.extend([false, true].map(|asynchronous| Way {
                kind: BackendKind::Heap,
                place,
                options: StateOptions {
                    asynchronous,
                    ..options
                },
            }));
            ways.extend(TimerService::ALL.map(|timers| Way {
                kind: BackendKind::RocksDb,
                place,
                options: StateOptions { timers, ..options },
            }));
        }
    }
    ways
}

/// What happens to an operator.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// After so many milliseconds, to the state of this key.
    Touch(usize, u64, Op),
    /// The windows that it reaches fire and are gone.
    Watermark(i64),
    /// The synchronous part of all subtasks.
    Snapshot(Option<SavepointFormat>),
    /// The asynchronous part of the oldest one that waits for it.
    Write,
    /// One of those that are written, counted around, is complete; the subtasks hear of it, or not (yet).
    Complete(usize, bool),
    /// One of those that are not decided is given up.
    Abort(usize),
    /// News of the oldest complete checkpoint of which the subtasks have not heard.
    Tell,
    Compact,
    /// From one of those that are kept, counted around, to so many subtasks, on another backend or with timers elsewhere
    /// where the snapshot allows it.
    Restore(usize, u32, bool),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let format = prop_oneof![
        6 => Just(None),
        1 => Just(Some(SavepointFormat::Native)),
        1 => Just(Some(SavepointFormat::Canonical)),
    ];
    let passes = prop_oneof![Just(0_u64), 1_u64..30];
    let act = prop_oneof![
        14 => (0..keys().len(), passes, op()).prop_map(|(key, ms, op)| Act::Touch(key, ms, op)),
        2 => (-60..80_i64).prop_map(Act::Watermark),
        4 => format.prop_map(Act::Snapshot),
        5 => Just(Act::Write),
        4 => (0..4_usize, prop::bool::weighted(0.7)).prop_map(|(at, heard)| Act::Complete(at, heard)),
        1 => (0..4_usize).prop_map(Act::Abort),
        1 => Just(Act::Tell),
        1 => Just(Act::Compact),
        1 => (0..4_usize, 1..4_u32, any::<bool>()).prop_map(|(at, p, other)| Act::Restore(at, p, other)),
    ];
    prop::collection::vec(act, 1..70)
}

fn descriptor() -> impl Strategy<Value = StateDescriptor> {
    let state = prop::sample::select(StateId::ALL.to_vec());
    (state, ttl(), any::<bool>()).prop_map(|(id, ttl, full_snapshot_cleanup)| {
        let takes_ttl = ![StateId::Sums, StateId::Windows].contains(&id);
        let mut ttl = ttl.filter(|_| takes_ttl).map(|ttl| TtlSpec {
            full_snapshot_cleanup,
            ..ttl
        });
        if let Some(ttl) = &mut ttl
            && ttl.visibility == TtlVisibility::ReturnExpiredIfNotCleanedUp
        {
            // Otherwise what a read gives hangs on how far the clean-up is: see `kinds`.
            ttl.background_cleanup = false;
        }
        StateDescriptor { id, ttl }
    })
}

/// Some are long, such that they end later than others that begin after them.
fn window(value: i64) -> TimeWindow {
    let start_ms = 10 * value;
    let end_ms = start_ms + if value % 2 == 0 { 10 } else { 30 };
    TimeWindow { start_ms, end_ms }
}

/// What should be there: hundredths, windows by their keys' places, and cells.
#[derive(Clone, Debug)]
struct Oracle {
    sums: BTreeMap<usize, i64>,
    windows: BTreeMap<(TimeWindow, usize), i64>,
    cells: Model,
}

impl Oracle {
    fn of(descriptor: StateDescriptor) -> Self {
        Self {
            sums: BTreeMap::new(),
            windows: BTreeMap::new(),
            cells: Model {
                kind: descriptor.id.kind(),
                ttl: descriptor.ttl,
                entries: BTreeMap::new(),
            },
        }
    }

    fn entries(&self) -> BTreeMap<Key, Decimal> {
        let sums = self.sums.iter();
        sums.map(|(key, sum)| (keys()[*key].clone(), Decimal::new(*sum, 2)))
            .collect()
    }

    fn windows(&self) -> BTreeSet<Window> {
        let windows = self.windows.iter();
        windows
            .map(|((window, key), sum)| (*window, keys()[*key].clone(), Decimal::new(*sum, 2)))
            .collect()
    }

    /// Of all keys and values, as the documentation of the bytes says.
    fn size_bytes(&self) -> u64 {
        let key_bytes = |key: &usize| match &keys()[*key] {
            Key::Int { .. } => 5,
            Key::Text(text) => 1 + text.len() as u64,
        };
        let sums = self.sums.keys().map(|key| key_bytes(key) + 16);
        let windows = self.windows.keys().map(|(_, key)| key_bytes(key) + 16 + 16);
        let entry_bytes = 1 + 16 + if self.cells.ttl.is_some() { 8 } else { 0 };
        let cells = self.cells.entries.iter().map(|(key, entries)| {
            let count = entries.len() as u64;
            let slot_bytes = 4 + key_bytes(key);
            match self.cells.kind {
                _ if entries.is_empty() => 0,
                StateKind::Map => count * (slot_bytes + 16 + entry_bytes),
                _ => slot_bytes + count * entry_bytes,
            }
        });
        sums.chain(windows).chain(cells).sum()
    }

    /// Without what had expired at `now_ms`.
    fn alive(&self, now_ms: u64) -> Self {
        let mut alive = self.clone();
        for entries in alive.cells.entries.values_mut() {
            entries.retain(|entry| !self.cells.is_expired(entry, now_ms));
        }
        alive
    }
}

/// A snapshot that is not yet decided.
struct Pending {
    id: CheckpointId,
    format: Option<SavepointFormat>,
    snapshots: Vec<KeyedSnapshot>,
    /// Once they are written.
    handles: Vec<KeyedStateHandle>,
    image: Oracle,
    way: Way,
    /// The shared files that it may refer to without having written them.
    base: BTreeSet<String>,
}

impl Pending {
    fn is_written(&self) -> bool {
        self.snapshots.is_empty()
    }
}

/// A complete one, and what it must give back.
struct Kept {
    id: CheckpointId,
    format: Option<SavepointFormat>,
    handles: Vec<KeyedStateHandle>,
    image: Oracle,
    way: Way,
}

/// An operator with its subtasks, and a coordinator that keeps the two newest checkpoints.
struct Life {
    world: World,
    way: Way,
    descriptor: StateDescriptor,
    backends: Vec<KeyedBackend>,
    now: Oracle,
    now_ms: u64,
    pending: Vec<Pending>,
    store: Vec<Kept>,
    savepoints: Vec<Kept>,
    untold: Vec<CheckpointId>,
    registry: SharedStateRegistry,
    /// The shared files of each checkpoint that was written in this attempt, or that it began with.
    shared: BTreeMap<CheckpointId, BTreeSet<String>>,
    /// The newest of those that the subtasks know to be complete.
    confirmed: Option<CheckpointId>,
    next: u64,
    attempt: u32,
}

const RETAINED: usize = 2;

impl Life {
    fn new(way: Way, descriptor: StateDescriptor) -> Self {
        let mut life = Self {
            world: World::new(way.place),
            way,
            descriptor,
            backends: Vec::new(),
            now: Oracle::of(descriptor),
            now_ms: 1_000,
            pending: Vec::new(),
            store: Vec::new(),
            savepoints: Vec::new(),
            untold: Vec::new(),
            registry: SharedStateRegistry::default(),
            shared: BTreeMap::new(),
            confirmed: None,
            next: 1,
            attempt: 0,
        };
        let setup = life.setup(true);
        let dir = life.world.fresh_dir();
        let all = 0..=MAX_PARALLELISM - 1;
        let mut backend = KeyedBackend::open(setup, &dir, MAX_PARALLELISM, all).unwrap();
        backend.declare(descriptor).unwrap();
        life.backends.push(backend);
        life
    }

    fn setup(&self, continues: bool) -> BackendSetup {
        BackendSetup {
            options: self.way.options,
            continues,
            attempt: self.attempt,
            ..self.way.kind.into()
        }
    }

    fn play(&mut self, act: Act) {
        match act {
            Act::Touch(key, passes_ms, op) => self.touch(key, passes_ms, op),
            Act::Watermark(watermark) => self.watermark(watermark),
            Act::Snapshot(format) => self.snapshot(format),
            Act::Write => self.write(),
            Act::Complete(at, is_heard) => self.complete(at, is_heard),
            Act::Abort(at) => {
                if !self.pending.is_empty() {
                    let at = at % self.pending.len();
                    self.abort(at);
                }
            }
            Act::Tell => {
                if !self.untold.is_empty() {
                    let id = self.untold.remove(0);
                    self.tell(id);
                }
            }
            Act::Compact => {
                for backend in &mut self.backends {
                    backend.compact(self.now_ms).unwrap();
                }
                self.follow_cleanup();
            }
            Act::Restore(at, parallelism, changes) => self.restore(at, parallelism, changes),
        }
    }

    fn backend_of(&mut self, key: &Key) -> &mut KeyedBackend {
        let parallelism = u32::try_from(self.backends.len()).unwrap();
        let group = key_group(key, MAX_PARALLELISM);
        let index = owner(group, parallelism, MAX_PARALLELISM);
        &mut self.backends[index as usize]
    }

    fn touch(&mut self, place: usize, passes_ms: u64, op: Op) {
        self.now_ms += passes_ms;
        let (now_ms, descriptor) = (self.now_ms, self.descriptor);
        let key = &keys()[place];
        let value = match op {
            Op::Add(value) | Op::Replace(value) | Op::Get(value) | Op::Clear(value) => value,
            Op::Read => 1,
        };
        let mut number = Decimal::new(value, 2);
        number.rescale(2 + u32::try_from(value.rem_euclid(3)).unwrap());
        match descriptor.id {
            StateId::Sums => {
                let sum = self.now.sums.entry(place).or_default();
                *sum += value;
                let expected = Decimal::new(*sum, 2);
                let found = self.backend_of(key).add(key, number);
                assert_eq!(found.unwrap(), expected);
            }
            StateId::Windows => {
                let window = window(value % 5);
                let sum = self.now.windows.entry((window, place)).or_default();
                *sum += value;
                let expected = Decimal::new(*sum, 2);
                let backend = self.backend_of(key);
                let found = backend.window_add(key, window, number);
                assert_eq!(found.unwrap(), expected);
            }
            _ => {
                let expected = self.now.cells.act(place, now_ms, op);
                let backend = self.backend_of(key);
                let mut state = KeyedState::new(backend, descriptor, (key, now_ms));
                let found = act(&mut state, descriptor.id.kind(), op).unwrap();
                assert_eq!(found, expected, "{op:?} of {key} at {now_ms}");
                self.follow_cleanup();
            }
        }
    }

    /// What was cleaned up had expired, and is gone from the model, too.
    fn follow_cleanup(&mut self) {
        for (place, key) in keys().iter().enumerate() {
            let state = self.descriptor.id;
            let stored = self.backend_of(key).contents_of(state, key).unwrap();
            self.now.cells.follow_cleanup(place, self.now_ms, &stored);
        }
    }

    /// Each window fires once, in the order of the timers of its subtask.
    fn watermark(&mut self, watermark: i64) {
        let mut fired = BTreeSet::new();
        for backend in &mut self.backends {
            let due = backend.due_windows(EventTime(watermark)).unwrap();
            let order = |(window, key, _): &Window| (window.end_ms, key.clone(), window.start_ms);
            assert!(due.is_sorted_by_key(order));
            for (window, key, _) in &due {
                backend.window_remove(key, *window).unwrap();
            }
            fired.extend(due);
            assert_eq!(backend.due_windows(EventTime(watermark)).unwrap(), []);
        }
        let is_due = |window: &TimeWindow| window.end_ms - 1 <= watermark;
        let mut expected = self.now.windows();
        expected.retain(|(window, ..)| is_due(window));
        assert_eq!(fired, expected, "at {watermark}");
        self.now.windows.retain(|(window, _), _| !is_due(window));
    }

    fn snapshot(&mut self, format: Option<SavepointFormat>) {
        let id = CheckpointId(self.next);
        self.next += 1;
        self.world.storage.begin(id).unwrap();
        let now_ms = self.now_ms;
        let snapshots: Vec<KeyedSnapshot> = (self.backends.iter_mut())
            .map(|backend| backend.snapshot_at(id, now_ms).unwrap())
            .collect();
        let size_bytes = snapshots.iter().map(KeyedSnapshot::size_bytes).sum::<u64>();
        assert_eq!(size_bytes, self.now.size_bytes());
        let windows = self.now.windows.keys();
        let timer_bytes = snapshots
            .iter()
            .map(KeyedSnapshot::timer_bytes)
            .sum::<u64>();
        let is_beside =
            self.way.kind == BackendKind::RocksDb && self.way.options.timers == TimerService::Heap;
        // All of a window but its value.
        let sums = 16 * windows.count() as u64;
        let in_windows = if self.descriptor.id == StateId::Windows && is_beside {
            size_bytes - sums
        } else {
            0
        };
        assert_eq!(timer_bytes, in_windows);
        // A full snapshot leaves out what has expired: the heap's always is one, RocksDB's in canonical format only.
        let is_full =
            self.way.kind == BackendKind::Heap || format == Some(SavepointFormat::Canonical);
        let cleans = self
            .descriptor
            .ttl
            .is_some_and(|ttl| ttl.full_snapshot_cleanup);
        let image = if is_full && cleans {
            self.now.alive(now_ms)
        } else {
            self.now.clone()
        };
        self.pending.push(Pending {
            id,
            format,
            snapshots,
            handles: Vec::new(),
            image,
            way: self.way,
            base: self.base(),
        });
        if self.backends[0].is_synchronous() {
            while !self.pending.iter().all(Pending::is_written) {
                self.write();
            }
        }
        for backend in &mut self.backends {
            backend.compact_if_due(now_ms).unwrap();
        }
        self.follow_cleanup();
    }

    fn base(&self) -> BTreeSet<String> {
        let known = self.confirmed.and_then(|id| self.shared.get(&id));
        known.cloned().unwrap_or_default()
    }

    fn write(&mut self) {
        let Some(pending) = self.pending.iter_mut().find(|it| !it.is_written()) else {
            return;
        };
        let id = pending.id;
        let snapshots = std::mem::take(&mut pending.snapshots).into_iter();
        for (index, (snapshot, backend)) in snapshots.zip(&mut self.backends).enumerate() {
            let owner = format!("op-{index}");
            let storage = &*self.world.storage;
            let handle = snapshot.write((id, pending.format), &owner, storage);
            let handle = handle.unwrap();
            backend.on_written(id, &handle);
            let state = SubtaskState {
                keyed: Some(handle.clone()),
                ..SubtaskState::default()
            };
            self.registry.register(id, &state);
            // Law 22: what is not written anew is in a checkpoint that is known to be complete.
            for file in handle.shared().filter(|file| file.created_by != id) {
                if let Some(name) = file.stream.shared_name() {
                    assert!(pending.base.contains(name), "{name} was not confirmed");
                }
            }
            pending.handles.push(handle);
        }
        if pending.format.is_none() {
            let names = shared_names(&pending.handles);
            self.shared.insert(id, names);
        }
    }

    fn complete(&mut self, at: usize, is_heard: bool) {
        let written: Vec<usize> = (0..self.pending.len())
            .filter(|at| self.pending[*at].is_written())
            .collect();
        let Some(at) = written.get(at % written.len().max(1)) else {
            return;
        };
        let Pending {
            id,
            format,
            handles,
            image,
            way,
            ..
        } = self.pending.remove(*at);
        let mut metadata = metadata(id, &handles[0]);
        let subtask = |keyed: &KeyedStateHandle| SubtaskState {
            keyed: Some(keyed.clone()),
            ..SubtaskState::default()
        };
        metadata.operators[1].subtasks = handles.iter().map(subtask).collect();
        self.world.storage.write_metadata(&metadata).unwrap();
        let kept = Kept {
            id,
            format,
            handles,
            image,
            way,
        };
        if is_heard {
            self.tell(id);
            self.untold.clear();
        } else {
            self.untold.push(id);
        }
        if format.is_some() {
            self.savepoints.push(kept);
            return;
        }
        // What is older is given up (law 14).
        let is_older = |it: &Pending| it.id < id && it.format.is_none();
        while let Some(at) = self.pending.iter().position(is_older) {
            self.abort(at);
        }
        self.store.push(kept);
        self.subsume();
    }

    fn tell(&mut self, id: CheckpointId) {
        for backend in &mut self.backends {
            backend.on_complete(id);
        }
        if self.shared.contains_key(&id) {
            self.confirmed = self.confirmed.max(Some(id));
        }
    }

    fn abort(&mut self, at: usize) {
        let pending = self.pending.remove(at);
        self.world.storage.discard(pending.id).unwrap();
        for backend in &mut self.backends {
            backend.on_aborted(pending.id);
        }
    }

    fn subsume(&mut self) {
        let surplus = self.store.len().saturating_sub(RETAINED);
        for gone in self.store.drain(..surplus) {
            self.world.storage.discard(gone.id).unwrap();
        }
        let lowest = self.store[0].id;
        self.registry.unregister_unused(lowest);
        let keep = self.registry.names();
        self.world.storage.retain_shared(&keep, lowest).unwrap();
    }

    fn restore(&mut self, at: usize, parallelism: u32, changes: bool) {
        let kept: Vec<&Kept> = self.store.iter().chain(&self.savepoints).collect();
        let Some(kept) = kept.get(at % kept.len().max(1)) else {
            return;
        };
        let (id, handles, image, format) = (
            kept.id,
            kept.handles.clone(),
            kept.image.clone(),
            kept.format,
        );
        let mut way = kept.way;
        way.options.asynchronous = self.way.options.asynchronous;
        let is_canonical = format == Some(SavepointFormat::Canonical);
        if changes && is_canonical {
            way.kind = match way.kind {
                BackendKind::Heap => BackendKind::RocksDb,
                BackendKind::RocksDb => BackendKind::Heap,
            };
        }
        if changes && (is_canonical || way.options.timers == TimerService::Heap) {
            way.options.timers = match way.options.timers {
                TimerService::Heap => TimerService::RocksDb,
                TimerService::RocksDb => TimerService::Heap,
            };
        }
        // With the attempt goes what it had not finished.
        while !self.pending.is_empty() {
            self.abort(0);
        }
        self.untold.clear();
        let begins_with = (id, shared_names(&handles));
        self.shared = format
            .is_none()
            .then_some(begins_with)
            .into_iter()
            .collect();
        self.confirmed = self.shared.keys().next().copied();
        self.backends.clear();
        self.way = way;
        self.attempt += 1;
        self.backends = self
            .restored(&handles, parallelism, format.is_none())
            .unwrap();
        self.now = image;
        check(&self.backends, &self.now);
    }

    fn restored(
        &mut self,
        handles: &[KeyedStateHandle],
        parallelism: u32,
        continues: bool,
    ) -> Result<Vec<KeyedBackend>, StateError> {
        let handles: Vec<&KeyedStateHandle> = handles.iter().collect();
        let setup = self.setup(continues);
        let mut backends = Vec::new();
        for index in 0..parallelism {
            let range = key_group_range(index, parallelism, MAX_PARALLELISM);
            let dir = self.world.fresh_dir();
            let storage = &*self.world.storage;
            let mut backend =
                KeyedBackend::restore(setup, &dir, MAX_PARALLELISM, range, &handles, storage)?;
            backend.declare(self.descriptor)?;
            backends.push(backend);
        }
        Ok(backends)
    }

    /// What is here now, what every snapshot that is kept gives back, and what lies in the folder.
    fn end(mut self) {
        check(&self.backends, &self.now);
        let savepoints = SavepointFormat::ALL.map(Some);
        for format in savepoints.into_iter().chain([None; RETAINED]) {
            self.snapshot(format);
            while self.pending.iter().any(|it| !it.is_written()) {
                self.write();
            }
            let last = self.pending.iter().filter(|it| it.is_written()).count() - 1;
            self.complete(last, true);
        }
        while !self.pending.is_empty() {
            self.abort(0);
        }
        let kept = std::mem::take(&mut self.store).into_iter();
        let kept: Vec<Kept> = kept.chain(std::mem::take(&mut self.savepoints)).collect();
        let mut shared = BTreeSet::new();
        let mut ids = BTreeSet::new();
        for (kept, parallelism) in kept.iter().zip([1, 2, 3].into_iter().cycle()) {
            self.world.storage.verify(kept.id).unwrap();
            self.way = kept.way;
            let backends = self.restored(&kept.handles, parallelism, false).unwrap();
            check(&backends, &kept.image);
            ids.insert(kept.id);
            shared.extend(shared_names(&kept.handles));
        }
        let listed = self.world.storage.list().unwrap();
        assert_eq!(listed, ids.into_iter().collect::<Vec<_>>());
        let shared: Vec<String> = shared.iter().map(|name| format!("state-{name}")).collect();
        let there = names_in(&self.world.checkpoints().join(SHARED));
        assert_eq!(there, shared, "no orphan, and nothing missing");
        self.backends.clear();
        assert!(names_in(&self.world.work()).is_empty());
    }
}

fn shared_names(handles: &[KeyedStateHandle]) -> BTreeSet<String> {
    let files = handles.iter().flat_map(KeyedStateHandle::shared);
    files
        .filter_map(|file| file.stream.shared_name().map(str::to_owned))
        .collect()
}

/// Whether the subtasks together hold exactly this, each only its own.
fn check(backends: &[KeyedBackend], wanted: &Oracle) {
    let parallelism = u32::try_from(backends.len()).unwrap();
    let (mut sums, mut windows) = (BTreeMap::new(), BTreeSet::new());
    let mut cells = BTreeMap::new();
    for (index, backend) in (0..).zip(backends) {
        let range = key_group_range(index, parallelism, MAX_PARALLELISM);
        let is_own = |key: &Key| range.contains(&key_group(key, MAX_PARALLELISM));
        let entries = backend.entries().unwrap();
        let own_windows = backend.windows().unwrap();
        let contents = backend.contents().unwrap();
        assert!(entries.iter().all(|(key, _)| is_own(key)));
        assert!(own_windows.iter().all(|(_, key, _)| is_own(key)));
        assert!(contents.iter().all(|(key, _)| is_own(key)));
        sums.extend(entries);
        windows.extend(own_windows);
        cells.extend(contents);
    }
    assert_eq!(sums, wanted.entries());
    assert_eq!(windows, wanted.windows());
    let has_ttl = wanted.cells.ttl.is_some();
    for (place, key) in keys().iter().enumerate() {
        let stored = cells.remove(key).unwrap_or_default();
        let expected = wanted.cells.entries.get(&place).cloned();
        let expected = expected.unwrap_or_default();
        let mut pairs = stored.iter().zip(&expected);
        let is_same = stored.len() == expected.len()
            && pairs.all(|(stored, wanted)| same(stored, wanted, has_ttl));
        assert!(is_same, "{key}: {stored:?}, not {expected:?}");
    }
    assert!(cells.is_empty());
    let size_bytes: u64 = backends.iter().map(KeyedBackend::size_bytes).sum();
    assert_eq!(size_bytes, wanted.size_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    /// Breaks if any two ways to keep state part in what an operation gives, in what a snapshot holds however late it is
    /// written, or in what is restored, at whatever parallelism and from whatever form; if a file that a kept checkpoint
    /// needs goes, or one that nobody needs stays; or if a size forgets something.
    #[test]
    fn every_way_to_keep_state_is_the_same(descriptor in descriptor(), acts in acts()) {
        for way in ways() {
            play(way, descriptor, &acts);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// The same, in more lives and fewer ways each. The heap, which costs nothing, goes along.
    #[test]
    fn any_life_of_state_is_as_the_oracle_says(
        way in prop::sample::select(ways()), descriptor in descriptor(), acts in acts(),
    ) {
        let heap = Way { kind: BackendKind::Heap, ..way };
        for way in [heap, way] {
            play(way, descriptor, &acts);
        }
    }

}

proptest! {
    // Each writes many files.
    #![proptest_config(ProptestConfig::with_cases(10))]

    /// Law 31, with timers in the database and on the heap: timers come back with their windows.
    #[test]
    fn timers_are_the_same_in_either_place(acts in acts(), incremental: bool) {
        for timers in TimerService::ALL {
            let options = StateOptions { incremental, timers, ..StateOptions::default() };
            let way = Way { kind: BackendKind::RocksDb, place: Place::Files, options };
            play(way, StateDescriptor::new(StateId::Windows), &acts);
        }
    }
}

fn play(way: Way, descriptor: StateDescriptor, acts: &[Act]) {
    let mut life = Life::new(way, descriptor);
    for act in acts {
        life.play(*act);
    }
    life.end();
}

/// In Flink the timers of a native snapshot stay in its database, where timers on the heap do not look. Breaks if such a
/// restore goes on with windows that nobody will fire, or if one is refused that could go on.
#[test]
fn timers_go_to_the_heap_through_a_canonical_savepoint_only() {
    let key = Key::int(1);
    let setup = |timers| BackendSetup {
        options: StateOptions {
            timers,
            ..StateOptions::default()
        },
        ..BackendKind::RocksDb.into()
    };
    let all = 0..=MAX_PARALLELISM - 1;
    for (from, to) in [
        (TimerService::RocksDb, TimerService::Heap),
        (TimerService::Heap, TimerService::RocksDb),
    ] {
        for (format, is_open) in [
            (None, true),
            (None, false),
            (Some(SavepointFormat::Native), true),
            (Some(SavepointFormat::Canonical), true),
        ] {
            let mut world = World::new(Place::Files);
            let dir = world.fresh_dir();
            let mut backend =
                KeyedBackend::open(setup(from), &dir, MAX_PARALLELISM, all.clone()).unwrap();
            backend.window_add(&key, window(0), Decimal::ONE).unwrap();
            if !is_open {
                backend.window_remove(&key, window(0)).unwrap();
            }
            let id = CheckpointId(1);
            world.storage.begin(id).unwrap();
            let snapshot = backend.snapshot(id).unwrap();
            let handle = snapshot.write((id, format), "w-0", &*world.storage);
            let handles = [&handle.unwrap()];
            // To the same subtask, and to one of two.
            for range in [all.clone(), key_group_range(1, 2, MAX_PARALLELISM)] {
                let dir = world.fresh_dir();
                let has_it = range.contains(&key_group(&key, MAX_PARALLELISM));
                let storage = &*world.storage;
                let restored = KeyedBackend::restore(
                    setup(to),
                    &dir,
                    MAX_PARALLELISM,
                    range,
                    &handles,
                    storage,
                );
                let is_lost = to == TimerService::Heap
                    && format != Some(SavepointFormat::Canonical)
                    && is_open
                    && has_it;
                if is_lost {
                    let error = restored.unwrap_err();
                    assert!(matches!(error, StateError::TimersInDatabase), "{error}");
                } else {
                    let due = restored.unwrap().due_windows(EventTime(9)).unwrap();
                    assert_eq!(due.len(), usize::from(is_open && has_it));
                }
            }
        }
    }
}

/// What is read of timers is checked against the windows. Breaks if damage is taken for timers.
#[test]
fn a_nonsense_stream_of_timers_is_refused() {
    let mut world = World::new(Place::JobManager);
    let options = StateOptions {
        timers: TimerService::Heap,
        ..StateOptions::default()
    };
    let setup = BackendSetup {
        options,
        ..BackendKind::RocksDb.into()
    };
    let all = 0..=MAX_PARALLELISM - 1;
    let dir = world.fresh_dir();
    let mut backend = KeyedBackend::open(setup, &dir, MAX_PARALLELISM, all.clone()).unwrap();
    for key in keys() {
        backend.window_add(&key, window(1), Decimal::ONE).unwrap();
    }
    let id = CheckpointId(1);
    world.storage.begin(id).unwrap();
    let snapshot = backend.snapshot(id).unwrap();
    let mut handle = snapshot.write((id, None), "w-0", &*world.storage).unwrap();
    let KeyedStateHandle::RocksDb { timers, .. } = &handle else {
        panic!("RocksDB's");
    };
    let whole = timers.clone().unwrap();
    let StreamHandle::Inline(bytes) = &whole.stream else {
        panic!("inline");
    };
    let mut restore = |bytes: &[u8]| {
        if let KeyedStateHandle::RocksDb { timers, .. } = &mut handle {
            let stream = StreamHandle::Inline(bytes.into());
            let offsets = whole.offsets.clone();
            *timers = Some(GroupOffsets { stream, offsets });
        }
        let dir = world.fresh_dir();
        let storage = &*world.storage;
        KeyedBackend::restore(
            setup,
            &dir,
            MAX_PARALLELISM,
            all.clone(),
            &[&handle],
            storage,
        )
    };
    assert!(restore(bytes).is_ok());
    for at in (0..bytes.len()).step_by(5) {
        assert!(restore(&bytes[..at]).is_err(), "cut at {at}");
        let mut bad = bytes.to_vec();
        bad[at] ^= 1;
        assert!(restore(&bad).is_err(), "byte {at}");
    }
}
