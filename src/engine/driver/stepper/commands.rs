//! Commands: what a person, a script or the restart strategy asks for.
//!
//! Each is accepted or refused, by an event; a refused one changes nothing and says why.

use super::{Stepper, Task};
use crate::engine::driver::decide::{Deed, Facts, Presence};
use crate::engine::event::{CheckpointKind, CommandOrigin, EventKind, JobStatus, SubtaskStatus};
use crate::model::Command;

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
    /// Why not, as a sentence. Then nothing was recorded or changed. (A restore tells by itself what it tries.)
    fn try_command(&mut self, command: &Command, by: CommandOrigin) -> Result<(), String> {
        let deed = self.facts().decide(command)?;
        // A checkpoint is read before anything is canceled for it.
        match &deed {
            Deed::Restore(wanted) => {
                if let Some((from, ready)) = self.find_restore(*wanted, by).found {
                    self.restore_all(from, ready);
                }
                return Ok(());
            }
            Deed::DeleteStored(path) => self.places.delete_stored(path)?,
            _ => {}
        }
        self.net.record(EventKind::CommandAccepted {
            command: command.clone(),
            by,
        });
        self.carry_out(deed);
        Ok(())
    }

    fn facts(&self) -> Facts<'_> {
        let presence = |task: &Task| match task.status {
            SubtaskStatus::Finished => Presence::Finished,
            SubtaskStatus::Failed | SubtaskStatus::Canceled => Presence::Down,
            SubtaskStatus::Initializing | SubtaskStatus::Running | SubtaskStatus::EndOfData => {
                Presence::Here
            }
        };
        Facts {
            job: &self.job,
            plan: &self.plan,
            status: &self.status,
            is_stopping: self.after_savepoint.is_some(),
            takes_savepoints: self.places.takes_savepoints(),
            armed: self.net.faults.len(),
            presence: self.tasks.iter().map(presence).collect(),
        }
    }

    fn carry_out(&mut self, deed: Deed) {
        match deed {
            Deed::Request(kind) => self.request(kind),
            Deed::EndWith(kind, after) => self.end_with_savepoint(kind, after),
            Deed::Fail(ids, cause) => self.fail(&ids, &cause),
            Deed::Lose(ids, cause) => {
                for id in &ids {
                    self.tasks[id.index()].subtask = None;
                }
                self.fail(&ids, &cause);
            }
            Deed::Arm(id, fault) => self.net.arm(id, fault),
            Deed::Compact(ids) => {
                for id in ids {
                    self.turn(id, |subtask, turn| subtask.on_compact(turn));
                }
            }
            // Done already.
            Deed::Restore(_) | Deed::DeleteStored(_) => {}
            Deed::End(status) => self.end_job(status),
        }
    }

    pub(super) fn request(&mut self, kind: CheckpointKind) {
        self.coordinator.request(kind, self.net.now_us);
        self.obey();
    }

    /// A person ends the job, or a savepoint that it was to be canceled with.
    pub(super) fn end_job(&mut self, status: JobStatus) {
        let all = self.all_subtasks();
        self.cancel(&all, &[]);
        self.end(status);
    }
}
