//! Settings that came with savepoints, modes and restart strategies: what is out of bounds, what does not go together.

use super::*;
use crate::model::{
    CheckpointConfig, CheckpointMode, ExponentialDelay, Fault, FaultKind, SavepointFormat, SinkKind,
};

/// What is said about checkpointing after `change`.
fn checkpointing(change: impl FnOnce(&mut CheckpointConfig)) -> Vec<String> {
    problems(|job| change(&mut job.config.checkpointing))
}

#[test]
fn checkpointing_has_bounds() {
    let found = checkpointing(|config| {
        config.interval_ms = Some(9);
        config.min_pause_ms = u64::MAX;
        config.unaligned = true;
        config.aligned_timeout_ms = u64::MAX;
    });
    assert_eq!(
        found,
        [
            "job.checkpointing.interval_ms!: The checkpoint interval in milliseconds is 9: set it to 10 to 1,000,000,000.",
            "job.checkpointing.min_pause_ms!: The pause between checkpoints in milliseconds is 18,446,744,073,709,551,615: set it to 0 to 1,000,000,000.",
            "job.checkpointing.aligned_timeout_ms!: The aligned timeout in milliseconds is 18,446,744,073,709,551,615: set it to 0 to 1,000,000,000.",
        ]
    );
    let unlimited = checkpointing(|config| {
        config.tolerable_failed = CheckpointConfig::UNLIMITED_FAILURES;
    });
    assert_eq!(unlimited, [""; 0], "without a limit");
}

/// Breaks if a job is run in a way in which Flink would run another: unaligned is exactly-once, one at a time.
#[test]
fn unaligned_goes_with_exactly_once_one_at_a_time() {
    for mode in [CheckpointMode::AtLeastOnce, CheckpointMode::StopTheWorld] {
        let found = checkpointing(|config| {
            config.unaligned = true;
            config.mode = mode;
        });
        let expected = format!(
            "job.checkpointing.unaligned: Unaligned checkpoints are exactly-once only, but the mode is {}: change the mode, or switch unaligned off. (Flink would switch it off with a warning.)",
            mode.name()
        );
        assert_eq!(found, [expected]);
    }
    let found = checkpointing(|config| {
        config.unaligned = true;
        config.max_concurrent = 2;
    });
    assert_eq!(
        found,
        [
            "job.checkpointing.max_concurrent: Unaligned checkpoints come one at a time, but 2 are allowed at once: set that to 1, or switch unaligned off."
        ]
    );
    let found = checkpointing(|config| {
        config.mode = CheckpointMode::StopTheWorld;
        config.max_concurrent = 3;
    });
    assert_eq!(
        found,
        [
            "job.checkpointing.max_concurrent: The world is stopped for one checkpoint at a time, but 3 are allowed at once: set that to 1, or choose another mode."
        ]
    );
    let found = checkpointing(|config| config.aligned_timeout_ms = 5);
    assert_eq!(
        found,
        [
            "job.checkpointing.aligned_timeout_ms: The aligned timeout is when a checkpoint goes on unaligned, but unaligned is off: switch it on, or set the timeout to 0."
        ]
    );
}

#[test]
fn restart_strategies_have_bounds() {
    let with = |restart| problems(move |job| job.config.restart = restart);
    assert_eq!(with(RestartStrategy::NoRestart), [""; 0]);
    assert_eq!(
        with(RestartStrategy::FailureRate {
            max_failures: 0,
            interval_ms: 0,
            delay_ms: 0
        }),
        [
            "job.restart.max_failures!: The number of failures per interval is 0: set it to 1 to 1,000,000.",
            "job.restart.interval_ms!: The interval of the failure rate in milliseconds is 0: set it to 1 to 1,000,000,000.",
        ]
    );
    assert_eq!(
        with(RestartStrategy::ExponentialDelay(ExponentialDelay {
            initial_ms: 0,
            max_ms: 0,
            multiplier_percent: 99,
            jitter_percent: 101,
            reset_after_ms: 0,
            attempts: 1_000_001,
        })),
        [
            "job.restart.initial_ms!: The first restart delay in milliseconds is 0: set it to 1 to 1,000,000,000.",
            "job.restart.max_ms!: The longest restart delay in milliseconds is 0: set it to 1 to 1,000,000,000.",
            "job.restart.multiplier_percent!: The growth of the restart delay in percent is 99: set it to 100 to 10,000.",
            "job.restart.jitter_percent!: The jitter of the restart delay in percent is 101: set it to 0 to 100.",
            "job.restart.reset_after_ms!: The time without failure that resets the restart delay, in milliseconds, is 0: set it to 1 to 1,000,000,000.",
            "job.restart.attempts!: The number of restart attempts is 1,000,001: set it to 0 to 1,000,000.",
        ]
    );
    assert_eq!(
        with(RestartStrategy::ExponentialDelay(ExponentialDelay {
            initial_ms: 2_000,
            max_ms: 1_000,
            ..ExponentialDelay::default()
        })),
        [
            "job.restart.initial_ms: The first restart delay (2,000 ms) is longer than the longest (1,000 ms): lower the one, or raise the other."
        ]
    );
}

