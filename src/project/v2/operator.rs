//! Format 2 ⇄ model: operators.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::part::{Part, Set, is_false, silent, unless_default, words};
use super::process::{Function, Ttl};
use crate::model::{self, OperatorSpec, SinkKind, SourceKind, Uid};

const DEFAULT_PARALLELISM: u32 = 1;
const DEFAULT_FACTOR: i32 = 1;
const DEFAULT_TRANSACTION_TIMEOUT_MS: u64 = 3_600_000;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operator {
    pub uid: String,
    /// The uid is only what edges and scripts call it here: the job itself gives the operator none, and what finds its
    /// state again is derived from the graph.
    #[serde(default, skip_serializing_if = "is_false")]
    pub generated_uid: bool,
    /// Left out: as the uid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub kind: Kind,
    /// Left out: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallelism: Option<u32>,
    /// Left out: Flink's default for the parallelism.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_parallelism: Option<u32>,
    /// Left out: as the job's settings say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<Costs>,
    /// The top-left corner on the canvas, in points.
    pub at: (f32, f32),
}

silent! {
    /// Where this operator costs other than the job's settings say, in microseconds of virtual time.
    pub struct Costs = model::VertexCosts, NO_COSTS => {
        process_us: Set<u64>,
        snapshot_sync_us: Set<u64>,
        snapshot_async_us: Set<u64>,
        /// Only this subtask, from 0, costs so.
        only_subtask: Set<u32>,
    }
}

const NO_COSTS: model::VertexCosts = model::VertexCosts {
    process_us: None,
    snapshot_sync_us: None,
    snapshot_async_us: None,
    only_subtask: None,
};

/// What an operator is.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Kind {
    /// The numbers 1, 2, 3 …
    SequenceSource {
        rate_per_s: f64,
        /// Records in all. Left out: no end.
        #[serde(skip_serializing_if = "Option::is_none")]
        end: Option<u64>,
        /// Left out: one for each subtask.
        #[serde(skip_serializing_if = "Option::is_none")]
        splits: Option<u32>,
        /// Left out: the records have no event time.
        #[serde(skip_serializing_if = "Option::is_none")]
        event_time: Option<EventTime>,
        /// Left out: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pause: Option<Pause>,
    },
    /// The rows of a CSV file with a header line.
    CsvSource {
        /// Relative to the folder of the job file.
        path: String,
        key_column: String,
        value_column: String,
        rate_per_s: f64,
        /// Records in all. Left out: all rows.
        #[serde(skip_serializing_if = "Option::is_none")]
        end: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        splits: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        event_time: Option<EventTime>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pause: Option<Pause>,
    },
    /// The value times a number.
    Map {
        /// Left out: 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        factor: Option<i32>,
    },
    /// A running sum per key.
    KeyedSum {
        /// Left out: not chosen yet (only in a draft).
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<KeyExpr>,
        /// Left out: a sum stays for ever.
        #[serde(skip_serializing_if = "Option::is_none")]
        ttl: Option<Ttl>,
    },
    /// A function per key, over state of one kind.
    KeyedProcess {
        /// Left out: not chosen yet (only in a draft).
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<KeyExpr>,
        function: Function,
        /// Left out: state stays until it is cleared.
        #[serde(skip_serializing_if = "Option::is_none")]
        ttl: Option<Ttl>,
    },
    /// Lets through what the rules allow, which come on its broadcast edges.
    RuleFilter,
    /// A tumbling event-time window per key.
    Window {
        /// Left out: not chosen yet (only in a draft).
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<KeyExpr>,
        size_ms: u64,
        aggregate: Aggregate,
    },
    /// Lets out what reaches it, at once.
    Sink,
    /// The newest value of each key counts.
    UpsertSink,
    /// Lets out what reaches it with the next checkpoint.
    TwoPhaseCommitSink {
        /// Left out: an hour.
        #[serde(skip_serializing_if = "Option::is_none")]
        transaction_timeout_ms: Option<u64>,
        /// Transactions whose time was over at a restore are given up.
        #[serde(default, skip_serializing_if = "is_false")]
        ignore_failures_after_timeout: bool,
    },
    /// Lets out what reaches it when so many records have gathered.
    BufferingSink {
        /// Left out: 5.
        #[serde(skip_serializing_if = "Option::is_none")]
        threshold: Option<u32>,
    },
}

