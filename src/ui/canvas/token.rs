//! What moves along a channel: records as tokens (shape: source; fill: key), barriers as flags, markers.

use std::sync::Arc;

use egui::{Align2, Color32, Galley, Pos2, Rect, Shape, Stroke, Vec2, pos2, vec2};

use crate::model::{ChannelId, CheckpointId, EventTime, Record, StreamElement, StreamEvent};

use super::super::figures::{event_time, short_value};
use super::super::paint::filled;
use super::super::theme::{medium, semibold};
use super::pen::{Pen, font_size};

/// The part of a barrier along the channel: its pole and its flag, in world points at full tube width.
const POLE: f32 = 6.0;
const FLAG: f32 = 20.0;
const TOKEN_FONT: f32 = 11.0;
/// A token so high on the screen holds a figure of the smallest size.
pub const LEGIBLE_TOKEN: f32 = 12.5;

/// Sizes of everything in a tube of `width` world points.
#[derive(Clone, Copy)]
pub struct TubeScale {
    pub width: f32,
}

impl TubeScale {
    #[must_use]
    pub fn token_height(self) -> f32 {
        (self.width - 6.0).max(self.width * 0.82)
    }

    /// 1 for a full tube, less for thin ones.
    #[must_use]
    pub fn factor(self) -> f32 {
        (self.width / 28.0).clamp(0.5, 1.0)
    }
}

/// An element ready to be placed: its width along the channel is known.
pub struct Sprite<'a> {
    /// World points along the channel.
    pub extent: f32,
    kind: SpriteKind<'a>,
    /// Around it, in the colour of the checkpoint that it is part of.
    ring: Option<Color32>,
}

enum SpriteKind<'a> {
    Token {
        record: &'a Record,
        color: Color32,
        label: Option<Arc<Galley>>,
    },
    Barrier(CheckpointId),
    Cancel(CheckpointId),
    /// A tick across the tube; with its time above, if it is the next to arrive.
    Watermark(Option<EventTime>),
    /// From here on the channel does (true) or does not hold back the watermark.
    Activity(bool),
    End,
}

/// How `element` looks on `channel`.
#[must_use]
pub fn sprite<'a>(
    pen: &Pen<'_>,
    scale: TubeScale,
    channel: ChannelId,
    element: &'a StreamElement,
) -> Sprite<'a> {
    match element {
        StreamElement::Record(record) => token(pen, scale, channel, record),
        StreamElement::Event(StreamEvent::Barrier(barrier)) => barrier_sprite(scale, barrier.id),
        StreamElement::Event(StreamEvent::CancelCheckpoint(id)) => Sprite {
            extent: 14.0 * scale.factor(),
            kind: SpriteKind::Cancel(*id),
            ring: None,
        },
        StreamElement::Event(StreamEvent::Watermark(_)) => Sprite {
            extent: 7.0 * scale.factor(),
            kind: SpriteKind::Watermark(None),
            ring: None,
        },
        StreamElement::Event(event @ (StreamEvent::Idle | StreamEvent::Active)) => Sprite {
            extent: 12.0 * scale.factor(),
            kind: SpriteKind::Activity(*event == StreamEvent::Active),
            ring: None,
        },
        StreamElement::Event(_) => Sprite {
            extent: 12.0 * scale.factor(),
            kind: SpriteKind::End,
            ring: None,
        },
    }
}

/// The barrier that shut a gate: it stands at the gate until the gate opens.
#[must_use]
pub fn barrier_sprite(scale: TubeScale, id: CheckpointId) -> Sprite<'static> {
    Sprite {
        extent: (POLE + FLAG) * scale.factor(),
        kind: SpriteKind::Barrier(id),
        ring: None,
    }
}

fn token<'a>(
    pen: &Pen<'_>,
    scale: TubeScale,
    channel: ChannelId,
    record: &'a Record,
) -> Sprite<'a> {
    let key = pen.scene.key_of(channel, record);
    let color = key.map_or(pen.theme.neutral, |key| pen.theme.key(pen.keys.index(&key)));
    let height = scale.token_height();
    let font_px = label_size(height * pen.zoom());
    let label = font_px.map(|font_px| {
        let text = short_value(record.value);
        pen.painter
            .layout_no_wrap(text, semibold(font_px), pen.theme.ink)
    });
    let text_width = label
        .as_ref()
        .map_or(0.0, |galley| galley.size().x / pen.zoom() + PADDING);
    Sprite {
        extent: height.max(text_width),
        kind: SpriteKind::Token {
            record,
            color,
            label,
        },
        ring: None,
    }
}

