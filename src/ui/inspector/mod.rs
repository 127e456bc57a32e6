//! The panel at the right: what is selected, and first of all the answer to "why can't this move?".

mod channel;
mod checkpoint;
mod edge;
mod file;
mod in_flight;
mod job;
mod ledger;
mod overview;
mod script;
mod sink;
mod state;
mod subtask;
mod vertex;

use egui::{ScrollArea, Ui};

use crate::model::Origin;
use crate::recording::Ledger;

use super::command::{Selection, UiCommand};
use super::document::Document;
use super::paint::dot;
use super::scene::{KeyColors, Scene};
use super::widgets::PlateRow;

/// What the panel shows while a job runs.
pub struct RunInspector<'a> {
    pub scene: Scene<'a>,
    pub keys: &'a KeyColors,
    pub ledger: &'a Ledger,
    /// Where only a part of the job is down: the ledgers of what restarts, and of the others.
    pub parts: Option<[Ledger; 2]>,
    /// The first source records that count more than once in the state.
    pub twice: &'a [Origin],
    pub selection: &'a Selection,
    pub is_playing: bool,
    /// None: nobody has looked.
    pub storage: Option<StorageFacts<'a>>,
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
                None if self
                    .scene
                    .view
                    .started_from
                    .is_some_and(|start| start.checkpoint == *id) =>
                {
                    checkpoint::start_ui(ui, self, *id, commands);
                }
                None => overview::overview_ui(ui, self, commands),
            },
            Selection::File(file) => match self.storage {
                Some(facts) => file::file_ui(ui, self, (facts, file), commands),
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

/// Room for the scroll bar, within the panel's margin.
const SCROLL_BAR: f32 = 12.0;

fn scrolled(ui: &mut Ui, content: impl FnOnce(&mut Ui)) {
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        // The scroll bar has a strip of its own beside the rows.
        ui.set_max_width(ui.available_width() - SCROLL_BAR);
        ui.spacing_mut().item_spacing.y = 6.0;
        content(ui);
        ui.add_space(12.0);
    });
}

/// A row that leads to `target`: a dot, a name, what there is to say.
fn linked_row(
    ui: &mut Ui,
    (name, detail): (&str, &str),
    color: egui::Color32,
    target: Selection,
    commands: &mut Vec<UiCommand>,
) {
    let row = PlateRow {
        name,
        detail,
        height: 28.0,
        is_clickable: true,
    };
    let response = row.ui(ui, |painter, at| dot(painter, at, 5.0, color));
    if response.clicked() {
        commands.push(UiCommand::Select(target));
    }
}

pub use file::StorageFacts;
use ledger::ledger_ui;
pub use vertex::empty_csv;
