//! Which part of the world is on screen: pan, zoom, fit. Only this transform moves; everything is painted in screen
//! space at its final size, so text is always sharp.

use egui::{Pos2, Rangef, Rect, Response, Scene, Ui, emath::TSTransform};

pub const ZOOM_RANGE: Rangef = Rangef {
    min: 0.02,
    max: 2.5,
};
/// Fitting enlarges a small job at most this much.
const MAX_FIT_ZOOM: f32 = 1.6;

pub struct Camera {
    pub to_screen: TSTransform,
    /// Until a person pans or zooms, the camera keeps everything in view.
    is_automatic: bool,
    fitted: Option<(Rect, Rect)>,
}

impl Default for Camera {
    fn default() -> Self {
        Self {
            to_screen: TSTransform::IDENTITY,
            is_automatic: true,
            fitted: None,
        }
    }
}

impl Camera {
    #[must_use]
    pub fn zoom(&self) -> f32 {
        self.to_screen.scaling
    }

    /// Show everything from the next frame on.
    pub fn request_fit(&mut self) {
        self.is_automatic = true;
        self.fitted = None;
    }

    /// Stay here, whatever is added or moved.
    pub fn hold(&mut self) {
        self.is_automatic = false;
    }

    /// Show everything from the next frame on, unless a person has chosen another view.
    pub fn request_fit_if_automatic(&mut self) {
        if self.is_automatic {
            self.fitted = None;
        }
    }

    /// If the camera is automatic, bring `world` into `screen`. `follow`: also when only the world has changed.
    pub fn keep_fitted(&mut self, screen: Rect, world: Rect, follow: bool) {
        if !self.is_automatic || !world.is_finite() || world.width() <= 0.0 {
            return;
        }
        let is_stale = match self.fitted {
            None => true,
            Some((old_screen, old_world)) => old_screen != screen || (follow && old_world != world),
        };
        if is_stale {
            self.fitted = Some((screen, world));
            let scaling = fit_zoom(screen, world);
            let translation = screen.center().to_vec2() - scaling * world.center().to_vec2();
            self.to_screen = TSTransform {
                scaling,
                translation: translation.round(),
            };
        }
    }

    /// Zoom about the middle of `screen`.
    pub fn zoom_by(&mut self, factor: f32, screen: Rect) {
        let scaling = ZOOM_RANGE.clamp(self.zoom() * factor);
        let fixed = self.to_screen.inverse() * screen.center();
        self.to_screen = TSTransform {
            scaling,
            translation: screen.center().to_vec2() - scaling * fixed.to_vec2(),
        };
        self.is_automatic = false;
    }

    /// Take dragging, wheel and pinch on the canvas's background.
    pub fn take_input(&mut self, ui: &Ui, background: &mut Response) {
        Scene::new().zoom_range(ZOOM_RANGE).register_pan_and_zoom(
            ui,
            background,
            &mut self.to_screen,
        );
        if background.changed() {
            self.is_automatic = false;
        }
        if !self.to_screen.is_valid() {
            *self = Self::default();
        }
    }

    #[must_use]
    pub fn world_from_screen(&self, point: Pos2) -> Pos2 {
        self.to_screen.inverse() * point
    }
}

/// The zoom at which `world` just fits `screen`.
#[must_use]
pub fn fit_zoom(screen: Rect, world: Rect) -> f32 {
    let scale = (screen.size() / world.size()).min_elem();
    if scale.is_finite() {
        scale.clamp(ZOOM_RANGE.min, MAX_FIT_ZOOM)
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::{pos2, vec2};

    #[test]
    fn fitting_shows_all_of_the_world() {
        let screen = Rect::from_min_size(pos2(0.0, 100.0), vec2(1100.0, 500.0));
        let world = Rect::from_min_size(pos2(-300.0, 40.0), vec2(2000.0, 700.0));
        let mut camera = Camera::default();
        camera.keep_fitted(screen, world, true);
        assert!(screen.expand(1.0).contains_rect(camera.to_screen * world));
    }

    #[test]
    fn fitting_shows_very_large_worlds_too() {
        let screen = Rect::from_min_size(Pos2::ZERO, vec2(1000.0, 400.0));
        let world = Rect::from_min_size(Pos2::ZERO, vec2(26_000.0, 2_000.0));
        let mut camera = Camera::default();
        camera.keep_fitted(screen, world, true);
        assert!(screen.expand(1.0).contains_rect(camera.to_screen * world));
    }

    #[test]
    fn zooming_keeps_the_middle_where_it_is() {
        let screen = Rect::from_min_size(Pos2::ZERO, vec2(800.0, 600.0));
        let mut camera = Camera::default();
        let before = camera.world_from_screen(screen.center());
        camera.zoom_by(1.5, screen);
        assert!(before.distance(camera.world_from_screen(screen.center())) < 0.01);
    }

    #[test]
    fn a_persons_view_is_left_alone() {
        let screen = Rect::from_min_size(Pos2::ZERO, vec2(800.0, 600.0));
        let mut camera = Camera::default();
        camera.zoom_by(2.0, screen);
        let chosen = camera.to_screen;
        camera.keep_fitted(screen.expand(10.0), screen, true);
        assert_eq!(camera.to_screen, chosen);
    }
}
