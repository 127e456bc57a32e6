//! What lies over the window and waits for an answer.

use std::collections::BTreeSet;
use std::path::PathBuf;

use egui::text::{CCursor, CCursorRange};
use egui::{
    Align, Context, Event, Frame, Id, Key, Layout, Margin, Modal, RichText, ScrollArea, TextEdit,
    Ui, vec2,
};

use crate::model::{BackendKind, CheckpointId, Command, JobGraph, SubtaskId};
use crate::run::RunAction;

use super::command::{Dialog, UiCommand};
use super::run_from::run_from_ui;
use super::scene::Scene;
use super::shortcuts::HELP;
use super::theme::{Theme, regular, semibold, size};
use super::topbar::backend_name;
use super::widgets::{ActionButton, BUTTON_HEIGHT, Emphasis, sentence, small_print};

/// What a dialog may need to know.
pub struct DialogFacts<'a> {
    pub title: &'a str,
    /// The job on the canvas.
    pub job: &'a JobGraph,
    /// The backend of the present run, which wrote its checkpoints.
    pub backend: Option<BackendKind>,
    /// Completed checkpoints of the present run, newest first.
    pub restorable: &'a [CheckpointId],
    /// The present moment of the run.
    pub scene: Option<Scene<'a>>,
}

/// Show `dialog`; its answers are commands. Text typed into it is kept in it.
pub fn dialog_ui(
    ctx: &Context,
    dialog: &mut Dialog,
    facts: &DialogFacts<'_>,
    commands: &mut Vec<UiCommand>,
) {
    let theme = Theme::of(ctx);
    let frame = Frame::popup(&ctx.global_style())
        .inner_margin(Margin::same(20))
        .fill(theme.panel);
    // An area remembers its size: each dialog has its own.
    let modal = Modal::new(Id::unique(("dialog", name(dialog))))
        .frame(frame)
        .backdrop_color(theme.veil);
    let response = modal.show(ctx, |ui| {
        ui.set_width(width(dialog));
        match dialog {
            Dialog::Message { title, text } => message_ui(ui, title, text, commands),
            Dialog::PathToOpen { path } => open_ui(ui, path, commands),
            Dialog::PathToSave { path } => save_ui(ui, path, commands),
            Dialog::Unsaved { .. } => unsaved_ui(ui, facts, commands),
            Dialog::NewRun { backend } => new_run_ui(ui, *backend, facts, commands),
            Dialog::RunFrom(from) => run_from_ui(ui, from, facts.job, commands),
            Dialog::DeleteStored { path, consequences } => {
                delete_ui(ui, path, consequences, commands);
            }
            Dialog::CrashSeveral { chosen } => crash_ui(ui, chosen, facts, commands),
            Dialog::Shortcuts => shortcuts_ui(ui, commands),
            Dialog::About => about_ui(ui, commands),
        }
    });
    if response.should_close() {
        commands.push(UiCommand::Cancel);
    }
}

fn name(dialog: &Dialog) -> &'static str {
    match dialog {
        Dialog::Message { .. } => "message",
        Dialog::PathToOpen { .. } => "open",
        Dialog::PathToSave { .. } => "save",
        Dialog::Unsaved { .. } => "unsaved",
        Dialog::NewRun { .. } => "new run",
        Dialog::RunFrom(_) => "run from",
        Dialog::DeleteStored { .. } => "delete stored",
        Dialog::CrashSeveral { .. } => "crash",
        Dialog::Shortcuts => "shortcuts",
        Dialog::About => "about",
    }
}

fn width(dialog: &Dialog) -> f32 {
    match dialog {
        Dialog::PathToOpen { .. } | Dialog::PathToSave { .. } | Dialog::RunFrom(_) => 480.0,
        _ => 400.0,
    }
}

pub(super) fn heading(ui: &mut Ui, text: &str) {
    ui.label(RichText::new(text).font(semibold(size::TITLE)));
    ui.add_space(4.0);
}

/// Buttons at the lower right, the main one last; Enter is the main one, unless another has the focus.
pub(super) fn answers(
    ui: &mut Ui,
    buttons: &[(&str, Emphasis, UiCommand)],
    commands: &mut Vec<UiCommand>,
) {
    ui.add_space(12.0);
    let row = vec2(ui.available_width(), BUTTON_HEIGHT);
    let layout = Layout::right_to_left(Align::Center);
    ui.allocate_ui_with_layout(row, layout, |ui| {
        for (text, emphasis, command) in buttons.iter().rev() {
            let button = ActionButton {
                text,
                emphasis: *emphasis,
                ..Default::default()
            };
            if button.ui(ui).clicked() {
                commands.push(command.clone());
            }
        }
    });
    let main = buttons
        .iter()
        .find(|(_, emphasis, _)| *emphasis == Emphasis::Main);
    if let Some((_, _, command)) = main.filter(|_| enter_pressed(ui.ctx())) {
        commands.push(command.clone());
    }
}

