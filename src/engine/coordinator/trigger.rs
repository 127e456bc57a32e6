//! From a request to the first barriers.

use super::CheckpointCoordinator;
use super::decide::{self, Situation, TriggerVerdict};
use super::order::Order;
use super::pending::Pending;
use super::request::{Admission, Request};
use super::tasks::Task;
use crate::engine::event::{AbortReason, CheckpointKind, EventKind, RejectReason};
use crate::model::{CheckpointBarrier, CheckpointId, SubtaskId};

impl CheckpointCoordinator {
    /// A tick, a person, a script or the coordinator itself asks for a checkpoint.
    pub fn request(&mut self, kind: CheckpointKind, now_us: u64) {
        let request = Request {
            kind,
            is_forced: kind.is_savepoint() && !decide::is_unaligned(&self.config),
            at_us: now_us,
        };
        let dropped = match self.queue.add(request) {
            Admission::Queued(number) => {
                self.run_queue(now_us);
                if self.queue.is_waiting(number) {
                    self.record(EventKind::TriggerQueued { kind });
                }
                return;
            }
            Admission::Dropped(dropped) => dropped,
            Admission::TurnedAway => kind,
        };
        self.record(EventKind::TriggerQueued { kind });
        self.reject(dropped, RejectReason::TooManyCheckpointRequests);
    }

    pub(super) fn run_queue(&mut self, now_us: u64) {
        while self.run_queue_once(now_us) {}
    }

    /// Answer the first waiting request, if the time has come. False: it waits, or none does.
    fn run_queue_once(&mut self, now_us: u64) -> bool {
        let Some(request) = self.queue.first().filter(|_| !self.is_failing) else {
            return false;
        };
        let situation = Situation {
            config: &self.config,
            tasks: &self.tasks,
            is_initialising: self.initialising.is_some(),
            pending: self.pending.len(),
            is_shut_down: self.is_shut_down,
            is_scheduling: self.periodic.is_on(),
            completed_us: self.completed_us,
            now_us,
        };
        match decide::trigger(&request, &situation) {
            TriggerVerdict::Wait => return false,
            TriggerVerdict::TooEarly { remaining_us } => {
                self.queue.pop();
                self.reject(request.kind, RejectReason::MinimumTimeBetweenCheckpoints);
                if self.periodic.is_on() {
                    self.periodic.rearm(now_us, remaining_us);
                }
            }
            TriggerVerdict::Reject(reason) => {
                self.queue.pop();
                self.reject(request.kind, reason);
            }
            TriggerVerdict::Begin => {
                self.queue.pop();
                self.begin(request.kind, now_us);
            }
        }
        true
    }

    /// A number is used up and the timeout runs; then a place must be made.
    fn begin(&mut self, kind: CheckpointKind, now_us: u64) {
        let checkpoint = self.next_id;
        self.next_id = CheckpointId(checkpoint.0 + 1);
        let (must_ack, finished) = self.split_by(|task| *task != Task::Finished);
        let mut pending = Pending::new(kind, must_ack.clone());
        pending.triggered_us = now_us;
        pending.timeout_us = now_us.saturating_add(self.config.timeout_ms.saturating_mul(1000));
        self.pending.insert(checkpoint, pending);
        self.initialising = Some(checkpoint);
        self.record(EventKind::Triggered {
            checkpoint,
            kind,
            must_ack,
            finished,
        });
        self.orders.push(Order::Begin { checkpoint, kind });
    }

    /// The checkpoint's place is made, or could not be. Now the barriers start: at every subtask that runs and has no
    /// running predecessor.
    pub fn on_location(&mut self, checkpoint: CheckpointId, is_made: bool, now_us: u64) {
        if self.initialising == Some(checkpoint) {
            self.initialising = None;
        }
        let Some(pending) = self.pending.get(&checkpoint) else {
            // It was given up meanwhile.
            self.orders.push(Order::Discard(checkpoint));
            return self.run_queue(now_us);
        };
        if !is_made {
            self.abort(checkpoint, (AbortReason::IoException, None));
            return self.after_abort(now_us);
        }
        let barrier = CheckpointBarrier {
            id: checkpoint,
            triggered_us: pending.triggered_us,
            alignment: decide::alignment(&self.config, pending.kind, pending.triggered_us),
            kind: pending.kind.snapshot(),
        };
        for subtask in pending.must_ack.clone() {
            if self.has_no_running_predecessor(subtask) {
                self.orders.push(Order::Trigger { subtask, barrier });
            }
        }
        self.run_queue(now_us);
    }

    fn has_no_running_predecessor(&self, subtask: SubtaskId) -> bool {
        let finished = |from: &SubtaskId| self.tasks[from.index()] == Task::Finished;
        self.predecessors[subtask.index()].iter().all(finished)
    }
}
