//! Laws 19 and 33: what a restart begins with.

use std::collections::BTreeMap;

use super::{History, Violation, violation};
use crate::fuzz::history::{Restore, Sent};
use crate::model::key_group::key_group;
use crate::model::{Partitioning, Record, SubtaskId};

/// Breaks if what changed after the synchronous part is in the snapshot, or if writing or reading loses something.
pub fn restored(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    for restore in &history.restores {
        let Some(expected) = &restore.expected else {
            continue;
        };
        let same = restore.got.holds_as(expected);
        if restore.from.is_some() && !same {
            let name = history.plan.subtask_name(restore.subtask);
            let text = format!(
                "{name} begins with {} keys and offsets {:?}; captured were {} and {:?}",
                restore.got.cells.len(),
                restore.got.offsets.values(),
                expected.cells.len(),
                expected.offsets.values()
            );
            found.push(violation(19, restore.at, text));
        }
    }
    found
}

/// Breaks if a record goes to a subtask that does not own its key, or state does.
pub fn owned(history: &History) -> Vec<Violation> {
    let mut found = rescaled(history);
    for lane in &history.lanes {
        let channel = history.plan.channel(lane.channel);
        let mut outputs = history.plan.subtask(channel.from).outputs.iter();
        let output = outputs.find(|output| output.channels.contains(&lane.channel));
        let Some(output) = output.filter(|it| it.partitioning == Partitioning::Hash) else {
            continue;
        };
        let receiver = history.plan.subtask(channel.to);
        let is_lost = |sent: &&Sent<Record>| {
            output.key.key_of(&sent.what).is_some_and(|key| {
                let group = key_group(&key, receiver.max_parallelism);
                !receiver.key_groups.contains(&group)
            })
        };
        if let Some(sent) = lane.records.iter().find(is_lost) {
            let name = history.plan.channel_name(lane.channel);
            let text = format!("{name} carries a record whose key is not the receiver's");
            found.push(violation(28, sent.sent, text));
        }
    }
    found
}

/// Breaks if a key group goes to a subtask that does not own it, or to none, or a split is lost or read twice.
fn rescaled(history: &History) -> Vec<Violation> {
    let Some(baseline) = &history.baseline else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (uid, old) in &baseline.images {
        let subtasks = history.plan.subtasks_of(uid);
        let first = |id: &SubtaskId| {
            let restores = history.restores.iter();
            restores.into_iter().find(|restore| restore.subtask == *id)
        };
        let restores: Vec<&Restore> = subtasks.iter().filter_map(first).collect();
        let Some(at) = restores.iter().map(|restore| restore.at).max() else {
            continue;
        };
        let mut cells = BTreeMap::new();
        let mut entries = BTreeMap::new();
        let mut listed = Vec::new();
        let mut offsets = Vec::new();
        for restore in &restores {
            let plan = history.plan.subtask(restore.subtask);
            for ((window, key), value) in &restore.got.cells {
                if !plan
                    .key_groups
                    .contains(&key_group(key, plan.max_parallelism))
                {
                    let name = history.plan.subtask_name(restore.subtask);
                    let text = format!("{name} begins with key {key}, which is not its own");
                    found.push(violation(28, restore.at, text));
                }
                cells.insert((*window, key.clone()), *value);
            }
            entries.extend(restore.got.entries.clone());
            listed.extend(restore.got.listed.iter().cloned());
            offsets.extend(restore.got.offsets.iter().map(|(split, at)| (*split, *at)));
        }
        // A list is dealt out from the first to the last; of rules everyone gets its copy.
        if listed != old.listed {
            let (now, before) = (listed.len(), old.listed.len());
            let text = format!(
                "{uid} begins with {now} records in its lists; the snapshot has {before}, or others"
            );
            found.push(violation(29, at, text));
        }
        if cells != old.cells || entries != old.entries {
            let (now, before) = (
                cells.len() + entries.len(),
                old.cells.len() + old.entries.len(),
            );
            let text =
                format!("{uid} begins with {now} keys; the snapshot has {before}, or others");
            found.push(violation(28, at, text));
        }
        offsets.sort_unstable();
        if !offsets
            .iter()
            .copied()
            .eq(old.offsets.iter().map(|(split, at)| (*split, *at)))
        {
            let text = format!("{uid} begins with other splits than the snapshot has");
            found.push(violation(29, at, text));
        }
        let sizes = restores.iter().map(|restore| restore.got.offsets.len());
        let (least, most) = (sizes.clone().min(), sizes.max());
        let is_even = most.unwrap_or(0) <= least.unwrap_or(0) + 1;
        if baseline.is_rescaled(uid, subtasks.len()) && !is_even {
            let text = format!("the splits of {uid} are dealt out unevenly");
            found.push(violation(29, at, text));
        }
    }
    found
}

/// Breaks if something of the failed attempt survives.
pub fn fresh(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    for restore in history
        .restores
        .iter()
        .filter(|restore| restore.from.is_none())
    {
        if restore
            .expected
            .as_ref()
            .is_some_and(|expected| !restore.got.holds_as(expected))
        {
            let name = history.plan.subtask_name(restore.subtask);
            let text = format!("{name} begins afresh, but not empty");
            found.push(violation(33, restore.at, text));
        }
    }
    found
}
