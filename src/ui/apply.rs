//! Carries out commands. The only place where the window changes anything.

use std::path::{Path, PathBuf};

use crate::model::{JobGraph, Uid};

use super::app::LockgateApp;
use super::canvas::camera::Camera;
use super::command::{Dialog, ScriptEdit, Selection, UiCommand};
use super::document::{Document, EditSite};
use super::files::{self, Answer, PendingDialog, Purpose};
use super::run_from::RunFrom;
use super::{edits, samples};

impl LockgateApp {
    pub(super) fn apply(&mut self, ctx: &egui::Context, command: UiCommand) {
        let now_s = ctx.input(|input| input.time);
        match command {
            UiCommand::New
            | UiCommand::OpenDialog
            | UiCommand::OpenByPath
            | UiCommand::OpenFile(_)
            | UiCommand::OpenSample(_)
            | UiCommand::Quit => self.replace_job(ctx, command),
            UiCommand::Save => self.save(ctx),
            UiCommand::SaveAs => self.ask_for_file(ctx, Purpose::Save),
            UiCommand::SaveByPath => self.ask_for_path(&Purpose::Save),
            UiCommand::SaveFile(path) => self.save_to(ctx, &path),
            UiCommand::Discard => self.discard(ctx),
            UiCommand::Undo | UiCommand::Redo | UiCommand::DeleteSelected if self.is_running() => {}
            UiCommand::Undo => self.document.undo(),
            UiCommand::Redo => self.document.redo(),
            UiCommand::AddVertex { .. }
            | UiCommand::MoveVertex { .. }
            | UiCommand::Connect { .. }
            | UiCommand::SetVertex { .. }
            | UiCommand::SetPartitioning { .. }
            | UiCommand::SetConfig(_)
            | UiCommand::SetJobText { .. }
            | UiCommand::EditScript(_)
            | UiCommand::Delete(_)
            | UiCommand::DeleteSelected => self.edit(now_s, command),
            UiCommand::StartRun
            | UiCommand::RunFrom { .. }
            | UiCommand::LeaveRun
            | UiCommand::BackToRun
            | UiCommand::RunAgain
            | UiCommand::RestartOn { .. }
            | UiCommand::ChooseBackend(_) => self.apply_to_runs(ctx, command),
            UiCommand::Act(action) => self.act(action),
            UiCommand::CloseAndAct(action) => {
                self.dialog = None;
                self.act(action);
            }
            UiCommand::TogglePlay => self.toggle_play(),
            UiCommand::ArmCrash => self.arm_crash(),
            UiCommand::Crash(id) => self.crash(id),
            UiCommand::ChooseCsv(uid) => self.ask_for_file(ctx, Purpose::Csv(uid)),
            UiCommand::SetCsvPath { uid, path } => self.set_csv_path(now_s, &uid, &path),
            UiCommand::RunFromDialog => self.ask_from(),
            UiCommand::ChooseSnapshot => self.ask_for_file(ctx, Purpose::Snapshot),
            UiCommand::Cancel => self.cancel(),
            _ => self.apply_to_view(command),
        }
    }

    /// What changes only how things are shown.
    fn apply_to_view(&mut self, command: UiCommand) {
        match command {
            UiCommand::Select(selection) => self.selection = selection,
            UiCommand::SetTheme(choice) => self.view.theme = choice,
            UiCommand::SetReducedMotion(on) => self.view.reduced_motion = on,
            UiCommand::ShowTab(tab) => self.view.tab = tab,
            UiCommand::ToggleInspector => self.view.inspector = !self.view.inspector,
            UiCommand::ToggleTimeline => self.view.timeline = !self.view.timeline,
            UiCommand::Show(dialog) => self.dialog = Some(dialog),
            UiCommand::Fit => self.camera().request_fit(),
            UiCommand::ZoomBy(factor) => {
                let area = if self.is_running() {
                    self.run_canvas.area
                } else {
                    self.edit_canvas.area
                };
                self.camera()
                    .zoom_by(factor, area.unwrap_or(egui::Rect::ZERO));
            }
            other => debug_assert!(false, "{other:?} is carried out elsewhere"),
        }
    }

    fn camera(&mut self) -> &mut Camera {
        if self.is_running() {
            &mut self.run_canvas.camera
        } else {
            &mut self.edit_canvas.camera
        }
    }

    // Files.

