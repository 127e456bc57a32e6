//! What every painter of the run canvas needs: where to paint, how large, in which colours, of which moment.

use egui::emath::TSTransform;
use egui::{Align2, Color32, FontId, Painter, Pos2, Rect};

use super::super::scene::{KeyColors, Scene};
use super::super::theme::{Theme, size};

#[derive(Clone, Copy)]
pub struct Pen<'a> {
    pub painter: &'a Painter,
    pub theme: &'static Theme,
    pub to_screen: TSTransform,
    pub scene: Scene<'a>,
    pub keys: &'a KeyColors,
    pub reduced_motion: bool,
}

impl Pen<'_> {
    #[must_use]
    pub fn zoom(&self) -> f32 {
        self.to_screen.scaling
    }

    /// A length of the world on the screen.
    #[must_use]
    pub fn scaled(&self, length: f32) -> f32 {
        length * self.zoom()
    }

    #[must_use]
    pub fn rect(&self, world: Rect) -> Rect {
        self.to_screen * world
    }

    #[must_use]
    pub fn pos(&self, world: Pos2) -> Pos2 {
        self.to_screen * world
    }

    /// Text in screen space.
    pub fn text(
        &self,
        at: Pos2,
        anchor: Align2,
        text: impl ToString,
        font: FontId,
        color: Color32,
    ) -> Rect {
        self.painter.text(at, anchor, text, font, color)
    }
}

/// The size at which text of `base` points is drawn at `zoom`: scaled, but never below the smallest legible size
/// while a card is large enough to hold it. None: too small to draw at all.
#[must_use]
pub fn font_size(base: f32, zoom: f32) -> Option<f32> {
    // Half points, so that zooming does not fill the glyph atlas with near-identical sizes.
    let scaled = (base * zoom * 2.0).round() / 2.0;
    if zoom >= 0.6 {
        Some(scaled.max(size::SMALLEST))
    } else {
        Some(scaled).filter(|size| *size >= 7.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_legible_or_goes_away() {
        assert_eq!(font_size(13.0, 1.0), Some(13.0));
        assert_eq!(font_size(11.5, 0.7), Some(11.0));
        assert_eq!(font_size(11.5, 0.3), None);
    }
}
