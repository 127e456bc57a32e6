//! One message to the JobManager takes 10 MiB, and no setting changes that (Flink: `pekko.framesize`).

use std::sync::Arc;

use lockgate::engine::driver::live::{self, LiveOptions};
use lockgate::engine::driver::{Feeds, Resources};
use lockgate::engine::event::{AbortReason, EventKind, JobStatus};
use lockgate::engine::operator::CsvRow;
use lockgate::engine::plan::ExecutionGraph;
use lockgate::engine::storage::{self, MAX_FRAME_BYTES};
use lockgate::model::{
    CheckpointId, Command, CsvSpec, Decimal, JobGraph, Key, KeyExpr, OperatorSpec, ScriptEntry,
    SourceKind, StorageKind, Uid, When,
};
use lockgate::recording::view::CheckpointStatus;

use crate::rig::{Rig, Source, sum_job};

/// Each key takes so much: eleven of them are more than a message.
const KEY_BYTES: usize = 1 << 20;
const MIB: u32 = 1 << 20;
const ROWS: u32 = 20;

/// One row for each key, `1……`, `2……` …, as long as a key is.
fn rows() -> Arc<[CsvRow]> {
    let row = |number: u32| CsvRow {
        key: format!("{number}{}", "…".repeat(KEY_BYTES / "…".len())).into(),
        value: Decimal::from(u64::from(number)),
    };
    (1..=ROWS).map(row).collect()
}

/// rows → sum → out, in one subtask each.
fn job(storage: StorageKind) -> JobGraph {
    let mut job = sum_job(&[Source::new(10, ROWS.into())], 2, 1);
    for vertex in &mut job.vertices {
        match &mut vertex.operator {
            OperatorSpec::Source(source) => {
                source.kind = SourceKind::Csv(CsvSpec {
                    path: "rows.csv".into(),
                    key_column: "key".to_owned(),
                    value_column: "value".to_owned(),
                });
            }
            OperatorSpec::KeyedSum(sum) => sum.key = Some(KeyExpr::Column),
            _ => {}
        }
    }
    job.config.storage = storage;
    // More than a message takes: by this setting, all would be well.
    job.config.state.max_state_bytes = 64 * MIB;
    job.config.checkpointing.tolerable_failed = 1;
    job
}

fn give_rows(resources: &mut Resources, job: &JobGraph) {
    resources.feeds = Feeds::from([(Uid::new("s0"), rows())]);
    resources.storage = storage::open(&job.config, &resources.dir.join("checkpoints")).unwrap();
}

fn rig(job: &JobGraph) -> Rig {
    Rig::with_resources(job, |resources| give_rows(resources, job))
}

/// Take a checkpoint when so many keys are there, and see what becomes of it.
fn outcome(rig: &mut Rig, keys: u32) -> CheckpointStatus {
    rig.run_until(|view| view.state_changes >= keys);
    rig.checkpoint();
    let id = *rig.view().checkpoints.keys().next_back().unwrap();
    rig.run_until(|view| view.checkpoints[&id].status != CheckpointStatus::Pending);
    rig.view().checkpoints[&id].status
}

fn assert_sums_are_right(rig: &Rig) {
    let sums = rows()
        .iter()
        .map(|row| (Key::Text(row.key.clone()), row.value))
        .collect();
    assert!(rig.sums("sum") == sums);
}

fn is_about_the_message(reason: &str) -> bool {
    let limit = format!("one message to the JobManager takes at most {MAX_FRAME_BYTES}");
    reason.starts_with("the state of sum-0 is ") && reason.contains(&limit)
}

/// Breaks if only each stream is measured and not the message; if the checkpoint's failure is not counted, or fails the
/// job at once; or if the state that does not fit is confirmed all the same.
#[test]
fn what_does_not_fit_into_one_message_is_declined_whatever_the_heap_may_take() {
    let mut rig = rig(&job(StorageKind::JobManager));
    assert_eq!(outcome(&mut rig, 4), CheckpointStatus::Completed);
    let declined = CheckpointStatus::Aborted(AbortReason::AsyncException);
    assert_eq!(outcome(&mut rig, 11), declined);
    assert_eq!(rig.view().job, JobStatus::Running, "one is tolerated");
    assert_eq!(outcome(&mut rig, 11), declined);
    assert!(
        matches!(rig.view().job, JobStatus::Restarting { .. }),
        "two are not"
    );
    let reasons = rig
        .recording
        .events()
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::SnapshotFailed { reason, .. } => Some(reason.clone()),
            _ => None,
        });
    let reasons: Vec<String> = reasons.collect();
    assert_eq!(reasons.len(), 2);
    assert!(
        reasons.iter().all(|reason| is_about_the_message(reason)),
        "{reasons:?}"
    );
    assert_eq!(rig.storage.list().unwrap(), [CheckpointId(1)]);
    rig.restore();
    let from = Some(CheckpointId(1));
    assert_eq!(rig.view().job, JobStatus::Restoring { from });
    // It cannot finish: the final checkpoint does not fit, either. But all of the data is processed, once.
    let sum = rig.subtasks("sum")[0];
    rig.run_until(|view| view.subtasks[sum.index()].rows.len() == ROWS as usize);
    assert_sums_are_right(&rig);
}

/// The way out that the sentence names. Breaks if files count as part of the message.
#[test]
fn what_lies_in_files_is_no_part_of_the_message() {
    let storage = StorageKind::FileSystem {
        inline_threshold_bytes: 0,
    };
    let mut rig = rig(&job(storage));
    assert_eq!(outcome(&mut rig, 12), CheckpointStatus::Completed);
    rig.crash("sum", 0);
    rig.restore();
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    assert_sums_are_right(&rig);
}

/// The same in the live driver. Breaks if it does not tell why, or does not count it: none is tolerated here.
#[test]
fn a_live_job_declines_it_and_counts_it() {
    let mut job = job(StorageKind::JobManager);
    job.config.checkpointing.tolerable_failed = 0;
    job.script = vec![ScriptEntry {
        when: When::Processed {
            uid: Uid::new("sum"),
            subtask: 0,
            records: 12,
        },
        command: Command::Checkpoint,
    }];
    let dir = tempfile::tempdir().unwrap();
    let mut resources = Resources {
        feeds: Feeds::new(),
        storage: storage::open(&job.config, dir.path()).unwrap(),
        dir: dir.path().to_owned(),
        start: None,
        savepoints: None,
    };
    give_rows(&mut resources, &job);
    let plan = Arc::new(ExecutionGraph::of(&job));
    let outcome = live::run(&Arc::new(job), &plan, resources, LiveOptions::default()).unwrap();
    let JobStatus::Restarting { cause } = &outcome.status else {
        panic!("{:?}", outcome.status);
    };
    assert!(
        cause.starts_with("Exceeded checkpoint tolerable failure"),
        "{cause}"
    );
    let count = |wanted: fn(&EventKind) -> bool| {
        outcome
            .events
            .iter()
            .filter(|event| wanted(&event.kind))
            .count()
    };
    let told = count(
        |event| matches!(event, EventKind::SnapshotFailed { reason, .. } if is_about_the_message(reason)),
    );
    assert_eq!(told, 1);
    assert_eq!(
        count(|event| matches!(event, EventKind::Completed { .. })),
        0
    );
}
