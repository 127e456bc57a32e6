//! The files that several checkpoints refer to, and which of them nobody needs any more.
//!
//! Flink's `SharedStateRegistryImpl` since 1.15: nothing is counted. Each file knows the newest checkpoint that has
//! referred to it, and goes when that is older than every retained one. A file is registered with its acknowledgement,
//! whatever becomes of the checkpoint: an abort by itself deletes none.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::storage::SubtaskState;
use crate::model::CheckpointId;

/// Shared files by name, with the newest checkpoint that has referred to each.
#[derive(Clone, Debug, Default)]
pub struct SharedStateRegistry {
    last_used_by: BTreeMap<String, CheckpointId>,
    was_used: bool,
}

impl SharedStateRegistry {
    /// `checkpoint` refers to the shared files of `state`.
    pub fn register(&mut self, checkpoint: CheckpointId, state: &SubtaskState) {
        for (name, _) in state.shared_files() {
            self.was_used = true;
            let last = self
                .last_used_by
                .entry(name.to_owned())
                .or_insert(checkpoint);
            *last = checkpoint.max(*last);
        }
    }

    /// No checkpoint before `lowest` is retained: forgets, and returns, the files that nothing since then refers to.
    pub fn unregister_unused(&mut self, lowest: CheckpointId) -> Vec<String> {
        let is_unused = |_: &String, last: &mut CheckpointId| *last < lowest;
        let unused = self.last_used_by.extract_if(.., is_unused);
        unused.map(|(name, _)| name).collect()
    }

    /// There were shared files; some more may never have been acknowledged.
    #[must_use]
    pub fn was_used(&self) -> bool {
        self.was_used
    }

    #[must_use]
    pub fn names(&self) -> BTreeSet<String> {
        self.last_used_by.keys().cloned().collect()
    }

    /// With the newest checkpoint that has referred to each.
    pub fn iter(&self) -> impl Iterator<Item = (&str, CheckpointId)> {
        let files = self.last_used_by.iter();
        files.map(|(name, last)| (&**name, *last))
    }
}
