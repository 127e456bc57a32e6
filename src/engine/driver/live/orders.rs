//! What the coordinator orders, done on threads.

use super::attempt::Attempt;
use super::wire::Control;
use super::{JobManager, LateNews};
use crate::engine::coordinator::{Order, Timer};
use crate::engine::driver::places::discard_failed;
use crate::engine::event::{EventKind, JobStatus, Outcome};
use crate::engine::operator::Source;
use crate::engine::storage::CheckpointMetadata;
use crate::model::{CheckpointId, FaultKind, SubtaskId};

impl JobManager<'_> {
    /// The coordinator's clock, and news that a fault has delayed.
    pub(super) fn timers(&mut self, attempt: &Attempt<'_>) {
        let now_us = self.now_us();
        let timers = self.coordinator.timers();
        let due: Vec<Timer> = timers
            .filter(|(at_us, _)| *at_us <= now_us)
            .map(|(_, timer)| timer)
            .collect();
        for timer in due {
            self.coordinator.on_timer(timer, now_us);
        }
        let late = std::mem::take(&mut self.late_news);
        let (due, later): (Vec<LateNews>, Vec<LateNews>) =
            late.into_iter().partition(|news| news.at_us <= now_us);
        self.late_news = later;
        for news in due {
            attempt.tell(news.subtask, news.control);
        }
    }

    /// Do what the coordinator ordered, until it has no more to say. Without an attempt the job is down, and there is
    /// nobody to tell.
    pub(super) fn obey(&mut self, attempt: Option<&Attempt<'_>>) {
        loop {
            for fault in self.faults.take_struck() {
                self.record(EventKind::FaultStruck { fault });
            }
            let orders = self.coordinator.take_orders();
            if orders.is_empty() {
                return;
            }
            for order in orders {
                self.obey_one(order, attempt);
            }
        }
    }

    fn obey_one(&mut self, order: Order, attempt: Option<&Attempt<'_>>) {
        match order {
            Order::Begin { checkpoint, kind } => {
                let name = kind.is_savepoint().then(|| self.savepoint_name());
                let failure = self.places.begin(checkpoint, name.as_deref());
                let is_made = failure.is_none();
                failure.into_iter().for_each(|event| self.record(event));
                let now_us = self.now_us();
                self.coordinator.on_location(checkpoint, is_made, now_us);
            }
            Order::Trigger { subtask, barrier } => {
                self.tell(attempt, subtask, Control::Trigger(barrier));
            }
            Order::NotifyComplete {
                subtask,
                checkpoint,
            } => {
                let news = (checkpoint, Outcome::Completed);
                self.notify(attempt, subtask, (Control::Complete(checkpoint), news));
            }
            Order::NotifyAborted {
                subtask,
                checkpoint,
                latest,
            } => {
                let news = (checkpoint, Outcome::Aborted);
                let control = Control::Aborted { checkpoint, latest };
                self.notify(attempt, subtask, (control, news));
            }
            Order::WriteMetadata(metadata) => self.write_metadata(&metadata),
            Order::Discard(checkpoint) => self.discard(checkpoint),
            Order::RetainShared { keep, before } => {
                let failure = self.places.retain_shared(&keep, before);
                failure.into_iter().for_each(|event| self.record(event));
            }
            Order::DiscardStart => {
                if let Some(start) = &self.resources.start {
                    let id = start.checkpoint;
                    if let Err(error) = start.storage.discard(id) {
                        self.record(discard_failed(id, &error));
                    }
                }
            }
            Order::SavepointDecided {
                checkpoint,
                is_complete,
                ..
            } => self.savepoint_decided(checkpoint.filter(|_| is_complete)),
            Order::FailJob { cause, .. } => self.fail(&cause),
            Order::Record(event) => self.record(event),
        }
    }

    pub(super) fn discard(&mut self, checkpoint: CheckpointId) {
        if let Some(event) = self.places.discard(checkpoint) {
            self.record(event);
        }
    }

    pub(super) fn tell(
        &mut self,
        attempt: Option<&Attempt<'_>>,
        subtask: SubtaskId,
        control: Control,
    ) {
        let told = attempt.is_none_or(|attempt| attempt.tell(subtask, control));
        if !told && self.status == JobStatus::Running {
            let name = self.plan.subtask_name(subtask);
            self.fail(&format!("{name} does not answer."));
        }
    }

    /// The same for news of a checkpoint's fate, which a fault may lose or delay.
    fn notify(
        &mut self,
        attempt: Option<&Attempt<'_>>,
        subtask: SubtaskId,
        (control, (checkpoint, outcome)): (Control, (CheckpointId, Outcome)),
    ) {
        let is_meant = |kind| {
            matches!(
                kind,
                FaultKind::LoseNotification | FaultKind::DelayNotification { .. }
            )
        };
        match self.faults.strike(Some(subtask), is_meant) {
            None => self.tell(attempt, subtask, control),
            Some(FaultKind::DelayNotification { by_ms }) => {
                let at_us = self.now_us().saturating_add(by_ms.saturating_mul(1000));
                self.late_news.push(LateNews {
                    at_us,
                    subtask,
                    control,
                });
            }
            Some(_) => self.record(EventKind::NotificationLost {
                subtask,
                checkpoint,
                outcome,
            }),
        }
    }

    fn write_metadata(&mut self, metadata: &CheckpointMetadata) {
        let checkpoint = metadata.checkpoint;
        let is_meant = |kind| kind == FaultKind::Metadata;
        let written = if self.faults.strike(None, is_meant).is_some() {
            false
        } else {
            let failure = self.places.write_metadata(metadata);
            let is_written = failure.is_none();
            failure.into_iter().for_each(|event| self.record(event));
            is_written
        };
        if written {
            let offsets = self.source_offsets(metadata);
            self.offsets.push((checkpoint, offsets));
        }
        let now_us = self.now_us();
        self.coordinator.on_metadata(checkpoint, written, now_us);
    }

    fn source_offsets(&self, metadata: &CheckpointMetadata) -> Vec<(SubtaskId, u64)> {
        let states = metadata.operators.iter().flat_map(|operator| {
            self.plan
                .subtasks_of(&operator.uid)
                .into_iter()
                .zip(&operator.subtasks)
        });
        states
            .filter_map(|(id, state)| {
                let list = state.lists.iter().find(|list| list.name == Source::LIST)?;
                let elements = list.elements.iter();
                let offsets = elements.filter_map(|element| Source::read_element(element));
                Some((id, offsets.map(|(_, offset)| offset).sum()))
            })
            .collect()
    }
}
