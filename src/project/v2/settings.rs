//! Format 2 ⇄ model: how the job runs.

use serde::{Deserialize, Serialize};

use super::part::{Amount, Folder, Part, Set, silent, unless_default, words};
use crate::model::{self, JobConfig};

/// What a file of format 2 means where it is silent. Not the model's own defaults: those may change.
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
    failover: model::FailoverStrategy::Region,
    costs: model::CostModel {
        transfer_us: 100_000,
        process_us: 10_000,
        rpc_us: 5_000,
        snapshot_sync_us: 15_000,
        snapshot_async_us: 40_000,
        snapshot_async_us_per_kib: 1_000,
        restore_us: 200_000,
    },
    channel_capacity: 10,
    slots_per_task_manager: 1,
};
const DEFAULT_INLINE_THRESHOLD_BYTES: u32 = 20 * 1024;
const DEFAULT_ATTEMPTS: u32 = 1;
const DEFAULT_DELAY_MS: u64 = 1_000;
const DEFAULT_MAX_FAILURES: u32 = 1;
const DEFAULT_FAILURE_INTERVAL_MS: u64 = 60_000;
const DEFAULT_EXPONENTIAL: model::ExponentialDelay = model::ExponentialDelay {
    initial_ms: 1_000,
    max_ms: 60_000,
    multiplier_percent: 150,
    jitter_percent: 10,
    reset_after_ms: 3_600_000,
    attempts: u32::MAX,
};

silent! {
    /// How the job runs.
    pub struct Settings = JobConfig, DEFAULTS => {
        seed: u64,
        backend: Backend,
        state: State,
        storage: Storage,
        checkpoint_dir: Folder,
        savepoint_dir: Folder,
        checkpointing: Checkpointing,
        restart: Restart,
        failover: Failover,
        costs: Costs,
        channel_capacity: u32,
        slots_per_task_manager: u32,
    }
}

impl Settings {
    pub(super) fn unless_silent(config: &JobConfig) -> Option<Self> {
        let mut settings = Self::of(config)?;
        if config.checkpoint_dir.is_some() && settings.storage.is_none() {
            // Silence would say the other.
            settings.storage = Some(Storage::JobManager);
        }
        Some(settings)
    }

    /// Where there is a folder for checkpoints and nothing is said of the storage, they are stored in files
    /// (Flink: `CheckpointStorageLoader`).
    pub(super) fn into_config(mut self) -> JobConfig {
        if self.checkpoint_dir.is_some() && self.storage.is_none() {
            let inline_threshold_bytes = None;
            self.storage = Some(Storage::FileSystem {
                inline_threshold_bytes,
            });
        }
        self.into_value()
    }
}

words! {
    pub enum Backend = model::BackendKind { Heap, RocksDb }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Storage {
    JobManager,
    FileSystem {
        /// Left out: 20 KiB.
        #[serde(skip_serializing_if = "Option::is_none")]
        inline_threshold_bytes: Option<u32>,
    },
}

silent! {
    /// The finer settings of the backend.
    pub struct State = model::StateOptions, DEFAULTS.state => {
        incremental: bool,
        asynchronous: bool,
        compaction_trigger: u32,
        memory_mib: u32,
        max_state_bytes: u32,
        timers: Timers,
    }
}

words! {
    pub enum Timers = model::TimerService { RocksDb, Heap }
}

silent! {
    pub struct Checkpointing = model::CheckpointConfig, DEFAULTS.checkpointing => {
        /// Left out: only when asked for.
        interval_ms: Set<u64>,
        mode: Mode,
        timeout_ms: u64,
        min_pause_ms: u64,
        max_concurrent: u32,
        tolerable_failed: Amount,
        retained: u32,
        retention: Retention,
        unaligned: bool,
        aligned_timeout_ms: u64,
        after_tasks_finish: bool,
    }
}

words! {
    pub enum Mode = model::CheckpointMode { ExactlyOnce, AtLeastOnce, StopTheWorld }
}

words! {
    pub enum Retention = model::Retention { NoExternalized, DeleteOnCancellation, RetainOnCancellation }
}

words! {
    pub enum Failover = model::FailoverStrategy { Region, Full }
}

/// What is left out is as Flink has it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Restart {
    Manual,
    #[expect(
        clippy::enum_variant_names,
        reason = "`No` alone says nothing in a file"
    )]
    NoRestart,
    FixedDelay {
        /// Left out: 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        attempts: Option<Amount>,
        /// Left out: a second.
        #[serde(skip_serializing_if = "Option::is_none")]
        delay_ms: Option<u64>,
    },
    FailureRate {
        /// Left out: 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        max_failures: Option<u32>,
        /// Left out: a minute.
        #[serde(skip_serializing_if = "Option::is_none")]
        interval_ms: Option<u64>,
        /// Left out: a second.
        #[serde(skip_serializing_if = "Option::is_none")]
        delay_ms: Option<u64>,
    },
    /// Left out: 1 s, half as much again each time, at most a minute, ±10 %, forgotten after an hour, for ever.
    ExponentialDelay {
        #[serde(skip_serializing_if = "Option::is_none")]
        initial_ms: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        max_ms: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        multiplier_percent: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        jitter_percent: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reset_after_ms: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        attempts: Option<Amount>,
    },
}

