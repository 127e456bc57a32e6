//! What a job *is*: pure data, checked and hashed the way Flink does, and nothing that runs.
//!
//! May know: the standard library, serde, exact decimals. Must not know: files, clocks, threads, egui, or any
//! other module of this crate.

pub mod config;
pub mod element;
pub mod graph;
pub mod ids;
pub mod key_group;
pub mod script;
pub mod validate;

pub use config::{
    BackendKind, CheckpointConfig, CostModel, JobConfig, RestartStrategy, StorageKind,
};
pub use element::{CheckpointBarrier, Key, Origin, Record, StreamElement, StreamEvent};
pub use graph::{
    CsvSpec, Edge, JobGraph, KeyExpr, KeyedSumSpec, OperatorSpec, Partitioning, Position, SinkSpec,
    SourceKind, SourceSpec, Vertex,
};
pub use ids::{ChannelId, CheckpointId, SubtaskId, Uid};
pub use rust_decimal::Decimal;
pub use script::{Command, ScriptEntry, When};
pub use validate::{Problem, Severity, Site, validate};
