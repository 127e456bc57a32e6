//! One sentence for each event, as the log and the status line show it.

mod coordination;
mod in_flight;
mod state;
mod transactions;

use super::Recording;
use crate::engine::event::{CommandOrigin, EventKind, JobStatus, Outcome, SubtaskStatus};
use crate::model::{
    ChannelId, Command, EventTime, Fault, Record, StreamElement, StreamEvent, SubtaskId,
};

impl Recording {
    /// One sentence about the event at `index`; empty beyond the end.
    #[must_use]
    pub fn sentence(&self, index: usize) -> String {
        self.events
            .get(index)
            .map(|event| self.describe(&event.kind))
            .unwrap_or_default()
    }

    fn name(&self, subtask: SubtaskId) -> String {
        self.plan.subtask_name(subtask)
    }

    fn channel_name(&self, channel: ChannelId) -> String {
        self.plan.channel_name(channel)
    }

    fn describe(&self, event: &EventKind) -> String {
        match event {
            EventKind::JobStatus(status) => describe_job(status),
            EventKind::CommandAccepted { command, by } => {
                format!(
                    "{}: {}.",
                    describe_origin(*by),
                    self.describe_command(command)
                )
            }
            EventKind::CommandRefused {
                command, reason, ..
            } => {
                format!("Refused to {}: {reason}", self.describe_command(command))
            }
            EventKind::SubtaskStatus { subtask, status } => {
                format!("{} {}.", self.name(*subtask), describe_status(*status))
            }
            EventKind::Sent { .. }
            | EventKind::Taken { .. }
            | EventKind::ChannelCleared { .. }
            | EventKind::SourceAdvanced { .. }
            | EventKind::StateChanged { .. }
            | EventKind::Collected { .. }
            | EventKind::Busy { .. }
            | EventKind::Restored { .. } => self.describe_data(event),
            EventKind::EntriesChanged { .. }
            | EventKind::EntriesCleaned { .. }
            | EventKind::RuleSet { .. }
            | EventKind::Filtered { .. }
            | EventKind::Buffered { .. }
            | EventKind::BufferFlushed { .. } => self.describe_state(event),
            EventKind::WindowChanged { .. }
            | EventKind::WindowFired { .. }
            | EventKind::LateDropped { .. }
            | EventKind::WatermarkAdvanced { .. }
            | EventKind::Idleness { .. } => self.describe_event_time(event),
            EventKind::TransactionBegun { .. }
            | EventKind::PreCommitted { .. }
            | EventKind::Committed { .. }
            | EventKind::CommitFailed { .. }
            | EventKind::TransactionAborted { .. } => self.describe_transaction(event),
            _ => self.describe_checkpoint(event),
        }
    }

    fn describe_event_time(&self, event: &EventKind) -> String {
        match event {
            EventKind::WindowChanged {
                subtask,
                key,
                window,
                value,
                origin,
            } => format!(
                "{} counts record {} of {} in window {window}: {key} is {value}.",
                self.name(*subtask),
                origin.offset,
                self.plan.split_name(origin.split)
            ),
            EventKind::WindowFired {
                subtask,
                key,
                window,
                value,
            } => format!(
                "{} fires window {window}: {key} is {value}.",
                self.name(*subtask)
            ),
            EventKind::LateDropped { subtask, record } => format!(
                "{} drops {} of {} ms: its window has fired.",
                self.name(*subtask),
                describe_record(record),
                record.event_time.0
            ),
            EventKind::WatermarkAdvanced { subtask, watermark } => {
                let watermark = StreamElement::Event(StreamEvent::Watermark(*watermark));
                format!(
                    "{} is at {}.",
                    self.name(*subtask),
                    describe_element(&watermark)
                )
            }
            EventKind::Idleness { subtask, is_idle } => {
                let what = if *is_idle {
                    "is idle: it does not hold back the watermark"
                } else {
                    "is active again"
                };
                format!("{} {what}.", self.name(*subtask))
            }
            _ => String::new(),
        }
    }

