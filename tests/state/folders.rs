//! Savepoints and retained checkpoints as folders that a person can move, open, look into and delete.

use std::fs;
use std::path::{Path, PathBuf};

use lockgate::engine::state::KeyedBackend;
use lockgate::engine::state::inspect::{self, Contents};
use lockgate::engine::storage::{
    CheckpointMetadata, CheckpointStorage, FileSystemStorage, KeyedStateHandle, StorageError,
    find_snapshots,
};
use lockgate::model::{BackendKind, CheckpointId, Decimal, Key, SavepointFormat, TimeWindow};

use crate::support::{
    CP1, CP2, MAX_PARALLELISM, Place, World, files_in, fill, keys, metadata, names_in,
};

const WINDOW: TimeWindow = TimeWindow {
    start_ms: 0,
    end_ms: 10,
};

/// A folder of savepoints.
struct Savepoints {
    dir: PathBuf,
}

impl Savepoints {
    /// A new folder in it.
    fn make(&self, name: &str) -> FileSystemStorage {
        fs::create_dir_all(self.dir.join(name)).unwrap();
        FileSystemStorage::single(&self.dir.join(name), 0)
    }
}

fn world() -> (World, Savepoints) {
    let world = World::new(Place::JobManager);
    let dir = world.path().join("savepoints").join("deep");
    (world, Savepoints { dir })
}

/// A snapshot that lies somewhere.
struct Opened {
    storage: FileSystemStorage,
    metadata: CheckpointMetadata,
}

fn open(path: &Path) -> Result<Opened, StorageError> {
    let (storage, metadata) = FileSystemStorage::open_snapshot(path)?;
    Ok(Opened { storage, metadata })
}

fn filled(world: &mut World, kind: BackendKind) -> KeyedBackend {
    let mut backend = world.open(kind);
    fill(&mut backend);
    backend
        .window_add(&Key::text("sun"), WINDOW, Decimal::TEN)
        .unwrap();
    backend
}

fn write(
    storage: &dyn CheckpointStorage,
    backend: &mut KeyedBackend,
    (id, format): (CheckpointId, Option<SavepointFormat>),
) -> KeyedStateHandle {
    storage.begin(id).unwrap();
    let snapshot = backend.snapshot(id).unwrap();
    let handle = snapshot.write((id, format), "sum-0", storage).unwrap();
    storage.write_metadata(&metadata(id, &handle)).unwrap();
    handle
}

/// A complete savepoint 7 of `kind` in `format`, called `name`.
fn savepoint(
    (world, savepoints): &mut (World, Savepoints),
    name: &str,
    (kind, format): (BackendKind, SavepointFormat),
) -> PathBuf {
    let storage = savepoints.make(name);
    let mut backend = filled(world, kind);
    write(&storage, &mut backend, (CheckpointId(7), Some(format)));
    savepoints.dir.join(name)
}

const CANONICAL: (BackendKind, SavepointFormat) = (BackendKind::Heap, SavepointFormat::Canonical);

fn sums(world: &mut World, kind: BackendKind, opened: &Opened) -> Vec<(Key, Decimal)> {
    let handle = opened.metadata.operators[1].subtasks[0]
        .keyed
        .clone()
        .unwrap();
    let backend = KeyedBackend::restore(
        kind,
        &world.fresh_dir(),
        MAX_PARALLELISM,
        0..=MAX_PARALLELISM - 1,
        &[&handle],
        &opened.storage,
    );
    backend.unwrap().entries().unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for file in files_in(from) {
        fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
    }
}

/// Catches a reference to where the savepoint was written, and one to the run's own checkpoints.
#[test]
fn a_savepoint_is_self_contained_and_can_be_moved() {
    for kind in BackendKind::ALL {
        for format in SavepointFormat::ALL {
            let mut here = world();
            let written = savepoint(&mut here, "savepoint-a", (kind, format));
            let moved = here.0.path().join("elsewhere");
            fs::rename(&written, &moved).unwrap();
            for path in [moved.clone(), moved.join("_metadata")] {
                let opened = open(&path).unwrap();
                assert_eq!(opened.storage.location(), Some(&*moved));
                assert_eq!(opened.metadata.checkpoint, CheckpointId(7));
                assert_eq!(opened.storage.list().unwrap(), [CheckpointId(7)]);
                opened.storage.verify(CheckpointId(7)).unwrap();
                let expected = filled(&mut here.0, kind).entries().unwrap();
                assert_eq!(sums(&mut here.0, kind, &opened), expected);
            }
        }
    }
}

