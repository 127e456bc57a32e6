//! Format 1, frozen: what a job file of `version: 1` may hold.
//!
//! These types are the file. They look like the model today, and stay as they are when the model moves on; `model` and
//! `settings` translate. Whatever is left out has the value that it had when format 1 was released.

mod model;
mod settings;

use serde::{Deserialize, Serialize};

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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Settings>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub script: Vec<ScriptEntry>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operator {
    pub uid: String,
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
    /// The top-left corner on the canvas, in points.
    pub at: (f32, f32),
}

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
    },
    /// A running sum per key.
    KeyedSum {
        /// Left out: not chosen yet (only in a draft).
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<KeyExpr>,
    },
    /// Collects what reaches it.
    Sink,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum KeyExpr {
    /// The record's key column.
    Column,
    /// `Modulo(2, ["even", "odd"])`: the value modulo 2; key 0 is called even, key 1 odd.
    Modulo(u32, Vec<String>),
}

/// From uid, to uid, and how records find their subtask.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Edge(pub String, pub String, pub Partitioning);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum Partitioning {
    Hash,
    Forward,
    Rebalance,
    Broadcast,
}

/// How the job runs. Everything may be left out.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<Backend>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpointing: Option<Checkpointing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<Restart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<Costs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_capacity: Option<u32>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum Backend {
    Heap,
    RocksDb,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Storage {
    JobManager,
    FileSystem {
        /// Left out: 20 KiB.
        #[serde(skip_serializing_if = "Option::is_none")]
        inline_threshold_bytes: Option<u32>,
    },
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpointing {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retained: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerable_failed: Option<u32>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Restart {
    Manual,
    FixedDelay { delay_ms: u64 },
}

/// The cost model of virtual time, in microseconds.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rpc_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_sync_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_async_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_async_us_per_kib: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restore_us: Option<u64>,
}

/// When, and what then.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct ScriptEntry(pub When, pub Command);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum When {
    /// Milliseconds of virtual time.
    AtMs(u64),
    /// `Emitted("numbers", 5)`: this source has emitted 5 records.
    Emitted(String, u64),
    /// `Processed("sum", 0, 4)`: subtask 0 of this operator has processed 4 records.
    Processed(String, u32, u64),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    Checkpoint,
    /// `Crash("sum", 0)`: subtask 0 of this operator fails.
    Crash(String, u32),
    /// From the latest completed checkpoint.
    Restore,
    /// From this checkpoint.
    RestoreFrom(u64),
    Stop,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for this signature"
)]
fn is_false(value: &bool) -> bool {
    !value
}

/// `value`, unless the file may be silent about it.
fn unless_default<T: PartialEq>(value: T, default: &T) -> Option<T> {
    (value != *default).then_some(value)
}
