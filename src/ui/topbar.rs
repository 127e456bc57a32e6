//! The bar at the top: name, menus, transport, actions. It folds as the window gets narrower.

use egui::{Align, Layout, Rect, RichText, Ui, UiBuilder, pos2, vec2};

use crate::model::BackendKind;
use crate::run::RunAction;

use super::command::UiCommand;
use super::icons::Icon;
use super::menu::{menus_ui, restore_menu_ui};
use super::paint::dot;
use super::theme::{Theme, medium, semibold};
use super::widgets::{ActionButton, Emphasis, icon_button};

/// Everything the bar shows.
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that have nothing to do with each other"
)]
pub struct TopBar<'a> {
    pub title: &'a str,
    pub is_dirty: bool,
    pub can_undo: bool,
    pub can_redo: bool,
    /// None: editing.
    pub run: Option<RunFacts>,
    /// Why Run is disabled.
    pub hindrance: Option<String>,
    pub backend: BackendKind,
    pub is_armed: bool,
    pub view: super::menu::ViewFacts,
}

/// What the bar needs to know of a run.
pub struct RunFacts {
    pub is_playing: bool,
    pub speed: f32,
    /// The job has ended: no checkpoint, no crash.
    pub is_over: bool,
    /// A subtask failed, and the job waits to be restored.
    pub is_failed: bool,
    /// Checkpoints that can be restored, newest first.
    pub restorable: Vec<crate::model::CheckpointId>,
}

/// How much room there is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Room {
    Tight,
    Compact,
    Full,
}

impl Room {
    fn of(width: f32) -> Self {
        match width {
            w if w >= 1400.0 => Self::Full,
            w if w >= 1200.0 => Self::Compact,
            _ => Self::Tight,
        }
    }
}

