//! When checkpoints are taken, how barriers treat records, and what becomes of checkpoints.

use egui::Ui;

use crate::model::limits;
use crate::model::validate::{Hint, Site};
use crate::model::{CheckpointConfig, CheckpointMode, Retention};

use super::super::super::figures::span;
use super::super::super::settings::{advice_ui, advised_group, controls, setting, table, warning};

/// The interval that a person gets who switches it on.
const FIRST_INTERVAL_MS: u64 = 1_000;

pub fn group_ui(ui: &mut Ui, config: &mut CheckpointConfig, hints: &[Hint]) {
    let own = hints
        .iter()
        .filter(|hint| hint.field.starts_with("checkpointing."));
    let own: Vec<&Hint> = own.collect();
    let summary = summary(config);
    advised_group(ui, "Checkpointing", (&summary, &own), |ui| {
        when_ui(ui, config, hints);
        barriers_ui(ui, config);
        failures_ui(ui, config);
        kept_ui(ui, config, hints);
    });
}

fn summary(config: &CheckpointConfig) -> String {
    let when = match config.interval_ms {
        Some(ms) => format!("every {}", span(ms.saturating_mul(1_000))),
        None => "on request".to_owned(),
    };
    let how = match (config.mode, config.unaligned) {
        (CheckpointMode::ExactlyOnce, true) => "exactly-once, unaligned",
        (mode, _) => mode.name(),
    };
    format!("{when} · {how} · {} retained", config.retained)
}

fn when_ui(ui: &mut Ui, config: &mut CheckpointConfig, hints: &[Hint]) {
    setting(ui, &table::INTERVAL, |ui| {
        let range = (*limits::CHECKPOINT_MS.start(), FIRST_INTERVAL_MS);
        controls::optional_milliseconds(ui, &mut config.interval_ms, range);
    });
    setting(ui, &table::TIMEOUT, |ui| {
        controls::milliseconds(ui, &mut config.timeout_ms, *limits::CHECKPOINT_MS.start());
    });
    setting(ui, &table::MIN_PAUSE, |ui| {
        controls::milliseconds(ui, &mut config.min_pause_ms, 0);
    });
    advice_ui(ui, hints, &Site::Job, "checkpointing.min_pause_ms");
    setting(ui, &table::MAX_CONCURRENT, |ui| {
        controls::number(ui, &mut config.max_concurrent, limits::MAX_CONCURRENT);
    });
}

fn barriers_ui(ui: &mut Ui, config: &mut CheckpointConfig) {
    setting(ui, &table::MODE, |ui| {
        controls::choice(
            ui,
            &mut config.mode,
            &CheckpointMode::ALL,
            CheckpointMode::name,
        );
    });
    setting(ui, &table::UNALIGNED, |ui| {
        ui.checkbox(&mut config.unaligned, "");
    });
    if !config.unaligned {
        return;
    }
    if config.mode != CheckpointMode::ExactlyOnce {
        warning(
            ui,
            "Only exactly-once checkpoints can be unaligned: in this mode Flink switches it off.",
        );
    }
    if config.max_concurrent != 1 {
        warning(
            ui,
            "Unaligned checkpoints go one at a time: set Max. concurrent to 1.",
        );
    }
    setting(ui, &table::ALIGNED_TIMEOUT, |ui| {
        controls::milliseconds(ui, &mut config.aligned_timeout_ms, 0);
    });
}

fn failures_ui(ui: &mut Ui, config: &mut CheckpointConfig) {
    let unlimited = CheckpointConfig::UNLIMITED_FAILURES;
    setting(ui, &table::TOLERABLE, |ui| {
        controls::limited(
            ui,
            &mut config.tolerable_failed,
            limits::TOLERABLE_FAILED,
            (unlimited, 0),
        );
    });
    setting(ui, &table::FAIL_ON_ERRORS, |ui| {
        for (words, number) in [("true", 0), ("false", unlimited)] {
            ui.selectable_value(&mut config.tolerable_failed, number, words);
        }
    });
}

fn kept_ui(ui: &mut Ui, config: &mut CheckpointConfig, hints: &[Hint]) {
    setting(ui, &table::RETAINED, |ui| {
        controls::number(ui, &mut config.retained, limits::RETAINED);
    });
    setting(ui, &table::RETENTION, |ui| {
        controls::choice(ui, &mut config.retention, &Retention::ALL, retention_name);
    });
    advice_ui(ui, hints, &Site::Job, "checkpointing.retention");
    setting(ui, &table::AFTER_FINISH, |ui| {
        ui.checkbox(&mut config.after_tasks_finish, "");
    });
    advice_ui(ui, hints, &Site::Job, "checkpointing.after_tasks_finish");
}

fn retention_name(retention: Retention) -> &'static str {
    match retention {
        Retention::NoExternalized => "all are deleted",
        Retention::DeleteOnCancellation => "stay if it failed",
        Retention::RetainOnCancellation => "stay unless finished",
    }
}
