//! Carries out commands about runs: begin one, leave it, come back to it, act in it.
//!
//! A run is given up only for one that is up: until then the old one is kept, and a start that fails goes back to it.

use std::path::PathBuf;

use crate::model::{BackendKind, CheckpointId, ClaimMode, Command, JobGraph, Position, SubtaskId};
use crate::run::{RunAction, RunError, RunOptions};

use super::app::LockgateApp;
use super::canvas::run::RunCanvas;
use super::command::{Dialog, Selection, UiCommand};
use super::document::EditSite;
use super::session::Session;

/// A run that was left for editing, exactly as it was left.
pub(super) struct Parked {
    session: Session,
    selection: Selection,
    /// The job then, positions aside.
    job: JobGraph,
}

/// What was there before the present run; kept until that is up.
pub(super) struct Previous {
    /// None: editing.
    session: Option<Session>,
    selection: Selection,
    canvas: RunCanvas,
}

impl LockgateApp {
    pub(super) fn apply_to_runs(&mut self, ctx: &egui::Context, command: UiCommand) {
        match command {
            UiCommand::StartRun => self.start_run(),
            UiCommand::RunFrom {
                path,
                claim,
                allow_non_restored_state,
            } => self.run_from(path, claim, allow_non_restored_state),
            UiCommand::RunAgain => self.run_again(),
            UiCommand::LeaveRun => self.park(),
            UiCommand::BackToRun => self.back_to_run(),
            UiCommand::RestartOn { backend, from } => self.restart_on(backend, from),
            UiCommand::ChooseBackend(backend) => {
                self.choose_backend(ctx.input(|input| input.time), backend);
            }
            other => debug_assert!(false, "{other:?} is not about runs"),
        }
        ctx.request_repaint();
    }

    /// The folder that the job's CSV paths are relative to.
    fn base_dir(&self) -> PathBuf {
        match (self.document.path(), &self.sample_dir) {
            (Some(path), _) => crate::project::base_dir(path),
            (None, Some(folder)) => folder.path().to_owned(),
            (None, None) => PathBuf::new(),
        }
    }

    fn start_run(&mut self) {
        if self.is_running() || !self.document.problems().is_empty() {
            return;
        }
        let started = Session::start(self.document.job(), self.base_dir(), None);
        self.begin(started);
    }

    /// The job on the canvas takes the place of a run, if there is one.
    fn run_from(&mut self, path: PathBuf, claim: ClaimMode, allow_non_restored_state: bool) {
        self.dialog = None;
        if !self.document.problems().is_empty() {
            let text = "The job has problems: mend them first.".to_owned();
            return self.complain("The run does not start", text);
        }
        let options = RunOptions {
            base_dir: self.base_dir(),
            start: Some(path),
            claim,
            allow_non_restored_state,
            ..RunOptions::default()
        };
        let started = Session::with(self.document.job(), &options);
        self.begin(started);
    }

    fn run_again(&mut self) {
        if let Some(session) = &self.session {
            self.restart_on(session.run.backend(), None);
        }
    }

    fn restart_on(&mut self, backend: BackendKind, from: Option<CheckpointId>) {
        self.dialog = None;
        let Some(session) = &self.session else { return };
        let started = session.restart_on(backend, from, self.base_dir());
        self.begin(started);
    }

    fn begin(&mut self, started: Result<Session, RunError>) {
        match started {
            Ok(session) => {
                self.enter(session);
                self.act(RunAction::Play);
                self.settle_start();
            }
            Err(error) => self.complain("The run does not start", error.to_string()),
        }
    }

    fn enter(&mut self, session: Session) {
        self.view.is_armed = false;
        let previous = Previous {
            session: self.session.replace(session),
            selection: std::mem::take(&mut self.selection),
            canvas: std::mem::take(&mut self.run_canvas),
        };
        // A start on top of one that is not up yet goes back to where that would have gone.
        self.previous.get_or_insert(previous);
        if let Some(session) = &mut self.session {
            session.update(0.0);
        }
    }

    /// Give the previous run up once the present one is up, or go back to it if that cannot begin.
    pub(super) fn settle_start(&mut self) {
        let Some(session) = self.session.as_ref().filter(|_| self.previous.is_some()) else {
            return;
        };
        let has_begun = !session.run.recording().events().is_empty();
        match session.run.error().map(ToString::to_string) {
            Some(text) if !has_begun => {
                self.go_back();
                self.complain("The run does not start", text);
            }
            _ if has_begun => {
                self.previous = None;
                self.parked = None;
            }
            _ => {}
        }
    }

    fn go_back(&mut self) {
        if let Some(previous) = self.previous.take() {
            self.session = previous.session;
            self.selection = previous.selection;
            self.run_canvas = previous.canvas;
        }
    }

    /// Back to editing; the run waits.
    fn park(&mut self) {
        if self.previous.is_some() {
            // It is not up yet: nothing to come back to.
            self.go_back();
        }
        self.view.is_armed = false;
        let selection = std::mem::take(&mut self.selection);
        if let Some(mut session) = self.session.take() {
            session.pause();
            let job = without_positions(self.document.job());
            self.parked = Some(Parked {
                session,
                selection,
                job,
            });
        }
    }

    /// Whether a run waits that was made from the job on the canvas.
    pub(super) fn can_return(&self) -> bool {
        self.parked
            .as_ref()
            .is_some_and(|parked| parked.job == without_positions(self.document.job()))
    }

    fn back_to_run(&mut self) {
        if self.is_running() || !self.can_return() {
            return;
        }
        if let Some(parked) = self.parked.take() {
            self.session = Some(parked.session);
            self.selection = parked.selection;
        }
    }

    /// Another job takes the place of this one.
    pub(super) fn forget_runs(&mut self) {
        self.session = None;
        self.previous = None;
        self.parked = None;
        self.view.is_armed = false;
    }

    fn choose_backend(&mut self, now_s: f64, backend: BackendKind) {
        if self.is_running() {
            self.dialog = Some(Dialog::NewRun { backend });
        } else {
            self.document.edit(EditSite::Structure, now_s, |job| {
                job.config.backend = backend;
            });
        }
    }

    pub(super) fn act(&mut self, action: RunAction) {
        if let Some(session) = &mut self.session {
            session.act(action);
        }
    }

    pub(super) fn toggle_play(&mut self) {
        if let Some(session) = &mut self.session {
            let action = if session.run.is_playing() {
                RunAction::Pause
            } else {
                RunAction::Play
            };
            session.act(action);
        }
    }

    pub(super) fn arm_crash(&mut self) {
        match (&self.selection, &self.session) {
            (_, None) => {}
            (Selection::Subtask(id), Some(_)) => self.crash(*id),
            (_, Some(_)) => self.view.is_armed = !self.view.is_armed,
        }
    }

    pub(super) fn crash(&mut self, id: SubtaskId) {
        self.view.is_armed = false;
        let Some(session) = &self.session else { return };
        let Some(plan) = session.run.recording().plan.subtasks.get(id.index()) else {
            return;
        };
        let command = Command::Crash {
            uid: plan.uid.clone(),
            subtask: plan.index,
        };
        self.act(RunAction::Command(command));
    }
}

fn without_positions(job: &JobGraph) -> JobGraph {
    let mut job = job.clone();
    for vertex in &mut job.vertices {
        vertex.position = Position::default();
    }
    job
}
