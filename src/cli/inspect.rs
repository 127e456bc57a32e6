//! `lockgate savepoints` and `lockgate inspect`: what lies in a folder of snapshots, and what is in one of them.

use std::fmt::{self, Display, Formatter};
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::{Exit, ReportFormat};
use crate::engine::in_flight;
use crate::engine::operator::{RuleFilter, Sink, Source};
use crate::engine::state::inspect::{self, KeyState};
use crate::engine::storage::{
    CheckpointStorage, FileSystemStorage, FoundSnapshot, KeyedStateHandle, OperatorState,
    SubtaskState, find_snapshots,
};
use crate::model::{Key, Record, SnapshotKind, entries_text};

/// A snapshot as a list shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Listed {
    pub path: String,
    /// Why it cannot be read; all else is empty then.
    pub damage: Option<String>,
    pub id: Option<u64>,
    pub kind: Option<String>,
    pub backend: Option<&'static str>,
    pub operators: Vec<String>,
    /// What its files take.
    pub stored_bytes: Option<u64>,
}

/// All of one snapshot's metadata.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Snapshot {
    pub path: String,
    pub id: u64,
    pub kind: String,
    pub backend: &'static str,
    /// What its files take.
    pub stored_bytes: u64,
    pub operators: Vec<Operator>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Operator {
    pub uid: String,
    /// The id by which state finds its operator.
    #[expect(clippy::struct_field_names, reason = "Flink's word for it")]
    pub operator_id: String,
    pub has_explicit_uid: bool,
    pub name: String,
    pub parallelism: u32,
    pub max_parallelism: u32,
    pub subtasks: Vec<Subtask>,
    /// With `--key`: what is held for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<KeyedValue>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Subtask {
    pub finished: bool,
    pub stored_bytes: u64,
    /// Flink's class of the handle.
    pub keyed: Option<&'static str>,
    pub keyed_bytes: u64,
    pub files: usize,
    pub lists: Vec<List>,
    /// Channels of which records in flight are part of it.
    pub channels: usize,
    pub channel_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct List {
    pub name: String,
    pub distribution: String,
    pub elements: usize,
    /// Of a source: its splits and how far each is read.
    pub offsets: Vec<(u32, u64)>,
    /// Of a rule filter or a buffering sink: its records.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<String>,
}

/// The sum of a key, what one of its windows has come to, or all entries that another state has of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KeyedValue {
    pub key: String,
    pub window_ms: Option<(i64, i64)>,
    /// The kind of state, by Flink's name; none: a sum or a window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    pub value: String,
    /// Of each entry that has a time to live: when it was last used, in processing time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub last_access_ms: Vec<u64>,
}

/// The snapshots in `dir`.
pub fn list(dir: &Path, format: ReportFormat) -> Exit {
    if !dir.is_dir() {
        let path = dir.display();
        if dir.exists() {
            eprintln!(
                "{path} is no folder. Name the folder in which savepoints or checkpoints lie."
            );
        } else {
            eprintln!("There is no folder {path}. Check its name.");
        }
        return Exit::BadFile;
    }
    let found = match find_snapshots(dir) {
        Ok(found) => found,
        Err(error) => {
            eprintln!("{error}.");
            return Exit::BadFile;
        }
    };
    let listed: Vec<Listed> = found.into_iter().map(listed).collect();
    match format {
        ReportFormat::Json => print_json(&listed),
        ReportFormat::Text if listed.is_empty() => super::print(&format!(
            "no savepoints or checkpoints in {}\n",
            dir.display()
        )),
        ReportFormat::Text => {
            let lines: Vec<String> = listed.iter().map(ToString::to_string).collect();
            super::print(&lines.concat())
        }
    }
}

/// What the snapshot at `path` holds, and what for `key`.
pub fn inspect(path: &Path, key: Option<&str>, format: ReportFormat) -> Exit {
    match snapshot(path, key) {
        Err(sentence) => {
            eprintln!("{sentence}");
            Exit::BadFile
        }
        Ok(snapshot) => match format {
            ReportFormat::Json => print_json(&snapshot),
            ReportFormat::Text => super::print(&snapshot.to_string()),
        },
    }
}

fn print_json(value: &impl Serialize) -> Exit {
    match serde_json::to_string_pretty(value) {
        Ok(json) => super::print(&(json + "\n")),
        Err(error) => {
            eprintln!("This cannot be written as JSON: {error}.");
            Exit::CannotRun
        }
    }
}

