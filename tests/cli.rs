//! The command line as a shell sees it: output, errors, exit codes.

#![allow(clippy::unwrap_used, reason = "a test may end where it stands")]

#[path = "cli/deletions.rs"]
mod deletions;
#[cfg(unix)]
#[path = "cli/disk_full.rs"]
mod disk_full;
#[path = "cli/fuzz.rs"]
mod fuzz;
#[path = "cli/kill.rs"]
mod kill;
#[path = "cli/savepoints.rs"]
mod savepoints;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use sha2::{Digest, Sha256};

fn lockgate(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lockgate"))
        .args(args)
        .output()
        .unwrap()
}

fn sample(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("samples")
        .join(name);
    path.to_str().unwrap().to_owned()
}

fn report(args: &[&str]) -> Value {
    let output = lockgate(&[args, &["--report", "json"]].concat());
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn file(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// Breaks if a job that waits for what will never come is reported as well: here the news that a savepoint is complete is
/// lost, and nobody repeats it.
#[test]
fn a_job_that_is_stuck_is_not_well() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = path.join("tests/fuzz/news-of-the-stop-that-was-lost.ron");
    let savepoints = tempfile::tempdir().unwrap();
    let folder = savepoints.path().to_str().unwrap();
    let output = lockgate(&["run", path.to_str().unwrap(), "--savepoint-dir", folder]);
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("nothing can happen any more"), "{text}");
}

#[test]
fn run_reports_odd_even_on_both_backends() {
    for backend in ["heap", "rocksdb"] {
        let report = report(&["run", &sample("odd-even.ron"), "--backend", backend]);
        assert_eq!(report["time"], "modelled");
        assert_eq!(report["backend"], backend);
        assert_eq!(report["status"], "finished");
        let first = &report["checkpoints"][0];
        assert_eq!(
            (&first["id"], &first["status"]),
            (&Value::from(1), &Value::from("completed"))
        );
        assert_eq!(first["sources"][0]["offset"], 5);
        let rows = |state: &Value| -> Vec<(String, String)> {
            let rows = state[0]["rows"].as_array().unwrap().iter();
            let text = |row: &Value, field: &str| row[field].as_str().unwrap().to_owned();
            rows.map(|row| (text(row, "key"), text(row, "value")))
                .collect()
        };
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(rows(&first["state"]), [pair("even", "6"), pair("odd", "9")]);
        assert_eq!(
            rows(&report["state"]),
            [pair("even", "30"), pair("odd", "25")]
        );
        let state = &report["ledger"]["state"];
        assert_eq!(
            (&state["zero"], &state["once"], &state["more"]),
            (&0.into(), &10.into(), &0.into())
        );
        assert_eq!(report["restarts"][0]["from"], 1);
        assert_eq!(report["never_fired"].as_array().unwrap().len(), 0);
    }
}

/// The hash can be checked with any other program.
#[test]
fn the_trace_hash_is_that_of_the_trace_file() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace.jsonl");
    let report = report(&[
        "run",
        &sample("two-sources.ron"),
        "--trace",
        trace.to_str().unwrap(),
    ]);
    let bytes = std::fs::read(&trace).unwrap();
    assert_eq!(
        report["trace_sha256"],
        format!("{:x}", Sha256::digest(&bytes))
    );
    let lines = bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let lines: Vec<Value> = lines
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(report["events"], lines.len());
}

#[test]
fn the_seed_decides_and_repeats() {
    let hash = |seed: &str| {
        report(&["run", &sample("two-sources.ron"), "--seed", seed])["trace_sha256"].clone()
    };
    assert_eq!(hash("5"), hash("5"));
    assert_ne!(
        hash("5"),
        hash("6"),
        "a job with ties must depend on the seed"
    );
}

#[test]
fn until_stops_the_clock() {
    let report = report(&["run", &sample("two-sources.ron"), "--until-ms", "700"]);
    assert_eq!(report["status"], "running");
    assert_eq!(report["ended_us"], 700_000);
}

#[test]
fn a_live_run_measures_and_comes_to_the_same_sums() {
    let report = report(&["run", &sample("odd-even.ron"), "--live"]);
    assert_eq!(report["time"], "measured");
    assert_eq!(
        report["ledger"],
        Value::Null,
        "a live run does not trace records"
    );
    let rows = report["state"][0]["rows"].as_array().unwrap();
    let value = |key: &str| rows.iter().find(|row| row["key"] == key).unwrap()["value"].clone();
    assert_eq!((value("even"), value("odd")), ("30".into(), "25".into()));
}

