//! Recovery: restart strategies, failover regions, several failures at once, and what outlives the job.

use lockgate::engine::event::{EventKind, JobStatus, SubtaskStatus};
use lockgate::model::{
    Command, FailoverStrategy, JobGraph, RestartStrategy, Retention, SubtaskId, Uid,
};
use lockgate::recording::Ledger;
use lockgate::recording::view::CheckpointStatus;

use crate::rig::{Rig, Source, expected_sums, lanes_job, sum_job};

fn fixed_delay(attempts: u32, delay_ms: u64) -> RestartStrategy {
    RestartStrategy::FixedDelay { attempts, delay_ms }
}

fn job() -> JobGraph {
    sum_job(&[Source::new(100, 60)], 3, 2)
}

fn planned(rig: &Rig) -> Vec<(Vec<SubtaskId>, Option<u64>)> {
    let plan = |event: &EventKind| match event {
        EventKind::FailoverPlanned { restarting, at_us } => Some((restarting.clone(), *at_us)),
        _ => None,
    };
    let events = rig.recording.events().iter();
    events.filter_map(|event| plan(&event.kind)).collect()
}

fn restored(rig: &Rig) -> Vec<SubtaskId> {
    let restored = |event: &EventKind| match event {
        EventKind::Restored { subtask, .. } => Some(*subtask),
        _ => None,
    };
    let events = rig.recording.events().iter();
    events.filter_map(|event| restored(&event.kind)).collect()
}

/// Breaks if the strategy does not count, or a job that it has given up goes on.
#[test]
fn a_fixed_delay_restarts_so_often_and_then_the_job_has_failed() {
    let mut job = job();
    job.config.restart = fixed_delay(2, 300);
    let mut rig = Rig::new(&job);
    for _ in 0..2 {
        rig.run_until(|view| view.subtasks[0].offset > 3);
        rig.crash("sum", 0);
        let at_us = rig.view().at_us;
        assert_eq!(planned(&rig).last().unwrap().1, Some(at_us + 300_000));
        rig.run_until(|view| view.job == JobStatus::Running);
        assert_eq!(
            rig.view().at_us,
            at_us + 300_000 + 200_000,
            "delay and restore"
        );
    }
    rig.crash("sum", 0);
    let JobStatus::Failed { cause } = &rig.view().job else {
        panic!("two restarts are allowed");
    };
    assert!(cause.starts_with("sum 1/2 crashed."), "{cause}");
    assert!(cause.ends_with("allows 2 restarts."), "{cause}");
    assert!(!rig.step(), "nothing happens any more");
}

#[test]
fn without_restarts_the_first_failure_fails_the_job() {
    let mut job = job();
    job.config.restart = RestartStrategy::NoRestart;
    let mut rig = Rig::new(&job);
    rig.crash("out", 0);
    assert!(matches!(rig.view().job, JobStatus::Failed { .. }));
    assert_eq!(planned(&rig), []);
}

/// Breaks if a forward-only lane takes the others down, if what they hold is thrown away, or if the lane comes back
/// with other state than it had in the checkpoint.
#[test]
fn a_forward_only_lane_begins_again_alone() {
    let mut job = lanes_job(Source::new(100, 200), 2);
    job.config.restart = fixed_delay(9, 100);
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.subtasks[0].offset == 5);
    rig.checkpoint();
    rig.run_until(|view| view.store.len() == 1);
    let before = restored(&rig).len();
    rig.checkpoint();
    rig.crash("map", 0);
    let lane: Vec<SubtaskId> = rig.recording.plan.region_of(rig.subtasks("map")[0]);
    assert_eq!(lane.len(), 3);
    assert_eq!(planned(&rig).last().unwrap().0, lane);
    let second = rig.view().checkpoints.values().next_back().unwrap();
    assert!(
        matches!(second.status, CheckpointStatus::Aborted(_)),
        "what was pending is given up"
    );
    let other = rig.subtasks("s")[1];
    let offset = rig.view().subtasks[other.index()].offset;
    rig.run_until(|view| view.job == JobStatus::Running);
    assert_eq!(restored(&rig)[before..], lane, "only these begin again");
    assert!(
        rig.view().subtasks[other.index()].offset > offset,
        "the other lane went on meanwhile"
    );
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    let ends: Vec<u64> = rig.view().splits.iter().map(|split| split.offset).collect();
    assert_eq!(ends, [100, 100]);
}

/// Breaks if a region's ledger takes in what another region has read.
#[test]
fn the_ledger_of_a_failed_lane_and_that_of_the_others_are_the_ledger_of_the_job() {
    let mut job = lanes_job(Source::new(100, 60), 3);
    job.config.restart = fixed_delay(9, 100);
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.subtasks[0].offset == 20);
    rig.crash("map", 0);
    let (lane, _) = planned(&rig).pop().unwrap();
    assert_eq!(lane.len(), 3);
    let (recording, view) = (&rig.recording, rig.view());
    let down = recording.ledger_of(view, &|id| lane.contains(&id));
    let up = recording.ledger_of(view, &|id| !lane.contains(&id));
    let whole = recording.ledger(view);
    assert_eq!(down.emitted, 20);
    assert_eq!(down.emitted + up.emitted, whole.emitted);
    let once = |ledger: &Ledger| ledger.output.unwrap().once;
    assert_eq!(once(&down) + once(&up), once(&whole));
    assert_eq!(down.open.in_flight, 0, "what was in flight there is gone");
    assert_eq!(up.open.in_flight, whole.open.in_flight);
}

