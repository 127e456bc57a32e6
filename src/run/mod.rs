//! One run as a person has it: the engine on its own thread, its recording, a cursor, and the commands given so far.
//!
//! The window and the command line both hold a `Run`, so that what a class sees and what a test runs is the same.
//! The window calls [`Run::update`] once a frame and reads [`Run::view`]; neither ever waits for the engine.

pub mod workdir;

use crate::model::{BackendKind, CheckpointId, Command, JobGraph};
use crate::recording::{Recording, View};

/// How a run begins.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Instead of the job's own backend.
    pub backend: Option<BackendKind>,
    /// Instead of the job's own seed.
    pub seed: Option<u64>,
    /// The folder that CSV paths are relative to: that of the job file.
    pub base_dir: std::path::PathBuf,
}

/// What a person does to a run. None of these edits the job.
#[derive(Clone, Debug, PartialEq)]
pub enum RunAction {
    /// Let time pass.
    Play,
    Pause,
    /// One action of the engine forward (or, in the past, one recorded step).
    Step,
    /// To just before the current step. Exact.
    StepBack,
    /// To the next / previous event that concerns a barrier or a checkpoint.
    NextBarrierEvent,
    PreviousBarrierEvent,
    /// Move the cursor to this time, clamped to what is recorded.
    SeekUs(u64),
    /// Back to the newest recorded moment.
    SeekEnd,
    /// Virtual seconds per second, 0.05 ..= 20.
    SetSpeed(f32),
    /// A button: at the cursor. In the past it opens a branch there.
    Command(Command),
}

/// Why a run could not begin, or cannot go on: a sentence.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct RunError(pub String);

/// A run in progress.
pub struct Run {}

impl Run {
    /// Start `job` on a fresh engine, paused at its beginning. Refuses a job with problems.
    ///
    /// # Errors
    /// A sentence: the job has a problem, a CSV file cannot be read, or the temporary folder cannot be made.
    pub fn start(job: &JobGraph, options: RunOptions) -> Result<Self, RunError> {
        let _ = (job, options);
        todo!()
    }

    /// Start `job` from checkpoint `checkpoint` of `self`, on a fresh engine.
    ///
    /// # Errors
    /// A sentence: the backend cannot read that checkpoint, it is torn, or as for [`Run::start`].
    pub fn start_from(
        &self,
        job: &JobGraph,
        checkpoint: CheckpointId,
        options: RunOptions,
    ) -> Result<Self, RunError> {
        let _ = (job, checkpoint, options);
        todo!()
    }

    /// Once a frame: take over what the engine has recorded and, while playing, move the clock by `dt_s` (scaled by
    /// the speed). Returns whether the picture may still change by itself (then repaint).
    pub fn update(&mut self, dt_s: f32) -> bool {
        let _ = dt_s;
        todo!()
    }

    pub fn act(&mut self, action: RunAction) {
        let _ = action;
        todo!()
    }

    /// The state at the cursor.
    #[must_use]
    pub fn view(&self) -> &View {
        todo!()
    }

    /// Virtual time at the cursor: at least `view().at_us`, and before the next event. Tokens move by it.
    #[must_use]
    pub fn clock_us(&self) -> u64 {
        todo!()
    }

    #[must_use]
    pub fn recording(&self) -> &Recording {
        todo!()
    }

    #[must_use]
    pub fn is_playing(&self) -> bool {
        todo!()
    }

    #[must_use]
    pub fn speed(&self) -> f32 {
        todo!()
    }

    /// The cursor is at the newest recorded moment.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        todo!()
    }

    #[must_use]
    pub fn backend(&self) -> BackendKind {
        todo!()
    }

    /// How many branches were left behind by acting in the past.
    #[must_use]
    pub fn branches(&self) -> usize {
        todo!()
    }

    /// The folder of a file-system checkpoint storage.
    #[must_use]
    pub fn storage_dir(&self) -> Option<&std::path::Path> {
        todo!()
    }

    /// A message that the last action left for the person (a refused command, a torn checkpoint); cleared by the
    /// next action.
    #[must_use]
    pub fn notice(&self) -> Option<&str> {
        todo!()
    }
}
