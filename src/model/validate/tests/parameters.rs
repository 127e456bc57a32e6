//! What one operator, the settings or the script say.

use std::path::PathBuf;

use super::*;

#[test]
fn parallelism_has_bounds() {
    says(
        |job| job.vertices[1].parallelism = 0,
        &["sum.parallelism!: The parallelism of “sum” is 0: set it to 1 to 64."],
    );
    says(
        |job| job.vertices[1].parallelism = 1_000_000_000,
        &[
            "job.operators: The job has 1,000,000,002 subtasks in all; at most 256 are possible: lower the parallelism of some operators.",
            "job.edges: The job has 2,000,000,000 channels in all; at most 4,096 are possible: lower the parallelism of some operators.",
            "sum.parallelism!: The parallelism of “sum” is 1,000,000,000: set it to 1 to 64.",
        ],
    );
    says(
        |job| {
            job.vertices[1].parallelism = 4;
            job.vertices[1].max_parallelism = Some(3);
            job.vertices[2].max_parallelism = Some(40_000);
        },
        &[
            "sum.max_parallelism: The max parallelism of “sum” (3) is below its parallelism (4): raise it, or lower the parallelism.",
            "out.max_parallelism!: The max parallelism of “out” is 40,000: set it to 1 to 32,768.",
        ],
    );
}

#[test]
fn a_position_is_on_the_canvas() {
    for x in [f32::NAN, f32::INFINITY, 2.0e6] {
        let found = problems(|job| job.vertices[0].position.x = x);
        assert_eq!(
            found,
            [
                "numbers.position!: The position of “numbers” is not on the canvas: set both coordinates to numbers between -1,000,000 and 1,000,000."
            ]
        );
    }
}

#[test]
fn a_source_has_a_rate_and_an_end_within_reason() {
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1.0e300] {
        let found = problems(|job| source_of(&mut job.vertices[0]).rate_per_s = rate);
        let expected = format!(
            "numbers.rate_per_s!: The rate of “numbers” is {rate:?} records per second: set it to 0.001 to 1,000,000."
        );
        assert_eq!(found, [expected]);
    }
    says(|job| source_of(&mut job.vertices[0]).end = Some(0), &[]);
    says(
        |job| source_of(&mut job.vertices[0]).end = Some(u64::MAX),
        &[
            "numbers.end!: “numbers” ends after 18,446,744,073,709,551,615 records: let it end after at most 1,000,000,000,000, or never.",
        ],
    );
}

#[test]
fn a_csv_source_names_its_file_and_columns() {
    says(
        |job| {
            job.vertices[0] = csv("numbers");
            source_of(&mut job.vertices[0]).kind = SourceKind::Csv(CsvSpec {
                path: PathBuf::new(),
                key_column: String::new(),
                value_column: String::new(),
            });
        },
        &[
            "numbers.path: “numbers” has no CSV file: choose one.",
            "numbers.key_column: “numbers” has no key column: name the column of the CSV file.",
            "numbers.value_column: “numbers” has no value column: name the column of the CSV file.",
        ],
    );
}

#[test]
fn a_keyed_sum_finds_its_key() {
    says(
        |job| job.vertices[1] = sum("sum", None),
        &["sum.key: “sum” has no key: choose the key column, or the value modulo a number."],
    );
    says(
        |job| job.vertices[1] = sum("sum", KeyExpr::Column),
        &[
            "sum.key: “sum” takes its key from the key column, but the records of “numbers” have none: choose the value modulo a number instead.",
        ],
    );
    says(
        |job| {
            job.vertices[0] = csv("numbers");
            job.vertices[1] = sum("sum", KeyExpr::Column);
            job.vertices.push(sum("total", KeyExpr::Column));
            job.edges.push(edge("sum", "total", Partitioning::Hash));
        },
        &[],
    );
}

#[test]
fn a_modulus_gives_as_many_keys_as_there_are_labels_at_most() {
    let with = |key| problems(move |job| job.vertices[1] = sum("sum", key));
    assert_eq!(with(modulo(3, &["none"])), [""; 0]);
    assert_eq!(
        with(modulo(0, &[])),
        ["sum.key!: The key of “sum” is the value modulo 0: set the modulus to 1 to 1,000,000."]
    );
    assert_eq!(
        with(modulo(1, &["all", "more"])),
        ["sum.key: “sum” has more labels (2) than keys (1): remove some, or raise the modulus."]
    );
    assert_eq!(
        with(modulo(2, &["x", "x"])),
        ["sum.key: “sum” has the label “x” twice: give each key its own."]
    );
    assert_eq!(
        with(modulo(2, &["x", " "])),
        ["sum.key: “sum” has a key with an empty label: give it one."]
    );
}

