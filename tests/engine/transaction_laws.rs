//! Laws 24 to 26 whatever crashes, and what a plain and an upsert sink make of the same crash.

use std::collections::{BTreeMap, BTreeSet};

use lockgate::engine::event::{EventKind, JobStatus};
use lockgate::engine::plan::ExecutionGraph;
use lockgate::model::{
    CheckpointId, Command, Decimal, Fault, FaultKind, Key, Origin, Record, SinkKind, SplitId,
    SubtaskId, TransactionId, Uid,
};
use lockgate::recording::view::CheckpointStatus;
use lockgate::recording::{Recording, View};
use proptest::prelude::*;

use crate::rig::{Rig, Source, set_sink, sum_job, transactional};
use crate::transactions::{HOUR_MS, sink_job};

/// Reads the log alone, and keeps its own account of what is visible.
struct Oracle<'a> {
    plan: &'a ExecutionGraph,
    view: View,
    written: BTreeMap<TransactionId, Vec<Record>>,
    visible: BTreeSet<Origin>,
    /// Those whose commit failed, until it is repeated. Meanwhile later ones may be visible: all are tried.
    failed: BTreeSet<TransactionId>,
    /// By sink subtask and split.
    last: BTreeMap<(SubtaskId, SplitId), u64>,
}

impl Oracle<'_> {
    /// How far each split was read in `checkpoint`; a split that is missing was read to its end.
    fn offsets(&self, checkpoint: CheckpointId) -> BTreeMap<SplitId, u64> {
        let snapshots = self.view.checkpoints[&checkpoint].subtasks.values();
        snapshots
            .flat_map(|snapshot| snapshot.offsets.clone())
            .collect()
    }

    fn newest_completed(&self) -> Option<CheckpointId> {
        let mut checkpoints = self.view.checkpoints.values().rev();
        let completed = checkpoints.find(|it| it.status == CheckpointStatus::Completed);
        completed.map(|checkpoint| checkpoint.id)
    }

    fn on_commit(&mut self, sink: SubtaskId, id: TransactionId) {
        let newest = self.newest_completed();
        let bound = newest.map(|newest| self.offsets(newest));
        let is_repeated = self.failed.remove(&id);
        for record in self.written.remove(&id).unwrap_or_default() {
            let Origin { split, offset } = record.origin;
            assert!(self.visible.insert(record.origin), "{record:?} twice");
            let bound = bound.as_ref().unwrap();
            let bound = bound.get(&split).copied().unwrap_or(u64::MAX);
            assert!(offset <= bound, "{record:?} of no completed checkpoint");
            let last = self.last.entry((sink, split)).or_insert(0);
            assert!(*last < offset || is_repeated, "{record:?} out of order");
            *last = offset.max(*last);
        }
    }

    /// Every record of `checkpoint` is visible: then what is visible is a prefix.
    fn assert_all_of(&self, checkpoint: CheckpointId) {
        for (split, offset) in self.offsets(checkpoint) {
            for offset in 1..=offset {
                let origin = Origin { split, offset };
                assert!(self.visible.contains(&origin), "{origin:?} is missing");
            }
        }
    }

    fn read(&mut self, recording: &Recording) {
        let sinks: Vec<SubtaskId> = self.plan.subtasks_of(&Uid::new("out"));
        let mut restored = None;
        for event in recording.events() {
            if let Some((from, step)) = restored.filter(|(_, step)| *step != event.step) {
                // The deployment is over: it either committed all of the checkpoint, or failed.
                if self.view.job == JobStatus::Running && event.step > step {
                    self.assert_all_of(from);
                }
                restored = None;
            }
            let before = self.view.job.clone();
            self.view.apply(self.plan, event);
            match &event.kind {
                EventKind::Collected {
                    record,
                    transaction: Some(id),
                    ..
                } => self.written.entry(*id).or_default().push(record.clone()),
                EventKind::Committed {
                    subtask,
                    transaction,
                    again: false,
                } => self.on_commit(*subtask, *transaction),
                EventKind::TransactionAborted { transaction, .. } => {
                    self.written.remove(transaction);
                }
                EventKind::CommitFailed { transaction, .. } => {
                    self.failed.insert(*transaction);
                }
                EventKind::JobStatus(JobStatus::Running) => {
                    if let JobStatus::Restoring { from: Some(from) } = before {
                        restored = Some((from, event.step));
                    }
                }
                _ => {}
            }
            if sinks.len() == 1 && self.failed.is_empty() {
                self.assert_prefix();
            }
        }
    }

    /// With one sink subtask, at all times.
    fn assert_prefix(&self) {
        let mut counts: BTreeMap<SplitId, u64> = BTreeMap::new();
        for origin in &self.visible {
            *counts.entry(origin.split).or_default() += 1;
        }
        for ((_, split), last) in &self.last {
            assert_eq!(counts[split], *last, "{split:?} has a gap");
        }
    }
}

