//! Files that do not load: each says where and why. Nothing is ever half loaded, and nothing panics.

use std::path::Path;

use lockgate::project;

use super::refusal;

/// A good job, one part per line, with `{}` where cases put theirs.
fn job_with(line: &str) -> String {
    let operator = r#"(uid: "sum", kind: KeyedSum(key: Modulo(2, [])), at: (330, 0)),"#;
    let edge = r#"("numbers", "sum", Hash),"#;
    let source = r#"(uid: "numbers", kind: SequenceSource(rate_per_s: 1), at: (0, 0)),"#;
    format!(
        "(version: 1,\noperators: [\n{source}\n{operator}\n],\nedges: [\n{edge}\n],\n{line}\n)\n"
    )
}

/// The good job with `from` replaced.
fn job_where(from: &str, to: &str) -> String {
    let good = job_with("");
    assert!(good.contains(from), "{from}");
    good.replacen(from, to, 1)
}

#[test]
fn the_job_that_the_cases_spoil_is_good() {
    super::runnable(&job_with(""));
}

#[test]
fn the_version_comes_first() {
    let cases = [
        (
            "",
            "bad.ron is empty. Choose another file, or start a new job and save it there.",
        ),
        (
            " // nothing\n",
            "bad.ron is empty. Choose another file, or start a new job and save it there.",
        ),
        (
            "// a job\n(operators: [])",
            "bad.ron:2:1: the format’s version is missing. A job file begins with `(version: 2,`: add it.",
        ),
        (
            "date,precipitation\n2012-01-01,0.0",
            "bad.ron:1:1: the format’s version is missing. A job file begins with `(version: 2,`: add it.",
        ),
        (
            "(version: 7, pipelines: {\"a\": <new syntax>})",
            "bad.ron:1:11: this file was written by a newer Lockgate (format 7; this one reads up to 2). Update Lockgate.",
        ),
        (
            "(\n  version: 123456789012345678901234567890,\n)",
            "bad.ron:2:12: this file was written by a newer Lockgate (format 123456789012345678901234567890; this one reads up to 2). Update Lockgate.",
        ),
        (
            "(version: 0)",
            "bad.ron:1:11: `0` is no version of the format. Set it to 2.",
        ),
        (
            "(version: \"1\")",
            "bad.ron:1:11: `\"1\"` is no version of the format. Set it to 2.",
        ),
        (
            "(version: -1)",
            "bad.ron:1:11: `-1` is no version of the format. Set it to 2.",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal(text), expected, "{text}");
    }
}

#[test]
fn what_cannot_be_understood_is_refused_where_it_stands() {
    let cases = [
        (
            job_with("colour: 3"),
            "9:1: Job has no field `colour`; it may have `version`, `draft`, `name`, `note`, `operators`, `edges`, `settings`, `script`",
        ),
        (
            job_with("script: [(AtMs(1), Explode)]"),
            "9:20: `Explode` is not possible here; choose one of `Checkpoint`, `Crash`, `Restore`, `RestoreFrom`, `Stop`",
        ),
        (
            job_with("script: [(AtMs(-1), Stop)]"),
            "9:17: this number is too large, or negative where it must not be",
        ),
        (
            job_with("script: [(AtMs(1), Stop"),
            "10:2: the file ends too early: a bracket, quote or comment is not closed",
        ),
        (
            job_with("note: \"never closed"),
            "9:7: the file ends too early: a bracket, quote or comment is not closed",
        ),
        (
            job_with("note: \"a\", note: \"b\""),
            "9:12: Job has the field `note` twice",
        ),
        (
            job_with("settings: (channel_capacity: 1000000000000)"),
            "9:30: this number is too large, or negative where it must not be",
        ),
        (
            job_where(", at: (0, 0)", ""),
            "3:53: Operator lacks the field `at`",
        ),
        (
            job_where("at: (0, 0)", "at: (0, 0, 0)"),
            "3:66: expected closing `)`",
        ),
        (
            job_where("rate_per_s: 1", "rate_per_s: fast"),
            "3:50: a number is expected here",
        ),
        (
            job_where("Hash", "hash"),
            "7:20: `hash` is not possible here; choose one of `Hash`, `Forward`, `Rebalance`, `Broadcast`",
        ),
        (
            job_with("") + "()",
            "10:2: the job ends before here, and nothing may follow it",
        ),
        (
            "(version: 1,".to_owned(),
            "1:12: the file ends too early: a bracket, quote or comment is not closed",
        ),
        (
            "(version: 1, operators: 5)".to_owned(),
            "1:24: expected opening `[`",
        ),
        (
            format!("(version: 1, operators: {}", "[".repeat(1_000_000)),
            "1:26: an opening bracket is expected here, with named values in it where there are any, such as `(by_ms: 500)`",
        ),
        (
            format!("(version: 1, name: {}", "Some(".repeat(1_000_000)),
            "1:25: a text in quotes is expected here",
        ),
        (
            format!("(version: 1, zzz: {}", "(".repeat(1_000_000)),
            "1:14: Job has no field `zzz`; it may have `version`, `draft`, `name`, `note`, `operators`, `edges`, `settings`, `script`",
        ),
    ];
    for (text, expected) in cases {
        let shown: String = text.chars().take(400).collect();
        let expected = format!("bad.ron:{expected}. Correct it there, then open the file again.");
        assert_eq!(refusal(&text), expected, "{shown}");
    }
}

