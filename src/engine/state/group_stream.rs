//! Key groups one after the other in one stream: the heap's own snapshot, and the canonical savepoint of any backend.
//!
//! ```text
//! stream   [header] · key groups, each where its offset says
//! header   format u32 · states: id u8 · name                 canonical only
//! group    entries, sorted by slot: slot · value, each after its length (u32)
//! ```
//!
//! The canonical form says which states are in it (Flink: `KeyedBackendSerializationProxy` before the groups of a
//! `KeyGroupsSavepointStateHandle`), so that it can be read without knowing who wrote it. The heap's own form is what
//! only the heap reads (Flink: `KeyGroupsStateHandle` of a checkpoint): that the bytes of its groups are the same is
//! no promise.

use super::codec::{STATES, Slot, put_slot, read_slot, read_value};
use super::{OwnedGroups, StateError};
use crate::engine::storage::bytes::{Malformed, Reader, put_bytes, put_count, put_u32};
use crate::engine::storage::{CheckpointStorage, KeyedStateHandle, StorageError};
use crate::model::{CheckpointId, Decimal};

const CANONICAL_FORMAT: u32 = 1;

/// Writes one group after the other.
pub(super) struct GroupWriter {
    is_canonical: bool,
    stream: Vec<u8>,
    offsets: Vec<(u32, u64)>,
    /// In the group at hand, whose count is put before it once it is known.
    entries: u32,
    slot: Vec<u8>,
}

impl GroupWriter {
    pub(super) fn canonical() -> Self {
        let mut writer = Self::native();
        writer.is_canonical = true;
        put_u32(&mut writer.stream, CANONICAL_FORMAT);
        put_count(&mut writer.stream, STATES.len());
        for (id, name) in STATES {
            writer.stream.push(id);
            put_bytes(&mut writer.stream, name.as_bytes());
        }
        writer
    }

    pub(super) fn native() -> Self {
        Self {
            is_canonical: false,
            stream: Vec::new(),
            offsets: Vec::new(),
            entries: 0,
            slot: Vec::new(),
        }
    }

    /// The entries that follow are in `group`.
    pub(super) fn begin(&mut self, group: u32) {
        self.end_group();
        self.offsets.push((group, self.stream.len() as u64));
        put_u32(&mut self.stream, 0);
    }

    /// In the order of their encoded slots.
    pub(super) fn put(&mut self, slot: &Slot, value: Decimal) {
        self.entries += 1;
        self.slot.clear();
        put_slot(&mut self.slot, slot);
        put_count(&mut self.stream, self.slot.len());
        self.stream.extend_from_slice(&self.slot);
        let value = value.serialize();
        put_count(&mut self.stream, value.len());
        self.stream.extend_from_slice(&value);
    }

    fn end_group(&mut self) {
        let start = self.offsets.last().map(|(_, offset)| *offset);
        let count = start
            .and_then(|start| usize::try_from(start).ok())
            .and_then(|start| self.stream.get_mut(start..start + 4));
        if let Some(count) = count {
            count.copy_from_slice(&self.entries.to_be_bytes());
        }
        self.entries = 0;
    }

    pub(super) fn write(
        mut self,
        checkpoint: CheckpointId,
        owner: &str,
        storage: &dyn CheckpointStorage,
    ) -> Result<KeyedStateHandle, StorageError> {
        self.end_group();
        let stream = storage.write_stream(checkpoint, owner, &self.stream)?;
        let offsets = self.offsets;
        Ok(if self.is_canonical {
            KeyedStateHandle::Savepoint { stream, offsets }
        } else {
            KeyedStateHandle::KeyGroups { stream, offsets }
        })
    }
}

/// The entries of those groups that are `owned`. `offsets` say where in the stream each one begins.
pub(super) fn read_groups(
    owned: OwnedGroups,
    (stream, offsets, is_canonical): (&[u8], &[(u32, u64)], bool),
    mut visit: impl FnMut(u32, Slot, Decimal) -> Result<(), StateError>,
) -> Result<(), StateError> {
    if is_canonical {
        read_header(stream)?;
    }
    for (group, offset) in offsets {
        if owned.index_of(*group).is_none() {
            continue;
        }
        let bytes = usize::try_from(*offset)
            .ok()
            .and_then(|offset| stream.get(offset..))
            .ok_or(Malformed("a key group lies beyond its end"))?;
        for (slot, value) in read_group(bytes)? {
            visit(*group, slot, value)?;
        }
    }
    Ok(())
}

fn read_header(stream: &[u8]) -> Result<(), Malformed> {
    let mut reader = Reader::new(stream);
    if reader.u32()? != CANONICAL_FORMAT {
        return Err(Malformed("its canonical format is of an unknown version"));
    }
    let states = reader.list(|reader| Ok((reader.u8()?, reader.text()?)))?;
    if states.iter().all(|state| STATES.contains(state)) {
        Ok(())
    } else {
        Err(Malformed("it holds a kind of state that is not known here"))
    }
}

/// The group at the start of `bytes`; what follows it is the next one's.
fn read_group(bytes: &[u8]) -> Result<Vec<(Slot, Decimal)>, Malformed> {
    let mut last: Option<&[u8]> = None;
    Reader::new(bytes).list(|reader| {
        let slot_bytes = reader.u32()? as usize;
        let slot = reader.take(slot_bytes)?;
        if last.replace(slot).is_some_and(|last| last >= slot) {
            return Err(Malformed("a key is there twice, or out of order"));
        }
        let value_bytes = reader.u32()? as usize;
        Ok((read_slot(slot)?, read_value(reader.take(value_bytes)?)?))
    })
}
