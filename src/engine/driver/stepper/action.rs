//! What can happen next.

use super::Stepper;
use crate::engine::coordinator::Timer;
use crate::model::{ChannelId, CheckpointId, SubtaskId, TransactionId, When};

/// One thing that can happen: the unit of stepping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The command of this script entry.
    Script(usize),
    /// A source emits its next record.
    Emit(SubtaskId),
    /// A source has had no record for too long.
    GoIdle(SubtaskId),
    /// The receiver takes the first element of the channel.
    Deliver(ChannelId),
    /// The receiver takes a barrier before what is ahead of it in the channel.
    DeliverAhead(ChannelId),
    /// The time that barriers had to align is over at the subtask.
    AlignmentTimeout(SubtaskId),
    /// The world stands still: every subtask copies its state.
    CopyAll(CheckpointId),
    /// The coordinator's oldest message reaches the subtask.
    ToTask(SubtaskId),
    /// The subtask's oldest message reaches the coordinator.
    ToCoordinator(SubtaskId),
    /// The asynchronous part of a snapshot ends (by its place among those that run).
    FinishWrite(usize),
    /// The metadata of a fully acknowledged checkpoint is written.
    Finalize(CheckpointId),
    /// The coordinator is woken: the next periodic checkpoint, or a pending one's timeout.
    Timer(Timer),
    /// The outside system aborts a transaction that is not committed in time.
    TimeOut(TransactionId),
    /// The restart strategy restores the job.
    Restart,
    /// The restored state is in place.
    Deploy,
}

impl Stepper {
    /// Every enabled action with the time at which it is ready, in a fixed order.
    ///
    /// A script entry whose moment has come comes alone: commands act before anything else can, and those of one
    /// moment in the order of the file.
    #[must_use]
    pub fn enabled(&self) -> Vec<(u64, Action)> {
        if self.status.is_terminal() {
            return Vec::new();
        }
        let mut actions = self.unscripted();
        let next = self.next_script_entry();
        // Where all else waits for a person, time stands.
        if !actions.is_empty() || next.is_some() {
            actions.extend(self.net.outside.timeouts());
        }
        for (at_us, _) in &mut actions {
            *at_us = (*at_us).max(self.net.now_us);
        }
        let Some(next) = next else {
            return actions;
        };
        let before = |(at_us, _): &(u64, Action)| *at_us < next.0;
        if actions.iter().any(before) {
            actions.push(next);
            return actions;
        }
        vec![next]
    }

    /// The script entry that fires next: one whose count is reached, else the earliest by time.
    fn next_script_entry(&self) -> Option<(u64, Action)> {
        let now_us = self.net.now_us;
        let moment = |entry: usize| match self.job.script[entry].when {
            When::AtMs(at_ms) => Some(at_ms.saturating_mul(1000).max(now_us)),
            _ => self.is_due(entry).then_some(now_us),
        };
        let waiting = (0..self.fired.len()).filter(|entry| !self.fired[*entry]);
        let moments = waiting.filter_map(|entry| Some((moment(entry)?, entry)));
        moments
            .min()
            .map(|(at_us, entry)| (at_us, Action::Script(entry)))
    }

    fn unscripted(&self) -> Vec<(u64, Action)> {
        let mut actions = Vec::new();
        let credits: Vec<bool> = self
            .tasks
            .iter()
            .map(|task| self.has_credit(task))
            .collect();
        self.add_alignment_timeouts(&mut actions);
        self.add_overtaking(&mut actions);
        let urgent_us = self.urgent_us(&actions);
        self.add_mails(&mut actions);
        self.add_sources((&credits, &urgent_us), &mut actions);
        self.add_deliveries((&credits, &urgent_us), &mut actions);
        self.add_copies(&mut actions);
        self.add_messages(&mut actions);
        self.add_storage(&mut actions);
        let restart_at_us = self.recovery.restart_at_us;
        actions.extend(restart_at_us.map(|at_us| (at_us, Action::Restart)));
        let deployment = self.recovery.deployment.as_ref();
        actions.extend(deployment.map(|deployment| (deployment.ready_us, Action::Deploy)));
        actions
    }

