//! Which subtask gets a record, over each kind of edge.

use lockgate::model::key_group::{key_group, owner};
use lockgate::model::{JobGraph, Partitioning};

use crate::rig::{Rig, Source, sum_job};

/// What each of three sinks gets of twelve sums over this kind of edge, by the offset of their source record.
fn delivered(partitioning: Partitioning) -> Vec<Vec<u64>> {
    let mut job = sum_job(&[Source::new(50, 12)], 4, 3);
    job.edges[1].partitioning = partitioning;
    job.vertices[2].parallelism = 3;
    outputs(&job)
}

fn outputs(job: &JobGraph) -> Vec<Vec<u64>> {
    let mut rig = Rig::new(job);
    rig.run_to_end();
    let of = |id| {
        let outputs = rig.recording.outputs(rig.view());
        outputs
            .filter(move |(subtask, _)| *subtask == id)
            .map(|(_, record)| record.origin.offset)
    };
    let mut delivered: Vec<Vec<u64>> = rig
        .subtasks("out")
        .iter()
        .map(|id| of(*id).collect())
        .collect();
    delivered
        .iter_mut()
        .for_each(|offsets| offsets.sort_unstable());
    delivered
}

/// The subtask of the sum that owns the key of source record `offset` (its value modulo 4).
fn owner_of(offset: u64) -> usize {
    let key = lockgate::model::Key::int(i32::try_from(offset % 4).unwrap());
    usize::try_from(owner(key_group(&key, 12), 3, 12)).unwrap()
}

#[test]
fn forward_goes_to_the_subtask_of_the_same_index() {
    for (index, offsets) in delivered(Partitioning::Forward).iter().enumerate() {
        let owned: Vec<u64> = (1..=12)
            .filter(|offset| owner_of(*offset) == index)
            .collect();
        assert_eq!(*offsets, owned, "subtask {index}");
    }
}

#[test]
fn broadcast_goes_everywhere() {
    let all: Vec<u64> = (1..=12).collect();
    assert_eq!(
        delivered(Partitioning::Broadcast),
        [all.clone(), all.clone(), all]
    );
}

/// Each sender takes the receivers in turn, so a single one fills them evenly.
#[test]
fn rebalance_takes_turns() {
    let mut job = sum_job(&[Source::new(50, 12)], 4, 1);
    job.vertices[2].parallelism = 3;
    let turns: Vec<Vec<u64>> = (1..=3)
        .map(|first| (first..=12).step_by(3).collect())
        .collect();
    assert_eq!(outputs(&job), turns);
}

/// The key of a sum's result is the key of its group: hashed as an integer again.
#[test]
fn hash_goes_to_the_owner_of_the_key() {
    let delivered = delivered(Partitioning::Hash);
    let max = 128;
    for offset in 1..=12_u64 {
        let key = lockgate::model::Key::int(i32::try_from(offset % 4).unwrap());
        let wanted = usize::try_from(owner(key_group(&key, max), 3, max)).unwrap();
        assert!(
            delivered[wanted].contains(&offset),
            "record {offset} belongs to {wanted}"
        );
    }
    assert_eq!(delivered.iter().map(Vec::len).sum::<usize>(), 12);
}
