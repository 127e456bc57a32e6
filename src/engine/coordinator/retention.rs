//! Which checkpoints outlive their job (Flink: `CheckpointProperties`, `ExternalizedCheckpointRetention`).

use crate::engine::event::JobStatus;
use crate::model::Retention;

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEnd {
    Finished,
    Canceled,
    Failed,
    Suspended,
}

impl JobEnd {
    /// None: the job goes on.
    #[must_use]
    pub fn of(status: &JobStatus) -> Option<Self> {
        match status {
            JobStatus::Finished => Some(Self::Finished),
            JobStatus::Canceled => Some(Self::Canceled),
            JobStatus::Failed { .. } => Some(Self::Failed),
            JobStatus::Suspended => Some(Self::Suspended),
            JobStatus::Running | JobStatus::Restarting { .. } | JobStatus::Restoring { .. } => None,
        }
    }
}

/// Whether a checkpoint that was not subsumed stays after such an end.
#[must_use]
pub fn keeps(retention: Retention, end: JobEnd) -> bool {
    match (retention, end) {
        (Retention::NoExternalized, _)
        | (_, JobEnd::Finished)
        | (Retention::DeleteOnCancellation, JobEnd::Canceled | JobEnd::Suspended) => false,
        (Retention::DeleteOnCancellation, JobEnd::Failed)
        | (
            Retention::RetainOnCancellation,
            JobEnd::Canceled | JobEnd::Failed | JobEnd::Suspended,
        ) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flink's table, row by row: finished, canceled, failed, suspended.
    #[test]
    fn the_table_is_flinks() {
        let ends = [
            JobEnd::Finished,
            JobEnd::Canceled,
            JobEnd::Failed,
            JobEnd::Suspended,
        ];
        let row = |retention| ends.map(|end| keeps(retention, end));
        assert_eq!(row(Retention::NoExternalized), [false; 4]);
        assert_eq!(
            row(Retention::DeleteOnCancellation),
            [false, false, true, false]
        );
        assert_eq!(
            row(Retention::RetainOnCancellation),
            [false, true, true, true]
        );
    }
}
