//! One run as a person has it: the engine on its own thread, its recording, a cursor, and the commands given so far.
//!
//! The window and the command line both hold a `Run`, so that what a class sees and what a test runs is the same.
//! The window calls [`Run::update`] once a frame and reads [`Run::view`]; neither ever waits for the engine.

mod branch;
mod cursor;
mod facts;
mod home;
mod keep;
mod look;
mod session;
mod start;
pub mod workdir;
mod worker;
pub mod xray;

use std::path::PathBuf;
use std::sync::Arc;

use crate::engine::event::EventKind;
use crate::model::{BackendKind, CheckpointId, ClaimMode, Command, JobGraph};
use crate::recording::{Recording, View};
use branch::Branch;
pub use branch::BranchTimes;
use cursor::Cursor;
pub use look::{Ability, OperatorLook, SnapshotLook, fits};
pub use session::Blueprint;
use session::Given;
use start::Start;
use worker::{News, Request, Worker};
use xray::{FileRef, LookedInto, Looks, StorageLook};

/// A recording that grows beyond this pauses: about an hour of a lively job, some hundred megabytes.
const MAX_EVENTS: usize = 2_000_000;

/// While the engine answers, time goes on; if it takes longer than this, it does not catch up.
const MAX_OWED_US: u64 = 2_000_000;

/// How a run begins.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Instead of the job's own backend.
    pub backend: Option<BackendKind>,
    /// Instead of the job's own seed.
    pub seed: Option<u64>,
    /// The folder that CSV paths are relative to: that of the job file.
    pub base_dir: PathBuf,
    /// The savepoint or retained checkpoint to start from, if any: its folder, or its `_metadata` file.
    pub start: Option<PathBuf>,
    /// To whom that belongs from now on.
    pub claim: ClaimMode,
    /// Leave out state of operators that the job does not have (Flink: `--allowNonRestoredState`).
    pub allow_non_restored_state: bool,
    /// Look again and again at where the state really lies: see [`Run::look`].
    pub takes_looks: bool,
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
    /// To the next event that concerns a barrier or a checkpoint; at the end, let the job run until there is one.
    NextBarrierEvent,
    /// To the previous such event.
    PreviousBarrierEvent,
    /// Move the cursor to this time, clamped to what is recorded.
    SeekUs(u64),
    /// Move the cursor to just after this many events.
    SeekPosition(usize),
    /// Back to the newest recorded moment.
    SeekEnd,
    /// Virtual seconds per second, 0.05 ..= 20.
    SetSpeed(f32),
    /// A button: at the cursor. In the past it opens a branch there.
    Command(Command),
    /// Go to the branch of this index (see [`Run::branches`]); the present one is kept in its place.
    SwitchBranch(usize),
}

/// Why a run could not begin, or cannot go on: a sentence.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct RunError(pub String);

/// A run in progress.
pub struct Run {
    blueprint: Blueprint,
    worker: Worker,
    recording: Recording,
    cursor: Cursor,
    branches: Vec<Branch>,
    is_playing: bool,
    speed: f32,
    /// Virtual time that has passed and is not yet shown.
    owed_us: u64,
    /// What the engine last said.
    reached_us: u64,
    next_at_us: Option<u64>,
    served: u64,
    /// How often it was told to begin again.
    generation: u64,
    given: Vec<Given>,
    storage_dir: Option<PathBuf>,
    looks: Looks,
    /// How it is at the newest recorded moment.
    present: Option<StorageLook>,
    looked_into: Option<Arc<LookedInto>>,
    /// What was asked for last, and after how many events.
    asked_for: Option<(FileRef, usize)>,
    error: Option<RunError>,
    notice: Option<String>,
}

impl Run {
    /// Start `job` on a fresh engine, paused at its beginning. Refuses a job with problems. What needs a disk happens
    /// on the engine's thread; if that fails, [`Run::error`] says so.
    ///
    /// # Errors
    /// A sentence: the job has a problem.
    pub fn start(job: &JobGraph, options: &RunOptions) -> Result<Self, RunError> {
        Self::with_blueprint(Blueprint::new(job, options, None)?)
    }

