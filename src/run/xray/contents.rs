//! What is in a file, read from it.

use std::fs;
use std::path::Path;

use super::FileRef;
use crate::engine::driver::stepper::Stepper;
use crate::engine::in_flight;
use crate::engine::operator::Source;
use crate::engine::state::dump::{self, Entries, FileEntry};
use crate::engine::storage::{
    CheckpointMetadata, CheckpointStorage, GroupOffsets, KeyedStateHandle, ListState,
    OperatorState, StoredFile, StreamHandle, SubtaskState,
};
use crate::model::{CheckpointId, SubtaskId};

/// More entries than these of a file are counted, and not told one by one.
pub const MAX_ENTRIES: usize = 500;

/// A file of RocksDB that is text is told up to this many lines.
const MAX_LINES: usize = 40;

/// What is in a file, or in working state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileContents {
    /// What it is, as a sentence.
    pub what: String,
    /// What there is to know beside the entries: a name, and what is so called.
    pub facts: Vec<(String, String)>,
    /// Entries of keyed state, by the stream in which they lie.
    pub parts: Vec<Part>,
}

/// One stream of keyed state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// What it is called; empty: it is all of the file.
    pub name: String,
    /// By key group.
    pub entries: Entries,
}

impl FileContents {
    fn of(what: &str) -> Self {
        Self {
            what: what.to_owned(),
            ..Self::default()
        }
    }

    fn with_entries(mut self, entries: Entries) -> Self {
        self.parts.push(Part {
            name: String::new(),
            entries,
        });
        self
    }

    /// All entries that are told.
    pub fn entries(&self) -> impl Iterator<Item = &FileEntry> {
        self.parts.iter().flat_map(|part| &part.entries.first)
    }

    /// How many there are in all.
    #[must_use]
    pub fn entry_count(&self) -> usize {
        self.parts.iter().map(|part| part.entries.count).sum()
    }

    fn fact(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.facts.push((name.into(), value.into()));
    }
}

/// Where contents are read from.
pub(in crate::run) struct Reader<'a> {
    pub storage: &'a dyn CheckpointStorage,
    pub stepper: &'a Stepper,
    /// A folder that must not exist, for RocksDB's files; it is gone afterwards.
    pub work: &'a Path,
}

/// The stream in a file, and what it is.
enum Found {
    KeyGroups {
        stream: StreamHandle,
        offsets: Vec<(u32, u64)>,
        is_canonical: bool,
    },
    /// By RocksDB's own name.
    RocksDb(String, StreamHandle),
    /// RocksDB's, where they are on the heap.
    Timers(GroupOffsets),
    InFlight(StreamHandle),
}

