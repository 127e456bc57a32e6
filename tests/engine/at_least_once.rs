//! At least once: nothing waits for a barrier, and so a record may count twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate::engine::driver::live::{self, LiveOptions};
use lockgate::engine::driver::{Feeds, Resources};
use lockgate::engine::event::{EventKind, JobStatus};
use lockgate::engine::plan::ExecutionGraph;
use lockgate::engine::storage::{CheckpointStorage, MemoryStorage};
use lockgate::model::{
    Command, Decimal, JobGraph, RestartStrategy, Retention, ScriptEntry, Uid, When,
};
use proptest::prelude::*;

use crate::modes::{Mode, chain_job, complete, counted, crowd, emitted};
use crate::rig::{Rig, Source, expected_sums, lanes_job, sum_job};

/// A fast and a slow source into a sum that cannot keep up: the barrier of the slow one has less ahead of it, and comes
/// long before that of the fast one.
fn uneven(mode: Mode) -> Rig {
    let mut job = mode.on(sum_job(&[Source::new(400, 120), Source::new(80, 50)], 2, 1));
    crowd(&mut job, 8_000, 40);
    Rig::new(&job)
}

fn after_a_crash(mode: Mode) -> Rig {
    let mut rig = uneven(mode);
    rig.run_until(|view| view.at_us > 250_000);
    rig.checkpoint();
    rig.run_until(|view| !view.store.is_empty());
    rig.crash("sum", 0);
    rig.restore();
    rig.run_to_end();
    rig
}

/// Breaks if an input waits behind its barrier, which at least once none does.
#[test]
fn no_input_is_shut() {
    let mut rig = uneven(Mode::AtLeastOnce);
    rig.run_until(|view| view.at_us > 120_000);
    rig.checkpoint();
    rig.run_to_end();
    let is_shut = |event: &EventKind| matches!(event, EventKind::InputBlocked { .. });
    assert!(
        rig.recording
            .events()
            .iter()
            .all(|event| !is_shut(&event.kind))
    );
}

/// Law 6. Breaks if the snapshot waits for no barrier (then records before it would be missing).
fn assert_at_least(rig: &Rig) -> usize {
    let mut surplus = 0;
    for checkpoint in complete(rig.view()) {
        let mut counted = counted(rig, checkpoint, "sum");
        counted.dedup();
        let emitted = emitted(checkpoint);
        assert!(emitted.iter().all(|origin| counted.contains(origin)));
        surplus += counted.len() - emitted.len();
    }
    surplus
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_checkpoint_holds_all_before_its_barriers_and_maybe_more(
        rates in prop::collection::vec((10_u32..300, 5_u64..60, 1_u32..3), 1..4),
        process_us in 0_u64..30_000,
        seed in any::<u64>(),
    ) {
        let source = |(rate_per_s, end, parallelism): &(u32, u64, u32)| Source {
            rate_per_s: *rate_per_s,
            end: *end,
            parallelism: *parallelism,
        };
        let sources: Vec<Source> = rates.iter().map(source).collect();
        let mut job = Mode::AtLeastOnce.on(chain_job(&sources, 3, 2));
        crowd(&mut job, process_us, 6);
        job.config.seed = seed;
        job.config.checkpointing.interval_ms = Some(80);
        let mut rig = Rig::new(&job);
        rig.run_to_end();
        prop_assert_eq!(&rig.view().job, &JobStatus::Finished);
        assert_at_least(&rig);
        prop_assert_eq!(rig.sums("sum"), expected_sums(&sources, 3), "nothing failed, nothing counts twice");
    }
}

/// Breaks if records behind a barrier are not processed at once, if they do not get into the snapshot, or if they are
/// not replayed. Exactly once, the same job, crash and seed count each record once.
#[test]
fn what_was_counted_behind_a_barrier_counts_again_after_a_restore() {
    let rig = after_a_crash(Mode::AtLeastOnce);
    let surplus = assert_at_least(&rig);
    assert!(surplus > 0, "no record came behind a barrier");
    let ledger = rig.recording.ledger(rig.view());
    let state = ledger.state.unwrap();
    assert_eq!(
        (state.zero, state.more),
        (0, surplus as u64),
        "the ledger names them"
    );
    let rig = after_a_crash(Mode::Aligned);
    let state = rig.recording.ledger(rig.view()).state.unwrap();
    assert_eq!((state.zero, state.more), (0, 0));
}

