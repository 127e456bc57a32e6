//! Law: a checkpoint contains the effect of exactly the records before its barrier on every channel.

use std::collections::{BTreeMap, BTreeSet};

use lockgate::engine::state::KeyedBackend;
use lockgate::model::{BackendKind, Decimal, JobGraph, Key, Origin};
use lockgate::recording::view::{CheckpointStatus, CheckpointView};
use proptest::prelude::*;

use crate::rig::{Rig, Source, sum_job, with_backend};

/// What a checkpoint counts, against the source offsets that it holds.
fn assert_cut(rig: &Rig, checkpoint: &CheckpointView) {
    let counted: Vec<Origin> = rig
        .subtasks("sum")
        .iter()
        .flat_map(|id| rig.recording.origins(checkpoint.subtasks[id].counted))
        .collect();
    let once: BTreeSet<Origin> = counted.iter().copied().collect();
    assert_eq!(
        once.len(),
        counted.len(),
        "a record counts twice in checkpoint {}",
        checkpoint.id
    );
    let mut before = BTreeSet::new();
    let snapshots = checkpoint.subtasks.values();
    for (split, offset) in snapshots.flat_map(|snapshot| snapshot.offsets.iter().copied()) {
        before.extend((1..=offset).map(|offset| Origin { split, offset }));
    }
    assert_eq!(once, before, "checkpoint {}", checkpoint.id);
}

/// What the storage really holds for a retained checkpoint: read back into a fresh backend.
fn stored_sums(rig: &Rig, checkpoint: &CheckpointView) -> BTreeMap<Key, Decimal> {
    let metadata = rig.storage.read_metadata(checkpoint.id).unwrap();
    let operator = metadata
        .operators
        .iter()
        .find(|operator| operator.uid.as_str() == "sum")
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut sums = BTreeMap::new();
    for (id, state) in rig.subtasks("sum").iter().zip(&operator.subtasks) {
        let plan = rig.recording.plan.subtask(*id);
        let Some(keyed) = &state.keyed else {
            assert!(state.finished, "{} has no state", plan.id);
            continue;
        };
        let backend = KeyedBackend::restore(
            metadata.backend,
            &dir.path().join(plan.index.to_string()),
            plan.max_parallelism,
            plan.key_groups.clone(),
            &[keyed],
            &*rig.storage,
        );
        sums.extend(backend.unwrap().entries().unwrap());
    }
    sums
}

fn job(sources: &[(u32, u64, u32)], modulus: u32, parallelism: u32) -> JobGraph {
    let source = |(rate_per_s, end, parallelism): &(u32, u64, u32)| Source {
        rate_per_s: *rate_per_s,
        end: *end,
        parallelism: *parallelism,
    };
    let sources: Vec<Source> = sources.iter().map(source).collect();
    sum_job(&sources, modulus, parallelism)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Breaks if a barrier is broadcast after the snapshot, if an input is not blocked, if a snapshot is taken before
    /// the last barrier, or if later changes leak into what is written (it is written long after the capture).
    #[test]
    fn a_checkpoint_is_a_consistent_cut(
        sources in prop::collection::vec((1_u32..200, 0_u64..60, 1_u32..3), 1..4),
        modulus in 1_u32..7,
        parallelism in 1_u32..4,
        every in 5_usize..120,
        seed in any::<u64>(),
        process_us in 0_u64..60_000,
        transfer_us in 0_u64..200_000,
        capacity in 1_u32..12,
    ) {
        let mut job = job(&sources, modulus, parallelism);
        job.config.seed = seed;
        job.config.costs.process_us = process_us;
        job.config.costs.transfer_us = transfer_us;
        job.config.channel_capacity = capacity;
        job.config.checkpointing.retained = 100;
        let mut rig = Rig::new(&job);
        let mut steps = 0;
        // Read as soon as it is there: a job that has finished deletes its checkpoints.
        let mut stored = BTreeMap::new();
        while rig.step() {
            steps += 1;
            if let Some(latest) = rig.view().store.last().copied() {
                let view = &rig.view().checkpoints[&latest];
                if view.finished.is_empty() {
                    stored.entry(latest).or_insert_with(|| stored_sums(&rig, view));
                }
            }
            if steps % every == 0 {
                rig.checkpoint();
            }
            prop_assert!(steps < 100_000, "the job does not end");
        }
        let mut complete = 0;
        for checkpoint in rig.view().checkpoints.values() {
            // A subtask that had finished has no part in a checkpoint: its records are no longer to be replayed.
            if checkpoint.status == CheckpointStatus::Completed && checkpoint.finished.is_empty() {
                assert_cut(&rig, checkpoint);
                let rows = checkpoint.subtasks.values().flat_map(|snapshot| snapshot.rows.clone());
                prop_assert_eq!(rows.collect::<BTreeMap<_, _>>(), stored[&checkpoint.id].clone());
                complete += 1;
            }
        }
        prop_assert!(complete > 0, "the final checkpoint at least is complete");
    }
}

/// The same on real RocksDB, once: the property above is about barriers, not about backends.
#[test]
fn a_checkpoint_in_rocksdb_is_a_consistent_cut() {
    let job = with_backend(job(&[(40, 60, 1), (15, 20, 2)], 5, 2), BackendKind::RocksDb);
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.at_us > 700_000);
    rig.checkpoint();
    rig.run_until(|view| !view.store.is_empty());
    let checkpoint = rig.view().checkpoints[&rig.view().store[0]].clone();
    assert_cut(&rig, &checkpoint);
    let rows = checkpoint
        .subtasks
        .values()
        .flat_map(|snapshot| snapshot.rows.clone());
    assert_eq!(
        rows.collect::<BTreeMap<_, _>>(),
        stored_sums(&rig, &checkpoint)
    );
}
