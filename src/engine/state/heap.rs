//! Keyed state in memory: the tables of each key group, shared with snapshots until one is written to.
//!
//! Flink's `HeapKeyedStateBackend` with its `CopyOnWriteStateMap`. Flink copies on write entry by entry; here it is key
//! group by key group, which shows the same and fits in a page: a snapshot only counts up the tables' owners, and the
//! first write to a group after it copies that one group, if the snapshot is still there.

use std::mem;
use std::sync::Arc;

use super::cell_table::CellTable;
use super::codec::{Slot, Stored, put_slot, sum_bytes, window_bytes};
use super::declared::{Declared, StateHeader};
use super::group_stream::{GroupWriter, read_groups};
use super::heap_cells::Cursor;
use super::sum_table::SumTable;
use super::ttl::Deadline;
use super::window_table::WindowTable;
use super::{OwnedGroups, StateError, Window, add_exactly};
use crate::engine::storage::bytes::Malformed;
use crate::engine::storage::{CheckpointStorage, KeyedStateHandle, StorageError};
use crate::model::{
    CheckpointId, Decimal, EventTime, Key, SavepointFormat, StateOptions, TimeWindow,
};

/// Keyed state on the heap.
#[derive(Debug)]
pub struct HeapBackend {
    pub(super) owned: OwnedGroups,
    /// By index among the owned groups.
    pub(super) groups: Vec<Group>,
    pub(super) size_bytes: u64,
    pub(super) declared: Declared,
    /// Where the clean-up of expired entries goes on.
    pub(super) cursor: Cursor,
    is_synchronous: bool,
}

/// All state of one key group.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    sums: SumTable,
    windows: WindowTable,
    pub(super) cells: CellTable,
}

/// The tables of one key group. Whether they are nobody else's is known without asking an atomic counter for each record.
#[derive(Debug)]
pub(super) enum Group {
    Own(Tables),
    /// A snapshot has them, or had them until it was written.
    Shared(Arc<Tables>),
}

impl Default for Group {
    fn default() -> Self {
        Self::Own(Tables::default())
    }
}

impl Group {
    pub(super) fn tables(&self) -> &Tables {
        match self {
            Self::Own(tables) => tables,
            Self::Shared(tables) => tables,
        }
    }

    /// Copies the tables if a snapshot still has them.
    pub(super) fn tables_mut(&mut self) -> &mut Tables {
        if let Self::Shared(tables) = self {
            *self = Self::Own(Arc::unwrap_or_clone(mem::take(tables)));
        }
        match self {
            Self::Own(tables) => tables,
            // Not reached: they were just made its own. It would be right, too.
            Self::Shared(tables) => Arc::make_mut(tables),
        }
    }

    /// Copies nothing: the tables are moved once, then only counted.
    fn share(&mut self) -> Arc<Tables> {
        let tables = match mem::take(self) {
            Self::Own(tables) => Arc::new(tables),
            Self::Shared(tables) => tables,
        };
        *self = Self::Shared(Arc::clone(&tables));
        tables
    }
}

impl HeapBackend {
    pub(super) fn new(options: StateOptions, owned: OwnedGroups) -> Self {
        let mut groups = Vec::new();
        groups.resize_with(owned.count(), Group::default);
        Self {
            owned,
            groups,
            size_bytes: 0,
            declared: Declared::default(),
            cursor: Cursor::default(),
            is_synchronous: !options.asynchronous,
        }
    }

    pub(super) fn is_synchronous(&self) -> bool {
        self.is_synchronous
    }

