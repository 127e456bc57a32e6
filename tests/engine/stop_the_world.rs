//! The naive algorithm, and what barriers save.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate::engine::event::{AbortReason, EventKind, JobStatus};
use lockgate::model::{CheckpointId, Command, RestartStrategy, SavepointFormat, WindowAggregate};
use lockgate::recording::view::CheckpointStatus;
use proptest::prelude::*;

use crate::modes::{Mode, chain_job, complete, counted, crowd, emitted};
use crate::rig::{MemorySavepoints, Rig, Source, expected_sums, sum_job};
use crate::windows::{on_time, source, window_job};

/// When the sources paused for which checkpoint, and when they went on.
fn pauses(rig: &Rig) -> BTreeMap<CheckpointId, (u64, Option<u64>)> {
    let mut pauses = BTreeMap::new();
    for event in rig.recording.events() {
        match event.kind {
            EventKind::IntakePaused { checkpoint } => {
                assert_eq!(pauses.insert(checkpoint, (event.at_us, None)), None);
            }
            EventKind::IntakeResumed { checkpoint } => {
                let pause: &mut (u64, Option<u64>) = pauses.get_mut(&checkpoint).unwrap();
                assert_eq!(pause.1.replace(event.at_us), None, "resumed twice");
            }
            EventKind::SourceAdvanced { .. } => {
                let is_open = pauses.values().all(|(_, until)| until.is_some());
                assert!(is_open, "a source went on in a pause");
            }
            _ => {}
        }
    }
    pauses
}

fn congested(mode: Mode) -> Rig {
    let mut job = mode.on(sum_job(
        &[Source::new(100, 2_000), Source::new(50, 1_000)],
        5,
        2,
    ));
    crowd(&mut job, 8_000, 20);
    job.config.checkpointing.interval_ms = Some(500);
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.at_us >= 6_000_000);
    rig
}

/// Breaks if the sources do not wait for the drain and for all of the writing.
#[test]
fn same_job_same_seed_and_the_pause_costs_throughput() {
    let processed = |rig: &Rig| -> u64 {
        let sums = rig.subtasks("sum");
        sums.iter()
            .map(|id| rig.view().subtasks[id.index()].processed)
            .sum()
    };
    let [stopped, aligned, unaligned] =
        [Mode::StopTheWorld, Mode::Aligned, Mode::Unaligned].map(congested);
    for rig in [&stopped, &aligned, &unaligned] {
        assert!(complete(rig.view()).count() >= 8);
    }
    let pauses = pauses(&stopped);
    let paused_us: u64 = pauses
        .values()
        .filter_map(|(from, until)| Some((*until)? - from))
        .sum();
    assert!(
        paused_us > 1_500_000,
        "the sources paused for {paused_us} µs in all"
    );
    let counts = [&stopped, &aligned, &unaligned].map(processed);
    let [stopped, aligned, unaligned] = counts;
    assert!(stopped * 10 < aligned * 9, "{counts:?}");
    assert!(stopped * 10 < unaligned * 9, "{counts:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Breaks if anything is under way when the state is copied: then a record would be in no state, or in the one behind
    /// but not in the one before.
    #[test]
    fn with_nothing_under_way_the_states_alone_are_a_consistent_cut(
        rates in prop::collection::vec((10_u32..300, 5_u64..60, 1_u32..3), 1..3),
        (process_us, interval_ms) in (0_u64..30_000, 30_u64..300),
        seed in any::<u64>(),
    ) {
        let source = |(rate_per_s, end, parallelism): &(u32, u64, u32)| Source {
            rate_per_s: *rate_per_s,
            end: *end,
            parallelism: *parallelism,
        };
        let sources: Vec<Source> = rates.iter().map(source).collect();
        let mut job = Mode::StopTheWorld.on(chain_job(&sources, 3, 2));
        crowd(&mut job, process_us, 5);
        job.config.seed = seed;
        job.config.checkpointing.interval_ms = Some(interval_ms);
        let mut rig = Rig::new(&job);
        rig.run_to_end();
        prop_assert_eq!(&rig.view().job, &JobStatus::Finished);
        prop_assert_eq!(rig.sums("sum"), expected_sums(&sources, 3));
        for checkpoint in complete(rig.view()) {
            prop_assert_eq!(counted(&rig, checkpoint, "sum"), emitted(checkpoint));
            prop_assert_eq!(counted(&rig, checkpoint, "again"), emitted(checkpoint));
        }
        prop_assert!(pauses(&rig).values().all(|(_, until)| until.is_some()));
    }
}

/// Breaks if a checkpoint that is given up leaves the sources waiting.
#[test]
fn when_its_time_is_over_the_world_goes_on() {
    let mut job = Mode::StopTheWorld.on(sum_job(&[Source::new(100, 60)], 2, 1));
    crowd(&mut job, 50_000, 20);
    job.config.checkpointing.timeout_ms = 100;
    job.config.checkpointing.tolerable_failed = u32::MAX;
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.at_us > 300_000);
    rig.checkpoint();
    rig.run_until(|view| view.checkpoints[&CheckpointId(1)].decided_us.is_some());
    let first = &rig.view().checkpoints[&CheckpointId(1)];
    assert!(matches!(first.status, CheckpointStatus::Aborted(_)));
    assert!(rig.view().paused_for.is_empty());
    rig.run_until(|view| view.subtasks[0].offset == 60);
}

