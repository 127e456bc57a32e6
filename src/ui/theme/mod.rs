//! What things look like: one table of colours per theme, the type scale, and egui's own style made from them.
//!
//! No other file of the crate names a colour or a font.

mod contrast;
mod style;
mod tables;

use egui::{Color32, FontFamily, FontId, Id};

use crate::model::CheckpointId;

pub use contrast::contrast_ratio;
pub use style::install;

/// Which table of colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThemeKind {
    #[default]
    Dark,
    Light,
    HighContrast,
}

/// What a person chose under View ▸ Theme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThemeChoice {
    /// As the desktop says; dark where it says nothing.
    System,
    #[default]
    Dark,
    Light,
    HighContrast,
}

impl ThemeChoice {
    pub const ALL: [Self; 4] = [Self::System, Self::Dark, Self::Light, Self::HighContrast];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "Like the system",
            Self::Dark => "Dark",
            Self::Light => "Light",
            Self::HighContrast => "High contrast",
        }
    }

    /// The table for this choice, on a desktop that prefers `system`.
    #[must_use]
    pub fn kind(self, system: Option<egui::Theme>) -> ThemeKind {
        match (self, system) {
            (Self::Light, _) | (Self::System, Some(egui::Theme::Light)) => ThemeKind::Light,
            (Self::HighContrast, _) => ThemeKind::HighContrast,
            (Self::Dark | Self::System, _) => ThemeKind::Dark,
        }
    }
}

/// The colours of one theme, by role.
#[derive(Debug)]
pub struct Theme {
    pub kind: ThemeKind,
    /// Behind the canvas.
    pub ground: Color32,
    /// Dots of the canvas grid.
    pub grid: Color32,
    /// Bars and side panels.
    pub panel: Color32,
    /// Cards, rows and buttons.
    pub card: Color32,
    pub card_hover: Color32,
    /// Wells: text fields, key caps, callouts.
    pub inset: Color32,
    /// Hairlines between things.
    pub line: Color32,
    /// Lines that carry meaning: open gates, empty circles, ports.
    pub line_strong: Color32,
    pub text: Color32,
    /// Running text below a heading.
    pub text_soft: Color32,
    /// Labels and secondary figures.
    pub dim: Color32,
    /// Focus, selection, the current tab.
    pub accent: Color32,
    pub tube: Color32,
    pub tube_line: Color32,
    /// The hatching of a channel that is full.
    pub tube_full: Color32,
    /// The dot of a plain figure.
    pub neutral: Color32,
    pub ok: Color32,
    pub warn: Color32,
    pub error: Color32,
    /// On tokens, barriers and other bright fills.
    pub ink: Color32,
    /// The main action's button, and text on it.
    pub action: Color32,
    pub action_text: Color32,
    /// A pressed or chosen button.
    pub chosen: Color32,
    pub danger: Color32,
    pub danger_text: Color32,
    /// The activity histogram.
    pub activity: Color32,
    /// Behind a modal dialog.
    pub veil: Color32,
    pub shadow: Color32,
    /// Fills for checkpoints, by number, round and round.
    pub checkpoints: [Color32; 6],
    /// The same hues, legible as text on a panel or card.
    pub checkpoint_texts: [Color32; 6],
    /// Fills for keys.
    pub keys: [Color32; 8],
}

impl Theme {
    #[must_use]
    pub fn get(kind: ThemeKind) -> &'static Self {
        match kind {
            ThemeKind::Dark => &tables::DARK,
            ThemeKind::Light => &tables::LIGHT,
            ThemeKind::HighContrast => &tables::HIGH_CONTRAST,
        }
    }

    /// The theme in use.
    #[must_use]
    pub fn of(ctx: &egui::Context) -> &'static Self {
        Self::get(
            ctx.data(|data| data.get_temp(kind_id()))
                .unwrap_or_default(),
        )
    }

    #[must_use]
    pub fn is_dark(&self) -> bool {
        self.kind != ThemeKind::Light
    }

    /// The colour of checkpoint `id`, the same everywhere.
    #[must_use]
    pub fn checkpoint(&self, id: CheckpointId) -> Color32 {
        self.checkpoints[cycle(id, self.checkpoints.len())]
    }

    #[must_use]
    pub fn checkpoint_text(&self, id: CheckpointId) -> Color32 {
        self.checkpoint_texts[cycle(id, self.checkpoint_texts.len())]
    }

    #[must_use]
    pub fn key(&self, index: usize) -> Color32 {
        self.keys[index % self.keys.len()]
    }
}

/// Checkpoint 1 takes the first colour.
fn cycle(id: CheckpointId, len: usize) -> usize {
    (id.0.saturating_sub(1) % len as u64) as usize
}

fn kind_id() -> Id {
    Id::unique("lockgate theme")
}

/// Sizes of text at 100 %, in points.
pub mod size {
    pub const TITLE: f32 = 14.5;
    pub const BODY: f32 = 13.0;
    pub const SECONDARY: f32 = 11.5;
    pub const SMALLEST: f32 = 11.0;
}

/// Distances, in points: multiples of 4 but for the corner radii.
pub mod space {
    pub const TOP_BAR: f32 = 48.0;
    pub const INSPECTOR: f32 = 340.0;
    pub const RADIUS: f32 = 9.0;
    pub const RADIUS_SMALL: f32 = 6.0;
}

#[must_use]
pub fn regular(size: f32) -> FontId {
    FontId::new(size, FontFamily::Proportional)
}

#[must_use]
pub fn medium(size: f32) -> FontId {
    FontId::new(size, FontFamily::Name("medium".into()))
}

#[must_use]
pub fn semibold(size: f32) -> FontId {
    FontId::new(size, FontFamily::Name("semibold".into()))
}
