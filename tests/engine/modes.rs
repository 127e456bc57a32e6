//! How checkpoints may be taken, for tests that are about all of the ways.

use std::collections::BTreeMap;

use lockgate::engine::in_flight;
use lockgate::engine::storage::CheckpointMetadata;
use lockgate::model::{
    CheckpointId, CheckpointMode, Edge, JobGraph, Origin, Partitioning, Record, SubtaskId, Uid,
};
use lockgate::recording::View;
use lockgate::recording::view::{CheckpointStatus, CheckpointView};
use proptest::prelude::*;

use crate::rig::{Rig, Source, sum_job};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Aligned,
    AtLeastOnce,
    Unaligned,
    /// Unaligned after so many milliseconds.
    Timeout(u64),
    StopTheWorld,
}

impl Mode {
    pub fn set(self, job: &mut JobGraph) {
        let config = &mut job.config.checkpointing;
        config.mode = match self {
            Self::AtLeastOnce => CheckpointMode::AtLeastOnce,
            Self::StopTheWorld => CheckpointMode::StopTheWorld,
            _ => CheckpointMode::ExactlyOnce,
        };
        config.unaligned = matches!(self, Self::Unaligned | Self::Timeout(_));
        config.aligned_timeout_ms = match self {
            Self::Timeout(timeout_ms) => timeout_ms,
            _ => 0,
        };
    }

    pub fn on(self, mut job: JobGraph) -> JobGraph {
        self.set(&mut job);
        job
    }
}

pub fn unaligned_mode() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::Unaligned), (1_u64..800).prop_map(Mode::Timeout)]
}

pub fn any_mode() -> impl Strategy<Value = Mode> {
    prop_oneof![
        1 => Just(Mode::Aligned),
        1 => Just(Mode::AtLeastOnce),
        3 => unaligned_mode(),
        1 => Just(Mode::StopTheWorld),
    ]
}

/// Two sums in a row: `s0`, `s1` … → `sum` → `again` → `out`.
pub fn chain_job(sources: &[Source], modulus: u32, parallelism: u32) -> JobGraph {
    let mut job = sum_job(sources, modulus, parallelism);
    let mut again = job.vertex(&Uid::new("sum")).unwrap().clone();
    again.uid = Uid::new("again");
    "again".clone_into(&mut again.name);
    job.vertices.push(again);
    for edge in &mut job.edges {
        if edge.from == Uid::new("sum") {
            edge.from = Uid::new("again");
        }
    }
    job.edges.push(Edge {
        from: Uid::new("sum"),
        to: Uid::new("again"),
        partitioning: Partitioning::Hash,
    });
    job
}

/// Fast sources, slow sums, short channels: much is under way at any time.
pub fn crowd(job: &mut JobGraph, process_us: u64, capacity: u32) {
    job.config.costs.process_us = process_us;
    job.config.channel_capacity = capacity;
}

/// The completed checkpoints, as the storage holds them. Look often: a job that has finished deletes them.
#[derive(Default)]
pub struct Stored {
    pub metadata: BTreeMap<CheckpointId, CheckpointMetadata>,
    pub in_flight: BTreeMap<CheckpointId, Vec<(SubtaskId, Record)>>,
}

impl Stored {
    pub fn look(&mut self, rig: &Rig) {
        let Some(latest) = rig.view().store.last().copied() else {
            return;
        };
        if self.metadata.contains_key(&latest) {
            return;
        }
        let metadata = rig.storage.read_metadata(latest).unwrap();
        let mut found = Vec::new();
        for operator in &metadata.operators {
            let ids = rig.recording.plan.subtasks_of(&operator.uid);
            for (id, state) in ids.into_iter().zip(&operator.subtasks) {
                for channel in &state.channels {
                    let bytes = rig.storage.read_stream(&channel.stream).unwrap();
                    let receiver = receiver(rig, id, channel);
                    let records = in_flight::decode(&bytes).unwrap();
                    found.extend(records.into_iter().map(|record| (receiver, record)));
                }
            }
        }
        self.in_flight.insert(latest, found);
        self.metadata.insert(latest, metadata);
    }
}

fn receiver(
    rig: &Rig,
    subtask: SubtaskId,
    channel: &lockgate::engine::storage::ChannelState,
) -> SubtaskId {
    use lockgate::engine::event::ChannelSide;
    let plan = rig.recording.plan.subtask(subtask);
    let place = channel.place as usize;
    let id = match channel.side {
        ChannelSide::Input => plan.inputs[place],
        ChannelSide::Output => {
            let mut outputs = plan.outputs.iter().flat_map(|output| &output.channels);
            *outputs.nth(place).unwrap()
        }
    };
    rig.recording.plan.channel(id).to
}

/// All that the sources had emitted according to `checkpoint`.
pub fn emitted(checkpoint: &CheckpointView) -> Vec<Origin> {
    let offsets = checkpoint
        .subtasks
        .values()
        .flat_map(|snapshot| snapshot.offsets.iter().copied());
    let origins =
        offsets.flat_map(|(split, last)| (1..=last).map(move |offset| Origin { split, offset }));
    let mut origins: Vec<Origin> = origins.collect();
    origins.sort_unstable();
    origins
}

/// What the state of `uid` in `checkpoint` counts, and how often.
pub fn counted(rig: &Rig, checkpoint: &CheckpointView, uid: &str) -> Vec<Origin> {
    let subtasks = rig.subtasks(uid);
    let origins = subtasks
        .iter()
        .flat_map(|id| rig.recording.origins(checkpoint.subtasks[id].counted));
    let mut origins: Vec<Origin> = origins.collect();
    origins.sort_unstable();
    origins
}

/// Completed checkpoints in which every subtask took part.
pub fn complete(view: &View) -> impl Iterator<Item = &CheckpointView> {
    let all = view.checkpoints.values().map(AsRef::as_ref);
    all.filter(|checkpoint| {
        checkpoint.status == CheckpointStatus::Completed && checkpoint.finished.is_empty()
    })
}

/// How long `checkpoint` took from its trigger to its completion.
pub fn duration_us(checkpoint: &CheckpointView) -> u64 {
    checkpoint.decided_us.unwrap() - checkpoint.triggered_us
}