fn listed(found: FoundSnapshot) -> Listed {
    let empty = Listed {
        path: found.path.display().to_string(),
        damage: None,
        id: None,
        kind: None,
        backend: None,
        operators: Vec::new(),
        stored_bytes: found.stored_bytes,
    };
    match found.metadata {
        Err(error) => Listed {
            damage: Some(format!("{error}.")),
            ..empty
        },
        Ok(metadata) => Listed {
            id: Some(metadata.checkpoint.0),
            kind: Some(kind_text(metadata.kind)),
            backend: Some(metadata.backend.name()),
            operators: metadata
                .operators
                .iter()
                .map(|operator| operator.uid.to_string())
                .collect(),
            ..empty
        },
    }
}

fn snapshot(path: &Path, key: Option<&str>) -> Result<Snapshot, String> {
    let sentence = |error: &dyn Display| format!("{error}.");
    let (storage, metadata) =
        FileSystemStorage::open_snapshot(path).map_err(|error| sentence(&error))?;
    storage
        .verify(metadata.checkpoint)
        .map_err(|error| sentence(&error))?;
    let stored_bytes = storage
        .stored_bytes(metadata.checkpoint)
        .map_err(|error| sentence(&error))?;
    let operator = |operator: &OperatorState| describe(operator, &storage, key);
    let operators: Vec<Operator> = metadata
        .operators
        .iter()
        .map(operator)
        .collect::<Result<_, _>>()?;
    if let Some(key) = key
        && operators.iter().all(|operator| operator.values.is_empty())
    {
        return Err(format!(
            "Nothing is held for the key {key:?}. Keys by remainder are numbers: their labels are the job’s."
        ));
    }
    Ok(Snapshot {
        path: path.display().to_string(),
        id: metadata.checkpoint.0,
        kind: kind_text(metadata.kind),
        backend: metadata.backend.name(),
        stored_bytes,
        operators,
    })
}

fn describe(
    operator: &OperatorState,
    storage: &dyn CheckpointStorage,
    key: Option<&str>,
) -> Result<Operator, String> {
    let values = match key {
        Some(key) => values_of(operator, storage, key)?,
        None => Vec::new(),
    };
    Ok(Operator {
        uid: operator.uid.to_string(),
        operator_id: operator.id.to_string(),
        has_explicit_uid: operator.has_explicit_uid,
        name: operator.name.clone(),
        parallelism: operator.parallelism,
        max_parallelism: operator.max_parallelism,
        subtasks: operator.subtasks.iter().map(subtask).collect(),
        values,
    })
}

fn subtask(state: &SubtaskState) -> Subtask {
    let lists = state.lists.iter().map(|list| List {
        name: list.name.clone(),
        distribution: format!("{:?}", list.distribution).to_lowercase(),
        elements: list.elements.len(),
        offsets: match &*list.name {
            Source::LIST => list
                .elements
                .iter()
                .filter_map(|element| Source::read_element(element))
                .collect(),
            _ => Vec::new(),
        },
        records: match &*list.name {
            RuleFilter::LIST | Sink::BUFFER_LIST => records(list.elements.iter()),
            _ => Vec::new(),
        },
    });
    let channels = state.channels.iter();
    let keyed = state.keyed.as_ref();
    Subtask {
        finished: state.finished,
        stored_bytes: state.stored_bytes(),
        keyed: keyed.map(KeyedStateHandle::class_name),
        keyed_bytes: keyed.map_or(0, KeyedStateHandle::stored_bytes),
        files: keyed.map_or(0, |handle| handle.streams().count()),
        lists: lists.collect(),
        channels: state.channels.len(),
        channel_bytes: channels.map(|channel| channel.stream.size_bytes()).sum(),
    }
}

/// The records of a list, as their key and value.
fn records<'a>(elements: impl Iterator<Item = &'a Arc<[u8]>>) -> Vec<String> {
    let decoded = elements.filter_map(|element| in_flight::decode(element).ok());
    let text = |record: Record| match record.key {
        Some(key) => format!("{key}={}", record.value),
        None => record.value.to_string(),
    };
    decoded.flatten().map(text).collect()
}

/// What the operator holds of the key that is written so: a number, or a text, which may look like one.
fn values_of(
    operator: &OperatorState,
    storage: &dyn CheckpointStorage,
    key: &str,
) -> Result<Vec<KeyedValue>, String> {
    if operator.subtasks.iter().all(|old| old.keyed.is_none()) {
        return Ok(Vec::new());
    }
    let folder = tempfile::tempdir().map_err(|error| {
        format!("No temporary folder can be made: {error}. Free some space, or set TMPDIR.")
    })?;
    let number = key.parse().ok().map(Key::int);
    let mut values = Vec::new();
    for (key, place) in number.into_iter().chain([Key::text(key)]).zip(0..) {
        let work = folder.path().join(format!("state-{place}"));
        let found = inspect::find_key(operator, &key, storage, &work);
        let found = found.map_err(|error| format!("{error}."))?;
        values.extend(values_in(&key, &found));
    }
    Ok(values)
}

