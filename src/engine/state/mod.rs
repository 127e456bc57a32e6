//! The working state of keyed operators, on the heap or in RocksDB: exact sums per key, or per key and window, in tables of
//! their own; and every other kind of state in *cells* ([`cell`]), with or without a time to live ([`ttl`]).
//!
//! A backend belongs to one subtask and holds the keys of its *key groups*. A snapshot has two parts. The
//! **synchronous part**, [`KeyedBackend::snapshot`], runs inside the subtask between two records and must be quick:
//! the heap shares its maps and copies one only when it is written to again; RocksDB writes out its memtable and links
//! its files. The **asynchronous part**, [`KeyedSnapshot::write`], may run later, on another thread, while the
//! backend goes on: **what a snapshot holds is fixed when `snapshot` returns.**
//!
//! The handle that comes of it is the backend's own and only read by a backend of the same kind; or, of a savepoint in
//! canonical format, the same for every backend. Either way it can be restored by other subtasks than those that wrote it:
//! each takes the key groups that it owns.
//!
//! May know: the model, checkpoint storage, RocksDB, files. Must not know: operators, the coordinator, clocks, threads.

pub mod cell;
mod cell_table;
mod codec;
mod declared;
pub mod dump;
mod error;
mod exact;
mod folder;
mod group_stream;
mod heap;
mod heap_cells;
pub mod inspect;
pub mod kinds;
mod local;
mod owned_groups;
pub mod redistribute;
mod rocks;
mod snapshot;
mod sum_table;
pub mod ttl;
mod window_table;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::Path;

use super::storage::bytes::Malformed;
use super::storage::{CheckpointStorage, KeyedStateHandle};
use crate::model::{
    BackendKind, CheckpointId, Decimal, EventTime, Key, KeyContents, StateEntry, StateOptions,
    TimeWindow,
};

pub use cell::{StateDescriptor, StateId};
pub use error::StateError;
pub use exact::add_exactly;
pub use heap::{HeapBackend, HeapSnapshot};
pub use local::{LocalState, Memtable};
pub use rocks::{RocksDbBackend, RocksDbSnapshot, TableFile};

pub use snapshot::KeyedSnapshot;
pub use ttl::KeyedState;

use cell::{CellId, Entry};
use owned_groups::OwnedGroups;

/// One window of a key, and what it has come to.
pub type Window = (TimeWindow, Key, Decimal);

/// A cell and its entries.
pub type CellContents = (CellId, Vec<Entry>);

/// What a merge of a database's files has come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    pub files_before: u32,
    pub files_after: u32,
    /// The keys of which something had expired and is gone, sorted.
    pub cleaned: Vec<Key>,
}

/// How a backend is made, and how it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendSetup {
    pub kind: BackendKind,
    pub options: StateOptions,
    /// Nothing happens by itself: files are written and merged at moments that follow from what was done with the state.
    pub is_stepped: bool,
    /// What is restored lies where the next snapshots go, which may refer to it.
    pub continues: bool,
    /// Not the same for any two backends of an operator's subtask in one run: a file's name there and this say what is
    /// in it.
    pub attempt: u32,
}

impl From<BackendKind> for BackendSetup {
    fn from(kind: BackendKind) -> Self {
        Self {
            kind,
            options: StateOptions::default(),
            is_stepped: true,
            continues: false,
            attempt: 0,
        }
    }
}

/// The keyed state of one subtask (Flink: `AbstractKeyedStateBackend`). Dropping it removes what it has on disk.
#[derive(Debug)]
pub enum KeyedBackend {
    Heap(HeapBackend),
    /// Boxed: what it holds beside its database is large.
    RocksDb(Box<RocksDbBackend>),
}

