//! A file as it is drawn: a plate with its name and size, striped in the colour of the checkpoint that has uploaded it.

use egui::{Align, Color32, Painter, Rect, Stroke, vec2};

use crate::run::xray::FileRef;

use super::super::super::figures::bytes;
use super::super::super::paint::{dashed_frame, filled, framed, text_in};
use super::super::super::theme::{Theme, medium, regular, size};

/// The height of a tile.
pub const HEIGHT: f32 = 26.0;
/// Between tiles.
pub const GAP: f32 = 6.0;
const RADIUS: f32 = 5.0;

/// How sure a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file of its own.
    File,
    /// In memory only.
    Memory,
    /// The same, its size being that of the entries alone.
    Logical,
    /// A checkpoint refers to it, and it is not there.
    Missing,
    /// It is not as long as what was written.
    Torn,
}

/// A tile in its place.
#[derive(Clone, Debug)]
pub struct Tile {
    pub rect: Rect,
    pub file: FileRef,
    pub name: String,
    pub size_bytes: u64,
    /// The colour of the checkpoint that has uploaded it; none: no completed one has.
    pub stripe: Option<Color32>,
    pub kind: Kind,
    /// A local file: where it lies in the checkpoint storage, if a completed checkpoint refers to it.
    pub uploaded_as: Option<String>,
    /// What a person hears and reads when pointing at it.
    pub words: String,
}

impl Tile {
    /// Its size, unless it has none.
    #[must_use]
    pub fn detail(&self) -> String {
        match self.kind {
            Kind::Missing => "missing".to_owned(),
            Kind::Torn => format!("torn, {}", bytes(self.size_bytes)),
            // What the entries would take in a file, not what the hash maps do in memory.
            Kind::Logical => format!("{} logical", bytes(self.size_bytes)),
            Kind::File | Kind::Memory => bytes(self.size_bytes),
        }
    }
}

/// `emphasis`: pointed at or selected, or connected with what is.
pub fn paint_tile(
    painter: &Painter,
    theme: &Theme,
    tile: &Tile,
    emphasis: bool,
    is_selected: bool,
) {
    let rect = tile.rect;
    let fill = if emphasis {
        theme.card_hover
    } else {
        theme.inset
    };
    let line = match (is_selected, tile.kind) {
        (true, _) => Stroke::new(1.5, theme.accent),
        (false, Kind::Missing | Kind::Torn) => Stroke::new(1.5, theme.error),
        (false, _) => Stroke::new(
            1.0,
            if emphasis {
                theme.line_strong
            } else {
                theme.line
            },
        ),
    };
    match tile.kind {
        Kind::File | Kind::Torn => framed(painter, rect, RADIUS, fill, line),
        Kind::Memory | Kind::Logical | Kind::Missing => {
            filled(painter, rect, RADIUS, fill);
            dashed_frame(painter, rect, RADIUS, line);
        }
    }
    if let Some(stripe) = tile.stripe {
        let stripe_rect = Rect::from_min_size(rect.min + vec2(5.0, 6.0), vec2(4.0, HEIGHT - 12.0));
        filled(painter, stripe_rect, 2.0, stripe);
    }
    let inner = Rect::from_min_max(rect.min + vec2(15.0, 0.0), rect.max - vec2(8.0, 0.0));
    let ink = if matches!(tile.kind, Kind::Missing | Kind::Torn) {
        theme.error
    } else {
        theme.dim
    };
    let detail = tile.detail();
    let used = text_in(
        painter,
        inner,
        Align::Max,
        &detail,
        regular(size::SMALLEST),
        ink,
    );
    let room = inner.with_max_x(used.left() - 6.0);
    text_in(
        painter,
        room,
        Align::Min,
        &tile.name,
        medium(size::SECONDARY),
        theme.text,
    );
}
