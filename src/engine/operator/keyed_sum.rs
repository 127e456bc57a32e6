//! The running sum per key: the smallest operator whose state is worth a checkpoint.

use crate::engine::router::Router;
use crate::engine::state::{KeyedBackend, StateError};
use crate::engine::subtask::{Effects, TaskFailure};
use crate::model::{Decimal, Key, KeyExpr, Record};

/// One subtask of a keyed sum. It owns the keys of its key groups, and nobody else's.
pub struct KeyedSum {
    pub key: KeyExpr,
    pub state: KeyedBackend,
}

impl KeyedSum {
    /// Count `record` and give the updated sum of its key, as a record of the same origin.
    ///
    /// # Errors
    /// The record has no key, or the state backend failed.
    pub fn count(&mut self, record: &Record) -> Result<Record, TaskFailure> {
        let key = self.key.key_of(record).ok_or(TaskFailure::NoKey)?;
        let value = self.state.add(&key, record.value)?;
        Ok(Record {
            key: Some(key),
            value,
            origin: record.origin,
            event_time: record.event_time,
        })
    }

    /// Count `record` and send the updated sum on.
    ///
    /// # Errors
    /// As for [`KeyedSum::count`]; or the sum cannot be routed.
    #[inline]
    pub fn process<E: Effects>(
        &mut self,
        record: &Record,
        router: &mut Router,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        let sum = self.count(record)?;
        if let Some(key) = &sum.key {
            out.on_state_changed(key, sum.value, sum.origin);
        }
        router.route(sum, out)
    }

    /// The state, as people read it: sorted by key, with labels.
    ///
    /// # Errors
    /// The state backend failed.
    pub fn entries(&self) -> Result<Vec<(Key, Decimal)>, StateError> {
        let entries = self.state.entries()?.into_iter();
        let labelled = |(key, value)| (self.key.with_label(key), value);
        Ok(entries.map(labelled).collect())
    }
}
