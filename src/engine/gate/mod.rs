//! Barrier handling at the inputs of a subtask: who waits for whom.
//!
//! A gate only decides. It holds no records: what waits behind a barrier stays in its channel, because a blocked
//! input is not polled. There is one type for each of Flink's handlers; [`Gate`] is whichever the job's settings choose
//! (`InputProcessorUtil.createCheckpointBarrierHandler`).

mod aligned;
mod alternating;
mod tracker;

use crate::engine::event::AbortReason;
use crate::model::{CheckpointBarrier, CheckpointConfig, CheckpointId, CheckpointMode};

pub use aligned::AlignedGate;
pub use alternating::AlternatingGate;
pub use tracker::{BarrierTracker, MAX_TRACKED};

/// What the subtask must do, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateAction {
    /// Take nothing more from this input until this checkpoint's barrier has come on the others.
    Block(usize, CheckpointId),
    Unblock(usize),
    /// Give this checkpoint up: decline it and pass a cancel marker on.
    Abort(CheckpointId, AbortReason),
    /// All barriers are there: forward this one and take the snapshot.
    Snapshot(CheckpointBarrier),
    /// Unaligned: forward this one ahead of all that is under way, take the snapshot, and from now on record what comes
    /// on each input before its barrier.
    Begin(CheckpointBarrier),
    /// Unaligned: the barrier has come on this input (or its end): what is before it belongs to the checkpoint, what
    /// follows does not.
    Reached(usize),
    /// Unaligned: it has come on all.
    AllReached(CheckpointId),
}

/// How barriers are handled in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateConfig {
    pub kind: GateKind,
    /// An input that has ended counts as aligned; otherwise its end gives up what waits for its barrier.
    pub after_tasks_finish: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateKind {
    /// Flink: `SingleCheckpointBarrierHandler.aligned`.
    Aligned,
    /// Flink: `CheckpointBarrierTracker`.
    Tracker,
    /// Flink: `SingleCheckpointBarrierHandler.alternating`.
    Alternating,
}

impl GateConfig {
    /// At least once, barriers cannot be unaligned: Flink switches that off with a warning.
    #[must_use]
    pub fn of(config: &CheckpointConfig) -> Self {
        let kind = match config.mode {
            CheckpointMode::AtLeastOnce => GateKind::Tracker,
            CheckpointMode::ExactlyOnce if config.unaligned => GateKind::Alternating,
            CheckpointMode::ExactlyOnce | CheckpointMode::StopTheWorld => GateKind::Aligned,
        };
        Self {
            kind,
            after_tasks_finish: config.after_tasks_finish,
        }
    }
}

/// The gate of one subtask.
#[derive(Clone, Debug)]
pub enum Gate {
    Aligned(AlignedGate),
    Tracker(BarrierTracker),
    Alternating(AlternatingGate),
}

/// Hand the call on to whichever gate it is.
macro_rules! each {
    ($gate:expr, $name:ident => $call:expr) => {
        match $gate {
            Gate::Aligned($name) => $call,
            Gate::Tracker($name) => $call,
            Gate::Alternating($name) => $call,
        }
    };
}

impl Gate {
    #[must_use]
    pub fn new(config: GateConfig, inputs: usize) -> Self {
        let finish = config.after_tasks_finish;
        match config.kind {
            GateKind::Aligned => Self::Aligned(AlignedGate::new(inputs, finish)),
            GateKind::Tracker => Self::Tracker(BarrierTracker::new(inputs, finish)),
            GateKind::Alternating => Self::Alternating(AlternatingGate::new(inputs, finish)),
        }
    }

    /// The inputs on which something may still come.
    #[must_use]
    pub fn unfinished_inputs(&self) -> Vec<usize> {
        each!(self, gate => gate.unfinished_inputs().collect())
    }

    /// Whether nothing comes on any input any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        each!(self, gate => gate.unfinished_inputs().next().is_none())
    }

    /// A barrier was taken from `input`.
    pub fn on_barrier(&mut self, input: usize, barrier: CheckpointBarrier) -> Vec<GateAction> {
        each!(self, gate => gate.on_barrier(input, barrier))
    }

    /// A cancel marker was taken from `input`.
    pub fn on_cancel(&mut self, input: usize, id: CheckpointId) -> Vec<GateAction> {
        match self {
            Self::Aligned(gate) => gate.on_cancel(id),
            Self::Tracker(gate) => gate.on_cancel(input, id),
            Self::Alternating(gate) => gate.on_cancel(id),
        }
    }

    /// `input` has ended for good.
    pub fn on_end(&mut self, input: usize) -> Vec<GateAction> {
        each!(self, gate => gate.on_end(input))
    }

    /// The time to align is over at `now_us`, for whichever checkpoint that is.
    pub fn on_alignment_timeout(&mut self, now_us: u64) -> Vec<GateAction> {
        match self {
            Self::Aligned(_) | Self::Tracker(_) => Vec::new(),
            Self::Alternating(gate) => gate.on_timeout(now_us),
        }
    }

    /// When an alignment under way becomes unaligned; none: never.
    #[must_use]
    pub fn alignment_deadline_us(&self) -> Option<u64> {
        match self {
            Self::Aligned(_) | Self::Tracker(_) => None,
            Self::Alternating(gate) => gate.deadline_us(),
        }
    }
}
