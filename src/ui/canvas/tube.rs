//! One channel: the tube, how full it is, what moves in it, and the gate at its end.

use egui::{Color32, Pos2, Rect, Shape, Stroke, pos2, vec2};

use crate::model::{ChannelId, CheckpointId, StreamElement, StreamEvent};
use crate::recording::view::{ChannelView, InFlight};

use super::super::paint::filled;
use super::super::passing::{Passing, passing};
use super::curve::Curve;
use super::motion::{Motion, identity};
use super::pen::Pen;
use super::queue::{distances, progress, squeezed};
use super::token::{Sprite, TubeScale, barrier_sprite, sprite};

/// How long a gate takes to shut, in virtual time: a paused run stands still.
const SHUT_US: u64 = 120_000;

/// A barrier's place on the screen, for labels.
pub struct PlacedBarrier {
    pub id: CheckpointId,
    pub channel: ChannelId,
    pub at: Pos2,
}

pub fn paint_tube(
    pen: &Pen<'_>,
    curve: &Curve,
    scale: TubeScale,
    channel: ChannelId,
    is_selected: bool,
) {
    let view = pen.scene.channel(channel);
    let points = curve.on_screen(pen.to_screen);
    let width = pen.scaled(scale.width);
    let rim = match view.blocked {
        _ if is_selected => pen.theme.text,
        Some((checkpoint, _)) => pen
            .theme
            .tube_line
            .lerp_to_gamma(pen.theme.checkpoint(checkpoint), 0.45),
        None => pen.theme.tube_line,
    };
    let rim_width = if is_selected { 4.0 } else { 2.0 };
    pen.painter.add(Shape::line(
        points.clone(),
        Stroke::new(width + rim_width, rim),
    ));
    pen.painter
        .add(Shape::line(points, Stroke::new(width, pen.theme.tube)));
    paint_fill(pen, curve, scale, view);
}

/// A channel from afar: a line, in the colour of the barrier that shuts it.
pub fn paint_thread(pen: &Pen<'_>, curve: &Curve, channel: ChannelId, is_selected: bool) {
    let view = pen.scene.channel(channel);
    let color = match view.blocked {
        _ if is_selected => pen.theme.text,
        Some((checkpoint, _)) => pen.theme.checkpoint(checkpoint),
        None if pen.scene.is_full(channel) => pen.theme.tube_full,
        None => pen.theme.tube_line,
    };
    let points = vec![curve.along(0.0), curve.before_end(0.0)];
    let points = points.into_iter().map(|point| pen.pos(point)).collect();
    pen.painter
        .add(Shape::line(points, Stroke::new(1.0, color)));
}

/// The share of the channel's capacity that is taken, as a lighter stretch before the gate; hatched when full.
fn paint_fill(pen: &Pen<'_>, curve: &Curve, scale: TubeScale, view: &ChannelView) {
    let capacity = pen.scene.job.config.channel_capacity.max(1) as f32;
    let share = (view.records() as f32 / capacity).min(1.0);
    if share <= 0.0 {
        return;
    }
    let length = curve.length();
    let steps = 24;
    let points: Vec<Pos2> = (0..=steps)
        .map(|i| pen.pos(curve.before_end(length * share * (1.0 - i as f32 / steps as f32))))
        .collect();
    let color = pen.theme.tube.lerp_to_gamma(pen.theme.tube_full, 0.2);
    pen.painter.add(Shape::line(
        points,
        Stroke::new(pen.scaled(scale.width), color),
    ));
    if share >= 1.0 {
        paint_hatching(pen, curve, scale);
    }
}

fn paint_hatching(pen: &Pen<'_>, curve: &Curve, scale: TubeScale) {
    let stroke = Stroke::new(1.0, pen.theme.tube_full);
    let half = scale.width / 2.0;
    let mut distance = half;
    while distance < curve.length() - half {
        let (back, ahead) = (
            curve.along(distance - half * 0.5),
            curve.along(distance + half * 0.5),
        );
        let from = pen.pos(back + vec2(0.0, half - 1.0));
        let to = pen.pos(ahead - vec2(0.0, half - 1.0));
        pen.painter.line_segment([from, to], stroke);
        distance += 9.0;
    }
}

