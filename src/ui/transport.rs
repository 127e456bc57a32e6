//! The middle of the top bar: run or edit, the transport, the speed.

use egui::{Align, Rect, Ui, pos2, vec2};

use crate::run::RunAction;

use super::command::UiCommand;
use super::icons::Icon;
use super::paint::dot;
use super::theme::{Theme, semibold};
use super::topbar::{NO_RUN, Room, TopBar};
use super::widgets::{ActionButton, Emphasis, icon_button};

/// A button of the transport.
struct Button {
    icon: Icon,
    label: &'static str,
    key: &'static str,
    /// Why it is disabled.
    hindrance: Option<&'static str>,
    emphasis: Emphasis,
    command: UiCommand,
}

impl TopBar<'_> {
    pub(super) fn transport_width(&self, room: Room) -> f32 {
        let mode = if self.run.is_some() { 82.0 } else { 76.0 };
        mode + 16.0 + 5.0 * 38.0 + 4.0 * 6.0 + 16.0 + self.last_width(room)
    }

    /// Beside a way back there is no room for a speed that nothing has.
    fn last_width(&self, room: Room) -> f32 {
        match (self.can_return, room) {
            (true, Room::Full) => 120.0,
            (true, _) => 62.0,
            (false, _) => Self::speed_width(room),
        }
    }

    fn speed_width(room: Room) -> f32 {
        match room {
            Room::Full => 148.0,
            Room::Compact => 108.0,
            Room::Tight => 52.0,
        }
    }

    pub(super) fn transport_ui(&self, ui: &mut Ui, room: Room, commands: &mut Vec<UiCommand>) {
        self.mode_ui(ui, room, commands);
        ui.add_space(4.0);
        ui.spacing_mut().item_spacing.x = 6.0;
        for button in self.buttons() {
            let response = icon_button(
                ui,
                button.icon,
                button.label,
                button.hindrance.is_none(),
                button.emphasis,
            );
            if response.clicked() {
                commands.push(button.command);
            }
            response.on_hover_text(match button.hindrance {
                Some(reason) => reason.to_owned(),
                None => format!("{} ({})", button.label, button.key),
            });
        }
        ui.add_space(8.0);
        if !self.can_return {
            self.speed_ui(ui, room, commands);
        }
    }

    fn buttons(&self) -> [Button; 5] {
        let is_playing = self.run.as_ref().is_some_and(|run| run.is_playing);
        let back = self.hindrance_back();
        let act = |icon, label, key, hindrance, action| Button {
            icon,
            label,
            key,
            hindrance,
            emphasis: Emphasis::Plain,
            command: UiCommand::Act(action),
        };
        let (previous, next) = (RunAction::PreviousBarrierEvent, RunAction::NextBarrierEvent);
        let ahead = self.hindrance_ahead();
        [
            act(
                Icon::PreviousBarrier,
                "Previous barrier event",
                "Shift+←",
                back,
                previous,
            ),
            act(Icon::StepBack, "Step back", "←", back, RunAction::StepBack),
            Button {
                icon: if is_playing { Icon::Pause } else { Icon::Play },
                label: if is_playing { "Pause" } else { "Play" },
                key: "Space",
                hindrance: self.hindrance_of_play(),
                emphasis: if is_playing {
                    Emphasis::Chosen
                } else {
                    Emphasis::Plain
                },
                command: UiCommand::TogglePlay,
            },
            act(Icon::Step, "Step", "→", ahead, RunAction::Step),
            act(
                Icon::NextBarrier,
                "Next barrier event",
                "Shift+→",
                ahead,
                next,
            ),
        ]
    }

    fn hindrance_back(&self) -> Option<&'static str> {
        match &self.run {
            None => Some(NO_RUN),
            Some(run) if run.has_past => None,
            Some(_) => Some("This is the beginning"),
        }
    }

    /// In the past, what is recorded can be walked through.
    fn hindrance_ahead(&self) -> Option<&'static str> {
        match &self.run {
            None => Some(NO_RUN),
            Some(run) if run.has_future => None,
            Some(run) => run.end(),
        }
    }

    fn hindrance_of_play(&self) -> Option<&'static str> {
        match &self.run {
            Some(run) if run.is_playing => None,
            Some(run) if run.is_broken => run.end(),
            _ => self.hindrance_ahead(),
        }
    }

    fn mode_ui(&self, ui: &mut Ui, room: Room, commands: &mut Vec<UiCommand>) {
        if self.run.is_some() {
            let button = ActionButton {
                text: "Edit",
                label: Some("Edit the job"),
                icon: Some(Icon::Edit),
                ..Default::default()
            };
            if button
                .ui(ui)
                .on_hover_text("Edit the job; the run waits (F5)")
                .clicked()
            {
                commands.push(UiCommand::LeaveRun);
            }
            return;
        }
        let button = ActionButton {
            text: "Run",
            icon: Some(Icon::Run),
            emphasis: Emphasis::Main,
            is_disabled: self.hindrance.is_some(),
            ..Default::default()
        };
        let response = button.ui(ui);
        if response.clicked() {
            commands.push(UiCommand::StartRun);
        }
        response.on_hover_text(self.hindrance.as_deref().unwrap_or("Run this job (F5)"));
        if self.can_return {
            Self::return_ui(ui, room, commands);
        }
    }

    fn return_ui(ui: &mut Ui, room: Room, commands: &mut Vec<UiCommand>) {
        let button = ActionButton {
            text: return_text(room),
            label: Some("Back to the run"),
            ..Default::default()
        };
        let response = button.ui(ui);
        if response.clicked() {
            commands.push(UiCommand::BackToRun);
        }
        response.on_hover_text("Back to the run, as it was left");
    }

    fn speed_ui(&self, ui: &mut Ui, room: Room, commands: &mut Vec<UiCommand>) {
        let theme = Theme::of(ui.ctx());
        let Some(run) = &self.run else {
            ui.disable();
            Self::speed_slider(ui, room, 1.0);
            return;
        };
        let words = speed_text(run.speed);
        let (slot, _) = ui.allocate_exact_size(vec2(40.0, 24.0), egui::Sense::hover());
        super::paint::text_in(
            ui.painter(),
            slot,
            Align::Max,
            &words,
            semibold(13.0),
            theme.text,
        );
        if let Some(speed) = Self::speed_slider(ui, room, run.speed) {
            commands.push(UiCommand::Act(RunAction::SetSpeed(speed)));
        }
    }

    /// Returns the new speed if it was changed.
    fn speed_slider(ui: &mut Ui, room: Room, mut speed: f32) -> Option<f32> {
        if room == Room::Tight {
            return None;
        }
        log_slider(ui, Self::speed_width(room) - 58.0, &mut speed).then_some(speed)
    }
}

