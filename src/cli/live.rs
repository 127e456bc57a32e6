//! `lockgate run --live`: the same job on threads and the wall clock, reported as far as a live run knows.

use std::time::Duration;

use super::report::not_taken::explain_places;
use super::report::sinks::{self, Table};
use super::report::{self, Report};
use crate::engine::driver::live::{self, LiveOptions, LiveOutcome};
use crate::model::{JobGraph, SubtaskId, Uid};
use crate::recording::Recording;
use crate::run::{Blueprint, RunError, RunOptions};

/// Run and report.
///
/// # Errors
/// A sentence: a CSV file, the temporary folder, or working state.
pub fn run_live(
    job: &JobGraph,
    options: &RunOptions,
    until_ms: Option<u64>,
) -> Result<Report, RunError> {
    let blueprint = Blueprint::new(job, options, None)?;
    let (resources, home) = blueprint.resources(blueprint.read_feeds()?)?;
    let live_options = LiveOptions {
        until: until_ms.map(Duration::from_millis),
        ..LiveOptions::default()
    };
    let outcome = live::run(&blueprint.job, &blueprint.plan, resources, live_options);
    let outcome = outcome.map_err(RunError)?;
    home.note(&outcome.status);
    let mut recording = Recording::new(blueprint.job.clone(), blueprint.plan.clone());
    for event in &outcome.events {
        recording.append(event.clone());
    }
    let mut report = describe(&recording, &outcome, |id| {
        home.storage.stored_bytes(id).ok()
    });
    for savepoint in &mut report.savepoints {
        let places = home.savepoints.as_ref();
        let path = places.and_then(|places| places.path_of(&savepoint.name));
        savepoint.path = path.map(|path| path.display().to_string());
    }
    let trouble = home.savepoints.as_ref().and_then(|places| places.trouble());
    explain_places(&mut report.not_taken, trouble);
    Ok(report)
}

fn describe(
    recording: &Recording,
    outcome: &LiveOutcome,
    stored: impl Fn(crate::model::CheckpointId) -> Option<u64>,
) -> Report {
    let rows = |id: &SubtaskId| {
        let sums = outcome.state[id.index()].iter().flatten();
        let sums = sums.map(|(key, value)| (key.to_string(), value.to_string()));
        let entries = outcome.entries[id.index()].iter();
        let entries = entries.map(|(key, entries)| (key, entries));
        sums.chain(report::entries_rows(recording, *id, entries))
            .collect()
    };
    let outputs = recording.plan.subtasks.iter().flat_map(|subtask| {
        let records = outcome.collected[subtask.id.index()].records.iter();
        records.map(|record| (subtask.id, record))
    });
    let ended_us = u64::try_from(outcome.elapsed.as_micros()).unwrap_or(u64::MAX);
    let view = recording.head();
    let mut report = Report::of_recording(recording, view, ended_us, stored);
    for checkpoint in &mut report.checkpoints {
        // What a live run does not trace is left out, never shown as nothing.
        checkpoint.size_bytes = None;
        checkpoint.upload_bytes = None;
        checkpoint.state.clear();
        checkpoint.subtasks.clear();
        let offsets = outcome.offsets.iter().find(|(id, _)| id.0 == checkpoint.id);
        let offsets = offsets.into_iter().flat_map(|(_, offsets)| offsets);
        checkpoint.sources = offsets
            .map(|(id, offset)| report::SourceOffset {
                uid: recording.plan.subtask(*id).uid.to_string(),
                subtask: recording.plan.subtask(*id).index,
                offset: *offset,
            })
            .collect();
    }
    let mut sinks = sinks::outputs(recording, outputs);
    for sink in &mut sinks {
        let uid = Uid::new(&sink.uid);
        let table = outcome.tables.get(&uid);
        sink.table = table.map(|table| Table {
            rows: sinks::rows(table.iter().map(|(key, record)| (key, record.value))),
            counts: None,
        });
        let ids = recording.plan.subtasks_of(&uid);
        sink.collected = ids
            .iter()
            .map(|id| outcome.collected[id.index()].count)
            .sum();
    }
    let mut state = report::keyed_state(recording, rows);
    state.retain(|operator| {
        let ids = recording.plan.subtasks_of(&operator.uid.as_str().into());
        ids.iter().all(|id| outcome.state[id.index()].is_some())
    });
    let (status, cause) = report::describe_status(&outcome.status);
    Report {
        driver: "live",
        time: "measured",
        status,
        cause,
        is_stuck: outcome.is_stuck,
        state,
        state_is_lost: false,
        sinks,
        never_fired: report::never_fired(outcome.fired.iter().copied()),
        windows: Vec::new(),
        load: Vec::new(),
        ledger: None,
        ..report
    }
}
