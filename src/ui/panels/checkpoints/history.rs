//! All checkpoints of the run in a table, newest first: every one, where Flink's page shows ten.

use egui::{Align, Rect, Role, ScrollArea, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use crate::recording::view::{CheckpointStatus, CheckpointView, StartView};

use super::super::super::command::{Selection, UiCommand};
use super::super::super::figures::{bytes, seconds, span};
use super::super::super::paint::{checkpoint_square, filled, foreign_square, framed, text_in};
use super::super::super::scene::Scene;
use super::super::super::theme::{Theme, medium, regular, size};
use super::facts::{end_to_end_us, in_flight_bytes, latest_ack_us, start_words};

/// Column titles, and the share of the width each takes.
const COLUMNS: [(&str, f32, Align); 10] = [
    ("", 0.04, Align::Min),
    ("Type", 0.12, Align::Min),
    ("Status", 0.165, Align::Min),
    ("Acknowledged", 0.11, Align::Max),
    ("Triggered", 0.085, Align::Max),
    ("Latest ack", 0.085, Align::Max),
    ("End to end", 0.085, Align::Max),
    ("Checkpointed", 0.1, Align::Max),
    ("Full", 0.075, Align::Max),
    ("Processed (persisted)", 0.135, Align::Max),
];
const ROW: f32 = 28.0;

pub fn history_ui(
    ui: &mut Ui,
    scene: Scene<'_>,
    selection: &Selection,
    commands: &mut Vec<UiCommand>,
) {
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
    // What the run began with is the oldest.
    let start = scene.view.started_from;
    let count = rows.len() + usize::from(start.is_some());
    ScrollArea::vertical()
        .auto_shrink(false)
        .show_rows(ui, ROW, count, |ui, range| {
            for place in range {
                match (rows.get(place), &start) {
                    (Some(checkpoint), _) => row_ui(ui, checkpoint, selection, commands),
                    (None, Some(start)) => start_ui(ui, start, commands),
                    (None, None) => {}
                }
            }
        });
}

/// The row of the snapshot that the run was started from: it belongs to another run, so most is not known here.
fn start_ui(ui: &mut Ui, start: &StartView, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    let (row, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::click());
    framed(
        ui.painter(),
        row,
        5.0,
        theme.panel,
        Stroke::new(1.0, theme.line),
    );
    let mut slots = cells(row);
    if let Some(slot) = slots.next() {
        let square =
            Rect::from_center_size(pos2(slot.left() + 12.0, slot.center().y), vec2(22.0, 20.0));
        foreign_square(ui.painter(), square, start.checkpoint, theme);
    }
    let room = slots
        .next()
        .map_or(row, |slot| Rect::from_min_max(slot.min, row.max));
    let words = start_words(start);
    text_in(
        ui.painter(),
        room,
        Align::Min,
        &words,
        regular(12.5),
        theme.text_soft,
    );
    let label = format!("Snapshot {}: {words}", start.checkpoint);
    response.widget_info(|| WidgetInfo::labeled(Role::Row, true, &label));
    if response.clicked() {
        commands.push(UiCommand::Select(Selection::Checkpoint(start.checkpoint)));
    }
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
    let texts = texts(checkpoint);
    for (place, (slot, (_, _, align))) in cells(row).zip(COLUMNS).enumerate() {
        if place == 0 {
            let square =
                Rect::from_center_size(pos2(slot.left() + 12.0, slot.center().y), vec2(22.0, 20.0));
            checkpoint_square(ui.painter(), square, checkpoint, theme);
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

fn texts(checkpoint: &CheckpointView) -> [String; 9] {
    let status = match checkpoint.status {
        CheckpointStatus::Pending => "pending".to_owned(),
        CheckpointStatus::Completed if checkpoint.kind.is_savepoint() => "completed".to_owned(),
        CheckpointStatus::Completed if checkpoint.retained => "completed · retained".to_owned(),
        CheckpointStatus::Completed => "completed · subsumed".to_owned(),
        CheckpointStatus::Aborted(reason) => format!("aborted · {}", reason.name()),
    };
    let (done, all) = (checkpoint.acknowledged(), checkpoint.subtasks.len());
    let percent = (done * 100).checked_div(all).unwrap_or(100);
    let (processed, persisted) = in_flight_bytes(checkpoint);
    let not_yet = || "n/a".to_owned();
    [
        checkpoint.kind.name().to_owned(),
        status,
        format!("{done}/{all} ({percent} %)"),
        seconds(checkpoint.triggered_us),
        latest_ack_us(checkpoint).map_or_else(not_yet, seconds),
        end_to_end_us(checkpoint).map_or_else(not_yet, span),
        bytes(checkpoint.upload_bytes()),
        bytes(checkpoint.size_bytes()),
        format!("{} ({})", bytes(processed), bytes(persisted)),
    ]
}
