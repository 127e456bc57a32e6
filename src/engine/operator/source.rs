//! Sources: where records come from, and how far they have been read.

use std::sync::Arc;

use crate::model::{Decimal, Key, Origin, Record, SubtaskId};

/// One row of a CSV source, already parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct CsvRow {
    pub key: Arc<str>,
    pub value: Decimal,
}

/// What a source reads. The rows of a file are shared by its subtasks.
#[derive(Clone, Debug)]
pub enum SourceFeed {
    Sequence,
    Csv(Arc<[CsvRow]>),
}

/// One subtask of a source. Its offset, the number of records emitted, is all that a checkpoint needs to hold.
///
/// Subtask `i` of `p` emits the elements `i, i+p, i+2p` … of the whole feed (counted from 0).
#[derive(Clone, Debug)]
pub struct Source {
    id: SubtaskId,
    index: u64,
    parallelism: u64,
    feed: SourceFeed,
    /// How many records the whole source emits, over its subtasks.
    end: Option<u64>,
    offset: u64,
}

impl Source {
    #[must_use]
    pub fn new(id: SubtaskId, share: (u32, u32), feed: SourceFeed, end: Option<u64>) -> Self {
        let rows = match &feed {
            SourceFeed::Sequence => None,
            SourceFeed::Csv(rows) => Some(rows.len() as u64),
        };
        let end = match (end, rows) {
            (Some(end), Some(rows)) => Some(end.min(rows)),
            (end, rows) => end.or(rows),
        };
        let (index, parallelism) = (u64::from(share.0), u64::from(share.1));
        Self {
            id,
            index,
            parallelism,
            feed,
            end,
            offset: 0,
        }
    }

    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Go back (or forth) to just after the `offset`-th record.
    pub fn seek(&mut self, offset: u64) {
        self.offset = offset;
    }

    /// The whole feed's position of the next record; none at its end.
    fn next_position(&self) -> Option<u64> {
        let position = self.offset.checked_mul(self.parallelism)? + self.index;
        let ended = self.end.is_some_and(|end| position >= end);
        (!ended).then_some(position)
    }

    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.next_position().is_none()
    }

    /// The next record; none at the end.
    pub fn emit(&mut self) -> Option<Record> {
        let position = self.next_position()?;
        let (key, value) = match &self.feed {
            SourceFeed::Sequence => (None, Decimal::from(position + 1)),
            SourceFeed::Csv(rows) => {
                let row = rows.get(usize::try_from(position).ok()?)?;
                (Some(Key::Text(row.key.clone())), row.value)
            }
        };
        self.offset += 1;
        let origin = Origin {
            source: self.id,
            offset: self.offset,
        };
        Some(Record { key, value, origin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(index: u32, parallelism: u32, end: u64) -> Vec<Decimal> {
        let share = (index, parallelism);
        let mut source = Source::new(SubtaskId(0), share, SourceFeed::Sequence, Some(end));
        std::iter::from_fn(|| source.emit())
            .map(|record| record.value)
            .collect()
    }

    #[test]
    fn subtasks_share_a_sequence_without_gap_or_overlap() {
        assert_eq!(values(0, 2, 5), [1, 3, 5].map(Decimal::from));
        assert_eq!(values(1, 2, 5), [2, 4].map(Decimal::from));
        assert_eq!(values(3, 4, 3), []);
    }

    #[test]
    fn a_source_resumes_after_its_offset() {
        let mut source = Source::new(SubtaskId(7), (0, 1), SourceFeed::Sequence, None);
        source.seek(5);
        let record = source.emit().unwrap();
        assert_eq!(record.value, Decimal::from(6));
        assert_eq!(record.origin.offset, 6);
    }
}