silent! {
    /// The cost model of virtual time, in microseconds.
    pub struct Costs = model::CostModel, DEFAULTS.costs => {
        transfer_us: u64,
        process_us: u64,
        rpc_us: u64,
        snapshot_sync_us: u64,
        snapshot_async_us: u64,
        snapshot_async_us_per_kib: u64,
        restore_us: u64,
    }
}

impl Part for Storage {
    type Model = model::StorageKind;

    fn of(storage: &model::StorageKind) -> Option<Self> {
        Some(match *storage {
            model::StorageKind::JobManager => Self::JobManager,
            model::StorageKind::FileSystem {
                inline_threshold_bytes: bytes,
            } => Self::FileSystem {
                inline_threshold_bytes: unless_default(bytes, &DEFAULT_INLINE_THRESHOLD_BYTES),
            },
        })
    }

    fn into_value(self) -> model::StorageKind {
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

fn amount_unless(amount: u32, default: u32) -> Option<Amount> {
    unless_default(amount, &default).and_then(|amount| Amount::of(&amount))
}

fn amount_or(amount: Option<Amount>, default: u32) -> u32 {
    amount.map_or(default, Amount::into_value)
}

impl Part for Restart {
    type Model = model::RestartStrategy;

    fn of(restart: &model::RestartStrategy) -> Option<Self> {
        Some(match *restart {
            model::RestartStrategy::Manual => Self::Manual,
            model::RestartStrategy::NoRestart => Self::NoRestart,
            model::RestartStrategy::FixedDelay { attempts, delay_ms } => Self::FixedDelay {
                attempts: amount_unless(attempts, DEFAULT_ATTEMPTS),
                delay_ms: unless_default(delay_ms, &DEFAULT_DELAY_MS),
            },
            model::RestartStrategy::FailureRate {
                max_failures,
                interval_ms,
                delay_ms,
            } => Self::FailureRate {
                max_failures: unless_default(max_failures, &DEFAULT_MAX_FAILURES),
                interval_ms: unless_default(interval_ms, &DEFAULT_FAILURE_INTERVAL_MS),
                delay_ms: unless_default(delay_ms, &DEFAULT_DELAY_MS),
            },
            model::RestartStrategy::ExponentialDelay(delay) => Self::of_exponential(delay),
        })
    }

    fn into_value(self) -> model::RestartStrategy {
        match self {
            Self::Manual => model::RestartStrategy::Manual,
            Self::NoRestart => model::RestartStrategy::NoRestart,
            Self::FixedDelay { attempts, delay_ms } => model::RestartStrategy::FixedDelay {
                attempts: amount_or(attempts, DEFAULT_ATTEMPTS),
                delay_ms: delay_ms.unwrap_or(DEFAULT_DELAY_MS),
            },
            Self::FailureRate {
                max_failures,
                interval_ms,
                delay_ms,
            } => model::RestartStrategy::FailureRate {
                max_failures: max_failures.unwrap_or(DEFAULT_MAX_FAILURES),
                interval_ms: interval_ms.unwrap_or(DEFAULT_FAILURE_INTERVAL_MS),
                delay_ms: delay_ms.unwrap_or(DEFAULT_DELAY_MS),
            },
            Self::ExponentialDelay {
                initial_ms,
                max_ms,
                multiplier_percent,
                jitter_percent,
                reset_after_ms,
                attempts,
            } => {
                let default = DEFAULT_EXPONENTIAL;
                model::RestartStrategy::ExponentialDelay(model::ExponentialDelay {
                    initial_ms: initial_ms.unwrap_or(default.initial_ms),
                    max_ms: max_ms.unwrap_or(default.max_ms),
                    multiplier_percent: multiplier_percent.unwrap_or(default.multiplier_percent),
                    jitter_percent: jitter_percent.unwrap_or(default.jitter_percent),
                    reset_after_ms: reset_after_ms.unwrap_or(default.reset_after_ms),
                    attempts: amount_or(attempts, default.attempts),
                })
            }
        }
    }
}

impl Restart {
    fn of_exponential(delay: model::ExponentialDelay) -> Self {
        let default = DEFAULT_EXPONENTIAL;
        Self::ExponentialDelay {
            initial_ms: unless_default(delay.initial_ms, &default.initial_ms),
            max_ms: unless_default(delay.max_ms, &default.max_ms),
            multiplier_percent: unless_default(
                delay.multiplier_percent,
                &default.multiplier_percent,
            ),
            jitter_percent: unless_default(delay.jitter_percent, &default.jitter_percent),
            reset_after_ms: unless_default(delay.reset_after_ms, &default.reset_after_ms),
            attempts: amount_unless(delay.attempts, default.attempts),
        }
    }
}
