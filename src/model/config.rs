//! How a job runs: backend, storage, checkpointing and the cost model of virtual time.
//!
//! Defaults are Flink's where Flink has one.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobConfig {
    /// Decides ties in virtual time.
    pub seed: u64,
    pub backend: BackendKind,
    pub storage: StorageKind,
    pub checkpointing: CheckpointConfig,
    pub restart: RestartStrategy,
    pub costs: CostModel,
    /// How many records one channel holds before its sender must wait.
    pub channel_capacity: u32,
}

impl Default for JobConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            backend: BackendKind::Heap,
            storage: StorageKind::JobManager,
            checkpointing: CheckpointConfig::default(),
            restart: RestartStrategy::Manual,
            costs: CostModel::default(),
            channel_capacity: 10,
        }
    }
}

/// Where the working state of keyed operators lives (`state.backend.type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BackendKind {
    /// Copy-on-write maps in memory (Flink: `HashMapStateBackend`).
    Heap,
    /// One RocksDB per subtask in a temporary folder (Flink: `EmbeddedRocksDBStateBackend`, full snapshots).
    RocksDb,
}

impl BackendKind {
    pub const ALL: [Self; 2] = [Self::Heap, Self::RocksDb];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Heap => "heap",
            Self::RocksDb => "rocksdb",
        }
    }
}

/// Where completed checkpoints lie (`execution.checkpointing.storage`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StorageKind {
    /// In the JobManager's memory; at most 5 MiB per state stream (Flink: `JobManagerCheckpointStorage`).
    JobManager,
    /// In a folder of the run: `chk-N/_metadata` and state files (Flink: `FileSystemCheckpointStorage`).
    /// State of at most `inline_threshold_bytes` lies in the metadata itself
    /// (`execution.checkpointing.data-inline-threshold`).
    FileSystem { inline_threshold_bytes: u32 },
}

impl StorageKind {
    /// Flink's default for `execution.checkpointing.data-inline-threshold`.
    pub const DEFAULT_INLINE_THRESHOLD_BYTES: u32 = 20 * 1024;

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::JobManager => "JobManager heap",
            Self::FileSystem { .. } => "file system",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointConfig {
    /// `execution.checkpointing.num-retained`
    pub retained: u32,
    /// `execution.checkpointing.max-concurrent-checkpoints`
    pub max_concurrent: u32,
    /// `execution.checkpointing.timeout`
    pub timeout_ms: u64,
    /// `execution.checkpointing.tolerable-failed-checkpoints`
    pub tolerable_failed: u32,
}

impl Default for CheckpointConfig {
    fn default() -> Self {
        Self {
            retained: 1,
            max_concurrent: 1,
            timeout_ms: 600_000,
            tolerable_failed: 0,
        }
    }
}

/// What follows a failure, once all subtasks are cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RestartStrategy {
    /// The job waits for a person (or a script) to restore it. Not Flink's: made for looking around.
    Manual,
    /// The job restores the latest completed checkpoint by itself after this delay.
    FixedDelay { delay_ms: u64 },
}

/// What things cost in *virtual* time. Every time on a stepped run's screen comes from these numbers: modelled,
/// never measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostModel {
    /// From being sent to being ready at the other end of a channel.
    pub transfer_us: u64,
    /// A record's processing in a keyed sum or sink: the subtask takes nothing else meanwhile.
    pub process_us: u64,
    /// A message between the JobManager and a subtask.
    pub rpc_us: u64,
    /// The synchronous part of a snapshot: the subtask processes nothing meanwhile.
    pub snapshot_sync_us: u64,
    /// The asynchronous part of a snapshot, plus `snapshot_async_us_per_kib` for each begun KiB of state.
    pub snapshot_async_us: u64,
    pub snapshot_async_us_per_kib: u64,
    /// From the restore to all subtasks running again.
    pub restore_us: u64,
}

impl Default for CostModel {
    fn default() -> Self {
        Self {
            transfer_us: 100_000,
            process_us: 10_000,
            rpc_us: 5_000,
            snapshot_sync_us: 15_000,
            snapshot_async_us: 40_000,
            snapshot_async_us_per_kib: 1_000,
            restore_us: 200_000,
        }
    }
}
