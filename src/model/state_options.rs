//! The finer settings of a state backend.
//!
//! Defaults are Flink's where Flink has one.

use super::{BackendKind, JobConfig, StorageKind};

/// Where RocksDB's backend keeps the timers of windows (`state.backend.rocksdb.timer-service.factory`). The heap has them
/// with its other state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TimerService {
    /// In the database: they are snapshotted with it, beside the processing.
    #[default]
    RocksDb,
    /// In memory: quicker to find what is due, but written in the synchronous part of a snapshot.
    Heap,
}

impl TimerService {
    pub const ALL: [Self; 2] = [Self::RocksDb, Self::Heap];

    /// As in Flink's configuration, in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RocksDb => "rocksdb",
            Self::Heap => "heap",
        }
    }
}

/// How a backend keeps its state and takes its snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StateOptions {
    /// RocksDB uploads only the files that the last confirmed checkpoint does not have
    /// (`execution.checkpointing.incremental`, up to 1.12 the constructor's second argument). The heap takes no notice.
    pub incremental: bool,
    /// The heap's snapshots are written beside the processing; up to 1.12 they could also be written within it
    /// (`state.backend.async`, without effect since 1.13). RocksDB takes no notice.
    pub asynchronous: bool,
    /// So many files on level 0 are merged into one, after the snapshot that finds them
    /// (`level0_file_num_compaction_trigger`); 0: only when a person says so. RocksDB only.
    pub compaction_trigger: u32,
    /// What one database may take of memory for what it has not yet written and for what it has read, in MiB
    /// (`state.backend.rocksdb.memory.fixed-per-slot`).
    pub memory_mib: u32,
    /// The largest piece of state that the JobManager's heap takes (Flink: the `maxStateSize` of
    /// `JobManagerCheckpointStorage`; up to 1.12 of `MemoryStateBackend`). More than an RPC frame holds does not arrive.
    pub max_state_bytes: u32,
    /// RocksDB only.
    pub timers: TimerService,
}

impl StateOptions {
    /// RocksDB's own.
    pub const DEFAULT_COMPACTION_TRIGGER: u32 = 4;
    /// Flink divides a slot's managed memory; this is plenty for what a class looks at.
    pub const DEFAULT_MEMORY_MIB: u32 = 12;
    /// Flink: `JobManagerCheckpointStorage.DEFAULT_MAX_STATE_SIZE`.
    pub const DEFAULT_MAX_STATE_BYTES: u32 = 5 * 1024 * 1024;
}

impl Default for StateOptions {
    fn default() -> Self {
        Self {
            incremental: false,
            asynchronous: true,
            compaction_trigger: Self::DEFAULT_COMPACTION_TRIGGER,
            memory_mib: Self::DEFAULT_MEMORY_MIB,
            max_state_bytes: Self::DEFAULT_MAX_STATE_BYTES,
            timers: TimerService::RocksDb,
        }
    }
}

/// The three names that state backends had up to Flink 1.12, each a backend and a checkpoint storage in one (removed in
/// 2.0, FLINK-36323).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClassicBackend {
    /// `HashMapStateBackend` and `JobManagerCheckpointStorage`.
    Memory,
    /// `HashMapStateBackend` and `FileSystemCheckpointStorage`.
    Fs,
    /// `EmbeddedRocksDBStateBackend` and `FileSystemCheckpointStorage`.
    RocksDb,
}

impl ClassicBackend {
    pub const ALL: [Self; 3] = [Self::Memory, Self::Fs, Self::RocksDb];
    /// What `FsStateBackend` left in the metadata.
    pub const INLINE_THRESHOLD_BYTES: u32 = 1024;

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "MemoryStateBackend",
            Self::Fs => "FsStateBackend",
            Self::RocksDb => "RocksDBStateBackend",
        }
    }

    /// The same in the names since 1.13.
    #[must_use]
    pub fn since_1_13(self) -> &'static str {
        match self {
            Self::Memory => "HashMapStateBackend + JobManagerCheckpointStorage",
            Self::Fs => "HashMapStateBackend + FileSystemCheckpointStorage",
            Self::RocksDb => "EmbeddedRocksDBStateBackend + FileSystemCheckpointStorage",
        }
    }

    /// What the job's backend and storage were called together; none: RocksDB with the JobManager's heap had no name.
    #[must_use]
    pub fn of(config: &JobConfig) -> Option<Self> {
        match (config.backend, config.storage) {
            (BackendKind::Heap, StorageKind::JobManager) => Some(Self::Memory),
            (BackendKind::Heap, StorageKind::FileSystem { .. }) => Some(Self::Fs),
            (BackendKind::RocksDb, StorageKind::FileSystem { .. }) => Some(Self::RocksDb),
            (BackendKind::RocksDb, StorageKind::JobManager) => None,
        }
    }

    /// Make it so. A job that has files already keeps its threshold.
    pub fn apply(self, config: &mut JobConfig) {
        let files = match config.storage {
            StorageKind::FileSystem { .. } => config.storage,
            StorageKind::JobManager => StorageKind::FileSystem {
                inline_threshold_bytes: Self::INLINE_THRESHOLD_BYTES,
            },
        };
        (config.backend, config.storage) = match self {
            Self::Memory => (BackendKind::Heap, StorageKind::JobManager),
            Self::Fs => (BackendKind::Heap, files),
            Self::RocksDb => (BackendKind::RocksDb, files),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if one of the names means another pair, or does not come back.
    #[test]
    fn a_classic_name_is_what_it_makes() {
        for start in [ClassicBackend::Memory, ClassicBackend::RocksDb] {
            for name in ClassicBackend::ALL {
                let mut config = JobConfig::default();
                start.apply(&mut config);
                name.apply(&mut config);
                assert_eq!(ClassicBackend::of(&config), Some(name));
            }
        }
        let config = JobConfig {
            backend: BackendKind::RocksDb,
            ..JobConfig::default()
        };
        assert_eq!(ClassicBackend::of(&config), None);
    }
}
