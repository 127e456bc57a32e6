//! Sources: where records come from, and how far they have been read.

use std::sync::Arc;

use super::EventClock;
use crate::engine::storage::{Distribution, ListState};
use crate::model::{Decimal, EventTime, EventTimeSpec, Key, Origin, Record, SplitId};

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

/// One subtask of a source. How far it has read each of its splits is all that a checkpoint needs to hold.
///
/// Split `i` of `n` has the elements `i, i+n, i+2n` … of the whole feed (counted from 0). Of several splits, the subtask
/// reads the one that is furthest behind.
#[derive(Clone, Debug)]
pub struct Source {
    splits: Vec<Split>,
    /// How many splits the source has, over its subtasks.
    count: u64,
    feed: SourceFeed,
    /// How many records the whole source emits, over its subtasks.
    end: Option<u64>,
    /// None: its records have no event time.
    clock: Option<EventClock>,
}

/// How far one split is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    pub id: SplitId,
    /// Among the source's splits.
    pub index: u32,
    /// How many of its records were emitted.
    pub offset: u64,
}

impl Source {
    /// The name of its operator state.
    pub const LIST: &'static str = "splits";

    /// `splits` are this subtask's own of the source's `count`.
    #[must_use]
    pub fn new(splits: Vec<Split>, count: u32, feed: SourceFeed, end: Option<u64>) -> Self {
        let rows = match &feed {
            SourceFeed::Sequence => None,
            SourceFeed::Csv(rows) => Some(rows.len() as u64),
        };
        let end = match (end, rows) {
            (Some(end), Some(rows)) => Some(end.min(rows)),
            (end, rows) => end.or(rows),
        };
        Self {
            splits,
            count: count.into(),
            feed,
            end,
            clock: None,
        }
    }

    /// The same, with records that say when they happened.
    #[must_use]
    pub fn with_event_time(mut self, spec: Option<EventTimeSpec>) -> Self {
        self.clock = spec.map(EventClock::new);
        self
    }

    /// The watermark, if records have raised it since the last call.
    pub fn risen_watermark(&mut self) -> Option<EventTime> {
        self.clock.as_mut()?.risen_watermark()
    }

    #[must_use]
    pub fn splits(&self) -> &[Split] {
        &self.splits
    }

