//! Law 23: what fits where, on each backend. Sizes of streams are read from what was really written.

use std::fs;
use std::path::Path;

use lockgate::engine::event::{AbortReason, EventKind, JobStatus};
use lockgate::engine::storage::{self, StreamHandle};
use lockgate::model::{BackendKind, CheckpointConfig, JobGraph, StorageKind};
use proptest::prelude::*;

use crate::rig::{Rig, Source, expected_sums, sum_job};

const SOURCES: [Source; 1] = [Source {
    rate_per_s: 100,
    end: 120,
    parallelism: 1,
}];
const KEYS: u32 = 60;

fn job(backend: BackendKind, incremental: bool) -> JobGraph {
    let mut job = sum_job(&SOURCES, KEYS, 2);
    job.config.backend = backend;
    job.config.state.incremental = incremental;
    let checkpointing = &mut job.config.checkpointing;
    checkpointing.interval_ms = Some(250);
    checkpointing.tolerable_failed = CheckpointConfig::UNLIMITED_FAILURES;
    checkpointing.retained = 100;
    job
}

/// To its end, or as long as something is captured: a final checkpoint that does not fit is tried for ever.
fn run(job: &JobGraph, dir: &Path) -> Rig {
    let mut rig = Rig::with_storage(job, storage::open(&job.config, dir).unwrap());
    while rig.view().at_us < 3_000_000 && rig.step() {}
    rig
}

/// The streams of the retained checkpoints.
fn streams(rig: &Rig) -> Vec<StreamHandle> {
    let mut streams = Vec::new();
    for id in &rig.view().store {
        let metadata = rig.storage.read_metadata(*id).unwrap();
        streams.extend(metadata.streams().cloned());
    }
    streams
}

/// Those that do not come of the end of the data alone.
fn aborts(rig: &Rig) -> Vec<AbortReason> {
    let at_end = [
        AbortReason::DeclinedTaskClosing,
        AbortReason::CoordinatorSuspend,
    ];
    let events = rig.recording.events().iter();
    let aborts = events.filter_map(|event| match &event.kind {
        EventKind::Aborted { reason, .. } => Some(*reason),
        _ => None,
    });
    aborts.filter(|reason| !at_end.contains(reason)).collect()
}

fn backend() -> impl Strategy<Value = BackendKind> {
    prop::sample::select(BackendKind::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Breaks if the limit is not asked, is off by one, counts something else than one stream, or fails the job.
    #[test]
    fn a_stream_over_the_limit_fails_its_checkpoint_alone(
        backend in backend(), incremental: bool, share in 0_u32..130,
    ) {
        let job = job(backend, incremental);
        let dir = tempfile::tempdir().unwrap();
        let unlimited = run(&job, &dir.path().join("1"));
        prop_assert_eq!(&unlimited.view().job, &JobStatus::Finished);
        // The final checkpoint is the largest; where it ends is deleted, so ask the size while it runs.
        let mut limited = job.clone();
        let mut probe = Rig::with_storage(&job, storage::open(&job.config, &dir.path().join("2")).unwrap());
        probe.run_until(|view| view.store.len() >= 4);
        let largest = streams(&probe).iter().map(StreamHandle::size_bytes).max().unwrap();
        let limit = (largest * u64::from(share) / 100).max(1);
        limited.config.state.max_state_bytes = u32::try_from(limit).unwrap();
        let rig = run(&limited, &dir.path().join("3"));
        for stream in streams(&rig) {
            prop_assert!(stream.size_bytes() <= limit);
        }
        let aborts = aborts(&rig);
        prop_assert!(aborts.iter().all(|reason| *reason == AbortReason::AsyncException), "{aborts:?}");
        prop_assert_eq!(aborts.is_empty(), rig.view().job == JobStatus::Finished);
        prop_assert!(share >= 100 || !aborts.is_empty());
        let is_up = [JobStatus::Running, JobStatus::Finished].contains(&rig.view().job);
        prop_assert!(is_up, "{:?}", rig.view().job);
        prop_assert_eq!(rig.sums("sum"), expected_sums(&SOURCES, KEYS));
    }

    /// Breaks if something small gets a file, or something large none; the folder is asked.
    #[test]
    fn what_is_small_has_no_file(
        backend in backend(), incremental: bool, threshold in prop::sample::select(vec![0_u32, 100, 1_024, 20_480]),
    ) {
        let mut job = job(backend, incremental);
        job.config.storage = StorageKind::FileSystem { inline_threshold_bytes: threshold };
        let dir = tempfile::tempdir().unwrap();
        let storage = storage::open(&job.config, dir.path()).unwrap();
        let mut rig = Rig::with_storage(&job, storage);
        rig.run_until(|view| view.store.len() >= 3);
        for id in &rig.view().store {
            let metadata = rig.storage.read_metadata(*id).unwrap();
            let mut files = 0;
            for stream in metadata.streams() {
                let is_small = stream.size_bytes() <= u64::from(threshold);
                let is_inline = matches!(stream, StreamHandle::Inline(_));
                prop_assert_eq!(is_inline, is_small, "{} bytes", stream.size_bytes());
                files += usize::from(matches!(stream, StreamHandle::File { .. }));
            }
            let folder = fs::read_dir(dir.path().join(format!("chk-{id}"))).unwrap();
            prop_assert_eq!(folder.count(), files + 1);
        }
    }
}
