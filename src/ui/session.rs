//! A run as the window holds it: the run itself, and what is gathered from it for drawing.

use std::path::PathBuf;

use crate::model::{BackendKind, CheckpointId, JobGraph};
use crate::recording::Ledger;
use crate::run::{Run, RunError, RunOptions};

use super::scene::Scene;
use super::timeline::index::TimelineIndex;

pub struct Session {
    pub run: Run,
    pub index: TimelineIndex,
    /// The ledger and sentence of a position, kept until the cursor moves.
    facts: Option<(Moment, Ledger, String)>,
}

/// What identifies a moment of the run: position, and branch.
type Moment = (usize, usize);

impl Session {
    /// Start `job` afresh.
    ///
    /// # Errors
    /// Why it cannot run, as a sentence.
    pub fn start(
        job: &JobGraph,
        base_dir: PathBuf,
        backend: Option<BackendKind>,
    ) -> Result<Self, RunError> {
        let options = RunOptions {
            backend,
            base_dir,
            ..RunOptions::default()
        };
        Ok(Self::of(Run::start(job, options)?))
    }

    /// Start the same job on `backend`, from checkpoint `from` of this run if given.
    ///
    /// # Errors
    /// Why it cannot, as a sentence.
    pub fn restart_on(
        &self,
        backend: BackendKind,
        from: Option<CheckpointId>,
        base_dir: PathBuf,
    ) -> Result<Self, RunError> {
        let job = self.run.recording().job.clone();
        let options = RunOptions {
            backend: Some(backend),
            base_dir,
            ..RunOptions::default()
        };
        let run = match from {
            Some(checkpoint) => self.run.start_from(&job, checkpoint, options)?,
            None => Run::start(&job, options)?,
        };
        Ok(Self::of(run))
    }

    fn of(run: Run) -> Self {
        Self {
            run,
            index: TimelineIndex::default(),
            facts: None,
        }
    }

    /// Once a frame. Returns whether the picture may still change by itself.
    pub fn update(&mut self, dt_s: f32) -> bool {
        let is_moving = self.run.update(dt_s);
        self.index
            .update(self.run.recording().events(), self.run.branches());
        let moment = (self.run.view().position, self.run.branches());
        if self
            .facts
            .as_ref()
            .is_none_or(|(known, ..)| *known != moment)
        {
            let recording = self.run.recording();
            let ledger = recording.ledger(self.run.view());
            let sentence = match moment.0.checked_sub(1) {
                Some(last) => recording.sentence(last),
                None => "Nothing has happened yet.".to_owned(),
            };
            self.facts = Some((moment, ledger, sentence));
        }
        is_moving
    }

    #[must_use]
    pub fn scene(&self) -> Scene<'_> {
        let recording = self.run.recording();
        Scene {
            job: &recording.job,
            plan: &recording.plan,
            view: self.run.view(),
            clock_us: self.run.clock_us(),
        }
    }

    #[must_use]
    pub fn ledger(&self) -> Option<&Ledger> {
        self.facts.as_ref().map(|(_, ledger, _)| ledger)
    }

    /// What just happened, or what the last action had to say.
    #[must_use]
    pub fn sentence(&self) -> &str {
        let recorded = || self.facts.as_ref().map_or("", |(.., sentence)| sentence);
        self.run.notice().unwrap_or_else(recorded)
    }

    /// Checkpoints that can be restored, newest first.
    #[must_use]
    pub fn restorable(&self) -> Vec<CheckpointId> {
        let checkpoints = self.run.view().checkpoints.values().rev();
        checkpoints
            .filter(|checkpoint| checkpoint.retained)
            .map(|checkpoint| checkpoint.id)
            .collect()
    }
}
