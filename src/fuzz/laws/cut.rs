//! Laws 1–4, 6, 8: what a checkpoint holds.

use std::collections::BTreeSet;

use super::multiplicity::{self, Tally};
use super::{History, Violation, violation};
use crate::engine::event::{EventKind, JobStatus};
use crate::fuzz::history::{Capture, Lane, Sent, Story};
use crate::model::{
    Alignment, ChannelId, CheckpointId, CheckpointMode, Record, StreamElement, StreamEvent,
};

/// One input of a snapshot: how many records came before the barrier, and how many were taken.
struct Side<'a> {
    capture: &'a Capture,
    channel: ChannelId,
    lane: &'a Lane,
    /// Sent before the barrier of the checkpoint.
    before: usize,
    /// Taken before the snapshot.
    taken: usize,
    alignment: Alignment,
    /// The barrier had not been sent when the snapshot was taken.
    too_early: bool,
}

fn alignment_of(history: &History, capture: &Capture) -> Alignment {
    let plan = history.plan.subtask(capture.subtask);
    let mut barriers = plan.inputs.iter().filter_map(|channel| {
        let lane = history.lane_at(*channel, capture.at)?;
        let (barrier, sent) = lane.barrier(capture.checkpoint)?;
        (sent.sent < capture.at).then_some(barrier.alignment)
    });
    barriers.next_back().unwrap_or(Alignment::Aligned)
}

fn sides<'a>(history: &'a History) -> Vec<Side<'a>> {
    let mut sides = Vec::new();
    for capture in &history.captures {
        let alignment = alignment_of(history, capture);
        for channel in &history.plan.subtask(capture.subtask).inputs {
            let Some(lane) = history.lane_at(*channel, capture.at) else {
                continue;
            };
            let barrier = lane.barrier(capture.checkpoint).map(|(_, sent)| sent.sent);
            let ended = lane.ended().is_some_and(|sent| sent < capture.at);
            let border = match barrier {
                Some(sent) => Some(sent),
                None if ended || stops_the_world(history) => Some(capture.at),
                None => None,
            };
            sides.push(Side {
                capture,
                channel: *channel,
                lane,
                before: lane.sent_before(border.unwrap_or(usize::MAX)),
                taken: lane.taken_before(capture.at),
                alignment,
                too_early: border.is_none_or(|sent| sent > capture.at),
            });
        }
    }
    sides
}

/// There are no barriers then: the channels have been drained.
fn stops_the_world(history: &History) -> bool {
    history.job.config.checkpointing.mode == CheckpointMode::StopTheWorld
}

pub(super) fn can_be_unaligned(alignment: Alignment) -> bool {
    matches!(
        alignment,
        Alignment::Unaligned | Alignment::AlignedUntil { .. }
    )
}

fn tell(history: &History, side: &Side, what: &str) -> String {
    if side.too_early && !can_be_unaligned(side.alignment) {
        return format!(
            "snapshot {} is taken before the barrier was on {}",
            side.capture.checkpoint,
            history.plan.channel_name(side.channel)
        );
    }
    format!(
        "checkpoint {} at {}: {} records came before its barrier, {} were taken{what}",
        side.capture.checkpoint,
        history.plan.channel_name(side.channel),
        side.before,
        side.taken
    )
}

/// Breaks if a snapshot is taken before the last barrier, or a record behind one is let through.
pub fn aligned(history: &History) -> Vec<Violation> {
    let is_wrong = |side: &Side| match side.alignment {
        Alignment::Aligned | Alignment::ForcedAligned { .. } => {
            side.too_early || side.taken != side.before
        }
        Alignment::AtLeastOnce => false,
        Alignment::Unaligned | Alignment::AlignedUntil { .. } => side.taken > side.before,
    };
    let sides = sides(history);
    let wrong = sides.iter().filter(|side| is_wrong(side));
    wrong
        .map(|side| violation(1, side.capture.at, tell(history, side, "")))
        .collect()
}

/// Breaks if a snapshot is taken before the last barrier, or more is counted than such channels brought.
pub fn at_least_once(history: &History) -> Vec<Violation> {
    let is_wrong = |side: &Side| {
        side.alignment == Alignment::AtLeastOnce && (side.too_early || side.taken < side.before)
    };
    let sides = sides(history);
    let wrong = sides.iter().filter(|side| is_wrong(side));
    wrong
        .map(|side| violation(6, side.capture.at, tell(history, side, "")))
        .collect()
}

