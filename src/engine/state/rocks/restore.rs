//! A database from what a checkpoint holds: its own files as they are, or entries out of others'.

use std::path::Path;

use super::RocksDbBackend;
use super::database::{Database, put_prefixed};
use super::incremental::Uploads;
use super::timers::{self, Timers};
use crate::engine::state::codec::{Slot, Stored};
use crate::engine::state::group_stream::read_groups;
use crate::engine::state::{BackendSetup, OwnedGroups, StateError};
use crate::engine::storage::bytes::Malformed;
use crate::engine::storage::{CheckpointStorage, GroupOffsets, KeyedStateHandle};
use crate::model::TimerService;

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

    /// Open the files, and read every entry once: to know the size and the timers, and so that damage shows now rather
    /// than in the middle of the run.
    fn adopt(
        setup: BackendSetup,
        dir: &Path,
        owned: OwnedGroups,
        handle: &KeyedStateHandle,
        storage: &dyn CheckpointStorage,
    ) -> Result<Self, StateError> {
        let db = Database::from_files(dir, setup, handle.files(), storage)?;
        let mut backend = Self::start(setup, db, owned);
        let mut windows = 0;
        let (size_bytes, timers) = (&mut backend.size_bytes, &mut backend.timers);
        let declared = &mut backend.declared;
        backend.db.for_each(|group, slot, stored| {
            let index = owned.locate_restored(group, slot.key())?.index;
            windows += u64::from(matches!(slot, Slot::Window(..)));
            *size_bytes += stored.bytes_in(&slot);
            declared.note(&slot, &stored);
            set_timer(timers, index, &slot);
            Ok(())
        })?;
        backend.check_timers(windows, handle, storage)?;
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
        let mut windows = 0;
        for group in ours {
            other.for_each_in(group, |slot, stored| {
                windows += u64::from(matches!(slot, Slot::Window(..)));
                self.put_restored(group, &slot, &stored)
            })?;
        }
        self.check_timers(windows, handle, storage)
    }

    fn put_restored(&mut self, group: u32, slot: &Slot, stored: &Stored) -> Result<(), StateError> {
        let index = self.owned.locate_restored(group, slot.key())?.index;
        put_prefixed(&mut self.encoded, group, slot);
        self.db.put_stored(&self.encoded, stored)?;
        self.size_bytes += stored.bytes_in(slot);
        self.declared.note(slot, stored);
        set_timer(&mut self.timers, index, slot);
        Ok(())
    }

    /// Each of the `windows` that came out of the handle has its timer in the handle's stream of timers, if there is one.
    fn check_timers(
        &mut self,
        windows: u64,
        handle: &KeyedStateHandle,
        storage: &dyn CheckpointStorage,
    ) -> Result<(), StateError> {
        let Some(GroupOffsets { stream, offsets }) = handle.timers() else {
            return if windows > 0 && self.setup.options.timers == TimerService::Heap {
                Err(StateError::TimersInDatabase)
            } else {
                Ok(())
            };
        };
        let timers = timers::read(self.owned, (&storage.read_stream(stream)?, offsets))?;
        let mut pairs = timers.len() as u64 == windows;
        for (window, key) in timers {
            self.encode_window(&key, window)?;
            pairs &= self.db.get(&self.encoded)?.is_some();
        }
        if pairs {
            Ok(())
        } else {
            Err(Malformed("a window has no timer, or a timer no window").into())
        }
    }
}

/// A window's timer comes with it.
fn set_timer(timers: &mut Timers, index: usize, slot: &Slot) {
    if let Slot::Window(window, key) = slot {
        timers.set(index, *window, key);
    }
}