/// Beside a token's figure, left and right together.
const PADDING: f32 = 9.0;
/// The same where the channel is full.
const TIGHT_PADDING: f32 = 5.0;
/// The part of a token without a figure that is seen there.
const OVERLAP: f32 = 0.4;

/// The size of the figure on a token that is `height` points high on the screen. None: too small to read.
fn label_size(height: f32) -> Option<f32> {
    let size = (height * 0.5 * 2.0).round() / 2.0;
    (height >= LEGIBLE_TOKEN).then(|| size.max(TOKEN_FONT))
}

impl Sprite<'_> {
    /// The extents that it can shrink to: with its figure, and without.
    #[must_use]
    pub fn tight(&self, scale: TubeScale) -> (f32, f32) {
        match &self.kind {
            SpriteKind::Token { label: Some(_), .. } => {
                let height = scale.token_height();
                let tight = (self.extent - PADDING + TIGHT_PADDING).max(height);
                (tight, height * OVERLAP)
            }
            _ => (self.extent, self.extent),
        }
    }

    /// It is part of a checkpoint of this colour: it was under way when the barrier overtook it.
    pub fn mark(&mut self, color: Color32) {
        self.ring = Some(color);
    }

    /// A watermark says its time.
    pub fn tell(&mut self, time: EventTime) {
        if let SpriteKind::Watermark(told) = &mut self.kind {
            *told = Some(time);
        }
    }

    /// Take `extent`, and paint no figure unless `is_labelled`.
    pub fn shrink(&mut self, extent: f32, is_labelled: bool) {
        self.extent = extent;
        if let (false, SpriteKind::Token { label, .. }) = (is_labelled, &mut self.kind) {
            *label = None;
        }
    }

    /// Paint with the centre of its extent at `at` (world).
    pub fn paint(&self, pen: &Pen<'_>, scale: TubeScale, at: Pos2) {
        let center = pen.pos(at);
        match &self.kind {
            SpriteKind::Token {
                record,
                color,
                label,
            } => {
                // Where tokens are pushed together they overlap, but keep their shape.
                let width = self.extent.max(scale.token_height());
                let size = vec2(pen.scaled(width), pen.scaled(scale.token_height()));
                let source = pen.scene.source_index(record);
                if let Some(ring) = self.ring {
                    let wide = size + Vec2::splat(pen.scaled(5.0).max(3.0));
                    pen.painter.add(token_shape(source, center, wide, ring));
                    let rim = size + Vec2::splat(pen.scaled(1.5).max(1.0));
                    pen.painter
                        .add(token_shape(source, center, rim, pen.theme.tube));
                }
                let shape = token_shape(source, center, size, *color);
                pen.painter.add(shape);
                if let Some(galley) = label {
                    pen.painter
                        .galley(center - galley.size() / 2.0, galley.clone(), pen.theme.ink);
                }
            }
            SpriteKind::Barrier(id) => paint_barrier(pen, scale, center, *id),
            SpriteKind::Cancel(id) => paint_cross(pen, scale, center, pen.theme.checkpoint(*id)),
            SpriteKind::Watermark(time) => paint_watermark(pen, scale, center, *time),
            SpriteKind::Activity(is_active) => paint_activity(pen, scale, center, *is_active),
            SpriteKind::End => paint_end(pen, scale, center),
        }
    }

    /// The checkpoint, if this is a barrier.
    #[must_use]
    pub fn barrier(&self) -> Option<CheckpointId> {
        match self.kind {
            SpriteKind::Barrier(id) => Some(id),
            _ => None,
        }
    }
}

/// Circle, rounded square, hexagon, diamond, by source; wider ones for long figures.
pub fn token_shape(source: usize, center: Pos2, size: Vec2, color: Color32) -> Shape {
    let rect = Rect::from_center_size(center, size);
    let (half, mid) = (size.y / 2.0, center.y);
    let hexagonal = |inset: f32| {
        vec![
            pos2(rect.left(), mid),
            pos2(rect.left() + inset, rect.top()),
            pos2(rect.right() - inset, rect.top()),
            pos2(rect.right(), mid),
            pos2(rect.right() - inset, rect.bottom()),
            pos2(rect.left() + inset, rect.bottom()),
        ]
    };
    match source % 4 {
        0 => Shape::rect_filled(rect, super::super::paint::corner(half.ceil()), color),
        1 => Shape::rect_filled(
            rect.shrink2(vec2(0.5, half * 0.08)),
            super::super::paint::corner(half * 0.36),
            color,
        ),
        2 => Shape::convex_polygon(hexagonal(half * 0.55), color, Stroke::NONE),
        _ => {
            let grown = Rect::from_center_size(center, size + vec2(half * 0.5, half * 0.3));
            let points = vec![
                grown.center_top(),
                grown.right_center(),
                grown.center_bottom(),
                grown.left_center(),
            ];
            Shape::convex_polygon(points, color, Stroke::NONE)
        }
    }
}