/// Breaks if in-flight records are forgotten, kept twice, put back in another order, or kept though they came after the barrier.
pub fn in_flight(history: &History) -> Vec<Violation> {
    let mut found = out_of_order(history);
    for side in sides(history) {
        let Some(story) = history.checkpoints.get(&side.capture.checkpoint) else {
            continue;
        };
        if story.completed.is_none() || !can_be_unaligned(side.alignment) {
            continue;
        }
        let kept: &[Record] = story.persisted.get(&side.channel).map_or(&[], |kept| kept);
        let wanted = before_barrier(&side).iter().map(|sent| &sent.what);
        if !same_records(wanted, kept) {
            let what = format!(", {} are kept", kept.len());
            found.push(violation(3, side.capture.at, tell(history, &side, &what)));
        }
    }
    found
}

/// What came before the barrier, and was not taken before the snapshot. Where no barrier comes any more, the end of the
/// channel stands for it.
fn before_barrier<'a>(side: &Side<'a>) -> &'a [Sent<Record>] {
    let before = match side.lane.barrier(side.capture.checkpoint) {
        Some(_) => side.before,
        None => side.lane.sent_before(side.lane.ended().unwrap_or(0)),
    };
    &side.lane.records[side.taken.min(before)..before]
}

/// A channel begins again with what it held, in its order: what was at the receiver comes before what was at the sender.
fn out_of_order(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut from = None;
    let mut seen = BTreeSet::new();
    let sides = sides(history);
    for (at, event) in history.events.iter().enumerate() {
        let channel = match &event.kind {
            EventKind::JobStatus(JobStatus::Restoring { from: id }) => {
                from = *id;
                seen.clear();
                continue;
            }
            EventKind::InFlightRestored { channel, .. } if seen.insert(*channel) => *channel,
            _ => continue,
        };
        let is_it = |side: &&Side| side.channel == channel && Some(side.capture.checkpoint) == from;
        // None: the snapshot is another run's, whose channels are not known.
        let (Some(side), Some(lane)) = (sides.iter().find(is_it), history.lane_at(channel, at))
        else {
            continue;
        };
        let held = before_barrier(side);
        let again = lane.records.iter().map(|sent| &sent.what);
        if !held
            .iter()
            .map(|sent| &sent.what)
            .eq(again.take(held.len()))
        {
            let name = history.plan.channel_name(channel);
            let text = format!("{name} does not begin again with what it held, in its order");
            found.push(violation(3, at, text));
        }
    }
    found
}

/// The same records, whichever end of the channel kept them.
fn same_records<'a>(wanted: impl Iterator<Item = &'a Record>, kept: &[Record]) -> bool {
    let mut wanted: Vec<&Record> = wanted.collect();
    let mut kept: Vec<&Record> = kept.iter().collect();
    // Two results of one record may have the same value, for different keys.
    let place = |left: &&Record, right: &&Record| {
        let parts = |record: &Record| (record.origin, record.value, record.key.clone());
        parts(left).cmp(&parts(right))
    };
    wanted.sort_by(place);
    kept.sort_by(place);
    wanted == kept
}

/// Breaks if an aligned checkpoint, or a savepoint, keeps records in flight.
pub fn kept_only_unaligned(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    for (at, event) in history.events.iter().enumerate() {
        let EventKind::InFlightPersisted {
            checkpoint,
            records,
            ..
        } = &event.kind
        else {
            continue;
        };
        let story = history.checkpoints.get(checkpoint);
        let is_savepoint = story.is_some_and(|story| story.kind.is_savepoint());
        let may = history.job.config.checkpointing.unaligned && !is_savepoint;
        if !may && !records.is_empty() {
            let text = format!("aligned checkpoint {checkpoint} keeps records in flight");
            found.push(violation(8, at, text));
        }
    }
    found
}