    /// How many records this subtask's splits have emitted.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.splits.iter().map(|split| split.offset).sum()
    }

    /// What a checkpoint holds: of each split its index, how many there are, and the offset; big-endian numbers of 4, 4
    /// and 8 bytes. Other subtasks than this one may get them.
    #[must_use]
    pub fn list_state(&self) -> ListState {
        // The number came as a u32.
        let count = u32::try_from(self.count).unwrap_or(u32::MAX);
        let element = |split: &Split| {
            let mut bytes = Vec::with_capacity(16);
            bytes.extend_from_slice(&split.index.to_be_bytes());
            bytes.extend_from_slice(&count.to_be_bytes());
            bytes.extend_from_slice(&split.offset.to_be_bytes());
            bytes.into()
        };
        ListState {
            name: Self::LIST.to_owned(),
            distribution: Distribution::Split,
            elements: self.splits.iter().map(element).collect(),
        }
    }

    /// The index and offset in an element of [`Source::list_state`]; none: it is no such element.
    #[must_use]
    pub fn read_element(element: &[u8]) -> Option<(u32, u64)> {
        let (index, rest) = element.split_first_chunk()?;
        let (_, offset) = rest.split_first_chunk::<4>()?;
        let offset = offset.try_into().ok()?;
        Some((u32::from_be_bytes(*index), u64::from_be_bytes(offset)))
    }

    /// How many splits the source had, as an element of [`Source::list_state`] says.
    #[must_use]
    pub fn read_count(element: &[u8]) -> Option<u32> {
        let (_, rest) = element.split_first_chunk::<4>()?;
        let (count, _) = rest.split_first_chunk()?;
        Some(u32::from_be_bytes(*count))
    }

    /// The whole feed's position of the next record of `split`; none at its end. An offset that no run has come to, of a
    /// snapshot that is not ours, is an end as well.
    fn next_position(&self, split: &Split) -> Option<u64> {
        let first = split.offset.checked_mul(self.count)?;
        let position = first.checked_add(u64::from(split.index))?;
        position.checked_add(1)?;
        let ended = self.end.is_some_and(|end| position >= end);
        (!ended).then_some(position)
    }

    /// The split to read next and the position of its record; none: all are at their ends.
    fn next(&self) -> Option<(usize, u64)> {
        let splits = self.splits.iter().enumerate();
        let positions =
            splits.filter_map(|(place, split)| Some((place, self.next_position(split)?)));
        positions.min_by_key(|(_, position)| *position)
    }

    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.next().is_none()
    }

    /// The next record; none at the end.
    pub fn emit(&mut self) -> Option<Record> {
        let (place, position) = self.next()?;
        let (key, value) = match &self.feed {
            SourceFeed::Sequence => (None, Decimal::from(position + 1)),
            SourceFeed::Csv(rows) => {
                let row = rows.get(usize::try_from(position).ok()?)?;
                (Some(Key::Text(row.key.clone())), row.value)
            }
        };
        let split = &mut self.splits[place];
        split.offset += 1;
        let origin = Origin {
            split: split.id,
            offset: split.offset,
        };
        let mut event_time = EventTime::NONE;
        if let Some(clock) = &mut self.clock {
            event_time = clock.time_of(position);
            clock.on_record(event_time);
        }
        Some(Record {
            key,
            value,
            origin,
            event_time,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(index: u32, offset: u64) -> Split {
        Split {
            id: SplitId(index),
            index,
            offset,
        }
    }

    fn values(splits: &[u32], count: u32, end: u64) -> Vec<Decimal> {
        let splits = splits.iter().map(|index| split(*index, 0)).collect();
        let mut source = Source::new(splits, count, SourceFeed::Sequence, Some(end));
        std::iter::from_fn(|| source.emit())
            .map(|record| record.value)
            .collect()
    }

    #[test]
    fn splits_share_a_sequence_without_gap_or_overlap() {
        assert_eq!(values(&[0], 2, 5), [1, 3, 5].map(Decimal::from));
        assert_eq!(values(&[1], 2, 5), [2, 4].map(Decimal::from));
        assert_eq!(values(&[3], 4, 3), []);
    }

    /// Breaks if an offset from a forged snapshot overflows.
    #[test]
    fn no_offset_is_too_large_to_be_an_end() {
        for (index, offset, count) in [(0, u64::MAX, 1), (0, u64::MAX - 1, 1), (1, u64::MAX / 2, 2)]
        {
            let split = split(index, offset);
            let mut source = Source::new(vec![split], count, SourceFeed::Sequence, None);
            while source.emit().is_some() {}
            assert!(source.is_exhausted());
        }
    }

    #[test]
    fn a_subtask_reads_its_splits_in_turn() {
        assert_eq!(values(&[0, 2], 3, 7), [1, 3, 4, 6, 7].map(Decimal::from));
        assert_eq!(values(&[], 3, 7), []);
    }

    /// Catches elements whose parts are read at other places than they are written at.
    #[test]
    fn an_element_says_which_split_of_how_many_and_how_far() {
        let source = Source::new(vec![split(2, 7)], 3, SourceFeed::Sequence, None);
        let element = &source.list_state().elements[0];
        assert_eq!(Source::read_element(element), Some((2, 7)));
        assert_eq!(Source::read_count(element), Some(3));
        assert_eq!(Source::read_element(&element[..15]), None);
        assert_eq!(Source::read_count(&element[..7]), None);
    }

    #[test]
    fn a_source_resumes_after_its_offset() {
        let mut source = Source::new(vec![split(0, 5)], 1, SourceFeed::Sequence, None);
        let record = source.emit().unwrap();
        assert_eq!(record.value, Decimal::from(6));
        assert_eq!(record.origin.offset, 6);
    }
}