#[test]
fn check_is_silent_about_good_files() {
    for name in ["odd-even.ron", "two-sources.ron", "weather.ron"] {
        let output = lockgate(&["check", &sample(name)]);
        assert_eq!(output.status.code(), Some(0));
        assert_eq!((output.stdout.len(), output.stderr.len()), (0, 0));
    }
}

#[test]
fn check_and_run_say_where_a_bad_file_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let bad = file(
        dir.path(),
        "bad.ron",
        "(\n  version: 1,\n  operators: [\n    oops\n",
    );
    for verb in ["check", "run"] {
        let output = lockgate(&[verb, bad.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(output.stdout.len(), 0);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains("bad.ron:4:"), "{error}");
    }
    let output = lockgate(&["check", dir.path().join("absent.ron").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn wrong_usage_has_its_own_code() {
    for args in [&["run"][..], &["run", "a.ron", "--seed", "x"], &["--frob"]] {
        let output = lockgate(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(
            String::from_utf8(output.stderr)
                .unwrap()
                .contains("lockgate --help")
        );
    }
    assert_eq!(lockgate(&["--help"]).status.code(), Some(0));
    assert_eq!(lockgate(&["--version"]).status.code(), Some(0));
}

const CRASH: &str = r#"(
    version: 1,
    operators: [
        (uid: "n", kind: SequenceSource(rate_per_s: 10, end: END), at: (0, 0)),
        (uid: "s", kind: KeyedSum(key: Modulo(2, [])), at: (300, 0)),
        (uid: "o", kind: Sink, at: (600, 0)),
    ],
    edges: [("n", "s", Hash), ("s", "o", Forward)],
    script: [(Processed("s", 0, 3), Crash("s", 0))],
)"#;

#[test]
fn a_job_that_stays_down_has_its_own_code() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "crash.ron", &CRASH.replace("END", "8"));
    let output = lockgate(&["run", path.to_str().unwrap()]);
    assert_eq!(
        output.status.code(),
        Some(3),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("down after 0.300 s (modelled): s 1/1 crashed."),
        "{text}"
    );
}

/// Breaks if ties among script entries are left to the seed.
#[test]
fn script_entries_of_one_moment_fire_in_the_order_of_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let at_once = "(AtMs(500), Crash(\"s\", 0)), (AtMs(500), Restore)";
    let text = CRASH.replace("(Processed(\"s\", 0, 3), Crash(\"s\", 0))", at_once);
    let path = file(dir.path(), "tie.ron", &text.replace("END", "8"));
    for seed in 1..=6 {
        let report = report(&["run", path.to_str().unwrap(), "--seed", &seed.to_string()]);
        assert_eq!(report["status"], "finished", "seed {seed}");
    }
}

#[test]
fn a_run_ends_when_its_last_event_does() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace.jsonl");
    let report = report(&[
        "run",
        &sample("odd-even.ron"),
        "--trace",
        trace.to_str().unwrap(),
    ]);
    let text = std::fs::read_to_string(&trace).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(report["ended_us"], last["at_us"]);
}

#[test]
fn a_trace_does_not_take_the_place_of_the_job() {
    let dir = tempfile::tempdir().unwrap();
    let text = CRASH.replace("END", "8");
    let path = file(dir.path(), "job.ron", &text);
    let path = path.to_str().unwrap();
    let output = lockgate(&["run", path, "--trace", path]);
    assert_eq!(output.status.code(), Some(4));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("would overwrite")
    );
    assert_eq!(std::fs::read_to_string(path).unwrap(), text);
}

#[test]
fn state_that_a_crash_has_taken_is_called_lost() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "crash.ron", &CRASH.replace("END", "8"));
    let text = String::from_utf8(lockgate(&["run", path.to_str().unwrap()]).stdout).unwrap();
    assert!(text.contains("state of s, lost since: "), "{text}");
}

#[test]
fn a_job_that_would_never_end_is_not_begun() {
    let dir = tempfile::tempdir().unwrap();
    let endless = CRASH.replace(", end: END", "");
    let path = file(dir.path(), "endless.ron", &endless);
    for driver in [&[][..], &["--live"]] {
        let output = lockgate(&[&["run", path.to_str().unwrap()], driver].concat());
        assert_eq!(output.status.code(), Some(4));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains("--until-ms"), "{error}");
    }
}

