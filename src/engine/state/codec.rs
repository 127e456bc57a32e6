//! Keys and sums as bytes.
//!
//! A key is a tag and its value, such that encoded keys sort as keys do: `0` and the UTF-8 of a text; `1` and the
//! big-endian integer with its sign bit flipped. Labels are not state and are not written. A sum is the 16 bytes of
//! `Decimal::serialize`, scale included.

use crate::engine::storage::bytes::Malformed;
use crate::model::{Decimal, Key};

pub(super) const VALUE_BYTES: usize = 16;
const TEXT: u8 = 0;
const INT: u8 = 1;
const SIGN: u32 = 1 << 31;

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

/// What one entry adds to the logical size of a state, in bytes.
pub(super) fn entry_bytes(key: &Key) -> u64 {
    let value = match key {
        Key::Text(text) => text.len(),
        Key::Int { .. } => size_of::<i32>(),
    };
    (1 + value + VALUE_BYTES) as u64
}

pub(super) fn read_value(bytes: &[u8]) -> Result<Decimal, Malformed> {
    let bytes: [u8; VALUE_BYTES] = bytes
        .try_into()
        .map_err(|_| Malformed("a sum has not 16 bytes"))?;
    let value = Decimal::deserialize(bytes);
    // `deserialize` takes anything and mends it. A sum that needed mending was not written by us.
    if value.serialize() == bytes {
        Ok(value)
    } else {
        Err(Malformed("a sum is no decimal"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(key: &Key) -> Vec<u8> {
        let mut out = Vec::new();
        put_key(&mut out, key);
        out
    }

    proptest::proptest! {
        #[test]
        fn encoded_keys_sort_as_keys_do(a in "\\PC{0,3}", b in "\\PC{0,3}", i: i32, j: i32) {
            let keys = [Key::text(&a), Key::text(&b), Key::int(i), Key::int(j)];
            for left in &keys {
                proptest::prop_assert_eq!(&read_key(&encoded(left)).unwrap(), left);
                proptest::prop_assert_eq!(entry_bytes(left), (encoded(left).len() + VALUE_BYTES) as u64);
                for right in &keys {
                    proptest::prop_assert_eq!(left.cmp(right), encoded(left).cmp(&encoded(right)));
                }
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..20)) {
            let _ = (read_key(&bytes), read_value(&bytes));
        }
    }
}
