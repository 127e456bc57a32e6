//! Savepoints and retained checkpoints by command line: taken, looked into, started from, refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{file, lockgate, numbers, report, sample};

/// The savepoints in `dir`.
fn savepoints(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_savepoint = |path: &PathBuf| path.join("_metadata").is_file();
    let mut found: Vec<PathBuf> = entries.filter(is_savepoint).collect();
    found.sort();
    found
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Keys and sums, in the order of the report.
fn sums(report: &Value) -> Vec<(String, String)> {
    let rows = report["state"][0]["rows"].as_array().unwrap().iter();
    let text = |row: &Value, field: &str| row[field].as_str().unwrap().to_owned();
    rows.map(|row| (text(row, "key"), text(row, "value")))
        .collect()
}

/// Run a sample up to its savepoint; the folder of that.
fn savepoint_of(sample_name: &str, dir: &Path) -> PathBuf {
    let stopped = report(&["run", &sample(sample_name), "--savepoint-dir", text(dir)]);
    assert_eq!(stopped["status"], "finished", "it stops with the savepoint");
    let found = savepoints(dir);
    assert_eq!(found.len(), 1);
    found.into_iter().next().unwrap()
}

/// What is said about a start that is refused.
fn refusal(args: &[&str]) -> String {
    let output = lockgate(args);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{error}");
    assert_eq!(output.stdout.len(), 0);
    error
}

/// The sample `rescale`: from 2 to 3 subtasks, from heap to RocksDB, as if nothing had been in between. Breaks if a key
/// group is lost on its way, an offset is off, or the format depends on the backend.
#[test]
fn a_job_goes_on_from_its_savepoint_with_other_parallelism_and_backend() {
    let dir = tempfile::tempdir().unwrap();
    let savepoint = savepoint_of("rescale.ron", dir.path());
    let job = sample("rescale.ron");
    let resumed = report(&[
        "run",
        &job,
        "--savepoint-dir",
        text(dir.path()),
        "--from",
        text(&savepoint),
        "--set",
        "operators.sum.parallelism=3",
        "--set",
        "backend=rocksdb",
    ]);
    assert_eq!(resumed["backend"], "rocksdb");
    assert_eq!(resumed["status"], "finished");
    // The numbers of each remainder up to 42: 7 + 14 + … + 42 = 147, 1 + 8 + … + 36 = 111, and 6 more each.
    let expected = ["147", "111", "117", "123", "129", "135", "141"];
    let expected: Vec<(String, String)> = (0..)
        .zip(expected)
        .map(|(key, sum)| (key.to_string(), sum.to_owned()))
        .collect();
    assert_eq!(sums(&resumed), expected);
    let rows = resumed["state"][0]["rows"].as_array().unwrap().iter();
    let subtasks: std::collections::BTreeSet<u64> =
        rows.map(|row| row["subtask"].as_u64().unwrap()).collect();
    assert!(
        subtasks.contains(&2),
        "the third subtask has keys: {subtasks:?}"
    );
    assert_eq!(
        resumed["checkpoints"][0]["id"], 2,
        "ids go on after the savepoint's"
    );
    assert_eq!(
        savepoints(dir.path()),
        [savepoint],
        "it stays, and there is no other"
    );
}

/// The sample `operator-without-uid`. Breaks if state is matched by something else than the operator's id.
#[test]
fn without_a_uid_a_changed_graph_loses_the_state() {
    let dir = tempfile::tempdir().unwrap();
    let savepoint = savepoint_of("operator-without-uid.ron", dir.path());
    let job = sample("operator-without-uid.ron");
    let start = [
        "--savepoint-dir",
        text(dir.path()),
        "--from",
        text(&savepoint),
    ];
    let pair = |even: &str, odd: &str| {
        vec![
            ("even".to_owned(), even.to_owned()),
            ("odd".to_owned(), odd.to_owned()),
        ]
    };
    let same = report(&[&["run", &job][..], &start].concat());
    assert_eq!(
        sums(&same),
        pair("420", "400"),
        "the same graph finds its state"
    );

    let with_uid = [
        &["run", &job][..],
        &start,
        &["--set", "operators.sum.generated_uid=false"],
    ]
    .concat();
    let told = refusal(&with_uid);
    assert!(told.contains("holds state of operator sum"), "{told}");
    assert!(told.contains("allow non-restored state"), "{told}");

    // A map before the sum, which changes nothing but the graph.
    let with_map = fs::read_to_string(&job)
        .unwrap()
        .replace("edges: [", "edges: [(\"same\", \"sum\", Hash),")
        .replace(
            "(\"numbers\", \"sum\", Hash)",
            "(\"numbers\", \"same\", Rebalance)",
        )
        .replace(
            "operators: [",
            "operators: [(uid: \"same\", kind: Map(), at: (400, 400)),",
        );
    let changed = file(dir.path(), "changed.ron", &with_map);
    let told = refusal(&[&["run", text(&changed)][..], &start].concat());
    assert!(
        told.contains("Its id was generated from the graph"),
        "{told}"
    );

    let allowed = [&with_uid[..], &["--allow-non-restored-state"]].concat();
    // 32 + 34 + 36 + 38 + 40 and 31 + 33 + 35 + 37 + 39: only what came after the savepoint.
    assert_eq!(sums(&report(&allowed)), pair("180", "175"));
}

#[test]
fn what_is_no_savepoint_is_refused_in_a_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let savepoint = savepoint_of("rescale.ron", dir.path());
    let job = sample("rescale.ron");
    let from = |path: &Path| {
        refusal(&[
            "run",
            &job,
            "--savepoint-dir",
            text(dir.path()),
            "--from",
            text(path),
        ])
    };
    assert!(from(&dir.path().join("nowhere")).contains("there is no such folder"));
    assert!(!cfg!(unix) || from(Path::new("/dev/null")).contains("it is no folder"));
    let listed = lockgate(&["savepoints", text(&savepoint.join("_metadata"))]);
    assert_eq!(listed.status.code(), Some(1));
    let told = String::from_utf8(listed.stderr).unwrap();
    assert!(told.contains("_metadata is no folder"), "{told}");
    let told = from(dir.path());
    assert!(told.contains("it only contains some"), "{told}");
    assert!(told.contains(text(&savepoint)), "it names one: {told}");
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(from(&empty).contains("no _metadata file"));
    fs::write(empty.join("_metadata"), "something else, but long enough").unwrap();
    assert!(from(&empty).contains("does not begin as the metadata"));

    let whole = fs::read(savepoint.join("_metadata")).unwrap();
    for length in [0, 7, 40, whole.len() - 1] {
        fs::write(savepoint.join("_metadata"), &whole[..length]).unwrap();
        let told = from(&savepoint);
        assert!(told.contains("is torn"), "{length}: {told}");
    }
    let mut altered = whole.clone();
    let middle = altered.len() / 2;
    altered[middle] ^= 1;
    fs::write(savepoint.join("_metadata"), &altered).unwrap();
    assert!(from(&savepoint).contains("was altered"));
    fs::write(savepoint.join("_metadata"), &whole).unwrap();
    assert!(
        lockgate(&["run", &job, "--from", text(&savepoint)])
            .status
            .success(),
        "whole again"
    );
}