    /// By subtask: when barriers that overtake, or whose time to align is over, come before the next record; the end of
    /// time if there are none.
    fn urgent_us(&self, urgent: &[(u64, Action)]) -> Vec<u64> {
        let mut urgent_us = vec![u64::MAX; self.tasks.len()];
        for (at_us, action) in urgent {
            let subtask = match action {
                Action::AlignmentTimeout(subtask) => *subtask,
                Action::DeliverAhead(channel) => self.plan.channel(*channel).to,
                _ => continue,
            };
            let first_us = &mut urgent_us[subtask.index()];
            *first_us = (*first_us).min((*at_us).max(self.net.now_us));
        }
        urgent_us
    }

    /// Whether a record that is there at `ready_us` comes before the messages that wait for the subtask (Flink:
    /// `MailboxProcessor` runs the mails that are there before each default action, but not those that come meanwhile, so
    /// that messages without end cannot starve the records).
    pub(super) fn is_before_mails(&self, subtask: SubtaskId, ready_us: u64) -> bool {
        let turn_us = self.tasks[subtask.index()].turn_at(self.net.now_us);
        let first = self.net.to_task[subtask.index()].front();
        first.is_none_or(|(mail_us, _)| *mail_us > turn_us.max(ready_us))
    }

    /// A barrier that overtakes needs no credit.
    fn add_overtaking(&self, actions: &mut Vec<(u64, Action)>) {
        for (plan, channel) in self.plan.channels.iter().zip(&self.net.channels) {
            let task = &self.tasks[plan.to.index()];
            let is_open = task.is_up() && channel.blocked.is_none();
            if let Some(placed) = channel.first_overtaking().filter(|_| is_open) {
                let at_us = placed.ready_us.max(task.busy_until_us);
                actions.push((at_us, Action::DeliverAhead(plan.id)));
            }
        }
    }

    fn add_deliveries(
        &self,
        (credits, urgent_us): (&[bool], &[u64]),
        actions: &mut Vec<(u64, Action)>,
    ) {
        for (plan, channel) in self.plan.channels.iter().zip(&self.net.channels) {
            let Some((_, ready_us)) = channel.queue.front() else {
                continue;
            };
            let task = &self.tasks[plan.to.index()];
            let at_us = task.busy_until_us.max(*ready_us);
            let may_take = task.subtask.is_some()
                && channel.blocked.is_none()
                && credits[plan.to.index()]
                && (task.is_up() || channel.restored > 0);
            let is_first = self.is_before_mails(plan.to, *ready_us)
                && at_us.max(self.net.now_us) < urgent_us[plan.to.index()];
            if may_take && is_first {
                actions.push((at_us, Action::Deliver(plan.id)));
            }
        }
    }

    /// A mail runs between two records, never in the middle of one.
    fn add_mails(&self, actions: &mut Vec<(u64, Action)>) {
        for (plan, task) in self.plan.subtasks.iter().zip(&self.tasks) {
            if let Some((ready_us, _)) = self.net.to_task[plan.id.index()].front() {
                actions.push(((*ready_us).max(task.busy_until_us), Action::ToTask(plan.id)));
            }
        }
    }

    fn add_messages(&self, actions: &mut Vec<(u64, Action)>) {
        for plan in &self.plan.subtasks {
            if let Some((ready_us, _)) = self.net.to_coordinator[plan.id.index()].front() {
                actions.push((*ready_us, Action::ToCoordinator(plan.id)));
            }
        }
    }

    fn add_storage(&self, actions: &mut Vec<(u64, Action)>) {
        for (index, write) in self.net.writes.iter().enumerate() {
            if !write.task.is_recording {
                let at_us = write.ready_us.max(write.left_us);
                actions.push((at_us, Action::FinishWrite(index)));
            }
        }
        for (checkpoint, (ready_us, _)) in &self.net.finalizing {
            actions.push((*ready_us, Action::Finalize(*checkpoint)));
        }
        for (at_us, timer) in self.coordinator.timers() {
            actions.push((at_us, Action::Timer(timer)));
        }
    }
}