    fn describe_data(&self, event: &EventKind) -> String {
        match event {
            EventKind::Sent {
                channel, element, ..
            } => {
                let channel = self.plan.channel(*channel);
                let (from, to) = (self.name(channel.from), self.name(channel.to));
                format!("{from} sends {} to {to}.", describe_element(element))
            }
            EventKind::Taken { channel } => {
                let channel = self.plan.channel(*channel);
                let (from, to) = (self.name(channel.from), self.name(channel.to));
                format!("{to} takes the next element from {from}.")
            }
            EventKind::ChannelCleared { channel } => {
                format!("What was on {} is gone.", self.channel_name(*channel))
            }
            EventKind::SourceAdvanced {
                subtask, offset, ..
            } => {
                format!("{} is at offset {offset}.", self.name(*subtask))
            }
            EventKind::StateChanged {
                subtask,
                key,
                value,
                origin,
            } => format!(
                "{} counts record {} of {}: {key} is {value}.",
                self.name(*subtask),
                origin.offset,
                self.plan.split_name(origin.split)
            ),
            EventKind::Collected {
                subtask,
                record,
                transaction,
            } => {
                let record = describe_record(record);
                match transaction {
                    Some(id) => format!("{} writes {record} into {id}.", self.name(*subtask)),
                    None => format!("{} collects {record}.", self.name(*subtask)),
                }
            }
            EventKind::Busy { subtask, until_us } => {
                format!(
                    "{} is busy until {}.",
                    self.name(*subtask),
                    describe_time(*until_us)
                )
            }
            EventKind::Restored { subtask, from, .. } => match from {
                Some(id) => format!("{} has its state of checkpoint {id}.", self.name(*subtask)),
                None => format!("{} begins with empty state.", self.name(*subtask)),
            },
            _ => String::new(),
        }
    }

    fn describe_checkpoint(&self, event: &EventKind) -> String {
        match event {
            EventKind::InputBlocked {
                channel,
                checkpoint,
            } => {
                let channel = self.plan.channel(*channel);
                let (from, to) = (self.name(channel.from), self.name(channel.to));
                format!("Barrier {checkpoint} shuts the input of {to} from {from}.")
            }
            EventKind::InputUnblocked { channel, .. } => {
                let channel = self.plan.channel(*channel);
                let (from, to) = (self.name(channel.from), self.name(channel.to));
                format!("The input of {to} from {from} is open again.")
            }
            EventKind::SnapshotStarted {
                subtask,
                checkpoint,
                size_bytes,
                upload_bytes,
                ..
            } if upload_bytes < size_bytes => format!(
                "{} captures its state for checkpoint {checkpoint} ({size_bytes} B, {upload_bytes} B of it new).",
                self.name(*subtask)
            ),
            EventKind::SnapshotStarted {
                subtask,
                checkpoint,
                size_bytes,
                ..
            } => format!(
                "{} captures its state for checkpoint {checkpoint} ({size_bytes} B).",
                self.name(*subtask)
            ),
            EventKind::Compacted {
                subtask,
                files_before,
                files_after,
            } => format!(
                "{} merges the files of its database: {files_before} become {files_after}.",
                self.name(*subtask)
            ),
            EventKind::SnapshotWritten {
                subtask,
                checkpoint,
            } => format!(
                "{} has written its state of checkpoint {checkpoint}.",
                self.name(*subtask)
            ),
            EventKind::SnapshotFailed {
                subtask,
                checkpoint,
                reason,
            } => format!(
                "{} could not write its state of checkpoint {checkpoint}: {reason}",
                self.name(*subtask)
            ),
            EventKind::Notified {
                subtask,
                checkpoint,
                outcome,
            } => {
                let outcome = describe_outcome(*outcome);
                format!(
                    "{} learns that checkpoint {checkpoint} is {outcome}.",
                    self.name(*subtask)
                )
            }
            _ => self.describe_coordination(event),
        }
    }