    /// Read those groups of `handles` that are owned. A group that is in none of them is empty.
    ///
    /// # Errors
    /// As for [`super::KeyedBackend::restore`]. The handles must be ones that the heap can read.
    pub(super) fn restore(
        options: StateOptions,
        owned: OwnedGroups,
        handles: &[&KeyedStateHandle],
        storage: &dyn CheckpointStorage,
    ) -> Result<Self, StateError> {
        let mut backend = Self::new(options, owned);
        for handle in handles {
            let is_canonical = matches!(handle, KeyedStateHandle::Savepoint { .. });
            let (KeyedStateHandle::KeyGroups { stream, offsets }
            | KeyedStateHandle::Savepoint { stream, offsets }) = handle
            else {
                continue;
            };
            let stream = storage.read_stream(stream)?;
            let headers = read_groups(
                owned,
                (&stream, offsets, is_canonical),
                |group, slot, stored| backend.put_restored(group, slot, stored),
            )?;
            for header in headers {
                backend.declared.note_header(header);
            }
        }
        Ok(backend)
    }

    fn put_restored(&mut self, group: u32, slot: Slot, stored: Stored) -> Result<(), StateError> {
        let at = self.owned.locate_restored(group, slot.key())?;
        let tables = self.groups[at.index].tables_mut();
        let size_bytes = stored.bytes_in(&slot);
        self.declared.note(&slot, &stored);
        let is_new = match (slot, stored) {
            (Slot::Sum(key), Stored::Number(value)) => {
                let is_new = tables.sums.get_mut(at.hash, &key).is_none();
                if is_new {
                    tables.sums.insert_new(at.hash, key, value);
                }
                is_new
            }
            (Slot::Window(window, key), Stored::Number(value)) => {
                tables.windows.insert(window, &key, value)
            }
            (Slot::Cell(id), Stored::Cell(entries)) => tables.cells.put(&id, &entries).0 == 0,
            _ => return Err(Malformed("an entry is of another kind than its state").into()),
        };
        if !is_new {
            return Err(Malformed("a key is there twice").into());
        }
        self.size_bytes += size_bytes;
        Ok(())
    }

    /// See [`super::KeyedBackend::add`].
    ///
    /// # Errors
    /// The sum would not be exact, or the key is another subtask's.
    pub fn add(&mut self, key: &Key, value: Decimal) -> Result<Decimal, StateError> {
        let at = self.owned.locate(key)?;
        let table = &mut self.groups[at.index].tables_mut().sums;
        if let Some(sum) = table.get_mut(at.hash, key) {
            *sum = add_exactly(*sum, value).ok_or_else(|| StateError::inexact(key, *sum, value))?;
            return Ok(*sum);
        }
        let sum = add_exactly(Decimal::ZERO, value)
            .ok_or_else(|| StateError::inexact(key, Decimal::ZERO, value))?;
        table.insert_new(at.hash, key.without_label(), sum);
        self.size_bytes += sum_bytes(key);
        Ok(sum)
    }

    /// See [`super::KeyedBackend::window_add`].
    ///
    /// # Errors
    /// As for [`HeapBackend::add`].
    pub fn window_add(
        &mut self,
        key: &Key,
        window: TimeWindow,
        value: Decimal,
    ) -> Result<Decimal, StateError> {
        let at = self.owned.locate(key)?;
        let table = &mut self.groups[at.index].tables_mut().windows;
        let known = table.get_mut(window, key);
        let old = known.as_deref().copied().unwrap_or(Decimal::ZERO);
        let new = add_exactly(old, value).ok_or_else(|| StateError::inexact(key, old, value))?;
        match known {
            Some(cell) => *cell = new,
            None => {
                table.insert(window, key, new);
                self.size_bytes += window_bytes(key);
            }
        }
        Ok(new)
    }

    pub(super) fn window_remove(
        &mut self,
        key: &Key,
        window: TimeWindow,
    ) -> Result<(), StateError> {
        let at = self.owned.locate(key)?;
        if self.groups[at.index]
            .tables_mut()
            .windows
            .remove(window, key)
        {
            self.size_bytes -= window_bytes(key);
        }
        Ok(())
    }

