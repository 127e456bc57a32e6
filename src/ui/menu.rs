//! The menus of the top bar. Every item works.

use egui::containers::menu::MenuButton;
use egui::{Button, MenuBar, Popup, Response, RichText, Ui};

use crate::model::{CheckpointId, Command};
use crate::run::RunAction;

use super::command::{Dialog, UiCommand};
use super::icons::{Icon, paint_icon};
use super::samples;
use super::theme::{Theme, ThemeChoice, medium, regular};

const PADDING: f32 = 7.0;

/// What the View menu shows as chosen.
#[derive(Clone, Copy)]
pub struct ViewFacts {
    pub theme: ThemeChoice,
    pub reduced_motion: bool,
    pub inspector: bool,
    pub timeline: bool,
}

#[derive(Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that have nothing to do with each other"
)]
pub struct MenuFacts {
    pub is_editing: bool,
    pub can_undo: bool,
    pub can_redo: bool,
    pub has_selection: bool,
    /// A run waits that can be gone back to.
    pub can_return: bool,
    pub view: ViewFacts,
}

/// The four menus side by side, or folded into one.
pub fn menus_ui(ui: &mut Ui, is_folded: bool, facts: MenuFacts, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    let font = regular(13.0);
    let titles: &[&str] = if is_folded {
        &["      "]
    } else {
        &["File", "Edit", "View", "Help"]
    };
    let measure = |title: &&str| {
        let title = (*title).to_owned();
        ui.painter()
            .layout_no_wrap(title, font.clone(), theme.text)
            .size()
            .x
            + 2.0 * PADDING
            + 2.0
    };
    // A menu bar would take the whole row.
    let width: f32 = titles.iter().map(measure).sum();
    let (slot, _) = ui.allocate_exact_size(egui::vec2(width, 28.0), egui::Sense::hover());
    let mut bar = ui.new_child(egui::UiBuilder::new().max_rect(slot));
    MenuBar::new().ui(&mut bar, |ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        ui.spacing_mut().button_padding = egui::vec2(PADDING, 4.0);
        let plain = |text: &str| {
            RichText::new(text)
                .font(font.clone())
                .color(theme.text_soft)
        };
        if is_folded {
            let (response, _) = MenuButton::new(plain(titles[0])).ui(ui, |ui| {
                ui.menu_button("File", |ui| file_ui(ui, commands));
                ui.menu_button("Edit", |ui| edit_ui(ui, facts, commands));
                ui.menu_button("View", |ui| view_ui(ui, facts, commands));
                ui.menu_button("Help", |ui| help_ui(ui, commands));
            });
            paint_icon(
                ui.painter(),
                theme,
                Icon::Menu,
                response.rect.center(),
                theme.text_soft,
            );
            response.accessible_name("Menu");
            return;
        }
        ui.menu_button(plain("File"), |ui| file_ui(ui, commands));
        ui.menu_button(plain("Edit"), |ui| edit_ui(ui, facts, commands));
        ui.menu_button(plain("View"), |ui| view_ui(ui, facts, commands));
        ui.menu_button(plain("Help"), |ui| help_ui(ui, commands));
    });
}

/// Items of a menu: as wide as told, with room around their words.
fn roomy(ui: &mut Ui, width: f32) {
    ui.set_min_width(width);
    ui.spacing_mut().button_padding = egui::vec2(8.0, 3.0);
    ui.spacing_mut().item_spacing.y = 3.0;
}

fn item(ui: &mut Ui, text: &str, key: &str, command: UiCommand, commands: &mut Vec<UiCommand>) {
    item_if(ui, true, text, key, command, commands);
}

fn item_if(
    ui: &mut Ui,
    enabled: bool,
    text: &str,
    key: &str,
    command: UiCommand,
    commands: &mut Vec<UiCommand>,
) {
    let mut button = Button::new(text);
    if !key.is_empty() {
        button = button.shortcut_text(key);
    }
    if ui.add_enabled(enabled, button).clicked() {
        commands.push(command);
        ui.close();
    }
}

