//! What happened: the append-only log of a run, and the pure fold of it that the window draws.
//!
//! May know: the model, and the engine's event vocabulary and plan. Must not know: drivers, clocks, files, egui.

mod event_time;
mod fold;
pub mod ledger;
pub mod load;
mod sentence;
pub mod sink_view;
pub mod view;

use std::sync::Arc;

use crate::engine::event::{EventKind, TraceEvent};
use crate::engine::plan::ExecutionGraph;
use crate::model::{JobGraph, Origin, Record, StreamElement, StreamEvent, SubtaskId};

pub use ledger::{Ledger, Open, Tally};
pub use load::{Load, LoadMeter};
pub use view::View;

/// A view is kept after so many events, or after as many as the last one weighs (see [`View::weight`]): so all of them
/// together take about what the events do, and seeking folds about as much as it copies.
const KEYFRAME_EVENTS: usize = 256;

/// What one record has done to the state of a keyed operator.
#[derive(Clone, Copy, Debug)]
struct Effect {
    origin: Origin,
    /// It came too late for its window, and was dropped: it had its effect, which is none.
    is_late: bool,
    /// The lineage of the state before it.
    before: view::Lineage,
}

/// A run's events with what makes moving about in them fast.
pub struct Recording {
    pub job: Arc<JobGraph>,
    pub plan: Arc<ExecutionGraph>,
    events: Vec<TraceEvent>,
    /// Views on the way, the first of them before all events.
    keyframes: Vec<View>,
    /// The view after all events.
    head: View,
    /// What each counted record adds to its lineage. Number `i` is at `i - 1`.
    lineages: Vec<Effect>,
    /// What readers outside see: after how many events, of which sink subtask, what.
    outputs: Vec<(usize, SubtaskId, Record)>,
    /// The positions of all events that concern a barrier or a checkpoint.
    barrier_positions: Vec<usize>,
}

impl Recording {
    #[must_use]
    pub fn new(job: Arc<JobGraph>, plan: Arc<ExecutionGraph>) -> Self {
        let head = View::new(&plan, job.script.len());
        Self {
            job,
            plan,
            events: Vec::new(),
            keyframes: vec![head.clone()],
            head,
            lineages: Vec::new(),
            outputs: Vec::new(),
            barrier_positions: Vec::new(),
        }
    }

    /// Add what happened next.
    ///
    /// A view is kept as soon as the events since the last one weigh as much as it does: so all kept views together
    /// take no more than the events do, and seeking folds no more events than a view has parts (256 at least).
    pub fn append(&mut self, event: TraceEvent) {
        match &event.kind {
            EventKind::StateChanged {
                subtask, origin, ..
            }
            | EventKind::EntriesChanged {
                subtask, origin, ..
            }
            | EventKind::WindowChanged {
                subtask, origin, ..
            } => self.note_effect(*subtask, *origin, false),
            EventKind::LateDropped { subtask, record } => {
                self.note_effect(*subtask, record.origin, true);
            }
            _ => self.note_output(&event.kind),
        }
        if concerns_barriers(&event.kind) {
            self.barrier_positions.push(self.events.len() + 1);
        }
        self.head.apply(&self.plan, &event);
        self.events.push(event);
        let newest = self.keyframes.last();
        let distance = self.events.len() - newest.map_or(0, |view| view.position);
        let is_light = || newest.is_none_or(|view| distance >= view.weight());
        if distance.is_multiple_of(KEYFRAME_EVENTS) && is_light() {
            self.keyframes.push(self.head.clone());
        }
    }

    /// Before `event` is folded in: what does it make visible?
    fn note_output(&mut self, event: &EventKind) {
        let position = self.events.len() + 1;
        match event {
            EventKind::Collected {
                subtask,
                record,
                transaction: None,
            } => self.outputs.push((position, *subtask, record.clone())),
            EventKind::Committed {
                subtask,
                transaction,
                again: false,
            } => {
                let transactions = &self.head.subtasks[subtask.index()].sink.uncommitted;
                let committed = transactions.iter().filter(|view| view.id == *transaction);
                let records = committed.flat_map(|view| &view.records);
                let outputs = records.map(|record| (position, *subtask, record.clone()));
                self.outputs.extend(outputs);
            }
            _ => {}
        }
    }

