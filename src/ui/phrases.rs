//! Commands and their moments in words: for the script's marks, menus and explanations.

use crate::model::{Command, FaultKind, JobGraph, Uid, When};

use super::figures::{count, span};

/// `checkpoint`, `crash sum 1/2` …
#[must_use]
pub fn command_words(job: &JobGraph, command: &Command) -> String {
    let name = |uid: &Uid, subtask: u32| subtask_words(job, uid, subtask);
    match command {
        Command::Checkpoint => "checkpoint".to_owned(),
        Command::Savepoint { format } => format!("{} savepoint", format.name()),
        Command::StopWithSavepoint { drain, .. } => {
            let how = if *drain { "with" } else { "without" };
            format!("stop with savepoint, {how} drain")
        }
        Command::CancelWithSavepoint { .. } => "cancel with savepoint".to_owned(),
        Command::Crash { uid, subtask } => format!("crash {}", name(uid, *subtask)),
        Command::CrashSeveral { subtasks } => match &subtasks[..] {
            [(uid, subtask)] => format!("crash {}", name(uid, *subtask)),
            many => format!("crash {} subtasks", many.len()),
        },
        Command::CrashTaskManager { index } => format!("crash TaskManager {}", index + 1),
        Command::Compact { uid } => format!("compact the files of {}", uid.as_str()),
        Command::DeleteStored { path } => format!("delete {path}"),
        Command::Inject(fault) => format!(
            "{} at {}",
            fault.kind.name(),
            name(&fault.uid, fault.subtask)
        ),
        Command::Restore { checkpoint: None } => "restore the latest checkpoint".to_owned(),
        Command::Restore {
            checkpoint: Some(id),
        } => format!("restore checkpoint {id}"),
        Command::Stop => "cancel the job".to_owned(),
        Command::Suspend => "suspend the job".to_owned(),
    }
}

/// `sum 1/2`; the uid where the job has no such operator.
#[must_use]
pub fn subtask_words(job: &JobGraph, uid: &Uid, subtask: u32) -> String {
    match job.vertex(uid) {
        Some(vertex) if vertex.parallelism == 1 => vertex.name.clone(),
        Some(vertex) => format!("{} {}/{}", vertex.name, subtask + 1, vertex.parallelism),
        None => format!("{uid} {}", subtask + 1),
    }
}

/// `at 1.5 s`, `after 5 records of a` …
#[must_use]
pub fn when_words(job: &JobGraph, when: &When) -> String {
    match when {
        When::AtMs(ms) => format!("at {}", span(ms.saturating_mul(1_000))),
        When::Emitted { uid, records } => {
            let name = job
                .vertex(uid)
                .map_or_else(|| uid.to_string(), |vertex| vertex.name.clone());
            format!("after {} from {name}", count(*records, "record"))
        }
        When::Processed {
            uid,
            subtask,
            records,
        } => format!(
            "after {} at {}",
            count(*records, "record"),
            subtask_words(job, uid, *subtask)
        ),
    }
}

/// What a fault does, in one sentence.
#[must_use]
pub fn fault_sentence(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::SyncPart => {
            "The synchronous part of its next snapshot throws: the task fails, however many failed checkpoints are \
             tolerable."
        }
        FaultKind::AsyncPart => {
            "The asynchronous part of its next snapshot throws: it declines, the checkpoint is aborted, and the task \
             works on."
        }
        FaultKind::StorageError => {
            "The storage refuses its next state: the checkpoint is aborted, and that counts as a failed one."
        }
        FaultKind::StorageSlow { .. } => {
            "Its next state takes so much longer to write: the checkpoint may run into its timeout."
        }
        FaultKind::TornWrite => {
            "Its next state is acknowledged, but only half of it is on the disk: seen when it is restored."
        }
        FaultKind::Metadata => {
            "The next checkpoint’s metadata cannot be written: it never completes, although all have acknowledged."
        }
        FaultKind::Commit => {
            "The next commit of its transaction throws: the task fails, and the restore commits again."
        }
        FaultKind::LoseNotification => {
            "The next news of a completed or aborted checkpoint does not reach it; nobody repeats it."
        }
        FaultKind::DelayNotification { .. } => {
            "The next news of a completed or aborted checkpoint reaches it so much later."
        }
    }
}

/// Everything that can be injected, with the times that a menu gives.
pub const FAULTS: [FaultKind; 9] = [
    FaultKind::SyncPart,
    FaultKind::AsyncPart,
    FaultKind::StorageError,
    FaultKind::StorageSlow { by_ms: 2_000 },
    FaultKind::TornWrite,
    FaultKind::Metadata,
    FaultKind::Commit,
    FaultKind::LoseNotification,
    FaultKind::DelayNotification { by_ms: 1_000 },
];