    /// In no order. The timers lie in order, so that only what is due is looked at.
    pub(super) fn due_windows(&self, watermark: EventTime) -> Vec<Window> {
        let tables = self.groups.iter().map(|group| &group.tables().windows);
        tables
            .filter(|table| table.first_timer().is_some_and(|first| first <= watermark))
            .flat_map(|table| {
                table
                    .iter()
                    .take_while(|(window, ..)| window.max_timestamp() <= watermark)
            })
            .map(|(window, key, value)| (window, key.clone(), value))
            .collect()
    }

    /// In no order.
    pub(super) fn windows(&self) -> Vec<Window> {
        let tables = self.groups.iter().map(|group| &group.tables().windows);
        tables
            .flat_map(WindowTable::iter)
            .map(|(window, key, value)| (window, key.clone(), value))
            .collect()
    }

    pub(super) fn entries(&self) -> Vec<(Key, Decimal)> {
        sorted(
            self.groups
                .iter()
                .flat_map(|group| group.tables().sums.iter()),
        )
        .cloned()
        .collect()
    }

    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Copies no entry. Flink: `CopyOnWriteStateTable.stateSnapshot`. What has expired at `now_ms` is left out when it is
    /// written, if the state is set so.
    pub(super) fn snapshot(&mut self, now_ms: u64) -> HeapSnapshot {
        HeapSnapshot {
            headers: self.declared.headers(),
            deadline: Deadline::of_full_snapshot(self.declared.wanted(), now_ms),
            first_group: self.owned.first(),
            groups: self.groups.iter_mut().map(Group::share).collect(),
            size_bytes: self.size_bytes,
        }
    }
}

/// The tables as they were; the backend copies before it changes one.
#[derive(Debug)]
pub struct HeapSnapshot {
    headers: Vec<StateHeader>,
    deadline: Option<Deadline>,
    first_group: u32,
    groups: Vec<Arc<Tables>>,
    size_bytes: u64,
}

impl HeapSnapshot {
    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        self.deadline
    }

    pub(super) fn write(
        self,
        (checkpoint, format): (CheckpointId, Option<SavepointFormat>),
        owner: &str,
        storage: &dyn CheckpointStorage,
    ) -> Result<KeyedStateHandle, StorageError> {
        let mut writer = match format {
            None | Some(SavepointFormat::Native) => GroupWriter::native(),
            Some(SavepointFormat::Canonical) => GroupWriter::canonical(&self.headers),
        };
        for (number, group) in (self.first_group..).zip(&self.groups) {
            writer.begin(number);
            for (key, sum) in sorted(group.sums.iter()) {
                writer.put(&Slot::Sum(key.clone()), &Stored::Number(*sum));
            }
            for (window, key, value) in group.windows.iter() {
                writer.put(&Slot::Window(window, key.clone()), &Stored::Number(value));
            }
            put_cells(&mut writer, &group.cells, self.deadline);
        }
        writer.write(checkpoint, owner, storage)
    }
}

/// In the order of their bytes, which is not quite that of their parts.
fn put_cells(writer: &mut GroupWriter, cells: &CellTable, deadline: Option<Deadline>) {
    let mut slots = Vec::new();
    for (id, entries) in cells.iter() {
        let alive = Deadline::cut(deadline, entries.to_vec());
        if !alive.is_empty() {
            let slot = Slot::Cell(id.clone());
            let mut encoded = Vec::new();
            put_slot(&mut encoded, &slot);
            slots.push((encoded, slot, Stored::Cell(alive)));
        }
    }
    slots.sort_unstable_by(|(left, ..), (right, ..)| left.cmp(right));
    for (_, slot, stored) in &slots {
        writer.put(slot, stored);
    }
}

/// The one way out of a table: in key order, so that nothing outside depends on how keys are hashed.
fn sorted<'a>(
    entries: impl Iterator<Item = &'a (Key, Decimal)>,
) -> impl Iterator<Item = &'a (Key, Decimal)> {
    let mut entries: Vec<_> = entries.collect();
    entries.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
    entries.into_iter()
}
