//! What lies over the window and waits for an answer.

use egui::{Context, Frame, Id, Key, Margin, Modal, RichText, Ui};

use crate::model::{BackendKind, CheckpointId};

use super::command::{Dialog, UiCommand};
use super::shortcuts::HELP;
use super::theme::{Theme, regular, semibold, size};
use super::topbar::backend_name;
use super::widgets::{ActionButton, Emphasis, sentence, small_print};

/// What a dialog may need to know.
pub struct DialogFacts<'a> {
    pub title: &'a str,
    /// Completed checkpoints of the present run, newest first.
    pub restorable: &'a [CheckpointId],
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
    let modal = Modal::new(Id::unique("dialog"))
        .frame(frame)
        .backdrop_color(theme.veil);
    let response = modal.show(ctx, |ui| {
        ui.set_width(width(dialog));
        match dialog {
            Dialog::Message { title, text } => message_ui(ui, title, text, commands),
            Dialog::PathToOpen { path } => path_ui(ui, true, path, commands),
            Dialog::PathToSave { path } => path_ui(ui, false, path, commands),
            Dialog::Unsaved { .. } => unsaved_ui(ui, facts, commands),
            Dialog::Backend { backend } => backend_ui(ui, *backend, facts, commands),
            Dialog::Shortcuts => shortcuts_ui(ui, commands),
            Dialog::About => about_ui(ui, commands),
        }
    });
    if response.should_close() {
        commands.push(UiCommand::Cancel);
    }
}

fn width(dialog: &Dialog) -> f32 {
    match dialog {
        Dialog::PathToOpen { .. } | Dialog::PathToSave { .. } => 480.0,
        _ => 400.0,
    }
}

fn heading(ui: &mut Ui, text: &str) {
    ui.label(RichText::new(text).font(semibold(size::TITLE)));
    ui.add_space(4.0);
}

/// Buttons at the lower right, the main one last.
fn answers(ui: &mut Ui, buttons: &[(&str, Emphasis, UiCommand)], commands: &mut Vec<UiCommand>) {
    ui.add_space(12.0);
    ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
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

fn path_ui(ui: &mut Ui, is_open: bool, path: &mut String, commands: &mut Vec<UiCommand>) {
    heading(
        ui,
        if is_open {
            "Open a job file"
        } else {
            "Save the job"
        },
    );
    let edit = egui::TextEdit::singleline(path)
        .desired_width(f32::INFINITY)
        .hint_text("path/to/job.ron");
    let response = ui.name_inputs("Path", |ui| ui.add(edit));
    if ui.memory(|memory| memory.focused().is_none()) {
        response.request_focus();
    }
    small_print(
        ui,
        "You can also drop a .ron file onto the window, or name it on the command line.",
    );
    let entered = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
    let target = std::path::PathBuf::from(path.trim());
    let command = if is_open {
        UiCommand::OpenFile(target)
    } else {
        UiCommand::SaveFile(target)
    };
    if entered && !path.trim().is_empty() {
        commands.push(command);
        return;
    }
    let main = if is_open { "Open" } else { "Save" };
    let buttons = [
        ("Cancel", Emphasis::Plain, UiCommand::Cancel),
        (main, Emphasis::Main, command),
    ];
    let enabled = if path.trim().is_empty() {
        &buttons[..1]
    } else {
        &buttons[..]
    };
    answers(ui, enabled, commands);
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

fn backend_ui(
    ui: &mut Ui,
    backend: BackendKind,
    facts: &DialogFacts<'_>,
    commands: &mut Vec<UiCommand>,
) {
    let theme = Theme::of(ui.ctx());
    let name = backend_name(backend);
    heading(ui, &format!("Run on {name}"));
    sentence(
        ui,
        "A backend cannot change under a running job: a new run starts.",
        theme.text_soft,
    );
    ui.add_space(8.0);
    let mut choice = |ui: &mut Ui, text: String, emphasis, from| {
        let button = ActionButton {
            text: &text,
            emphasis,
            ..Default::default()
        };
        if button.ui(ui).clicked() {
            commands.push(UiCommand::RestartOn { backend, from });
        }
    };
    choice(ui, "From the beginning".to_owned(), Emphasis::Main, None);
    for id in facts.restorable.iter().take(4) {
        choice(
            ui,
            format!("From checkpoint {id}"),
            Emphasis::Plain,
            Some(*id),
        );
    }
    if facts.restorable.is_empty() {
        small_print(
            ui,
            "Once a checkpoint has completed, the new run can also begin from it.",
        );
    }
    answers(
        ui,
        &[("Cancel", Emphasis::Plain, UiCommand::Cancel)],
        commands,
    );
}

fn shortcuts_ui(ui: &mut Ui, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    heading(ui, "Keyboard shortcuts");
    egui::Grid::new("shortcuts")
        .num_columns(2)
        .spacing([20.0, 5.0])
        .show(ui, |ui| {
            for (keys, meaning) in HELP {
                ui.label(RichText::new(keys).font(semibold(12.5)));
                ui.label(
                    RichText::new(meaning)
                        .font(regular(12.5))
                        .color(theme.text_soft),
                );
                ui.end_row();
            }
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
