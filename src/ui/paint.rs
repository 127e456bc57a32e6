//! Small things that are painted in many places: text in a slot, dots, dashes, hatching, checkpoint squares.

use std::sync::Arc;

use egui::text::{LayoutJob, TextWrapping};
use egui::{
    Align2, Color32, CornerRadius, FontId, Galley, Painter, Pos2, Rect, Shape, Stroke, StrokeKind,
    pos2, vec2,
};

use crate::model::CheckpointId;
use crate::recording::view::{CheckpointStatus, CheckpointView};

use super::theme::{Theme, semibold};

/// How strongly a changed row is tinted at first.
pub const TINT_ALPHA: f32 = 0.18;

/// One line of text, cut with an ellipsis at `max_width`.
#[must_use]
pub fn elided(
    painter: &Painter,
    text: &str,
    font: FontId,
    color: Color32,
    max_width: f32,
) -> Arc<Galley> {
    let mut job = LayoutJob::simple_singleline(text.to_owned(), font, color);
    job.wrap = TextWrapping::truncate_at_width(max_width.max(0.0));
    painter.layout_job(job)
}

/// One line of text in `rect`, vertically centred, cut with an ellipsis if it is too long.
pub fn text_in(
    painter: &Painter,
    rect: Rect,
    align: egui::Align,
    text: &str,
    font: FontId,
    color: Color32,
) -> Rect {
    let galley = elided(painter, text, font, color, rect.width());
    let x = match align {
        egui::Align::Min => rect.left(),
        egui::Align::Center => rect.center().x - galley.size().x / 2.0,
        egui::Align::Max => rect.right() - galley.size().x,
    };
    let at = pos2(x, rect.center().y - galley.size().y / 2.0);
    let area = Rect::from_min_size(at, galley.size());
    painter.galley(at, galley, color);
    area
}

pub fn dot(painter: &Painter, center: Pos2, radius: f32, color: Color32) {
    painter.circle_filled(center, radius, color);
}

pub fn filled(painter: &Painter, rect: Rect, radius: f32, color: Color32) {
    painter.rect_filled(rect, corner(radius), color);
}

pub fn framed(painter: &Painter, rect: Rect, radius: f32, fill: Color32, stroke: Stroke) {
    painter.rect(rect, corner(radius), fill, stroke, StrokeKind::Inside);
}

#[must_use]
pub fn corner(radius: f32) -> CornerRadius {
    CornerRadius::same(radius.clamp(0.0, 255.0).round() as u8)
}

/// A dashed outline with square corners cut by `radius`.
pub fn dashed_frame(painter: &Painter, rect: Rect, radius: f32, stroke: Stroke) {
    let rect = rect.shrink(stroke.width / 2.0);
    let mut path = Vec::new();
    for (corner, start) in [
        (rect.right_top() + vec2(-radius, radius), -0.25),
        (rect.right_bottom() + vec2(-radius, -radius), 0.0),
        (rect.left_bottom() + vec2(radius, -radius), 0.25),
        (rect.left_top() + vec2(radius, radius), 0.5),
    ] {
        for step in 0..=4 {
            let angle = (start + 0.25 * step as f32 / 4.0) * std::f32::consts::TAU;
            path.push(corner + radius * vec2(angle.cos(), angle.sin()));
        }
    }
    path.push(path[0]);
    painter.extend(Shape::dashed_line(&path, stroke, 4.0, 3.0));
}

/// Diagonal lines over `rect`, one direction or both.
pub fn hatch(painter: &Painter, rect: Rect, spacing: f32, stroke: Stroke, cross: bool) {
    let painter = painter.with_clip_rect(painter.clip_rect().intersect(rect));
    let mut x = rect.left() - rect.height();
    while x < rect.right() {
        let (from, to) = (pos2(x, rect.bottom()), pos2(x + rect.height(), rect.top()));
        painter.line_segment([from, to], stroke);
        if cross {
            painter.line_segment([pos2(from.x, to.y), pos2(to.x, from.y)], stroke);
        }
        x += spacing.max(2.0);
    }
}

/// How far a checkpoint has come, as its square shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SquareKind {
    Pending,
    Completed,
    Aborted,
}

impl From<&CheckpointView> for SquareKind {
    fn from(checkpoint: &CheckpointView) -> Self {
        match checkpoint.status {
            CheckpointStatus::Pending => Self::Pending,
            CheckpointStatus::Completed => Self::Completed,
            CheckpointStatus::Aborted(_) => Self::Aborted,
        }
    }
}

/// A checkpoint, everywhere the same: its number in a square of its colour; dashed while pending, struck through
/// when aborted. A savepoint is pinned.
pub fn checkpoint_square(
    painter: &Painter,
    rect: Rect,
    checkpoint: &CheckpointView,
    theme: &Theme,
) {
    paint_square(painter, rect, checkpoint.id, checkpoint.into(), theme);
    if checkpoint.kind.is_savepoint() {
        paint_pin(painter, rect.right_top(), theme);
    }
}

/// The same for a completed snapshot of another run: outlined.
pub fn foreign_square(painter: &Painter, rect: Rect, id: CheckpointId, theme: &Theme) {
    let stroke = Stroke::new(1.5, theme.checkpoint(id));
    framed(painter, rect, rect.height() * 0.2, theme.panel, stroke);
    let font = semibold((rect.height() * 0.54).max(11.0));
    let color = theme.checkpoint_text(id);
    painter.text(rect.center(), Align2::CENTER_CENTER, id, font, color);
}

/// A drawing pin: what it holds stays until a person takes it away.
pub fn paint_pin(painter: &Painter, corner: Pos2, theme: &Theme) {
    let head = corner + vec2(-1.0, 1.0);
    let stem = Stroke::new(1.5, theme.text);
    painter.line_segment([head, head + vec2(-4.5, 5.5)], stem);
    painter.circle(head, 3.5, theme.text, Stroke::new(1.0, theme.panel));
}

fn paint_square(painter: &Painter, rect: Rect, id: CheckpointId, kind: SquareKind, theme: &Theme) {
    let color = theme.checkpoint(id);
    let radius = rect.height() * 0.2;
    let font = semibold((rect.height() * 0.54).max(11.0));
    match kind {
        SquareKind::Completed => {
            filled(painter, rect, radius, color);
            painter.text(rect.center(), Align2::CENTER_CENTER, id, font, theme.ink);
        }
        SquareKind::Pending => {
            dashed_frame(painter, rect, radius, Stroke::new(1.5, color));
            painter.text(
                rect.center(),
                Align2::CENTER_CENTER,
                id,
                font,
                theme.checkpoint_text(id),
            );
        }
        SquareKind::Aborted => {
            framed(
                painter,
                rect,
                radius,
                Color32::TRANSPARENT,
                Stroke::new(1.0, theme.line_strong),
            );
            painter.text(rect.center(), Align2::CENTER_CENTER, id, font, theme.dim);
            let strike = rect.shrink(rect.height() * 0.2);
            painter.line_segment(
                [strike.left_bottom(), strike.right_top()],
                Stroke::new(1.5, theme.error),
            );
        }
    }
}
