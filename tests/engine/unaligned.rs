//! Barriers that overtake: what they pass is part of the checkpoint, and nothing else is.

use std::collections::BTreeMap;

use lockgate::engine::event::{ChannelSide, EventKind};
use lockgate::model::{
    Alignment, ChannelId, CheckpointId, Partitioning, Record, StreamElement, StreamEvent, Uid,
};
use proptest::prelude::*;

use crate::modes::{
    Mode, Stored, chain_job, complete, counted, crowd, duration_us, emitted, unaligned_mode,
};
use crate::rig::{Rig, Source, expected_sums, sum_job};

/// A fast and a slow source into a sum that cannot keep up.
fn congested(mode: Mode) -> Rig {
    let mut job = sum_job(&[Source::new(500, 400), Source::new(50, 60)], 3, 1);
    mode.set(&mut job);
    crowd(&mut job, 20_000, 20);
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.at_us >= 1_000_000);
    rig.checkpoint();
    rig.run_until(|view| !view.store.is_empty());
    rig
}

/// Breaks if an unaligned barrier waits for the records ahead of it, at the sender's end or at the receiver's.
#[test]
fn where_records_are_stuck_an_aligned_barrier_is_slow_and_an_unaligned_one_is_not() {
    let [aligned, unaligned] = [Mode::Aligned, Mode::Unaligned].map(congested);
    let took = |rig: &Rig| duration_us(complete(rig.view()).next().unwrap());
    let (slow, fast) = (took(&aligned), took(&unaligned));
    assert!(slow > 600_000, "aligned: {slow} µs");
    assert!(fast < 300_000, "unaligned: {fast} µs");
    let persisted = |rig: &Rig| -> u64 {
        let checkpoint = complete(rig.view()).next().unwrap();
        checkpoint
            .subtasks
            .values()
            .map(|s| s.persisted_records)
            .sum()
    };
    assert_eq!(persisted(&aligned), 0);
    assert!(persisted(&unaligned) > 20, "{}", persisted(&unaligned));
}

/// Breaks if what was at the sender's end is forgotten, or what was at the receiver's is.
#[test]
fn both_ends_of_a_channel_save_what_the_barrier_passed_there() {
    let rig = congested(Mode::Unaligned);
    let mut sides = BTreeMap::new();
    for event in rig.recording.events() {
        if let EventKind::InFlightPersisted { side, records, .. } = &event.kind {
            *sides.entry(*side == ChannelSide::Input).or_insert(0) += records.len();
        }
    }
    assert!(sides[&true] > 5 && sides[&false] > 2, "{sides:?}");
    let mut seen = BTreeMap::new();
    for snapshot in rig
        .view()
        .checkpoints
        .values()
        .flat_map(|c| c.subtasks.values())
    {
        for persisted in &snapshot.persisted {
            *seen
                .entry(persisted.side == ChannelSide::Input)
                .or_insert(0) += persisted.records.len();
        }
    }
    assert_eq!(seen, sides, "and the view has them by channel and end");
}

/// Breaks if the receiver takes records of another input while a barrier that overtakes is there.
#[test]
fn a_barrier_that_has_arrived_is_seen_to_first() {
    let rig = congested(Mode::Unaligned);
    let ahead =
        |event: &EventKind| matches!(event, EventKind::TakenAhead { place, .. } if *place > 3);
    let events = rig.recording.events();
    assert!(
        events.iter().any(|event| ahead(&event.kind)),
        "none overtook"
    );
}

/// What an oracle reads off the log that knows nothing of how the engine does it.
#[derive(Default)]
struct Oracle {
    /// By channel: what lies in it.
    queues: BTreeMap<ChannelId, Vec<StreamElement>>,
    sent: BTreeMap<ChannelId, Vec<Record>>,
    taken: BTreeMap<ChannelId, usize>,
    /// The records sent before each barrier.
    before: BTreeMap<(CheckpointId, ChannelId), Vec<Record>>,
    /// How many of the channel's records its receiver had taken when its state was captured.
    captured: BTreeMap<(CheckpointId, ChannelId), usize>,
}

impl Oracle {
    fn of(rig: &Rig) -> Self {
        let mut oracle = Self::default();
        for event in rig.recording.events() {
            oracle.see(rig, &event.kind);
        }
        oracle
    }

    fn see(&mut self, rig: &Rig, event: &EventKind) {
        match event {
            EventKind::Sent {
                channel, element, ..
            } => {
                let end = self.queues.entry(*channel).or_default().len();
                self.put(*channel, element, end);
            }
            EventKind::SentAhead {
                channel,
                element,
                place,
                ..
            } => self.put(*channel, element, *place as usize),
            EventKind::BarrierPromoted {
                channel,
                checkpoint,
                place,
                ..
            } => {
                let queue = self.queues.get_mut(channel).unwrap();
                let is_it = |element: &StreamElement| barrier_of(element) == Some(*checkpoint);
                let from = queue.iter().position(is_it).unwrap();
                let barrier = queue.remove(from);
                queue.insert(*place as usize, barrier);
            }
            EventKind::Taken { channel } => self.take(*channel, 0),
            EventKind::TakenAhead { channel, place } => self.take(*channel, *place as usize),
            EventKind::SnapshotStarted {
                subtask,
                checkpoint,
                ..
            } => {
                for input in &rig.recording.plan.subtask(*subtask).inputs {
                    let taken = self.taken.get(input).copied().unwrap_or(0);
                    self.captured.insert((*checkpoint, *input), taken);
                }
            }
            _ => {}
        }
    }

