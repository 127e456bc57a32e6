//! A script that deletes what a storage holds, as the command line reports it.

use super::{file, lockgate, report};

/// With two checkpoints, of which the script goes back to the newer one that can be read.
fn job(deletions: &str) -> String {
    format!(
        r#"(
    version: 2,
    operators: [
        (uid: "numbers", kind: SequenceSource(rate_per_s: 100, end: 100), at: (0, 0)),
        (uid: "sum", kind: KeyedSum(key: Modulo(3, [])), at: (400, 0)),
        (uid: "out", kind: Sink, at: (800, 0)),
    ],
    edges: [("numbers", "sum", Hash), ("sum", "out", Rebalance)],
    settings: (
        storage: FileSystem(inline_threshold_bytes: 0),
        checkpointing: (retained: 2),
        costs: (process_us: 100, transfer_us: 100, snapshot_sync_us: 100, snapshot_async_us: 1000),
    ),
    script: [
        (AtMs(200), Checkpoint),
        (AtMs(400), Checkpoint),
        {deletions}
        (AtMs(700), Restore),
    ],
)"#
    )
}

/// Breaks if a restore that has found an older checkpoint counts as refused, or does not say where it went.
#[test]
fn a_restore_that_falls_back_was_obeyed() {
    let dir = tempfile::tempdir().unwrap();
    let text = job(r#"(AtMs(600), DeleteStored("chk-2/_metadata")),"#);
    let path = file(dir.path(), "job.ron", &text);
    let told = report(&["run", path.to_str().unwrap()]);
    assert_eq!(told["status"], "finished");
    assert_eq!(told["refused"].as_array().unwrap().len(), 0);
    assert_eq!(told["restarts"][0]["from"], 1, "{}", told["restarts"]);
    let unreadable = told["restarts"][0]["unreadable"].as_array().unwrap();
    assert_eq!(unreadable.len(), 1);
    let why = unreadable[0].as_str().unwrap();
    assert!(why.contains("Checkpoint 2 cannot be restored"), "{why}");
    assert!(why.contains("Checkpoint 1 is tried instead"), "{why}");

    let output = lockgate(&["run", path.to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines();
    assert!(lines.any(|line| line.starts_with("restored from checkpoint 1")));
    assert_eq!(lines.next(), Some(&*format!("  {why}")), "{text}");
}

/// The same with real threads, on a clock that leaves a slow machine its time.
#[test]
fn a_live_restore_tells_what_it_could_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut text = job(r#"(AtMs(2400), DeleteStored("chk-2/_metadata")),"#);
    for (quick, slow) in [
        ("rate_per_s: 100", "rate_per_s: 25"),
        ("AtMs(200)", "AtMs(300)"),
        ("AtMs(400)", "AtMs(1300)"),
        ("AtMs(700)", "AtMs(2800)"),
    ] {
        text = text.replace(quick, slow);
    }
    let path = file(dir.path(), "job.ron", &text);
    let told = report(&["run", path.to_str().unwrap(), "--live"]);
    let restart = &told["restarts"][0];
    assert_eq!(restart["from"], 1, "{restart}");
    let unreadable = restart["unreadable"].as_array().unwrap();
    assert_eq!(unreadable.len(), 1, "{restart}");
    let why = unreadable[0].as_str().unwrap();
    assert!(why.contains("Checkpoint 2 cannot be restored"), "{why}");
}

/// Breaks if the exit code is that of a run in which all was well.
#[test]
fn what_could_not_be_deleted_or_restored_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let text = job(
        r#"(AtMs(600), DeleteStored("chk-1")), (AtMs(601), DeleteStored("chk-2")), (AtMs(602), DeleteStored("chk-3")),"#,
    );
    let path = file(dir.path(), "job.ron", &text);
    let output = lockgate(&["run", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3));
    let told = String::from_utf8(output.stdout).unwrap();
    let refused: Vec<&str> = told
        .lines()
        .filter(|line| line.contains("refused"))
        .collect();
    assert_eq!(refused.len(), 3, "{told}");
    assert!(
        refused[0].contains("script entry 5 (delete): “chk-3” cannot be deleted"),
        "{told}"
    );
    assert!(
        refused[1].contains("script entry 6 (restore): Checkpoint 2 cannot be restored"),
        "{told}"
    );
    assert!(
        refused[2].contains("None of the retained checkpoints can be restored"),
        "{told}"
    );
}
