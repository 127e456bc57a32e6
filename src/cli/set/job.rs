//! The settings of a job as a whole, by their paths in a job file.

use super::state;
use super::value::{Value, ValueError, amount, folder, millis, number, or_none, switch, word};
use crate::model::{
    BackendKind, CheckpointConfig, CheckpointMode, ExponentialDelay, FailoverStrategy, JobConfig,
    RestartStrategy, Retention,
};

/// One of them.
pub struct Setting {
    pub path: &'static str,
    /// What it may be, after “it is”.
    pub values: &'static str,
    pub set: fn(&mut JobConfig, &str) -> Value<()>,
    /// None: the job as it is has no such thing.
    pub get: fn(&JobConfig) -> Option<String>,
}

pub(super) const NUMBER: &str = "a whole number";
pub(super) const SWITCH: &str = "true or false";
const TIME: &str = "a time such as 500 (milliseconds) or 10s";
const TIME_OR_NONE: &str = "a time such as 500 (milliseconds) or 10s, or none";
const COST: &str = "a whole number of microseconds";
const FOLDER: &str = "a folder, or none";
const AMOUNT: &str = "a whole number or unlimited";

macro_rules! setting {
    ($path:literal, $values:expr, $read:expr, $($field:ident).+) => {
        Setting {
            path: $path,
            values: $values,
            set: |config, text| {
                config.$($field).+ = $read(text)?;
                Ok(())
            },
            get: |config| Some(shown(&config.$($field).+)),
        }
    };
}
pub(super) use setting;

