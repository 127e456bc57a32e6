//! A restore that cannot read the latest checkpoint goes back to an older one.
//!
//! The law of all of these: whatever was lost, the sums in the end are those of a run without failures. It would break if
//! a checkpoint that cannot be read were read in part, if the splits were set to the offsets of one checkpoint and the
//! sums to those of another, or if a fresh start took the place of what is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use lockgate::engine::driver::live::{self, LiveOptions};
use lockgate::engine::driver::{Feeds, Resources, StartPoint};
use lockgate::engine::event::{CommandOrigin, EventKind, JobStatus};
use lockgate::engine::plan::ExecutionGraph;
use lockgate::engine::storage::{self, MemoryStorage, StreamHandle};
use lockgate::model::{
    BackendKind, CheckpointId, ClaimMode, Command, JobGraph, RestartStrategy, ScriptEntry,
    StorageKind, Uid, When,
};

use crate::failing::{FailingStorage, Trouble};
use crate::rig::{Rig, Source, expected_sums, sum_job};

const SOURCES: [Source; 2] = [
    Source {
        rate_per_s: 50,
        end: 60,
        parallelism: 1,
    },
    Source {
        rate_per_s: 35,
        end: 40,
        parallelism: 1,
    },
];
const KEYS: u32 = 10;

/// Where state is kept, and where checkpoints go.
#[derive(Clone, Copy, Debug)]
struct Kind {
    backend: BackendKind,
    incremental: bool,
    storage: StorageKind,
}

const fn files(inline_threshold_bytes: u32) -> StorageKind {
    StorageKind::FileSystem {
        inline_threshold_bytes,
    }
}

const HEAP: Kind = Kind {
    backend: BackendKind::Heap,
    incremental: false,
    storage: files(0),
};
const INCREMENTAL: Kind = Kind {
    backend: BackendKind::RocksDb,
    incremental: true,
    storage: files(0),
};
const KINDS: [Kind; 6] = [
    HEAP,
    INCREMENTAL,
    Kind {
        incremental: false,
        ..INCREMENTAL
    },
    Kind {
        storage: files(20 << 10),
        ..HEAP
    },
    Kind {
        storage: StorageKind::JobManager,
        ..HEAP
    },
    Kind {
        storage: StorageKind::JobManager,
        ..INCREMENTAL
    },
];

fn job(kind: Kind) -> JobGraph {
    let mut job = sum_job(&SOURCES, KEYS, 2);
    job.config.backend = kind.backend;
    job.config.state.incremental = kind.incremental;
    job.config.storage = kind.storage;
    job.config.checkpointing.retained = 3;
    job
}

/// Three completed checkpoints; the job runs on.
fn three_checkpoints(job: &JobGraph, dir: &Path) -> Rig {
    let mut rig = Rig::with_storage(job, storage::open(&job.config, dir).unwrap());
    for number in 1..=3 {
        let changes = 15 * u32::try_from(number).unwrap();
        rig.run_until(|view| view.state_changes >= changes);
        rig.checkpoint();
        rig.run_until(|view| view.store.len() == number);
    }
    rig
}

fn delete(rig: &mut Rig, path: &str) {
    rig.command(&Command::DeleteStored {
        path: path.to_owned(),
    });
    assert!(
        matches!(
            &rig.recording.events().last().unwrap().kind,
            EventKind::CommandAccepted { .. }
        ),
        "{path}"
    );
}

/// The restores since event `since`: what was asked for, by whom, and why not; or that it was done.
fn tries(rig: &Rig, since: usize) -> Vec<(Option<u64>, Option<String>)> {
    let events = rig.recording.events()[since..].iter();
    let id = |checkpoint: &Option<CheckpointId>| checkpoint.map(|id| id.0);
    events
        .filter_map(|event| match &event.kind {
            EventKind::CommandAccepted {
                command: Command::Restore { checkpoint },
                ..
            } => Some((id(checkpoint), None)),
            EventKind::CommandRefused {
                command: Command::Restore { checkpoint },
                reason,
                ..
            } => Some((id(checkpoint), Some(reason.clone()))),
            _ => None,
        })
        .collect()
}