impl TopBar<'_> {
    pub fn ui(&self, ui: &mut Ui, commands: &mut Vec<UiCommand>) {
        let bar = ui.max_rect();
        let room = Room::of(bar.width());
        let inside = bar.shrink2(vec2(12.0, 0.0));
        let mut right = child(ui, inside, Layout::right_to_left(Align::Center));
        self.actions_ui(&mut right, room, commands);
        let mut left = child(ui, inside, Layout::left_to_right(Align::Center));
        self.names_ui(&mut left, room, commands);
        let (from, to) = (
            left.min_rect().right() + 16.0,
            right.min_rect().left() - 16.0,
        );
        let wanted = self.transport_width(room);
        let start = (bar.center().x - wanted * 0.58).clamp(from, (to - wanted).max(from));
        let middle = Rect::from_min_max(pos2(start, inside.top()), pos2(to, inside.bottom()));
        let mut center = child(ui, middle, Layout::left_to_right(Align::Center));
        self.transport_ui(&mut center, room, commands);
    }

    fn names_ui(&self, ui: &mut Ui, room: Room, commands: &mut Vec<UiCommand>) {
        let theme = Theme::of(ui.ctx());
        ui.add_space(6.0);
        ui.label(
            RichText::new("Lockgate")
                .font(semibold(15.0))
                .color(theme.text),
        );
        ui.add_space(4.0);
        menus_ui(ui, room == Room::Tight, self.menu_facts(), commands);
        if room == Room::Tight && ui.max_rect().width() < 1080.0 {
            return;
        }
        ui.add_space(if room == Room::Full { 16.0 } else { 4.0 });
        let max = if room == Room::Full { 168.0 } else { 96.0 };
        let galley =
            super::paint::elided(ui.painter(), self.title, semibold(13.5), theme.text, max);
        let (rect, response) =
            ui.allocate_exact_size(galley.size() + vec2(16.0, 0.0), egui::Sense::hover());
        let state = if self.is_dirty {
            "unsaved changes"
        } else {
            "saved"
        };
        let label = format!("Job {}, {state}", self.title);
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &label));
        if self.is_dirty {
            dot(
                ui.painter(),
                pos2(rect.left() + galley.size().x + 9.0, rect.center().y + 1.0),
                3.5,
                theme.warn,
            );
            response.on_hover_text("Unsaved changes");
        }
        ui.painter().galley(rect.min, galley, theme.text);
    }

    fn menu_facts(&self) -> super::menu::MenuFacts {
        super::menu::MenuFacts {
            is_editing: self.run.is_none(),
            can_undo: self.can_undo,
            can_redo: self.can_redo,
            view: self.view,
        }
    }

    fn transport_width(&self, room: Room) -> f32 {
        let mode = if self.run.is_some() { 82.0 } else { 76.0 };
        mode + 16.0 + 5.0 * 38.0 + 4.0 * 6.0 + 16.0 + Self::speed_width(room)
    }

    fn speed_width(room: Room) -> f32 {
        match room {
            Room::Full => 148.0,
            Room::Compact => 108.0,
            Room::Tight => 52.0,
        }
    }

    fn transport_ui(&self, ui: &mut Ui, room: Room, commands: &mut Vec<UiCommand>) {
        self.mode_ui(ui, commands);
        ui.add_space(4.0);
        ui.spacing_mut().item_spacing.x = 6.0;
        let is_running = self.run.is_some();
        let is_playing = self.run.as_ref().is_some_and(|run| run.is_playing);
        let (play, play_label) = if is_playing {
            (Icon::Pause, "Pause")
        } else {
            (Icon::Play, "Play")
        };
        let buttons = [
            (
                Icon::PreviousBarrier,
                "Previous barrier event",
                "Shift+←",
                UiCommand::Act(RunAction::PreviousBarrierEvent),
            ),
            (
                Icon::StepBack,
                "Step back",
                "←",
                UiCommand::Act(RunAction::StepBack),
            ),
            (play, play_label, "Space", UiCommand::TogglePlay),
            (Icon::Step, "Step", "→", UiCommand::Act(RunAction::Step)),
            (
                Icon::NextBarrier,
                "Next barrier event",
                "Shift+→",
                UiCommand::Act(RunAction::NextBarrierEvent),
            ),
        ];
        for (icon, label, key, command) in buttons {
            let emphasis = if icon == Icon::Pause {
                Emphasis::Chosen
            } else {
                Emphasis::Plain
            };
            let response = icon_button(ui, icon, label, is_running, emphasis);
            if response.clicked() {
                commands.push(command);
            }
            response.on_hover_text(format!("{label} ({key})"));
        }
        ui.add_space(8.0);
        self.speed_ui(ui, room, commands);
    }

    fn mode_ui(&self, ui: &mut Ui, commands: &mut Vec<UiCommand>) {
        if self.run.is_some() {
            let button = ActionButton {
                text: "Edit",
                label: Some("Edit the job"),
                icon: Some(Icon::Edit),
                ..Default::default()
            };
            if button
                .ui(ui)
                .on_hover_text("End the run and edit the job (F5)")
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

    /// From right to left.
    fn actions_ui(&self, ui: &mut Ui, room: Room, commands: &mut Vec<UiCommand>) {
        ui.spacing_mut().item_spacing.x = 8.0;
        let key = |key| (room == Room::Full).then_some(key);
        self.backend_ui(ui, commands);
        self.restore_ui(ui, key("R"), commands);
        let can_crash = self
            .run
            .as_ref()
            .is_some_and(|run| !run.is_over && !run.is_failed);
        let crash = ActionButton {
            text: "Crash",
            key: key("X"),
            emphasis: Emphasis::Danger,
            is_disabled: !can_crash,
            ..Default::default()
        };
        let response = crash.ui(ui);
        if response.clicked() {
            commands.push(UiCommand::ArmCrash);
        }
        response.on_hover_text(if self.is_armed {
            "Click a subtask, or Esc"
        } else {
            "Let a subtask fail (X)"
        });
        let checkpoint = ActionButton {
            text: "Checkpoint",
            key: key("C"),
            emphasis: Emphasis::Main,
            is_disabled: !can_crash,
            ..Default::default()
        };
        let response = checkpoint.ui(ui);
        if response.clicked() {
            commands.push(UiCommand::Act(RunAction::Command(
                crate::model::Command::Checkpoint,
            )));
        }
        response.on_hover_text("Ask the coordinator for a checkpoint (C)");
    }

    fn restore_ui(&self, ui: &mut Ui, key: Option<&str>, commands: &mut Vec<UiCommand>) {
        let can_restore = self.run.as_ref().is_some_and(|run| !run.is_over);
        ui.scope(|ui| {
            ui.spacing_mut().item_spacing.x = 1.0;
            let arrow = ActionButton {
                label: Some("Restore from"),
                icon: Some(Icon::Down),
                is_disabled: !can_restore,
                ..Default::default()
            };
            let response = arrow.ui(ui);
            if let Some(run) = &self.run {
                restore_menu_ui(&response, &run.restorable, commands);
            }
            let restore = ActionButton {
                text: "Restore",
                key,
                is_disabled: !can_restore,
                ..Default::default()
            };
            let response = restore.ui(ui);
            if response.clicked() {
                let command = crate::model::Command::Restore { checkpoint: None };
                commands.push(UiCommand::Act(RunAction::Command(command)));
            }
            response.on_hover_text("Begin again from the latest completed checkpoint (R)");
        });
    }

    fn backend_ui(&self, ui: &mut Ui, commands: &mut Vec<UiCommand>) {
        let name = backend_name(self.backend);
        let label = format!("Backend: {name}");
        let theme = Theme::of(ui.ctx());
        let width = ui
            .painter()
            .layout_no_wrap("RocksDB".to_owned(), semibold(13.0), theme.text)
            .size()
            .x
            + 44.0;
        let (rect, response) = ui.allocate_exact_size(vec2(width, 32.0), egui::Sense::click());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ComboBox, true, &label));
        let fill = if response.hovered() {
            theme.card_hover
        } else {
            theme.card
        };
        let is_flat = theme.kind == super::theme::ThemeKind::Dark && !response.has_focus();
        let line = if is_flat {
            egui::Stroke::NONE
        } else {
            egui::Stroke::new(1.0, theme.line)
        };
        super::paint::framed(ui.painter(), rect, 7.0, fill, line);
        let at = pos2(rect.left() + 12.0, rect.center().y);
        ui.painter().text(
            at,
            egui::Align2::LEFT_CENTER,
            name,
            semibold(13.0),
            theme.text,
        );
        super::icons::paint_icon(
            ui.painter(),
            theme,
            Icon::Down,
            pos2(rect.right() - 16.0, rect.center().y),
            theme.dim,
        );
        egui::Popup::menu(&response).show(|ui| {
            ui.set_min_width(200.0);
            for backend in BackendKind::ALL {
                let text = RichText::new(backend_title(backend)).font(medium(13.0));
                if ui.selectable_label(backend == self.backend, text).clicked() {
                    commands.push(UiCommand::ChooseBackend(backend));
                    ui.close();
                }
            }
        });
        response.on_hover_text("Where keyed state lives");
    }
}

fn child(ui: &mut Ui, rect: Rect, layout: Layout) -> Ui {
    ui.new_child(UiBuilder::new().max_rect(rect).layout(layout))
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

#[must_use]
pub fn backend_name(backend: BackendKind) -> &'static str {
    match backend {
        BackendKind::Heap => "Heap",
        BackendKind::RocksDb => "RocksDB",
    }
}

#[must_use]
pub fn backend_title(backend: BackendKind) -> &'static str {
    match backend {
        BackendKind::Heap => "Heap: maps in memory",
        BackendKind::RocksDb => "RocksDB: one database per subtask",
    }
}
