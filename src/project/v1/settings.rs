//! Format 1 ⇄ model: the settings, and what they are where a file is silent.

use super::{Backend, Checkpointing, Costs, Restart, Settings, Storage};
use crate::model::{self, JobConfig};

/// What a file of format 1 means where it is silent. Not the model's own defaults: those may change.
const DEFAULTS: JobConfig = JobConfig {
    seed: 1,
    backend: model::BackendKind::Heap,
    state: model::StateOptions {
        incremental: false,
        asynchronous: true,
        compaction_trigger: 4,
        memory_mib: 12,
        max_state_bytes: 5 * 1024 * 1024,
        timers: model::TimerService::RocksDb,
    },
    storage: model::StorageKind::JobManager,
    checkpoint_dir: None,
    savepoint_dir: None,
    checkpointing: model::CheckpointConfig {
        interval_ms: None,
        mode: model::CheckpointMode::ExactlyOnce,
        timeout_ms: 600_000,
        min_pause_ms: 0,
        max_concurrent: 1,
        tolerable_failed: 0,
        retained: 1,
        retention: model::Retention::NoExternalized,
        unaligned: false,
        aligned_timeout_ms: 0,
        after_tasks_finish: true,
    },
    restart: model::RestartStrategy::Manual,
    costs: model::CostModel {
        transfer_us: 100_000,
        process_us: 10_000,
        rpc_us: 5_000,
        snapshot_sync_us: 15_000,
        snapshot_async_us: 40_000,
        snapshot_async_us_per_kib: 1_000,
        restore_us: 200_000,
    },
    failover: model::FailoverStrategy::Region,
    channel_capacity: 10,
    slots_per_task_manager: 1,
};
const DEFAULT_INLINE_THRESHOLD_BYTES: u32 = 20 * 1024;

impl Settings {
    pub(super) fn into_model(self) -> JobConfig {
        let defaults = DEFAULTS;
        JobConfig {
            seed: self.seed.unwrap_or(defaults.seed),
            backend: self.backend.map_or(defaults.backend, Backend::into_model),
            storage: self.storage.map_or(defaults.storage, Storage::into_model),
            checkpointing: self.checkpointing.unwrap_or_default().into_model(),
            restart: self.restart.map_or(defaults.restart, Restart::into_model),
            costs: self.costs.unwrap_or_default().into_model(),
            channel_capacity: self.channel_capacity.unwrap_or(defaults.channel_capacity),
            ..defaults
        }
    }
}

impl Backend {
    fn into_model(self) -> model::BackendKind {
        match self {
            Self::Heap => model::BackendKind::Heap,
            Self::RocksDb => model::BackendKind::RocksDb,
        }
    }
}

impl Storage {
    fn into_model(self) -> model::StorageKind {
        match self {
            Self::JobManager => model::StorageKind::JobManager,
            Self::FileSystem {
                inline_threshold_bytes,
            } => model::StorageKind::FileSystem {
                inline_threshold_bytes: inline_threshold_bytes
                    .unwrap_or(DEFAULT_INLINE_THRESHOLD_BYTES),
            },
        }
    }
}

impl Checkpointing {
    fn into_model(self) -> model::CheckpointConfig {
        let defaults = DEFAULTS.checkpointing;
        model::CheckpointConfig {
            retained: self.retained.unwrap_or(defaults.retained),
            max_concurrent: self.max_concurrent.unwrap_or(defaults.max_concurrent),
            timeout_ms: self.timeout_ms.unwrap_or(defaults.timeout_ms),
            tolerable_failed: self.tolerable_failed.unwrap_or(defaults.tolerable_failed),
            ..defaults
        }
    }
}

impl Restart {
    fn into_model(self) -> model::RestartStrategy {
        match self {
            Self::Manual => model::RestartStrategy::Manual,
            Self::FixedDelay { delay_ms } => model::RestartStrategy::FixedDelay {
                attempts: model::RestartStrategy::UNLIMITED_ATTEMPTS,
                delay_ms,
            },
        }
    }
}

impl Costs {
    fn into_model(self) -> model::CostModel {
        let defaults = DEFAULTS.costs;
        model::CostModel {
            transfer_us: self.transfer_us.unwrap_or(defaults.transfer_us),
            process_us: self.process_us.unwrap_or(defaults.process_us),
            rpc_us: self.rpc_us.unwrap_or(defaults.rpc_us),
            snapshot_sync_us: self.snapshot_sync_us.unwrap_or(defaults.snapshot_sync_us),
            snapshot_async_us: self.snapshot_async_us.unwrap_or(defaults.snapshot_async_us),
            snapshot_async_us_per_kib: self
                .snapshot_async_us_per_kib
                .unwrap_or(defaults.snapshot_async_us_per_kib),
            restore_us: self.restore_us.unwrap_or(defaults.restore_us),
        }
    }
}