fn file_ui(ui: &mut Ui, commands: &mut Vec<UiCommand>) {
    roomy(ui, 220.0);
    item(ui, "New", "Ctrl+N", UiCommand::New, commands);
    item(ui, "Open…", "Ctrl+O", UiCommand::OpenDialog, commands);
    item(
        ui,
        "Open by path…",
        "Ctrl+Shift+O",
        UiCommand::OpenByPath,
        commands,
    );
    ui.menu_button("Samples", |ui| {
        roomy(ui, 260.0);
        for (index, sample) in samples::all().iter().enumerate() {
            let button =
                Button::new(sample.name).right_text(RichText::new(sample.hint).small().weak());
            if ui.add(button).clicked() {
                commands.push(UiCommand::OpenSample(index));
                ui.close();
            }
        }
    });
    ui.separator();
    item(ui, "Save", "Ctrl+S", UiCommand::Save, commands);
    item(ui, "Save as…", "Ctrl+Shift+S", UiCommand::SaveAs, commands);
    item(ui, "Save to path…", "", UiCommand::SaveByPath, commands);
    ui.separator();
    item(
        ui,
        "Run from savepoint…",
        "",
        UiCommand::RunFromDialog,
        commands,
    );
    ui.separator();
    item(ui, "Quit", "Ctrl+Q", UiCommand::Quit, commands);
}

fn edit_ui(ui: &mut Ui, facts: MenuFacts, commands: &mut Vec<UiCommand>) {
    roomy(ui, 200.0);
    let editing = facts.is_editing;
    item_if(
        ui,
        editing && facts.can_undo,
        "Undo",
        "Ctrl+Z",
        UiCommand::Undo,
        commands,
    );
    item_if(
        ui,
        editing && facts.can_redo,
        "Redo",
        "Ctrl+Y",
        UiCommand::Redo,
        commands,
    );
    ui.separator();
    item_if(
        ui,
        editing && facts.has_selection,
        "Delete",
        "Del",
        UiCommand::DeleteSelected,
        commands,
    );
}

fn view_ui(ui: &mut Ui, facts: MenuFacts, commands: &mut Vec<UiCommand>) {
    roomy(ui, 200.0);
    let view = facts.view;
    ui.menu_button("Theme", |ui| {
        roomy(ui, 160.0);
        for choice in ThemeChoice::ALL {
            if ui.radio(choice == view.theme, choice.name()).clicked() {
                commands.push(UiCommand::SetTheme(choice));
                ui.close();
            }
        }
    });
    let mut reduced = view.reduced_motion;
    if ui.checkbox(&mut reduced, "Reduced motion").clicked() {
        commands.push(UiCommand::SetReducedMotion(reduced));
        ui.close();
    }
    ui.separator();
    let mut inspector = view.inspector;
    if ui.checkbox(&mut inspector, "Inspector").clicked() {
        commands.push(UiCommand::ToggleInspector);
        ui.close();
    }
    let mut timeline = view.timeline;
    if ui.checkbox(&mut timeline, "Timeline").clicked() {
        commands.push(UiCommand::ToggleTimeline);
        ui.close();
    }
    ui.separator();
    item(ui, "Zoom in", "+", UiCommand::ZoomBy(1.2), commands);
    item(ui, "Zoom out", "−", UiCommand::ZoomBy(1.0 / 1.2), commands);
    item(ui, "Fit to window", "F", UiCommand::Fit, commands);
    ui.separator();
    item_if(
        ui,
        facts.can_return,
        "Back to the run",
        "",
        UiCommand::BackToRun,
        commands,
    );
}

fn help_ui(ui: &mut Ui, commands: &mut Vec<UiCommand>) {
    roomy(ui, 200.0);
    item(
        ui,
        "Keyboard shortcuts",
        "F1",
        UiCommand::Show(Dialog::Shortcuts),
        commands,
    );
    item(
        ui,
        "About Lockgate",
        "",
        UiCommand::Show(Dialog::About),
        commands,
    );
}

/// Completed checkpoints that can be restored, newest first.
pub fn restore_menu_ui(
    anchor: &Response,
    restorable: &[CheckpointId],
    commands: &mut Vec<UiCommand>,
) {
    Popup::menu(anchor).show(|ui| {
        roomy(ui, 210.0);
        if restorable.is_empty() {
            ui.label(
                RichText::new("No completed checkpoint yet: Restore starts afresh.")
                    .font(regular(12.5)),
            );
        }
        for id in restorable {
            let text = RichText::new(format!("Checkpoint {id}")).font(medium(13.0));
            if ui.button(text).clicked() {
                let command = Command::Restore {
                    checkpoint: Some(*id),
                };
                commands.push(UiCommand::Act(RunAction::Command(command)));
                ui.close();
            }
        }
    });
}