impl KeyedBackend {
    /// An empty backend for `key_groups` of `max_parallelism`.
    ///
    /// `dir` is this subtask's alone and must not exist. Only RocksDB makes and uses it, and folders beside it
    /// named after it for snapshots.
    ///
    /// # Errors
    /// The folder exists or cannot be made; RocksDB's; or the key groups are not within the max parallelism.
    pub fn open(
        setup: impl Into<BackendSetup>,
        dir: &Path,
        max_parallelism: u32,
        key_groups: RangeInclusive<u32>,
    ) -> Result<Self, StateError> {
        let setup = setup.into();
        let owned = OwnedGroups::new(max_parallelism, &key_groups)?;
        Ok(match setup.kind {
            BackendKind::Heap => Self::Heap(HeapBackend::new(setup.options, owned)),
            BackendKind::RocksDb => {
                Self::RocksDb(Box::new(RocksDbBackend::open(setup, dir, owned)?))
            }
        })
    }

    /// A backend with what `handles` hold of its key groups: those of all subtasks that the operator had, when the
    /// snapshot was taken. Groups that are in none of them are empty. Parameters as for [`open`](Self::open).
    ///
    /// # Errors
    /// As for [`open`](Self::open); a handle is another backend's own, or has a key that is not in its group, as when the
    /// max parallelism was another one; two handles have the same group; a stream that is needed is damaged.
    pub fn restore(
        setup: impl Into<BackendSetup>,
        dir: &Path,
        max_parallelism: u32,
        key_groups: RangeInclusive<u32>,
        handles: &[&KeyedStateHandle],
        storage: &dyn CheckpointStorage,
    ) -> Result<Self, StateError> {
        let setup = setup.into();
        let kind = setup.kind;
        let owned = OwnedGroups::new(max_parallelism, &key_groups)?;
        let mut needed = Vec::new();
        let mut seen = BTreeSet::new();
        for handle in handles {
            if let Some(found) = handle.backend()
                && found != kind
            {
                return Err(StateError::WrongBackend {
                    wanted: kind.name(),
                    found: found.name(),
                });
            }
            let groups = handle.groups();
            if !groups.iter().all(|group| seen.insert(*group)) {
                return Err(Malformed("a key group is there twice").into());
            }
            if groups.iter().any(|group| owned.index_of(*group).is_some()) {
                needed.push(*handle);
            }
        }
        Ok(match kind {
            BackendKind::Heap => Self::Heap(HeapBackend::restore(
                setup.options,
                owned,
                &needed,
                storage,
            )?),
            BackendKind::RocksDb => Self::RocksDb(Box::new(RocksDbBackend::restore(
                setup, dir, owned, &needed, storage,
            )?)),
        })
    }

    #[must_use]
    pub fn kind(&self) -> BackendKind {
        match self {
            Self::Heap(_) => BackendKind::Heap,
            Self::RocksDb(_) => BackendKind::RocksDb,
        }
    }

    /// Add `value` to the sum of `key`, which begins at zero, and return the new sum.
    ///
    /// # Errors
    /// [`StateError::Inexact`] when the sum has no exact decimal form; the old sum stays. [`StateError::ForeignKey`]
    /// when the key belongs to another subtask. RocksDB's own.
    pub fn add(&mut self, key: &Key, value: Decimal) -> Result<Decimal, StateError> {
        match self {
            Self::Heap(heap) => heap.add(key, value),
            Self::RocksDb(rocks) => rocks.add(key, value),
        }
    }

    /// Every key (without label) that has a sum, and that sum; sorted by key.
    ///
    /// # Errors
    /// RocksDB's.
    pub fn entries(&self) -> Result<Vec<(Key, Decimal)>, StateError> {
        match self {
            Self::Heap(heap) => Ok(heap.entries()),
            Self::RocksDb(rocks) => rocks.entries(),
        }
    }

    /// Add `value` to the `window` of `key`, which begins at zero, and return what it comes to now. With the first value,
    /// the window's timer is set: see [`due_windows`](Self::due_windows).
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    pub fn window_add(
        &mut self,
        key: &Key,
        window: TimeWindow,
        value: Decimal,
    ) -> Result<Decimal, StateError> {
        match self {
            Self::Heap(heap) => heap.window_add(key, window, value),
            Self::RocksDb(rocks) => rocks.window_add(key, window, value),
        }
    }

