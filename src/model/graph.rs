//! The job as a person builds it: operators and the edges between them.

use std::path::PathBuf;
use std::sync::Arc;

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::{Deserialize, Serialize};

use super::config::{CostModel, JobConfig};
use super::element::{Key, Record};
use super::ids::Uid;
use super::key_group::default_max_parallelism;
use super::process::{KeyedFunction, KeyedProcessSpec};
use super::script::ScriptEntry;
use super::state::{StateKind, TtlSpec};

/// A job: what `.ron` files hold and the canvas edits. May be wrong; [`super::validate()`] says where.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobGraph {
    pub name: String,
    /// A sentence or two for whoever opens the job, shown on the canvas.
    pub note: String,
    pub vertices: Vec<Vertex>,
    pub edges: Vec<Edge>,
    pub config: JobConfig,
    pub script: Vec<ScriptEntry>,
}

impl JobGraph {
    #[must_use]
    pub fn vertex(&self, uid: &Uid) -> Option<&Vertex> {
        self.vertices.iter().find(|vertex| vertex.uid == *uid)
    }

    pub fn inputs_of<'a>(&'a self, uid: &'a Uid) -> impl Iterator<Item = &'a Edge> {
        self.edges.iter().filter(move |edge| edge.to == *uid)
    }

    pub fn outputs_of<'a>(&'a self, uid: &'a Uid) -> impl Iterator<Item = &'a Edge> {
        self.edges.iter().filter(move |edge| edge.from == *uid)
    }
}

/// One operator (Flink: `JobVertex`), run as `parallelism` subtasks.
#[derive(Clone, Debug, PartialEq)]
pub struct Vertex {
    pub uid: Uid,
    /// Whether a person has given the uid, so that state finds its operator in a changed graph. Otherwise Flink derives
    /// the operator's id from the structure of the graph, and a change of that loses it.
    pub has_explicit_uid: bool,
    pub name: String,
    pub parallelism: u32,
    /// The number of key groups. None: Flink's default for this parallelism.
    pub max_parallelism: Option<u32>,
    pub position: Position,
    pub operator: OperatorSpec,
    pub costs: VertexCosts,
}

/// Where an operator costs other than the job's cost model says, in virtual time. None: as the model says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VertexCosts {
    pub process_us: Option<u64>,
    pub snapshot_sync_us: Option<u64>,
    pub snapshot_async_us: Option<u64>,
    /// Only this subtask (from 0) costs so; the others are as the model says. None: all of them.
    pub only_subtask: Option<u32>,
}

impl VertexCosts {
    /// What subtask `index` of the operator costs, where `model` is the job's.
    #[must_use]
    pub fn of(&self, index: u32, model: CostModel) -> CostModel {
        if self.only_subtask.is_some_and(|only| only != index) {
            return model;
        }
        let Self {
            process_us,
            snapshot_sync_us,
            snapshot_async_us,
            only_subtask: _,
        } = *self;
        CostModel {
            process_us: process_us.unwrap_or(model.process_us),
            snapshot_sync_us: snapshot_sync_us.unwrap_or(model.snapshot_sync_us),
            snapshot_async_us: snapshot_async_us.unwrap_or(model.snapshot_async_us),
            ..model
        }
    }
}

impl Vertex {
    /// One subtask of `operator`, called as its uid.
    #[must_use]
    pub fn new(uid: Uid, operator: OperatorSpec) -> Self {
        Self {
            name: uid.as_str().to_owned(),
            uid,
            has_explicit_uid: true,
            parallelism: 1,
            max_parallelism: None,
            position: Position::default(),
            operator,
            costs: VertexCosts::default(),
        }
    }

    #[must_use]
    pub fn effective_max_parallelism(&self) -> u32 {
        self.max_parallelism
            .unwrap_or_else(|| default_max_parallelism(self.parallelism))
    }

    #[must_use]
    pub fn is_source(&self) -> bool {
        matches!(self.operator, OperatorSpec::Source(_))
    }

    #[must_use]
    pub fn is_sink(&self) -> bool {
        matches!(self.operator, OperatorSpec::Sink(_))
    }
}

/// The top-left corner of a node on the canvas, in points at 100 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Position {
    pub x: f32,
    pub y: f32,
}

/// What an operator does, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum OperatorSpec {
    Source(SourceSpec),
    Map(MapSpec),
    KeyedSum(KeyedSumSpec),
    KeyedProcess(KeyedProcessSpec),
    Window(WindowSpec),
    /// What comes on a broadcast edge are rules: every subtask has all of them, as broadcast state (Flink:
    /// `KeyedBroadcastProcessFunction`'s plain cousin `BroadcastProcessFunction`). A rule is a record: records of its key
    /// go on from its value on, smaller ones do not. One without key is for all records that have no rule of their own.
    RuleFilter,
    Sink(SinkSpec),
}