pub(super) static OF_THE_JOB: &[Setting] = &[
    setting!("seed", NUMBER, number::<u64>, seed),
    Setting {
        path: "checkpoint_dir",
        values: FOLDER,
        set: |config, text| {
            config.checkpoint_dir = folder_or_none(text)?;
            if config.checkpoint_dir.is_some() {
                // Flink: a folder for checkpoints implies that they are stored in files.
                config.storage = config.storage.in_files();
            }
            Ok(())
        },
        get: |config| Some(shown(&config.checkpoint_dir)),
    },
    setting!("savepoint_dir", FOLDER, folder_or_none, savepoint_dir),
    setting!(
        "checkpointing.interval_ms",
        TIME_OR_NONE,
        time_or_none,
        checkpointing.interval_ms
    ),
    setting!(
        "checkpointing.mode",
        "exactly-once, at-least-once or stop-the-world",
        mode,
        checkpointing.mode
    ),
    setting!(
        "checkpointing.timeout_ms",
        TIME,
        millis,
        checkpointing.timeout_ms
    ),
    setting!(
        "checkpointing.min_pause_ms",
        TIME,
        millis,
        checkpointing.min_pause_ms
    ),
    setting!(
        "checkpointing.max_concurrent",
        NUMBER,
        number::<u32>,
        checkpointing.max_concurrent
    ),
    Setting {
        path: "checkpointing.tolerable_failed",
        values: AMOUNT,
        set: |config, text| {
            config.checkpointing.tolerable_failed = amount(text)?;
            Ok(())
        },
        get: |config| Some(shown_amount(config.checkpointing.tolerable_failed)),
    },
    setting!(
        "checkpointing.retained",
        NUMBER,
        number::<u32>,
        checkpointing.retained
    ),
    setting!(
        "checkpointing.retention",
        "no-externalized, delete-on-cancellation or retain-on-cancellation",
        retention,
        checkpointing.retention
    ),
    setting!(
        "checkpointing.unaligned",
        SWITCH,
        switch,
        checkpointing.unaligned
    ),
    setting!(
        "checkpointing.aligned_timeout_ms",
        TIME,
        millis,
        checkpointing.aligned_timeout_ms
    ),
    setting!(
        "checkpointing.after_tasks_finish",
        SWITCH,
        switch,
        checkpointing.after_tasks_finish
    ),
    Setting {
        path: "restart",
        values: "manual, no-restart, fixed-delay, failure-rate or exponential-delay",
        set: set_restart,
        get: |config| Some(restart_name(config.restart).to_owned()),
    },
    Setting {
        path: "restart.attempts",
        values: AMOUNT,
        set: |config, text| {
            let number = amount(text)?;
            match &mut config.restart {
                RestartStrategy::FixedDelay { attempts, .. }
                | RestartStrategy::ExponentialDelay(ExponentialDelay { attempts, .. }) => {
                    *attempts = number;
                    Ok(())
                }
                other => Err(no_part(*other, "attempts", "fixed-delay")),
            }
        },
        get: |config| match config.restart {
            RestartStrategy::FixedDelay { attempts, .. }
            | RestartStrategy::ExponentialDelay(ExponentialDelay { attempts, .. }) => {
                Some(shown_amount(attempts))
            }
            _ => None,
        },
    },
    Setting {
        path: "restart.delay_ms",
        values: TIME,
        set: |config, text| {
            let time = millis(text)?;
            match &mut config.restart {
                RestartStrategy::FixedDelay { delay_ms, .. }
                | RestartStrategy::FailureRate { delay_ms, .. } => {
                    *delay_ms = time;
                    Ok(())
                }
                other => Err(no_part(*other, "delay_ms", "fixed-delay")),
            }
        },
        get: |config| match config.restart {
            RestartStrategy::FixedDelay { delay_ms, .. }
            | RestartStrategy::FailureRate { delay_ms, .. } => Some(delay_ms.to_string()),
            _ => None,
        },
    },
    Setting {
        path: "restart.max_failures",
        values: NUMBER,
        set: |config, text| match &mut config.restart {
            RestartStrategy::FailureRate { max_failures, .. } => {
                *max_failures = number(text)?;
                Ok(())
            }
            other => Err(no_part(*other, "max_failures", "failure-rate")),
        },
        get: |config| match config.restart {
            RestartStrategy::FailureRate { max_failures, .. } => Some(max_failures.to_string()),
            _ => None,
        },
    },
    Setting {
        path: "restart.interval_ms",
        values: TIME,
        set: |config, text| match &mut config.restart {
            RestartStrategy::FailureRate { interval_ms, .. } => {
                *interval_ms = millis(text)?;
                Ok(())
            }
            other => Err(no_part(*other, "interval_ms", "failure-rate")),
        },
        get: |config| match config.restart {
            RestartStrategy::FailureRate { interval_ms, .. } => Some(interval_ms.to_string()),
            _ => None,
        },
    },
    Setting {
        path: "restart.initial_ms",
        values: TIME,
        set: |config, text| {
            exponential(config, "initial_ms", |it| {
                it.initial_ms = millis(text)?;
                Ok(())
            })
        },
        get: |config| exponential_part(config, |it| it.initial_ms),
    },
    Setting {
        path: "restart.max_ms",
        values: TIME,
        set: |config, text| {
            exponential(config, "max_ms", |it| {
                it.max_ms = millis(text)?;
                Ok(())
            })
        },
        get: |config| exponential_part(config, |it| it.max_ms),
    },
    Setting {
        path: "restart.multiplier_percent",
        values: NUMBER,
        set: |config, text| {
            exponential(config, "multiplier_percent", |it| {
                it.multiplier_percent = number(text)?;
                Ok(())
            })
        },
        get: |config| exponential_part(config, |it| it.multiplier_percent.into()),
    },
    Setting {
        path: "restart.jitter_percent",
        values: NUMBER,
        set: |config, text| {
            exponential(config, "jitter_percent", |it| {
                it.jitter_percent = number(text)?;
                Ok(())
            })
        },
        get: |config| exponential_part(config, |it| it.jitter_percent.into()),
    },
    Setting {
        path: "restart.reset_after_ms",
        values: TIME,
        set: |config, text| {
            exponential(config, "reset_after_ms", |it| {
                it.reset_after_ms = millis(text)?;
                Ok(())
            })
        },
        get: |config| exponential_part(config, |it| it.reset_after_ms),
    },
    setting!("failover", "region or full", failover, failover),
    setting!("costs.transfer_us", COST, number::<u64>, costs.transfer_us),
    setting!("costs.process_us", COST, number::<u64>, costs.process_us),
    setting!("costs.rpc_us", COST, number::<u64>, costs.rpc_us),
    setting!(
        "costs.snapshot_sync_us",
        COST,
        number::<u64>,
        costs.snapshot_sync_us
    ),
    setting!(
        "costs.snapshot_async_us",
        COST,
        number::<u64>,
        costs.snapshot_async_us
    ),
    setting!(
        "costs.snapshot_async_us_per_kib",
        COST,
        number::<u64>,
        costs.snapshot_async_us_per_kib
    ),
    setting!("costs.restore_us", COST, number::<u64>, costs.restore_us),
    setting!("channel_capacity", NUMBER, number::<u32>, channel_capacity),
    setting!(
        "slots_per_task_manager",
        NUMBER,
        number::<u32>,
        slots_per_task_manager
    ),
];

/// All of them.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    state::OF_THE_STATE.iter().chain(OF_THE_JOB)
}

/// How a value is written.
pub(super) trait Shown {
    fn text(&self) -> String;
}

pub(super) fn shown(value: &impl Shown) -> String {
    value.text()
}

macro_rules! shown_as {
    ($($kind:ty: $text:expr),* $(,)?) => {$(
        impl Shown for $kind {
            fn text(&self) -> String {
                let text: fn(&$kind) -> String = $text;
                text(self)
            }
        }
    )*};
}

