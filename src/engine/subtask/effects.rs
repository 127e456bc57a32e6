//! What subtasks and the world around them say to each other.

use crate::engine::event::{AbortReason, ChannelSide};
use crate::engine::in_flight::{self, InFlight};
use crate::engine::operator::{External, Operator, TransactionError};
use crate::engine::state::{Compaction, KeyedSnapshot, StateError};
use crate::engine::storage::{
    ChannelState, CheckpointStorage, ListState, MAX_FRAME_BYTES, StorageError, SubtaskState,
};
use crate::model::{
    ChannelId, CheckpointBarrier, CheckpointId, Decimal, EventTime, Key, Origin, Record,
    SavepointFormat, StateEntry, StreamEvent, TimeWindow,
};

/// What a subtask does to the world around it; interpreted by the driver.
pub trait Effects: External {
    fn send_record(&mut self, channel: ChannelId, record: Record);
    fn send_event(&mut self, channel: ChannelId, event: StreamEvent);
    /// Do not poll this input channel until it is unblocked.
    fn block(&mut self, channel: ChannelId, checkpoint: CheckpointId);
    fn unblock(&mut self, channel: ChannelId);
    /// Run the asynchronous part, then report with [`Subtask::on_snapshot_end`]. `operator` is as captured.
    fn start_snapshot(&mut self, snapshot: SnapshotTask, operator: &Operator);
    /// Whether an injected fault lets the synchronous part of the snapshot fail that is due now.
    fn sync_part_fails(&mut self) -> bool {
        false
    }
    /// The time by which state lives, in milliseconds: it never goes back while a job runs.
    fn processing_time_ms(&self) -> u64;
    /// Send a message to the coordinator.
    fn tell(&mut self, message: TaskMessage);

    /// Put this barrier before everything that has not left the sender's side of the channel; returns the records that
    /// it overtakes, in order. A driver on whose channels nothing overtakes needs neither this nor the next four.
    fn send_ahead(&mut self, channel: ChannelId, barrier: CheckpointBarrier) -> Vec<Record> {
        self.send_event(channel, StreamEvent::Barrier(barrier));
        Vec::new()
    }
    /// The records of `channel` that the barrier which was just taken has overtaken at the receiver's side, in order.
    fn overtaken(&mut self, _channel: ChannelId) -> Vec<Record> {
        Vec::new()
    }
    /// These, too, are part of the snapshot that was started for `checkpoint`.
    fn add_in_flight(&mut self, _checkpoint: CheckpointId, _records: InFlight) {}
    /// Nothing more will be added to it.
    fn end_recording(&mut self, _checkpoint: CheckpointId) {}
    /// Whether the receiver has taken all records of this outgoing channel.
    fn is_consumed(&self, _channel: ChannelId) -> bool {
        true
    }

    /// What follows is for recordings; drivers that do not trace leave these empty.
    fn is_traced(&self) -> bool {
        false
    }
    fn on_source_advanced(&mut self, _origin: Origin) {}
    fn on_state_changed(&mut self, _key: &Key, _value: Decimal, _origin: Origin) {}
    /// All that is stored of `key` now. Only for those that trace: see [`Effects::is_traced`].
    fn on_entries_changed(&mut self, _key: &Key, _entries: Vec<StateEntry>, _origin: Origin) {}
    /// The same, where not a record but the clean-up of expired state has changed it.
    fn on_entries_cleaned(&mut self, _key: &Key, _entries: Vec<StateEntry>) {}
    fn on_rule(&mut self, _rule: &Record) {}
    fn on_filtered(&mut self, _record: &Record) {}
    fn on_window_changed(
        &mut self,
        _key: &Key,
        _window: TimeWindow,
        _value: Decimal,
        _origin: Origin,
    ) {
    }
    fn on_window_fired(&mut self, _key: &Key, _window: TimeWindow, _value: Decimal) {}
    fn on_late_dropped(&mut self, _record: &Record) {}
    fn on_watermark(&mut self, _watermark: EventTime) {}
    fn on_idleness(&mut self, _is_idle: bool) {}
    fn on_compacted(&mut self, _compaction: &Compaction) {}
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
    /// Of a savepoint.
    pub format: Option<SavepointFormat>,
    pub lists: Vec<ListState>,
    pub keyed: Option<KeyedSnapshot>,
    /// Records in flight that are part of it.
    pub in_flight: Vec<InFlight>,
    /// More of them may follow, until [`Effects::end_recording`].
    pub is_recording: bool,
    /// All of the writing is in the synchronous part: the world stands still for it, or the heap's snapshots are not
    /// asynchronous.
    pub is_synchronous: bool,
}

impl SnapshotTask {
    /// What of `size_bytes` of state will be written: an incremental snapshot leaves out what is there already.
    #[must_use]
    pub fn upload_bytes(&self, size_bytes: u64) -> u64 {
        self.keyed
            .as_ref()
            .map_or(size_bytes, |keyed| match self.format {
                None => keyed.upload_bytes() + size_bytes.saturating_sub(keyed.size_bytes()),
                Some(_) => size_bytes + self.sync_bytes(),
            })
    }

    /// What of the upload is made in the synchronous part, however asynchronous the rest is: timers on the heap beside
    /// RocksDB (Flink: `requiresLegacySynchronousTimerSnapshots`). In canonical format they are with their windows.
    #[must_use]
    pub fn sync_bytes(&self) -> u64 {
        let keyed = self.keyed.as_ref();
        let keyed = keyed.filter(|_| self.format != Some(SavepointFormat::Canonical));
        keyed.map_or(0, KeyedSnapshot::timer_bytes)
    }

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
        let write = |keyed: KeyedSnapshot| keyed.write((checkpoint, self.format), owner, storage);
        let write_channel = |in_flight: &InFlight| {
            let side = match in_flight.side {
                ChannelSide::Input => "in",
                ChannelSide::Output => "out",
            };
            let name = format!("{owner}-{side}-{}", in_flight.place);
            let bytes = in_flight::encode(&in_flight.records);
            Ok(ChannelState {
                side: in_flight.side,
                place: in_flight.place,
                stream: storage.write_stream(checkpoint, &name, &bytes)?,
            })
        };
        let state = SubtaskState {
            finished: false,
            lists: self.lists,
            keyed: self.keyed.map(write).transpose()?,
            channels: self
                .in_flight
                .iter()
                .map(write_channel)
                .collect::<Result<_, _>>()?,
        };
        let message_bytes = state.inline_bytes();
        if message_bytes > MAX_FRAME_BYTES {
            return Err(StorageError::FrameSize {
                owner: owner.to_owned(),
                size_bytes: message_bytes,
                limit_bytes: MAX_FRAME_BYTES,
            });
        }
        Ok(state)
    }
}

/// Why a subtask cannot go on: the job must be restored.
#[derive(Debug, thiserror::Error)]
pub enum TaskFailure {
    #[error("a record reached a keyed operator without a key")]
    NoKey,
    #[error("a record without event time reached a window")]
    NoEventTime,
    #[error("the product of a value and the factor has more digits than a number can have here")]
    TooLarge,
    #[error("an injected fault in the synchronous part of its snapshot")]
    SyncPart,
    /// Flink: "Stop-with-savepoint failed."
    #[error("it had stopped for a savepoint that then failed")]
    StopFailed,
    #[error("the state backend failed: {0}")]
    State(#[from] StateError),
    #[error("{0}")]
    Transaction(#[from] TransactionError),
}
