//! The settings of a job: their bounds, and which do not go together.

use std::path::PathBuf;

use super::{Problem, Site, grouped};
use crate::model::config::{
    CheckpointConfig, CheckpointMode, ExponentialDelay, JobConfig, RestartStrategy, StorageKind,
};
use crate::model::limits::{self, Bounds};

/// A number among the settings: its field, what people call it, its value and its bounds.
type Bounded = (&'static str, &'static str, u64, Bounds);

/// The numbers that `config` has, by field, and within what they must be.
pub fn bounds(config: &JobConfig) -> impl Iterator<Item = (&'static str, Bounds)> {
    numbers(config).map(|(field, _, _, bounds)| (field, bounds))
}

fn numbers(config: &JobConfig) -> impl Iterator<Item = Bounded> {
    checkpointing(&config.checkpointing)
        .chain(restart(config.restart))
        .chain(costs(config))
        .chain(others(config))
}

pub(super) fn check(config: &JobConfig, problems: &mut Vec<Problem>) {
    for (field, title, value, bounds) in numbers(config) {
        if !bounds.contains(&value) {
            let (min, max) = (grouped(*bounds.start()), grouped(*bounds.end()));
            let message = format!("{title} is {}: set it to {min} to {max}.", grouped(value));
            problems.push(Problem::absurd(Site::Job, field, message));
        }
    }
    let folders = [
        ("checkpoint_dir", "checkpoint", &config.checkpoint_dir),
        ("savepoint_dir", "savepoint", &config.savepoint_dir),
    ];
    problems.extend(
        folders
            .into_iter()
            .filter_map(|(field, title, folder)| folder_problem(field, title, folder.as_ref())),
    );
    let unfinished = contradictions(config);
    problems
        .extend(unfinished.map(|(field, message)| Problem::unfinished(Site::Job, field, message)));
}

fn checkpointing(checkpointing: &CheckpointConfig) -> impl Iterator<Item = Bounded> {
    let tolerable = Some(checkpointing.tolerable_failed)
        .filter(|number| *number != CheckpointConfig::UNLIMITED_FAILURES);
    let numbers = [
        checkpointing.interval_ms.map(|interval_ms| {
            (
                "checkpointing.interval_ms",
                "The checkpoint interval in milliseconds",
                interval_ms,
                limits::CHECKPOINT_MS,
            )
        }),
        Some((
            "checkpointing.retained",
            "The number of retained checkpoints",
            checkpointing.retained.into(),
            limits::RETAINED,
        )),
        Some((
            "checkpointing.max_concurrent",
            "The number of concurrent checkpoints",
            checkpointing.max_concurrent.into(),
            limits::MAX_CONCURRENT,
        )),
        Some((
            "checkpointing.timeout_ms",
            "The checkpoint timeout in milliseconds",
            checkpointing.timeout_ms,
            limits::CHECKPOINT_MS,
        )),
        Some((
            "checkpointing.min_pause_ms",
            "The pause between checkpoints in milliseconds",
            checkpointing.min_pause_ms,
            limits::TIME_MS,
        )),
        Some((
            "checkpointing.aligned_timeout_ms",
            "The aligned timeout in milliseconds",
            checkpointing.aligned_timeout_ms,
            limits::TIME_MS,
        )),
        tolerable.map(|number| {
            (
                "checkpointing.tolerable_failed",
                "The number of tolerable failed checkpoints",
                number.into(),
                limits::TOLERABLE_FAILED,
            )
        }),
    ];
    numbers.into_iter().flatten()
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
    .map(|(field, title, value)| (field, title, value, limits::COST_US))
}

/// As in Flink's constructors of the strategies.
fn restart(strategy: RestartStrategy) -> impl Iterator<Item = Bounded> {
    let delay = |delay_ms| {
        let title = "The restart delay in milliseconds";
        ("restart.delay_ms", title, delay_ms, limits::TIME_MS)
    };
    let attempts = |attempts: u32| {
        let title = "The number of restart attempts";
        let attempts = if attempts == RestartStrategy::UNLIMITED_ATTEMPTS {
            0
        } else {
            attempts.into()
        };
        (
            "restart.attempts",
            title,
            attempts,
            limits::RESTART_ATTEMPTS,
        )
    };
    let numbers = match strategy {
        RestartStrategy::Manual | RestartStrategy::NoRestart => Vec::new(),
        RestartStrategy::FixedDelay {
            attempts: number,
            delay_ms,
        } => vec![attempts(number), delay(delay_ms)],
        RestartStrategy::FailureRate {
            max_failures,
            interval_ms,
            delay_ms,
        } => vec![
            (
                "restart.max_failures",
                "The number of failures per interval",
                max_failures.into(),
                limits::FAILURES_PER_INTERVAL,
            ),
            (
                "restart.interval_ms",
                "The interval of the failure rate in milliseconds",
                interval_ms,
                limits::POSITIVE_TIME_MS,
            ),
            delay(delay_ms),
        ],
        RestartStrategy::ExponentialDelay(delay) => {
            let mut numbers = exponential(delay);
            numbers.push(attempts(delay.attempts));
            numbers
        }
    };
    numbers.into_iter()
}

