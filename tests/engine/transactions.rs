//! Two-phase commit: every row of what can go wrong, and the laws that hold whatever does.
//!
//! The commit protocol alone, call by call, is tested beside it (`operator/two_phase_commit/tests.rs`).

use lockgate::engine::event::{EventKind, JobStatus, TransactionEnd};
use lockgate::model::{
    CheckpointId, Command, Edge, Fault, FaultKind, JobGraph, Partitioning, RestartStrategy,
    SinkKind, Uid, validate,
};
use lockgate::recording::sink_view::SinkView;
use lockgate::recording::view::CheckpointStatus;

use crate::rig::{Rig, Source, set_sink, sum_job, transactional};

pub const HOUR_MS: u64 = 3_600_000;

/// Sources `s0`, `s1` … → `out`.
pub fn sink_job(sources: &[Source], kind: SinkKind, sinks: u32) -> JobGraph {
    let mut job = sum_job(sources, 2, 1);
    set_sink(&mut job, kind, sinks);
    job.vertices.retain(|vertex| vertex.uid.as_str() != "sum");
    let edge = |index| Edge {
        from: Uid::new(&format!("s{index}")),
        to: Uid::new("out"),
        partitioning: Partitioning::Rebalance,
    };
    job.edges = (0..sources.len()).map(edge).collect();
    assert_eq!(validate(&job), []);
    job
}

/// One source of 40 records at 40 per second, one sink.
pub fn small_job(timeout_ms: u64) -> JobGraph {
    let mut job = sink_job(&[Source::new(40, 40)], transactional(timeout_ms), 1);
    job.config.checkpointing.tolerable_failed = 5;
    job
}

pub fn sink(rig: &Rig) -> &SinkView {
    &rig.view().subtasks[rig.subtasks("out")[0].index()].sink
}

/// The offsets that readers see, in the order in which they came.
pub fn visible(rig: &Rig) -> Vec<u64> {
    let outputs = rig.recording.outputs(rig.view());
    outputs.map(|(_, record)| record.origin.offset).collect()
}

pub fn collected(rig: &mut Rig, records: u64) {
    let out = rig.subtasks("out")[0].index();
    rig.run_until(|view| view.subtasks[out].collected >= records);
}

fn decided(rig: &mut Rig, checkpoint: u64, wanted: fn(CheckpointStatus) -> bool) {
    rig.run_until(|view| {
        let view = view.checkpoints.get(&CheckpointId(checkpoint));
        view.is_some_and(|view| wanted(view.status))
    });
}

pub fn completed(rig: &mut Rig, checkpoint: u64) {
    decided(rig, checkpoint, |status| {
        status == CheckpointStatus::Completed
    });
}

pub fn aborted(rig: &mut Rig, checkpoint: u64) {
    decided(rig, checkpoint, |status| {
        matches!(status, CheckpointStatus::Aborted(_))
    });
}

pub fn committed(rig: &mut Rig, transactions: u64) {
    let out = rig.subtasks("out")[0].index();
    rig.run_until(|view| view.subtasks[out].sink.committed >= transactions);
}

pub fn inject(rig: &mut Rig, kind: FaultKind) {
    let uid = Uid::new("out");
    let fault = Fault {
        kind,
        uid,
        subtask: 0,
    };
    rig.command(&Command::Inject(fault));
}

pub fn down(rig: &mut Rig) {
    rig.run_until(|view| matches!(view.job, JobStatus::Restarting { .. }));
}

pub fn restored(rig: &mut Rig) {
    rig.restore();
    rig.run_until(|view| !matches!(view.job, JobStatus::Restoring { .. }));
}

