//! A slow subtask holds up everything before it.

use lockgate::engine::event::EventKind;
use lockgate::model::{JobGraph, VertexCosts};
use lockgate::recording::Load;
use proptest::prelude::*;

use crate::modes::{Mode, any_mode, chain_job, complete, duration_us};
use crate::rig::{Rig, Source};

/// One subtask of `again` takes 60 ms for each record.
fn slow_lane(mode: Mode) -> JobGraph {
    let mut job = mode.on(chain_job(&[Source::new(100, 600)], 8, 2));
    job.config.costs.process_us = 1_000;
    job.config.costs.transfer_us = 5_000;
    job.config.channel_capacity = 5;
    let again = job
        .vertices
        .iter_mut()
        .find(|vertex| vertex.uid.as_str() == "again");
    again.unwrap().costs = VertexCosts {
        process_us: Some(60_000),
        only_subtask: Some(1),
        ..VertexCosts::default()
    };
    job
}

fn loads(rig: &Rig, uid: &str) -> Vec<Load> {
    let at_us = rig.view().at_us;
    let subtasks = rig.subtasks(uid);
    subtasks
        .iter()
        .map(|id| rig.view().subtasks[id.index()].load(at_us))
        .collect()
}

/// Breaks if an operator's own costs are not used (or used for all its subtasks), if channels take more than their
/// capacity, or if time is put down under the wrong name.
#[test]
fn a_slow_subtask_fills_its_channels_up_to_the_source() {
    let mut rig = Rig::new(&slow_lane(Mode::Aligned));
    rig.run_until(|view| view.at_us >= 4_000_000);
    let again = loads(&rig, "again");
    assert!(again[1].busy_us > 3_000_000, "{again:?}");
    assert!(again[0].busy_us < 500_000, "only one is slow: {again:?}");
    let source = loads(&rig, "s0");
    assert!(source[0].backpressured_us > 2_000_000, "{source:?}");
    let sums = loads(&rig, "sum");
    assert!(sums[1].backpressured_us > 2_000_000, "{sums:?}");
    assert!(
        sums[0].idle_us > 3_000_000,
        "its keys go to the fast one: {sums:?}"
    );
    let full = rig
        .view()
        .channels
        .iter()
        .filter(|channel| channel.records() >= 4);
    assert!(
        full.count() >= 2,
        "from the source to the sum, and on to the slow one"
    );
}

/// Breaks if an unaligned barrier needs credit, or waits for what is ahead of it.
#[test]
fn so_aligned_checkpoints_become_slow_and_unaligned_ones_do_not() {
    let took = |mode| {
        let mut job = slow_lane(mode);
        job.config.checkpointing.retained = 1;
        let mut rig = Rig::new(&job);
        rig.run_until(|view| view.at_us >= 3_000_000);
        rig.checkpoint();
        rig.run_until(|view| !view.store.is_empty());
        let checkpoint = complete(rig.view()).next().unwrap();
        duration_us(checkpoint)
    };
    let (aligned, unaligned) = (took(Mode::Aligned), took(Mode::Unaligned));
    assert!(aligned > 700_000, "{aligned}");
    assert!(unaligned * 3 < aligned, "{unaligned} against {aligned}");
}

/// Breaks if the part before the first barrier, or the part between the first and the last, is measured wrongly.
#[test]
fn the_figures_of_a_checkpoint_say_where_its_time_went() {
    let mut rig = Rig::new(&slow_lane(Mode::Aligned));
    rig.run_until(|view| view.at_us >= 3_000_000);
    rig.checkpoint();
    rig.run_until(|view| !view.store.is_empty());
    let checkpoint = complete(rig.view()).next().unwrap();
    let triggered_us = checkpoint.triggered_us;
    for id in rig.subtasks("s0") {
        let source = &checkpoint.subtasks[&id];
        assert_eq!(
            source.start_delay_us(triggered_us),
            Some(5_000),
            "the message to it"
        );
        assert_eq!(source.alignment_us(), Some(0));
    }
    let again = rig.subtasks("again");
    let [_, slow] = [0, 1].map(|index: usize| &checkpoint.subtasks[&again[index]]);
    // The channel from the idle sum brings its barrier at once, the other one behind what is stuck.
    assert!(slow.start_delay_us(triggered_us).unwrap() < 200_000);
    assert!(slow.alignment_us().unwrap() > 200_000);
    assert!(slow.processed_bytes >= 4 * 37, "{}", slow.processed_bytes);
    assert!(
        checkpoint
            .subtasks
            .values()
            .all(|snapshot| snapshot.persisted_bytes == 0)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Breaks if a moment counts twice or not at all, at any place of the recording; or if a change is not told.
    #[test]
    fn busy_idle_and_held_up_come_to_the_time_that_a_subtask_has_run(
        mode in any_mode(),
        positions in prop::collection::vec(any::<prop::sample::Index>(), 8),
        seed in any::<u64>(),
    ) {
        let mut job = slow_lane(mode);
        job.config.seed = seed;
        job.config.checkpointing.interval_ms = Some(300);
        let mut rig = Rig::new(&job);
        rig.run_until(|view| view.at_us >= 2_000_000);
        for position in positions {
            let view = rig.recording.seek(position.index(rig.recording.events().len()) + 1);
            for subtask in &view.subtasks {
                let started = subtask.load(view.at_us).total_us();
                prop_assert!(started == view.at_us || started == 0, "{} of {}", started, view.at_us);
            }
        }
        let changes = rig.recording.events().iter().filter(|event| {
            matches!(event.kind, EventKind::Backpressured { .. })
        });
        prop_assert!(changes.count() > 4);
    }
}
