//! The job's own settings, while nothing is selected.

mod checkpointing;
mod recovery;
mod state;

use egui::{DragValue, TextEdit, Ui};

use crate::model::limits;
use crate::model::validate::Site;
use crate::model::{CostModel, JobConfig};

use super::super::command::{Selection, UiCommand};
use super::super::document::Document;
use super::super::settings::{self, controls, group, setting, table};
use super::super::theme::Theme;
use super::super::widgets::{field, sentence, small_print, title};
use super::linked_row;

pub fn job_ui(ui: &mut Ui, document: &Document, commands: &mut Vec<UiCommand>) {
    let job = document.job();
    title(ui, "Job");
    problems_ui(ui, document);
    hints_ui(ui, document, commands);
    let (mut name, mut note) = (job.name.clone(), job.note.clone());
    field(ui, "Name", |ui| {
        ui.add(TextEdit::singleline(&mut name).desired_width(f32::INFINITY))
    });
    sentence(ui, "Note", Theme::of(ui.ctx()).text_soft);
    ui.name_inputs("Note", |ui| {
        let edit = TextEdit::multiline(&mut note).desired_rows(3);
        ui.add(edit.desired_width(f32::INFINITY))
    });
    if name != job.name || note != job.note {
        commands.push(UiCommand::SetJobText { name, note });
    }
    ui.add_space(4.0);
    settings::explain_switch_ui(ui);
    let mut config = job.config.clone();
    checkpointing::group_ui(ui, &mut config.checkpointing, document.hints());
    recovery::group_ui(ui, &mut config);
    state::group_ui(ui, &mut config);
    cluster_ui(ui, &mut config);
    costs_ui(ui, &mut config.costs);
    if config != job.config {
        commands.push(UiCommand::SetConfig(Box::new(config)));
    }
    super::script::script_ui(ui, document, commands);
}

fn problems_ui(ui: &mut Ui, document: &Document) {
    let theme = Theme::of(ui.ctx());
    match document.problems().len() {
        0 => sentence(ui, "Ready to run.", theme.ok),
        1 => sentence(ui, "1 problem keeps this job from running.", theme.error),
        n => sentence(
            ui,
            &format!("{n} problems keep this job from running."),
            theme.error,
        ),
    }
    for problem in document
        .problems()
        .iter()
        .filter(|problem| !matches!(problem.site, Site::Vertex(_)))
    {
        small_print(ui, &problem.message);
    }
}

/// Which operators there is advice on; it is said beside their settings.
fn hints_ui(ui: &mut Ui, document: &Document, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    for hint in document.hints() {
        let Site::Vertex(uid) = &hint.site else {
            continue;
        };
        let vertex = document.job().vertex(uid);
        let name = vertex.map_or_else(|| uid.to_string(), |vertex| vertex.name.clone());
        let field = hint.field.trim_end_matches("_ms").replace('_', " ");
        let detail = format!("advice on its {field}");
        let target = Selection::Vertex(uid.clone());
        linked_row(ui, (&name, &detail), theme.warn, target, commands);
    }
}

fn cluster_ui(ui: &mut Ui, config: &mut JobConfig) {
    let slots = config.slots_per_task_manager;
    let plural = if slots == 1 { "slot" } else { "slots" };
    let summary = format!(
        "{slots} {plural} per TaskManager · channels of {} records",
        config.channel_capacity
    );
    group(ui, "Cluster", &summary, |ui| {
        setting(ui, &table::SLOTS, |ui| {
            controls::number(ui, &mut config.slots_per_task_manager, limits::SLOTS);
        });
        setting(ui, &table::CAPACITY, |ui| {
            let value =
                controls::drag_value(&mut config.channel_capacity, limits::CHANNEL_CAPACITY);
            ui.add(value.speed(0.1).suffix(" records"));
        });
        setting(ui, &table::SEED, |ui| {
            ui.add(DragValue::new(&mut config.seed));
        });
    });
}

fn costs_ui(ui: &mut Ui, costs: &mut CostModel) {
    let summary = "Every time on a stepped run’s screen comes from these.";
    group(ui, "What things cost (modelled)", summary, |ui| {
        let CostModel {
            transfer_us,
            process_us,
            rpc_us,
            snapshot_sync_us,
            snapshot_async_us,
            snapshot_async_us_per_kib,
            restore_us,
        } = costs;
        for (told, us) in [
            (&table::TRANSFER, transfer_us),
            (&table::PROCESS, process_us),
            (&table::RPC, rpc_us),
            (&table::SYNC, snapshot_sync_us),
            (&table::ASYNC, snapshot_async_us),
            (&table::ASYNC_KIB, snapshot_async_us_per_kib),
            (&table::RESTORE, restore_us),
        ] {
            setting(ui, told, |ui| controls::cost(ui, us));
        }
    });
}
