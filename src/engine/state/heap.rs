//! Sums in memory: one map per key group, shared with snapshots until it is written to.
//!
//! Flink's `HeapKeyedStateBackend` with its `CopyOnWriteStateMap`. Flink copies on write entry by entry; here it is key
//! group by key group, which shows the same and fits in a page: a snapshot only counts up the maps' owners, and the
//! first write to a group after it copies that one group, if the snapshot is still there.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;

use super::codec::{VALUE_BYTES, entry_bytes, put_key, read_key, read_value};
use super::{OwnedGroups, StateError, add_exactly};
use crate::engine::storage::bytes::{Malformed, Reader, put_count};
use crate::engine::storage::{CheckpointStorage, KeyedStateHandle, StorageError};
use crate::model::{CheckpointId, Decimal, Key};

/// The hasher is quick and the same in every process. Keys come from the person's own files: no one floods it.
type Group = HashMap<Key, Decimal, FixedState>;

/// Keyed sums on the heap.
#[derive(Debug)]
pub struct HeapBackend {
    owned: OwnedGroups,
    /// By index among the owned groups.
    groups: Vec<Arc<Group>>,
    size_bytes: u64,
}

impl HeapBackend {
    pub(super) fn new(owned: OwnedGroups) -> Self {
        Self {
            owned,
            // All share one empty map until they are written to.
            groups: vec![Arc::default(); owned.count()],
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
                let index = owned.check_restored(*group, &key)?;
                let size_bytes = entry_bytes(&key);
                if Arc::make_mut(&mut backend.groups[index])
                    .insert(key, sum)
                    .is_some()
                {
                    return Err(Malformed("a key is there twice").into());
                }
                backend.size_bytes += size_bytes;
            }
        }
        Ok(backend)
    }

    /// See [`super::KeyedBackend::add`].
    ///
    /// # Errors
    /// The sum would not be exact, or the key is another subtask's.
    pub fn add(&mut self, key: &Key, value: Decimal) -> Result<Decimal, StateError> {
        let (_, index) = self.owned.locate(key)?;
        let group = Arc::make_mut(&mut self.groups[index]);
        let exactly = |sum| {
            add_exactly(sum, value).ok_or_else(|| StateError::Inexact {
                key: key.clone(),
                sum,
                value,
            })
        };
        if let Some(sum) = group.get_mut(key) {
            *sum = exactly(*sum)?;
            return Ok(*sum);
        }
        let sum = exactly(Decimal::ZERO)?;
        group.insert(without_label(key), sum);
        self.size_bytes += entry_bytes(key);
        Ok(sum)
    }

    pub(super) fn entries(&self) -> Vec<(Key, Decimal)> {
        sorted(self.groups.iter().flat_map(|group| group.iter()))
            .map(|(key, sum)| (key.clone(), *sum))
            .collect()
    }

    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Copies no entry. Flink: `CopyOnWriteStateTable.stateSnapshot`.
    pub(super) fn snapshot(&self) -> HeapSnapshot {
        HeapSnapshot {
            first_group: self.owned.first(),
            groups: self.groups.clone(),
            size_bytes: self.size_bytes,
        }
    }
}

/// The maps as they were; the backend copies before it changes one.
#[derive(Debug)]
pub struct HeapSnapshot {
    first_group: u32,
    groups: Vec<Arc<Group>>,
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
fn put_group(out: &mut Vec<u8>, group: &Group) {
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

/// The one way out of a map: in key order, so that nothing outside depends on how keys are hashed.
fn sorted<'a>(
    entries: impl Iterator<Item = (&'a Key, &'a Decimal)>,
) -> impl Iterator<Item = (&'a Key, &'a Decimal)> {
    let mut entries: Vec<_> = entries.collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    entries.into_iter()
}

fn without_label(key: &Key) -> Key {
    match key {
        Key::Int { value, .. } => Key::int(*value),
        Key::Text(_) => key.clone(),
    }
}
