//! The looks of a run, by their positions in its recording.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::gone::{Gone, between};
use super::{StorageLook, StoredLook};
use crate::engine::event::TraceEvent;
use crate::model::CheckpointId;

/// More looks than this are thinned out, the older ones first: what was looked at long ago is told less finely.
const MAX_LOOKS: usize = 4_096;

/// More files that are gone are forgotten.
const MAX_GONE: usize = 2_048;

/// All looks so far, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Looks {
    taken: Vec<StorageLook>,
    gone: Vec<Gone>,
    /// Of each shared file that is there: the newest checkpoint that has ever referred to it.
    last_users: BTreeMap<String, CheckpointId>,
}

impl Looks {
    /// The next one. `events` are those of the recording up to it, and perhaps more.
    pub fn push(&mut self, look: StorageLook, events: &[TraceEvent]) {
        let last = self.taken.last();
        if last.is_some_and(|last| last.stored == look.stored && last.local == look.local) {
            return;
        }
        if let Some(last) = last.filter(|last| !Arc::ptr_eq(&last.stored, &look.stored)) {
            let since = events.get(last.position..look.position).unwrap_or_default();
            let gone = between(last, &look, since, &self.last_users);
            self.gone.extend(gone);
        }
        let replaces = last.is_some_and(|last| last.position == look.position);
        self.note_users(&look.stored);
        if replaces {
            self.taken.pop();
        }
        self.taken.push(look);
        self.thin();
    }

    fn note_users(&mut self, stored: &StoredLook) {
        self.last_users
            .retain(|path, _| stored.file(path).is_some());
        for id in stored.checkpoints.keys() {
            for reference in stored.references(*id) {
                if let Some(path) = &reference.path {
                    let last = self.last_users.entry(path.clone()).or_insert(*id);
                    *last = (*last).max(*id);
                }
            }
        }
    }

    /// Every other one of the older half goes when there are too many.
    fn thin(&mut self) {
        if self.taken.len() > MAX_LOOKS {
            let mut place = 0;
            self.taken.retain(|_| {
                place += 1;
                place > MAX_LOOKS / 2 || place % 2 == 1
            });
        }
        let surplus = self.gone.len().saturating_sub(MAX_GONE);
        self.gone.drain(..surplus);
    }

    /// What was true after so many events: the newest look that was taken until then.
    #[must_use]
    pub fn at(&self, position: usize) -> Option<&StorageLook> {
        self.taken[..self.until(position)].last()
    }

    /// The files that were gone by then, latest first.
    pub fn gone(&self, position: usize) -> impl Iterator<Item = &Gone> {
        let until = self.gone.partition_point(|gone| gone.position <= position);
        self.gone[..until].iter().rev()
    }

    /// The looks of the first so many events.
    #[must_use]
    pub fn prefix(&self, position: usize) -> Self {
        let until = self.gone.partition_point(|gone| gone.position <= position);
        let mut prefix = Self {
            taken: self.taken[..self.until(position)].to_vec(),
            gone: self.gone[..until].to_vec(),
            last_users: BTreeMap::new(),
        };
        for look in &self.taken[..self.until(position)] {
            prefix.note_users(&look.stored);
        }
        prefix
    }

    fn until(&self, position: usize) -> usize {
        self.taken.partition_point(|look| look.position <= position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(position: usize, files: usize) -> StorageLook {
        let file = |number| crate::engine::storage::StoredFile {
            path: format!("chk-1/state-{number:04}"),
            size_bytes: 1,
        };
        StorageLook {
            position,
            at_us: position as u64,
            stored: Arc::new(StoredLook {
                files: (0..files).map(file).collect(),
                ..StoredLook::default()
            }),
            local: Vec::new(),
        }
    }

    /// Breaks if looks are kept without bound, if thinning takes the newest, or if a look is found before it was taken.
    #[test]
    fn old_looks_are_thinned_and_the_newest_stay() {
        let mut looks = Looks::default();
        let count = 3 * MAX_LOOKS;
        for position in 0..count {
            looks.push(look(position, position % 2), &[]);
        }
        assert!(looks.taken.len() <= MAX_LOOKS && looks.gone.len() <= MAX_GONE);
        for position in (0..count).step_by(97) {
            let found = looks.at(position).map(|look| look.position);
            assert!(found.is_some_and(|found| found <= position));
            let is_recent = position >= count - MAX_LOOKS / 4;
            assert!(
                !is_recent || found == Some(position),
                "{position}: {found:?}"
            );
        }
        let prefix = looks.prefix(100);
        assert_eq!(prefix.at(count), looks.at(100));
    }
}
