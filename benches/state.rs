//! What keyed state costs: an update, a snapshot, its upload, a restore; what an incremental checkpoint uploads; and state
//! that is larger than the memory given to it.
//!
//! `cargo bench … --bench state -- SECTION…` measures some sections only: `costs`, `incremental`, `larger-than-memory`. Each
//! time is the best of several, since others may be at work on the machine. Without `--bench` all is small and quick.

#![allow(clippy::unwrap_used, reason = "a benchmark may end where it stands")]
#![allow(clippy::cast_precision_loss, reason = "figures are rounded")]

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lockgate::engine::state::{BackendSetup, KeyedBackend, KeyedSnapshot};
use lockgate::engine::storage::{
    CheckpointMetadata, CheckpointStorage, FileSystemStorage, KeyedStateHandle, MemoryStorage,
    OperatorState, StorageError, SubtaskState,
};
use lockgate::model::{
    BackendKind, CheckpointId, Decimal, Key, OperatorId, SnapshotKind, StateOptions, Uid,
};

const GROUPS: u32 = 128;
const INLINE_THRESHOLD_BYTES: u32 = 20 << 10;
const ROUNDS: u32 = 5;
/// So many records are timed at once.
const SLICE: u32 = 200;
const MIB: f64 = (1 << 20) as f64;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let is_full = args.iter().any(|arg| arg == "--bench");
    let sections = args.iter().filter(|arg| !arg.starts_with('-'));
    let sections: Vec<&str> = sections.map(String::as_str).collect();
    let wanted = |name| sections.is_empty() || sections.contains(&name);
    let scale = |full, quick| if is_full { full } else { quick };
    // First, while the process is small.
    if wanted("larger-than-memory") {
        larger_than_memory(scale(2_500_000, 25_000), scale(300_000, 3_000));
    }
    if wanted("costs") {
        for keys in [1_000, scale(1_000_000, 10_000)] {
            for kind in BackendKind::ALL {
                costs(kind, keys, scale(1_000_000, 10_000));
            }
        }
    }
    if wanted("incremental") {
        incremental(scale(1_000_000, 10_000), false);
        incremental(scale(1_000_000, 10_000), true);
    }
}

/// `SplitMix64`: the same keys in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from((z ^ (z >> 31)) % u64::from(bound)).unwrap()
    }
}

fn int(number: u32) -> Key {
    Key::int(number.try_into().unwrap())
}

/// A subtask that owns all key groups, and a folder for its checkpoints.
struct World {
    dir: tempfile::TempDir,
    files: FileSystemStorage,
    setup: BackendSetup,
    backend: KeyedBackend,
    checkpoints: u64,
    random: Random,
}

impl World {
    fn new(setup: BackendSetup) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("checkpoints");
        Self {
            files: FileSystemStorage::create(&root, INLINE_THRESHOLD_BYTES).unwrap(),
            backend: KeyedBackend::open(setup, &dir.path().join("db"), GROUPS, 0..=GROUPS - 1)
                .unwrap(),
            dir,
            setup,
            checkpoints: 0,
            random: Random(1),
        }
    }

    fn add(&mut self, key: &Key) {
        black_box(self.backend.add(key, Decimal::ONE).unwrap());
    }

    /// So many records of random keys.
    fn update(&mut self, records: u32, keys: u32, key: fn(u32) -> Key) -> PerRecord {
        let slice = |world: &mut Self| {
            timed(|| {
                for _ in 0..SLICE {
                    let key = key(world.random.below(keys));
                    world.add(&key);
                }
            })
        };
        let mut slices: Vec<Duration> = (0..records / SLICE).map(|_| slice(self)).collect();
        slices.sort_unstable();
        PerRecord {
            median: slices[slices.len() / 2] / SLICE,
            mean: slices.iter().sum::<Duration>() / (records / SLICE * SLICE),
        }
    }

    fn next(&mut self) -> CheckpointId {
        self.checkpoints += 1;
        CheckpointId(self.checkpoints)
    }

    /// A whole checkpoint that is confirmed.
    fn checkpoint(&mut self) -> Taken {
        let id = self.next();
        let mut snapshot = None;
        let synchronous = timed(|| snapshot = Some(self.backend.snapshot(id).unwrap()));
        let mut handle = None;
        let asynchronous = timed(|| {
            handle = Some(store(snapshot.take().unwrap(), id, &self.files).unwrap());
        });
        let handle = handle.unwrap();
        self.backend.on_written(id, &handle);
        self.backend.on_complete(id);
        Taken {
            synchronous,
            asynchronous,
            uploaded_bytes: handle.uploaded_bytes(id),
            all_bytes: handle.stored_bytes(),
            handle,
        }
    }

    fn restore(&self, handle: &KeyedStateHandle, storage: &dyn CheckpointStorage) -> Duration {
        let dir = self.dir.path().join("restored");
        let mut restored = None;
        let took = timed(|| {
            let groups = 0..=GROUPS - 1;
            let backend =
                KeyedBackend::restore(self.setup, &dir, GROUPS, groups, &[handle], storage);
            restored = Some(backend.unwrap());
        });
        assert_eq!(restored.unwrap().size_bytes(), self.backend.size_bytes());
        took
    }
}