    /// Commands that put another job in place of this one: unsaved changes come first.
    fn replace_job(&mut self, ctx: &egui::Context, command: UiCommand) {
        // Whoever opens a file by its path was asked before the path.
        let is_asked =
            self.after_saving.is_some() || matches!(self.dialog, Some(Dialog::PathToOpen { .. }));
        if self.document.is_dirty() && !is_asked {
            self.dialog = Some(Dialog::Unsaved {
                then: Box::new(command),
            });
            return;
        }
        self.after_saving = None;
        match command {
            UiCommand::New => self.put(JobGraph::default(), None),
            UiCommand::OpenSample(index) => self.open_sample(index),
            UiCommand::OpenDialog => self.ask_for_file(ctx, Purpose::Open),
            UiCommand::OpenByPath => self.ask_for_path(&Purpose::Open),
            UiCommand::OpenFile(path) => self.open(path),
            UiCommand::Quit => {
                self.may_quit = true;
                ctx.send_viewport_cmd(egui::ViewportCommand::Close);
            }
            other => debug_assert!(false, "{other:?} replaces no job"),
        }
    }

    fn put(&mut self, job: JobGraph, path: Option<PathBuf>) {
        self.document = Document::new(job, path);
        self.sample = None;
        self.sample_dir = None;
        self.forget_runs();
        self.selection = Selection::None;
        self.edit_canvas.camera.request_fit();
        self.dialog = None;
    }

    fn open_sample(&mut self, index: usize) {
        let Some(sample) = samples::all().get(index) else {
            return;
        };
        self.put(sample.job(), None);
        self.sample = Some(sample);
        if sample.data().next().is_some() {
            self.sample_dir = tempfile::tempdir().ok();
            let unpacked = self
                .sample_dir
                .as_ref()
                .map(|folder| files::unpack(sample, folder.path()));
            if let Some(Err(text)) = unpacked {
                self.complain("The sample’s data is missing", text);
            }
        }
    }

    fn open(&mut self, path: PathBuf) {
        match files::open(&path) {
            Ok(job) => self.put(job, Some(path)),
            Err(text) => self.tell_not_opened(text),
        }
    }

    /// A job file could not be read, for this reason.
    pub fn tell_not_opened(&mut self, text: String) {
        self.complain("The job was not opened", text);
    }

    pub(super) fn complain(&mut self, title: &str, text: String) {
        self.dialog = Some(Dialog::Message {
            title: title.to_owned(),
            text,
        });
    }

    fn save(&mut self, ctx: &egui::Context) {
        if let Some(Dialog::Unsaved { then }) = self.dialog.take() {
            self.after_saving = Some(*then);
        }
        match self.document.path().map(Path::to_owned) {
            Some(path) => self.save_to(ctx, &path),
            None => self.ask_for_file(ctx, Purpose::Save),
        }
    }

    fn save_to(&mut self, ctx: &egui::Context, path: &Path) {
        let path = files::with_extension(path);
        self.dialog = None;
        match files::save(self.document.job(), &path) {
            Ok(()) => {
                // A sample takes its data along.
                if let Some((sample, folder)) = self.sample.zip(path.parent())
                    && let Err(text) = files::unpack(sample, folder)
                {
                    self.complain("The sample’s data is missing", text);
                }
                self.document.mark_saved(path);
                if let Some(command) = self.after_saving.take() {
                    self.apply(ctx, command);
                }
            }
            Err(text) => {
                self.after_saving = None;
                self.complain("The job was not saved", text);
            }
        }
    }

    fn discard(&mut self, ctx: &egui::Context) {
        if let Some(Dialog::Unsaved { then }) = self.dialog.take() {
            self.after_saving = Some(UiCommand::Discard);
            self.replace_job(ctx, *then);
        }
    }

    fn ask_for_file(&mut self, ctx: &egui::Context, purpose: Purpose) {
        if self.pending.is_none() {
            let name = PathBuf::from(format!("{}.ron", self.document.title()));
            let suggested = self.document.path().unwrap_or(&name);
            self.pending = Some(PendingDialog::start(purpose, Some(suggested), ctx));
        }
    }

    fn ask_for_path(&mut self, purpose: &Purpose) {
        let known = self.document.path().map(|path| path.display().to_string());
        self.dialog = Some(match purpose {
            Purpose::Open => Dialog::PathToOpen {
                path: known.unwrap_or_default(),
            },
            Purpose::Save => Dialog::PathToSave {
                path: known.unwrap_or_else(|| format!("{}.ron", self.document.title())),
            },
            Purpose::Snapshot => Dialog::RunFrom(RunFrom::default()),
            Purpose::Csv(_) => Dialog::Message {
                title: "No file dialog".to_owned(),
                text: "This desktop shows no file dialogs. Type the path into the field File."
                    .to_owned(),
            },
        });
    }

    /// Start with the savepoint folder of the job, where it has one.
    fn ask_from(&mut self) {
        let known = self.document.job().config.savepoint_dir.as_ref();
        let path = known.map(|folder| match self.document.path() {
            Some(job) => crate::project::base_dir(job).join(folder),
            None => folder.clone(),
        });
        let path = path.map(|path| path.display().to_string());
        self.dialog = Some(Dialog::RunFrom(RunFrom::at(path.unwrap_or_default())));
    }

