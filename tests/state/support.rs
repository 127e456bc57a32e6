//! A fake world for the tests: a folder, a storage, one subtask that owns all key groups.

use std::fs;
use std::path::{Path, PathBuf};

use lockgate::engine::operator::{Source, SourceFeed, Split};
use lockgate::engine::state::{KeyedBackend, StateError};
use lockgate::engine::storage::{
    CheckpointMetadata, CheckpointStorage, FileSystemStorage, KeyedStateHandle, ListState,
    MemoryStorage, OperatorState, SubtaskState,
};
use lockgate::model::{
    BackendKind, CheckpointId, Decimal, Key, OperatorId, SnapshotKind, SplitId, Uid,
};

pub const MAX_PARALLELISM: u32 = 16;
pub const CP1: CheckpointId = CheckpointId(1);
pub const CP2: CheckpointId = CheckpointId(2);

pub type Entries = Vec<(Key, Decimal)>;

#[derive(Clone, Copy, Debug)]
pub enum Place {
    JobManager,
    /// Every stream is a file.
    Files,
    /// Small streams lie in the metadata.
    InlineFiles,
}

pub const PLACES: [Place; 3] = [Place::JobManager, Place::Files, Place::InlineFiles];

pub struct World {
    folder: tempfile::TempDir,
    pub storage: Box<dyn CheckpointStorage>,
    attempts: u32,
}

impl World {
    pub fn new(place: Place) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("checkpoints");
        let storage: Box<dyn CheckpointStorage> = match place {
            Place::JobManager => Box::new(MemoryStorage::default()),
            Place::Files => Box::new(FileSystemStorage::create(&root, 0).unwrap()),
            Place::InlineFiles => Box::new(FileSystemStorage::create(&root, 20 << 10).unwrap()),
        };
        Self {
            folder,
            storage,
            attempts: 0,
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn checkpoints(&self) -> PathBuf {
        self.path().join("checkpoints")
    }

    pub fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    /// A folder that no attempt has used.
    pub fn fresh_dir(&mut self) -> PathBuf {
        self.attempts += 1;
        self.work().join(format!("sum-0.{}", self.attempts))
    }

    pub fn open(&mut self, kind: BackendKind) -> KeyedBackend {
        let dir = self.fresh_dir();
        KeyedBackend::open(kind, &dir, MAX_PARALLELISM, 0..=MAX_PARALLELISM - 1).unwrap()
    }

    pub fn restore(
        &mut self,
        kind: BackendKind,
        handle: &KeyedStateHandle,
    ) -> Result<KeyedBackend, StateError> {
        let dir = self.fresh_dir();
        KeyedBackend::restore(
            kind,
            &dir,
            MAX_PARALLELISM,
            0..=MAX_PARALLELISM - 1,
            &[handle],
            self.storage.as_ref(),
        )
    }

    /// A completed checkpoint of `backend` as it is now.
    pub fn checkpoint(
        &self,
        backend: &mut KeyedBackend,
        checkpoint: CheckpointId,
    ) -> KeyedStateHandle {
        self.storage.begin(checkpoint).unwrap();
        let handle = backend
            .snapshot(checkpoint)
            .unwrap()
            .write((checkpoint, None), "sum-0", self.storage.as_ref())
            .unwrap();
        self.storage
            .write_metadata(&metadata(checkpoint, &handle))
            .unwrap();
        handle
    }
}

pub fn offset_5() -> ListState {
    let splits = vec![Split {
        id: SplitId(0),
        index: 0,
        offset: 5,
    }];
    Source::new(splits, 1, SourceFeed::Sequence, None).list_state()
}

pub fn metadata(checkpoint: CheckpointId, keyed: &KeyedStateHandle) -> CheckpointMetadata {
    let source = SubtaskState {
        lists: vec![offset_5()],
        ..SubtaskState::default()
    };
    let sum = SubtaskState {
        keyed: Some(keyed.clone()),
        ..SubtaskState::default()
    };
    let operator = |uid: &str, subtask| OperatorState {
        id: OperatorId::of_uid(uid),
        uid: Uid::new(uid),
        has_explicit_uid: true,
        name: uid.to_owned(),
        parallelism: 1,
        max_parallelism: MAX_PARALLELISM,
        subtasks: vec![subtask],
    };
    CheckpointMetadata {
        checkpoint,
        kind: SnapshotKind::Checkpoint,
        backend: keyed.backend().unwrap_or(BackendKind::Heap),
        operators: vec![operator("numbers", source), operator("sum", sum)],
        edges: Vec::new(),
        processing_time_ms: None,
    }
}

/// Five keys, of both kinds.
pub fn keys() -> [Key; 5] {
    [
        Key::int(0),
        Key::int(-7),
        Key::text(""),
        Key::text("sun"),
        Key::text("Nebel ☁"),
    ]
}

/// Add 1 to the first key, 2 to the second …
pub fn fill(backend: &mut KeyedBackend) {
    for (key, value) in keys().iter().zip(1_i64..) {
        backend.add(key, value.into()).unwrap();
    }
}

/// Every file below `folder`, sorted; none when there is no such folder.
pub fn files_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_in(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// What lies directly in `folder`; nothing when there is no such folder.
pub fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
