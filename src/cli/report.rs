//! What a headless run reports: the same facts as text for people and as JSON for programs.
//!
//! Everything comes from the recording (or a live run's outcome); only stored sizes are asked of the storage, and
//! those are measured.

use serde::Serialize;

use crate::engine::event::{CommandOrigin, EventKind, JobStatus};
use crate::model::{CheckpointId, Command, JobGraph, OperatorSpec, Record, SubtaskId};
use crate::recording::view::{CheckpointStatus, CheckpointView, SnapshotView};
use crate::recording::{Ledger, Recording, View};

/// The whole report. All `_us` times are in the time named by `time`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub job: String,
    pub driver: &'static str,
    /// `modelled` or `measured`: which kind of time this report's times are.
    pub time: &'static str,
    pub backend: &'static str,
    pub storage: &'static str,
    pub seed: u64,
    /// `running`, `down`, `restoring`, `finished`, `canceled`, `failed` or `suspended`.
    pub status: &'static str,
    /// Why the job is down.
    pub cause: Option<String>,
    pub ended_us: u64,
    /// Left out: operators of a live run whose state did not come home.
    pub state: Vec<OperatorState>,
    /// The job is down: `state` is what it was before, and is lost.
    pub state_is_lost: bool,
    pub sinks: Vec<SinkOutput>,
    pub checkpoints: Vec<Checkpoint>,
    pub restarts: Vec<Restart>,
    /// Scripted commands that were refused, with the reason.
    pub refused: Vec<String>,
    /// Script entries (from 1) whose moment never came.
    pub never_fired: Vec<usize>,
    /// None: a live run does not trace records.
    pub ledger: Option<LedgerReport>,
    pub events: usize,
    /// SHA-256 of the trace as `--trace` writes it. None: a live run's events differ each time.
    pub trace_sha256: Option<String>,
}