/// What only format 2 knows.
#[test]
fn what_cannot_be_understood_in_format_2_is_refused_where_it_stands() {
    let checkpointing = |what: &str| job_with(&format!("settings: (checkpointing: ({what}))"));
    let script = |what: &str| job_with(&format!("script: [(AtMs(1), {what})]"));
    let kind = |what: &str| job_where("KeyedSum(key: Modulo(2, []))", what);
    let cases = [
        (
            checkpointing("mode: Twice"),
            "9:34: `Twice` is not possible here; choose one of `ExactlyOnce`, `AtLeastOnce`, `StopTheWorld`",
        ),
        (
            checkpointing("tolerable_failed: Never"),
            "9:51: a whole number or `Unlimited` is expected before here",
        ),
        (
            checkpointing("tolerable_failed: -1"),
            "9:47: a whole number or `Unlimited` is expected before here",
        ),
        (
            checkpointing("every_ms: 5"),
            "9:28: Checkpointing has no field `every_ms`; it may have `interval_ms`, `mode`, `timeout_ms`, `min_pause_ms`, `max_concurrent`, `tolerable_failed`, `retained`, `retention`, `unaligned`, `aligned_timeout_ms`, `after_tasks_finish`",
        ),
        (
            script("Savepoint(format: Quick)"),
            "9:38: `Quick` is not possible here; choose one of `Canonical`, `Native`",
        ),
        (
            script("Inject(Rain, \"sum\", 0)"),
            "9:27: `Rain` is not possible here; choose one of `SyncPart`, `AsyncPart`, `StorageError`, `StorageSlow`, `TornWrite`, `Metadata`, `Commit`, `LoseNotification`, `DelayNotification`",
        ),
        (
            kind("Window(key: Column, aggregate: Sum)"),
            "4:54: Window lacks the field `size_ms`",
        ),
        (
            kind("TwoPhaseCommitSink"),
            "4:38: an opening bracket is expected here, with named values in it where there are any, such as `(by_ms: 500)`",
        ),
        (
            script("Inject(StorageSlow(500), \"sum\", 0)"),
            "9:39: a name is expected here, as in `(by_ms: 500)`, not `500`",
        ),
        (
            script("Crash(\"out\")"),
            "9:31: tuple variant Command::Crash with 2 elements is expected here, not one with 1",
        ),
    ];
    for (text, expected) in cases {
        let text = text.replacen("version: 1,", "version: 2,", 1);
        let expected = format!("bad.ron:{expected}. Correct it there, then open the file again.");
        assert_eq!(refusal(&text), expected, "{text}");
        assert!(
            project::parse(&text.replacen("version: 2,", "version: 1,", 1), "old.ron").is_err(),
            "format 1 does not know it"
        );
    }
}

