//! Format 2: what a job file of `version: 2` may hold. It is format 1 and all that came after it.
//!
//! These types are the file. They look like the model today, and stay as they are when the model moves on; each part
//! translates itself. Whatever is left out has the value that it had when format 2 was released.

mod operator;
mod part;
mod process;
mod script;
mod settings;

use serde::{Deserialize, Serialize};

use crate::model::{self, JobGraph, Uid};
use operator::Operator;
use part::{is_false, words};
use script::ScriptEntry;
use settings::Settings;

/// The whole file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    pub version: u32,
    /// An unfinished job: opens with its problems, and does not run.
    #[serde(default, skip_serializing_if = "is_false")]
    pub draft: bool,
    /// Left out: the file's name without its ending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    pub operators: Vec<Operator>,
    #[serde(default)]
    pub edges: Vec<Edge>,
    /// How the job runs. Everything may be left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Settings>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub script: Vec<ScriptEntry>,
}

/// From uid, to uid, and how records find their subtask.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Edge(pub String, pub String, pub Partitioning);

words! {
    pub enum Partitioning = model::Partitioning { Hash, Forward, Rebalance, Broadcast }
}

impl Job {
    /// The file that holds `job`.
    #[must_use]
    pub fn from_model(job: &JobGraph, draft: bool) -> Self {
        Self {
            version: 2,
            draft,
            name: Some(job.name.clone()),
            note: job.note.clone(),
            operators: job.vertices.iter().map(Operator::from_model).collect(),
            edges: job.edges.iter().map(Edge::from_model).collect(),
            settings: Settings::unless_silent(&job.config),
            script: job.script.iter().map(ScriptEntry::from_model).collect(),
        }
    }

    /// The job that this file holds; `default_name` if it does not say its name.
    #[must_use]
    pub fn into_model(self, default_name: &str) -> JobGraph {
        let operators = self.operators.into_iter();
        JobGraph {
            name: self.name.unwrap_or_else(|| default_name.into()),
            note: self.note,
            vertices: operators.map(Operator::into_model).collect(),
            edges: self.edges.into_iter().map(Edge::into_model).collect(),
            config: self.settings.unwrap_or_default().into_config(),
            script: self
                .script
                .into_iter()
                .map(ScriptEntry::into_model)
                .collect(),
        }
    }
}

impl Edge {
    fn from_model(edge: &model::Edge) -> Self {
        let partitioning = Partitioning::from_model(edge.partitioning);
        Self(edge.from.to_string(), edge.to.to_string(), partitioning)
    }

    fn into_model(self) -> model::Edge {
        model::Edge {
            from: Uid::new(&self.0),
            to: Uid::new(&self.1),
            partitioning: self.2.into_model(),
        }
    }
}