/// Breaks if a job begins with state that it has no operator for, or silently without the state that it was given.
#[test]
fn a_savepoint_of_another_job_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let savepoint = savepoint_of("rescale.ron", dir.path());
    let told = refusal(&["run", &sample("weather.ron"), "--from", text(&savepoint)]);
    assert!(told.contains("holds state of operator"), "{told}");
    // The uids are the same here, but max parallelism is not.
    let told = refusal(&["run", &sample("odd-even.ron"), "--from", text(&savepoint)]);
    assert!(told.contains("max parallelism 128"), "{told}");
}

/// Flink: `StateMigrationException`. Breaks if sums by number go on in a job that sums by word, or a file is read from
/// beyond its end.
#[test]
fn state_of_another_kind_of_key_and_offsets_of_another_file_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let savepoint = savepoint_of("rescale.ron", dir.path());
    fs::write(dir.path().join("few.csv"), "word,number\na,1\nb,2\n").unwrap();
    let csv = "(version: 2, name: \"words\", operators: [\
        (uid: \"SOURCE\", kind: CsvSource(path: \"few.csv\", key_column: \"word\", value_column: \"number\", \
            rate_per_s: 10), at: (0, 0)), \
        (uid: \"sum\", kind: KeyedSum(key: Column), at: (200, 0)), (uid: \"out\", kind: Sink, at: (400, 0))], \
        edges: [(\"SOURCE\", \"sum\", Hash), (\"sum\", \"out\", Rebalance)])";
    for backend in ["heap", "rocksdb"] {
        let words = file(dir.path(), "words.ron", &csv.replace("SOURCE", "words"));
        let told = refusal(&[
            "run",
            text(&words),
            "--from",
            text(&savepoint),
            "--allow-non-restored-state",
            "--set",
            &format!("backend={backend}"),
        ]);
        assert!(
            told.contains("whole numbers") && told.contains("texts"),
            "{told}"
        );
        assert!(told.contains("StateMigrationException"), "{told}");
    }
    let words = csv
        .replace("SOURCE", "numbers")
        .replace("\"sum\"", "\"words\"");
    let words = file(dir.path(), "few.ron", &words);
    let told = refusal(&[
        "run",
        text(&words),
        "--from",
        text(&savepoint),
        "--allow-non-restored-state",
    ]);
    assert!(
        told.contains("has read 24 records") && told.contains("there are 2"),
        "{told}"
    );
}

