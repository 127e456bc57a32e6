//! The storage shelf below the graph: one chip per checkpoint that lies there, and the one being written.

use egui::{Align, Color32, Rect, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use crate::recording::view::{CheckpointStatus, CheckpointView};

use super::super::command::{Selection, UiCommand};
use super::super::figures::bytes;
use super::super::paint::{checkpoint_square, dashed_frame, framed, text_in};
use super::super::theme::{regular, semibold};
use super::coordinator::{HudSize, retained_text};
use super::pen::Pen;

const MAX_WIDTH: f32 = 640.0;
const CHIP_WIDTH: f32 = 108.0;
const TITLE_WIDTH: f32 = 196.0;

/// Draw the shelf centred at the bottom of `area`; returns its rectangle.
pub fn shelf_ui(
    ui: &Ui,
    pen: &Pen<'_>,
    area: Rect,
    size: HudSize,
    selection: &Selection,
    commands: &mut Vec<UiCommand>,
) -> Rect {
    // Room for the zoom control at the left stays free on both sides.
    let width = MAX_WIDTH.min(area.width() - 2.0 * 164.0).max(320.0);
    let height = size.shelf_height();
    let center = pos2(area.center().x, area.bottom() - 16.0 - height / 2.0);
    let rect = Rect::from_center_size(center, vec2(width, height));
    framed(
        pen.painter,
        rect,
        10.0,
        pen.theme.panel,
        Stroke::new(1.0, pen.theme.line),
    );
    title(pen, rect, size);
    let chips = shown(
        pen,
        ((width - TITLE_WIDTH - 18.0) / (CHIP_WIDTH + 12.0))
            .floor()
            .max(1.0) as usize,
    );
    if chips.is_empty() {
        let room = Rect::from_min_max(
            pos2(rect.left() + TITLE_WIDTH + 18.0, rect.top()),
            rect.max - vec2(16.0, 0.0),
        );
        text_in(
            pen.painter,
            room,
            Align::Min,
            "Completed checkpoints are kept here.",
            regular(11.5),
            pen.theme.dim,
        );
    }
    for (place, checkpoint) in chips.into_iter().enumerate() {
        let left = rect.left() + TITLE_WIDTH + 18.0 + (CHIP_WIDTH + 12.0) * place as f32;
        let chip = Rect::from_center_size(
            pos2(left + CHIP_WIDTH / 2.0, rect.center().y),
            vec2(CHIP_WIDTH, if size == HudSize::Tall { 42.0 } else { 34.0 }),
        );
        if *selection == Selection::Checkpoint(checkpoint.id) {
            let stroke = Stroke::new(2.0, pen.theme.text);
            framed(
                pen.painter,
                chip.expand(3.0),
                8.0,
                Color32::TRANSPARENT,
                stroke,
            );
        }
        chip_ui(ui, pen, chip, checkpoint, commands);
    }
    rect
}

fn title(pen: &Pen<'_>, rect: Rect, size: HudSize) {
    let words = format!(
        "{} · {}",
        pen.scene.job.config.storage.name(),
        retained_text(pen.scene)
    );
    let (upper, lower) = if size == HudSize::Tall {
        (-11.0, 10.0)
    } else {
        (-9.0, 9.0)
    };
    let slot = |y: f32| {
        Rect::from_min_size(
            pos2(rect.left() + 18.0, rect.center().y + y - 10.0),
            vec2(TITLE_WIDTH - 18.0, 20.0),
        )
    };
    text_in(
        pen.painter,
        slot(upper),
        Align::Min,
        "Checkpoint storage",
        semibold(12.5),
        pen.theme.text,
    );
    text_in(
        pen.painter,
        slot(lower),
        Align::Min,
        &words,
        regular(11.5),
        pen.theme.dim,
    );
}

/// What is stored, then what is pending; the newest if not all fit.
fn shown<'a>(pen: &Pen<'a>, room: usize) -> Vec<&'a CheckpointView> {
    let is_shown = |checkpoint: &&CheckpointView| {
        let is_kept =
            checkpoint.kind.is_savepoint() && checkpoint.status == CheckpointStatus::Completed;
        checkpoint.retained || is_kept || checkpoint.status == CheckpointStatus::Pending
    };
    let mut chips: Vec<_> = pen.scene.checkpoints().filter(is_shown).collect();
    let surplus = chips.len().saturating_sub(room);
    chips.drain(..surplus);
    chips
}

fn chip_ui(
    ui: &Ui,
    pen: &Pen<'_>,
    chip: Rect,
    checkpoint: &CheckpointView,
    commands: &mut Vec<UiCommand>,
) {
    let color = pen.theme.checkpoint(checkpoint.id);
    let is_pending = checkpoint.status == CheckpointStatus::Pending;
    let kind = if checkpoint.kind.is_savepoint() {
        "savepoint"
    } else {
        "completed"
    };
    let (state, detail) = if is_pending {
        (
            "pending",
            format!(
                "{} of {}",
                checkpoint.acknowledged(),
                checkpoint.subtasks.len()
            ),
        )
    } else {
        (kind, bytes(checkpoint.size_bytes()))
    };
    if is_pending {
        dashed_frame(pen.painter, chip, 6.0, Stroke::new(1.2, color));
    } else {
        framed(
            pen.painter,
            chip,
            6.0,
            pen.theme.card,
            Stroke::new(1.5, color),
        );
    }
    let square =
        Rect::from_center_size(pos2(chip.left() + 19.0, chip.center().y), vec2(22.0, 24.0));
    checkpoint_square(pen.painter, square, checkpoint, pen.theme);
    let line = |y: f32, text: &str, font, color: Color32| {
        let at = pos2(square.right() + 8.0, chip.center().y + y - 8.0);
        text_in(
            pen.painter,
            Rect::from_min_size(at, vec2(chip.right() - at.x - 4.0, 16.0)),
            Align::Min,
            text,
            font,
            color,
        );
    };
    line(-8.0, state, regular(11.0), pen.theme.dim);
    line(8.0, &detail, semibold(11.5), pen.theme.text);
    let response = ui.interact(
        chip,
        ui.scope_id().with(("shelf", checkpoint.id)),
        Sense::click(),
    );
    let label = format!("Checkpoint {} {state}, {detail}", checkpoint.id);
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
    if response.clicked() {
        commands.push(UiCommand::Select(Selection::Checkpoint(checkpoint.id)));
    }
}
