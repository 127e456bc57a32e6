//! What can be put on the canvas, at its left edge: click to add, or drag to a place.

use egui::{Align2, CursorIcon, Rect, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use super::super::command::{UiCommand, VertexKind};
use super::super::paint::{elided, framed};
use super::super::theme::{Theme, medium, regular, semibold};
use super::edit::EditCanvas;
use super::node::paint_kind;

pub const WIDTH: f32 = 184.0;

pub fn palette_ui(ui: &mut Ui, canvas: &EditCanvas, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    ui.spacing_mut().item_spacing.y = 6.0;
    ui.label(egui::RichText::new("Palette").font(semibold(13.5)));
    ui.label(
        egui::RichText::new("Click to add, or drag to a place.")
            .font(regular(11.5))
            .color(theme.dim),
    );
    ui.add_space(6.0);
    for kind in VertexKind::ALL {
        item_ui(ui, kind, canvas, commands);
    }
    ui.add_space(10.0);
    let hint = "Connect: drag from the circle at a card’s right edge to another card.";
    ui.label(
        egui::RichText::new(hint)
            .font(regular(11.5))
            .color(theme.dim),
    );
}

fn item_ui(ui: &mut Ui, kind: VertexKind, canvas: &EditCanvas, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    let (rect, response) =
        ui.allocate_exact_size(vec2(ui.available_width(), 48.0), Sense::click_and_drag());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, kind.label()));
    let is_live = response.hovered() || response.has_focus() || response.dragged();
    let (fill, line) = if is_live {
        (theme.card_hover, theme.line_strong)
    } else {
        (theme.card, theme.line)
    };
    framed(ui.painter(), rect, 8.0, fill, Stroke::new(1.0, line));
    paint_kind(
        ui.painter(),
        theme,
        kind,
        pos2(rect.left() + 22.0, rect.center().y),
    );
    let room = rect.width() - 50.0;
    let at = |y: f32| pos2(rect.left() + 42.0, rect.center().y + y);
    let title = elided(ui.painter(), kind.title(), medium(13.0), theme.text, room);
    ui.painter().galley(at(-17.0), title, theme.text);
    let hint = elided(ui.painter(), kind.hint(), regular(11.5), theme.dim, room);
    ui.painter().galley(at(1.0), hint, theme.dim);
    if response.clicked() {
        commands.push(UiCommand::AddVertex { kind, at: None });
    }
    dragging(ui, kind, canvas, &response, commands);
}

fn dragging(
    ui: &Ui,
    kind: VertexKind,
    canvas: &EditCanvas,
    response: &egui::Response,
    commands: &mut Vec<UiCommand>,
) {
    let Some(pointer) = ui.ctx().pointer_latest_pos() else {
        return;
    };
    if response.dragged() {
        let theme = Theme::of(ui.ctx());
        ui.ctx().set_cursor_icon(CursorIcon::Grabbing);
        let layer = egui::LayerId::new(egui::Order::Tooltip, response.id);
        let above = ui.ctx().layer_painter(layer);
        let ghost = Rect::from_center_size(pointer, vec2(150.0, 44.0));
        framed(
            &above,
            ghost,
            8.0,
            theme.card,
            Stroke::new(1.5, theme.accent),
        );
        above.text(
            ghost.center(),
            Align2::CENTER_CENTER,
            kind.title(),
            medium(13.0),
            theme.text,
        );
    }
    if response.drag_stopped()
        && let Some(at) = canvas.drop_position(pointer)
    {
        commands.push(UiCommand::AddVertex { kind, at: Some(at) });
    }
}
