//! Laws 17 and 18 of one subtask alone: barriers, cancel markers, ends of inputs and news of aborts, in any order.
//!
//! The world around the subtask is a queue for each input, in which what an honest sender may send is in an honest
//! order, and a coordinator that gives checkpoints up whenever it likes. The oracle sees what the subtask lets out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use lockgate::engine::event::{AbortReason, TransactionEnd};
use lockgate::engine::operator::{External, Map, Operator, TransactionError};
use lockgate::engine::plan::ExecutionGraph;
use lockgate::engine::subtask::{Effects, SnapshotTask, Subtask, TaskMessage};
use lockgate::model::{
    Alignment, ChannelId, CheckpointBarrier, CheckpointId, CheckpointMode, Decimal, EventTime, Key,
    MapSpec, Origin, Record, SplitId, StreamEvent, SubtaskId, TransactionId, Uid,
};
use proptest::prelude::*;

use crate::rig::{Source, sum_job};

/// When barriers that are aligned until then become unaligned.
const DEADLINE_US: u64 = 100;
const NEWEST: u64 = 5;

/// What a subtask has let out.
#[derive(Default)]
struct World {
    out: BTreeMap<ChannelId, Vec<StreamEvent>>,
    snapshots: Vec<CheckpointId>,
    blocked: BTreeSet<ChannelId>,
    declined: Vec<(CheckpointId, AbortReason)>,
}

impl External for World {
    fn let_out(&mut self, _record: Record) {}
    fn overwrite(&mut self, _key: Key, _record: Record) {}
    fn begin_transaction(&mut self) -> TransactionId {
        let subtask = SubtaskId(0);
        TransactionId { subtask, number: 1 }
    }
    fn write(&mut self, _: TransactionId, _: Record) -> Result<(), TransactionError> {
        Ok(())
    }
    fn pre_commit(&mut self, _: TransactionId, _: CheckpointId) -> Result<(), TransactionError> {
        Ok(())
    }
    fn commit(&mut self, _: TransactionId) -> Result<(), TransactionError> {
        Ok(())
    }
    fn abort_transaction(&mut self, _: TransactionId, _: TransactionEnd) {}
}

impl Effects for World {
    fn send_record(&mut self, _channel: ChannelId, _record: Record) {}
    fn send_event(&mut self, channel: ChannelId, event: StreamEvent) {
        self.out.entry(channel).or_default().push(event);
    }
    /// Law 18: what is shut is opened before it is shut again, and only once.
    fn block(&mut self, channel: ChannelId, _checkpoint: CheckpointId) {
        assert!(self.blocked.insert(channel), "{channel} is shut twice");
    }
    fn unblock(&mut self, channel: ChannelId) {
        assert!(self.blocked.remove(&channel), "{channel} is not shut");
    }
    fn start_snapshot(&mut self, snapshot: SnapshotTask, _operator: &Operator) {
        self.snapshots.push(snapshot.checkpoint);
    }
    fn processing_time_ms(&self) -> u64 {
        0
    }
    fn tell(&mut self, message: TaskMessage) {
        if let TaskMessage::Decline { checkpoint, reason } = message {
            self.declined.push((checkpoint, reason));
        }
    }
}

/// What a sender makes of one checkpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Made {
    Barrier,
    /// The sender itself knew of the abort.
    Marker,
    /// It never heard of it. Nobody skips the newest: something must end what is pending.
    Nothing,
}

/// How barriers are handled, and what the senders do.
#[derive(Clone, Debug)]
struct Case {
    mode: CheckpointMode,
    unaligned: bool,
    /// By checkpoint.
    alignments: Vec<Alignment>,
    /// By input, by checkpoint.
    made: Vec<Vec<Made>>,
    /// By input: after so many checkpoints it ends.
    ends_after: Vec<u64>,
    /// What happens next, taken modulo what can.
    order: Vec<u16>,
}

