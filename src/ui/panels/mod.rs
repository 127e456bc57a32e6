//! The linked views below the canvas: tabs, and what each shows.

mod checkpoints;
mod log;

use egui::{Align, Layout, Rect, RichText, Ui, UiBuilder, pos2};

use crate::run::Run;

use super::command::{Selection, Tab, UiCommand};
use super::scene::Scene;
use super::theme::{Theme, regular};
use super::timeline::index::TimelineIndex;
use super::timeline::{TimelineView, timeline_ui};
use super::widgets::tab_button;

pub use checkpoints::checkpoints_ui;

/// What the views show of a run.
pub struct PanelView<'a> {
    pub scene: Scene<'a>,
    pub index: &'a TimelineIndex,
    pub run: Option<&'a Run>,
    pub selection: &'a Selection,
    pub tab: Tab,
    pub sentence: &'a str,
}

/// The tabs, and below them the chosen view.
pub fn panels_ui(ui: &mut Ui, view: &PanelView<'_>, commands: &mut Vec<UiCommand>) {
    tabs_ui(ui, view.tab, commands);
    let area = ui.available_rect_before_wrap();
    let mut content = ui.new_child(
        UiBuilder::new()
            .max_rect(area)
            .layout(Layout::top_down(Align::Min)),
    );
    content.shrink_clip_rect(area.expand(2.0));
    match view.tab {
        Tab::Timeline => {
            let timeline = TimelineView {
                job: view.scene.job,
                index: view.index,
                clock_us: view.scene.clock_us,
                position: view.scene.view.position,
                script_fired_us: &view.scene.view.script_fired_us,
                selection: view.selection,
                sentence: view.sentence,
            };
            timeline_ui(&mut content, &timeline, commands);
        }
        Tab::Checkpoints => checkpoints_ui(&mut content, view.scene, view.selection, commands),
        Tab::Log => match view.run {
            Some(run) => log::log_ui(&mut content, run, commands),
            None => empty_ui(&mut content, "No events yet."),
        },
    }
}

fn tabs_ui(ui: &mut Ui, current: Tab, commands: &mut Vec<UiCommand>) {
    let strip = Rect::from_min_max(
        ui.max_rect().min,
        pos2(ui.max_rect().right(), ui.max_rect().top() + 34.0),
    );
    let mut row = ui.new_child(
        UiBuilder::new()
            .max_rect(strip)
            .layout(Layout::left_to_right(Align::Center)),
    );
    row.spacing_mut().item_spacing.x = 28.0;
    for tab in Tab::ALL {
        if tab_button(&mut row, tab.name(), tab == current).clicked() {
            commands.push(UiCommand::ShowTab(tab));
        }
    }
    ui.advance_cursor_after_rect(strip);
}

pub fn empty_ui(ui: &mut Ui, text: &str) {
    let theme = Theme::of(ui.ctx());
    ui.add_space(10.0);
    ui.label(RichText::new(text).font(regular(13.0)).color(theme.dim));
}