/// Enter that belongs to no focused button. Holding the key down is pressing it once.
fn enter_pressed(ctx: &Context) -> bool {
    let is_enter = |event: &Event| {
        matches!(
            event,
            Event::Key {
                key: Key::Enter,
                pressed: true,
                repeat: false,
                ..
            }
        )
    };
    ctx.memory(|memory| memory.focused().is_none())
        && ctx.input(|input| input.events.iter().any(is_enter))
}

fn message_ui(ui: &mut Ui, title: &str, text: &str, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    heading(ui, title);
    sentence(ui, text, theme.text_soft);
    answers(
        ui,
        &[("Close", Emphasis::Main, UiCommand::Cancel)],
        commands,
    );
}

fn delete_ui(ui: &mut Ui, path: &str, consequences: &str, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    heading(ui, "Delete from the checkpoint storage?");
    small_print(ui, path);
    sentence(ui, consequences, theme.text);
    small_print(
        ui,
        "It is deleted for real, as with a file manager: the job does not hear of it. Step back to before, and act there, to have \
         it again.",
    );
    let command = Command::DeleteStored {
        path: path.to_owned(),
    };
    answers(
        ui,
        &[
            ("Keep it", Emphasis::Plain, UiCommand::Cancel),
            (
                "Delete it",
                Emphasis::Danger,
                UiCommand::CloseAndAct(RunAction::Command(command)),
            ),
        ],
        commands,
    );
}

const JOB_PATH: (f32, &str) = (f32::INFINITY, "path/to/job.ron");

fn open_ui(ui: &mut Ui, path: &mut String, commands: &mut Vec<UiCommand>) {
    heading(ui, "Open a job file");
    path_field(ui, path, JOB_PATH);
    small_print(
        ui,
        "You can also drop a .ron file onto the window, or name it on the command line.",
    );
    path_answers(ui, "Open", path, UiCommand::OpenFile, commands);
}

fn save_ui(ui: &mut Ui, path: &mut String, commands: &mut Vec<UiCommand>) {
    heading(ui, "Save the job");
    path_field(ui, path, JOB_PATH);
    path_answers(ui, "Save", path, UiCommand::SaveFile, commands);
}

/// A path to type over: it has the focus, and all of it is selected.
pub(super) fn path_field(ui: &mut Ui, path: &mut String, (width, hint): (f32, &str)) {
    let edit = TextEdit::singleline(path)
        .desired_width(width)
        .hint_text(hint);
    let mut output = ui.name_inputs("Path", |ui| edit.show(ui));
    let response = &output.response;
    let is_free = ui.memory(|memory| memory.focused().is_none());
    if is_free && !response.lost_focus() {
        response.request_focus();
        let all = CCursorRange::two(CCursor::new(0), CCursor::new(path.chars().count()));
        output.state.cursor.set_char_range(Some(all));
        output.state.store(ui.ctx(), response.id);
    }
}

fn path_answers(
    ui: &mut Ui,
    main: &str,
    path: &str,
    command: fn(PathBuf) -> UiCommand,
    commands: &mut Vec<UiCommand>,
) {
    let path = path.trim();
    let buttons = [
        ("Cancel", Emphasis::Plain, UiCommand::Cancel),
        (main, Emphasis::Main, command(PathBuf::from(path))),
    ];
    let count = if path.is_empty() { 1 } else { 2 };
    answers(ui, &buttons[..count], commands);
}

fn unsaved_ui(ui: &mut Ui, facts: &DialogFacts<'_>, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    heading(ui, &format!("Save the changes to {}?", facts.title));
    sentence(ui, "Changes that are not saved are lost.", theme.text_soft);
    let buttons = [
        ("Cancel", Emphasis::Plain, UiCommand::Cancel),
        ("Don’t save", Emphasis::Plain, UiCommand::Discard),
        ("Save", Emphasis::Main, UiCommand::Save),
    ];
    answers(ui, &buttons, commands);
}

fn new_run_ui(
    ui: &mut Ui,
    backend: BackendKind,
    facts: &DialogFacts<'_>,
    commands: &mut Vec<UiCommand>,
) {
    let theme = Theme::of(ui.ctx());
    heading(ui, &format!("New run on {}", backend_name(backend)));
    sentence(
        ui,
        "It takes the place of the present run.",
        theme.text_soft,
    );
    ui.add_space(8.0);
    let start = |from| UiCommand::RestartOn { backend, from };
    match facts.backend {
        Some(own) if own != backend => small_print(ui, &foreign_text(own, backend)),
        _ => checkpoints_ui(ui, facts.restorable, start, commands),
    }
    let buttons = [
        ("Cancel", Emphasis::Plain, UiCommand::Cancel),
        ("From the beginning", Emphasis::Main, start(None)),
    ];
    answers(ui, &buttons, commands);
}

