//! Cells: what the general kinds of keyed state are stored in, and their bytes.
//!
//! A cell holds the *entries* of one key: one for a value or an accumulator, several for a list. A map has a cell for each
//! of its user keys. An entry of a state with a time to live carries the processing time at which it was last used; whether
//! a state has one can so be told from any of its entries.
//!
//! ```text
//! slot     state u8 · length of the key u32 · key · [user key]
//! cell     entries, one after the other, to the end
//! entry    tag u8 (1: with last access, 2: an average) · [last access, milliseconds u64] · value
//! value    16 bytes of a decimal  |  count u64 · 16 bytes of a decimal
//! ```

use super::codec::{put_key, read_key, read_value};
use crate::engine::storage::bytes::{Malformed, Reader, put_count, put_u64};
use crate::model::{Decimal, EntryValue, Key, StateEntry, StateKind, TtlSpec};

const HAS_ACCESS: u8 = 1;
const IS_AVERAGE: u8 = 2;

/// The states that an operator can keep by key. Each operator keeps one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StateId {
    Sums,
    Windows,
    CountAverage,
    LastN,
    Distinct,
    Max,
    Average,
    /// Sums that live for a time only.
    TtlSums,
}

impl StateId {
    /// By its number in a slot.
    pub const ALL: [Self; 8] = [
        Self::Sums,
        Self::Windows,
        Self::CountAverage,
        Self::LastN,
        Self::Distinct,
        Self::Max,
        Self::Average,
        Self::TtlSums,
    ];

    pub(super) fn number(self) -> u8 {
        self as u8
    }

    pub(super) fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The name in its descriptor.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sums | Self::TtlSums => "sums",
            Self::Windows => "windows",
            Self::CountAverage => "count-average",
            Self::LastN => "last",
            Self::Distinct => "distinct",
            Self::Max => "max",
            Self::Average => "average",
        }
    }

    #[must_use]
    pub fn kind(self) -> StateKind {
        match self {
            Self::CountAverage => StateKind::Value,
            Self::LastN => StateKind::List,
            Self::Distinct => StateKind::Map,
            Self::Sums | Self::Windows | Self::Max | Self::TtlSums => StateKind::Reducing,
            Self::Average => StateKind::Aggregating,
        }
    }
}

/// What an operator says of its state (Flink: `StateDescriptor`). Of its time to live, only whether there is one is in
/// snapshots: the rest may change from run to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateDescriptor {
    pub id: StateId,
    pub ttl: Option<TtlSpec>,
}

impl StateDescriptor {
    /// Without a time to live.
    #[must_use]
    pub fn new(id: StateId) -> Self {
        Self { id, ttl: None }
    }
}

/// Where a cell lies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellId {
    pub state: StateId,
    /// Without label.
    pub key: Key,
    /// Of a map. Equal numbers are the same user key, however many zeros they end in.
    pub user_key: Option<Decimal>,
}

impl CellId {
    #[must_use]
    pub fn new(state: StateId, key: &Key, user_key: Option<Decimal>) -> Self {
        Self {
            state,
            key: key.without_label(),
            user_key: user_key.map(|user_key| user_key.normalize()),
        }
    }
}

/// A value, and when it was last used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub value: EntryValue,
    /// In processing time; none: the state has no time to live.
    pub last_access_ms: Option<u64>,
}

impl Entry {
    /// Whether it has expired at `now_ms`.
    #[must_use]
    pub fn is_expired(&self, ttl: TtlSpec, now_ms: u64) -> bool {
        self.last_access_ms
            .is_some_and(|last| ttl.is_expired(last, now_ms))
    }

    /// As people read it.
    pub(super) fn shown(&self, id: &CellId) -> StateEntry {
        StateEntry {
            user_key: id.user_key,
            value: self.value,
            last_access_ms: self.last_access_ms,
        }
    }
}

/// What the slots of all cells of `key` in `state` begin with.
pub(super) fn put_cells_of(out: &mut Vec<u8>, state: StateId, key: &Key) {
    out.push(state.number());
    let start = out.len();
    put_count(out, 0);
    put_key(out, key);
    let length = u32::try_from(out.len() - start - size_of::<u32>()).unwrap_or(u32::MAX);
    out[start..start + size_of::<u32>()].copy_from_slice(&length.to_be_bytes());
}

pub(super) fn put_cell_slot(out: &mut Vec<u8>, id: &CellId) {
    put_cells_of(out, id.state, &id.key);
    if let Some(user_key) = id.user_key {
        out.extend_from_slice(&user_key.serialize());
    }
}

