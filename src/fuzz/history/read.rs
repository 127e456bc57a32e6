//! How each event changes what is known.

use std::collections::BTreeMap;

use super::lane::Taken;
use super::{Capture, History, Image, Lane, Restore, Story};
use crate::engine::event::{EventKind, SubtaskStatus};
use crate::model::key_group::{key_group, owner};
use crate::model::{ChannelId, CheckpointId, Decimal, Key, Origin, SplitId, SubtaskId, TimeWindow};

impl History<'_> {
    pub(super) fn apply(&mut self, at: usize, event: &EventKind) {
        match event {
            EventKind::Sent { .. }
            | EventKind::SentAhead { .. }
            | EventKind::Taken { .. }
            | EventKind::TakenAhead { .. }
            | EventKind::BarrierPromoted { .. }
            | EventKind::ChannelCleared { .. }
            | EventKind::InputBlocked { .. }
            | EventKind::InputUnblocked { .. } => self.apply_channel(at, event),
            EventKind::SourceAdvanced { .. }
            | EventKind::StateChanged { .. }
            | EventKind::WindowChanged { .. }
            | EventKind::WindowFired { .. }
            | EventKind::LateDropped { .. }
            | EventKind::EntriesChanged { .. }
            | EventKind::EntriesCleaned { .. }
            | EventKind::RuleSet { .. }
            | EventKind::Filtered { .. }
            | EventKind::Buffered { .. }
            | EventKind::BufferFlushed { .. }
            | EventKind::Collected { .. }
            | EventKind::SubtaskStatus { .. }
            | EventKind::Restored { .. } => self.apply_subtask(at, event),
            EventKind::JobStatus(status) => self.status = status.clone(),
            _ => self.apply_checkpoint(at, event),
        }
    }

    fn lane(&mut self, channel: ChannelId) -> &mut Lane {
        let index = *self.current[channel.index()].get_or_insert_with(|| {
            self.lanes.push(Lane::new(channel));
            self.lanes.len() - 1
        });
        &mut self.lanes[index]
    }

    fn end_lane(&mut self, channel: ChannelId, at: usize) {
        if let Some(index) = self.current[channel.index()].take() {
            self.lanes[index].died = Some(at);
        }
    }

    fn apply_channel(&mut self, at: usize, event: &EventKind) {
        match event {
            EventKind::Sent {
                channel, element, ..
            } => self.lane(*channel).send(element, at, None),
            EventKind::SentAhead {
                channel,
                element,
                place,
                ..
            } => self.lane(*channel).send(element, at, Some(*place as usize)),
            EventKind::Taken { channel } => self.take(*channel, 0, at),
            EventKind::TakenAhead { channel, place } => self.take(*channel, *place as usize, at),
            EventKind::BarrierPromoted {
                channel,
                checkpoint,
                place,
                ..
            } => {
                let is_there = self.lane(*channel).promote(*checkpoint, *place as usize);
                if !is_there {
                    let name = self.plan.channel_name(*channel);
                    let text = format!("barrier {checkpoint} moves up on {name}, but is not there");
                    self.violate(18, at, text);
                }
            }
            EventKind::ChannelCleared { channel } => self.end_lane(*channel, at),
            EventKind::InputBlocked {
                channel,
                checkpoint,
            } => self.block(*channel, *checkpoint, at),
            EventKind::InputUnblocked {
                channel,
                checkpoint,
            } => self.unblock(*channel, *checkpoint, at),
            _ => {}
        }
    }

    fn take(&mut self, channel: ChannelId, place: usize, at: usize) {
        let plan = self.plan;
        let to = plan.channel(channel).to;
        match self.lane(channel).take(place, at) {
            Taken::Record(record) => {
                self.settle(to, at);
                self.tasks[to.index()].taking = Some((at, record, 0));
            }
            Taken::Event(_) => {}
            Taken::Nothing => {
                let name = plan.channel_name(channel);
                self.violate(
                    18,
                    at,
                    format!("something was taken from {name}, which is empty"),
                );
            }
        }
    }

    /// The record that `subtask` took last must have had its one effect by now.
    fn settle(&mut self, subtask: SubtaskId, at: usize) {
        let plan = self.plan.subtask(subtask);
        let expected = usize::from(plan.operator.is_keyed() || plan.outputs.is_empty());
        if let Some((_, record, effects)) = self.tasks[subtask.index()].taking.take()
            && effects != expected
        {
            let name = self.plan.subtask_name(subtask);
            let origin = record.origin.offset;
            let text = format!("{name} took record {origin} and counted it {effects} times");
            self.violate(18, at, text);
        }
    }

    fn block(&mut self, channel: ChannelId, checkpoint: CheckpointId, at: usize) {
        let lane = self.lane(channel);
        let is_shut = lane.blocks.last().is_some_and(|block| block.to.is_none());
        lane.blocks.push(super::Block {
            checkpoint,
            from: at,
            to: None,
        });
        if is_shut {
            let name = self.plan.channel_name(channel);
            self.violate(18, at, format!("{name} is shut twice"));
        }
    }

    fn unblock(&mut self, channel: ChannelId, checkpoint: CheckpointId, at: usize) {
        let lane = self.lane(channel);
        match lane.blocks.last_mut() {
            Some(block) if block.to.is_none() && block.checkpoint == checkpoint => {
                block.to = Some(at);
            }
            _ => {
                let name = self.plan.channel_name(channel);
                let text = format!("{name} is opened for {checkpoint}, but was not shut for it");
                self.violate(18, at, text);
            }
        }
    }

    fn apply_subtask(&mut self, at: usize, event: &EventKind) {
        match event {
            EventKind::SourceAdvanced {
                subtask,
                split,
                offset,
            } => self.advance(at, *subtask, (*split, *offset)),
            EventKind::StateChanged {
                subtask,
                key,
                value,
                origin,
            } => {
                self.effect(at, *subtask, *origin);
                self.count(at, *subtask, (None, key), (*value, *origin));
            }
            EventKind::WindowChanged {
                subtask,
                key,
                window,
                value,
                origin,
            } => {
                self.effect(at, *subtask, *origin);
                self.count(at, *subtask, (Some(*window), key), (*value, *origin));
            }
            EventKind::WindowFired {
                subtask,
                key,
                window,
                value,
            } => self.fire(at, *subtask, &(Some(*window), key.clone()), *value),
            EventKind::LateDropped { subtask, record } => {
                self.effect(at, *subtask, record.origin);
                self.tasks[subtask.index()].image.seen.push(record.origin);
            }
            EventKind::Collected {
                subtask, record, ..
            } => self.collect(at, *subtask, record),
            EventKind::EntriesChanged { .. }
            | EventKind::EntriesCleaned { .. }
            | EventKind::RuleSet { .. }
            | EventKind::Filtered { .. }
            | EventKind::Buffered { .. }
            | EventKind::BufferFlushed { .. } => self.apply_state(at, event),
            EventKind::SubtaskStatus { subtask, status } => self.set_status(at, *subtask, *status),
            EventKind::Restored {
                subtask,
                from,
                offsets,
                state,
                windows,
                entries,
                listed,
            } => {
                let got = Image {
                    entries: entries.iter().cloned().collect(),
                    listed: listed.clone(),
                    ..image(offsets, state, windows)
                };
                self.restore(at, (*subtask, *from), got);
            }
            _ => {}
        }
    }

    fn advance(&mut self, at: usize, subtask: SubtaskId, (split, offset): (SplitId, u64)) {
        let known = self.tasks[subtask.index()].image.offsets.entry(split);
        let known = known.or_insert(0);
        if *known + 1 != offset {
            let text = format!("split {split} goes from {known} to {offset}");
            self.violate(18, at, text);
            return;
        }
        *known = offset;
    }

    /// Something was done with the record `origin`: it must be the one that was taken last.
    pub(super) fn effect(&mut self, at: usize, subtask: SubtaskId, origin: Origin) {
        let task = &mut self.tasks[subtask.index()];
        if let Some((_, record, effects)) = &mut task.taking
            && record.origin == origin
        {
            *effects += 1;
            return;
        }
        let name = self.plan.subtask_name(subtask);
        let text = format!(
            "{name} counts record {}, but did not take it",
            origin.offset
        );
        self.violate(1, at, text);
    }

    fn count(
        &mut self,
        at: usize,
        subtask: SubtaskId,
        (window, key): (Option<TimeWindow>, &Key),
        (value, origin): (Decimal, Origin),
    ) {
        let plan = self.plan.subtask(subtask);
        let group = key_group(key, plan.max_parallelism);
        let wanted = owner(group, plan.parallelism, plan.max_parallelism);
        if wanted != plan.index {
            let name = self.plan.subtask_name(subtask);
            let text = format!("{name} counts key {key}, which belongs to subtask {wanted}");
            self.violate(28, at, text);
        }
        let task = &mut self.tasks[subtask.index()];
        task.image.seen.push(origin);
        let cell = task.image.cells.entry((window, key.clone()));
        let before = cell.or_insert(Decimal::ZERO);
        let added = task.taking.as_ref().map(|(_, record, _)| record.value);
        let is_sum = *before + added.unwrap_or_default() == value;
        let is_count = window.is_some() && *before + Decimal::ONE == value;
        if !is_sum && !is_count {
            let name = self.plan.subtask_name(subtask);
            let text = format!("{name} had {before} for key {key}, and comes to {value}");
            self.violate(10, at, text);
        }
        let cell = (window, key.clone());
        self.tasks[subtask.index()].image.cells.insert(cell, value);
    }

    fn fire(&mut self, at: usize, subtask: SubtaskId, cell: &super::Cell, value: Decimal) {
        let held = self.tasks[subtask.index()].image.cells.remove(cell);
        if held != Some(value) {
            let name = self.plan.subtask_name(subtask);
            let text = format!(
                "a window of key {} at {name} fires with {value}, but held {held:?}",
                cell.1
            );
            self.violate(31, at, text);
        }
    }

    fn set_status(&mut self, at: usize, subtask: SubtaskId, status: SubtaskStatus) {
        use SubtaskStatus::{Canceled, EndOfData, Failed, Finished, Initializing, Running};
        match status {
            Failed | Canceled | Initializing => {
                self.tasks[subtask.index()].taking = None;
                self.tasks[subtask.index()].flushing.clear();
                let plan = self.plan;
                let ends = |id: &ChannelId| {
                    let channel = plan.channel(*id);
                    channel.from == subtask || channel.to == subtask
                };
                let channels = plan.channels.iter().map(|channel| channel.id);
                for channel in channels.filter(ends) {
                    self.end_lane(channel, at);
                }
            }
            EndOfData => self.settle(subtask, at),
            Finished => {
                let task = &mut self.tasks[subtask.index()];
                task.at_finish = task.image.clone();
            }
            Running => {}
        }
        self.tasks[subtask.index()].status = status;
    }

    fn restore(
        &mut self,
        at: usize,
        (subtask, from): (SubtaskId, Option<CheckpointId>),
        got: Image,
    ) {
        let mut expected = None;
        let mut image = got.clone();
        match from.map(|id| self.checkpoints.get(&id)) {
            None => expected = Some(self.fresh(subtask)),
            Some(Some(story)) => {
                if let Some(old) = story.at_finish.get(&subtask) {
                    image = old.clone();
                } else if let Some(capture) = story.captures.get(&subtask) {
                    let captured = self.captures[*capture].image.clone();
                    image.seen.clone_from(&captured.seen);
                    expected = Some(captured);
                }
            }
            Some(None) => image = self.begun_from((subtask, from), got.clone()),
        }
        self.tasks[subtask.index()].image = image;
        self.restores.push(Restore {
            at,
            subtask,
            from,
            got,
            expected,
        });
    }

    /// What it begins with of an earlier run's snapshot. Whose records were counted there is kept with the operator's
    /// first subtask: all of them begin again together.
    fn begun_from(&self, (subtask, from): (SubtaskId, Option<CheckpointId>), got: Image) -> Image {
        let plan = self.plan.subtask(subtask);
        let baseline = self
            .baseline
            .as_ref()
            .filter(|b| Some(b.checkpoint) == from);
        let old = baseline.and_then(|baseline| baseline.images.get(&plan.uid));
        let seen = old.filter(|_| plan.index == 0).map(|old| old.seen.clone());
        Image {
            seen: seen.unwrap_or_default(),
            ..got
        }
    }

    /// What `subtask` begins with where there is no checkpoint.
    fn fresh(&self, subtask: SubtaskId) -> Image {
        let plan = self.plan.subtask(subtask);
        let own = |index: u32| index % plan.parallelism == plan.index;
        let splits = self.plan.splits_of(&plan.uid);
        Image {
            offsets: splits
                .filter(|split| own(split.index))
                .map(|split| (split.id, 0))
                .collect(),
            ..Image::default()
        }
    }

    fn apply_checkpoint(&mut self, at: usize, event: &EventKind) {
        match event {
            EventKind::Triggered {
                checkpoint,
                kind,
                must_ack,
                finished,
            } => {
                let image = |id: &SubtaskId| (*id, self.tasks[id.index()].at_finish.clone());
                let story = Story {
                    triggered: at,
                    kind: *kind,
                    must_ack: must_ack.clone(),
                    finished: finished.clone(),
                    acks: BTreeMap::new(),
                    completed: None,
                    aborted: None,
                    captures: BTreeMap::new(),
                    persisted: BTreeMap::new(),
                    at_finish: finished.iter().map(image).collect(),
                };
                if self.checkpoints.insert(*checkpoint, story).is_some() {
                    self.violate(11, at, format!("checkpoint {checkpoint} is begun twice"));
                }
            }
            EventKind::SnapshotStarted {
                subtask,
                checkpoint,
                ..
            } => self.capture(at, *subtask, *checkpoint),
            EventKind::InFlightPersisted {
                checkpoint,
                channel,
                records,
                ..
            } => {
                if let Some(story) = self.checkpoints.get_mut(checkpoint) {
                    let list = story.persisted.entry(*channel).or_default();
                    list.extend(records.iter().cloned());
                }
            }
            EventKind::Acknowledged {
                subtask,
                checkpoint,
            } => {
                if let Some(story) = self.checkpoints.get_mut(checkpoint) {
                    story.acks.insert(*subtask, at);
                }
            }
            EventKind::Completed { checkpoint } => self.decide(at, *checkpoint, |story| {
                story.completed = Some(at);
            }),
            EventKind::Aborted { checkpoint, reason } => self.decide(at, *checkpoint, |story| {
                story.aborted = Some((at, *reason));
            }),
            _ => {}
        }
    }

    fn capture(&mut self, at: usize, subtask: SubtaskId, checkpoint: CheckpointId) {
        self.settle(subtask, at);
        let kind = self.checkpoints.get(&checkpoint).map(|story| story.kind);
        let capture = Capture {
            at,
            subtask,
            checkpoint,
            image: self.written_image(at, subtask, kind),
        };
        let index = self.captures.len();
        self.captures.push(capture);
        let name = self.plan.subtask_name(subtask);
        let Some(story) = self.checkpoints.get_mut(&checkpoint) else {
            let text = format!("{name} takes a snapshot of {checkpoint}, which nobody began");
            return self.violate(11, at, text);
        };
        if story.captures.insert(subtask, index).is_some() {
            let text = format!("{name} takes two snapshots of checkpoint {checkpoint}");
            self.violate(5, at, text);
        }
    }

    fn decide(&mut self, at: usize, checkpoint: CheckpointId, set: impl FnOnce(&mut Story)) {
        let Some(story) = self.checkpoints.get_mut(&checkpoint) else {
            let text = format!("checkpoint {checkpoint} is decided, but was never begun");
            return self.violate(12, at, text);
        };
        if story.decided().is_some() {
            let text = format!("checkpoint {checkpoint} is decided twice");
            return self.violate(12, at, text);
        }
        set(story);
    }
}

fn image(
    offsets: &[(SplitId, u64)],
    state: &[(Key, Decimal)],
    windows: &[(TimeWindow, Key, Decimal)],
) -> Image {
    let sums = state
        .iter()
        .map(|(key, value)| ((None, key.clone()), *value));
    let windows = windows
        .iter()
        .map(|(window, key, value)| ((Some(*window), key.clone()), *value));
    Image {
        offsets: offsets.iter().copied().collect(),
        cells: sums.chain(windows).collect(),
        ..Image::default()
    }
}