fn case() -> impl Strategy<Value = Case> {
    let modes = prop_oneof![
        Just((CheckpointMode::ExactlyOnce, false)),
        Just((CheckpointMode::ExactlyOnce, true)),
        Just((CheckpointMode::AtLeastOnce, false)),
    ];
    let alignment = prop_oneof![
        Just(Alignment::Aligned),
        Just(Alignment::Unaligned),
        Just(Alignment::AlignedUntil {
            deadline_us: DEADLINE_US
        }),
    ];
    let checkpoints = usize::try_from(NEWEST).unwrap();
    (modes, 1_usize..4).prop_flat_map(move |((mode, unaligned), inputs)| {
        let made = prop_oneof![
            8 => Just(Made::Barrier),
            1 => Just(Made::Marker),
            1 => Just(Made::Nothing),
        ];
        let made = prop::collection::vec(made, checkpoints);
        (
            prop::collection::vec(alignment.clone(), checkpoints),
            prop::collection::vec(made, inputs),
            prop::collection::vec(prop_oneof![3 => Just(NEWEST), 1 => 0..NEWEST], inputs),
            prop::collection::vec(any::<u16>(), 60),
        )
            .prop_map(move |(alignments, made, ends_after, order)| Case {
                mode,
                unaligned,
                alignments,
                made,
                ends_after,
                order,
            })
    })
}

impl Case {
    fn alignment(&self, id: u64) -> Alignment {
        match self.mode {
            CheckpointMode::AtLeastOnce => Alignment::AtLeastOnce,
            _ if self.unaligned => self.alignments[usize::try_from(id).unwrap() - 1],
            _ => Alignment::Aligned,
        }
    }

    fn made(&self, input: usize, id: u64) -> Made {
        match self.made[input][usize::try_from(id).unwrap() - 1] {
            Made::Nothing if id == NEWEST => Made::Barrier,
            made => made,
        }
    }

    /// Whether one of the senders has never heard of it.
    fn is_skipped(&self, id: CheckpointId) -> bool {
        (0..self.made.len()).any(|input| self.made(input, id.0) == Made::Nothing)
    }

    /// What comes on input `input`.
    fn queue(&self, input: usize) -> VecDeque<StreamEvent> {
        let event = |id: u64| {
            let checkpoint = CheckpointId(id);
            let barrier = CheckpointBarrier::aligned(checkpoint, 0);
            match self.made(input, id) {
                Made::Barrier => Some(StreamEvent::Barrier(barrier.with(self.alignment(id)))),
                Made::Marker => Some(StreamEvent::CancelCheckpoint(checkpoint)),
                Made::Nothing => None,
            }
        };
        let ends = self.ends_after[input] < NEWEST;
        let end = [StreamEvent::EndOfData, StreamEvent::EndOfPartition];
        (1..=self.ends_after[input])
            .filter_map(event)
            .chain(end.into_iter().filter(|_| ends))
            .collect()
    }
}

/// A subtask with as many inputs as the case has, each from another source, and two outputs.
struct Rig {
    subtask: Subtask,
    inputs: Vec<ChannelId>,
    outputs: Vec<ChannelId>,
    queues: Vec<VecDeque<StreamEvent>>,
    world: World,
    is_deadline_over: bool,
    /// Of which news of the abort has come; whether that was before any barrier or marker of it.
    heard: BTreeMap<CheckpointId, bool>,
    /// Of which a barrier (or a marker) has been taken.
    seen: BTreeSet<CheckpointId>,
    /// By input: the newest of these; none: the input has ended.
    newest: Vec<Option<CheckpointId>>,
}

impl Rig {
    fn new(case: &Case) -> Self {
        let inputs = case.made.len();
        let mut job = sum_job(&vec![Source::new(1, 1); inputs], 2, 1);
        for vertex in &mut job.vertices {
            if vertex.uid == Uid::new("out") {
                vertex.parallelism = 2;
            }
        }
        job.config.checkpointing.mode = case.mode;
        job.config.checkpointing.unaligned = case.unaligned;
        let plan = ExecutionGraph::of(&job);
        let plan = &plan.subtasks[inputs];
        let outputs = plan.outputs.iter().flat_map(|output| &output.channels);
        Self {
            subtask: Subtask::new(plan, Operator::Map(Map::new(MapSpec::default())), None),
            inputs: plan.inputs.clone(),
            outputs: outputs.copied().collect(),
            queues: (0..inputs).map(|input| case.queue(input)).collect(),
            world: World::default(),
            is_deadline_over: false,
            heard: BTreeMap::new(),
            seen: BTreeSet::new(),
            newest: vec![Some(CheckpointId(0)); inputs],
        }
    }

