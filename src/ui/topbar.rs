//! The bar at the top: name, menus, transport, actions. It folds as the window gets narrower.

use egui::{Align, Layout, Rect, RichText, Ui, UiBuilder, pos2, vec2};

use crate::model::{BackendKind, Command};
use crate::run::RunAction;

use super::acts::{ActFacts, crash_menu_ui, savepoint_menu_ui};
use super::command::UiCommand;
use super::icons::Icon;
use super::menu::{menus_ui, restore_menu_ui};
use super::paint::dot;
use super::theme::{Theme, medium, semibold};
use super::widgets::{ActionButton, Emphasis};

/// Why a button of a run is dimmed while editing.
pub(super) const NO_RUN: &str = "Run the job first";

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
    pub has_selection: bool,
    /// A run waits that can be gone back to.
    pub can_return: bool,
    /// None: editing.
    pub run: Option<RunFacts>,
    /// Why Run is disabled.
    pub hindrance: Option<String>,
    pub backend: BackendKind,
    pub is_armed: bool,
    pub view: super::menu::ViewFacts,
}

/// What the bar needs to know of a run.
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that have nothing to do with each other"
)]
pub struct RunFacts {
    pub is_playing: bool,
    pub speed: f32,
    /// Something is recorded before the cursor.
    pub has_past: bool,
    /// Something is recorded after the cursor.
    pub has_future: bool,
    /// The job has ended: no checkpoint, no crash.
    pub is_over: bool,
    /// The engine could not begin, or cannot go on.
    pub is_broken: bool,
    /// A subtask failed, and the job waits to be restored.
    pub is_failed: bool,
    /// Checkpoints that can be restored, newest first.
    pub restorable: Vec<crate::model::CheckpointId>,
    pub acts: ActFacts,
}

impl RunFacts {
    /// Only a new run helps.
    fn is_past_help(&self) -> bool {
        self.is_over || self.is_broken
    }

    /// Why nothing more will happen, if so.
    pub(super) fn end(&self) -> Option<&'static str> {
        match (self.is_broken, self.is_over) {
            (true, _) => Some("The engine has stopped: begin a new run"),
            (false, true) => Some("The job has ended: step back, or run it again"),
            (false, false) => None,
        }
    }
}

