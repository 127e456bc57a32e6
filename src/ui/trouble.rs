//! A strip above the canvas for a run that cannot go on: what happened, and what to do.

use egui::{Frame, Margin, Panel, RichText, Ui};

use crate::run::Run;

use super::command::{Dialog, UiCommand};
use super::paint::dot;
use super::theme::{Theme, semibold, size};
use super::widgets::{ActionButton, Emphasis, sentence, small_print};

/// Room for the button at the right, and air before it.
const BUTTON_WIDTH: f32 = 120.0;

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
                let words = ui.available_width() - BUTTON_WIDTH;
                ui.vertical(|ui| {
                    ui.set_width(words);
                    words_ui(ui, &error.to_string());
                });
                new_run_ui(ui, run, commands);
            });
        });
}

fn words_ui(ui: &mut Ui, text: &str) {
    let theme = Theme::of(ui.ctx());
    ui.horizontal(|ui| {
        let (slot, _) = ui.allocate_exact_size(egui::vec2(14.0, 18.0), egui::Sense::hover());
        dot(ui.painter(), slot.center(), 4.5, theme.error);
        let title = RichText::new("The run cannot go on").font(semibold(size::TITLE));
        ui.label(title.color(theme.text));
    });
    sentence(ui, text, theme.text);
    small_print(
        ui,
        "What is recorded can still be looked at. Begin a new run, or edit the job.",
    );
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

#[cfg(test)]
mod tests {
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    use super::*;
    use crate::run::RunOptions;
    use crate::ui::theme::{self, ThemeKind};
    use crate::ui::{fonts, samples};

    #[test]
    fn a_run_that_cannot_go_on_says_why_and_offers_another() {
        let has_data = |sample: &&samples::Sample| sample.data().next().is_some();
        let sample = samples::all().iter().find(has_data);
        let options = RunOptions {
            base_dir: "no/such/folder".into(),
            ..RunOptions::default()
        };
        let mut run = Run::start(&sample.unwrap().job(), &options).unwrap();
        let error = run.finish(None, |_| {}).unwrap_err().to_string();
        let ui = |ui: &mut Ui, commands: &mut Vec<UiCommand>| {
            theme::install(ui.ctx(), ThemeKind::Dark, false);
            trouble_panel(ui, &run, commands);
        };
        let mut window = Harness::builder()
            .with_context_setup(fonts::install)
            .build_ui_state(ui, Vec::new());
        window.run_steps(2);
        window.get_by_label("The run cannot go on");
        window.get_by_label(&error);
        window.get_by_label("New run…").click();
        window.run_steps(2);
        let backend = run.backend();
        assert_eq!(
            *window.state(),
            [UiCommand::Show(Dialog::NewRun { backend })]
        );
    }
}
