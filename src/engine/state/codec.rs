//! Keys, windows and values as bytes.
//!
//! Every entry of keyed state has a *slot*: which state it belongs to, and under what it is found there.
//!
//! ```text
//! slot     0 · key                      the sum of a key
//!          1 · end · start · key        the window of a key: the windows of a key group lie in the order of their timers
//!          2 and above                  a cell of another state: see [`super::cell`]
//! key      0 · UTF-8  |  1 · integer
//! ```
//!
//! A state added later takes the next id. Integers are big-endian with their sign bit flipped, such that encoded slots sort
//! as their parts do. Labels are not state and are not written. The value of a sum or window is the 16 bytes of
//! `Decimal::serialize`, scale included.

use super::cell::{
    CellId, Entry, StateId, cell_bytes, put_cell_slot, put_entries, read_cell_slot, read_entries,
};
use crate::engine::storage::bytes::Malformed;
use crate::model::{Decimal, Key, TimeWindow};

const VALUE_BYTES: usize = 16;
const WINDOW_BYTES: usize = 16;
const TEXT: u8 = 0;
const INT: u8 = 1;
const SIGN: u32 = 1 << 31;
const LONG_SIGN: u64 = 1 << 63;

const SUMS: u8 = 0;
pub(super) const WINDOWS: u8 = 1;

/// Under what an entry is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Sum(Key),
    Window(TimeWindow, Key),
    Cell(CellId),
}

impl Slot {
    pub(super) fn key(&self) -> &Key {
        match self {
            Self::Sum(key) | Self::Window(_, key) => key,
            Self::Cell(id) => &id.key,
        }
    }

    pub(super) fn state(&self) -> StateId {
        match self {
            Self::Sum(_) => StateId::Sums,
            Self::Window(..) => StateId::Windows,
            Self::Cell(id) => id.state,
        }
    }
}

/// What is kept in a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    /// Of a sum or window.
    Number(Decimal),
    Cell(Vec<Entry>),
}

impl Stored {
    /// What it adds to the logical size of a state in `slot`, in bytes.
    pub(super) fn bytes_in(&self, slot: &Slot) -> u64 {
        match (slot, self) {
            (Slot::Cell(id), Self::Cell(entries)) => cell_bytes(id, entries),
            (Slot::Window(_, key), _) => window_bytes(key),
            (slot, _) => sum_bytes(slot.key()),
        }
    }

    /// Whether its entries carry the time of their last use.
    pub(super) fn has_ttl(&self) -> bool {
        match self {
            Self::Number(_) => false,
            Self::Cell(entries) => entries.iter().any(|entry| entry.last_access_ms.is_some()),
        }
    }
}

pub(super) fn put_stored(out: &mut Vec<u8>, stored: &Stored) {
    match stored {
        Stored::Number(number) => out.extend_from_slice(&number.serialize()),
        Stored::Cell(entries) => put_entries(out, entries),
    }
}

/// What lies in `slot`.
pub(super) fn read_stored(slot: &Slot, bytes: &[u8]) -> Result<Stored, Malformed> {
    match slot {
        Slot::Sum(_) | Slot::Window(..) => read_value(bytes).map(Stored::Number),
        Slot::Cell(_) => read_entries(bytes).map(Stored::Cell),
    }
}

pub(super) fn put_slot(out: &mut Vec<u8>, slot: &Slot) {
    match slot {
        Slot::Sum(key) => put_sum_slot(out, key),
        Slot::Window(window, key) => put_window_slot(out, *window, key),
        Slot::Cell(id) => put_cell_slot(out, id),
    }
}

pub(super) fn put_sum_slot(out: &mut Vec<u8>, key: &Key) {
    out.push(SUMS);
    put_key(out, key);
}

pub(super) fn put_window_slot(out: &mut Vec<u8>, window: TimeWindow, key: &Key) {
    out.push(WINDOWS);
    put_i64(out, window.end_ms);
    put_i64(out, window.start_ms);
    put_key(out, key);
}

pub(super) fn read_slot(bytes: &[u8]) -> Result<Slot, Malformed> {
    match bytes {
        [SUMS, key @ ..] => read_key(key).map(Slot::Sum),
        [WINDOWS, rest @ ..] => {
            let (end_ms, rest) = split_i64(rest)?;
            let (start_ms, key) = split_i64(rest)?;
            if start_ms >= end_ms {
                return Err(Malformed("a window ends before it begins"));
            }
            let window = TimeWindow { start_ms, end_ms };
            Ok(Slot::Window(window, read_key(key)?))
        }
        [number, rest @ ..] => {
            let state =
                StateId::of_number(*number).ok_or(Malformed("a state is of no known kind"))?;
            read_cell_slot(state, rest).map(Slot::Cell)
        }
        [] => Err(Malformed("a state is of no known kind")),
    }
}