/// The `n`-th record (from 0) happened at `n × step_ms`; of every `late_every` the last one came `late_by_ms` late.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventTime {
    pub step_ms: u64,
    /// Left out: none is late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_every: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_by_ms: Option<u64>,
    /// How far the watermark stays behind the newest record. Left out: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_lateness_ms: Option<u64>,
    /// Left out: never idle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_after_ms: Option<u64>,
}

/// After so many records of a subtask, nothing for a while.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    pub after_records: u64,
    pub for_ms: u64,
}

words! {
    pub enum Aggregate = model::WindowAggregate { Sum, Count }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum KeyExpr {
    /// The record's key column.
    Column,
    /// `Modulo(2, ["even", "odd"])`: the value modulo 2; key 0 is called even, key 1 odd.
    Modulo(u32, Vec<String>),
}

impl Operator {
    pub(super) fn from_model(vertex: &model::Vertex) -> Self {
        Self {
            uid: vertex.uid.to_string(),
            generated_uid: !vertex.has_explicit_uid,
            name: unless_default(vertex.name.clone(), &vertex.uid.to_string()),
            kind: Kind::from_model(&vertex.operator),
            parallelism: unless_default(vertex.parallelism, &DEFAULT_PARALLELISM),
            max_parallelism: vertex.max_parallelism,
            costs: Costs::of(&vertex.costs),
            at: (vertex.position.x, vertex.position.y),
        }
    }

    pub(super) fn into_model(self) -> model::Vertex {
        model::Vertex {
            uid: Uid::new(&self.uid),
            has_explicit_uid: !self.generated_uid,
            name: self.name.unwrap_or(self.uid),
            parallelism: self.parallelism.unwrap_or(DEFAULT_PARALLELISM),
            max_parallelism: self.max_parallelism,
            position: model::Position {
                x: self.at.0,
                y: self.at.1,
            },
            operator: self.kind.into_model(),
            costs: self.costs.map_or(NO_COSTS, Costs::into_value),
        }
    }
}

impl Kind {
    fn from_model(operator: &OperatorSpec) -> Self {
        match operator {
            OperatorSpec::Source(spec) => Self::from_source(spec),
            OperatorSpec::Map(spec) => Self::Map {
                factor: unless_default(spec.factor, &DEFAULT_FACTOR),
            },
            OperatorSpec::KeyedSum(spec) => Self::KeyedSum {
                key: spec.key.as_ref().map(KeyExpr::from_model),
                ttl: spec.ttl.map(Ttl::from_model),
            },
            OperatorSpec::KeyedProcess(spec) => Self::KeyedProcess {
                key: spec.key.as_ref().map(KeyExpr::from_model),
                function: Function::from_model(spec.function),
                ttl: spec.ttl.map(Ttl::from_model),
            },
            OperatorSpec::RuleFilter => Self::RuleFilter,
            OperatorSpec::Window(spec) => Self::Window {
                key: spec.key.as_ref().map(KeyExpr::from_model),
                size_ms: spec.size_ms,
                aggregate: Aggregate::from_model(spec.aggregate),
            },
            OperatorSpec::Sink(spec) => Self::from_sink(spec.kind),
        }
    }

    fn from_source(spec: &model::SourceSpec) -> Self {
        let (rate_per_s, end, splits) = (spec.rate_per_s, spec.end, spec.splits);
        let event_time = spec.event_time.as_ref().map(EventTime::from_model);
        let pause = spec.pause.map(Pause::from_model);
        match &spec.kind {
            SourceKind::Sequence => Self::SequenceSource {
                rate_per_s,
                end,
                splits,
                event_time,
                pause,
            },
            SourceKind::Csv(csv) => Self::CsvSource {
                path: csv.path.to_string_lossy().into_owned(),
                key_column: csv.key_column.clone(),
                value_column: csv.value_column.clone(),
                rate_per_s,
                end,
                splits,
                event_time,
                pause,
            },
        }
    }

    fn from_sink(kind: SinkKind) -> Self {
        match kind {
            SinkKind::Plain => Self::Sink,
            SinkKind::Upsert => Self::UpsertSink,
            SinkKind::TwoPhaseCommit {
                transaction_timeout_ms: timeout_ms,
                ignore_failures_after_timeout,
            } => Self::TwoPhaseCommitSink {
                transaction_timeout_ms: unless_default(timeout_ms, &DEFAULT_TRANSACTION_TIMEOUT_MS),
                ignore_failures_after_timeout,
            },
            SinkKind::Buffering { threshold } => Self::BufferingSink {
                threshold: unless_default(threshold, &SinkKind::DEFAULT_THRESHOLD),
            },
        }
    }

    fn into_model(self) -> OperatorSpec {
        let sink = |kind| OperatorSpec::Sink(model::SinkSpec { kind });
        match self {
            Self::SequenceSource {
                rate_per_s,
                end,
                splits,
                event_time,
                pause,
            } => OperatorSpec::Source(model::SourceSpec {
                kind: SourceKind::Sequence,
                rate_per_s,
                end,
                splits,
                event_time: event_time.map(EventTime::into_model),
                pause: pause.map(Pause::into_model),
            }),
            Self::CsvSource {
                path,
                key_column,
                value_column,
                rate_per_s,
                end,
                splits,
                event_time,
                pause,
            } => OperatorSpec::Source(model::SourceSpec {
                kind: SourceKind::Csv(model::CsvSpec {
                    path: PathBuf::from(path),
                    key_column,
                    value_column,
                }),
                rate_per_s,
                end,
                splits,
                event_time: event_time.map(EventTime::into_model),
                pause: pause.map(Pause::into_model),
            }),
            Self::Map { factor } => OperatorSpec::Map(model::MapSpec {
                factor: factor.unwrap_or(DEFAULT_FACTOR),
            }),
            Self::KeyedSum { key, ttl } => OperatorSpec::KeyedSum(model::KeyedSumSpec {
                key: key.map(KeyExpr::into_model),
                ttl: ttl.map(Ttl::into_model),
            }),
            Self::KeyedProcess { key, function, ttl } => {
                OperatorSpec::KeyedProcess(model::KeyedProcessSpec {
                    key: key.map(KeyExpr::into_model),
                    function: function.into_model(),
                    ttl: ttl.map(Ttl::into_model),
                })
            }
            Self::RuleFilter => OperatorSpec::RuleFilter,
            Self::Window {
                key,
                size_ms,
                aggregate,
            } => OperatorSpec::Window(model::WindowSpec {
                key: key.map(KeyExpr::into_model),
                size_ms,
                aggregate: aggregate.into_model(),
            }),
            Self::Sink => sink(SinkKind::Plain),
            Self::UpsertSink => sink(SinkKind::Upsert),
            Self::TwoPhaseCommitSink {
                transaction_timeout_ms: timeout_ms,
                ignore_failures_after_timeout,
            } => sink(SinkKind::TwoPhaseCommit {
                transaction_timeout_ms: timeout_ms.unwrap_or(DEFAULT_TRANSACTION_TIMEOUT_MS),
                ignore_failures_after_timeout,
            }),
            Self::BufferingSink { threshold } => sink(SinkKind::Buffering {
                threshold: threshold.unwrap_or(SinkKind::DEFAULT_THRESHOLD),
            }),
        }
    }
}

impl EventTime {
    fn from_model(spec: &model::EventTimeSpec) -> Self {
        Self {
            step_ms: spec.step_ms,
            late_every: unless_default(spec.late_every, &0),
            late_by_ms: unless_default(spec.late_by_ms, &0),
            max_lateness_ms: unless_default(spec.max_lateness_ms, &0),
            idle_after_ms: spec.idle_after_ms,
        }
    }

    fn into_model(self) -> model::EventTimeSpec {
        model::EventTimeSpec {
            step_ms: self.step_ms,
            late_every: self.late_every.unwrap_or(0),
            late_by_ms: self.late_by_ms.unwrap_or(0),
            max_lateness_ms: self.max_lateness_ms.unwrap_or(0),
            idle_after_ms: self.idle_after_ms,
        }
    }
}

impl Pause {
    fn from_model(pause: model::SourcePause) -> Self {
        Self {
            after_records: pause.after_records,
            for_ms: pause.for_ms,
        }
    }

    fn into_model(self) -> model::SourcePause {
        model::SourcePause {
            after_records: self.after_records,
            for_ms: self.for_ms,
        }
    }
}

impl KeyExpr {
    fn from_model(key: &model::KeyExpr) -> Self {
        match key {
            model::KeyExpr::Column => Self::Column,
            model::KeyExpr::Modulo { modulus, labels } => {
                Self::Modulo(*modulus, labels.iter().map(ToString::to_string).collect())
            }
        }
    }

    fn into_model(self) -> model::KeyExpr {
        match self {
            Self::Column => model::KeyExpr::Column,
            Self::Modulo(modulus, labels) => model::KeyExpr::Modulo {
                modulus,
                labels: labels.into_iter().map(Into::into).collect(),
            },
        }
    }
}