/// A number out of bounds, or a setting that does not go with another, is shown where it stands.
#[test]
fn what_is_wrong_in_format_2_is_refused_where_it_stands() {
    let cases = [
        (
            job_with("settings: (checkpointing: (interval_ms: 5))"),
            "bad.ron:9:41: The checkpoint interval in milliseconds is 5: set it to 10 to 1,000,000,000.",
        ),
        (
            job_with("settings: (restart: FailureRate(max_failures: 0))"),
            "bad.ron:9:47: The number of failures per interval is 0: set it to 1 to 1,000,000.",
        ),
        (
            job_where(
                "at: (330, 0)",
                "costs: (process_us: 9999999999), at: (330, 0)",
            ),
            "bad.ron:4:70: The processing cost of “sum” in microseconds is 9,999,999,999: set it to 0 to 1,000,000,000.",
        ),
        (
            job_where("rate_per_s: 1", "rate_per_s: 1, event_time: (step_ms: 0)"),
            "bad.ron:3:76: The event time from record to record in milliseconds of “numbers” is 0: set it to 1 to 1,000,000,000.",
        ),
    ];
    for (text, expected) in cases {
        let text = text.replacen("version: 1,", "version: 2,", 1);
        assert_eq!(refusal(&text), expected, "{text}");
    }
}

/// Numbers out of all bounds, references to nothing: refused even in a draft.
#[test]
fn what_is_absurd_is_refused_where_it_stands() {
    let cases = [
        (
            job_where("at: (0, 0)", "parallelism: 1000000000, at: (0, 0)"),
            "bad.ron:2:12: The job has 1,000,000,001 subtasks in all; at most 256 are possible: lower the parallelism of some operators.\n\
             bad.ron:3:68: The parallelism of “numbers” is 1,000,000,000: set it to 1 to 64.\n\
             bad.ron:6:8: The job has 1,000,000,000 channels in all; at most 4,096 are possible: lower the parallelism of some operators.",
        ),
        (
            job_where("rate_per_s: 1", "rate_per_s: -4.5"),
            "bad.ron:3:51: The rate of “numbers” is -4.5 records per second: set it to 0.001 to 1,000,000.",
        ),
        (
            job_where("rate_per_s: 1", "rate_per_s: inf"),
            "bad.ron:3:51: The rate of “numbers” is inf records per second: set it to 0.001 to 1,000,000.",
        ),
        (
            job_where("(330, 0)", "(NaN, 0)"),
            "bad.ron:4:54: The position of “sum” is not on the canvas: set both coordinates to numbers between -1,000,000 and 1,000,000.",
        ),
        (
            job_where("\"sum\", Hash", "\"summe\", Hash"),
            "bad.ron:4:1: “sum” has no input: connect the output of a source or keyed sum to it.\n\
             bad.ron:7:13: An edge leads to “summe”, but there is no operator of that uid: correct the uid, or remove the edge.",
        ),
        (
            job_where("uid: \"sum\"", "uid: \"numbers\""),
            "bad.ron:4:7: Two operators have the uid “numbers”: give each its own.\n\
             bad.ron:7:13: An edge leads to “sum”, but there is no operator of that uid: correct the uid, or remove the edge.",
        ),
        (
            job_with("settings: (costs: (rpc_us: 9999999999))"),
            "bad.ron:9:28: The message cost in microseconds is 9,999,999,999: set it to 0 to 1,000,000,000.",
        ),
        (
            job_with("script: [(AtMs(9999999999), Stop)]"),
            "bad.ron:9:11: The script waits for 9,999,999,999 milliseconds: let it wait for at most 1,000,000,000.",
        ),
        (
            job_where("Modulo(2, [])", "Modulo(0, [])"),
            "bad.ron:4:34: The key of “sum” is the value modulo 0: set the modulus to 1 to 1,000,000.",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal(&text), expected, "{text}");
        let draft = text.replacen("version: 1,", "version: 1, draft: true,", 1);
        let lines_of = |text: &str| text.lines().count();
        assert_eq!(lines_of(&refusal(&draft)), lines_of(expected), "{draft}");
    }
}

