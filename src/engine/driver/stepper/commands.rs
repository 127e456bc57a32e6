//! Commands, failure and recovery.
//!
//! Recovery follows Flink's order (`DefaultScheduler`, `SchedulerBase.restoreState`): what is pending is given up, all
//! subtasks are cancelled, the state of the latest completed checkpoint is assigned, and everything starts again. No
//! completed checkpoint: a fresh start. A checkpoint is read and checked *before* anything is cancelled for it.

use super::{Deployment, Ready, Stepper};
use crate::engine::driver::resources::Prepared;
use crate::engine::event::{CheckpointKind, CommandOrigin, EventKind, JobStatus, SubtaskStatus};
use crate::engine::subtask::Subtask;
use crate::model::{CheckpointId, Command, RestartStrategy, SubtaskId, Uid};

impl Stepper {
    /// A person's command, now. It is a step of its own.
    pub fn command(&mut self, command: &Command) {
        self.net.step += 1;
        self.obey_command(command, CommandOrigin::Person);
    }

    /// Let time pass without anything happening: only up to the next enabled action. Where none is, time stands.
    pub fn wait_until(&mut self, at_us: u64) {
        if let Some(limit) = self.next_at_us() {
            self.net.now_us = self.net.now_us.max(at_us.min(limit));
        }
    }

    pub(super) fn run_script_entry(&mut self, entry: usize) {
        self.fired[entry] = true;
        let command = self.job.script[entry].command.clone();
        self.obey_command(&command, CommandOrigin::Script(entry));
    }

    fn obey_command(&mut self, command: &Command, by: CommandOrigin) {
        let accepted = EventKind::CommandAccepted {
            command: command.clone(),
            by,
        };
        let result = match command {
            _ if self.status.is_terminal() => Err("The job has ended. Start a new run.".to_owned()),
            Command::Checkpoint => {
                self.net.record(accepted);
                self.request_checkpoint();
                Ok(())
            }
            Command::Crash { uid, subtask } => self.find_running(uid, *subtask).map(|id| {
                self.net.record(accepted);
                self.fail(
                    Some(id),
                    &format!("{} crashed.", self.plan.subtask_name(id)),
                );
            }),
            Command::Restore { checkpoint } => self.load(*checkpoint).map(|(from, ready)| {
                self.net.record(accepted);
                self.begin_restore(from, ready);
            }),
            Command::Stop => {
                self.net.record(accepted);
                self.stop();
                Ok(())
            }
            _ => Err("The engine does not know this command yet.".to_owned()),
        };
        if let Err(reason) = result {
            self.net.record(EventKind::CommandRefused {
                command: command.clone(),
                by,
                reason,
            });
        }
    }

    fn request_checkpoint(&mut self) {
        self.coordinator
            .request(CheckpointKind::Manual, self.net.now_us);
        self.obey();
    }

    fn stop(&mut self) {
        self.deployment = None;
        self.restart_at_us = None;
        self.cancel_all(None);
        self.set_status(JobStatus::Canceled);
    }

    /// The subtask that is to crash, if it can.
    fn find_running(&self, uid: &Uid, index: u32) -> Result<SubtaskId, String> {
        let place = self.plan.subtasks_of(uid).get(index as usize).copied();
        let id = place.ok_or_else(|| format!("This job has no subtask {} of {uid}.", index + 1))?;
        let name = self.plan.subtask_name(id);
        match self.tasks[id.index()].status {
            SubtaskStatus::Finished => {
                Err(format!("{name} has finished; it cannot crash any more."))
            }
            SubtaskStatus::Failed | SubtaskStatus::Canceled => {
                Err(format!("{name} is not running. Restore the job first."))
            }
            SubtaskStatus::Initializing | SubtaskStatus::Running | SubtaskStatus::EndOfData => {
                Ok(id)
            }
        }
    }

    /// The job goes down: `id` failed, or all of it did.
    pub(super) fn fail(&mut self, id: Option<SubtaskId>, cause: &str) {
        self.deployment = None;
        self.cancel_all(id);
        self.set_status(JobStatus::Restarting {
            cause: cause.to_owned(),
        });
        if let RestartStrategy::FixedDelay { delay_ms, .. } = self.job.config.restart {
            let delay_us = delay_ms.saturating_mul(1000);
            self.restart_at_us = Some(self.net.now_us.saturating_add(delay_us));
        }
    }

