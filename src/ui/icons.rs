//! Icons are painted: no font has them all, and they stay sharp at every size.

use egui::{Color32, Painter, Pos2, Rect, Shape, Stroke, pos2, vec2};

use super::theme::Theme;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icon {
    PreviousBarrier,
    StepBack,
    Play,
    Pause,
    Step,
    NextBarrier,
    Run,
    Edit,
    Down,
    Menu,
}

/// Paint `icon` about `center`, 24 points wide at most.
pub fn paint_icon(painter: &Painter, theme: &Theme, icon: Icon, center: Pos2, color: Color32) {
    let bar = |x: f32, width: f32, color: Color32| {
        painter.rect_filled(
            Rect::from_center_size(center + vec2(x, 0.0), vec2(width, 16.0)),
            1.0,
            color,
        );
    };
    match icon {
        Icon::PreviousBarrier => {
            triangle(
                painter,
                center + vec2(5.0, 0.0),
                -10.0,
                6.0,
                theme.dim.lerp_to_gamma(color, 0.4),
            );
            triangle(
                painter,
                center + vec2(-3.0, 0.0),
                -10.0,
                6.0,
                theme.dim.lerp_to_gamma(color, 0.4),
            );
            bar(-12.0, 4.0, tinted(theme, color));
        }
        Icon::NextBarrier => {
            triangle(
                painter,
                center + vec2(-5.0, 0.0),
                10.0,
                6.0,
                theme.dim.lerp_to_gamma(color, 0.4),
            );
            triangle(
                painter,
                center + vec2(3.0, 0.0),
                10.0,
                6.0,
                theme.dim.lerp_to_gamma(color, 0.4),
            );
            bar(12.0, 4.0, tinted(theme, color));
        }
        Icon::StepBack => {
            triangle(painter, center + vec2(2.0, 0.0), -13.0, 8.0, color);
            bar(-8.0, 3.0, color);
        }
        Icon::Step => {
            triangle(painter, center + vec2(-2.0, 0.0), 13.0, 8.0, color);
            bar(8.0, 3.0, color);
        }
        Icon::Play => triangle(painter, center + vec2(1.0, 0.0), 14.0, 8.0, color),
        Icon::Run => triangle(painter, center + vec2(0.5, 0.0), 10.0, 6.0, color),
        Icon::Pause => {
            bar(-4.5, 5.0, color);
            bar(4.5, 5.0, color);
        }
        Icon::Edit => pencil(painter, center, color),
        Icon::Down => {
            let points = vec![
                center + vec2(-5.0, -3.0),
                center + vec2(5.0, -3.0),
                center + vec2(0.0, 3.5),
            ];
            painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
        }
        Icon::Menu => {
            for y in [-5.0, 0.0, 5.0] {
                painter.rect_filled(
                    Rect::from_center_size(center + vec2(0.0, y), vec2(16.0, 2.0)),
                    1.0,
                    color,
                );
            }
        }
    }
}

/// The barrier's bar keeps its own colour unless the button is disabled.
fn tinted(theme: &Theme, color: Color32) -> Color32 {
    if color == theme.text {
        theme.accent
    } else {
        color
    }
}

/// A triangle of `length` (negative: to the left) about `center`.
fn triangle(painter: &Painter, center: Pos2, length: f32, half: f32, color: Color32) {
    let tip = pos2(center.x + length / 2.0, center.y);
    let base = center.x - length / 2.0;
    let points = vec![
        tip,
        pos2(base, center.y + half),
        pos2(base, center.y - half),
    ];
    painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
}

fn pencil(painter: &Painter, center: Pos2, color: Color32) {
    let stroke = Stroke::new(3.0, color);
    painter.line_segment([center + vec2(-3.0, 3.0), center + vec2(4.0, -4.0)], stroke);
    let tip = [vec2(-6.0, 6.0), vec2(-4.6, 2.4), vec2(-2.4, 4.6)].map(|offset| center + offset);
    painter.add(Shape::convex_polygon(tip.to_vec(), color, Stroke::NONE));
}
