//! The heap's cells: reading, writing, and the walk of the clean-up through them.

use super::cell::{CellId, Entry, StateId};
use super::heap::HeapBackend;
use super::{CellContents, StateError};
use crate::model::Key;

/// How far the clean-up has come (Flink: the iterator of `TtlIncrementalCleanup`).
#[derive(Clone, Debug, Default)]
pub(super) struct Cursor {
    /// The index among the owned key groups.
    group: usize,
    /// The last cell of it that was looked at.
    after: Option<CellId>,
}

impl HeapBackend {
    pub(super) fn cell(&self, id: &CellId) -> Result<Option<Vec<Entry>>, StateError> {
        let at = self.owned.locate(&id.key)?;
        let cells = &self.groups[at.index].tables().cells;
        Ok(cells.get(id).map(<[Entry]>::to_vec))
    }

    pub(super) fn put_cell(&mut self, id: &CellId, entries: &[Entry]) -> Result<(), StateError> {
        let at = self.owned.locate(&id.key)?;
        let (old, new) = self.groups[at.index].tables_mut().cells.put(id, entries);
        self.size_bytes = self.size_bytes + new - old;
        Ok(())
    }

    pub(super) fn cells_of(
        &self,
        state: StateId,
        key: &Key,
    ) -> Result<Vec<CellContents>, StateError> {
        let at = self.owned.locate(key)?;
        let cells = self.groups[at.index].tables().cells.cells_of(state, key);
        Ok(cells.map(owned).collect())
    }

    /// In the order of key groups.
    pub(super) fn cells(&self) -> Vec<CellContents> {
        let tables = self.groups.iter().map(|group| &group.tables().cells);
        tables.flat_map(|cells| cells.iter().map(owned)).collect()
    }

    /// The next `count` cells of the walk, fewer where it ends; the next call begins anew then.
    pub(super) fn next_cells(&mut self, count: usize) -> Vec<CellContents> {
        let mut next = Vec::new();
        while let Some(group) = self.groups.get(self.cursor.group) {
            let cells = group.tables().cells.after(self.cursor.after.as_ref());
            next.extend(cells.take(count - next.len()).map(owned));
            if next.len() == count {
                self.cursor.after = next.last().map(|(id, _)| id.clone());
                return next;
            }
            self.cursor = Cursor {
                group: self.cursor.group + 1,
                after: None,
            };
        }
        self.cursor = Cursor::default();
        next
    }
}

fn owned((id, entries): (&CellId, &[Entry])) -> CellContents {
    (id.clone(), entries.to_vec())
}
