//! Which part of a checkpoint each subtask of a job begins with, when the job may have changed since
//! (Flink: `StateAssignmentOperation`).
//!
//! Operators are found again by their ids. What was written by the old subtasks of an operator is dealt out to the new
//! ones: key groups to their owners, lists as their distribution says, records in flight to those who may own them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::event::ChannelSide;
use crate::engine::in_flight;
use crate::engine::operator::Source;
use crate::engine::plan::{ChannelPlan, EdgePlan, ExecutionGraph, SubtaskPlan, to_u32};
use crate::engine::state::redistribute::{self, SubtaskMapper};
use crate::engine::storage::{
    ChannelState, CheckpointMetadata, CheckpointStorage, KeyedStateHandle, ListState,
    OperatorState, StreamHandle, SubtaskState,
};
use crate::model::key_group::{key_group, owner};
use crate::model::{OperatorId, Partitioning, Record, SplitId};

use in_flight::InFlight;

/// What one subtask begins with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assigned {
    /// It has nothing left to do.
    pub finished: bool,
    pub lists: Vec<ListState>,
    /// All that hold any of the operator's key groups: the backend takes those that the subtask owns.
    pub keyed: Vec<KeyedStateHandle>,
    /// What the splits of the job that wrote it are called now.
    pub splits: Arc<BTreeMap<SplitId, SplitId>>,
}

/// By subtask; none for one of an operator that is not in the checkpoint, and begins empty.
#[must_use]
pub fn assign(plan: &ExecutionGraph, metadata: &CheckpointMetadata) -> Vec<Option<Assigned>> {
    let splits = Arc::new(new_splits(plan, metadata));
    let mut lists = BTreeMap::new();
    let assigned = plan.subtasks.iter().map(|subtask| {
        let operator = metadata.operator(subtask.operator_id)?;
        let lists: &mut Vec<Vec<ListState>> = lists
            .entry(subtask.operator_id)
            .or_insert_with(|| lists_of(operator, subtask.parallelism));
        let keyed = operator.subtasks.iter();
        Some(Assigned {
            finished: is_finished(operator, subtask),
            lists: std::mem::take(lists.get_mut(subtask.index as usize)?),
            keyed: keyed.filter_map(|old| old.keyed.clone()).collect(),
            splits: splits.clone(),
        })
    });
    assigned.collect()
}

fn lists_of(operator: &OperatorState, parallelism: u32) -> Vec<Vec<ListState>> {
    let old: Vec<Vec<ListState>> = operator
        .subtasks
        .iter()
        .map(|subtask| subtask.lists.clone())
        .collect();
    redistribute::lists(&old, parallelism)
}

/// With another parallelism nobody knows whose part is still to be done, unless it is nobody's.
fn is_finished(operator: &OperatorState, subtask: &SubtaskPlan) -> bool {
    if operator.parallelism == subtask.parallelism {
        let old = operator.subtasks.get(subtask.index as usize);
        old.is_some_and(|old| old.finished)
    } else {
        operator.is_fully_finished()
    }
}

/// The records that were under way, by the channels of the new job and the ends at which they go on: each once.
///
/// # Errors
/// A sentence: a stream is damaged, or the key has changed by which records found their receiver.
pub fn in_flight(
    plan: &ExecutionGraph,
    metadata: &CheckpointMetadata,
    storage: &dyn CheckpointStorage,
) -> Result<Vec<InFlight>, String> {
    if !metadata.has_in_flight() {
        return Ok(Vec::new());
    }
    let old = OldChannels::read(plan, metadata, storage)?;
    let splits = new_splits(plan, metadata);
    let mut found = Vec::new();
    for channel in &plan.channels {
        for side in [ChannelSide::Output, ChannelSide::Input] {
            let records = old.records(plan, channel, side).into_iter().flatten();
            let owned = records.filter(|record| is_owned(plan, channel, record));
            let mut records: Vec<Record> = owned.cloned().collect();
            for record in &mut records {
                if let Some(split) = splits.get(&record.origin.split) {
                    record.origin.split = *split;
                }
            }
            if !records.is_empty() {
                found.push(InFlight {
                    channel: channel.id,
                    side,
                    place: place_of(plan, channel, side),
                    records,
                });
            }
        }
    }
    check_each_once(plan, &old, &found)?;
    Ok(found)
}

