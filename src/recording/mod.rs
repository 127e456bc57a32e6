//! What happened: the append-only log of a run, and the pure fold of it that the window draws.
//!
//! May know: the model, and the engine's event vocabulary and plan. Must not know: drivers, clocks, files, egui.

pub mod view;

use std::sync::Arc;

use crate::engine::event::TraceEvent;
use crate::engine::plan::ExecutionGraph;
use crate::model::{JobGraph, Origin, Record, SubtaskId};

pub use view::View;

/// A run's events with what makes moving about in them fast.
pub struct Recording {
    pub job: Arc<JobGraph>,
    pub plan: Arc<ExecutionGraph>,
    events: Vec<TraceEvent>,
}

/// How often source records have had their effect, at one moment of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Records that sources have emitted (each offset once, however often it was replayed), and that reach a sum
    /// (or a sink).
    pub emitted: u64,
    /// In keyed state: not yet, exactly once, more often.
    pub state: Tally,
    /// Out of the job through a sink: not yet, exactly once, more often.
    pub output: Tally,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub zero: u64,
    pub once: u64,
    pub more: u64,
}

impl Recording {
    #[must_use]
    pub fn events(&self) -> &[TraceEvent] {
        &self.events
    }

    /// The state after the first `position` events.
    #[must_use]
    pub fn seek(&self, position: usize) -> View {
        let _ = position;
        todo!()
    }

    /// The ledger at `view`.
    #[must_use]
    pub fn ledger(&self, view: &View) -> Ledger {
        let _ = view;
        todo!()
    }

    /// What sinks have collected up to `view`, in order.
    pub fn outputs<'a>(&'a self, view: &View) -> impl Iterator<Item = (SubtaskId, &'a Record)> {
        let _ = view;
        std::iter::empty()
    }

    /// The records counted in `lineage`, newest first.
    pub fn origins(&self, lineage: view::Lineage) -> impl Iterator<Item = Origin> {
        let _ = lineage;
        std::iter::empty()
    }

    /// One sentence about the event at `index`.
    #[must_use]
    pub fn sentence(&self, index: usize) -> String {
        let _ = index;
        todo!()
    }
}
