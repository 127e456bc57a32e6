//! Where a run's state lies, as it is looked at: against the real folder, the state on screen, and what has happened.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use lockgate::engine::event::CommandOrigin;
use lockgate::engine::storage::StorageError;
use lockgate::model::{CheckpointId, Command, JobGraph, StorageKind, SubtaskId};
use lockgate::project;
use lockgate::run::xray::{FileContents, FileRef, Role, StoredLook, Why};
use lockgate::run::{Run, RunAction, RunOptions};

use super::{act, command, settle, step_until};

fn sample(name: &str) -> (JobGraph, RunOptions) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("samples")
        .join(name);
    let options = RunOptions {
        base_dir: project::base_dir(&path),
        takes_looks: true,
        ..RunOptions::default()
    };
    (project::check(&path).unwrap(), options)
}

fn started(name: &str, change: impl FnOnce(&mut JobGraph)) -> Run {
    let (mut job, options) = sample(name);
    change(&mut job);
    let mut run = Run::start(&job, &options).unwrap();
    settle(&mut run);
    run
}

fn stored(run: &Run) -> &StoredLook {
    &run.look().unwrap().stored
}

fn look_into(run: &mut Run, file: &FileRef) -> Result<FileContents, String> {
    run.keep_reading(file);
    settle(run);
    let looked = run.looked_into().unwrap();
    assert_eq!(looked.file, *file);
    looked.contents.clone()
}

fn completed(count: u32) -> impl Fn(&lockgate::recording::View) -> bool {
    move |view| view.store.last() == Some(&CheckpointId(count.into()))
}

/// Every file below `folder`, by an independent walk.
fn walk(folder: &Path, at: &Path, found: &mut BTreeMap<String, u64>) {
    for entry in fs::read_dir(at).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            walk(folder, &entry.path(), found);
        } else {
            let path = entry
                .path()
                .strip_prefix(folder)
                .unwrap()
                .display()
                .to_string();
            found.insert(path, entry.metadata().unwrap().len());
        }
    }
}

/// Breaks if the view is drawn from a model of the storage, or a look is missed or kept at the wrong place: whenever a
/// checkpoint has been completed, what is told at the cursor is what lies in the folder.
#[test]
fn what_is_told_is_what_lies_in_the_folder() {
    let mut run = started("incremental.ron", |_| ());
    for checkpoint in 1..=5 {
        step_until(&mut run, completed(checkpoint));
        let folder = run.storage_dir().unwrap().to_owned();
        let mut found = BTreeMap::new();
        walk(&folder, &folder, &mut found);
        let files = stored(&run).files.iter();
        let told: BTreeMap<String, u64> = files
            .map(|file| (file.path.clone(), file.size_bytes))
            .collect();
        assert_eq!(told, found);
        let ids: Vec<CheckpointId> = stored(&run).checkpoints.keys().copied().collect();
        assert_eq!(
            ids,
            run.view().store,
            "those with a _metadata are those in the store"
        );
    }
}

/// At every moment of every such sample: a checkpoint in the store has all it refers to, and what is gone was deleted for a
/// reason. Breaks if a file goes too early, or the reason is looked for among the wrong events.
#[test]
fn nothing_that_is_needed_is_missing_and_nothing_goes_without_a_reason() {
    for name in [
        "incremental.ron",
        "classic-backends.ron",
        "count-average.ron",
    ] {
        let mut run = started(name, |_| ());
        run.finish(None, |_| ()).unwrap();
        let gone: Vec<_> = run.gone_files().cloned().collect();
        for gone in &gone {
            assert_ne!(gone.why, Why::Unknown, "{name}: {gone:?}");
        }
        let events = run.recording().events().len();
        for position in (1..events).step_by(7) {
            // Within a step, the store and the storage change one after the other.
            let position = run.recording().step_end(position);
            run.act(RunAction::SeekPosition(position));
            let look = run.look().unwrap();
            for id in &run.view().store {
                let has_metadata = look.stored.checkpoints.contains_key(id);
                assert!(has_metadata, "{name} at {position}: {id}");
                assert_eq!(look.stored.damage(*id), None, "{name} at {position}");
            }
        }
    }
}

