//! A subtask's card: name, index, live rows of state, one status line.

use egui::{Align, Align2, Color32, FontId, Rect, Shape, Stroke, pos2, vec2};

use crate::engine::event::SubtaskStatus;
use crate::engine::plan::SubtaskPlan;
use crate::model::SubtaskId;
use crate::recording::view::SubtaskView;

use super::super::explain::{Status, Tone, status_of};
use super::super::figures::watermark_words;
use super::super::paint::{TINT_ALPHA, dot, filled, framed, hatch, text_in};
use super::super::theme::{Theme, medium, regular, semibold, space};
use super::density::Density;
use super::load_bar::load_bar;
use super::outside::is_transactional;
use super::pen::{Pen, font_size};
use super::rows::{RowText, rows};
use super::token::watermark_tick;

/// A card lower than this on the screen is only a mark.
const MIN_CARD: f32 = 12.0;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Highlight {
    None,
    Hovered,
    Selected,
    /// The pointer would crash it.
    Target,
}

pub fn paint_card(
    pen: &Pen<'_>,
    id: SubtaskId,
    world: Rect,
    density: Density,
    highlight: Highlight,
) {
    let rect = pen.rect(world);
    if rect.height() < MIN_CARD {
        speck(pen, id, rect, highlight);
        return;
    }
    let radius = (space::RADIUS * pen.zoom()).min(space::RADIUS);
    let subtask = pen.scene.subtask(id);
    framed(
        pen.painter,
        rect,
        radius,
        pen.theme.card,
        outline(pen, id, highlight),
    );
    if subtask.status == SubtaskStatus::Failed {
        let stroke = Stroke::new(1.0, pen.theme.error.gamma_multiply(0.28));
        hatch(
            pen.painter,
            rect.shrink(2.0),
            14.0 * pen.zoom(),
            stroke,
            true,
        );
    }
    load_bar(pen, id, rect);
    if pen.scene.armed(id).next().is_some() {
        armed_mark(pen, rect);
    }
    let ink = Ink::of(pen.theme, subtask);
    match density {
        Density::Full | Density::Snug => full(pen, id, rect, ink),
        Density::Compact | Density::Close | Density::Dense => short(pen, id, rect, ink, density),
    }
}

/// A bolt at the card's corner: something will go wrong here once.
fn armed_mark(pen: &Pen<'_>, rect: Rect) {
    let k = pen.zoom().clamp(0.7, 1.2);
    let center = rect.left_top() + vec2(2.0, 2.0) * k;
    pen.painter.circle(
        center,
        9.0 * k,
        pen.theme.panel,
        Stroke::new(1.5, pen.theme.error),
    );
    let bolt = [
        (1.5, -6.0),
        (-3.5, 1.0),
        (-0.2, 1.0),
        (-1.5, 6.0),
        (3.5, -1.4),
        (0.4, -1.4),
    ];
    let points: Vec<_> = bolt
        .into_iter()
        .map(|(x, y)| center + vec2(x, y) * k)
        .collect();
    let (upper, lower) = (
        vec![points[0], points[1], points[2], points[5]],
        vec![points[2], points[3], points[4], points[5]],
    );
    for part in [upper, lower] {
        pen.painter
            .add(Shape::convex_polygon(part, pen.theme.error, Stroke::NONE));
    }
}

/// A card from afar: a mark in the colour of what happens to it.
fn speck(pen: &Pen<'_>, id: SubtaskId, rect: Rect, highlight: Highlight) {
    let status = status_of(pen.scene, id);
    let color = match (highlight, status.tone) {
        (Highlight::Target, _) | (_, Tone::Bad) => pen.theme.error,
        (Highlight::Selected | Highlight::Hovered, _) => pen.theme.text,
        (Highlight::None, tone_now) => match pen.scene.busy_with(id) {
            Some(checkpoint) => pen.theme.checkpoint(checkpoint),
            None if tone_now == Tone::Waiting => pen.theme.warn,
            None => pen.theme.line_strong,
        },
    };
    filled(pen.painter, rect.expand2(vec2(0.0, 0.5)), 1.0, color);
}

/// Text colours of a card: dimmed when the subtask does not run.
#[derive(Clone, Copy)]
struct Ink {
    title: Color32,
    text: Color32,
    dim: Color32,
}

impl Ink {
    fn of(theme: &Theme, subtask: &SubtaskView) -> Self {
        match subtask.status {
            SubtaskStatus::Failed | SubtaskStatus::Canceled => Self {
                title: theme.dim,
                text: theme.dim,
                dim: theme.dim,
            },
            _ => Self {
                title: theme.text,
                text: theme.text,
                dim: theme.dim,
            },
        }
    }
}

