//! The samples about checkpoint modes and backpressure tell the stories that their notes promise.

use lockgate::engine::event::{AbortReason, EventKind, JobStatus};
use lockgate::model::{BackendKind, CheckpointId, CheckpointMode, JobGraph};
use lockgate::recording::Tally;
use lockgate::recording::view::{CheckpointStatus, CheckpointView};
use lockgate::run::Run;

use super::samples::{labelled, play_with, sums};

fn play(sample: &str, change: impl FnOnce(&mut JobGraph)) -> Run {
    let run = play_with(sample, BackendKind::Heap, change);
    assert_eq!(run.view().job, JobStatus::Finished, "{sample}");
    run
}

fn exactly_once(job: &mut JobGraph) {
    job.config.checkpointing.mode = CheckpointMode::ExactlyOnce;
}

/// How often the records count in the state.
fn state(run: &Run) -> Tally {
    run.recording().ledger(run.view()).state.unwrap()
}

fn all_once(records: u64) -> Tally {
    Tally {
        zero: 0,
        once: records,
        more: 0,
    }
}

fn checkpoint(run: &Run, id: u64) -> &CheckpointView {
    &run.view().checkpoints[&CheckpointId(id)]
}

/// From the trigger to the completion.
fn duration_us(run: &Run, id: u64) -> u64 {
    let checkpoint = checkpoint(run, id);
    assert_eq!(checkpoint.status, CheckpointStatus::Completed, "{id}");
    checkpoint.decided_us.unwrap() - checkpoint.triggered_us
}

/// Records in flight that are part of it.
fn persisted(run: &Run, id: u64) -> u64 {
    let snapshots = checkpoint(run, id).subtasks.values();
    snapshots.map(|snapshot| snapshot.persisted_records).sum()
}

/// Breaks if an at-least-once gate waits (nothing counts twice), or an exactly-once one does not.
#[test]
fn at_least_once_counts_records_behind_the_first_barrier_twice() {
    let run = play("at-least-once.ron", |_| ());
    let tally = state(&run);
    assert_eq!((tally.zero, tally.once, tally.more), (0, 94, 6));
    assert_eq!(sums(&run), labelled([("even", "1792"), ("odd", "1745")]));
    let exact = play("at-least-once.ron", exactly_once);
    assert_eq!(state(&exact), all_once(100));
    assert_eq!(sums(&exact), labelled([("even", "1750"), ("odd", "1700")]));
}

/// Breaks if a tracker with a single input takes its snapshot late, or the crash comes before there is anything to lose.
#[test]
fn at_least_once_is_exact_where_every_subtask_has_one_input() {
    let run = play("at-least-once-exact.ron", |_| ());
    assert_eq!(state(&run), all_once(40));
    assert_eq!(
        sums(&run),
        labelled([("of even", "840"), ("of odd", "800")])
    );
    assert_eq!(run.view().restarts, 1);
    let offsets: Vec<u64> = checkpoint(&run, 1)
        .subtasks
        .values()
        .filter_map(|snapshot| snapshot.offset)
        .collect();
    let highest = run.view().splits[0].highest_offset;
    assert!(offsets[0] < highest, "some records were replayed");
}

/// Breaks if records that a barrier has overtaken are lost, come twice, or are not part of the checkpoint.
#[test]
fn unaligned_is_quick_and_holds_what_it_has_overtaken() {
    let run = play("unaligned.ron", |_| ());
    assert_eq!(state(&run), all_once(100));
    assert_eq!(sums(&run), labelled([("even", "1750"), ("odd", "1700")]));
    assert!(persisted(&run, 1) > 10, "the channels were full");
    let restored = run.recording().events().iter();
    let restored =
        restored.filter(|event| matches!(event.kind, EventKind::InFlightRestored { .. }));
    assert!(restored.count() > 0, "they were put back");
    let aligned = play("unaligned.ron", |job| {
        job.config.checkpointing.unaligned = false;
    });
    assert_eq!(persisted(&aligned, 1), 0);
    assert!(duration_us(&run, 1) * 3 < duration_us(&aligned, 1));
}

