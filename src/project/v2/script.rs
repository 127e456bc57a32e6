//! Format 2 ⇄ model: the script.

use serde::{Deserialize, Serialize};

use super::part::{is_false, unless_default, words};
use crate::model::{self, CheckpointId, SavepointFormat, Uid};

const DEFAULT_FORMAT: SavepointFormat = SavepointFormat::Canonical;

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
#[serde(deny_unknown_fields)]
pub enum Command {
    Checkpoint,
    /// `Savepoint()`, `Savepoint(format: Native)`: into the savepoint folder.
    Savepoint {
        /// Left out: canonical.
        #[serde(skip_serializing_if = "Option::is_none")]
        format: Option<Format>,
    },
    /// The job ends with it.
    StopWithSavepoint {
        #[serde(skip_serializing_if = "Option::is_none")]
        format: Option<Format>,
        /// First all that the job holds is processed.
        #[serde(default, skip_serializing_if = "is_false")]
        drain: bool,
    },
    CancelWithSavepoint {
        #[serde(skip_serializing_if = "Option::is_none")]
        format: Option<Format>,
    },
    /// `Crash("sum", 0)`: subtask 0 of this operator fails.
    Crash(String, u32),
    /// `CrashSeveral([("sum", 0), ("sum", 1)])`: at once.
    CrashSeveral(Vec<(String, u32)>),
    /// `CrashTaskManager(0)`: with all its slots.
    CrashTaskManager(u32),
    /// `Compact("sum")`: the files of its databases are merged.
    Compact(String),
    /// `DeleteStored("chk-3/_metadata")`: this file is gone from the checkpoint storage; `"chk-3"`: all of the checkpoint.
    DeleteStored(String),
    /// `Inject(SyncPart, "sum", 0)`: what goes wrong next at subtask 0 of this operator.
    Inject(Fault, String, u32),
    /// From the latest completed checkpoint.
    Restore,
    /// From this checkpoint.
    RestoreFrom(u64),
    /// Cancel the job.
    Stop,
    /// The JobManager goes away.
    Suspend,
}

words! {
    pub enum Format = SavepointFormat { Canonical, Native }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Fault {
    SyncPart,
    AsyncPart,
    StorageError,
    StorageSlow { by_ms: u64 },
    TornWrite,
    Metadata,
    Commit,
    LoseNotification,
    DelayNotification { by_ms: u64 },
}

impl ScriptEntry {
    pub(super) fn from_model(entry: &model::ScriptEntry) -> Self {
        Self(
            When::from_model(&entry.when),
            Command::from_model(&entry.command),
        )
    }

    pub(super) fn into_model(self) -> model::ScriptEntry {
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

fn format_unless(format: SavepointFormat) -> Option<Format> {
    unless_default(format, &DEFAULT_FORMAT).map(Format::from_model)
}

fn format_or(format: Option<Format>) -> SavepointFormat {
    format.map_or(DEFAULT_FORMAT, Format::into_model)
}

impl Command {
    fn from_model(command: &model::Command) -> Self {
        match command {
            model::Command::Checkpoint => Self::Checkpoint,
            model::Command::Savepoint { format } => Self::Savepoint {
                format: format_unless(*format),
            },
            model::Command::StopWithSavepoint { format, drain } => Self::StopWithSavepoint {
                format: format_unless(*format),
                drain: *drain,
            },
            model::Command::CancelWithSavepoint { format } => Self::CancelWithSavepoint {
                format: format_unless(*format),
            },
            model::Command::Crash { uid, subtask } => Self::Crash(uid.to_string(), *subtask),
            model::Command::CrashSeveral { subtasks } => {
                let named = |(uid, subtask): &(Uid, u32)| (uid.to_string(), *subtask);
                Self::CrashSeveral(subtasks.iter().map(named).collect())
            }
            model::Command::CrashTaskManager { index } => Self::CrashTaskManager(*index),
            model::Command::Compact { uid } => Self::Compact(uid.to_string()),
            model::Command::DeleteStored { path } => Self::DeleteStored(path.clone()),
            model::Command::Inject(fault) => Self::Inject(
                Fault::from_model(fault.kind),
                fault.uid.to_string(),
                fault.subtask,
            ),
            model::Command::Restore { checkpoint: None } => Self::Restore,
            model::Command::Restore {
                checkpoint: Some(CheckpointId(id)),
            } => Self::RestoreFrom(*id),
            model::Command::Stop => Self::Stop,
            model::Command::Suspend => Self::Suspend,
        }
    }

    fn into_model(self) -> model::Command {
        match self {
            Self::Checkpoint => model::Command::Checkpoint,
            Self::Savepoint { format } => model::Command::Savepoint {
                format: format_or(format),
            },
            Self::StopWithSavepoint { format, drain } => model::Command::StopWithSavepoint {
                format: format_or(format),
                drain,
            },
            Self::CancelWithSavepoint { format } => model::Command::CancelWithSavepoint {
                format: format_or(format),
            },
            Self::Crash(uid, subtask) => model::Command::Crash {
                uid: Uid::new(&uid),
                subtask,
            },
            Self::CrashSeveral(subtasks) => {
                let named = |(uid, subtask): (String, u32)| (Uid::new(&uid), subtask);
                let subtasks = subtasks.into_iter().map(named).collect();
                model::Command::CrashSeveral { subtasks }
            }
            Self::CrashTaskManager(index) => model::Command::CrashTaskManager { index },
            Self::Compact(uid) => model::Command::Compact {
                uid: Uid::new(&uid),
            },
            Self::DeleteStored(path) => model::Command::DeleteStored { path },
            Self::Inject(kind, uid, subtask) => model::Command::Inject(model::Fault {
                kind: kind.into_model(),
                uid: Uid::new(&uid),
                subtask,
            }),
            Self::Restore => model::Command::Restore { checkpoint: None },
            Self::RestoreFrom(id) => model::Command::Restore {
                checkpoint: Some(CheckpointId(id)),
            },
            Self::Stop => model::Command::Stop,
            Self::Suspend => model::Command::Suspend,
        }
    }
}

impl Fault {
    fn from_model(fault: model::FaultKind) -> Self {
        match fault {
            model::FaultKind::SyncPart => Self::SyncPart,
            model::FaultKind::AsyncPart => Self::AsyncPart,
            model::FaultKind::StorageError => Self::StorageError,
            model::FaultKind::StorageSlow { by_ms } => Self::StorageSlow { by_ms },
            model::FaultKind::TornWrite => Self::TornWrite,
            model::FaultKind::Metadata => Self::Metadata,
            model::FaultKind::Commit => Self::Commit,
            model::FaultKind::LoseNotification => Self::LoseNotification,
            model::FaultKind::DelayNotification { by_ms } => Self::DelayNotification { by_ms },
        }
    }

    fn into_model(self) -> model::FaultKind {
        match self {
            Self::SyncPart => model::FaultKind::SyncPart,
            Self::AsyncPart => model::FaultKind::AsyncPart,
            Self::StorageError => model::FaultKind::StorageError,
            Self::StorageSlow { by_ms } => model::FaultKind::StorageSlow { by_ms },
            Self::TornWrite => model::FaultKind::TornWrite,
            Self::Metadata => model::FaultKind::Metadata,
            Self::Commit => model::FaultKind::Commit,
            Self::LoseNotification => model::FaultKind::LoseNotification,
            Self::DelayNotification { by_ms } => model::FaultKind::DelayNotification { by_ms },
        }
    }
}
