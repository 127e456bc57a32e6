//! The other kinds of state: entries of keyed functions, rules, and buffers.

use super::{Baseline, Change, History, Image};
use crate::engine::event::{CheckpointKind, EventKind};
use crate::model::key_group::{key_group, owner};
use crate::model::{
    BackendKind, Decimal, Key, OperatorSpec, Record, SavepointFormat, SinkKind, SinkSpec,
    StateEntry, SubtaskId, TtlSpec,
};

impl History<'_> {
    pub(super) fn apply_state(&mut self, at: usize, event: &EventKind) {
        match event {
            EventKind::EntriesChanged {
                subtask,
                key,
                entries,
                origin,
            } => {
                self.effect(at, *subtask, *origin);
                let task = &mut self.tasks[subtask.index()];
                task.image.seen.push(*origin);
                let value = task.taking.as_ref().map(|(_, record, _)| record.value);
                self.set_entries((at, value), *subtask, (key, entries));
            }
            EventKind::EntriesCleaned {
                subtask,
                key,
                entries,
            } => self.set_entries((at, None), *subtask, (key, entries)),
            EventKind::RuleSet { subtask, rule } => {
                let rules = &mut self.tasks[subtask.index()].image.listed;
                rules.retain(|known| known.key != rule.key);
                rules.push(rule.clone());
                rules.sort_by(|left, right| left.key.cmp(&right.key));
            }
            EventKind::Filtered { subtask, record } => self.judge(at, *subtask, record),
            EventKind::Buffered { subtask, record } => {
                self.effect(at, *subtask, record.origin);
                let buffer = &mut self.tasks[subtask.index()].image.listed;
                buffer.push(record.clone());
            }
            EventKind::BufferFlushed { subtask } => {
                let task = &mut self.tasks[subtask.index()];
                task.flushing = std::mem::take(&mut task.image.listed);
            }
            _ => {}
        }
    }

    /// `at` which event, and for a record of which value.
    fn set_entries(
        &mut self,
        (at, value): (usize, Option<Decimal>),
        subtask: SubtaskId,
        (key, entries): (&Key, &[StateEntry]),
    ) {
        let plan = self.plan.subtask(subtask);
        let group = key_group(key, plan.max_parallelism);
        if owner(group, plan.parallelism, plan.max_parallelism) != plan.index {
            let name = self.plan.subtask_name(subtask);
            let text = format!("{name} has state of key {key}, which is another subtask's");
            self.violate(28, at, text);
        }
        let all = &mut self.tasks[subtask.index()].image.entries;
        self.changes.push(Change {
            at,
            subtask,
            before: all.get(key).cloned().unwrap_or_default(),
            after: entries.to_vec(),
            value,
        });
        if entries.is_empty() {
            all.remove(key);
        } else {
            all.insert(key.clone(), entries.to_vec());
        }
    }

    /// What `subtask` has to write at event `at`: full snapshots may leave out what has expired.
    pub(super) fn written_image(
        &self,
        at: usize,
        subtask: SubtaskId,
        kind: Option<CheckpointKind>,
    ) -> Image {
        let mut image = self.tasks[subtask.index()].image.clone();
        let format = match kind {
            Some(
                CheckpointKind::Savepoint(format)
                | CheckpointKind::StopWithSavepoint { format, .. },
            ) => Some(format),
            _ => None,
        };
        let is_canonical = format == Some(SavepointFormat::Canonical);
        let ttl = self.plan.subtask(subtask).operator.ttl();
        let cleans = ttl.is_some_and(|ttl| ttl.full_snapshot_cleanup);
        if cleans && (is_canonical || self.job.config.backend == BackendKind::Heap) {
            let now_ms = self.now_ms(at);
            for entries in image.entries.values_mut() {
                entries.retain(|entry| !is_over(entry, ttl, now_ms));
            }
            image.entries.retain(|_, entries| !entries.is_empty());
        }
        image
    }

    /// A record that is left out must be against a rule.
    fn judge(&mut self, at: usize, subtask: SubtaskId, record: &Record) {
        let rules = &self.tasks[subtask.index()].image.listed;
        let of = |key: &Option<Key>| rules.iter().find(|rule| rule.key == *key);
        let rule = of(&record.key).or_else(|| of(&None));
        if rule.is_none_or(|rule| record.value >= rule.value) {
            let name = self.plan.subtask_name(subtask);
            let text = format!("{name} leaves out {}, and no rule says so", record.value);
            self.violate(0, at, text);
        }
    }

    /// A sink has let `record` out: because it has just taken it, or out of its buffer.
    pub(super) fn collect(&mut self, at: usize, subtask: SubtaskId, record: &Record) {
        if !self.let_out(at, subtask, record) {
            self.effect(at, subtask, record.origin);
        }
    }

    /// Whether `record` comes out of a buffer; if so it must be the one that has waited longest.
    fn let_out(&mut self, at: usize, subtask: SubtaskId, record: &Record) -> bool {
        let is_buffering = matches!(
            self.plan.subtask(subtask).operator,
            OperatorSpec::Sink(SinkSpec {
                kind: SinkKind::Buffering { .. }
            })
        );
        if !is_buffering {
            return false;
        }
        let flushing = &mut self.tasks[subtask.index()].flushing;
        let is_next = flushing.first() == Some(record);
        if is_next {
            flushing.remove(0);
        } else {
            let name = self.plan.subtask_name(subtask);
            let text = format!("{name} lets out {}, which was not next", record.value);
            self.violate(29, at, text);
        }
        true
    }
}

/// Virtual time begins at zero; processing time goes on from where the earlier run was when the snapshot was triggered, or
/// where a subtask was when its state became part of that.
pub(super) fn begun_ms(baseline: Option<&Baseline>) -> u64 {
    let Some(baseline) = baseline else {
        return 0;
    };
    let images = baseline.images.values();
    let entries = images.flat_map(|image| image.entries.values().flatten());
    let newest = entries.filter_map(|entry| entry.last_access_ms).max();
    baseline.triggered_ms.max(newest.unwrap_or(0))
}

/// To the millisecond.
pub fn is_over(entry: &StateEntry, ttl: Option<TtlSpec>, now_ms: u64) -> bool {
    match (ttl, entry.last_access_ms) {
        (Some(ttl), Some(last_ms)) => last_ms + ttl.ttl_ms <= now_ms,
        _ => false,
    }
}