    fn put(&mut self, channel: ChannelId, element: &StreamElement, place: usize) {
        let queue = self.queues.entry(channel).or_default();
        queue.insert(place, element.clone());
        let sent = self.sent.entry(channel).or_default();
        if let StreamElement::Record(record) = element {
            sent.push(record.clone());
        } else if let Some(checkpoint) = barrier_of(element) {
            self.before.insert((checkpoint, channel), sent.clone());
        }
    }

    fn take(&mut self, channel: ChannelId, place: usize) {
        let element = self.queues.get_mut(&channel).unwrap().remove(place);
        if matches!(element, StreamElement::Record(_)) {
            *self.taken.entry(channel).or_default() += 1;
        }
    }
}

fn barrier_of(element: &StreamElement) -> Option<CheckpointId> {
    match element {
        StreamElement::Event(StreamEvent::Barrier(barrier)) => Some(barrier.id),
        _ => None,
    }
}

/// Law 8: records of a channel are saved exactly if they came before its barrier and are not in the receiver's state.
fn assert_saved_iff_before_the_barrier(rig: &Rig) {
    let Oracle {
        before, captured, ..
    } = Oracle::of(rig);
    let mut saved: BTreeMap<_, Vec<Record>> = BTreeMap::new();
    for event in rig.recording.events() {
        if let EventKind::InFlightPersisted {
            checkpoint,
            channel,
            side,
            records,
            ..
        } = &event.kind
        {
            let all = saved.entry((*checkpoint, *channel)).or_default();
            // What is at the receiver is ahead of what is at the sender.
            match side {
                ChannelSide::Output => all.extend(records.iter().cloned()),
                ChannelSide::Input => {
                    all.splice(0..0, records.iter().cloned());
                }
            }
        }
    }
    for checkpoint in complete(rig.view()) {
        for channel in &rig.recording.plan.channels {
            let place = (checkpoint.id, channel.id);
            let expected = before[&place].get(captured[&place]..).unwrap_or_default();
            let found = saved.get(&place).map_or(&[][..], |records| records);
            assert_eq!(found, expected, "checkpoint {} on {}", place.0, place.1);
        }
    }
}

/// Law 3: every record before the sources' offsets is in a state or in flight, once; seen from both sums.
fn assert_conserved(rig: &Rig, stored: &Stored) -> usize {
    let mut in_flight_in_all = 0;
    for checkpoint in complete(rig.view()) {
        let Some(in_flight) = stored.in_flight.get(&checkpoint.id) else {
            continue;
        };
        in_flight_in_all += in_flight.len();
        let (sums, agains) = (rig.subtasks("sum"), rig.subtasks("again"));
        let to = |ids: &[lockgate::model::SubtaskId]| -> Vec<_> {
            let to = in_flight
                .iter()
                .filter(|(receiver, _)| ids.contains(receiver));
            to.map(|(_, record)| record.origin).collect()
        };
        let mut at_sum = counted(rig, checkpoint, "sum");
        let mut at_again = counted(rig, checkpoint, "again");
        at_sum.extend(to(&sums));
        at_again.extend(to(&sums));
        at_again.extend(to(&agains));
        at_sum.sort_unstable();
        at_again.sort_unstable();
        let emitted = emitted(checkpoint);
        assert_eq!(at_sum, emitted, "checkpoint {} at sum", checkpoint.id);
        assert_eq!(at_again, emitted, "checkpoint {} at again", checkpoint.id);
    }
    in_flight_in_all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Breaks if a record in flight is forgotten, saved twice, saved although it came after the barrier, or saved by
    /// none because each end believed it to be the other's; with any timeout, at any congestion.
    #[test]
    fn a_checkpoint_is_state_and_what_was_on_its_way(
        mode in unaligned_mode(),
        rates in prop::collection::vec((20_u32..600, 5_u64..60, 1_u32..3), 1..3),
        parallelism in 1_u32..3,
        (process_us, transfer_us, sync_us) in (0_u64..40_000, 0_u64..150_000, 0_u64..30_000),
        capacity in 1_u32..12,
        every in 20_usize..150,
        seed in any::<u64>(),
    ) {
        let source = |(rate_per_s, end, parallelism): &(u32, u64, u32)| Source {
            rate_per_s: *rate_per_s,
            end: *end,
            parallelism: *parallelism,
        };
        let sources: Vec<Source> = rates.iter().map(source).collect();
        let mut job = mode.on(chain_job(&sources, 4, parallelism));
        crowd(&mut job, process_us, capacity);
        job.config.seed = seed;
        job.config.costs.transfer_us = transfer_us;
        job.config.costs.snapshot_sync_us = sync_us;
        let mut rig = Rig::new(&job);
        let mut stored = Stored::default();
        let mut steps = 0;
        while rig.step() {
            stored.look(&rig);
            steps += 1;
            if steps % every == 0 {
                rig.checkpoint();
            }
            prop_assert!(steps < 100_000, "the job does not end");
        }
        assert_conserved(&rig, &stored);
        assert_saved_iff_before_the_barrier(&rig);
        prop_assert_eq!(rig.sums("sum"), expected_sums(&sources, 4));
    }

    /// Law 9. Breaks if a barrier overtakes before its time, counted from the trigger.
    #[test]
    fn before_its_time_is_over_no_barrier_overtakes(
        timeout_ms in 1_u64..600,
        process_us in 0_u64..60_000,
        seed in any::<u64>(),
    ) {
        let mut job = Mode::Timeout(timeout_ms).on(chain_job(&[Source::new(200, 60), Source::new(30, 20)], 3, 2));
        crowd(&mut job, process_us, 8);
        job.config.seed = seed;
        let mut rig = Rig::new(&job);
        rig.run_until(|view| view.at_us > 300_000);
        rig.checkpoint();
        rig.run_to_end();
        let triggered_us = rig.view().checkpoints[&CheckpointId(1)].triggered_us;
        let of_first = |id: CheckpointId| id == CheckpointId(1);
        for event in rig.recording.events() {
            let overtakes = match &event.kind {
                EventKind::BarrierPromoted { checkpoint, .. }
                | EventKind::InFlightPersisted { checkpoint, .. } => of_first(*checkpoint),
                EventKind::SentAhead { element: StreamElement::Event(StreamEvent::Barrier(barrier)), .. } => of_first(barrier.id),
                _ => false,
            };
            prop_assert!(!overtakes || event.at_us >= triggered_us + timeout_ms * 1000, "{:?}", event);
        }
    }
}