/// What was in an edge goes on in it. Where a record reaches no subtask that owns its key (or has none, and reaches
/// several), Flink would drop or double it without a word (`RecordFilter`).
fn check_each_once(
    plan: &ExecutionGraph,
    old: &OldChannels,
    found: &[InFlight],
) -> Result<(), String> {
    for edge in 0..plan.edges.len() {
        let in_edge = |it: &&InFlight| plan.channel(it.channel).edge == edge;
        let now: usize = found
            .iter()
            .filter(in_edge)
            .map(|it| it.records.len())
            .sum();
        let before = old.count(numbered_edge(plan, edge));
        if now != before {
            let channel = plan.channels.iter().find(|channel| channel.edge == edge);
            let name = channel.map_or("?", |channel| &*plan.subtask(channel.to).name);
            return Err(format!(
                "The checkpoint is unaligned and holds {before} records in flight to {name}, and the key by which they \
                 find their subtask is another one now: {now} of them would go on. Make it the old one again, or start \
                 from a savepoint, which is always aligned."
            ));
        }
    }
    Ok(())
}

fn read(stream: &StreamHandle, storage: &dyn CheckpointStorage) -> Result<Vec<Record>, String> {
    let bytes = storage
        .read_stream(stream)
        .map_err(|error| error.to_string())?;
    in_flight::decode(&bytes).map_err(|reason| {
        format!(
            "The records in flight in the checkpoint cannot be read: {reason}. Take another checkpoint or savepoint."
        )
    })
}

fn place_of(plan: &ExecutionGraph, channel: &ChannelPlan, side: ChannelSide) -> u32 {
    match side {
        ChannelSide::Input => to_u32(channel.input),
        ChannelSide::Output => {
            let outputs = &plan.subtask(channel.from).outputs;
            let mut channels = outputs.iter().flat_map(|output| &output.channels);
            let place = channels.position(|id| *id == channel.id);
            to_u32(place.unwrap_or_default())
        }
    }
}

/// Whether the receiver owns the record's key, where it matters: several may have got the same part.
fn is_owned(plan: &ExecutionGraph, channel: &ChannelPlan, record: &Record) -> bool {
    let mut outputs = plan.subtask(channel.from).outputs.iter();
    let Some(output) = outputs.find(|output| output.channels.contains(&channel.id)) else {
        return true;
    };
    if output.partitioning != Partitioning::Hash {
        return true;
    }
    let receiver = plan.subtask(channel.to);
    let max = output.max_parallelism;
    match output.key.key_of(record) {
        Some(key) => owner(key_group(&key, max), receiver.parallelism, max) == receiver.index,
        // It fails where it would have failed before.
        None => true,
    }
}

/// An edge from one operator to another, and which of those between the same two.
type NumberedEdge = (OperatorId, OperatorId, usize);

/// Which edge; and from which subtask to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    edge: NumberedEdge,
    sender: u32,
    receiver: u32,
}

/// The channels of the job that wrote the checkpoint, with the records that were in them, as far as their edges are in
/// the new job.
struct OldChannels {
    parallelism: BTreeMap<OperatorId, u32>,
    records: BTreeMap<(Place, bool), Vec<Record>>,
}

impl OldChannels {
    fn read(
        plan: &ExecutionGraph,
        metadata: &CheckpointMetadata,
        storage: &dyn CheckpointStorage,
    ) -> Result<Self, String> {
        let parallelism: BTreeMap<_, _> = metadata
            .operators
            .iter()
            .map(|operator| (operator.id, operator.parallelism))
            .collect();
        let here: BTreeSet<NumberedEdge> = (0..plan.edges.len())
            .map(|edge| numbered_edge(plan, edge))
            .collect();
        let mut records = BTreeMap::new();
        for operator in &metadata.operators {
            for (subtask, index) in operator.subtasks.iter().zip(0..) {
                let (inputs, outputs) = places(&metadata.edges, &parallelism, operator.id, index);
                for ChannelState {
                    side,
                    place,
                    stream,
                } in &subtask.channels
                {
                    let is_input = *side == ChannelSide::Input;
                    let places = if is_input { &inputs } else { &outputs };
                    let place = places.get(*place as usize);
                    if let Some(place) = place.filter(|place| here.contains(&place.edge)) {
                        records.insert((*place, is_input), read(stream, storage)?);
                    }
                }
            }
        }
        Ok(Self {
            parallelism,
            records,
        })
    }

    /// How many were in this edge.
    fn count(&self, edge: NumberedEdge) -> usize {
        let all = self.records.iter();
        let own = all.filter(|((place, _), _)| place.edge == edge);
        own.map(|(_, records)| records.len()).sum()
    }

