//! What is in a snapshot in a folder, and what a job can be that starts from it.

use std::path::Path;

use super::RunError;
use crate::engine::driver::fit;
use crate::engine::plan::ExecutionGraph;
use crate::engine::storage::{CheckpointMetadata, FileSystemStorage};
use crate::model::{BackendKind, CheckpointId, JobGraph, SavepointFormat, SnapshotKind};

/// A snapshot, looked into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotLook {
    pub checkpoint: CheckpointId,
    pub kind: SnapshotKind,
    pub backend: BackendKind,
    pub operators: Vec<OperatorLook>,
    /// What may be changed (Flink: the table of capabilities of checkpoints and savepoints).
    pub abilities: Vec<Ability>,
}

/// One operator's state in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorLook {
    pub name: String,
    pub uid: String,
    pub has_explicit_uid: bool,
    pub parallelism: u32,
    pub max_parallelism: u32,
    pub stored_bytes: u64,
}

/// Something that a job which starts from it may do otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ability {
    pub what: &'static str,
    /// Why not, as a sentence; none: it may.
    pub refused: Option<&'static str>,
}

impl SnapshotLook {
    /// Look into the folder `path`, or the `_metadata` file in it.
    ///
    /// # Errors
    /// A sentence: it is no snapshot, or damaged.
    pub fn into_folder(path: &Path) -> Result<Self, RunError> {
        let (_, metadata) = FileSystemStorage::open_snapshot(path)
            .map_err(|error| RunError(format!("{error}.")))?;
        Ok(Self::of(&metadata))
    }

    fn of(metadata: &CheckpointMetadata) -> Self {
        let operators = metadata.operators.iter().map(|operator| OperatorLook {
            name: operator.name.clone(),
            uid: operator.uid.to_string(),
            has_explicit_uid: operator.has_explicit_uid,
            parallelism: operator.parallelism,
            max_parallelism: operator.max_parallelism,
            stored_bytes: operator.stored_bytes(),
        });
        let in_flight = metadata
            .operators
            .iter()
            .flat_map(|operator| &operator.subtasks)
            .any(|subtask| !subtask.channels.is_empty());
        Self {
            checkpoint: metadata.checkpoint,
            kind: metadata.kind,
            backend: metadata.backend,
            operators: operators.collect(),
            abilities: abilities(metadata.kind, in_flight),
        }
    }
}

fn abilities(kind: SnapshotKind, in_flight: bool) -> Vec<Ability> {
    let is_canonical = kind.format() == Some(SavepointFormat::Canonical);
    let refused = |is_possible: bool, why| if is_possible { None } else { Some(why) };
    vec![
        Ability {
            what: "another backend",
            refused: refused(
                is_canonical,
                "Only a canonical savepoint is written the same for every backend.",
            ),
        },
        Ability {
            what: "another parallelism",
            refused: None,
        },
        Ability {
            what: "another graph",
            refused: refused(
                !in_flight,
                "It holds records in flight, which only find their channels in the same graph.",
            ),
        },
        Ability {
            what: "moving the folder",
            refused: refused(
                kind.is_savepoint(),
                "A checkpoint may refer to files elsewhere; a savepoint is complete in itself.",
            ),
        },
    ]
}

/// Whether `job` on `backend` can start from the snapshot at `path`.
///
/// # Errors
/// A sentence that says why not and what to do.
pub fn fits(
    path: &Path,
    job: &JobGraph,
    backend: BackendKind,
    allow_non_restored_state: bool,
) -> Result<(), RunError> {
    let (_, metadata) =
        FileSystemStorage::open_snapshot(path).map_err(|error| RunError(format!("{error}.")))?;
    let adapted = fit::adapt(job, &metadata).map_err(RunError)?;
    let plan = ExecutionGraph::of(&adapted);
    fit::check(&plan, backend, &metadata, allow_non_restored_state).map_err(RunError)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_canonical_savepoint_changes_the_backend() {
        let refused = |kind, in_flight| -> Vec<&str> {
            abilities(kind, in_flight)
                .into_iter()
                .filter(|ability| ability.refused.is_some())
                .map(|ability| ability.what)
                .collect()
        };
        let canonical = SnapshotKind::Savepoint(SavepointFormat::Canonical);
        assert_eq!(refused(canonical, false), Vec::<&str>::new());
        let native = SnapshotKind::Savepoint(SavepointFormat::Native);
        assert_eq!(refused(native, false), ["another backend"]);
        assert_eq!(
            refused(SnapshotKind::Checkpoint, true),
            ["another backend", "another graph", "moving the folder"]
        );
    }

    #[test]
    fn a_folder_that_is_no_snapshot_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let error = SnapshotLook::into_folder(folder.path()).unwrap_err();
        assert!(error.to_string().ends_with('.'), "{error}");
    }
}