/// Breaks if a crash, a cancelation or a restore in the middle of a pause leaves it on.
#[test]
fn a_crash_or_an_end_in_the_middle_ends_the_pause() {
    for seed in 0..12 {
        let mut job = Mode::StopTheWorld.on(sum_job(&[Source::new(100, 40)], 2, 2));
        crowd(&mut job, 20_000, 20);
        job.config.seed = seed;
        let mut rig = Rig::new(&job);
        rig.run_until(|view| view.at_us > 200_000);
        rig.checkpoint();
        (0..seed * 4).for_each(|_| {
            rig.step();
        });
        if seed % 3 == 0 {
            rig.command(&Command::Stop);
            assert_eq!(rig.view().job, JobStatus::Canceled);
        } else {
            rig.crash("sum", 1);
            rig.restore();
            rig.run_to_end();
            assert_eq!(rig.sums("sum"), expected_sums(&[Source::new(100, 40)], 2));
        }
        assert!(rig.view().paused_for.is_empty());
        assert!(pauses(&rig).values().all(|(_, until)| until.is_some()));
    }
}

/// Breaks if the sources, which are not triggered here, do not end their data: then no window fires, and the savepoint says
/// that they had.
#[test]
fn a_drain_fires_all_windows() {
    let sources = [source(20, 400, on_time())];
    let job = Mode::StopTheWorld.on(window_job(&sources, (2, WindowAggregate::Sum), 1));
    let drained = |drain| {
        let savepoints = Arc::new(MemorySavepoints::default());
        let target = savepoints.clone();
        let mut rig = Rig::with_resources(&job, |it| it.savepoints = Some(target));
        rig.run_until(|view| view.subtasks[0].offset == 30);
        let format = SavepointFormat::Canonical;
        rig.command(&Command::StopWithSavepoint { format, drain });
        rig.run_to_end();
        assert_eq!(rig.view().job, JobStatus::Finished);
        assert_eq!(savepoints.names().len(), 1);
        let open = rig.view().subtasks.iter().map(|it| it.windows.len());
        (
            open.sum::<usize>(),
            rig.recording.outputs(rig.view()).count(),
        )
    };
    let (open, put_out) = drained(true);
    assert_eq!(open, 0);
    let (still_open, before) = drained(false);
    assert!(still_open > 0);
    assert_eq!(put_out, before + still_open, "each of them put out its sum");
}

/// Breaks if a job whose sources have ended their data for a savepoint goes on without it: the rest would never be read.
#[test]
fn a_drain_that_comes_to_nothing_begins_again_from_the_last_checkpoint() {
    let mut job = Mode::StopTheWorld.on(sum_job(&[Source::new(50, 60)], 2, 1));
    job.config.restart = RestartStrategy::FixedDelay {
        attempts: 1,
        delay_ms: 10,
    };
    job.config.checkpointing.timeout_ms = 300;
    crowd(&mut job, 40_000, 50);
    let savepoints = Arc::new(MemorySavepoints::default());
    let mut rig = Rig::with_resources(&job, |it| it.savepoints = Some(savepoints.clone()));
    rig.run_until(|view| view.subtasks[0].offset == 45);
    let format = SavepointFormat::Canonical;
    rig.command(&Command::StopWithSavepoint {
        format,
        drain: true,
    });
    rig.run_until(|view| matches!(view.job, JobStatus::Restarting { .. }));
    rig.run_until(|view| view.subtasks[0].offset == 60);
    let last = &rig.view().checkpoints[&CheckpointId(1)];
    assert_eq!(last.status, CheckpointStatus::Aborted(AbortReason::Expired));
}
