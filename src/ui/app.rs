//! The window: the job being edited, the run if there is one, and what a person has selected and opened.
//!
//! Draws from state and collects commands; [`super::apply`] carries them out at the end of the frame.

use std::path::PathBuf;

use egui::{CentralPanel, Frame, Margin, Panel, Ui};

use crate::engine::event::JobStatus;
use crate::model::JobGraph;

use super::acts::ActFacts;
use super::canvas::edit::EditCanvas;
use super::canvas::palette::{self, palette_ui};
use super::canvas::run::{RunCanvas, RunCanvasView};
use super::command::{Dialog, Selection, Tab, UiCommand};
use super::dialogs::{DialogFacts, dialog_ui};
use super::document::Document;
use super::files::PendingDialog;
use super::inspector::{RunInspector, StorageFacts, edit_inspector_ui};
use super::menu::ViewFacts;
use super::panels::{PanelView, panels_ui};
use super::runs::{Parked, Previous};
use super::session::Session;
use super::theme::{self, Theme, ThemeChoice, ThemeKind, space};
use super::topbar::{RunFacts, TopBar};
use super::trouble::trouble_panel;
use super::{fonts, samples, shortcuts};

pub struct LockgateApp {
    pub(super) document: Document,
    pub(super) session: Option<Session>,
    /// A run that was left for editing.
    pub(super) parked: Option<Parked>,
    /// What the present run takes the place of, until it is up.
    pub(super) previous: Option<Previous>,
    pub(super) selection: Selection,
    pub(super) view: ViewState,
    pub(super) dialog: Option<Dialog>,
    /// A system dialog that is open.
    pub(super) pending: Option<PendingDialog>,
    /// What to do once the job is saved or its changes are given up.
    pub(super) after_saving: Option<UiCommand>,
    /// The sample that the job began as, and the folder of its data.
    pub(super) sample: Option<&'static samples::Sample>,
    pub(super) sample_dir: Option<tempfile::TempDir>,
    pub(super) edit_canvas: EditCanvas,
    pub(super) run_canvas: RunCanvas,
    installed: Option<(ThemeKind, bool)>,
    shown_title: String,
    /// The person has agreed to lose what is unsaved.
    pub(super) may_quit: bool,
}

/// What a person has chosen to see.
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches that have nothing to do with each other"
)]
pub(super) struct ViewState {
    pub theme: ThemeChoice,
    pub reduced_motion: bool,
    pub tab: Tab,
    pub inspector: bool,
    pub timeline: bool,
    /// The next click on a subtask crashes it.
    pub is_armed: bool,
}

impl LockgateApp {
    /// With a job and its file, or with the built-in sample.
    #[must_use]
    pub fn new(ctx: &egui::Context, job: Option<(JobGraph, PathBuf)>) -> Self {
        fonts::install(ctx);
        let document = match job {
            Some((job, path)) => Document::new(job, Some(path)),
            None => Document::new(samples::odd_even(), None),
        };
        Self {
            document,
            session: None,
            parked: None,
            previous: None,
            selection: Selection::None,
            view: ViewState {
                theme: ThemeChoice::default(),
                reduced_motion: false,
                tab: Tab::Timeline,
                inspector: true,
                timeline: true,
                is_armed: false,
            },
            dialog: None,
            pending: None,
            after_saving: None,
            sample: None,
            sample_dir: None,
            edit_canvas: EditCanvas::default(),
            run_canvas: RunCanvas::default(),
            installed: None,
            shown_title: String::new(),
            may_quit: false,
        }
    }

    /// The job on the canvas, for tests.
    #[must_use]
    pub fn job(&self) -> &JobGraph {
        self.document.job()
    }

    #[must_use]
    pub fn is_running(&self) -> bool {
        self.session.is_some()
    }

