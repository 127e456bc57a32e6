//! How much the cards show, chosen by the room that the canvas has for them.

use egui::{Rect, Vec2, vec2};

use crate::engine::plan::ExecutionGraph;
use crate::model::JobGraph;

use super::camera::fit_zoom;
use super::layout::{FULL_REACH, LayoutRequest, measure};
use super::token::{LEGIBLE_TOKEN, TubeScale};

/// Below this zoom a denser layout is tried.
const MIN_FULL_ZOOM: f32 = 0.74;
/// Below this zoom channels lie as near to each other as can be.
const THREAD_ZOOM: f32 = 0.3;
const THREAD_PITCH: f32 = 4.0;
/// Room for a channel at a card, wider last.
const PITCHES: [f32; 5] = [13.0, 16.0, 20.0, 25.0, 30.0];

/// How much a card shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Density {
    /// Name, rows of state, status line; where the person put it.
    Full,
    /// The same, nearer to each other.
    Snug,
    /// Name, one figure, status.
    Compact,
    /// The same, nearer to each other.
    Close,
    /// Name and one figure in a line.
    Dense,
}

impl Density {
    pub const ALL: [Self; 5] = [
        Self::Full,
        Self::Snug,
        Self::Compact,
        Self::Close,
        Self::Dense,
    ];

    /// The room that a channel gets at a card where room is short.
    #[must_use]
    pub fn least_pitch(self) -> f32 {
        match self {
            Self::Full | Self::Snug => 20.0,
            Self::Compact | Self::Close => 13.0,
            Self::Dense => 9.0,
        }
    }

    /// How much of the distances between operators is kept, across and down.
    #[must_use]
    pub fn spread(self) -> Vec2 {
        match self {
            Self::Full => vec2(1.0, 1.0),
            Self::Snug => vec2(0.86, 0.72),
            Self::Compact => vec2(0.8, 0.6),
            Self::Close => vec2(0.5, 0.6),
            Self::Dense => vec2(0.5, 0.5),
        }
    }

    /// The least length of a channel.
    #[must_use]
    pub fn min_reach(self) -> f32 {
        match self {
            Self::Full => FULL_REACH,
            Self::Snug => 190.0,
            Self::Compact => 200.0,
            Self::Close => 128.0,
            Self::Dense => 116.0,
        }
    }
}

/// The fullest cards at which the graph fits `area` at a legible size, and the room for each channel there: if
/// possible so much that tokens carry their figures.
#[must_use]
pub fn choose(job: &JobGraph, plan: &ExecutionGraph, area: Rect) -> (Density, f32) {
    let fitted = |density: Density, pitch: f32| {
        let (bounds, width) = measure(&LayoutRequest::of(job, plan, density, pitch));
        let zoom = fit_zoom(area, bounds);
        let scale = TubeScale { width };
        (zoom, scale.token_height() * zoom)
    };
    let pitches = |density: Density| {
        let wider = PITCHES.into_iter();
        std::iter::once(density.least_pitch())
            .chain(wider.filter(move |pitch| *pitch > density.least_pitch()))
    };
    let mut candidates = Density::ALL
        .into_iter()
        .flat_map(|density| pitches(density).map(move |pitch| (density, pitch)));
    let legible = candidates.find(|(density, pitch)| {
        let (zoom, token) = fitted(*density, *pitch);
        zoom >= MIN_FULL_ZOOM && token >= LEGIBLE_TOKEN
    });
    let fits = |density: &Density| fitted(*density, density.least_pitch()).0 >= MIN_FULL_ZOOM;
    legible.unwrap_or_else(|| {
        let found = Density::ALL.into_iter().find(fits);
        let density = found.unwrap_or(Density::Dense);
        let is_tiny = fitted(density, density.least_pitch()).0 < THREAD_ZOOM;
        // From afar channels are threads: nearer together, the cards can be larger.
        let pitch = if is_tiny {
            THREAD_PITCH
        } else {
            density.least_pitch()
        };
        (density, pitch)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::fixture::two_sources_job;
    use egui::Pos2;

    fn chosen(parallelism: u32, size: Vec2) -> (Density, f32) {
        let mut job = two_sources_job();
        for vertex in &mut job.vertices {
            vertex.parallelism = vertex.parallelism.max(parallelism);
        }
        let area = Rect::from_min_size(Pos2::ZERO, size);
        choose(&job, &ExecutionGraph::of(&job), area)
    }

    #[test]
    fn a_small_job_shows_everything() {
        assert_eq!(chosen(1, vec2(1000.0, 480.0)).0, Density::Full);
    }

    #[test]
    fn with_room_for_it_tokens_carry_their_figures() {
        let mut job = two_sources_job();
        job.vertices[2].parallelism = 4;
        let area = Rect::from_min_size(Pos2::ZERO, vec2(1000.0, 360.0));
        let (density, pitch) = choose(&job, &ExecutionGraph::of(&job), area);
        assert!(density >= Density::Compact);
        assert!(pitch > density.least_pitch());
    }

    #[test]
    fn without_any_room_cards_are_as_small_as_can_be() {
        let chosen = chosen(16, vec2(600.0, 300.0));
        assert_eq!(chosen, (Density::Dense, THREAD_PITCH));
    }
}