#[test]
fn with_the_full_strategy_and_by_hand_everything_begins_again() {
    for (failover, restart) in [
        (FailoverStrategy::Full, fixed_delay(9, 100)),
        (FailoverStrategy::Region, RestartStrategy::Manual),
    ] {
        let mut job = lanes_job(Source::new(100, 60), 2);
        (job.config.failover, job.config.restart) = (failover, restart);
        let mut rig = Rig::new(&job);
        rig.crash("map", 0);
        assert_eq!(planned(&rig).last().unwrap().0.len(), 6);
        rig.restore();
        rig.run_to_end();
        assert_eq!(rig.view().job, JobStatus::Finished);
    }
}

/// Breaks if the second failure forgets the first, or begins its lane again by itself.
#[test]
fn a_failure_while_another_lane_is_down_joins_it() {
    let mut job = lanes_job(Source::new(100, 300), 3);
    job.config.restart = fixed_delay(9, 1000);
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.subtasks[0].offset == 3);
    rig.crash("map", 0);
    rig.run_until(|view| view.at_us > 500_000);
    rig.crash("s", 2);
    let (down, at_us) = planned(&rig).pop().unwrap();
    assert_eq!(down.len(), 6);
    assert_eq!(at_us, Some(rig.view().at_us + 1_000_000));
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    assert_eq!(rig.view().restarts, 1);
}

/// Slot `i` holds subtask `i` of every operator: with one slot each, `TaskManager` 2 holds the second lane.
#[test]
fn a_task_manager_takes_its_slots_with_it() {
    let mut job = lanes_job(Source::new(100, 60), 3);
    job.config.restart = fixed_delay(9, 100);
    let mut rig = Rig::new(&job);
    rig.command(&Command::CrashTaskManager { index: 1 });
    let failed = |status: SubtaskStatus| status == SubtaskStatus::Failed;
    let down: Vec<usize> = (0..9)
        .filter(|index| failed(rig.view().subtasks[*index].status))
        .collect();
    assert_eq!(down, [1, 4, 7]);
    rig.command(&Command::CrashTaskManager { index: 3 });
    let refused = rig.recording.events().last().unwrap().kind.clone();
    let EventKind::CommandRefused { reason, .. } = refused else {
        panic!("there are three TaskManagers");
    };
    assert!(reason.contains("no TaskManager 4"), "{reason}");
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
}

#[test]
fn several_subtasks_can_crash_at_once_and_the_sums_are_right() {
    let mut job = job();
    job.config.restart = fixed_delay(9, 100);
    job.config.checkpointing.interval_ms = Some(100);
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.store.len() == 1 && view.subtasks[0].offset > 20);
    let both = vec![(Uid::new("sum"), 0), (Uid::new("out"), 0)];
    rig.command(&Command::CrashSeveral { subtasks: both });
    let JobStatus::Restarting { cause } = &rig.view().job else {
        panic!("it is down");
    };
    assert_eq!(cause, "sum 1/2 and out 1/1 crashed.");
    rig.run_to_end();
    assert_eq!(rig.sums("sum"), expected_sums(&[Source::new(100, 60)], 3));
}

/// Breaks if tolerable failures do not fail the job by the strategy, or the count is not cleared by that.
#[test]
fn failed_checkpoints_beyond_the_tolerable_ones_restart_the_job() {
    let mut job = sum_job(&[Source::new(10, 60)], 3, 1);
    job.config.restart = fixed_delay(9, 100);
    job.config.checkpointing.tolerable_failed = 2;
    job.config.checkpointing.timeout_ms = 10;
    let mut rig = Rig::new(&job);
    for failures in 1..=3 {
        rig.checkpoint();
        rig.run_until(|view| view.checkpoints.len() == failures && view.store.is_empty());
        rig.run_until(|view| {
            let last = view.checkpoints.values().next_back().unwrap();
            last.status != CheckpointStatus::Pending
        });
        let is_down = matches!(rig.view().job, JobStatus::Restarting { .. });
        assert_eq!(is_down, failures == 3, "after failure {failures}");
    }
    let JobStatus::Restarting { cause } = &rig.view().job else {
        panic!("it is down");
    };
    assert_eq!(cause, "Exceeded checkpoint tolerable failure threshold.");
}

/// Flink's table of what outlives a job, through the whole engine.
#[test]
fn retention_decides_what_outlives_the_job() {
    let ends: [(&str, Option<Command>); 4] = [
        ("finished", None),
        ("canceled", Some(Command::Stop)),
        (
            "failed",
            Some(Command::Crash {
                uid: Uid::new("sum"),
                subtask: 0,
            }),
        ),
        ("suspended", Some(Command::Suspend)),
    ];
    let kept = |retention: Retention| {
        ends.clone().map(|(name, command)| {
            let mut job = job();
            job.config.restart = RestartStrategy::NoRestart;
            job.config.checkpointing.retention = retention;
            let mut rig = Rig::new(&job);
            rig.checkpoint();
            rig.run_until(|view| view.store.len() == 1);
            match command {
                None => rig.run_to_end(),
                Some(command) => rig.command(&command),
            }
            assert!(rig.view().job.is_terminal(), "{name}");
            let stored = rig.storage.list().unwrap();
            assert_eq!(stored, rig.view().store, "{name}");
            assert!(
                rig.view()
                    .checkpoints
                    .values()
                    .all(|c| c.retained != stored.is_empty())
            );
            !stored.is_empty()
        })
    };
    assert_eq!(kept(Retention::NoExternalized), [false; 4]);
    assert_eq!(
        kept(Retention::DeleteOnCancellation),
        [false, false, true, false]
    );
    assert_eq!(
        kept(Retention::RetainOnCancellation),
        [false, true, true, true]
    );
}