/// What a record takes: in the median of short slices, which others on the machine seldom disturb; and on average, with
/// whatever the backend does now and then.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PerRecord {
    median: Duration,
    mean: Duration,
}

impl std::fmt::Display for PerRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (median, mean) = (nanos(self.median), nanos(self.mean));
        write!(f, "{median} (mean {mean})")
    }
}

struct Taken {
    synchronous: Duration,
    asynchronous: Duration,
    uploaded_bytes: u64,
    all_bytes: u64,
    handle: KeyedStateHandle,
}

/// The asynchronous part and what the JobManager does then: durable when this returns.
fn store(
    snapshot: KeyedSnapshot,
    id: CheckpointId,
    storage: &dyn CheckpointStorage,
) -> Result<KeyedStateHandle, StorageError> {
    storage.begin(id)?;
    let handle = snapshot.write((id, None), "sum-0", storage)?;
    storage.write_metadata(&metadata(id, &handle))?;
    Ok(handle)
}

fn metadata(id: CheckpointId, keyed: &KeyedStateHandle) -> CheckpointMetadata {
    let sum = SubtaskState {
        keyed: Some(keyed.clone()),
        ..SubtaskState::default()
    };
    CheckpointMetadata {
        checkpoint: id,
        kind: SnapshotKind::Checkpoint,
        backend: keyed.backend().unwrap_or(BackendKind::Heap),
        operators: vec![OperatorState {
            id: OperatorId::of_uid("sum"),
            uid: Uid::new("sum"),
            has_explicit_uid: true,
            name: "sum".to_owned(),
            parallelism: 1,
            max_parallelism: GROUPS,
            subtasks: vec![sum],
        }],
        edges: Vec::new(),
        processing_time_ms: None,
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn best<T: Ord>(work: impl FnMut(u32) -> T) -> T {
    (0..ROUNDS).map(work).min().unwrap()
}

/// As a live job has it: RocksDB flushes and merges when it sees fit.
fn live(kind: BackendKind, options: StateOptions) -> BackendSetup {
    BackendSetup {
        is_stepped: false,
        options,
        ..kind.into()
    }
}

fn costs(kind: BackendKind, keys: u32, records: u32) {
    println!("\n{}, {keys} keys", kind.name());
    let mut world = World::new(live(kind, StateOptions::default()));
    let filled = timed(|| (0..keys).for_each(|number| world.add(&int(number))));
    say("first record of a key", &nanos(filled / keys));
    let alone = best(|_| world.update(records, keys, int));
    say("update", &alone.to_string());
    if kind == BackendKind::Heap {
        copy_on_write(&mut world, keys, records);
        let again = best(|_| world.update(records, keys, int));
        say("update, no snapshot any more", &again.to_string());
    }
    let mut taken = Vec::new();
    for _ in 0..ROUNDS {
        // Every group is written to between two checkpoints.
        world.update(keys.min(100_000), keys, int);
        taken.push(world.checkpoint());
    }
    let synchronous = taken.iter().map(|it| it.synchronous).min().unwrap();
    let longest = taken.iter().map(|it| it.synchronous).max().unwrap();
    say(
        "synchronous part",
        &format!(
            "{} (longest of {ROUNDS}: {})",
            micros(synchronous),
            micros(longest)
        ),
    );
    let asynchronous = taken.iter().map(|it| it.asynchronous).min().unwrap();
    let last = taken.last().unwrap();
    let bytes = last.uploaded_bytes;
    say(
        "asynchronous part, folder",
        &format!("{}, {}", mib(bytes), millis(asynchronous)),
    );
    let restored = best(|_| world.restore(&last.handle, &world.files));
    say_restored("restore, folder", keys, restored);
    in_memory(&mut world, keys);
}

/// What a snapshot that is being written costs the records meanwhile.
fn copy_on_write(world: &mut World, keys: u32, records: u32) {
    let (mut usual, mut first, mut longest) = (Duration::MAX, Duration::MAX, Duration::MAX);
    let mut after = Vec::new();
    for _ in 0..ROUNDS {
        usual = usual.min(probe(world, keys).0);
        let id = world.next();
        let snapshot = world.backend.snapshot(id).unwrap();
        let (all, slowest) = probe(world, keys);
        after.push(world.update(records, keys, int));
        drop(snapshot);
        first = first.min(all);
        longest = longest.min(slowest);
    }
    let copies = first.saturating_sub(usual);
    say("copies after a snapshot, all", &micros(copies));
    say("slowest record after a snapshot", &micros(longest));
    let after = after.iter().min().unwrap();
    say("update, all is copied", &after.to_string());
}

/// So many random records that there is one of each key group: what they take in all, and the slowest of them.
fn probe(world: &mut World, keys: u32) -> (Duration, Duration) {
    let mut slowest = Duration::ZERO;
    let all = timed(|| {
        for _ in 0..4_000 {
            let key = int(world.random.below(keys));
            slowest = slowest.max(timed(|| world.add(&key)));
        }
    });
    (all, slowest)
}

/// The same checkpoint in the JobManager's heap, where it fits.
fn in_memory(world: &mut World, keys: u32) {
    let storage = MemoryStorage::default();
    let mut stored = None;
    let took = best(|_| {
        let id = world.next();
        let snapshot = world.backend.snapshot(id).unwrap();
        timed(|| stored = Some(store(snapshot, id, &storage)))
    });
    match stored.unwrap() {
        Ok(handle) => {
            let written = format!("{}, {}", mib(handle.stored_bytes()), millis(took));
            say("asynchronous part, JobManager", &written);
            let restored = best(|_| world.restore(&handle, &storage));
            say_restored("restore, JobManager", keys, restored);
        }
        Err(error) => say("asynchronous part, JobManager", &error.to_string()),
    }
}

/// One percent of the keys changes between checkpoints: at random, or one after the other.
fn incremental(keys: u32, in_a_row: bool) {
    let order = if in_a_row { "in a row" } else { "at random" };
    println!("\nrocksdb, incremental, {keys} keys, 1 % changed {order}");
    let options = StateOptions {
        incremental: true,
        ..StateOptions::default()
    };
    let mut world = World::new(BackendSetup {
        options,
        ..BackendKind::RocksDb.into()
    });
    (0..keys).for_each(|number| world.add(&int(number)));
    // What the filling has left behind is merged, as it would be in a job that has run for a while.
    world.backend.compact(0).unwrap();
    let mut first_bytes = 0;
    for number in 1..=8 {
        if number > 1 {
            for change in 0..keys / 100 {
                let key = if in_a_row {
                    keys / 2 + change
                } else {
                    world.random.below(keys)
                };
                world.add(&int(key));
            }
        }
        let taken = world.checkpoint();
        if number == 1 {
            first_bytes = taken.uploaded_bytes;
        }
        let percent = taken.uploaded_bytes as f64 / first_bytes as f64 * 100.0;
        let merged = world.backend.compact_if_due(0).unwrap();
        let then = merged.map_or(String::new(), |it| {
            format!(
                "; then {} files are merged into {}",
                it.files_before, it.files_after
            )
        });
        say(
            &format!("checkpoint {number}"),
            &format!(
                "{} bytes uploaded ({percent:.2} %) of {} needed; sync {}, async {}{then}",
                taken.uploaded_bytes,
                taken.all_bytes,
                micros(taken.synchronous),
                millis(taken.asynchronous),
            ),
        );
    }
    let taken = world.checkpoint();
    let restored = best(|_| world.restore(&taken.handle, &world.files));
    say_restored("restore", keys, restored);
}

/// 96 characters, of which no two keys have more than a few in common.
fn long(number: u32) -> Key {
    let mixed = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Key::text(&format!("{mixed:016x}").repeat(6))
}

fn larger_than_memory(keys: u32, records: u32) {
    let memory_mib = 8;
    println!("\nrocksdb with {memory_mib} MiB, {keys} keys of 96 characters");
    let options = StateOptions {
        memory_mib,
        incremental: true,
        ..StateOptions::default()
    };
    let mut world = World::new(live(BackendKind::RocksDb, options));
    say("resident before", &resident());
    reset_peak();
    let filled = timed(|| (0..keys).for_each(|number| world.add(&long(number))));
    say("first record of a key", &rate(filled / keys));
    say_size(&world);
    let updated = best(|_| world.update(records, keys, long));
    say("update", &format!("{updated}, {}", rate(updated.mean)));
    say("resident after updates", &resident());
    reset_peak();
    let taken = world.checkpoint();
    say(
        "checkpoint",
        &format!(
            "{}, sync {}, async {}",
            mib(taken.uploaded_bytes),
            micros(taken.synchronous),
            millis(taken.asynchronous)
        ),
    );
    say("resident after the checkpoint", &resident());
    reset_peak();
    let restored = world.restore(&taken.handle, &world.files);
    say_restored("restore", keys, restored);
    say("resident after the restore", &resident());
}

fn say_size(world: &World) {
    let logical = mib(world.backend.size_bytes());
    let disk = mib(size_of(&world.dir.path().join("db")));
    say("state", &format!("{logical} logical, {disk} on disk"));
}

fn size_of(folder: &Path) -> u64 {
    let paths = fs::read_dir(folder).unwrap().flatten();
    // One that is gone meanwhile counts nothing.
    let sizes = paths.filter_map(|entry| entry.metadata().ok());
    sizes.map(|it| it.len()).sum()
}

/// Linux only: what the process has in memory now, and the most it had since [`reset_peak`].
fn resident() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.split_whitespace().next());
        kib.and_then(|kib| kib.parse::<f64>().ok())
            .map_or("?".to_owned(), |kib| format!("{:.0} MiB", kib / 1024.0))
    };
    format!("{} (peak {})", field("VmRSS:"), field("VmHWM:"))
}

fn reset_peak() {
    // Elsewhere than on Linux there is no such file, and no figure.
    let _ = fs::write(PathBuf::from("/proc/self/clear_refs"), "5");
}

fn say_restored(what: &str, keys: u32, took: Duration) {
    let rate = f64::from(keys) / took.as_secs_f64() / 1e6;
    say(
        what,
        &format!("{}, {rate:.2} million entries/s", millis(took)),
    );
}

fn say(what: &str, figure: &str) {
    println!("  {what:<34}{figure}");
}

fn rate(per_record: Duration) -> String {
    let rate = 1.0 / per_record.as_secs_f64();
    format!("{}, {rate:.0} records/s", nanos(per_record))
}

fn nanos(time: Duration) -> String {
    format!("{} ns", time.as_nanos())
}

fn micros(time: Duration) -> String {
    format!("{:.1} µs", time.as_secs_f64() * 1e6)
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn mib(bytes: u64) -> String {
    format!("{:.2} MiB", bytes as f64 / MIB)
}
