//! Where state lives, and where what is saved of it lies: in the names since Flink 1.13, or in those before.

use egui::{Id, Ui};

use crate::model::limits;
use crate::model::{
    BackendKind, ClassicBackend, JobConfig, StateOptions, StorageKind, TimerService,
};

use super::super::super::settings::{controls, group, setting, table};
use super::super::super::topbar::backend_name;
use super::super::super::widgets::small_print;

/// In which names the group speaks. The job is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Names {
    #[default]
    Since1_13,
    UpTo1_12,
}

impl Names {
    const ALL: [Self; 2] = [Self::Since1_13, Self::UpTo1_12];

    fn name(self) -> &'static str {
        match self {
            Self::Since1_13 => "since 1.13",
            Self::UpTo1_12 => "up to 1.12",
        }
    }
}

pub fn group_ui(ui: &mut Ui, config: &mut JobConfig) {
    let summary = format!(
        "{} · {}",
        backend_name(config.backend),
        config.storage.name()
    );
    group(ui, "State and storage", &summary, |ui| {
        let id = Id::unique("names of the state backends");
        let mut names: Names = ui.data(|data| data.get_temp(id)).unwrap_or_default();
        setting(ui, &table::NAMES, |ui| {
            controls::choice(ui, &mut names, &Names::ALL, Names::name);
        });
        ui.data_mut(|data| data.insert_temp(id, names));
        match names {
            Names::Since1_13 => two_knobs_ui(ui, config),
            Names::UpTo1_12 => classic_ui(ui, config),
        }
        let had_folder = config.checkpoint_dir.is_some();
        setting(ui, &table::CHECKPOINT_DIR, |ui| {
            controls::folder(ui, &mut config.checkpoint_dir, "goes with the run");
        });
        if config.checkpoint_dir.is_some() && !had_folder {
            // Flink: a folder for checkpoints implies that they are stored in files.
            config.storage = config.storage.in_files();
        }
        setting(ui, &table::SAVEPOINT_DIR, |ui| {
            controls::folder(ui, &mut config.savepoint_dir, "savepoints");
        });
    });
}

fn two_knobs_ui(ui: &mut Ui, config: &mut JobConfig) {
    setting(ui, &table::BACKEND, |ui| {
        controls::choice(ui, &mut config.backend, &BackendKind::ALL, backend_name);
    });
    if config.backend == BackendKind::RocksDb {
        rocksdb_ui(ui, &mut config.state);
    }
    setting(ui, &table::STORAGE, |ui| {
        let all = [StorageKind::JobManager, config.storage.in_files()];
        controls::choice(ui, &mut config.storage, &all, StorageKind::name);
    });
    limits_ui(ui, config);
    small_print(
        ui,
        &match ClassicBackend::of(config) {
            Some(classic) => format!("Up to 1.12: {}.", classic.name()),
            None => "Up to 1.12 there was no name for these two together.".to_owned(),
        },
    );
}

fn classic_ui(ui: &mut Ui, config: &mut JobConfig) {
    let known = ClassicBackend::of(config);
    let mut chosen = known;
    setting(ui, &table::CLASSIC, |ui| {
        let mut all: Vec<Option<ClassicBackend>> = ClassicBackend::ALL.map(Some).to_vec();
        if known.is_none() {
            all.push(None);
        }
        let name = |it: Option<ClassicBackend>| it.map_or("no such name", ClassicBackend::name);
        controls::choice(ui, &mut chosen, &all, name);
    });
    if let Some(chosen) = chosen.filter(|_| chosen != known) {
        chosen.apply(config);
    }
    match config.backend {
        BackendKind::RocksDb => rocksdb_ui(ui, &mut config.state),
        BackendKind::Heap => {
            setting(ui, &table::ASYNCHRONOUS, |ui| {
                ui.checkbox(&mut config.state.asynchronous, "");
            });
        }
    }
    limits_ui(ui, config);
    if let Some(classic) = ClassicBackend::of(config) {
        small_print(ui, &format!("Since 1.13: {}.", classic.since_1_13()));
    }
}

fn rocksdb_ui(ui: &mut Ui, state: &mut StateOptions) {
    setting(ui, &table::INCREMENTAL, |ui| {
        ui.checkbox(&mut state.incremental, "");
    });
    setting(ui, &table::COMPACTION, |ui| {
        let value = controls::drag_value(&mut state.compaction_trigger, limits::COMPACTION_TRIGGER);
        ui.add(value.suffix(" files"));
    });
    setting(ui, &table::MEMORY, |ui| {
        let value = controls::drag_value(&mut state.memory_mib, limits::MEMORY_MIB);
        ui.add(value.suffix(" MiB"));
    });
    setting(ui, &table::TIMERS, |ui| {
        let name = |timers| match timers {
            TimerService::RocksDb => "RocksDB",
            TimerService::Heap => "heap",
        };
        controls::choice(ui, &mut state.timers, &TimerService::ALL, name);
    });
}

fn limits_ui(ui: &mut Ui, config: &mut JobConfig) {
    match &mut config.storage {
        StorageKind::JobManager => setting(ui, &table::MAX_STATE, |ui| {
            let value =
                controls::drag_value(&mut config.state.max_state_bytes, limits::MAX_STATE_BYTES);
            ui.add(value.suffix(" B"));
        }),
        StorageKind::FileSystem {
            inline_threshold_bytes,
        } => setting(ui, &table::INLINE, |ui| {
            let value =
                controls::drag_value(inline_threshold_bytes, limits::INLINE_THRESHOLD_BYTES);
            ui.add(value.suffix(" B"));
        }),
    }
}
