//! Files that someone deletes from under a running job.

use std::path::Path;
use std::sync::Arc;

use lockgate::engine::driver::live::{self, LiveOptions};
use lockgate::engine::driver::{Feeds, Resources};
use lockgate::engine::event::{AbortReason, CommandOrigin, EventKind, JobStatus};
use lockgate::engine::plan::ExecutionGraph;
use lockgate::engine::storage;
use lockgate::model::{
    CheckpointId, Command, JobGraph, OperatorSpec, ScriptEntry, StorageKind, When,
};
use lockgate::recording::view::CheckpointStatus;

use crate::rig::{Rig, Source, expected_sums, sum_job};

const SOURCES: [Source; 1] = [Source {
    rate_per_s: 50,
    end: 60,
    parallelism: 1,
}];
const KEYS: u32 = 5;

fn job() -> JobGraph {
    let mut job = sum_job(&SOURCES, KEYS, 2);
    job.config.checkpointing.retained = 3;
    job.config.storage = StorageKind::FileSystem {
        inline_threshold_bytes: 0,
    };
    job
}

fn rig(job: &JobGraph, dir: &Path) -> Rig {
    Rig::with_storage(job, storage::open(&job.config, dir).unwrap())
}

fn delete(path: &str) -> Command {
    Command::DeleteStored {
        path: path.to_owned(),
    }
}

/// Let the job take `count` more checkpoints.
fn take(rig: &mut Rig, count: usize) {
    for _ in 0..count {
        let changes = rig.view().state_changes + 6;
        rig.run_until(|view| view.state_changes >= changes);
        rig.checkpoint();
        let wanted = rig.view().store.len() + 1;
        rig.run_until(|view| view.store.len() == wanted);
    }
}

fn last(rig: &Rig) -> &EventKind {
    &rig.recording.events().last().unwrap().kind
}

/// Breaks if a part of the job hears of it, or if what goes is not what was named.
#[test]
fn a_deletion_takes_a_file_and_tells_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = rig(&job(), dir.path());
    take(&mut rig, 2);
    let files = rig.storage.stored_files().unwrap();
    let (victim, count) = (&files[1].path, rig.recording.events().len());
    let before = rig.stepper.project();
    rig.command(&delete(victim));
    assert_eq!(rig.recording.events().len(), count + 1);
    let accepted = EventKind::CommandAccepted {
        command: delete(victim),
        by: CommandOrigin::Person,
    };
    assert_eq!(*last(&rig), accepted);
    assert_eq!(rig.stepper.project(), before);
    assert!(!dir.path().join(victim).exists());
    let rest = files.iter().filter(|file| file.path != *victim).cloned();
    assert!(rig.storage.stored_files().unwrap().into_iter().eq(rest));
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    assert_eq!(rig.sums("sum"), expected_sums(&SOURCES, KEYS));
}

/// Breaks if a refused deletion changes something, or does not say what is the matter.
#[test]
fn what_is_not_there_is_not_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = rig(&job(), dir.path());
    take(&mut rig, 1);
    let before = (rig.stepper.project(), rig.storage.stored_files().unwrap());
    for path in [
        "chk-2",
        "chk-1/_metadatas",
        "shared",
        "../x",
        "",
        "chk-1/..",
    ] {
        rig.command(&delete(path));
        let EventKind::CommandRefused { reason, .. } = last(&rig) else {
            panic!("{path}: {:?}", last(&rig));
        };
        assert!(
            reason.starts_with(&format!("“{path}” cannot be deleted: ")),
            "{reason}"
        );
        assert!(
            reason.contains("such as chk-3/_metadata or chk-3."),
            "{reason}"
        );
        let after = (rig.stepper.project(), rig.storage.stored_files().unwrap());
        assert_eq!(after, before);
    }
    rig.command(&delete("chk-1"));
    rig.command(&delete("chk-1"));
    assert!(
        matches!(last(&rig), EventKind::CommandRefused { .. }),
        "it is gone"
    );
    rig.command(&Command::Stop);
    rig.command(&delete("chk-1"));
    assert!(
        matches!(last(&rig), EventKind::CommandRefused { .. }),
        "the job has ended"
    );
}

