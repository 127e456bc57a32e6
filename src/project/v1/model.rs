//! Format 1 ⇄ model.

use std::path::PathBuf;

use super::{
    Command, Edge, Job, KeyExpr, Kind, Operator, Partitioning, ScriptEntry, Settings, When,
    unless_default,
};
use crate::model::{self, CheckpointId, JobGraph, OperatorSpec, SourceKind, Uid};

const DEFAULT_PARALLELISM: u32 = 1;

impl Job {
    /// The file that holds `job`.
    #[must_use]
    pub fn from_model(job: &JobGraph, draft: bool) -> Self {
        Self {
            version: 1,
            draft,
            name: Some(job.name.clone()),
            note: job.note.clone(),
            operators: job.vertices.iter().map(Operator::from_model).collect(),
            edges: job.edges.iter().map(Edge::from_model).collect(),
            settings: unless_default(Settings::from_model(&job.config), &Settings::default()),
            script: job.script.iter().map(ScriptEntry::from_model).collect(),
        }
    }

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
    fn from_model(vertex: &model::Vertex) -> Self {
        Self {
            uid: vertex.uid.to_string(),
            name: unless_default(vertex.name.clone(), &vertex.uid.to_string()),
            kind: Kind::from_model(&vertex.operator),
            parallelism: unless_default(vertex.parallelism, &DEFAULT_PARALLELISM),
            max_parallelism: vertex.max_parallelism,
            at: (vertex.position.x, vertex.position.y),
        }
    }

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
    fn from_model(operator: &OperatorSpec) -> Self {
        match operator {
            OperatorSpec::Source(spec) => Self::from_source(spec),
            OperatorSpec::KeyedSum(spec) => Self::KeyedSum {
                key: spec.key.as_ref().map(KeyExpr::from_model),
            },
            _ => Self::Sink,
        }
    }

    fn from_source(spec: &model::SourceSpec) -> Self {
        let (rate_per_s, end) = (spec.rate_per_s, spec.end);
        match &spec.kind {
            SourceKind::Sequence => Self::SequenceSource { rate_per_s, end },
            SourceKind::Csv(csv) => Self::CsvSource {
                path: csv.path.to_string_lossy().into_owned(),
                key_column: csv.key_column.clone(),
                value_column: csv.value_column.clone(),
                rate_per_s,
                end,
            },
        }
    }

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
            }),
            Self::Sink => OperatorSpec::Sink(model::SinkSpec::default()),
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

impl Edge {
    fn from_model(edge: &model::Edge) -> Self {
        let partitioning = match edge.partitioning {
            model::Partitioning::Hash => Partitioning::Hash,
            model::Partitioning::Forward => Partitioning::Forward,
            model::Partitioning::Rebalance => Partitioning::Rebalance,
            model::Partitioning::Broadcast => Partitioning::Broadcast,
        };
        Self(edge.from.to_string(), edge.to.to_string(), partitioning)
    }

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
    fn from_model(entry: &model::ScriptEntry) -> Self {
        Self(
            When::from_model(&entry.when),
            Command::from_model(&entry.command),
        )
    }

    fn into_model(self) -> model::ScriptEntry {
        model::ScriptEntry {
            when: self.0.into_model(),
            command: self.1.into_model(),
        }
    }
}

impl When {
    fn from_model(when: &model::When) -> Self {
        match when {
            model::When::AtMs(ms) => Self::AtMs(*ms),
            model::When::Emitted { uid, records } => Self::Emitted(uid.to_string(), *records),
            model::When::Processed {
                uid,
                subtask,
                records,
            } => Self::Processed(uid.to_string(), *subtask, *records),
        }
    }

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
    fn from_model(command: &model::Command) -> Self {
        match command {
            model::Command::Checkpoint => Self::Checkpoint,
            model::Command::Crash { uid, subtask } => Self::Crash(uid.to_string(), *subtask),
            model::Command::Restore { checkpoint: None } => Self::Restore,
            model::Command::Restore {
                checkpoint: Some(CheckpointId(id)),
            } => Self::RestoreFrom(*id),
            _ => Self::Stop,
        }
    }

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
