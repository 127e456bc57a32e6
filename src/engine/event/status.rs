//! In which state jobs and subtasks are, and why checkpoints and commands came to be.

use serde::{Deserialize, Serialize};

use crate::model::{CheckpointId, SavepointFormat, SnapshotKind};

/// Who gave a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandOrigin {
    Person,
    /// The job's script, by the entry's index.
    Script(usize),
    /// The restart strategy.
    Job,
}

/// Flink's `JobStatus`, as far as it is met here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobStatus {
    Running,
    /// A subtask failed and all are cancelled; the job waits to be restored (by a person, or until its delay ends).
    Restarting {
        cause: String,
    },
    /// Checkpoint state is being read back; `from` none: a fresh start.
    Restoring {
        from: Option<CheckpointId>,
    },
    /// All subtasks finished: the job's end.
    Finished,
    /// Stopped by a command.
    Canceled,
    /// The restart strategy gave up.
    Failed {
        cause: String,
    },
    /// The JobManager has gone.
    Suspended,
}

impl JobStatus {
    /// Nothing can happen any more.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(
            self,
            Self::Finished | Self::Canceled | Self::Failed { .. } | Self::Suspended
        )
    }
}

/// Flink's `ExecutionState`, as far as it is met here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SubtaskStatus {
    /// Reading its state back.
    Initializing,
    Running,
    /// All input has ended; waits for a checkpoint begun from now on to complete.
    EndOfData,
    Finished,
    Failed,
    Canceled,
}

/// Why a checkpoint was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckpointKind {
    /// The interval has passed.
    Periodic,
    /// Asked for by a person or a script.
    Manual,
    /// Taken by itself once every subtask has reached the end of its data, so that the last records count too.
    Final,
    Savepoint(SavepointFormat),
    /// The job ends with it.
    StopWithSavepoint {
        format: SavepointFormat,
        drain: bool,
    },
}

impl CheckpointKind {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Periodic | Self::Manual => "checkpoint",
            Self::Final => "final checkpoint",
            Self::Savepoint(_) => "savepoint",
            Self::StopWithSavepoint { drain: true, .. } => "savepoint (stop with drain)",
            Self::StopWithSavepoint { drain: false, .. } => "savepoint (stop)",
        }
    }

    #[must_use]
    pub fn is_savepoint(self) -> bool {
        matches!(self, Self::Savepoint(_) | Self::StopWithSavepoint { .. })
    }

    /// What the barriers say it is.
    #[must_use]
    pub fn snapshot(self) -> SnapshotKind {
        match self {
            Self::Periodic | Self::Manual | Self::Final => SnapshotKind::Checkpoint,
            Self::Savepoint(format) => SnapshotKind::Savepoint(format),
            Self::StopWithSavepoint { format, drain } => {
                SnapshotKind::StopWithSavepoint { format, drain }
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    Completed,
    Aborted,
}

/// Why an acknowledgement was ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IgnoredAck {
    /// The checkpoint had been completed or aborted.
    Late,
    Duplicate,
    /// From a subtask that this checkpoint does not wait for, or from before a restart.
    Unknown,
}