/// A checkpoint that is still being written comes to nothing, as with any storage that fails. Breaks if it is completed
/// without its files.
#[test]
fn a_pending_checkpoint_that_is_deleted_is_declined() {
    let mut job = job();
    job.config.checkpointing.tolerable_failed = 1;
    let dir = tempfile::tempdir().unwrap();
    let mut rig = rig(&job, dir.path());
    rig.run_until(|view| view.state_changes >= 6);
    rig.checkpoint();
    rig.command(&delete("chk-1"));
    rig.run_until(|view| {
        let first = &view.checkpoints[&CheckpointId(1)];
        first.status == CheckpointStatus::Aborted(AbortReason::AsyncException)
    });
    take(&mut rig, 1);
    assert_eq!(rig.storage.list().unwrap(), rig.view().store);
    rig.run_to_end();
    assert_eq!(rig.sums("sum"), expected_sums(&SOURCES, KEYS));
}

/// Law 3, with deletions: a branch does all of it again, in a folder of its own.
///
/// Breaks if a sentence tells where the folder is, or if a file is called otherwise each time.
#[test]
fn the_same_deletions_in_another_folder_give_the_same_events() {
    let course = |job: &JobGraph| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = rig(job, dir.path());
        take(&mut rig, 3);
        let files = rig.storage.stored_files().unwrap();
        let of_newest = files.iter().filter(|file| file.path.starts_with("chk-3/"));
        for file in of_newest {
            rig.command(&delete(&file.path));
            rig.command(&delete("chk-9"));
        }
        rig.crash("sum", 0);
        rig.restore();
        let checkpoint = Some(CheckpointId(1));
        rig.command(&Command::Restore { checkpoint });
        rig.run_to_end();
        rig.recording.events().to_vec()
    };
    for backend in lockgate::model::BackendKind::ALL {
        for incremental in [false, true] {
            let mut job = job();
            job.config.backend = backend;
            job.config.state.incremental = incremental;
            assert_eq!(course(&job), course(&job));
        }
    }
}

/// Both drivers obey alike. Breaks if the live one only says that it does.
#[test]
fn a_live_job_deletes_what_is_there_and_refuses_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let mut job = job();
    job.script = [delete(".discarded-7/left-over"), delete("chk-99")]
        .map(|command| ScriptEntry {
            when: When::AtMs(1),
            command,
        })
        .into();
    let root = dir.path().join("checkpoints");
    let resources = Resources {
        feeds: Feeds::new(),
        storage: storage::open(&job.config, &root).unwrap(),
        dir: dir.path().join("work"),
        start: None,
        savepoints: None,
    };
    let left_over = root.join(".discarded-7").join("left-over");
    std::fs::create_dir(left_over.parent().unwrap()).unwrap();
    std::fs::write(&left_over, "left over").unwrap();
    let options = LiveOptions {
        is_unpaced: true,
        ..LiveOptions::default()
    };
    // However fast it is, the job does not end before its script has been looked at.
    if let OperatorSpec::Source(source) = &mut job.vertices[0].operator {
        source.end = None;
    }
    job.script.push(ScriptEntry {
        when: When::AtMs(2),
        command: Command::Stop,
    });
    let plan = Arc::new(ExecutionGraph::of(&job));
    let outcome = live::run(&Arc::new(job), &plan, resources, options).unwrap();
    let obeyed = outcome.events.iter().filter_map(|event| match &event.kind {
        EventKind::CommandAccepted { command, .. } => Some((command.clone(), true)),
        EventKind::CommandRefused { command, .. } => Some((command.clone(), false)),
        _ => None,
    });
    let expected = [
        (delete(".discarded-7/left-over"), true),
        (delete("chk-99"), false),
        (Command::Stop, true),
    ];
    assert_eq!(obeyed.collect::<Vec<_>>(), expected);
    assert!(!left_over.exists());
}
