//! A channel: why its first record cannot move, its queue, the inputs beside it.

use egui::{Painter, Pos2, Rect, Ui, vec2};

use crate::model::{ChannelId, Record, StreamElement, StreamEvent, SubtaskId};
use crate::recording::view::InFlight;

use super::super::canvas::token_shape;
use super::super::command::{Selection, UiCommand};
use super::super::explain::{input_line, why_not_moving};
use super::super::figures::{count, seconds, short_value, span};
use super::super::paint::filled;
use super::super::scene::{Scene, element_name};
use super::super::theme::{Theme, semibold, size};
use super::super::widgets::{PlateRow, section, sentence, small_print, title};
use super::{RunInspector, ledger_ui, linked_row};

/// At most this many elements are listed.
const MAX_LISTED: usize = 12;

pub fn channel_ui(
    ui: &mut Ui,
    inspector: &RunInspector<'_>,
    id: ChannelId,
    commands: &mut Vec<UiCommand>,
) {
    let scene = inspector.scene;
    let theme = Theme::of(ui.ctx());
    title(ui, &format!("Channel {}", scene.channel_title(id)));
    match scene.channel(id).blocked {
        Some((checkpoint, since_us)) => {
            let blocked = format!(
                "blocked for {} (modelled)",
                span(scene.clock_us.saturating_sub(since_us))
            );
            let words = egui::RichText::new(blocked)
                .font(semibold(12.0))
                .color(theme.checkpoint_text(checkpoint));
            ui.label(words);
        }
        None => small_print(ui, &fill_text(scene, id)),
    }
    why_ui(ui, scene, id);
    queue_ui(ui, inspector, id);
    inputs_ui(ui, scene, scene.plan.channel(id).to, commands);
    ledger_ui(ui, inspector);
}

fn fill_text(scene: Scene<'_>, id: ChannelId) -> String {
    let records = scene.channel(id).records() as u64;
    let partitioning = scene
        .job
        .edges
        .get(scene.plan.channel(id).edge)
        .map_or("", |edge| edge.partitioning.name());
    format!(
        "{partitioning} · holds {records} of {}",
        count(scene.job.config.channel_capacity.into(), "record")
    )
}

/// The question and its answer.
pub fn why_ui(ui: &mut Ui, scene: Scene<'_>, id: ChannelId) {
    let theme = Theme::of(ui.ctx());
    let why = why_not_moving(scene, id);
    ui.add_space(10.0);
    ui.add(egui::Label::new(egui::RichText::new(&why.title).font(semibold(size::BODY))).wrap());
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing.y = 3.0;
        for line in &why.sentences {
            sentence(ui, line, theme.text_soft);
        }
    });
}

fn queue_ui(ui: &mut Ui, inspector: &RunInspector<'_>, id: ChannelId) {
    let scene = inspector.scene;
    let view = scene.channel(id);
    section(ui, "Queue, next first");
    if view.queue.is_empty() && view.blocked.is_none() {
        small_print(ui, "The channel is empty.");
        return;
    }
    if let Some((checkpoint, since_us)) = view.blocked {
        let name = format!("barrier {checkpoint}");
        let detail = format!("arrived {}", seconds(since_us));
        let theme = Theme::of(ui.ctx());
        plate(&name, &detail).ui(ui, |painter, at| {
            barrier_mark(painter, at, theme.checkpoint(checkpoint));
        });
    }
    for item in view.queue.iter().take(MAX_LISTED) {
        element_row(ui, inspector, id, item);
    }
    if view.queue.len() > MAX_LISTED {
        small_print(ui, &format!("and {} more", view.queue.len() - MAX_LISTED));
    }
}

fn plate<'a>(name: &'a str, detail: &'a str) -> PlateRow<'a> {
    PlateRow {
        name,
        detail,
        height: 32.0,
        is_clickable: false,
    }
}