/// Breaks if the timeout is not counted from the trigger, or a checkpoint that has aligned in time overtakes all the same.
#[test]
fn a_checkpoint_overtakes_only_when_aligning_takes_too_long() {
    let run = play("aligned-timeout.ron", |_| ());
    assert_eq!(persisted(&run, 1), 0, "aligned in time");
    assert!(persisted(&run, 2) > 0, "too late");
    assert_eq!(state(&run), all_once(100));
    let promised = run.recording().events().iter();
    let switched = promised
        .filter(|event| matches!(event.kind, EventKind::BarrierPromoted { .. }))
        .map(|event| event.at_us)
        .min()
        .unwrap();
    let after_us = switched - checkpoint(&run, 2).triggered_us;
    // A record that is being processed is processed first.
    assert!((250_000..=310_000).contains(&after_us), "{after_us}");
    let aligned = play("aligned-timeout.ron", |job| {
        job.config.checkpointing.unaligned = false;
        job.config.checkpointing.aligned_timeout_ms = 0;
    });
    assert!(duration_us(&run, 2) < duration_us(&aligned, 2));
}

/// Breaks if barriers pass a full channel, expiry does not abort, or a late acknowledgement is believed.
#[test]
fn backpressure_lets_a_checkpoint_expire() {
    let run = play("backpressure.ron", |_| ());
    assert!(duration_us(&run, 1) < 1_000_000);
    let expired = checkpoint(&run, 2);
    let reason = CheckpointStatus::Aborted(AbortReason::Expired);
    assert_eq!(expired.status, reason);
    assert_eq!(expired.decided_us, Some(expired.triggered_us + 1_000_000));
    assert!(expired.acknowledged() < expired.subtasks.len());
    let events = run.recording().events().iter();
    let starts = events.filter(|event| match event.kind {
        EventKind::SnapshotStarted { checkpoint, .. } => {
            checkpoint == CheckpointId(2) && Some(event.at_us) > expired.decided_us
        }
        _ => false,
    });
    assert_eq!(starts.count(), 0, "nobody takes part in it any more");
    assert_eq!(run.view().restarts, 0, "one failure is tolerated");
    let load = run.view().subtasks[0].load(run.view().at_us);
    assert!(
        load.backpressured_us > load.busy_us,
        "the source has to wait: {load:?}"
    );
    assert_eq!(state(&run), all_once(90));

    let unaligned = play("backpressure.ron", |job| {
        job.config.checkpointing.unaligned = true;
    });
    assert!(duration_us(&unaligned, 2) < 1_000_000);
    assert!(persisted(&unaligned, 2) > 0);
}

/// Breaks if stop-the-world lets records in while it drains, or costs nothing.
#[test]
fn stopping_the_world_is_right_and_slow() {
    let stopped = play("stop-the-world.ron", |_| ());
    let barriers = play("stop-the-world.ron", exactly_once);
    assert_eq!(sums(&stopped), sums(&barriers));
    assert_eq!(state(&stopped), all_once(120));
    assert!(
        stopped.view().at_us > barriers.view().at_us,
        "it ends later"
    );
    let emitted = |run: &Run| {
        let events = run.recording().events().iter();
        let early = events.take_while(|event| event.at_us < 3_000_000);
        early
            .filter(|event| matches!(event.kind, EventKind::SourceAdvanced { .. }))
            .count()
    };
    assert!(emitted(&stopped) < emitted(&barriers), "less gets in");
    let mut is_paused = false;
    for event in stopped.recording().events() {
        match &event.kind {
            EventKind::IntakePaused { .. } => is_paused = true,
            EventKind::IntakeResumed { .. } => is_paused = false,
            EventKind::SourceAdvanced { .. } => {
                assert!(!is_paused, "a record came in at {} µs", event.at_us);
            }
            _ => {}
        }
    }
}
