//! The samples about state backends and checkpoint storage tell the stories that their notes promise.

use std::collections::BTreeMap;

use lockgate::engine::event::{AbortReason, EventKind, JobStatus, SharedUse};
use lockgate::model::{BackendKind, CheckpointId, ClassicBackend};
use lockgate::recording::view::CheckpointStatus;
use lockgate::run::Run;

use super::samples::{play_with, sums};

fn played(sample: &str, backend: BackendKind) -> Run {
    play_with(sample, backend, |_| ())
}

/// Breaks if one of the backends loses or doubles a record through the crash, or if a name stands for another pair.
#[test]
fn the_three_classic_backends_come_to_the_same() {
    let expected: BTreeMap<String, u64> = (0..10)
        .map(|digit| {
            let numbers = (1..=60_u64).filter(|number| number % 10 == digit);
            (digit.to_string(), numbers.sum())
        })
        .collect();
    for classic in ClassicBackend::ALL {
        let backend = match classic {
            ClassicBackend::RocksDb => BackendKind::RocksDb,
            ClassicBackend::Memory | ClassicBackend::Fs => BackendKind::Heap,
        };
        let run = play_with("classic-backends.ron", backend, |job| {
            assert_eq!(ClassicBackend::of(&job.config), Some(ClassicBackend::Fs));
            classic.apply(&mut job.config);
        });
        assert_eq!(run.view().job, JobStatus::Finished);
        let found = sums(&run).into_iter();
        let found: BTreeMap<String, u64> = found
            .map(|(key, sum)| (key, sum.try_into().unwrap()))
            .collect();
        assert_eq!(found, expected, "{}", classic.name());
        assert_eq!(run.view().restarts, 1, "the crash");
    }
}

/// Flink's observed course: three good ones, three declined, back to 3, number 7 next. Breaks if the limit is not
/// checked, fails more than its checkpoint, or is not counted.
#[test]
fn state_over_the_limit_fails_its_checkpoint_and_at_last_the_job() {
    let run = played("memory-over-its-limit.ron", BackendKind::Heap);
    assert!(matches!(run.view().job, JobStatus::Failed { .. }));
    let outcomes: Vec<(u64, bool)> = run
        .view()
        .checkpoints
        .values()
        .map(|checkpoint| {
            let is_complete = checkpoint.status == CheckpointStatus::Completed;
            let is_declined =
                checkpoint.status == CheckpointStatus::Aborted(AbortReason::AsyncException);
            assert!(is_complete || is_declined, "{:?}", checkpoint.status);
            (checkpoint.id.0, is_complete)
        })
        .collect();
    let expected: Vec<(u64, bool)> = (1..=9).map(|id| (id, id <= 3)).collect();
    assert_eq!(outcomes, expected);
    let reasons = run.recording().events().iter().filter_map(|event| {
        let EventKind::SnapshotFailed { reason, .. } = &event.kind else {
            return None;
        };
        Some(reason.as_str())
    });
    let reasons: Vec<&str> = reasons.collect();
    assert_eq!(reasons.len(), 6);
    assert!(
        reasons
            .iter()
            .all(|reason| reason.contains("at most 1120 in one piece")),
        "{reasons:?}"
    );
    let restored = run.recording().events().iter().filter_map(|event| {
        let EventKind::JobStatus(JobStatus::Restoring { from }) = &event.kind else {
            return None;
        };
        *from
    });
    assert_eq!(restored.collect::<Vec<_>>(), [CheckpointId(3)]);
}

/// Breaks if all is uploaded each time, if a merge of files uploads nothing, or if files are kept that nobody needs.
#[test]
fn only_new_files_go_up_until_they_are_merged() {
    let run = played("incremental.ron", BackendKind::RocksDb);
    assert_eq!(run.view().job, JobStatus::Finished);
    let sums = sums(&run);
    let sum = |key: u64| {
        (1..=240_u64)
            .filter(|number| number % 30 == key)
            .sum::<u64>()
    };
    assert!((0..30).all(|key| sums[&key.to_string()] == sum(key).into()));

    let events = run.recording().events().iter();
    let uploads: BTreeMap<CheckpointId, Vec<SharedUse>> = events
        .clone()
        .filter_map(|event| match &event.kind {
            EventKind::SharedRegistered {
                checkpoint, files, ..
            } => Some((*checkpoint, files.clone())),
            _ => None,
        })
        .collect();
    let new = |id: u64| {
        let files = uploads[&CheckpointId(id)].iter();
        let new = files.filter(|file| file.created_by == CheckpointId(id));
        new.map(|file| file.entry_bytes).sum::<u64>()
    };
    assert_eq!(
        uploads[&CheckpointId(4)].len(),
        4,
        "a file for each checkpoint so far"
    );
    assert!(
        new(4) < new(5),
        "the merged file is new, and holds all keys"
    );
    let merges = events
        .clone()
        .filter(|event| matches!(event.kind, EventKind::Compacted { .. }));
    assert!(merges.count() >= 2, "one that was due, one by hand");
    let first_files = &uploads[&CheckpointId(1)];
    let is_gone = |event: &lockgate::engine::event::TraceEvent| matches!(&event.kind, EventKind::SharedDiscarded { files } if files.contains(&first_files[0].name));
    let gone = events.clone().position(is_gone).unwrap();
    let completed = |id: u64| {
        let is_it = EventKind::Completed {
            checkpoint: CheckpointId(id),
        };
        events
            .clone()
            .position(|event| event.kind == is_it)
            .unwrap()
    };
    assert!(
        gone > completed(6),
        "checkpoints 4 and 5 are retained until then"
    );
    assert!(gone < completed(7));
}
