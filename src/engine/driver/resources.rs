//! What a driver needs from outside to run a job, and how it makes operators from it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::assign::{self, Assigned};
use super::fit;
use super::key_kinds::key_kind;
use super::places::told;
use crate::engine::coordinator::CompletedStore;
use crate::engine::event::ChannelSide;
use crate::engine::in_flight::{self, InFlight};
use crate::engine::operator::{
    CsvRow, Function, KeyedProcess, KeyedSum, Map, Operator, RuleFilter, Sink, Source, SourceFeed,
    Split, TwoPhaseCommit, Window,
};
use crate::engine::plan::{ExecutionGraph, SplitPlan, SubtaskPlan, to_u32};
use crate::engine::state::{BackendSetup, KeyedBackend, StateDescriptor, StateError, StateId};
use crate::engine::storage::CheckpointStorage;
use crate::model::{
    ChannelId, CheckpointId, ClaimMode, JobConfig, KeyExpr, KeyKind, OperatorSpec, Origin,
    Partitioning, Record, SinkKind, SinkSpec, Uid,
};

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

    /// The savepoint called so came to nothing, and its state is deleted: remove the empty place.
    fn drop_empty(&self, _name: &str) {}
}

/// One subtask's operator, ready to run.
pub struct Prepared {
    pub operator: Operator,
    /// It had finished before the checkpoint.
    pub finished: bool,
    /// Records at its inputs and outputs that the checkpoint holds: they go on first.
    pub in_flight: Vec<InFlight>,
}

/// Where state is read from, and whether it may be without operator.
#[derive(Clone, Copy)]
struct From<'a> {
    storage: &'a dyn CheckpointStorage,
    checkpoint: CheckpointId,
    allow_non_restored_state: bool,
}

impl Resources {
    /// All operators of `plan`, with the state of `checkpoint` in `storage`, or empty. `attempt` must be new for each
    /// call: working state of different attempts lies in different folders.
    ///
    /// The checkpoint may be of another job, as far as [`fit::check`] has nothing against it; `plan` must be made of the
    /// job that [`fit::adapt`] gives.
    ///
    /// # Errors
    /// A sentence: the checkpoint is torn or does not fit, or the working state cannot be made.
    pub fn prepare(
        &self,
        plan: &ExecutionGraph,
        setup: BackendSetup,
        attempt: u32,
        from: Option<(&dyn CheckpointStorage, CheckpointId)>,
    ) -> Result<Vec<Prepared>, String> {
        let allow_non_restored_state = self
            .start
            .as_ref()
            .is_some_and(|start| start.allow_non_restored_state);
        let from = from.map(|(storage, checkpoint)| From {
            storage,
            checkpoint,
            allow_non_restored_state,
        });
        self.prepare_from(plan, (setup, attempt), from)
    }

    fn prepare_from(
        &self,
        plan: &ExecutionGraph,
        (setup, attempt): (BackendSetup, u32),
        from: Option<From<'_>>,
    ) -> Result<Vec<Prepared>, String> {
        let Some(from) = from else {
            let fresh = |subtask| self.prepare_one((plan, subtask), (setup, attempt), None);
            return plan.subtasks.iter().map(fresh).collect();
        };
        let metadata = from
            .storage
            .read_metadata(from.checkpoint)
            .map_err(|error| error.to_string())?;
        fit::check(plan, setup.kind, &metadata, from.allow_non_restored_state)?;
        let in_flight = assign::in_flight(plan, &metadata, from.storage)?;
        let assigned = assign::assign(plan, &metadata);
        let prepare = |(subtask, assigned): (&SubtaskPlan, &Option<Assigned>)| {
            let state = assigned.as_ref().map(|assigned| (from.storage, assigned));
            let prepared = self.prepare_one((plan, subtask), (setup, attempt), state)?;
            let is_its = |in_flight: &&InFlight| {
                let channel = plan.channel(in_flight.channel);
                match in_flight.side {
                    ChannelSide::Input => channel.to == subtask.id,
                    ChannelSide::Output => channel.from == subtask.id,
                }
            };
            Ok(Prepared {
                in_flight: in_flight.iter().filter(is_its).cloned().collect(),
                ..prepared
            })
        };
        plan.subtasks.iter().zip(&assigned).map(prepare).collect()
    }

