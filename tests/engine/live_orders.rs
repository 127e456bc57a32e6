//! The live driver obeys the same coordinator: periodic checkpoints, savepoints, restarts and faults, on threads.

use std::sync::Arc;
use std::time::Duration;

use lockgate::engine::driver::live::{self, LiveOptions, LiveOutcome};
use lockgate::engine::driver::{Feeds, Resources};
use lockgate::engine::event::{AbortReason, EventKind, JobStatus, TransactionEnd};
use lockgate::engine::plan::ExecutionGraph;
use lockgate::engine::storage::{CheckpointStorage, MemoryStorage};
use lockgate::model::{
    CheckpointId, Command, Fault, FaultKind, JobGraph, RestartStrategy, Retention, SavepointFormat,
    ScriptEntry, Uid, When,
};

use crate::rig::{MemorySavepoints, Rig, Source, expected_sums, sum_job, transactional};
use crate::transactions::{HOUR_MS, sink_job};

const SOURCE: Source = Source {
    rate_per_s: 20_000,
    end: 6_000,
    parallelism: 1,
};
const FORMAT: SavepointFormat = SavepointFormat::Canonical;

/// After so many records the job is told so.
fn job(script: &[(u64, Command)]) -> JobGraph {
    job_of(SOURCE, script)
}

/// The same, but its data do not end before it is told to, however long the thread that tells it waits for a core.
fn long_job(script: &[(u64, Command)]) -> JobGraph {
    let end = 1_000 * SOURCE.end;
    job_of(Source { end, ..SOURCE }, script)
}

fn job_of(source: Source, script: &[(u64, Command)]) -> JobGraph {
    let mut job = sum_job(&[source], 3, 2);
    job.config.restart = RestartStrategy::FixedDelay {
        attempts: 3,
        delay_ms: 5,
    };
    let entry = |(records, command): &(u64, Command)| ScriptEntry {
        when: When::Emitted {
            uid: Uid::new("s0"),
            records: *records,
        },
        command: command.clone(),
    };
    job.script = script.iter().map(entry).collect();
    job
}

struct Live {
    outcome: LiveOutcome,
    savepoints: Arc<MemorySavepoints>,
    storage: Arc<MemoryStorage>,
}

fn run(job: &JobGraph) -> Live {
    run_with(job, LiveOptions::default().stuck_after)
}

fn run_with(job: &JobGraph, stuck_after: Duration) -> Live {
    let dir = tempfile::tempdir().unwrap();
    let savepoints = Arc::new(MemorySavepoints::default());
    let storage = Arc::new(MemoryStorage::default());
    let resources = Resources {
        feeds: Feeds::new(),
        storage: storage.clone(),
        dir: dir.path().to_owned(),
        start: None,
        savepoints: Some(savepoints.clone()),
    };
    let options = LiveOptions {
        until: Some(Duration::from_mins(1)),
        stuck_after,
        ..LiveOptions::default()
    };
    let plan = Arc::new(ExecutionGraph::of(job));
    Live {
        outcome: live::run(&Arc::new(job.clone()), &plan, resources, options).unwrap(),
        savepoints,
        storage,
    }
}

impl Live {
    fn count(&self, wanted: impl Fn(&EventKind) -> bool) -> usize {
        let events = self.outcome.events.iter();
        events.filter(|event| wanted(&event.kind)).count()
    }

    fn assert_right(&self) {
        assert_eq!(self.outcome.status, JobStatus::Finished);
        let sums = self.outcome.state.iter().flatten().flatten().cloned();
        let sums: std::collections::BTreeMap<_, _> = sums.collect();
        assert_eq!(sums, expected_sums(&[SOURCE], 3));
    }
}

#[test]
fn periodic_checkpoints_come_by_themselves_and_go_at_the_end() {
    let mut job = job(&[]);
    job.config.checkpointing.interval_ms = Some(20);
    let live = run(&job);
    live.assert_right();
    let periodic = live.count(|event| matches!(event, EventKind::Completed { .. }));
    assert!(periodic > 1, "{periodic}");
    assert_eq!(live.storage.list().unwrap(), [], "it has finished");
}

