//! A database as it was at one moment, and the forms in which it is written.

use std::fs;
use std::io;
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
    /// Which of them have entries, and what those take.
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

    /// The files as they are: those with entries, unless the base has them, and all others.
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
            match (base, self.tables.get(&name)) {
                (Some(base), Some(entry_bytes)) => {
                    let file = match base.get(&name) {
                        Some(known) => known.clone(),
                        None => SharedFile {
                            created_by: checkpoint,
                            entry_bytes,
                            // Files never change: what is uploaded again is the same, and is called the same, so that
                            // it does not matter which of the two a later checkpoint has known.
                            stream: storage.write_shared(
                                checkpoint,
                                &format!("{owner}.{}.{name}", self.attempt),
                                &self.read(&name)?,
                            )?,
                        },
                    };
                    shared.push((name, file));
                }
                _ => {
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
                        let alive = Deadline::keep(deadline, entries);
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