    fn note_effect(&mut self, subtask: SubtaskId, origin: Origin, is_late: bool) {
        self.lineages.push(Effect {
            origin,
            is_late,
            before: self.head.subtasks[subtask.index()].counted,
        });
    }

    /// A recording of the first `position` events alone.
    #[must_use]
    pub fn prefix(&self, position: usize) -> Self {
        let head = self.seek(position);
        let position = head.position;
        let frames = self
            .keyframes
            .partition_point(|frame| frame.position <= position);
        let outputs = self.outputs.partition_point(|(at, ..)| *at <= position);
        let barriers = self.barrier_positions.partition_point(|at| *at <= position);
        let lineages = usize::try_from(head.state_changes).unwrap_or(usize::MAX);
        Self {
            job: self.job.clone(),
            plan: self.plan.clone(),
            events: self.events[..position].to_vec(),
            keyframes: self.keyframes[..frames].to_vec(),
            lineages: self.lineages[..lineages.min(self.lineages.len())].to_vec(),
            outputs: self.outputs[..outputs].to_vec(),
            barrier_positions: self.barrier_positions[..barriers].to_vec(),
            head,
        }
    }

    #[must_use]
    pub fn events(&self) -> &[TraceEvent] {
        &self.events
    }

    /// The state after all events.
    #[must_use]
    pub fn head(&self) -> &View {
        &self.head
    }

    /// The state after the first `position` events (at most all).
    #[must_use]
    pub fn seek(&self, position: usize) -> View {
        let position = position.min(self.events.len());
        if position == self.events.len() {
            return self.head.clone();
        }
        let after = self
            .keyframes
            .partition_point(|frame| frame.position <= position);
        // The first one is at 0.
        let mut view = self.keyframes[after - 1].clone();
        for event in &self.events[view.position..position] {
            view.apply(&self.plan, event);
        }
        view
    }

    /// The position just before the step that `position` is in (or at the end of).
    #[must_use]
    pub fn before_step(&self, position: usize) -> usize {
        let Some(last) = position
            .checked_sub(1)
            .and_then(|last| self.events.get(last))
        else {
            return 0;
        };
        self.events.partition_point(|event| event.step < last.step)
    }

    /// The position just after the step that follows `position`; the end if there is none.
    #[must_use]
    pub fn after_step(&self, position: usize) -> usize {
        let Some(next) = self.events.get(position) else {
            return self.events.len();
        };
        self.events.partition_point(|event| event.step <= next.step)
    }

    /// The end of the step that `position` is in; `position` itself where it is at an end.
    #[must_use]
    pub fn step_end(&self, position: usize) -> usize {
        match position
            .checked_sub(1)
            .and_then(|last| self.events.get(last))
        {
            Some(last) => self.events.partition_point(|event| event.step <= last.step),
            None => self.after_step(0),
        }
    }

    /// The position at time `at_us`: after everything that happened until then.
    #[must_use]
    pub fn at_time(&self, at_us: u64) -> usize {
        self.events.partition_point(|event| event.at_us <= at_us)
    }

    /// The end of the next step beyond `position` in which something concerns a barrier or a checkpoint.
    #[must_use]
    pub fn next_barrier_event(&self, position: usize) -> Option<usize> {
        let place = self
            .barrier_positions
            .partition_point(|found| *found <= position);
        self.barrier_positions
            .get(place)
            .map(|found| self.step_end(*found))
    }

    /// The end of the last such step before the one that `position` is in.
    #[must_use]
    pub fn previous_barrier_event(&self, position: usize) -> Option<usize> {
        let start = self.before_step(position);
        let place = self
            .barrier_positions
            .partition_point(|found| *found <= start);
        self.barrier_positions[..place]
            .last()
            .map(|found| self.step_end(*found))
    }

    /// What readers outside see at `view`, in the order in which it became visible. Of an upsert sink these are all its
    /// writes; what a two-phase commit sink has not committed is not among them.
    pub fn outputs(&self, view: &View) -> impl Iterator<Item = (SubtaskId, &Record)> {
        let count = self
            .outputs
            .partition_point(|(position, ..)| *position <= view.position);
        self.outputs[..count]
            .iter()
            .map(|(_, subtask, record)| (*subtask, record))
    }

