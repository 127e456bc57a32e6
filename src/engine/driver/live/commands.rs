//! Scripts, commands and restores of a live job.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::attempt::Attempt;
use super::wire::{Control, Meter};
use super::{JobManager, Restore, TICK};
use crate::engine::driver::faults::{MAX_ARMED, target_of};
use crate::engine::driver::places::{
    AfterSavepoint, IS_STOPPING, NO_SAVEPOINT_DIR, check_has_files, crash_cause,
};
use crate::engine::driver::resources::setup_of;
use crate::engine::event::{CheckpointKind, CommandOrigin, EventKind, JobStatus};
use crate::model::{CheckpointId, Command, Fault, SubtaskId, Uid, When};

impl JobManager<'_> {
    /// Fire the script entries that are due; without an attempt the job is down.
    pub(super) fn run_script(&mut self, attempt: Option<&Attempt<'_>>) {
        for entry in 0..self.fired.len() {
            if !self.fired[entry] && self.is_due(entry) {
                self.fired[entry] = true;
                let command = self.job.script[entry].command.clone();
                self.command(&command, CommandOrigin::Script(entry), attempt);
            }
        }
    }

    /// Whether time alone brings a further command: while the job is down, no count grows.
    fn is_command_coming(&self) -> bool {
        let entries = self.job.script.iter().zip(&self.fired);
        let mut waiting = entries.filter(|(_, fired)| !**fired);
        waiting.any(|(entry, _)| matches!(entry.when, When::AtMs(_)))
    }

    fn is_due(&self, entry: usize) -> bool {
        let sum = |ids: &[SubtaskId], of: fn(&Meter) -> u64| -> u64 {
            ids.iter().map(|id| of(&self.meters[id.index()])).sum()
        };
        match &self.job.script[entry].when {
            When::AtMs(at_ms) => self.now_us() >= at_ms.saturating_mul(1000),
            When::Emitted { uid, records } => {
                let ids = self.plan.subtasks_of(uid);
                sum(&ids, |meter| meter.emitted.load(Ordering::Relaxed)) >= *records
            }
            When::Processed {
                uid,
                subtask,
                records,
            } => {
                let ids = self.plan.subtasks_of(uid);
                let id: Vec<SubtaskId> = ids.get(*subtask as usize).copied().into_iter().collect();
                sum(&id, |meter| meter.processed.load(Ordering::Relaxed)) >= *records
            }
        }
    }

    fn command(&mut self, command: &Command, by: CommandOrigin, attempt: Option<&Attempt<'_>>) {
        if let Err(reason) = self.try_command(command, by, attempt) {
            let command = command.clone();
            self.record(EventKind::CommandRefused {
                command,
                by,
                reason,
            });
        }
    }

    /// # Errors
    /// Why not, as a sentence. Then nothing was recorded or changed.
    fn try_command(
        &mut self,
        command: &Command,
        by: CommandOrigin,
        attempt: Option<&Attempt<'_>>,
    ) -> Result<(), String> {
        let accept = |manager: &mut Self| {
            let command = command.clone();
            manager.record(EventKind::CommandAccepted { command, by });
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
                let (format, drain) = (*format, *drain);
                let kind = CheckpointKind::StopWithSavepoint { format, drain };
                let after = AfterSavepoint::Finish { stored: None };
                self.end_with_savepoint(kind, after, attempt);
            }
            Command::CancelWithSavepoint { format } => {
                self.check_savepoint()?;
                accept(self);
                let kind = CheckpointKind::Savepoint(*format);
                self.end_with_savepoint(kind, AfterSavepoint::Cancel, attempt);
            }
            Command::Crash { uid, subtask } => {
                let id = self.find_running(uid, *subtask, attempt)?;
                accept(self);
                self.crash(&[id], &crash_cause(self.plan, &[id]), attempt);
            }
            Command::CrashSeveral { subtasks } => {
                let ids = subtasks.iter();
                let ids = ids.map(|(uid, index)| self.find_running(uid, *index, attempt));
                let ids: Vec<SubtaskId> = ids.collect::<Result<_, _>>()?;
                if ids.is_empty() {
                    return Err("No subtask is named. Say which ones are to crash.".to_owned());
                }
                accept(self);
                self.crash(&ids, &crash_cause(self.plan, &ids), attempt);
            }
            Command::CrashTaskManager { index } => {
                let slots = self.job.config.slots_per_task_manager;
                let ids = self.plan.subtasks_on(*index, slots);
                if ids.is_empty() || attempt.is_none() {
                    return Err(format!("Nothing runs on TaskManager {} now.", index + 1));
                }
                accept(self);
                let cause = format!("TaskManager {} was lost.", index + 1);
                self.crash(&ids, &cause, attempt);
            }
            Command::Inject(fault) => {
                let id = self.check_fault(fault)?;
                accept(self);
                self.faults.arm(id, fault.clone());
            }
            Command::Compact { uid } => {
                check_has_files(self.job, uid)?;
                let Some(attempt) = attempt else {
                    return Err(format!("No subtask of {uid} runs now."));
                };
                accept(self);
                for id in self.plan.subtasks_of(uid) {
                    self.tell(Some(attempt), id, Control::Compact);
                }
            }
            Command::Restore { checkpoint } => {
                let restore = self.load(*checkpoint)?;
                accept(self);
                self.after_savepoint = None;
                self.next = Some(restore);
            }
            Command::Stop => {
                accept(self);
                self.set_status(JobStatus::Canceled);
            }
            Command::Suspend => {
                accept(self);
                self.set_status(JobStatus::Suspended);
            }
        }
        Ok(())
    }

    fn request(&mut self, kind: CheckpointKind) {
        let now_us = self.now_us();
        self.coordinator.request(kind, now_us);
    }

    fn crash(&mut self, ids: &[SubtaskId], cause: &str, attempt: Option<&Attempt<'_>>) {
        for id in ids {
            // A thread that does not listen is gone already.
            let _ = attempt.map(|attempt| attempt.tell(*id, Control::Die));
        }
        self.fail(cause);
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

    fn check_fault(&self, fault: &Fault) -> Result<SubtaskId, String> {
        let id = target_of(self.plan, fault)?;
        if self.faults.count() >= MAX_ARMED {
            return Err(format!(
                "{MAX_ARMED} faults wait already. Let some of them strike first."
            ));
        }
        Ok(id)
    }

    fn find_running(
        &self,
        uid: &Uid,
        index: u32,
        attempt: Option<&Attempt<'_>>,
    ) -> Result<SubtaskId, String> {
        let id = self.plan.find_subtask(uid, index)?;
        let name = self.plan.subtask_name(id);
        match attempt {
            None => Err(format!("{name} is not running.")),
            Some(_) if self.coordinator.is_finished(id) => {
                Err(format!("{name} has finished; it cannot crash any more."))
            }
            Some(_) => Ok(id),
        }
    }

    fn load(&mut self, wanted: Option<CheckpointId>) -> Result<Restore, String> {
        self.attempts += 1;
        let latest = self.coordinator.store().latest();
        self.resources.prepare_restore(
            (self.plan, setup_of(&self.job.config, false), self.attempts),
            self.coordinator.store(),
            wanted.or(latest),
        )
    }

    /// After an attempt: what the job goes on with, if it does.
    pub(super) fn wait_for_restore(&mut self) -> Option<Restore> {
        while matches!(self.status, JobStatus::Restarting { .. }) && self.next.is_none() {
            let waits = self.is_command_coming() || self.restart_at.is_some();
            if !waits || self.is_time_over() {
                return None;
            }
            if self.restart_at.is_some_and(|at| at <= Instant::now()) {
                self.restart_at = None;
                self.restart();
            }
            self.time_out();
            self.run_script(None);
            self.obey(None);
            std::thread::park_timeout(TICK);
        }
        let (from, operators) = self.next.take()?;
        self.restart_at = None;
        self.set_status(JobStatus::Restoring { from });
        if let Some(checkpoint) = from {
            self.coordinator.on_restored(checkpoint);
        }
        Some((from, operators))
    }

    /// The restart strategy's turn: back to the newest checkpoint that can be read.
    fn restart(&mut self) {
        let older = self.coordinator.store().iter().rev().skip(1).map(Some);
        let choices: Vec<Option<CheckpointId>> = std::iter::once(None).chain(older).collect();
        for checkpoint in choices {
            self.command(&Command::Restore { checkpoint }, CommandOrigin::Job, None);
            if self.next.is_some() {
                return;
            }
        }
        let cause = "No retained checkpoint could be read.".to_owned();
        self.set_status(JobStatus::Failed { cause });
    }
}
