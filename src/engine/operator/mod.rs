//! What a subtask does with a record. One file per kind; all state that a checkpoint must hold is in here.
//!
//! [`Operator`] is the only place that tells the kinds apart: whoever takes a snapshot, restores, or shows what a
//! subtask holds asks it, and a further kind needs its own file and its arms here.

mod event_time;
mod keyed_process;
mod keyed_sum;
mod map;
mod rule_filter;
mod sink;
mod source;
mod two_phase_commit;
mod window;

pub use event_time::EventClock;
pub use keyed_process::{Function, KeyedProcess};
pub use keyed_sum::KeyedSum;
pub use map::Map;
pub use rule_filter::RuleFilter;
pub use sink::{External, Sink, TransactionError};
pub use source::{CsvRow, Source, SourceFeed, Split};
pub use two_phase_commit::TwoPhaseCommit;
pub use window::Window;

use crate::engine::router::Router;
use crate::engine::state::{KeyedBackend, StateError};
use crate::engine::storage::ListState;
use crate::engine::subtask::{Effects, TaskFailure};
use crate::model::{
    CheckpointId, Decimal, EventTime, Key, KeyContents, Record, SplitId, TimeWindow, TransactionId,
};

/// What a source offset takes in a checkpoint.
const OFFSET_BYTES: u64 = 8;

/// The operator of one subtask.
pub enum Operator {
    Source(Source),
    Map(Map),
    KeyedSum(KeyedSum),
    KeyedProcess(KeyedProcess),
    Window(Window),
    RuleFilter(RuleFilter),
    Sink(Sink),
}

/// What an operator holds, as people read it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    /// Sources: how many records of each split were emitted.
    pub offsets: Vec<(SplitId, u64)>,
    /// Keyed sums: sorted by key, with labels.
    pub rows: Vec<(Key, Decimal)>,
    /// Windows that have not fired, sorted by window and key.
    pub windows: Vec<(TimeWindow, Key, Decimal)>,
    /// Other keyed state, expired or not: sorted by key, with labels.
    pub entries: Vec<KeyContents>,
    /// Records in operator list state: the rules of a filter, sorted by key; the buffer of a sink, in order.
    pub listed: Vec<Record>,
}

impl Operator {
    /// Process records of `input` in order; what comes of them goes on through `router`.
    ///
    /// The kind is told apart once for all of them, not once for each.
    ///
    /// # Errors
    /// A record cannot be processed, or the state backend failed.
    pub fn process<E: Effects>(
        &mut self,
        (input, records): (usize, impl IntoIterator<Item = Record>),
        router: &mut Router,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        match self {
            Self::Source(_) => Ok(()),
            Self::Map(map) => records
                .into_iter()
                .try_for_each(|record| router.route(map.apply(record)?, out)),
            Self::KeyedSum(sum) => records
                .into_iter()
                .try_for_each(|record| sum.process(&record, router, out)),
            Self::KeyedProcess(process) => records
                .into_iter()
                .try_for_each(|record| process.process(&record, router, out)),
            Self::Window(window) => records
                .into_iter()
                .try_for_each(|record| window.process(&record, out)),
            Self::RuleFilter(filter) => records
                .into_iter()
                .try_for_each(|record| filter.process((input, record), router, out)),
            Self::Sink(sink) => sink.collect(records, out),
        }
    }

    /// The subtask's watermark has risen; the watermark goes on after what comes of it.
    ///
    /// # Errors
    /// The state backend failed, or a result cannot be routed.
    pub fn on_watermark<E: Effects>(
        &mut self,
        watermark: EventTime,
        router: &mut Router,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        match self {
            Self::Window(window) => window.on_watermark(watermark, router, out),
            Self::Source(_)
            | Self::Map(_)
            | Self::KeyedSum(_)
            | Self::KeyedProcess(_)
            | Self::RuleFilter(_)
            | Self::Sink(_) => Ok(()),
        }
    }

    /// Its operator state (Flink: `OperatorStateBackend`), as a snapshot takes it.
    #[must_use]
    pub fn list_states(&self) -> Vec<ListState> {
        match self {
            Self::Source(source) => vec![source.list_state()],
            Self::Sink(sink) => sink.list_state().into_iter().collect(),
            Self::RuleFilter(filter) => vec![filter.list_state()],
            Self::Map(_) | Self::KeyedSum(_) | Self::KeyedProcess(_) | Self::Window(_) => {
                Vec::new()
            }
        }
    }

