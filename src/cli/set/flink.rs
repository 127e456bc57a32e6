//! Flink's names of the settings, the older ones too, and how its values are written.

use super::value::{Value, ValueError, word};

/// One of Flink's options.
#[expect(clippy::struct_field_names, reason = "its name is what it is about")]
pub struct Name {
    pub name: &'static str,
    /// What it is called in a job file.
    pub path: &'static str,
    scale: Scale,
}

/// How Flink's value relates to that of the job file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scale {
    Same,
    /// 1.5 for 150 percent.
    Factor,
    /// `setFailOnCheckpointingErrors`: true for none tolerated, false for any number.
    FailOnErrors,
}

impl Name {
    /// The value in the words of a job file.
    pub fn translate(&self, value: &str) -> Value<String> {
        match self.scale {
            Scale::Same => Ok(value.to_owned()),
            Scale::Factor => {
                let factor: f64 = value.trim().parse().map_err(|_| ValueError::NotOne)?;
                let percent = (factor * 100.0).round();
                if (0.0..=1e6).contains(&percent) {
                    Ok(format!("{percent:.0}"))
                } else {
                    Err(ValueError::NotOne)
                }
            }
            Scale::FailOnErrors => {
                word(value, &[("true", "0"), ("false", "unlimited")]).map(str::to_owned)
            }
        }
    }

    /// What is accepted where [`Name::translate`] refuses.
    pub fn values(&self) -> &'static str {
        match self.scale {
            Scale::Same => "as in the job file",
            Scale::Factor => "a factor such as 1.5",
            Scale::FailOnErrors => "true or false",
        }
    }
}

pub fn find(name: &str) -> Option<&'static Name> {
    NAMES.iter().find(|known| known.name == name)
}

const fn same(name: &'static str, path: &'static str) -> Name {
    let scale = Scale::Same;
    Name { name, path, scale }
}

const fn scaled(name: &'static str, path: &'static str, scale: Scale) -> Name {
    Name { name, path, scale }
}

pub static NAMES: &[Name] = &[
    same("state.backend.type", "backend"),
    same("state.backend", "backend"),
    same("execution.checkpointing.storage", "storage"),
    same("state.checkpoint-storage", "storage"),
    same(
        "execution.checkpointing.data-inline-threshold",
        "storage.inline_threshold_bytes",
    ),
    same(
        "state.storage.fs.memory-threshold",
        "storage.inline_threshold_bytes",
    ),
    same("execution.checkpointing.incremental", "state.incremental"),
    same("state.backend.incremental", "state.incremental"),
    same("state.backend.async", "state.asynchronous"),
    same(
        "state.backend.rocksdb.memory.fixed-per-slot",
        "state.memory_mib",
    ),
    same(
        "state.backend.rocksdb.timer-service.factory",
        "state.timers",
    ),
    same("execution.checkpointing.dir", "checkpoint_dir"),
    same("state.checkpoints.dir", "checkpoint_dir"),
    same("execution.checkpointing.savepoint-dir", "savepoint_dir"),
    same("state.savepoints.dir", "savepoint_dir"),
    same(
        "execution.checkpointing.interval",
        "checkpointing.interval_ms",
    ),
    same("execution.checkpointing.mode", "checkpointing.mode"),
    same(
        "execution.checkpointing.timeout",
        "checkpointing.timeout_ms",
    ),
    same(
        "execution.checkpointing.min-pause",
        "checkpointing.min_pause_ms",
    ),
    same(
        "execution.checkpointing.max-concurrent-checkpoints",
        "checkpointing.max_concurrent",
    ),
    same(
        "execution.checkpointing.tolerable-failed-checkpoints",
        "checkpointing.tolerable_failed",
    ),
    scaled(
        "setFailOnCheckpointingErrors",
        "checkpointing.tolerable_failed",
        Scale::FailOnErrors,
    ),
    same(
        "execution.checkpointing.num-retained",
        "checkpointing.retained",
    ),
    same("state.checkpoints.num-retained", "checkpointing.retained"),
    same(
        "execution.checkpointing.externalized-checkpoint-retention",
        "checkpointing.retention",
    ),
    same(
        "execution.checkpointing.unaligned.enabled",
        "checkpointing.unaligned",
    ),
    same(
        "execution.checkpointing.unaligned",
        "checkpointing.unaligned",
    ),
    same(
        "execution.checkpointing.aligned-checkpoint-timeout",
        "checkpointing.aligned_timeout_ms",
    ),
    same(
        "execution.checkpointing.alignment-timeout",
        "checkpointing.aligned_timeout_ms",
    ),
    same(
        "execution.checkpointing.checkpoints-after-tasks-finish",
        "checkpointing.after_tasks_finish",
    ),
    same(
        "execution.checkpointing.checkpoints-after-tasks-finish.enabled",
        "checkpointing.after_tasks_finish",
    ),
    same("restart-strategy.type", "restart"),
    same("restart-strategy", "restart"),
    same("restart-strategy.fixed-delay.attempts", "restart.attempts"),
    same("restart-strategy.fixed-delay.delay", "restart.delay_ms"),
    same(
        "restart-strategy.failure-rate.max-failures-per-interval",
        "restart.max_failures",
    ),
    same(
        "restart-strategy.failure-rate.failure-rate-interval",
        "restart.interval_ms",
    ),
    same("restart-strategy.failure-rate.delay", "restart.delay_ms"),
    same(
        "restart-strategy.exponential-delay.initial-backoff",
        "restart.initial_ms",
    ),
    same(
        "restart-strategy.exponential-delay.max-backoff",
        "restart.max_ms",
    ),
    scaled(
        "restart-strategy.exponential-delay.backoff-multiplier",
        "restart.multiplier_percent",
        Scale::Factor,
    ),
    scaled(
        "restart-strategy.exponential-delay.jitter-factor",
        "restart.jitter_percent",
        Scale::Factor,
    ),
    same(
        "restart-strategy.exponential-delay.reset-backoff-threshold",
        "restart.reset_after_ms",
    ),
    same(
        "restart-strategy.exponential-delay.attempts-before-reset-backoff",
        "restart.attempts",
    ),
    same("jobmanager.execution.failover-strategy", "failover"),
    same("taskmanager.numberOfTaskSlots", "slots_per_task_manager"),
];
