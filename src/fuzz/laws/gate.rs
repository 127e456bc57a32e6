//! Laws 5, 7, 9, 17, 18: what happens at a subtask's inputs.

use super::cut::can_be_unaligned;
use super::{History, Violation, violation};
use crate::engine::event::{EventKind, JobStatus, Outcome};
use crate::fuzz::history::{Lane, Sent};
use crate::model::{Alignment, ChannelId, CheckpointId, StreamEvent, SubtaskId};

/// Breaks if barriers overtake each other, or one is sent twice.
pub fn increasing(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    for lane in &history.lanes {
        let mut last = CheckpointId(0);
        for (barrier, sent) in lane.barriers() {
            if barrier.id <= last {
                let name = history.plan.channel_name(lane.channel);
                let text = format!("barrier {} follows {last} on {name}", barrier.id);
                found.push(violation(5, sent.sent, text));
            }
            last = barrier.id;
        }
        let mut taken: Vec<(usize, CheckpointId)> = lane
            .barriers()
            .filter_map(|(barrier, sent)| Some((sent.taken?, barrier.id)))
            .collect();
        taken.sort_unstable();
        for pair in taken.windows(2) {
            // A newer one that overtakes goes past an older one that waits behind records, if that is given up: with
            // unaligned checkpoints one at a time is pending.
            let newer = lane.barrier(pair[0].1);
            let overtakes = newer.is_some_and(|(barrier, _)| can_be_unaligned(barrier.alignment));
            let aborted = history
                .checkpoints
                .get(&pair[1].1)
                .and_then(|story| story.aborted);
            let sent = newer.map_or(0, |(_, sent)| sent.sent);
            let is_given_up = overtakes && aborted.is_some_and(|(at, _)| at < sent);
            if pair[0].1 >= pair[1].1 && !is_given_up {
                let name = history.plan.channel_name(lane.channel);
                let text = format!(
                    "barrier {} is taken after {} on {name}",
                    pair[1].1, pair[0].1
                );
                found.push(violation(5, pair[1].0, text));
            }
        }
    }
    found
}

/// Breaks if a blocked input is polled.
pub fn blocked(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    for lane in &history.lanes {
        for block in &lane.blocks {
            let end = block.to.or(lane.died).unwrap_or(usize::MAX);
            let first = lane.taken_before(block.from);
            let taken = lane.records.get(first).and_then(|record| record.taken);
            if let Some(at) = taken.filter(|at| *at < end) {
                let name = history.plan.channel_name(lane.channel);
                let text = format!(
                    "a record is taken from {name}, shut for {}",
                    block.checkpoint
                );
                found.push(violation(7, at, text));
            }
        }
    }
    found
}

/// Breaks if a checkpoint's time to align is not counted from its trigger.
fn wrong_deadlines(history: &History) -> Vec<Violation> {
    let wait_us = history.job.config.checkpointing.aligned_timeout_ms * 1000;
    let mut found = Vec::new();
    for lane in &history.lanes {
        for (barrier, sent) in lane.barriers() {
            let (Alignment::AlignedUntil { deadline_us }, Some(story)) =
                (barrier.alignment, history.checkpoints.get(&barrier.id))
            else {
                continue;
            };
            let expected_us = history.at_us(story.triggered) + wait_us;
            if deadline_us != expected_us {
                let text = format!(
                    "barrier {} is aligned until {deadline_us} µs; its time to align ends at {expected_us} µs",
                    barrier.id
                );
                found.push(violation(9, sent.sent, text));
            }
        }
    }
    found
}

