//! Which key groups a backend holds, and where in its tables each one is.

use std::ops::RangeInclusive;

use super::StateError;
use crate::model::Key;
use crate::model::key_group::{UPPER_BOUND_MAX_PARALLELISM, key_group};

/// The key groups of one subtask (Flink: `KeyGroupRange`).
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnedGroups {
    max_parallelism: u32,
    first: u32,
    count: u32,
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

    pub(super) fn first(self) -> u32 {
        self.first
    }

    /// The key's group and its index among the owned ones.
    pub(super) fn locate(self, key: &Key) -> Result<(u32, usize), StateError> {
        let group = key_group(key, self.max_parallelism);
        match self.index_of(group) {
            Some(index) => Ok((group, index)),
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

    /// That state read back as `key` in `group` is where it belongs, and is ours.
    pub(super) fn check_restored(self, group: u32, key: &Key) -> Result<usize, StateError> {
        let index = self
            .index_of(group)
            .ok_or(StateError::GroupNotOwned { group })?;
        if key_group(key, self.max_parallelism) != group {
            return Err(StateError::Malformed {
                reason: "a key is not in its key group; was the max parallelism changed?",
            });
        }
        Ok(index)
    }
}
