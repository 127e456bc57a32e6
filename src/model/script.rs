//! What a person may tell a run, and when a script says it.

use serde::{Deserialize, Serialize};

use super::ids::{CheckpointId, Uid};

/// A button of the window, and the same thing in a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Ask the coordinator for a checkpoint.
    Checkpoint,
    /// Let subtask `subtask` (from 0) of operator `uid` fail.
    Crash { uid: Uid, subtask: u32 },
    /// Cancel what runs and begin again from a completed checkpoint: this one, or the latest.
    Restore { checkpoint: Option<CheckpointId> },
    /// Cancel the job: the run ends here.
    Stop,
}

/// The moment of a scripted command: the first at which this holds.
///
/// Counts are of everything since the run's beginning; a restart does not turn them back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum When {
    /// Virtual time has reached this many milliseconds (in a live run: wall time).
    AtMs(u64),
    /// The source (all its subtasks) has emitted this many records.
    Emitted { uid: Uid, records: u64 },
    /// Subtask `subtask` (from 0) of the operator has processed this many records.
    Processed {
        uid: Uid,
        subtask: u32,
        records: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptEntry {
    pub when: When,
    pub command: Command,
}
