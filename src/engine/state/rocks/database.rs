//! One RocksDB in a folder of its own, and entries of keyed state as it holds them.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Component, Path};

use rocksdb::checkpoint::Checkpoint;
use rocksdb::{
    BottommostLevelCompaction, CompactOptions, DB, Direction, IteratorMode, ReadOptions,
    WriteOptions,
};

use crate::engine::state::cell::CellId;
use crate::engine::state::codec::{
    Slot, Stored, WINDOWS, put_slot, put_stored, read_slot, read_stored, read_value,
};
use crate::engine::state::folder::OwnedFolder;
use crate::engine::state::ttl::Deadline;
use crate::engine::state::{BackendSetup, CellContents, Memtable, StateError};
use crate::engine::storage::bytes::Malformed;
use crate::engine::storage::{CheckpointStorage, StreamHandle};
use crate::model::{BackendKind, Decimal, Key, TimeWindow};

use super::options::{options, write_buffer_bytes};
use super::ttl_filter::TtlFilter;

/// One table file (SST) of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableFile {
    /// RocksDB's name for it: `000012.sst`.
    pub name: String,
    pub level: u32,
    /// As it lies on the disk.
    pub size_bytes: u64,
    /// With those that say that a key was deleted.
    pub entries: u64,
    pub deletions: u64,
    /// The lowest and the highest key in it, as RocksDB has them.
    pub first: Vec<u8>,
    pub last: Vec<u8>,
}

/// A database and its folder, which goes with it.
pub(super) struct Database {
    db: DB,
    write: WriteOptions,
    ttl_filter: TtlFilter,
    /// Written since the last flush; none: RocksDB flushes when it sees fit. (The moment at which it would is not the
    /// same in every run.)
    unflushed_bytes: Option<Cell<u64>>,
    flush_at_bytes: u64,
    /// After `db`: the database closes, then its folder goes.
    folder: OwnedFolder,
}

impl Database {
    pub(super) fn create(dir: &Path, setup: BackendSetup) -> Result<Self, StateError> {
        let folder = OwnedFolder::create(dir)?;
        Self::open(folder, |folder, filter| {
            DB::open(&options(true, setup, filter)?, folder)
        })
        .map(|db| db.with(setup))
    }