/// Breaks if a run deletes a snapshot that is not its own, or keeps one that it has claimed and subsumed.
#[test]
fn a_claimed_savepoint_goes_when_it_is_subsumed() {
    let dir = tempfile::tempdir().unwrap();
    let script = "script: [(AtMs(900), StopWithSavepoint())], settings: (savepoint_dir: \"saves\")";
    let job = numbers("rate_per_s: 10, end: 30", script).replace("version: 1", "version: 2");
    let first = file(dir.path(), "first.ron", &job);
    let second = job.replace("StopWithSavepoint()", "Checkpoint");
    let second = file(dir.path(), "second.ron", &second);
    assert_eq!(report(&["run", text(&first)])["status"], "finished");
    let saves = dir.path().join("saves");
    let savepoint = &savepoints(&saves)[0];
    let run = |more: &[&str]| {
        let args = ["run", text(&second), "--from", text(savepoint)];
        report(&[&args[..], more].concat())
    };
    let whole = sums(&run(&[]));
    assert_eq!(
        whole,
        [
            ("0".to_owned(), "240".to_owned()),
            ("1".to_owned(), "225".to_owned())
        ]
    );
    assert!(savepoint.is_dir(), "not claimed");
    assert_eq!(sums(&run(&["--claim"])), whole);
    assert!(
        !savepoint.exists(),
        "claimed, and subsumed by the checkpoints of the run"
    );
}

/// Breaks if a claimed snapshot takes its folder with it, whatever else lies there.
#[test]
fn claiming_a_savepoint_leaves_what_is_not_part_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let savepoint = savepoint_of("rescale.ron", dir.path());
    fs::create_dir(savepoint.join("docs")).unwrap();
    fs::write(savepoint.join("docs").join("thesis.txt"), "years").unwrap();
    fs::write(savepoint.join("state-of-the-art"), "mine").unwrap();
    let metadata = savepoint.join("_metadata");
    let claimed = report(&[
        "run",
        &sample("rescale.ron"),
        "--savepoint-dir",
        text(dir.path()),
        "--from",
        text(&metadata),
        "--claim",
    ]);
    assert_eq!(claimed["status"], "finished");
    assert!(!metadata.exists(), "claimed, and gone");
    let thesis = fs::read_to_string(savepoint.join("docs").join("thesis.txt"));
    assert_eq!(thesis.unwrap(), "years");
    let mut left: Vec<_> = fs::read_dir(&savepoint)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["docs", "state-of-the-art"]);
}

/// Flink's `RETAIN_ON_CANCELLATION`. Breaks if a checkpoint folder is left where none is retained, or none where one is.
#[test]
fn a_retained_checkpoint_outlives_its_job_and_is_started_from() {
    let dir = tempfile::tempdir().unwrap();
    let script = "script: [(AtMs(900), Checkpoint), (AtMs(1500), Stop)]";
    let job = numbers("rate_per_s: 10, end: 30", script).replace("version: 1", "version: 2");
    let job = file(dir.path(), "job.ron", &job);
    let kept = dir.path().join("kept");
    let run = |retention: &str| {
        let set = format!("checkpointing.retention={retention}");
        report(&[
            "run",
            text(&job),
            "--checkpoint-dir",
            text(&kept),
            "--set",
            &set,
        ])
    };
    assert_eq!(run("no-externalized")["status"], "canceled");
    assert_eq!(
        fs::read_dir(&kept).unwrap().count(),
        0,
        "nothing is retained"
    );
    run("retain-on-cancellation");
    let jobs: Vec<_> = fs::read_dir(&kept).unwrap().collect();
    assert_eq!(jobs.len(), 1);
    let checkpoint = jobs[0].as_ref().unwrap().path().join("chk-1");
    assert!(checkpoint.join("_metadata").is_file());
    let rest = [
        "run",
        text(&job),
        "--from",
        text(&checkpoint),
        "--until-ms",
        "1000",
    ];
    let resumed = report(&rest);
    assert_eq!(resumed["checkpoints"][0]["id"], 2);
    let other = lockgate(&[&rest[..], &["--backend", "rocksdb"]].concat());
    assert_eq!(
        other.status.code(),
        Some(4),
        "a checkpoint is its backend's own"
    );
    assert!(String::from_utf8_lossy(&other.stderr).contains("was written by the heap backend"));
}

