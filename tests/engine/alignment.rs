//! What happens at a gate while barriers arrive.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lockgate::engine::event::EventKind;
use lockgate::model::{
    ChannelId, CheckpointId, Edge, JobGraph, Origin, Partitioning, StreamElement, StreamEvent, Uid,
};
use lockgate::project;
use lockgate::recording::view::CheckpointStatus;
use lockgate::recording::{Recording, View};

use crate::rig::{Rig, Source, sum_job};

fn two_sources() -> Rig {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/two-sources.ron");
    Rig::new(&project::check(&path).unwrap())
}

/// Breaks if a blocked input is polled, if blocking stops the other inputs too, or if records are held anywhere but in
/// the channel.
#[test]
fn records_queue_behind_a_barrier_while_the_other_input_goes_on() {
    let mut rig = two_sources();
    let mut longest = 0;
    let mut others_went_on = 0;
    while rig.step() {
        let view = rig.view();
        for (index, channel) in view.channels.iter().enumerate() {
            if channel.blocked.is_none() {
                continue;
            }
            longest = longest.max(arrived_records(view, index));
            let blocked = &rig.recording.plan.channels[index];
            let taken = taken_in_last_step(&rig.recording);
            let of_same_task = |id: &ChannelId| rig.recording.plan.channel(*id).to == blocked.to;
            assert!(!taken.contains(&blocked.id), "a blocked input was polled");
            others_went_on += taken.iter().filter(|id| of_same_task(id)).count();
        }
    }
    assert!(
        longest >= 3,
        "only {longest} records ever waited behind a barrier"
    );
    assert!(others_went_on >= 3, "the other input stood still");
    checkpoint_holds_the_records_before_its_barriers(&rig);
}

/// Records of `channel` that have arrived and could be taken, were it not shut.
fn arrived_records(view: &View, channel: usize) -> usize {
    let queue = view.channels[channel].queue.iter();
    let arrived = queue.filter(|item| item.ready_us <= view.at_us);
    arrived
        .filter(|item| matches!(item.element, StreamElement::Record(_)))
        .count()
}

fn taken_in_last_step(recording: &Recording) -> Vec<ChannelId> {
    let last = recording.events().last().map_or(0, |event| event.step);
    let step = recording
        .events()
        .iter()
        .rev()
        .take_while(|event| event.step == last);
    let blocked_in_this_step = |channel| {
        let mut events = recording
            .events()
            .iter()
            .rev()
            .take_while(|event| event.step == last);
        events.any(|event| matches!(event.kind, EventKind::InputBlocked { channel: c, .. } if c == channel))
    };
    let taken = step.filter_map(|event| match event.kind {
        EventKind::Taken { channel } => Some(channel),
        _ => None,
    });
    taken
        .filter(|channel| !blocked_in_this_step(*channel))
        .collect()
}

fn checkpoint_holds_the_records_before_its_barriers(rig: &Rig) {
    let sent = records_before_barriers(&rig.recording);
    for checkpoint in rig.view().checkpoints.values() {
        if checkpoint.status != CheckpointStatus::Completed || !checkpoint.finished.is_empty() {
            continue;
        }
        for id in rig.subtasks("sum") {
            let counted: BTreeSet<Origin> = rig
                .recording
                .origins(checkpoint.subtasks[&id].counted)
                .collect();
            let inputs = rig.recording.plan.subtask(id).inputs.iter();
            let before: BTreeSet<Origin> = inputs
                .flat_map(|input| sent[&(checkpoint.id, *input)].iter().copied())
                .collect();
            assert_eq!(counted, before, "checkpoint {}", checkpoint.id);
        }
    }
}

/// What was sent on each channel before each barrier, read off the log: the oracle for the cut.
fn records_before_barriers(
    recording: &Recording,
) -> BTreeMap<(CheckpointId, ChannelId), BTreeSet<Origin>> {
    let mut so_far: BTreeMap<ChannelId, BTreeSet<Origin>> = BTreeMap::new();
    let mut before = BTreeMap::new();
    for event in recording.events() {
        if let EventKind::Sent {
            channel, element, ..
        } = &event.kind
        {
            let records = so_far.entry(*channel).or_default();
            match element {
                StreamElement::Record(record) => {
                    records.insert(record.origin);
                }
                StreamElement::Event(StreamEvent::Barrier(barrier)) => {
                    before.insert((barrier.id, *channel), records.clone());
                }
                StreamElement::Event(_) => {}
            }
        }
    }
    before
}

/// Breaks if barriers of one channel overtake each other or come twice.
#[test]
fn barriers_of_one_channel_have_increasing_numbers() {
    let mut job = sum_job(&[Source::new(50, 60), Source::new(20, 24)], 3, 2);
    job.config.checkpointing.max_concurrent = 3;
    let mut rig = Rig::new(&job);
    let mut steps = 0;
    while rig.step() {
        steps += 1;
        if steps % 50 == 0 {
            rig.checkpoint();
        }
    }
    let mut newest: BTreeMap<ChannelId, CheckpointId> = BTreeMap::new();
    let mut barriers = 0;
    for event in rig.recording.events() {
        if let EventKind::Sent {
            channel,
            element: StreamElement::Event(StreamEvent::Barrier(barrier)),
            ..
        } = &event.kind
        {
            let before = newest.insert(*channel, barrier.id);
            assert!(
                before < Some(barrier.id),
                "{before:?} then {} on {channel}",
                barrier.id
            );
            barriers += 1;
        }
    }
    assert!(barriers > 20, "the test has seen only {barriers} barriers");
}

