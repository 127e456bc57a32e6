//! Every kind of state, on every backend, against a plain model of what it means: values, lists, maps and accumulators per
//! key, with or without a time to live, through snapshots in every form and at every parallelism.
//!
//! See [`super::oracle`] for the model.

use std::collections::BTreeMap;

use lockgate::engine::state::{KeyedBackend, KeyedState, StateDescriptor, StateId};
use lockgate::engine::storage::KeyedStateHandle;
use lockgate::model::key_group::{key_group, key_group_range, owner};
use lockgate::model::{
    BackendKind, CheckpointId, Decimal, Key, SavepointFormat, StateEntry, TtlSpec, TtlVisibility,
};
use proptest::prelude::*;

use crate::oracle::{Answer, Entry, Model, Op, STATES, Step, act, keys, same, steps, ttl};
use crate::support::{MAX_PARALLELISM, Place, World};

/// A backend with its clock, and the model beside it.
struct Pair {
    backends: Vec<KeyedBackend>,
    descriptor: StateDescriptor,
    model: Model,
    now_ms: u64,
}

impl Pair {
    fn new(world: &mut World, kind: BackendKind, descriptor: StateDescriptor) -> Self {
        let mut backend = world.open(kind);
        backend.declare(descriptor).unwrap();
        Self {
            backends: vec![backend],
            descriptor,
            model: Model {
                kind: descriptor.id.kind(),
                ttl: descriptor.ttl,
                entries: BTreeMap::new(),
            },
            now_ms: 1_000,
        }
    }

    fn backend_of(&mut self, key: &Key) -> &mut KeyedBackend {
        let parallelism = u32::try_from(self.backends.len()).unwrap();
        let index = owner(
            key_group(key, MAX_PARALLELISM),
            parallelism,
            MAX_PARALLELISM,
        );
        &mut self.backends[index as usize]
    }

    fn step(&mut self, (place, passes_ms, op): Step) {
        self.now_ms += passes_ms;
        let (now_ms, descriptor) = (self.now_ms, self.descriptor);
        let key = &keys()[place];
        let backend = self.backend_of(key);
        let mut state = KeyedState::new(backend, descriptor, (key, now_ms));
        let answer = act(&mut state, descriptor.id.kind(), op).unwrap();
        let shows_expired = descriptor.ttl.is_some_and(|ttl| {
            ttl.visibility == TtlVisibility::ReturnExpiredIfNotCleanedUp && ttl.background_cleanup
        });
        if shows_expired {
            // Whether a stale value is still there depends on the clean-up: then any that is left out must be stale.
            let after = self.contents_of(place);
            self.follow_stale(place, op, (&answer, &after));
        } else {
            assert_eq!(self.model.act(place, now_ms, op), answer, "{op:?} of {key}");
        }
        for (place, stored) in self.contents().into_iter().enumerate() {
            self.model.follow_cleanup(place, now_ms, &stored);
        }
        self.compare();
    }

    /// Expired entries may have been cleaned up just before: try the model with them and without.
    fn follow_stale(&mut self, place: usize, op: Op, (answer, after): (&Answer, &[StateEntry])) {
        let now_ms = self.now_ms;
        let old = self.model.entries.get(&place).cloned().unwrap_or_default();
        let expired: Vec<Entry> = old
            .iter()
            .copied()
            .filter(|entry| self.model.is_expired(entry, now_ms))
            .collect();
        let subsets = 0..1_u32 << expired.len().min(12);
        for gone in subsets {
            let is_gone = |entry: &Entry| {
                let at = expired.iter().position(|other| other == entry);
                at.is_some_and(|at| gone & (1 << at.min(12)) != 0)
            };
            let left: Vec<Entry> = old
                .iter()
                .copied()
                .filter(|entry| !is_gone(entry))
                .collect();
            self.model.entries.insert(place, left);
            let expected = self.model.act(place, now_ms, op);
            let fits = {
                let entries = self.model.entries.get(&place).cloned().unwrap_or_default();
                let all_there = after
                    .iter()
                    .all(|stored| entries.iter().any(|entry| same(stored, entry, true)));
                all_there && expected == *answer
            };
            if fits {
                return;
            }
        }
        panic!("{op:?} gave {answer:?}, which no clean-up explains: {old:?} at {now_ms}");
    }

    fn contents_of(&mut self, place: usize) -> Vec<StateEntry> {
        let (key, state) = (&keys()[place], self.descriptor.id);
        self.backend_of(key).contents_of(state, key).unwrap()
    }

    fn contents(&mut self) -> Vec<Vec<StateEntry>> {
        (0..keys().len())
            .map(|place| self.contents_of(place))
            .collect()
    }

    /// What is stored is what the model says, to the millisecond.
    fn compare(&mut self) {
        let has_ttl = self.descriptor.ttl.is_some();
        for (place, stored) in self.contents().into_iter().enumerate() {
            let wanted = self.model.entries.get(&place).cloned().unwrap_or_default();
            let is_same = stored.len() == wanted.len()
                && stored
                    .iter()
                    .zip(&wanted)
                    .all(|(stored, wanted)| same(stored, wanted, has_ttl));
            assert!(is_same, "{}: {stored:?}, not {wanted:?}", keys()[place]);
        }
    }

