//! What a subtask stands still for: the synchronous part of its snapshots, by backend and settings.

use std::collections::BTreeMap;

use lockgate::engine::event::EventKind;
use lockgate::model::{
    BackendKind, JobGraph, Record, SubtaskId, TimerService, WindowAggregate, validate,
};
use proptest::prelude::*;

use crate::rig::{Rig, Source, sum_job, with_backend};
use crate::windows::{on_time, source, window_job};

fn windows() -> JobGraph {
    let sources = [source(40, 60, on_time()), source(25, 40, on_time())];
    let mut job = window_job(&sources, (9, WindowAggregate::Sum), 2);
    job.config.checkpointing.interval_ms = Some(150);
    job.config.backend = BackendKind::RocksDb;
    // Such that 13 bytes of a window's timer show.
    job.config.costs.snapshot_async_us_per_kib = 7_000;
    job
}

fn run(job: &JobGraph) -> Rig {
    assert_eq!(validate(job), []);
    let mut rig = Rig::new(job);
    rig.run_to_end();
    rig
}

/// What the sinks have let out, in no order.
fn outputs(rig: &Rig) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    let told = |record: &Record| format!("{:?} {}", record.key, record.value);
    for (_, record) in rig.recording.outputs(rig.view()) {
        *counts.entry(told(record)).or_default() += 1;
    }
    counts
}

/// How long each snapshot's synchronous part was, in µs, and what was uploaded of what.
fn sync_parts(rig: &Rig) -> Vec<(SubtaskId, u64, u64, u64)> {
    let events = rig.recording.events().iter();
    events
        .filter_map(|event| match event.kind {
            EventKind::SnapshotStarted {
                subtask,
                sync_until_us,
                size_bytes,
                upload_bytes,
                ..
            } => Some((
                subtask,
                sync_until_us - event.at_us,
                size_bytes,
                upload_bytes,
            )),
            _ => None,
        })
        .collect()
}

/// Timers on the heap are written in the synchronous part, which is so much longer; the result is the same. Breaks if they
/// cost nothing, if they are counted with the rest or for those that have none, or if one of them is forgotten.
#[test]
fn timers_on_the_heap_are_written_synchronously() {
    let in_database = run(&windows());
    let mut job = windows();
    job.config.state.timers = TimerService::Heap;
    let on_heap = run(&job);
    assert_eq!(outputs(&in_database), outputs(&on_heap));
    let usual_us = job.config.costs.snapshot_sync_us;
    let is_usual = |(_, length_us, size_bytes, upload_bytes): &(SubtaskId, u64, u64, u64)| {
        *length_us == usual_us && size_bytes == upload_bytes
    };
    assert!(sync_parts(&in_database).iter().all(is_usual));
    let windows = on_heap.subtasks("window");
    let mut seen = 0;
    for part in sync_parts(&on_heap) {
        let (subtask, length_us, size_bytes, upload_bytes) = part;
        if !windows.contains(&subtask) {
            assert!(is_usual(&part), "{part:?}");
            continue;
        }
        // A key of 5 bytes, a window of 16, a value of 16.
        let timers = size_bytes / 37;
        assert_eq!(upload_bytes - size_bytes, timers * 21);
        let written_us = job.config.costs.write_us(timers * 21);
        assert_eq!(length_us, usual_us + written_us);
        seen += timers;
    }
    assert!(seen > 20, "{seen} timers were snapshotted");
}

/// The old option of the heap: all is written in the synchronous part. Breaks if a subtask processes a record meanwhile,
/// or if what comes out is anything else.
#[test]
fn a_synchronous_heap_stands_still_for_the_whole_copy() {
    let sources = [Source::new(50, 60), Source::new(30, 40)];
    let mut job = sum_job(&sources, 5, 2);
    job.config.checkpointing.interval_ms = Some(200);
    let asynchronous = run(&job);
    job.config.state.asynchronous = false;
    let synchronous = run(&job);
    assert_eq!(asynchronous.sums("sum"), synchronous.sums("sum"));
    let costs = &job.config.costs;
    let sums = synchronous.subtasks("sum");
    let mut until_us = BTreeMap::new();
    let mut seen = 0;
    for event in synchronous.recording.events() {
        match &event.kind {
            EventKind::SnapshotStarted {
                subtask,
                sync_until_us,
                upload_bytes,
                ..
            } if sums.contains(subtask) => {
                let whole_us = costs.snapshot_sync_us
                    + costs.snapshot_async_us
                    + costs.write_us(*upload_bytes);
                assert_eq!(*sync_until_us, event.at_us + whole_us);
                until_us.insert(*subtask, *sync_until_us);
                seen += 1;
            }
            EventKind::StateChanged { subtask, .. } => {
                let still_us = until_us.get(subtask).copied().unwrap_or_default();
                assert!(event.at_us >= still_us, "{event:?}");
            }
            _ => {}
        }
    }
    assert!(seen > 4, "{seen} snapshots");
}

