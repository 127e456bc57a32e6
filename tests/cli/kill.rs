//! The program is killed at any moment, with the signal that nobody can catch.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lockgate::engine::storage::{CheckpointStorage, FileSystemStorage, snapshots_in};

use super::{file, lockgate};

const KILLS: u32 = 50;
/// Enough checkpoints for all of it to last longer than any of the lives.
const JOB: &str = r#"(
    version: 2,
    operators: [
        (uid: "numbers", kind: SequenceSource(rate_per_s: 1000, end: 1000000), at: (0, 0)),
        (uid: "sum", kind: KeyedSum(key: Modulo(500, [])), parallelism: 2, max_parallelism: 8, at: (400, 0)),
        (uid: "out", kind: Sink, at: (800, 0)),
    ],
    edges: [("numbers", "sum", Hash), ("sum", "out", Rebalance)],
    settings: (
        backend: RocksDb,
        state: (incremental: true, compaction_trigger: 3),
        storage: FileSystem(inline_threshold_bytes: 0),
        checkpoint_dir: "kept",
        checkpointing: (interval_ms: 20, retained: 2, retention: RetainOnCancellation),
        costs: (process_us: 100, transfer_us: 100, snapshot_sync_us: 100, snapshot_async_us: 1000),
    ),
)"#;

fn start(job: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_lockgate"))
        .args(["run", job.to_str().unwrap()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Wait until `holds`, looking at the folder again and again.
fn until(child: &mut Child, holds: impl Fn() -> bool) {
    while !holds() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::yield_now();
    }
}

/// Breaks if metadata appears before what it refers to, or a file under its name before all of it is there; if shared
/// files are deleted before the checkpoint that needs them; or if anything that a killed run leaves keeps the next one
/// from starting.
#[test]
fn whatever_a_killed_run_leaves_is_whole_or_not_there() {
    let mut restored = 0;
    for round in 0..KILLS {
        let dir = tempfile::tempdir().unwrap();
        let job = file(dir.path(), "job.ron", JOB);
        let kept = dir.path().join("kept");
        let mut child = start(&job);
        until(&mut child, || !snapshots_in(&kept).is_empty());
        // Then at any moment of some tens of milliseconds: the rounds divide them.
        let more = Duration::from_micros(u64::from(round) * 1_700);
        let begun = Instant::now();
        until(&mut child, || begun.elapsed() >= more);
        child.kill().unwrap();
        child.wait().unwrap();
        let snapshots = snapshots_in(&kept);
        for snapshot in &snapshots {
            check_whole(snapshot);
        }
        restored += u32::from(restores(&job, snapshots.last()));
    }
    assert!(
        restored >= KILLS - 5,
        "a kill may come just between two: {restored}"
    );
}

fn check_whole(snapshot: &Path) {
    let (storage, metadata) = FileSystemStorage::open_snapshot(snapshot).unwrap();
    for stream in metadata.streams() {
        storage.read_stream(stream).unwrap();
    }
    assert!(fs::metadata(snapshot.join("_metadata")).unwrap().len() > 0);
}

/// Whether there was one to start from; if so, it must be possible.
fn restores(job: &Path, snapshot: Option<&PathBuf>) -> bool {
    let Some(snapshot) = snapshot else {
        return false;
    };
    let output = lockgate(&[
        "run",
        job.to_str().unwrap(),
        "--from",
        snapshot.to_str().unwrap(),
        "--until-ms",
        "50",
    ]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{error}");
    true
}