/// What a person can still put right on the canvas: refused as a job, welcome as a draft.
#[test]
fn what_is_unfinished_opens_as_a_draft_only() {
    let cases = [
        (
            job_where("key: Modulo(2, [])", ""),
            "bad.ron:4:20: “sum” has no key: choose the key column, or the value modulo a number.",
        ),
        (
            job_where("Hash", "Rebalance"),
            "bad.ron:7:20: The edge from “numbers” to “sum” is rebalance: make it hash, because keyed state needs every record at the subtask that owns its key.",
        ),
        (
            job_where("\"numbers\", \"sum\"", "\"sum\", \"sum\""),
            "bad.ron:3:1: “numbers” leads nowhere: connect its output to a keyed sum or to a sink.\n\
             bad.ron:7:1: An edge leads from “sum” back to itself: remove it, because its records would go round for ever.",
        ),
        (
            job_with("script: [(AtMs(1), Crash(\"nobody\", 0))]"),
            "bad.ron:9:20: The script names “nobody”, but there is no operator of that uid: correct the uid, or remove the entry.",
        ),
        (
            "(version: 1, operators: [])".to_owned(),
            "bad.ron:1:25: The job is empty: add a source and connect it to a keyed sum or to a sink.",
        ),
    ];
    for (text, expected) in cases {
        let hint =
            "bad.ron: To open an unfinished job as it is, write `draft: true,` after its version.";
        assert_eq!(refusal(&text), format!("{expected}\n{hint}"), "{text}");
        let draft = text.replacen("version: 1,", "version: 1, draft: true,", 1);
        assert!(project::parse(&draft, "draft.ron").unwrap().is_draft());
    }
    let finished = job_with("draft: true");
    assert!(!project::parse(&finished, "draft.ron").unwrap().is_draft());
}

/// What a file holds is shown, not obeyed, by the terminal that it is shown on.
#[test]
fn control_characters_do_not_reach_the_terminal() {
    let texts = [
        "(version: \u{1b}[2J, x)".to_owned(),
        job_where("\"sum\", kind", "\"s\\u{1b}m\", kind"),
        job_with("script: [(AtMs(1), Crash(\"\\u{7}\", 0))]"),
    ];
    for text in texts {
        let message = refusal(&text);
        assert!(
            !message.contains(|c: char| c.is_control() && c != '\n'),
            "{message:?}"
        );
        assert!(message.contains('\u{fffd}'), "{message:?}");
    }
}

fn load_error(path: &Path) -> String {
    let shown = path.display().to_string();
    project::load(path)
        .unwrap_err()
        .to_string()
        .replace(&shown, "FILE")
}

#[test]
fn what_is_no_job_file_at_all_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.ron");
    assert_eq!(
        load_error(&path),
        "FILE: there is no such file. Check its name and folder."
    );
    assert_eq!(
        load_error(folder.path()),
        "FILE is a folder or a device. Name a job file, one that ends in .ron."
    );
    std::fs::write(&path, b"(version: 1,\n name: \"\xc3\xa9\xff\")").unwrap();
    assert_eq!(
        load_error(&path),
        "FILE:2:10: this is not text (UTF-8), so this is no job file. Check its name."
    );
    let huge = std::fs::File::create(&path).unwrap();
    huge.set_len(project::MAX_FILE_BYTES + 1).unwrap();
    assert_eq!(
        load_error(&path),
        "FILE has 4194305 bytes and is no job file: those have at most 4194304. Check its name."
    );
    huge.set_len(project::MAX_FILE_BYTES).unwrap();
    assert!(load_error(&path).starts_with("FILE:1:1: the format’s version is missing."));
}

#[cfg(unix)]
#[test]
fn a_device_is_not_read() {
    assert!(load_error(Path::new("/dev/zero")).contains("is a folder or a device"));
}
