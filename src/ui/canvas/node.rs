//! An operator's card while editing: name, what it does, how many subtasks; the reasons why it cannot run below it.

use egui::{Align, Painter, Pos2, Rect, Shape, Stroke, Vec2, pos2, vec2};

use crate::model::{KeyExpr, OperatorSpec, SinkKind, Vertex, WindowAggregate};

use super::super::command::VertexKind;
use super::super::figures::{rate, span};
use super::super::paint::{framed, text_in};
use super::super::theme::{Theme, medium, regular, semibold};
use super::layout::NODE_SIZE;
use super::pen::font_size;
use super::rows::source_line;
use super::token::token_shape;

#[derive(Clone, Copy)]
pub struct NodeLook {
    pub is_selected: bool,
    pub is_hovered: bool,
    pub is_wrong: bool,
}

#[must_use]
pub fn node_rect(vertex: &Vertex) -> Rect {
    Rect::from_min_size(pos2(vertex.position.x, vertex.position.y), NODE_SIZE)
}

#[must_use]
pub fn out_port(vertex: &Vertex) -> Pos2 {
    node_rect(vertex).right_center()
}

#[must_use]
pub fn in_port(vertex: &Vertex) -> Pos2 {
    node_rect(vertex).left_center()
}

pub fn paint_node(
    painter: &Painter,
    theme: &Theme,
    vertex: &Vertex,
    rect: Rect,
    zoom: f32,
    look: NodeLook,
) {
    let (width, color) = match look {
        NodeLook {
            is_selected: true, ..
        } => (2.0, theme.accent),
        NodeLook { is_wrong: true, .. } => (1.5, theme.error),
        NodeLook {
            is_hovered: true, ..
        } => (1.0, theme.line_strong),
        _ => (1.0, theme.line),
    };
    framed(
        painter,
        rect,
        (9.0 * zoom).min(9.0),
        theme.card,
        Stroke::new(width, color),
    );
    let inner = rect.shrink2(vec2(14.0 * zoom, 0.0));
    let line = |y: f32| {
        Rect::from_center_size(
            pos2(inner.center().x, inner.top() + y * zoom),
            vec2(inner.width(), 20.0 * zoom),
        )
    };
    title(painter, theme, vertex, line(21.0), zoom);
    let lines = [
        (44.0, kind_line(&vertex.operator), theme.dim),
        (68.0, what_it_does(&vertex.operator), theme.text_soft),
        (92.0, subtasks_line(vertex), theme.dim),
    ];
    for (y, words, color) in lines {
        if let Some(size) = font_size(11.5, zoom) {
            text_in(painter, line(y), Align::Min, &words, regular(size), color);
        }
    }
    if !vertex.is_source() {
        let port = rect.left_center();
        painter.circle(
            port,
            5.0 * zoom.max(0.7),
            theme.card,
            Stroke::new(1.5, theme.line_strong),
        );
    }
}

fn title(painter: &Painter, theme: &Theme, vertex: &Vertex, slot: Rect, zoom: f32) {
    let mut room = slot;
    if let Some(size) = font_size(11.5, zoom) {
        let times = format!("× {}", vertex.parallelism);
        let used = text_in(painter, slot, Align::Max, &times, medium(size), theme.dim);
        room.max.x = used.left() - 6.0;
    }
    if let Some(size) = font_size(13.5, zoom) {
        text_in(
            painter,
            room,
            Align::Min,
            &vertex.name,
            semibold(size),
            theme.text,
        );
    }
}

fn kind_line(operator: &OperatorSpec) -> String {
    match operator {
        OperatorSpec::Source(spec) => format!("source · {}", rate(spec.rate_per_s)),
        other => other.kind_name().to_owned(),
    }
}

fn what_it_does(operator: &OperatorSpec) -> String {
    match operator {
        OperatorSpec::Source(spec) => source_line(spec),
        OperatorSpec::Map(spec) => format!("value × {}", spec.factor),
        OperatorSpec::KeyedSum(_) => with_ttl(key_line(operator.key()), operator),
        OperatorSpec::KeyedProcess(spec) => {
            let kind = spec.function.state_kind().name();
            let text = format!("{kind}, {}", key_line(operator.key()));
            with_ttl(text, operator)
        }
        OperatorSpec::RuleFilter => "rules: broadcast state".to_owned(),
        OperatorSpec::Window(spec) => {
            let what = match spec.aggregate {
                WindowAggregate::Sum => "sum",
                WindowAggregate::Count => "count",
            };
            let size = span(spec.size_ms.saturating_mul(1_000));
            format!("{what} per {size}, {}", key_line(spec.key.as_ref()))
        }
        OperatorSpec::Sink(spec) => match spec.kind {
            SinkKind::Plain => "plain: out at once".to_owned(),
            SinkKind::Upsert => "upsert: newest per key".to_owned(),
            SinkKind::TwoPhaseCommit { .. } => "two-phase commit".to_owned(),
            SinkKind::Buffering { threshold } => format!("out by {threshold}: list state"),
        },
    }
}

