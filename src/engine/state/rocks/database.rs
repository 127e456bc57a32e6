//! One RocksDB in a folder of its own, and entries of keyed state as it holds them.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Component, Path};

use rocksdb::checkpoint::Checkpoint;
use rocksdb::{
    BlockBasedOptions, BottommostLevelCompaction, Cache, CompactOptions, DB, DBCompressionType,
    Direction, IteratorMode, LogLevel, Options, ReadOptions, WriteOptions,
};

use crate::engine::state::cell::CellId;
use crate::engine::state::codec::{
    Slot, Stored, WINDOWS, put_slot, put_stored, read_slot, read_stored, read_value,
};
use crate::engine::state::folder::OwnedFolder;
use crate::engine::state::ttl::Deadline;
use crate::engine::state::{CellContents, StateError};
use crate::engine::storage::bytes::Malformed;
use crate::engine::storage::{CheckpointStorage, StreamHandle};
use crate::model::{Decimal, Key, TimeWindow};

use super::ttl_filter::TtlFilter;

/// A database and its folder, which goes with it.
pub(super) struct Database {
    db: DB,
    write: WriteOptions,
    ttl_filter: TtlFilter,
    /// After `db`: the database closes, then its folder goes.
    folder: OwnedFolder,
}

impl Database {
    pub(super) fn create(dir: &Path) -> Result<Self, StateError> {
        let folder = OwnedFolder::create(dir)?;
        Self::open(folder, |folder, filter| {
            DB::open(&options(true, filter)?, folder)
        })
    }

    /// Put the files of a checkpoint into a new folder and open them.
    pub(super) fn from_files(
        dir: &Path,
        files: &[(String, StreamHandle)],
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
            DB::open(&options(false, filter)?, folder)
        })
    }

    /// Open what [`Database::link`] made.
    pub(super) fn read_only(folder: OwnedFolder) -> Result<Self, StateError> {
        Self::open(folder, |folder, filter| {
            DB::open_for_read_only(&options(false, filter)?, folder, false)
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
            folder,
        })
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
        self.db
            .put_opt(encoded, value.serialize(), &self.write)
            .map_err(|source| self.failed("write", source))
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
        self.db
            .put_opt(encoded, value, &self.write)
            .map_err(|source| self.failed("write", source))
    }

    pub(super) fn delete(&self, encoded: &[u8]) -> Result<(), StateError> {
        self.db
            .delete_opt(encoded, &self.write)
            .map_err(|source| self.failed("write", source))
    }

    /// Flush the memtable, then have RocksDB link its files into a new folder: the links keep them even when compaction or
    /// the end of this database removes them here.
    pub(super) fn link(&self, into: OwnedFolder) -> Result<OwnedFolder, StateError> {
        self.db
            .flush()
            .map_err(|source| self.failed("flush", source))?;
        Checkpoint::new(&self.db)
            .and_then(|native| native.create_checkpoint(into.path()))
            .map_err(|source| self.failed("make a checkpoint", source))?;
        Ok(into)
    }

    /// Rewrite all files; what has expired by `deadline` does not come along, and is returned.
    pub(super) fn compact(
        &self,
        deadline: Option<Deadline>,
    ) -> Result<Vec<(CellId, Stored)>, StateError> {
        self.db
            .flush()
            .map_err(|source| self.failed("flush", source))?;
        let mut options = CompactOptions::default();
        // Otherwise files that were compacted before are moved, and not looked into.
        options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
        self.ttl_filter.arm(deadline);
        self.db
            .compact_range_opt(None::<&[u8]>, None::<&[u8]>, &options);
        Ok(self.ttl_filter.disarm())
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

/// Many small databases that open fast and start no work by themselves. Everything not set here is RocksDB's default.
///
/// With `create` false, files without their `CURRENT` are an error and not an empty database.
fn options(create: bool, filter: &TtlFilter) -> Result<Options, rocksdb::Error> {
    // An identity is for humans with many databases; its file costs two of ten waits for the disk. No setter exists.
    let mut options = Options::default().get_options_from_string("write_identity_file=false")?;
    options.create_if_missing(create);
    options.set_compression_type(DBCompressionType::None);
    options.set_write_buffer_size(4 << 20);
    options.set_max_background_jobs(2);
    options.set_max_file_opening_threads(1);
    options.set_skip_stats_update_on_db_open(true);
    // No threads that write statistics, and hardly a log.
    options.set_stats_dump_period_sec(0);
    options.set_stats_persist_period_sec(0);
    options.set_keep_log_file_num(1);
    options.set_log_level(LogLevel::Header);
    let mut tables = BlockBasedOptions::default();
    tables.set_block_cache(&Cache::new_lru_cache(8 << 20));
    options.set_block_based_table_factory(&tables);
    options.set_compaction_filter_factory(filter.clone());
    Ok(options)
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

pub(super) fn read_prefixed(encoded: &[u8]) -> Result<(u32, Slot), Malformed> {
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