    /// Start `job` from checkpoint or savepoint `checkpoint` of `self`, on a fresh engine.
    ///
    /// # Errors
    /// A sentence: the job has a problem. A checkpoint that cannot be read is told by [`Run::error`].
    pub fn start_from(
        &self,
        job: &JobGraph,
        checkpoint: CheckpointId,
        options: &RunOptions,
    ) -> Result<Self, RunError> {
        let home = self.worker.read().progress.home.clone();
        let started_here = self
            .blueprint
            .start
            .as_ref()
            .filter(|start| start.checkpoint == checkpoint);
        let start = match (started_here, self.savepoint_path(checkpoint), home) {
            (Some(start), _, _) => start.clone(),
            (None, Some(path), _) => Start::from_folder(&path, options)?,
            (None, None, Some(home)) => Start::from_run(home, checkpoint, options),
            (None, None, None) => {
                return Err(RunError("This run has no checkpoint yet.".to_owned()));
            }
        };
        Self::with_blueprint(Blueprint::new(job, options, Some(start))?)
    }

    fn with_blueprint(blueprint: Blueprint) -> Result<Self, RunError> {
        let worker = Worker::start(blueprint.clone())?;
        let recording = Recording::new(blueprint.job.clone(), blueprint.plan.clone());
        Ok(Self {
            cursor: Cursor::at(&recording, 0),
            blueprint,
            worker,
            recording,
            branches: Vec::new(),
            is_playing: false,
            speed: 1.0,
            owed_us: 0,
            reached_us: 0,
            next_at_us: Some(0),
            served: 0,
            generation: 0,
            given: Vec::new(),
            storage_dir: None,
            looks: Looks::default(),
            present: None,
            looked_into: None,
            asked_for: None,
            error: None,
            notice: None,
        })
    }

    /// Once a frame: take over what the engine has recorded and, while playing, move the clock by `dt_s` (scaled by
    /// the speed). Returns whether the picture may still change by itself (then repaint).
    pub fn update(&mut self, dt_s: f32) -> bool {
        self.take_over();
        if self.is_playing {
            self.play(dt_s);
        }
        self.is_playing || self.owes_an_answer()
    }

    /// Whether the engine still owes an answer.
    #[must_use]
    pub fn owes_an_answer(&self) -> bool {
        let starting = self.recording.events().is_empty();
        self.error.is_none() && (starting || self.served < self.worker.sent)
    }

    fn take_over(&mut self) {
        let shared = self.worker.try_read();
        let news = shared.map(|mut shared| News::take(&mut shared, self.generation));
        if let Some(news) = news {
            self.adopt(news);
        }
    }

    fn adopt(&mut self, news: News) {
        self.error = news.error;
        if self.error.is_none() && !self.worker.is_alive() {
            let text = "The engine stopped unexpectedly. Start a new run; this one can still be looked at.";
            self.error = Some(RunError(text.to_owned()));
        }
        self.is_playing &= self.error.is_none();
        let Some(progress) = news.progress else {
            return;
        };
        let follows = self.is_at_end();
        for event in progress.events {
            self.note(&event.kind);
            self.recording.append(event);
        }
        for look in progress.looks {
            self.looks.push(look, self.recording.events());
        }
        self.present = progress.present;
        self.looked_into = progress.looked_into;
        self.served = progress.served;
        self.reached_us = progress.reached_us;
        self.next_at_us = progress.next_at_us;
        self.given = progress.given;
        self.storage_dir = progress.home.and_then(|home| home.storage_dir.clone());
        if follows {
            self.cursor.follow(&self.recording, self.reached_us);
        }
    }

    /// A refusal is told to whoever asked.
    fn note(&mut self, event: &EventKind) {
        match event {
            EventKind::CommandRefused { reason, .. }
            | EventKind::SnapshotFailed { reason, .. }
            | EventKind::StorageFailed { reason, .. }
            | EventKind::SharedDiscardFailed { reason }
            | EventKind::DiscardFailed { reason, .. } => {
                self.notice = Some(reason.clone());
            }
            EventKind::TriggerRejected { reason, .. } => {
                self.notice = Some(format!("No checkpoint was taken. {}", reason.sentence()));
            }
            _ => {}
        }
    }