/// Breaks if a checkpoint that is named as seen from where one stands has no siblings: then the files that it shares with
/// them go when it is claimed.
#[test]
fn a_checkpoint_claimed_by_a_relative_path_leaves_its_siblings_whole() {
    let job = fs::read_to_string(sample("incremental.ron")).unwrap();
    let script = job.find("script: [").unwrap();
    let job = format!("{}script: [(AtMs(1800), Stop)])", &job[..script]);
    for (inside, from) in [(false, "chk-3"), (true, "."), (true, "_metadata")] {
        let dir = tempfile::tempdir().unwrap();
        let job = file(dir.path(), "job.ron", &job);
        let kept = dir.path().join("kept");
        let checkpoints = ["--checkpoint-dir", text(&kept)];
        let retain = "checkpointing.retention=retain-on-cancellation";
        report(&[&["run", text(&job), "--set", retain], &checkpoints[..]].concat());
        let kept = fs::read_dir(&kept).unwrap().next().unwrap().unwrap().path();
        let [sibling, claimed] = ["chk-2", "chk-3"].map(|name| kept.join(name));
        let output = Command::new(env!("CARGO_BIN_EXE_lockgate"))
            .current_dir(if inside { &claimed } else { &kept })
            .args(["run", text(&job), "--from", from, "--claim"])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{told}");
        assert!(!claimed.join("_metadata").exists(), "claimed, and subsumed");
        printed(&["inspect", text(&sibling)]);
    }
}