    /// The inputs from which something can be taken.
    fn open(&self) -> Vec<usize> {
        let is_open = |input: &usize| {
            !self.queues[*input].is_empty() && !self.world.blocked.contains(&self.inputs[*input])
        };
        (0..self.inputs.len()).filter(is_open).collect()
    }

    /// One thing happens. False: there is nothing left that can.
    fn act(&mut self, choice: u16) -> bool {
        let choice = usize::from(choice);
        let open = self.open();
        match choice % 8 {
            0 if !self.is_deadline_over => self.deadline(),
            1 | 2 => self.hear(CheckpointId((choice / 8) as u64 % NEWEST + 1)),
            _ if open.is_empty() => return false,
            _ => self.take(open[choice / 8 % open.len()]),
        }
        true
    }

    fn take(&mut self, input: usize) {
        let Some(event) = self.queues[input].pop_front() else {
            return;
        };
        let event = match event {
            StreamEvent::Barrier(barrier) => {
                self.seen.insert(barrier.id);
                self.newest[input] = Some(barrier.id);
                StreamEvent::Barrier(self.as_of_now(barrier))
            }
            StreamEvent::CancelCheckpoint(id) => {
                self.seen.insert(id);
                self.newest[input] = Some(id);
                event
            }
            StreamEvent::EndOfPartition => {
                self.newest[input] = None;
                event
            }
            _ => event,
        };
        self.subtask
            .on_event(input, event, &mut self.world)
            .unwrap();
    }

    /// Nobody sees a barrier whose deadline has passed as one that is aligned until then.
    fn as_of_now(&self, barrier: CheckpointBarrier) -> CheckpointBarrier {
        match barrier.alignment {
            Alignment::AlignedUntil { .. } if self.is_deadline_over => {
                barrier.with(Alignment::Unaligned)
            }
            _ => barrier,
        }
    }

    fn deadline(&mut self) {
        self.is_deadline_over = true;
        let due = self.subtask.alignment_deadline_us();
        if due.is_some_and(|due| due <= DEADLINE_US) {
            self.subtask
                .on_alignment_timeout(DEADLINE_US, &mut self.world)
                .unwrap();
        }
    }

    /// News that the coordinator has given `id` up: told once.
    fn hear(&mut self, id: CheckpointId) {
        if self.heard.contains_key(&id) {
            return;
        }
        self.subtask.on_aborted(id, None, &mut self.world).unwrap();
        let is_early = !self.seen.contains(&id);
        self.heard.insert(id, is_early);
    }