/// Breaks if a barrier goes out after the snapshot's step, not on all outputs, or behind records of the same step.
pub fn barrier_first(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    if stops_the_world(history) {
        return found;
    }
    for capture in &history.captures {
        let step = history.events[capture.at].step;
        let start = history.events[..capture.at].partition_point(|event| event.step < step);
        let outputs = &history.plan.subtask(capture.subtask).outputs;
        let outputs: Vec<ChannelId> = outputs
            .iter()
            .flat_map(|output| output.channels.iter().copied())
            .collect();
        let mut with_barrier = Vec::new();
        for event in &history.events[start..capture.at] {
            match sent(&event.kind) {
                Some((channel, id)) if outputs.contains(&channel) => match id {
                    Some(id) if id == capture.checkpoint => with_barrier.push(channel),
                    None if !with_barrier.is_empty() => {
                        let text = format!(
                            "a record goes out between barrier {} and the snapshot",
                            capture.checkpoint
                        );
                        found.push(violation(4, capture.at, text));
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        with_barrier.sort_unstable();
        let mut all = outputs.clone();
        all.sort_unstable();
        if with_barrier != all {
            let text = format!(
                "barrier {} went out on {} of {} outputs of {} before its snapshot",
                capture.checkpoint,
                with_barrier.len(),
                all.len(),
                history.plan.subtask_name(capture.subtask)
            );
            found.push(violation(4, capture.at, text));
        }
    }
    found
}

/// The channel, and the checkpoint if it is a barrier; records only otherwise.
fn sent(event: &EventKind) -> Option<(ChannelId, Option<CheckpointId>)> {
    match event {
        EventKind::Sent {
            channel, element, ..
        }
        | EventKind::SentAhead {
            channel, element, ..
        } => match element {
            StreamElement::Record(_) => Some((*channel, None)),
            StreamElement::Event(StreamEvent::Barrier(barrier)) => {
                Some((*channel, Some(barrier.id)))
            }
            StreamElement::Event(_) => None,
        },
        _ => None,
    }
}

/// Breaks if a record of before the sources' offsets is nowhere in the checkpoint, or in two places.
pub fn conservation(history: &History) -> Vec<Violation> {
    let at_least = history.job.config.checkpointing.mode == CheckpointMode::AtLeastOnce;
    let mut found = Vec::new();
    for (id, story) in &history.checkpoints {
        let Some(at) = story.completed else { continue };
        for vertex in &history.job.vertices {
            let is_keyed = vertex.operator.is_keyed();
            if !is_keyed || multiplicity::is_behind_window(history.job, &vertex.uid) {
                continue;
            }
            let offsets = offsets_of(history, story);
            let expected = multiplicity::expected(history, &offsets, &vertex.uid);
            let actual = held(history, story, &vertex.uid);
            if let Some(difference) = multiplicity::difference(&actual, &expected, at_least) {
                let what = format!("in checkpoint {id} at {}", vertex.name);
                let text = multiplicity::tell(history, &what, difference);
                found.push(violation(2, at, text));
            }
        }
    }
    found
}

/// The source offsets that a checkpoint holds; those of finished sources are their last.
pub(super) fn offsets_of(
    history: &History,
    story: &Story,
) -> std::collections::BTreeMap<crate::model::SplitId, u64> {
    let captured = story.captures.values();
    let captured = captured.map(|index| &history.captures[*index].image.offsets);
    let finished = story.at_finish.values().map(|image| &image.offsets);
    let all = captured.chain(finished);
    all.flat_map(|offsets| offsets.iter().map(|(split, offset)| (*split, *offset)))
        .collect()
}

/// What a checkpoint counts at `to`: in its state, and on the way to it.
fn held(history: &History, story: &Story, to: &crate::model::Uid) -> Tally {
    let mut tally = Tally::new();
    for id in history.plan.subtasks_of(to) {
        let image = match story.captures.get(&id) {
            Some(index) => Some(&history.captures[*index].image),
            None => story.at_finish.get(&id),
        };
        let seen = image
            .into_iter()
            .flat_map(|image| image.seen.iter().copied());
        multiplicity::add(&mut tally, seen, 1);
    }
    on_the_way(history, story, to, &mut tally);
    tally
}

/// What a checkpoint keeps in flight on the way to `to`.
fn on_the_way(history: &History, story: &Story, to: &crate::model::Uid, tally: &mut Tally) {
    for (channel, records) in &story.persisted {
        let receiver = history.plan.channel(*channel).to;
        let receiver = &history.plan.subtask(receiver).uid;
        let each = multiplicity::times(history.job, receiver, to);
        let behind_window = multiplicity::is_behind_window(history.job, receiver);
        if each > 0 && !behind_window {
            let origins = records.iter().map(|record| record.origin);
            multiplicity::add(tally, origins, each);
        }
    }
}

/// What had come to the operator `to` before a checkpoint, whether it remembers it or not.
pub fn taken_by(history: &History, story: &Story, to: &crate::model::Uid) -> Tally {
    let mut taken = multiplicity::expected(history, &offsets_of(history, story), to);
    let mut later = Tally::new();
    on_the_way(history, story, to, &mut later);
    for (origin, count) in later {
        let taken = taken.entry(origin).or_default();
        *taken = taken.saturating_sub(count);
    }
    taken
}
