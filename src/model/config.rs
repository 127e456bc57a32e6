//! How a job runs: backend, storage, checkpointing and the cost model of virtual time.
//!
//! Defaults are Flink's where Flink has one.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::StateOptions;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobConfig {
    /// Decides ties in virtual time.
    pub seed: u64,
    pub backend: BackendKind,
    pub state: StateOptions,
    pub storage: StorageKind,
    /// Where the file system storage puts checkpoints that may outlive the run, relative to the job file
    /// (`execution.checkpointing.dir`). None: in the run's temporary folder.
    pub checkpoint_dir: Option<PathBuf>,
    /// Where savepoints go, relative to the job file (`execution.checkpointing.savepoint-dir`).
    pub savepoint_dir: Option<PathBuf>,
    pub checkpointing: CheckpointConfig,
    pub restart: RestartStrategy,
    pub failover: FailoverStrategy,
    pub costs: CostModel,
    /// How many records one channel holds before its sender must wait.
    pub channel_capacity: u32,
    /// How many slots a `TaskManager` has (`taskmanager.numberOfTaskSlots`). Slot `i` holds subtask `i` of every
    /// operator, as Flink's slot sharing does; a `TaskManager` that fails takes all its slots with it.
    pub slots_per_task_manager: u32,
}

impl Default for JobConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            backend: BackendKind::Heap,
            state: StateOptions::default(),
            storage: StorageKind::JobManager,
            checkpoint_dir: None,
            savepoint_dir: None,
            checkpointing: CheckpointConfig::default(),
            restart: RestartStrategy::Manual,
            failover: FailoverStrategy::Region,
            costs: CostModel::default(),
            channel_capacity: 10,
            slots_per_task_manager: 1,
        }
    }
}

/// Where the working state of keyed operators lives (`state.backend.type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BackendKind {
    /// Copy-on-write maps in memory (Flink: `HashMapStateBackend`).
    Heap,
    /// One RocksDB per subtask in a temporary folder (Flink: `EmbeddedRocksDBStateBackend`).
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

    /// The file system, as it is or with Flink's default.
    #[must_use]
    pub fn in_files(self) -> Self {
        match self {
            Self::FileSystem { .. } => self,
            Self::JobManager => Self::FileSystem {
                inline_threshold_bytes: Self::DEFAULT_INLINE_THRESHOLD_BYTES,
            },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointConfig {
    /// `execution.checkpointing.interval`; none: only on request.
    pub interval_ms: Option<u64>,
    /// `execution.checkpointing.mode`
    pub mode: CheckpointMode,
    /// `execution.checkpointing.timeout`
    pub timeout_ms: u64,
    /// `execution.checkpointing.min-pause`
    pub min_pause_ms: u64,
    /// `execution.checkpointing.max-concurrent-checkpoints`
    pub max_concurrent: u32,
    /// `execution.checkpointing.tolerable-failed-checkpoints`; [`CheckpointConfig::UNLIMITED_FAILURES`]: any number.
    pub tolerable_failed: u32,
    /// `execution.checkpointing.num-retained`
    pub retained: u32,
    /// `execution.checkpointing.externalized-checkpoint-retention`
    pub retention: Retention,
    /// `execution.checkpointing.unaligned.enabled`
    pub unaligned: bool,
    /// `execution.checkpointing.aligned-checkpoint-timeout`: how long after its trigger an unaligned checkpoint still
    /// tries to align; 0: it does not.
    pub aligned_timeout_ms: u64,
    /// `execution.checkpointing.checkpoints-after-tasks-finish`
    pub after_tasks_finish: bool,
}

impl CheckpointConfig {
    /// Flink's old `setFailOnCheckpointingErrors(false)`; `true` was 0.
    pub const UNLIMITED_FAILURES: u32 = u32::MAX;

    /// Whether barriers overtake records. Only exactly once they do; Flink switches it off with a warning otherwise.
    #[must_use]
    pub fn is_unaligned(&self) -> bool {
        self.unaligned && self.mode == CheckpointMode::ExactlyOnce
    }

    /// Whether they do so only after a while.
    #[must_use]
    pub fn has_alignment_timeout(&self) -> bool {
        self.is_unaligned() && self.aligned_timeout_ms > 0
    }
}

impl Default for CheckpointConfig {
    fn default() -> Self {
        Self {
            interval_ms: None,
            mode: CheckpointMode::ExactlyOnce,
            timeout_ms: 600_000,
            min_pause_ms: 0,
            max_concurrent: 1,
            tolerable_failed: 0,
            retained: 1,
            retention: Retention::NoExternalized,
            unaligned: false,
            aligned_timeout_ms: 0,
            after_tasks_finish: true,
        }
    }
}

/// What a checkpoint promises, and at what price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CheckpointMode {
    ExactlyOnce,
    /// Records behind a barrier are processed at once, and after a restore counted again.
    AtLeastOnce,
    /// The naive way, not Flink's: pause the sources, drain the channels, copy all state, resume.
    StopTheWorld,
}

impl CheckpointMode {
    pub const ALL: [Self; 3] = [Self::ExactlyOnce, Self::AtLeastOnce, Self::StopTheWorld];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ExactlyOnce => "exactly-once",
            Self::AtLeastOnce => "at-least-once",
            Self::StopTheWorld => "stop-the-world",
        }
    }
}

