//! Where keyed state works, looked at: what lies in memory, and in which files. Read from the backend itself.

use std::path::PathBuf;
use std::sync::Arc;

use super::codec::Slot;
use super::rocks::{TableFile, read_prefixed};
use super::{KeyedBackend, StateError};
use crate::engine::storage::SharedFile;
use crate::model::BackendKind;

/// The working state of one subtask at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalState {
    pub backend: BackendKind,
    /// The *logical* size of all of it, in bytes; see [`KeyedBackend::size_bytes`].
    pub size_bytes: u64,
    /// RocksDB's: what is not yet in a file.
    pub memtable: Option<Memtable>,
    /// RocksDB's files, by name.
    pub tables: Arc<[TableFile]>,
    /// What the backend knows to be in the checkpoint storage already, by RocksDB's name for each: the files of the last
    /// checkpoint that is confirmed here, and of those that are written and not yet decided.
    pub uploads: Arc<[(String, SharedFile)]>,
    /// How many timers are in memory; none: they are in the database, or there is none.
    pub timers: Option<u64>,
    /// The folder in which they lie.
    pub folder: Option<PathBuf>,
}

/// What RocksDB has in memory and in no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memtable {
    /// With those that say that a key was deleted; a key that was written twice counts twice.
    pub entries: u64,
    /// What they take in memory, in bytes, with RocksDB's own overhead.
    pub size_bytes: u64,
}

impl KeyedBackend {
    /// Look at where the state works. Changes nothing.
    ///
    /// # Errors
    /// RocksDB's.
    pub fn local(&self) -> Result<LocalState, StateError> {
        let heap = LocalState {
            backend: self.kind(),
            size_bytes: self.size_bytes(),
            memtable: None,
            tables: [].into(),
            uploads: [].into(),
            timers: None,
            folder: None,
        };
        Ok(match self {
            Self::Heap(_) => heap,
            Self::RocksDb(rocks) => LocalState {
                memtable: Some(rocks.memtable()?),
                tables: rocks.table_files()?.into(),
                uploads: rocks.uploaded().into(),
                timers: rocks.timers_on_heap(),
                folder: Some(rocks.folder().to_owned()),
                ..heap
            },
        })
    }
}

impl LocalState {
    /// Share with `last` what is the same.
    pub fn share(&mut self, last: &Self) {
        if self.tables == last.tables {
            self.tables = Arc::clone(&last.tables);
        }
        if self.uploads == last.uploads {
            self.uploads = Arc::clone(&last.uploads);
        }
    }

    /// What the checkpoint storage has of a table file.
    #[must_use]
    pub fn upload_of(&self, table: &str) -> Option<&SharedFile> {
        let mut uploads = self.uploads.iter();
        let (_, file) = uploads.find(|(name, _)| name == table)?;
        Some(file)
    }
}

impl TableFile {
    /// The lowest and the highest entry in it: the key group of each, and its key as people read it. None: a key that is
    /// not ours.
    #[must_use]
    pub fn range(&self) -> Option<[(u32, String); 2]> {
        let entry = |encoded: &[u8]| {
            let (group, slot) = read_prefixed(encoded).ok()?;
            Some((group, slot_text(&slot)))
        };
        Some([entry(&self.first)?, entry(&self.last)?])
    }
}

/// Under what an entry is kept, for people.
pub(super) fn slot_text(slot: &Slot) -> String {
    match slot {
        Slot::Sum(key) => key.to_string(),
        Slot::Window(window, key) => format!("{key} · {}–{} ms", window.start_ms, window.end_ms),
        Slot::Cell(id) => match id.user_key {
            Some(user_key) => format!("{} · {user_key}", id.key),
            None => id.key.to_string(),
        },
    }
}
