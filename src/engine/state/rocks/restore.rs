//! A database from what a checkpoint holds: its own files as they are, or entries out of others'.

use std::path::Path;

use super::RocksDbBackend;
use super::database::{Database, put_prefixed};
use super::incremental::Uploads;
use crate::engine::state::codec::{Slot, Stored};
use crate::engine::state::group_stream::read_groups;
use crate::engine::state::{BackendSetup, OwnedGroups, StateError};
use crate::engine::storage::{CheckpointStorage, KeyedStateHandle};

impl RocksDbBackend {
    /// The key groups that are `owned` out of `handles`, all of which RocksDB can read.
    ///
    /// The files of a subtask with the same key groups are used as they are. Otherwise a new database gets the entries
    /// that it owns, of one handle after the other (Flink: `RocksDBIncrementalRestoreOperation`, with and without
    /// rescaling; `RocksDBFullRestoreOperation` for the canonical format).
    pub(in crate::engine::state) fn restore(
        setup: BackendSetup,
        dir: &Path,
        owned: OwnedGroups,
        handles: &[&KeyedStateHandle],
        storage: &dyn CheckpointStorage,
    ) -> Result<Self, StateError> {
        if let [handle @ KeyedStateHandle::RocksDb { shared, .. }] = handles
            && handle.groups() == owned.groups().collect::<Vec<_>>()
        {
            let mut backend = Self::adopt(setup, dir, owned, handle, storage)?;
            if setup.continues {
                backend.uploads = Uploads::restored(shared);
            }
            return Ok(backend);
        }
        let mut backend = Self::open(setup, dir, owned)?;
        for (handle, number) in handles.iter().zip(0..) {
            match handle {
                KeyedStateHandle::RocksDb { .. } => {
                    let mut beside = dir.as_os_str().to_owned();
                    beside.push(format!(".from-{number}"));
                    backend.copy_from(Path::new(&beside), handle, storage)?;
                }
                KeyedStateHandle::KeyGroups { stream, offsets }
                | KeyedStateHandle::Savepoint { stream, offsets } => {
                    let is_canonical = matches!(handle, KeyedStateHandle::Savepoint { .. });
                    let stream = storage.read_stream(stream)?;
                    let headers = read_groups(
                        owned,
                        (&stream, offsets, is_canonical),
                        |group, slot, stored| backend.put_restored(group, &slot, &stored),
                    )?;
                    for header in headers {
                        backend.declared.note_header(header);
                    }
                }
            }
        }
        Ok(backend)
    }

    /// Open the files, and read every entry once: to know the size, and so that damage shows now rather than in the
    /// middle of the run.
    fn adopt(
        setup: BackendSetup,
        dir: &Path,
        owned: OwnedGroups,
        handle: &KeyedStateHandle,
        storage: &dyn CheckpointStorage,
    ) -> Result<Self, StateError> {
        let db = Database::from_files(dir, setup, handle.files(), storage)?;
        let mut backend = Self::start(setup, db, owned);
        let mut counted = (backend.size_bytes, backend.first_timer);
        let declared = &mut backend.declared;
        backend.db.for_each(|group, slot, stored| {
            owned.locate_restored(group, slot.key())?;
            declared.note(&slot, &stored);
            count(&mut counted, &slot, &stored);
            Ok(())
        })?;
        (backend.size_bytes, backend.first_timer) = counted;
        backend.tables.refresh(&backend.db)?;
        Ok(backend)
    }

    /// Of another subtask's database, the groups that are owned here.
    fn copy_from(
        &mut self,
        dir: &Path,
        handle: &KeyedStateHandle,
        storage: &dyn CheckpointStorage,
    ) -> Result<(), StateError> {
        let is_ours = |group: &u32| self.owned.index_of(*group).is_some();
        let ours: Vec<u32> = handle.groups().into_iter().filter(is_ours).collect();
        if ours.is_empty() {
            return Ok(());
        }
        let other = Database::from_files(dir, self.setup, handle.files(), storage)?;
        for group in ours {
            other.for_each_in(group, |slot, stored| {
                self.put_restored(group, &slot, &stored)
            })?;
        }
        Ok(())
    }

    fn put_restored(&mut self, group: u32, slot: &Slot, stored: &Stored) -> Result<(), StateError> {
        self.owned.locate_restored(group, slot.key())?;
        put_prefixed(&mut self.encoded, group, slot);
        self.db.put_stored(&self.encoded, stored)?;
        self.declared.note(slot, stored);
        let mut counted = (self.size_bytes, self.first_timer);
        count(&mut counted, slot, stored);
        (self.size_bytes, self.first_timer) = counted;
        Ok(())
    }
}

/// What an entry does to the size and to the first timer.
fn count(
    (size_bytes, first_timer): &mut (u64, crate::model::EventTime),
    slot: &Slot,
    stored: &Stored,
) {
    *size_bytes += stored.bytes_in(slot);
    if let Slot::Window(window, _) = slot {
        *first_timer = (*first_timer).min(window.max_timestamp());
    }
}
