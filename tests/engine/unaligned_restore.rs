//! Back from an unaligned checkpoint: what was on its way goes on first.

use std::collections::BTreeMap;

use lockgate::engine::driver::StartPoint;
use lockgate::engine::driver::live::LiveOptions;
use lockgate::engine::event::{EventKind, JobStatus, RejectReason, SubtaskStatus};
use lockgate::model::{
    CheckpointId, ClaimMode, Command, Key, RestartStrategy, ScriptEntry, StreamElement,
    StreamEvent, Uid, When,
};
use lockgate::recording::View;
use proptest::prelude::*;

use crate::drivers::run_live_from;
use crate::modes::{Mode, Stored, any_mode, chain_job, crowd, unaligned_mode};
use crate::rig::{Rig, Source, expected_sums, sum_job};

const SOURCES: [Source; 2] = [
    Source {
        rate_per_s: 400,
        end: 40,
        parallelism: 1,
    },
    Source {
        rate_per_s: 90,
        end: 20,
        parallelism: 2,
    },
];

fn is_restoring(view: &View) -> bool {
    let mut subtasks = view.subtasks.iter();
    view.job == JobStatus::Running
        && subtasks.any(|subtask| subtask.status == SubtaskStatus::Initializing)
}

/// The trace that was observed on Flink: after the restore, ticks are rejected until what was in flight is processed; no
/// number is used up; and the count is exact in the end.
#[test]
fn no_checkpoint_begins_until_what_was_in_flight_is_processed() {
    let mut job = Mode::Unaligned.on(sum_job(
        &[Source::new(2_000, 300), Source::new(2_000, 300)],
        1,
        1,
    ));
    crowd(&mut job, 20_000, 50);
    job.config.checkpointing.interval_ms = Some(100);
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.store.last().is_some_and(|id| *id >= CheckpointId(2)));
    let latest = *rig.view().store.last().unwrap();
    let before = rig.view().checkpoints.keys().last().copied().unwrap();
    rig.crash("sum", 0);
    rig.restore();
    rig.run_until(is_restoring);
    let (mut rejected, mut restored) = (0, 0);
    let mark = rig.recording.events().len();
    while is_restoring(rig.view()) {
        assert!(rig.step());
    }
    for event in &rig.recording.events()[mark..] {
        let why = RejectReason::NotAllRequiredTasksRunning;
        match &event.kind {
            EventKind::TriggerRejected { reason, .. } => rejected += usize::from(*reason == why),
            EventKind::Taken { .. } => restored += 1,
            EventKind::Triggered { checkpoint, .. } => panic!("checkpoint {checkpoint} begins"),
            _ => {}
        }
    }
    assert!(rejected >= 3, "{rejected} ticks were rejected");
    assert!(
        restored >= 40,
        "{restored} records of checkpoint {latest} were in flight"
    );
    rig.run_until(|view| view.checkpoints.keys().last() > Some(&before));
    let next = rig.view().checkpoints.keys().last().copied().unwrap();
    assert_eq!(next.0, before.0 + 1, "a rejected tick used up a number");
    rig.run_to_end();
    assert_eq!(rig.sums("sum")[&Key::int(0)], (300 * 301).into());
    let state = rig.recording.ledger(rig.view()).state.unwrap();
    assert_eq!((state.zero, state.more), (0, 0));
}

/// Breaks if new records get in before restored ones, or restored ones out of their order.
#[test]
fn restored_records_come_before_all_others_and_in_order() {
    let mut job = Mode::Unaligned.on(sum_job(&[Source::new(1_000, 120)], 1, 1));
    crowd(&mut job, 10_000, 30);
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.at_us > 300_000);
    rig.checkpoint();
    rig.run_until(|view| !view.store.is_empty());
    rig.restore();
    let mark = rig.recording.events().len();
    rig.run_to_end();
    let counted = rig.recording.events()[mark..].iter();
    let offsets: Vec<u64> = counted
        .filter_map(|event| match &event.kind {
            EventKind::StateChanged { origin, .. } => Some(origin.offset),
            _ => None,
        })
        .collect();
    assert!(
        offsets.is_sorted_by(|one, next| one + 1 == *next),
        "{offsets:?}"
    );
    assert_eq!(offsets.last(), Some(&120));
}

/// Breaks if the live driver, which takes no such checkpoint, forgets what one holds: at either end of a channel, at the
/// start or after a crash.
#[test]
fn a_live_run_goes_on_with_the_records_in_flight() {
    let mut job = Mode::Unaligned.on(sum_job(&SOURCES, 2, 2));
    crowd(&mut job, 20_000, 20);
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.subtasks[0].offset == 30);
    rig.checkpoint();
    rig.run_until(|view| !view.store.is_empty());
    let mut stored = Stored::default();
    stored.look(&rig);
    assert!(stored.in_flight[&CheckpointId(1)].len() > 20);
    for crashes in [false, true] {
        let mut job = job.clone();
        job.config.checkpointing.unaligned = false;
        job.config.restart = RestartStrategy::FixedDelay {
            attempts: 1,
            delay_ms: 1,
        };
        let (uid, subtask) = (Uid::new("sum"), 0);
        let entry = ScriptEntry {
            when: When::AtMs(1),
            command: Command::Crash { uid, subtask },
        };
        job.script = crashes.then_some(entry).into_iter().collect();
        let start = StartPoint {
            storage: rig.storage.clone(),
            checkpoint: CheckpointId(1),
            claim: ClaimMode::NoClaim,
            allow_non_restored_state: false,
        };
        let outcome = run_live_from(&job, LiveOptions::default(), Some(start));
        assert_eq!(outcome.status, JobStatus::Finished);
        let sums: BTreeMap<_, _> = outcome.state.into_iter().flatten().flatten().collect();
        assert_eq!(sums, expected_sums(&SOURCES, 2), "crashes: {crashes}");
    }
}

