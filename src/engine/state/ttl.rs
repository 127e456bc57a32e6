//! Time to live: the one place that knows when an entry of keyed state has expired, and what a read or a write makes of it.
//!
//! It lies above the backends, which store entries and the time of their last use and know no more (Flink:
//! `AbstractTtlDecorator` and `TtlStateFactory` around any state). So the backends agree, except in who cleans up in
//! the background: the heap looks at a few cells with each access, RocksDB drops expired cells when it compacts.
//!
//! The time is processing time, and is handed in.

use super::cell::{CellId, Entry, StateDescriptor};
use super::{KeyedBackend, StateError};
use crate::model::{Decimal, EntryValue, Key, StateKind, TtlSpec, TtlUpdate, TtlVisibility};

/// How many cells of the heap each access looks at (Flink: `cleanupIncrementally`'s default).
const CLEANUP_CELLS: usize = 5;

/// What has expired by then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    ttl: TtlSpec,
    now_ms: u64,
}

impl Deadline {
    /// What is left out of a full snapshot; none: nothing.
    pub(super) fn of_full_snapshot(state: Option<StateDescriptor>, now_ms: u64) -> Option<Self> {
        let ttl = state?.ttl.filter(|ttl| ttl.full_snapshot_cleanup)?;
        Some(Self { ttl, now_ms })
    }

    /// In processing time.
    pub(super) fn now_ms(self) -> u64 {
        self.now_ms
    }

    /// What is cleaned up in the background; none: nothing.
    pub(super) fn of_background(state: Option<StateDescriptor>, now_ms: u64) -> Option<Self> {
        let ttl = state?.ttl.filter(|ttl| ttl.background_cleanup)?;
        Some(Self { ttl, now_ms })
    }

    /// `entries` without those that have expired at their beginning. Entries lie in the order of their last use, so that
    /// these are all (Flink: `TransformStrategy.STOP_ON_FIRST_INCLUDED`, and RocksDB's filter).
    pub(super) fn cut(deadline: Option<Self>, mut entries: Vec<Entry>) -> Vec<Entry> {
        if let Some(Self { ttl, now_ms }) = deadline {
            let is_alive = |entry: &Entry| !entry.is_expired(ttl, now_ms);
            let first = entries.iter().position(is_alive);
            entries.drain(..first.unwrap_or(entries.len()));
        }
        entries
    }

    /// Those of `entries` that have not expired.
    pub(super) fn keep(deadline: Option<Self>, mut entries: Vec<Entry>) -> Vec<Entry> {
        if let Some(Self { ttl, now_ms }) = deadline {
            entries.retain(|entry| !entry.is_expired(ttl, now_ms));
        }
        entries
    }
}

/// The state of one key at one moment (Flink: the backend's *current key*, with the state's TTL wrapper around it).
pub struct KeyedState<'a> {
    backend: &'a mut KeyedBackend,
    descriptor: StateDescriptor,
    key: &'a Key,
    now_ms: u64,
    /// Keys of which the clean-up has removed entries.
    cleaned: Vec<Key>,
}

