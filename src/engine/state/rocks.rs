//! Keyed state in RocksDB: one database per subtask, in a folder of its own.
//!
//! Flink's `EmbeddedRocksDBStateBackend`, as `RocksDBKeyedStateBackend` and `RocksNativeFullSnapshotStrategy`
//! have it. The database is scratch space: no write-ahead log, since what counts after a crash is the last checkpoint.
//! An entry's key is the key group (u16, big-endian) and then its slot, so that a group's entries lie together, and in it
//! those of each state. (Flink has a column family for each state.)

use std::fs;
use std::path::{Component, Path};

use rocksdb::checkpoint::Checkpoint;
use rocksdb::{
    BlockBasedOptions, Cache, DB, DBCompressionType, Direction, IteratorMode, LogLevel, Options,
    ReadOptions, WriteOptions,
};

use super::codec::{
    Slot, WINDOWS, put_sum_slot, put_window_slot, read_slot, read_value, sum_bytes, window_bytes,
};
use super::folder::OwnedFolder;
use super::{OwnedGroups, StateError, Window, add_exactly};
use crate::engine::storage::bytes::Malformed;
use crate::engine::storage::{CheckpointStorage, KeyedStateHandle, StorageError, StreamHandle};
use crate::model::{CheckpointId, Decimal, EventTime, Key, TimeWindow};

/// Keyed state in a database on disk.
pub struct RocksDbBackend {
    db: DB,
    write: WriteOptions,
    owned: OwnedGroups,
    /// The encoded slot of the record at hand, kept for its memory.
    encoded: Vec<u8>,
    /// No timer is due before this: a watermark below it needs no look into the database (Flink:
    /// `RocksDBCachingPriorityQueueSet`).
    first_timer: EventTime,
    size_bytes: u64,
    /// After `db`: the database closes, then its folder goes.
    folder: OwnedFolder,
}

impl RocksDbBackend {
    pub(super) fn open(dir: &Path, owned: OwnedGroups) -> Result<Self, StateError> {
        Self::start(OwnedFolder::create(dir)?, owned, true)
    }

    /// Put the files of a checkpoint into a fresh folder, open them, and read every entry once: to know the size,
    /// and so that damage shows now rather than in the middle of the run.
    pub(super) fn restore(
        dir: &Path,
        owned: OwnedGroups,
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
        let mut backend = Self::start(folder, owned, false)?;
        let (mut size_bytes, mut first_timer) = (0, EventTime::MAX);
        backend.for_each(|group, slot, _| {
            owned.locate_restored(group, slot.key())?;
            size_bytes += slot.entry_bytes();
            if let Slot::Window(window, _) = slot {
                first_timer = first_timer.min(window.max_timestamp());
            }
            Ok(())
        })?;
        backend.size_bytes = size_bytes;
        backend.first_timer = first_timer;
        Ok(backend)
    }

    fn start(folder: OwnedFolder, owned: OwnedGroups, create: bool) -> Result<Self, StateError> {
        let db = options(create)
            .and_then(|options| DB::open(&options, folder.path()))
            .map_err(|source| failed("open its database", folder.path(), source))?;
        let mut write = WriteOptions::default();
        write.disable_wal(true);
        Ok(Self {
            db,
            write,
            owned,
            encoded: Vec::new(),
            first_timer: EventTime::MAX,
            size_bytes: 0,
            folder,
        })
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
        self.encode_window(key, window)?;
        let (new, is_new) = self.add_to_encoded(key, value)?;
        if is_new {
            self.size_bytes += window_bytes(key);
            self.first_timer = self.first_timer.min(window.max_timestamp());
        }
        Ok(new)
    }

    pub(super) fn window_remove(
        &mut self,
        key: &Key,
        window: TimeWindow,
    ) -> Result<(), StateError> {
        self.encode_window(key, window)?;
        let known = self
            .db
            .get_pinned(&self.encoded)
            .map_err(|source| self.failed("read", source))?
            .is_some();
        if known {
            self.db
                .delete_opt(&self.encoded, &self.write)
                .map_err(|source| self.failed("write", source))?;
            self.size_bytes -= window_bytes(key);
        }
        Ok(())
    }

    /// In no order.
    pub(super) fn due_windows(&mut self, watermark: EventTime) -> Result<Vec<Window>, StateError> {
        if watermark < self.first_timer {
            return Ok(Vec::new());
        }
        let mut due = Vec::new();
        let mut first_timer = EventTime::MAX;
        for group in self.owned.groups() {
            self.for_each_window(group, |window, key, value| {
                let timer = window.max_timestamp();
                first_timer = first_timer.min(timer);
                let is_due = timer <= watermark;
                if is_due {
                    due.push((window, key, value));
                }
                is_due
            })?;
        }
        // Those found due are in here too, since they stay until they are removed.
        self.first_timer = first_timer;
        Ok(due)
    }

