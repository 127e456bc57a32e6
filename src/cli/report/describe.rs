//! How the parts of a report are told: status, state, sinks, checkpoints, refusals.

use super::troubles::failure;
use super::{Checkpoint, OperatorState, SourceOffset, StateRow, SubtaskSnapshot};
use crate::engine::event::{CommandOrigin, EventKind, IgnoredAck, JobStatus, TraceEvent};
use crate::model::{
    CheckpointId, Command, Key, OperatorSpec, StateEntry, StateKind, SubtaskId, entries_text,
};
use crate::recording::Recording;
use crate::recording::view::{CheckpointStatus, CheckpointView, SnapshotView};

/// The job's status in a word, and why it is down.
#[must_use]
pub fn describe_status(status: &JobStatus) -> (&'static str, Option<String>) {
    match status {
        JobStatus::Running => ("running", None),
        JobStatus::Restarting { cause } => ("down", Some(cause.clone())),
        JobStatus::Restoring { .. } => ("restoring", None),
        JobStatus::Finished => ("finished", None),
        JobStatus::Canceled => ("canceled", None),
        JobStatus::Failed { cause } => ("failed", Some(cause.clone())),
        JobStatus::Suspended => ("suspended", None),
    }
}

/// The script entries (from 1) that have not fired.
#[must_use]
pub fn never_fired(fired: impl Iterator<Item = bool>) -> Vec<usize> {
    let numbered = (1..).zip(fired);
    numbered
        .filter(|(_, fired)| !fired)
        .map(|(entry, _)| entry)
        .collect()
}

type Rows = Vec<(String, String)>;

/// State by operator and key; `rows` gives one subtask's.
pub fn keyed_state(recording: &Recording, rows: impl Fn(&SubtaskId) -> Rows) -> Vec<OperatorState> {
    let is_shown = |operator: &OperatorSpec| {
        operator.entries_kind().is_some() || matches!(operator, OperatorSpec::KeyedSum(_))
    };
    let vertices = recording
        .job
        .vertices
        .iter()
        .filter(|vertex| is_shown(&vertex.operator));
    let operator = |uid: &crate::model::Uid| {
        let mut all = Vec::new();
        for id in recording.plan.subtasks_of(uid) {
            let subtask = recording.plan.subtask(id).index;
            let named = |(key, value)| StateRow {
                key,
                value,
                subtask,
            };
            all.extend(rows(&id).into_iter().map(named));
        }
        all.sort_by(|a, b| a.key.cmp(&b.key));
        OperatorState {
            uid: uid.to_string(),
            rows: all,
        }
    };
    vertices.map(|vertex| operator(&vertex.uid)).collect()
}

/// The entries of subtask `id`, each key's in one line.
pub fn entries_rows<'a>(
    recording: &Recording,
    id: SubtaskId,
    entries: impl IntoIterator<Item = (&'a Key, &'a Vec<StateEntry>)>,
) -> Rows {
    let kind = recording.plan.subtask(id).operator.entries_kind();
    let kind = kind.unwrap_or(StateKind::Value);
    let entries = entries.into_iter();
    entries
        .map(|(key, entries)| (key.to_string(), entries_text(kind, entries)))
        .collect()
}