    /// What may go on in `channel` of the new job, in the order of the old senders.
    fn records(
        &self,
        plan: &ExecutionGraph,
        channel: &ChannelPlan,
        side: ChannelSide,
    ) -> Vec<&[Record]> {
        let (from, to) = (plan.subtask(channel.from), plan.subtask(channel.to));
        let edge = numbered_edge(plan, channel.edge);
        let old = |id| self.parallelism.get(id).copied().unwrap_or(0);
        let mapper = SubtaskMapper::downstream(plan.edges[channel.edge].partitioning);
        let senders = old_subtasks(Some(SubtaskMapper::UPSTREAM), from, old(&from.operator_id));
        let receivers = old_subtasks(mapper, to, old(&to.operator_id));
        let pairs = senders
            .iter()
            .flat_map(|sender| receivers.iter().map(move |receiver| (*sender, *receiver)));
        let places = pairs.map(|(sender, receiver)| Place {
            edge,
            sender,
            receiver,
        });
        let is_input = side == ChannelSide::Input;
        places
            .filter_map(|place| self.records.get(&(place, is_input)).map(Vec::as_slice))
            .collect()
    }
}

/// Where nothing has changed, every subtask gets its own.
fn old_subtasks(mapper: Option<SubtaskMapper>, new: &SubtaskPlan, old: u32) -> Vec<u32> {
    match mapper {
        Some(mapper) if old != new.parallelism => {
            mapper.old_subtasks(new.index, old, new.parallelism)
        }
        _ => vec![new.index],
    }
}

/// What the inputs and outputs of subtask `index` of an old operator were, in their order there.
fn places(
    edges: &[EdgePlan],
    parallelism: &BTreeMap<OperatorId, u32>,
    operator: OperatorId,
    index: u32,
) -> (Vec<Place>, Vec<Place>) {
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for (position, edge) in edges.iter().enumerate() {
        let id = (edge.from, edge.to, number_of(edges, position));
        let reached = |other: &OperatorId| -> Vec<u32> {
            let count = parallelism.get(other).copied().unwrap_or(0);
            match edge.partitioning {
                Partitioning::Forward => (0..count).filter(|other| *other == index).collect(),
                _ => (0..count).collect(),
            }
        };
        let place = |sender, receiver| Place {
            edge: id,
            sender,
            receiver,
        };
        if edge.to == operator {
            let senders = reached(&edge.from).into_iter();
            inputs.extend(senders.map(|sender| place(sender, index)));
        }
        if edge.from == operator {
            let receivers = reached(&edge.to).into_iter();
            outputs.extend(receivers.map(|receiver| place(index, receiver)));
        }
    }
    (inputs, outputs)
}

/// How many edges between the same two operators come before this one.
pub(super) fn number_of(edges: &[EdgePlan], position: usize) -> usize {
    let same = |edge: &&EdgePlan| {
        let this = &edges[position];
        (edge.from, edge.to) == (this.from, this.to)
    };
    edges[..position].iter().filter(same).count()
}

fn numbered_edge(plan: &ExecutionGraph, position: usize) -> NumberedEdge {
    let edge = &plan.edges[position];
    (edge.from, edge.to, number_of(&plan.edges, position))
}

/// Records say from which split they are, by the number that it has among those of all sources. Those are others when
/// a source came or went.
fn new_splits(plan: &ExecutionGraph, metadata: &CheckpointMetadata) -> BTreeMap<SplitId, SplitId> {
    let mut renamed = BTreeMap::new();
    let mut next = 0;
    for operator in &metadata.operators {
        let uid = plan
            .subtasks
            .iter()
            .find(|subtask| subtask.operator_id == operator.id)
            .map(|subtask| &subtask.uid);
        // A source that had finished does not say how many it had: as many as now.
        let now = || uid.map_or(0, |uid| plan.splits_of(uid).count());
        let count = split_count(operator).unwrap_or_else(|| to_u32(now()));
        for split in uid.into_iter().flat_map(|uid| plan.splits_of(uid)) {
            renamed.insert(SplitId(next + split.index), split.id);
        }
        next += count;
    }
    renamed
}

/// How many splits a source had; none: it is no source, or had finished.
pub(super) fn split_count(operator: &OperatorState) -> Option<u32> {
    let lists = operator.subtasks.iter().flat_map(|subtask: &SubtaskState| {
        let lists = subtask.lists.iter();
        lists.filter(|list| list.name == Source::LIST)
    });
    let mut elements = lists.flat_map(|list| &list.elements);
    elements.find_map(|element| Source::read_count(element))
}
