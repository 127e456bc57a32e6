//! Paths, values, and what is said about those that are none.

use super::*;
use crate::model::{
    BackendKind, CheckpointMode, OperatorSpec, RestartStrategy, SinkKind, SinkSpec, StorageKind,
};
use crate::project;

fn sample() -> JobGraph {
    let text = include_str!("../../../samples/odd-even.ron");
    project::parse(text, "odd-even.ron").unwrap().job
}

fn after(sets: &[(&str, &str)]) -> JobGraph {
    let mut job = sample();
    for (path, value) in sets {
        set(&mut job, path, value).unwrap_or_else(|error| panic!("{path}={value}: {error}"));
    }
    job
}

fn refusal(path: &str, value: &str) -> String {
    let mut job = sample();
    let before = job.clone();
    let error = set(&mut job, path, value).unwrap_err();
    assert_eq!(job, before, "{path}={value}: nothing has changed");
    error
}

/// Every setting can be written back as it is read, so a list of what a job has is a list of what may be set.
#[test]
fn every_setting_takes_what_it_shows() {
    let strategies = ["manual", "fixed-delay", "failure-rate", "exponential-delay"];
    for strategy in strategies {
        let mut job = after(&[("restart", strategy), ("storage", "filesystem")]);
        for setting in job::settings() {
            if let Some(shown) = (setting.get)(&job.config) {
                let before = job.config.clone();
                set(&mut job, setting.path, &shown).unwrap();
                assert_eq!(job.config, before, "{}={shown}", setting.path);
            }
        }
    }
}

#[test]
fn settings_are_set_by_path_and_by_flinks_name() {
    let ours = after(&[
        ("checkpointing.mode", "at-least-once"),
        ("checkpointing.interval_ms", "500"),
        ("checkpointing.unaligned", "true"),
        ("checkpointing.tolerable_failed", "unlimited"),
        ("storage", "filesystem"),
        ("storage.inline_threshold_bytes", "1024"),
        ("restart", "exponential-delay"),
        ("restart.multiplier_percent", "200"),
        ("savepoint_dir", "saves"),
        ("costs.process_us", "7"),
        ("channel_capacity", "3"),
    ]);
    let flinks = after(&[
        ("execution.checkpointing.mode", "AT_LEAST_ONCE"),
        ("execution.checkpointing.interval", "500 ms"),
        ("execution.checkpointing.unaligned.enabled", "true"),
        ("setFailOnCheckpointingErrors", "false"),
        ("execution.checkpointing.storage", "FileSystem"),
        ("execution.checkpointing.data-inline-threshold", "1kb"),
        ("restart-strategy.type", "exponential-delay"),
        (
            "restart-strategy.exponential-delay.backoff-multiplier",
            "2.0",
        ),
        ("execution.checkpointing.savepoint-dir", "saves"),
        ("costs.process_us", "7"),
        ("channel_capacity", "3"),
    ]);
    assert_eq!(ours, flinks);
    assert_eq!(ours.config.checkpointing.mode, CheckpointMode::AtLeastOnce);
    assert_eq!(ours.config.checkpointing.interval_ms, Some(500));
    assert_eq!(ours.config.checkpointing.tolerable_failed, u32::MAX);
    assert_eq!(
        ours.config.storage,
        StorageKind::FileSystem {
            inline_threshold_bytes: 1024
        }
    );
}

#[test]
fn a_strategy_is_chosen_before_its_parts() {
    let job = after(&[("restart", "fixed-delay"), ("restart.attempts", "3")]);
    let expected = RestartStrategy::FixedDelay {
        attempts: 3,
        delay_ms: 1_000,
    };
    assert_eq!(job.config.restart, expected);
    assert_eq!(
        refusal("restart.attempts", "3"),
        "restart.attempts is no part of the job's restart strategy, which is manual: put --set restart=fixed-delay before it."
    );
}