    /// The records counted in `lineage`, newest first; not those that came too late for their window.
    pub fn origins(&self, lineage: view::Lineage) -> impl Iterator<Item = Origin> {
        let counted = self.effects(lineage).filter(|(_, is_late)| !is_late);
        counted.map(|(origin, _)| origin)
    }

    /// The records that are done with in `lineage`, newest first, and whether each came too late for its window.
    pub fn effects(&self, lineage: view::Lineage) -> impl Iterator<Item = (Origin, bool)> {
        let entry = |lineage: view::Lineage| {
            let index = usize::try_from(lineage.0).ok()?.checked_sub(1)?;
            self.lineages.get(index).copied()
        };
        let mut next = entry(lineage);
        std::iter::from_fn(move || {
            let effect = next?;
            next = entry(effect.before);
            Some((effect.origin, effect.is_late))
        })
    }
}

/// Whether an event belongs to the story of a checkpoint.
#[must_use]
pub fn concerns_barriers(event: &EventKind) -> bool {
    match event {
        EventKind::Sent { element, .. } | EventKind::SentAhead { element, .. } => {
            matches!(element, StreamElement::Event(StreamEvent::Barrier(_)))
        }
        EventKind::TakenAhead { .. }
        | EventKind::BarrierPromoted { .. }
        | EventKind::InFlightPersisted { .. }
        | EventKind::InFlightRestored { .. }
        | EventKind::IntakePaused { .. }
        | EventKind::Drained { .. }
        | EventKind::IntakeResumed { .. }
        | EventKind::InputBlocked { .. }
        | EventKind::InputUnblocked { .. }
        | EventKind::SnapshotStarted { .. }
        | EventKind::SnapshotWritten { .. }
        | EventKind::SnapshotFailed { .. }
        | EventKind::StorageFailed { .. }
        | EventKind::Triggered { .. }
        | EventKind::TriggerRejected { .. }
        | EventKind::Acknowledged { .. }
        | EventKind::Declined { .. }
        | EventKind::PreCommitted { .. }
        | EventKind::Committed { .. }
        | EventKind::CommitFailed { .. }
        | EventKind::TransactionAborted { .. }
        | EventKind::Completed { .. }
        | EventKind::Aborted { .. } => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        Decimal, Key, KeyExpr, KeyedSumSpec, OperatorSpec, Position, SplitId, Uid, Vertex,
        VertexCosts,
    };

    /// One keyed sum of very many keys, each new.
    fn recording_of_keys(keys: i32) -> Recording {
        let spec = KeyedSumSpec {
            key: Some(KeyExpr::Column),
            ttl: None,
        };
        let sum = Vertex {
            uid: Uid::new("sum"),
            has_explicit_uid: true,
            costs: VertexCosts::default(),
            name: "sum".to_owned(),
            parallelism: 1,
            max_parallelism: None,
            position: Position::default(),
            operator: OperatorSpec::KeyedSum(spec),
        };
        let job = JobGraph {
            vertices: vec![sum],
            ..JobGraph::default()
        };
        let plan = Arc::new(ExecutionGraph::of(&job));
        let mut recording = Recording::new(Arc::new(job), plan);
        for key in 0..keys {
            let step = key.unsigned_abs().into();
            let kind = EventKind::StateChanged {
                subtask: SubtaskId(0),
                key: Key::int(key),
                value: Decimal::ONE,
                origin: Origin {
                    split: SplitId(0),
                    offset: step,
                },
            };
            recording.append(TraceEvent {
                at_us: step,
                step,
                kind,
            });
        }
        recording
    }

    /// Breaks if the kept views of a state that grows and grows take memory with the square of the events.
    #[test]
    fn all_kept_views_weigh_no_more_than_the_events() {
        let recording = recording_of_keys(50_000);
        let weight: usize = recording.keyframes.iter().map(View::weight).sum();
        assert!(weight <= 2 * recording.events.len(), "{weight}");
        assert!(recording.keyframes.len() > 5, "and still there are some");
    }

    #[test]
    fn seeking_is_folding_wherever_a_view_is_kept() {
        let recording = recording_of_keys(3_000);
        let mut folded = View::new(&recording.plan, 0);
        for (position, event) in recording.events.iter().enumerate() {
            if position.is_multiple_of(17) {
                assert!(recording.seek(position) == folded, "{position}");
            }
            folded.apply(&recording.plan, event);
        }
    }
}