/// Breaks if several crashes, or a lost `TaskManager`, leave a thread or a record behind. The second one comes when more
/// records than there are have been emitted: not before the job has begun again.
#[test]
fn several_crashes_and_a_lost_task_manager_are_recovered_from() {
    let both = vec![(Uid::new("sum"), 0), (Uid::new("out"), 0)];
    let live = run(&job(&[
        (1000, Command::Checkpoint),
        (2500, Command::CrashSeveral { subtasks: both }),
        (SOURCE.end + 1, Command::CrashTaskManager { index: 1 }),
    ]));
    live.assert_right();
    assert_eq!(
        live.count(|event| matches!(event, EventKind::FailoverPlanned { .. })),
        2
    );
}

#[test]
fn a_job_whose_strategy_gives_up_has_failed_and_keeps_what_it_should() {
    let mut job = job(&[
        (1000, Command::Checkpoint),
        (4000, Command::CrashTaskManager { index: 0 }),
    ]);
    job.config.restart = RestartStrategy::NoRestart;
    job.config.checkpointing.retention = Retention::DeleteOnCancellation;
    let live = run(&job);
    let JobStatus::Failed { cause } = &live.outcome.status else {
        panic!("{:?}", live.outcome.status);
    };
    assert!(cause.starts_with("TaskManager 1 was lost."), "{cause}");
    let completed = live
        .outcome
        .events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::Completed { checkpoint } => Some(checkpoint),
            _ => None,
        });
    // On a busy machine the checkpoint may not be complete before the crash.
    assert_eq!(live.storage.list().unwrap(), completed.collect::<Vec<_>>());
}

/// Breaks if the savepoint that the job stops with is not stored, if subtasks do not finish after it, or if one that is
/// still pending then is neither stored nor given up.
#[test]
fn stop_with_savepoint_ends_a_live_job() {
    for drain in [false, true] {
        let live = run(&long_job(&[
            (500, Command::Savepoint { format: FORMAT }),
            (
                3000,
                Command::StopWithSavepoint {
                    format: FORMAT,
                    drain,
                },
            ),
        ]));
        assert_eq!(live.outcome.status, JobStatus::Finished);
        assert_eq!(live.savepoints.names().len(), 2);
        let is_stored = |id: u64| {
            let id = CheckpointId(id);
            live.count(
                |event| matches!(event, EventKind::SavepointStored { checkpoint, .. } if *checkpoint == id),
            )
        };
        let is_given_up = live.count(|event| {
            let suspended = AbortReason::CoordinatorSuspend;
            matches!(event, EventKind::Aborted { checkpoint: CheckpointId(1), reason } if *reason == suspended)
        });
        assert_eq!(is_stored(2), 1);
        assert_eq!(
            is_stored(1) + is_given_up,
            1,
            "all that is pending is given up first"
        );
    }
}

#[test]
fn cancel_with_savepoint_and_suspend_end_a_live_job() {
    let live = run(&long_job(&[(
        3000,
        Command::CancelWithSavepoint { format: FORMAT },
    )]));
    assert_eq!(live.outcome.status, JobStatus::Canceled);
    assert_eq!(live.savepoints.names().len(), 1);
    let live = run(&long_job(&[(3000, Command::Suspend)]));
    assert_eq!(live.outcome.status, JobStatus::Suspended);
}

#[test]
fn faults_strike_a_live_job() {
    let inject = |kind| {
        Command::Inject(Fault {
            kind,
            uid: Uid::new("sum"),
            subtask: 0,
        })
    };
    for (kind, wanted) in [
        (FaultKind::AsyncPart, "declined"),
        (FaultKind::StorageError, "declined"),
        (FaultKind::Metadata, "aborted"),
        (FaultKind::SyncPart, "failed"),
        (FaultKind::LoseNotification, "lost"),
        (FaultKind::StorageSlow { by_ms: 20 }, "struck"),
    ] {
        let mut job = job(&[(100, inject(kind)), (1000, Command::Checkpoint)]);
        job.config.checkpointing.tolerable_failed = 9;
        let struck = ExecutionGraph::of(&job).subtasks_of(&Uid::new("sum"))[0];
        let live = run(&job);
        live.assert_right();
        let seen = live.count(|event| match wanted {
            // Others may decline, too: one that hears of the abort before its barrier comes, or is still writing then.
            "declined" => {
                matches!(event, EventKind::Declined { subtask, .. } if *subtask == struck)
            }
            "aborted" => matches!(event, EventKind::Aborted { .. }),
            "failed" => matches!(event, EventKind::FailoverPlanned { .. }),
            "lost" => matches!(event, EventKind::NotificationLost { .. }),
            _ => matches!(event, EventKind::FaultStruck { .. }),
        });
        assert_eq!(seen, 1, "{kind:?}");
    }
}