/// Why the checkpoints of a run on `own` cannot begin a run on `wanted`.
fn foreign_text(own: BackendKind, wanted: BackendKind) -> String {
    format!(
        "Checkpoints of this run were written by the {} backend; {} cannot read them. Flink changes backends only \
         through canonical savepoints.",
        in_sentence(own),
        backend_name(wanted),
    )
}

fn in_sentence(backend: BackendKind) -> &'static str {
    match backend {
        BackendKind::Heap => "heap",
        BackendKind::RocksDb => "RocksDB",
    }
}

/// One button per checkpoint to begin from, latest first.
fn checkpoints_ui(
    ui: &mut Ui,
    restorable: &[CheckpointId],
    start: impl Fn(Option<CheckpointId>) -> UiCommand,
    commands: &mut Vec<UiCommand>,
) {
    if restorable.is_empty() {
        let text = "Once a checkpoint has completed, a new run can also begin from it.";
        return small_print(ui, text);
    }
    ScrollArea::vertical().max_height(190.0).show(ui, |ui| {
        ui.horizontal_wrapped(|ui| {
            for id in restorable {
                let text = format!("From checkpoint {id}");
                let button = ActionButton {
                    text: &text,
                    ..Default::default()
                };
                if button.ui(ui).clicked() {
                    commands.push(start(Some(*id)));
                }
            }
        });
    });
}

/// One box per subtask; those chosen fail in the same moment.
fn crash_ui(
    ui: &mut Ui,
    chosen: &mut BTreeSet<SubtaskId>,
    facts: &DialogFacts<'_>,
    commands: &mut Vec<UiCommand>,
) {
    let theme = Theme::of(ui.ctx());
    heading(ui, "Crash several subtasks");
    let Some(scene) = facts.scene else {
        sentence(ui, "There is no run.", theme.text_soft);
        let close = [("Close", Emphasis::Main, UiCommand::Cancel)];
        return answers(ui, &close, commands);
    };
    sentence(ui, "They fail in the same moment.", theme.text_soft);
    ui.add_space(6.0);
    ScrollArea::vertical().max_height(320.0).show(ui, |ui| {
        for subtask in &scene.plan.subtasks {
            let mut is_chosen = chosen.contains(&subtask.id);
            if ui
                .checkbox(&mut is_chosen, scene.plan.subtask_name(subtask.id))
                .changed()
            {
                if is_chosen {
                    chosen.insert(subtask.id);
                } else {
                    chosen.remove(&subtask.id);
                }
            }
        }
    });
    let subtasks = chosen
        .iter()
        .filter_map(|id| scene.plan.subtasks.get(id.index()))
        .map(|subtask| (subtask.uid.clone(), subtask.index))
        .collect();
    let command = RunAction::Command(Command::CrashSeveral { subtasks });
    let main = match chosen.len() {
        1 => "Crash 1 subtask".to_owned(),
        n => format!("Crash {n} subtasks"),
    };
    let buttons = [
        ("Cancel", Emphasis::Plain, UiCommand::Cancel),
        (
            main.as_str(),
            Emphasis::Main,
            UiCommand::CloseAndAct(command),
        ),
    ];
    let count = if chosen.is_empty() { 1 } else { 2 };
    answers(ui, &buttons[..count], commands);
}

fn shortcuts_ui(ui: &mut Ui, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    heading(ui, "Keyboard shortcuts");
    let grid = egui::Grid::new("shortcuts")
        .num_columns(2)
        .min_row_height(17.0)
        .spacing([20.0, 4.0]);
    // Room for the heading, the button and a margin around the dialog.
    let max = (ui.ctx().content_rect().height() - 180.0).max(120.0);
    let list = ScrollArea::vertical()
        .max_height(max)
        .min_scrolled_height(max);
    list.show(ui, |ui| {
        grid.show(ui, |ui| {
            for (keys, meaning) in HELP {
                ui.label(RichText::new(keys).font(semibold(12.5)));
                let meaning = RichText::new(meaning).font(regular(12.5));
                ui.label(meaning.color(theme.text_soft));
                ui.end_row();
            }
        });
    });
    answers(
        ui,
        &[("Close", Emphasis::Main, UiCommand::Cancel)],
        commands,
    );
}

fn about_ui(ui: &mut Ui, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    heading(ui, &format!("Lockgate {}", env!("CARGO_PKG_VERSION")));
    let text = "A barrier in a stream is a lock gate in a canal: what arrives early waits behind the closed gate \
                until the levels are equal. Build a job, run it on the embedded engine, and watch its checkpoints, \
                one step at a time.";
    sentence(ui, text, theme.text_soft);
    ui.add_space(6.0);
    small_print(
        ui,
        "The engine behaves as Apache Flink does. Times of a stepped run are modelled, never measured.",
    );
    small_print(
        ui,
        "Licence: MIT or Apache-2.0. Typeface: Inter, SIL Open Font License.",
    );
    answers(
        ui,
        &[("Close", Emphasis::Main, UiCommand::Cancel)],
        commands,
    );
}
