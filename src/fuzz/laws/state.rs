//! Laws 19 and 33: what a restart begins with.

use super::{History, Violation, violation};

/// Breaks if what changed after the synchronous part is in the snapshot, or if writing or reading loses something.
pub fn restored(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    for restore in &history.restores {
        let Some(expected) = &restore.expected else {
            continue;
        };
        let same = restore.got.offsets == expected.offsets && restore.got.cells == expected.cells;
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

/// Breaks if something of the failed attempt survives.
pub fn fresh(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    for restore in history
        .restores
        .iter()
        .filter(|restore| restore.from.is_none())
    {
        if restore.expected.as_ref().is_some_and(|expected| {
            restore.got.cells != expected.cells || restore.got.offsets != expected.offsets
        }) {
            let name = history.plan.subtask_name(restore.subtask);
            let text = format!("{name} begins afresh, but not empty");
            found.push(violation(33, restore.at, text));
        }
    }
    found
}