    fn cancel_all(&mut self, failed: Option<SubtaskId>) {
        self.coordinator.suspend();
        self.obey();
        for index in 0..self.tasks.len() {
            let id = self.plan.subtasks[index].id;
            let status = if Some(id) == failed {
                SubtaskStatus::Failed
            } else {
                SubtaskStatus::Canceled
            };
            self.tasks[index].subtask = None;
            if self.tasks[index].status != SubtaskStatus::Finished {
                self.set_subtask_status(id, status);
            }
        }
        self.net.clear();
    }

    /// The restart strategy's turn.
    pub(super) fn restart(&mut self) {
        self.restart_at_us = None;
        let command = Command::Restore { checkpoint: None };
        self.obey_command(&command, CommandOrigin::Job);
    }

    /// Read the checkpoint to return to: the wanted one, else the latest.
    fn load(
        &mut self,
        wanted: Option<CheckpointId>,
    ) -> Result<(Option<CheckpointId>, Vec<Ready>), String> {
        let store = self.coordinator.store();
        self.attempt += 1;
        let target = (&*self.plan, self.job.config.backend, self.attempt);
        let wanted = wanted.or(store.latest());
        let (from, prepared) = self.resources.prepare_restore(target, store, wanted)?;
        Ok((from, read_states(prepared)?))
    }

    fn begin_restore(&mut self, from: Option<CheckpointId>, ready: Vec<Ready>) {
        self.restart_at_us = None;
        let down = matches!(self.status, JobStatus::Restarting { .. });
        if !down {
            self.cancel_all(None);
        }
        self.set_status(JobStatus::Restoring { from });
        for index in 0..self.tasks.len() {
            self.set_subtask_status(self.plan.subtasks[index].id, SubtaskStatus::Initializing);
        }
        if let Some(checkpoint) = from {
            self.coordinator.on_restored(checkpoint);
        }
        self.deployment = Some(Deployment {
            ready_us: self.net.now_us.saturating_add(self.net.costs.restore_us),
            from,
            ready,
        });
    }

    pub(super) fn finish_deployment(&mut self) {
        if let Some(Deployment { from, ready, .. }) = self.deployment.take() {
            self.deploy(from, ready);
        }
    }

    /// All subtasks begin, with what was prepared for them.
    pub(super) fn deploy(&mut self, from: Option<CheckpointId>, ready: Vec<Ready>) {
        self.set_status(JobStatus::Running);
        for (index, ready) in ready.into_iter().enumerate() {
            self.deploy_one(index, from, ready);
        }
    }

    fn deploy_one(&mut self, index: usize, from: Option<CheckpointId>, ready: Ready) {
        let (prepared, contents) = ready;
        let plan = self.plan.clone();
        let plan = &plan.subtasks[index];
        let task = &mut self.tasks[index];
        task.subtask = Some(Subtask::new(plan, prepared.operator, from));
        task.busy_until_us = self.net.now_us;
        self.await_record(plan.id);
        self.net.record(EventKind::Restored {
            subtask: plan.id,
            from,
            offsets: contents.offsets,
            state: contents.rows,
            windows: contents.windows,
        });
        self.set_subtask_status(plan.id, SubtaskStatus::Running);
        self.coordinator.on_running(plan.id);
        if prepared.finished {
            self.turn(plan.id, |subtask, turn| subtask.finish_restored(turn));
        }
    }

    pub(super) fn set_status(&mut self, status: JobStatus) {
        if self.net.log.is_empty() && self.net.step == 0 || self.status != status {
            self.status = status.clone();
            self.net.record(EventKind::JobStatus(status));
        }
    }

    fn set_subtask_status(&mut self, subtask: SubtaskId, status: SubtaskStatus) {
        let current = &mut self.tasks[subtask.index()].status;
        if *current != status {
            *current = status;
            self.net
                .record(EventKind::SubtaskStatus { subtask, status });
        }
    }
}

/// The state that each operator begins with. Read here, so that a state that cannot be read is refused before anything
/// is canceled for it.
pub(super) fn read_states(prepared: Vec<Prepared>) -> Result<Vec<Ready>, String> {
    let read = |prepared: Prepared| {
        let contents = prepared.operator.contents();
        contents
            .map(|contents| (prepared, contents))
            .map_err(|error| error.to_string())
    };
    prepared.into_iter().map(read).collect()
}