/// What became of the sink's transactions, in short.
pub fn story(rig: &Rig) -> Vec<String> {
    let events = rig.recording.events().iter();
    let line = |event: &EventKind| {
        Some(match event {
            EventKind::TransactionBegun { transaction, .. } => format!("begin {transaction}"),
            EventKind::PreCommitted {
                transaction,
                checkpoint,
                ..
            } => format!("pre-commit {transaction} for {checkpoint}"),
            EventKind::Committed {
                transaction, again, ..
            } => format!("commit {transaction}{}", if *again { " again" } else { "" }),
            EventKind::CommitFailed { transaction, .. } => format!("no commit {transaction}"),
            EventKind::TransactionAborted {
                transaction, why, ..
            } => format!("abort {transaction} {why:?}"),
            EventKind::Declined { checkpoint, .. } => format!("{checkpoint} declined"),
            EventKind::JobStatus(JobStatus::Restarting { .. }) => "down".to_owned(),
            EventKind::JobStatus(JobStatus::Restoring { from }) => {
                format!("restore {}", from.map_or(0, |id| id.0))
            }
            _ => return None,
        })
    };
    events.filter_map(|event| line(&event.kind)).collect()
}

pub fn assert_each_once(rig: &Rig, records: u64) {
    assert_eq!(rig.view().job, JobStatus::Finished);
    assert_eq!(visible(rig), (1..=records).collect::<Vec<_>>());
    let output = rig.recording.ledger(rig.view()).output.unwrap();
    assert_eq!((output.zero, output.once, output.more), (0, records, 0));
}

/// No checkpoint on the way: the final one commits everything, and no transaction begins after it.
#[test]
fn the_last_transaction_commits_with_the_final_checkpoint() {
    let mut rig = Rig::new(&small_job(HOUR_MS));
    collected(&mut rig, 40);
    assert_eq!(visible(&rig), [0; 0], "nothing is visible before");
    let ledger = rig.recording.ledger(rig.view());
    assert_eq!((ledger.uncommitted, ledger.open.uncommitted), (40, 40));
    rig.run_to_end();
    assert_each_once(&rig, 40);
    assert_eq!(
        story(&rig),
        ["begin tx1", "pre-commit tx1 for 1", "commit tx1"]
    );
}

/// Row: while writing, before the snapshot. The task closes, and aborts what it had open.
#[test]
fn a_failure_while_writing_aborts_the_open_transaction() {
    let mut rig = Rig::new(&small_job(HOUR_MS));
    collected(&mut rig, 5);
    rig.checkpoint();
    committed(&mut rig, 1);
    let seen = visible(&rig).len();
    collected(&mut rig, 20);
    assert_eq!(visible(&rig).len(), seen);
    assert!(sink(&rig).waiting() > 5);
    rig.crash("out", 0);
    assert_eq!(sink(&rig).waiting(), 0);
    rig.restore();
    rig.run_to_end();
    assert_each_once(&rig, 40);
    assert_eq!(
        story(&rig)[3..9],
        [
            "commit tx1",
            "down",
            "abort tx2 TaskClosed",
            "restore 1",
            "commit tx1 again",
            "begin tx3"
        ]
    );
}

/// The same where nobody closes anything: the state's current transaction is aborted by the restored sink, and one that
/// no state knows is fenced.
#[test]
fn a_lost_task_manager_leaves_its_transactions_to_recovery_and_fencing() {
    let mut rig = Rig::new(&small_job(HOUR_MS));
    let lose = |rig: &mut Rig| {
        rig.command(&Command::CrashTaskManager { index: 0 });
        assert_eq!(sink(rig).uncommitted.len(), 1, "it stays open");
        restored(rig);
    };
    collected(&mut rig, 5);
    lose(&mut rig);
    assert_eq!(story(&rig)[3..], ["abort tx1 Fenced", "begin tx2"]);
    collected(&mut rig, 9);
    rig.checkpoint();
    committed(&mut rig, 1);
    lose(&mut rig);
    let end = &story(&rig)[9..];
    assert_eq!(
        end,
        [
            "restore 1",
            "commit tx2 again",
            "abort tx3 RecoverAndAbort",
            "begin tx4"
        ]
    );
    rig.run_to_end();
    assert_each_once(&rig, 40);
}

