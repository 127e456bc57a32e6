//! Whether a live job still goes on: one that waits for what will never come would wait for ever.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::JobManager;
use super::wire::Meter;
use crate::engine::plan::SubtaskPlan;
use crate::model::OperatorSpec;

/// When the job last showed that it lives: by a report, or by records that were read or processed.
pub struct Life {
    pub since: Instant,
    records: u64,
}

impl Life {
    pub fn new(meters: &[Meter]) -> Self {
        let count = |meter: &Meter| {
            meter.emitted.load(Ordering::Relaxed) + meter.processed.load(Ordering::Relaxed)
        };
        Self {
            since: Instant::now(),
            records: meters.iter().map(count).sum(),
        }
    }

    pub fn look(&mut self, meters: &[Meter]) {
        let now = Self::new(meters);
        if now.records != self.records {
            *self = now;
        }
    }
}

impl JobManager<'_> {
    /// Whether a clock, a command or a source may yet bring something about.
    pub(super) fn is_anything_coming(&self) -> bool {
        let is_reading = |subtask: &SubtaskPlan| {
            matches!(subtask.operator, OperatorSpec::Source(_))
                && !self.coordinator.has_ended(subtask.id)
        };
        self.coordinator.timers().next().is_some()
            || !self.late_news.is_empty()
            || self.is_command_coming()
            || self.plan.subtasks.iter().any(is_reading)
    }
}
