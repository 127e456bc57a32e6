//! Savepoints, and jobs that end with one.
//!
//! Stop-with-savepoint (Flink: `SchedulerBase.stopWithSavepoint`): the periodic scheduler is stopped, and with it all
//! that is pending; the sources stop reading; the savepoint is synchronous, so each subtask processes nothing more
//! after its snapshot; its completion is told to all, and they finish. If it fails, the job goes on.
//! Cancel-with-savepoint takes a plain savepoint, and cancels the job once it is there: what comes in between is
//! processed, and is not in it.

use super::Stepper;
use crate::engine::driver::places::{AfterSavepoint, savepoint_name};
use crate::engine::driver::rng::SplitMix64;
use crate::engine::event::{CheckpointKind, EventKind, JobStatus};
use crate::model::CheckpointId;

impl Stepper {
    pub(super) fn end_with_savepoint(&mut self, kind: CheckpointKind, after: AfterSavepoint) {
        self.coordinator.stop_scheduler();
        self.obey();
        self.after_savepoint = Some(after);
        self.request(kind);
    }

    /// Make a place for a checkpoint. A savepoint gets a name of its own, from the run's seed.
    pub(super) fn make_place(&mut self, checkpoint: CheckpointId, kind: CheckpointKind) -> bool {
        let name = kind.is_savepoint().then(|| {
            let job = SplitMix64(self.job.config.seed).next();
            savepoint_name(job, self.rng.next())
        });
        let failure = self.places.begin(checkpoint, name.as_deref());
        let is_made = failure.is_none();
        failure.into_iter().for_each(|event| self.net.record(event));
        is_made
    }

    pub(super) fn savepoint_decided(&mut self, checkpoint: Option<CheckpointId>, complete: bool) {
        match checkpoint.filter(|_| complete) {
            Some(checkpoint) => self.savepoint_complete(checkpoint),
            None => self.savepoint_failed(),
        }
    }

    fn savepoint_complete(&mut self, checkpoint: CheckpointId) {
        let name = self.places.name_of(checkpoint).unwrap_or_default();
        self.net.record(EventKind::SavepointStored {
            checkpoint,
            name: name.clone(),
        });
        match &mut self.after_savepoint {
            None => {}
            Some(AfterSavepoint::Finish { stored }) => *stored = Some(name),
            Some(AfterSavepoint::Cancel) => self.end_job(JobStatus::Canceled),
        }
    }

    /// The job goes on, with periodic checkpoints again.
    fn savepoint_failed(&mut self) {
        if self.after_savepoint.take().is_some() {
            self.start_scheduler(None);
        }
    }

    /// Something failed. If the job was to end with a savepoint that is already there, all of it begins again, and the
    /// cause names the savepoint (Flink: `StopWithSavepointStoppingException`).
    pub(super) fn note_failed_stop(&mut self, is_global: bool, cause: &str) -> (bool, String) {
        let stopping = self.after_savepoint.take();
        match stopping.and_then(|stopping| stopping.cause_of(cause)) {
            Some(cause) => (true, cause),
            None => (is_global, cause.to_owned()),
        }
    }
}
