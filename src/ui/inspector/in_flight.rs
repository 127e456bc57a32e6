//! The records that were in flight when an unaligned checkpoint's barriers overtook them: by channel, one token each.

use egui::{Role, Sense, Ui, WidgetInfo, vec2};

use crate::engine::event::ChannelSide;
use crate::model::Record;
use crate::recording::view::{CheckpointView, PersistedView};

use super::super::command::{Selection, UiCommand};
use super::super::figures::{count, value};
use super::super::scene::Scene;
use super::super::theme::Theme;
use super::super::widgets::{section, small_print};
use super::channel::{TokenMark, token_mark};
use super::{RunInspector, linked_row};

/// At most so many records of one end of a channel are shown.
const MAX_SHOWN: usize = 60;
/// From one line of tokens to the next.
const LINE: f32 = 27.0;
const GAP: f32 = 7.0;

pub fn in_flight_ui(
    ui: &mut Ui,
    inspector: &RunInspector<'_>,
    checkpoint: &CheckpointView,
    commands: &mut Vec<UiCommand>,
) {
    let persisted = checkpoint.subtasks.values();
    let mut persisted: Vec<&PersistedView> = persisted.flat_map(|part| &part.persisted).collect();
    if persisted.is_empty() {
        return;
    }
    persisted.sort_by_key(|records| (records.channel, records.side == ChannelSide::Output));
    section(ui, "Records in flight");
    small_print(
        ui,
        "The barriers overtook these. They are part of the checkpoint; a restore puts them back and processes them \
         first.",
    );
    let theme = Theme::of(ui.ctx());
    for persisted in persisted {
        let (name, detail) = words(inspector.scene, persisted);
        let color = theme.checkpoint(checkpoint.id);
        let target = Selection::Channel(persisted.channel);
        linked_row(ui, (&name, &detail), color, target, commands);
        tokens_ui(ui, inspector, checkpoint, persisted);
    }
}

/// `a → sum 1/2`, and `input · 3 records`.
fn words(scene: Scene<'_>, persisted: &PersistedView) -> (String, String) {
    let end = match persisted.side {
        ChannelSide::Input => "at the input",
        ChannelSide::Output => "at the output",
    };
    let records = count(persisted.records.len() as u64, "record");
    let name = scene.channel_title(persisted.channel);
    (name, format!("{records} {end}"))
}

/// As they lie in the channel, next first.
fn tokens_ui(
    ui: &mut Ui,
    inspector: &RunInspector<'_>,
    checkpoint: &CheckpointView,
    persisted: &PersistedView,
) {
    let theme = Theme::of(ui.ctx());
    let shown = persisted.records.iter().take(MAX_SHOWN);
    let mark = |record: &Record| {
        let mut mark = token_mark(ui.painter(), theme, inspector, persisted.channel, record);
        mark.ring = Some(theme.checkpoint(checkpoint.id));
        mark
    };
    let marks: Vec<TokenMark> = shown.map(mark).collect();
    let widths: Vec<f32> = marks.iter().map(TokenMark::width).collect();
    let room = ui.available_width() - 8.0;
    let (places, lines) = flow(&widths, room);
    let size = vec2(ui.available_width(), lines as f32 * LINE + 2.0);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    for (mark, (x, line)) in marks.iter().zip(places) {
        let center = rect.min + vec2(4.0 + x + mark.width() / 2.0, (line as f32 + 0.5) * LINE);
        mark.paint(ui.painter(), center);
    }
    let names = persisted.records.iter().take(MAX_SHOWN);
    let names = names.map(|record| {
        let origin = inspector.scene.origin_name(record);
        format!("{} ({origin})", value(record.value))
    });
    let names: Vec<String> = names.collect();
    let label = format!("in checkpoint {}: {}", checkpoint.id, names.join(", "));
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &label));
    response.on_hover_text(names.join(", "));
    let hidden = persisted.records.len().saturating_sub(MAX_SHOWN);
    if hidden > 0 {
        small_print(ui, &format!("and {hidden} more"));
    }
}

/// Left edges and lines of things so wide, set side by side in lines of `room`; and how many lines.
fn flow(widths: &[f32], room: f32) -> (Vec<(f32, usize)>, usize) {
    let (mut x, mut line) = (0.0, 0);
    let place = |width: &f32| {
        if x > 0.0 && x + width > room {
            (x, line) = (0.0, line + 1);
        }
        let place = (x, line);
        x += width + GAP;
        place
    };
    let places = widths.iter().map(place).collect();
    (places, line + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_go_on_in_the_next_line_where_one_is_full() {
        let (places, lines) = flow(&[20.0, 20.0, 20.0, 90.0], 60.0);
        assert_eq!(places, [(0.0, 0), (27.0, 0), (0.0, 1), (0.0, 2)]);
        assert_eq!(lines, 3);
    }
}
