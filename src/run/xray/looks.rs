//! The looks of a run, by their positions in its recording.

use std::sync::Arc;

use super::gone::{Gone, between};
use super::{StorageLook, StoredLook};
use crate::engine::event::TraceEvent;

/// All looks so far, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Looks {
    looks: Vec<StorageLook>,
    gone: Vec<Gone>,
}

impl Looks {
    /// The next one. `events` are those of the recording up to it, and perhaps more.
    pub fn push(&mut self, look: StorageLook, events: &[TraceEvent]) {
        let Some(last) = self.looks.last() else {
            self.looks.push(look);
            return;
        };
        if last.stored == look.stored && last.local == look.local {
            return;
        }
        if !Arc::ptr_eq(&last.stored, &look.stored) {
            let since = events.get(last.position..look.position).unwrap_or_default();
            self.gone.extend(between(last, &look, since));
        }
        if last.position == look.position {
            self.looks.pop();
        }
        self.looks.push(look);
    }

    /// What was true after so many events: the newest look that was taken until then.
    #[must_use]
    pub fn at(&self, position: usize) -> Option<&StorageLook> {
        self.looks[..self.until(position)].last()
    }

    /// The files that were gone by then, latest first.
    pub fn gone(&self, position: usize) -> impl Iterator<Item = &Gone> {
        let until = self.gone.partition_point(|gone| gone.position <= position);
        self.gone[..until].iter().rev()
    }

    /// The looks of the first so many events.
    #[must_use]
    pub fn prefix(&self, position: usize) -> Self {
        Self {
            looks: self.looks[..self.until(position)].to_vec(),
            gone: self
                .gone(position)
                .cloned()
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .collect(),
        }
    }

    /// The newest look at the storage, so that the next one need not read again what has not changed.
    #[must_use]
    pub fn newest(&self) -> Option<(&Arc<StoredLook>, &StorageLook)> {
        self.looks.last().map(|look| (&look.stored, look))
    }

    fn until(&self, position: usize) -> usize {
        self.looks.partition_point(|look| look.position <= position)
    }
}
