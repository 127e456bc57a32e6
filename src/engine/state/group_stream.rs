//! Key groups one after the other in one stream: the heap's own snapshot, and the canonical savepoint of any backend.
//!
//! ```text
//! stream   [header] · key groups, each where its offset says
//! header   format u32 · states: id u8 · name · kind u8 · ttl u8     canonical only; kind and ttl since format 2
//! group    entries, sorted by slot: slot · value, each after its length (u32)
//! ```
//!
//! The canonical form says which states are in it, of which kind, and whether they have a time to live (Flink: `KeyedBackendSerializationProxy` before the groups of a
//! `KeyGroupsSavepointStateHandle`), so that it can be read without knowing who wrote it. The heap's own form is what
//! only the heap reads (Flink: `KeyGroupsStateHandle` of a checkpoint): that the bytes of its groups are the same is
//! no promise.

use super::cell::StateId;
use super::codec::{Slot, Stored, put_slot, put_stored, read_slot, read_stored};
use super::declared::{StateHeader, number_of_kind};
use super::{OwnedGroups, StateError};
use crate::engine::storage::bytes::{Malformed, Reader, put_bytes, put_count, put_u32};
use crate::engine::storage::{CheckpointStorage, KeyedStateHandle, StorageError};
use crate::model::CheckpointId;

const CANONICAL_FORMAT: u32 = 2;
/// Its states were sums and windows, and nobody's time to live was limited.
const FIRST_CANONICAL_FORMAT: u32 = 1;

/// Writes one group after the other.
pub(super) struct GroupWriter {
    is_canonical: bool,
    stream: Vec<u8>,
    offsets: Vec<(u32, u64)>,
    /// In the group at hand, whose count is put before it once it is known.
    entries: u32,
    slot: Vec<u8>,
    value: Vec<u8>,
}

impl GroupWriter {
    /// `states`: what is in it.
    pub(super) fn canonical(states: &[StateHeader]) -> Self {
        let mut writer = Self::native();
        writer.is_canonical = true;
        put_u32(&mut writer.stream, CANONICAL_FORMAT);
        put_count(&mut writer.stream, states.len());
        for (state, has_ttl) in states {
            writer.stream.push(state.number());
            put_bytes(&mut writer.stream, state.name().as_bytes());
            writer.stream.push(number_of_kind(state.kind()));
            writer.stream.push(u8::from(*has_ttl));
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
            value: Vec::new(),
        }
    }

    /// The entries that follow are in `group`.
    pub(super) fn begin(&mut self, group: u32) {
        self.end_group();
        self.offsets.push((group, self.stream.len() as u64));
        put_u32(&mut self.stream, 0);
    }

    /// In the order of their encoded slots.
    pub(super) fn put(&mut self, slot: &Slot, stored: &Stored) {
        self.entries += 1;
        self.slot.clear();
        put_slot(&mut self.slot, slot);
        put_count(&mut self.stream, self.slot.len());
        self.stream.extend_from_slice(&self.slot);
        self.value.clear();
        put_stored(&mut self.value, stored);
        put_count(&mut self.stream, self.value.len());
        self.stream.extend_from_slice(&self.value);
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
    mut visit: impl FnMut(u32, Slot, Stored) -> Result<(), StateError>,
) -> Result<Vec<StateHeader>, StateError> {
    let headers = if is_canonical {
        read_header(stream)?
    } else {
        Vec::new()
    };
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
    Ok(headers)
}

/// The states that the stream says it holds. An old one names all that there were; which it holds, its entries say.
fn read_header(stream: &[u8]) -> Result<Vec<StateHeader>, Malformed> {
    let mut reader = Reader::new(stream);
    let format = reader.u32()?;
    if ![FIRST_CANONICAL_FORMAT, CANONICAL_FORMAT].contains(&format) {
        return Err(Malformed("its canonical format is of an unknown version"));
    }
    let headers = reader.list(|reader| {
        let (number, name) = (reader.u8()?, reader.text()?);
        let state = StateId::of_number(number).filter(|state| state.name() == name);
        let state = state.ok_or(Malformed("it holds a kind of state that is not known here"))?;
        if format == FIRST_CANONICAL_FORMAT {
            return Ok((state, false));
        }
        let (kind, has_ttl) = (reader.u8()?, reader.u8()?);
        if kind != number_of_kind(state.kind()) || has_ttl > 1 {
            return Err(Malformed("it holds a kind of state that is not known here"));
        }
        Ok((state, has_ttl == 1))
    })?;
    Ok(if format == FIRST_CANONICAL_FORMAT {
        Vec::new()
    } else {
        headers
    })
}

/// The group at the start of `bytes`; what follows it is the next one's.
fn read_group(bytes: &[u8]) -> Result<Vec<(Slot, Stored)>, Malformed> {
    let mut last: Option<&[u8]> = None;
    Reader::new(bytes).list(|reader| {
        let slot_bytes = reader.u32()? as usize;
        let slot = reader.take(slot_bytes)?;
        if last.replace(slot).is_some_and(|last| last >= slot) {
            return Err(Malformed("a key is there twice, or out of order"));
        }
        let value_bytes = reader.u32()? as usize;
        let slot = read_slot(slot)?;
        let stored = read_stored(&slot, reader.take(value_bytes)?)?;
        Ok((slot, stored))
    })
}
