//! A tumbling event-time window per key: the sum or the number of its records (Flink: `WindowOperator` with
//! `TumblingEventTimeWindows` and an allowed lateness of 0).
//!
//! What a window has come to and its timer are keyed state. A window fires when the watermark reaches its last event
//! time: its result goes on, and its state is cleared. So a window that fires before a barrier has its result before the
//! barrier, and none of it in the snapshot; one that does not has all of it there, and fires again after a restore.
//! The watermark itself is not in a snapshot: after a restore, which record is late is judged against the new one.

use std::collections::BTreeMap;

use crate::engine::router::Router;
use crate::engine::state::{KeyedBackend, StateError};
use crate::engine::subtask::{Effects, TaskFailure};
use crate::model::{
    Decimal, EventTime, Key, KeyExpr, Origin, Record, SplitId, TimeWindow, WindowAggregate,
};

/// One subtask of a window operator. It owns the keys of its key groups, and nobody else's.
pub struct Window {
    pub key: KeyExpr,
    pub size_ms: u64,
    pub aggregate: WindowAggregate,
    pub state: KeyedBackend,
    clock: Clock,
}

/// What a subtask knows beside its state, and forgets when it fails.
#[derive(Default)]
pub struct Clock {
    /// None: no watermark has come yet.
    watermark: Option<EventTime>,
    /// Of each window that has not fired, the newest record that was counted since the subtask began.
    newest: BTreeMap<(TimeWindow, Key), Origin>,
}

impl Window {
    /// The origin of a result of which no record was counted since the restore: before all records.
    pub const UNKNOWN: Origin = Origin {
        split: SplitId(0),
        offset: 0,
    };

    #[must_use]
    pub fn new(
        key: KeyExpr,
        (size_ms, aggregate): (u64, WindowAggregate),
        state: KeyedBackend,
    ) -> Self {
        Self {
            key,
            size_ms,
            aggregate,
            state,
            clock: Clock::default(),
        }
    }

    /// Count `record` in its window; or drop it, if that has fired.
    ///
    /// # Errors
    /// The record has no event time or no key, or the state backend failed.
    pub fn process<E: Effects>(&mut self, record: &Record, out: &mut E) -> Result<(), TaskFailure> {
        if !record.event_time.is_some() {
            return Err(TaskFailure::NoEventTime);
        }
        let window = TimeWindow::tumbling(record.event_time, self.size_ms);
        if self
            .clock
            .watermark
            .is_some_and(|now| window.max_timestamp() <= now)
        {
            out.on_late_dropped(record);
            return Ok(());
        }
        let key = self.key.key_of(record).ok_or(TaskFailure::NoKey)?;
        let added = match self.aggregate {
            WindowAggregate::Sum => record.value,
            WindowAggregate::Count => Decimal::ONE,
        };
        let value = self.state.window_add(&key, window, added)?;
        out.on_window_changed(&key, window, value, record.origin);
        self.clock.newest.insert((window, key), record.origin);
        Ok(())
    }

    /// Fire what is due, in the order of the windows' ends, then of the keys.
    ///
    /// A result has many origins. It carries that of the newest record in its window, as far as one was counted since
    /// the subtask began; else [`Window::UNKNOWN`].
    ///
    /// # Errors
    /// The state backend failed, or a result cannot be routed.
    pub fn on_watermark<E: Effects>(
        &mut self,
        watermark: EventTime,
        router: &mut Router,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        self.clock.watermark = Some(watermark);
        for (window, key, value) in self.state.due_windows(watermark)? {
            self.state.window_remove(&key, window)?;
            let key = self.key.with_label(key);
            out.on_window_fired(&key, window, value);
            let place = (window, key);
            let origin = self.clock.newest.remove(&place).unwrap_or(Self::UNKNOWN);
            let result = Record {
                key: Some(place.1),
                value,
                origin,
                event_time: window.max_timestamp(),
            };
            router.route(result, out)?;
        }
        Ok(())
    }

    /// The windows that have not fired, as people read them: sorted by window and key, with labels.
    ///
    /// # Errors
    /// The state backend failed.
    pub fn windows(&self) -> Result<Vec<(TimeWindow, Key, Decimal)>, StateError> {
        let windows = self.state.windows()?.into_iter();
        let labelled = |(window, key, value)| (window, self.key.with_label(key), value);
        Ok(windows.map(labelled).collect())
    }
}
