//! A run's event log, read into the terms in which the laws speak: channels with what was sent and taken, states at the
//! moment of their capture, checkpoints with what became of them.
//!
//! It is read from the events alone, and by other rules than [`crate::recording`]: where both were wrong in the same
//! way, nobody would notice.

mod lane;
mod read;
mod state;

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::event::{AbortReason, CheckpointKind, JobStatus, SubtaskStatus, TraceEvent};
use crate::engine::plan::ExecutionGraph;
use crate::model::{
    ChannelId, CheckpointId, Decimal, JobGraph, Key, Origin, Record, SplitId, StateEntry,
    SubtaskId, TimeWindow, TransactionId, Uid,
};

pub use lane::{Block, Lane, Sent};
pub use state::is_over;

/// One key's value in keyed state; a window operator has one for each window.
pub type Cell = (Option<TimeWindow>, Key);

/// All that a subtask remembers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Image {
    /// A source's: by split, how many of its records are emitted.
    pub offsets: BTreeMap<SplitId, u64>,
    pub cells: BTreeMap<Cell, Decimal>,
    /// All entries of a keyed function, by key.
    pub entries: BTreeMap<Key, Vec<StateEntry>>,
    /// A filter's rules by key, or a sink's buffer in order.
    pub listed: Vec<Record>,
    /// Every record that a keyed operator has ever counted on the way to this state, and those it dropped as late.
    pub seen: Vec<Origin>,
}

impl Image {
    /// Whether a subtask holds the same, whatever it has seen on the way there.
    pub fn holds_as(&self, other: &Self) -> bool {
        self.offsets == other.offsets
            && self.cells == other.cells
            && self.entries == other.entries
            && self.listed == other.listed
    }
}

/// The entries of a key, before and after something happened to them.
#[derive(Debug)]
pub struct Change {
    pub at: usize,
    pub subtask: SubtaskId,
    pub before: Vec<StateEntry>,
    pub after: Vec<StateEntry>,
    /// Of the record that was taken; none: it was a clean-up.
    pub value: Option<Decimal>,
}

/// A state at the moment when it became part of a checkpoint.
#[derive(Debug)]
pub struct Capture {
    pub at: usize,
    pub subtask: SubtaskId,
    pub checkpoint: CheckpointId,
    pub image: Image,
}

/// A subtask began again.
#[derive(Debug)]
pub struct Restore {
    pub at: usize,
    pub subtask: SubtaskId,
    pub from: Option<CheckpointId>,
    /// What the log says that it begins with.
    pub got: Image,
    /// What was captured for that checkpoint. None: it is not known (the checkpoint is of another run).
    pub expected: Option<Image>,
}

/// What became of one checkpoint.
#[derive(Debug)]
pub struct Story {
    pub triggered: usize,
    pub kind: CheckpointKind,
    pub must_ack: Vec<SubtaskId>,
    pub finished: Vec<SubtaskId>,
    pub acks: BTreeMap<SubtaskId, usize>,
    pub completed: Option<usize>,
    pub aborted: Option<(usize, AbortReason)>,
    /// By subtask, an index into [`History::captures`].
    pub captures: BTreeMap<SubtaskId, usize>,
    pub persisted: BTreeMap<ChannelId, Vec<Record>>,
    /// With those who had finished: what they had when they did.
    pub at_finish: BTreeMap<SubtaskId, Image>,
}

impl Story {
    pub fn decided(&self) -> Option<usize> {
        self.completed.or(self.aborted.map(|(at, _)| at))
    }
}

/// One subtask as the log has it so far.
#[derive(Debug)]
pub struct Task {
    pub status: SubtaskStatus,
    pub image: Image,
    at_finish: Image,
    /// The record that it took last, and how many effects of it were seen.
    pub taking: Option<(usize, Record, usize)>,
    /// What a buffering sink has still to let out, in order.
    flushing: Vec<Record>,
}

