//! Where state lives, and where what is saved of it lies.

use egui::{DragValue, Ui};

use crate::model::{BackendKind, JobConfig, StorageKind};

use super::super::super::settings::{controls, group, setting, table};
use super::super::super::topbar::backend_name;

pub fn group_ui(ui: &mut Ui, config: &mut JobConfig) {
    let summary = format!(
        "{} · {}",
        backend_name(config.backend),
        config.storage.name()
    );
    group(ui, "State and storage", &summary, |ui| {
        setting(ui, &table::BACKEND, |ui| {
            controls::choice(ui, &mut config.backend, &BackendKind::ALL, backend_name);
        });
        storage_ui(ui, &mut config.storage);
        setting(ui, &table::CHECKPOINT_DIR, |ui| {
            controls::folder(ui, &mut config.checkpoint_dir, "goes with the run");
        });
        setting(ui, &table::SAVEPOINT_DIR, |ui| {
            controls::folder(ui, &mut config.savepoint_dir, "savepoints");
        });
    });
}

fn storage_ui(ui: &mut Ui, storage: &mut StorageKind) {
    let files = match *storage {
        StorageKind::FileSystem { .. } => *storage,
        StorageKind::JobManager => StorageKind::FileSystem {
            inline_threshold_bytes: StorageKind::DEFAULT_INLINE_THRESHOLD_BYTES,
        },
    };
    setting(ui, &table::STORAGE, |ui| {
        let all = [StorageKind::JobManager, files];
        controls::choice(ui, storage, &all, StorageKind::name);
    });
    if let StorageKind::FileSystem {
        inline_threshold_bytes,
    } = storage
    {
        setting(ui, &table::INLINE, |ui| {
            let value = DragValue::new(inline_threshold_bytes);
            ui.add(value.range(0..=1_048_576).suffix(" B"));
        });
    }
}
