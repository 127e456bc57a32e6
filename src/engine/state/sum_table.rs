//! A map from keys to sums that asks for the key's hash instead of computing one.
//!
//! Whoever has found a key's group has hashed the key already (`OwnedGroups::locate`). For a map of the standard
//! library it would be hashed again, which is a third of what an addition takes.

use hashbrown::HashTable;

use super::owned_groups::group_hash;
use crate::model::{Decimal, Key};

/// Each key and its sum, in no order.
#[derive(Clone, Debug, Default)]
pub(super) struct SumTable {
    entries: HashTable<(Key, Decimal)>,
}

impl SumTable {
    /// The sum of `key`, whose [`group_hash`] is `hash`.
    pub(super) fn get_mut(&mut self, hash: i32, key: &Key) -> Option<&mut Decimal> {
        self.entries
            .find_mut(spread(hash), |(known, _)| is_same(known, key))
            .map(|(_, sum)| sum)
    }

    /// `key`, whose [`group_hash`] is `hash`, must not be there yet.
    pub(super) fn insert_new(&mut self, hash: i32, key: Key, sum: Decimal) {
        self.entries
            .insert_unique(spread(hash), (key, sum), |(key, _)| spread(group_hash(key)));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(Key, Decimal)> {
        self.entries.iter()
    }
}

/// The hash table looks at the lowest and at the highest bits. All keys of a group have the lowest ones in common, so
/// all bits are mixed into both.
fn spread(hash: i32) -> u64 {
    let mixed = u64::from(hash.cast_unsigned()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 32)
}

/// `left == right`, in the few instructions that a record can afford.
fn is_same(left: &Key, right: &Key) -> bool {
    match (left, right) {
        (Key::Int { value: left, .. }, Key::Int { value: right, .. }) => left == right,
        (Key::Text(left), Key::Text(right)) => left == right,
        _ => false,
    }
}