/// Breaks if working state is left behind: by a run that ends, or for good by one that is killed.
#[test]
fn temporary_folders_go_away() {
    let dir = tempfile::tempdir().unwrap();
    let count = || std::fs::read_dir(dir.path()).unwrap().count();
    let endless = file(
        dir.path(),
        "endless.ron",
        &CRASH
            .replace("end: END", "end: 100000000")
            .replace("Crash(\"s\", 0)", "Checkpoint"),
    );
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockgate"));
        command
            .args(args)
            .env("TMPDIR", dir.path())
            .stdout(std::process::Stdio::null());
        command
    };
    let mut child = run(&["run", endless.to_str().unwrap(), "--backend", "rocksdb"])
        .spawn()
        .unwrap();
    let works = || {
        let entries = std::fs::read_dir(dir.path()).unwrap();
        let mut folders = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir());
        folders.any(|folder| std::fs::read_dir(folder).is_ok_and(|inside| inside.count() > 2))
    };
    while !works() {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended too early to be killed"
        );
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        count(),
        2,
        "the job file, and what a killed process cannot clean up"
    );
    assert!(
        run(&["run", &sample("odd-even.ron"), "--backend", "rocksdb"])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(
        count(),
        1,
        "the next run has swept it, and left nothing itself"
    );
}

/// Numbers, a sum, a sink; `source` and `rest` are RON.
fn numbers(source: &str, rest: &str) -> String {
    format!(
        "(version: 1, name: \"n\", operators: [(uid: \"numbers\", kind: SequenceSource({source}), at: (0, 0)), \
         (uid: \"sum\", kind: KeyedSum(key: Modulo(2, [])), at: (200, 0)), (uid: \"out\", kind: Sink, at: (400, 0))], \
         edges: [(\"numbers\", \"sum\", Hash), (\"sum\", \"out\", Rebalance)], {rest})"
    )
}

/// Breaks if a run that is cut off looks like one that went well.
#[test]
fn a_run_too_long_to_record_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let costs = "settings: (costs: (transfer_us: 0, process_us: 0))";
    let long = numbers("rate_per_s: 1000000, end: 400000", costs);
    let output = lockgate(&["run", file(dir.path(), "long.ron", &long).to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(4));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("The recording is full"), "{told}");
}

/// Breaks if the report calls a script a person.
#[test]
fn a_restore_is_reported_as_whose_wish_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let script = "script: [(AtMs(900), Checkpoint), (AtMs(2000), Restore)]";
    let job = numbers("rate_per_s: 4, end: 10", script);
    let report = report(&["run", file(dir.path(), "job.ron", &job).to_str().unwrap()]);
    assert_eq!(report["restarts"][0]["cause"], "The script asked for it.");
    assert_eq!(report["restarts"][0]["from"], 1);
}

/// The error of a command line that is wrong.
fn bad_usage(args: &[&str]) -> String {
    let output = lockgate(args);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    assert_eq!(output.stdout.len(), 0);
    error
}

/// Breaks if a setting of the command line is lost, or comes too late to count.
#[test]
fn settings_of_the_command_line_are_those_of_the_run() {
    let job = sample("odd-even.ron");
    let plain = report(&["run", &job]);
    let set = report(&[
        "run",
        &job,
        "--set",
        "operators.sum.parallelism=1",
        "--set",
        "state.backend.type=rocksdb",
        "--set",
        "storage=filesystem",
        "--set",
        "costs.process_us=50000",
    ]);
    assert_eq!(
        (&set["backend"], &set["storage"]),
        (&"rocksdb".into(), &"file system".into())
    );
    let subtasks = |report: &Value| -> Vec<Value> {
        let rows = report["state"][0]["rows"].as_array().unwrap().iter();
        rows.map(|row| row["subtask"].clone()).collect()
    };
    assert_eq!(
        subtasks(&plain),
        [1, 0],
        "even on subtask 1, odd on subtask 0"
    );
    assert_eq!(subtasks(&set), [0, 0]);
}

#[test]
fn a_setting_that_is_none_is_told_with_what_is_meant() {
    let job = sample("odd-even.ron");
    let set = |text: &str| bad_usage(&["run", &job, "--set", text]);
    assert!(set("checkpointing.mod=x").contains("Did you mean checkpointing.mode?"));
    assert!(set("checkpointing.mode=x").contains("exactly-once, at-least-once or stop-the-world"));
    assert!(set("checkpointing.mode").contains("PATH=VALUE"));
    // Possible, but not in this job.
    assert!(set("checkpointing.aligned_timeout_ms=5").contains("unaligned is off"));
    assert!(set("checkpointing.interval_ms=5").contains("set it to 10 to"));
    assert!(set("operators.sum.parallelism=7").contains("The max parallelism of"));
}