/// Tokens and barriers at their places, tail first so that the head lies on top. Returns where barriers are.
pub fn paint_elements(
    pen: &Pen<'_>,
    curve: &Curve,
    scale: TubeScale,
    channel: ChannelId,
    motion: &mut Motion,
) -> Vec<PlacedBarrier> {
    let view = pen.scene.channel(channel);
    // The gate itself takes a little of the channel.
    let clearance = 5.0 * scale.factor();
    let length = curve.length() - clearance;
    let passing = passing(&view.queue);
    let mut row: Vec<&InFlight> = Vec::with_capacity(view.queue.len());
    let mut sprites: Vec<(f32, Sprite<'_>)> = Vec::with_capacity(view.queue.len() + 1);
    let mut above: Vec<(f32, Sprite<'_>)> = Vec::new();
    if let Some((checkpoint, _)) = view.blocked {
        sprites.push((1.0, barrier_sprite(scale, checkpoint)));
    }
    let mut is_told = false;
    let restored = view.restored;
    let holds: Vec<_> = pen.scene.persisted(channel).collect();
    let held_by = |item: &InFlight| {
        let StreamElement::Record(record) = &item.element else {
            return None;
        };
        let mut holds = holds.iter();
        let found = holds.find(|(_, persisted)| persisted.records.contains(record))?;
        Some(found.0)
    };
    for (place, (item, passing)) in view.queue.iter().zip(&passing).enumerate() {
        let mut sprite = sprite(pen, scale, channel, &item.element);
        if let (false, StreamElement::Event(StreamEvent::Watermark(time))) =
            (is_told, &item.element)
        {
            sprite.tell(*time);
            is_told = true;
        }
        let progress = progress(item, pen.scene.clock_us);
        match passing {
            Passing::Overtakes => {
                above.push((progress, sprite));
                continue;
            }
            Passing::Overtaken(checkpoint) => sprite.mark(pen.theme.checkpoint(*checkpoint)),
            Passing::Keeps if place < restored => sprite.mark(pen.theme.accent),
            // The barrier has gone on; the checkpoint keeps them until it is decided.
            Passing::Keeps => {
                if let Some(checkpoint) = held_by(item) {
                    sprite.mark(pen.theme.checkpoint(checkpoint));
                }
            }
        }
        row.push(item);
        sprites.push((progress, sprite));
    }
    shrink_to_fit(&mut sprites, scale, length);
    let elements = sprites
        .iter()
        .map(|(progress, sprite)| (*progress, sprite.extent));
    let elements: Vec<(f32, f32)> = elements.collect();
    let mut places = distances(length, &elements);
    let skipped = places.len() - row.len();
    move_up(
        pen,
        (channel, &row, length),
        &elements[skipped..],
        &mut places[skipped..],
        motion,
    );
    let mut barriers = Vec::new();
    for ((_, sprite), distance) in sprites.iter().zip(places).rev() {
        let at = curve.before_end(distance + clearance);
        sprite.paint(pen, scale, at);
        if let Some(id) = sprite.barrier() {
            let at = pen.pos(at);
            barriers.push(PlacedBarrier { id, channel, at });
        }
    }
    // What overtakes goes past the row, a little above it.
    let lift = vec2(0.0, -scale.width * 0.45);
    for (progress, sprite) in above {
        let along = ((1.0 - progress) * length).max(sprite.extent / 2.0);
        let at = curve.before_end(along + clearance) + lift;
        sprite.paint(pen, scale, at);
        if let Some(id) = sprite.barrier() {
            let at = pen.pos(at);
            barriers.push(PlacedBarrier { id, channel, at });
        }
    }
    barriers
}

/// In a channel too full for them, tokens become as small as their figures allow; from the tail on they lose these.
fn shrink_to_fit(sprites: &mut [(f32, Sprite<'_>)], scale: TubeScale, length: f32) {
    let total: f32 = sprites.iter().map(|(_, sprite)| sprite.extent).sum();
    if total <= length {
        return;
    }
    let tight: Vec<(f32, f32)> = sprites
        .iter()
        .map(|(_, sprite)| sprite.tight(scale))
        .collect();
    for ((_, sprite), (extent, is_labelled)) in sprites.iter_mut().zip(squeezed(length, &tight)) {
        sprite.shrink(extent, is_labelled);
    }
}

/// Let the queue follow at the pace at which the receiver takes elements.
fn move_up(
    pen: &Pen<'_>,
    (channel, row, length): (ChannelId, &[&InFlight], f32),
    elements: &[(f32, f32)],
    places: &mut [f32],
    motion: &mut Motion,
) {
    let process_us = pen.scene.job.config.costs.process_us.max(1) as f32;
    let mut least = 0.0_f32;
    for ((item, (_, extent)), place) in row.iter().zip(elements).zip(places) {
        let travel_us = item.ready_us.saturating_sub(item.sent_us).max(1) as f32;
        let pace = length / travel_us + extent / (0.9 * process_us);
        // A squeezed channel has no room to keep apart.
        let gap = least.min(*place);
        *place = motion.place(identity(channel, &item.element), *place, pace, gap);
        least = *place + extent;
    }
}

/// Two posts, or a bar with caps across the channel.
pub fn paint_gate(pen: &Pen<'_>, curve: &Curve, scale: TubeScale, view: &ChannelView) {
    let center = pen.pos(curve.before_end(0.0));
    let half = pen.scaled(scale.width) / 2.0;
    let k = pen.zoom() * scale.factor();
    let Some((checkpoint, since_us)) = view.blocked else {
        for y in [
            center.y - half + k - 9.0 * k / 2.0,
            center.y + half - k + 9.0 * k / 2.0,
        ] {
            let post = Rect::from_center_size(pos2(center.x, y), vec2(6.0 * k, 9.0 * k));
            filled(pen.painter, post, 2.0 * k, pen.theme.line_strong);
        }
        return;
    };
    let shut = shut_share(pen, since_us);
    paint_shut_gate(
        pen,
        center,
        half + 3.0 * k,
        k,
        shut,
        pen.theme.checkpoint(checkpoint),
    );
}

fn shut_share(pen: &Pen<'_>, since_us: u64) -> f32 {
    if pen.reduced_motion {
        return 1.0;
    }
    (pen.scene.clock_us.saturating_sub(since_us) as f32 / SHUT_US as f32).clamp(0.15, 1.0)
}

fn paint_shut_gate(pen: &Pen<'_>, center: Pos2, half: f32, k: f32, shut: f32, color: Color32) {
    let bar = vec2(8.0 * k, half * shut);
    for sign in [-1.0, 1.0] {
        let outer = center.y + sign * half;
        let from = pos2(center.x - bar.x / 2.0, outer);
        let to = pos2(center.x + bar.x / 2.0, outer - sign * bar.y);
        filled(pen.painter, Rect::from_two_pos(from, to), 1.5 * k, color);
        let cap = Rect::from_center_size(pos2(center.x, outer + sign * k), vec2(16.0 * k, 5.0 * k));
        filled(pen.painter, cap, 2.0 * k, color);
    }
}
