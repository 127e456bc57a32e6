//! Transactions over a longer time: the observed trace, savepoints, and jobs that start from one; and live.

use std::collections::BTreeSet;
use std::sync::Arc;

use lockgate::engine::driver::StartPoint;
use lockgate::engine::driver::live::{LiveOptions, LiveOutcome};
use lockgate::engine::event::{EventKind, JobStatus};
use lockgate::model::{
    CheckpointId, ClaimMode, Command, Fault, FaultKind, JobGraph, Origin, RestartStrategy,
    SavepointFormat, ScriptEntry, SinkKind, SplitId, Uid, When,
};

use crate::drivers::run_live;
use crate::rig::{MemorySavepoints, Rig, Source, expected_sums, set_sink, sum_job, transactional};
use crate::transactions::{
    HOUR_MS, aborted, assert_each_once, collected, committed, completed, down, inject, restored,
    sink, sink_job, small_job, story, visible,
};

const FORMAT: SavepointFormat = SavepointFormat::Canonical;

/// Flink 2.3 as observed, number by number: a declined checkpoint, a failing record, a failing commit.
#[test]
fn the_observed_trace() {
    let mut job = sink_job(&[Source::new(40, 160)], transactional(HOUR_MS), 1);
    job.config.checkpointing.tolerable_failed = 1;
    let mut rig = Rig::new(&job);
    let mut wanted = vec!["begin tx1".to_owned()];
    let mut take = |rig: &mut Rig, checkpoint: u64, transaction: u64, fault| {
        let so_far = rig.view().subtasks[rig.subtasks("out")[0].index()].collected;
        collected(rig, so_far + 3);
        if let Some(fault) = fault {
            inject(rig, fault);
        }
        rig.checkpoint();
        wanted.push(format!("pre-commit tx{transaction} for {checkpoint}"));
        wanted.push(format!("begin tx{}", transaction + 1));
        match fault {
            Some(FaultKind::AsyncPart) => {
                aborted(rig, checkpoint);
                wanted.push(format!("{checkpoint} declined"));
            }
            Some(_) => {
                down(rig);
                wanted.push(format!("no commit tx{transaction}"));
                wanted.push("down".to_owned());
                wanted.push(format!("abort tx{} TaskClosed", transaction + 1));
            }
            None => {
                if checkpoint == 7 {
                    wanted.push("commit tx6".to_owned());
                }
                wanted.push(format!("commit tx{transaction}"));
                rig.run_until(|view| view.store.contains(&CheckpointId(checkpoint)));
                let want = transaction - u64::from(transaction > 10);
                committed(rig, want);
            }
        }
    };
    for checkpoint in 1..=9 {
        let fault = (checkpoint == 6).then_some(FaultKind::AsyncPart);
        take(&mut rig, checkpoint, checkpoint, fault);
    }
    rig.crash("s0", 0);
    restored(&mut rig);
    for (checkpoint, transaction) in [(10, 11), (11, 12)] {
        take(&mut rig, checkpoint, transaction, None);
    }
    take(&mut rig, 12, 13, Some(FaultKind::Commit));
    restored(&mut rig);
    rig.run_to_end();
    assert_each_once(&rig, 160);
    let story = story(&rig);
    let place = story.iter().position(|line| line == "down");
    let (before, after) = story.split_at(place.unwrap());
    assert_eq!(before, &wanted[..before.len()]);
    assert_eq!(
        after[..6],
        [
            "down",
            "abort tx10 TaskClosed",
            "restore 9",
            "commit tx9 again",
            "begin tx11",
            "pre-commit tx11 for 10"
        ]
    );
    let end = after.iter().position(|line| line == "no commit tx13");
    assert_eq!(
        after[end.unwrap()..],
        [
            "no commit tx13",
            "down",
            "abort tx14 TaskClosed",
            "restore 12",
            "commit tx13",
            "begin tx15",
            "pre-commit tx15 for 13",
            "commit tx15"
        ]
    );
}

fn rig(job: &JobGraph) -> (Rig, Arc<MemorySavepoints>) {
    let savepoints = Arc::new(MemorySavepoints::default());
    let target = savepoints.clone();
    let rig = Rig::with_resources(job, |resources| resources.savepoints = Some(target));
    (rig, savepoints)
}

