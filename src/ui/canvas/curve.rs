//! A channel's course: a cubic Bézier from the sender's right edge to the receiver's left, measured along its length.

use egui::{Pos2, Rect, Vec2, emath::TSTransform, vec2};

const SAMPLES: usize = 32;

/// A smooth curve as a polyline, with the length up to each of its points.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    points: Vec<Pos2>,
    lengths: Vec<f32>,
    bounds: Rect,
}

impl Curve {
    /// From `start`, leaving to the right, to `end`, arriving from the left.
    #[must_use]
    pub fn between(start: Pos2, end: Pos2) -> Self {
        // Never so flat that a channel to the left folds over itself.
        let reach = ((end.x - start.x) * 0.45).max(48.0);
        let (first, second) = (start + vec2(reach, 0.0), end - vec2(reach, 0.0));
        let at = |t: f32| {
            let s = 1.0 - t;
            let blend = s * s * s * start.to_vec2()
                + 3.0 * s * s * t * first.to_vec2()
                + 3.0 * s * t * t * second.to_vec2()
                + t * t * t * end.to_vec2();
            blend.to_pos2()
        };
        Self::through(
            (0..=SAMPLES)
                .map(|i| at(i as f32 / SAMPLES as f32))
                .collect(),
        )
    }

    fn through(points: Vec<Pos2>) -> Self {
        let mut lengths = Vec::with_capacity(points.len());
        let mut length = 0.0;
        for (i, point) in points.iter().enumerate() {
            if i > 0 {
                length += point.distance(points[i - 1]);
            }
            lengths.push(length);
        }
        let bounds = Rect::from_points(&points);
        Self {
            points,
            lengths,
            bounds,
        }
    }

    #[must_use]
    pub fn bounds(&self) -> Rect {
        self.bounds
    }

    #[must_use]
    pub fn length(&self) -> f32 {
        self.lengths.last().copied().unwrap_or(0.0)
    }

    /// The point at `distance` before the end.
    #[must_use]
    pub fn before_end(&self, distance: f32) -> Pos2 {
        self.along(self.length() - distance)
    }

    /// The point at `distance` from the start, clamped to the ends.
    #[must_use]
    pub fn along(&self, distance: f32) -> Pos2 {
        let after = self.lengths.partition_point(|length| *length < distance);
        if after == 0 {
            return self.points[0];
        }
        if after >= self.points.len() {
            return self.points[self.points.len() - 1];
        }
        let (from, to) = (self.lengths[after - 1], self.lengths[after]);
        let t = if to > from {
            (distance - from) / (to - from)
        } else {
            0.0
        };
        self.points[after - 1].lerp(self.points[after], t)
    }

    /// The same course on the screen.
    #[must_use]
    pub fn on_screen(&self, to_screen: TSTransform) -> Vec<Pos2> {
        self.points.iter().map(|point| to_screen * *point).collect()
    }

    #[must_use]
    pub fn distance_to(&self, point: Pos2) -> f32 {
        let near = |pair: &[Pos2]| distance_to_segment(point, pair[0], pair[1]);
        self.points
            .windows(2)
            .map(near)
            .fold(f32::INFINITY, f32::min)
    }
}

fn distance_to_segment(point: Pos2, from: Pos2, to: Pos2) -> f32 {
    let along: Vec2 = to - from;
    let t = if along.length_sq() > 0.0 {
        ((point - from).dot(along) / along.length_sq()).clamp(0.0, 1.0)
    } else {
        0.0
    };
    point.distance(from + t * along)
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::pos2;

    #[test]
    fn equal_distances_are_equal_steps() {
        let curve = Curve::between(pos2(0.0, 0.0), pos2(300.0, 200.0));
        let step = curve.length() / 20.0;
        for i in 1..20 {
            let gap = curve
                .along(step * i as f32)
                .distance(curve.along(step * (i - 1) as f32));
            assert!(
                (gap - step).abs() < 0.05 * step,
                "step {i} is {gap}, not {step}"
            );
        }
    }

    #[test]
    fn beyond_the_ends_are_the_ends() {
        let curve = Curve::between(pos2(0.0, 0.0), pos2(300.0, 200.0));
        assert_eq!(curve.along(-5.0), pos2(0.0, 0.0));
        assert_eq!(curve.before_end(-5.0), pos2(300.0, 200.0));
    }

    #[test]
    fn a_point_on_the_curve_is_near_it() {
        let curve = Curve::between(pos2(0.0, 0.0), pos2(300.0, 200.0));
        assert!(curve.distance_to(curve.along(123.0)) < 0.01);
        assert!(curve.distance_to(pos2(0.0, 100.0)) > 50.0);
    }
}
