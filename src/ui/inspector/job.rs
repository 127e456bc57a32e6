//! The job's own settings, while nothing is selected.

use egui::{CollapsingHeader, DragValue, RichText, TextEdit, Ui};

use crate::model::validate::Site;
use crate::model::{BackendKind, CostModel, JobConfig, RestartStrategy, StorageKind};

use super::super::command::UiCommand;
use super::super::document::Document;
use super::super::theme::{Theme, medium};
use super::super::topbar::backend_name;
use super::super::widgets::{field, section, sentence, small_print, title};

/// Costs above this make a run too slow to watch.
const MAX_COST_US: u64 = 60_000_000;

pub fn job_ui(ui: &mut Ui, document: &Document, commands: &mut Vec<UiCommand>) {
    let job = document.job();
    title(ui, "Job");
    problems_ui(ui, document);
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
    let mut config = job.config.clone();
    state_ui(ui, &mut config);
    checkpoints_ui(ui, &mut config);
    costs_ui(ui, &mut config);
    if config != job.config {
        commands.push(UiCommand::SetConfig(Box::new(config)));
    }
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

fn state_ui(ui: &mut Ui, config: &mut JobConfig) {
    section(ui, "State and storage");
    field(ui, "Backend", |ui| {
        egui::ComboBox::from_id_salt("backend")
            .selected_text(backend_name(config.backend))
            .width(170.0)
            .show_ui(ui, |ui| {
                for backend in BackendKind::ALL {
                    ui.selectable_value(&mut config.backend, backend, backend_name(backend));
                }
            })
    });
    field(ui, "Storage", |ui| {
        let threshold = StorageKind::DEFAULT_INLINE_THRESHOLD_BYTES;
        let files = match config.storage {
            StorageKind::FileSystem { .. } => config.storage,
            StorageKind::JobManager => StorageKind::FileSystem {
                inline_threshold_bytes: threshold,
            },
        };
        egui::ComboBox::from_id_salt("storage")
            .selected_text(config.storage.name())
            .width(170.0)
            .show_ui(ui, |ui| {
                ui.selectable_value(
                    &mut config.storage,
                    StorageKind::JobManager,
                    StorageKind::JobManager.name(),
                );
                ui.selectable_value(&mut config.storage, files, files.name());
            })
    });
    if let StorageKind::FileSystem {
        inline_threshold_bytes,
    } = &mut config.storage
    {
        field(ui, "Inline up to", |ui| {
            ui.add(
                DragValue::new(inline_threshold_bytes)
                    .range(0..=1_048_576)
                    .suffix(" B"),
            )
        });
    }
    field(ui, "Channel holds", |ui| {
        ui.add(
            DragValue::new(&mut config.channel_capacity)
                .range(1..=1000)
                .suffix(" records"),
        )
    });
    field(ui, "Seed", |ui| ui.add(DragValue::new(&mut config.seed)));
}

fn checkpoints_ui(ui: &mut Ui, config: &mut JobConfig) {
    section(ui, "Checkpoints and restart");
    let checkpointing = &mut config.checkpointing;
    field(ui, "Retained", |ui| {
        ui.add(DragValue::new(&mut checkpointing.retained).range(1..=20))
    });
    field(ui, "Concurrent", |ui| {
        ui.add(DragValue::new(&mut checkpointing.max_concurrent).range(1..=10))
    });
    field(ui, "Timeout", |ui| {
        ui.add(
            DragValue::new(&mut checkpointing.timeout_ms)
                .range(10..=86_400_000)
                .suffix(" ms"),
        )
    });
    field(ui, "Tolerable failed", |ui| {
        ui.add(DragValue::new(&mut checkpointing.tolerable_failed).range(0..=100))
    });
    field(ui, "After a failure", |ui| {
        restart_ui(ui, &mut config.restart);
    });
    if let RestartStrategy::FixedDelay { delay_ms, .. } = &mut config.restart {
        field(ui, "Delay", |ui| {
            ui.add(DragValue::new(delay_ms).range(0..=3_600_000).suffix(" ms"))
        });
    }
}

fn restart_ui(ui: &mut Ui, restart: &mut RestartStrategy) {
    let name = |strategy: &RestartStrategy| match strategy {
        RestartStrategy::Manual => "wait for Restore",
        _ => "restart by itself",
    };
    let by_itself = match *restart {
        RestartStrategy::Manual => RestartStrategy::FixedDelay {
            attempts: RestartStrategy::UNLIMITED_ATTEMPTS,
            delay_ms: 500,
        },
        other => other,
    };
    egui::ComboBox::from_id_salt("restart")
        .selected_text(name(restart))
        .width(170.0)
        .show_ui(ui, |ui| {
            ui.selectable_value(
                restart,
                RestartStrategy::Manual,
                name(&RestartStrategy::Manual),
            );
            ui.selectable_value(restart, by_itself, name(&by_itself));
        });
}

fn costs_ui(ui: &mut Ui, config: &mut JobConfig) {
    ui.add_space(10.0);
    let header = RichText::new("What things cost (modelled)").font(medium(12.5));
    CollapsingHeader::new(header)
        .id_salt("costs")
        .show(ui, |ui| {
            small_print(ui, "All times on a stepped run’s screen come from these.");
            let CostModel {
                transfer_us,
                process_us,
                rpc_us,
                snapshot_sync_us,
                snapshot_async_us,
                snapshot_async_us_per_kib,
                restore_us,
            } = &mut config.costs;
            for (label, cost) in [
                ("Transfer", transfer_us),
                ("Process", process_us),
                ("JobManager call", rpc_us),
                ("Snapshot, sync", snapshot_sync_us),
                ("Snapshot, async", snapshot_async_us),
                ("… per KiB", snapshot_async_us_per_kib),
                ("Restore", restore_us),
            ] {
                field(ui, label, |ui| ui.add(milliseconds(cost)));
            }
        });
}

/// Shown in milliseconds, kept in microseconds.
fn milliseconds(us: &mut u64) -> DragValue<'_> {
    let value = move |new: Option<f64>| {
        if let Some(ms) = new {
            *us = ((ms * 1e3).round().max(0.0) as u64).min(MAX_COST_US);
        }
        *us as f64 / 1e3
    };
    DragValue::from_get_set(value)
        .range(0.0..=MAX_COST_US as f64 / 1e3)
        .suffix(" ms")
        .speed(1.0)
        .max_decimals(3)
}