    /// In no order.
    pub(super) fn windows(&self) -> Result<Vec<Window>, StateError> {
        let mut windows = Vec::new();
        self.for_each(|_, slot, value| {
            if let Slot::Window(window, key) = slot {
                windows.push((window, key, value));
            }
            Ok(())
        })?;
        Ok(windows)
    }

    fn encode_window(&mut self, key: &Key, window: TimeWindow) -> Result<(), StateError> {
        let at = self.owned.locate(key)?;
        self.encoded.clear();
        self.encoded.extend_from_slice(&prefix(at.group));
        put_window_slot(&mut self.encoded, window, key);
        Ok(())
    }

    /// Add to the value at the encoded slot, which is one of `key`. Returns the new value and whether it is the first.
    fn add_to_encoded(&self, key: &Key, value: Decimal) -> Result<(Decimal, bool), StateError> {
        let known = self
            .db
            .get_pinned(&self.encoded)
            .map_err(|source| self.failed("read", source))?
            .map(|stored| read_value(&stored))
            .transpose()?;
        let old = known.unwrap_or(Decimal::ZERO);
        let new = add_exactly(old, value).ok_or_else(|| StateError::inexact(key, old, value))?;
        self.db
            .put_opt(&self.encoded, new.serialize(), &self.write)
            .map_err(|source| self.failed("write", source))?;
        Ok((new, known.is_none()))
    }

    pub(super) fn entries(&self) -> Result<Vec<(Key, Decimal)>, StateError> {
        let mut entries = Vec::new();
        self.for_each(|_, slot, sum| {
            if let Slot::Sum(key) = slot {
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

    /// Flush the memtable, then have RocksDB link its files into a folder beside its own: the links keep them even
    /// when compaction or the end of this backend removes them here.
    pub(super) fn snapshot(&self, checkpoint: CheckpointId) -> Result<RocksDbSnapshot, StateError> {
        let mut beside = self.folder.path().as_os_str().to_owned();
        beside.push(format!(".chk-{checkpoint}"));
        let folder = OwnedFolder::reserve(beside.into())?;
        self.db
            .flush()
            .map_err(|source| self.failed("flush", source))?;
        Checkpoint::new(&self.db)
            .and_then(|native| native.create_checkpoint(folder.path()))
            .map_err(|source| self.failed("make a checkpoint", source))?;
        Ok(RocksDbSnapshot {
            folder,
            size_bytes: self.size_bytes,
        })
    }

    fn for_each(
        &self,
        mut visit: impl FnMut(u32, Slot, Decimal) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        for entry in self.db.iterator(IteratorMode::Start) {
            let (encoded, value) = entry.map_err(|source| self.failed("read", source))?;
            let (group, slot) = read_prefixed(&encoded)?;
            visit(group, slot, read_value(&value)?)?;
        }
        Ok(())
    }

    /// The windows of `group` in the order of their timers, as long as `visit` wants to go on.
    fn for_each_window(
        &self,
        group: u32,
        mut visit: impl FnMut(TimeWindow, Key, Decimal) -> bool,
    ) -> Result<(), StateError> {
        let [high, low] = prefix(group);
        let mut bounds = ReadOptions::default();
        bounds.set_iterate_upper_bound([high, low, WINDOWS + 1]);
        let start = [high, low, WINDOWS];
        let from = IteratorMode::From(&start, Direction::Forward);
        for entry in self.db.iterator_opt(from, bounds) {
            let (encoded, value) = entry.map_err(|source| self.failed("read", source))?;
            if let (_, Slot::Window(window, key)) = read_prefixed(&encoded)?
                && !visit(window, key, read_value(&value)?)
            {
                break;
            }
        }
        Ok(())
    }

    fn failed(&self, action: &'static str, source: rocksdb::Error) -> StateError {
        failed(action, self.folder.path(), source)
    }
}

impl std::fmt::Debug for RocksDbBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RocksDbBackend")
            .field("folder", &self.folder)
            .field("size_bytes", &self.size_bytes)
            .finish_non_exhaustive()
    }
}

/// A folder of links to the database's files, as they were.
#[derive(Debug)]
pub struct RocksDbSnapshot {
    folder: OwnedFolder,
    size_bytes: u64,
}

impl RocksDbSnapshot {
    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Uploads every file: nothing is shared with other checkpoints.
    pub(super) fn write(
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
        Ok(KeyedStateHandle::RocksDb { files })
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

/// Many small databases that open fast and start no work by themselves. Everything not set here is RocksDB's default.
///
/// With `create` false, files without their `CURRENT` are an error and not an empty database.
fn options(create: bool) -> Result<Options, rocksdb::Error> {
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
    Ok(options)
}

fn prefix(group: u32) -> [u8; 2] {
    // Owned groups are below 2^15.
    let [_, _, high, low] = group.to_be_bytes();
    [high, low]
}

fn read_prefixed(encoded: &[u8]) -> Result<(u32, Slot), Malformed> {
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