fn assert_laws(rig: &Rig) -> BTreeSet<Origin> {
    let plan = &rig.recording.plan;
    let mut oracle = Oracle {
        plan,
        view: View::new(plan, 0),
        written: BTreeMap::new(),
        visible: BTreeSet::new(),
        failed: BTreeSet::new(),
        last: BTreeMap::new(),
    };
    oracle.read(&rig.recording);
    let outputs = rig.recording.outputs(rig.view());
    let told: Vec<Origin> = outputs.map(|(_, record)| record.origin).collect();
    assert_eq!(told.len(), oracle.visible.len());
    assert_eq!(told.into_iter().collect::<BTreeSet<_>>(), oracle.visible);
    oracle.visible
}

#[derive(Clone, Copy, Debug)]
enum Deed {
    Checkpoint,
    CrashSource,
    CrashSink(u32),
    LoseTaskManager(u32),
    Restore,
    Inject(FaultKind, u32),
}

fn deed() -> impl Strategy<Value = Deed> {
    let fault = prop_oneof![
        Just(FaultKind::Commit),
        Just(FaultKind::SyncPart),
        Just(FaultKind::AsyncPart),
        Just(FaultKind::LoseNotification),
        Just(FaultKind::DelayNotification { by_ms: 150 }),
        Just(FaultKind::StorageSlow { by_ms: 150 }),
    ];
    prop_oneof![
        5 => Just(Deed::Checkpoint),
        1 => Just(Deed::CrashSource),
        1 => (0_u32..3).prop_map(Deed::CrashSink),
        1 => (0_u32..3).prop_map(Deed::LoseTaskManager),
        3 => Just(Deed::Restore),
        3 => (fault, 0_u32..3).prop_map(|(fault, subtask)| Deed::Inject(fault, subtask)),
    ]
}

fn act(rig: &mut Rig, deed: Deed) {
    match deed {
        Deed::Checkpoint => rig.checkpoint(),
        Deed::CrashSource => rig.crash("s0", 0),
        Deed::CrashSink(subtask) => rig.crash("out", subtask),
        Deed::LoseTaskManager(index) => rig.command(&Command::CrashTaskManager { index }),
        Deed::Restore => {
            if matches!(rig.view().job, JobStatus::Restarting { .. }) {
                rig.restore();
            }
        }
        Deed::Inject(kind, subtask) => {
            let uid = Uid::new("out");
            let fault = Fault { kind, uid, subtask };
            rig.command(&Command::Inject(fault));
        }
    }
}