fn return_text(room: Room) -> &'static str {
    if room == Room::Full {
        "Back to the run"
    } else {
        "Back"
    }
}

const SPEEDS: std::ops::RangeInclusive<f32> = 0.05..=20.0;

/// A slider over [`SPEEDS`], equal factors being equal distances. Returns whether the speed was changed.
fn log_slider(ui: &mut Ui, width: f32, speed: &mut f32) -> bool {
    let theme = Theme::of(ui.ctx());
    let (rect, response) = ui.allocate_exact_size(vec2(width, 24.0), egui::Sense::click_and_drag());
    let rail = rect.shrink2(vec2(7.0, 10.0));
    let (low, high) = (SPEEDS.start().ln(), SPEEDS.end().ln());
    let before = *speed;
    if let Some(at) = response
        .interact_pointer_pos()
        .filter(|_| response.dragged() || response.clicked())
    {
        let share = ((at.x - rail.left()) / rail.width()).clamp(0.0, 1.0);
        let chosen = egui::lerp(low..=high, share).exp();
        // Normal speed is easy to hit.
        *speed = if (chosen.ln().abs()) < 0.12 {
            1.0
        } else {
            chosen
        };
    }
    if response.has_focus() {
        let presses = |key| ui.input(|input| input.num_presses(key)) as f32;
        let steps = presses(egui::Key::ArrowRight) - presses(egui::Key::ArrowLeft);
        *speed = (*speed * 1.25_f32.powf(steps)).clamp(*SPEEDS.start(), *SPEEDS.end());
    }
    let label = format!("Speed: {}", speed_text(*speed));
    response.widget_info(|| egui::WidgetInfo::slider(ui.is_enabled(), f64::from(*speed), &label));
    let x = egui::remap(speed.ln(), low..=high, rail.x_range());
    let filled = Rect::from_min_max(rail.min, pos2(x, rail.bottom()));
    super::paint::filled(ui.painter(), rail, 2.0, theme.line);
    super::paint::filled(ui.painter(), filled, 2.0, theme.accent.gamma_multiply(0.7));
    let knob = if response.has_focus() {
        theme.accent
    } else {
        theme.text
    };
    dot(ui.painter(), pos2(x, rail.center().y), 7.0, knob);
    response.on_hover_text("Virtual seconds per second");
    (*speed - before).abs() > f32::EPSILON
}

fn speed_text(speed: f32) -> String {
    match speed {
        s if s >= 9.95 => format!("{s:.0}×"),
        s if s >= 0.995 => format!("{}×", format!("{s:.1}").trim_end_matches(".0")),
        s => format!("{s:.2}×"),
    }
}