    /// The next click on a subtask crashes it.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.view.is_armed
    }

    /// Where a run is in its time; 0 without one.
    #[must_use]
    pub fn clock_us(&self) -> u64 {
        self.session
            .as_ref()
            .map_or(0, |session| session.run.clock_us())
    }

    /// Carry out `command`, as if a person had asked for it.
    pub fn command(&mut self, ctx: &egui::Context, command: UiCommand) {
        self.apply(ctx, command);
    }

    fn install_theme(&mut self, ctx: &egui::Context) {
        let wanted = (
            self.view.theme.kind(ctx.system_theme()),
            self.view.reduced_motion,
        );
        if self.installed != Some(wanted) {
            theme::install(ctx, wanted.0, wanted.1);
            self.installed = Some(wanted);
        }
    }

    fn show_title(&mut self, ctx: &egui::Context) {
        let dot = if self.document.is_dirty() { " •" } else { "" };
        let title = format!("{}{dot} — Lockgate", self.document.title());
        if self.shown_title != title {
            ctx.send_viewport_cmd(egui::ViewportCommand::Title(title.clone()));
            self.shown_title = title;
        }
    }

    /// Files dropped on the window, the window's own close button, the system dialog's answer.
    fn take_outside_events(&mut self, ctx: &egui::Context, commands: &mut Vec<UiCommand>) {
        let dropped = ctx.input(|input| {
            let files = input.raw.dropped_files.first();
            files.map(|file| file.path().to_owned())
        });
        commands.extend(dropped.map(UiCommand::OpenFile));
        let wants_to_close = ctx.input(|input| input.viewport().close_requested());
        if wants_to_close && self.document.is_dirty() && !self.may_quit {
            ctx.send_viewport_cmd(egui::ViewportCommand::CancelClose);
            commands.push(UiCommand::Quit);
        }
        self.take_answer(commands);
    }

    fn bar_ui(&self, ui: &mut Ui, commands: &mut Vec<UiCommand>) {
        let title = self.document.title();
        let bar = TopBar {
            title: &title,
            is_dirty: self.document.is_dirty(),
            can_undo: self.document.can_undo(),
            can_redo: self.document.can_redo(),
            has_selection: self.selection != Selection::None,
            can_return: !self.is_running() && self.can_return(),
            run: self
                .session
                .as_ref()
                .map(|session| run_facts(session, &self.selection)),
            hindrance: self.hindrance(),
            backend: match &self.session {
                Some(session) => session.run.backend(),
                None => self.document.job().config.backend,
            },
            is_armed: self.view.is_armed,
            view: ViewFacts {
                theme: self.view.theme,
                reduced_motion: self.view.reduced_motion,
                inspector: self.view.inspector,
                timeline: self.view.timeline,
            },
        };
        bar.ui(ui, commands);
    }

    /// Why the job cannot run.
    fn hindrance(&self) -> Option<String> {
        let problems = self.document.problems();
        match problems {
            [] => None,
            [only] => Some(only.message.clone()),
            [first, rest @ ..] => Some(format!("{} (and {} more)", first.message, rest.len())),
        }
    }

    fn edit_ui(&mut self, ui: &mut Ui, commands: &mut Vec<UiCommand>) {
        let theme = Theme::of(ui.ctx());
        let frame = Frame::new().fill(theme.panel).inner_margin(Margin {
            left: 14,
            right: 14,
            top: 16,
            bottom: 12,
        });
        Panel::left("palette")
            .exact_size(palette::WIDTH)
            .resizable(false)
            .frame(frame)
            .show(ui, |ui| {
                palette_ui(ui, &self.edit_canvas, commands);
            });
        if self.view.inspector {
            inspector_panel(ui, |ui| {
                edit_inspector_ui(ui, &self.document, &self.selection, commands);
            });
        }
        CentralPanel::no_frame()
            .frame(Frame::new().fill(theme.ground))
            .show(ui, |ui| {
                self.edit_canvas
                    .ui(ui, &self.document, &self.selection, commands);
            });
    }

    fn run_ui(&mut self, ui: &mut Ui, commands: &mut Vec<UiCommand>) {
        let Some(session) = &self.session else { return };
        let scene = session.scene();
        // Nothing can crash in a job that has ended.
        self.view.is_armed &= !scene.view.job.is_terminal();
        if self.view.timeline {
            views_panel(ui, self.view.tab, |ui| {
                let view = PanelView {
                    scene,
                    index: &session.index,
                    run: Some(&session.run),
                    selection: &self.selection,
                    tab: self.view.tab,
                    sentence: &session.sentence(),
                };
                panels_ui(ui, &view, commands);
            });
        }
        if self.view.inspector {
            let ledger = session.ledger();
            let inspector = RunInspector {
                scene,
                keys: &self.run_canvas.keys,
                ledger: &ledger,
                parts: session.parts(),
                twice: session.twice(),
                selection: &self.selection,
                is_playing: session.run.is_playing(),
                storage: session.run.look().map(|look| StorageFacts {
                    look,
                    looked_into: session.run.looked_into(),
                    run: &session.run,
                    is_past: !session.run.is_at_end(),
                }),
            };
            inspector_panel(ui, |ui| inspector.ui(ui, commands));
        }
        trouble_panel(ui, &session.run, commands);
        let theme = Theme::of(ui.ctx());
        CentralPanel::no_frame()
            .frame(Frame::new().fill(theme.ground))
            .show(ui, |ui| {
                let view = RunCanvasView {
                    scene,
                    selection: &self.selection,
                    is_armed: self.view.is_armed,
                    reduced_motion: self.view.reduced_motion,
                    is_playing: session.run.is_playing(),
                };
                self.run_canvas.ui(ui, view, commands);
            });
    }

    fn dialog_ui(&mut self, ctx: &egui::Context, commands: &mut Vec<UiCommand>) {
        let title = self.document.title();
        let restorable = self
            .session
            .as_ref()
            .map(Session::restorable)
            .unwrap_or_default();
        let backend = self.session.as_ref().map(|session| session.run.backend());
        if let Some(dialog) = &mut self.dialog {
            dialog_ui(
                ctx,
                dialog,
                &DialogFacts {
                    title: &title,
                    job: self.document.job(),
                    backend,
                    restorable: &restorable,
                    scene: self.session.as_ref().map(Session::scene),
                },
                commands,
            );
        }
    }
}

