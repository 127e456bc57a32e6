//! What a person may tell a run, and when a script says it.

use serde::{Deserialize, Serialize};

use super::element::SavepointFormat;
use super::ids::{CheckpointId, Uid};

/// A button of the window, and the same thing in a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Ask the coordinator for a checkpoint.
    Checkpoint,
    /// Ask for a savepoint into the job's savepoint folder.
    Savepoint { format: SavepointFormat },
    /// Take a savepoint and end the job with it. `drain`: first process and emit all that it holds.
    StopWithSavepoint {
        format: SavepointFormat,
        drain: bool,
    },
    /// Take a plain savepoint, then cancel the job (Flink's deprecated `cancel -s`): not in one step.
    CancelWithSavepoint { format: SavepointFormat },
    /// Let subtask `subtask` (from 0) of operator `uid` fail.
    Crash { uid: Uid, subtask: u32 },
    /// Let all of these (operator, subtask from 0) fail at once.
    CrashSeveral { subtasks: Vec<(Uid, u32)> },
    /// Let a `TaskManager` (from 0) fail with all its slots.
    CrashTaskManager { index: u32 },
    /// Merge the files of the databases in which operator `uid` keeps its state.
    Compact { uid: Uid },
    /// Remove a file of the checkpoint storage (`chk-3/_metadata`, `shared/state-…`), or a whole checkpoint by its folder
    /// (`chk-3`), as someone with a file manager would: no part of the job is told.
    DeleteStored { path: String },
    /// Something will go wrong once, the next time there is an occasion for it.
    Inject(Fault),
    /// Cancel what runs and begin again from a completed checkpoint: this one, or the latest.
    Restore { checkpoint: Option<CheckpointId> },
    /// Cancel the job: the run ends here.
    Stop,
    /// The JobManager goes away and leaves the job as it is (Flink: SUSPENDED): the run ends here.
    Suspend,
}

/// What goes wrong, and at which subtask (from 0) of which operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    pub kind: FaultKind,
    pub uid: Uid,
    pub subtask: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FaultKind {
    /// The synchronous part of its next snapshot throws: the task fails.
    SyncPart,
    /// The asynchronous part of its next snapshot throws: it declines.
    AsyncPart,
    /// The storage refuses its next state.
    StorageError,
    /// Its next state takes so much longer to write.
    StorageSlow { by_ms: u64 },
    /// Its next state is acknowledged, but only half of it is on the disk. Seen when it is read.
    TornWrite,
    /// The metadata of the next checkpoint cannot be written (whatever the subtask).
    Metadata,
    /// The next commit of its transaction throws.
    Commit,
    /// The next news of a completed (or aborted) checkpoint does not reach it.
    LoseNotification,
    /// They come so much later.
    DelayNotification { by_ms: u64 },
}

impl FaultKind {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SyncPart => "failure in the synchronous part",
            Self::AsyncPart => "failure in the asynchronous part",
            Self::StorageError => "storage error",
            Self::StorageSlow { .. } => "slow storage",
            Self::TornWrite => "torn write",
            Self::Metadata => "metadata cannot be written",
            Self::Commit => "failure in the commit",
            Self::LoseNotification => "lost notification",
            Self::DelayNotification { .. } => "delayed notification",
        }
    }
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