fn crash_after(mode: Mode, steps: usize, victim: (&str, u32)) -> Option<Rig> {
    let mut job = mode.on(chain_job(&SOURCES, 2, 2));
    crowd(&mut job, 9_000, 5);
    let mut rig = Rig::new(&job);
    for step in 0..steps {
        if step == 40 || step == 120 {
            rig.checkpoint();
        }
        if !rig.step() {
            return None;
        }
    }
    rig.crash(victim.0, victim.1);
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

/// Breaks if a record in flight is lost or counted twice by a restore, at any moment of a checkpoint or of a run's end.
#[test]
fn a_crash_at_any_step_changes_nothing_in_the_end() {
    for (mode, victim) in [
        (Mode::Unaligned, ("sum", 1)),
        (Mode::Timeout(60), ("again", 0)),
        (Mode::StopTheWorld, ("sum", 0)),
    ] {
        let (mut steps, mut tried) = (0, 0);
        while let Some(rig) = crash_after(mode, steps, victim) {
            assert_exactly_once(
                &rig,
                &format!("{mode:?}: {victim:?} crashed after step {steps}"),
            );
            steps += 7;
            tried += 1;
        }
        assert!(tried > 50, "only {tried} moments were tried");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Breaks if a checkpoint of a restored run forgets what its own restore had put back, or if a crash while records in
    /// flight are being processed loses them.
    #[test]
    fn however_often_it_crashes_the_end_is_the_same(
        mode in any_mode().prop_filter("exactly once", |mode| *mode != Mode::AtLeastOnce),
        crashes in prop::collection::vec((0_usize..250, 0_u32..2, prop::bool::ANY), 1..6),
        interval_ms in 20_u64..200,
        (process_us, capacity) in (0_u64..30_000, 1_u32..10),
        seed in any::<u64>(),
    ) {
        let mut job = mode.on(chain_job(&SOURCES, 2, 2));
        crowd(&mut job, process_us, capacity);
        job.config.seed = seed;
        job.config.checkpointing.interval_ms = Some(interval_ms);
        job.config.checkpointing.tolerable_failed = u32::MAX;
        let mut rig = Rig::new(&job);
        for (steps, subtask, is_first) in crashes {
            (0..steps).for_each(|_| {
                rig.step();
            });
            if rig.view().job.is_terminal() {
                break;
            }
            rig.crash(if is_first { "sum" } else { "again" }, subtask);
            rig.restore();
        }
        rig.run_to_end();
        prop_assert_eq!(&rig.view().job, &JobStatus::Finished);
        prop_assert_eq!(rig.sums("sum"), expected_sums(&SOURCES, 2));
        let state = rig.recording.ledger(rig.view()).state.unwrap();
        prop_assert_eq!((state.zero, state.more), (0, 0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Breaks if a source ends for good while records of its that a barrier overtook are still under way: the next
    /// checkpoint would not know of them.
    #[test]
    fn a_source_ends_only_when_its_last_record_has_been_taken(
        mode in unaligned_mode(),
        process_us in 5_000_u64..60_000,
        seed in any::<u64>(),
    ) {
        let mut job = mode.on(chain_job(&[Source::new(2_000, 20), Source::new(20, 30)], 2, 1));
        crowd(&mut job, process_us, 20);
        job.config.seed = seed;
        job.config.checkpointing.interval_ms = Some(30);
        let mut rig = Rig::new(&job);
        while rig.step() {
            let finished = rig.recording.plan.channels.iter().filter(|channel| {
                rig.view().subtasks[channel.from.index()].status == SubtaskStatus::Finished
            });
            for channel in finished {
                prop_assert_eq!(rig.view().channels[channel.id.index()].records(), 0);
            }
        }
        prop_assert_eq!(&rig.view().job, &JobStatus::Finished);
    }
}

/// Breaks if a canceled checkpoint leaves a barrier that overtakes, and with it records that nobody takes any more.
#[test]
fn an_unaligned_checkpoint_that_is_given_up_leaves_nothing_behind() {
    let mut job = Mode::Unaligned.on(chain_job(
        &[Source::new(300, 80), Source::new(40, 20)],
        3,
        2,
    ));
    crowd(&mut job, 8_000, 6);
    job.config.checkpointing.timeout_ms = 120;
    job.config.checkpointing.tolerable_failed = u32::MAX;
    let mut rig = Rig::new(&job);
    for at_us in [200_000, 500_000, 700_000] {
        rig.run_until(|view| view.at_us >= at_us);
        rig.checkpoint();
    }
    rig.run_until(|view| view.at_us > 900_000);
    rig.command(&Command::Checkpoint);
    // From here on there is time.
    let given_up = rig
        .view()
        .checkpoints
        .values()
        .filter(|checkpoint| checkpoint.decided_us.is_some());
    assert!(given_up.count() >= 2);
    for _ in 0..2_000 {
        rig.step();
    }
    let offsets: u64 = rig.view().splits.iter().map(|split| split.offset).sum();
    assert_eq!(offsets, 100, "the sources are stuck");
    let left = rig
        .view()
        .channels
        .iter()
        .flat_map(|channel| &channel.queue);
    let records = left.filter(|item| matches!(item.element, StreamElement::Record(_)));
    assert_eq!(records.count(), 0);
    let markers = rig.recording.events().iter().filter(|event| {
        matches!(
            event.kind,
            EventKind::Sent {
                element: StreamElement::Event(StreamEvent::CancelCheckpoint(_)),
                ..
            }
        )
    });
    assert!(markers.count() > 0, "nobody was told");
}