    /// Put the files of a checkpoint into a new folder and open them.
    pub(super) fn from_files<'a>(
        dir: &Path,
        setup: BackendSetup,
        files: impl Iterator<Item = (&'a str, &'a StreamHandle)>,
        storage: &dyn CheckpointStorage,
    ) -> Result<Self, StateError> {
        let folder = OwnedFolder::create(dir)?;
        for (name, stream) in files {
            if !is_plain_file_name(name) {
                return Err(Malformed("a file of RocksDB has a path for a name").into());
            }
            let file = folder.path().join(name);
            fs::write(&file, storage.read_stream(stream)?)
                .map_err(StateError::io("write", &file))?;
        }
        Self::open(folder, |folder, filter| {
            DB::open(&options(false, setup, filter)?, folder)
        })
        .map(|db| db.with(setup))
    }

    /// Open what [`Database::link`] made.
    pub(super) fn read_only(folder: OwnedFolder) -> Result<Self, StateError> {
        Self::open(folder, |folder, filter| {
            let setup = BackendKind::RocksDb.into();
            DB::open_for_read_only(&options(false, setup, filter)?, folder, false)
        })
    }

    /// Open what is left of a database in `folder`: table files, and perhaps nothing else.
    pub(super) fn repaired(folder: OwnedFolder) -> Result<Self, StateError> {
        let setup = BackendKind::RocksDb.into();
        Self::open(folder, |folder, filter| {
            DB::repair(&options(true, setup, filter)?, folder)?;
            DB::open_for_read_only(&options(false, setup, filter)?, folder, false)
        })
    }

    fn open(
        folder: OwnedFolder,
        open: impl FnOnce(&Path, &TtlFilter) -> Result<DB, rocksdb::Error>,
    ) -> Result<Self, StateError> {
        let ttl_filter = TtlFilter::default();
        let db = open(folder.path(), &ttl_filter)
            .map_err(|source| failed("open its database", folder.path(), source))?;
        let mut write = WriteOptions::default();
        write.disable_wal(true);
        Ok(Self {
            db,
            write,
            ttl_filter,
            unflushed_bytes: None,
            flush_at_bytes: u64::MAX,
            folder,
        })
    }

    fn with(self, setup: BackendSetup) -> Self {
        Self {
            unflushed_bytes: setup.is_stepped.then(Cell::default),
            flush_at_bytes: write_buffer_bytes(setup) as u64,
            ..self
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn get(&self, encoded: &[u8]) -> Result<Option<Decimal>, StateError> {
        let stored = self
            .db
            .get_pinned(encoded)
            .map_err(|source| self.failed("read", source))?;
        Ok(stored.map(|stored| read_value(&stored)).transpose()?)
    }

    pub(super) fn put(&self, encoded: &[u8], value: Decimal) -> Result<(), StateError> {
        let value = value.serialize();
        self.db
            .put_opt(encoded, value, &self.write)
            .map_err(|source| self.failed("write", source))?;
        self.count(encoded.len() + value.len())
    }

    pub(super) fn get_stored(
        &self,
        encoded: &[u8],
        slot: &Slot,
    ) -> Result<Option<Stored>, StateError> {
        let stored = self
            .db
            .get_pinned(encoded)
            .map_err(|source| self.failed("read", source))?;
        Ok(stored
            .map(|stored| read_stored(slot, &stored))
            .transpose()?)
    }

    pub(super) fn put_stored(&self, encoded: &[u8], stored: &Stored) -> Result<(), StateError> {
        let mut value = Vec::new();
        put_stored(&mut value, stored);
        let bytes = encoded.len() + value.len();
        self.db
            .put_opt(encoded, value, &self.write)
            .map_err(|source| self.failed("write", source))?;
        self.count(bytes)
    }

    pub(super) fn delete(&self, encoded: &[u8]) -> Result<(), StateError> {
        self.db
            .delete_opt(encoded, &self.write)
            .map_err(|source| self.failed("write", source))?;
        self.count(encoded.len())
    }

    /// So much more was written: flush when enough has gathered.
    fn count(&self, bytes: usize) -> Result<(), StateError> {
        let Some(unflushed) = &self.unflushed_bytes else {
            return Ok(());
        };
        unflushed.set(unflushed.get() + bytes as u64);
        if unflushed.get() < self.flush_at_bytes {
            return Ok(());
        }
        self.flush()
    }

    /// Write the memtable out as a table file.
    pub(super) fn flush(&self) -> Result<(), StateError> {
        if let Some(unflushed) = &self.unflushed_bytes {
            unflushed.set(0);
        }
        self.db
            .flush()
            .map_err(|source| self.failed("flush", source))
    }

    /// Flush the memtable, then have RocksDB link its files into a new folder: the links keep them even when compaction or
    /// the end of this database removes them here.
    pub(super) fn link(&self, into: OwnedFolder) -> Result<OwnedFolder, StateError> {
        self.flush()?;
        Checkpoint::new(&self.db)
            .and_then(|native| native.create_checkpoint(into.path()))
            .map_err(|source| self.failed("make a checkpoint", source))?;
        Ok(into)
    }

    /// The live table files, oldest level first, each by its number.
    pub(super) fn tables(&self) -> Result<Vec<TableFile>, StateError> {
        let files = self
            .db
            .live_files()
            .map_err(|source| self.failed("list the files of", source))?;
        let mut tables: Vec<TableFile> = files
            .into_iter()
            .map(|file| TableFile {
                name: file.name.trim_start_matches('/').to_owned(),
                level: u32::try_from(file.level).unwrap_or(0),
                size_bytes: file.size as u64,
                entries: file.num_entries,
                deletions: file.num_deletions,
                first: file.start_key.unwrap_or_default(),
                last: file.end_key.unwrap_or_default(),
            })
            .collect();
        tables.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        Ok(tables)
    }

    /// What is not yet in a file.
    pub(super) fn memtable(&self) -> Result<Memtable, StateError> {
        let number = |name| {
            let value = self.db.property_int_value(name);
            let value = value.map_err(|source| self.failed("look into", source))?;
            Ok::<_, StateError>(value.unwrap_or(0))
        };
        Ok(Memtable {
            entries: number("rocksdb.num-entries-active-mem-table")?,
            size_bytes: number("rocksdb.cur-size-active-mem-table")?,
        })
    }

    /// What all entries of all live files take, without the `internal_bytes` that RocksDB adds to each key.
    pub(super) fn entry_bytes(&self, internal_bytes: u64) -> Result<u64, StateError> {
        let properties = self
            .db
            .property_value("rocksdb.aggregated-table-properties")
            .map_err(|source| self.failed("look into", source))?
            .unwrap_or_default();
        let number = |name: &str| {
            let mut fields = properties
                .split("; ")
                .filter_map(|field| field.split_once('='));
            let found = fields.find(|(known, _)| known.trim_start_matches("# ") == name);
            found.and_then(|(_, value)| value.trim().parse::<u64>().ok())
        };
        let keys = number("raw key size").unwrap_or(0);
        let values = number("raw value size").unwrap_or(0);
        let entries = number("entries").unwrap_or(0);
        Ok((keys + values).saturating_sub(entries * internal_bytes))
    }

    /// See [`TtlFilter::arm`].
    pub(super) fn arm(&self, deadline: Deadline) -> BTreeSet<CellId> {
        self.ttl_filter.arm(deadline)
    }

    /// Rewrite all files (the memtable is not looked at). RocksDB does not tell whether it could.
    pub(super) fn compact(&self) {
        let mut options = CompactOptions::default();
        // Otherwise files that were compacted before are moved, and not looked into.
        options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
        self.db
            .compact_range_opt(None::<&[u8]>, None::<&[u8]>, &options);
    }

    /// The cells whose encoded slots begin with `start`.
    pub(super) fn cells_from(&self, start: &[u8]) -> Result<Vec<CellContents>, StateError> {
        let mut cells = Vec::new();
        let from = IteratorMode::From(start, Direction::Forward);
        for entry in self.db.iterator(from) {
            let (encoded, value) = entry.map_err(|source| self.failed("read", source))?;
            if !encoded.starts_with(start) {
                break;
            }
            let (_, slot) = read_prefixed(&encoded)?;
            let stored = read_stored(&slot, &value)?;
            if let (Slot::Cell(id), Stored::Cell(entries)) = (slot, stored) {
                cells.push((id, entries));
            }
        }
        Ok(cells)
    }

    /// Every entry with its key group, in the order of their bytes.
    pub(super) fn for_each(
        &self,
        mut visit: impl FnMut(u32, Slot, Stored) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        self.scan(&[], ReadOptions::default(), |group, slot, value| {
            visit(group, slot, value)?;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// The same for one key group.
    pub(super) fn for_each_in(
        &self,
        group: u32,
        mut visit: impl FnMut(Slot, Stored) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        let mut bounds = ReadOptions::default();
        // Groups are below 2^15.
        bounds.set_iterate_upper_bound(prefix(group + 1));
        self.scan(&prefix(group), bounds, |_, slot, value| {
            visit(slot, value)?;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// The windows of `group` in the order of their timers, as long as `visit` wants to go on.
    pub(super) fn for_each_window(
        &self,
        group: u32,
        mut visit: impl FnMut(TimeWindow, Key, Decimal) -> ControlFlow<()>,
    ) -> Result<(), StateError> {
        let [high, low] = prefix(group);
        let mut bounds = ReadOptions::default();
        bounds.set_iterate_upper_bound([high, low, WINDOWS + 1]);
        self.scan(&[high, low, WINDOWS], bounds, |_, slot, stored| {
            Ok(match (slot, stored) {
                (Slot::Window(window, key), Stored::Number(value)) => visit(window, key, value),
                _ => ControlFlow::Continue(()),
            })
        })
    }

    fn scan(
        &self,
        from: &[u8],
        bounds: ReadOptions,
        mut visit: impl FnMut(u32, Slot, Stored) -> Result<ControlFlow<()>, StateError>,
    ) -> Result<(), StateError> {
        let from = IteratorMode::From(from, Direction::Forward);
        for entry in self.db.iterator_opt(from, bounds) {
            let (encoded, value) = entry.map_err(|source| self.failed("read", source))?;
            let (group, slot) = read_prefixed(&encoded)?;
            let stored = read_stored(&slot, &value)?;
            if visit(group, slot, stored)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn failed(&self, action: &'static str, source: rocksdb::Error) -> StateError {
        failed(action, self.path(), source)
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Database").field(&self.path()).finish()
    }
}

/// What the entries of `group` begin with.
pub(super) fn prefix(group: u32) -> [u8; 2] {
    // At most 2^15.
    let [_, _, high, low] = group.to_be_bytes();
    [high, low]
}

pub(super) fn put_prefixed(out: &mut Vec<u8>, group: u32, slot: &Slot) {
    out.clear();
    out.extend_from_slice(&prefix(group));
    put_slot(out, slot);
}

pub(in crate::engine::state) fn read_prefixed(encoded: &[u8]) -> Result<(u32, Slot), Malformed> {
    let (prefix, slot) = encoded
        .split_first_chunk()
        .ok_or(Malformed("a key has no key group"))?;
    Ok((u32::from(u16::from_be_bytes(*prefix)), read_slot(slot)?))
}

fn is_plain_file_name(name: &str) -> bool {
    let mut components = Path::new(name).components();
    matches!(
        (components.next(), components.next()),
        (Some(Component::Normal(only)), None) if only == name
    )
}

fn failed(action: &'static str, path: &Path, source: rocksdb::Error) -> StateError {
    StateError::RocksDb {
        action,
        path: path.to_owned(),
        source,
    }
}