/// `bytes` is what follows the state's number.
pub(super) fn read_cell_slot(state: StateId, bytes: &[u8]) -> Result<CellId, Malformed> {
    let mut reader = Reader::new(bytes);
    let length = reader.u32()? as usize;
    let key = read_key(reader.take(length)?)?;
    let user_key = match bytes.get(size_of::<u32>() + length..) {
        None | Some([]) => None,
        Some(rest) => Some(read_value(rest)?),
    };
    let is_map = state.kind() == StateKind::Map;
    if user_key.is_some() != is_map || user_key.is_some_and(|key| key != key.normalize()) {
        return Err(Malformed("an entry of a state is of another kind than it"));
    }
    Ok(CellId {
        state,
        key,
        user_key,
    })
}

pub(super) fn put_entries(out: &mut Vec<u8>, entries: &[Entry]) {
    for entry in entries {
        let has_access = u8::from(entry.last_access_ms.is_some()) * HAS_ACCESS;
        match entry.value {
            EntryValue::Number(_) => out.push(has_access),
            EntryValue::Average { .. } => out.push(has_access | IS_AVERAGE),
        }
        if let Some(last) = entry.last_access_ms {
            put_u64(out, last);
        }
        if let EntryValue::Average { count, .. } = entry.value {
            put_u64(out, count);
        }
        out.extend_from_slice(&entry.value.number().serialize());
    }
}

pub(super) fn read_entries(bytes: &[u8]) -> Result<Vec<Entry>, Malformed> {
    let mut reader = Reader::new(bytes);
    let mut entries = Vec::new();
    while !reader.is_at_end() {
        let tag = reader.u8()?;
        if tag > (HAS_ACCESS | IS_AVERAGE) {
            return Err(Malformed("an entry of a state is of no known kind"));
        }
        let last_access_ms = (tag & HAS_ACCESS != 0).then(|| reader.u64()).transpose()?;
        let count = (tag & IS_AVERAGE != 0).then(|| reader.u64()).transpose()?;
        let number = read_value(reader.take(size_of::<Decimal>())?)?;
        entries.push(Entry {
            value: match count {
                None => EntryValue::Number(number),
                Some(count) => EntryValue::Average { count, sum: number },
            },
            last_access_ms,
        });
    }
    if entries.is_empty() {
        return Err(Malformed("an entry of a state is empty"));
    }
    Ok(entries)
}

/// What a cell adds to the logical size of a state, in bytes: the state's id is not counted.
pub(super) fn cell_bytes(id: &CellId, entries: &[Entry]) -> u64 {
    let mut bytes = Vec::new();
    put_cell_slot(&mut bytes, id);
    put_entries(&mut bytes, entries);
    bytes.len() as u64 - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry() -> impl Strategy<Value = Entry> {
        let value = (any::<i64>(), 0_u32..9, any::<Option<u64>>());
        (value, any::<Option<u64>>()).prop_map(|((number, scale, count), last_access_ms)| {
            let number = Decimal::new(number, scale);
            Entry {
                value: match count {
                    None => EntryValue::Number(number),
                    Some(count) => EntryValue::Average { count, sum: number },
                },
                last_access_ms,
            }
        })
    }

    proptest! {
        /// Breaks if a part of a cell is left out, or read in another order than it is written.
        #[test]
        fn cells_come_back_as_they_were(
            text in "\\PC{0,5}", number: i32, user in -50_i64..50, entries in prop::collection::vec(entry(), 1..5),
        ) {
            for state in StateId::ALL.into_iter().filter(|state| state.number() > StateId::Windows.number()) {
                for key in [Key::text(&text), Key::int(number)] {
                    let user_key = (state.kind() == StateKind::Map).then(|| Decimal::new(user, 2));
                    let id = CellId::new(state, &key, user_key);
                    let (mut slot, mut cell) = (Vec::new(), Vec::new());
                    put_cell_slot(&mut slot, &id);
                    put_entries(&mut cell, &entries);
                    prop_assert_eq!(slot[0], state.number());
                    prop_assert_eq!(read_cell_slot(state, &slot[1..]), Ok(id.clone()));
                    prop_assert_eq!(&read_entries(&cell), &Ok(entries.clone()));
                    prop_assert_eq!(cell_bytes(&id, &entries), (slot.len() - 1 + cell.len()) as u64);
                }
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(0_u8..4, 0..60)) {
            let _ = (read_cell_slot(StateId::Distinct, &bytes), read_entries(&bytes));
        }
    }

    /// Breaks if a number and the same with more zeros are two user keys.
    #[test]
    fn equal_numbers_are_one_user_key() {
        let id = |text: &str| CellId::new(StateId::Distinct, &Key::int(1), text.parse().ok());
        assert_eq!(id("1.50"), id("1.5"));
        let (mut long, mut short) = (Vec::new(), Vec::new());
        put_cell_slot(&mut long, &id("1.50"));
        put_cell_slot(&mut short, &id("1.5"));
        assert_eq!(long, short);
    }
}