#[test]
fn folders_have_paths_and_a_storage_that_uses_them() {
    says(
        |job| {
            job.config.savepoint_dir = Some(" ".into());
            job.config.checkpoint_dir = Some("kept".into());
            job.config.slots_per_task_manager = 0;
        },
        &[
            "job.slots_per_task_manager!: The number of slots of a TaskManager is 0: set it to 1 to 64.",
            "job.savepoint_dir: The savepoint folder has an empty path: name it, or leave it out.",
            "job.checkpoint_dir: There is a checkpoint folder, but checkpoints are stored in the JobManager’s memory: choose the file system as storage, or leave the folder out.",
        ],
    );
}

fn scripted(commands: Vec<Command>) -> Vec<String> {
    problems(|job| {
        job.config.slots_per_task_manager = 2;
        job.vertices[1].parallelism = 3;
        let entry = |command| ScriptEntry {
            when: When::AtMs(1),
            command,
        };
        job.script = commands.into_iter().map(entry).collect();
    })
}

/// As Flink: a savepoint without a target is refused.
#[test]
fn a_scripted_savepoint_needs_a_folder() {
    let format = SavepointFormat::Native;
    let commands = [
        Command::Savepoint { format },
        Command::StopWithSavepoint {
            format,
            drain: true,
        },
        Command::CancelWithSavepoint { format },
    ];
    for command in commands {
        assert_eq!(
            scripted(vec![command.clone()]),
            [
                "script 0.command: The script takes a savepoint, but the job has no savepoint folder: name one in the settings."
            ]
        );
        let with_folder = problems(|job| {
            job.config.savepoint_dir = Some("savepoints".into());
            job.script = vec![ScriptEntry {
                when: When::AtMs(1),
                command,
            }];
        });
        assert_eq!(with_folder, [""; 0]);
    }
}

/// Whether a file is there, only the run knows; some paths can never be.
#[test]
fn what_a_script_deletes_could_be_in_a_storage() {
    let deleting = |path: &str| Command::DeleteStored { path: path.into() };
    let shared = deleting("shared/state-sum-0.1-000008.sst");
    let left_over = deleting(".discarded-1/_metadata");
    let possible = scripted(vec![deleting("chk-1"), shared, left_over]);
    assert_eq!(possible, [""; 0]);
    for path in ["", "/etc/passwd", "chk-1/../../x", "chk-1/", "a\\b"] {
        let problem = scripted(vec![deleting(path)]);
        let expected = format!(
            "script 0.command: The script deletes “{path}”, which no checkpoint storage holds: name a file such as \
             chk-1/_metadata, or a checkpoint such as chk-1."
        );
        assert_eq!(problem, [expected]);
    }
}

#[test]
fn scripted_failures_hit_what_is_there() {
    let fault = |kind, uid: &str, subtask| {
        Command::Inject(Fault {
            kind,
            uid: uid.into(),
            subtask,
        })
    };
    let several = |subtasks| Command::CrashSeveral { subtasks };
    assert_eq!(
        scripted(vec![
            Command::CrashTaskManager { index: 1 },
            Command::CrashTaskManager { index: 2 },
            several(vec![("sum".into(), 2), ("sum".into(), 3)]),
            several(Vec::new()),
            fault(FaultKind::SyncPart, "nobody", 0),
            fault(FaultKind::AsyncPart, "sum", 3),
            fault(FaultKind::Commit, "out", 0),
            fault(FaultKind::StorageSlow { by_ms: u64::MAX }, "sum", 0),
        ]),
        [
            "script 1.command: The script names TaskManager 2, but the job runs on TaskManagers 0 to 1: name one of them, or give each fewer slots.",
            "script 2.command: The script names subtask 3 of “sum”, whose subtasks are 0 to 2: name one of them, or raise the parallelism.",
            "script 3.command: The script lets several subtasks fail, but names none: name them, or remove the entry.",
            "script 4.command: The script names “nobody”, but there is no operator of that uid: correct the uid, or remove the entry.",
            "script 5.command: The script names subtask 3 of “sum”, whose subtasks are 0 to 2: name one of them, or raise the parallelism.",
            "script 6.command: The script lets a commit of “out” fail, but it commits nothing: name a two-phase commit sink.",
            "script 7.command!: The script delays something by 18,446,744,073,709,551,615 milliseconds: delay it by at most 1,000,000,000.",
        ]
    );
    let committing = problems(|job| {
        let kind = SinkKind::TwoPhaseCommit {
            transaction_timeout_ms: 1,
            ignore_failures_after_timeout: false,
        };
        job.vertices[2] = vertex("out", OperatorSpec::Sink(SinkSpec { kind }));
        job.script = vec![ScriptEntry {
            when: When::AtMs(1),
            command: fault(FaultKind::Commit, "out", 0),
        }];
    });
    assert_eq!(committing, [""; 0]);
}
