//! Deployments in which something goes wrong: each subtask begins for itself, and what cannot begin takes its own region
//! down again, and nothing else.
//!
//! The rig asks after each step whether a subtask is forgotten, or periodic checkpoints are on in a job that is down.

use lockgate::engine::event::{EventKind, JobStatus, RejectReason, SubtaskStatus};
use lockgate::model::{Command, Fault, FaultKind, JobGraph, RestartStrategy, Uid};
use lockgate::project;
use proptest::prelude::*;

use crate::rig::{Rig, Source, lanes_job, set_sink, transactional};
use crate::transactions::HOUR_MS;

fn fixed_delay(delay_ms: u64) -> RestartStrategy {
    RestartStrategy::FixedDelay {
        attempts: RestartStrategy::UNLIMITED_ATTEMPTS,
        delay_ms,
    }
}

/// So many lanes, each with a two-phase commit sink of its own.
fn committing_lanes(lanes: u32) -> JobGraph {
    let mut job = lanes_job(Source::new(20, 60), lanes);
    set_sink(&mut job, transactional(HOUR_MS), lanes);
    job.config.restart = fixed_delay(300);
    job
}

fn inject(rig: &mut Rig, kind: FaultKind, uid: &str, subtask: u32) {
    let uid = Uid::new(uid);
    rig.command(&Command::Inject(Fault { kind, uid, subtask }));
}

fn crash_sinks(rig: &mut Rig, lanes: u32) {
    let subtasks = (0..lanes).map(|lane| (Uid::new("out"), lane)).collect();
    rig.command(&Command::CrashSeveral { subtasks });
}

/// Breaks if the first subtask that cannot begin keeps the others of the deployment from beginning.
#[test]
fn a_lane_that_cannot_begin_leaves_the_other_alone() {
    let mut rig = Rig::new(&committing_lanes(2));
    rig.run_until(|view| view.subtasks[0].offset == 5);
    rig.checkpoint();
    rig.run_until(|view| view.store.len() == 1);
    inject(&mut rig, FaultKind::Commit, "out", 0);
    crash_sinks(&mut rig, 2);
    rig.run_until(|view| matches!(view.job, JobStatus::Restoring { .. }));
    rig.run_until(|view| matches!(view.job, JobStatus::Restarting { .. }));
    let first: Vec<_> = ["s", "map", "out"].map(|uid| rig.subtasks(uid)[0]).into();
    assert_eq!(rig.view().failover.clone().unwrap().restarting, first);
    let second = rig.subtasks("s")[1];
    assert_eq!(
        rig.view().subtasks[second.index()].status,
        SubtaskStatus::Running
    );
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    let output = rig.recording.ledger(rig.view()).output.unwrap();
    assert_eq!((output.zero, output.once, output.more), (0, 60, 0));
}

/// Two jobs in one: `b → sum → outb`, with records in flight, and `a → outa`, whose commit fails.
const TWO_REGIONS: &str = r#"(
    version: 2,
    name: "two regions",
    operators: [
        (uid: "b", kind: SequenceSource(rate_per_s: 40, end: 40), at: (0, 0)),
        (uid: "sum", kind: KeyedSum(key: Modulo(2, [])), parallelism: 2, at: (0, 0)),
        (uid: "outb", kind: Sink, at: (0, 0)),
        (uid: "a", kind: SequenceSource(rate_per_s: 20, end: 20), at: (0, 0)),
        (uid: "outa", kind: TwoPhaseCommitSink(), at: (0, 0)),
    ],
    edges: [ ("b", "sum", Hash), ("sum", "outb", Rebalance), ("a", "outa", Rebalance) ],
    settings: (
        checkpointing: (unaligned: true),
        restart: FixedDelay(attempts: 5, delay_ms: 300),
        costs: (process_us: 60000),
    ),
)"#;

/// Breaks if the records in flight of one region are forgotten when another one cannot begin.
#[test]
fn records_in_flight_go_back_where_another_region_fails() {
    let job = project::parse(TWO_REGIONS, "two regions").unwrap().job;
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.at_us > 600_000);
    rig.checkpoint();
    rig.run_until(|view| view.store.len() == 1);
    inject(&mut rig, FaultKind::Commit, "outa", 0);
    let subtasks = vec![(Uid::new("outa"), 0), (Uid::new("sum"), 0)];
    rig.command(&Command::CrashSeveral { subtasks });
    rig.run_to_end();
    let restored = |kind: &EventKind| matches!(kind, EventKind::InFlightRestored { .. });
    let mut kinds = rig.recording.events().iter().map(|event| &event.kind);
    assert!(kinds.any(restored), "the story needs records in flight");
    assert_eq!(rig.view().job, JobStatus::Finished);
    let state = rig.recording.ledger(rig.view()).state.unwrap();
    assert_eq!((state.zero, state.once, state.more), (0, 40, 0));
}

/// Breaks if periodic checkpoints are switched on in a job that went down while it was deployed.
#[test]
fn a_job_that_is_down_again_at_once_takes_no_periodic_checkpoints() {
    for restart in [fixed_delay(3000), RestartStrategy::Manual] {
        let mut job = committing_lanes(1);
        job.config.restart = restart;
        job.config.checkpointing.interval_ms = Some(500);
        let mut rig = Rig::new(&job);
        rig.run_until(|view| view.store.len() == 1 && view.at_us > 1_000_000);
        inject(&mut rig, FaultKind::Commit, "out", 0);
        rig.crash("out", 0);
        if restart == RestartStrategy::Manual {
            rig.restore();
            while rig.step() {}
            assert!(matches!(rig.view().job, JobStatus::Restarting { .. }));
            rig.restore();
        }
        rig.run_to_end();
        assert_eq!(rig.view().job, JobStatus::Finished);
        let refused = |kind: &EventKind| {
            let reason = RejectReason::NotAllRequiredTasksRunning;
            matches!(kind, EventKind::TriggerRejected { reason: found, .. } if *found == reason)
        };
        let mut kinds = rig.recording.events().iter().map(|event| &event.kind);
        assert!(!kinds.any(refused));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Breaks if any lane is forgotten, whichever of them fail together, at whatever moment, and whichever of them cannot
    /// begin again at once.
    #[test]
    fn every_lane_comes_back(
        deeds in prop::collection::vec((0_usize..120, 0_u8..4, 0_u32..3), 1..16),
        seed in any::<u64>(),
    ) {
        let mut job = committing_lanes(3);
        job.config.seed = seed;
        job.config.checkpointing.interval_ms = Some(400);
        let mut rig = Rig::new(&job);
        for (steps, deed, lane) in deeds {
            for _ in 0..steps {
                rig.step();
            }
            match deed {
                0 => crash_sinks(&mut rig, lane + 1),
                1 => rig.command(&Command::CrashTaskManager { index: lane }),
                _ => inject(&mut rig, FaultKind::Commit, "out", lane),
            }
        }
        rig.run_to_end();
        prop_assert_eq!(&rig.view().job, &JobStatus::Finished);
        let output = rig.recording.ledger(rig.view()).output.unwrap();
        prop_assert_eq!((output.zero, output.once, output.more), (0, 60, 0));
    }
}