/// The snapshot of an earlier run that this one starts from, as that run's log has it.
#[derive(Clone, Debug)]
pub struct Baseline {
    pub checkpoint: CheckpointId,
    /// Since that run's beginning, which began with nothing.
    pub triggered_ms: u64,
    /// By operator, all its subtasks together; splits as this run numbers them.
    pub images: BTreeMap<Uid, Image>,
    pub parallelism: BTreeMap<Uid, usize>,
    /// By sink: what it had taken before the snapshot, in whatever transaction, by record.
    pub written: BTreeMap<Uid, BTreeMap<Origin, u64>>,
    /// By two-phase commit sink and the index of its old subtasks: the elements of the list.
    pub saved: BTreeMap<Uid, BTreeMap<u32, Saved>>,
}

/// What a subtask of a two-phase commit sink has in a snapshot.
#[derive(Clone, Debug, Default)]
pub struct Saved {
    pub current: Option<TransactionId>,
    pub pending: BTreeSet<TransactionId>,
}

impl Baseline {
    pub fn is_rescaled(&self, uid: &Uid, subtasks: usize) -> bool {
        self.parallelism.get(uid) != Some(&subtasks)
    }
}

/// A contradiction in the log itself, by the law that it breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Of the 33; 0: the run as a whole.
    pub law: u8,
    pub sentence: String,
    /// The index of the event at which it shows.
    pub at: usize,
}

/// A run as the laws see it.
pub struct History<'a> {
    pub job: &'a JobGraph,
    pub plan: &'a ExecutionGraph,
    pub events: &'a [TraceEvent],
    pub baseline: Option<Baseline>,
    pub lanes: Vec<Lane>,
    pub captures: Vec<Capture>,
    pub restores: Vec<Restore>,
    /// Of the entries of keyed functions.
    pub changes: Vec<Change>,
    pub checkpoints: BTreeMap<CheckpointId, Story>,
    /// At the end.
    pub tasks: Vec<Task>,
    pub status: JobStatus,
    /// What was found wrong on the way.
    pub found: Vec<Violation>,
    current: Vec<Option<usize>>,
    /// What processing time was at the beginning.
    begun_ms: u64,
}

impl<'a> History<'a> {
    #[must_use]
    pub fn read(
        job: &'a JobGraph,
        plan: &'a ExecutionGraph,
        events: &'a [TraceEvent],
        baseline: Option<Baseline>,
    ) -> Self {
        let task = || Task {
            status: SubtaskStatus::Initializing,
            image: Image::default(),
            at_finish: Image::default(),
            taking: None,
            flushing: Vec::new(),
        };
        let mut history = Self {
            job,
            plan,
            events,
            begun_ms: state::begun_ms(baseline.as_ref()),
            baseline,
            lanes: Vec::new(),
            captures: Vec::new(),
            restores: Vec::new(),
            changes: Vec::new(),
            checkpoints: BTreeMap::new(),
            tasks: plan.subtasks.iter().map(|_| task()).collect(),
            status: JobStatus::Running,
            found: Vec::new(),
            current: vec![None; plan.channels.len()],
        };
        for (at, event) in events.iter().enumerate() {
            history.apply(at, &event.kind);
        }
        history
    }

    /// The life of `channel` that event `at` falls into; none: nothing was ever sent in it.
    pub fn lane_at(&self, channel: ChannelId, at: usize) -> Option<&Lane> {
        let mut lanes = self.lanes.iter().filter(|lane| lane.channel == channel);
        lanes.find(|lane| lane.is_alive_at(at))
    }

    pub fn at_us(&self, at: usize) -> u64 {
        self.events[at].at_us
    }

    /// In processing time.
    pub fn now_ms(&self, at: usize) -> u64 {
        self.begun_ms + self.at_us(at) / 1000
    }

    fn violate(&mut self, law: u8, at: usize, sentence: String) {
        self.found.push(Violation { law, sentence, at });
    }
}