fn outline(pen: &Pen<'_>, id: SubtaskId, highlight: Highlight) -> Stroke {
    let theme = pen.theme;
    match highlight {
        Highlight::Target => return Stroke::new(2.0, theme.error),
        Highlight::Selected => return Stroke::new(2.0, theme.text),
        Highlight::None | Highlight::Hovered => {}
    }
    if pen.scene.subtask(id).status == SubtaskStatus::Failed {
        return Stroke::new(2.0, theme.error);
    }
    match pen.scene.busy_with(id) {
        Some(checkpoint) => Stroke::new(2.0, theme.checkpoint(checkpoint)),
        None if highlight == Highlight::Hovered => Stroke::new(1.0, theme.line_strong),
        None => Stroke::new(1.0, theme.line),
    }
}

fn full(pen: &Pen<'_>, id: SubtaskId, rect: Rect, ink: Ink) {
    let z = pen.zoom();
    let inner = rect.shrink2(vec2(14.0 * z, 0.0));
    heading(pen, id, line(inner, 21.0, z), ink);
    let rows = rows(pen, id);
    let room = ((rect.height() / z - 55.0) / 24.0).floor().max(1.0) as usize;
    let hidden = rows.len().saturating_sub(room);
    let shown = if hidden > 0 { room - 1 } else { rows.len() };
    for (place, row) in rows.iter().take(shown).enumerate() {
        paint_row(pen, line(inner, 44.0 + 24.0 * place as f32, z), row, ink);
    }
    if hidden > 0 {
        let more = format!("and {} more keys", hidden + 1);
        small(
            pen,
            line(inner, 44.0 + 24.0 * shown as f32, z),
            &more,
            ink.dim,
        );
    }
    let bottom = rect.height() / z - 15.0;
    paint_status(pen, line(inner, bottom, z), &status_of(pen.scene, id), ink);
}

fn short(pen: &Pen<'_>, id: SubtaskId, rect: Rect, ink: Ink, density: Density) {
    let z = pen.zoom();
    let height = rect.height() / z;
    let inner = rect.shrink2(vec2(10.0 * z, 0.0));
    let status = status_of(pen.scene, id);
    let mut rows = rows(pen, id);
    if is_transactional(&pen.scene.plan.subtask(id).operator) {
        // The boxes beside the card tell the rest.
        rows.truncate(1);
    }
    if density == Density::Dense {
        let center = height / 2.0;
        heading(pen, id, line(inner, center - 8.0, z), ink);
        let mut figures = line(inner, center + 8.0, z);
        dot(
            pen.painter,
            pos2(figures.right() - 4.0 * z, figures.center().y),
            3.5 * z,
            tone(pen.theme, status.tone),
        );
        figures.max.x -= 14.0 * z;
        paint_summary(pen, figures, &rows, ink);
        return;
    }
    let top = (height - 64.0) / 2.0;
    heading(pen, id, line(inner, top + 15.0, z), ink);
    paint_summary(pen, line(inner, top + 33.0, z), &rows, ink);
    paint_status(pen, line(inner, top + 50.0, z), &status, ink);
}

/// A line's slot, centred `y` world points below the top of `area`.
fn line(area: Rect, y: f32, zoom: f32) -> Rect {
    Rect::from_center_size(
        pos2(area.center().x, area.top() + y * zoom),
        vec2(area.width(), 22.0 * zoom),
    )
}

fn heading(pen: &Pen<'_>, id: SubtaskId, slot: Rect, ink: Ink) {
    let SubtaskPlan {
        name,
        index,
        parallelism,
        ..
    } = pen.scene.plan.subtask(id);
    let Some(size) = font_size(13.5, pen.zoom()) else {
        return;
    };
    let mut room = slot;
    if let Some(small) = font_size(11.5, pen.zoom()) {
        let place = format!("{}/{parallelism}", index + 1);
        let used = text_in(
            pen.painter,
            slot,
            Align::Max,
            &place,
            medium(small),
            ink.dim,
        );
        room.max.x = used.left() - 6.0;
        if let Some(used) = paint_watermark(pen, id, room, ink) {
            room.max.x = used.left() - 6.0;
        }
    }
    text_in(
        pen.painter,
        room,
        Align::Min,
        name,
        semibold(size),
        ink.title,
    );
}

fn paint_row(pen: &Pen<'_>, slot: Rect, row: &RowText, ink: Ink) {
    let z = pen.zoom();
    if row.fresh > 0.0 {
        let tint = row
            .dot
            .unwrap_or(pen.theme.neutral)
            .gamma_multiply(TINT_ALPHA * row.fresh);
        filled(pen.painter, slot.expand2(vec2(6.0 * z, 0.0)), 4.0, tint);
    }
    let mut name = slot;
    let text = if row.is_gone { ink.dim } else { ink.text };
    if let Some(color) = row.dot {
        let color = if row.is_gone {
            color.gamma_multiply(0.4)
        } else {
            color
        };
        let at = pos2(slot.left() + 6.0 * z, slot.center().y);
        dot(pen.painter, at, 5.0 * z, color);
        name.min.x += 18.0 * z;
    }
    let is_figure = row.dot.is_some();
    if let Some(size) = font_size(if is_figure { 13.5 } else { 11.5 }, z) {
        let (font, color) = if is_figure {
            (semibold(size), text)
        } else {
            (regular(size), ink.dim)
        };
        // A long value leaves the name some room.
        let told = slot.with_min_x(name.left() + name.width() * 0.3);
        let used = text_in(pen.painter, told, Align::Max, &row.value, font, color);
        name.max.x = used.left() - 6.0;
        if row.is_gone {
            strike(pen, used.shrink2(vec2(-2.0, 0.0)));
        }
    }
    let color = if is_figure { text } else { ink.dim };
    if let Some(size) = font_size(if is_figure { 12.5 } else { 11.5 }, z) {
        let used = text_in(
            pen.painter,
            name,
            Align::Min,
            &row.name,
            regular(size),
            color,
        );
        if let Some((warning, small)) = row.warning.as_ref().zip(font_size(11.5, z)) {
            name.min.x = used.right() + 8.0 * z;
            let font = medium(small);
            text_in(pen.painter, name, Align::Min, warning, font, pen.theme.warn);
        }
    }
}

