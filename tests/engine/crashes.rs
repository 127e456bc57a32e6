//! Law: a restored run ends like a failure-free one, whatever the moment of the crash.

use lockgate::engine::event::{EventKind, JobStatus};
use lockgate::model::{BackendKind, CheckpointId, Command, JobGraph, RestartStrategy};
use lockgate::recording::view::CheckpointStatus;
use proptest::prelude::*;

use crate::rig::{Rig, Source, expected_sums, sum_job, with_backend};

const SOURCES: [Source; 2] = [
    Source {
        rate_per_s: 40,
        end: 12,
        parallelism: 1,
    },
    Source {
        rate_per_s: 15,
        end: 5,
        parallelism: 2,
    },
];

fn small_job() -> JobGraph {
    sum_job(&SOURCES, 2, 2)
}

/// Checkpoint early, crash `uid` after `steps` steps, restore, run to the end.
fn crash_after(job: &JobGraph, steps: usize, (uid, subtask): (&str, u32)) -> Option<Rig> {
    let mut rig = Rig::new(job);
    for step in 0..steps {
        if step == 20 || step == 60 {
            rig.checkpoint();
        }
        if !rig.step() {
            return None;
        }
    }
    rig.crash(uid, subtask);
    rig.restore();
    rig.run_to_end();
    Some(rig)
}

fn assert_exactly_once(rig: &Rig, context: &str) {
    assert_eq!(rig.view().job, JobStatus::Finished, "{context}");
    assert_eq!(rig.sums("sum"), expected_sums(&SOURCES, 2), "{context}");
    let state = rig.recording.ledger(rig.view()).state.unwrap();
    assert_eq!((state.zero, state.more), (0, 0), "{context}");
}

/// Breaks if any state survives a crash that should not, or is lost that should not: in a source, a sum, a channel, a
/// snapshot being written, an acknowledgement on its way, or a checkpoint being finalised.
#[test]
fn a_crash_at_every_single_step_changes_nothing_in_the_end() {
    for victim in [("s0", 0), ("s1", 1), ("sum", 0), ("sum", 1), ("out", 0)] {
        let mut steps = 0;
        while let Some(rig) = crash_after(&small_job(), steps, victim) {
            assert_exactly_once(&rig, &format!("{victim:?} crashed after step {steps}"));
            steps += 1;
        }
        assert!(steps > 120, "only {steps} moments were tried");
    }
}

#[test]
fn a_crash_now_and_then_changes_nothing_in_the_end_on_rocksdb() {
    let job = with_backend(small_job(), BackendKind::RocksDb);
    let mut steps = 3;
    while let Some(rig) = crash_after(&job, steps, ("sum", 1)) {
        assert_exactly_once(&rig, &format!("crashed after step {steps}"));
        steps += 23;
    }
    assert!(steps > 120);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The same with many crashes, also while restoring, while aligning and between two checkpoints.
    #[test]
    fn any_number_of_crashes_changes_nothing_in_the_end(
        deeds in prop::collection::vec((0_usize..90, 0_u8..4, 0_u32..2), 1..16),
        seed in any::<u64>(),
        retained in 1_u32..4,
        max_concurrent in 1_u32..4,
    ) {
        let mut job = small_job();
        job.config.seed = seed;
        job.config.checkpointing.retained = retained;
        job.config.checkpointing.max_concurrent = max_concurrent;
        let mut rig = Rig::new(&job);
        for (steps, deed, subtask) in deeds {
            for _ in 0..steps {
                rig.step();
            }
            match deed {
                0 => rig.crash("sum", subtask),
                1 => rig.crash("s1", subtask),
                2 => rig.restore(),
                _ => rig.checkpoint(),
            }
        }
        if matches!(rig.view().job, JobStatus::Restarting { .. }) {
            rig.restore();
        }
        rig.run_to_end();
        assert_exactly_once(&rig, "in the end");
        assert_ids_never_repeat(&rig);
    }
}

/// Breaks if a restart turns the counter back, or a refused request uses a number up.
fn assert_ids_never_repeat(rig: &Rig) {
    let triggered = rig
        .recording
        .events()
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Triggered { checkpoint, .. } => Some(checkpoint.0),
            _ => None,
        });
    let ids: Vec<u64> = triggered.collect();
    let expected: Vec<u64> = (1..=ids.len() as u64).collect();
    assert_eq!(ids, expected);
}

