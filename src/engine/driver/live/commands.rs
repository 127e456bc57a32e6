//! Scripts, commands and restores of a live job.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::attempt::Attempt;
use super::wire::{Control, Meter};
use super::{JobManager, Restore, TICK};
use crate::engine::coordinator::Order;
use crate::engine::event::{CheckpointKind, CommandOrigin, EventKind, JobStatus};
use crate::model::{CheckpointId, Command, SubtaskId, When};

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
        let accepted = EventKind::CommandAccepted {
            command: command.clone(),
            by,
        };
        let result = match command {
            Command::Checkpoint => {
                self.record(accepted);
                self.coordinator
                    .request(CheckpointKind::Manual, self.now_us());
                Ok(())
            }
            Command::Crash { uid, subtask } => {
                match (attempt, self.plan.subtasks_of(uid).get(*subtask as usize)) {
                    (Some(_), Some(id)) if self.coordinator.is_finished(*id) => {
                        let name = self.plan.subtask_name(*id);
                        Err(format!("{name} has finished; it cannot crash any more."))
                    }
                    (Some(attempt), Some(id)) => {
                        self.record(accepted);
                        attempt.tell(*id, Control::Die);
                        self.fail(&format!("{} crashed.", self.plan.subtask_name(*id)));
                        Ok(())
                    }
                    _ => Err("That subtask is not running.".to_owned()),
                }
            }
            Command::Restore { checkpoint } => self.load(*checkpoint).map(|restore| {
                self.record(accepted);
                self.next = Some(restore);
            }),
            Command::Stop => {
                self.record(accepted);
                self.set_status(JobStatus::Canceled);
                Ok(())
            }
            _ => Err("The live driver does not know this command.".to_owned()),
        };
        if let Err(reason) = result {
            let command = command.clone();
            self.record(EventKind::CommandRefused {
                command,
                by,
                reason,
            });
        }
    }

    fn load(&mut self, wanted: Option<CheckpointId>) -> Result<Restore, String> {
        self.attempts += 1;
        let latest = self.coordinator.store().latest();
        self.resources.prepare_restore(
            (self.plan, self.job.config.backend, self.attempts),
            self.coordinator.store(),
            wanted.or(latest),
        )
    }

    /// While the job is down, the coordinator has nothing to order but what is to be told.
    fn record_orders(&mut self) {
        for order in self.coordinator.take_orders() {
            if let Order::Record(event) = order {
                self.record(event);
            }
        }
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
                self.command(
                    &Command::Restore { checkpoint: None },
                    CommandOrigin::Job,
                    None,
                );
            }
            self.run_script(None);
            self.record_orders();
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
}