    /// Through a snapshot of this form, to this many subtasks.
    fn move_to(
        &mut self,
        world: &mut World,
        checkpoint: CheckpointId,
        (format, kind, parallelism): (Option<SavepointFormat>, BackendKind, u32),
    ) {
        world.storage.begin(checkpoint).unwrap();
        let now_ms = self.now_ms;
        let handles: Vec<KeyedStateHandle> = (self.backends.iter_mut().enumerate())
            .map(|(index, backend)| {
                let snapshot = backend.snapshot_at(checkpoint, now_ms).unwrap();
                snapshot
                    .write(
                        (checkpoint, format),
                        &format!("op-{index}"),
                        &*world.storage,
                    )
                    .unwrap()
            })
            .collect();
        // Law 19: nothing of this is in the snapshot any more.
        for (place, key) in keys().iter().enumerate() {
            let backend = self.backend_of(key);
            let mut state = KeyedState::new(backend, StateDescriptor::new(StateId::Max), (key, 0));
            state
                .as_reducing()
                .add(Decimal::from(place), |_, new| Ok(new))
                .unwrap();
        }
        let handles: Vec<&KeyedStateHandle> = handles.iter().collect();
        self.backends = (0..parallelism)
            .map(|index| {
                let range = key_group_range(index, parallelism, MAX_PARALLELISM);
                let dir = world.fresh_dir();
                let storage = &*world.storage;
                let mut backend =
                    KeyedBackend::restore(kind, &dir, MAX_PARALLELISM, range, &handles, storage)
                        .unwrap();
                backend.declare(self.descriptor).unwrap();
                backend
            })
            .collect();
        let total: usize = self
            .backends
            .iter()
            .map(|b| b.contents().unwrap().len())
            .sum();
        let held = self
            .model
            .entries
            .values()
            .filter(|entries| !entries.is_empty());
        assert_eq!(total, held.count(), "every key is with one subtask");
        self.compare();
    }
}

const FORMATS: [Option<SavepointFormat>; 3] = [
    None,
    Some(SavepointFormat::Native),
    Some(SavepointFormat::Canonical),
];

/// A snapshot in one of the forms, and how many subtasks restore it.
fn moves() -> impl Strategy<Value = (usize, u32, bool)> {
    (0_usize..3, 1_u32..5, any::<bool>())
}

fn any_state() -> impl Strategy<Value = StateId> {
    prop::sample::select(STATES.to_vec())
}

fn any_backend() -> impl Strategy<Value = BackendKind> {
    prop::sample::select(BackendKind::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Laws 19, 28 and 30 for every kind of state on every backend. Breaks if a backend and the meaning of a kind part, if a
    /// key's state gets lost or changed on its way to another subtask or backend, if a restore renews an entry, or if
    /// time to live is one millisecond off or touches another entry.
    #[test]
    fn every_kind_means_the_same_everywhere(
        state in any_state(),
        ttl in ttl(),
        backend in any_backend(),
        rounds in prop::collection::vec((steps(), moves()), 1..3),
    ) {
        let mut world = World::new(Place::JobManager);
        let mut backend = backend;
        let mut pair = Pair::new(&mut world, backend, StateDescriptor { id: state, ttl });
        for ((steps, (format, parallelism, changes)), checkpoint) in rounds.into_iter().zip(1..) {
            for step in steps {
                pair.step(step);
            }
            let format = FORMATS[format];
            if format == Some(SavepointFormat::Canonical) && changes {
                backend = match backend {
                    BackendKind::Heap => BackendKind::RocksDb,
                    BackendKind::RocksDb => BackendKind::Heap,
                };
            }
            pair.move_to(&mut world, CheckpointId(checkpoint), (format, backend, parallelism));
        }
        for place in 0..keys().len() {
            pair.step((place, 0, Op::Read));
        }
    }

    /// Law 30: never an expired value, on either backend, whatever else happens; and a compaction takes away only what
    /// has expired, all of it, also from lists of which something lives.
    #[test]
    fn nothing_expired_is_ever_read(
        state in any_state(),
        ttl_ms in 1_u64..60,
        backend in any_backend(),
        steps in steps(),
    ) {
        let mut world = World::new(Place::JobManager);
        let descriptor = StateDescriptor { id: state, ttl: Some(TtlSpec::new(ttl_ms)) };
        let mut pair = Pair::new(&mut world, backend, descriptor);
        for step in steps {
            pair.step(step);
        }
        let now_ms = pair.now_ms;
        let size_bytes = pair.backends[0].size_bytes();
        let compaction = pair.backends[0].compact(now_ms).unwrap();
        let cleaned = compaction.map(|it| it.cleaned).unwrap_or_default();
        let contents = pair.backends[0].contents().unwrap();
        if backend == BackendKind::RocksDb {
            for (key, entries) in &contents {
                let is_alive = |entry: &StateEntry| !entry.is_expired(descriptor.ttl, now_ms);
                let all = entries.iter().all(is_alive);
                prop_assert!(all, "{key} has {entries:?} at {now_ms}");
            }
        }
        prop_assert!(cleaned.is_empty() || pair.backends[0].size_bytes() < size_bytes);
        for place in 0..keys().len() {
            let stored = pair.contents_of(place);
            pair.model.follow_cleanup(place, now_ms, &stored);
        }
        pair.compare();
    }
}
