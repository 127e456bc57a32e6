//! Which files of a database need not be uploaded again.
//!
//! The base of an incremental snapshot are the files of the last checkpoint that is **confirmed** here: the subtask has
//! been told that it is complete. What was uploaded for one that is not (yet) is uploaded once more (Flink:
//! `RocksIncrementalSnapshotStrategy`, FLINK-25395), since an aborted checkpoint's files may be gone. So a lost
//! notification costs uploads, and nothing else. Savepoints are never a base.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::storage::{KeyedStateHandle, SharedFile};
use crate::model::CheckpointId;

/// Files with entries, by RocksDB's name for each.
pub(super) type SharedFiles = BTreeMap<String, SharedFile>;

/// What the checkpoint storage has of a database.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    /// Checkpoints that are written here and not yet known to be complete or aborted.
    unconfirmed: BTreeMap<CheckpointId, Arc<SharedFiles>>,
    confirmed: Arc<SharedFiles>,
}

impl Uploads {
    /// What the next snapshot may refer to.
    pub(super) fn base(&self) -> Arc<SharedFiles> {
        Arc::clone(&self.confirmed)
    }

    /// All that is uploaded and not known to be gone, the confirmed ones first.
    pub(super) fn all(&self) -> Vec<(String, SharedFile)> {
        let maps = std::iter::once(&self.confirmed).chain(self.unconfirmed.values());
        let mut all = SharedFiles::new();
        for (name, file) in maps.flat_map(|files| files.iter()) {
            all.entry(name.clone()).or_insert_with(|| file.clone());
        }
        all.into_iter().collect()
    }

    /// The database was opened from these files of a checkpoint of this run.
    pub(super) fn restored(files: &[(String, SharedFile)]) -> Self {
        Self {
            unconfirmed: BTreeMap::new(),
            confirmed: Arc::new(files.iter().cloned().collect()),
        }
    }

    pub(super) fn on_written(&mut self, checkpoint: CheckpointId, handle: &KeyedStateHandle) {
        if let KeyedStateHandle::RocksDb { shared, .. } = handle
            && !shared.is_empty()
        {
            let files = shared.iter().cloned().collect();
            self.unconfirmed.insert(checkpoint, Arc::new(files));
        }
    }

    pub(super) fn on_complete(&mut self, checkpoint: CheckpointId) {
        let newer = self.unconfirmed.split_off(&CheckpointId(checkpoint.0 + 1));
        let mut decided = std::mem::replace(&mut self.unconfirmed, newer);
        // One that is not known here was written by nobody, or was a savepoint.
        if let Some(files) = decided.remove(&checkpoint) {
            self.confirmed = files;
        }
    }

    pub(super) fn on_aborted(&mut self, checkpoint: CheckpointId) {
        self.unconfirmed.remove(&checkpoint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::storage::StreamHandle;

    fn handle(files: &[&str], created_by: CheckpointId) -> KeyedStateHandle {
        let file = |name: &&str| {
            let stream = StreamHandle::Inline([0].into());
            let file = SharedFile {
                created_by,
                entry_bytes: 1,
                stream,
            };
            ((*name).to_owned(), file)
        };
        KeyedStateHandle::RocksDb {
            first_group: 0,
            group_count: 1,
            shared: files.iter().map(file).collect(),
            private: Vec::new(),
            timers: None,
        }
    }

    fn names(uploads: &Uploads) -> Vec<String> {
        uploads.base().keys().cloned().collect()
    }

    /// Breaks if what is only uploaded, or was aborted, or is a savepoint's, becomes a base.
    #[test]
    fn the_base_is_what_was_confirmed_last() {
        let mut uploads = Uploads::default();
        let [one, two, three, four] = [1, 2, 3, 4].map(CheckpointId);
        uploads.on_written(one, &handle(&["1.sst"], one));
        assert!(names(&uploads).is_empty(), "written, not confirmed");
        uploads.on_complete(one);
        assert_eq!(names(&uploads), ["1.sst"]);
        uploads.on_written(two, &handle(&["2.sst"], two));
        uploads.on_written(three, &handle(&["3.sst"], three));
        uploads.on_aborted(three);
        uploads.on_complete(three);
        assert_eq!(names(&uploads), ["1.sst"], "aborted before");
        uploads.on_complete(four);
        assert_eq!(names(&uploads), ["1.sst"], "nothing was written for it");
        uploads.on_complete(two);
        assert_eq!(names(&uploads), ["1.sst"], "old news");
    }
}