/// Press Restore: the latest cannot be read, and the one before can.
fn restore_falls_back_once(rig: &mut Rig, missed: &str) {
    let since = rig.recording.events().len();
    rig.restore();
    let tries = tries(rig, since);
    let [(None, Some(reason)), (Some(2), None)] = &tries[..] else {
        panic!("{tries:?}");
    };
    assert!(
        reason.starts_with("Checkpoint 3 cannot be restored: "),
        "{reason}"
    );
    assert!(
        reason.contains(missed),
        "{reason} does not tell of {missed}"
    );
    assert!(reason.contains("Checkpoint 2 is tried instead"), "{reason}");
    let from = Some(CheckpointId(2));
    assert_eq!(rig.view().job, JobStatus::Restoring { from });
    assert_eq!(
        rig.view().store.last(),
        Some(&CheckpointId(2)),
        "now it is the latest"
    );
}

fn assert_ends_right(rig: &mut Rig) {
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    assert_eq!(rig.sums("sum"), expected_sums(&SOURCES, KEYS));
}

/// As the file is called in a sentence: without its folder.
fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

/// Breaks if the fallback depends on who stores what where; if it works only for a job that is down; or if one is missed
/// whose folder is gone as a whole.
#[test]
fn without_its_metadata_the_one_before_is_restored() {
    for kind in KINDS {
        for path in ["chk-3/_metadata", "chk-3"] {
            for is_down in [false, true] {
                let dir = tempfile::tempdir().unwrap();
                let mut rig = three_checkpoints(&job(kind), dir.path());
                delete(&mut rig, path);
                if is_down {
                    rig.crash("sum", 0);
                }
                restore_falls_back_once(&mut rig, "is missing");
                assert_ends_right(&mut rig);
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Damage {
    Deleted,
    Torn,
    Altered,
}

/// Breaks if any file is used unread, or read and not checked.
#[test]
fn whatever_file_of_the_latest_is_damaged_the_one_before_is_restored() {
    let mut victims = 0;
    for kind in &KINDS[..4] {
        let job = job(*kind);
        let dir = tempfile::tempdir().unwrap();
        let rig = three_checkpoints(&job, dir.path());
        let files = rig.storage.stored_files().unwrap();
        let own = files
            .into_iter()
            .filter(|file| file.path.starts_with("chk-3/"));
        for (place, victim) in own.map(|file| file.path).enumerate() {
            let mut damages = vec![Damage::Deleted, Damage::Torn, Damage::Altered];
            if kind.backend == BackendKind::RocksDb {
                // It has many files, which are all read in the same way: each suffers one kind of damage.
                damages = vec![damages[place % 3]];
            }
            for damage in damages {
                let dir = tempfile::tempdir().unwrap();
                let mut rig = three_checkpoints(&job, dir.path());
                let file = dir.path().join(&victim);
                let mut bytes = fs::read(&file).unwrap();
                match damage {
                    Damage::Deleted => fs::remove_file(&file).unwrap(),
                    Damage::Torn => fs::write(&file, &bytes[..bytes.len() / 2]).unwrap(),
                    Damage::Altered => {
                        let middle = bytes.len() / 2;
                        bytes[middle] ^= 1;
                        fs::write(&file, bytes).unwrap();
                    }
                }
                rig.crash("sum", 1);
                restore_falls_back_once(&mut rig, name_of(&victim));
                assert_ends_right(&mut rig);
                victims += 1;
            }
        }
    }
    assert!(victims > 20, "{victims}");
}

/// The shared files that `checkpoint` refers to, as paths.
fn shared_by(rig: &Rig, checkpoint: u64) -> BTreeSet<String> {
    let metadata = rig.storage.read_metadata(CheckpointId(checkpoint)).unwrap();
    let shared = metadata
        .streams()
        .filter(|stream| stream.shared_name().is_some());
    shared
        .filter_map(|stream: &StreamHandle| rig.storage.path_of(stream))
        .collect()
}

/// Incremental. Breaks if a shared file is looked for only when it is needed, or if the older checkpoint is refused for a
/// file that it does not refer to.
#[test]
fn without_a_shared_file_that_only_the_latest_needs_the_one_before_is_restored() {
    let dir = tempfile::tempdir().unwrap();
    let rig = three_checkpoints(&job(INCREMENTAL), dir.path());
    let (newest, before) = (shared_by(&rig, 3), shared_by(&rig, 2));
    let own: Vec<String> = newest.difference(&before).cloned().collect();
    assert!(!own.is_empty());
    for victim in own {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = three_checkpoints(&job(INCREMENTAL), dir.path());
        delete(&mut rig, &victim);
        rig.crash("sum", 0);
        restore_falls_back_once(&mut rig, name_of(&victim));
        assert_ends_right(&mut rig);
    }
}

/// Breaks if something is canceled, cleared or counted for a restore that comes to nothing; if a fresh start takes its
/// place; or if the job cannot be worked with any more.
#[test]
fn without_a_shared_file_that_all_need_nothing_is_restored() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = three_checkpoints(&job(INCREMENTAL), dir.path());
    let common: Vec<BTreeSet<String>> = (1..=3).map(|id| shared_by(&rig, id)).collect();
    let common = common.into_iter().reduce(|a, b| &a & &b).unwrap();
    let victim = common.first().expect("the first file is in all of them");
    delete(&mut rig, victim);
    rig.crash("sum", 0);
    let before = rig.stepper.project();
    for _ in 0..2 {
        let since = rig.recording.events().len();
        rig.restore();
        assert_eq!(rig.stepper.project(), before);
        let tries = tries(&rig, since);
        let asked: Vec<Option<u64>> = tries.iter().map(|(asked, _)| *asked).collect();
        assert_eq!(asked, [None, Some(2), Some(1)]);
        for (_, reason) in &tries {
            let reason = reason.as_ref().expect("none can be read");
            assert!(reason.contains(name_of(victim)), "{reason}");
        }
        let (_, last) = tries.last().unwrap();
        let last = last.as_ref().unwrap();
        assert!(
            last.ends_with("None of the retained checkpoints can be restored. Start a new run."),
            "{last}"
        );
    }
    assert!(matches!(rig.view().job, JobStatus::Restarting { .. }));
    // Nothing of what was read in vain is left where the subtasks work.
    let state = fs::read_dir(rig.dir.path())
        .unwrap()
        .map(|it| it.unwrap().file_name());
    let of_tries = state.filter(|name| !name.to_string_lossy().starts_with("state-0-"));
    assert_eq!(of_tries.collect::<Vec<_>>(), [""; 0]);
    rig.command(&Command::Stop);
    assert_eq!(rig.view().job, JobStatus::Canceled);
    let dir = tempfile::tempdir().unwrap();
    assert_ends_right(&mut three_checkpoints(&job(INCREMENTAL), dir.path()));
}

/// Breaks if someone who has chosen a checkpoint gets another.
#[test]
fn a_checkpoint_that_is_named_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = three_checkpoints(&job(HEAP), dir.path());
    delete(&mut rig, "chk-3/_metadata");
    let before = rig.stepper.project();
    let since = rig.recording.events().len();
    let checkpoint = Some(CheckpointId(3));
    rig.command(&Command::Restore { checkpoint });
    assert_eq!(rig.stepper.project(), before);
    let tries = tries(&rig, since);
    let [(Some(3), Some(reason))] = &tries[..] else {
        panic!("{tries:?}");
    };
    assert_eq!(
        reason,
        "Checkpoint 3 cannot be restored: chk-3/_metadata is missing. Take another checkpoint or savepoint. Still retained: \
         checkpoint 2, 1. Restore that one."
    );
    assert_ends_right(&mut rig);
}

/// Breaks if the newest, which cannot be read, is tried before the one that was restored; or if it stays for ever.
#[test]
fn what_was_restored_is_the_latest_from_then_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = three_checkpoints(&job(HEAP), dir.path());
    delete(&mut rig, "chk-3/_metadata");
    restore_falls_back_once(&mut rig, "is missing");
    rig.run_until(|view| view.job == JobStatus::Running);
    rig.crash("sum", 0);
    let since = rig.recording.events().len();
    rig.restore();
    assert_eq!(tries(&rig, since), [(None, None)]);
    rig.run_until(|view| view.job == JobStatus::Running);
    for _ in 0..2 {
        rig.checkpoint();
        let newest = *rig.view().checkpoints.keys().next_back().unwrap();
        rig.run_until(|view| view.store.last() == Some(&newest));
    }
    assert_eq!(rig.view().store, [2, 4, 5].map(CheckpointId));
    assert_eq!(rig.storage.list().unwrap(), rig.view().store);
    assert_ends_right(&mut rig);
}

/// The live driver asks the same. Breaks if it goes back to nothing, or is right by luck: the sums are those of a run in
/// which nothing was lost.
///
/// It begins with a checkpoint that can be read; none of its own can.
#[test]
fn a_live_job_falls_back_to_the_snapshot_that_it_began_with() {
    let source = Source {
        rate_per_s: 4_000,
        end: 4_000,
        parallelism: 1,
    };
    let mut job = sum_job(&[source], KEYS, 2);
    job.config.restart = RestartStrategy::Manual;
    let mut first = Rig::new(&job);
    first.run_until(|view| view.subtasks[0].offset == 100);
    first.checkpoint();
    first.run_until(|view| view.store.len() == 1);
    job.config.checkpointing.interval_ms = Some(10);
    // So that the first one stays.
    job.config.checkpointing.retained = 10_000;
    let emitted = |records, command| ScriptEntry {
        when: When::Emitted {
            uid: Uid::new("s0"),
            records,
        },
        command,
    };
    job.script = vec![emitted(2_000, Command::Restore { checkpoint: None })];
    let storage = FailingStorage::around(Arc::new(MemoryStorage::default()));
    storage.set(Trouble {
        unreadable_from: Some(CheckpointId(2)),
        ..Trouble::default()
    });
    let dir = tempfile::tempdir().unwrap();
    let resources = Resources {
        feeds: Feeds::new(),
        storage,
        dir: dir.path().to_owned(),
        start: Some(StartPoint {
            storage: first.storage.clone(),
            checkpoint: CheckpointId(1),
            claim: ClaimMode::NoClaim,
            allow_non_restored_state: false,
        }),
        savepoints: None,
    };
    let plan = Arc::new(ExecutionGraph::of(&job));
    let outcome = live::run(&Arc::new(job), &plan, resources, LiveOptions::default()).unwrap();
    let restores = outcome.events.iter().filter_map(|event| match &event.kind {
        EventKind::CommandAccepted {
            command: Command::Restore { checkpoint },
            ..
        } => Some((*checkpoint, None)),
        EventKind::CommandRefused {
            command: Command::Restore { checkpoint },
            reason,
            ..
        } => Some((*checkpoint, Some(reason.clone()))),
        _ => None,
    });
    let restores: Vec<(Option<CheckpointId>, Option<String>)> = restores.collect();
    let (last, refused) = restores.split_last().unwrap();
    assert!(
        refused.iter().all(|(_, reason)| reason.is_some()),
        "{restores:?}"
    );
    let completed = outcome
        .events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Completed { .. }));
    // Only on a very slow machine there is none of its own yet: then the first is the latest.
    let named = (!refused.is_empty()).then_some(CheckpointId(1));
    assert_eq!(*last, (named, None), "{} were completed", completed.count());
    assert_eq!(outcome.status, JobStatus::Finished);
    let sums = outcome.state.iter().flatten().flatten().cloned();
    assert_eq!(
        sums.collect::<BTreeMap<_, _>>(),
        expected_sums(&[source], KEYS)
    );
}

/// The restart strategy and the script do as a person does, and tell whose order it was.
#[test]
fn whoever_asks_falls_back_alike() {
    let dir = tempfile::tempdir().unwrap();
    let mut job = job(HEAP);
    job.config.restart = RestartStrategy::FixedDelay {
        attempts: 1,
        delay_ms: 10,
    };
    let mut rig = three_checkpoints(&job, dir.path());
    delete(&mut rig, "chk-3");
    delete(&mut rig, "chk-2/_metadata");
    let since = rig.recording.events().len();
    rig.crash("sum", 0);
    rig.run_until(|view| matches!(view.job, JobStatus::Restoring { .. }));
    let asked: Vec<Option<u64>> = tries(&rig, since).iter().map(|(asked, _)| *asked).collect();
    assert_eq!(asked, [None, Some(2), Some(1)]);
    let by_job = rig.recording.events()[since..].iter().filter(|event| {
        matches!(
            &event.kind,
            EventKind::CommandAccepted {
                by: CommandOrigin::Job,
                ..
            } | EventKind::CommandRefused {
                by: CommandOrigin::Job,
                ..
            }
        )
    });
    assert_eq!(by_job.count(), 3);
    assert_ends_right(&mut rig);
}