/// Breaks if a number of one strategy becomes that of another, which Flink never mixes.
#[test]
fn what_flink_says_of_another_strategy_changes_nothing() {
    for (chosen, path, value) in [
        (
            "fixed-delay",
            "restart-strategy.exponential-delay.attempts-before-reset-backoff",
            "0",
        ),
        ("fixed-delay", "restart-strategy.failure-rate.delay", "10s"),
        (
            "exponential-delay",
            "restart-strategy.fixed-delay.attempts",
            "3",
        ),
    ] {
        let mut job = after(&[("restart-strategy.type", chosen)]);
        let before = job.clone();
        let error = set(&mut job, path, value).unwrap_err();
        assert_eq!(job, before);
        assert!(error.starts_with(path) && error.contains(chosen), "{error}");
    }
    after(&[
        ("restart-strategy.type", "failure-rate"),
        ("restart-strategy.failure-rate.delay", "1 d"),
    ]);
    for none in ["off", "none", "disable"] {
        let job = after(&[("restart-strategy.type", none)]);
        assert_eq!(job.config.restart, RestartStrategy::NoRestart);
    }
}

/// Flink: the storage is the JobManager's heap unless there is a folder.
#[test]
fn a_folder_for_checkpoints_implies_that_they_are_files() {
    let files = StorageKind::JobManager.in_files();
    let job = after(&[("execution.checkpointing.dir", "kept")]);
    assert_eq!(job.config.storage, files);
    let text = include_str!("../../../samples/odd-even.ron");
    let silent = text.replace(
        "script: [",
        "settings: (checkpoint_dir: \"kept\"), script: [",
    );
    let mut job = project::parse(&silent, "kept.ron").unwrap().job;
    assert_eq!(job.config.storage, files, "{silent}");
    job.config.storage = StorageKind::JobManager;
    let written = project::to_text(&job);
    let read = project::parse(&written, "kept.ron").unwrap().job;
    assert_eq!(read.config.storage, StorageKind::JobManager, "{written}");
}

#[test]
fn operators_are_set_by_uid() {
    let job = after(&[
        ("operators.sum.parallelism", "3"),
        ("operators.sum.max_parallelism", "none"),
        ("operators.sum.costs.process_us", "60000"),
        ("operators.sum.key", "modulo 5"),
        ("operators.numbers.end", "none"),
        ("operators.numbers.event_time.step_ms", "1s"),
        ("operators.out.kind", "two-phase-commit"),
        ("operators.out.transaction_timeout_ms", "2s"),
    ]);
    assert_eq!(job.vertices[1].parallelism, 3);
    assert_eq!(job.vertices[1].max_parallelism, None);
    assert_eq!(job.vertices[1].costs.process_us, Some(60_000));
    let kind = SinkKind::TwoPhaseCommit {
        transaction_timeout_ms: 2_000,
        ignore_failures_after_timeout: false,
    };
    assert_eq!(
        job.vertices[2].operator,
        OperatorSpec::Sink(SinkSpec { kind })
    );
    let OperatorSpec::Source(source) = &job.vertices[0].operator else {
        panic!("numbers is a source");
    };
    assert_eq!(source.end, None);
    assert_eq!(
        source.event_time.as_ref().map(|spec| spec.step_ms),
        Some(1_000)
    );
}

#[test]
fn a_uid_may_have_dots() {
    let mut job = sample();
    job.vertices[1].uid = "a.b".into();
    job.vertices[0].uid = "a".into();
    set(&mut job, "operators.a.b.parallelism", "4").unwrap();
    assert_eq!(job.vertices[1].parallelism, 4);
}

#[test]
fn what_is_no_setting_is_told_with_the_nearest() {
    for (path, expected) in [
        (
            "checkpointing.unalinged",
            "There is no setting \"checkpointing.unalinged\". Did you mean checkpointing.unaligned?",
        ),
        (
            "interval_ms",
            "There is no setting \"interval_ms\". Did you mean checkpointing.interval_ms?",
        ),
        (
            "execution.checkpointing.intervall",
            "There is no setting \"execution.checkpointing.intervall\". Did you mean execution.checkpointing.interval?",
        ),
        (
            "operators.sun.parallelism",
            "There is no setting \"operators.sun.parallelism\". Did you mean operators.sum.parallelism?",
        ),
        (
            "colour",
            "There is no setting \"colour\". `lockgate settings` lists them all.",
        ),
        (
            "operators.out.size",
            "out is a sink and has no setting \"size\"; it has name, parallelism, max_parallelism, generated_uid, costs.process_us, costs.snapshot_sync_us, costs.snapshot_async_us, costs.only_subtask, kind, transaction_timeout_ms, ignore_failures_after_timeout, threshold.",
        ),
    ] {
        assert_eq!(refusal(path, "1"), expected);
    }
}