/// Row: a plain savepoint (law 27). It pre-commits, and commits nothing; the next checkpoint commits both.
#[test]
fn a_plain_savepoint_commits_nothing() {
    let (mut rig, _) = rig(&small_job(HOUR_MS));
    collected(&mut rig, 5);
    rig.command(&Command::Savepoint { format: FORMAT });
    completed(&mut rig, 1);
    collected(&mut rig, 15);
    assert_eq!(visible(&rig), [0; 0]);
    assert_eq!(sink(&rig).uncommitted.len(), 2);
    rig.checkpoint();
    committed(&mut rig, 2);
    assert_eq!(
        story(&rig)[..7],
        [
            "begin tx1",
            "pre-commit tx1 for 1",
            "begin tx2",
            "pre-commit tx2 for 2",
            "begin tx3",
            "commit tx1",
            "commit tx2"
        ]
    );
    rig.run_to_end();
    assert_each_once(&rig, 40);
}

/// A savepoint that the job stops with commits everything up to it (law 27): without drain what had begun after it is
/// aborted, and holds nothing; with drain nothing begins.
#[test]
fn stopping_with_a_savepoint_commits_everything_up_to_it() {
    for drain in [false, true] {
        let (mut rig, _) = rig(&small_job(HOUR_MS));
        collected(&mut rig, 5);
        rig.command(&Command::Savepoint { format: FORMAT });
        completed(&mut rig, 1);
        collected(&mut rig, 15);
        rig.command(&Command::StopWithSavepoint {
            format: FORMAT,
            drain,
        });
        rig.run_to_end();
        assert_eq!(rig.view().job, JobStatus::Finished);
        let emitted = rig.view().splits[0].offset;
        assert!((15..40).contains(&emitted));
        assert_eq!(visible(&rig), (1..=emitted).collect::<Vec<_>>());
        assert_eq!(sink(&rig).uncommitted, []);
        let end = if drain {
            "commit tx2"
        } else {
            "abort tx3 TaskClosed"
        };
        assert_eq!(story(&rig).last().unwrap(), end);
    }
}

/// The next job's outside system has never heard of the transactions in the savepoint: it commits and aborts them as
/// told, and gives none of their numbers to another, wherever they have gone.
#[test]
fn a_job_started_from_a_savepoint_with_another_parallelism_takes_its_transactions_over() {
    let mut job = sink_job(&[Source::new(40, 40)], transactional(HOUR_MS), 3);
    let (mut first, savepoints) = rig(&job);
    first.run_until(|view| view.at_us > 400_000);
    first.command(&Command::Savepoint { format: FORMAT });
    completed(&mut first, 1);
    let read = first.view().checkpoints[&CheckpointId(1)].subtasks.values();
    let read: u64 = read.filter_map(|snapshot| snapshot.offset).sum();
    let (_, name) = first.view().savepoints[0].clone();
    set_sink(&mut job, transactional(HOUR_MS), 2);
    let start = StartPoint {
        storage: savepoints.get(&name),
        checkpoint: CheckpointId(1),
        claim: ClaimMode::NoClaim,
        allow_non_restored_state: false,
    };
    let mut next = Rig::with_resources(&job, |resources| resources.start = Some(start));
    next.run_to_end();
    let story = story(&next);
    let all: BTreeSet<&String> = story
        .iter()
        .filter(|line| line.starts_with("commit"))
        .collect();
    assert!(all.len() >= 2, "{story:?}");
    let offsets: BTreeSet<u64> = visible(&next).into_iter().collect();
    assert_eq!(offsets, (read + 1..=40).collect());
    assert_eq!(visible(&next).len(), offsets.len());
    let mut begun = BTreeSet::new();
    for event in next.recording.events() {
        match &event.kind {
            EventKind::TransactionBegun { transaction, .. } => {
                assert!(begun.insert(*transaction), "{transaction:?} twice");
            }
            EventKind::Committed {
                transaction, again, ..
            } => {
                assert!(!again);
                let is_old = transaction.number == 1;
                assert_eq!(begun.contains(transaction), !is_old, "{transaction:?}");
            }
            _ => {}
        }
    }
}

fn origins(outcome: &LiveOutcome) -> Vec<Origin> {
    let records = outcome.collected.iter().flat_map(|sink| &sink.records);
    records.map(|record| record.origin).collect()
}

fn assert_committed_once(outcome: &LiveOutcome, sources: &[Source]) {
    let all = sources.iter().enumerate().flat_map(|(split, source)| {
        let split = SplitId(u32::try_from(split).unwrap());
        (1..=source.end).map(move |offset| Origin { split, offset })
    });
    let mut committed = origins(outcome);
    committed.sort_unstable();
    assert_eq!(committed, all.collect::<Vec<_>>());
}