fn element_row(ui: &mut Ui, inspector: &RunInspector<'_>, id: ChannelId, item: &InFlight) {
    let theme = Theme::of(ui.ctx());
    let scene = inspector.scene;
    let name = element_name(&item.element);
    let arrival = arrival(scene, item);
    match &item.element {
        StreamElement::Record(record) => {
            let key = scene
                .key_of(id, record)
                .map(|key| format!("{key} · "))
                .unwrap_or_default();
            let held = scene.held_by(id, record);
            let words = held.map(|checkpoint| format!(" · kept in {checkpoint}"));
            let detail = format!(
                "{key}{}{}{arrival}",
                scene.origin_name(record),
                words.unwrap_or_default()
            );
            let mut mark = token_mark(ui.painter(), theme, inspector, id, record);
            mark.ring = held.map(|checkpoint| theme.checkpoint(checkpoint));
            let width = mark.width();
            plate(&name, &detail).ui_beside(ui, width, |painter, at| mark.paint(painter, at));
        }
        StreamElement::Event(StreamEvent::Barrier(barrier)) => {
            let detail = format!("triggered {}{arrival}", seconds(barrier.triggered_us));
            plate(&name, &detail).ui(ui, |painter, at| {
                barrier_mark(painter, at, theme.checkpoint(barrier.id));
            });
        }
        StreamElement::Event(_) => {
            let square = |painter: &Painter, at: Pos2| {
                filled(
                    painter,
                    Rect::from_center_size(at, vec2(9.0, 9.0)),
                    1.0,
                    theme.text_soft,
                );
            };
            plate(&name, arrival.trim_start_matches(" · ")).ui(ui, square);
        }
    }
}

fn arrival(scene: Scene<'_>, item: &InFlight) -> String {
    match item.ready_us.checked_sub(scene.clock_us) {
        Some(left) if left > 0 => format!(" · in {}", span(left)),
        _ => String::new(),
    }
}

fn barrier_mark(painter: &Painter, at: Pos2, color: egui::Color32) {
    filled(
        painter,
        Rect::from_center_size(at, vec2(5.0, 20.0)),
        2.0,
        color,
    );
}

/// A record as on the canvas, as wide as its figure needs.
pub struct TokenMark {
    source: usize,
    /// Around it, in the colour of the checkpoint that it is part of.
    pub ring: Option<egui::Color32>,
    color: egui::Color32,
    ground: egui::Color32,
    ink: egui::Color32,
    figure: std::sync::Arc<egui::Galley>,
}

impl TokenMark {
    pub fn width(&self) -> f32 {
        (self.figure.size().x + 8.0).max(19.0)
    }

    pub fn paint(&self, painter: &Painter, at: Pos2) {
        let size = vec2(self.width(), 19.0);
        if let Some(ring) = self.ring {
            let around = size + egui::Vec2::splat(5.0);
            painter.add(token_shape(self.source, at, around, ring));
            let rim = size + egui::Vec2::splat(1.5);
            painter.add(token_shape(self.source, at, rim, self.ground));
        }
        painter.add(token_shape(self.source, at, size, self.color));
        let corner = at - self.figure.size() / 2.0;
        painter.galley(corner, self.figure.clone(), self.ink);
    }
}

/// In the colours of `id`'s receiver.
pub fn token_mark(
    painter: &Painter,
    theme: &Theme,
    inspector: &RunInspector<'_>,
    id: ChannelId,
    record: &Record,
) -> TokenMark {
    let key = inspector.scene.key_of(id, record);
    let figure = short_value(record.value);
    TokenMark {
        ring: None,
        ground: theme.card,
        source: inspector.scene.source_index(record),
        color: key.map_or(theme.neutral, |key| theme.key(inspector.keys.index(&key))),
        ink: theme.ink,
        figure: painter.layout_no_wrap(figure, semibold(size::SMALLEST), theme.ink),
    }
}

/// All inputs of `subtask`, one line each.
pub fn inputs_ui(ui: &mut Ui, scene: Scene<'_>, subtask: SubtaskId, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    section(
        ui,
        &format!("Inputs of {}", scene.plan.subtask_name(subtask)),
    );
    for channel in scene.inputs_of(subtask) {
        let name = scene.short_name(scene.plan.channel(channel).from);
        let detail = input_line(scene, channel);
        let color = match scene.channel(channel).blocked {
            Some((checkpoint, _)) => theme.checkpoint(checkpoint),
            None if scene.channel(channel).ended || !scene.is_up(subtask) => theme.line_strong,
            None => theme.ok,
        };
        linked_row(
            ui,
            (&name, &detail),
            color,
            Selection::Channel(channel),
            commands,
        );
    }
}
