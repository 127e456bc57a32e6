//! The bounds of a job's settings.

use std::ops::RangeInclusive;

use super::{Problem, Site, grouped};
use crate::model::config::{JobConfig, RestartStrategy, StorageKind};

/// 1,000 seconds of virtual time.
const MAX_COST_US: u64 = 1_000_000_000;
/// Some eleven days of virtual time.
pub(super) const MAX_TIME_MS: u64 = 1_000_000_000;
const MAX_INLINE_THRESHOLD_BYTES: u64 = 1 << 20;

/// A number among the settings: its field, what people call it, its value and its bounds.
type Bounded = (&'static str, &'static str, u64, RangeInclusive<u64>);

pub(super) fn check(config: &JobConfig, problems: &mut Vec<Problem>) {
    let numbers = checkpointing(config)
        .into_iter()
        .chain(costs(config))
        .chain(others(config));
    for (field, title, value, bounds) in numbers {
        if !bounds.contains(&value) {
            let (min, max) = (grouped(*bounds.start()), grouped(*bounds.end()));
            let message = format!("{title} is {}: set it to {min} to {max}.", grouped(value));
            problems.push(Problem::absurd(Site::Job, field, message));
        }
    }
}

fn checkpointing(config: &JobConfig) -> [Bounded; 4] {
    let checkpointing = &config.checkpointing;
    [
        (
            "checkpointing.retained",
            "The number of retained checkpoints",
            checkpointing.retained.into(),
            1..=100,
        ),
        (
            "checkpointing.max_concurrent",
            "The number of concurrent checkpoints",
            checkpointing.max_concurrent.into(),
            1..=16,
        ),
        (
            "checkpointing.timeout_ms",
            "The checkpoint timeout in milliseconds",
            checkpointing.timeout_ms,
            10..=MAX_TIME_MS,
        ),
        (
            "checkpointing.tolerable_failed",
            "The number of tolerable failed checkpoints",
            checkpointing.tolerable_failed.into(),
            0..=1_000_000,
        ),
    ]
}

fn costs(config: &JobConfig) -> impl Iterator<Item = Bounded> {
    let costs = config.costs;
    [
        (
            "costs.transfer_us",
            "The transfer cost in microseconds",
            costs.transfer_us,
        ),
        (
            "costs.process_us",
            "The processing cost in microseconds",
            costs.process_us,
        ),
        (
            "costs.rpc_us",
            "The message cost in microseconds",
            costs.rpc_us,
        ),
        (
            "costs.snapshot_sync_us",
            "The cost of a snapshot’s synchronous part in microseconds",
            costs.snapshot_sync_us,
        ),
        (
            "costs.snapshot_async_us",
            "The cost of a snapshot’s asynchronous part in microseconds",
            costs.snapshot_async_us,
        ),
        (
            "costs.snapshot_async_us_per_kib",
            "The cost of a snapshot’s asynchronous part in microseconds per KiB",
            costs.snapshot_async_us_per_kib,
        ),
        (
            "costs.restore_us",
            "The restore cost in microseconds",
            costs.restore_us,
        ),
    ]
    .into_iter()
    .map(|(field, title, value)| (field, title, value, 0..=MAX_COST_US))
}

fn others(config: &JobConfig) -> impl Iterator<Item = Bounded> {
    let capacity = (
        "channel_capacity",
        "The capacity of a channel in records",
        config.channel_capacity.into(),
        1..=1_000,
    );
    let delay = match config.restart {
        RestartStrategy::Manual
        | RestartStrategy::NoRestart
        | RestartStrategy::ExponentialDelay(_) => None,
        RestartStrategy::FailureRate { delay_ms, .. }
        | RestartStrategy::FixedDelay { delay_ms, .. } => Some((
            "restart",
            "The restart delay in milliseconds",
            delay_ms,
            0..=MAX_TIME_MS,
        )),
    };
    let threshold = match config.storage {
        StorageKind::JobManager => None,
        StorageKind::FileSystem {
            inline_threshold_bytes,
        } => Some((
            "storage",
            "The inline threshold in bytes",
            inline_threshold_bytes.into(),
            0..=MAX_INLINE_THRESHOLD_BYTES,
        )),
    };
    [Some(capacity), delay, threshold].into_iter().flatten()
}