impl Reader<'_> {
    /// # Errors
    /// A sentence: it is gone or damaged, or cannot be read by itself.
    pub fn read(&self, file: &FileRef) -> Result<FileContents, String> {
        match file {
            FileRef::Local { subtask, table } => self.local(*subtask, table.as_deref()),
            FileRef::Stored(path) => match path.strip_suffix("/_metadata") {
                Some(folder) => self.metadata(folder),
                None if path.contains('/') => self.stored(path),
                None => self.metadata(path),
            },
        }
    }

    fn local(&self, subtask: SubtaskId, table: Option<&str>) -> Result<FileContents, String> {
        let mut keyed = self.stepper.keyed();
        let Some((_, keyed)) = keyed.find(|(id, _)| *id == subtask) else {
            return Err("The subtask is not there now, and its working state is gone.".to_owned());
        };
        let state = keyed.local().map_err(sentence)?;
        let Some(name) = table else {
            let what = "All the working state of this subtask, wherever it lies.";
            let entries = dump::backend(keyed, MAX_ENTRIES).map_err(sentence)?;
            return Ok(FileContents::of(what).with_entries(entries));
        };
        let (Some(known), Some(folder)) = (
            state.tables.iter().find(|table| table.name == name),
            state.folder,
        ) else {
            return Err(format!(
                "{name} is not there any more: it was merged into another file."
            ));
        };
        let path = folder.join(name);
        let bytes = fs::read(&path)
            .map_err(|error| format!("{} cannot be read: {error}.", path.display()))?;
        let mut contents = self.table(name, &bytes)?;
        if known.deletions > 0 {
            contents.fact("Deleted keys", known.deletions.to_string());
        }
        Ok(contents)
    }

    fn table(&self, name: &str, bytes: &[u8]) -> Result<FileContents, String> {
        let entries = dump::table((name, bytes), self.work, MAX_ENTRIES).map_err(sentence)?;
        let what =
            "A table file (SST) of RocksDB: entries sorted by key group and key. It never changes.";
        Ok(FileContents::of(what).with_entries(entries))
    }

    fn stored(&self, path: &str) -> Result<FileContents, String> {
        let files = self.storage.stored_files().map_err(sentence)?;
        let Some(file) = files.iter().find(|file| file.path == path) else {
            return Err(format!("{path} is not there any more."));
        };
        let ids = self.storage.list().map_err(sentence)?.into_iter().rev();
        let mut metadata = ids.filter_map(|id| self.storage.read_metadata(id).ok());
        match metadata.find_map(|metadata| self.find(&metadata, path)) {
            Some(found) => self.open(&found),
            None => self.unknown(file),
        }
    }

    fn open(&self, found: &Found) -> Result<FileContents, String> {
        let read = |stream| self.storage.read_stream(stream).map_err(sentence);
        match found {
            Found::KeyGroups {
                stream,
                offsets,
                is_canonical,
            } => {
                let bytes = read(stream)?;
                let entries = dump::key_groups(&bytes, offsets, *is_canonical, MAX_ENTRIES)
                    .map_err(sentence)?;
                let what = if *is_canonical {
                    "Keyed state in the canonical form, which every backend reads: key group after key group."
                } else {
                    "Keyed state of the heap: key group after key group."
                };
                let mut contents = FileContents::of(what).with_entries(entries);
                contents.fact("Key groups", group_range(offsets));
                Ok(contents)
            }
            Found::RocksDb(name, stream) => self.rocks(name, &read(stream)?),
            Found::Timers(timers) => {
                let what = "The timers of windows, which this database had on the heap: key group after key group.";
                let mut contents = FileContents::of(what);
                contents.fact("Key groups", group_range(&timers.offsets));
                let all =
                    dump::timers(&read(&timers.stream)?, &timers.offsets).map_err(sentence)?;
                contents.fact("Timers", all.len().to_string());
                for (group, timer) in all.into_iter().take(MAX_LINES) {
                    contents.fact(timer, format!("key group {group}"));
                }
                Ok(contents)
            }
            Found::InFlight(stream) => {
                let records = in_flight::decode(&read(stream)?)
                    .map_err(|reason| format!("It cannot be read: {reason}."))?;
                let mut contents =
                    FileContents::of("Records in flight that the barrier has overtaken, in order.");
                contents.fact("Records", records.len().to_string());
                for record in records.iter().take(MAX_LINES) {
                    let key = record
                        .key
                        .as_ref()
                        .map_or_else(String::new, ToString::to_string);
                    contents.fact(format!("value {}", record.value), key);
                }
                Ok(contents)
            }
        }
    }

    fn rocks(&self, name: &str, bytes: &[u8]) -> Result<FileContents, String> {
        let is_table = Path::new(name)
            .extension()
            .is_some_and(|it| it.eq_ignore_ascii_case("sst"));
        if is_table {
            return self.table(name, bytes);
        }
        let what = match name.split('-').next().unwrap_or_default() {
            "CURRENT" => "RocksDB’s pointer to its manifest.",
            "MANIFEST" => {
                "RocksDB’s manifest: which table files it consists of, and in which levels."
            }
            "OPTIONS" => "RocksDB’s settings.",
            _ => "A file of RocksDB.",
        };
        let mut contents = FileContents::of(what);
        if let Ok(text) = str::from_utf8(bytes)
            && !text.contains('\0')
        {
            for line in text
                .lines()
                .filter(|line| !line.trim().is_empty())
                .take(MAX_LINES)
            {
                contents.fact(line.trim(), "");
            }
        }
        Ok(contents)
    }

    /// A file that no completed checkpoint refers to.
    fn unknown(&self, file: &StoredFile) -> Result<FileContents, String> {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let parts: Vec<&str> = name.rsplit('.').take(2).collect();
        let folder = self.storage.location();
        let (Some(folder), [extension @ "sst", number]) = (folder, &parts[..]) else {
            return Ok(FileContents::of(
                "No completed checkpoint refers to it (yet): what it is, only the metadata will say.",
            ));
        };
        let bytes = fs::read(folder.join(&file.path))
            .map_err(|error| format!("{} cannot be read: {error}.", file.path))?;
        self.table(&format!("{number}.{extension}"), &bytes)
    }

    fn find(&self, metadata: &CheckpointMetadata, path: &str) -> Option<Found> {
        let is_it = |stream: &StreamHandle| self.storage.path_of(stream).as_deref() == Some(path);
        let operators = metadata.operators.iter();
        let mut subtasks = operators.flat_map(|operator| &operator.subtasks);
        subtasks.find_map(|subtask| {
            let mut channels = subtask.channels.iter().map(|channel| &channel.stream);
            keyed_streams(subtask)
                .into_iter()
                .find(|found| is_it(found.stream()))
                .or_else(|| channels.find(|it| is_it(it)).cloned().map(Found::InFlight))
        })
    }

    fn metadata(&self, folder: &str) -> Result<FileContents, String> {
        let id = folder.strip_prefix("chk-").and_then(|id| id.parse().ok());
        let Some(id) = id.map(CheckpointId) else {
            return Err(format!("{folder} is no checkpoint’s folder."));
        };
        let metadata = self.storage.read_metadata(id).map_err(sentence)?;
        let mut contents = FileContents::of(
            "What the checkpoint consists of: every operator’s state, or the files in which it lies.",
        );
        for operator in &metadata.operators {
            for (index, subtask) in (1..).zip(&operator.subtasks) {
                let name = subtask_name(operator, index);
                contents = self.subtask(contents, &name, subtask)?;
            }
        }
        Ok(contents)
    }

    fn subtask(
        &self,
        mut contents: FileContents,
        name: &str,
        subtask: &SubtaskState,
    ) -> Result<FileContents, String> {
        if subtask.finished {
            contents.fact(name, "had finished");
        }
        for list in &subtask.lists {
            contents.fact(name, list_text(list));
        }
        for found in keyed_streams(subtask) {
            let stream = found.stream();
            let bytes = stream.size_bytes();
            let what = match &found {
                Found::RocksDb(file, _) => file.as_str(),
                Found::Timers(_) => "timers",
                Found::KeyGroups { .. } | Found::InFlight(_) => "keyed state",
            };
            match self.storage.path_of(stream) {
                None => {
                    contents.fact(format!("{name} · {what}"), format!("{bytes} B, in here"));
                    let inside = self.open(&found)?;
                    if matches!(found, Found::Timers(_)) {
                        contents.facts.extend(inside.facts);
                    }
                    let parts = inside.parts.into_iter();
                    contents.parts.extend(parts.map(|part| Part {
                        name: format!("{name} · {what}"),
                        ..part
                    }));
                }
                Some(path) => {
                    let folder = path.split('/').next().unwrap_or_default();
                    contents.fact(format!("{name} · {what}"), format!("{bytes} B in {folder}"));
                }
            }
        }
        for channel in &subtask.channels {
            let bytes = channel.stream.size_bytes();
            contents.fact(name, format!("records in flight: {bytes} B"));
        }
        Ok(contents)
    }
}