fn with_ttl(text: String, operator: &OperatorSpec) -> String {
    match operator.ttl() {
        Some(ttl) => format!("{text}, TTL {}", span(ttl.ttl_ms.saturating_mul(1_000))),
        None => text,
    }
}

/// By what a keyed sum groups.
#[must_use]
pub fn key_line(key: Option<&KeyExpr>) -> String {
    match key {
        None => "no key chosen".to_owned(),
        Some(KeyExpr::Column) => "by the key column".to_owned(),
        Some(KeyExpr::Modulo { modulus, .. }) => format!("by value modulo {modulus}"),
    }
}

fn subtasks_line(vertex: &Vertex) -> String {
    let mut line = subtasks_words(vertex);
    if !vertex.has_explicit_uid {
        line.push_str(" · no uid");
    }
    line
}

fn subtasks_words(vertex: &Vertex) -> String {
    match (&vertex.operator, vertex.parallelism) {
        (operator, _) if operator.is_keyed() => {
            format!("{} key groups", vertex.effective_max_parallelism())
        }
        (_, 1) => "1 subtask".to_owned(),
        (_, n) => format!("{n} subtasks"),
    }
}

/// A small picture of an operator kind, for the palette.
pub fn paint_kind(painter: &Painter, theme: &Theme, kind: VertexKind, center: Pos2) {
    let size = Vec2::splat(16.0);
    match kind {
        VertexKind::Sequence => {
            painter.add(token_shape(0, center, size, theme.key(0)));
        }
        VertexKind::Csv => {
            painter.add(token_shape(1, center, size, theme.key(3)));
        }
        VertexKind::KeyedSum => {
            for (i, y) in [-5.0, 0.0, 5.0].into_iter().enumerate() {
                let bar = Rect::from_center_size(center + vec2(2.0, y), vec2(11.0, 3.0));
                painter.rect_filled(bar, 1.5, theme.text_soft);
                painter.circle_filled(center + vec2(-7.0, y), 1.8, theme.key(i));
            }
        }
        VertexKind::KeyedProcess => {
            let cell = Rect::from_center_size(center, vec2(16.0, 14.0));
            let stroke = Stroke::new(1.5, theme.text_soft);
            framed(painter, cell, 2.5, theme.card, stroke);
            painter.circle_filled(center, 2.6, theme.key(2));
        }
        VertexKind::RuleFilter => {
            let funnel = [
                vec2(-8.0, -6.0),
                vec2(8.0, -6.0),
                vec2(2.0, 1.0),
                vec2(2.0, 7.0),
                vec2(-2.0, 5.0),
                vec2(-2.0, 1.0),
            ]
            .map(|o| center + o);
            let stroke = Stroke::new(1.5, theme.text_soft);
            painter.add(Shape::closed_line(funnel.to_vec(), stroke));
        }
        VertexKind::Map => {
            painter.add(token_shape(
                0,
                center - vec2(7.0, 0.0),
                Vec2::splat(8.0),
                theme.key(1),
            ));
            painter.add(token_shape(
                0,
                center + vec2(7.0, 0.0),
                Vec2::splat(8.0),
                theme.key(2),
            ));
            let stroke = Stroke::new(1.5, theme.text_soft);
            painter.hline(center.x - 2.0..=center.x + 2.0, center.y, stroke);
        }
        VertexKind::Window => {
            for (i, x) in [-7.0, 0.0, 7.0].into_iter().enumerate() {
                let pane = Rect::from_center_size(center + vec2(x, 0.0), vec2(6.0, 14.0));
                let stroke = Stroke::new(1.0, theme.text_soft);
                framed(
                    painter,
                    pane,
                    1.5,
                    theme.key(i).gamma_multiply(0.55),
                    stroke,
                );
            }
        }
        VertexKind::Sink => {
            let tray = [
                vec2(-8.0, -2.0),
                vec2(-8.0, 7.0),
                vec2(8.0, 7.0),
                vec2(8.0, -2.0),
            ]
            .map(|o| center + o);
            painter.add(Shape::line(
                tray.to_vec(),
                Stroke::new(2.0, theme.text_soft),
            ));
            painter.add(token_shape(
                0,
                center + vec2(0.0, -2.0),
                Vec2::splat(7.0),
                theme.key(1),
            ));
        }
    }
}
