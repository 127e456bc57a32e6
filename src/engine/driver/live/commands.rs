//! Scripts, commands and restores of a live job.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::attempt::Attempt;
use super::wire::{Control, Meter};
use super::{JobManager, Restore, TICK};
use crate::engine::driver::decide::{Deed, Facts, Presence};
use crate::engine::driver::resources::setup_of;
use crate::engine::driver::restoring::first_readable;
use crate::engine::event::{CommandOrigin, EventKind, JobStatus};
use crate::model::{CheckpointId, Command, SubtaskId, When};

impl JobManager<'_> {
    /// Fire the script entries that are due; without an attempt the job is down.
    pub(super) fn run_script(&mut self, attempt: Option<&Attempt<'_>>) {
        for entry in 0..self.fired.len() {
            if !self.status.is_terminal() && !self.fired[entry] && self.is_due(entry) {
                self.fired[entry] = true;
                let command = self.job.script[entry].command.clone();
                self.command(&command, CommandOrigin::Script(entry), attempt);
            }
        }
    }

    /// Whether time alone brings a further command: while the job is down, no count grows.
    pub(super) fn is_command_coming(&self) -> bool {
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
            self.refuse(command, by, reason);
        }
    }

    fn refuse(&mut self, command: &Command, by: CommandOrigin, reason: String) {
        let command = command.clone();
        self.record(EventKind::CommandRefused {
            command,
            by,
            reason,
        });
    }

    /// # Errors
    /// Why not, as a sentence. Then nothing was recorded or changed. (A restore tells by itself what it tries.)
    fn try_command(
        &mut self,
        command: &Command,
        by: CommandOrigin,
        attempt: Option<&Attempt<'_>>,
    ) -> Result<(), String> {
        let deed = self.facts(attempt).decide(command)?;
        // A checkpoint is read before anything is canceled for it.
        match &deed {
            Deed::Restore(wanted) => {
                // What could not be read has been told.
                let _ = self.find_restore(*wanted, by);
                return Ok(());
            }
            Deed::DeleteStored(path) => self.places.delete_stored(path)?,
            _ => {}
        }
        let command = command.clone();
        self.record(EventKind::CommandAccepted { command, by });
        self.carry_out(deed, attempt);
        Ok(())
    }

    /// Without an attempt nothing is there.
    fn facts(&self, attempt: Option<&Attempt<'_>>) -> Facts<'_> {
        let presence = |id| match attempt {
            None => Presence::Down,
            Some(_) if self.coordinator.is_finished(id) => Presence::Finished,
            Some(_) => Presence::Here,
        };
        let ids = self.plan.subtasks.iter().map(|subtask| subtask.id);
        Facts {
            job: self.job,
            plan: self.plan,
            status: &self.status,
            is_stopping: self.after_savepoint.is_some(),
            takes_savepoints: self.places.takes_savepoints(),
            armed: self.faults.count(),
            presence: ids.map(presence).collect(),
        }
    }

    fn carry_out(&mut self, deed: Deed, attempt: Option<&Attempt<'_>>) {
        match deed {
            Deed::Request(kind) => {
                let now_us = self.now_us();
                self.coordinator.request(kind, now_us);
            }
            Deed::EndWith(kind, after) => self.end_with_savepoint(kind, after, attempt),
            Deed::Fail(ids, cause) => self.crash((&ids, &cause), attempt, || Control::Die),
            Deed::Lose(ids, cause) => self.crash((&ids, &cause), attempt, || Control::Lose),
            Deed::Arm(id, fault) => self.faults.arm(id, fault),
            Deed::Compact(ids) => {
                for id in ids {
                    self.tell(attempt, id, Control::Compact);
                }
            }
            // Done already.
            Deed::Restore(_) | Deed::DeleteStored(_) => {}
            Deed::End(status) => self.set_status(status),
        }
    }

    fn crash(
        &mut self,
        (ids, cause): (&[SubtaskId], &str),
        attempt: Option<&Attempt<'_>>,
        last_word: fn() -> Control,
    ) {
        for id in ids {
            // A thread that does not listen is gone already.
            let _ = attempt.map(|attempt| attempt.tell(*id, last_word()));
        }
        self.fail(cause);
    }

    /// Read the checkpoint to return to, and tell what was tried; the job goes on with it next.
    ///
    /// # Errors
    /// Nothing can be restored: why not what was tried first. Nothing has changed then.
    fn find_restore(
        &mut self,
        wanted: Option<CheckpointId>,
        by: CommandOrigin,
    ) -> Result<(), String> {
        let store = self.coordinator.store().clone();
        let tried = first_readable(&store, (wanted, by), |checkpoint| {
            self.attempts += 1;
            let setup = setup_of(&self.job.config, false);
            let target = (self.plan, setup, self.attempts);
            self.resources.prepare_restore(target, &store, checkpoint)
        });
        for refusal in tried.refused {
            self.record(refusal);
        }
        let (command, restore) = tried.found.ok_or(tried.cause)?;
        self.record(EventKind::CommandAccepted { command, by });
        self.after_savepoint = None;
        self.next = Some(restore);
        Ok(())
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
        if let Err(cause) = self.find_restore(None, CommandOrigin::Job) {
            self.set_status(JobStatus::Failed { cause });
        }
    }
}