    /// The system dialog's answer, if there is one.
    pub(super) fn take_answer(&mut self, commands: &mut Vec<UiCommand>) {
        let Some((purpose, answer)) = self
            .pending
            .as_ref()
            .and_then(|p| Some((p.purpose.clone(), p.poll()?)))
        else {
            return;
        };
        self.pending = None;
        match (answer, purpose) {
            (Answer::Chosen(path), Purpose::Open) => {
                // Whether the changes may be lost was asked before the dialog opened.
                self.after_saving = Some(UiCommand::Discard);
                commands.push(UiCommand::OpenFile(path));
            }
            (Answer::Chosen(path), Purpose::Save) => commands.push(UiCommand::SaveFile(path)),
            (Answer::Chosen(path), Purpose::Csv(uid)) => {
                commands.push(UiCommand::SetCsvPath { uid, path });
            }
            (Answer::Chosen(path), Purpose::Snapshot) => {
                let path = path.display().to_string();
                self.dialog = Some(Dialog::RunFrom(RunFrom::at(path)));
            }
            // The dialog has a field for the path.
            (Answer::Unavailable, Purpose::Snapshot) => {}
            (Answer::Unavailable, purpose) => self.ask_for_path(&purpose),
            (Answer::Cancelled, _) => self.after_saving = None,
        }
    }

    // The job.

    fn edit(&mut self, now_s: f64, command: UiCommand) {
        if self.is_running() {
            return;
        }
        let document = &mut self.document;
        match command {
            UiCommand::AddVertex { kind, at } => {
                let mut added = None;
                document.edit(EditSite::Structure, now_s, |job| {
                    added = Some(edits::add_vertex(job, kind, at));
                });
                self.selection = added.map_or(Selection::None, Selection::Vertex);
                self.edit_canvas.camera.request_fit_if_automatic();
            }
            UiCommand::MoveVertex { uid, to } => {
                document.edit(EditSite::Position(uid.clone()), now_s, |job| {
                    if let Some(vertex) = job.vertices.iter_mut().find(|vertex| vertex.uid == uid) {
                        vertex.position = to;
                    }
                });
            }
            UiCommand::Connect { from, to } => {
                document.edit(EditSite::Structure, now_s, |job| {
                    edits::connect(job, &from, &to);
                });
            }
            UiCommand::SetVertex { uid, vertex } => {
                let renamed = vertex.uid.clone();
                document.edit(EditSite::Vertex(renamed.clone()), now_s, |job| {
                    edits::set_vertex(job, &uid, *vertex);
                });
                self.selection = Selection::Vertex(renamed);
            }
            UiCommand::SetPartitioning { edge, partitioning } => {
                document.edit(EditSite::Structure, now_s, |job| {
                    if let Some(edge) = job.edges.get_mut(edge) {
                        edge.partitioning = partitioning;
                    }
                });
            }
            UiCommand::SetConfig(config) => {
                document.edit(EditSite::Config, now_s, |job| job.config = *config);
            }
            UiCommand::SetJobText { name, note } => {
                document.edit(EditSite::JobText, now_s, |job| {
                    job.name = name;
                    job.note = note;
                });
            }
            UiCommand::EditScript(edit) => {
                let site = match &edit {
                    ScriptEdit::Set { index, .. } => EditSite::ScriptEntry(*index),
                    _ => EditSite::Structure,
                };
                document.edit(site, now_s, |job| edits::edit_script(job, edit));
            }
            UiCommand::Delete(what) => self.delete(now_s, &what),
            UiCommand::DeleteSelected => self.delete(now_s, &self.selection.clone()),
            other => debug_assert!(false, "{other:?} edits nothing"),
        }
    }

    /// A CSV file was chosen; while running, the answer comes too late.
    fn set_csv_path(&mut self, now_s: f64, uid: &Uid, chosen: &Path) {
        if self.is_running() {
            return;
        }
        let path = files::relative_to(chosen, self.document.path());
        self.document.edit(EditSite::Structure, now_s, |job| {
            edits::set_csv_path(job, uid, path);
        });
    }

    fn delete(&mut self, now_s: f64, what: &Selection) {
        self.document
            .edit(EditSite::Structure, now_s, |job| edits::delete(job, what));
        self.selection = Selection::None;
    }

    fn cancel(&mut self) {
        if self.dialog.take().is_some() {
            self.after_saving = None;
        } else if self.view.is_armed {
            self.view.is_armed = false;
        } else {
            self.selection = Selection::None;
        }
    }
}
