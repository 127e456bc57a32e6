//! Format 1 ⇄ model.

use std::path::PathBuf;

use super::{Command, Edge, Job, KeyExpr, Kind, Operator, Partitioning, ScriptEntry, When};
use crate::model::{self, CheckpointId, JobGraph, OperatorSpec, SourceKind, Uid};

const DEFAULT_PARALLELISM: u32 = 1;

impl Job {
    /// The job that this file holds; `default_name` if it does not say its name.
    #[must_use]
    pub fn into_model(self, default_name: &str) -> JobGraph {
        JobGraph {
            name: self.name.unwrap_or_else(|| default_name.into()),
            note: self.note,
            vertices: self
                .operators
                .into_iter()
                .map(Operator::into_model)
                .collect(),
            edges: self.edges.into_iter().map(Edge::into_model).collect(),
            config: self.settings.unwrap_or_default().into_model(),
            script: self
                .script
                .into_iter()
                .map(ScriptEntry::into_model)
                .collect(),
        }
    }
}

impl Operator {
    fn into_model(self) -> model::Vertex {
        model::Vertex {
            uid: Uid::new(&self.uid),
            name: self.name.unwrap_or(self.uid),
            parallelism: self.parallelism.unwrap_or(DEFAULT_PARALLELISM),
            max_parallelism: self.max_parallelism,
            position: model::Position {
                x: self.at.0,
                y: self.at.1,
            },
            operator: self.kind.into_model(),
            has_explicit_uid: true,
            costs: model::VertexCosts::default(),
        }
    }
}

impl Kind {
    fn into_model(self) -> OperatorSpec {
        let source = |kind, rate_per_s, end| {
            OperatorSpec::Source(model::SourceSpec {
                kind,
                rate_per_s,
                end,
                splits: None,
                event_time: None,
                pause: None,
            })
        };
        match self {
            Self::SequenceSource { rate_per_s, end } => {
                source(SourceKind::Sequence, rate_per_s, end)
            }
            Self::CsvSource {
                path,
                key_column,
                value_column,
                rate_per_s,
                end,
            } => {
                let csv = model::CsvSpec {
                    path: PathBuf::from(path),
                    key_column,
                    value_column,
                };
                source(SourceKind::Csv(csv), rate_per_s, end)
            }
            Self::KeyedSum { key } => OperatorSpec::KeyedSum(model::KeyedSumSpec {
                key: key.map(KeyExpr::into_model),
                ttl: None,
            }),
            Self::Sink => OperatorSpec::Sink(model::SinkSpec::default()),
        }
    }
}

impl KeyExpr {
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

impl Edge {
    fn into_model(self) -> model::Edge {
        model::Edge {
            from: Uid::new(&self.0),
            to: Uid::new(&self.1),
            partitioning: match self.2 {
                Partitioning::Hash => model::Partitioning::Hash,
                Partitioning::Forward => model::Partitioning::Forward,
                Partitioning::Rebalance => model::Partitioning::Rebalance,
                Partitioning::Broadcast => model::Partitioning::Broadcast,
            },
        }
    }
}

impl ScriptEntry {
    fn into_model(self) -> model::ScriptEntry {
        model::ScriptEntry {
            when: self.0.into_model(),
            command: self.1.into_model(),
        }
    }
}

impl When {
    fn into_model(self) -> model::When {
        match self {
            Self::AtMs(ms) => model::When::AtMs(ms),
            Self::Emitted(uid, records) => model::When::Emitted {
                uid: Uid::new(&uid),
                records,
            },
            Self::Processed(uid, subtask, records) => model::When::Processed {
                uid: Uid::new(&uid),
                subtask,
                records,
            },
        }
    }
}

impl Command {
    fn into_model(self) -> model::Command {
        match self {
            Self::Checkpoint => model::Command::Checkpoint,
            Self::Crash(uid, subtask) => model::Command::Crash {
                uid: Uid::new(&uid),
                subtask,
            },
            Self::Restore => model::Command::Restore { checkpoint: None },
            Self::RestoreFrom(id) => model::Command::Restore {
                checkpoint: Some(CheckpointId(id)),
            },
            Self::Stop => model::Command::Stop,
        }
    }
}