fn values_in(key: &Key, found: &KeyState) -> Vec<KeyedValue> {
    let value = |value: String| KeyedValue {
        key: key.to_string(),
        value,
        ..KeyedValue::default()
    };
    let sums = found.sum.iter().map(|sum| value(sum.to_string()));
    let windows = found.windows.iter().map(|(window, sum)| KeyedValue {
        window_ms: Some((window.start_ms, window.end_ms)),
        ..value(sum.to_string())
    });
    let entries = (!found.entries.is_empty()).then(|| KeyedValue {
        state: Some(found.kind.name()),
        last_access_ms: found
            .entries
            .iter()
            .filter_map(|entry| entry.last_access_ms)
            .collect(),
        ..value(entries_text(found.kind, &found.entries))
    });
    sums.chain(windows).chain(entries).collect()
}

fn kind_text(kind: SnapshotKind) -> String {
    match kind {
        SnapshotKind::Checkpoint => "checkpoint".to_owned(),
        SnapshotKind::Savepoint(format) => format!("savepoint, {}", format.name()),
        SnapshotKind::StopWithSavepoint { format, drain } => format!(
            "savepoint with which the job stopped{}, {}",
            if drain { " drained" } else { "" },
            format.name()
        ),
    }
}

impl Display for Listed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(damage) = &self.damage {
            return writeln!(f, "{}\n  cannot be read: {damage}", self.path);
        }
        writeln!(f, "{}", self.path)?;
        write!(f, "  {}", self.kind.as_deref().unwrap_or_default())?;
        if let (Some(id), Some(backend)) = (self.id, self.backend) {
            write!(f, " {id} · {backend} backend")?;
        }
        if let Some(bytes) = self.stored_bytes {
            write!(f, " · {bytes} B")?;
        }
        writeln!(f, " · state of {}", self.operators.join(", "))
    }
}

impl Display for Snapshot {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}\n{} {} · {} backend · {} B",
            self.path, self.kind, self.id, self.backend, self.stored_bytes
        )?;
        self.operators
            .iter()
            .try_for_each(|operator| write!(f, "\n{operator}"))
    }
}

impl Display for Operator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let uid = if self.has_explicit_uid {
            format!("uid {}", self.uid)
        } else {
            "no uid, so the id is generated".to_owned()
        };
        writeln!(
            f,
            "{} ({uid}) · id {} · parallelism {} of at most {}",
            self.name, self.operator_id, self.parallelism, self.max_parallelism
        )?;
        for (index, subtask) in self.subtasks.iter().enumerate() {
            writeln!(f, "  [{index}] {subtask}")?;
        }
        for value in &self.values {
            match value.window_ms {
                Some((start, end)) => {
                    writeln!(f, "  {} in {start}–{end} ms: {}", value.key, value.value)?;
                }
                None => value.fmt_entries(f)?,
            }
        }
        Ok(())
    }
}

impl KeyedValue {
    fn fmt_entries(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "  {}: {}", self.key, self.value)?;
        if let Some(state) = self.state {
            write!(f, " ({state})")?;
        }
        match (
            self.last_access_ms.iter().min(),
            self.last_access_ms.iter().max(),
        ) {
            (Some(first), Some(last)) if first == last => write!(f, ", last used at {last} ms")?,
            (Some(first), Some(last)) => write!(f, ", last used at {first} to {last} ms")?,
            _ => {}
        }
        writeln!(f)
    }
}

impl Display for Subtask {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.finished {
            f.write_str("finished · ")?;
        }
        write!(f, "{} B", self.stored_bytes)?;
        if let Some(class) = self.keyed {
            write!(f, " · keyed {} B ({class}", self.keyed_bytes)?;
            match self.files {
                0 | 1 => f.write_str(")")?,
                files => write!(f, ", {files} files)")?,
            }
        }
        for list in &self.lists {
            write!(f, " · list {} ({})", list.name, list.distribution)?;
            for (split, offset) in &list.offsets {
                write!(f, " split {split} at {offset}")?;
            }
            for record in &list.records {
                write!(f, " {record}")?;
            }
        }
        if self.channels > 0 {
            write!(
                f,
                " · in flight {} B of {} channels",
                self.channel_bytes, self.channels
            )?;
        }
        Ok(())
    }
}
