//! The figures of Flink's checkpoint page, from what is recorded. Pure.

use crate::model::ClaimMode;
use crate::recording::view::{CheckpointStatus, CheckpointView, SnapshotView, StartView};

use super::super::super::figures::seconds;
use super::super::super::scene::Scene;

/// How many checkpoints there were (Flink: `CheckpointStatsCounts`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub triggered: usize,
    pub in_progress: usize,
    pub completed: usize,
    pub failed: usize,
    /// Restarts from a checkpoint.
    pub restored: usize,
}

impl Counts {
    #[must_use]
    pub fn of(scene: Scene<'_>) -> Self {
        let with = |wanted: fn(&CheckpointStatus) -> bool| {
            scene
                .checkpoints()
                .filter(|checkpoint| wanted(&checkpoint.status))
                .count()
        };
        // Those that came to nothing have no row in the history, but count.
        let refused = scene.view.refused_triggers as usize;
        Self {
            triggered: scene.view.checkpoints.len() + refused,
            in_progress: with(|status| *status == CheckpointStatus::Pending),
            completed: with(|status| *status == CheckpointStatus::Completed),
            failed: with(|status| matches!(status, CheckpointStatus::Aborted(_))) + refused,
            restored: scene.view.restarts as usize,
        }
    }
}

/// When the last acknowledgement came.
#[must_use]
pub fn latest_ack_us(checkpoint: &CheckpointView) -> Option<u64> {
    checkpoint
        .subtasks
        .values()
        .filter_map(|snapshot| snapshot.acknowledged_us)
        .max()
}

/// From the trigger to the last acknowledgement; of an aborted one, to its end. None: nobody has acknowledged.
#[must_use]
pub fn end_to_end_us(checkpoint: &CheckpointView) -> Option<u64> {
    let end_us = match checkpoint.status {
        CheckpointStatus::Aborted(_) => checkpoint.decided_us,
        CheckpointStatus::Pending | CheckpointStatus::Completed => latest_ack_us(checkpoint),
    };
    Some(end_us?.saturating_sub(checkpoint.triggered_us))
}

/// Data between first and last barriers, in bytes: what was processed, and what became part of the checkpoint.
#[must_use]
pub fn in_flight_bytes(checkpoint: &CheckpointView) -> (u64, u64) {
    let snapshots = checkpoint.subtasks.values();
    snapshots.fold((0, 0), |(processed, persisted), snapshot| {
        (
            processed + snapshot.processed_bytes,
            persisted + snapshot.persisted_bytes,
        )
    })
}

/// `started from · no-claim: it stays yours · not needed since 1.200 s`
#[must_use]
pub fn start_words(start: &StartView) -> String {
    match (start.claim, start.released_us) {
        (ClaimMode::Claim, _) => {
            "started from · claim: the run owns it, and deletes it when it is subsumed".to_owned()
        }
        (ClaimMode::NoClaim, None) => {
            "started from · no-claim: it stays yours; a failure would still restore it".to_owned()
        }
        (ClaimMode::NoClaim, Some(at_us)) => format!(
            "started from · no-claim: it stays yours, and is not needed since {}",
            seconds(at_us)
        ),
    }
}

/// One subtask's phases, as the page's subtask table has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_field_names,
    reason = "units come last in a name, and all of these are times"
)]
pub struct Phases {
    /// From the trigger to the first barrier.
    pub start_delay_us: Option<u64>,
    /// From the first barrier to the last.
    pub alignment_us: Option<u64>,
    pub sync_us: Option<u64>,
    pub async_us: Option<u64>,
    pub end_to_end_us: Option<u64>,
}

impl Phases {
    #[must_use]
    pub fn of(checkpoint: &CheckpointView, snapshot: &SnapshotView) -> Self {
        let between = |from: Option<u64>, to: Option<u64>| Some(to?.saturating_sub(from?));
        let triggered = Some(checkpoint.triggered_us);
        Self {
            start_delay_us: between(triggered, snapshot.first_barrier_us),
            alignment_us: snapshot.alignment_us(),
            sync_us: between(snapshot.captured_us, snapshot.sync_until_us),
            async_us: between(snapshot.sync_until_us, snapshot.written_us),
            end_to_end_us: between(triggered, snapshot.acknowledged_us),
        }
    }
}

/// The `p`-th percentile of sorted values, between two of them in proportion (as Flink's statistics library does).
#[must_use]
pub fn percentile(sorted: &[u64], p: f64) -> u64 {
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
        return 0;
    };
    let place = p / 100.0 * (sorted.len() as f64 + 1.0);
    if place < 1.0 {
        return *first;
    }
    let below = place.floor() as usize;
    match (sorted.get(below - 1), sorted.get(below)) {
        (Some(lower), Some(upper)) => {
            let share = place - place.floor();
            lower + ((upper - lower) as f64 * share).round() as u64
        }
        _ => *last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::CheckpointId;
    use crate::ui::fixture::two_sources;

    #[test]
    fn a_pending_checkpoint_is_in_progress() {
        let moment = two_sources();
        let counts = Counts::of(moment.scene());
        assert_eq!(
            (counts.triggered, counts.completed, counts.in_progress),
            (3, 2, 1)
        );
    }

    #[test]
    fn the_phases_of_a_snapshot_follow_each_other() {
        let moment = two_sources();
        let checkpoint = &moment.view.checkpoints[&CheckpointId(1)];
        let snapshot = checkpoint.subtasks.values().next().unwrap();
        let phases = Phases::of(checkpoint, snapshot);
        let sum = [
            phases.start_delay_us,
            phases.alignment_us,
            phases.sync_us,
            phases.async_us,
        ];
        let sum: u64 = sum.into_iter().flatten().sum();
        assert_eq!(Some(sum), phases.end_to_end_us);
        assert_eq!(end_to_end_us(checkpoint), Some(99_000));
    }

    #[test]
    fn percentiles_lie_between_the_values() {
        let values = [10, 20, 30, 40];
        assert_eq!(percentile(&values, 50.0), 25);
        assert_eq!(percentile(&values, 99.9), 40);
        assert_eq!(percentile(&values, 1.0), 10);
        assert_eq!(percentile(&[7], 90.0), 7);
        assert_eq!(percentile(&[], 90.0), 0);
    }

    #[test]
    fn the_row_of_the_start_says_whose_the_snapshot_is() {
        let mut start = StartView {
            checkpoint: CheckpointId(7),
            claim: ClaimMode::NoClaim,
            released_us: None,
        };
        assert!(start_words(&start).ends_with("a failure would still restore it"));
        start.released_us = Some(1_200_000);
        assert!(start_words(&start).ends_with("is not needed since 1.200 s"));
        start.claim = ClaimMode::Claim;
        assert!(start_words(&start).contains("the run owns it"));
    }
}
