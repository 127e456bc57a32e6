//! The samples that come with the program tell the stories they promise: on both backends, with the same events.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

use lockgate::engine::event::{EventKind, JobStatus};
use lockgate::model::{BackendKind, CheckpointId, Decimal};
use lockgate::project;
use lockgate::recording::Tally;
use lockgate::recording::view::CheckpointStatus;
use lockgate::run::{Run, RunOptions};

fn play(sample: &str, backend: BackendKind) -> Run {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("samples")
        .join(sample);
    let job = project::check(&path).unwrap();
    let options = RunOptions {
        backend: Some(backend),
        base_dir: project::base_dir(&path),
        ..RunOptions::default()
    };
    let mut run = Run::start(&job, &options).unwrap();
    run.finish(None, |_| ()).unwrap();
    run
}

/// The state of all keyed sums by label.
fn sums(run: &Run) -> BTreeMap<String, Decimal> {
    let rows = run.view().subtasks.iter().flat_map(|subtask| &subtask.rows);
    rows.map(|(key, row)| (key.to_string(), row.value))
        .collect()
}

fn labelled<const N: usize>(rows: [(&str, &str); N]) -> BTreeMap<String, Decimal> {
    let row = |(key, value): (&str, &str)| (key.to_owned(), Decimal::from_str(value).unwrap());
    rows.map(row).into()
}

/// Breaks if a source's offset, a sum, or the replay after a restore is off by one record.
#[test]
fn odd_even_counts_every_record_once_through_a_crash() {
    for backend in BackendKind::ALL {
        let run = play("odd-even.ron", backend);
        let view = run.view();
        assert_eq!(view.job, JobStatus::Finished);
        let first = &view.checkpoints[&CheckpointId(1)];
        assert_eq!(first.status, CheckpointStatus::Completed);
        let offsets: Vec<u64> = first.subtasks.values().filter_map(|s| s.offset).collect();
        assert_eq!(offsets, [5]);
        let held = first.subtasks.values().flat_map(|s| &s.rows);
        let held: BTreeMap<String, Decimal> = held.map(|(k, v)| (k.to_string(), *v)).collect();
        assert_eq!(held, labelled([("even", "6"), ("odd", "9")]));
        assert_eq!(crash_with_offset_of_restored_source(&run), (7, 5));
        assert_eq!(sums(&run), labelled([("even", "30"), ("odd", "25")]));
        let ledger = run.recording().ledger(view);
        let all_once = Tally {
            zero: 0,
            once: 10,
            more: 0,
        };
        assert_eq!((ledger.emitted, ledger.state), (10, Some(all_once)));
    }
}

/// The sum that the crashed subtask had counted last, and where the source began again.
fn crash_with_offset_of_restored_source(run: &Run) -> (u64, u64) {
    let mut last_counted = 0;
    let mut crashed = false;
    for event in run.recording().events() {
        match &event.kind {
            EventKind::StateChanged { origin, .. } if !crashed => {
                last_counted = last_counted.max(origin.offset);
            }
            EventKind::JobStatus(JobStatus::Restarting { .. }) => crashed = true,
            EventKind::Restored { offsets, .. } if crashed && !offsets.is_empty() => {
                return (last_counted, offsets[0].1);
            }
            _ => {}
        }
    }
    panic!("no crash and restore in the sample");
}

/// Breaks if the two backends behave differently in anything that is recorded.
#[test]
fn heap_and_rocksdb_give_the_same_events() {
    for sample in ["odd-even.ron", "two-sources.ron", "weather.ron"] {
        let (heap, rocksdb) = (
            play(sample, BackendKind::Heap),
            play(sample, BackendKind::RocksDb),
        );
        assert!(
            heap.recording().events() == rocksdb.recording().events(),
            "{sample}"
        );
    }
}

/// The sums are computed here from the file alone; breaks if a record is lost, doubled or rounded.
#[test]
fn weather_sums_agree_with_the_file_through_a_crash() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/data/seattle-weather.csv");
    let mut expected = BTreeMap::new();
    for row in csv::Reader::from_path(path).unwrap().records() {
        let row = row.unwrap();
        let sum = expected.entry(row[5].to_owned()).or_insert(Decimal::ZERO);
        *sum += Decimal::from_str(&row[1]).unwrap();
    }
    for backend in BackendKind::ALL {
        let run = play("weather.ron", backend);
        assert_eq!(
            run.view().restarts,
            1,
            "the sample has a crash in the middle"
        );
        assert_eq!(sums(&run), expected);
        let state = run.recording().ledger(run.view()).state.unwrap();
        assert_eq!((state.zero, state.once, state.more), (0, 1461, 0));
    }
}