/// With a single input everywhere nothing can come behind a barrier and yet before the snapshot.
#[test]
fn where_each_subtask_has_one_input_it_is_exactly_once() {
    let mut job = Mode::AtLeastOnce.on(lanes_job(Source::new(120, 90), 3));
    job.config.checkpointing.interval_ms = Some(70);
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.at_us > 400_000 && !view.store.is_empty());
    let latest = *rig.view().store.last().unwrap();
    let snapshots = &rig.view().checkpoints[&latest].subtasks;
    for channel in &rig.recording.plan.channels {
        let (from, to) = (&snapshots[&channel.from], &snapshots[&channel.to]);
        assert_eq!(to.alignment_us(), Some(0));
        assert!(to.captured_us > from.captured_us);
    }
}

/// Law 6 on threads. Breaks if the live driver's snapshots wait for no barrier: then some of what came before it would be
/// missing.
#[test]
fn a_live_checkpoint_holds_all_that_its_sources_had_sent() {
    let source = |rate_per_s| Source::new(rate_per_s, 100_000_000);
    let mut job = Mode::AtLeastOnce.on(sum_job(&[source(200_000), source(5_000)], 3, 2));
    job.config.checkpointing.interval_ms = Some(10);
    job.config.checkpointing.retained = 1_000;
    job.config.checkpointing.retention = Retention::RetainOnCancellation;
    job.script = vec![ScriptEntry {
        when: When::Emitted {
            uid: Uid::new("s1"),
            records: 2_000,
        },
        command: Command::Stop,
    }];
    let storage = Arc::new(MemoryStorage::default());
    let (plan, dir) = (ExecutionGraph::of(&job), tempfile::tempdir().unwrap());
    let resources = || Resources {
        feeds: Feeds::new(),
        storage: storage.clone(),
        dir: dir.path().to_owned(),
        start: None,
        savepoints: None,
    };
    let (job, plan) = (Arc::new(job), Arc::new(plan));
    let outcome = live::run(&job, &plan, resources(), LiveOptions::default()).unwrap();
    let kept = storage.list().unwrap();
    assert!(!kept.is_empty(), "{:?}", outcome.status);
    for (attempt, id) in (1_u32..).zip(kept) {
        let from = Some((&*storage as &dyn CheckpointStorage, id));
        let backend = job.config.backend.into();
        let prepared = resources().prepare(&plan, backend, attempt, from).unwrap();
        let of_all = prepared.iter().map(|it| it.operator.contents().unwrap());
        let (mut counted, mut sent) = (Decimal::ZERO, Decimal::ZERO);
        for contents in of_all {
            counted += contents.rows.iter().map(|(_, sum)| sum).sum::<Decimal>();
            // Its records are 1, 2, 3 …
            let sums = contents.offsets.iter().map(|(_, to)| to * (to + 1) / 2);
            sent += sums.map(Decimal::from).sum::<Decimal>();
        }
        assert!(counted >= sent, "checkpoint {id}: {counted} of {sent}");
    }
}

/// Breaks if a live job loses a record where it may double one.
#[test]
fn a_live_job_counts_each_record_at_least_once_over_a_crash() {
    let sources = [Source::new(40_000, 8_000), Source::new(10_000, 2_000)];
    let mut job = Mode::AtLeastOnce.on(sum_job(&sources, 3, 2));
    job.config.checkpointing.interval_ms = Some(10);
    job.config.restart = RestartStrategy::FixedDelay {
        attempts: 3,
        delay_ms: 1,
    };
    let run = |job: &JobGraph| {
        let dir = tempfile::tempdir().unwrap();
        let resources = Resources {
            feeds: Feeds::new(),
            storage: Arc::new(MemoryStorage::default()),
            dir: dir.path().to_owned(),
            start: None,
            savepoints: None,
        };
        let plan = Arc::new(ExecutionGraph::of(job));
        let options = LiveOptions::default();
        let outcome = live::run(&Arc::new(job.clone()), &plan, resources, options).unwrap();
        assert_eq!(outcome.status, JobStatus::Finished);
        let rows = outcome.state.into_iter().flatten().flatten();
        rows.collect::<BTreeMap<_, _>>()
    };
    let expected = expected_sums(&sources, 3);
    assert_eq!(run(&job), expected, "without a failure each counts once");
    job.script = vec![ScriptEntry {
        when: When::Emitted {
            uid: Uid::new("s1"),
            records: 1_000,
        },
        command: Command::CrashTaskManager { index: 0 },
    }];
    for (key, sum) in run(&job) {
        assert!(
            sum >= expected[&key],
            "key {key}: {sum} of {}",
            expected[&key]
        );
    }
}