fn at_ms(at_ms: u64, command: Command) -> ScriptEntry {
    let when = When::AtMs(at_ms);
    ScriptEntry { when, command }
}

/// Breaks if commands are obeyed after the end: a canceled job came back, and a stopped one was suspended as well.
#[test]
fn what_has_ended_stays_so_in_both_drivers() {
    let orders = [Command::Restore { checkpoint: None }, Command::Suspend];
    for order in orders {
        let mut job = sum_job(&[Source::new(50, 60)], 3, 2);
        job.script = vec![at_ms(100, Command::Stop), at_ms(100, order)];
        let live = run(&job);
        let mut rig = Rig::new(&job);
        rig.run_to_end();
        for status in [&live.outcome.status, &rig.view().job] {
            assert_eq!(*status, JobStatus::Canceled);
        }
        let ends = |event: &EventKind| match event {
            EventKind::JobStatus(status) => status.is_terminal(),
            _ => false,
        };
        assert_eq!(live.count(ends), 1);
    }
}

/// Breaks if the end of an attempt waits for what it was writing: a slow storage held up the restart, and the end.
#[test]
fn a_slow_write_goes_with_its_attempt() {
    let fault = Fault {
        kind: FaultKind::StorageSlow { by_ms: 3_600_000 },
        uid: Uid::new("sum"),
        subtask: 0,
    };
    let crash = Command::Crash {
        uid: Uid::new("sum"),
        subtask: 1,
    };
    let live = run(&job(&[
        (500, Command::Inject(fault)),
        (1000, Command::Checkpoint),
        (3000, crash),
    ]));
    live.assert_right();
    assert!(live.outcome.elapsed < Duration::from_secs(30));
}

/// Breaks if a lost `TaskManager` closes its transactions, or a finished subtask counts as one that runs there. Both
/// drivers decide alike.
#[test]
fn a_lost_task_manager_closes_nothing_and_one_where_nothing_runs_is_not_lost() {
    let closed = |event: &EventKind| match event {
        EventKind::TransactionAborted { subtask, why, .. } => {
            *why == TransactionEnd::TaskClosed && subtask.index() > 0
        }
        _ => false,
    };
    let mut job = sink_job(&[Source::new(20_000, 6_000)], transactional(HOUR_MS), 1);
    job.config.restart = RestartStrategy::FixedDelay {
        attempts: 3,
        delay_ms: 5,
    };
    let emitted = |records| When::Emitted {
        uid: Uid::new("s0"),
        records,
    };
    let entry = |records, command| ScriptEntry {
        when: emitted(records),
        command,
    };
    job.script = vec![
        entry(1000, Command::Checkpoint),
        entry(3000, Command::CrashTaskManager { index: 0 }),
    ];
    let live = run(&job);
    assert_eq!(live.outcome.status, JobStatus::Finished);
    assert_eq!(live.count(closed), 0);
    let put_out: u64 = live.outcome.collected.iter().map(|it| it.count).sum();
    assert_eq!(put_out, 6000);
}

/// Breaks if a live run waits for ever for what will never come: the news that the savepoint is complete is lost.
#[test]
fn a_live_job_that_is_stuck_says_so() {
    let fault = Fault {
        kind: FaultKind::LoseNotification,
        uid: Uid::new("s0"),
        subtask: 0,
    };
    let (format, drain) = (FORMAT, true);
    let job = job(&[
        (500, Command::Inject(fault)),
        (1000, Command::StopWithSavepoint { format, drain }),
    ]);
    let live = run_with(&job, Duration::from_millis(500));
    assert_eq!(live.outcome.status, JobStatus::Running);
    assert!(live.outcome.is_stuck);
    assert_eq!(live.savepoints.names().len(), 1);
}