/// Keyed state by operator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperatorState {
    pub uid: String,
    pub rows: Vec<StateRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateRow {
    pub key: String,
    /// Exact, in decimal notation.
    pub value: String,
    /// From 0.
    pub subtask: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SinkOutput {
    pub uid: String,
    pub collected: u64,
    /// All of them; of a live run the first million of each sink subtask.
    pub records: Vec<OutputRecord>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutputRecord {
    pub subtask: u32,
    pub key: Option<String>,
    pub value: String,
    /// The source record that caused it: `numbers 1/1` and its offset.
    pub source: String,
    pub offset: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Checkpoint {
    pub id: u64,
    pub kind: &'static str,
    /// `pending`, `completed` or `aborted`.
    pub status: &'static str,
    /// Flink's name of why it was aborted.
    pub reason: Option<&'static str>,
    pub retained: bool,
    pub triggered_us: u64,
    pub decided_us: Option<u64>,
    pub duration_us: Option<u64>,
    /// Modelled: what the state takes, whatever the backend. None: a live run does not model it.
    pub size_bytes: Option<u64>,
    /// Measured: what its files take, while it is retained.
    pub stored_bytes: Option<u64>,
    pub sources: Vec<SourceOffset>,
    pub state: Vec<OperatorState>,
    pub subtasks: Vec<SubtaskSnapshot>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceOffset {
    pub uid: String,
    pub subtask: u32,
    pub offset: u64,
}

/// One subtask's part: its phases as durations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SubtaskSnapshot {
    pub subtask: String,
    pub size_bytes: u64,
    /// From the trigger to the first barrier.
    pub start_delay_us: Option<u64>,
    /// From the first barrier to the last.
    pub alignment_us: Option<u64>,
    pub sync_us: Option<u64>,
    pub async_us: Option<u64>,
    /// From the trigger to the acknowledgement.
    pub acknowledged_us: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Restart {
    pub at_us: u64,
    pub cause: String,
    /// None: a fresh start.
    pub from: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LedgerReport {
    pub emitted: u64,
    pub state: Option<TallyReport>,
    pub output: Option<TallyReport>,
    /// Dropped, because their window had fired.
    pub late: u64,
}

/// How many source records count 0, 1 or more times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TallyReport {
    pub zero: u64,
    pub once: u64,
    pub more: u64,
}

impl From<crate::recording::Tally> for TallyReport {
    fn from(tally: crate::recording::Tally) -> Self {
        Self {
            zero: tally.zero,
            once: tally.once,
            more: tally.more,
        }
    }
}

impl From<Ledger> for LedgerReport {
    fn from(ledger: Ledger) -> Self {
        Self {
            emitted: ledger.emitted,
            state: ledger.state.map(TallyReport::from),
            output: ledger.output.map(TallyReport::from),
            late: ledger.late,
        }
    }
}

impl Report {
    /// The report of a stepped run, at `view`. `stored` measures a retained checkpoint.
    #[must_use]
    pub fn of_recording(
        recording: &Recording,
        view: &View,
        ended_us: u64,
        stored: impl Fn(CheckpointId) -> Option<u64>,
    ) -> Self {
        let job = &recording.job;
        let subtask_rows = |subtask: &SubtaskId| {
            let rows = &view.subtasks[subtask.index()].rows;
            rows.iter()
                .map(|(key, row)| (key.to_string(), row.value.to_string()))
                .collect()
        };
        let checkpoints = view.checkpoints.values();
        let (status, cause) = describe_status(&view.job);
        let checkpoint = |checkpoint: &std::sync::Arc<CheckpointView>| {
            let stored_bytes = stored(checkpoint.id).filter(|_| checkpoint.retained);
            describe_checkpoint(recording, checkpoint, stored_bytes)
        };
        Self {
            driver: "stepper",
            time: "modelled",
            ended_us,
            status,
            cause,
            state_is_lost: status == "down",
            state: keyed_state(recording, subtask_rows),
            sinks: sinks(recording, recording.outputs(view)),
            checkpoints: checkpoints.map(checkpoint).collect(),
            restarts: restarts(recording),
            refused: refused(recording),
            never_fired: never_fired(view.script_fired_us.iter().map(Option::is_some)),
            ledger: Some(recording.ledger(view).into()),
            events: view.position,
            ..Self::about(job)
        }
    }

    /// What is known of a job before it runs.
    #[must_use]
    pub fn about(job: &JobGraph) -> Self {
        Self {
            job: job.name.clone(),
            driver: "",
            time: "",
            backend: job.config.backend.name(),
            storage: job.config.storage.name(),
            seed: job.config.seed,
            status: "",
            cause: None,
            ended_us: 0,
            state: Vec::new(),
            state_is_lost: false,
            sinks: Vec::new(),
            checkpoints: Vec::new(),
            restarts: Vec::new(),
            refused: Vec::new(),
            never_fired: Vec::new(),
            ledger: None,
            events: 0,
            trace_sha256: None,
        }
    }

    /// The job is down, or a scripted command was refused.
    #[must_use]
    pub fn ended_badly(&self) -> bool {
        matches!(self.status, "down" | "failed") || !self.refused.is_empty()
    }
}

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
    let is_sum = |operator: &OperatorSpec| matches!(operator, OperatorSpec::KeyedSum(_));
    let vertices = recording
        .job
        .vertices
        .iter()
        .filter(|vertex| is_sum(&vertex.operator));
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

/// What each sink let out.
pub fn sinks<'a>(
    recording: &Recording,
    outputs: impl Iterator<Item = (SubtaskId, &'a Record)>,
) -> Vec<SinkOutput> {
    let vertices = recording
        .job
        .vertices
        .iter()
        .filter(|vertex| vertex.is_sink());
    let mut sinks: Vec<SinkOutput> = vertices
        .map(|vertex| SinkOutput {
            uid: vertex.uid.to_string(),
            collected: 0,
            records: Vec::new(),
        })
        .collect();
    for (id, record) in outputs {
        let subtask = recording.plan.subtask(id);
        if let Some(sink) = sinks
            .iter_mut()
            .find(|sink| sink.uid == subtask.uid.as_str())
        {
            sink.collected += 1;
            sink.records.push(OutputRecord {
                subtask: subtask.index,
                key: record.key.as_ref().map(ToString::to_string),
                value: record.value.to_string(),
                source: recording.plan.split_name(record.origin.split),
                offset: record.origin.offset,
            });
        }
    }
    sinks
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
        rows.map(|(key, value)| (key.to_string(), value.to_string()))
            .collect()
    };
    Checkpoint {
        id: checkpoint.id.0,
        kind: checkpoint.kind.name(),
        status,
        reason,
        retained: checkpoint.retained,
        triggered_us: checkpoint.triggered_us,
        decided_us: checkpoint.decided_us,
        duration_us: checkpoint
            .decided_us
            .map(|at_us| at_us - checkpoint.triggered_us),
        size_bytes: Some(checkpoint.size_bytes()),
        stored_bytes,
        sources: snapshots.clone().filter_map(source).collect(),
        state: keyed_state(recording, rows),
        subtasks: snapshots
            .map(|(id, snapshot)| describe_snapshot(recording, checkpoint, *id, snapshot))
            .collect(),
    }
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
        acknowledged_us: since(triggered, snapshot.acknowledged_us),
    }
}

/// Every time the job was restored, and why: because it was down, else because somebody asked.
pub fn restarts(recording: &Recording) -> Vec<Restart> {
    let (mut asked, mut down) = ("", None);
    let mut restarts = Vec::new();
    for event in recording.events() {
        match &event.kind {
            EventKind::CommandAccepted { by, .. } => {
                asked = match by {
                    CommandOrigin::Person => "A person asked for it.",
                    CommandOrigin::Script(_) => "The script asked for it.",
                    CommandOrigin::Job => "The restart strategy asked for it.",
                };
            }
            EventKind::JobStatus(JobStatus::Restarting { cause }) => down = Some(cause.clone()),
            EventKind::JobStatus(JobStatus::Restoring { from }) => restarts.push(Restart {
                at_us: event.at_us,
                cause: down.take().unwrap_or_else(|| asked.to_owned()),
                from: from.map(|id| id.0),
            }),
            _ => {}
        }
    }
    restarts
}

/// Every scripted command that was refused.
pub fn refused(recording: &Recording) -> Vec<String> {
    let told = |event: &crate::engine::event::TraceEvent| match &event.kind {
        EventKind::CommandRefused {
            command,
            by: CommandOrigin::Script(entry),
            reason,
        } => Some(format!(
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
        Command::Crash { .. } => "crash",
        Command::Restore { .. } => "restore",
        Command::Stop => "cancel",
        Command::Suspend => "suspend",
        Command::Savepoint { .. } => "savepoint",
        Command::StopWithSavepoint { .. } => "stop with savepoint",
        Command::CancelWithSavepoint { .. } => "cancel with savepoint",
        Command::CrashSeveral { .. } | Command::CrashTaskManager { .. } => "crash",
        Command::Inject(_) => "inject",
    }
}
