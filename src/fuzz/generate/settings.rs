//! How the job runs.

use crate::fuzz::chance::Chance;
use crate::model::{
    BackendKind, CheckpointConfig, CheckpointMode, CostModel, ExponentialDelay, FailoverStrategy,
    JobGraph, RestartStrategy, Retention, StorageKind, TimerService,
};

pub fn set(chance: &mut Chance, job: &mut JobGraph) {
    let config = &mut job.config;
    config.seed = chance.between(0, 1_000_000);
    // RocksDB is slow to open, and has tests of its own.
    config.backend = if chance.percent(2) {
        BackendKind::RocksDb
    } else {
        BackendKind::Heap
    };
    config.storage = if chance.percent(6) {
        StorageKind::FileSystem {
            inline_threshold_bytes: chance.one_of(&[0, 16, 20_480]),
        }
    } else {
        StorageKind::JobManager
    };
    config.checkpointing = checkpointing(chance);
    config.restart = restart(chance);
    config.failover = chance.one_of(&[
        FailoverStrategy::Region,
        FailoverStrategy::Region,
        FailoverStrategy::Full,
    ]);
    config.costs = costs(chance);
    config.channel_capacity = chance.one_of(&[1, 2, 5, 10, 10, 50]);
    config.slots_per_task_manager = chance.small(1, 3);
    if config.backend == BackendKind::RocksDb {
        config.state.incremental = chance.percent(75);
        config.state.compaction_trigger = chance.one_of(&[0, 2, 3, 4]);
        if config.state.incremental && chance.percent(75) {
            config.storage = StorageKind::FileSystem {
                inline_threshold_bytes: 0,
            };
        }
    }
}

/// What was thought of later, and drawn apart, so that seeds stay what they were.
pub fn add_state(chance: &mut Chance, job: &mut JobGraph) {
    job.config.state.timers = chance.one_of(&TimerService::ALL);
    for vertex in &mut job.vertices {
        if let Some(Some(ttl)) = vertex.operator.ttl_mut() {
            ttl.full_snapshot_cleanup = chance.percent(40);
        }
    }
}

fn checkpointing(chance: &mut Chance) -> CheckpointConfig {
    let mode = mode(chance);
    let interval_ms = (chance.percent(70)).then(|| chance.one_of(&[30, 80, 150, 300, 700]));
    let is_short = chance.percent(15);
    let unaligned = mode == CheckpointMode::ExactlyOnce && chance.percent(45);
    CheckpointConfig {
        interval_ms,
        mode,
        timeout_ms: if is_short {
            chance.between(60, 900)
        } else {
            600_000
        },
        min_pause_ms: chance.one_of(&[0, 0, 0, 20, 200]),
        max_concurrent: if unaligned || mode == CheckpointMode::StopTheWorld {
            1
        } else {
            chance.one_of(&[1, 1, 1, 2, 3])
        },
        tolerable_failed: chance.one_of(&[0, 1, 2, 1_000]),
        retained: chance.small(1, 3),
        retention: chance.one_of(&Retention::ALL),
        unaligned,
        aligned_timeout_ms: if unaligned && chance.percent(50) {
            chance.one_of(&[10, 50, 120, 400])
        } else {
            0
        },
        after_tasks_finish: true,
    }
}

fn mode(chance: &mut Chance) -> CheckpointMode {
    let drawn = chance.between(0, 99);
    match drawn {
        0..=14 => CheckpointMode::AtLeastOnce,
        15..=22 => CheckpointMode::StopTheWorld,
        _ => CheckpointMode::ExactlyOnce,
    }
}

/// Mostly such as end by themselves: a job that fails for ever proves nothing.
fn restart(chance: &mut Chance) -> RestartStrategy {
    let delay_ms = chance.one_of(&[0, 10, 100, 500]);
    let attempts = chance.small(1, 8);
    match chance.between(0, 99) {
        0..=9 => RestartStrategy::Manual,
        10..=14 => RestartStrategy::NoRestart,
        15..=69 => RestartStrategy::FixedDelay { attempts, delay_ms },
        70..=84 => RestartStrategy::FailureRate {
            max_failures: attempts,
            interval_ms: chance.between(100, 5_000),
            delay_ms,
        },
        _ => RestartStrategy::ExponentialDelay(ExponentialDelay {
            initial_ms: chance.between(1, 200),
            max_ms: chance.between(200, 1_000),
            multiplier_percent: chance.small(100, 300),
            jitter_percent: chance.small(0, 50),
            reset_after_ms: chance.between(1_000, 100_000),
            attempts,
        }),
    }
}

/// Many zeros: then much is due at the same moment, and the seed decides.
fn costs(chance: &mut Chance) -> CostModel {
    CostModel {
        transfer_us: chance.one_of(&[0, 1_000, 20_000, 100_000]),
        process_us: chance.one_of(&[0, 1_000, 10_000, 30_000]),
        rpc_us: chance.one_of(&[0, 1_000, 5_000, 40_000]),
        snapshot_sync_us: chance.one_of(&[0, 5_000, 15_000, 60_000]),
        snapshot_async_us: chance.one_of(&[0, 10_000, 40_000, 200_000]),
        snapshot_async_us_per_kib: chance.one_of(&[0, 1_000]),
        restore_us: chance.one_of(&[0, 50_000, 200_000]),
    }
}