fn paint_barrier(pen: &Pen<'_>, scale: TubeScale, center: Pos2, id: CheckpointId) {
    let (color, k) = (pen.theme.checkpoint(id), pen.zoom() * scale.factor());
    let width = (POLE + FLAG) * k;
    let height = ((scale.width + 2.0) * pen.zoom()).max(22.0 * k);
    let left = center.x - width / 2.0;
    let top = center.y - height / 2.0;
    let pole = Rect::from_min_size(pos2(left, top), vec2(POLE * k, height));
    // A dark rim keeps flags apart that queue up behind each other.
    filled(pen.painter, pole.expand(1.0), 3.0, pen.theme.tube);
    filled(pen.painter, pole, 2.0 * k, color);
    let flag_height = 16.0 * k;
    let (from, to) = (pole.right() - 0.5, left + width);
    let notch = pos2(to - 6.0 * k, top + flag_height / 2.0);
    let upper = vec![pos2(from, top), pos2(to, top), notch, pos2(from, notch.y)];
    let lower = vec![
        pos2(from, notch.y),
        notch,
        pos2(to, top + flag_height),
        pos2(from, top + flag_height),
    ];
    pen.painter
        .add(Shape::convex_polygon(upper, color, Stroke::NONE));
    pen.painter
        .add(Shape::convex_polygon(lower, color, Stroke::NONE));
    filled(
        pen.painter,
        Rect::from_min_max(pos2(from, notch.y - 1.0), pos2(notch.x, notch.y + 1.0)),
        0.0,
        color,
    );
    if let Some(font) = label_size(flag_height * 1.25) {
        let at = pos2(from + 7.0 * k, notch.y);
        pen.text(at, Align2::CENTER_CENTER, id, semibold(font), pen.theme.ink);
    }
}

fn paint_cross(pen: &Pen<'_>, scale: TubeScale, center: Pos2, color: Color32) {
    let arm = 5.0 * pen.zoom() * scale.factor();
    let stroke = Stroke::new((2.5 * pen.zoom()).max(1.5), color);
    pen.painter.line_segment(
        [center - Vec2::splat(arm), center + Vec2::splat(arm)],
        stroke,
    );
    pen.painter
        .line_segment([center + vec2(-arm, arm), center + vec2(arm, -arm)], stroke);
}

/// A line with a notch at its top, `height` high.
pub fn watermark_tick(pen: &Pen<'_>, center: Pos2, height: f32, color: Color32) {
    let half = height / 2.0;
    let stroke = Stroke::new((1.5 * pen.zoom()).max(1.0), color);
    pen.painter
        .vline(center.x, center.y - half..=center.y + half, stroke);
    let notch = (height * 0.22).clamp(2.0, 5.0);
    let top = center.y - half;
    let points = vec![
        pos2(center.x - notch, top),
        pos2(center.x + notch, top),
        pos2(center.x, top + notch * 1.4),
    ];
    pen.painter
        .add(Shape::convex_polygon(points, color, Stroke::NONE));
}

fn paint_watermark(pen: &Pen<'_>, scale: TubeScale, center: Pos2, time: Option<EventTime>) {
    let height = pen.scaled(scale.width);
    watermark_tick(pen, center, height, pen.theme.text_soft);
    let Some((time, size)) = time.zip(font_size(11.0, pen.zoom())) else {
        return;
    };
    // At its left, so that the card at the end of the channel does not hide it.
    let at = pos2(center.x + 4.0, center.y - height / 2.0 - 2.0);
    let words = event_time(time);
    pen.text(at, Align2::RIGHT_BOTTOM, words, medium(size), pen.theme.dim);
}

fn paint_activity(pen: &Pen<'_>, scale: TubeScale, center: Pos2, is_active: bool) {
    let radius = 4.5 * pen.zoom() * scale.factor();
    let color = pen.theme.text_soft;
    if is_active {
        pen.painter.circle_filled(center, radius, color);
    } else {
        let stroke = Stroke::new(1.5, color);
        pen.painter.circle_stroke(center, radius, stroke);
    }
}

fn paint_end(pen: &Pen<'_>, scale: TubeScale, center: Pos2) {
    let side = 9.0 * pen.zoom() * scale.factor();
    filled(
        pen.painter,
        Rect::from_center_size(center, Vec2::splat(side)),
        1.0,
        pen.theme.text_soft,
    );
}
