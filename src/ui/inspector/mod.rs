//! The panel at the right: what is selected, and first of all the answer to "why can't this move?".

mod channel;
mod checkpoint;
mod edge;
mod job;
mod overview;
mod subtask;
mod vertex;

use egui::{ScrollArea, Ui};

use crate::recording::Ledger;

use super::command::{Selection, UiCommand};
use super::document::Document;
use super::scene::{KeyColors, Scene};
use super::theme::Theme;
use super::widgets::{section, sentence};

/// What the panel shows while a job runs.
pub struct RunInspector<'a> {
    pub scene: Scene<'a>,
    pub keys: &'a KeyColors,
    pub ledger: &'a Ledger,
    pub selection: &'a Selection,
    pub is_playing: bool,
}

impl RunInspector<'_> {
    pub fn ui(&self, ui: &mut Ui, commands: &mut Vec<UiCommand>) {
        scrolled(ui, |ui| match self.selection {
            Selection::Channel(id) if id.index() < self.scene.plan.channels.len() => {
                channel::channel_ui(ui, self, *id, commands);
            }
            Selection::Subtask(id) if id.index() < self.scene.plan.subtasks.len() => {
                subtask::subtask_ui(ui, self, *id, commands);
            }
            Selection::Checkpoint(id) => match self.scene.view.checkpoints.get(id) {
                Some(found) => checkpoint::checkpoint_ui(ui, self, found, commands),
                None => overview::overview_ui(ui, self, commands),
            },
            _ => overview::overview_ui(ui, self, commands),
        });
    }
}

/// The panel while a job is edited.
pub fn edit_inspector_ui(
    ui: &mut Ui,
    document: &Document,
    selection: &Selection,
    commands: &mut Vec<UiCommand>,
) {
    let job = document.job();
    scrolled(ui, |ui| match selection {
        Selection::Vertex(uid) => match job.vertex(uid) {
            Some(found) => vertex::vertex_ui(ui, document, found, commands),
            None => job::job_ui(ui, document, commands),
        },
        Selection::Edge(index) if *index < job.edges.len() => {
            edge::edge_ui(ui, document, *index, commands);
        }
        _ => job::job_ui(ui, document, commands),
    });
}

fn scrolled(ui: &mut Ui, content: impl FnOnce(&mut Ui)) {
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 6.0;
        content(ui);
        ui.add_space(12.0);
    });
}

/// The account of all source records: the same at the end of every run view.
fn ledger_ui(ui: &mut Ui, inspector: &RunInspector<'_>) {
    let theme = Theme::of(ui.ctx());
    section(ui, "Ledger");
    egui::Frame::new()
        .fill(theme.card)
        .stroke(super::widgets::plate_line(theme))
        .corner_radius(6)
        .inner_margin(egui::Margin::symmetric(14, 12))
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.spacing_mut().item_spacing.y = 6.0;
            let is_running = inspector.scene.view.job == crate::engine::event::JobStatus::Running;
            sentence(ui, &account(inspector.ledger, is_running), theme.text);
            let (color, verdict) = verdict(theme, inspector.ledger);
            ui.horizontal_top(|ui| {
                let (slot, _) =
                    ui.allocate_exact_size(egui::vec2(10.0, 18.0), egui::Sense::hover());
                super::paint::dot(ui.painter(), slot.center(), 5.0, color);
                let words = egui::RichText::new(verdict)
                    .font(super::theme::semibold(12.5))
                    .color(color);
                ui.add(egui::Label::new(words).wrap());
            });
        });
}

/// Where all emitted records are.
fn account(ledger: &Ledger, is_running: bool) -> String {
    let emitted = ledger.emitted;
    let done = if ledger.state.is_some() {
        "counted once"
    } else {
        "out once"
    };
    let open = if is_running { "in flight" } else { "not yet" };
    match ledger.state.or(ledger.output) {
        Some(tally) => format!(
            "{emitted} emitted · {} {done} · {} {open}",
            tally.once, tally.zero
        ),
        None => format!("{emitted} emitted"),
    }
}

fn verdict(theme: &Theme, ledger: &Ledger) -> (egui::Color32, String) {
    let more = |tally: Option<crate::recording::Tally>| tally.map_or(0, |tally| tally.more);
    match (more(ledger.state), more(ledger.output)) {
        (0, 0) => (theme.ok, "exactly once so far".to_owned()),
        (0, n) => {
            let words = format!(
                "state exactly once · {n} out of the sink more than once, as a plain sink does"
            );
            (theme.warn, words)
        }
        (n, _) => (theme.error, format!("{n} counted more than once")),
    }
}

pub use vertex::empty_csv;
