//! Keyed state in RocksDB: one database per subtask, in a folder of its own.
//!
//! Flink's `EmbeddedRocksDBStateBackend`, as `RocksDBKeyedStateBackend`, `RocksNativeFullSnapshotStrategy` and
//! `RocksIncrementalSnapshotStrategy` have it. The database is scratch space: no write-ahead log, since what counts after a crash is the last checkpoint.
//! An entry's key is the key group (u16, big-endian) and then its slot, so that a group's entries lie together, and in it
//! those of each state. (Flink has a column family for each state.)

mod cells;
mod database;
mod incremental;
mod inside;
mod options;
mod restore;
mod snapshot;
mod tables;
mod timers;
mod ttl_filter;

use std::ops::ControlFlow;
use std::path::Path;

use super::codec::{Slot, Stored, put_sum_slot, put_window_slot, sum_bytes, window_bytes};
use super::declared::Declared;
use super::folder::OwnedFolder;
use super::ttl::Deadline;
use super::{BackendSetup, Compaction, Memtable, OwnedGroups, StateError, Window, add_exactly};
use crate::engine::storage::bytes::Malformed;
use crate::engine::storage::{KeyedStateHandle, SharedFile};
use crate::model::{CheckpointId, Decimal, EventTime, Key, TimeWindow};

use database::{Database, prefix};
use incremental::Uploads;
use tables::Tables;
use timers::Timers;

pub use database::TableFile;
pub(super) use database::read_prefixed;
pub(super) use inside::table_entries;
pub use snapshot::RocksDbSnapshot;
pub(super) use timers::for_each as for_each_timer;

/// Keyed state in a database on disk.
#[derive(Debug)]
pub struct RocksDbBackend {
    db: Database,
    owned: OwnedGroups,
    /// The encoded slot of the record at hand, kept for its memory.
    encoded: Vec<u8>,
    timers: Timers,
    size_bytes: u64,
    pub(super) declared: Declared,
    setup: BackendSetup,
    tables: Tables,
    uploads: Uploads,
}

impl RocksDbBackend {
    pub(super) fn open(
        setup: BackendSetup,
        dir: &Path,
        owned: OwnedGroups,
    ) -> Result<Self, StateError> {
        Ok(Self::start(setup, Database::create(dir, setup)?, owned))
    }

    fn start(setup: BackendSetup, db: Database, owned: OwnedGroups) -> Self {
        Self {
            db,
            owned,
            setup,
            tables: Tables::default(),
            uploads: Uploads::default(),
            encoded: Vec::new(),
            timers: Timers::new(setup.options.timers, owned),
            size_bytes: 0,
            declared: Declared::default(),
        }
    }

    /// See [`super::KeyedBackend::add`].
    ///
    /// # Errors
    /// The sum would not be exact, the key is another subtask's, or RocksDB cannot read or write.
    pub fn add(&mut self, key: &Key, value: Decimal) -> Result<Decimal, StateError> {
        let at = self.owned.locate(key)?;
        self.encoded.clear();
        self.encoded.extend_from_slice(&prefix(at.group));
        put_sum_slot(&mut self.encoded, key);
        let (sum, is_new) = self.add_to_encoded(key, value)?;
        if is_new {
            self.size_bytes += sum_bytes(key);
        }
        Ok(sum)
    }

    /// See [`super::KeyedBackend::window_add`].
    ///
    /// # Errors
    /// As for [`RocksDbBackend::add`].
    pub fn window_add(
        &mut self,
        key: &Key,
        window: TimeWindow,
        value: Decimal,
    ) -> Result<Decimal, StateError> {
        let index = self.encode_window(key, window)?;
        let (new, is_new) = self.add_to_encoded(key, value)?;
        if is_new {
            self.size_bytes += window_bytes(key);
            self.timers.set(index, window, key);
        }
        Ok(new)
    }

    pub(super) fn window_remove(
        &mut self,
        key: &Key,
        window: TimeWindow,
    ) -> Result<(), StateError> {
        let index = self.encode_window(key, window)?;
        if self.db.get(&self.encoded)?.is_some() {
            self.db.delete(&self.encoded)?;
            self.size_bytes -= window_bytes(key);
            self.timers.remove(index, window, key);
        }
        Ok(())
    }

    /// In no order.
    pub(super) fn due_windows(&mut self, watermark: EventTime) -> Result<Vec<Window>, StateError> {
        match &self.timers {
            Timers::OnHeap(_) => return self.due_by_heap(watermark),
            Timers::InDatabase { first } if watermark < *first => return Ok(Vec::new()),
            Timers::InDatabase { .. } => {}
        }
        let (mut due, mut first) = (Vec::new(), EventTime::MAX);
        for group in self.owned.groups() {
            self.db.for_each_window(group, |window, key, value| {
                let timer = window.max_timestamp();
                first = first.min(timer);
                if timer > watermark {
                    return ControlFlow::Break(());
                }
                due.push((window, key, value));
                ControlFlow::Continue(())
            })?;
        }
        // Those found due count, too, since they stay until they are removed.
        self.timers = Timers::InDatabase { first };
        Ok(due)
    }

