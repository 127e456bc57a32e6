//! A database as it was at one moment, and the forms in which it is written.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::database::Database;
use super::incremental::SharedFiles;
use super::tables::Tables;
use super::timers::CapturedTimers;
use crate::engine::state::OwnedGroups;
use crate::engine::state::StateError;
use crate::engine::state::codec::Stored;
use crate::engine::state::declared::StateHeader;
use crate::engine::state::folder::OwnedFolder;
use crate::engine::state::group_stream::GroupWriter;
use crate::engine::state::ttl::Deadline;
use crate::engine::storage::{
    CheckpointStorage, GroupOffsets, KeyedStateHandle, SharedFile, StorageError, StreamHandle,
};
use crate::model::{CheckpointId, SavepointFormat};

/// A folder of links to the database's files, as they were.
#[derive(Debug)]
pub struct RocksDbSnapshot {
    pub(super) folder: OwnedFolder,
    pub(super) owned: OwnedGroups,
    pub(super) size_bytes: u64,
    /// See [`crate::engine::state::BackendSetup::attempt`].
    pub(super) attempt: u32,
    /// For the canonical format: which states these are, and what is left out.
    pub(super) canonical: (Vec<StateHeader>, Option<Deadline>),
    /// What the entries of its files take.
    pub(super) tables: Tables,
    /// What need not be uploaded again; none: all is, and nothing is shared.
    pub(super) base: Option<Arc<SharedFiles>>,
    /// Those on the heap, which the files do not have.
    pub(super) timers: Option<CapturedTimers>,
}

impl RocksDbSnapshot {
    pub(in crate::engine::state) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// See [`super::super::KeyedSnapshot::upload_bytes`].
    pub(in crate::engine::state) fn upload_bytes(&self) -> u64 {
        let Some(base) = &self.base else {
            return self.size_bytes + self.timer_bytes();
        };
        let new = self
            .tables
            .iter()
            .filter(|(name, _)| !base.contains_key(*name));
        let new: u64 = new.map(|(_, entry_bytes)| entry_bytes).sum();
        new + self.timer_bytes()
    }

    /// In canonical format.
    pub(in crate::engine::state) fn deadline(&self) -> Option<Deadline> {
        self.canonical.1
    }

    /// See [`super::super::KeyedSnapshot::timer_bytes`].
    pub(in crate::engine::state) fn timer_bytes(&self) -> u64 {
        let timers = self.timers.as_ref();
        timers.map_or(0, |timers| timers.timer_bytes)
    }

    pub(in crate::engine::state) fn write(
        self,
        (checkpoint, format): (CheckpointId, Option<SavepointFormat>),
        owner: &str,
        storage: &dyn CheckpointStorage,
    ) -> Result<KeyedStateHandle, StorageError> {
        match format {
            None => {
                let base = self.base.clone();
                self.write_files(checkpoint, owner, storage, base.as_deref())
            }
            // A savepoint stands by itself.
            Some(SavepointFormat::Native) => self.write_files(checkpoint, owner, storage, None),
            Some(SavepointFormat::Canonical) => self.write_canonical(checkpoint, owner, storage),
        }
    }

    /// The files as they are: those with entries, unless the base has them, and all others. What is linked counts, whatever
    /// has become of the database since.
    fn write_files(
        mut self,
        checkpoint: CheckpointId,
        owner: &str,
        storage: &dyn CheckpointStorage,
        base: Option<&SharedFiles>,
    ) -> Result<KeyedStateHandle, StorageError> {
        let timers = self.timers.take();
        let write_timers = |timers: CapturedTimers| {
            let name = format!("{owner}.timers");
            let stream = storage.write_stream(checkpoint, &name, &timers.stream)?;
            let offsets = timers.offsets;
            Ok::<_, StorageError>(GroupOffsets { stream, offsets })
        };
        let timers = timers.map(write_timers).transpose()?;
        let (mut shared, mut private) = (Vec::new(), Vec::new());
        for name in self.file_names()? {
            let stream_name = format!("{owner}.{}", name.to_ascii_lowercase());
            match base.filter(|_| is_table(&name)) {
                Some(base) => {
                    let file = match base.get(&name) {
                        Some(known) => known.clone(),
                        None => self.upload(checkpoint, (owner, &name), storage)?,
                    };
                    shared.push((name, file));
                }
                None => {
                    let stream: StreamHandle =
                        storage.write_stream(checkpoint, &stream_name, &self.read(&name)?)?;
                    private.push((name, stream));
                }
            }
        }
        Ok(KeyedStateHandle::RocksDb {
            first_group: self.owned.first(),
            group_count: self.owned.len(),
            shared,
            private,
            timers,
        })
    }