/// How many records `sum` processes between the beginning of each of its snapshots and the end of its writing.
fn records_while_writing(rig: &Rig) -> (usize, usize) {
    // By subtask that writes: when it has processed records since.
    let mut writing: BTreeMap<SubtaskId, Vec<u64>> = BTreeMap::new();
    let (mut snapshots, mut records) = (0, 0);
    let sums = rig.subtasks("sum");
    for event in rig.recording.events() {
        match &event.kind {
            EventKind::SnapshotStarted { subtask, .. } if sums.contains(subtask) => {
                writing.insert(*subtask, Vec::new());
                snapshots += 1;
            }
            EventKind::SnapshotWritten { subtask, .. } => {
                // One in the moment in which it ends is no longer meanwhile.
                let taken = writing.remove(subtask).unwrap_or_default();
                records += taken.iter().filter(|at_us| **at_us < event.at_us).count();
            }
            EventKind::StateChanged { subtask, .. } => {
                let taken = writing.get_mut(subtask);
                taken.into_iter().for_each(|taken| taken.push(event.at_us));
            }
            _ => {}
        }
    }
    (snapshots, records)
}

/// What the option costs, seen on one job: asynchronous, a subtask takes records while its state is written; synchronous,
/// none, and the window calls all of that time the synchronous part. Breaks if the asynchronous part blocks, or if the
/// option only changes what is told.
#[test]
fn an_asynchronous_heap_takes_records_meanwhile_and_a_synchronous_one_none() {
    // In the hot stream a record is always waiting.
    let mut job = sum_job(&[Source::new(200, 150)], 5, 2);
    job.config.checkpointing.interval_ms = Some(200);
    job.config.costs.snapshot_async_us = 100_000;
    let (snapshots, records) = records_while_writing(&run(&job));
    assert!(
        snapshots > 4 && records > 10,
        "{records} records in {snapshots} snapshots"
    );
    job.config.state.asynchronous = false;
    let synchronous = run(&job);
    let (snapshots, records) = records_while_writing(&synchronous);
    assert!(snapshots > 4, "{snapshots} snapshots");
    assert_eq!(records, 0);
    for checkpoint in synchronous.view().checkpoints.values() {
        for id in synchronous.subtasks("sum") {
            let Some(snapshot) = checkpoint.subtasks.get(&id) else {
                continue;
            };
            if let (Some(until_us), Some(written_us)) =
                (snapshot.sync_until_us, snapshot.written_us)
            {
                assert_eq!(until_us, written_us, "no asynchronous part is left");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5))]

    /// Law 31 with timers in either place, through crashes. Breaks if a restore loses a timer, or fires one again.
    #[test]
    fn crashes_change_nothing_wherever_timers_are(
        crashes in prop::collection::vec((0..2_u32, 20..120_usize), 0..3),
        incremental: bool,
        seed: u64,
    ) {
        let mut lives = Vec::new();
        let quiet = run(&with_backend(windows(), BackendKind::Heap)).sums("total");
        for timers in TimerService::ALL {
            let mut job = windows();
            job.config.seed = seed;
            job.config.state.timers = timers;
            job.config.state.incremental = incremental;
            let mut rig = Rig::new(&job);
            for (subtask, steps) in &crashes {
                for _ in 0..*steps {
                    rig.step();
                }
                rig.crash("window", *subtask);
                rig.restore();
            }
            rig.run_to_end();
            lives.push(rig.sums("total"));
        }
        prop_assert_eq!(&lives[0], &quiet);
        prop_assert_eq!(&lives[1], &quiet);
    }
}
