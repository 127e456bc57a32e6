//! Commands: what a person, a script or the restart strategy asks for.
//!
//! Each is accepted or refused, by an event; a refused one changes nothing and says why.

use std::collections::BTreeSet;

use super::Stepper;
use crate::engine::driver::places::{IS_STOPPING, NO_SAVEPOINT_DIR, check_has_files, crash_cause};
use crate::engine::event::{CheckpointKind, CommandOrigin, EventKind, JobStatus, SubtaskStatus};
use crate::model::{Command, SubtaskId, Uid};

impl Stepper {
    /// A person's command, now. It is a step of its own.
    pub fn command(&mut self, command: &Command) {
        self.net.step += 1;
        self.obey_command(command, CommandOrigin::Person);
        self.note_pressure();
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
        if let Err(reason) = self.try_command(command, by) {
            self.net.record(EventKind::CommandRefused {
                command: command.clone(),
                by,
                reason,
            });
        }
    }

    /// # Errors
    /// Why not, as a sentence. Then nothing was recorded or changed.
    fn try_command(&mut self, command: &Command, by: CommandOrigin) -> Result<(), String> {
        if self.status.is_terminal() {
            return Err("The job has ended. Start a new run.".to_owned());
        }
        let accept = |stepper: &mut Self| {
            stepper.net.record(EventKind::CommandAccepted {
                command: command.clone(),
                by,
            });
        };
        match command {
            Command::Checkpoint => {
                self.check_not_stopping()?;
                accept(self);
                self.request(CheckpointKind::Manual);
            }
            Command::Savepoint { format } => {
                self.check_savepoint()?;
                accept(self);
                self.request(CheckpointKind::Savepoint(*format));
            }
            Command::StopWithSavepoint { format, drain } => {
                self.check_savepoint()?;
                accept(self);
                self.stop_with_savepoint(*format, *drain);
            }
            Command::CancelWithSavepoint { format } => {
                self.check_savepoint()?;
                accept(self);
                self.cancel_with_savepoint(*format);
            }
            Command::Crash { uid, subtask } => {
                let id = self.find_running(uid, *subtask)?;
                accept(self);
                self.fail(&[id], &format!("{} crashed.", self.plan.subtask_name(id)));
            }
            Command::CrashSeveral { subtasks } => {
                let ids = self.find_several(subtasks)?;
                accept(self);
                self.fail(&ids, &crash_cause(&self.plan, &ids));
            }
            Command::CrashTaskManager { index } => {
                let ids = self.find_task_manager(*index)?;
                accept(self);
                // Its subtasks are gone before they can close anything.
                for id in &ids {
                    self.tasks[id.index()].subtask = None;
                }
                self.fail(&ids, &format!("TaskManager {} was lost.", index + 1));
            }
            Command::Inject(fault) => {
                let id = self.check_fault(fault)?;
                accept(self);
                self.net.arm(id, fault.clone());
            }
            Command::Compact { uid } => {
                let ids = self.find_databases(uid)?;
                accept(self);
                for id in ids {
                    self.turn(id, |subtask, turn| subtask.on_compact(turn));
                }
            }
            Command::Restore { checkpoint } => {
                let (from, ready) = self.load(*checkpoint)?;
                accept(self);
                self.restore_all(from, ready);
            }
            Command::Stop => {
                accept(self);
                self.cancel_job();
            }
            Command::Suspend => {
                accept(self);
                let all = self.all_subtasks();
                self.cancel(&all, &[]);
                self.end(JobStatus::Suspended);
            }
        }
        Ok(())
    }

    pub(super) fn request(&mut self, kind: CheckpointKind) {
        self.coordinator.request(kind, self.net.now_us);
        self.obey();
    }

    pub(super) fn cancel_job(&mut self) {
        let all = self.all_subtasks();
        self.cancel(&all, &[]);
        self.end(JobStatus::Canceled);
    }

    fn check_not_stopping(&self) -> Result<(), String> {
        match self.after_savepoint {
            None => Ok(()),
            Some(_) => Err(IS_STOPPING.to_owned()),
        }
    }

    fn check_savepoint(&self) -> Result<(), String> {
        self.check_not_stopping()?;
        if self.places.takes_savepoints() {
            Ok(())
        } else {
            Err(NO_SAVEPOINT_DIR.to_owned())
        }
    }

    /// Those subtasks of an operator whose state lies in files now.
    fn find_databases(&self, uid: &Uid) -> Result<Vec<SubtaskId>, String> {
        let ids = self.plan.subtasks_of(uid);
        check_has_files(&self.job, uid)?;
        let is_up = |id: &SubtaskId| self.tasks[id.index()].subtask.is_some();
        let up: Vec<SubtaskId> = ids.into_iter().filter(is_up).collect();
        if up.is_empty() {
            return Err(format!(
                "No subtask of {uid} runs now. Restore the job first."
            ));
        }
        Ok(up)
    }

    /// The subtask that is to crash, if it can.
    fn find_running(&self, uid: &Uid, index: u32) -> Result<SubtaskId, String> {
        let id = self.plan.find_subtask(uid, index)?;
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

    fn find_several(&self, wanted: &[(Uid, u32)]) -> Result<Vec<SubtaskId>, String> {
        let found = wanted
            .iter()
            .map(|(uid, index)| self.find_running(uid, *index));
        let found: BTreeSet<SubtaskId> = found.collect::<Result<_, _>>()?;
        if found.is_empty() {
            return Err("No subtask is named. Say which ones are to crash.".to_owned());
        }
        Ok(found.into_iter().collect())
    }

    /// What runs in the slots of a `TaskManager`: slot `i` holds subtask `i` of every operator.
    fn find_task_manager(&self, index: u32) -> Result<Vec<SubtaskId>, String> {
        let slots = self.job.config.slots_per_task_manager;
        let all = self.plan.subtasks_on(index, slots);
        if all.is_empty() {
            let managers = self.plan.task_managers(slots);
            return Err(format!(
                "This job has no TaskManager {}: its subtasks are on {managers}, with {slots} slots each.",
                index + 1
            ));
        }
        let is_up = |id: &SubtaskId| {
            matches!(
                self.tasks[id.index()].status,
                SubtaskStatus::Initializing | SubtaskStatus::Running | SubtaskStatus::EndOfData
            )
        };
        let up: Vec<SubtaskId> = all.into_iter().filter(is_up).collect();
        if up.is_empty() {
            return Err(format!("Nothing runs on TaskManager {} now.", index + 1));
        }
        Ok(up)
    }
}