fn printed(args: &[&str]) -> String {
    let output = lockgate(args);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{args:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Breaks if the person is not told where a savepoint lies, or a place of this machine comes into the trace.
#[test]
fn a_run_says_where_its_savepoints_lie() {
    let dir = tempfile::tempdir().unwrap();
    let run = || {
        report(&[
            "run",
            &sample("rescale.ron"),
            "--savepoint-dir",
            text(dir.path()),
        ])
    };
    let (first, second) = (run(), run());
    let path = |report: &Value| report["savepoints"][0]["path"].as_str().unwrap().to_owned();
    assert!(Path::new(&path(&first)).join("_metadata").is_file());
    assert!(Path::new(&path(&second)).join("_metadata").is_file());
    assert_ne!(path(&first), path(&second), "the first is never touched");
    assert_eq!(first["trace_sha256"], second["trace_sha256"]);
    let told = printed(&[
        "run",
        &sample("rescale.ron"),
        "--savepoint-dir",
        text(dir.path()),
    ]);
    assert!(
        told.contains(&format!("savepoint 1 lies in {}", text(dir.path()))),
        "{told}"
    );
}

#[test]
fn what_is_in_a_savepoint_can_be_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    let savepoint = savepoint_of("rescale.ron", dir.path());
    let list = printed(&["savepoints", text(dir.path())]);
    assert!(list.contains(text(&savepoint)), "{list}");
    assert!(list.contains("canonical 1 · heap backend"), "{list}");
    let listed = printed(&["savepoints", text(dir.path()), "--report", "json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed[0]["id"], 1);

    let json = printed(&[
        "inspect",
        text(&savepoint),
        "--key",
        "3",
        "--report",
        "json",
    ]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let operators = json["operators"].as_array().unwrap();
    let uids: Vec<&str> = operators
        .iter()
        .map(|each| each["uid"].as_str().unwrap())
        .collect();
    assert_eq!(uids, ["numbers", "sum", "out"]);
    assert_eq!(
        operators[0]["subtasks"][0]["lists"][0]["offsets"][0],
        serde_json::json!([0, 24])
    );
    let sum = &operators[1];
    assert_eq!(
        (&sum["parallelism"], &sum["max_parallelism"]),
        (&2.into(), &128.into())
    );
    // 3 + 10 + 17 + 24
    assert_eq!(
        sum["values"],
        serde_json::json!([{"key": "3", "window_ms": null, "value": "54"}])
    );
    let by_file = printed(&["inspect", text(&savepoint.join("_metadata"))]);
    assert!(by_file.contains("sum (uid sum)"), "{by_file}");
    assert!(
        by_file.contains("KeyGroupsSavepointStateHandle"),
        "{by_file}"
    );
}

#[test]
fn what_cannot_be_looked_at_is_told_in_a_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let savepoint = savepoint_of("rescale.ron", dir.path());
    let told = |args: &[&str]| {
        let output = lockgate(args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {error}");
        assert!(error.trim_end().ends_with('.'), "{error}");
        error
    };
    assert!(
        told(&["savepoints", text(&dir.path().join("nowhere"))]).contains("There is no folder")
    );
    assert!(told(&["inspect", text(dir.path())]).contains("it only contains some"));
    assert!(told(&["inspect", text(&savepoint), "--key", "even"]).contains("Nothing is held"));
    let whole = fs::read(savepoint.join("_metadata")).unwrap();
    fs::write(savepoint.join("_metadata"), &whole[..30]).unwrap();
    assert!(told(&["inspect", text(&savepoint)]).contains("is torn"));
    let list = printed(&["savepoints", text(dir.path())]);
    assert!(list.contains("cannot be read: "), "a list goes on: {list}");
    let none = tempfile::tempdir().unwrap();
    assert!(printed(&["savepoints", text(none.path())]).contains("no savepoints or checkpoints"));
}

/// A savepoint in RocksDB's own format, and one of a live run.
#[test]
fn native_and_live_savepoints_can_be_looked_at_and_started_from() {
    let dir = tempfile::tempdir().unwrap();
    let text_of = fs::read_to_string(sample("rescale.ron")).unwrap();
    let native = file(
        dir.path(),
        "native.ron",
        &text_of.replace("Canonical", "Native"),
    );
    let saves = dir.path().join("savepoints");
    for options in [
        &["--backend", "rocksdb"][..],
        &["--backend", "rocksdb", "--live"],
    ] {
        let stopped = report(&[&["run", text(&native)][..], options].concat());
        let path = stopped["savepoints"][0]["path"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(Path::new(&path).starts_with(&saves), "{path}");
        let seen = printed(&["inspect", &path, "--key", "3"]);
        assert!(seen.contains("IncrementalRemoteKeyedStateHandle"), "{seen}");
        let resumed = report(&[
            "run",
            text(&native),
            "--backend",
            "rocksdb",
            "--from",
            &path,
        ]);
        assert_eq!(sums(&resumed)[3], ("3".to_owned(), "123".to_owned()));
        let other = lockgate(&["run", text(&native), "--backend", "heap", "--from", &path]);
        assert_eq!(other.status.code(), Some(4));
        assert!(String::from_utf8_lossy(&other.stderr).contains("native format"));
        fs::remove_dir_all(&saves).unwrap();
    }
}

/// Breaks if what is stored is opened whatever it is: a pipe into which nobody writes holds up whoever opens it, for ever.
#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_stored_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let script = "script: [(AtMs(900), Checkpoint), (AtMs(1500), Stop)]";
    let job = numbers("rate_per_s: 10, end: 30", script).replace("version: 1", "version: 2");
    let job = file(dir.path(), "job.ron", &job);
    let kept = dir.path().join("kept");
    let stored = [
        "run",
        text(&job),
        "--checkpoint-dir",
        text(&kept),
        "--set",
        "checkpointing.retention=retain-on-cancellation",
        "--set",
        "storage.inline_threshold_bytes=0",
    ];
    report(&stored);
    let run = fs::read_dir(&kept).unwrap().next().unwrap().unwrap();
    let checkpoint = run.path().join("chk-1");
    let names = fs::read_dir(&checkpoint).unwrap();
    let names: Vec<PathBuf> = names.map(|entry| entry.unwrap().path()).collect();
    assert!(names.len() >= 2, "{names:?}");
    for stored in names {
        let aside = dir.path().join("aside");
        fs::rename(&stored, &aside).unwrap();
        let made = Command::new("mkfifo").arg(&stored).status().unwrap();
        assert!(made.success());
        // Whoever opens it all the same finds it empty, so that this ends.
        let pipe = stored.clone();
        std::thread::spawn(move || while fs::OpenOptions::new().write(true).open(&pipe).is_ok() {});
        let told = refusal(&["run", text(&job), "--from", text(&checkpoint)]);
        if stored.ends_with("_metadata") {
            assert!(told.contains("no _metadata file"), "{told}");
        } else {
            assert!(told.contains("is no regular file"), "{told}");
            assert!(told.contains(text(&stored)), "{told}");
        }
        fs::rename(&aside, &stored).unwrap();
    }
}