    /// Files never change: what is uploaded again is the same, and is called the same, so that it does not matter which of
    /// the two a later checkpoint has known.
    fn upload(
        &self,
        checkpoint: CheckpointId,
        (owner, name): (&str, &str),
        storage: &dyn CheckpointStorage,
    ) -> Result<SharedFile, StorageError> {
        let bytes = self.read(name)?;
        let stream_name = format!("{owner}.{}.{name}", self.attempt);
        Ok(SharedFile {
            created_by: checkpoint,
            // Where RocksDB merges files by itself, the database may have had others when it was asked than were linked.
            entry_bytes: self.tables.get(name).unwrap_or(bytes.len() as u64),
            stream: storage.write_shared(checkpoint, &stream_name, &bytes)?,
        })
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, StorageError> {
        let file = self.folder.path().join(name);
        fs::read(&file).map_err(StorageError::io("read", &file))
    }

    /// Reads the links as a database, group by group (Flink: `FullSnapshotAsyncWriter` over a RocksDB snapshot).
    fn write_canonical(
        self,
        checkpoint: CheckpointId,
        owner: &str,
        storage: &dyn CheckpointStorage,
    ) -> Result<KeyedStateHandle, StorageError> {
        let folder = self.folder.path().to_owned();
        let unreadable = |error: StateError| {
            StorageError::io("read", &folder)(io::Error::other(error.to_string()))
        };
        let db = Database::read_only(self.folder).map_err(unreadable)?;
        let (headers, deadline) = self.canonical;
        let mut writer = GroupWriter::canonical(&headers);
        for group in self.owned.groups() {
            writer.begin(group);
            db.for_each_in(group, |slot, stored| {
                match stored {
                    Stored::Number(_) => writer.put(&slot, &stored),
                    Stored::Cell(entries) => {
                        let alive = Deadline::cut(deadline, entries);
                        if !alive.is_empty() {
                            writer.put(&slot, &Stored::Cell(alive));
                        }
                    }
                }
                Ok(())
            })
            .map_err(unreadable)?;
        }
        writer.write(checkpoint, owner, storage)
    }

    fn file_names(&self) -> Result<Vec<String>, StorageError> {
        let folder = self.folder.path();
        let mut names = fs::read_dir(folder)
            .and_then(|entries| {
                entries
                    // RocksDB's names are ASCII.
                    .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
                    .collect::<Result<Vec<_>, _>>()
            })
            .map_err(StorageError::io("read", folder))?;
        names.sort_unstable();
        Ok(names)
    }
}

/// Whether it holds entries (Flink: `RocksSnapshotUtil.SST_FILE_SUFFIX`).
fn is_table(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|it| it == "sst")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::state::{BackendSetup, KeyedBackend, KeyedSnapshot};
    use crate::engine::storage::FileSystemStorage;
    use crate::model::{BackendKind, Decimal, Key, StateOptions};

    /// Breaks if what is shared depends on which files the database has now: RocksDB's threads may have merged the linked
    /// ones between the links and the look.
    #[test]
    fn a_table_that_was_merged_meanwhile_is_shared_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let setup = BackendSetup {
            options: StateOptions {
                incremental: true,
                ..StateOptions::default()
            },
            ..BackendKind::RocksDb.into()
        };
        let mut backend = KeyedBackend::open(setup, &dir.path().join("db"), 4, 0..=3).unwrap();
        backend.add(&Key::int(1), Decimal::ONE).unwrap();
        let id = CheckpointId(1);
        let KeyedSnapshot::RocksDb(mut snapshot) = backend.snapshot(id).unwrap() else {
            panic!("of RocksDB");
        };
        snapshot.tables = Tables::default();
        let storage = FileSystemStorage::create(&dir.path().join("checkpoints"), 0).unwrap();
        storage.begin(id).unwrap();
        let handle = snapshot.write((id, None), "sum-0", &storage).unwrap();
        assert_eq!(handle.shared().count(), 1);
        let KeyedStateHandle::RocksDb { private, .. } = &handle else {
            panic!("of RocksDB");
        };
        assert!(private.iter().all(|(name, _)| !is_table(name)));
        assert!(handle.shared().all(|file| file.entry_bytes > 0));
    }
}
