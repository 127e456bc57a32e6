//! The job as a person builds it: operators and the edges between them.

use std::path::PathBuf;
use std::sync::Arc;

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::{Deserialize, Serialize};

use super::config::JobConfig;
use super::element::{Key, Record};
use super::ids::Uid;
use super::key_group::default_max_parallelism;
use super::script::ScriptEntry;

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
    pub name: String,
    pub parallelism: u32,
    /// The number of key groups. None: Flink's default for this parallelism.
    pub max_parallelism: Option<u32>,
    pub position: Position,
    pub operator: OperatorSpec,
}

impl Vertex {
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
    KeyedSum(KeyedSumSpec),
    Sink(SinkSpec),
}

impl OperatorSpec {
    /// What kind of operator this is, in a person's words.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        match self {
            Self::Source(_) => "source",
            Self::KeyedSum(_) => "keyed sum",
            Self::Sink(_) => "sink",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct SourceSpec {
    pub kind: SourceKind,
    /// Records per second of *each* subtask.
    pub rate_per_s: f64,
    /// How many records the source emits in all, over its subtasks. None: no end (a CSV file ends by itself).
    pub end: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SourceKind {
    /// 1, 2, 3 …; subtask `i` of `p` emits `i+1, i+1+p, i+1+2p` …
    Sequence,
    /// The rows of a file; subtask `i` of `p` reads rows `i+1, i+1+p` …
    Csv(CsvSpec),
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

/// A sink collects what reaches it; plain: what it has taken is out, and stays out after a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SinkSpec {}

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