#[test]
fn what_is_no_value_is_told_with_what_would_be() {
    for (path, value, expected) in [
        (
            "checkpointing.interval_ms",
            "soon",
            "checkpointing.interval_ms is a time such as 500 (milliseconds) or 10s, or none, not \"soon\".",
        ),
        (
            "execution.checkpointing.mode",
            "twice",
            "checkpointing.mode is exactly-once, at-least-once or stop-the-world, not \"twice\".",
        ),
        (
            "checkpointing.unaligned",
            "",
            "checkpointing.unaligned is true or false, not \"\".",
        ),
        ("seed", "-1", "seed is a whole number, not \"-1\"."),
        (
            "seed",
            "99999999999999999999",
            "seed is a whole number, and 99999999999999999999 is too large.",
        ),
        (
            "storage.inline_threshold_bytes",
            "5",
            "storage.inline_threshold_bytes belongs to the file system, but the job's storage is the JobManager: put --set storage=filesystem before it.",
        ),
        (
            "operators.sum.rate_per_s",
            "1",
            "sum is a keyed sum, but rate_per_s belongs to a source.",
        ),
        (
            "operators.out.transaction_timeout_ms",
            "1",
            "out is a sink, but transaction_timeout_ms belongs to a two-phase commit sink.",
        ),
        (
            "checkpointing.timeout_ms",
            "99999999999999999999h",
            "checkpointing.timeout_ms is a time such as 500 (milliseconds) or 10s, and 99999999999999999999h is too large.",
        ),
    ] {
        assert_eq!(refusal(path, value), expected);
    }
    assert!(
        split("checkpointing.mode")
            .unwrap_err()
            .contains("needs PATH=VALUE")
    );
    assert!(split("=5").is_err());
    assert_eq!(split("a = b=c"), Ok(("a", "b=c")));
}

/// Breaks if a setting is added and forgotten in the list.
#[test]
fn the_list_has_every_path() {
    let list = list();
    for setting in job::settings() {
        assert!(list.contains(&format!("  {}\n", setting.path)));
    }
    for bounded in [
        "a whole number, 1 to 100 (1)",
        "a whole number or unlimited, 0 to 1,000,000",
        "a time such as 500 (milliseconds) or 10s, or none, 10 to 1,000,000,000 (none)",
    ] {
        assert!(list.contains(bounded), "{bounded}");
    }
    for name in flink::NAMES {
        assert!(list.contains(name.name));
        assert!(job::settings().any(|setting| setting.path == name.path));
    }
}

/// Breaks if a class name of Flink is refused, or changes more than it stands for: up to 1.12 it is for both.
#[test]
fn flinks_class_names_are_taken() {
    let files = StorageKind::FileSystem {
        inline_threshold_bytes: StorageKind::DEFAULT_INLINE_THRESHOLD_BYTES,
    };
    for storage in [
        "JobManagerCheckpointStorage",
        "FileSystemCheckpointStorage",
        "filesystemcheckpointstorage",
    ] {
        for (backend, expected) in [
            ("HashMapStateBackend", BackendKind::Heap),
            ("EmbeddedRocksDBStateBackend", BackendKind::RocksDb),
        ] {
            let config = after(&[("storage", storage), ("backend", backend)]).config;
            assert_eq!(config.backend, expected);
            let is_heap = storage.starts_with("Job");
            let expected = if is_heap {
                StorageKind::JobManager
            } else {
                files
            };
            assert_eq!(config.storage, expected, "{storage}, then {backend}");
        }
    }
    let config = after(&[("backend", "FsStateBackend")]).config;
    assert_eq!(config.backend, BackendKind::Heap);
    assert_ne!(config.storage, StorageKind::JobManager);
    assert!(refusal("backend", "EmbeddedStateBackend").contains("EmbeddedRocksDBStateBackend"));
}
