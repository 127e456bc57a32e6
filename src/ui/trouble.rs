//! A strip above the canvas for a run that cannot go on: what happened, and what to do.

use egui::{Frame, Margin, Panel, RichText, Ui};

use crate::run::Run;

use super::command::{Dialog, UiCommand};
use super::paint::dot;
use super::theme::{Theme, semibold, size};
use super::widgets::{ActionButton, Emphasis, sentence, small_print};

/// Shows nothing while all is well.
pub fn trouble_panel(ui: &mut Ui, run: &Run, commands: &mut Vec<UiCommand>) {
    let Some(error) = run.error() else { return };
    let theme = Theme::of(ui.ctx());
    let frame = Frame::new()
        .fill(theme.ground.lerp_to_gamma(theme.error, 0.14))
        .inner_margin(Margin::symmetric(18, 12));
    Panel::top("trouble")
        .resizable(false)
        .frame(frame)
        .show(ui, |ui| {
            ui.horizontal(|ui| {
                let (slot, _) =
                    ui.allocate_exact_size(egui::vec2(14.0, 18.0), egui::Sense::hover());
                dot(ui.painter(), slot.center(), 4.5, theme.error);
                let title = RichText::new("The run cannot go on").font(semibold(size::TITLE));
                ui.label(title.color(theme.text));
            });
            sentence(ui, &error.to_string(), theme.text);
            small_print(
                ui,
                "What is recorded can still be looked at. Begin a new run, or edit the job.",
            );
            ui.add_space(6.0);
            new_run_ui(ui, run, commands);
        });
}

fn new_run_ui(ui: &mut Ui, run: &Run, commands: &mut Vec<UiCommand>) {
    let button = ActionButton {
        text: "New run…",
        emphasis: Emphasis::Main,
        ..Default::default()
    };
    if button.ui(ui).clicked() {
        let backend = run.backend();
        commands.push(UiCommand::Show(Dialog::NewRun { backend }));
    }
}
