//! What runs between live subtasks: buffers of records over bounded channels, and the effects that fill them.
//!
//! An event (a barrier, an end) always closes its buffer. So whatever stands behind a barrier is in a later buffer,
//! still in its channel while the input is blocked: there is no second place where records wait.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crossbeam_channel::Sender;

use super::faults::LiveFaults;
use super::outside::Outsides;
use crate::engine::event::EventKind;
use crate::engine::operator::{Operator, TransactionError};
use crate::engine::subtask::{Effects, SnapshotTask, TaskMessage};
use crate::model::{
    ChannelId, CheckpointBarrier, CheckpointId, FaultKind, Record, StreamEvent, SubtaskId,
    TransactionId,
};

/// Records on their way, and at most one event after them.
#[derive(Debug, Default)]
pub struct Buffer {
    pub records: Vec<Record>,
    pub event: Option<StreamEvent>,
}

/// From the coordinator to a subtask.
pub enum Control {
    Trigger(CheckpointBarrier),
    Complete(CheckpointId),
    Aborted {
        checkpoint: CheckpointId,
        latest: Option<CheckpointId>,
    },
    /// The asynchronous part ended.
    SnapshotEnd(
        CheckpointId,
        Result<crate::engine::storage::SubtaskState, crate::engine::storage::StorageError>,
    ),
    /// Merge the files of its state.
    Compact,
    /// End this thread at once and in good order; what it has not handed on is lost.
    Die,
    /// The same, as if the process were gone: nothing is closed.
    Lose,
    /// End this thread and bring the state home.
    Release,
}

/// From a subtask to the coordinator.
pub enum Report {
    Message(TaskMessage),
    Failed(String),
    /// Something of a transaction happened.
    Event(EventKind),
    /// What was written for this checkpoint is not wanted any more.
    Orphaned(CheckpointId),
}

/// What one subtask shares with the coordinating thread: counters for scripts, and what a sink has let out.
#[derive(Default)]
pub struct Meter {
    pub emitted: AtomicU64,
    pub processed: AtomicU64,
    /// Records that a window dropped.
    pub late: AtomicU64,
    collected: Mutex<Collected>,
}

impl Meter {
    pub fn add(counter: &AtomicU64, count: usize) {
        counter.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// What a sink has let out, over all attempts.
    pub fn take_collected(&self) -> Collected {
        std::mem::take(&mut self.lock())
    }

    /// Readers see `count` more records, of which these are the first.
    pub fn collect(&self, count: u64, records: impl IntoIterator<Item = Record>) {
        let mut collected = self.lock();
        collected.count += count;
        let room = MAX_KEPT_RECORDS.saturating_sub(collected.records.len());
        collected.records.extend(records.into_iter().take(room));
    }

    fn lock(&self) -> MutexGuard<'_, Collected> {
        self.collected
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// What readers see of one sink subtask: how many records, and the first of them.
#[derive(Debug, Default)]
pub struct Collected {
    pub count: u64,
    /// At most [`MAX_KEPT_RECORDS`].
    pub records: Vec<Record>,
}

/// A sink counts all that it lets out and keeps so many; a fast job would fill the memory otherwise.
pub const MAX_KEPT_RECORDS: usize = 1_000_000;

/// One outgoing channel with the buffer that is being filled.
pub struct Outlet {
    pub sender: Sender<Buffer>,
    pub buffer: Vec<Record>,
}

/// Processing time: the computer's, unless the state that a run begins with was used later than that.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    ahead_ms: u64,
}

impl Clock {
    /// Not before `begin_ms`.
    pub fn begin(begin_ms: u64) -> Self {
        let here_ms = Self { ahead_ms: 0 }.now_ms();
        Self {
            ahead_ms: begin_ms.saturating_sub(here_ms),
        }
    }

