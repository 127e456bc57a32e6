//! The linked views below the canvas: tabs, and what each shows.

mod checkpoints;
mod log;
mod storage;

use egui::{Align, Layout, Rect, RichText, Role, Sense, Ui, UiBuilder, WidgetInfo, pos2};

use crate::run::{Run, RunAction};

use super::command::{Selection, Tab, UiCommand};
use super::figures::seconds;
use super::paint::text_in;
use super::scene::Scene;
use super::theme::{Theme, medium, regular};
use super::timeline::index::TimelineIndex;
use super::timeline::{TimelineView, timeline_ui};
use super::widgets::tab_button;

pub use checkpoints::{checkpoints_ui, facts};
pub use storage::{FileIndex, Known};

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
    tabs_ui(ui, view, commands);
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
                plan: view.scene.plan,
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
        Tab::Storage => {
            let scene = (view.scene, view.run);
            storage::storage_ui(&mut content, scene, view.selection, commands);
        }
        Tab::Log => match view.run {
            Some(run) => log::log_ui(&mut content, run, commands),
            None => empty_ui(&mut content, "No events yet."),
        },
    }
}

fn tabs_ui(ui: &mut Ui, view: &PanelView<'_>, commands: &mut Vec<UiCommand>) {
    let bounds = ui.max_rect();
    let strip = Rect::from_min_max(bounds.min, pos2(bounds.right(), bounds.top() + 34.0));
    let mut row = ui.new_child(
        UiBuilder::new()
            .max_rect(strip)
            .layout(Layout::left_to_right(Align::Center)),
    );
    row.spacing_mut().item_spacing.x = 28.0;
    for tab in Tab::ALL {
        if tab_button(&mut row, tab.name(), tab == view.tab).clicked() {
            commands.push(UiCommand::ShowTab(tab));
        }
    }
    row.with_layout(Layout::right_to_left(Align::Center), |ui| {
        ui.spacing_mut().item_spacing.x = 16.0;
        if let Some(run) = view.run.filter(|run| run.branches().len() > 0) {
            branches_ui(ui, run, commands);
        }
        // The timeline has room for it below.
        if view.tab != Tab::Timeline {
            sentence_ui(ui, view.sentence);
        }
    });
    ui.advance_cursor_after_rect(strip);
}

/// What just happened, in what room there is.
fn sentence_ui(ui: &mut Ui, sentence: &str) {
    let theme = Theme::of(ui.ctx());
    let room = ui.available_rect_before_wrap();
    let response = ui.allocate_rect(room, Sense::hover());
    text_in(
        ui.painter(),
        room,
        Align::Max,
        sentence,
        medium(12.5),
        theme.text_soft,
    );
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, sentence));
    response.on_hover_ui(|ui| {
        ui.set_max_width(480.0);
        ui.label(RichText::new(sentence).font(regular(12.5)));
    });
}

/// What was left behind by acting in the past, and the way back to it.
fn branches_ui(ui: &mut Ui, run: &Run, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    let count = run.branches().len();
    let text = if count == 1 {
        "1 other branch".to_owned()
    } else {
        format!("{count} other branches")
    };
    let text = RichText::new(text)
        .font(medium(12.0))
        .color(theme.text_soft);
    ui.menu_button(text, |ui| {
        ui.set_min_width(200.0);
        for (index, times) in run.branches().enumerate() {
            let (left, end) = (seconds(times.forked_us), seconds(times.reached_us));
            let words = format!("Branch left at {left}, recorded until {end}");
            if ui.button(words).clicked() {
                commands.push(UiCommand::Act(RunAction::SwitchBranch(index)));
                ui.close();
            }
        }
    })
    .response
    .on_hover_text("Acting in the past opened another branch. Go back to an earlier one here.");
}

pub fn empty_ui(ui: &mut Ui, text: &str) {
    let theme = Theme::of(ui.ctx());
    ui.add_space(10.0);
    ui.label(RichText::new(text).font(regular(13.0)).color(theme.dim));
}
