//! The samples: each is ready to run, says what it shows, and its places on the canvas do not overlap.

use std::path::{Path, PathBuf};

use lockgate::model::key_group::{key_group, owner};
use lockgate::model::{Command, JobGraph, Key, Vertex};
use lockgate::project::{self, csv_source};

const SAMPLES: &[&str] = &[
    "odd-even",
    "two-sources",
    "weather",
    "at-least-once",
    "at-least-once-exact",
    "unaligned",
    "aligned-timeout",
    "backpressure",
    "stop-the-world",
    "rescale",
    "operator-without-uid",
    "windows",
    "count-average",
    "distinct-ttl",
    "broadcast-rules",
    "two-phase-commit",
    "plain-or-transactional",
    "classic-backends",
    "memory-over-its-limit",
    "incremental",
];

fn path_of(sample: &str) -> PathBuf {
    Path::new("samples").join(format!("{sample}.ron"))
}

fn load(sample: &str) -> JobGraph {
    project::check(&path_of(sample)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_sample_is_ready_to_run_and_says_what_it_shows() {
    for sample in SAMPLES {
        let job = load(sample);
        assert_eq!(job.name, *sample);
        assert!(job.note.len() > 40, "{sample} has a note");
        let snapshots = job.script.iter().filter(|each| {
            matches!(
                each.command,
                Command::Checkpoint | Command::StopWithSavepoint { .. }
            )
        });
        let is_periodic = job.config.checkpointing.interval_ms.is_some();
        assert!(
            is_periodic || snapshots.count() > 0,
            "{sample} takes a checkpoint"
        );
    }
    let on_disk = std::fs::read_dir("samples").unwrap();
    let is_job = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "ron");
    let jobs = on_disk.map(|entry| entry.unwrap().path()).filter(is_job);
    assert_eq!(jobs.count(), SAMPLES.len(), "every sample is tested");
}

#[test]
fn no_sample_has_nodes_on_top_of_each_other() {
    let is_apart = |a: &Vertex, b: &Vertex| {
        (a.position.x - b.position.x).abs() >= 330.0 || (a.position.y - b.position.y).abs() >= 240.0
    };
    for sample in SAMPLES {
        let job = load(sample);
        for (index, a) in job.vertices.iter().enumerate() {
            assert!(
                job.vertices[index + 1..].iter().all(|b| is_apart(a, b)),
                "{sample}: {}",
                a.uid
            );
        }
    }
}

/// The script of odd-even crashes the subtask of the odd numbers; the notes speak of who owns which key.
#[test]
fn keys_belong_to_the_subtasks_that_scripts_and_notes_name() {
    let odd_even = load("odd-even");
    let sum = odd_even.vertex(&"sum".into()).unwrap();
    let subtask = |vertex: &Vertex, key: &Key| {
        let max = vertex.effective_max_parallelism();
        owner(key_group(key, max), vertex.parallelism, max)
    };
    assert_eq!(
        (subtask(sum, &Key::int(0)), subtask(sum, &Key::int(1))),
        (1, 0)
    );

    let windows = load("windows");
    let window = windows.vertex(&"window".into()).unwrap();
    assert_ne!(
        subtask(window, &Key::int(0)),
        subtask(window, &Key::int(1)),
        "a subtask each"
    );

    let weather = load("weather");
    let sum = weather.vertex(&"sum".into()).unwrap();
    let kinds = ["rain", "drizzle", "fog", "snow", "sun"];
    assert_eq!(
        kinds.map(|kind| subtask(sum, &Key::text(kind))),
        [0, 1, 1, 1, 1]
    );
}

#[test]
fn the_weather_data_is_what_its_provenance_says() {
    let bytes = std::fs::read("samples/data/seattle-weather.csv").unwrap();
    assert_eq!(bytes.len(), 48_219);
    assert_eq!(crc32fast::hash(&bytes), 2_193_225_228);
    let spec = lockgate::model::CsvSpec {
        path: "data/seattle-weather.csv".into(),
        key_column: "weather".into(),
        value_column: "precipitation".into(),
    };
    let rows = csv_source::read(&spec, Path::new("samples")).unwrap();
    assert_eq!(rows.len(), 1_461);
    let total: lockgate::model::Decimal = rows.iter().map(|row| row.value).sum();
    assert_eq!(total.to_string(), "4426.0");
}
