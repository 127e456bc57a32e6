//! Laws 10 and 32: how a run ends.

use std::collections::BTreeMap;

use super::multiplicity::{self, Tally};
use super::{History, Violation, violation};
use crate::engine::event::{CheckpointKind, EventKind, JobStatus, SubtaskStatus};
use crate::model::{
    CheckpointMode, Decimal, JobGraph, OperatorSpec, SplitId, SubtaskId, Uid, Vertex,
};

/// A stop-with-savepoint completed: the job ends before its data does.
pub(super) fn is_stopped(history: &History) -> bool {
    history.checkpoints.values().any(|story| {
        story.completed.is_some() && matches!(story.kind, CheckpointKind::StopWithSavepoint { .. })
    })
}

/// It stopped where it stood: its windows were left open for the next job.
pub(super) fn is_stopped_undrained(history: &History) -> bool {
    history.checkpoints.values().any(|story| {
        story.completed.is_some()
            && matches!(
                story.kind,
                CheckpointKind::StopWithSavepoint { drain: false, .. }
            )
    })
}

/// Breaks if a record is lost, or counted twice, by whatever happened on the way.
pub fn counted(history: &History) -> Vec<Violation> {
    if history.status != JobStatus::Finished {
        return Vec::new();
    }
    let at = history.events.len().saturating_sub(1);
    let mut found = Vec::new();
    let offsets = offsets(history);
    if !is_stopped(history) {
        for (split, wanted) in full_offsets(history) {
            let got = offsets.get(&split).copied().unwrap_or(0);
            if got != wanted {
                let name = history.plan.split_name(split);
                let text = format!("{name} ends after {got} records of {wanted}");
                found.push(violation(10, at, text));
            }
        }
    }
    let at_least = history.job.config.checkpointing.mode == CheckpointMode::AtLeastOnce;
    for vertex in history
        .job
        .vertices
        .iter()
        .filter(|v| v.operator.is_keyed())
    {
        if multiplicity::is_behind_window(history.job, &vertex.uid) {
            continue;
        }
        let expected = multiplicity::expected(history, &offsets, &vertex.uid);
        let mut actual = Tally::new();
        for id in history.plan.subtasks_of(&vertex.uid) {
            let seen = &history.tasks[id.index()].image.seen;
            multiplicity::add(&mut actual, seen.iter().copied(), 1);
        }
        if let Some(difference) = multiplicity::difference(&actual, &expected, at_least) {
            let what = format!("at {} in the end", vertex.name);
            let text = multiplicity::tell(history, &what, difference);
            found.push(violation(10, at, text));
        }
        if !at_least {
            found.extend(wrong_sums(history, vertex, &offsets, at));
        }
    }
    found
}

fn offsets(history: &History) -> BTreeMap<SplitId, u64> {
    let tasks = history.tasks.iter();
    let offsets = tasks.flat_map(|task| task.image.offsets.iter());
    offsets.map(|(split, offset)| (*split, *offset)).collect()
}

/// How many records each split of a bounded source has.
fn full_offsets(history: &History) -> Vec<(SplitId, u64)> {
    let full = |split: &crate::engine::plan::SplitPlan| {
        let vertex = history.job.vertex(&split.uid)?;
        let OperatorSpec::Source(spec) = &vertex.operator else {
            return None;
        };
        let after = spec.end?.saturating_sub(split.index.into());
        Some((split.id, after.div_ceil(split.count.into())))
    };
    history.plan.splits.iter().filter_map(full).collect()
}

/// The sums of a keyed sum that only maps and sources precede, computed without an engine.
fn wrong_sums(
    history: &History,
    vertex: &Vertex,
    offsets: &BTreeMap<SplitId, u64>,
    at: usize,
) -> Option<Violation> {
    let OperatorSpec::KeyedSum(spec) = &vertex.operator else {
        return None;
    };
    if spec.ttl.is_some() {
        return None;
    }
    let key = spec.key.as_ref()?;
    let mut expected: BTreeMap<crate::model::Key, Decimal> = BTreeMap::new();
    for (split, count) in offsets {
        let plan = history.plan.split(*split);
        let factors = factors(history.job, &plan.uid, &vertex.uid)?;
        for offset in 1..=*count {
            let position = (offset - 1) * u64::from(plan.count) + u64::from(plan.index);
            for factor in &factors {
                let record = crate::model::Record {
                    key: None,
                    value: Decimal::from(position + 1) * factor,
                    origin: crate::model::Origin {
                        split: *split,
                        offset,
                    },
                    event_time: crate::model::EventTime::NONE,
                };
                *expected.entry(key.key_of(&record)?).or_default() += record.value;
            }
        }
    }
    let subtasks = history.plan.subtasks_of(&vertex.uid);
    let cells = subtasks
        .iter()
        .flat_map(|id| &history.tasks[id.index()].image.cells);
    let actual: BTreeMap<_, _> = cells
        .map(|((_, key), value)| (key.clone(), *value))
        .collect();
    (actual != expected).then(|| {
        let text = format!("{} ends with other sums than its records have", vertex.name);
        violation(10, at, text)
    })
}