/// Catches an aborted savepoint that leaves its folder, and a discard that takes more than that.
#[test]
fn a_discarded_savepoint_leaves_nothing() {
    let (_world, folder) = world();
    let storage = folder.make("savepoint-x");
    storage.begin(CP1).unwrap();
    storage.write_stream(CP1, "sum-0", b"state").unwrap();
    let again = storage.begin(CP2).unwrap_err();
    assert!(
        matches!(again, StorageError::AlreadyBegun { .. }),
        "{again}"
    );
    assert_eq!(storage.list().unwrap(), []);
    assert!(open(&folder.dir.join("savepoint-x")).is_err());
    fs::create_dir(folder.dir.join("other")).unwrap();
    for _ in 0..2 {
        storage.discard(CP1).unwrap();
        assert_eq!(names_in(&folder.dir), ["other"]);
    }
    let late = storage.write_stream(CP1, "sum-1", b"state").unwrap_err();
    assert!(matches!(late, StorageError::NotOpen { .. }), "{late}");
}

/// What is opened is somebody's. Catches a run that writes into it; and claiming, which must be able to delete it.
#[test]
fn an_opened_snapshot_is_not_written_to() {
    let mut here = world();
    let path = savepoint(
        &mut here,
        "savepoint-a",
        (BackendKind::Heap, SavepointFormat::Native),
    );
    let before = files_in(&path);
    let opened = open(&path).unwrap();
    let id = CheckpointId(7);
    assert!(opened.storage.begin(id).is_err());
    assert!(opened.storage.write_stream(id, "more", b"state").is_err());
    assert!(opened.storage.write_metadata(&opened.metadata).is_err());
    assert_eq!(files_in(&path), before);
    opened.storage.discard(id).unwrap();
    assert!(names_in(&here.1.dir).is_empty());
}

fn refusal(path: &Path) -> String {
    let refused = open(path).map(|opened| opened.metadata);
    refused.unwrap_err().to_string()
}

/// Each says what is wrong, where, and what to do. Catches a panic, and a folder that is taken for a snapshot.
#[test]
fn what_is_no_snapshot_is_refused_in_words() {
    let mut here = world();
    let path = savepoint(&mut here, "savepoint-a", CANONICAL);
    let root = here.0.path().to_owned();
    let broken = |name: &str, change: &dyn Fn(Vec<u8>) -> Vec<u8>| {
        let to = root.join(name);
        copy(&path, &to);
        let bytes = fs::read(to.join("_metadata")).unwrap();
        fs::write(to.join("_metadata"), change(bytes)).unwrap();
        to
    };
    let torn = broken("torn", &|bytes| bytes[..bytes.len() / 2].to_vec());
    let newer = broken("newer", &|mut bytes| {
        bytes[7] = 99;
        bytes
    });
    let other = broken("other", &|_| b"Once upon a time".to_vec());
    let flink = broken("flink", &|_| vec![0x49, 0x60, 0x67, 0x2d, 0, 0, 0, 6]);
    let empty = broken("empty", &|_| Vec::new());
    let file = root.join("file.txt");
    fs::write(&file, "text").unwrap();
    let nothing = root.join("nothing");
    fs::create_dir(&nothing).unwrap();
    let cases: [(PathBuf, &str); 10] = [
        (root.join("absent"), "there is no such folder"),
        (root.join("absent/_metadata"), "there is no such folder"),
        (file, "it is a file"),
        (nothing, "it has no _metadata"),
        (here.1.dir.clone(), "Name one of them"),
        (torn, "is torn"),
        (newer, "newer Lockgate"),
        (other, "does not begin as"),
        (flink, "Apache Flink itself"),
        (empty, "is torn"),
    ];
    for (path, words) in cases {
        let sentence = refusal(&path);
        assert!(sentence.contains(words), "{sentence}");
        let name = path.iter().find(|part| *part == "absent");
        let name = name.or(path.file_name()).unwrap().to_str().unwrap();
        assert!(sentence.contains(name), "{sentence}");
    }
    let below = refusal(&here.1.dir);
    assert!(below.contains("savepoint-a"), "{below}");
}