/// Row: preCommit throws. That is the synchronous part: the task fails, and its transaction is not committed.
#[test]
fn a_failing_pre_commit_fails_the_task_and_returns_to_the_checkpoint_before() {
    let mut rig = Rig::new(&small_job(HOUR_MS));
    collected(&mut rig, 5);
    rig.checkpoint();
    committed(&mut rig, 1);
    let seen = visible(&rig);
    inject(&mut rig, FaultKind::SyncPart);
    collected(&mut rig, 12);
    rig.checkpoint();
    down(&mut rig);
    assert_eq!(visible(&rig), seen);
    restored(&mut rig);
    let story = story(&rig);
    assert_eq!(
        story[4..],
        [
            "down",
            "abort tx2 TaskClosed",
            "restore 1",
            "commit tx1 again",
            "begin tx3"
        ]
    );
    rig.run_to_end();
    assert_each_once(&rig, 40);
}

/// Row: pre-committed, but the checkpoint never completes, and the job is alive.
#[test]
fn the_transaction_of_an_aborted_checkpoint_commits_with_the_next_one() {
    let mut rig = Rig::new(&small_job(HOUR_MS));
    collected(&mut rig, 5);
    inject(&mut rig, FaultKind::AsyncPart);
    rig.checkpoint();
    aborted(&mut rig, 1);
    collected(&mut rig, 10);
    assert_eq!(visible(&rig), [0; 0]);
    rig.checkpoint();
    committed(&mut rig, 2);
    assert_eq!(
        story(&rig),
        [
            "begin tx1",
            "pre-commit tx1 for 1",
            "begin tx2",
            "1 declined",
            "pre-commit tx2 for 2",
            "begin tx3",
            "commit tx1",
            "commit tx2"
        ]
    );
    rig.run_to_end();
    assert_each_once(&rig, 40);
}

/// Row: the same, then the job fails. The first such transaction is the one that was current in the checkpoint before,
/// so the restored sink aborts it; the next is known to no completed checkpoint: its time runs out. The records of both
/// are written again.
#[test]
fn a_transaction_that_no_checkpoint_knows_is_ended_by_its_timeout() {
    let mut job = small_job(900);
    job.config.checkpointing.interval_ms = Some(200);
    let mut rig = Rig::new(&job);
    completed(&mut rig, 1);
    committed(&mut rig, 1);
    inject(&mut rig, FaultKind::AsyncPart);
    inject(&mut rig, FaultKind::AsyncPart);
    aborted(&mut rig, 3);
    let [known, lost, _] = &sink(&rig).uncommitted[..] else {
        panic!("{:?}", story(&rig));
    };
    let (known, lost) = (known.id, lost.clone());
    assert_eq!(lost.pre_committed, Some(CheckpointId(3)));
    rig.crash("out", 0);
    restored(&mut rig);
    assert!(story(&rig).contains(&format!("abort {known} RecoverAndAbort")));
    let open: Vec<_> = sink(&rig).uncommitted.iter().map(|it| it.id).collect();
    assert_eq!(open[0], lost.id, "neither committed nor fenced");
    assert_eq!(open.len(), 2);
    let out = rig.subtasks("out")[0].index();
    rig.run_until(|view| {
        let ended = view.subtasks[out].sink.last_end;
        ended.is_some_and(|end| end.id == lost.id)
    });
    assert_eq!(rig.view().at_us, lost.timeout_us);
    assert_eq!(
        sink(&rig).last_end.unwrap().aborted,
        Some(TransactionEnd::TimedOut)
    );
    rig.run_to_end();
    assert_each_once(&rig, 40);
}

/// Row: complete, but nobody was told. The restored sink commits.
#[test]
fn a_crash_between_completion_and_commit_loses_nothing() {
    let mut rig = Rig::new(&small_job(HOUR_MS));
    collected(&mut rig, 8);
    rig.checkpoint();
    completed(&mut rig, 1);
    let written = sink(&rig).uncommitted[0].records.len();
    assert_eq!(visible(&rig), [0; 0]);
    rig.crash("out", 0);
    restored(&mut rig);
    assert_eq!(visible(&rig).len(), written);
    assert_eq!(
        story(&rig)[2..],
        [
            "begin tx2",
            "down",
            "abort tx2 TaskClosed",
            "restore 1",
            "commit tx1",
            "begin tx3"
        ]
    );
    rig.run_to_end();
    assert_each_once(&rig, 40);
}

