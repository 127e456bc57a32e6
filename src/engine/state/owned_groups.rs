//! Which key groups a backend holds, and where in its tables each one is.

use std::ops::RangeInclusive;

use super::StateError;
use crate::model::Key;
use crate::model::key_group::{UPPER_BOUND_MAX_PARALLELISM, java_hash, murmur};

/// The key groups of one subtask (Flink: `KeyGroupRange`).
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnedGroups {
    max_parallelism: u32,
    first: u32,
    count: u32,
}

/// The place of a key in a backend.
#[derive(Clone, Copy, Debug)]
pub(super) struct Located {
    pub(super) group: u32,
    /// Of the group among the owned ones.
    pub(super) index: usize,
    /// The key's [`group_hash`].
    pub(super) hash: i32,
}

/// What decides a key's group, and a good hash of it besides; not negative.
pub(super) fn group_hash(key: &Key) -> i32 {
    murmur(java_hash(key))
}

impl OwnedGroups {
    /// `groups` may be empty: a subtask beyond the number of key groups owns none.
    pub(super) fn new(
        max_parallelism: u32,
        groups: &RangeInclusive<u32>,
    ) -> Result<Self, StateError> {
        let (first, last) = (*groups.start(), *groups.end());
        let in_bounds = (1..=UPPER_BOUND_MAX_PARALLELISM).contains(&max_parallelism)
            && (groups.is_empty() || last < max_parallelism);
        if !in_bounds {
            return Err(StateError::BadKeyGroups {
                first,
                last,
                max_parallelism,
            });
        }
        Ok(Self {
            max_parallelism,
            first,
            count: if groups.is_empty() {
                0
            } else {
                last - first + 1
            },
        })
    }

    pub(super) fn count(self) -> usize {
        self.count as usize
    }

    /// How many groups these are.
    pub(super) fn len(self) -> u32 {
        self.count
    }

    pub(super) fn first(self) -> u32 {
        self.first
    }

    pub(super) fn groups(self) -> impl Iterator<Item = u32> {
        self.first..self.first.saturating_add(self.count)
    }

    /// Where `key` belongs.
    pub(super) fn locate(self, key: &Key) -> Result<Located, StateError> {
        let hash = group_hash(key);
        let group = hash.cast_unsigned() % self.max_parallelism;
        match self.index_of(group) {
            Some(index) => Ok(Located { group, index, hash }),
            None => Err(StateError::ForeignKey {
                key: key.clone(),
                group,
            }),
        }
    }

    pub(super) fn index_of(self, group: u32) -> Option<usize> {
        let index = group.checked_sub(self.first)?;
        (index < self.count).then_some(index as usize)
    }

    /// Where `key`, read back from a checkpoint as being in `group`, belongs.
    pub(super) fn locate_restored(self, group: u32, key: &Key) -> Result<Located, StateError> {
        if self.index_of(group).is_none() {
            return Err(StateError::GroupNotOwned { group });
        }
        match self.locate(key) {
            Ok(at) if at.group == group => Ok(at),
            _ => Err(StateError::Malformed {
                reason: "a key is not in its key group, as if the max parallelism had changed",
            }),
        }
    }
}