    /// In milliseconds.
    pub fn now_ms(self) -> u64 {
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now_ms = since_epoch.unwrap_or_default().as_millis();
        let now_ms = u64::try_from(now_ms).unwrap_or(u64::MAX);
        now_ms.saturating_add(self.ahead_ms)
    }
}

/// The live driver's side of a subtask's effects. Nothing here traces a record.
pub struct Wire<'a> {
    pub id: SubtaskId,
    pub outlets: Vec<Outlet>,
    /// By channel id less the first one: the place in `outlets`.
    pub outlet_of: Vec<usize>,
    pub first_channel: u32,
    pub buffer_records: usize,
    pub reports: Sender<(SubtaskId, Report)>,
    pub meter: &'a Meter,
    pub faults: Arc<LiveFaults>,
    /// What a sink has taken and not yet handed to the outside system.
    pub collected: Vec<Record>,
    /// Those belong to this transaction; none: they are let out.
    pub transaction: Option<TransactionId>,
    /// What became of writing into it.
    pub write_failure: Option<TransactionError>,
    /// They set their keys' values.
    pub is_upsert: bool,
    pub outsides: &'a Outsides,
    /// Input channels that are not polled.
    pub blocked: Vec<ChannelId>,
    /// Snapshots whose asynchronous part is to be started.
    pub started: Vec<SnapshotTask>,
    pub clock: Clock,
    /// Processing time, read once for each buffer: state lives by it.
    pub now_ms: u64,
    /// A neighbour is gone: this attempt is over.
    pub is_cut: bool,
}

impl Wire<'_> {
    fn flush_outlet(&mut self, place: usize, event: Option<StreamEvent>) {
        let outlet = &mut self.outlets[place];
        if outlet.buffer.is_empty() && event.is_none() {
            return;
        }
        let fresh = Vec::with_capacity(self.buffer_records);
        let records = std::mem::replace(&mut outlet.buffer, fresh);
        self.is_cut |= outlet.sender.send(Buffer { records, event }).is_err();
    }

    /// What follows happens now. The clock may be set back; the time that state lives by does not go with it.
    pub fn read_clock(&mut self) {
        self.now_ms = self.now_ms.max(self.clock.now_ms());
    }

    /// Hand on all that is buffered.
    pub fn flush(&mut self) {
        for place in 0..self.outlets.len() {
            self.flush_outlet(place, None);
        }
        if !self.collected.is_empty() {
            self.flush_collected();
        }
    }

    /// Records that were on `channel` already: one buffer, however many they are.
    pub fn put_back(&mut self, channel: ChannelId, records: Vec<Record>) {
        let place = self.place(channel);
        let event = None;
        let sent = self.outlets[place].sender.send(Buffer { records, event });
        self.is_cut |= sent.is_err();
    }

    fn place(&self, channel: ChannelId) -> usize {
        self.outlet_of[(channel.0 - self.first_channel) as usize]
    }

    pub fn report(&mut self, report: Report) {
        self.is_cut |= self.reports.send((self.id, report)).is_err();
    }
}

impl Effects for Wire<'_> {
    #[inline]
    fn send_record(&mut self, channel: ChannelId, record: Record) {
        let place = self.place(channel);
        let buffer = &mut self.outlets[place].buffer;
        buffer.push(record);
        if buffer.len() >= self.buffer_records {
            self.flush_outlet(place, None);
        }
    }

    fn send_event(&mut self, channel: ChannelId, event: StreamEvent) {
        let place = self.place(channel);
        self.flush_outlet(place, Some(event));
    }

    fn block(&mut self, channel: ChannelId, _checkpoint: CheckpointId) {
        self.blocked.push(channel);
    }

    fn unblock(&mut self, channel: ChannelId) {
        self.blocked.retain(|blocked| *blocked != channel);
    }

    fn start_snapshot(&mut self, task: SnapshotTask, _operator: &Operator) {
        self.started.push(task);
    }

    fn sync_part_fails(&mut self) -> bool {
        let is_meant = |kind| kind == FaultKind::SyncPart;
        self.faults.strike(Some(self.id), is_meant).is_some()
    }

    #[inline]
    fn processing_time_ms(&self) -> u64 {
        self.now_ms
    }

    fn tell(&mut self, message: TaskMessage) {
        self.report(Report::Message(message));
    }

    fn on_late_dropped(&mut self, _record: &Record) {
        Meter::add(&self.meter.late, 1);
    }
}