fn live_job(sources: &[Source], kind: SinkKind) -> JobGraph {
    let mut job = sum_job(sources, 7, 3);
    set_sink(&mut job, kind, 2);
    job.config.checkpointing.interval_ms = Some(20);
    job.config.checkpointing.tolerable_failed = 1000;
    job.config.restart = RestartStrategy::FixedDelay {
        attempts: 100,
        delay_ms: 1,
    };
    job
}

fn processed(records: u64, command: Command) -> ScriptEntry {
    let when = When::Processed {
        uid: Uid::new("sum"),
        subtask: 1,
        records,
    };
    ScriptEntry { when, command }
}

const LIVE: [Source; 2] = [
    Source {
        rate_per_s: 40_000,
        end: 8_000,
        parallelism: 1,
    },
    Source {
        rate_per_s: 25_000,
        end: 5_000,
        parallelism: 1,
    },
];

/// Both drivers agree on what is committed: here, that it is everything, once. Breaks if a buffer misses the transaction
/// that its records belong to, or if a killed sink's records reach its successor.
#[test]
fn a_live_run_commits_what_the_stepper_commits() {
    let mut job = live_job(&LIVE, transactional(HOUR_MS));
    let fault = Fault {
        kind: FaultKind::Commit,
        uid: Uid::new("out"),
        subtask: 0,
    };
    let crash = |uid: &str| Command::Crash {
        uid: Uid::new(uid),
        subtask: 0,
    };
    job.script = vec![
        processed(800, crash("out")),
        processed(1_600, Command::Inject(fault)),
        processed(3_000, crash("s0")),
    ];
    let outcome = run_live(&job, LiveOptions::default());
    assert_eq!(outcome.status, JobStatus::Finished);
    assert_committed_once(&outcome, &LIVE);
    let count = |wanted: fn(&EventKind) -> bool| {
        let events = outcome.events.iter();
        events.filter(|event| wanted(&event.kind)).count()
    };
    let failed = count(|event| matches!(event, EventKind::CommitFailed { .. }));
    let ended = count(|event| matches!(event, EventKind::TransactionAborted { .. }));
    assert_eq!(failed, 1, "the fault has struck");
    assert!(ended >= 2, "the crashed sinks had transactions open");

    let small = LIVE.map(|source| Source {
        rate_per_s: source.rate_per_s / 100,
        end: source.end / 100,
        ..source
    });
    let mut rig = Rig::new(&live_job(&small, transactional(HOUR_MS)));
    rig.run_to_end();
    let live = run_live(
        &live_job(&small, transactional(HOUR_MS)),
        LiveOptions::default(),
    );
    let outputs = rig.recording.outputs(rig.view());
    let stepped: BTreeSet<Origin> = outputs.map(|(_, record)| record.origin).collect();
    assert_eq!(origins(&live).into_iter().collect::<BTreeSet<_>>(), stepped);
}

/// Breaks if the outside system of a live run has no clock, or if a write into what it has aborted goes unnoticed.
#[test]
fn a_live_transaction_that_times_out_fails_its_task() {
    let mut job = live_job(&LIVE, transactional(30));
    job.config.checkpointing.interval_ms = None;
    job.config.restart = RestartStrategy::NoRestart;
    let outcome = run_live(&job, LiveOptions::default());
    let JobStatus::Failed { cause } = &outcome.status else {
        panic!("{:?}", outcome.status);
    };
    assert!(cause.contains("its time was over"), "{cause}");
    assert_eq!(origins(&outcome), []);
}

#[test]
fn a_live_upsert_sink_ends_with_the_sums_through_a_crash() {
    let mut job = live_job(&LIVE, SinkKind::Upsert);
    set_sink(&mut job, SinkKind::Upsert, 1);
    job.script = vec![processed(
        1_500,
        Command::Crash {
            uid: Uid::new("sum"),
            subtask: 1,
        },
    )];
    let outcome = run_live(&job, LiveOptions::default());
    assert_eq!(outcome.status, JobStatus::Finished);
    let table = outcome.tables[&Uid::new("out")].iter();
    let table = table.map(|(key, record)| (key.clone(), record.value));
    assert_eq!(
        table.collect::<std::collections::BTreeMap<_, _>>(),
        expected_sums(&LIVE, 7)
    );
}
