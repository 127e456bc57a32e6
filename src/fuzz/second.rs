//! A second life: what a run has left behind is taken up by a changed job.
//!
//! Other parallelisms, and where the snapshot is canonical another backend. What the laws need to know of the first life
//! is handed on as a [`Baseline`], read from its log.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::chance::Chance;
use super::history::{Baseline, History, Image, Story};
use super::laws;
use crate::engine::driver::{StartPoint, fit};
use crate::engine::event::{CheckpointKind, EventKind};
use crate::engine::plan::ExecutionGraph;
use crate::engine::storage::{
    CheckpointMetadata, CheckpointStorage, FileSystemStorage, StreamHandle,
};
use crate::model::{
    BackendKind, CheckpointId, ClaimMode, FailoverStrategy, JobGraph, Origin, Partitioning, Record,
    SavepointFormat, SplitId, TimerService, Uid, validate,
};

/// A job with the snapshot that it starts from.
pub struct SecondLife {
    pub job: JobGraph,
    pub start: StartPoint,
    pub baseline: Baseline,
    /// All of the snapshot, for whoever wants to start from it again: the run may delete what it claims.
    pub snapshot: CheckpointMetadata,
    /// What else the first run has left, which is none of the second's business.
    pub others: Vec<Left>,
}

/// A snapshot and where it lies.
pub type Left = (CheckpointId, Arc<dyn CheckpointStorage>);

/// The storage of the run, and of each savepoint by name.
pub type Places = (
    Arc<dyn CheckpointStorage>,
    BTreeMap<String, Arc<dyn CheckpointStorage>>,
);

/// One of the snapshots that `history` has left, taken up by a job that differs. None: it has left none of use.
///
/// # Errors
/// A sentence: the snapshot cannot be read, or does not fit.
pub fn of(history: &History, places: &Places) -> Option<Result<SecondLife, String>> {
    let mut chance = Chance::new(history.job.config.seed.wrapping_add(99));
    let mut others = left_behind(history, places);
    let chosen = chance.index(others.len());
    if others.is_empty() {
        return None;
    }
    let (checkpoint, storage) = others.remove(chosen);
    let story = history.checkpoints.get(&checkpoint)?;
    // Who had finished has left no state: it is nobody's then.
    if !story.finished.is_empty() {
        return None;
    }
    let job = changed(&mut chance, history.job, story);
    let start = StartPoint {
        storage: as_found(checkpoint, storage),
        checkpoint,
        claim: chance.one_of(&[ClaimMode::NoClaim, ClaimMode::Claim]),
        allow_non_restored_state: false,
    };
    Some(begin(history, story, (&job, others), start))
}

/// A checkpoint on the disk is opened as a person would, by its own folder.
fn as_found(
    checkpoint: CheckpointId,
    storage: Arc<dyn CheckpointStorage>,
) -> Arc<dyn CheckpointStorage> {
    let folder = storage
        .location()
        .map(|root| root.join(format!("chk-{checkpoint}")));
    match folder.and_then(|folder| FileSystemStorage::open_snapshot(&folder).ok()) {
        Some((opened, _)) => Arc::new(opened),
        None => storage,
    }
}

fn begin(
    history: &History,
    story: &Story,
    (job, others): (&JobGraph, Vec<Left>),
    start: StartPoint,
) -> Result<SecondLife, String> {
    let metadata = start.storage.read_metadata(start.checkpoint);
    let mut snapshot = metadata.map_err(|error| error.to_string())?;
    let job = fit::adapt(job, &snapshot)?;
    for stream in snapshot.streams_mut() {
        let bytes = start.storage.read_stream(stream);
        *stream = StreamHandle::Inline(bytes.map_err(|error| error.to_string())?.into());
    }
    let baseline = baseline(history, story, (&job, start.checkpoint));
    Ok(SecondLife {
        job,
        start,
        baseline,
        snapshot,
        others,
    })
}

/// Snapshots that are complete and were not deleted.
fn left_behind(history: &History, (storage, savepoints): &Places) -> Vec<Left> {
    let mut left: BTreeMap<CheckpointId, Arc<dyn CheckpointStorage>> = BTreeMap::new();
    let mut is_torn = false;
    for event in history.events {
        match &event.kind {
            EventKind::Completed { checkpoint } => {
                let story = history.checkpoints.get(checkpoint);
                if story.is_some_and(|story| !story.kind.is_savepoint()) {
                    left.insert(*checkpoint, storage.clone());
                }
            }
            EventKind::SavepointStored { checkpoint, name } => {
                if let Some(storage) = savepoints.get(name) {
                    left.insert(*checkpoint, storage.clone());
                }
            }
            EventKind::Subsumed { checkpoint } | EventKind::DiscardedAtEnd { checkpoint } => {
                left.remove(checkpoint);
            }
            EventKind::FaultStruck { fault } => {
                is_torn |= fault.kind == crate::model::FaultKind::TornWrite;
            }
            _ => {}
        }
    }
    // Which one is damaged is told to nobody.
    if is_torn {
        left.clear();
    }
    left.into_iter().collect()
}

