//! The app's icon, drawn: a shut gate across a channel, a record waiting behind it.

use egui::{Color32, IconData};

use super::theme::{Theme, ThemeKind};
use crate::model::CheckpointId;

const SIDE: u32 = 128;

#[must_use]
pub fn app_icon() -> IconData {
    let theme = Theme::get(ThemeKind::Dark);
    let mut rgba = Vec::with_capacity((SIDE * SIDE * 4) as usize);
    for y in 0..SIDE {
        for x in 0..SIDE {
            let color = pixel(theme, x as f32 + 0.5, y as f32 + 0.5);
            rgba.extend_from_slice(&color.to_srgba_unmultiplied());
        }
    }
    IconData {
        rgba,
        width: SIDE,
        height: SIDE,
    }
}

/// The colour at a point of a 128 × 128 square; edges are softened over one pixel.
fn pixel(theme: &Theme, x: f32, y: f32) -> Color32 {
    let gate = theme.checkpoint(CheckpointId(2));
    let mut color = Color32::TRANSPARENT;
    let mut over = |fill: Color32, outside: f32| {
        let cover = (0.5 - outside).clamp(0.0, 1.0);
        color = color.lerp_to_gamma(fill, cover);
    };
    over(
        theme.panel,
        rounded_box(x, y, [64.0, 64.0], [62.0, 62.0], 26.0),
    );
    over(
        theme.tube,
        rounded_box(x, y, [64.0, 64.0], [62.0, 21.0], 0.0),
    );
    over(theme.key(0), (x - 38.0).hypot(y - 64.0) - 17.0);
    over(gate, rounded_box(x, y, [78.0, 64.0], [7.0, 36.0], 3.0));
    over(gate, rounded_box(x, y, [78.0, 29.0], [16.0, 5.0], 4.0));
    over(gate, rounded_box(x, y, [78.0, 99.0], [16.0, 5.0], 4.0));
    color
}

/// How far outside a box with rounded corners a point is; negative inside.
fn rounded_box(x: f32, y: f32, center: [f32; 2], half: [f32; 2], radius: f32) -> f32 {
    let dx = ((x - center[0]).abs() - half[0] + radius).max(0.0);
    let dy = ((y - center[1]).abs() - half[1] + radius).max(0.0);
    dx.hypot(dy) - radius
}