shown_as! {
    u64: ToString::to_string,
    u32: ToString::to_string,
    bool: ToString::to_string,
    Option<u64>: |time| time.map_or("none".to_owned(), |time| time.to_string()),
    Option<std::path::PathBuf>: |path| match path {
        Some(path) => path.display().to_string(),
        None => "none".to_owned(),
    },
    BackendKind: |kind| kind.name().to_owned(),
    CheckpointMode: |mode| mode.name().to_owned(),
    Retention: |retention| retention.name().to_owned(),
    FailoverStrategy: |failover| match failover {
        FailoverStrategy::Region => "region".to_owned(),
        FailoverStrategy::Full => "full".to_owned(),
    },
}

fn shown_amount(number: u32) -> String {
    match number {
        CheckpointConfig::UNLIMITED_FAILURES => "unlimited".to_owned(),
        number => number.to_string(),
    }
}

fn time_or_none(text: &str) -> Value<Option<u64>> {
    or_none(text, millis)
}

fn folder_or_none(text: &str) -> Value<Option<std::path::PathBuf>> {
    or_none(text, folder)
}

fn mode(text: &str) -> Value<CheckpointMode> {
    word(text, &CheckpointMode::ALL.map(|mode| (mode.name(), mode)))
}

fn retention(text: &str) -> Value<Retention> {
    let mut all = Vec::from(Retention::ALL.map(|retention| (retention.name(), retention)));
    all.push(("no-externalized-checkpoints", Retention::NoExternalized));
    word(text, &all)
}

fn failover(text: &str) -> Value<FailoverStrategy> {
    let all = [
        ("region", FailoverStrategy::Region),
        ("full", FailoverStrategy::Full),
    ];
    word(text, &all)
}

/// With Flink's numbers, unless it is the strategy that the job has.
fn set_restart(config: &mut JobConfig, text: &str) -> Value<()> {
    let strategies = [
        ("manual", RestartStrategy::Manual),
        ("no-restart", RestartStrategy::NoRestart),
        ("none", RestartStrategy::NoRestart),
        ("disable", RestartStrategy::NoRestart),
        ("off", RestartStrategy::NoRestart),
        (
            "fixed-delay",
            RestartStrategy::FixedDelay {
                attempts: 1,
                delay_ms: 1_000,
            },
        ),
        (
            "failure-rate",
            RestartStrategy::FailureRate {
                max_failures: 1,
                interval_ms: 60_000,
                delay_ms: 1_000,
            },
        ),
        (
            "exponential-delay",
            RestartStrategy::ExponentialDelay(ExponentialDelay::default()),
        ),
    ];
    let strategy = word(text, &strategies)?;
    if restart_name(strategy) != restart_name(config.restart) {
        config.restart = strategy;
    }
    Ok(())
}

/// What Flink's `restart-strategy.STRATEGY.…` belongs to. Flink itself says nothing and goes on without it.
pub(super) fn check_strategy(config: &JobConfig, name: &str) -> Result<(), String> {
    let part = name.strip_prefix("restart-strategy.");
    let Some((of, _)) = part.and_then(|part| part.split_once('.')) else {
        return Ok(());
    };
    let strategy = restart_name(config.restart);
    if strategy == of {
        return Ok(());
    }
    Err(format!(
        "{name} is no part of the job's restart strategy, which is {strategy}: put --set restart-strategy.type={of} before it, or leave it out."
    ))
}

fn restart_name(strategy: RestartStrategy) -> &'static str {
    match strategy {
        RestartStrategy::Manual => "manual",
        RestartStrategy::NoRestart => "no-restart",
        RestartStrategy::FixedDelay { .. } => "fixed-delay",
        RestartStrategy::FailureRate { .. } => "failure-rate",
        RestartStrategy::ExponentialDelay(_) => "exponential-delay",
    }
}

fn no_part(strategy: RestartStrategy, part: &str, of: &str) -> ValueError {
    let name = restart_name(strategy);
    ValueError::NotNow(format!(
        "restart.{part} is no part of the job's restart strategy, which is {name}: put --set restart={of} before it."
    ))
}

fn exponential(
    config: &mut JobConfig,
    part: &str,
    set: impl FnOnce(&mut ExponentialDelay) -> Value<()>,
) -> Value<()> {
    match &mut config.restart {
        RestartStrategy::ExponentialDelay(delay) => set(delay),
        other => Err(no_part(*other, part, "exponential-delay")),
    }
}

fn exponential_part(
    config: &JobConfig,
    part: impl FnOnce(ExponentialDelay) -> u64,
) -> Option<String> {
    match config.restart {
        RestartStrategy::ExponentialDelay(delay) => Some(part(delay).to_string()),
        _ => None,
    }
}
