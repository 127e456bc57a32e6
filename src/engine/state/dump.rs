//! What is in a file of state, entry by entry, as people read it.

use std::path::Path;

use super::codec::{Slot, Stored};
use super::group_stream::read_groups;
use super::local::slot_text;
use super::rocks::{for_each_timer, table_entries};
use super::{KeyedBackend, OwnedGroups, StateError};
use crate::model::entries_text;
use crate::model::key_group::UPPER_BOUND_MAX_PARALLELISM;

/// One entry of keyed state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    pub key_group: u32,
    /// The name in the state's descriptor.
    pub state: &'static str,
    /// With the window, or with the map's own key.
    pub key: String,
    pub value: String,
}

impl FileEntry {
    fn new(key_group: u32, slot: &Slot, stored: &Stored) -> Self {
        let state = slot.state();
        let value = match stored {
            Stored::Number(number) => number.to_string(),
            Stored::Cell(entries) => {
                let shown = entries.iter().map(|entry| crate::model::StateEntry {
                    user_key: None,
                    value: entry.value,
                    last_access_ms: entry.last_access_ms,
                });
                let shown: Vec<_> = shown.collect();
                // Of a state with a time to live.
                let used = entries.iter().filter_map(|entry| entry.last_access_ms);
                let used = used
                    .max()
                    .map_or_else(String::new, |ms| format!(" · used at {ms} ms"));
                // One entry of a map is a cell of its own.
                let value = match slot {
                    Slot::Cell(id) if id.user_key.is_some() => {
                        let texts: Vec<String> = shown.iter().map(ToString::to_string).collect();
                        texts.join(", ")
                    }
                    _ => entries_text(state.kind(), &shown),
                };
                value + &used
            }
        };
        Self {
            key_group,
            state: state.name(),
            key: slot_text(slot),
            value,
        }
    }
}

/// Entries of keyed state, in order, as far as they are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    pub first: Vec<FileEntry>,
    /// How many there are in all.
    pub count: usize,
}

impl Entries {
    /// One more, which is told if there are fewer than `limit` so far.
    fn put(&mut self, limit: usize, (group, slot, stored): (u32, &Slot, &Stored)) {
        self.count += 1;
        if self.first.len() < limit {
            self.first.push(FileEntry::new(group, slot, stored));
        }
    }
}

/// The entries of one table file (SST) of RocksDB, called `name` there. `work` is a folder that must not exist; it is gone
/// afterwards. A key that was deleted is not told: see [`super::TableFile::deletions`].
///
/// # Errors
/// It is no such file, or is damaged; or the folder cannot be made.
pub fn table(
    (name, bytes): (&str, &[u8]),
    work: &Path,
    limit: usize,
) -> Result<Entries, StateError> {
    let mut entries = Entries::default();
    table_entries((name, bytes), work, |group, slot, stored| {
        entries.put(limit, (group, &slot, &stored));
        Ok(())
    })?;
    Ok(entries)
}

/// The entries of a stream of key groups, of which `offsets` says where each begins.
///
/// # Errors
/// It is no such stream, or is damaged.
pub fn key_groups(
    stream: &[u8],
    offsets: &[(u32, u64)],
    is_canonical: bool,
    limit: usize,
) -> Result<Entries, StateError> {
    let all = OwnedGroups::new(
        UPPER_BOUND_MAX_PARALLELISM,
        &(0..=UPPER_BOUND_MAX_PARALLELISM - 1),
    )?;
    let mut entries = Entries::default();
    read_groups(
        all,
        (stream, offsets, is_canonical),
        |group, slot, stored| {
            entries.put(limit, (group, &slot, &stored));
            Ok(())
        },
    )?;
    Ok(entries)
}

/// The timers of windows in a stream of key groups: the group of each, and its key and window as people read them.
///
/// # Errors
/// It is no such stream, or is damaged.
pub fn timers(stream: &[u8], offsets: &[(u32, u64)]) -> Result<Vec<(u32, String)>, StateError> {
    let mut timers = Vec::new();
    for_each_timer((stream, offsets), |group, window, key| {
        timers.push((group, slot_text(&Slot::Window(window, key))));
        Ok(())
    })?;
    Ok(timers)
}

/// All that the backend holds now, wherever it lies; by key group. The first `limit` are told, the others counted.
///
/// # Errors
/// RocksDB's.
pub fn backend(backend: &KeyedBackend, limit: usize) -> Result<Entries, StateError> {
    let sums = backend.entries()?.into_iter();
    let sums = sums.map(|(key, sum)| (Slot::Sum(key), Stored::Number(sum)));
    let windows = backend.windows()?.into_iter();
    let windows =
        windows.map(|(window, key, value)| (Slot::Window(window, key), Stored::Number(value)));
    let cells = backend.cell_contents()?.into_iter();
    let cells = cells.map(|(id, entries)| (Slot::Cell(id), Stored::Cell(entries)));
    let mut all = Vec::new();
    for (slot, stored) in sums.chain(windows).chain(cells) {
        all.push((backend.owned().locate(slot.key())?.group, slot, stored));
    }
    all.sort_by_key(|(group, _, _)| *group);
    let mut entries = Entries::default();
    for (group, slot, stored) in &all {
        entries.put(limit, (*group, slot, stored));
    }
    Ok(entries)
}
