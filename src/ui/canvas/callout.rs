//! The one sentence on the canvas: how many records wait behind a barrier, beside the gate where they wait.

use egui::{Pos2, Rect, Shape, Stroke, Vec2, pos2, vec2};

use super::super::paint::framed;
use super::super::theme::semibold;
use super::layout::Layout;
use super::pen::Pen;

/// Draw the callout inside `room`, where it hides least.
pub fn callout(pen: &Pen<'_>, layout: &Layout, room: Rect) {
    let Some((channel, checkpoint, waiting)) = pen.scene.longest_blocked() else {
        return;
    };
    let words = match waiting {
        0 => format!("shut by barrier {checkpoint}"),
        1 => format!("1 record waits behind barrier {checkpoint}"),
        n => format!("{n} records wait behind barrier {checkpoint}"),
    };
    let color = pen.theme.checkpoint_text(checkpoint);
    let stroke = Stroke::new(1.2, pen.theme.checkpoint(checkpoint));
    let galley = pen.painter.layout_no_wrap(words, semibold(12.0), color);
    let size = galley.size() + vec2(24.0, 12.0);
    let curve = &layout.curves[channel.index()];
    let gate = pen.pos(curve.before_end(0.0));
    let card = pen.rect(layout.cards[pen.scene.plan.channel(channel).to.index()]);
    let half = pen.scaled(layout.tube_width) / 2.0;
    let rect = place(pen, layout, room, (gate, card, half), size);
    let waiting_at = pen.pos(curve.before_end((layout.tube_width * 1.9).min(curve.length() * 0.3)));
    let direction = if rect.center().y < gate.y { -1.0 } else { 1.0 };
    let target = waiting_at + vec2(0.0, direction * (half + 2.0));
    let edge = if direction < 0.0 {
        rect.bottom()
    } else {
        rect.top()
    };
    let from = pos2(
        (target.x - 8.0).clamp(rect.left() + 12.0, rect.right() - 12.0),
        edge,
    );
    pen.painter.add(Shape::line_segment([from, target], stroke));
    framed(
        pen.painter,
        rect,
        6.0,
        pen.theme.inset,
        Stroke::new(1.0, stroke.color),
    );
    pen.painter
        .galley(rect.center() - galley.size() / 2.0, galley, color);
}

/// Of a few places around the gate, the one that hides the least of the picture.
fn place(
    pen: &Pen<'_>,
    layout: &Layout,
    room: Rect,
    (gate, card, half): (Pos2, Rect, f32),
    size: Vec2,
) -> Rect {
    let above = gate.y - half - 26.0 - size.y;
    let below = gate.y + half + 26.0;
    let over_card = card.top() - 12.0 - size.y;
    let under_card = card.bottom() + 12.0;
    let places = [
        pos2(gate.x - 20.0 - size.x, above),
        pos2(gate.x - 70.0, over_card.min(above)),
        pos2(gate.x - 70.0, under_card.max(below)),
        pos2(gate.x - 20.0 - size.x, below),
        pos2(gate.x - 60.0 - size.x, above - 40.0),
    ];
    let inside = |corner: Pos2| {
        let left = corner
            .x
            .clamp(room.left(), (room.right() - size.x).max(room.left()));
        let top = corner
            .y
            .clamp(room.top(), (room.bottom() - size.y).max(room.top()));
        Rect::from_min_size(pos2(left, top), size)
    };
    let hidden = |rect: &Rect| {
        let cards = layout
            .cards
            .iter()
            .filter(|card| pen.rect(**card).intersects(*rect))
            .count();
        let reach = rect.expand(half + 3.0);
        let on_screen = layout
            .curves
            .iter()
            .flat_map(|curve| curve.on_screen(pen.to_screen));
        40 * cards + on_screen.filter(|point| reach.contains(*point)).count()
    };
    let rects = places.map(inside);
    rects.into_iter().min_by_key(hidden).unwrap_or(rects[0])
}
