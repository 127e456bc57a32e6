//! JobGraph → `ExecutionGraph`: operators become subtasks, edges become channels.
//!
//! Both are numbered densely and in the graph's order, so that every later part of the engine indexes plain
//! vectors and the same job always gets the same numbers.

use std::ops::RangeInclusive;

use super::gate::GateConfig;
use crate::model::key_group::key_group_range;
use crate::model::{
    ChannelId, Edge, JobGraph, KeyExpr, OperatorId, OperatorSpec, Partitioning, SplitId, SubtaskId,
    Uid, operator_ids,
};

/// All subtasks and channels of a job (Flink: `ExecutionGraph`).
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionGraph {
    pub subtasks: Vec<SubtaskPlan>,
    pub channels: Vec<ChannelPlan>,
    /// The splits of all sources, each source's together.
    pub splits: Vec<SplitPlan>,
    /// The edges of [`JobGraph::edges`] between operators that exist, in the same order.
    pub edges: Vec<EdgePlan>,
}

/// One edge of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgePlan {
    pub from: OperatorId,
    pub to: OperatorId,
    pub partitioning: Partitioning,
}

/// One part of a source's records, read in order by one subtask at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitPlan {
    pub id: SplitId,
    pub uid: Uid,
    pub name: String,
    /// From 0, among the source's `count` splits.
    pub index: u32,
    pub count: u32,
}

/// One parallel instance of an operator.
#[derive(Clone, Debug, PartialEq)]
pub struct SubtaskPlan {
    pub id: SubtaskId,
    pub uid: Uid,
    /// By which its state in a checkpoint is found.
    pub operator_id: OperatorId,
    /// Whether that follows from the uid, or from where the operator stands in the graph.
    pub has_explicit_uid: bool,
    pub name: String,
    /// From 0; people see `index + 1`/`parallelism`.
    pub index: u32,
    pub parallelism: u32,
    pub max_parallelism: u32,
    pub key_groups: RangeInclusive<u32>,
    pub operator: OperatorSpec,
    /// The channels that arrive here; a channel's place in this list is its input number.
    pub inputs: Vec<ChannelId>,
    /// One entry per outgoing edge.
    pub outputs: Vec<OutputPlan>,
    pub gate: GateConfig,
}

/// The channels of one outgoing edge, in the order of the receiver's subtasks.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputPlan {
    pub partitioning: Partitioning,
    pub channels: Vec<ChannelId>,
    /// How a hash edge finds a record's key: as its receiver does.
    pub key: KeyExpr,
    /// Of the receiver, for a hash edge.
    pub max_parallelism: u32,
    /// Barriers cannot overtake records here: at the receiver the records of all inputs belong together by their place
    /// (Flink: `StreamEdge.supportsUnalignedCheckpoints`). So it is on forward and broadcast edges, and on all edges to
    /// an operator that has such an input.
    pub is_forced_aligned: bool,
}

/// One FIFO connection between two subtasks.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelPlan {
    pub id: ChannelId,
    pub from: SubtaskId,
    pub to: SubtaskId,
    /// Index of the edge in [`JobGraph::edges`].
    pub edge: usize,
    /// Which input of the receiver this is.
    pub input: usize,
}

impl ExecutionGraph {
    /// The subtasks and channels of a valid job. Edges to operators that do not exist are left out.
    #[must_use]
    pub fn of(job: &JobGraph) -> Self {
        let mut graph = Self {
            subtasks: Vec::new(),
            channels: Vec::new(),
            splits: Vec::new(),
            edges: Vec::new(),
        };
        let operator_ids = operator_ids(job);
        for (vertex, operator_id) in job.vertices.iter().zip(&operator_ids) {
            let max_parallelism = vertex.effective_max_parallelism();
            for index in 0..vertex.parallelism {
                graph.subtasks.push(SubtaskPlan {
                    id: SubtaskId(to_u32(graph.subtasks.len())),
                    uid: vertex.uid.clone(),
                    operator_id: *operator_id,
                    has_explicit_uid: vertex.has_explicit_uid,
                    name: vertex.name.clone(),
                    index,
                    parallelism: vertex.parallelism,
                    max_parallelism,
                    key_groups: key_group_range(index, vertex.parallelism, max_parallelism),
                    operator: vertex.operator.clone(),
                    inputs: Vec::new(),
                    outputs: Vec::new(),
                    gate: GateConfig::of(&job.config.checkpointing),
                });
            }
            if let OperatorSpec::Source(spec) = &vertex.operator {
                let count = spec.splits.unwrap_or(vertex.parallelism);
                graph.splits.extend((0..count).map(|index| SplitPlan {
                    id: SplitId(0),
                    uid: vertex.uid.clone(),
                    name: vertex.name.clone(),
                    index,
                    count,
                }));
            }
        }
        for (id, split) in (0..).zip(&mut graph.splits) {
            split.id = SplitId(id);
        }
        for index in 0..job.edges.len() {
            graph.connect(job, index);
        }
        let id_of = |uid: &Uid| {
            let vertices = job.vertices.iter().zip(&operator_ids);
            let mut found = vertices.filter(|(vertex, _)| vertex.uid == *uid);
            found.next().map(|(_, id)| *id)
        };
        graph.edges = job
            .edges
            .iter()
            .filter_map(|edge| {
                Some(EdgePlan {
                    from: id_of(&edge.from)?,
                    to: id_of(&edge.to)?,
                    partitioning: edge.partitioning,
                })
            })
            .collect();
        graph
    }

