//! The timers of windows: in the database, or on the heap beside it.
//!
//! A window's contents are one cell of the database, which lie in the order of their timers. So in the database a timer
//! needs no entry of its own (see [`super::super::window_table`]): it is the cell, and is snapshotted with it.
//!
//! On the heap (Flink: `HeapPriorityQueueSet`, chosen by `state.backend.rocksdb.timer-service.factory`) there is a sorted
//! set of timers per key group. It is not in the database's files, and so is written as a stream of its own, in which
//! key group after key group lies (Flink: *raw keyed state*, `InternalTimeServiceManagerImpl.snapshotToRawKeyedState`).
//! Flink serialises it in the synchronous part of every checkpoint, whatever the database does asynchronously. A
//! savepoint in canonical format says of each window all there is to say, and needs no such stream.
//!
//! A snapshot with such a stream can be restored with timers in either place. One without, taken with timers in the
//! database, can be restored with timers on the heap only if no window is open in it: in Flink, the timers of a native
//! snapshot stay in the database, where nobody looks for them any more, and the windows would never fire. Here it is
//! refused.
//!
//! ```text
//! stream   key groups, each where its offset says
//! group    timers, sorted: slot of the window, after its length (u32)
//! ```

use std::collections::BTreeSet;

use crate::engine::state::codec::{Slot, put_window_slot, read_slot};
use crate::engine::state::{OwnedGroups, StateError};
use crate::engine::storage::bytes::{Malformed, Reader, put_count};
use crate::model::{EventTime, Key, TimeWindow, TimerService};

/// Of one key group: by end and start of the window, and key.
type TimerSet = BTreeSet<(i64, i64, Key)>;

/// Where it is known when windows are due.
#[derive(Debug)]
pub(super) enum Timers {
    /// No timer is due before `first`: a watermark below it needs no look into the database (Flink:
    /// `RocksDBCachingPriorityQueueSet`).
    InDatabase { first: EventTime },
    /// By index among the owned key groups.
    OnHeap(Vec<TimerSet>),
}

impl Timers {
    /// How many are on the heap; none: they are in the database.
    pub(super) fn count(&self) -> Option<u64> {
        match self {
            Self::InDatabase { .. } => None,
            Self::OnHeap(groups) => Some(groups.iter().map(|timers| timers.len() as u64).sum()),
        }
    }

    pub(super) fn new(service: TimerService, owned: OwnedGroups) -> Self {
        match service {
            TimerService::RocksDb => Self::InDatabase {
                first: EventTime::MAX,
            },
            TimerService::Heap => Self::OnHeap(vec![TimerSet::new(); owned.count()]),
        }
    }

    /// `index`: of the key's group among the owned ones.
    pub(super) fn set(&mut self, index: usize, window: TimeWindow, key: &Key) {
        match self {
            Self::InDatabase { first } => *first = (*first).min(window.max_timestamp()),
            Self::OnHeap(groups) => {
                groups[index].insert(place(window, key));
            }
        }
    }

    pub(super) fn remove(&mut self, index: usize, window: TimeWindow, key: &Key) {
        if let Self::OnHeap(groups) = self {
            groups[index].remove(&place(window, key));
        }
    }

    /// On the heap: those that `watermark` reaches, by key group, in order.
    pub(super) fn due(&self, watermark: EventTime) -> Vec<(TimeWindow, Key)> {
        let Self::OnHeap(groups) = self else {
            return Vec::new();
        };
        let timers = |group: &TimerSet| {
            let windows = group.iter().map(|(end_ms, start_ms, key)| {
                let (start_ms, end_ms) = (*start_ms, *end_ms);
                (TimeWindow { start_ms, end_ms }, key.clone())
            });
            let due = windows.take_while(|(window, _)| window.max_timestamp() <= watermark);
            due.collect::<Vec<_>>()
        };
        groups.iter().flat_map(timers).collect()
    }

    /// The copy that a snapshot makes in its synchronous part; none: they are in the database.
    pub(super) fn capture(&self, owned: OwnedGroups) -> Option<CapturedTimers> {
        let Self::OnHeap(groups) = self else {
            return None;
        };
        let mut captured = CapturedTimers::default();
        let mut slot = Vec::new();
        for (group, timers) in owned.groups().zip(groups) {
            let stream = &mut captured.stream;
            captured.offsets.push((group, stream.len() as u64));
            put_count(stream, timers.len());
            for (end_ms, start_ms, key) in timers {
                let (start_ms, end_ms) = (*start_ms, *end_ms);
                slot.clear();
                put_window_slot(&mut slot, TimeWindow { start_ms, end_ms }, key);
                put_count(stream, slot.len());
                stream.extend_from_slice(&slot);
                captured.timer_bytes += slot.len() as u64 - 1;
            }
        }
        Some(captured)
    }
}

/// Timers as they were at one moment, already in the bytes in which they are written.
#[derive(Debug, Default)]
pub(super) struct CapturedTimers {
    pub(super) stream: Vec<u8>,
    /// Each key group and where in the stream it begins.
    pub(super) offsets: Vec<(u32, u64)>,
    /// What all timers take, in bytes of entries: the state's id is not counted, nor what a stream has besides.
    pub(super) timer_bytes: u64,
}

/// Those of the timers that are in `owned` groups, out of a captured stream.
pub(super) fn read(
    owned: OwnedGroups,
    (stream, offsets): (&[u8], &[(u32, u64)]),
) -> Result<BTreeSet<(TimeWindow, Key)>, StateError> {
    let is_owned = |(group, _): &&(u32, u64)| owned.index_of(*group).is_some();
    let offsets: Vec<(u32, u64)> = offsets.iter().filter(is_owned).copied().collect();
    let mut timers = BTreeSet::new();
    for_each((stream, &offsets), |group, window, key| {
        owned.locate_restored(group, &key)?;
        if timers.insert((window, key)) {
            Ok(())
        } else {
            Err(Malformed("a timer is there twice").into())
        }
    })?;
    Ok(timers)
}

/// Every timer of a captured stream with its key group, by key group.
pub(in crate::engine::state) fn for_each(
    (stream, offsets): (&[u8], &[(u32, u64)]),
    mut visit: impl FnMut(u32, TimeWindow, Key) -> Result<(), StateError>,
) -> Result<(), StateError> {
    for (group, offset) in offsets {
        let bytes = usize::try_from(*offset)
            .ok()
            .and_then(|offset| stream.get(offset..))
            .ok_or(Malformed("the timers of a key group lie beyond their end"))?;
        let slots = Reader::new(bytes).list(|reader| {
            let length = reader.u32()? as usize;
            read_slot(reader.take(length)?)
        })?;
        for slot in slots {
            let Slot::Window(window, key) = slot else {
                return Err(Malformed("a timer is one of no window").into());
            };
            visit(*group, window, key)?;
        }
    }
    Ok(())
}

/// Keys are kept without their labels, which are not state.
fn place(window: TimeWindow, key: &Key) -> (i64, i64, Key) {
    (window.end_ms, window.start_ms, key.without_label())
}
