//! What each sink has put out: what readers outside see, what they do not see yet, and what came more than once.

use std::collections::BTreeMap;
use std::fmt::{self, Formatter};

use serde::Serialize;

use super::text::count;
use crate::model::{OperatorSpec, Origin, Record, SinkKind, SubtaskId, Uid};
use crate::recording::{Recording, View};

/// At most so many of a sink's records are printed; JSON has them all.
const SHOWN_RECORDS: usize = 10;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SinkOutput {
    pub uid: String,
    /// `plain`, `upsert` or `two-phase commit`.
    pub kind: &'static str,
    /// Records that readers see, each as often as it came out; of an upsert sink all writes.
    pub collected: u64,
    /// How many of these came out again although they were out: after a restart, a plain sink's replay. None: behind a
    /// window, where a result has no single source record, or in a live run.
    pub repeated: Option<u64>,
    /// All of them; of a live run the first million of each sink subtask.
    pub records: Vec<OutputRecord>,
    /// Records that a two-phase commit sink has taken and not committed: nobody sees them. None: another kind, or a live
    /// run.
    pub uncommitted: Option<u64>,
    /// Of an upsert sink: what readers see in the end.
    pub table: Option<Table>,
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

/// What readers see of an upsert sink.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    pub rows: Vec<TableRow>,
    pub counts: Option<TableCounts>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableRow {
    pub key: String,
    pub value: String,
}

/// What a restart did to the table. None: a live run does not trace records.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TableCounts {
    /// Writes that repeated an earlier one.
    pub overwrites: u64,
    /// How often a key's value went back to an older one.
    pub went_back: u64,
}

/// What each sink has put out at `view`.
#[must_use]
pub fn describe(recording: &Recording, view: &View) -> Vec<SinkOutput> {
    let mut sinks = outputs(recording, recording.outputs(view));
    for sink in &mut sinks {
        let uid = Uid::new(&sink.uid);
        sink.repeated = repeated(recording, view, &uid);
        sink.uncommitted = uncommitted(recording, view, &uid);
        sink.table = view.tables.get(&uid).map(|table| Table {
            rows: rows(table.rows.iter().map(|(key, row)| (key, row.value))),
            counts: Some(TableCounts {
                overwrites: table.overwrites,
                went_back: table.went_back,
            }),
        });
    }
    sinks
}

/// Rows of a table, as text.
pub fn rows<K: ToString, V: ToString>(rows: impl Iterator<Item = (K, V)>) -> Vec<TableRow> {
    rows.map(|(key, value)| TableRow {
        key: key.to_string(),
        value: value.to_string(),
    })
    .collect()
}

/// How many records sink `uid` has in transactions that are not committed; none: it has no transactions.
fn uncommitted(recording: &Recording, view: &View, uid: &Uid) -> Option<u64> {
    let is_transactional = matches!(kind_of(recording, uid), SinkKind::TwoPhaseCommit { .. });
    let ids = recording.plan.subtasks_of(uid).into_iter();
    let waiting = ids.map(|id| view.subtasks[id.index()].sink.waiting() as u64);
    is_transactional.then(|| waiting.sum())
}

/// How many of the records of sink `uid` came out more often than the graph says.
fn repeated(recording: &Recording, view: &View, uid: &Uid) -> Option<u64> {
    if recording.is_behind_window(uid) {
        return None;
    }
    let mut counts: BTreeMap<Origin, u64> = BTreeMap::new();
    for (id, record) in recording.outputs(view) {
        if recording.plan.subtask(id).uid == *uid {
            *counts.entry(record.origin).or_default() += 1;
        }
    }
    let splits = recording.plan.splits.iter();
    let expected: Vec<u64> = splits
        .map(|split| recording.copies(&split.uid, uid).into())
        .collect();
    let surplus = |(origin, count): (&Origin, &u64)| {
        count.saturating_sub(expected.get(origin.split.index()).copied().unwrap_or(1))
    };
    Some(counts.iter().map(surplus).sum())
}

fn kind_of(recording: &Recording, uid: &Uid) -> SinkKind {
    match recording.job.vertex(uid).map(|vertex| &vertex.operator) {
        Some(OperatorSpec::Sink(spec)) => spec.kind,
        _ => SinkKind::Plain,
    }
}

/// The records alone, by sink.
pub fn outputs<'a>(
    recording: &Recording,
    outputs: impl Iterator<Item = (SubtaskId, &'a Record)>,
) -> Vec<SinkOutput> {
    let vertices = recording.job.vertices.iter();
    let mut sinks: Vec<SinkOutput> = vertices
        .filter(|vertex| vertex.is_sink())
        .map(|vertex| SinkOutput {
            uid: vertex.uid.to_string(),
            kind: kind_of(recording, &vertex.uid).name(),
            collected: 0,
            repeated: None,
            records: Vec::new(),
            uncommitted: None,
            table: None,
        })
        .collect();
    for (id, record) in outputs {
        let subtask = recording.plan.subtask(id);
        let mut own = sinks.iter_mut();
        if let Some(sink) = own.find(|sink| sink.uid == subtask.uid.as_str()) {
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

impl SinkOutput {
    pub(super) fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write_records(f)?;
        if let Some(repeated) = self
            .repeated
            .filter(|_| self.kind == SinkKind::Plain.name())
            && repeated > 0
        {
            writeln!(f, "  {repeated} of them came out before: duplicates")?;
        }
        if let Some(uncommitted) = self.uncommitted.filter(|uncommitted| *uncommitted > 0) {
            writeln!(
                f,
                "  {} written and not committed",
                count(uncommitted, "record")
            )?;
        }
        self.write_table(f)
    }

    fn write_records(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let records = count(self.collected, "record");
        write!(f, "output of {}: {records}", self.uid)?;
        if self.collected > self.records.len() as u64 {
            return writeln!(f, " (the first {} are kept)", self.records.len());
        }
        let first = self.records.len().saturating_sub(SHOWN_RECORDS);
        for (index, record) in self.records[first..].iter().enumerate() {
            let lead = match (index, first) {
                (0, 0) => ": ",
                (0, _) => ": … ",
                _ => ", ",
            };
            match &record.key {
                Some(key) => write!(f, "{lead}{key} {}", record.value)?,
                None => write!(f, "{lead}{}", record.value)?,
            }
        }
        writeln!(f)
    }

    fn write_table(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(table) = &self.table else {
            return Ok(());
        };
        f.write_str("  readers see: ")?;
        for (index, row) in table.rows.iter().enumerate() {
            let lead = if index == 0 { "" } else { ", " };
            write!(f, "{lead}{} {}", row.key, row.value)?;
        }
        if let Some(counts) = table.counts.filter(|counts| counts.overwrites > 0) {
            write!(
                f,
                " ({} overwrote what they had written before; a value went back {})",
                count(counts.overwrites, "write"),
                count(counts.went_back, "time")
            )?;
        }
        writeln!(f)
    }
}
