//! What the entries of each table file (SST) of a database take.
//!
//! A file's size is RocksDB's affair and differs from machine to machine: it holds the host's name, for one. What its
//! entries take does not, so that modelled times can follow from it. RocksDB tells that of all live files together
//! only; but files never change, so that what is new since the last look belongs to the files that are new.

use std::collections::BTreeMap;

use super::database::Database;
use crate::engine::state::StateError;

/// What lies with each key of a file and is no part of the state's logical size, in bytes: RocksDB's sequence number and
/// kind of entry; and the key group and the state's id before our own key.
const INTERNAL_BYTES: u64 = 8 + 3;

/// The live table files by name, and the bytes of their entries.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    entry_bytes: BTreeMap<String, u64>,
}

impl Tables {
    pub(super) fn get(&self, name: &str) -> Option<u64> {
        self.entry_bytes.get(name).copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        let entries = self.entry_bytes.iter();
        entries.map(|(name, entry_bytes)| (&**name, *entry_bytes))
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.entry_bytes.len()).unwrap_or(u32::MAX)
    }

    /// Look again, after a flush. Several files that are new at once share their bytes by their numbers of entries.
    pub(super) fn refresh(&mut self, db: &Database) -> Result<(), StateError> {
        let live = db.tables()?;
        let known: u64 = {
            let names = live.iter().map(|table| &*table.name);
            names.filter_map(|name| self.get(name)).sum()
        };
        let mut new_bytes = db.entry_bytes(INTERNAL_BYTES)?.saturating_sub(known);
        let is_new = |name: &str| self.get(name).is_none();
        let mut new_entries: u64 = live
            .iter()
            .filter(|table| is_new(&table.name))
            .map(|table| table.entries)
            .sum();
        let mut fresh = BTreeMap::new();
        for table in live {
            let entry_bytes = match self.get(&table.name) {
                Some(entry_bytes) => entry_bytes,
                None => {
                    let share = share(new_bytes, table.entries, new_entries);
                    new_bytes -= share;
                    new_entries -= table.entries;
                    share
                }
            };
            fresh.insert(table.name, entry_bytes);
        }
        self.entry_bytes = fresh;
        Ok(())
    }
}

/// The part of `bytes` that so many of the entries have; the last gets what is left.
fn share(bytes: u64, entries: u64, of: u64) -> u64 {
    if entries == of {
        return bytes;
    }
    let part = u128::from(bytes) * u128::from(entries) / u128::from(of.max(1));
    u64::try_from(part).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_add_up() {
        let (first, second) = (share(10, 1, 3), share(7, 2, 2));
        assert_eq!((first, second), (3, 7));
        assert_eq!(share(5, 0, 0), 5, "files without entries");
    }
}
