//! A disk that takes no more, really: the operating system cuts off each file beyond a size, in the middle of a write.
//!
//! On Unix only, since elsewhere a process cannot be told so without privileges.

use std::fs;
use std::path::Path;
use std::process::Command;

use lockgate::engine::storage::{CheckpointStorage, FileSystemStorage, snapshots_in};
use serde_json::Value;

use super::{file, report};

/// The state grows, and with it each checkpoint.
const JOB: &str = r#"(
    version: 2,
    operators: [
        (uid: "numbers", kind: SequenceSource(rate_per_s: 1000, end: 3000), at: (0, 0)),
        (uid: "sum", kind: KeyedSum(key: Modulo(3000, [])), parallelism: 2, max_parallelism: 8, at: (400, 0)),
        (uid: "out", kind: Sink, at: (800, 0)),
    ],
    edges: [("numbers", "sum", Hash), ("sum", "out", Rebalance)],
    settings: (
        storage: FileSystem(inline_threshold_bytes: 0),
        checkpoint_dir: "kept",
        checkpointing: (interval_ms: 200, retained: 2, retention: RetainOnCancellation, tolerable_failed: 100),
        costs: (process_us: 100, transfer_us: 100, snapshot_sync_us: 100, snapshot_async_us: 1000),
    ),
    script: [(AtMs(2900), Stop)],
)"#;

/// Run it where no file may be larger than some kilobytes (the unit is 512 or 1024 bytes). A write that would be stops
/// there, and fails.
fn run_with_small_files(job: &Path) -> Value {
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 12; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_lockgate"))
        .args(["run", job.to_str().unwrap(), "--report", "json"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{told}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Breaks if half a file is left, or counts; if the job fails for it; or if what was complete before is lost.
#[test]
fn a_write_that_is_cut_off_in_the_middle_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let job = file(dir.path(), "job.ron", JOB);
    let told = run_with_small_files(&job);
    let checkpoints = told["checkpoints"].as_array().unwrap();
    let count = |wanted: &str| {
        let found = checkpoints.iter().filter(|it| it["status"] == wanted);
        found.count()
    };
    assert!(count("completed") >= 2, "{checkpoints:?}");
    assert!(count("aborted") >= 2, "{checkpoints:?}");
    for checkpoint in checkpoints {
        let failure = checkpoint["failure"].as_str();
        assert_eq!(failure.is_some(), checkpoint["status"] == "aborted");
        assert!(
            failure.is_none_or(|it| it.contains("File too large")),
            "{failure:?}"
        );
    }
    assert_eq!(told["status"], "canceled");

    let snapshots = snapshots_in(&dir.path().join("kept"));
    assert_eq!(snapshots.len(), 2, "as many as are retained");
    for snapshot in &snapshots {
        let (storage, metadata) = FileSystemStorage::open_snapshot(snapshot).unwrap();
        storage.verify(metadata.checkpoint).unwrap();
    }
    let root = snapshots[0].parent().unwrap();
    let all = FileSystemStorage::create(root, 0)
        .unwrap()
        .stored_files()
        .unwrap();
    let names = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    let folders = names.iter().filter(|name| name.starts_with("chk-"));
    assert_eq!(folders.count(), 2, "{names:?}");
    assert!(
        names.iter().all(|name| !name.contains("discarded")),
        "{names:?}"
    );
    assert!(all.iter().all(|it| !it.path.contains("/.part-")), "{all:?}");

    // Where there is room, it goes on from there.
    let endless = JOB.replace("script: [(AtMs(2900), Stop)],", "");
    let job = file(dir.path(), "again.ron", &endless);
    let from = snapshots[1].to_str().unwrap();
    let told = report(&["run", job.to_str().unwrap(), "--from", from]);
    assert_eq!(told["status"], "finished");
}
