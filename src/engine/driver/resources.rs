//! What a driver needs from outside to run a job, and how it makes operators from it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::engine::coordinator::CompletedStore;
use crate::engine::operator::{
    CsvRow, KeyedSum, Map, Operator, Sink, Source, SourceFeed, Split, Window,
};
use crate::engine::plan::{ExecutionGraph, SplitPlan, SubtaskPlan, to_u32};
use crate::engine::state::KeyedBackend;
use crate::engine::storage::{CheckpointMetadata, CheckpointStorage, SubtaskState};
use crate::model::{BackendKind, CheckpointId, ClaimMode, KeyExpr, OperatorSpec, Uid};

/// The rows of each CSV source, already read.
pub type Feeds = BTreeMap<Uid, Arc<[CsvRow]>>;

/// The outside world of one run.
#[derive(Clone)]
pub struct Resources {
    pub feeds: Feeds,
    pub storage: Arc<dyn CheckpointStorage>,
    /// A folder of this run alone, for working state.
    pub dir: PathBuf,
    /// The checkpoint of an earlier run that this one starts from.
    pub start: Option<StartPoint>,
    /// Where savepoints go; none: the job has no savepoint folder.
    pub savepoints: Option<Arc<dyn SavepointTarget>>,
}

/// A completed checkpoint (or a savepoint) of another run.
#[derive(Clone)]
pub struct StartPoint {
    pub storage: Arc<dyn CheckpointStorage>,
    pub checkpoint: CheckpointId,
    pub claim: ClaimMode,
    /// Leave out state of operators that this job does not have (Flink: `-n`, `--allowNonRestoredState`).
    pub allow_non_restored_state: bool,
}

/// A place where savepoints are made, each in a storage of its own.
pub trait SavepointTarget: Send + Sync {
    /// Make room for a savepoint called `name`, or called otherwise where that name is taken: what is there is never
    /// touched. Returns the name that it has.
    ///
    /// # Errors
    /// A sentence: the folder cannot be made.
    fn open(&self, name: &str) -> Result<(String, Arc<dyn CheckpointStorage>), String>;
}

/// One subtask's operator, ready to run.
pub struct Prepared {
    pub operator: Operator,
    /// It had finished before the checkpoint.
    pub finished: bool,
}

impl Resources {
    /// All operators of `plan`, with the state of `checkpoint` in `storage`, or empty. `attempt` must be new for each
    /// call: working state of different attempts lies in different folders.
    ///
    /// # Errors
    /// A sentence: the checkpoint is torn, belongs to another job or backend, or the working state cannot be made.
    pub fn prepare(
        &self,
        plan: &ExecutionGraph,
        backend: BackendKind,
        attempt: u32,
        from: Option<(&dyn CheckpointStorage, CheckpointId)>,
    ) -> Result<Vec<Prepared>, String> {
        let metadata = match from {
            None => None,
            Some((storage, checkpoint)) => {
                let metadata = storage
                    .read_metadata(checkpoint)
                    .map_err(|error| error.to_string())?;
                check_fit(plan, backend, &metadata)?;
                Some((storage, metadata))
            }
        };
        let prepare = |subtask: &SubtaskPlan| {
            let state = metadata
                .as_ref()
                .and_then(|(storage, metadata)| Some((*storage, state_of(metadata, subtask)?)));
            self.prepare_one((plan, subtask), backend, attempt, state)
        };
        plan.subtasks.iter().map(prepare).collect()
    }

    /// The same for a restore: from `chosen`, which must be retained in `store`; else from the checkpoint that the run
    /// started from; else a fresh start.
    ///
    /// # Errors
    /// As for [`Resources::prepare`], naming the other checkpoints that could be restored instead.
    pub fn prepare_restore(
        &self,
        (plan, backend, attempt): (&ExecutionGraph, BackendKind, u32),
        store: &CompletedStore,
        chosen: Option<CheckpointId>,
    ) -> Result<(Option<CheckpointId>, Vec<Prepared>), String> {
        let start = self
            .start
            .as_ref()
            .map(|start| (&*start.storage, start.checkpoint));
        let from = match chosen {
            None => start,
            Some(id) if store.is_start(id) => start,
            Some(id) if store.contains(id) => Some((&*self.storage, id)),
            Some(id) if start.is_some_and(|(_, first)| first == id) => start,
            Some(id) => return Err(format!("Checkpoint {id} is not among the retained ones.")),
        };
        let prepared = self.prepare(plan, backend, attempt, from);
        let id = from.map(|(_, id)| id);
        prepared
            .map(|prepared| (id, prepared))
            .map_err(|error| match id {
                Some(torn) => with_alternatives(torn, &error, store),
                None => error,
            })
    }

