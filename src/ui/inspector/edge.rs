//! An edge: how records are spread over the receiver's subtasks.

use egui::Ui;

use crate::model::Partitioning;
use crate::model::validate::Site;

use super::super::command::{Selection, UiCommand};
use super::super::document::Document;
use super::super::theme::Theme;
use super::super::widgets::{ActionButton, Emphasis, section, sentence, small_print, title};

pub fn edge_ui(ui: &mut Ui, document: &Document, index: usize, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    let job = document.job();
    let edge = &job.edges[index];
    let name = |uid| {
        job.vertex(uid)
            .map_or_else(|| "nothing".to_owned(), |vertex| vertex.name.clone())
    };
    title(
        ui,
        &format!("Edge {} → {}", name(&edge.from), name(&edge.to)),
    );
    for problem in document
        .problems()
        .iter()
        .filter(|problem| problem.site == Site::Edge(index))
    {
        sentence(ui, &problem.message, theme.error);
    }
    section(ui, "Partitioning");
    for partitioning in Partitioning::ALL {
        if ui
            .radio(edge.partitioning == partitioning, partitioning.name())
            .clicked()
        {
            commands.push(UiCommand::SetPartitioning {
                edge: index,
                partitioning,
            });
        }
        ui.indent(partitioning.name(), |ui| {
            small_print(ui, meaning(partitioning));
        });
    }
    ui.add_space(12.0);
    let delete = ActionButton {
        text: "Delete edge",
        emphasis: Emphasis::Danger,
        ..Default::default()
    };
    if delete.ui(ui).clicked() {
        commands.push(UiCommand::Delete(Selection::Edge(index)));
    }
}

fn meaning(partitioning: Partitioning) -> &'static str {
    match partitioning {
        Partitioning::Hash => "All records of a key go to the subtask that owns its key group.",
        Partitioning::Forward => "Each subtask sends to the one of the same number.",
        Partitioning::Rebalance => "Each receiver in turn.",
        Partitioning::Broadcast => "Every receiver gets every record.",
    }
}
