//! Laws 20 to 22: incremental checkpoints of a real database, with the real files and the real registry.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use lockgate::engine::coordinator::SharedStateRegistry;
use lockgate::engine::state::{BackendSetup, KeyedBackend};
use lockgate::engine::storage::{
    CheckpointStorage, FileSystemStorage, KeyedStateHandle, SHARED, SubtaskState,
};
use lockgate::model::{BackendKind, CheckpointId, Decimal, Key, StateOptions};
use proptest::prelude::*;

use crate::support::{Entries, MAX_PARALLELISM, Place, World, files_in, metadata, names_in};

/// What happens to a subtask with a database.
#[derive(Clone, Debug)]
enum Op {
    /// So much is added to the sum of this key.
    Add(i32, i64),
    /// A checkpoint is taken and written, and comes out so.
    Checkpoint(Fate),
    /// News of the oldest complete checkpoint of which the subtask has not heard.
    Tell,
    /// All files are merged.
    Compact,
    /// The subtask fails, and begins again from the n-th retained checkpoint, counted from the newest and around.
    Restore(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// Complete, and the subtask hears of it.
    Confirmed,
    /// Complete; the news is lost, or comes later.
    Unheard,
    /// Acknowledged, then aborted because of somebody else; the subtask hears of it.
    Aborted,
    /// Written, and never acknowledged: the subtask failed in between, or the news of the abort was faster.
    Orphaned,
}

fn op() -> impl Strategy<Value = Op> {
    let fate = prop_oneof![
        5 => Just(Fate::Confirmed),
        2 => Just(Fate::Unheard),
        2 => Just(Fate::Aborted),
        1 => Just(Fate::Orphaned),
    ];
    prop_oneof![
        6 => (0..40_i32, -100..100_i64).prop_map(|(key, value)| Op::Add(key, value)),
        5 => fate.prop_map(Op::Checkpoint),
        2 => Just(Op::Tell),
        1 => Just(Op::Compact),
        1 => (0..3_usize).prop_map(Op::Restore),
    ]
}

fn setup(attempt: u32) -> BackendSetup {
    BackendSetup {
        options: StateOptions {
            incremental: true,
            compaction_trigger: 3,
            ..StateOptions::default()
        },
        continues: true,
        attempt,
        ..BackendKind::RocksDb.into()
    }
}

/// A retained checkpoint, and what it must give back.
struct Retained {
    id: CheckpointId,
    handle: KeyedStateHandle,
    entries: Entries,
}

/// A subtask, and a coordinator that keeps the two newest checkpoints.
struct Life {
    world: World,
    backend: KeyedBackend,
    sums: BTreeMap<i32, i64>,
    registry: SharedStateRegistry,
    store: Vec<Retained>,
    /// The checkpoint that last referred to each shared file, whatever became of it.
    last_used: BTreeMap<String, CheckpointId>,
    /// What the subtask may refer to: the shared files of the last checkpoint that it knows to be complete.
    confirmed: BTreeSet<String>,
    /// By which checkpoint each shared file was written last.
    written: BTreeMap<String, CheckpointId>,
    /// Complete, and the subtask has not heard of it.
    untold: Vec<(CheckpointId, BTreeSet<String>)>,
    next: u64,
    attempt: u32,
}

const RETAINED: usize = 2;

impl Life {
    fn new() -> Self {
        let mut world = World::new(Place::Files);
        let dir = world.fresh_dir();
        let groups = 0..=MAX_PARALLELISM - 1;
        Self {
            backend: KeyedBackend::open(setup(0), &dir, MAX_PARALLELISM, groups).unwrap(),
            world,
            sums: BTreeMap::new(),
            registry: SharedStateRegistry::default(),
            store: Vec::new(),
            last_used: BTreeMap::new(),
            confirmed: BTreeSet::new(),
            written: BTreeMap::new(),
            untold: Vec::new(),
            next: 1,
            attempt: 0,
        }
    }

    fn entries(&self) -> Entries {
        let sums = self.sums.iter();
        sums.map(|(key, sum)| (Key::int(*key), Decimal::from(*sum)))
            .collect()
    }

    fn play(&mut self, op: &Op) {
        match op {
            Op::Add(key, value) => {
                self.backend.add(&Key::int(*key), (*value).into()).unwrap();
                *self.sums.entry(*key).or_default() += value;
            }
            Op::Checkpoint(fate) => self.checkpoint(*fate),
            Op::Tell => {
                if !self.untold.is_empty() {
                    let (id, names) = self.untold.remove(0);
                    self.backend.on_complete(id);
                    self.confirmed = names;
                }
            }
            Op::Compact => {
                self.backend.compact(0).unwrap();
            }
            Op::Restore(back) => self.restore(*back),
        }
    }