impl<'a> KeyedState<'a> {
    /// The state `descriptor` of `key` at `now_ms`, in processing time.
    pub fn new(
        backend: &'a mut KeyedBackend,
        descriptor: StateDescriptor,
        (key, now_ms): (&'a Key, u64),
    ) -> Self {
        Self {
            backend,
            descriptor,
            key,
            now_ms,
            cleaned: Vec::new(),
        }
    }

    /// The key at hand.
    #[must_use]
    pub fn key(&self) -> &Key {
        self.key
    }

    /// The keys, sorted, of which the clean-up has removed entries meanwhile.
    #[must_use]
    pub fn into_cleaned(self) -> Vec<Key> {
        let mut cleaned = self.cleaned;
        cleaned.sort_unstable();
        cleaned.dedup();
        cleaned
    }

    /// What a read gives. What has expired is removed, whether it is given or not, except from a list of which something
    /// lives; what has not may live on longer for it.
    pub(super) fn read(
        &mut self,
        user_key: Option<Decimal>,
    ) -> Result<Vec<EntryValue>, StateError> {
        self.accessed()?;
        let id = self.id(user_key);
        let stored = self.backend.cell(&id)?.unwrap_or_default();
        self.read_stored(&id, &stored)
    }

    /// The same for all cells of a map, by user key.
    pub(super) fn read_map(&mut self) -> Result<Vec<(Decimal, EntryValue)>, StateError> {
        self.accessed()?;
        let mut entries = Vec::new();
        for (id, stored) in self.backend.cells_of(self.descriptor.id, self.key)? {
            for value in self.read_stored(&id, &stored)? {
                entries.extend(id.user_key.map(|user_key| (user_key, value)));
            }
        }
        Ok(entries)
    }

    /// Flink: `AbstractTtlDecorator.getWrappedWithTtlCheckAndUpdate`; and `TtlListState.get`, which writes the list only
    /// to renew what lives in it, or to clear it when nothing does.
    fn read_stored(
        &mut self,
        id: &CellId,
        stored: &[Entry],
    ) -> Result<Vec<EntryValue>, StateError> {
        let values = |entries: &[Entry]| entries.iter().map(|entry| entry.value).collect();
        let Some(ttl) = self.descriptor.ttl else {
            return Ok(values(stored));
        };
        let now_ms = self.now_ms;
        let mut alive = Deadline::keep(Some(Deadline { ttl, now_ms }), stored.to_vec());
        if ttl.update == TtlUpdate::OnReadAndWrite {
            for entry in &mut alive {
                entry.last_access_ms = Some(now_ms);
            }
        }
        let is_list = self.is(StateKind::List);
        let stays = is_list && ttl.update == TtlUpdate::OnCreateAndWrite && !alive.is_empty();
        if !stays && alive != stored {
            self.backend.put_cell(id, &alive)?;
        }
        Ok(match ttl.visibility {
            TtlVisibility::NeverReturnExpired => values(&alive),
            TtlVisibility::ReturnExpiredIfNotCleanedUp => values(stored),
        })
    }

    /// Set the entries; none: clear. All of them live anew.
    pub(super) fn write(
        &mut self,
        user_key: Option<Decimal>,
        values: &[EntryValue],
    ) -> Result<(), StateError> {
        self.accessed()?;
        let entries: Vec<Entry> = values.iter().map(|value| self.entry(*value)).collect();
        let id = self.id(user_key);
        self.backend.put_cell(&id, &entries)
    }

    /// Add an entry to a list. The others live no longer for it.
    pub(super) fn append(&mut self, value: EntryValue) -> Result<(), StateError> {
        self.accessed()?;
        let id = self.id(None);
        let mut entries = self.backend.cell(&id)?.unwrap_or_default();
        entries.push(self.entry(value));
        self.backend.put_cell(&id, &entries)
    }

    /// Put something into an accumulator, which lives anew then. One that has expired begins again from nothing, except
    /// where expired state may be returned and nobody has cleaned it up (Flink: `TtlReduceFunction`,
    /// `TtlAggregateFunction`, by `getUnexpired`).
    pub(super) fn accumulate(
        &mut self,
        add: impl FnOnce(Option<EntryValue>) -> Result<EntryValue, StateError>,
    ) -> Result<(), StateError> {
        self.accessed()?;
        let id = self.id(None);
        let stored = self
            .backend
            .cell(&id)?
            .and_then(|cell| cell.first().copied());
        let usable = stored.filter(|entry| {
            self.descriptor.ttl.is_none_or(|ttl| {
                ttl.visibility == TtlVisibility::ReturnExpiredIfNotCleanedUp
                    || !entry.is_expired(ttl, self.now_ms)
            })
        });
        let new = add(usable.map(|entry| entry.value))?;
        let entry = self.entry(new);
        self.backend.put_cell(&id, &[entry])
    }

    /// Every access to a state on the heap cleans up a little, if it has a time to live (Flink:
    /// `TtlIncrementalCleanup.stateAccessed`). RocksDB learns what time it is.
    fn accessed(&mut self) -> Result<(), StateError> {
        let Some(deadline) = Deadline::of_background(Some(self.descriptor), self.now_ms) else {
            return Ok(());
        };
        if let KeyedBackend::RocksDb(rocks) = &mut self.backend {
            return rocks.clean_up(deadline);
        }
        for (id, stored) in self.backend.next_cells(CLEANUP_CELLS) {
            let alive = Deadline::keep(Some(deadline), stored.clone());
            if alive != stored {
                self.backend.put_cell(&id, &alive)?;
                self.cleaned.push(id.key);
            }
        }
        Ok(())
    }

    fn entry(&self, value: EntryValue) -> Entry {
        Entry {
            value,
            last_access_ms: self.descriptor.ttl.map(|_| self.now_ms),
        }
    }

    fn id(&self, user_key: Option<Decimal>) -> CellId {
        CellId::new(self.descriptor.id, self.key, user_key)
    }

    /// Whether the state is of this kind; the typed states are made for no other.
    pub(super) fn is(&self, kind: StateKind) -> bool {
        self.descriptor.id.kind() == kind
    }
}