    fn connect(&mut self, job: &JobGraph, edge_index: usize) {
        let edge = &job.edges[edge_index];
        let (senders, receivers) = (self.subtasks_of(&edge.from), self.subtasks_of(&edge.to));
        let Some(target) = job.vertex(&edge.to) else {
            return;
        };
        let key = target.operator.key().cloned().unwrap_or(KeyExpr::Column);
        let keeps_order = |edge: &Edge| {
            matches!(
                edge.partitioning,
                Partitioning::Forward | Partitioning::Broadcast
            )
        };
        let is_forced_aligned = job.inputs_of(&edge.to).any(keeps_order);
        for (position, from) in senders.iter().enumerate() {
            let reached = match edge.partitioning {
                Partitioning::Forward => receivers.get(position..=position).unwrap_or_default(),
                _ => &receivers[..],
            };
            let channels = reached
                .iter()
                .map(|to| self.add_channel(*from, *to, edge_index))
                .collect();
            self.subtasks[from.index()].outputs.push(OutputPlan {
                partitioning: edge.partitioning,
                channels,
                key: key.clone(),
                max_parallelism: target.effective_max_parallelism(),
                is_forced_aligned,
            });
        }
    }

    fn add_channel(&mut self, from: SubtaskId, to: SubtaskId, edge: usize) -> ChannelId {
        let id = ChannelId(to_u32(self.channels.len()));
        let inputs = &mut self.subtasks[to.index()].inputs;
        self.channels.push(ChannelPlan {
            id,
            from,
            to,
            edge,
            input: inputs.len(),
        });
        inputs.push(id);
        id
    }

    /// The subtasks of operator `uid`, by index.
    #[must_use]
    pub fn subtasks_of(&self, uid: &Uid) -> Vec<SubtaskId> {
        self.subtasks
            .iter()
            .filter(|subtask| subtask.uid == *uid)
            .map(|subtask| subtask.id)
            .collect()
    }

    /// Subtask `index` (from 0) of operator `uid`.
    ///
    /// # Errors
    /// There is none; as a sentence.
    pub fn find_subtask(&self, uid: &Uid, index: u32) -> Result<SubtaskId, String> {
        let id = self.subtasks_of(uid).get(index as usize).copied();
        id.ok_or_else(|| format!("This job has no subtask {} of {uid}.", index + 1))
    }

    /// All subtasks that are connected with `id` by channels, itself included, in order: what fails with it (Flink:
    /// the pipelined region).
    #[must_use]
    pub fn region_of(&self, id: SubtaskId) -> Vec<SubtaskId> {
        let mut is_in = vec![false; self.subtasks.len()];
        let mut found = vec![id];
        is_in[id.index()] = true;
        let mut next = 0;
        while let Some(subtask) = found.get(next).copied() {
            next += 1;
            let plan = self.subtask(subtask);
            let senders = plan.inputs.iter().map(|input| self.channel(*input).from);
            let outputs = plan.outputs.iter().flat_map(|output| &output.channels);
            let receivers = outputs.map(|output| self.channel(*output).to);
            for neighbour in senders.chain(receivers) {
                if !std::mem::replace(&mut is_in[neighbour.index()], true) {
                    found.push(neighbour);
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// What runs on `TaskManager` number `index` (from 0): its slots hold the subtasks of the same index of every operator.
    #[must_use]
    pub fn subtasks_on(&self, index: u32, slots_per_task_manager: u32) -> Vec<SubtaskId> {
        let slots = slots_per_task_manager.max(1);
        let on_it = |subtask: &&SubtaskPlan| subtask.index / slots == index;
        let subtasks = self.subtasks.iter().filter(on_it);
        subtasks.map(|subtask| subtask.id).collect()
    }

    /// How many `TaskManager`s the job takes.
    #[must_use]
    pub fn task_managers(&self, slots_per_task_manager: u32) -> u32 {
        let slots = self
            .subtasks
            .iter()
            .map(|subtask| subtask.parallelism)
            .max();
        slots.unwrap_or(0).div_ceil(slots_per_task_manager.max(1))
    }

    /// The splits of source `uid`, by index.
    pub fn splits_of<'a>(&'a self, uid: &'a Uid) -> impl Iterator<Item = &'a SplitPlan> {
        self.splits.iter().filter(move |split| split.uid == *uid)
    }

    #[must_use]
    pub fn split(&self, id: SplitId) -> &SplitPlan {
        &self.splits[id.index()]
    }

    /// How a person calls this split: `numbers 1/1`, as its subtask where each subtask has one.
    #[must_use]
    pub fn split_name(&self, id: SplitId) -> String {
        let split = self.split(id);
        format!("{} {}/{}", split.name, split.index + 1, split.count)
    }

    #[must_use]
    pub fn subtask(&self, id: SubtaskId) -> &SubtaskPlan {
        &self.subtasks[id.index()]
    }

    #[must_use]
    pub fn channel(&self, id: ChannelId) -> &ChannelPlan {
        &self.channels[id.index()]
    }

    /// How a person calls this subtask: `sum 1/2`.
    #[must_use]
    pub fn subtask_name(&self, id: SubtaskId) -> String {
        let subtask = self.subtask(id);
        format!(
            "{} {}/{}",
            subtask.name,
            subtask.index + 1,
            subtask.parallelism
        )
    }

    /// How a person calls this channel: `numbers 1/1 → sum 1/2`.
    #[must_use]
    pub fn channel_name(&self, id: ChannelId) -> String {
        let channel = self.channel(id);
        format!(
            "{} → {}",
            self.subtask_name(channel.from),
            self.subtask_name(channel.to)
        )
    }
}

/// Validation bounds subtasks and channels far below `u32::MAX`.
pub(crate) fn to_u32(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