    /// The timers say which windows are due, the database what those have come to.
    fn due_by_heap(&mut self, watermark: EventTime) -> Result<Vec<Window>, StateError> {
        let mut due = Vec::new();
        for (window, key) in self.timers.due(watermark) {
            self.encode_window(&key, window)?;
            let value = self.db.get(&self.encoded)?;
            let value = value.ok_or(Malformed("a timer is one of no window"))?;
            due.push((window, key, value));
        }
        Ok(due)
    }

    /// In no order.
    pub(super) fn windows(&self) -> Result<Vec<Window>, StateError> {
        let mut windows = Vec::new();
        self.db.for_each(|_, slot, stored| {
            if let (Slot::Window(window, key), Stored::Number(value)) = (slot, stored) {
                windows.push((window, key, value));
            }
            Ok(())
        })?;
        Ok(windows)
    }

    /// Returns the index of the key's group among the owned ones.
    fn encode_window(&mut self, key: &Key, window: TimeWindow) -> Result<usize, StateError> {
        let at = self.owned.locate(key)?;
        self.encoded.clear();
        self.encoded.extend_from_slice(&prefix(at.group));
        put_window_slot(&mut self.encoded, window, key);
        Ok(at.index)
    }

    /// Add to the value at the encoded slot, which is one of `key`. Returns the new value and whether it is the first.
    fn add_to_encoded(&self, key: &Key, value: Decimal) -> Result<(Decimal, bool), StateError> {
        let known = self.db.get(&self.encoded)?;
        let old = known.unwrap_or(Decimal::ZERO);
        let new = add_exactly(old, value).ok_or_else(|| StateError::inexact(key, old, value))?;
        self.db.put(&self.encoded, new)?;
        Ok((new, known.is_none()))
    }

    pub(super) fn entries(&self) -> Result<Vec<(Key, Decimal)>, StateError> {
        let mut entries = Vec::new();
        self.db.for_each(|_, slot, stored| {
            if let (Slot::Sum(key), Stored::Number(sum)) = (slot, stored) {
                entries.push((key, sum));
            }
            Ok(())
        })?;
        // The database has them by key group.
        entries.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        Ok(entries)
    }

    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Quick: see [`Database::link`]. The same for every format, since a canonical savepoint is read from those links.
    /// What has expired at `now_ms` is left out of that one, if the state is set so.
    pub(super) fn snapshot(
        &mut self,
        checkpoint: CheckpointId,
        now_ms: u64,
    ) -> Result<RocksDbSnapshot, StateError> {
        let mut beside = self.db.path().as_os_str().to_owned();
        beside.push(format!(".chk-{checkpoint}"));
        let folder = self.db.link(OwnedFolder::reserve(beside.into())?)?;
        let is_incremental = self.setup.options.incremental;
        if is_incremental {
            self.tables.refresh(&self.db)?;
        }
        let deadline = Deadline::of_full_snapshot(self.declared.wanted(), now_ms);
        Ok(RocksDbSnapshot {
            folder,
            owned: self.owned,
            size_bytes: self.size_bytes,
            attempt: self.setup.attempt,
            canonical: (self.declared.headers(), deadline),
            tables: self.tables.clone(),
            base: is_incremental.then(|| self.uploads.base()),
            timers: self.timers.capture(self.owned),
        })
    }

    pub(super) fn on_written(&mut self, checkpoint: CheckpointId, handle: &KeyedStateHandle) {
        self.uploads.on_written(checkpoint, handle);
    }

    pub(super) fn on_complete(&mut self, checkpoint: CheckpointId) {
        self.uploads.on_complete(checkpoint);
    }

    pub(super) fn on_aborted(&mut self, checkpoint: CheckpointId) {
        self.uploads.on_aborted(checkpoint);
    }

    /// Where RocksDB does not decide by itself: whether so many files have gathered that they are merged.
    pub(super) fn compact_if_due(&mut self, now_ms: u64) -> Result<Option<Compaction>, StateError> {
        let trigger = self.setup.options.compaction_trigger as usize;
        if !self.setup.is_stepped || trigger == 0 {
            return Ok(None);
        }
        let tables = self.db.tables()?.into_iter();
        let waiting = tables.filter(|table| table.level == 0).count();
        Ok(if waiting >= trigger {
            Some(self.compact(now_ms)?)
        } else {
            None
        })
    }

    /// The files as they are now.
    pub(super) fn table_files(&self) -> Result<Vec<TableFile>, StateError> {
        self.db.tables()
    }

    /// What is not yet in a file.
    pub(super) fn memtable(&self) -> Result<Memtable, StateError> {
        self.db.memtable()
    }

    /// What the checkpoint storage has of the files; see [`crate::engine::state::LocalState::uploads`].
    pub(super) fn uploaded(&self) -> Vec<(String, SharedFile)> {
        self.uploads.all()
    }

    /// None: they are in the database.
    pub(super) fn timers_on_heap(&self) -> Option<u64> {
        self.timers.count()
    }

    /// Where the database lies.
    pub(super) fn folder(&self) -> &Path {
        self.db.path()
    }

    pub(super) fn owned(&self) -> OwnedGroups {
        self.owned
    }
}