/// Which completed checkpoints outlive the job (Flink: `ExternalizedCheckpointRetention`). Subsumed ones and those of
/// a job that finished never do; savepoints always do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Retention {
    /// None (`NO_EXTERNALIZED_CHECKPOINTS`).
    NoExternalized,
    /// Those of a job that failed for good.
    DeleteOnCancellation,
    /// Those of a job that failed for good, was canceled or suspended.
    RetainOnCancellation,
}

impl Retention {
    pub const ALL: [Self; 3] = [
        Self::NoExternalized,
        Self::DeleteOnCancellation,
        Self::RetainOnCancellation,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoExternalized => "no-externalized",
            Self::DeleteOnCancellation => "delete-on-cancellation",
            Self::RetainOnCancellation => "retain-on-cancellation",
        }
    }
}

/// To whom the snapshot belongs that a job is started from (`execution.state-recovery.claim-mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ClaimMode {
    /// To the person: the job never deletes it, and does without it once it has a checkpoint of its own.
    #[default]
    NoClaim,
    /// To the job: it is deleted when it is subsumed.
    Claim,
}

impl ClaimMode {
    pub const ALL: [Self; 2] = [Self::NoClaim, Self::Claim];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoClaim => "no-claim",
            Self::Claim => "claim",
        }
    }
}

/// Whether a failed job begins again, and when (`restart-strategy.type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RestartStrategy {
    /// The job waits for a person (or a script) to restore it. Not Flink's: made for looking around.
    Manual,
    /// The first failure fails the job.
    NoRestart,
    /// At most `attempts` restarts, each after this delay.
    FixedDelay { attempts: u32, delay_ms: u64 },
    /// The job fails at more than `max_failures` within `interval_ms`.
    FailureRate {
        max_failures: u32,
        interval_ms: u64,
        delay_ms: u64,
    },
    /// Each delay is longer than the one before, until the job has run for `reset_after_ms` without a failure.
    ExponentialDelay(ExponentialDelay),
}

impl RestartStrategy {
    /// As many as there are failures.
    pub const UNLIMITED_ATTEMPTS: u32 = u32::MAX;
}

/// Flink's `ExponentialDelayRestartBackoffTimeStrategy`; the delays are `initial × multiplier^k ± jitter`, at most `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExponentialDelay {
    pub initial_ms: u64,
    pub max_ms: u64,
    pub multiplier_percent: u32,
    pub jitter_percent: u32,
    pub reset_after_ms: u64,
    pub attempts: u32,
}

impl Default for ExponentialDelay {
    fn default() -> Self {
        Self {
            initial_ms: 1_000,
            max_ms: 60_000,
            multiplier_percent: 150,
            jitter_percent: 10,
            reset_after_ms: 3_600_000,
            attempts: RestartStrategy::UNLIMITED_ATTEMPTS,
        }
    }
}

/// What begins again after a failure (`jobmanager.execution.failover-strategy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FailoverStrategy {
    /// The subtasks that are connected with the failed one by channels.
    Region,
    /// All of the job.
    Full,
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

impl CostModel {
    /// What so much state adds to the asynchronous part.
    #[must_use]
    pub fn write_us(&self, size_bytes: u64) -> u64 {
        size_bytes
            .div_ceil(1024)
            .saturating_mul(self.snapshot_async_us_per_kib)
    }
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