/// The same graph with other parallelisms, and a script of its own.
fn changed(chance: &mut Chance, job: &JobGraph, story: &Story) -> JobGraph {
    let mut changed = job.clone();
    for vertex in &mut changed.vertices {
        let max = vertex.effective_max_parallelism().min(3);
        let gets_all = job
            .inputs_of(&vertex.uid)
            .any(|edge| edge.partitioning == Partitioning::Broadcast);
        if chance.percent(60) && !gets_all {
            vertex.parallelism = chance.small(1, max);
        }
        // Such costs name subtasks that may be gone.
        vertex.costs.only_subtask = None;
    }
    // Both ends of a forward edge change together.
    for _ in 0..changed.vertices.len() {
        for edge in &job.edges {
            let from = changed.vertex(&edge.from).map(|from| from.parallelism);
            let to = changed.vertices.iter_mut().find(|to| to.uid == edge.to);
            if let (Partitioning::Forward, Some(from), Some(to)) = (edge.partitioning, from, to) {
                to.parallelism = from;
            }
        }
    }
    changed.config.failover = FailoverStrategy::Full;
    changed.script.clear();
    super::generate::write_script(chance, &mut changed);
    let canonical = CheckpointKind::Savepoint(SavepointFormat::Canonical);
    // Timers in a database stay there, unless the snapshot has them by itself.
    if story.kind == canonical || changed.config.state.timers == TimerService::Heap {
        // Drawn apart, so that no other draw becomes another one.
        let mut apart = Chance::new(job.config.seed.wrapping_add(100));
        changed.config.state.timers = apart.one_of(&TimerService::ALL);
    }
    if story.kind == canonical && chance.percent(10) {
        changed.config.backend = match changed.config.backend {
            BackendKind::Heap => BackendKind::RocksDb,
            BackendKind::RocksDb => BackendKind::Heap,
        };
    }
    // How often a broadcast record counts follows from the parallelism of those who get it.
    let is_same = |edge: &crate::model::Edge| {
        let parallelism = |job: &JobGraph| job.vertex(&edge.to).map(|to| to.parallelism);
        edge.partitioning != Partitioning::Broadcast || parallelism(job) == parallelism(&changed)
    };
    if validate(&changed).is_empty() && job.edges.iter().all(is_same) {
        changed
    } else {
        // Two forward edges that meet, say. Unchanged, it is a job still.
        let mut same = job.clone();
        same.config.failover = FailoverStrategy::Full;
        same.script.clear();
        same
    }
}

/// What the first life had captured for `checkpoint`, by operator, in the terms of the second one's plan.
fn baseline(
    history: &History,
    story: &Story,
    (job, checkpoint): (&JobGraph, CheckpointId),
) -> Baseline {
    let plan = ExecutionGraph::of(job);
    let new_split = |old: SplitId| -> SplitId {
        let old = history.plan.split(old);
        let new = plan.splits_of(&old.uid).find(|new| new.index == old.index);
        new.map_or(SplitId(u32::MAX), |new| new.id)
    };
    let renumber = |origin: Origin| Origin {
        split: new_split(origin.split),
        offset: origin.offset,
    };
    let mut images: BTreeMap<Uid, Image> = BTreeMap::new();
    for index in story.captures.values() {
        let capture = &history.captures[*index];
        let uid = history.plan.subtask(capture.subtask).uid.clone();
        let image = images.entry(uid).or_default();
        let old = &capture.image;
        let offsets = old.offsets.iter();
        let offsets = offsets.map(|(split, offset)| (new_split(*split), *offset));
        image.offsets.extend(offsets);
        let cells = old.cells.iter();
        let cells = cells.map(|(cell, value)| (cell.clone(), *value));
        image.cells.extend(cells);
        image.entries.extend(old.entries.clone());
        let listed = old.listed.iter().cloned();
        image.listed.extend(listed.map(|record| Record {
            origin: renumber(record.origin),
            ..record
        }));
        image.seen.extend(old.seen.iter().copied().map(renumber));
    }
    let sinks = history.job.vertices.iter().filter(|old| old.is_sink());
    let written = sinks.map(|old| {
        let taken = laws::taken_by(history, story, &old.uid).into_iter();
        let renumbered = taken.map(|(origin, count)| (renumber(origin), count));
        (old.uid.clone(), renumbered.collect())
    });
    let written = written.collect();
    let old = history.job.vertices.iter();
    let parallelism = old.map(|old| (old.uid.clone(), old.parallelism as usize));
    Baseline {
        checkpoint,
        triggered_ms: history.at_us(story.triggered) / 1000,
        images,
        parallelism: parallelism.collect(),
        written,
        saved: laws::saved(history, story),
    }
}