    fn prepare_one(
        &self,
        (plan, subtask): (&ExecutionGraph, &SubtaskPlan),
        backend: BackendKind,
        attempt: u32,
        state: Option<(&dyn CheckpointStorage, &SubtaskState)>,
    ) -> Result<Prepared, String> {
        let finished = state.is_some_and(|(_, state)| state.finished);
        let operator = match &subtask.operator {
            OperatorSpec::Source(spec) => {
                let feed = match self.feeds.get(&subtask.uid) {
                    Some(rows) => SourceFeed::Csv(rows.clone()),
                    None => SourceFeed::Sequence,
                };
                let splits: Vec<&SplitPlan> = plan.splits_of(&subtask.uid).collect();
                let count = to_u32(splits.len());
                let restored = state.map(|(_, state)| restored_offsets(state));
                let own = splits.iter().filter_map(|split| {
                    let offset = match &restored {
                        Some(offsets) => *offsets.get(&split.index)?,
                        None if split.index % subtask.parallelism == subtask.index => 0,
                        None => return None,
                    };
                    Some(Split {
                        id: split.id,
                        index: split.index,
                        offset,
                    })
                });
                let source = Source::new(own.collect(), count, feed, spec.end);
                Operator::Source(source.with_event_time(spec.event_time.clone()))
            }
            OperatorSpec::KeyedSum(spec) => {
                let state = self.keyed_state(subtask, (backend, attempt), state)?;
                let key = spec.key.clone().unwrap_or(KeyExpr::Column);
                Operator::KeyedSum(KeyedSum { key, state })
            }
            OperatorSpec::Window(spec) => {
                let state = self.keyed_state(subtask, (backend, attempt), state)?;
                let key = spec.key.clone().unwrap_or(KeyExpr::Column);
                let kind = (spec.size_ms, spec.aggregate);
                Operator::Window(Window::new(key, kind, state))
            }
            OperatorSpec::Map(spec) => Operator::Map(Map::new(*spec)),
            OperatorSpec::Sink(_) => Operator::Sink(Sink),
        };
        Ok(Prepared { operator, finished })
    }

    /// The keyed state of a subtask: empty, or as it was.
    fn keyed_state(
        &self,
        subtask: &SubtaskPlan,
        (backend, attempt): (BackendKind, u32),
        state: Option<(&dyn CheckpointStorage, &SubtaskState)>,
    ) -> Result<KeyedBackend, String> {
        let dir = self.dir.join(format!("state-{attempt}-{}", subtask.id));
        let (max, groups) = (subtask.max_parallelism, subtask.key_groups.clone());
        let handle = state.and_then(|(storage, state)| Some((storage, state.keyed.as_ref()?)));
        let state = match handle {
            None => KeyedBackend::open(backend, &dir, max, groups),
            Some((storage, handle)) => {
                KeyedBackend::restore(backend, &dir, max, groups, handle, storage)
            }
        };
        state.map_err(|error| error.to_string())
    }
}

/// By split: how many of its records had been emitted.
fn restored_offsets(state: &SubtaskState) -> BTreeMap<u32, u64> {
    let lists = state.lists.iter().filter(|list| list.name == Source::LIST);
    let elements = lists.flat_map(|list| &list.elements);
    elements
        .filter_map(|element| Source::read_element(element))
        .collect()
}

fn state_of<'a>(
    metadata: &'a CheckpointMetadata,
    subtask: &SubtaskPlan,
) -> Option<&'a SubtaskState> {
    let operator = metadata
        .operators
        .iter()
        .find(|operator| operator.uid == subtask.uid)?;
    operator.subtasks.get(subtask.index as usize)
}

/// What is wrong with a checkpoint, and which others there are.
fn with_alternatives(torn: CheckpointId, error: &str, store: &CompletedStore) -> String {
    let others = store.iter().rev().filter(|id| *id != torn);
    let list: Vec<String> = others.map(|id| id.to_string()).collect();
    let advice = match &list[..] {
        [] => "No other checkpoint is retained.".to_owned(),
        ids => format!(
            "Still retained: checkpoint {}. Restore that one.",
            ids.join(", ")
        ),
    };
    format!("Checkpoint {torn} cannot be restored: {error} {advice}")
}

/// A checkpoint fits a job when all its state finds its operator, at the same parallelism.
fn check_fit(
    plan: &ExecutionGraph,
    backend: BackendKind,
    metadata: &CheckpointMetadata,
) -> Result<(), String> {
    let id = metadata.checkpoint;
    if metadata.backend != backend {
        return Err(format!(
            "Checkpoint {id} was written by the {} backend, which {} cannot read. Start from the beginning, or \
             choose {} again.",
            metadata.backend.name(),
            backend.name(),
            metadata.backend.name()
        ));
    }
    for operator in &metadata.operators {
        let uid = &operator.uid;
        let Some(subtask) = plan.subtasks.iter().find(|subtask| subtask.uid == *uid) else {
            return Err(format!(
                "Checkpoint {id} holds state of operator {uid}, which this job does not have. Give an operator \
                 that uid, or start from the beginning."
            ));
        };
        let (old, new) = (operator.parallelism, subtask.parallelism);
        let (old_max, new_max) = (operator.max_parallelism, subtask.max_parallelism);
        if (old, old_max) != (new, new_max) {
            return Err(format!(
                "In checkpoint {id}, operator {uid} has parallelism {old} of at most {old_max}; in this job it has \
                 {new} of at most {new_max}. Set it back, or start from the beginning."
            ));
        }
    }
    Ok(())
}
