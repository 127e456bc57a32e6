//! Records in flight, dealt out to other subtasks.

use lockgate::engine::driver::assign;
use lockgate::engine::event::ChannelSide;
use lockgate::engine::in_flight;
use lockgate::engine::operator;
use lockgate::engine::plan::ExecutionGraph;
use lockgate::engine::storage::{
    ChannelState, CheckpointMetadata, CheckpointStorage, MemoryStorage, SubtaskState,
};
use lockgate::model::key_group::{key_group, owner};
use lockgate::model::{
    BackendKind, CheckpointId, EventTime, JobGraph, Key, Origin, Record, SnapshotKind, SplitId, Uid,
};

use proptest::prelude::*;

use crate::rig::{Source, sum_job};

const SOURCES: [Source; 2] = [
    Source {
        rate_per_s: 50,
        end: 40,
        parallelism: 2,
    },
    Source {
        rate_per_s: 30,
        end: 25,
        parallelism: 1,
    },
];

const ID: CheckpointId = CheckpointId(1);
/// So many that each key group has some.
const MODULUS: u32 = 1000;

fn record(value: u32) -> Record {
    Record {
        key: None,
        value: value.into(),
        origin: Origin {
            split: SplitId(0),
            offset: u64::from(value) + 1,
        },
        event_time: EventTime::NONE,
    }
}

/// A checkpoint of `plan` with one record in each of its hash channels at each end; the records are different ones.
fn with_records(plan: &ExecutionGraph, storage: &MemoryStorage) -> (CheckpointMetadata, Vec<u32>) {
    storage.begin(ID).unwrap();
    let mut states = vec![SubtaskState::default(); plan.subtasks.len()];
    let mut values = Vec::new();
    // Each channel holds a record that its receiver owns.
    let mut next = 0;
    let mut owned_by = |index: u32, parallelism: u32| loop {
        next += 1;
        let remainder = i32::try_from(next % MODULUS).unwrap();
        if owner(key_group(&Key::int(remainder), 12), parallelism, 12) == index {
            return next;
        }
    };
    for channel in plan.channels.iter().filter(|channel| channel.edge < 2) {
        let to = plan.subtask(channel.to);
        let outputs = &plan.subtask(channel.from).outputs;
        let out = outputs.iter().flat_map(|output| &output.channels);
        let out = out.clone().position(|id| *id == channel.id).unwrap();
        let ends = [
            (ChannelSide::Input, channel.to, channel.input),
            (ChannelSide::Output, channel.from, out),
        ];
        for (side, at, place) in ends {
            let value = owned_by(to.index, to.parallelism);
            values.push(value);
            let bytes = in_flight::encode(&[record(value)]);
            let name = format!("{value}");
            states[at.index()].channels.push(ChannelState {
                side,
                place: u32::try_from(place).unwrap(),
                stream: storage.write_stream(ID, &name, &bytes).unwrap(),
            });
        }
    }
    let mut operators = Vec::new();
    for first in plan.subtasks.iter().filter(|subtask| subtask.index == 0) {
        let own = plan.subtasks_of(&first.uid);
        operators.push(lockgate::engine::storage::OperatorState {
            id: first.operator_id,
            uid: first.uid.clone(),
            has_explicit_uid: true,
            name: first.name.clone(),
            parallelism: first.parallelism,
            max_parallelism: first.max_parallelism,
            subtasks: own.iter().map(|id| states[id.index()].clone()).collect(),
        });
    }
    let metadata = CheckpointMetadata {
        checkpoint: ID,
        kind: SnapshotKind::Checkpoint,
        backend: BackendKind::Heap,
        operators,
        edges: plan.edges.clone(),
        processing_time_ms: None,
    };
    (metadata, values)
}

fn job(sources: u32, sums: u32) -> JobGraph {
    let source = Source {
        parallelism: sources,
        ..SOURCES[0]
    };
    sum_job(&[source, SOURCES[1]], MODULUS, sums)
}

