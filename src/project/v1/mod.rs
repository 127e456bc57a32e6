//! Format 1, frozen: what a job file of `version: 1` may hold. It is read, and no longer written.
//!
//! These types are the file. They look like the model today, and stay as they are when the model moves on; `model` and
//! `settings` translate. Whatever is left out has the value that it had when format 1 was released.

mod model;
mod settings;

use serde::Deserialize;

/// The whole file.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    pub version: u32,
    /// An unfinished job: opens with its problems, and does not run.
    #[serde(default)]
    pub draft: bool,
    /// Left out: the file's name without its ending.
    pub name: Option<String>,
    #[serde(default)]
    pub note: String,
    pub operators: Vec<Operator>,
    #[serde(default)]
    pub edges: Vec<Edge>,
    pub settings: Option<Settings>,
    #[serde(default)]
    pub script: Vec<ScriptEntry>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operator {
    pub uid: String,
    /// Left out: as the uid.
    pub name: Option<String>,
    pub kind: Kind,
    /// Left out: 1.
    pub parallelism: Option<u32>,
    /// Left out: Flink's default for the parallelism.
    pub max_parallelism: Option<u32>,
    /// The top-left corner on the canvas, in points.
    pub at: (f32, f32),
}

/// What an operator is.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Kind {
    /// The numbers 1, 2, 3 …
    SequenceSource {
        rate_per_s: f64,
        /// Records in all. Left out: no end.
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
        end: Option<u64>,
    },
    /// A running sum per key.
    KeyedSum {
        /// Left out: not chosen yet (only in a draft).
        key: Option<KeyExpr>,
    },
    /// Collects what reaches it.
    Sink,
}

#[derive(Debug, PartialEq, Deserialize)]
pub enum KeyExpr {
    /// The record's key column.
    Column,
    /// `Modulo(2, ["even", "odd"])`: the value modulo 2; key 0 is called even, key 1 odd.
    Modulo(u32, Vec<String>),
}

/// From uid, to uid, and how records find their subtask.
#[derive(Debug, PartialEq, Deserialize)]
pub struct Edge(pub String, pub String, pub Partitioning);

#[derive(Debug, PartialEq, Deserialize)]
pub enum Partitioning {
    Hash,
    Forward,
    Rebalance,
    Broadcast,
}

/// How the job runs. Everything may be left out.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub seed: Option<u64>,
    pub backend: Option<Backend>,
    pub storage: Option<Storage>,
    pub checkpointing: Option<Checkpointing>,
    pub restart: Option<Restart>,
    pub costs: Option<Costs>,
    pub channel_capacity: Option<u32>,
}

#[derive(Debug, PartialEq, Deserialize)]
pub enum Backend {
    Heap,
    RocksDb,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Storage {
    JobManager,
    FileSystem {
        /// Left out: 20 KiB.
        inline_threshold_bytes: Option<u32>,
    },
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpointing {
    pub retained: Option<u32>,
    pub max_concurrent: Option<u32>,
    pub timeout_ms: Option<u64>,
    pub tolerable_failed: Option<u32>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Restart {
    Manual,
    FixedDelay { delay_ms: u64 },
}

/// The cost model of virtual time, in microseconds.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    pub transfer_us: Option<u64>,
    pub process_us: Option<u64>,
    pub rpc_us: Option<u64>,
    pub snapshot_sync_us: Option<u64>,
    pub snapshot_async_us: Option<u64>,
    pub snapshot_async_us_per_kib: Option<u64>,
    pub restore_us: Option<u64>,
}

/// When, and what then.
#[derive(Debug, PartialEq, Deserialize)]
pub struct ScriptEntry(pub When, pub Command);

#[derive(Debug, PartialEq, Deserialize)]
pub enum When {
    /// Milliseconds of virtual time.
    AtMs(u64),
    /// `Emitted("numbers", 5)`: this source has emitted 5 records.
    Emitted(String, u64),
    /// `Processed("sum", 0, 4)`: subtask 0 of this operator has processed 4 records.
    Processed(String, u32, u64),
}

#[derive(Debug, PartialEq, Deserialize)]
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