    fn checkpoint(&mut self, fate: Fate) {
        let id = CheckpointId(self.next);
        self.next += 1;
        let storage = &self.world.storage;
        storage.begin(id).unwrap();
        let snapshot = self.backend.snapshot(id).unwrap();
        self.backend.compact_if_due(0).unwrap();
        let handle = snapshot.write((id, None), "sum-0", &**storage).unwrap();
        self.check_base(id, &handle);
        let new = handle.shared().filter(|file| file.created_by == id);
        let names = new.filter_map(|file| file.stream.shared_name());
        self.written.extend(names.map(|name| (file_name(name), id)));
        self.backend.on_written(id, &handle);
        let state = SubtaskState {
            keyed: Some(handle.clone()),
            ..SubtaskState::default()
        };
        if fate != Fate::Orphaned {
            self.registry.register(id, &state);
            let names = shared_names(&handle).into_iter();
            self.last_used.extend(names.map(|name| (name, id)));
        }
        match fate {
            Fate::Aborted | Fate::Orphaned => {
                storage.discard(id).unwrap();
                self.backend.on_aborted(id);
            }
            Fate::Confirmed | Fate::Unheard => {
                storage.write_metadata(&metadata(id, &handle)).unwrap();
                if fate == Fate::Confirmed {
                    self.backend.on_complete(id);
                    self.confirmed = shared_names(&handle);
                    self.untold.clear();
                } else {
                    self.untold.push((id, shared_names(&handle)));
                }
                let entries = self.entries();
                self.store.push(Retained {
                    id,
                    handle,
                    entries,
                });
                self.subsume();
            }
        }
    }

    /// Law 22: what is not uploaded again is what the subtask knows to be in a complete checkpoint.
    fn check_base(&self, id: CheckpointId, handle: &KeyedStateHandle) {
        for file in handle.shared().filter(|file| file.created_by != id) {
            let name = file.stream.shared_name().unwrap();
            assert!(self.confirmed.contains(name), "{name} was not confirmed");
        }
    }

    fn subsume(&mut self) {
        let surplus = self.store.len().saturating_sub(RETAINED);
        for gone in self.store.drain(..surplus) {
            self.world.storage.discard(gone.id).unwrap();
        }
        let lowest = self.store.iter().map(|it| it.id).min().unwrap();
        self.registry.unregister_unused(lowest);
        let keep = self.registry.names();
        self.world.storage.retain_shared(&keep, lowest).unwrap();
    }

    fn restore(&mut self, back: usize) {
        let Some(place) = self.store.len().checked_sub(1) else {
            return;
        };
        let index = place - back % self.store.len();
        let handle = self.store[index].handle.clone();
        self.attempt += 1;
        self.untold.clear();
        let dir = self.world.fresh_dir();
        let groups = 0..=MAX_PARALLELISM - 1;
        let storage = &*self.world.storage;
        self.backend = KeyedBackend::restore(
            setup(self.attempt),
            &dir,
            MAX_PARALLELISM,
            groups,
            &[&handle],
            storage,
        )
        .unwrap();
        self.confirmed = shared_names(&handle);
        let entries = &self.store[index].entries;
        self.sums = entries
            .iter()
            .map(|(key, sum)| {
                let Key::Int { value, .. } = key else {
                    panic!("an integer")
                };
                (*value, i64::try_from(*sum).unwrap())
            })
            .collect();
    }

