//! What a headless run reports: the same facts as text for people and as JSON for programs.
//!
//! Everything comes from the recording (or a live run's outcome); only stored sizes are asked of the storage, and
//! those are measured.

mod describe;
pub mod facts;
pub mod not_taken;
pub mod sinks;
mod text;
mod troubles;

use std::sync::Arc;

use serde::Serialize;

use crate::model::{CheckpointId, JobGraph, SubtaskId, hints};
use crate::recording::view::CheckpointView;
use crate::recording::{Ledger, Recording, View};
use describe::{describe_checkpoint, refused};
pub use describe::{describe_status, entries_rows, keyed_state, never_fired};
use facts::{Failover, Rejected, Savepoint, StartedFrom, SubtaskLoad, Transactions, Windows};
use not_taken::NotTaken;
pub use sinks::SinkOutput;
use troubles::{not_deleted, restarts};

/// The whole report. All `_us` times are in the time named by `time`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub job: String,
    pub driver: &'static str,
    /// `modelled` or `measured`: which kind of time this report's times are.
    pub time: &'static str,
    pub backend: &'static str,
    pub storage: &'static str,
    /// `exactly-once`, `at-least-once` or `stop-the-world`.
    pub mode: &'static str,
    pub unaligned: bool,
    pub seed: u64,
    /// `running`, `down`, `restoring`, `finished`, `canceled`, `failed` or `suspended`.
    pub status: &'static str,
    /// Why the job is down.
    pub cause: Option<String>,
    /// The job has not ended, and nothing can happen any more: it waits for what will never come.
    pub is_stuck: bool,
    pub ended_us: u64,
    /// Left out: operators of a live run whose state did not come home.
    pub state: Vec<OperatorState>,
    /// The job is down: `state` is what it was before, and is lost.
    pub state_is_lost: bool,
    pub sinks: Vec<SinkOutput>,
    pub windows: Vec<Windows>,
    pub transactions: Vec<Transactions>,
    pub started_from: Option<StartedFrom>,
    pub checkpoints: Vec<Checkpoint>,
    pub savepoints: Vec<Savepoint>,
    /// What was asked for and did not come about.
    pub not_taken: Vec<NotTaken>,
    /// What was not needed any more and could not be deleted.
    pub not_deleted: Vec<String>,
    /// Requests that did not become a checkpoint, by reason.
    pub rejected: Vec<Rejected>,
    pub failovers: Vec<Failover>,
    pub restarts: Vec<Restart>,
    /// Scripted commands that were refused, with the reason.
    pub refused: Vec<String>,
    /// Script entries (from 1) whose moment never came.
    pub never_fired: Vec<usize>,
    /// What to consider about the job.
    pub hints: Vec<String>,
    /// How the subtasks have spent their time. Empty: a live run does not trace it.
    pub load: Vec<SubtaskLoad>,
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
pub struct Checkpoint {
    pub id: u64,
    pub kind: &'static str,
    /// `pending`, `completed` or `aborted`.
    pub status: &'static str,
    /// Flink's name of why it was aborted.
    pub reason: Option<&'static str>,
    /// It was aborted because it could not be written: why, in a sentence.
    pub failure: Option<String>,
    pub retained: bool,
    /// Those that came when it had been decided; they change nothing.
    pub late_acknowledgements: u64,
    pub triggered_us: u64,
    pub decided_us: Option<u64>,
    pub duration_us: Option<u64>,
    /// Modelled: what the state takes, whatever the backend. None: a live run does not model it.
    pub size_bytes: Option<u64>,
    /// Modelled: what of it was written anew.
    pub upload_bytes: Option<u64>,
    /// Measured: what its files take, while it is retained.
    pub stored_bytes: Option<u64>,
    /// Records in flight that are part of it (Flink: persisted in-flight data).
    pub persisted_records: u64,
    pub persisted_bytes: u64,
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
    /// Flink: processed and persisted in-flight data.
    pub processed_bytes: u64,
    pub persisted_bytes: u64,
    /// From the trigger to the acknowledgement.
    pub acknowledged_us: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Restart {
    pub at_us: u64,
    pub cause: String,
    /// None: a fresh start.
    pub from: Option<u64>,
    /// What was tried before `from` and could not be read, newest first: a sentence for each.
    pub unreadable: Vec<String>,
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
            let view = &view.subtasks[subtask.index()];
            let rows = view.rows.iter();
            let rows = rows.map(|(key, row)| (key.to_string(), row.value.to_string()));
            let entries = view.entries.iter().map(|(key, row)| (key, &row.entries));
            rows.chain(entries_rows(recording, *subtask, entries))
                .collect()
        };
        let checkpoints = view.checkpoints.values();
        let (status, cause) = describe_status(&view.job);
        let checkpoint = |checkpoint: &Arc<CheckpointView>| {
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
            sinks: sinks::describe(recording, view),
            windows: facts::windows(recording, view),
            transactions: facts::transactions(recording),
            started_from: facts::started_from(recording),
            savepoints: facts::savepoints(view, |_| None),
            not_taken: not_taken::not_taken(recording, view),
            not_deleted: not_deleted(recording),
            rejected: facts::rejected(recording),
            failovers: facts::failovers(recording),
            load: facts::load(recording, view, ended_us),
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
            mode: job.config.checkpointing.mode.name(),
            unaligned: job.config.checkpointing.unaligned,
            seed: job.config.seed,
            status: "",
            cause: None,
            is_stuck: false,
            ended_us: 0,
            state: Vec::new(),
            state_is_lost: false,
            sinks: Vec::new(),
            windows: Vec::new(),
            transactions: Vec::new(),
            started_from: None,
            checkpoints: Vec::new(),
            savepoints: Vec::new(),
            not_taken: Vec::new(),
            not_deleted: Vec::new(),
            rejected: Vec::new(),
            failovers: Vec::new(),
            restarts: Vec::new(),
            refused: Vec::new(),
            never_fired: Vec::new(),
            hints: hints(job).into_iter().map(|hint| hint.message).collect(),
            load: Vec::new(),
            ledger: None,
            events: 0,
            trace_sha256: None,
        }
    }

    /// The job is down or stuck, or what was asked for has not come about.
    #[must_use]
    pub fn ended_badly(&self) -> bool {
        matches!(self.status, "down" | "failed")
            || self.is_stuck
            || !self.refused.is_empty()
            || !self.not_taken.is_empty()
    }
}
