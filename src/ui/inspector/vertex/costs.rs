//! Where one operator costs other than the job's cost model says.

use egui::Ui;

use crate::model::{CostModel, Vertex, VertexCosts};

use super::super::super::settings::{controls, group, operator_table, setting, table};

pub fn costs_ui(ui: &mut Ui, usual: &CostModel, vertex: &mut Vertex) {
    let is_usual = vertex.costs == VertexCosts::default();
    let summary = if is_usual {
        "As the job says."
    } else {
        "Own costs."
    };
    let parallelism = vertex.parallelism;
    group(ui, "What it costs (modelled)", summary, |ui| {
        let VertexCosts {
            process_us,
            snapshot_sync_us,
            snapshot_async_us,
            only_subtask,
        } = &mut vertex.costs;
        for (told, own, usual_us) in [
            (&table::PROCESS, process_us, usual.process_us),
            (&table::SYNC, snapshot_sync_us, usual.snapshot_sync_us),
            (&table::ASYNC, snapshot_async_us, usual.snapshot_async_us),
        ] {
            setting(ui, told, |ui| controls::optional_cost(ui, own, usual_us));
        }
        setting(ui, &operator_table::ONLY_SUBTASK, |ui| {
            only_ui(ui, only_subtask, parallelism);
        });
    });
}

/// Subtasks are numbered from 1 on the screen.
fn only_ui(ui: &mut Ui, only: &mut Option<u32>, parallelism: u32) {
    let mut is_on = only.is_some();
    if ui.checkbox(&mut is_on, "number").changed() {
        *only = is_on.then_some(0);
    }
    if let Some(index) = only {
        let mut shown = index.saturating_add(1);
        if controls::number(ui, &mut shown, 1..=parallelism.max(1).into()).changed() {
            *index = shown.saturating_sub(1);
        }
    }
}
