//! With what settings the run's checkpoints are taken.

use egui::{Align, Layout, Rect, ScrollArea, Ui, UiBuilder, pos2, vec2};

use crate::model::{CheckpointConfig, JobConfig};

use super::super::super::figures::span;
use super::super::super::scene::Scene;
use super::super::super::widgets::figure;

const COLUMN: f32 = 330.0;
const ROW: f32 = 22.0;

pub fn configuration_ui(ui: &mut Ui, scene: Scene<'_>) {
    let rows = rows(&scene.job.config);
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        let top = ui.cursor().min;
        let per_column = ((ui.available_height() / ROW).floor() as usize).max(5);
        let columns = ((ui.available_width() + 24.0) / (COLUMN + 24.0))
            .floor()
            .max(1.0) as usize;
        let per_column = per_column.max(rows.len().div_ceil(columns));
        for (place, (name, value)) in rows.iter().enumerate() {
            let (column, line) = (place / per_column, place % per_column);
            let at = top + vec2((COLUMN + 24.0) * column as f32, ROW * line as f32);
            let slot = Rect::from_min_size(at, vec2(COLUMN, ROW));
            let layout = Layout::top_down(Align::Min);
            let mut child = ui.new_child(UiBuilder::new().max_rect(slot).layout(layout));
            figure(&mut child, name, value);
        }
        let height = ROW * per_column as f32;
        ui.advance_cursor_after_rect(Rect::from_min_max(
            top,
            pos2(top.x + COLUMN, top.y + height),
        ));
    });
}

fn rows(config: &JobConfig) -> Vec<(&'static str, String)> {
    let checkpointing = &config.checkpointing;
    let ms = |ms: u64| span(ms.saturating_mul(1_000));
    let yes_no = |on: bool| if on { "enabled" } else { "disabled" }.to_owned();
    let tolerable = match checkpointing.tolerable_failed {
        CheckpointConfig::UNLIMITED_FAILURES => "unlimited".to_owned(),
        n => n.to_string(),
    };
    vec![
        ("Mode", checkpointing.mode.name().to_owned()),
        ("Storage", config.storage.name().to_owned()),
        ("State backend", config.backend.name().to_owned()),
        (
            "Interval",
            checkpointing
                .interval_ms
                .map_or_else(|| "on request".to_owned(), ms),
        ),
        ("Timeout", ms(checkpointing.timeout_ms)),
        ("Minimum pause", ms(checkpointing.min_pause_ms)),
        ("Max. concurrent", checkpointing.max_concurrent.to_string()),
        ("Unaligned", yes_no(checkpointing.unaligned)),
        ("Aligned timeout", ms(checkpointing.aligned_timeout_ms)),
        (
            "After the job’s end",
            checkpointing.retention.name().to_owned(),
        ),
        ("Retained", checkpointing.retained.to_string()),
        ("Tolerable failed", tolerable),
        (
            "After tasks finish",
            yes_no(checkpointing.after_tasks_finish),
        ),
    ]
}
