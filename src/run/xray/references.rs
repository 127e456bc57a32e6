//! What a checkpoint's `_metadata` refers to.

use crate::engine::storage::{
    CheckpointStorage, KeyedStateHandle, OperatorState, StreamHandle, SubtaskState,
};
use crate::model::{CheckpointId, Uid};

/// A stream that a checkpoint needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Of the subtask that wrote it.
    pub uid: Uid,
    pub subtask: u32,
    pub role: Role,
    /// Where it lies in the checkpoint storage; none: inside the `_metadata`.
    pub path: Option<String>,
    pub size_bytes: u64,
}

impl Reference {
    /// Whether it was written for this checkpoint.
    #[must_use]
    pub fn is_created_by(&self, checkpoint: CheckpointId) -> bool {
        match &self.role {
            Role::Table { created_by, .. } => *created_by == checkpoint,
            Role::KeyGroups | Role::Private(_) | Role::Timers | Role::InFlight => true,
        }
    }
}

/// What a stream is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The heap's key groups, or those of a canonical savepoint.
    KeyGroups,
    /// A table file (SST), by RocksDB's name, and the checkpoint that has uploaded it, as this one knows.
    Table {
        name: String,
        created_by: CheckpointId,
    },
    /// Another file of RocksDB, or any of a checkpoint that is not incremental.
    Private(String),
    /// RocksDB's timers, where they are on the heap.
    Timers,
    /// Records in flight.
    InFlight,
}

/// # Errors
/// A sentence: the metadata is damaged.
pub(super) fn of(
    storage: &dyn CheckpointStorage,
    checkpoint: CheckpointId,
) -> Result<Vec<Reference>, String> {
    let metadata = storage
        .read_metadata(checkpoint)
        .map_err(|error| format!("{error}."))?;
    let mut references = Vec::new();
    for operator in &metadata.operators {
        for (index, subtask) in (0..).zip(&operator.subtasks) {
            put(&mut references, storage, (operator, index, subtask));
        }
    }
    Ok(references)
}

fn put(
    references: &mut Vec<Reference>,
    storage: &dyn CheckpointStorage,
    (operator, index, subtask): (&OperatorState, u32, &SubtaskState),
) {
    let mut refer = |role, stream: &StreamHandle| {
        references.push(Reference {
            uid: operator.uid.clone(),
            subtask: index,
            role,
            path: storage.path_of(stream),
            size_bytes: stream.size_bytes(),
        });
    };
    match &subtask.keyed {
        None => {}
        Some(
            KeyedStateHandle::KeyGroups { stream, .. } | KeyedStateHandle::Savepoint { stream, .. },
        ) => refer(Role::KeyGroups, stream),
        Some(KeyedStateHandle::RocksDb {
            shared,
            private,
            timers,
            ..
        }) => {
            for (name, file) in shared {
                let role = Role::Table {
                    name: name.clone(),
                    created_by: file.created_by,
                };
                refer(role, &file.stream);
            }
            for (name, stream) in private {
                refer(Role::Private(name.clone()), stream);
            }
            if let Some(timers) = timers {
                refer(Role::Timers, &timers.stream);
            }
        }
    }
    for channel in &subtask.channels {
        refer(Role::InFlight, &channel.stream);
    }
}