/// Breaks if the time is not counted from the trigger, or if a barrier at the sender's end stays there.
#[test]
fn a_checkpoint_that_aligns_for_too_long_becomes_unaligned() {
    let rig = congested(Mode::Timeout(200));
    let checkpoint = complete(rig.view()).next().unwrap();
    let took = duration_us(checkpoint);
    assert!((200_000..500_000).contains(&took), "{took} µs");
    let promoted = |event: &&lockgate::engine::event::TraceEvent| {
        matches!(event.kind, EventKind::BarrierPromoted { .. })
    };
    let first = rig.recording.events().iter().find(promoted).unwrap();
    // The sum ends the record that it is processing.
    let late_us = first.at_us - (checkpoint.triggered_us + 200_000);
    assert!(late_us <= 20_000, "{late_us} µs late");
    assert!(
        checkpoint
            .subtasks
            .values()
            .any(lockgate::recording::view::SnapshotView::is_unaligned)
    );
}

/// Breaks if a checkpoint that has time enough is anything but aligned.
#[test]
fn a_checkpoint_that_aligns_in_time_saves_nothing_in_flight() {
    let rig = congested(Mode::Timeout(60_000));
    let checkpoint = complete(rig.view()).next().unwrap();
    assert!(duration_us(checkpoint) > 600_000);
    assert!(
        checkpoint
            .subtasks
            .values()
            .all(|snapshot| !snapshot.is_unaligned())
    );
}

/// Breaks if a barrier overtakes on a forward edge (or on another edge to the same operator), or if one that had to
/// align there stays aligned for the rest of its way.
#[test]
fn forward_edges_align_and_behind_them_it_overtakes_again() {
    let mut job = Mode::Unaligned.on(chain_job(&[Source::new(300, 80)], 3, 2));
    let to_again = |edge: &&mut lockgate::model::Edge| edge.to == Uid::new("again");
    job.edges.iter_mut().find(to_again).unwrap().partitioning = Partitioning::Forward;
    crowd(&mut job, 15_000, 6);
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.at_us >= 600_000);
    rig.checkpoint();
    rig.run_until(|view| !view.store.is_empty());
    let plan = &rig.recording.plan;
    let again = rig.subtasks("again");
    let mut ahead = 0;
    for event in rig.recording.events() {
        let (channel, element, is_ahead) = match &event.kind {
            EventKind::Sent {
                channel, element, ..
            } => (channel, element, false),
            EventKind::SentAhead {
                channel, element, ..
            } => (channel, element, true),
            _ => continue,
        };
        let StreamElement::Event(StreamEvent::Barrier(barrier)) = element else {
            continue;
        };
        let is_forced = again.contains(&plan.channel(*channel).to);
        let forced = Alignment::ForcedAligned { deadline_us: None };
        let expected = if is_forced {
            forced
        } else {
            Alignment::Unaligned
        };
        assert_eq!((barrier.alignment, is_ahead), (expected, !is_forced));
        ahead += usize::from(is_ahead);
    }
    assert_eq!(ahead, 4, "from the source to both sums, and to the sink");
    let snapshot = |id| &rig.view().checkpoints[&CheckpointId(1)].subtasks[id];
    let inputs_align = again
        .iter()
        .all(|id| snapshot(id).last_barrier_us <= snapshot(id).captured_us);
    assert!(inputs_align, "a forced input was not aligned");
}