/// By what a value is multiplied on each way from a source to `to`. None: a keyed operator is in between.
fn factors(job: &JobGraph, from: &Uid, to: &Uid) -> Option<Vec<Decimal>> {
    let mut all = Vec::new();
    for edge in job.outputs_of(from) {
        let next = job.vertex(&edge.to)?;
        if next.uid == *to {
            all.push(Decimal::ONE);
            continue;
        }
        if multiplicity::times(job, &next.uid, to) == 0 {
            continue;
        }
        let OperatorSpec::Map(map) = &next.operator else {
            return None;
        };
        let copies = match edge.partitioning {
            crate::model::Partitioning::Broadcast => next.parallelism,
            _ => 1,
        };
        for rest in factors(job, &next.uid, to)? {
            for _ in 0..copies {
                all.push(rest * Decimal::from(map.factor));
            }
        }
    }
    Some(all)
}

/// A savepoint that drains the job is one of the end of all data.
fn undrained(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    for (id, story) in &history.checkpoints {
        let drains = matches!(
            story.kind,
            CheckpointKind::StopWithSavepoint { drain: true, .. }
        );
        if !drains || story.completed.is_none() {
            continue;
        }
        for (subtask, index) in &story.captures {
            let at = history.captures[*index].at;
            let step = history.events[at].step;
            let end = history.events.partition_point(|event| event.step <= step);
            let mut ended = false;
            for event in &history.events[..end] {
                match event.kind {
                    EventKind::SubtaskStatus {
                        subtask: it,
                        status,
                    } if it == *subtask => {
                        ended = status == SubtaskStatus::EndOfData;
                    }
                    _ => {}
                }
            }
            if !ended {
                let name = history.plan.subtask_name(*subtask);
                let text = format!(
                    "{name} is not at the end of its data in savepoint {id}, which drains it"
                );
                found.push(violation(32, at, text));
            }
        }
    }
    found
}

/// Breaks if subtasks finish before a checkpoint holds their last records, or if a drain does not end the data.
pub fn final_checkpoint(history: &History) -> Vec<Violation> {
    let mut found = undrained(history);
    let mut at_end = vec![None; history.plan.subtasks.len()];
    for (at, event) in history.events.iter().enumerate() {
        let EventKind::SubtaskStatus { subtask, status } = event.kind else {
            continue;
        };
        match status {
            SubtaskStatus::EndOfData => at_end[subtask.index()] = Some(event.step),
            SubtaskStatus::Finished => {
                let Some(since) = at_end[subtask.index()] else {
                    if !may_finish_early(history, (subtask, at)) {
                        let name = history.plan.subtask_name(subtask);
                        let text = format!("{name} finishes before the end of its data");
                        found.push(violation(32, at, text));
                    }
                    continue;
                };
                let confirmed = history.checkpoints.values().any(|story| {
                    let capture = story.captures.get(&subtask);
                    // A drain ends the data and takes the snapshot in one step.
                    let capture = capture.map(|index| &history.events[history.captures[*index].at]);
                    story.completed.is_some_and(|done| done < at)
                        && capture.is_some_and(|capture| capture.step >= since)
                });
                // Its inputs had finished, and the news of that came after its snapshot. A source would have read on.
                let is_source = history.plan.subtask(subtask).inputs.is_empty();
                let may_stop = !is_source && has_stopped(history, (subtask, at));
                if !confirmed && !may_stop {
                    let name = history.plan.subtask_name(subtask);
                    let text = format!("{name} finishes without a checkpoint of its end");
                    found.push(violation(32, at, text));
                }
            }
            _ => at_end[subtask.index()] = None,
        }
    }
    found
}

/// A savepoint that the job stops with is complete, or the subtask had finished before the checkpoint that it began from.
fn may_finish_early(history: &History, (subtask, at): (SubtaskId, usize)) -> bool {
    let restores = history.restores.iter();
    let mut own = restores.filter(|restore| restore.subtask == subtask && restore.at < at);
    let from = own.next_back().and_then(|restore| restore.from);
    let story = from.and_then(|from| history.checkpoints.get(&from));
    has_stopped(history, (subtask, at))
        || story.is_some_and(|story| story.finished.contains(&subtask))
}

/// A savepoint that the job stops with, and of which the subtask is part, is complete by then.
fn has_stopped(history: &History, (subtask, at): (SubtaskId, usize)) -> bool {
    history.checkpoints.values().any(|story| {
        matches!(story.kind, CheckpointKind::StopWithSavepoint { .. })
            && story.captures.contains_key(&subtask)
            && story.completed.is_some_and(|done| done < at)
    })
}
