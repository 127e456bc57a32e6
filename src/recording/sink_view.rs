//! What the system outside the job holds of a sink: what readers see, and what they do not see yet.

use std::collections::BTreeMap;

use rust_decimal::Decimal;

use crate::engine::event::TransactionEnd;
use crate::model::{CheckpointId, Key, Origin, Record, SplitId, TransactionId};

/// One sink subtask's transactions. They outlive the subtask.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SinkView {
    /// Those that are neither committed nor aborted, oldest first: nobody outside sees their records.
    pub uncommitted: Vec<TransactionView>,
    /// A buffering sink's: records that wait until there are enough. They are the subtask's state, and go back with it.
    pub buffer: Vec<Record>,
    /// Records that readers see, each as often as it came out; never turned back.
    pub visible: u64,
    /// How many transactions were committed; repeated commits do not count.
    pub committed: u64,
    pub aborted: u64,
    /// How many commits failed or found their transaction aborted.
    pub failed_commits: u64,
    /// What ended last.
    pub last_end: Option<EndedTransaction>,
}

impl SinkView {
    /// How many records wait: for a commit, or in a buffer.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let transactions = self.uncommitted.iter();
        let written: usize = transactions
            .map(|transaction| transaction.records.len())
            .sum();
        written + self.buffer.len()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct TransactionView {
    pub id: TransactionId,
    pub begun_us: u64,
    /// When the outside system aborts it.
    pub timeout_us: u64,
    /// The checkpoint for which it is pre-committed; none: it is open.
    pub pre_committed: Option<CheckpointId>,
    pub records: Vec<Record>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedTransaction {
    pub id: TransactionId,
    pub at_us: u64,
    pub records: usize,
    /// None: it was committed.
    pub aborted: Option<TransactionEnd>,
}

/// What readers see of an upsert sink, all its subtasks together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableView {
    pub rows: BTreeMap<Key, TableRow>,
    /// How many writes there were.
    pub writes: u64,
    /// How many of them repeated an earlier write: after a restart, a replayed record overwrites its own effect.
    pub overwrites: u64,
    /// How often readers saw a key's value go back to an older one.
    pub went_back: u64,
}

/// The newest value of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRow {
    pub value: Decimal,
    pub origin: Origin,
    pub written_us: u64,
    /// What readers saw before the value went back to an older one; none: it is not behind.
    pub back_from: Option<Decimal>,
    /// By split: the offset of the last write of this key, and the highest one.
    seen: BTreeMap<SplitId, (u64, u64)>,
}

impl TableView {
    pub(super) fn write(&mut self, key: &Key, record: &Record, at_us: u64) {
        self.writes += 1;
        let (split, offset) = (record.origin.split, record.origin.offset);
        let row = self.rows.entry(key.clone()).or_insert_with(|| TableRow {
            value: record.value,
            origin: record.origin,
            written_us: at_us,
            back_from: None,
            seen: BTreeMap::new(),
        });
        let before = row.value;
        (row.value, row.origin, row.written_us) = (record.value, record.origin, at_us);
        let (last, highest) = row.seen.entry(split).or_default();
        self.overwrites += u64::from(offset <= *highest);
        self.went_back += u64::from(offset < *last);
        if offset < *last {
            row.back_from.get_or_insert(before);
        }
        (*last, *highest) = (offset, offset.max(*highest));
        // Replayed as far as it had been.
        if row.seen.values().all(|(last, highest)| last == highest) {
            row.back_from = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::EventTime;

    #[test]
    fn replayed_writes_overwrite_and_each_rollback_is_seen_once() {
        let mut table = TableView::default();
        let mut write = |split, offset| {
            let split = SplitId(split);
            let record = Record {
                key: Some(Key::int(1)),
                value: Decimal::from(offset),
                origin: Origin { split, offset },
                event_time: EventTime::NONE,
            };
            table.write(&Key::int(1), &record, 0);
            (table.overwrites, table.went_back)
        };
        assert_eq!(write(0, 1), (0, 0));
        assert_eq!(write(0, 3), (0, 0));
        assert_eq!(write(1, 2), (0, 0), "another split has its own offsets");
        assert_eq!(write(0, 5), (0, 0));
        // A restart from before offset 3.
        assert_eq!(write(0, 3), (1, 1));
        assert_eq!(write(0, 5), (2, 1));
        assert_eq!(write(0, 7), (2, 1));
        assert_eq!(table.writes, 7);
        assert_eq!(table.rows[&Key::int(1)].value, Decimal::from(7));
    }

    #[test]
    fn a_value_is_behind_until_it_is_replayed_as_far_as_it_had_been() {
        let mut table = TableView::default();
        let mut write = |split, offset| {
            let split = SplitId(split);
            let record = Record {
                key: Some(Key::int(1)),
                value: Decimal::from(10 * offset),
                origin: Origin { split, offset },
                event_time: EventTime::NONE,
            };
            table.write(&Key::int(1), &record, 0);
            table.rows[&Key::int(1)].back_from
        };
        assert_eq!(write(0, 5), None);
        assert_eq!(write(0, 7), None);
        assert_eq!(write(0, 3), Some(Decimal::from(70)));
        assert_eq!(write(0, 5), Some(Decimal::from(70)));
        assert_eq!(write(0, 7), None);
    }
}