    /// Before its first record.
    ///
    /// # Errors
    /// A sink cannot commit a transaction of the restored checkpoint.
    pub fn open<E: Effects>(&mut self, out: &mut E) -> Result<(), TaskFailure> {
        self.sink_mut().map_or(Ok(()), |sink| Ok(sink.open(out)?))
    }

    /// In the synchronous part of a snapshot, before the state is captured.
    ///
    /// # Errors
    /// A sink cannot pre-commit its transaction.
    pub fn before_snapshot<E: Effects>(
        &mut self,
        checkpoint: CheckpointId,
        is_at_end: bool,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        self.sink_mut().map_or(
            Ok(()),
            |sink| Ok(sink.snapshot(checkpoint, is_at_end, out)?),
        )
    }

    /// The checkpoint is complete.
    ///
    /// # Errors
    /// A sink cannot commit.
    pub fn on_complete<E: Effects>(
        &mut self,
        checkpoint: CheckpointId,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        self.sink_mut()
            .map_or(Ok(()), |sink| Ok(sink.on_complete(checkpoint, out)?))
    }

    /// The task ends, well or not.
    pub fn close<E: Effects>(&mut self, out: &mut E) {
        if let Some(sink) = self.sink_mut() {
            sink.close(out);
        }
    }

    fn sink_mut(&mut self) -> Option<&mut Sink> {
        match self {
            Self::Sink(sink) => Some(sink),
            _ => None,
        }
    }

    /// The transactions that a restored checkpoint tells of.
    #[must_use]
    pub fn restored_transactions(&self) -> Vec<TransactionId> {
        match self {
            Self::Sink(sink) => sink.restored_transactions(),
            _ => Vec::new(),
        }
    }

    /// Its keyed state; none: it is not keyed.
    pub fn keyed_mut(&mut self) -> Option<&mut KeyedBackend> {
        match self {
            Self::KeyedSum(sum) => Some(&mut sum.state),
            Self::KeyedProcess(process) => Some(&mut process.state),
            Self::Window(window) => Some(&mut window.state),
            Self::Source(_) | Self::Map(_) | Self::RuleFilter(_) | Self::Sink(_) => None,
        }
    }

    /// The same to look at.
    #[must_use]
    pub fn keyed(&self) -> Option<&KeyedBackend> {
        match self {
            Self::KeyedSum(sum) => Some(&sum.state),
            Self::KeyedProcess(process) => Some(&process.state),
            Self::Window(window) => Some(&window.state),
            Self::Source(_) | Self::Map(_) | Self::RuleFilter(_) | Self::Sink(_) => None,
        }
    }

    /// Tell what is stored now of keys that a clean-up of its state has been at.
    ///
    /// # Errors
    /// The state backend failed.
    pub fn tell_cleaned<E: Effects>(&self, keys: &[Key], out: &mut E) -> Result<(), StateError> {
        match self {
            Self::KeyedProcess(process) => process.tell_cleaned(keys, out),
            _ => Ok(()),
        }
    }

    /// The logical size of all its state, in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::Source(source) => OFFSET_BYTES * source.splits().len() as u64,
            Self::KeyedSum(sum) => sum.state.size_bytes(),
            Self::KeyedProcess(process) => process.state.size_bytes(),
            Self::Window(window) => window.state.size_bytes(),
            Self::RuleFilter(_) | Self::Sink(_) => {
                let elements = self
                    .list_states()
                    .into_iter()
                    .flat_map(|list| list.elements);
                elements.map(|element| element.len() as u64).sum()
            }
            Self::Map(_) => 0,
        }
    }

    /// What it holds, as people read it.
    ///
    /// # Errors
    /// The state backend failed.
    pub fn contents(&self) -> Result<Contents, StateError> {
        let mut contents = Contents::default();
        match self {
            Self::Source(source) => {
                let splits = source.splits().iter();
                contents.offsets = splits.map(|split| (split.id, split.offset)).collect();
            }
            Self::KeyedSum(sum) => contents.rows = sum.entries()?,
            Self::KeyedProcess(process) => contents.entries = process.contents()?,
            Self::Window(window) => contents.windows = window.windows()?,
            Self::RuleFilter(filter) => contents.listed = filter.rules().cloned().collect(),
            Self::Sink(sink) => contents.listed = sink.buffer().to_vec(),
            Self::Map(_) => {}
        }
        Ok(contents)
    }

    /// How many records a source subtask has emitted, all its splits together; none: it is no source.
    #[must_use]
    pub fn source_offset(&self) -> Option<u64> {
        match self {
            Self::Source(source) => Some(source.offset()),
            _ => None,
        }
    }
}
