//! The storage shelf below the graph: one chip per checkpoint that lies there, and the one being written.

use egui::{Align, Color32, Rect, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use crate::model::CheckpointId;
use crate::recording::view::{CheckpointStatus, CheckpointView};

use super::super::command::{Selection, UiCommand};
use super::super::figures::bytes;
use super::super::paint::{checkpoint_square, dashed_frame, foreign_square, framed, text_in};
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
    for (place, chip) in chips.iter().enumerate() {
        let left = rect.left() + TITLE_WIDTH + 18.0 + (CHIP_WIDTH + 12.0) * place as f32;
        let slot = Rect::from_center_size(
            pos2(left + CHIP_WIDTH / 2.0, rect.center().y),
            vec2(CHIP_WIDTH, if size == HudSize::Tall { 42.0 } else { 34.0 }),
        );
        if *selection == Selection::Checkpoint(chip.id) {
            let stroke = Stroke::new(2.0, pen.theme.text);
            framed(
                pen.painter,
                slot.expand(3.0),
                8.0,
                Color32::TRANSPARENT,
                stroke,
            );
        }
        chip_ui(ui, pen, slot, chip, commands);
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

/// One thing on the shelf.
struct Chip<'a> {
    id: CheckpointId,
    /// None: it is another run's, and this one began with it.
    checkpoint: Option<&'a CheckpointView>,
    state: &'static str,
    detail: String,
}

impl<'a> Chip<'a> {
    fn of(checkpoint: &'a CheckpointView) -> Self {
        let (state, detail) = if checkpoint.status == CheckpointStatus::Pending {
            let (done, all) = (checkpoint.acknowledged(), checkpoint.subtasks.len());
            ("pending", format!("{done} of {all}"))
        } else if checkpoint.kind.is_savepoint() {
            ("savepoint", bytes(checkpoint.size_bytes()))
        } else {
            ("completed", bytes(checkpoint.size_bytes()))
        };
        Self {
            id: checkpoint.id,
            checkpoint: Some(checkpoint),
            state,
            detail,
        }
    }
}

/// What is stored, the snapshot that the run began with first, then what is pending; the newest if not all fit.
fn shown<'a>(pen: &Pen<'a>, room: usize) -> Vec<Chip<'a>> {
    let view = pen.scene.view;
    let is_shown = |checkpoint: &&CheckpointView| {
        let is_kept =
            checkpoint.kind.is_savepoint() && checkpoint.status == CheckpointStatus::Completed;
        checkpoint.retained || is_kept || checkpoint.status == CheckpointStatus::Pending
    };
    let start = view.started_from.as_ref();
    let start = start.filter(|start| view.store.contains(&start.checkpoint));
    let start = start.map(|start| Chip {
        id: start.checkpoint,
        checkpoint: None,
        state: "started from",
        detail: start.claim.name().to_owned(),
    });
    let checkpoints = view.checkpoints.values().map(AsRef::as_ref);
    let own = checkpoints.filter(is_shown).map(Chip::of);
    let mut chips: Vec<_> = start.into_iter().chain(own).collect();
    let surplus = chips.len().saturating_sub(room);
    chips.drain(..surplus);
    chips
}

fn chip_ui(ui: &Ui, pen: &Pen<'_>, rect: Rect, chip: &Chip<'_>, commands: &mut Vec<UiCommand>) {
    let color = pen.theme.checkpoint(chip.id);
    let is_pending = chip
        .checkpoint
        .is_some_and(|checkpoint| checkpoint.status == CheckpointStatus::Pending);
    if is_pending {
        dashed_frame(pen.painter, rect, 6.0, Stroke::new(1.2, color));
    } else {
        framed(
            pen.painter,
            rect,
            6.0,
            pen.theme.card,
            Stroke::new(1.5, color),
        );
    }
    let square =
        Rect::from_center_size(pos2(rect.left() + 19.0, rect.center().y), vec2(22.0, 24.0));
    match chip.checkpoint {
        Some(checkpoint) => checkpoint_square(pen.painter, square, checkpoint, pen.theme),
        None => foreign_square(pen.painter, square, chip.id, pen.theme),
    }
    let line = |y: f32, text: &str, font, color: Color32| {
        let at = pos2(square.right() + 8.0, rect.center().y + y - 8.0);
        text_in(
            pen.painter,
            Rect::from_min_size(at, vec2(rect.right() - at.x - 4.0, 16.0)),
            Align::Min,
            text,
            font,
            color,
        );
    };
    line(-8.0, chip.state, regular(11.0), pen.theme.dim);
    line(8.0, &chip.detail, semibold(11.5), pen.theme.text);
    let response = ui.interact(rect, ui.scope_id().with(("shelf", chip.id)), Sense::click());
    let label = format!("Checkpoint {} {}, {}", chip.id, chip.state, chip.detail);
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
    if response.clicked() {
        commands.push(UiCommand::Select(Selection::Checkpoint(chip.id)));
    }
}