    fn play(&mut self, dt_s: f32) {
        if self.recording.events().len() >= MAX_EVENTS {
            self.is_playing = false;
            self.notice = Some("The recording is full. Start a new run to go on.".to_owned());
            return;
        }
        // An engine that is still starting has not said yet when its first thing is due.
        let is_answered = !self.recording.events().is_empty() && self.served == self.worker.sent;
        if self.is_at_end() && is_answered && self.is_quiet() {
            self.is_playing = false;
            return;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float-to-integer cast saturates; a frame is short and positive"
        )]
        let passed_us = (f64::from(dt_s) * f64::from(self.speed) * 1e6).max(0.0) as u64;
        self.owed_us = (self.owed_us + passed_us).min(MAX_OWED_US);
        if self.is_at_end() && !is_answered {
            return;
        }
        let clock_us = self.cursor.clock_us() + std::mem::take(&mut self.owed_us);
        self.cursor
            .move_to_time(&self.recording, clock_us.min(self.reached_us));
        if clock_us > self.reached_us {
            self.worker.request(Request::Advance { until_us: clock_us });
        }
    }

    pub fn act(&mut self, action: RunAction) {
        self.notice = None;
        self.owed_us = 0;
        let position = self.cursor.view().position;
        match action {
            RunAction::Play => self.is_playing = self.error.is_none(),
            RunAction::Pause => self.is_playing = false,
            RunAction::Step => self.step(),
            RunAction::StepBack => self.pause_at(self.recording.before_step(position)),
            RunAction::NextBarrierEvent => {
                if let Some(next) = self.recording.next_barrier_event(position) {
                    self.pause_at(next);
                } else {
                    self.pause_at(self.recording.events().len());
                    self.ask_once(Request::NextBarrierEvent);
                }
            }
            RunAction::PreviousBarrierEvent => {
                if let Some(previous) = self.recording.previous_barrier_event(position) {
                    self.pause_at(previous);
                }
            }
            RunAction::SeekUs(at_us) => {
                self.is_playing = false;
                let at_us = at_us.min(self.reached_us);
                self.cursor.jump_to_time(&self.recording, at_us);
            }
            RunAction::SeekPosition(position) => self.pause_at(position),
            RunAction::SeekEnd => self.cursor.follow(&self.recording, self.reached_us),
            RunAction::SetSpeed(speed) if speed.is_finite() => self.speed = speed.clamp(0.05, 20.0),
            RunAction::SetSpeed(_) => {}
            RunAction::Command(command) => self.command(command),
            RunAction::SwitchBranch(index) => self.switch_branch(index),
        }
    }

    fn pause_at(&mut self, position: usize) {
        self.is_playing = false;
        self.cursor = Cursor::at(&self.recording, position);
    }

    fn step(&mut self) {
        self.is_playing = false;
        if self.is_at_end() {
            self.ask_once(Request::Step);
        } else {
            let position = self.recording.after_step(self.cursor.view().position);
            self.cursor = Cursor::at(&self.recording, position);
        }
    }

    /// Ask, unless the engine still owes an answer.
    fn ask_once(&mut self, request: Request) {
        if self.served == self.worker.sent {
            self.worker.request(request);
        }
    }

    fn command(&mut self, command: Command) {
        if self.error.is_some() {
            return;
        }
        let at_us = self.cursor.clock_us();
        if self.is_at_end() || self.branch() {
            self.worker.request(Request::Command { at_us, command });
        }
    }

    /// Let the job run until nothing can happen any more, or until `until_us`, waiting for it: not for a window.
    /// `progress` is called now and then.
    ///
    /// # Errors
    /// The engine could not begin or stopped, or the recording is full before the job has ended.
    pub fn finish(
        &mut self,
        until_us: Option<u64>,
        mut progress: impl FnMut(&View),
    ) -> Result<(), RunError> {
        loop {
            self.worker.wait();
            let news = News::take(&mut self.worker.read(), self.generation);
            self.adopt(news);
            if let Some(error) = &self.error {
                return Err(error.clone());
            }
            progress(self.recording.head());
            let done = until_us.is_some_and(|until_us| self.reached_us >= until_us);
            if self.is_quiet() || done {
                self.act(RunAction::SeekEnd);
                return Ok(());
            }
            if self.recording.events().len() >= MAX_EVENTS {
                return Err(self.full());
            }
            let soon_us = self.reached_us.saturating_add(1_000_000);
            let horizon_us = soon_us.max(self.next_at_us.unwrap_or(0));
            let until_us = horizon_us.min(until_us.unwrap_or(u64::MAX));
            self.worker.request(Request::Advance { until_us });
        }
    }

    fn full(&self) -> RunError {
        RunError(format!(
            "The recording is full: {} events, and after {} ms of virtual time the job has not ended. Run it for \
             a shorter time, or give its sources fewer records.",
            self.recording.events().len(),
            self.reached_us / 1000
        ))
    }
}