/// Breaks if an alignment goes on after its time: a subtask sees to that before it takes the next record.
fn late_alignments(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    for lane in &history.lanes {
        for block in &lane.blocks {
            let barrier = lane.barrier(block.checkpoint).map(|(barrier, _)| barrier);
            let Some(Alignment::AlignedUntil { deadline_us }) = barrier.map(|it| it.alignment)
            else {
                continue;
            };
            let end = block.to.or(lane.died).unwrap_or(usize::MAX);
            let subtask = history.plan.channel(lane.channel).to;
            let inputs = history.plan.subtask(subtask).inputs.iter();
            let others = inputs.filter_map(|id| history.lane_at(*id, block.from));
            let taken = others.flat_map(|other| other.records.iter().filter_map(|it| it.taken));
            let mut meanwhile = taken.filter(|at| (block.from..end).contains(at));
            if let Some(at) = meanwhile.find(|at| history.at_us(*at) > deadline_us) {
                let text = format!(
                    "{} still waits for barrier {} at {} µs; its time to align ends at {deadline_us} µs",
                    history.plan.subtask_name(subtask),
                    block.checkpoint,
                    history.at_us(at)
                );
                found.push(violation(9, at, text));
            }
        }
    }
    found
}

/// Breaks if a barrier overtakes before the checkpoint's time to align is over, or blocks after it.
pub fn aligned_timeout(history: &History) -> Vec<Violation> {
    let mut found = wrong_deadlines(history);
    found.extend(late_alignments(history));
    for (at, event) in history.events.iter().enumerate() {
        let (channel, id, overtakes) = match &event.kind {
            EventKind::BarrierPromoted {
                channel,
                checkpoint,
                ..
            }
            | EventKind::InFlightPersisted {
                channel,
                checkpoint,
                ..
            } => (*channel, *checkpoint, true),
            EventKind::InputBlocked {
                channel,
                checkpoint,
            } => (*channel, *checkpoint, false),
            _ => continue,
        };
        let Some((barrier, _)) = history
            .lane_at(channel, at)
            .and_then(|lane| lane.barrier(id))
        else {
            continue;
        };
        if let Alignment::AlignedUntil { deadline_us } = barrier.alignment
            && ((overtakes && event.at_us < deadline_us)
                || (!overtakes && event.at_us > deadline_us))
        {
            let what = if overtakes { "overtakes" } else { "blocks" };
            let text = format!(
                "barrier {id} {what} at {} µs; its time to align ends at {deadline_us} µs",
                event.at_us
            );
            found.push(violation(9, at, text));
        }
    }
    found
}

/// Breaks if a subtask takes a snapshot that it knows to be useless, or lets those behind it wait for the barrier.
pub fn aborted_early(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    for (at, event) in history.events.iter().enumerate() {
        let EventKind::Notified {
            subtask,
            checkpoint,
            outcome: Outcome::Aborted,
        } = event.kind
        else {
            continue;
        };
        let Some(story) = history.checkpoints.get(&checkpoint) else {
            continue;
        };
        let capture = story.captures.get(&subtask);
        let capture = capture.map(|index| history.captures[*index].at);
        if let Some(late) = capture.filter(|capture| *capture > at) {
            let name = history.plan.subtask_name(subtask);
            let text = format!("{name} takes snapshot {checkpoint}, though it knows of the abort");
            found.push(violation(17, late, text));
        }
        found.extend(missing_marker(history, (at, subtask), checkpoint));
    }
    found.extend(stopped_markers(history));
    found
}

/// Breaks if a cancel marker ends here: those behind would wait for a barrier that never comes.
fn stopped_markers(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    for lane in &history.lanes {
        for sent in &lane.events {
            if let (StreamEvent::CancelCheckpoint(id), Some(at)) = (sent.what, sent.taken) {
                let subtask = history.plan.channel(lane.channel).to;
                found.extend(stopped_marker(history, (at, subtask), id));
            }
        }
    }
    found
}