impl Found {
    fn stream(&self) -> &StreamHandle {
        match self {
            Self::KeyGroups { stream, .. } | Self::RocksDb(_, stream) | Self::InFlight(stream) => {
                stream
            }
            Self::Timers(timers) => &timers.stream,
        }
    }
}

/// The streams of a subtask's keyed state.
fn keyed_streams(subtask: &SubtaskState) -> Vec<Found> {
    let groups = |stream: &StreamHandle, offsets: &[(u32, u64)], is_canonical| {
        vec![Found::KeyGroups {
            stream: stream.clone(),
            offsets: offsets.to_vec(),
            is_canonical,
        }]
    };
    match &subtask.keyed {
        None => Vec::new(),
        Some(KeyedStateHandle::KeyGroups { stream, offsets }) => groups(stream, offsets, false),
        Some(KeyedStateHandle::Savepoint { stream, offsets }) => groups(stream, offsets, true),
        Some(handle @ KeyedStateHandle::RocksDb { .. }) => handle
            .files()
            .map(|(name, stream)| Found::RocksDb(name.to_owned(), stream.clone()))
            .chain(handle.timers().cloned().map(Found::Timers))
            .collect(),
    }
}

fn subtask_name(operator: &OperatorState, index: u32) -> String {
    match operator.parallelism {
        0 | 1 => operator.name.clone(),
        parallelism => format!("{} {index}/{parallelism}", operator.name),
    }
}

fn list_text(list: &ListState) -> String {
    let offsets = list.elements.iter().filter_map(|element| {
        let (split, offset) = Source::read_element(element)?;
        Some(format!("split {} read to {offset}", split + 1))
    });
    if list.name == Source::LIST {
        return offsets.collect::<Vec<_>>().join(", ");
    }
    let bytes: usize = list.elements.iter().map(|element| element.len()).sum();
    format!(
        "list “{}”: {} elements, {bytes} B",
        list.name,
        list.elements.len()
    )
}

fn group_range(offsets: &[(u32, u64)]) -> String {
    match (offsets.first(), offsets.last()) {
        (Some((first, _)), Some((last, _))) if first != last => format!("{first} to {last}"),
        (Some((only, _)), _) => only.to_string(),
        _ => "none".to_owned(),
    }
}

fn sentence(error: impl std::fmt::Display) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    let first: String = letters
        .next()
        .map(char::to_uppercase)
        .into_iter()
        .flatten()
        .collect();
    format!("{first}{}.", letters.as_str())
}