    /// The same for a restore: from `chosen`, which must be retained in `store`; else from the checkpoint that the run
    /// started from; else a fresh start.
    ///
    /// # Errors
    /// As for [`Resources::prepare`].
    pub fn prepare_restore(
        &self,
        (plan, setup, attempt): (&ExecutionGraph, BackendSetup, u32),
        store: &CompletedStore,
        chosen: Option<CheckpointId>,
    ) -> Result<(Option<CheckpointId>, Vec<Prepared>), String> {
        let start = self
            .start
            .as_ref()
            .map(|start| (&*start.storage, start.checkpoint));
        let is_own = |id| store.contains(id) && !store.is_start(id);
        let from = match chosen {
            None => start,
            Some(id) if is_own(id) => Some((&*self.storage, id)),
            // Released, it is not the run's to go back to: what came after it is not known any more.
            Some(id) if store.is_start(id) => start,
            Some(_) => return Err("it is not among the retained ones.".to_owned()),
        };
        let setup = BackendSetup {
            continues: chosen.is_some_and(is_own),
            ..setup
        };
        let id = from.map(|(_, id)| id);
        // A failover leaves out what has no operator; where a run could start at all, it can start again.
        let from = from.map(|(storage, checkpoint)| From {
            storage,
            checkpoint,
            allow_non_restored_state: true,
        });
        let prepared = self.prepare_from(plan, (setup, attempt), from);
        prepared
            .map(|prepared| (id, prepared))
            .map_err(|error| told(&error, &*self.storage))
    }

    fn prepare_one(
        &self,
        (plan, subtask): (&ExecutionGraph, &SubtaskPlan),
        (setup, attempt): (BackendSetup, u32),
        state: Option<(&dyn CheckpointStorage, &Assigned)>,
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
                let own: Vec<Split> = own.collect();
                check_rows(plan, subtask, &own, (count, &feed))?;
                let source = Source::new(own, count, feed, spec.end);
                Operator::Source(source.with_event_time(spec.event_time.clone()))
            }
            OperatorSpec::KeyedSum(_) | OperatorSpec::KeyedProcess(_) | OperatorSpec::Window(_) => {
                let keyed = self.keyed_state(subtask, (setup, attempt), state)?;
                let kind = key_kind(plan, subtask);
                keyed_operator(&subtask.operator, keyed, kind).map_err(|error| {
                    let name = plan.subtask_name(subtask.id);
                    format!("{name} cannot begin: {error}.")
                })?
            }
            OperatorSpec::Map(spec) => Operator::Map(Map::new(*spec)),
            OperatorSpec::RuleFilter => {
                let rules = restored_records(state.map(|(_, state)| state), RuleFilter::LIST)?;
                Operator::RuleFilter(RuleFilter::new(rule_inputs(plan, subtask), rules))
            }
            OperatorSpec::Sink(SinkSpec {
                kind: SinkKind::Buffering { threshold },
            }) => {
                let buffer = restored_records(state.map(|(_, state)| state), Sink::BUFFER_LIST)?;
                Operator::Sink(Sink::buffering(*threshold, buffer))
            }
            OperatorSpec::Sink(spec) => {
                let lists = state.into_iter().flat_map(|(_, state)| &state.lists);
                let own = lists.filter(|list| list.name == TwoPhaseCommit::LIST);
                let elements = own.flat_map(|list| list.elements.iter().map(|bytes| &**bytes));
                Operator::Sink(Sink::new(spec.kind, elements))
            }
        };
        Ok(Prepared {
            operator,
            finished,
            in_flight: Vec::new(),
        })
    }

    /// The keyed state of a subtask: empty, or as it was.
    fn keyed_state(
        &self,
        subtask: &SubtaskPlan,
        (setup, attempt): (BackendSetup, u32),
        state: Option<(&dyn CheckpointStorage, &Assigned)>,
    ) -> Result<KeyedBackend, String> {
        let setup = BackendSetup { attempt, ..setup };
        let dir = self.dir.join(format!("state-{attempt}-{}", subtask.id));
        let (max, groups) = (subtask.max_parallelism, subtask.key_groups.clone());
        let state = match state {
            None => KeyedBackend::open(setup, &dir, max, groups),
            Some((storage, state)) => {
                let handles: Vec<_> = state.keyed.iter().collect();
                KeyedBackend::restore(setup, &dir, max, groups, &handles, storage)
            }
        };
        state.map_err(|error| {
            let name = &subtask.name;
            format!("The keyed state of {name} cannot be restored: {error}.")
        })
    }
}