proptest! {
    /// Laws 3 and 28 for records in flight. Catches a record that is lost, doubled, at the wrong end, or in a channel
    /// whose receiver does not own its key; and places that are counted otherwise than they were written.
    #[test]
    fn each_goes_on_once_and_to_its_owner(
        old in (1_u32..5, 1_u32..6), new in (1_u32..5, 1_u32..6),
    ) {
        let storage = MemoryStorage::default();
        let old = ExecutionGraph::of(&job(old.0, old.1));
        let (metadata, mut values) = with_records(&old, &storage);
        let plan = ExecutionGraph::of(&job(new.0, new.1));
        let found = assign::in_flight(&plan, &metadata, &storage).unwrap();
        let mut seen = Vec::new();
        for in_flight in &found {
            let channel = plan.channel(in_flight.channel);
            let to = plan.subtask(channel.to);
            match in_flight.side {
                ChannelSide::Input => prop_assert_eq!(channel.input, in_flight.place as usize),
                ChannelSide::Output => {
                    let outputs = &plan.subtask(channel.from).outputs;
                    let out: Vec<_> = outputs.iter().flat_map(|output| &output.channels).collect();
                    prop_assert_eq!(out[in_flight.place as usize], &channel.id);
                }
            }
            for record in &in_flight.records {
                let value: u32 = record.value.to_string().parse().unwrap();
                let key = Key::int(i32::try_from(value % MODULUS).unwrap());
                prop_assert_eq!(owner(key_group(&key, 12), to.parallelism, 12), to.index);
                seen.push(value);
            }
        }
        values.sort_unstable();
        seen.sort_unstable();
        prop_assert_eq!(values, seen);
    }
}

proptest! {
    /// Law 3 where the receiver has another key now. Catches records that nobody gets, since those who might have them do
    /// not own their new key: that is told, with or without another parallelism.
    #[test]
    fn with_another_key_all_go_on_or_the_job_does_not_start(
        old in 1_u32..5, new in 1_u32..5, modulus in 1_u32..6,
    ) {
        let storage = MemoryStorage::default();
        let old_plan = ExecutionGraph::of(&job(1, old));
        let (metadata, values) = with_records(&old_plan, &storage);
        let plan = ExecutionGraph::of(&sum_job(&[SOURCES[0], SOURCES[1]], modulus, new));
        match assign::in_flight(&plan, &metadata, &storage) {
            Ok(found) => {
                let count: usize = found.iter().map(|it| it.records.len()).sum();
                prop_assert_eq!(count, values.len());
            }
            Err(sentence) => {
                prop_assert!(new > 1, "one subtask owns all keys");
                prop_assert!(sentence.contains("the key by which"), "{}", sentence);
            }
        }
    }
}

/// A source in front of the others moves all splits by one. Catches records that count as another source's.
#[test]
fn records_follow_their_split() {
    let storage = MemoryStorage::default();
    let old_plan = ExecutionGraph::of(&sum_job(&[SOURCES[0]], MODULUS, 1));
    let (mut metadata, _) = with_records(&old_plan, &storage);
    let element = |index| {
        let split = operator::Split {
            id: SplitId(index),
            index,
            offset: 0,
        };
        operator::Source::new(vec![split], 2, operator::SourceFeed::Sequence, None).list_state()
    };
    for (subtask, index) in metadata.operators[0].subtasks.iter_mut().zip(0..) {
        subtask.lists = vec![element(index)];
    }
    let mut job = sum_job(&SOURCES, MODULUS, 1);
    job.vertices.swap(0, 1);
    let plan = ExecutionGraph::of(&job);
    let found = assign::in_flight(&plan, &metadata, &storage).unwrap();
    let uid = Uid::new("s0");
    let own: Vec<SplitId> = plan.splits_of(&uid).map(|split| split.id).collect();
    let mut records = found.iter().flat_map(|in_flight| &in_flight.records);
    assert_eq!(own, [SplitId(1), SplitId(2)]);
    assert!(records.all(|record| record.origin.split == own[0]));
}