    /// Laws 20 and 21, by the folder.
    fn check(&mut self) {
        assert_eq!(self.backend.entries().unwrap(), self.entries());
        let mut needed = BTreeSet::new();
        for place in 0..self.store.len() {
            let retained = &self.store[place];
            self.world.storage.verify(retained.id).unwrap();
            needed.extend(shared_names(&retained.handle));
            let (handle, entries) = (retained.handle.clone(), retained.entries.clone());
            let restored = self.world.restore(BackendKind::RocksDb, &handle).unwrap();
            assert_eq!(restored.entries().unwrap(), entries);
        }
        let folder = self.world.checkpoints().join(SHARED);
        let lowest = self.store.iter().map(|it| it.id).min();
        let mut there = names_in(&folder);
        there.retain(|name| {
            // What a checkpoint since the oldest retained one has written may be of one that is given up.
            let by = self.written[name];
            lowest.is_some_and(|lowest| by < lowest)
        });
        // One that was aborted keeps what it has referred to, until it is older than all that are retained.
        let used = self.last_used.iter();
        let used = used.filter(|(_, by)| lowest.is_some_and(|lowest| **by >= lowest));
        needed.extend(used.map(|(name, _)| name.clone()));
        for name in there {
            assert!(
                needed.iter().any(|it| file_name(it) == name),
                "{name} is an orphan"
            );
        }
    }
}

fn shared_names(handle: &KeyedStateHandle) -> BTreeSet<String> {
    let files = handle.shared();
    files
        .filter_map(|file| file.stream.shared_name().map(str::to_owned))
        .collect()
}

/// As it lies in the folder: these names have nothing that needs another spelling.
fn file_name(name: &str) -> String {
    format!("state-{name}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Breaks if a file that a retained checkpoint refers to is deleted, if one that none refers to stays for good, if
    /// an unconfirmed upload is taken for granted, or if what is restored is anything but the state at the snapshot.
    #[test]
    fn every_retained_checkpoint_is_whole_and_nothing_else_stays(ops in proptest::collection::vec(op(), 1..40)) {
        let mut life = Life::new();
        for op in &ops {
            life.play(op);
        }
        life.check();
    }
}

/// Breaks if nothing is shared, or if a merge of files is not seen as new files.
#[test]
fn only_new_files_are_uploaded() {
    let mut life = Life::new();
    let add = |life: &mut Life, keys: std::ops::Range<i32>| {
        for key in keys {
            life.play(&Op::Add(key, 1));
        }
    };
    let uploaded = |life: &Life| {
        let last = life.store.last().unwrap();
        let new = last
            .handle
            .shared()
            .filter(|file| file.created_by == last.id);
        new.map(|file| file.entry_bytes).sum::<u64>()
    };
    add(&mut life, 0..1000);
    life.play(&Op::Checkpoint(Fate::Confirmed));
    let first_bytes = uploaded(&life);
    // Kind of key (1), key (4), value (16).
    assert_eq!(first_bytes, 1000 * 21);
    add(&mut life, 500..510);
    life.play(&Op::Checkpoint(Fate::Confirmed));
    assert_eq!(uploaded(&life), 10 * 21, "what has changed");
    life.play(&Op::Checkpoint(Fate::Confirmed));
    assert_eq!(uploaded(&life), 0, "nothing has changed");
    life.play(&Op::Compact);
    life.play(&Op::Checkpoint(Fate::Confirmed));
    assert_eq!(uploaded(&life), first_bytes, "all is in one new file");
    life.check();
}

/// Breaks if what the last confirmed checkpoint has is uploaded again, if what changes drags its neighbours along, or if
/// a merge of files goes unnoticed: with one percent of the keys changed in a row, a checkpoint adds at most a twentieth of
/// the first one's bytes to the folder. (A fiftieth and less with more keys: each has some kilobytes of `RocksDB`'s own
/// files, whatever the state.)
#[test]
fn one_percent_changed_is_a_small_upload() {
    const KEYS: i32 = 20_000;
    let mut life = Life::new();
    let mut known = BTreeSet::new();
    let mut added_bytes = |life: &mut Life, changed: std::ops::Range<i32>| {
        changed.for_each(|key| life.play(&Op::Add(key, 1)));
        life.play(&Op::Checkpoint(Fate::Confirmed));
        let files = files_in(&life.world.checkpoints()).into_iter();
        let new = files.filter(|file| known.insert(file.clone()));
        new.map(|file| file.metadata().unwrap().len()).sum::<u64>()
    };
    let first_bytes = added_bytes(&mut life, 0..KEYS);
    let percent = KEYS / 100;
    for from in [0, KEYS / 2] {
        let bytes = added_bytes(&mut life, from..from + percent);
        assert!(bytes * 20 <= first_bytes, "{bytes} of {first_bytes}");
    }
    // Three files have gathered, and are merged: all of it is new.
    let bytes = added_bytes(&mut life, KEYS - percent..KEYS);
    assert!(bytes >= first_bytes, "{bytes} of {first_bytes}");
    let bytes = added_bytes(&mut life, 0..percent);
    assert!(bytes * 20 <= first_bytes, "{bytes} of {first_bytes}");
    life.check();
}

/// Breaks if an abort deletes files, if orphans outlive the next completed checkpoints, or if files are deleted while
/// the older of two retained checkpoints needs them.
#[test]
fn the_folder_holds_what_the_retained_checkpoints_refer_to() {
    let mut life = Life::new();
    for round in 0..20 {
        for key in 0..30 {
            life.play(&Op::Add(round * 7 + key, 1));
        }
        let fate = match round % 5 {
            1 => Fate::Aborted,
            3 => Fate::Orphaned,
            _ => Fate::Confirmed,
        };
        life.play(&Op::Checkpoint(fate));
        life.check();
    }
    life.play(&Op::Checkpoint(Fate::Confirmed));
    life.play(&Op::Checkpoint(Fate::Confirmed));
    let handles = life.store.iter().map(|it| &it.handle);
    let needed: BTreeSet<String> = handles
        .flat_map(shared_names)
        .map(|name| file_name(&name))
        .collect();
    let folder = life.world.checkpoints().join(SHARED);
    assert_eq!(names_in(&folder), needed.into_iter().collect::<Vec<_>>());
    assert_eq!(life.store.len(), RETAINED);
}

/// Breaks if a copy of an incremental checkpoint lacks the files that it shares, or takes along what others have put
/// there.
#[test]
fn a_copy_of_a_checkpoint_has_its_shared_files_beside_it() {
    let mut life = Life::new();
    for round in 0..2 {
        life.play(&Op::Add(round, 5));
        life.play(&Op::Checkpoint(Fate::Confirmed));
    }
    let id = life.store[1].id;
    let folder = life.world.checkpoints().join(format!("chk-{id}"));
    std::fs::write(folder.join("notes.txt"), "mine").unwrap();
    let (original, _) = FileSystemStorage::open_snapshot(&folder).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("copy");
    original.copy_to(&to).unwrap();
    let copy = FileSystemStorage::single(&to, 0);
    copy.verify(id).unwrap();
    assert_eq!(names_in(&dir.path().join(SHARED)).len(), 2);
    assert!(!to.join("notes.txt").exists());
}

/// Two checkpoints with a file in common; their ids.
fn two_that_share() -> (Life, [CheckpointId; 2]) {
    let mut life = Life::new();
    for round in 0..2 {
        life.play(&Op::Add(round, 5));
        life.play(&Op::Checkpoint(Fate::Confirmed));
    }
    let [older, newer] = [&life.store[0], &life.store[1]];
    let common = shared_names(&older.handle)
        .intersection(&shared_names(&newer.handle))
        .count();
    assert_eq!(common, 1, "otherwise there is nothing to lose");
    let ids = [older.id, newer.id];
    (life, ids)
}

/// The way from the current folder to `to`, which is absolute.
fn relative(to: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap();
    let up = here.components().skip(1).map(|_| Component::ParentDir);
    up.chain(to.components().skip(1)).collect()
}

/// Breaks if a path's siblings are looked for by its text alone, in which case "chk-2" has none.
#[test]
fn a_claimed_checkpoint_by_a_relative_path_leaves_what_others_need() {
    let (life, [older, newer]) = two_that_share();
    let folder = life.world.checkpoints().join(format!("chk-{newer}"));
    let (opened, _) = FileSystemStorage::open_snapshot(&relative(&folder)).unwrap();
    assert_eq!(opened.location(), Some(&*folder));
    opened.verify(newer).unwrap();
    opened.discard(newer).unwrap();
    assert!(!folder.exists());
    life.world.storage.verify(older).unwrap();
    let shared = names_in(&life.world.checkpoints().join(SHARED));
    assert_eq!(shared.len(), 1, "its own is gone: {shared:?}");
}

/// Breaks if what cannot be looked into counts as nothing: links that lead nowhere or in a circle, a checkpoint behind a
/// link, damaged metadata.
#[cfg(unix)]
#[test]
fn what_lies_beside_a_claimed_checkpoint_and_cannot_be_read_may_need_all_files() {
    use std::os::unix::fs::symlink;
    let hide: [fn(&Path, &Path); 4] = [
        |older, elsewhere| {
            std::fs::rename(older, elsewhere).unwrap();
            symlink(elsewhere, older).unwrap();
        },
        |older, elsewhere| {
            std::fs::rename(older, elsewhere).unwrap();
            symlink("nowhere", older).unwrap();
        },
        |older, elsewhere| {
            std::fs::rename(older, elsewhere).unwrap();
            symlink(older, older).unwrap();
        },
        |older, elsewhere| {
            std::fs::rename(older, elsewhere).unwrap();
            std::fs::create_dir(older).unwrap();
            std::fs::write(older.join("_metadata"), "torn").unwrap();
        },
    ];
    for hide in hide {
        let (life, [older, newer]) = two_that_share();
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = dir.path().join("moved");
        let in_place = life.world.checkpoints().join(format!("chk-{older}"));
        hide(&in_place, &elsewhere);
        let folder = life.world.checkpoints().join(format!("chk-{newer}"));
        let (opened, _) = FileSystemStorage::open_snapshot(&folder).unwrap();
        opened.discard(newer).unwrap();
        assert!(!folder.join("_metadata").exists());
        if in_place.is_symlink() {
            std::fs::remove_file(&in_place).unwrap();
        } else {
            std::fs::remove_dir_all(&in_place).unwrap();
        }
        std::fs::rename(&elsewhere, &in_place).unwrap();
        life.world.storage.verify(older).unwrap();
    }
}
