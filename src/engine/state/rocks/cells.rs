//! RocksDB's cells, and the compaction that drops what has expired.

use super::RocksDbBackend;
use super::database::{prefix, put_prefixed};
use crate::engine::state::cell::{CellId, Entry, StateId, put_cells_of};
use crate::engine::state::codec::{Slot, Stored};
use crate::engine::state::ttl::Deadline;
use crate::engine::state::{CellContents, Compaction, StateError};
use crate::model::Key;

impl RocksDbBackend {
    pub(in crate::engine::state) fn cell(
        &mut self,
        id: &CellId,
    ) -> Result<Option<Vec<Entry>>, StateError> {
        let slot = self.encode_cell(id)?;
        Ok(match self.db.get_stored(&self.encoded, &slot)? {
            Some(Stored::Cell(entries)) => Some(entries),
            Some(Stored::Number(_)) | None => None,
        })
    }

    /// Set the cell's entries; none: remove it.
    pub(in crate::engine::state) fn put_cell(
        &mut self,
        id: &CellId,
        entries: &[Entry],
    ) -> Result<(), StateError> {
        let slot = self.encode_cell(id)?;
        let old = self.db.get_stored(&self.encoded, &slot)?;
        if entries.is_empty() {
            self.db.delete(&self.encoded)?;
        } else {
            let stored = Stored::Cell(entries.to_vec());
            self.db.put_stored(&self.encoded, &stored)?;
            self.size_bytes += stored.bytes_in(&slot);
        }
        self.size_bytes -= old.map_or(0, |old| old.bytes_in(&slot));
        Ok(())
    }

    /// By user key.
    pub(in crate::engine::state) fn cells_of(
        &self,
        state: StateId,
        key: &Key,
    ) -> Result<Vec<CellContents>, StateError> {
        let at = self.owned.locate(key)?;
        let mut start = prefix(at.group).to_vec();
        put_cells_of(&mut start, state, &key.without_label());
        let mut cells = self.db.cells_from(&start)?;
        cells.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        Ok(cells)
    }

    /// In no order.
    pub(in crate::engine::state) fn cells(&self) -> Result<Vec<CellContents>, StateError> {
        let mut cells = Vec::new();
        self.db.for_each(|_, slot, stored| {
            if let (Slot::Cell(id), Stored::Cell(entries)) = (slot, stored) {
                cells.push((id, entries));
            }
            Ok(())
        })?;
        Ok(cells)
    }

    /// Have RocksDB rewrite its files. Cells of which all entries have expired do not come with them, if the state is
    /// set so (Flink: `RocksDbTtlCompactFiltersManager`).
    pub(in crate::engine::state) fn compact(
        &mut self,
        now_ms: u64,
    ) -> Result<Compaction, StateError> {
        self.db.flush()?;
        self.tables.refresh(&self.db)?;
        let files_before = self.tables.count();
        let deadline = Deadline::of_background(self.declared.wanted(), now_ms);
        let mut cleaned = Vec::new();
        for (id, stored) in self.db.compact(deadline) {
            self.size_bytes -= stored.bytes_in(&Slot::Cell(id.clone()));
            cleaned.push(id.key);
        }
        cleaned.sort_unstable();
        cleaned.dedup();
        self.tables.refresh(&self.db)?;
        Ok(Compaction {
            files_before,
            files_after: self.tables.count(),
            cleaned,
        })
    }

    fn encode_cell(&mut self, id: &CellId) -> Result<Slot, StateError> {
        let at = self.owned.locate(&id.key)?;
        let slot = Slot::Cell(id.clone());
        put_prefixed(&mut self.encoded, at.group, &slot);
        Ok(slot)
    }
}