    /// How often the barrier and the marker of `id` went out on `channel`.
    fn passed_on(&self, channel: ChannelId, id: CheckpointId) -> (usize, usize) {
        let count = |wanted: &dyn Fn(&StreamEvent) -> bool| {
            let out = self.world.out.get(&channel);
            out.map_or(0, |out| out.iter().filter(|event| wanted(event)).count())
        };
        let is_barrier =
            |event: &StreamEvent| matches!(event, StreamEvent::Barrier(it) if it.id == id);
        let is_marker = |event: &StreamEvent| *event == StreamEvent::CancelCheckpoint(id);
        (count(&is_barrier), count(&is_marker))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Laws 1, 6, 17 and 18. Breaks if a subtask forgets the news of an abort that comes before the barrier (it would take a
    /// useless snapshot), if it then passes neither barrier nor marker on (those behind it would wait for ever), or if
    /// any order of events leaves an input shut, or takes a snapshot before the last barrier of its checkpoint.
    #[test]
    fn an_abort_known_early_stops_the_snapshot_and_goes_on(case in case()) {
        let mut rig = Rig::new(&case);
        let mut order = case.order.iter().copied();
        loop {
            let snapshots = rig.world.snapshots.len();
            // What is left when the order is used up is taken from the first input that is open.
            let goes_on = match order.next() {
                Some(choice) => rig.act(choice) || !rig.open().is_empty(),
                None => rig.act(7),
            };
            for id in &rig.world.snapshots[snapshots..] {
                let is_cut = |newest: &CheckpointId| match case.alignment(id.0) {
                    Alignment::Aligned => newest == id,
                    Alignment::AtLeastOnce => newest >= id,
                    _ => true,
                };
                prop_assert!(rig.newest.iter().flatten().all(is_cut), "a snapshot of {} at {:?}", id, rig.newest);
                prop_assert!(!rig.heard.contains_key(id), "a snapshot of {}, known to be aborted", id);
            }
            if !goes_on && order.len() == 0 {
                break;
            }
        }
        prop_assert!(rig.queues.iter().all(VecDeque::is_empty), "an input is never taken from again");
        prop_assert!(rig.world.blocked.is_empty(), "{:?} are shut at the end", rig.world.blocked);
        for id in &rig.seen {
            let is_early = rig.heard.get(id) == Some(&true);
            let may_overtake = case.unaligned && case.alignment(id.0) != Alignment::Aligned;
            for channel in &rig.outputs {
                let (barriers, markers) = rig.passed_on(*channel, *id);
                prop_assert!(barriers <= 1 && markers <= 1, "{} comes twice", id);
                prop_assert!(!is_early || barriers == 0, "{} was known to be aborted", id);
                if case.is_skipped(*id) {
                    // Those behind wait for it no longer than until the newer one that took its place comes to them.
                } else if may_overtake && !is_early {
                    // The first barrier lets it out; what gives it up afterwards is told, too.
                    prop_assert!(barriers + markers >= 1, "those behind wait for {}", id);
                } else {
                    prop_assert_eq!(barriers + markers, 1, "those behind wait for {}", id);
                }
            }
        }
        let declined: BTreeSet<CheckpointId> = rig.world.declined.iter().map(|(id, _)| *id).collect();
        prop_assert_eq!(declined.len(), rig.world.declined.len(), "one is declined twice");
    }
}

/// Breaks if a subtask that still feeds restored records takes part in a checkpoint (what it feeds would be in no part of
/// it), if it is silent about it, or if it lets those behind it wait. Flink: `DECLINED_TASK_NOT_READY`.
#[test]
fn a_subtask_that_is_not_ready_declines_and_sends_a_marker() {
    for is_copy in [false, true] {
        let mut rig = Rig::new(&Case {
            mode: CheckpointMode::ExactlyOnce,
            unaligned: true,
            alignments: vec![Alignment::Unaligned; 5],
            made: vec![vec![Made::Barrier; 5]; 2],
            ends_after: vec![NEWEST; 2],
            order: Vec::new(),
        });
        rig.subtask.recover(2);
        for id in 1..=3 {
            let barrier = CheckpointBarrier::aligned(CheckpointId(id), 0);
            let result = if is_copy {
                rig.subtask.on_copy(barrier, &mut rig.world)
            } else {
                rig.subtask.on_trigger(barrier, &mut rig.world)
            };
            result.unwrap();
            // One restored record after the other; with the second it is ready.
            if id < 3 {
                rig.subtask.on_record(0, record(), &mut rig.world).unwrap();
            }
        }
        let not_ready = AbortReason::DeclinedTaskNotReady;
        let declined = [1, 2].map(|id| (CheckpointId(id), not_ready));
        assert_eq!(rig.world.declined, declined);
        assert!(!not_ready.counts_as_failure(), "nobody is to blame");
        assert_eq!(rig.world.snapshots, [CheckpointId(3)]);
        for channel in &rig.outputs {
            let passed = [1, 2, 3].map(|id| rig.passed_on(*channel, CheckpointId(id)));
            let last = if is_copy { (0, 0) } else { (1, 0) };
            assert_eq!(passed, [(0, 1), (0, 1), last]);
        }
    }
}

fn record() -> Record {
    Record {
        key: None,
        value: Decimal::ONE,
        origin: Origin {
            split: SplitId(0),
            offset: 1,
        },
        event_time: EventTime::NONE,
    }
}