/// Two sums in a row, and checkpoints that are given up before their barriers come to them.
fn impatient_job() -> JobGraph {
    let mut job = sum_job(&[Source::new(50, 100)], 2, 1);
    let mut again = job.vertex(&Uid::new("sum")).unwrap().clone();
    again.uid = Uid::new("again");
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
    job.config.checkpointing.timeout_ms = 10;
    job.config.checkpointing.tolerable_failed = 100;
    job
}

/// Breaks if a subtask that was told early takes the snapshot all the same, or lets those behind it wait for a barrier.
#[test]
fn a_checkpoint_given_up_early_becomes_a_cancel_marker_all_the_way() {
    let mut rig = Rig::new(&impatient_job());
    rig.run_until(|view| view.subtasks[0].offset == 3);
    rig.checkpoint();
    rig.run_until(|view| view.subtasks[0].offset == 60);
    let (mut captured, mut markers) = (Vec::new(), Vec::new());
    for event in rig.recording.events() {
        match &event.kind {
            EventKind::SnapshotStarted { subtask, .. } => captured.push(*subtask),
            EventKind::Sent {
                channel,
                element: StreamElement::Event(StreamEvent::CancelCheckpoint(CheckpointId(1))),
                ..
            } => markers.push(rig.recording.plan.channel(*channel).from),
            _ => {}
        }
    }
    assert_eq!(
        captured,
        rig.subtasks("s0"),
        "the source was not told early"
    );
    assert_eq!(
        markers,
        [rig.subtasks("sum"), rig.subtasks("again")].concat()
    );
}

/// Breaks if a message of the coordinator is dealt with in the middle of a record.
#[test]
fn a_message_waits_until_the_record_is_done() {
    let mut job = sum_job(&[Source::new(100, 60)], 2, 2);
    job.config.costs.process_us = 30_000;
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.state_changes >= 6);
    rig.checkpoint();
    let mut heard = 0;
    loop {
        let busy: Vec<u64> = rig
            .view()
            .subtasks
            .iter()
            .map(|subtask| subtask.busy_until_us)
            .collect();
        let before = rig.recording.events().len();
        if !rig.step() {
            break;
        }
        for event in &rig.recording.events()[before..] {
            if let EventKind::Notified { subtask, .. } = event.kind {
                assert!(event.at_us >= busy[subtask.index()], "{subtask} was busy");
                heard += 1;
            }
        }
    }
    assert!(heard >= 8, "only {heard} messages were heard");
}

/// While `m` is busy, the news that 1 is complete and that 2 has expired arrive, and then barrier 2 is there.
const BUSY: &str = r#"(
    version: 2,
    name: "busy",
    operators: [
        (uid: "n", kind: SequenceSource(rate_per_s: 2, end: 6), at: (0, 0)),
        (uid: "m", kind: KeyedSum(key: Modulo(1, [])), at: (0, 0), costs: (process_us: 350000)),
        (uid: "out", kind: Sink, at: (0, 0), costs: (snapshot_async_us: 100000)),
    ],
    edges: [ ("n", "m", Hash), ("m", "out", Rebalance) ],
    settings: (
        checkpointing: (timeout_ms: 300, max_concurrent: 4, tolerable_failed: Unlimited),
        costs: (
            process_us: 0, transfer_us: 0, rpc_us: 0, snapshot_sync_us: 0, snapshot_async_us: 0,
        ),
    ),
    script: [(AtMs(990), Checkpoint), (AtMs(1010), Checkpoint)],
)"#;

/// Law 17, and Flink's trace of an abort that overtook its barrier. Breaks if only one of the messages that wait is seen to
/// before what is in the channel.
#[test]
fn all_messages_that_wait_come_before_the_next_element() {
    for seed in 0..16 {
        let mut job = project::parse(BUSY, "busy").unwrap().job;
        job.config.seed = seed;
        let mut rig = Rig::new(&job);
        let m = rig.subtasks("m")[0];
        let mut aborted = false;
        rig.run_to_end();
        for event in rig.recording.events() {
            match event.kind {
                EventKind::Aborted { checkpoint, .. } => aborted |= checkpoint == CheckpointId(2),
                EventKind::SnapshotStarted {
                    subtask,
                    checkpoint,
                    ..
                } if subtask == m && checkpoint == CheckpointId(2) => {
                    assert!(
                        !aborted,
                        "seed {seed}: m takes part in what it knows is over"
                    );
                }
                _ => {}
            }
        }
        assert!(aborted, "the story needs a checkpoint that expires");
    }
}
