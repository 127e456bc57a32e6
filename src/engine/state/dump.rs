//! What is in a file of state, entry by entry, as people read it.

use std::path::Path;

use super::codec::{Slot, Stored};
use super::group_stream::read_groups;
use super::local::slot_text;
use super::rocks::{for_each_timer, table_entries};
use super::{KeyedBackend, OwnedGroups, StateError};
use crate::model::key_group::UPPER_BOUND_MAX_PARALLELISM;
use crate::model::{Key, entries_text};

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
                // One entry of a map is a cell of its own.
                match slot {
                    Slot::Cell(id) if id.user_key.is_some() => {
                        let texts: Vec<String> = shown.iter().map(ToString::to_string).collect();
                        texts.join(", ")
                    }
                    _ => entries_text(state.kind(), &shown),
                }
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

/// The entries of one table file (SST) of RocksDB, called `name` there. `work` is a folder that must not exist; it is gone
/// afterwards. A key that was deleted is not told: see [`super::TableFile::deletions`].
///
/// # Errors
/// It is no such file, or is damaged; or the folder cannot be made.
pub fn table((name, bytes): (&str, &[u8]), work: &Path) -> Result<Vec<FileEntry>, StateError> {
    let mut entries = Vec::new();
    table_entries((name, bytes), work, |group, slot, stored| {
        entries.push(FileEntry::new(group, &slot, &stored));
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
) -> Result<Vec<FileEntry>, StateError> {
    let all = OwnedGroups::new(
        UPPER_BOUND_MAX_PARALLELISM,
        &(0..=UPPER_BOUND_MAX_PARALLELISM - 1),
    )?;
    let mut entries = Vec::new();
    read_groups(
        all,
        (stream, offsets, is_canonical),
        |group, slot, stored| {
            entries.push(FileEntry::new(group, &slot, &stored));
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

/// All that the backend holds now, wherever it lies; by key group.
///
/// # Errors
/// RocksDB's.
pub fn backend(backend: &KeyedBackend) -> Result<Vec<FileEntry>, StateError> {
    let mut entries = Vec::new();
    let mut put = |key: &Key, state, text: String, value: String| {
        entries.push(FileEntry {
            key_group: backend.owned().locate(key)?.group,
            state,
            key: text,
            value,
        });
        Ok::<_, StateError>(())
    };
    for (key, sum) in backend.entries()? {
        let slot = Slot::Sum(key);
        put(
            slot.key(),
            slot.state().name(),
            slot_text(&slot),
            sum.to_string(),
        )?;
    }
    for (window, key, value) in backend.windows()? {
        let slot = Slot::Window(window, key);
        put(
            slot.key(),
            slot.state().name(),
            slot_text(&slot),
            value.to_string(),
        )?;
    }
    for (id, stored) in backend.cell_contents()? {
        let slot = Slot::Cell(id);
        let entry = FileEntry::new(0, &slot, &Stored::Cell(stored));
        put(slot.key(), entry.state, entry.key, entry.value)?;
    }
    entries.sort_by_key(|entry| entry.key_group);
    Ok(entries)
}
