//! Sums in memory: one table per key group, shared with snapshots until it is written to.
//!
//! Flink's `HeapKeyedStateBackend` with its `CopyOnWriteStateMap`. Flink copies on write entry by entry; here it is key
//! group by key group, which shows the same and fits in a page: a snapshot only counts up the tables' owners, and the
//! first write to a group after it copies that one group, if the snapshot is still there.

use std::mem;
use std::sync::Arc;

use super::codec::{VALUE_BYTES, entry_bytes, put_key, read_key, read_value};
use super::sum_table::SumTable;
use super::{OwnedGroups, StateError, add_exactly};
use crate::engine::storage::bytes::{Malformed, Reader, put_count};
use crate::engine::storage::{CheckpointStorage, KeyedStateHandle, StorageError};
use crate::model::{CheckpointId, Decimal, Key};

/// Keyed sums on the heap.
#[derive(Debug)]
pub struct HeapBackend {
    owned: OwnedGroups,
    /// By index among the owned groups.
    groups: Vec<Group>,
    size_bytes: u64,
}

/// The table of one key group. Whether it is nobody else's is known without asking an atomic counter for each record.
#[derive(Debug)]
enum Group {
    Own(SumTable),
    /// A snapshot has it, or had it until it was written.
    Shared(Arc<SumTable>),
}

impl Default for Group {
    fn default() -> Self {
        Self::Own(SumTable::default())
    }
}

impl Group {
    fn table(&self) -> &SumTable {
        match self {
            Self::Own(table) => table,
            Self::Shared(table) => table,
        }
    }

    /// Copies the table if a snapshot still has it.
    fn table_mut(&mut self) -> &mut SumTable {
        if let Self::Shared(table) = self {
            *self = Self::Own(Arc::unwrap_or_clone(mem::take(table)));
        }
        match self {
            Self::Own(table) => table,
            // Not reached: it was just made its own. It would be right, too.
            Self::Shared(table) => Arc::make_mut(table),
        }
    }

    /// Copies nothing: the table is moved once, then only counted.
    fn share(&mut self) -> Arc<SumTable> {
        let table = match mem::take(self) {
            Self::Own(table) => Arc::new(table),
            Self::Shared(table) => table,
        };
        *self = Self::Shared(Arc::clone(&table));
        table
    }
}

impl HeapBackend {
    pub(super) fn new(owned: OwnedGroups) -> Self {
        let mut groups = Vec::new();
        groups.resize_with(owned.count(), Group::default);
        Self {
            owned,
            groups,
            size_bytes: 0,
        }
    }

    /// Read the groups that `offsets` finds in `stream`. A group that is not in there is empty.
    pub(super) fn restore(
        owned: OwnedGroups,
        stream: &[u8],
        offsets: &[(u32, u64)],
    ) -> Result<Self, StateError> {
        let mut backend = Self::new(owned);
        for (group, offset) in offsets {
            let bytes = usize::try_from(*offset)
                .ok()
                .and_then(|offset| stream.get(offset..))
                .ok_or(Malformed("a key group lies beyond its end"))?;
            for (key, sum) in read_group(bytes)? {
                let at = owned.locate_restored(*group, &key)?;
                let table = backend.groups[at.index].table_mut();
                if table.get_mut(at.hash, &key).is_some() {
                    return Err(Malformed("a key is there twice").into());
                }
                backend.size_bytes += entry_bytes(&key);
                table.insert_new(at.hash, key, sum);
            }
        }
        Ok(backend)
    }

    /// See [`super::KeyedBackend::add`].
    ///
    /// # Errors
    /// The sum would not be exact, or the key is another subtask's.
    pub fn add(&mut self, key: &Key, value: Decimal) -> Result<Decimal, StateError> {
        let at = self.owned.locate(key)?;
        let table = self.groups[at.index].table_mut();
        if let Some(sum) = table.get_mut(at.hash, key) {
            *sum = add_exactly(*sum, value).ok_or_else(|| StateError::inexact(key, *sum, value))?;
            return Ok(*sum);
        }
        let sum = add_exactly(Decimal::ZERO, value)
            .ok_or_else(|| StateError::inexact(key, Decimal::ZERO, value))?;
        table.insert_new(at.hash, without_label(key), sum);
        self.size_bytes += entry_bytes(key);
        Ok(sum)
    }

    pub(super) fn entries(&self) -> Vec<(Key, Decimal)> {
        sorted(self.groups.iter().flat_map(|group| group.table().iter()))
            .cloned()
            .collect()
    }

    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Copies no entry. Flink: `CopyOnWriteStateTable.stateSnapshot`.
    pub(super) fn snapshot(&mut self) -> HeapSnapshot {
        HeapSnapshot {
            first_group: self.owned.first(),
            groups: self.groups.iter_mut().map(Group::share).collect(),
            size_bytes: self.size_bytes,
        }
    }
}

/// The tables as they were; the backend copies before it changes one.
#[derive(Debug)]
pub struct HeapSnapshot {
    first_group: u32,
    groups: Vec<Arc<SumTable>>,
    size_bytes: u64,
}

impl HeapSnapshot {
    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    pub(super) fn write(
        self,
        checkpoint: CheckpointId,
        owner: &str,
        storage: &dyn CheckpointStorage,
    ) -> Result<KeyedStateHandle, StorageError> {
        let mut stream = Vec::new();
        let mut offsets = Vec::with_capacity(self.groups.len());
        for (number, group) in (self.first_group..).zip(&self.groups) {
            offsets.push((number, stream.len() as u64));
            put_group(&mut stream, group);
        }
        let stream = storage.write_stream(checkpoint, owner, &stream)?;
        Ok(KeyedStateHandle::KeyGroups { stream, offsets })
    }
}

/// A count (u32), then per entry, sorted by key: the key's length (u32), the key, the sum.
fn put_group(out: &mut Vec<u8>, group: &SumTable) {
    put_count(out, group.len());
    let mut encoded = Vec::new();
    for (key, sum) in sorted(group.iter()) {
        encoded.clear();
        put_key(&mut encoded, key);
        put_count(out, encoded.len());
        out.extend_from_slice(&encoded);
        out.extend_from_slice(&sum.serialize());
    }
}

/// The group at the start of `bytes`; what follows it is the next one's.
fn read_group(bytes: &[u8]) -> Result<Vec<(Key, Decimal)>, Malformed> {
    Reader::new(bytes).list(|reader| {
        let key_bytes = reader.u32()? as usize;
        Ok((
            read_key(reader.take(key_bytes)?)?,
            read_value(reader.take(VALUE_BYTES)?)?,
        ))
    })
}

/// The one way out of a table: in key order, so that nothing outside depends on how keys are hashed.
fn sorted<'a>(
    entries: impl Iterator<Item = &'a (Key, Decimal)>,
) -> impl Iterator<Item = &'a (Key, Decimal)> {
    let mut entries: Vec<_> = entries.collect();
    entries.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
    entries.into_iter()
}

fn without_label(key: &Key) -> Key {
    match key {
        Key::Int { value, .. } => Key::int(*value),
        Key::Text(_) => key.clone(),
    }
}