/// What an incremental checkpoint has uploaded anew and what it reuses, by its `_metadata` and by the folder. Breaks if a
/// file counts as new for two checkpoints, or a reused one as uploaded.
#[test]
fn each_shared_file_was_uploaded_by_one_checkpoint() {
    let mut run = started("incremental.ron", |_| ());
    let mut creators: BTreeMap<String, CheckpointId> = BTreeMap::new();
    for checkpoint in 1..=8 {
        step_until(&mut run, completed(checkpoint));
        let id = CheckpointId(checkpoint.into());
        let stored = stored(&run);
        let (uploaded, needed) = stored.sizes(id);
        assert!(uploaded <= needed);
        let references = stored.references(id);
        let mut new_bytes = 0;
        for reference in references {
            let (Role::Table { created_by, .. }, Some(path)) = (&reference.role, &reference.path)
            else {
                continue;
            };
            let known = *creators.entry(path.clone()).or_insert(id);
            assert_eq!(known, *created_by, "{path}");
            if known == id {
                new_bytes += stored.file(path).unwrap().size_bytes;
            }
        }
        let own: u64 = stored.files_of(id).map(|file| file.size_bytes).sum();
        assert_eq!(uploaded, own + new_bytes);
    }
    let by: BTreeSet<CheckpointId> = creators.into_values().collect();
    assert!(by.len() > 4, "most checkpoints upload something: {by:?}");
}

/// The working state read from the database, entry by entry, is the state on screen; a table file's entries lie within the
/// range that is told of it; the `_metadata` tells how far the source had read. Breaks if a file is decoded otherwise than
/// it was written.
#[test]
fn a_file_is_read_entry_by_entry() {
    let mut run = started("incremental.ron", |_| ());
    step_until(&mut run, completed(2));
    let sum = SubtaskId(1);
    let file = |table: Option<&str>| FileRef::Local {
        subtask: sum,
        table: table.map(str::to_owned),
    };
    let all = look_into(&mut run, &file(None)).unwrap();
    let told: BTreeMap<String, String> = all
        .entries()
        .map(|entry| (entry.key.clone(), entry.value.clone()))
        .collect();
    let rows = run.view().subtasks[1].rows.iter();
    let shown: BTreeMap<String, String> = rows
        .map(|(key, row)| (key.without_label().to_string(), row.value.to_string()))
        .collect();
    assert_eq!(told, shown);

    let state = run.look().unwrap().local[0].state.clone().unwrap();
    assert!(!state.tables.is_empty());
    let mut seen = BTreeSet::new();
    for table in state.tables.iter() {
        let contents = look_into(&mut run, &file(Some(&table.name))).unwrap();
        assert_eq!(
            contents.entry_count() as u64,
            table.entries,
            "{}",
            table.name
        );
        let [first, last] = table.range().unwrap();
        let ends =
            |entry: &lockgate::engine::state::dump::FileEntry| (entry.key_group, entry.key.clone());
        assert_eq!(
            contents.parts[0].entries.first.first().map(ends),
            Some(first)
        );
        assert_eq!(contents.parts[0].entries.first.last().map(ends), Some(last));
        seen.extend(contents.entries().map(|entry| entry.key.clone()));
    }
    assert!(seen.iter().all(|key| told.contains_key(key)));

    let offset = run.view().checkpoints[&CheckpointId(2)].subtasks[&SubtaskId(0)].offset;
    let metadata = look_into(&mut run, &FileRef::Stored("chk-2/_metadata".to_owned())).unwrap();
    let read = format!("split 1 read to {}", offset.unwrap());
    assert!(
        metadata.facts.iter().any(|(_, text)| *text == read),
        "{:?}",
        metadata.facts
    );

    let shared = stored(&run)
        .files
        .iter()
        .find(|file| file.path.starts_with("shared/"));
    let shared = shared.unwrap().path.clone();
    let contents = look_into(&mut run, &FileRef::Stored(shared)).unwrap();
    assert!(
        contents
            .entries()
            .all(|entry| told.contains_key(&entry.key))
    );
}

/// The heap's stream of key groups, in a file and inside of the metadata, holds what the checkpoint has captured.
#[test]
fn a_stream_of_the_heap_is_read_key_group_by_key_group() {
    for inline_threshold_bytes in [0, 20_000] {
        let mut run = started("odd-even.ron", |job| {
            job.script.clear();
            job.config.storage = StorageKind::FileSystem {
                inline_threshold_bytes,
            };
        });
        step_until(&mut run, |view| view.subtasks[0].offset == 6);
        command(&mut run, Command::Checkpoint);
        step_until(&mut run, completed(1));
        let checkpoint = run.view().checkpoints[&CheckpointId(1)].clone();
        let captured: BTreeMap<String, String> = checkpoint
            .subtasks
            .values()
            .flat_map(|snapshot| &snapshot.rows)
            .map(|(key, sum)| (key.without_label().to_string(), sum.to_string()))
            .collect();
        let files: Vec<String> = stored(&run)
            .files
            .iter()
            .map(|file| file.path.clone())
            .collect();
        let mut told = BTreeMap::new();
        for path in files {
            let contents = look_into(&mut run, &FileRef::Stored(path.clone())).unwrap();
            assert!(
                inline_threshold_bytes == 0 || path.ends_with("_metadata"),
                "{path} should lie inside"
            );
            told.extend(
                contents
                    .entries()
                    .map(|entry| (entry.key.clone(), entry.value.clone())),
            );
        }
        assert_eq!(told, captured);
    }
}

