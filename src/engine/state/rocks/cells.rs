//! RocksDB's cells, and how those that have expired go.

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

    /// Have RocksDB rewrite its files. What has expired does not come with them, if the state is set so: whole cells, and
    /// the expired beginning of lists (Flink: `FlinkCompactionFilter`).
    ///
    /// It is deleted before, rather than by a filter on the way, so that it is known what is gone, also if RocksDB could
    /// not rewrite anything.
    pub(in crate::engine::state) fn compact(
        &mut self,
        now_ms: u64,
    ) -> Result<Compaction, StateError> {
        self.db.flush()?;
        self.tables.refresh(&self.db)?;
        let files_before = self.tables.count();
        let deadline = Deadline::of_background(self.declared.wanted(), now_ms);
        let cleaned = match deadline {
            Some(deadline) => self.delete_expired(deadline)?,
            None => Vec::new(),
        };
        self.db.compact();
        self.tables.refresh(&self.db)?;
        Ok(Compaction {
            files_before,
            files_after: self.tables.count(),
            cleaned,
        })
    }

    /// The keys that had something expired, sorted.
    fn delete_expired(&mut self, deadline: Deadline) -> Result<Vec<Key>, StateError> {
        let (mut expired, mut size_bytes) = (Vec::new(), 0);
        self.db.for_each(|_, slot, stored| {
            size_bytes += stored.bytes_in(&slot);
            if let (Slot::Cell(id), Stored::Cell(entries)) = (slot, stored) {
                let count = entries.len();
                let left = Deadline::cut(Some(deadline), entries);
                if left.len() < count {
                    expired.push((id, left));
                }
            }
            Ok(())
        })?;
        // RocksDB may have left out some by itself: see `clean_up`.
        self.size_bytes = size_bytes;
        for (id, left) in &expired {
            self.put_cell(id, left)?;
        }
        self.db.flush()?;
        let mut cleaned: Vec<Key> = expired.into_iter().map(|(id, _)| id.key).collect();
        cleaned.sort_unstable();
        cleaned.dedup();
        Ok(cleaned)
    }

    /// Where RocksDB compacts by itself, it leaves out what has expired by now. The logical size is an upper bound from
    /// then on: what has gone so is in it until it is counted again.
    pub(in crate::engine::state) fn clean_up(
        &mut self,
        deadline: Deadline,
    ) -> Result<(), StateError> {
        if self.setup.is_stepped {
            return Ok(());
        }
        for id in self.db.arm(deadline) {
            let stored = self.cell(&id)?.unwrap_or_default();
            let count = stored.len();
            let left = Deadline::cut(Some(deadline), stored);
            if left.len() < count {
                self.put_cell(&id, &left)?;
            }
        }
        Ok(())
    }

    fn encode_cell(&mut self, id: &CellId) -> Result<Slot, StateError> {
        let at = self.owned.locate(&id.key)?;
        let slot = Slot::Cell(id.clone());
        put_prefixed(&mut self.encoded, at.group, &slot);
        Ok(slot)
    }
}