/// A keyed operator over `state`, which may be restored.
fn keyed_operator(
    spec: &OperatorSpec,
    mut state: KeyedBackend,
    keys: Option<KeyKind>,
) -> Result<Operator, StateError> {
    if let Some(kind) = keys {
        state.check_keys(kind)?;
    }
    let key = spec.key().cloned().unwrap_or(KeyExpr::Column);
    let process = |function, state| {
        let process = KeyedProcess::new(key.clone(), (function, spec.ttl()), state)?;
        Ok(Operator::KeyedProcess(process))
    };
    match spec {
        OperatorSpec::KeyedProcess(spec) => process(Function::Of(spec.function), state),
        OperatorSpec::KeyedSum(spec) if spec.ttl.is_some() => process(Function::Sum, state),
        OperatorSpec::Window(spec) => {
            state.declare(StateDescriptor::new(StateId::Windows))?;
            let kind = (spec.size_ms, spec.aggregate);
            Ok(Operator::Window(Window::new(key, kind, state)))
        }
        _ => {
            state.declare(StateDescriptor::new(StateId::Sums))?;
            Ok(Operator::KeyedSum(KeyedSum { key, state }))
        }
    }
}

/// By input: whether it is on a broadcast edge.
fn rule_inputs(plan: &ExecutionGraph, subtask: &SubtaskPlan) -> Vec<bool> {
    let is_broadcast = |channel: &ChannelId| {
        let edge = plan.edges.get(plan.channel(*channel).edge);
        edge.is_some_and(|edge| edge.partitioning == Partitioning::Broadcast)
    };
    subtask.inputs.iter().map(is_broadcast).collect()
}

/// The records in the list `name`. Those of a source that is not there any more have no origin.
fn restored_records(state: Option<&Assigned>, name: &str) -> Result<Vec<Record>, String> {
    let Some(state) = state else {
        return Ok(Vec::new());
    };
    let lists = state.lists.iter().filter(|list| list.name == name);
    let mut records = Vec::new();
    for element in lists.flat_map(|list| &list.elements) {
        records.extend(in_flight::decode(element).map_err(|reason| {
            format!("The list “{name}” in the checkpoint cannot be read: {reason}. Take another checkpoint or savepoint.")
        })?);
    }
    for record in &mut records {
        record.origin = match state.splits.get(&record.origin.split) {
            Some(split) => Origin {
                split: *split,
                ..record.origin
            },
            None => Window::UNKNOWN,
        };
    }
    Ok(records)
}

/// How the keyed state of a job is kept. `is_stepped`: by the stepper.
#[must_use]
pub fn setup_of(config: &JobConfig, is_stepped: bool) -> BackendSetup {
    BackendSetup {
        kind: config.backend,
        options: config.state,
        is_stepped,
        continues: false,
        attempt: 0,
    }
}

/// A file has at least the rows that were read from it.
fn check_rows(
    plan: &ExecutionGraph,
    subtask: &SubtaskPlan,
    splits: &[Split],
    (count, feed): (u32, &SourceFeed),
) -> Result<(), String> {
    let SourceFeed::Csv(rows) = feed else {
        return Ok(());
    };
    let rows = rows.len() as u64;
    for split in splits {
        let has = rows
            .saturating_sub(split.index.into())
            .div_ceil(count.max(1).into());
        if split.offset > has {
            return Err(format!(
                "{} has read {} records of a split in the checkpoint, and in its CSV file there are {has}. Give it the file \
                 that it has read, or another uid to read this one from the beginning.",
                plan.subtask_name(subtask.id),
                split.offset,
            ));
        }
    }
    Ok(())
}

/// By split: how many of its records had been emitted.
fn restored_offsets(state: &Assigned) -> BTreeMap<u32, u64> {
    let lists = state.lists.iter().filter(|list| list.name == Source::LIST);
    let elements = lists.flat_map(|list| &list.elements);
    elements
        .filter_map(|element| Source::read_element(element))
        .collect()
}
