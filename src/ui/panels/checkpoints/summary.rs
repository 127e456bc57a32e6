//! Least, mean, most and percentiles over the completed checkpoints.

use egui::{Align, Rect, Role, Sense, Ui, WidgetInfo, vec2};

use crate::recording::view::CheckpointStatus;

use super::super::super::figures::{bytes, span};
use super::super::super::paint::text_in;
use super::super::super::scene::Scene;
use super::super::super::theme::{Theme, medium, regular, size};
use super::super::empty_ui;
use super::facts::{end_to_end_us, in_flight_bytes, percentile};

const COLUMNS: [&str; 7] = [
    "Minimum", "Average", "Maximum", "p50", "p90", "p99", "p99.9",
];
const NAME_WIDTH: f32 = 190.0;
const COLUMN_WIDTH: f32 = 96.0;
const ROW: f32 = 26.0;

pub fn summary_ui(ui: &mut Ui, scene: Scene<'_>) {
    let completed: Vec<_> = scene
        .checkpoints()
        .filter(|checkpoint| checkpoint.status == CheckpointStatus::Completed)
        .collect();
    if completed.is_empty() {
        return empty_ui(
            ui,
            "Once a checkpoint has completed, its figures count here.",
        );
    }
    ui.spacing_mut().item_spacing.y = 1.0;
    row_ui(ui, "", &COLUMNS.map(str::to_owned), true);
    let durations = completed
        .iter()
        .filter_map(|checkpoint| end_to_end_us(checkpoint));
    let sizes = completed.iter().map(|checkpoint| checkpoint.upload_bytes());
    let full = completed.iter().map(|checkpoint| checkpoint.size_bytes());
    let in_flight = completed
        .iter()
        .map(|checkpoint| in_flight_bytes(checkpoint));
    let (processed, persisted): (Vec<u64>, Vec<u64>) = in_flight.unzip();
    let (processed, persisted) = (processed.into_iter(), persisted.into_iter());
    for (name, values, word) in [
        (
            "End to end (modelled)",
            sorted(durations),
            span as fn(u64) -> String,
        ),
        ("Checkpointed size", sorted(sizes), bytes),
        ("Full size", sorted(full), bytes),
        ("Processed in flight", sorted(processed), bytes),
        ("Persisted in flight", sorted(persisted), bytes),
    ] {
        row_ui(ui, name, &spread(&values).map(word), false);
    }
}

fn sorted(values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values
}

/// In the order of [`COLUMNS`].
fn spread(values: &[u64]) -> [u64; 7] {
    let count = values.len().max(1) as u64;
    let first = values.first().copied().unwrap_or_default();
    let last = values.last().copied().unwrap_or_default();
    let [p50, p90, p99, p999] = [50.0, 90.0, 99.0, 99.9].map(|p| percentile(values, p));
    let mean = values.iter().sum::<u64>() / count;
    [first, mean, last, p50, p90, p99, p999]
}

fn row_ui(ui: &mut Ui, name: &str, figures: &[String; 7], is_head: bool) {
    let theme = Theme::of(ui.ctx());
    let (row, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::hover());
    let slot = Rect::from_min_size(row.min, vec2(NAME_WIDTH, ROW));
    text_in(
        ui.painter(),
        slot,
        Align::Min,
        name,
        regular(12.5),
        theme.dim,
    );
    let width = COLUMN_WIDTH.min((row.width() - NAME_WIDTH) / 7.0);
    for (place, figure) in figures.iter().enumerate() {
        let left = row.min + vec2(NAME_WIDTH + width * place as f32, 0.0);
        let slot = Rect::from_min_size(left, vec2(width - 8.0, ROW));
        let (font, color) = if is_head {
            (medium(size::SECONDARY), theme.dim)
        } else {
            (regular(12.5), theme.text)
        };
        text_in(ui.painter(), slot, Align::Max, figure, font, color);
    }
    let label = format!("{name} {}", figures.join(", "));
    response.widget_info(|| WidgetInfo::labeled(Role::Row, true, &label));
}