impl OperatorSpec {
    /// What kind of operator this is, in a person's words.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        match self {
            Self::Source(_) => "source",
            Self::Map(_) => "map",
            Self::KeyedSum(_) => "keyed sum",
            Self::KeyedProcess(spec) => spec.function.name(),
            Self::Window(_) => "window",
            Self::RuleFilter => "rule filter",
            Self::Sink(_) => "sink",
        }
    }

    /// How a keyed operator finds keys; none for others, and for those without a key yet.
    #[must_use]
    pub fn key(&self) -> Option<&KeyExpr> {
        match self {
            Self::KeyedSum(spec) => spec.key.as_ref(),
            Self::KeyedProcess(spec) => spec.key.as_ref(),
            Self::Window(spec) => spec.key.as_ref(),
            Self::Source(_) | Self::Map(_) | Self::RuleFilter | Self::Sink(_) => None,
        }
    }

    /// The same, to be changed; none: it is not keyed.
    pub fn key_mut(&mut self) -> Option<&mut Option<KeyExpr>> {
        match self {
            Self::KeyedSum(spec) => Some(&mut spec.key),
            Self::KeyedProcess(spec) => Some(&mut spec.key),
            Self::Window(spec) => Some(&mut spec.key),
            Self::Source(_) | Self::Map(_) | Self::RuleFilter | Self::Sink(_) => None,
        }
    }

    /// For how long its keyed state lives; none: for ever.
    #[must_use]
    pub fn ttl(&self) -> Option<TtlSpec> {
        match self {
            Self::KeyedSum(spec) => spec.ttl,
            Self::KeyedProcess(spec) => spec.ttl,
            _ => None,
        }
    }

    /// The same, to be changed; none: its state cannot have a time to live.
    pub fn ttl_mut(&mut self) -> Option<&mut Option<TtlSpec>> {
        match self {
            Self::KeyedSum(spec) => Some(&mut spec.ttl),
            Self::KeyedProcess(spec) => Some(&mut spec.ttl),
            _ => None,
        }
    }

    /// The kind of its keyed state, where that is shown entry by entry: a plain sum or a window is shown as one number
    /// for each key.
    #[must_use]
    pub fn entries_kind(&self) -> Option<StateKind> {
        match self {
            Self::KeyedSum(spec) => spec.ttl.map(|_| StateKind::Reducing),
            Self::KeyedProcess(spec) => Some(spec.function.state_kind()),
            _ => None,
        }
    }

    /// Whether what goes on is not each of the records that came in, once: it gathers them, or leaves some out.
    #[must_use]
    pub fn gathers(&self) -> bool {
        match self {
            Self::Window(_) | Self::RuleFilter => true,
            Self::KeyedProcess(spec) => spec.function.gathers(),
            Self::Source(_) | Self::Map(_) | Self::KeyedSum(_) | Self::Sink(_) => false,
        }
    }

    /// Whether it keeps state by key.
    #[must_use]
    pub fn is_keyed(&self) -> bool {
        matches!(
            self,
            Self::KeyedSum(_) | Self::KeyedProcess(_) | Self::Window(_)
        )
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct SourceSpec {
    pub kind: SourceKind,
    /// Records per second of *each* subtask.
    pub rate_per_s: f64,
    /// How many records the source emits in all, over its subtasks. None: no end (a CSV file ends by itself).
    pub end: Option<u64>,
    /// Into how many splits the records are dealt: split `i` of `n` has the records `i+1, i+1+n` …, and each subtask
    /// reads its splits. None: as many as there are subtasks, one for each; a restored job keeps the number it had.
    pub splits: Option<u32>,
    /// None: the records have no event time.
    pub event_time: Option<EventTimeSpec>,
    /// Once, the source falls silent for a while.
    pub pause: Option<SourcePause>,
}

impl SourceSpec {
    /// One that needs no more than this.
    #[must_use]
    pub fn new(kind: SourceKind, rate_per_s: f64, end: Option<u64>) -> Self {
        Self {
            kind,
            rate_per_s,
            end,
            splits: None,
            event_time: None,
            pause: None,
        }
    }
}

/// Records and time by which they say when they happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventTimeSpec {
    /// The `n`-th record of the source (from 0) happened at `n × step_ms`.
    pub step_ms: u64,
    /// Of every so many records the last one comes late. 0: none does.
    pub late_every: u32,
    /// By how much it happened earlier than its place says.
    pub late_by_ms: u64,
    /// The watermark stays so much behind the newest record (Flink: `forBoundedOutOfOrderness`).
    pub max_lateness_ms: u64,
    /// A source subtask without a record for so long, in virtual time, is idle (Flink: `withIdleness`). None: never.
    pub idle_after_ms: Option<u64>,
}

/// After `after_records` of a subtask, it emits nothing for `for_ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourcePause {
    pub after_records: u64,
    pub for_ms: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SourceKind {
    /// 1, 2, 3 …
    Sequence,
    /// The rows of a file.
    Csv(CsvSpec),
}