/// Until the job has finished; it is down at most as often as faults are armed.
fn finish(rig: &mut Rig) {
    for _ in 0..40 {
        if matches!(rig.view().job, JobStatus::Restarting { .. }) {
            rig.restore();
        }
        for _ in 0..100_000 {
            if rig.view().job.is_terminal()
                || matches!(rig.view().job, JobStatus::Restarting { .. })
                || !rig.step()
            {
                break;
            }
        }
        if rig.view().job == JobStatus::Finished {
            return;
        }
    }
    panic!("the job does not end: {:?}", rig.view().job);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Law 24 breaks if a transaction is committed twice, if a record is written into two that are committed, or if one
    /// that is filed is forgotten. Law 25 breaks if anything is committed at its pre-commit, or with a checkpoint that
    /// was not completed. Law 26 breaks if an aborted checkpoint takes its transaction along.
    #[test]
    fn what_is_committed_is_a_prefix_and_nothing_is_committed_twice(
        deeds in prop::collection::vec((0_usize..60, deed()), 1..24),
        sources in prop::collection::vec((20_u32..80, 5_u64..40, 1_u32..3), 1..4),
        sinks in 1_u32..4,
        seed in any::<u64>(),
        interval_ms in 60_u64..900,
    ) {
        let source = |(rate_per_s, end, parallelism): &(u32, u64, u32)| Source {
            rate_per_s: *rate_per_s,
            end: *end,
            parallelism: *parallelism,
        };
        let sources: Vec<Source> = sources.iter().map(source).collect();
        let mut job = sink_job(&sources, transactional(HOUR_MS), sinks);
        job.config.seed = seed;
        job.config.checkpointing.interval_ms = Some(interval_ms);
        job.config.checkpointing.tolerable_failed = 1000;
        job.config.checkpointing.max_concurrent = 1 + u32::from(seed % 2 == 0);
        let mut rig = Rig::new(&job);
        for (steps, deed) in deeds {
            for _ in 0..steps {
                rig.step();
            }
            act(&mut rig, deed);
        }
        finish(&mut rig);
        let visible = assert_laws(&rig);
        let all: u64 = sources.iter().map(|source| source.end).sum();
        prop_assert_eq!(visible.len() as u64, all);
        let output = rig.recording.ledger(rig.view()).output.unwrap();
        prop_assert_eq!((output.zero, output.once, output.more), (0, all, 0));
    }
}

/// The same job and the same crash, with another sink.
fn after_crash(kind: SinkKind, crashes: bool) -> Rig {
    let mut job = sum_job(&[Source::new(50, 40), Source::new(30, 20)], 3, 2);
    set_sink(&mut job, kind, 1);
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.state_changes >= 8);
    rig.checkpoint();
    rig.run_until(|view| !view.store.is_empty());
    rig.run_until(|view| view.state_changes >= 30);
    if crashes {
        rig.crash("sum", 1);
        rig.restore();
    }
    rig.run_to_end();
    rig
}

/// Breaks if a plain sink's output is rolled back, if its repetition is not counted, or if a transactional one's is
/// visible before its checkpoint.
#[test]
fn the_same_crash_repeats_a_plain_sinks_output_and_not_a_transactional_ones() {
    let plain = after_crash(SinkKind::Plain, true);
    let output = plain.recording.ledger(plain.view()).output.unwrap();
    assert!(output.more > 5, "{output:?}");
    assert_eq!((output.zero, output.once + output.more), (0, 60));
    let repeated = plain.recording.outputs(plain.view()).count() - 60;
    assert_eq!(repeated as u64, output.more, "each of them once more");

    let safe = after_crash(transactional(HOUR_MS), true);
    let output = safe.recording.ledger(safe.view()).output.unwrap();
    assert_eq!((output.zero, output.once, output.more), (0, 60, 0));
    assert_laws(&safe);
}

fn table(rig: &Rig) -> BTreeMap<Key, Decimal> {
    let rows = rig.view().tables[&Uid::new("out")].rows.iter();
    rows.map(|(key, row)| (key.clone(), row.value)).collect()
}

/// Breaks if a replayed write does not land in its key's place, or if the table does not survive the crash.
#[test]
fn an_upsert_sink_ends_with_the_table_of_a_run_without_failure() {
    let (calm, crashed) = (
        after_crash(SinkKind::Upsert, false),
        after_crash(SinkKind::Upsert, true),
    );
    assert_eq!(table(&crashed), table(&calm));
    assert_eq!(table(&crashed), crashed.sums("sum"));
    let [calm, crashed] = [calm, crashed].map(|rig| {
        let output = rig.recording.ledger(rig.view()).output.unwrap();
        assert_eq!((output.zero, output.once, output.more), (0, 60, 0));
        let table = &rig.view().tables[&Uid::new("out")];
        (table.writes, table.overwrites, table.went_back)
    });
    assert_eq!(calm, (60, 0, 0));
    let (writes, overwrites, went_back) = crashed;
    assert_eq!(writes, 60 + overwrites);
    assert!(overwrites > 5);
    assert!((1..=overwrites).contains(&went_back), "readers saw it");
}
