//! The fold of the other kinds of state: entries of keyed functions, and records in operator list state.

use std::collections::BTreeMap;

use crate::engine::event::EventKind;
use crate::engine::plan::ExecutionGraph;
use crate::model::{Key, KeyContents, OperatorSpec, Record, StateEntry, SubtaskId, TtlSpec};
use crate::recording::view::{EntriesRow, SubtaskView, View};

impl View {
    pub(super) fn apply_state(&mut self, event: &EventKind) {
        let changed_us = Some(self.at_us);
        match event {
            EventKind::EntriesChanged {
                subtask,
                key,
                entries,
                ..
            } => self.note_record(*subtask).set(key, entries, changed_us),
            EventKind::EntriesCleaned {
                subtask,
                key,
                entries,
            } => {
                let view = &mut self.subtasks[subtask.index()];
                let before = view.entries.get(key).map_or(0, |row| row.entries.len());
                view.cleaned += before.saturating_sub(entries.len()) as u64;
                view.set(key, entries, changed_us);
            }
            EventKind::RuleSet { subtask, rule } => {
                let view = &mut self.subtasks[subtask.index()];
                view.rules.insert(rule.key.clone(), rule.clone());
            }
            EventKind::Filtered { subtask, .. } => {
                self.subtasks[subtask.index()].filtered += 1;
            }
            EventKind::Buffered { subtask, record } => {
                let sink = &mut self.subtasks[subtask.index()].sink;
                sink.buffer.push(record.clone());
            }
            EventKind::BufferFlushed { subtask } => {
                self.subtasks[subtask.index()].sink.buffer.clear();
            }
            _ => {}
        }
    }

    /// A subtask begins with this.
    pub(super) fn restore_listed(
        &mut self,
        plan: &ExecutionGraph,
        subtask: SubtaskId,
        listed: &[Record],
    ) {
        let view = &mut self.subtasks[subtask.index()];
        match plan.subtask(subtask).operator {
            OperatorSpec::RuleFilter => {
                let rules = listed.iter().cloned();
                view.rules = rules.map(|rule| (rule.key.clone(), rule)).collect();
            }
            _ => view.sink.buffer = listed.to_vec(),
        }
    }
}

impl SubtaskView {
    fn set(&mut self, key: &Key, entries: &[StateEntry], changed_us: Option<u64>) {
        if entries.is_empty() {
            self.entries.remove(key);
            return;
        }
        let entries = entries.to_vec();
        let row = EntriesRow {
            entries,
            changed_us,
        };
        self.entries.insert(key.clone(), row);
    }

    /// `left_out`: what had expired by this time.
    pub(super) fn captured_entries(
        &self,
        left_out: Option<(TtlSpec, u64)>,
    ) -> BTreeMap<Key, Vec<StateEntry>> {
        let is_left_out = |entry: &StateEntry| {
            left_out.is_some_and(|(ttl, expired_ms)| entry.is_expired(Some(ttl), expired_ms))
        };
        let rows = self.entries.iter().map(|(key, row)| {
            let entries = row.entries.iter().filter(|entry| !is_left_out(entry));
            (key.clone(), entries.copied().collect::<Vec<_>>())
        });
        rows.filter(|(_, entries)| !entries.is_empty()).collect()
    }

    /// Records in operator list state: rules, or a buffer.
    #[must_use]
    pub fn listed(&self) -> Vec<Record> {
        let rules = self.rules.values();
        rules.chain(&self.sink.buffer).cloned().collect()
    }
}

/// As the state of a subtask that begins.
pub(super) fn unchanged(entries: &[KeyContents]) -> BTreeMap<Key, EntriesRow> {
    let row = |(key, entries): &KeyContents| {
        let row = EntriesRow {
            entries: entries.clone(),
            changed_us: None,
        };
        (key.clone(), row)
    };
    entries.iter().map(row).collect()
}
