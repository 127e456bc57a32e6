//! Looking into the keyed state of a snapshot without running its job.

use std::path::Path;

use super::{KeyedBackend, StateError, StateId, Window};
use crate::engine::storage::{CheckpointStorage, OperatorState};
use crate::model::key_group::{key_group, key_group_range, owner};
use crate::model::{BackendKind, Decimal, Key, KeyContents, StateEntry, StateKind, TimeWindow};

/// What a snapshot holds of one key in one operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyState {
    pub key_group: u32,
    /// The subtask (from 0) that had written it.
    pub subtask: u32,
    pub sum: Option<Decimal>,
    pub windows: Vec<(TimeWindow, Decimal)>,
    /// Of any other state, expired or not.
    pub entries: Vec<StateEntry>,
    /// Of which kind that state is.
    pub kind: StateKind,
}

/// All keyed state of one operator, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    pub sums: Vec<(Key, Decimal)>,
    pub windows: Vec<Window>,
    /// Of any other state, expired or not.
    pub entries: Vec<KeyContents>,
}

/// All keyed state of `operator`: its sums by key, and its windows. `work` is a folder that must not exist, for
/// RocksDB's files to be looked into; it is gone afterwards.
///
/// # Errors
/// A stream is damaged, or the folder cannot be made.
pub fn contents(
    operator: &OperatorState,
    storage: &dyn CheckpointStorage,
    work: &Path,
) -> Result<Contents, StateError> {
    let groups = (0, operator.max_parallelism.saturating_sub(1));
    let backend = open(operator, groups, storage, work)?;
    Ok(Contents {
        sums: backend.entries()?,
        windows: backend.windows()?,
        entries: backend.contents()?,
    })
}

/// What `operator` holds of `key`, of which only the key group is read. Parameters and errors as for [`contents`].
///
/// # Errors
/// As for [`contents`].
pub fn find_key(
    operator: &OperatorState,
    key: &Key,
    storage: &dyn CheckpointStorage,
    work: &Path,
) -> Result<KeyState, StateError> {
    let max = operator.max_parallelism.max(1);
    let group = key_group(key, max);
    let backend = open(operator, (group, group), storage, work)?;
    let sums = backend.entries()?.into_iter();
    let windows = backend.windows()?.into_iter();
    let contents = backend.contents()?.into_iter();
    let in_cells = |state: &StateId| ![StateId::Sums, StateId::Windows].contains(state);
    let kept = backend.restored_states().into_iter().find(in_cells);
    Ok(KeyState {
        kind: kept.map_or(StateKind::Value, StateId::kind),
        key_group: group,
        subtask: owner(group, operator.parallelism, max),
        sum: sums
            .filter(|(known, _)| known == key)
            .map(|(_, sum)| sum)
            .next(),
        windows: windows
            .filter(|(_, known, _)| known == key)
            .map(|(window, _, value)| (window, value))
            .collect(),
        entries: contents
            .filter(|(known, _)| known == key)
            .flat_map(|(_, entries)| entries)
            .collect(),
    })
}

/// The key groups of an old subtask, for people.
#[must_use]
pub fn key_groups(operator: &OperatorState, subtask: u32) -> std::ops::RangeInclusive<u32> {
    key_group_range(
        subtask,
        operator.parallelism.max(1),
        operator.max_parallelism,
    )
}

fn open(
    operator: &OperatorState,
    (first, last): (u32, u32),
    storage: &dyn CheckpointStorage,
    work: &Path,
) -> Result<KeyedBackend, StateError> {
    let keyed = operator
        .subtasks
        .iter()
        .filter_map(|subtask| subtask.keyed.as_ref());
    let handles: Vec<_> = keyed.collect();
    let kind = handles.iter().find_map(|handle| handle.backend());
    KeyedBackend::restore(
        kind.unwrap_or(BackendKind::Heap),
        work,
        operator.max_parallelism,
        first..=last,
        &handles,
        storage,
    )
}