/// How much room there is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Room {
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
            has_selection: self.has_selection,
            can_return: self.can_return,
            view: self.view,
        }
    }

    /// From right to left.
    fn actions_ui(&self, ui: &mut Ui, room: Room, commands: &mut Vec<UiCommand>) {
        ui.spacing_mut().item_spacing.x = 8.0;
        let key = |key| (room == Room::Full).then_some(key);
        self.backend_ui(ui, commands);
        if self.run.as_ref().is_some_and(RunFacts::is_past_help) {
            again_ui(ui, room, commands);
        } else {
            self.restore_ui(ui, key("R"), commands);
        }
        // Without a run the arrows open nothing: where there is little room, they go first.
        let has_arrows = self.run.is_some() || room != Room::Tight;
        self.crash_ui(ui, (key("X"), has_arrows), commands);
        self.checkpoint_ui(ui, (key("C"), has_arrows), commands);
    }

    /// Why nothing can be asked of the job.
    fn action_hindrance(&self) -> Option<&'static str> {
        let Some(run) = &self.run else {
            return Some(NO_RUN);
        };
        run.end()
            .or_else(|| run.is_failed.then_some("A subtask failed: restore first"))
    }

    fn crash_ui(
        &self,
        ui: &mut Ui,
        (key, has_arrow): (Option<&str>, bool),
        commands: &mut Vec<UiCommand>,
    ) {
        let hindrance = self.action_hindrance();
        let crash = ActionButton {
            text: "Crash",
            key,
            emphasis: Emphasis::Danger,
            is_disabled: hindrance.is_some(),
            ..Default::default()
        };
        let hint_of_crash = if self.is_armed {
            "Click a subtask, or Esc"
        } else {
            "Let a subtask fail (X)"
        };
        ui.scope(|ui| {
            ui.spacing_mut().item_spacing.x = 1.0;
            if has_arrow {
                let response = self.arrow_ui(ui, "More failures", Emphasis::Danger);
                if let Some(run) = &self.run {
                    crash_menu_ui(&response, &run.acts, commands);
                }
                let hint = "Crash several, or a TaskManager, or inject a fault";
                response.on_hover_text(if self.run.is_none() { NO_RUN } else { hint });
            }
            let response = crash.ui(ui);
            if response.clicked() {
                commands.push(UiCommand::ArmCrash);
            }
            response.on_hover_text(hindrance.unwrap_or(hint_of_crash));
        });
    }

    fn checkpoint_ui(
        &self,
        ui: &mut Ui,
        (key, has_arrow): (Option<&str>, bool),
        commands: &mut Vec<UiCommand>,
    ) {
        let hindrance = self.action_hindrance();
        let checkpoint = ActionButton {
            text: "Checkpoint",
            key,
            emphasis: Emphasis::Main,
            is_disabled: hindrance.is_some(),
            ..Default::default()
        };
        ui.scope(|ui| {
            ui.spacing_mut().item_spacing.x = 1.0;
            if has_arrow {
                let response = self.arrow_ui(ui, "Savepoints and stopping", Emphasis::Main);
                if let Some(run) = &self.run {
                    savepoint_menu_ui(&response, &run.acts, commands);
                }
                let hint = "Take a savepoint, stop, cancel or suspend the job";
                response.on_hover_text(if self.run.is_none() { NO_RUN } else { hint });
            }
            let response = checkpoint.ui(ui);
            if response.clicked() {
                commands.push(UiCommand::Act(RunAction::Command(Command::Checkpoint)));
            }
            let hint = "Ask the coordinator for a checkpoint (C)";
            response.on_hover_text(hindrance.unwrap_or(hint));
        });
    }

    /// The small arrow at the right of a button: opens what is like it.
    fn arrow_ui(&self, ui: &mut Ui, label: &str, emphasis: Emphasis) -> egui::Response {
        let arrow = ActionButton {
            label: Some(label),
            icon: Some(Icon::Down),
            emphasis,
            is_disabled: self.run.is_none(),
            ..Default::default()
        };
        arrow.ui(ui)
    }

    fn restore_ui(&self, ui: &mut Ui, key: Option<&str>, commands: &mut Vec<UiCommand>) {
        let is_disabled = self.run.is_none();
        ui.scope(|ui| {
            ui.spacing_mut().item_spacing.x = 1.0;
            let response = self.arrow_ui(ui, "Restore from", Emphasis::Plain);
            if let Some(run) = &self.run {
                restore_menu_ui(&response, &run.restorable, commands);
            }
            response.on_hover_text(if is_disabled {
                NO_RUN
            } else {
                "Choose the checkpoint to begin again from"
            });
            let restore = ActionButton {
                text: "Restore",
                key,
                is_disabled,
                ..Default::default()
            };
            let response = restore.ui(ui);
            if response.clicked() {
                let command = Command::Restore { checkpoint: None };
                commands.push(UiCommand::Act(RunAction::Command(command)));
            }
            response.on_hover_text(if is_disabled {
                NO_RUN
            } else {
                "Begin again from the latest completed checkpoint (R)"
            });
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
        response.on_hover_text(if self.run.is_some() {
            "Where keyed state lives: choose one for a new run"
        } else {
            "Where keyed state lives"
        });
    }
}

/// In the place of Restore, once there is nothing left to restore.
fn again_ui(ui: &mut Ui, room: Room, commands: &mut Vec<UiCommand>) {
    let again = ActionButton {
        text: "Run again",
        icon: (room == Room::Full).then_some(Icon::Run),
        emphasis: Emphasis::Main,
        ..Default::default()
    };
    let response = again.ui(ui);
    if response.clicked() {
        commands.push(UiCommand::RunAgain);
    }
    response.on_hover_text("A new run of the same job, from its beginning");
}

fn child(ui: &mut Ui, rect: Rect, layout: Layout) -> Ui {
    ui.new_child(UiBuilder::new().max_rect(rect).layout(layout))
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
