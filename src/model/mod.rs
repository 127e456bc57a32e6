//! What a job *is*: pure data, checked and hashed the way Flink does, and nothing that runs.
//!
//! May know: the standard library, serde, exact decimals. Must not know: files, clocks, threads, egui, or any
//! other module of this crate.

pub mod config;
pub mod element;
pub mod graph;
pub mod ids;
pub mod key_group;
pub mod limits;
pub mod operator_id;
pub mod process;
pub mod script;
pub mod state;
pub mod state_options;
pub mod validate;

pub use config::{
    BackendKind, CheckpointConfig, CheckpointMode, ClaimMode, CostModel, ExponentialDelay,
    FailoverStrategy, JobConfig, RestartStrategy, Retention, StorageKind,
};
pub use element::{
    Alignment, CheckpointBarrier, EventTime, Key, KeyKind, Origin, Record, SavepointFormat,
    SnapshotKind, StreamElement, StreamEvent, TimeWindow,
};
pub use graph::{
    CsvSpec, Edge, EventTimeSpec, JobGraph, KeyExpr, KeyedSumSpec, MapSpec, OperatorSpec,
    Partitioning, Position, SinkKind, SinkSpec, SourceKind, SourcePause, SourceSpec, Vertex,
    VertexCosts, WindowAggregate, WindowSpec,
};
pub use ids::{ChannelId, CheckpointId, SplitId, SubtaskId, TransactionId, Uid};
pub use operator_id::{OperatorId, operator_ids};
pub use process::{KeyedFunction, KeyedProcessSpec};
pub use rust_decimal::Decimal;
pub use script::{Command, Fault, FaultKind, ScriptEntry, When};
pub use state::{
    EntryValue, KeyContents, StateEntry, StateKind, TtlSpec, TtlUpdate, TtlVisibility, entries_text,
};
pub use state_options::{ClassicBackend, StateOptions, TimerService};
pub use validate::{Hint, Problem, Severity, Site, hints, validate};