    fn describe_command(&self, command: &Command) -> String {
        match command {
            Command::Checkpoint => "take a checkpoint".to_owned(),
            Command::Crash { uid, subtask } => {
                let ids = self.plan.subtasks_of(uid);
                match ids.get(*subtask as usize) {
                    Some(id) => format!("crash {}", self.name(*id)),
                    None => format!("crash subtask {} of {uid}", subtask + 1),
                }
            }
            Command::Restore { checkpoint: None } => "restore the latest checkpoint".to_owned(),
            Command::Restore {
                checkpoint: Some(id),
            } => format!("restore checkpoint {id}"),
            Command::Compact { uid } => format!("compact the files of {uid}"),
            Command::DeleteStored { path } => format!("delete {path} in the checkpoint storage"),
            Command::Stop => "cancel the job".to_owned(),
            Command::Suspend => "suspend the job".to_owned(),
            Command::Savepoint { format } => format!("take a {} savepoint", format.name()),
            Command::StopWithSavepoint { format, drain } => {
                let how = if *drain { ", drained," } else { "" };
                format!("stop the job{how} with a {} savepoint", format.name())
            }
            Command::CancelWithSavepoint { format } => {
                format!("cancel the job with a {} savepoint", format.name())
            }
            Command::CrashSeveral { subtasks } => format!("crash {} subtasks", subtasks.len()),
            Command::CrashTaskManager { index } => format!("crash TaskManager {}", index + 1),
            Command::Inject(Fault { kind, uid, subtask }) => {
                format!("inject: {} at {uid} {}", kind.name(), subtask + 1)
            }
        }
    }
}

fn describe_outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "complete",
        Outcome::Aborted => "aborted",
    }
}

fn describe_origin(by: CommandOrigin) -> &'static str {
    match by {
        CommandOrigin::Person => "Asked",
        CommandOrigin::Script(_) => "The script asks",
        CommandOrigin::Job => "The restart strategy asks",
    }
}

fn describe_job(status: &JobStatus) -> String {
    match status {
        JobStatus::Running => "The job is running.".to_owned(),
        JobStatus::Restarting { cause } => format!("The job is down: {cause}"),
        JobStatus::Restoring { from: Some(id) } => format!("The job restores checkpoint {id}."),
        JobStatus::Restoring { from: None } => {
            "The job starts afresh: there is no completed checkpoint.".to_owned()
        }
        JobStatus::Finished => "The job has finished.".to_owned(),
        JobStatus::Canceled => "The job is canceled.".to_owned(),
        JobStatus::Failed { cause } => format!("The job has failed for good: {cause}"),
        JobStatus::Suspended => "The job is suspended.".to_owned(),
    }
}

fn describe_status(status: SubtaskStatus) -> &'static str {
    match status {
        SubtaskStatus::Initializing => "is restoring",
        SubtaskStatus::Running => "is running",
        SubtaskStatus::EndOfData => "has reached the end of its data",
        SubtaskStatus::Finished => "has finished",
        SubtaskStatus::Failed => "has failed",
        SubtaskStatus::Canceled => "is canceled",
    }
}

pub(super) fn describe_record(record: &Record) -> String {
    match &record.key {
        Some(key) => format!("{key} {}", record.value),
        None => format!("record {}", record.value),
    }
}

/// An element, as it reads within a sentence.
#[must_use]
pub fn describe_element(element: &StreamElement) -> String {
    match element {
        StreamElement::Record(record) => describe_record(record),
        StreamElement::Event(StreamEvent::Barrier(barrier)) => format!("barrier {}", barrier.id),
        StreamElement::Event(StreamEvent::CancelCheckpoint(id)) => {
            format!("the cancel marker of checkpoint {id}")
        }
        StreamElement::Event(StreamEvent::Watermark(EventTime::MAX)) => {
            "the last watermark".to_owned()
        }
        StreamElement::Event(StreamEvent::Watermark(time)) => format!("watermark {} ms", time.0),
        StreamElement::Event(StreamEvent::Idle) => "the idle marker".to_owned(),
        StreamElement::Event(StreamEvent::Active) => "the active marker".to_owned(),
        StreamElement::Event(StreamEvent::EndOfData) => "the end of data".to_owned(),
        StreamElement::Event(StreamEvent::EndOfPartition) => "the end of the channel".to_owned(),
    }
}

/// Microseconds as seconds with milliseconds.
fn describe_time(at_us: u64) -> String {
    format!("{}.{:03} s", at_us / 1_000_000, at_us / 1000 % 1000)
}

/// `1 record`, `2 records`.
fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}
