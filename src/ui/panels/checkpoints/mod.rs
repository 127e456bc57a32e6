//! All that is known of the run's checkpoints, as Flink's web page tells it: counts, history, summary, configuration.

mod configuration;
pub mod facts;
mod history;
mod summary;

use egui::{Align, Layout, Rect, Ui, UiBuilder, pos2, vec2};

use super::super::command::{Selection, UiCommand};
use super::super::scene::Scene;
use super::super::widgets::{figure, tab_button};
use super::empty_ui;
use facts::Counts;

/// Which part is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    History,
    Summary,
    Configuration,
}

const PARTS: [(Part, &str); 3] = [
    (Part::History, "History"),
    (Part::Summary, "Summary"),
    (Part::Configuration, "Configuration"),
];
const COUNTS_WIDTH: f32 = 152.0;

pub fn checkpoints_ui(
    ui: &mut Ui,
    scene: Scene<'_>,
    selection: &Selection,
    commands: &mut Vec<UiCommand>,
) {
    let area = ui.available_rect_before_wrap();
    let split = area.left() + COUNTS_WIDTH;
    let left = Rect::from_min_max(area.min, pos2(split, area.bottom()));
    let right = Rect::from_min_max(pos2(split + 28.0, area.top()), area.max);
    let column = |ui: &mut Ui, rect: Rect| {
        let layout = Layout::top_down(Align::Min);
        ui.new_child(UiBuilder::new().max_rect(rect).layout(layout))
    };
    let mut counts = column(ui, left);
    counts_ui(&mut counts, scene);
    let mut part = column(ui, right);
    part_ui(&mut part, scene, selection, commands);
    ui.advance_cursor_after_rect(area);
}

fn counts_ui(ui: &mut Ui, scene: Scene<'_>) {
    ui.spacing_mut().item_spacing.y = 1.0;
    ui.add_space(6.0);
    let counts = Counts::of(scene);
    for (name, count) in [
        ("Triggered", counts.triggered),
        ("In progress", counts.in_progress),
        ("Completed", counts.completed),
        ("Failed", counts.failed),
        ("Restored", counts.restored),
    ] {
        figure(ui, name, &count.to_string());
    }
}

fn part_ui(ui: &mut Ui, scene: Scene<'_>, selection: &Selection, commands: &mut Vec<UiCommand>) {
    let id = egui::Id::unique("part of checkpoints");
    let mut chosen: Part = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    ui.allocate_ui_with_layout(
        vec2(ui.available_width(), 26.0),
        Layout::left_to_right(Align::Center),
        |ui| {
            ui.spacing_mut().item_spacing.x = 20.0;
            for (part, name) in PARTS {
                if tab_button(ui, name, part == chosen).clicked() {
                    chosen = part;
                    ui.data_mut(|data| data.insert_temp(id, part));
                }
            }
        },
    );
    match chosen {
        Part::Configuration => configuration::configuration_ui(ui, scene),
        _ if scene.view.checkpoints.is_empty() && scene.view.started_from.is_none() => {
            empty_ui(ui, "No checkpoint yet. Press Checkpoint (C) to take one.");
        }
        Part::History => history::history_ui(ui, scene, selection, commands),
        Part::Summary => summary::summary_ui(ui, scene),
    }
}