/// One checkpoint, as folded.
pub fn describe_checkpoint(
    recording: &Recording,
    checkpoint: &CheckpointView,
    stored_bytes: Option<u64>,
) -> Checkpoint {
    let (status, reason) = match checkpoint.status {
        CheckpointStatus::Pending => ("pending", None),
        CheckpointStatus::Completed => ("completed", None),
        CheckpointStatus::Aborted(reason) => ("aborted", Some(reason.name())),
    };
    let snapshots = checkpoint.subtasks.iter();
    let source = |(id, snapshot): (&SubtaskId, &SnapshotView)| {
        let subtask = recording.plan.subtask(*id);
        Some(SourceOffset {
            uid: subtask.uid.to_string(),
            subtask: subtask.index,
            offset: snapshot.offset?,
        })
    };
    let rows = |id: &SubtaskId| {
        let snapshot = checkpoint.subtasks.get(id);
        let rows = snapshot.into_iter().flat_map(|snapshot| &snapshot.rows);
        let rows = rows.map(|(key, value)| (key.to_string(), value.to_string()));
        let entries = snapshot.into_iter().flat_map(|snapshot| &snapshot.entries);
        rows.chain(entries_rows(recording, *id, entries)).collect()
    };
    Checkpoint {
        id: checkpoint.id.0,
        kind: checkpoint.kind.name(),
        status,
        reason,
        failure: reason.and_then(|_| failure(recording, checkpoint.id)),
        retained: checkpoint.retained,
        late_acknowledgements: late_acknowledgements(recording, checkpoint.id),
        triggered_us: checkpoint.triggered_us,
        decided_us: checkpoint.decided_us,
        duration_us: checkpoint
            .decided_us
            .map(|at_us| at_us - checkpoint.triggered_us),
        size_bytes: Some(checkpoint.size_bytes()),
        upload_bytes: Some(checkpoint.upload_bytes()),
        stored_bytes,
        persisted_records: snapshots.clone().map(|(_, it)| it.persisted_records).sum(),
        persisted_bytes: snapshots.clone().map(|(_, it)| it.persisted_bytes).sum(),
        sources: snapshots.clone().filter_map(source).collect(),
        state: keyed_state(recording, rows),
        subtasks: snapshots
            .map(|(id, snapshot)| describe_snapshot(recording, checkpoint, *id, snapshot))
            .collect(),
    }
}

fn late_acknowledgements(recording: &Recording, id: CheckpointId) -> u64 {
    let is_late = |event: &&TraceEvent| {
        matches!(
            event.kind,
            EventKind::AckIgnored { checkpoint, why: IgnoredAck::Late, .. } if checkpoint == id
        )
    };
    recording.events().iter().filter(is_late).count() as u64
}

fn describe_snapshot(
    recording: &Recording,
    checkpoint: &CheckpointView,
    id: SubtaskId,
    snapshot: &SnapshotView,
) -> SubtaskSnapshot {
    let since = |from: Option<u64>, to: Option<u64>| Some(to?.saturating_sub(from?));
    let triggered = Some(checkpoint.triggered_us);
    SubtaskSnapshot {
        subtask: recording.plan.subtask_name(id),
        size_bytes: snapshot.size_bytes,
        start_delay_us: since(triggered, snapshot.first_barrier_us),
        alignment_us: since(snapshot.first_barrier_us, snapshot.captured_us),
        sync_us: since(snapshot.captured_us, snapshot.sync_until_us),
        async_us: since(snapshot.sync_until_us, snapshot.written_us),
        processed_bytes: snapshot.processed_bytes,
        persisted_bytes: snapshot.persisted_bytes,
        acknowledged_us: since(triggered, snapshot.acknowledged_us),
    }
}

/// Every scripted command that was refused. A restore that has found an older checkpoint was obeyed.
pub fn refused(recording: &Recording) -> Vec<String> {
    let was_obeyed = |asked: usize| {
        let events = recording.events().iter();
        let mut accepted = events.filter_map(|event| match event.kind {
            EventKind::CommandAccepted {
                by: CommandOrigin::Script(entry),
                ..
            } => Some(entry),
            _ => None,
        });
        accepted.any(|entry| entry == asked)
    };
    let told = |event: &TraceEvent| match &event.kind {
        EventKind::CommandRefused {
            command,
            by: CommandOrigin::Script(entry),
            reason,
        } if !was_obeyed(*entry) => Some(format!(
            "script entry {} ({}): {reason}",
            entry + 1,
            command_name(command)
        )),
        _ => None,
    };
    recording.events().iter().filter_map(told).collect()
}

fn command_name(command: &Command) -> &'static str {
    match command {
        Command::Checkpoint => "checkpoint",
        Command::Restore { .. } => "restore",
        Command::Stop => "cancel",
        Command::Compact { .. } => "compact",
        Command::DeleteStored { .. } => "delete",
        Command::Suspend => "suspend",
        Command::Savepoint { .. } => "savepoint",
        Command::StopWithSavepoint { .. } => "stop with savepoint",
        Command::CancelWithSavepoint { .. } => "cancel with savepoint",
        Command::Crash { .. } | Command::CrashSeveral { .. } | Command::CrashTaskManager { .. } => {
            "crash"
        }
        Command::Inject(_) => "inject",
    }
}
