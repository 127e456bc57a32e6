//! Everything that happened, one sentence per event; a click goes there.

use egui::{Align, Rect, Role, ScrollArea, Sense, Ui, WidgetInfo, pos2, vec2};

use crate::run::{Run, RunAction};

use super::super::command::UiCommand;
use super::super::figures::seconds;
use super::super::paint::{filled, text_in};
use super::super::theme::{Theme, regular};

const ROW: f32 = 22.0;

pub fn log_ui(ui: &mut Ui, run: &Run, commands: &mut Vec<UiCommand>) {
    let position = run.view().position;
    let events = run.recording().events().len();
    ui.spacing_mut().item_spacing.y = 0.0;
    let mut area = ScrollArea::vertical().auto_shrink(false);
    // Follow the cursor whenever it has moved.
    let id = ui.scope_id().with("log position");
    if ui.data(|data| data.get_temp::<usize>(id)) != Some(position) {
        ui.data_mut(|data| data.insert_temp(id, position));
        let offset = ROW * position as f32 - ui.available_height() * 0.75;
        area = area.vertical_scroll_offset(offset.max(0.0));
    }
    area.show_rows(ui, ROW, events, |ui, range| {
        for index in range {
            row_ui(ui, run, index, position, commands);
        }
    });
}

fn row_ui(ui: &mut Ui, run: &Run, index: usize, position: usize, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    let recording = run.recording();
    let Some(event) = recording.events().get(index) else {
        return;
    };
    let (row, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::click());
    let sentence = recording.sentence(index);
    let is_now = index + 1 == position;
    if is_now || response.hovered() || response.has_focus() {
        filled(
            ui.painter(),
            row,
            4.0,
            if is_now {
                theme.chosen
            } else {
                theme.card_hover
            },
        );
    }
    let color = if index < position {
        theme.text
    } else {
        theme.dim
    };
    let slot = |from: f32, to: f32| {
        Rect::from_min_max(
            pos2(row.left() + from, row.top()),
            pos2(row.left() + to, row.bottom()),
        )
    };
    text_in(
        ui.painter(),
        slot(0.0, 56.0),
        Align::Max,
        &(index + 1).to_string(),
        regular(12.0),
        theme.dim,
    );
    text_in(
        ui.painter(),
        slot(64.0, 140.0),
        Align::Max,
        &seconds(event.at_us),
        regular(12.0),
        theme.dim,
    );
    text_in(
        ui.painter(),
        slot(156.0, row.width() - 8.0),
        Align::Min,
        &sentence,
        regular(12.5),
        color,
    );
    response.widget_info(|| WidgetInfo::labeled(Role::ListItem, true, &sentence));
    if response.clicked() {
        commands.push(UiCommand::Act(RunAction::SeekPosition(index + 1)));
    }
}
