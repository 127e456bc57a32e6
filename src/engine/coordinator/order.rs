//! What the coordinator tells its driver to do.

use std::collections::BTreeSet;

use crate::engine::event::{CheckpointKind, EventKind};
use crate::engine::storage::CheckpointMetadata;
use crate::model::{CheckpointBarrier, CheckpointId, SubtaskId};

/// What the driver must do for the coordinator, in order.
#[derive(Debug)]
pub enum Order {
    /// Make room for this checkpoint (a savepoint's is in the savepoint folder), then report with
    /// [`on_location`](super::CheckpointCoordinator::on_location).
    Begin {
        checkpoint: CheckpointId,
        kind: CheckpointKind,
    },
    Trigger {
        subtask: SubtaskId,
        barrier: CheckpointBarrier,
    },
    /// Write this, then report with [`on_metadata`](super::CheckpointCoordinator::on_metadata).
    WriteMetadata(CheckpointMetadata),
    NotifyComplete {
        subtask: SubtaskId,
        checkpoint: CheckpointId,
    },
    NotifyAborted {
        subtask: SubtaskId,
        checkpoint: CheckpointId,
        latest: Option<CheckpointId>,
    },
    /// Delete all that was written for this checkpoint, now and whatever a late writer still adds.
    Discard(CheckpointId),
    /// Delete the shared files of checkpoints before `before` that are not among `keep`.
    RetainShared {
        keep: BTreeSet<String>,
        before: CheckpointId,
    },
    /// Delete the claimed snapshot that the run was started from: it is subsumed.
    DiscardStart,
    /// A savepoint has come about (`checkpoint`), or has not.
    SavepointDecided {
        kind: CheckpointKind,
        checkpoint: Option<CheckpointId>,
        is_complete: bool,
    },
    /// Fail the job. `subtask`: the failure is this subtask's, so that its region is enough.
    FailJob {
        cause: String,
        subtask: Option<SubtaskId>,
    },
    /// For the recording.
    Record(EventKind),
}

/// Something that the coordinator wants to be woken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The next periodic checkpoint.
    Tick,
    /// A pending checkpoint's timeout.
    Expire(CheckpointId),
}
