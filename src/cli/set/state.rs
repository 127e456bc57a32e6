//! Where state lives, and where what is saved of it lies.

use super::job::{NUMBER, SWITCH, Setting, setting, shown};
use super::value::{Value, ValueError, bytes, number, switch, word};
use crate::model::{BackendKind, ClassicBackend, JobConfig, StorageKind, TimerService};

const BYTES: &str = "a number of bytes, such as 20480 or 20kb";

pub(super) static OF_THE_STATE: &[Setting] = &[
    Setting {
        path: "backend",
        values: "heap or rocksdb (HashMapStateBackend or EmbeddedRocksDBStateBackend), or a name up to 1.12: MemoryStateBackend, FsStateBackend or RocksDBStateBackend",
        set: set_backend,
        get: |config| Some(shown(&config.backend)),
    },
    Setting {
        path: "storage",
        values: "jobmanager or filesystem (JobManagerCheckpointStorage or FileSystemCheckpointStorage)",
        set: set_storage,
        get: |config| {
            Some(match config.storage {
                StorageKind::JobManager => "jobmanager".to_owned(),
                StorageKind::FileSystem { .. } => "filesystem".to_owned(),
            })
        },
    },
    Setting {
        path: "storage.inline_threshold_bytes",
        values: "a number of bytes, such as 20480 or 20kb",
        set: |config, text| {
            match &mut config.storage {
            StorageKind::FileSystem {
                inline_threshold_bytes,
            } => {
                *inline_threshold_bytes = bytes(text)?;
                Ok(())
            }
            StorageKind::JobManager => Err(ValueError::NotNow(
                "storage.inline_threshold_bytes belongs to the file system, but the job's storage is the JobManager: put --set storage=filesystem before it.".to_owned(),
            )),
        }
        },
        get: |config| match config.storage {
            StorageKind::FileSystem {
                inline_threshold_bytes,
            } => Some(inline_threshold_bytes.to_string()),
            StorageKind::JobManager => None,
        },
    },
    setting!("state.incremental", SWITCH, switch, state.incremental),
    setting!("state.asynchronous", SWITCH, switch, state.asynchronous),
    setting!(
        "state.compaction_trigger",
        NUMBER,
        number::<u32>,
        state.compaction_trigger
    ),
    Setting {
        path: "state.memory_mib",
        values: "a whole number of MiB, or a size such as 64mb",
        set: |config, text| {
            config.state.memory_mib = mebibytes(text)?;
            Ok(())
        },
        get: |config| Some(shown(&config.state.memory_mib)),
    },
    setting!("state.max_state_bytes", BYTES, bytes, state.max_state_bytes),
    Setting {
        path: "state.timers",
        values: "rocksdb or heap",
        set: |config, text| {
            config.state.timers = word(text, &TimerService::ALL.map(|it| (it.name(), it)))?;
            Ok(())
        },
        get: |config| Some(config.state.timers.name().to_owned()),
    },
];

fn mebibytes(text: &str) -> Value<u32> {
    match number(text) {
        Ok(mebibytes) => Ok(mebibytes),
        Err(_) => Ok(bytes(text)?.div_ceil(1 << 20)),
    }
}

fn kind(text: &str) -> Value<BackendKind> {
    let all = [
        ("heap", BackendKind::Heap),
        ("hashmap", BackendKind::Heap),
        ("HashMapStateBackend", BackendKind::Heap),
        ("rocksdb", BackendKind::RocksDb),
        ("EmbeddedRocksDBStateBackend", BackendKind::RocksDb),
    ];
    word(text, &all)
}

/// One of the old names sets the storage, too.
fn set_backend(config: &mut JobConfig, text: &str) -> Value<()> {
    let is_it = |name: &&ClassicBackend| name.name().eq_ignore_ascii_case(text.trim());
    if let Some(name) = ClassicBackend::ALL.iter().find(is_it) {
        name.apply(config);
    } else {
        config.backend = kind(text)?;
    }
    Ok(())
}
/// A threshold stays as it was.
fn set_storage(config: &mut JobConfig, text: &str) -> Value<()> {
    let names = [
        ("jobmanager", false),
        ("JobManagerCheckpointStorage", false),
        ("filesystem", true),
        ("FileSystemCheckpointStorage", true),
    ];
    let is_files = word(text, &names)?;
    config.storage = match (is_files, config.storage) {
        (false, _) => StorageKind::JobManager,
        (true, files @ StorageKind::FileSystem { .. }) => files,
        (true, StorageKind::JobManager) => StorageKind::FileSystem {
            inline_threshold_bytes: StorageKind::DEFAULT_INLINE_THRESHOLD_BYTES,
        },
    };
    Ok(())
}
