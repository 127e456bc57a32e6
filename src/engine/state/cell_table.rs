//! The cells of one key group in memory, in the order of their states, keys and user keys.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::cell::{CellId, Entry, StateId, cell_bytes};
use crate::model::Key;

/// Each cell and its entries, of which there is at least one.
#[derive(Clone, Debug, Default)]
pub(super) struct CellTable {
    cells: BTreeMap<CellId, Vec<Entry>>,
}

impl CellTable {
    pub(super) fn get(&self, id: &CellId) -> Option<&[Entry]> {
        self.cells.get(id).map(Vec::as_slice)
    }

    /// Set the cell's entries; none: remove it. Returns what it took before and takes now, in bytes.
    pub(super) fn put(&mut self, id: &CellId, entries: &[Entry]) -> (u64, u64) {
        let old = if entries.is_empty() {
            self.cells.remove(id)
        } else {
            self.cells.insert(id.clone(), entries.to_vec())
        };
        let bytes = |entries: &[Entry]| match entries {
            [] => 0,
            some => cell_bytes(id, some),
        };
        (old.map_or(0, |old| bytes(&old)), bytes(entries))
    }

    /// By user key.
    pub(super) fn cells_of(
        &self,
        state: StateId,
        key: &Key,
    ) -> impl Iterator<Item = (&CellId, &[Entry])> {
        let first = CellId {
            state,
            key: key.without_label(),
            user_key: None,
        };
        let key = first.key.clone();
        self.cells
            .range(first..)
            .take_while(move |(id, _)| id.state == state && id.key == key)
            .map(|(id, entries)| (id, entries.as_slice()))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&CellId, &[Entry])> {
        self.cells
            .iter()
            .map(|(id, entries)| (id, entries.as_slice()))
    }

    /// The first cells after `after`, which need not be there any more; none: from the beginning.
    pub(super) fn after(
        &self,
        after: Option<&CellId>,
    ) -> impl Iterator<Item = (&CellId, &[Entry])> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.cells
            .range((from, Bound::Unbounded))
            .map(|(id, entries)| (id, entries.as_slice()))
    }
}