#[test]
fn settings_have_bounds() {
    says(
        |job| {
            let config = &mut job.config;
            config.channel_capacity = 0;
            config.checkpointing.retained = 0;
            config.checkpointing.max_concurrent = 17;
            config.checkpointing.timeout_ms = 9;
            config.checkpointing.tolerable_failed = 1_000_001;
            config.costs.restore_us = u64::MAX;
            config.costs.process_us = 0;
            config.restart = RestartStrategy::FixedDelay {
                attempts: RestartStrategy::UNLIMITED_ATTEMPTS,
                delay_ms: u64::MAX,
            };
            config.storage = StorageKind::FileSystem {
                inline_threshold_bytes: u32::MAX,
            };
        },
        &[
            "job.checkpointing.retained!: The number of retained checkpoints is 0: set it to 1 to 100.",
            "job.checkpointing.max_concurrent!: The number of concurrent checkpoints is 17: set it to 1 to 16.",
            "job.checkpointing.timeout_ms!: The checkpoint timeout in milliseconds is 9: set it to 10 to 1,000,000,000.",
            "job.checkpointing.tolerable_failed!: The number of tolerable failed checkpoints is 1,000,001: set it to 0 to 1,000,000.",
            "job.restart.delay_ms!: The restart delay in milliseconds is 18,446,744,073,709,551,615: set it to 0 to 1,000,000,000.",
            "job.costs.restore_us!: The restore cost in microseconds is 18,446,744,073,709,551,615: set it to 0 to 1,000,000,000.",
            "job.channel_capacity!: The capacity of a channel in records is 0: set it to 1 to 1,000.",
            "job.storage!: The inline threshold in bytes is 4,294,967,295: set it to 0 to 1,048,576.",
        ],
    );
}

#[test]
fn a_script_speaks_of_what_is_there() {
    let emitted = |uid: &str, records| When::Emitted {
        uid: uid.into(),
        records,
    };
    let processed = |uid: &str, subtask, records| When::Processed {
        uid: uid.into(),
        subtask,
        records,
    };
    let crash = |uid: &str, subtask| Command::Crash {
        uid: uid.into(),
        subtask,
    };
    let zeroth = Command::Restore {
        checkpoint: Some(CheckpointId(0)),
    };
    let entries = [
        (When::AtMs(0), Command::Checkpoint),
        (emitted("nobody", 1), Command::Stop),
        (emitted("sum", 1), Command::Stop),
        (emitted("numbers", 0), Command::Stop),
        (processed("numbers", 0, 1), Command::Stop),
        (processed("sum", 1, 1), crash("out", 7)),
        (When::AtMs(u64::MAX), crash("nobody", 0)),
        (processed("sum", 0, 4), zeroth),
    ];
    says(
        |job| {
            job.script = entries
                .map(|(when, command)| ScriptEntry { when, command })
                .into();
        },
        &[
            "script 1.when: The script names “nobody”, but there is no operator of that uid: correct the uid, or remove the entry.",
            "script 2.when: The script waits for what “sum” has emitted, but it is a keyed sum: name a source, or wait for what it has processed.",
            "script 3.when: The script waits for 0 records, which is before anything happens: wait for at least 1.",
            "script 4.when: The script waits for what “numbers” has processed, but it is a source: wait for what it has emitted.",
            "script 5.when: The script names subtask 1 of “sum”, whose subtasks are 0 to 0: name one of them, or raise the parallelism.",
            "script 5.command: The script names subtask 7 of “out”, whose subtasks are 0 to 0: name one of them, or raise the parallelism.",
            "script 6.when!: The script waits for 18,446,744,073,709,551,615 milliseconds: let it wait for at most 1,000,000,000.",
            "script 6.command: The script names “nobody”, but there is no operator of that uid: correct the uid, or remove the entry.",
            "script 7.command: The script restores checkpoint 0, but the first checkpoint is 1: name one from 1 on, or none for the latest.",
        ],
    );
}