/// Catches a missing state file that is found only in the middle of a restore, by someone else's name.
#[test]
fn a_savepoint_without_one_of_its_files_is_damaged() {
    let mut here = world();
    let path = savepoint(
        &mut here,
        "savepoint-a",
        (BackendKind::RocksDb, SavepointFormat::Native),
    );
    let opened = open(&path).unwrap();
    let state = files_in(&path)
        .into_iter()
        .find(|file| !file.ends_with("_metadata"))
        .unwrap();
    fs::remove_file(&state).unwrap();
    let error = opened.storage.verify(CheckpointId(7)).unwrap_err();
    assert!(matches!(error, StorageError::Missing { .. }), "{error}");
    assert!(error.to_string().contains(&state.display().to_string()));
}

/// Checkpoints that outlive their storage open like savepoints. Catches an order by text.
#[test]
fn retained_checkpoints_are_found_and_opened() {
    let (mut world, _) = world();
    let (dir, job) = (world.path().join("kept"), world.path().join("kept/0123"));
    let storage = FileSystemStorage::create(&job, 0).unwrap();
    fs::create_dir(job.join("shared")).unwrap();
    let mut backend = filled(&mut world, BackendKind::Heap);
    for id in [9, 10, 11] {
        write(&storage, &mut backend, (CheckpointId(id), None));
    }
    drop(storage);
    let found = find_snapshots(&dir).unwrap();
    let names: Vec<_> = found
        .iter()
        .map(|found| found.path.strip_prefix(&job).unwrap().to_owned())
        .collect();
    assert_eq!(names, ["chk-9", "chk-10", "chk-11"].map(PathBuf::from));
    for found in &found {
        let on_disk: u64 = files_in(&found.path)
            .iter()
            .map(|file| file.metadata().unwrap().len())
            .sum();
        assert_eq!(found.stored_bytes, Some(on_disk));
    }
    let opened = open(&job.join("chk-10")).unwrap();
    assert_eq!(opened.metadata.checkpoint, CheckpointId(10));
    let expected = backend.entries().unwrap();
    assert_eq!(sums(&mut world, BackendKind::Heap, &opened), expected);
}

/// A damaged one is listed, as what it is; links and hidden folders are not followed.
#[test]
fn what_lies_below_a_folder_is_found() {
    let mut here = world();
    let good = savepoint(&mut here, "savepoint-a", CANONICAL);
    let torn = savepoint(&mut here, "savepoint-b", CANONICAL);
    fs::write(torn.join("_metadata"), "LgCp").unwrap();
    copy(&good, &here.1.dir.join(".hidden"));
    #[cfg(unix)]
    std::os::unix::fs::symlink(&good, here.1.dir.join("link")).unwrap();
    let found = find_snapshots(here.0.path()).unwrap();
    let paths: Vec<_> = found.iter().map(|found| found.path.clone()).collect();
    assert_eq!(paths, [good.clone(), torn]);
    assert!(found[0].metadata.is_ok());
    let error = found[1].metadata.as_ref().unwrap_err();
    assert!(matches!(error, StorageError::Cut { .. }), "{error}");
    assert_eq!(find_snapshots(&good).unwrap().len(), 1, "itself");
    assert!(find_snapshots(&here.1.dir.join("absent")).is_err());
}

/// Catches a look that changes what it looks at, reads other groups, or leaves RocksDB's files.
#[test]
fn a_key_is_looked_up_without_a_job() {
    for kind in BackendKind::ALL {
        for format in SavepointFormat::ALL {
            let mut here = world();
            let path = savepoint(&mut here, "savepoint-a", (kind, format));
            let opened = open(&path).unwrap();
            let operator = &opened.metadata.operators[1];
            let work = here.0.work().join("look");
            let Contents {
                sums: found,
                windows,
                entries: _,
            } = inspect::contents(operator, &opened.storage, &work).unwrap();
            assert_eq!(found.len(), keys().len());
            assert_eq!(windows, [(WINDOW, Key::text("sun"), Decimal::TEN)]);
            for (key, sum) in found {
                let state = inspect::find_key(operator, &key, &opened.storage, &work).unwrap();
                assert_eq!((state.sum, state.subtask), (Some(sum), 0));
                assert!(inspect::key_groups(operator, 0).contains(&state.key_group));
                let has_window = key == Key::text("sun");
                assert_eq!(state.windows.len(), usize::from(has_window));
            }
            let unknown = Key::text("unknown");
            let state = inspect::find_key(operator, &unknown, &opened.storage, &work).unwrap();
            assert_eq!((state.sum, state.windows), (None, Vec::new()));
            let source = &opened.metadata.operators[0];
            let nothing = inspect::contents(source, &opened.storage, &work).unwrap();
            assert_eq!(nothing, Contents::default());
            assert!(names_in(&here.0.work()).is_empty());
        }
    }
}
