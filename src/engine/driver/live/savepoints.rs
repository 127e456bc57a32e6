//! Savepoints of a live job, and jobs that end with one. The rules are in the stepper's `savepoints.rs`.

use super::JobManager;
use super::attempt::Attempt;
use crate::engine::driver::places::{AfterSavepoint, savepoint_name};
use crate::engine::driver::rng::SplitMix64;
use crate::engine::event::{CheckpointKind, EventKind, JobStatus};
use crate::model::CheckpointId;

impl JobManager<'_> {
    pub(super) fn end_with_savepoint(
        &mut self,
        kind: CheckpointKind,
        after: AfterSavepoint,
        attempt: Option<&Attempt<'_>>,
    ) {
        self.coordinator.stop_scheduler();
        self.obey(attempt);
        self.after_savepoint = Some(after);
        let now_us = self.now_us();
        self.coordinator.request(kind, now_us);
    }

    pub(super) fn savepoint_name(&mut self) -> String {
        let job = SplitMix64(self.job.config.seed).next();
        savepoint_name(job, self.rng.next())
    }

    /// A savepoint has come about; none: it has not, and the job goes on.
    pub(super) fn savepoint_decided(&mut self, complete: Option<CheckpointId>) {
        let Some(checkpoint) = complete else {
            if self.after_savepoint.take().is_some() && self.status == JobStatus::Running {
                self.coordinator.start_scheduler(self.now_us(), None);
            }
            return;
        };
        let name = self.places.name_of(checkpoint).unwrap_or_default();
        self.record(EventKind::SavepointStored {
            checkpoint,
            name: name.clone(),
        });
        match &mut self.after_savepoint {
            None => {}
            Some(AfterSavepoint::Finish { stored }) => *stored = Some(name),
            Some(AfterSavepoint::Cancel) => self.set_status(JobStatus::Canceled),
        }
    }
}