#[test]
fn what_the_file_lacks_may_come_from_the_command_line() {
    let dir = tempfile::tempdir().unwrap();
    let script = "script: [(AtMs(900), Inject(SyncPart, \"sum\", 3)), (AtMs(1000), Checkpoint)]";
    let job = numbers("rate_per_s: 4, end: 10", script).replace("version: 1", "version: 2");
    let path = file(dir.path(), "job.ron", &job);
    let path = path.to_str().unwrap();
    let output = lockgate(&["run", path]);
    assert_eq!(output.status.code(), Some(1), "no subtask 3");
    assert_eq!(
        lockgate(&["run", path, "--set", "operators.sum.parallelism=2"])
            .status
            .code(),
        Some(1)
    );
    let wide = lockgate(&[
        "run",
        path,
        "--until-ms",
        "100",
        "--set",
        "operators.sum.parallelism=4",
    ]);
    assert_eq!(
        wide.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&wide.stderr)
    );
}

#[test]
fn all_settings_are_listed() {
    let output = lockgate(&["settings"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "checkpointing.aligned_timeout_ms",
        "Flink: execution.checkpointing.aligned-checkpoint-timeout",
        "operators.UID.parallelism",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

/// Breaks if an acknowledgement that comes when its checkpoint has expired is seen in the trace alone.
#[test]
fn late_acknowledgements_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let slow = "settings: (checkpointing: (timeout_ms: 500, tolerable_failed: 9), \
                costs: (rpc_us: 150000, snapshot_async_us: 150000)), script: [(AtMs(500), Checkpoint)]";
    let job = numbers("rate_per_s: 20, end: 60", slow).replace("version: 1", "version: 2");
    let job = file(dir.path(), "late.ron", &job);
    let output = lockgate(&["run", job.to_str().unwrap(), "--until-ms", "2000"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("checkpoint 1: "));
    let line = line.unwrap_or_else(|| panic!("{text}"));
    assert!(
        line.contains("CHECKPOINT_EXPIRED") && line.contains("came too late"),
        "{line}"
    );
}

/// Breaks if a savepoint that somebody relies on can be missing without a word, or with exit code 0.
#[test]
fn a_savepoint_that_was_not_taken_is_told_with_its_cause() {
    let dir = tempfile::tempdir().unwrap();
    let blocked = file(dir.path(), "no-folder", "a file");
    let job = sample("rescale.ron");
    let told = |args: &[&str]| {
        let output = lockgate(args);
        assert_eq!(output.status.code(), Some(3));
        String::from_utf8(output.stdout).unwrap()
    };
    let blocked = blocked.to_str().unwrap();
    for live in [&[][..], &["--live"]] {
        let text = told(&[&["run", &job, "--savepoint-dir", blocked], live].concat());
        let line = text
            .lines()
            .find(|line| line.starts_with("savepoint (stop) not taken"));
        let line = line.unwrap_or_else(|| panic!("{text}"));
        assert!(
            line.contains("IO_EXCEPTION") && line.contains(blocked),
            "{line}"
        );
        assert!(line.ends_with("Choose another savepoint folder."), "{line}");
    }
    let script = "settings: (savepoint_dir: \"saves\"), script: [(AtMs(1000), Crash(\"sum\", 0)), \
                  (AtMs(1100), Savepoint()), (AtMs(1200), Checkpoint), (AtMs(1300), Restore)]";
    let job = numbers("rate_per_s: 20, end: 60", script).replace("version: 1", "version: 2");
    let job = file(dir.path(), "down.ron", &job);
    let text = told(&["run", job.to_str().unwrap()]);
    for kind in ["savepoint", "checkpoint"] {
        let line = format!(
            "{kind} not taken at 1.{}00 s: NOT_ALL",
            if kind == "savepoint" { 1 } else { 2 }
        );
        assert!(text.contains(&line), "{line} is not in {text}");
    }
    assert!(text.contains("Ask for it while all of them run."), "{text}");
}

/// Breaks if a checkpoint is told to be aborted, and not what the storage has said of it.
#[test]
fn an_aborted_checkpoint_says_why_it_could_not_be_written() {
    for live in [&[][..], &["--live"]] {
        let run = |report: &str| {
            let path = sample("memory-over-its-limit.ron");
            let arguments = [&["run", &path, "--report", report][..], live].concat();
            lockgate(&arguments).stdout
        };
        let told: Value = serde_json::from_slice(&run("json")).unwrap();
        let mut failures = 0;
        for checkpoint in told["checkpoints"].as_array().unwrap() {
            if checkpoint["reason"] == "CHECKPOINT_ASYNC_EXCEPTION" {
                let failure = checkpoint["failure"].as_str().unwrap();
                assert!(failure.contains("takes at most 1120"), "{failure}");
                failures += 1;
            } else {
                assert!(checkpoint["failure"].is_null(), "{checkpoint}");
            }
        }
        assert!(failures >= 3, "{told}");
        let text = String::from_utf8(run("text")).unwrap();
        let lines = text.lines();
        let lines = lines.filter(|line| line.starts_with("  could not be written: the state"));
        assert!(lines.count() >= 3, "{text}");
    }
}