fn exponential(delay: ExponentialDelay) -> Vec<Bounded> {
    vec![
        (
            "restart.initial_ms",
            "The first restart delay in milliseconds",
            delay.initial_ms,
            limits::POSITIVE_TIME_MS,
        ),
        (
            "restart.max_ms",
            "The longest restart delay in milliseconds",
            delay.max_ms,
            limits::POSITIVE_TIME_MS,
        ),
        (
            "restart.multiplier_percent",
            "The growth of the restart delay in percent",
            delay.multiplier_percent.into(),
            limits::MULTIPLIER_PERCENT,
        ),
        (
            "restart.jitter_percent",
            "The jitter of the restart delay in percent",
            delay.jitter_percent.into(),
            limits::JITTER_PERCENT,
        ),
        (
            "restart.reset_after_ms",
            "The time without failure that resets the restart delay, in milliseconds,",
            delay.reset_after_ms,
            limits::POSITIVE_TIME_MS,
        ),
    ]
}

fn others(config: &JobConfig) -> impl Iterator<Item = Bounded> {
    let capacity = (
        "channel_capacity",
        "The capacity of a channel in records",
        config.channel_capacity.into(),
        limits::CHANNEL_CAPACITY,
    );
    let slots = (
        "slots_per_task_manager",
        "The number of slots of a TaskManager",
        config.slots_per_task_manager.into(),
        limits::SLOTS,
    );
    let threshold = match config.storage {
        StorageKind::JobManager => None,
        StorageKind::FileSystem {
            inline_threshold_bytes,
        } => Some((
            "storage",
            "The inline threshold in bytes",
            inline_threshold_bytes.into(),
            limits::INLINE_THRESHOLD_BYTES,
        )),
    };
    let state = [
        (
            "state.compaction_trigger",
            "The number of files that are merged",
            config.state.compaction_trigger.into(),
            limits::COMPACTION_TRIGGER,
        ),
        (
            "state.memory_mib",
            "The memory of a database in MiB",
            config.state.memory_mib.into(),
            limits::MEMORY_MIB,
        ),
        (
            "state.max_state_bytes",
            "The largest state in the JobManager's heap in bytes",
            config.state.max_state_bytes.into(),
            limits::MAX_STATE_BYTES,
        ),
    ];
    let others = [Some(capacity), Some(slots), threshold];
    others.into_iter().flatten().chain(state)
}

fn folder_problem(field: &'static str, title: &str, folder: Option<&PathBuf>) -> Option<Problem> {
    match folder?.to_str() {
        None => {
            let message = format!("The {title} folder’s path is not Unicode text: rename it.");
            Some(Problem::absurd(Site::Job, field, message))
        }
        Some(path) if path.trim().is_empty() => {
            let message =
                format!("The {title} folder has an empty path: name it, or leave it out.");
            Some(Problem::unfinished(Site::Job, field, message))
        }
        Some(_) => None,
    }
}

/// Settings of which each is possible, but not with the other.
fn contradictions(config: &JobConfig) -> impl Iterator<Item = (&'static str, String)> {
    let checkpointing = &config.checkpointing;
    let mode = checkpointing.mode;
    let is_many = checkpointing.max_concurrent > 1;
    let unaligned_mode = (checkpointing.unaligned && mode != CheckpointMode::ExactlyOnce).then(|| {
        let message = format!(
            "Unaligned checkpoints are exactly-once only, but the mode is {}: change the mode, or switch unaligned off. (Flink would switch it off with a warning.)",
            mode.name()
        );
        ("checkpointing.unaligned", message)
    });
    let unaligned_many = (checkpointing.unaligned && is_many).then(|| {
        let message = format!(
            "Unaligned checkpoints come one at a time, but {} are allowed at once: set that to 1, or switch unaligned off.",
            checkpointing.max_concurrent
        );
        ("checkpointing.max_concurrent", message)
    });
    let stopped_many = (mode == CheckpointMode::StopTheWorld && is_many).then(|| {
        let message = format!(
            "The world is stopped for one checkpoint at a time, but {} are allowed at once: set that to 1, or choose another mode.",
            checkpointing.max_concurrent
        );
        ("checkpointing.max_concurrent", message)
    });
    let timeout = (checkpointing.aligned_timeout_ms > 0 && !checkpointing.unaligned).then(|| {
        let message = "The aligned timeout is when a checkpoint goes on unaligned, but unaligned is off: switch it on, or set the timeout to 0.";
        ("checkpointing.aligned_timeout_ms", message.to_owned())
    });
    let delays = match config.restart {
        RestartStrategy::ExponentialDelay(delay) if delay.initial_ms > delay.max_ms => {
            let message = format!(
                "The first restart delay ({} ms) is longer than the longest ({} ms): lower the one, or raise the other.",
                grouped(delay.initial_ms),
                grouped(delay.max_ms)
            );
            Some(("restart.initial_ms", message))
        }
        _ => None,
    };
    let folder = (config.checkpoint_dir.is_some() && config.storage == StorageKind::JobManager)
        .then(|| {
            let message = "There is a checkpoint folder, but checkpoints are stored in the JobManager’s memory: choose the file system as storage, or leave the folder out.";
            ("checkpoint_dir", message.to_owned())
        });
    [
        unaligned_mode,
        unaligned_many,
        stopped_many,
        timeout,
        delays,
        folder,
    ]
    .into_iter()
    .flatten()
}
