//! The samples that come with the program tell the stories they promise: on both backends, with the same events.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

use lockgate::engine::event::{EventKind, JobStatus, TraceEvent};
use lockgate::model::{BackendKind, CheckpointId, Decimal, JobGraph};
use lockgate::project;
use lockgate::recording::Tally;
use lockgate::recording::view::CheckpointStatus;
use lockgate::run::{Run, RunOptions};

fn play(sample: &str, backend: BackendKind) -> Run {
    play_with(sample, backend, |_| ())
}

/// With the job changed before it runs.
pub fn play_with(sample: &str, backend: BackendKind, change: impl FnOnce(&mut JobGraph)) -> Run {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("samples")
        .join(sample);
    let mut job = project::check(&path).unwrap();
    change(&mut job);
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
pub fn sums(run: &Run) -> BTreeMap<String, Decimal> {
    let rows = run.view().subtasks.iter().flat_map(|subtask| &subtask.rows);
    rows.map(|(key, row)| (key.to_string(), row.value))
        .collect()
}

pub fn labelled<const N: usize>(rows: [(&str, &str); N]) -> BTreeMap<String, Decimal> {
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

/// Breaks if the two backends behave differently in anything that is recorded, but for a database's files.
#[test]
fn heap_and_rocksdb_give_the_same_events() {
    for sample in [
        "odd-even.ron",
        "two-sources.ron",
        "weather.ron",
        "at-least-once.ron",
        "unaligned.ron",
        "aligned-timeout.ron",
        "backpressure.ron",
        "stop-the-world.ron",
    ] {
        let (heap, rocksdb) = (
            play(sample, BackendKind::Heap),
            play(sample, BackendKind::RocksDb),
        );
        let is_common = |event: &&TraceEvent| !matches!(event.kind, EventKind::Compacted { .. });
        let common = rocksdb.recording().events().iter().filter(is_common);
        assert!(heap.recording().events().iter().eq(common), "{sample}");
    }
}

fn visible(run: &Run, sink: &str) -> Vec<u64> {
    let plan = &run.recording().plan;
    let outputs = run.recording().outputs(run.view());
    let of_sink = outputs.filter(|(id, _)| plan.subtask(*id).uid.as_str() == sink);
    of_sink.map(|(_, record)| record.origin.offset).collect()
}

/// Breaks if the crash does not come between completion and commit, or if anything is lost or repeated by it.
#[test]
fn two_phase_commit_loses_nothing_between_completion_and_commit() {
    let run = play("two-phase-commit.ron", BackendKind::Heap);
    let view = run.view();
    assert_eq!((&view.job, view.restarts), (&JobStatus::Finished, 2));
    let events = run.recording().events();
    let at = |wanted: &dyn Fn(&EventKind) -> bool| {
        events.iter().position(|event| wanted(&event.kind)).unwrap()
    };
    let first = CheckpointId(1);
    let complete =
        at(&|it| matches!(it, EventKind::Completed { checkpoint } if *checkpoint == first));
    let down = at(&|it| matches!(it, EventKind::JobStatus(JobStatus::Restarting { .. })));
    let committed = at(&|it| matches!(it, EventKind::Committed { .. }));
    assert!(complete < down && down < committed);
    let failed = at(&|it| matches!(it, EventKind::CommitFailed { .. }));
    assert!(committed < failed);
    let mut offsets = visible(&run, "out");
    assert_eq!(offsets.len(), 30);
    offsets.sort_unstable();
    assert_eq!(offsets, (1..=30).collect::<Vec<_>>());
}

/// Breaks if the three sinks do not differ by exactly what the sample's note says.
#[test]
fn plain_or_transactional_shows_what_a_restart_does_to_each_sink() {
    let run = play("plain-or-transactional.ron", BackendKind::Heap);
    let view = run.view();
    assert_eq!((&view.job, view.restarts), (&JobStatus::Finished, 1));
    let table = &view.tables[&"upsert".into()];
    let repeated = visible(&run, "plain").len() - 30;
    assert_eq!(repeated, 9, "12 to 20 were out when the sum crashed");
    assert_eq!(visible(&run, "upsert").len(), 30 + repeated);
    assert_eq!((table.overwrites, table.went_back), (9, 2));
    let rows = table
        .rows
        .iter()
        .map(|(key, row)| (key.to_string(), row.value));
    let sums = labelled([("even", "240"), ("odd", "225")]);
    assert_eq!(rows.collect::<BTreeMap<_, _>>(), sums);
    let mut once = visible(&run, "transactional");
    once.sort_unstable();
    assert_eq!(once, (1..=30).collect::<Vec<_>>());
    let output = run.recording().ledger(view).output.unwrap();
    assert_eq!((output.zero, output.more), (0, repeated as u64));
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

/// What the windows of `windows.ron` must come to: every record but the late ones, which are every tenth of a. By window
/// (its last event time) and key.
fn windows_without_late_records() -> BTreeMap<(i64, String), u64> {
    let of_a = (0_u64..60).filter(|place| place % 10 != 9);
    let mut sums = BTreeMap::new();
    for place in of_a.chain(0..15) {
        let value = place + 1;
        let end_ms = i64::try_from(place / 5 * 500 + 499).unwrap();
        let key = if value % 2 == 0 { "even" } else { "odd" };
        *sums.entry((end_ms, key.to_owned())).or_insert(0) += value;
    }
    sums
}

/// Breaks if a late record counts, if one that is in time does not, if a crash fires a window with another result, or if
/// the source that has ended is waited for.
#[test]
fn windows_hold_what_is_in_time_and_drop_what_is_late() {
    for backend in BackendKind::ALL {
        let run = play("windows.ron", backend);
        let view = run.view();
        assert_eq!(view.job, JobStatus::Finished);
        let outputs = run.recording().outputs(view);
        let mut results = BTreeMap::new();
        for (_, record) in outputs {
            let key = record.key.clone().map(|key| key.to_string());
            let place = (record.event_time.0, key.unwrap());
            let value = u64::try_from(record.value).unwrap();
            let known = *results.entry(place).or_insert(value);
            assert_eq!(known, value, "what comes out again is the same");
        }
        assert_eq!(results, windows_without_late_records());
        let ledger = run.recording().ledger(view);
        let once = Tally {
            zero: 0,
            once: 69,
            more: 0,
        };
        assert_eq!((ledger.emitted, ledger.state), (75, Some(once)));
        assert_eq!(ledger.late, 6);

        let ends_of_b: Vec<_> = view.checkpoints[&CheckpointId(2)].finished.clone();
        assert_eq!(ends_of_b, run.recording().plan.subtasks_of(&"b".into()));
        let restored = run.recording().events().iter().filter_map(|event| {
            let restored = &event.kind;
            match restored {
                EventKind::JobStatus(JobStatus::Restoring { from }) => Some(*from),
                _ => None,
            }
        });
        assert_eq!(restored.collect::<Vec<_>>(), [Some(CheckpointId(2))]);
    }
}