/// A marker goes on in the step in which it is taken, unless the barrier itself, or something newer, has gone out before
/// or is on its way through.
fn stopped_marker(
    history: &History,
    (at, subtask): (usize, SubtaskId),
    id: CheckpointId,
) -> Option<Violation> {
    let plan = history.plan.subtask(subtask);
    let step = history.events[at].step;
    let end = history.events.partition_point(|event| event.step <= step);
    let lanes = |channels: &[ChannelId]| -> Vec<Option<&Lane>> {
        let lanes = channels.iter();
        lanes.map(|id| history.lane_at(*id, at)).collect()
    };
    let is_newer = |sent: &Sent<StreamEvent>| {
        sent.taken.is_some_and(|taken| taken < at) && checkpoint_of(sent.what) > Some(id)
    };
    let inputs = lanes(&plan.inputs);
    if inputs
        .iter()
        .flatten()
        .any(|lane| lane.events.iter().any(is_newer))
    {
        return None;
    }
    let is_told = |sent: &Sent<StreamEvent>| {
        let passes =
            checkpoint_of(sent.what) >= Some(id) || sent.what == StreamEvent::EndOfPartition;
        sent.sent < end && passes
    };
    let outputs = plan.outputs.iter().flat_map(|output| &output.channels);
    let outputs: Vec<ChannelId> = outputs.copied().collect();
    let untold = lanes(&outputs)
        .iter()
        .position(|lane| lane.is_none_or(|lane| !lane.events.iter().any(is_told)))?;
    let name = history.plan.channel_name(outputs[untold]);
    let text = format!("the cancel marker of {id} does not go on to {name}");
    Some(violation(17, at, text))
}

fn checkpoint_of(event: StreamEvent) -> Option<CheckpointId> {
    match event {
        StreamEvent::Barrier(barrier) => Some(barrier.id),
        StreamEvent::CancelCheckpoint(id) => Some(id),
        _ => None,
    }
}

/// A barrier that was taken after the news of its abort must go on as a cancel marker, within the same step.
fn missing_marker(
    history: &History,
    (at, subtask): (usize, SubtaskId),
    checkpoint: CheckpointId,
) -> Option<Violation> {
    let plan = history.plan.subtask(subtask);
    let story = history.checkpoints.get(&checkpoint)?;
    if story.captures.contains_key(&subtask) {
        return None;
    }
    let lanes = || plan.inputs.iter().filter_map(|id| history.lane_at(*id, at));
    let ended = lanes().any(|lane| lane.ended().is_some());
    let taken: Vec<usize> = lanes()
        .filter_map(|lane| lane.barrier(checkpoint)?.1.taken)
        .collect();
    let all_after = !taken.is_empty() && taken.iter().all(|taken| *taken > at);
    // A newer barrier that came first, because it overtook, has made this one old: it is ignored. Where it came later, this
    // one was pending, and is given up with a marker of its own.
    let first = taken.iter().min().copied().unwrap_or(0);
    let is_old = lanes().any(|lane| {
        let mut barriers = lane.barriers();
        barriers.any(|(newer, sent)| {
            newer.id > checkpoint && sent.taken.is_some_and(|taken| taken < first)
        })
    });
    // With all inputs there, the subtask must have passed something on.
    if ended || is_old || !all_after || taken.len() < plan.inputs.len() {
        return None;
    }
    let marker = StreamEvent::CancelCheckpoint(checkpoint);
    for channel in plan.outputs.iter().flat_map(|output| &output.channels) {
        let lane = history.lane_at(*channel, at);
        if lane.is_none_or(|lane| lane.sent_event(marker).is_none()) {
            let name = history.plan.channel_name(*channel);
            let text = format!("no cancel marker of {checkpoint} goes out on {name}");
            return Some(violation(17, at, text));
        }
    }
    None
}

/// Breaks if an alignment is forgotten: an input of a job that has ended, or that stands, is still shut.
pub fn freed(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    if history.status != JobStatus::Finished {
        return found;
    }
    let end = history.events.len().saturating_sub(1);
    for lane in history.lanes.iter().filter(|lane| lane.died.is_none()) {
        let name = history.plan.channel_name(lane.channel);
        if lane.blocks.last().is_some_and(|block| block.to.is_none()) {
            found.push(violation(18, end, format!("{name} is shut at the end")));
        }
        let left = lane.records.iter().filter(|record| record.taken.is_none());
        let left = left.count();
        if left > 0 {
            let text = format!("{name} still holds {left} records at the end");
            found.push(violation(18, end, text));
        }
    }
    found
}
