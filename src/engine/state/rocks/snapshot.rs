//! A database as it was at one moment, and the two forms in which it is written.

use std::fs;
use std::io;

use super::database::Database;
use crate::engine::state::OwnedGroups;
use crate::engine::state::StateError;
use crate::engine::state::codec::Stored;
use crate::engine::state::declared::StateHeader;
use crate::engine::state::folder::OwnedFolder;
use crate::engine::state::group_stream::GroupWriter;
use crate::engine::state::ttl::Deadline;
use crate::engine::storage::{CheckpointStorage, KeyedStateHandle, StorageError};
use crate::model::{CheckpointId, SavepointFormat};

/// A folder of links to the database's files, as they were.
#[derive(Debug)]
pub struct RocksDbSnapshot {
    folder: OwnedFolder,
    owned: OwnedGroups,
    size_bytes: u64,
    /// For the canonical format: which states these are, and what is left out.
    canonical: (Vec<StateHeader>, Option<Deadline>),
}

impl RocksDbSnapshot {
    pub(super) fn new(
        folder: OwnedFolder,
        (owned, size_bytes): (OwnedGroups, u64),
        canonical: (Vec<StateHeader>, Option<Deadline>),
    ) -> Self {
        Self {
            folder,
            owned,
            size_bytes,
            canonical,
        }
    }

    pub(in crate::engine::state) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    pub(in crate::engine::state) fn write(
        self,
        (checkpoint, format): (CheckpointId, Option<SavepointFormat>),
        owner: &str,
        storage: &dyn CheckpointStorage,
    ) -> Result<KeyedStateHandle, StorageError> {
        match format {
            None | Some(SavepointFormat::Native) => self.write_files(checkpoint, owner, storage),
            Some(SavepointFormat::Canonical) => self.write_canonical(checkpoint, owner, storage),
        }
    }

    /// Uploads every file: nothing is shared with other checkpoints, so that this is a savepoint, too.
    fn write_files(
        self,
        checkpoint: CheckpointId,
        owner: &str,
        storage: &dyn CheckpointStorage,
    ) -> Result<KeyedStateHandle, StorageError> {
        let mut files = Vec::new();
        for name in self.file_names()? {
            let file = self.folder.path().join(&name);
            let bytes = fs::read(&file).map_err(StorageError::io("read", &file))?;
            let stream_name = format!("{owner}.{}", name.to_ascii_lowercase());
            files.push((
                name,
                storage.write_stream(checkpoint, &stream_name, &bytes)?,
            ));
        }
        Ok(KeyedStateHandle::RocksDb {
            first_group: self.owned.first(),
            group_count: self.owned.len(),
            files,
        })
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
