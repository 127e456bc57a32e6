//! All checkpoints of the run in a table, newest first.

use egui::{Align, Rect, Role, ScrollArea, Sense, Ui, WidgetInfo, pos2, vec2};

use crate::recording::view::{CheckpointStatus, CheckpointView};

use super::super::command::{Selection, UiCommand};
use super::super::figures::{bytes, seconds, span};
use super::super::paint::{checkpoint_square, filled, text_in};
use super::super::scene::Scene;
use super::super::theme::{Theme, medium, regular, size};
use super::empty_ui;

/// Column titles, and the share of the width each takes.
const COLUMNS: [(&str, f32, Align); 7] = [
    ("", 0.05, Align::Min),
    ("Kind", 0.14, Align::Min),
    ("Status", 0.34, Align::Min),
    ("Triggered", 0.13, Align::Max),
    ("Duration", 0.12, Align::Max),
    ("Acknowledged", 0.12, Align::Max),
    ("Size", 0.10, Align::Max),
];
const ROW: f32 = 30.0;

pub fn checkpoints_ui(
    ui: &mut Ui,
    scene: Scene<'_>,
    selection: &Selection,
    commands: &mut Vec<UiCommand>,
) {
    if scene.view.checkpoints.is_empty() {
        empty_ui(ui, "No checkpoint yet. Press Checkpoint (C) to take one.");
        return;
    }
    let theme = Theme::of(ui.ctx());
    let (header, _) = ui.allocate_exact_size(vec2(ui.available_width(), 22.0), Sense::hover());
    for (slot, (title, _, align)) in cells(header).zip(COLUMNS) {
        text_in(
            ui.painter(),
            slot,
            align,
            title,
            medium(size::SECONDARY),
            theme.dim,
        );
    }
    ui.spacing_mut().item_spacing.y = 2.0;
    let rows: Vec<&CheckpointView> = scene.checkpoints().rev().collect();
    ScrollArea::vertical()
        .auto_shrink(false)
        .show_rows(ui, ROW, rows.len(), |ui, range| {
            for checkpoint in &rows[range] {
                row_ui(ui, scene, checkpoint, selection, commands);
            }
        });
}

fn cells(row: Rect) -> impl Iterator<Item = Rect> {
    let inner = row.shrink2(vec2(8.0, 0.0));
    let mut x = inner.left();
    COLUMNS.into_iter().map(move |(_, share, _)| {
        let width = inner.width() * share;
        let slot = Rect::from_min_size(pos2(x, inner.top()), vec2(width - 12.0, inner.height()));
        x += width;
        slot
    })
}

fn row_ui(
    ui: &mut Ui,
    scene: Scene<'_>,
    checkpoint: &CheckpointView,
    selection: &Selection,
    commands: &mut Vec<UiCommand>,
) {
    let theme = Theme::of(ui.ctx());
    let (row, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::click());
    let is_selected = *selection == Selection::Checkpoint(checkpoint.id);
    let fill = match (is_selected, response.hovered() || response.has_focus()) {
        (true, _) => theme.chosen,
        (false, true) => theme.card_hover,
        (false, false) => theme.card,
    };
    filled(ui.painter(), row, 5.0, fill);
    let texts = texts(scene, checkpoint);
    for (place, (slot, (_, _, align))) in cells(row).zip(COLUMNS).enumerate() {
        if place == 0 {
            let square =
                Rect::from_center_size(pos2(slot.left() + 12.0, slot.center().y), vec2(22.0, 20.0));
            checkpoint_square(
                ui.painter(),
                square,
                checkpoint.id,
                checkpoint.into(),
                theme,
            );
        } else {
            text_in(
                ui.painter(),
                slot,
                align,
                &texts[place - 1],
                regular(12.5),
                theme.text,
            );
        }
    }
    let label = format!("Checkpoint {}: {}", checkpoint.id, texts.join(", "));
    response.widget_info(|| WidgetInfo::labeled(Role::Row, true, &label));
    if response.clicked() {
        commands.push(UiCommand::Select(Selection::Checkpoint(checkpoint.id)));
    }
}

fn texts(scene: Scene<'_>, checkpoint: &CheckpointView) -> [String; 6] {
    let status = match checkpoint.status {
        CheckpointStatus::Pending => "pending".to_owned(),
        CheckpointStatus::Completed if checkpoint.retained => "completed · retained".to_owned(),
        CheckpointStatus::Completed => "completed · subsumed".to_owned(),
        CheckpointStatus::Aborted(reason) => format!("aborted · {}", reason.name()),
    };
    let until_us = checkpoint.decided_us.unwrap_or(scene.clock_us);
    [
        checkpoint.kind.name().to_owned(),
        status,
        seconds(checkpoint.triggered_us),
        span(until_us.saturating_sub(checkpoint.triggered_us)),
        format!(
            "{} / {}",
            checkpoint.acknowledged(),
            checkpoint.subtasks.len()
        ),
        bytes(checkpoint.size_bytes()),
    ]
}