#[test]
fn without_a_completed_checkpoint_a_restore_is_a_fresh_start() {
    let mut rig = Rig::new(&small_job());
    rig.run_until(|view| view.state_changes >= 5);
    rig.crash("sum", 0);
    rig.restore();
    assert_eq!(rig.view().job, JobStatus::Restoring { from: None });
    rig.run_to_end();
    assert_exactly_once(&rig, "afresh");
}

#[test]
fn a_crash_between_the_last_acknowledgement_and_completion_loses_that_checkpoint() {
    let mut rig = Rig::new(&small_job());
    rig.run_until(|view| view.state_changes >= 3);
    rig.checkpoint();
    let first = CheckpointId(1);
    rig.run_until(|view| {
        view.checkpoints[&first].acknowledged() == view.checkpoints[&first].subtasks.len()
    });
    assert_eq!(
        rig.view().checkpoints[&first].status,
        CheckpointStatus::Pending
    );
    rig.crash("out", 0);
    assert!(matches!(
        rig.view().checkpoints[&first].status,
        CheckpointStatus::Aborted(_)
    ));
    rig.restore();
    assert_eq!(rig.view().job, JobStatus::Restoring { from: None });
    rig.run_to_end();
    assert_exactly_once(&rig, "in the end");
}

#[test]
fn the_restart_strategy_restores_by_itself() {
    let mut job = small_job();
    job.config.restart = RestartStrategy::FixedDelay {
        attempts: RestartStrategy::UNLIMITED_ATTEMPTS,
        delay_ms: 300,
    };
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.state_changes >= 5);
    rig.crash("sum", 1);
    let crashed_us = rig.view().at_us;
    rig.run_until(|view| matches!(view.job, JobStatus::Restoring { .. }));
    assert_eq!(rig.view().at_us, crashed_us + 300_000);
    rig.run_to_end();
    assert_exactly_once(&rig, "in the end");
}

#[test]
fn an_older_retained_checkpoint_can_be_chosen_and_is_the_latest_then() {
    let mut job = sum_job(&[Source::new(40, 30)], 2, 2);
    job.config.checkpointing.retained = 3;
    let mut rig = Rig::new(&job);
    for changes in [2, 6] {
        rig.run_until(|view| view.state_changes >= changes);
        rig.checkpoint();
        let wanted = rig.view().store.len() + 1;
        rig.run_until(|view| view.store.len() == wanted);
    }
    rig.command(&Command::Restore {
        checkpoint: Some(CheckpointId(1)),
    });
    assert_eq!(rig.view().store, [CheckpointId(2), CheckpointId(1)]);
    rig.run_until(|view| view.job == JobStatus::Running);
    rig.crash("sum", 0);
    rig.restore();
    assert_eq!(
        rig.view().job,
        JobStatus::Restoring {
            from: Some(CheckpointId(1))
        }
    );
    rig.run_to_end();
    let state = rig.recording.ledger(rig.view()).state.unwrap();
    assert_eq!((state.zero, state.once, state.more), (0, 30, 0));
}

#[test]
fn commands_that_make_no_sense_are_refused_and_change_nothing() {
    let mut rig = Rig::new(&small_job());
    rig.run_until(|view| view.state_changes >= 3);
    let before = rig.stepper.project();
    for (uid, subtask) in [("nobody", 0), ("sum", 9)] {
        rig.crash(uid, subtask);
    }
    rig.command(&Command::Restore {
        checkpoint: Some(CheckpointId(77)),
    });
    assert_eq!(rig.stepper.project(), before);
    rig.crash("sum", 0);
    rig.crash("sum", 0);
    rig.checkpoint();
    let refused = |kind: &EventKind| matches!(kind, EventKind::CommandRefused { .. });
    let rejected = |kind: &EventKind| matches!(kind, EventKind::TriggerRejected { .. });
    let kinds = || rig.recording.events().iter().map(|event| &event.kind);
    assert_eq!(kinds().filter(|kind| refused(kind)).count(), 4);
    assert_eq!(kinds().filter(|kind| rejected(kind)).count(), 1);
}