/// A person deletes what a checkpoint needs: the view tells what is broken, and by whom. Acting again before that moment
/// brings it back, and the other branch keeps what it was.
#[test]
fn what_a_person_deletes_is_missing_and_another_branch_has_it_still() {
    let mut run = started("incremental.ron", |job| job.script.clear());
    step_until(&mut run, completed(3));
    let before = run.view().position;
    let store = run.view().store.clone();
    assert_eq!(store.len(), 2);
    let path = "chk-3/_metadata";
    let loss = stored(&run).loss_of(path, &run.counted());
    assert_eq!((loss.lost, loss.left), (vec![store[1]], vec![store[0]]));
    command(
        &mut run,
        Command::DeleteStored {
            path: path.to_owned(),
        },
    );
    assert!(stored(&run).file(path).is_none());
    let gone = run.gone_files().next().unwrap();
    assert_eq!(
        (gone.file.path.as_str(), gone.why),
        (path, Why::Command(CommandOrigin::Person))
    );
    let error = look_into(&mut run, &FileRef::Stored(path.to_owned())).unwrap_err();
    assert!(error.contains("is missing"), "{error}");

    act(&mut run, RunAction::SeekPosition(before));
    assert!(stored(&run).file(path).is_some(), "as it was then");
    command(&mut run, Command::Checkpoint);
    assert!(
        stored(&run).file(path).is_some(),
        "in this course, nobody has deleted it"
    );
    assert_eq!(
        run.gone_files()
            .filter(|gone| gone.why == Why::Command(CommandOrigin::Person))
            .count(),
        0
    );
    act(&mut run, RunAction::SwitchBranch(0));
    assert!(stored(&run).file(path).is_none());
}

/// What was read is of one course, and of one moment. Breaks if it outlives a branch, or working state is not read again.
#[test]
fn what_was_read_belongs_to_its_course_and_moment() {
    let mut run = started("incremental.ron", |job| job.script.clear());
    step_until(&mut run, completed(1));
    let before = run.view().position;
    let sum = FileRef::Local {
        subtask: SubtaskId(1),
        table: None,
    };
    let keep_reading = |run: &mut Run| {
        run.keep_reading(&sum);
        settle(run);
        let looked = run.looked_into().unwrap();
        let told: BTreeMap<String, String> = looked
            .contents
            .as_ref()
            .unwrap()
            .entries()
            .map(|entry| (entry.key.clone(), entry.value.clone()))
            .collect();
        let rows = run.recording().head().subtasks[1].rows.iter();
        let shown: BTreeMap<String, String> = rows
            .map(|(key, row)| (key.without_label().to_string(), row.value.to_string()))
            .collect();
        assert_eq!(told, shown);
    };
    keep_reading(&mut run);
    step_until(&mut run, completed(2));
    keep_reading(&mut run);
    act(&mut run, RunAction::SeekPosition(before));
    command(&mut run, Command::Checkpoint);
    assert!(
        run.looked_into().is_none(),
        "it was of the course that was left"
    );
    keep_reading(&mut run);
}

/// Something from outside is told as what it is.
#[test]
fn a_file_that_somebody_else_has_damaged_is_told() {
    let mut run = started("incremental.ron", |job| job.script.clear());
    step_until(&mut run, completed(2));
    let folder = run.storage_dir().unwrap().to_owned();
    let shared = fs::read_dir(folder.join("shared"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    fs::write(shared.path(), b"short").unwrap();
    act(&mut run, RunAction::Step);
    let damage = stored(&run).damage(CheckpointId(2)).unwrap();
    assert!(damage.contains("holds 5 bytes"), "{damage}");
    let path = format!("shared/{}", shared.file_name().display());
    let error = look_into(&mut run, &FileRef::Stored(path)).unwrap_err();
    let torn = StorageError::Torn {
        file: shared.path(),
        expected_bytes: 0,
        found_bytes: 5,
    };
    let start = torn.to_string().split(':').next().unwrap().to_owned();
    assert!(error.starts_with(&start), "{error}");
}