fn put_i64(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(&(value.cast_unsigned() ^ LONG_SIGN).to_be_bytes());
}

fn split_i64(bytes: &[u8]) -> Result<(i64, &[u8]), Malformed> {
    let (bytes, rest) = bytes
        .split_first_chunk()
        .ok_or(Malformed("a window ends too early"))?;
    let value = (u64::from_be_bytes(*bytes) ^ LONG_SIGN).cast_signed();
    Ok((value, rest))
}

pub(super) fn put_key(out: &mut Vec<u8>, key: &Key) {
    match key {
        Key::Text(text) => {
            out.push(TEXT);
            out.extend_from_slice(text.as_bytes());
        }
        Key::Int { value, .. } => {
            out.push(INT);
            out.extend_from_slice(&(value.cast_unsigned() ^ SIGN).to_be_bytes());
        }
    }
}

pub(super) fn read_key(bytes: &[u8]) -> Result<Key, Malformed> {
    match bytes {
        [TEXT, text @ ..] => str::from_utf8(text)
            .map(Key::text)
            .map_err(|_| Malformed("a key is not UTF-8")),
        [INT, a, b, c, d] => Ok(Key::int(
            (u32::from_be_bytes([*a, *b, *c, *d]) ^ SIGN).cast_signed(),
        )),
        _ => Err(Malformed("a key is of no known kind")),
    }
}

/// What the sum of `key` adds to the logical size of a state, in bytes: the state's id is not counted.
pub(super) fn sum_bytes(key: &Key) -> u64 {
    let value = match key {
        Key::Text(text) => text.len(),
        Key::Int { .. } => size_of::<i32>(),
    };
    (1 + value + VALUE_BYTES) as u64
}

/// The same of a window of `key`.
pub(super) fn window_bytes(key: &Key) -> u64 {
    sum_bytes(key) + WINDOW_BYTES as u64
}

pub(super) fn read_value(bytes: &[u8]) -> Result<Decimal, Malformed> {
    let bytes: [u8; VALUE_BYTES] = bytes
        .try_into()
        .map_err(|_| Malformed("a value has not 16 bytes"))?;
    let value = Decimal::deserialize(bytes);
    // `deserialize` takes anything and mends it. A value that needed mending was not written by us.
    if value.serialize() == bytes {
        Ok(value)
    } else {
        Err(Malformed("a value is no decimal"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(slot: &Slot) -> Vec<u8> {
        let mut out = Vec::new();
        put_slot(&mut out, slot);
        out
    }

    /// How encoded slots should sort.
    fn rank(slot: &Slot) -> (u8, i64, i64, &Key) {
        match slot {
            Slot::Sum(key) => (SUMS, 0, 0, key),
            Slot::Window(window, key) => (WINDOWS, window.end_ms, window.start_ms, key),
            Slot::Cell(id) => (id.state.number(), 0, 0, &id.key),
        }
    }

    proptest::proptest! {
        /// Catches a sign bit that is not flipped, and a timer order that goes by the window's start.
        #[test]
        fn encoded_slots_sort_as_their_parts_do(
            a in "\\PC{0,3}", b in "\\PC{0,3}", i: i32, j: i32, start in -5_i64..5, length in 1_i64..5, far: i64,
        ) {
            let keys = [Key::text(&a), Key::text(&b), Key::int(i), Key::int(j)];
            let windows = [(start, start + length), (start, start + 1), (far.min(i64::MAX - 1), i64::MAX)];
            let mut slots: Vec<Slot> = keys.iter().cloned().map(Slot::Sum).collect();
            for (start_ms, end_ms) in windows {
                slots.extend(keys.iter().map(|key| Slot::Window(TimeWindow { start_ms, end_ms }, key.clone())));
            }
            for left in &slots {
                proptest::prop_assert_eq!(&read_slot(&encoded(left)).unwrap(), left);
                let size_bytes = Stored::Number(Decimal::ONE).bytes_in(left);
                proptest::prop_assert_eq!(size_bytes, (encoded(left).len() - 1 + VALUE_BYTES) as u64);
                for right in &slots {
                    proptest::prop_assert_eq!(rank(left).cmp(&rank(right)), encoded(left).cmp(&encoded(right)));
                }
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(0_u8..4, 0..30)) {
            let _ = (read_slot(&bytes), read_value(&bytes));
        }
    }
}