    /// The windows whose timers `watermark` reaches: their last event time is not after it. In the order of their timers,
    /// then by key. They stay until they are removed.
    ///
    /// In Flink, event-time timers of one subtask fire in the order of their times, and in no fixed order within one.
    ///
    /// # Errors
    /// RocksDB's.
    pub fn due_windows(&mut self, watermark: EventTime) -> Result<Vec<Window>, StateError> {
        let mut due = match self {
            Self::Heap(heap) => heap.due_windows(watermark),
            Self::RocksDb(rocks) => rocks.due_windows(watermark)?,
        };
        due.sort_unstable_by(|(left, left_key, _), (right, right_key, _)| {
            (left.end_ms, left_key, left.start_ms).cmp(&(right.end_ms, right_key, right.start_ms))
        });
        Ok(due)
    }

    /// Forget the `window` of `key` and its timer. Nothing happens when there is none.
    ///
    /// # Errors
    /// The key belongs to another subtask, or RocksDB's.
    pub fn window_remove(&mut self, key: &Key, window: TimeWindow) -> Result<(), StateError> {
        match self {
            Self::Heap(heap) => heap.window_remove(key, window),
            Self::RocksDb(rocks) => rocks.window_remove(key, window),
        }
    }

    /// Every window, sorted by window, then by key (without label).
    ///
    /// # Errors
    /// RocksDB's.
    pub fn windows(&self) -> Result<Vec<Window>, StateError> {
        let mut windows = match self {
            Self::Heap(heap) => heap.windows(),
            Self::RocksDb(rocks) => rocks.windows()?,
        };
        windows.sort_unstable_by(|(left, left_key, _), (right, right_key, _)| {
            (left, left_key).cmp(&(right, right_key))
        });
        Ok(windows)
    }

