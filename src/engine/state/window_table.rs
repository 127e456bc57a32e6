//! The windows of one key group in memory, in the order of their timers.
//!
//! In Flink a window's contents and its timer are two entries of keyed state (`HeapMapState` under the window as
//! namespace, and `HeapPriorityQueueSet`). A tumbling window without lateness has its timer exactly as long as it has
//! contents, so here the cell is both: at most one timer per key and window, at the window's last event time.

use std::collections::BTreeMap;

use crate::model::{Decimal, EventTime, Key, TimeWindow};

/// Each key's windows and what they have come to.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowTable {
    /// By end, start and key.
    cells: BTreeMap<(i64, i64, Key), Decimal>,
}

impl WindowTable {
    pub(super) fn get_mut(&mut self, window: TimeWindow, key: &Key) -> Option<&mut Decimal> {
        self.cells.get_mut(&place(window, key))
    }

    /// False: it was there before, and is `value` now.
    pub(super) fn insert(&mut self, window: TimeWindow, key: &Key, value: Decimal) -> bool {
        self.cells.insert(place(window, key), value).is_none()
    }

    /// Whether it was there.
    pub(super) fn remove(&mut self, window: TimeWindow, key: &Key) -> bool {
        self.cells.remove(&place(window, key)).is_some()
    }

    /// By end, start and key.
    pub(super) fn iter(&self) -> impl Iterator<Item = (TimeWindow, &Key, Decimal)> {
        self.cells.iter().map(|((end_ms, start_ms, key), value)| {
            let (start_ms, end_ms) = (*start_ms, *end_ms);
            (TimeWindow { start_ms, end_ms }, key, *value)
        })
    }

    /// When the first timer is due.
    pub(super) fn first_timer(&self) -> Option<EventTime> {
        self.iter()
            .next()
            .map(|(window, ..)| window.max_timestamp())
    }
}

/// Keys are kept without their labels, which are not state.
fn place(window: TimeWindow, key: &Key) -> (i64, i64, Key) {
    (window.end_ms, window.start_ms, key.without_label())
}