/// One record in, one record out: the value times `factor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapSpec {
    pub factor: i32,
}

impl Default for MapSpec {
    fn default() -> Self {
        Self { factor: 1 }
    }
}

/// A tumbling event-time window per key (Flink: `TumblingEventTimeWindows`, allowed lateness 0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowSpec {
    /// None until a person has chosen one: such a job does not run.
    pub key: Option<KeyExpr>,
    pub size_ms: u64,
    pub aggregate: WindowAggregate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum WindowAggregate {
    Sum,
    Count,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvSpec {
    /// As written in the job file, relative to the folder of that file.
    pub path: PathBuf,
    pub key_column: String,
    pub value_column: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyedSumSpec {
    /// None until a person has chosen one: such a job does not run.
    pub key: Option<KeyExpr>,
    /// None: a sum stays for ever.
    pub ttl: Option<TtlSpec>,
}

impl Default for KeyedProcessSpec {
    fn default() -> Self {
        Self {
            key: None,
            function: KeyedFunction::ALL[0],
            ttl: None,
        }
    }
}

/// How a keyed operator finds the key of a record (Flink: `KeySelector`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyExpr {
    /// The record's key column.
    Column,
    /// The value, rounded down, modulo `modulus` (never negative); shown as `labels[k]` where there is one.
    Modulo { modulus: u32, labels: Vec<Arc<str>> },
}

impl KeyExpr {
    /// The key of `record`. None: the record has no such key.
    #[must_use]
    pub fn key_of(&self, record: &Record) -> Option<Key> {
        match self {
            Self::Column => record.key.clone(),
            Self::Modulo { modulus, .. } => {
                let whole = record.value.floor() % Decimal::from(*modulus);
                let remainder = whole.to_i64()?.rem_euclid(i64::from(*modulus));
                Some(self.int_key(i32::try_from(remainder).ok()?))
            }
        }
    }

    /// `key` with the label that this expression gives it.
    #[must_use]
    pub fn with_label(&self, key: Key) -> Key {
        match key {
            Key::Int { value, .. } => self.int_key(value),
            text @ Key::Text(_) => text,
        }
    }

    /// The integer key `value` with the label that this expression gives it.
    #[must_use]
    pub fn int_key(&self, value: i32) -> Key {
        let label = match self {
            Self::Column => None,
            Self::Modulo { labels, .. } => usize::try_from(value)
                .ok()
                .and_then(|i| labels.get(i).cloned()),
        };
        Key::Int { value, label }
    }
}

/// A sink takes what reaches it out of the job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SinkSpec {
    pub kind: SinkKind,
}

/// What a restart does to that which a sink has taken since the last checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SinkKind {
    /// It stays out, and comes out again.
    #[default]
    Plain,
    /// It comes again and overwrites itself: the newest value of each key counts.
    Upsert,
    /// It was never visible: records are written into a transaction that is committed with the checkpoint
    /// (Flink: `TwoPhaseCommitSinkFunction`). The outside system aborts a transaction that is open for too long.
    TwoPhaseCommit {
        transaction_timeout_ms: u64,
        /// After a restore, a transaction that cannot be committed because its time was over is given up, and its
        /// records are lost; otherwise the job cannot go on (Flink: `ignoreFailuresAfterTransactionTimeout`).
        ignore_failures_after_timeout: bool,
    },
    /// Records wait until there are so many, and come out together. Those that wait are operator list state (Flink's
    /// documentation: `BufferingSink`); as there, what waits at the end of the job stays there.
    Buffering { threshold: u32 },
}

impl SinkKind {
    /// How many records a buffering sink gathers, if nobody says otherwise.
    pub const DEFAULT_THRESHOLD: u32 = 5;
    /// Kafka's `transaction.timeout.ms` as Flink's sink sets it.
    pub const DEFAULT_TRANSACTION_TIMEOUT_MS: u64 = 3_600_000;

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Upsert => "upsert",
            Self::TwoPhaseCommit { .. } => "two-phase commit",
            Self::Buffering { .. } => "buffering",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    pub from: Uid,
    pub to: Uid,
    pub partitioning: Partitioning,
}

/// Which subtask of the receiver gets a record (Flink: `StreamPartitioner`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Partitioning {
    /// The owner of the key's key group (`KeyGroupStreamPartitioner`).
    Hash,
    /// The subtask of the same index; both ends have the same parallelism (`ForwardPartitioner`).
    Forward,
    /// Each subtask in turn (`RebalancePartitioner`).
    Rebalance,
    /// Every subtask gets every record (`BroadcastPartitioner`).
    Broadcast,
}

impl Partitioning {
    pub const ALL: [Self; 4] = [Self::Hash, Self::Forward, Self::Rebalance, Self::Broadcast];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::Forward => "forward",
            Self::Rebalance => "rebalance",
            Self::Broadcast => "broadcast",
        }
    }
}