    /// The *logical* size in bytes: of all encoded keys, windows and values. The same on every backend and machine.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::Heap(heap) => heap.size_bytes(),
            Self::RocksDb(rocks) => rocks.size_bytes(),
        }
    }

    /// Whether a snapshot is also written in its synchronous part.
    #[must_use]
    pub fn is_synchronous(&self) -> bool {
        match self {
            Self::Heap(heap) => heap.is_synchronous(),
            Self::RocksDb(_) => false,
        }
    }

    /// The synchronous part of a snapshot of state that lives for ever.
    ///
    /// # Errors
    /// RocksDB's. In Flink an error in this part fails the task, not only the checkpoint.
    pub fn snapshot(&mut self, checkpoint: CheckpointId) -> Result<KeyedSnapshot, StateError> {
        self.snapshot_at(checkpoint, 0)
    }

    /// The same at `now_ms` in processing time: a full snapshot may leave out what has expired.
    ///
    /// # Errors
    /// As for [`snapshot`](Self::snapshot).
    pub fn snapshot_at(
        &mut self,
        checkpoint: CheckpointId,
        now_ms: u64,
    ) -> Result<KeyedSnapshot, StateError> {
        Ok(match self {
            Self::Heap(heap) => KeyedSnapshot::Heap(heap.snapshot(now_ms)),
            Self::RocksDb(rocks) => KeyedSnapshot::RocksDb(rocks.snapshot(checkpoint, now_ms)?),
        })
    }

    /// The snapshot for `checkpoint` is written: later ones may refer to its files, once it is complete.
    pub fn on_written(&mut self, checkpoint: CheckpointId, handle: &KeyedStateHandle) {
        if let Self::RocksDb(rocks) = self {
            rocks.on_written(checkpoint, handle);
        }
    }

    /// `checkpoint` is complete, and will be there as long as a later one refers to it.
    pub fn on_complete(&mut self, checkpoint: CheckpointId) {
        if let Self::RocksDb(rocks) = self {
            rocks.on_complete(checkpoint);
        }
    }

    pub fn on_aborted(&mut self, checkpoint: CheckpointId) {
        if let Self::RocksDb(rocks) = self {
            rocks.on_aborted(checkpoint);
        }
    }

    /// After a snapshot, at `now_ms` in processing time: merge files if enough have gathered. None: not now.
    ///
    /// # Errors
    /// RocksDB's.
    pub fn compact_if_due(&mut self, now_ms: u64) -> Result<Option<Compaction>, StateError> {
        match self {
            Self::Heap(_) => Ok(None),
            Self::RocksDb(rocks) => rocks.compact_if_due(now_ms),
        }
    }

    /// Merge all files now, and leave out what has expired at `now_ms`. None: there are none, since this is the heap.
    ///
    /// # Errors
    /// RocksDB's.
    pub fn compact(&mut self, now_ms: u64) -> Result<Option<Compaction>, StateError> {
        match self {
            Self::Heap(_) => Ok(None),
            Self::RocksDb(rocks) => rocks.compact(now_ms).map(Some),
        }
    }

    /// What is stored in cells of every key that has any, expired or not; sorted by key (without label).
    ///
    /// # Errors
    /// RocksDB's.
    pub fn contents(&self) -> Result<Vec<KeyContents>, StateError> {
        let mut contents: Vec<KeyContents> = Vec::new();
        for (id, entries) in self.cell_contents()? {
            let shown = entries.iter().map(|entry| entry.shown(&id));
            match contents.last_mut().filter(|(key, _)| *key == id.key) {
                Some((_, known)) => known.extend(shown),
                None => contents.push((id.key.clone(), shown.collect())),
            }
        }
        Ok(contents)
    }

    /// Every cell, by key and then by state.
    fn cell_contents(&self) -> Result<Vec<CellContents>, StateError> {
        let mut cells = match self {
            Self::Heap(heap) => heap.cells(),
            Self::RocksDb(rocks) => rocks.cells()?,
        };
        cells.sort_unstable_by(|(left, _), (right, _)| (&left.key, left).cmp(&(&right.key, right)));
        Ok(cells)
    }

    fn owned(&self) -> OwnedGroups {
        match self {
            Self::Heap(heap) => heap.owned,
            Self::RocksDb(rocks) => rocks.owned(),
        }
    }

    /// What is stored in the cells of one key, in one state.
    ///
    /// # Errors
    /// The key belongs to another subtask, or RocksDB's.
    pub fn contents_of(&self, state: StateId, key: &Key) -> Result<Vec<StateEntry>, StateError> {
        let cells = self.cells_of(state, key)?.into_iter();
        Ok(cells
            .flat_map(|(id, entries)| {
                let shown: Vec<_> = entries.iter().map(|entry| entry.shown(&id)).collect();
                shown
            })
            .collect())
    }

    fn cell(&mut self, id: &CellId) -> Result<Option<Vec<Entry>>, StateError> {
        match self {
            Self::Heap(heap) => heap.cell(id),
            Self::RocksDb(rocks) => rocks.cell(id),
        }
    }

    /// Set the cell's entries; none: remove it.
    fn put_cell(&mut self, id: &CellId, entries: &[Entry]) -> Result<(), StateError> {
        match self {
            Self::Heap(heap) => heap.put_cell(id, entries),
            Self::RocksDb(rocks) => rocks.put_cell(id, entries),
        }
    }

    /// By user key.
    fn cells_of(&self, state: StateId, key: &Key) -> Result<Vec<CellContents>, StateError> {
        match self {
            Self::Heap(heap) => heap.cells_of(state, key),
            Self::RocksDb(rocks) => rocks.cells_of(state, key),
        }
    }

    /// The next cells for the clean-up to look at. RocksDB cleans up when it compacts.
    fn next_cells(&mut self, count: usize) -> Vec<CellContents> {
        match self {
            Self::Heap(heap) => heap.next_cells(count),
            Self::RocksDb(_) => Vec::new(),
        }
    }

    /// The files in which the state lies on this machine; the heap has none.
    ///
    /// # Errors
    /// RocksDB's.
    pub fn table_files(&self) -> Result<Vec<TableFile>, StateError> {
        match self {
            Self::Heap(_) => Ok(Vec::new()),
            Self::RocksDb(rocks) => rocks.table_files(),
        }
    }
}
