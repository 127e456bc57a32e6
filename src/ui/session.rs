//! A run as the window holds it: the run itself, and what is gathered from it for drawing.

use std::path::PathBuf;

use crate::engine::event::JobStatus;
use crate::model::{BackendKind, CheckpointId, JobGraph, Origin};
use crate::recording::Ledger;
use crate::run::{Run, RunAction, RunError, RunOptions};

use super::scene::Scene;
use super::timeline::index::TimelineIndex;

pub struct Session {
    pub run: Run,
    pub index: TimelineIndex,
    /// Counts the changes of branch: two recordings of the same length may differ.
    history: usize,
    facts: Option<Facts>,
    /// Since the facts were gathered.
    age_s: f32,
}

/// What is gathered from a recording at one moment, kept until the cursor moves.
struct Facts {
    /// Position, and branch.
    moment: (usize, usize),
    ledger: Ledger,
    /// Where only a part of the job is down: of what restarts, and of the others.
    parts: Option<[Ledger; 2]>,
    /// The first records that count more than once.
    twice: Vec<Origin>,
}

/// So many records that count twice are called by their names.
const NAMED: usize = 12;

/// While playing, the ledger is as old as this at most.
const LEDGER_S: f32 = 0.15;

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
        Self::with(job, &options)
    }

    /// Start `job` as `options` say.
    ///
    /// # Errors
    /// Why it cannot run, as a sentence.
    pub fn with(job: &JobGraph, options: &RunOptions) -> Result<Self, RunError> {
        let options = RunOptions {
            takes_looks: true,
            ..options.clone()
        };
        Ok(Self::of(Run::start(job, &options)?))
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
            takes_looks: true,
            ..RunOptions::default()
        };
        let run = match from {
            Some(checkpoint) => self.run.start_from(&job, checkpoint, &options)?,
            None => Run::start(&job, &options)?,
        };
        Ok(Self::of(run))
    }

    fn of(run: Run) -> Self {
        Self {
            run,
            index: TimelineIndex::default(),
            history: 0,
            facts: None,
            age_s: LEDGER_S,
        }
    }

    /// Once a frame. Returns whether the picture may still change by itself.
    pub fn update(&mut self, dt_s: f32) -> bool {
        let is_moving = self.run.update(dt_s);
        self.index
            .update(self.run.recording().events(), self.history);
        self.age_s += dt_s;
        let moment = (self.run.view().position, self.history);
        let is_known = self
            .facts
            .as_ref()
            .is_some_and(|facts| facts.moment == moment);
        // The ledger looks at every record: while playing, a few times a second are enough.
        if !is_known && (!self.run.is_playing() || self.age_s > LEDGER_S) {
            self.age_s = 0.0;
            let (recording, view) = (self.run.recording(), self.run.view());
            let ledger = recording.ledger(view);
            let is_doubled = ledger.state.is_some_and(|tally| tally.more > 0);
            let twice = if is_doubled {
                recording.counted_twice(view, NAMED)
            } else {
                Vec::new()
            };
            let down = self.scene().down_region();
            let of = |is_down: bool| recording.ledger_of(view, &|id| down.contains(&id) == is_down);
            let parts = (!down.is_empty()).then(|| [of(true), of(false)]);
            self.facts = Some(Facts {
                moment,
                ledger,
                parts,
                twice,
            });
        }
        is_moving
    }

    /// Stand still, and leave what the last action had to say.
    pub fn pause(&mut self) {
        if self.run.is_playing() {
            self.run.act(RunAction::Pause);
        }
    }

    /// Carry out `action`.
    pub fn act(&mut self, action: RunAction) {
        let (branches, is_switch) = (
            self.run.branches().len(),
            matches!(action, RunAction::SwitchBranch(_)),
        );
        self.run.act(action);
        if is_switch || self.run.branches().len() != branches {
            self.history += 1;
        }
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
    pub fn ledger(&self) -> Ledger {
        self.facts
            .as_ref()
            .map(|facts| facts.ledger)
            .unwrap_or_default()
    }

    /// Where only a part of the job is down: the ledgers of what restarts, and of the others.
    #[must_use]
    pub fn parts(&self) -> Option<[Ledger; 2]> {
        self.facts.as_ref().and_then(|facts| facts.parts)
    }

    /// The first source records that count more than once.
    #[must_use]
    pub fn twice(&self) -> &[Origin] {
        self.facts.as_ref().map_or(&[], |facts| &facts.twice)
    }

    /// What just happened, or what the last action had to say.
    #[must_use]
    pub fn sentence(&self) -> String {
        if let Some(error) = self.run.error() {
            return error.to_string();
        }
        if let Some(notice) = self.run.notice() {
            return notice.to_owned();
        }
        if self.is_restoring_in_pause() {
            return "Restoring: press Space to go on.".to_owned();
        }
        match self.run.view().position.checked_sub(1) {
            Some(last) => self.run.recording().sentence(last),
            None => "Nothing has happened yet.".to_owned(),
        }
    }

    /// A restore takes its time, and time stands still.
    fn is_restoring_in_pause(&self) -> bool {
        let status = &self.run.view().job;
        let is_restoring = matches!(status, JobStatus::Restoring { .. });
        is_restoring && self.run.is_at_end() && !self.run.is_playing()
    }

    /// Checkpoints that can be restored, newest first.
    #[must_use]
    pub fn restorable(&self) -> Vec<CheckpointId> {
        self.run.view().store.iter().rev().copied().collect()
    }
}