/// What is written in `rect` holds no longer.
fn strike(pen: &Pen<'_>, rect: Rect) {
    let stroke = Stroke::new(1.0, pen.theme.dim);
    pen.painter.hline(rect.x_range(), rect.center().y, stroke);
}

/// All rows in one line, as far as they fit.
fn paint_summary(pen: &Pen<'_>, slot: Rect, rows: &[RowText], ink: Ink) {
    let z = pen.zoom();
    let Some(size) = font_size(11.5, z) else {
        return;
    };
    let font: FontId = medium(size);
    let mut x = slot.left();
    for row in rows.iter().filter(|row| row.dot.is_some()) {
        let label = format!("{} {}", row.name, row.value);
        let color = match (row.is_gone, &row.warning) {
            (true, _) => ink.dim,
            (false, Some(_)) => pen.theme.warn,
            (false, None) => ink.text,
        };
        let galley = pen.painter.layout_no_wrap(label, font.clone(), color);
        if x + 11.0 * z + galley.size().x > slot.right() {
            pen.text(
                pos2(x, slot.center().y),
                Align2::LEFT_CENTER,
                "…",
                font,
                ink.dim,
            );
            return;
        }
        dot(
            pen.painter,
            pos2(x + 4.0 * z, slot.center().y),
            3.5 * z,
            row.dot.unwrap_or(pen.theme.neutral),
        );
        let at = pos2(x + 11.0 * z, slot.center().y - galley.size().y / 2.0);
        if row.is_gone {
            strike(pen, Rect::from_min_size(at, galley.size()));
        }
        x = at.x + galley.size().x + 9.0 * z;
        pen.painter.galley(at, galley, ink.text);
    }
}

fn paint_status(pen: &Pen<'_>, slot: Rect, status: &Status, ink: Ink) {
    let z = pen.zoom();
    dot(
        pen.painter,
        pos2(slot.left() + 4.0 * z, slot.center().y),
        4.0 * z,
        tone(pen.theme, status.tone),
    );
    let mut words = slot;
    words.min.x += 14.0 * z;
    let color = if status.tone == Tone::Bad {
        pen.theme.error
    } else {
        ink.dim
    };
    small(pen, words, status.short(), color);
}

/// How far the subtask's event time has come, at the right of its name: behind a tick, or, while the subtask is idle,
/// behind the circle that marks idleness in channels too. None: the job knows no event time.
fn paint_watermark(pen: &Pen<'_>, id: SubtaskId, mut slot: Rect, ink: Ink) -> Option<Rect> {
    let size = font_size(11.5, pen.zoom()).filter(|_| pen.scene.has_event_time())?;
    let SubtaskView {
        watermark, is_idle, ..
    } = pen.scene.subtask(id);
    slot.max.x -= 6.0 * pen.zoom();
    let words = watermark_words(*watermark);
    let font = medium(size);
    let used = text_in(pen.painter, slot, Align::Max, &words, font, ink.dim);
    let z = pen.zoom();
    let mark = pos2(used.left() - 7.0 * z, used.center().y);
    if *is_idle {
        let stroke = Stroke::new(1.5, pen.theme.text_soft);
        pen.painter.circle_stroke(mark, 3.5 * z, stroke);
    } else {
        watermark_tick(pen, mark, 11.0 * z, pen.theme.text_soft);
    }
    Some(Rect::from_min_max(
        pos2(mark.x - 4.0 * z, used.top()),
        used.max,
    ))
}

fn small(pen: &Pen<'_>, slot: Rect, words: &str, color: Color32) {
    if let Some(size) = font_size(11.5, pen.zoom()) {
        text_in(pen.painter, slot, Align::Min, words, regular(size), color);
    }
}

/// The colour of a status dot.
#[must_use]
pub fn tone(theme: &Theme, tone: Tone) -> Color32 {
    match tone {
        Tone::Quiet => theme.line_strong,
        Tone::Good => theme.ok,
        Tone::Waiting => theme.warn,
        Tone::Bad => theme.error,
    }
}
