//! The little panel at the canvas's lower left: −, percentage, +, fit.

use egui::{Align2, Rect, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use super::super::command::UiCommand;
use super::super::paint::{filled, framed};
use super::super::theme::{Theme, medium, space};

pub const SIZE: egui::Vec2 = vec2(136.0, 34.0);

/// Where the control lies on a canvas.
#[must_use]
pub fn control_rect(area: Rect) -> Rect {
    let corner = pos2(area.left() + 16.0, area.bottom() - 16.0 - SIZE.y);
    Rect::from_min_size(corner, SIZE)
}

pub fn zoom_ui(ui: &Ui, area: Rect, zoom: f32, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    let rect = control_rect(area);
    framed(
        ui.painter(),
        rect,
        8.0,
        theme.panel,
        Stroke::new(1.0, theme.line),
    );
    let percent = format!("{:.0} %", zoom * 100.0);
    ui.painter().text(
        pos2(rect.left() + 50.0, rect.center().y),
        Align2::CENTER_CENTER,
        percent,
        medium(12.0),
        theme.dim,
    );
    let mut button = |x: f32, width: f32, text: &str, label: &str, command: UiCommand| {
        let slot = Rect::from_min_size(
            pos2(rect.left() + x, rect.top() + 4.0),
            vec2(width, SIZE.y - 8.0),
        );
        let response = ui.interact(slot, ui.scope_id().with(label), Sense::click());
        response.widget_info(|| WidgetInfo::labeled(Role::Button, true, label));
        if response.hovered() || response.has_focus() {
            filled(ui.painter(), slot, space::RADIUS_SMALL, theme.card_hover);
        }
        ui.painter().text(
            slot.center(),
            Align2::CENTER_CENTER,
            text,
            medium(13.0),
            theme.text_soft,
        );
        if response.clicked() {
            commands.push(command);
        }
    };
    button(4.0, 24.0, "−", "Zoom out", UiCommand::ZoomBy(1.0 / 1.2));
    button(72.0, 24.0, "+", "Zoom in", UiCommand::ZoomBy(1.2));
    button(98.0, 34.0, "fit", "Fit", UiCommand::Fit);
}