fn run_facts(session: &Session, selection: &Selection) -> RunFacts {
    let run = &session.run;
    let status = &run.view().job;
    RunFacts {
        is_playing: run.is_playing(),
        speed: run.speed(),
        has_past: run.view().position > 0,
        has_future: !run.is_at_end(),
        is_broken: run.error().is_some(),
        is_over: status.is_terminal(),
        is_failed: matches!(status, JobStatus::Restarting { .. }),
        restorable: session.restorable(),
        acts: ActFacts::of(session.scene(), selection),
    }
}

/// The right panel; narrower on narrow windows.
pub(super) fn inspector_panel(ui: &mut Ui, content: impl FnOnce(&mut Ui)) {
    let theme = Theme::of(ui.ctx());
    let width = if ui.max_rect().width() < 1200.0 {
        288.0
    } else {
        space::INSPECTOR
    };
    let frame = Frame::new().fill(theme.panel).inner_margin(Margin {
        left: 18,
        right: 4,
        top: 16,
        bottom: 0,
    });
    Panel::right("inspector")
        .exact_size(width)
        .resizable(false)
        .frame(frame)
        .show(ui, content);
}

/// The bottom panel; lower on low windows, and higher for what lies on disks.
pub(super) fn views_panel(ui: &mut Ui, tab: Tab, content: impl FnOnce(&mut Ui)) {
    let theme = Theme::of(ui.ctx());
    let height = match (tab, ui.ctx().content_rect().height()) {
        (Tab::Storage, h) => (h * 0.46).clamp(200.0, 560.0),
        (_, h) if h < 680.0 => 164.0,
        (_, h) if h < 840.0 => 190.0,
        _ => 230.0,
    };
    let frame = Frame::new().fill(theme.panel).inner_margin(Margin {
        left: 18,
        right: 18,
        top: 2,
        bottom: 4,
    });
    Panel::bottom("views")
        .exact_size(height)
        .resizable(false)
        .frame(frame)
        .show(ui, content);
}

/// The bar at the top.
pub(super) fn bar_panel(ui: &mut Ui, content: impl FnOnce(&mut Ui)) {
    let theme = Theme::of(ui.ctx());
    let frame = Frame::new().fill(theme.panel);
    Panel::top("bar")
        .exact_size(space::TOP_BAR)
        .resizable(false)
        .frame(frame)
        .show(ui, content);
}

impl eframe::App for LockgateApp {
    fn logic(&mut self, ctx: &egui::Context, _frame: &mut eframe::Frame) {
        self.install_theme(ctx);
        self.show_title(ctx);
        let dt_s = ctx.input(|input| input.stable_dt).min(0.1);
        if let Some(session) = &mut self.session {
            let is_moving = session.update(dt_s);
            if let Selection::File(file) = &self.selection {
                session.run.keep_reading(file);
            }
            if is_moving || session.run.owes_an_answer() {
                ctx.request_repaint();
            }
        }
        self.settle_start();
    }

    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        let ctx = ui.ctx().clone();
        let mut commands = Vec::new();
        self.take_outside_events(&ctx, &mut commands);
        if self.dialog.is_none() {
            shortcuts::take(&ctx, self.is_running(), &mut commands);
        }
        bar_panel(ui, |ui| self.bar_ui(ui, &mut commands));
        if self.is_running() {
            self.run_ui(ui, &mut commands);
        } else {
            self.edit_ui(ui, &mut commands);
        }
        self.dialog_ui(&ctx, &mut commands);
        if !commands.is_empty() {
            ctx.request_repaint();
        }
        for command in commands {
            self.apply(&ctx, command);
        }
    }
}
