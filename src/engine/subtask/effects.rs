//! What subtasks and the world around them say to each other.

use crate::engine::event::AbortReason;
use crate::engine::operator::Operator;
use crate::engine::state::{KeyedSnapshot, StateError};
use crate::engine::storage::{CheckpointStorage, ListState, StorageError, SubtaskState};
use crate::model::{ChannelId, CheckpointId, Decimal, Key, Origin, Record, StreamEvent};

/// What a subtask does to the world around it; interpreted by the driver.
pub trait Effects {
    fn send_record(&mut self, channel: ChannelId, record: Record);
    fn send_event(&mut self, channel: ChannelId, event: StreamEvent);
    /// Do not poll this input channel until it is unblocked.
    fn block(&mut self, channel: ChannelId, checkpoint: CheckpointId);
    fn unblock(&mut self, channel: ChannelId);
    /// Run the asynchronous part, then report with [`Subtask::on_snapshot_end`]. `operator` is as captured.
    fn start_snapshot(&mut self, snapshot: SnapshotTask, operator: &Operator);
    /// Send a message to the coordinator.
    fn tell(&mut self, message: TaskMessage);

    /// What follows is for recordings; drivers that do not trace leave these empty.
    fn on_source_advanced(&mut self, _origin: Origin) {}
    fn on_state_changed(&mut self, _key: &Key, _value: Decimal, _origin: Origin) {}
    fn on_collected(&mut self, _record: Record) {}
}

/// From a subtask to the coordinator.
#[derive(Debug)]
pub enum TaskMessage {
    Acknowledge {
        checkpoint: CheckpointId,
        state: SubtaskState,
        /// Captured after the end of all input: a checkpoint of only such states is final.
        at_end: bool,
    },
    Decline {
        checkpoint: CheckpointId,
        reason: AbortReason,
    },
    /// All input has ended; the subtask waits for a final checkpoint.
    EndOfData,
    Finished,
}

/// The asynchronous part of a snapshot: what was captured, still to be written.
pub struct SnapshotTask {
    pub checkpoint: CheckpointId,
    pub lists: Vec<ListState>,
    pub keyed: Option<KeyedSnapshot>,
}

impl SnapshotTask {
    /// Write the captured state. May run on any thread, at any later time.
    ///
    /// # Errors
    /// The storage refused or failed.
    pub fn write(
        self,
        owner: &str,
        storage: &dyn CheckpointStorage,
    ) -> Result<SubtaskState, StorageError> {
        let checkpoint = self.checkpoint;
        let write = |keyed: KeyedSnapshot| keyed.write(checkpoint, owner, storage);
        Ok(SubtaskState {
            finished: false,
            lists: self.lists,
            keyed: self.keyed.map(write).transpose()?,
            channels: Vec::new(),
        })
    }
}

/// Why a subtask cannot go on: the job must be restored.
#[derive(Debug, thiserror::Error)]
pub enum TaskFailure {
    #[error("a record reached a keyed operator without a key")]
    NoKey,
    #[error("the product of a value and the factor has more digits than a number can have here")]
    TooLarge,
    #[error("the state backend failed: {0}")]
    State(#[from] StateError),
}