/// The same without a crash: the news is lost, and the next completion brings it.
#[test]
fn a_lost_notification_delays_the_commit_to_the_next_completion() {
    let mut rig = Rig::new(&small_job(HOUR_MS));
    collected(&mut rig, 5);
    inject(&mut rig, FaultKind::LoseNotification);
    rig.checkpoint();
    completed(&mut rig, 1);
    collected(&mut rig, 15);
    assert_eq!(visible(&rig), [0; 0]);
    rig.checkpoint();
    committed(&mut rig, 2);
    rig.run_to_end();
    assert_each_once(&rig, 40);
}

/// Row: the commit throws. The task fails, and the restored one tries again.
#[test]
fn a_failed_commit_is_retried_after_the_restart() {
    let mut rig = Rig::new(&small_job(HOUR_MS));
    collected(&mut rig, 5);
    inject(&mut rig, FaultKind::Commit);
    inject(&mut rig, FaultKind::Commit);
    rig.checkpoint();
    for _ in 0..2 {
        down(&mut rig);
        assert_eq!(visible(&rig), [0; 0]);
        rig.restore();
    }
    committed(&mut rig, 1);
    let story = story(&rig);
    let failed = story.iter().filter(|line| *line == "no commit tx1").count();
    assert_eq!((failed, sink(&rig).failed_commits), (2, 2));
    rig.run_to_end();
    assert_each_once(&rig, 40);
}

/// A job that crashes between completion and commit, and is down for longer than its transactions live.
fn outage(ignore: bool) -> (Rig, Vec<u64>) {
    let mut job = small_job(600);
    job.config.restart = RestartStrategy::FixedDelay {
        attempts: 4,
        delay_ms: 1000,
    };
    job.config.checkpointing.interval_ms = Some(150);
    set_sink(
        &mut job,
        SinkKind::TwoPhaseCommit {
            transaction_timeout_ms: 600,
            ignore_failures_after_timeout: ignore,
        },
        1,
    );
    let mut rig = Rig::new(&job);
    completed(&mut rig, 2);
    let waiting = sink(&rig).uncommitted[0].clone();
    assert_eq!(waiting.pre_committed, Some(CheckpointId(2)));
    rig.crash("s0", 0);
    rig.run_until(|view| matches!(view.job, JobStatus::Restoring { .. }));
    let records = waiting.records.iter();
    (rig, records.map(|record| record.origin.offset).collect())
}

/// Row: a permanent failure. The job cannot begin again, however often it tries.
#[test]
fn a_transaction_that_timed_out_while_the_job_was_down_keeps_it_from_starting() {
    let (mut rig, _) = outage(false);
    for failures in 1..4 {
        down(&mut rig);
        let JobStatus::Restarting { cause } = &rig.view().job else {
            panic!("it is down");
        };
        assert!(cause.contains("time was over"), "{cause}");
        assert_eq!(sink(&rig).failed_commits, failures);
        rig.run_until(|view| matches!(view.job, JobStatus::Restoring { .. }));
    }
    rig.run_to_end();
    assert!(matches!(rig.view().job, JobStatus::Failed { .. }));
}

/// Row: the same, where that may be ignored (`ignoreFailuresAfterTransactionTimeout`): exactly those records are lost.
#[test]
fn or_its_records_are_lost_where_that_may_be_ignored() {
    let (mut rig, lost) = outage(true);
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    let kept = (1..=40).filter(|offset| !lost.contains(offset));
    assert_eq!(visible(&rig), kept.collect::<Vec<_>>());
    let output = rig.recording.ledger(rig.view()).output.unwrap();
    assert_eq!((output.zero, output.more), (lost.len() as u64, 0));
}

/// A timeout shorter than the time between checkpoints ends transactions in use.
#[test]
fn a_transaction_that_times_out_while_it_is_written_fails_the_task() {
    let mut rig = Rig::new(&small_job(300));
    down(&mut rig);
    let JobStatus::Restarting { cause } = &rig.view().job else {
        panic!("it is down");
    };
    assert!(cause.contains("transaction tx1 was aborted, because its time was over"));
    assert_eq!(story(&rig), ["begin tx1", "abort tx1 TimedOut", "down"]);
    assert_eq!(visible(&rig), [0; 0]);
}
