//! The fold of event time: windows, watermarks, idleness, and records that came too late.

use std::collections::BTreeMap;

use super::view::{Lineage, Row, SubtaskView, View};
use crate::engine::event::EventKind;
use crate::model::{Decimal, EventTime, Key, SubtaskId, TimeWindow};

impl View {
    pub(super) fn apply_event_time(&mut self, event: &EventKind) {
        let changed_us = Some(self.at_us);
        match event {
            EventKind::WindowChanged {
                subtask,
                key,
                window,
                value,
                ..
            } => {
                let row = Row {
                    value: *value,
                    changed_us,
                };
                let windows = &mut self.note_record(*subtask).windows;
                windows.insert((*window, key.clone()), row);
            }
            EventKind::WindowFired {
                subtask,
                key,
                window,
                ..
            } => {
                let view = &mut self.subtasks[subtask.index()];
                view.windows.remove(&(*window, key.clone()));
            }
            EventKind::LateDropped { subtask, .. } => self.note_record(*subtask).late += 1,
            EventKind::WatermarkAdvanced { subtask, watermark } => {
                self.subtasks[subtask.index()].watermark = *watermark;
            }
            EventKind::Idleness { subtask, is_idle } => {
                self.subtasks[subtask.index()].is_idle = *is_idle;
            }
            _ => {}
        }
    }

    /// A keyed operator has done with one more record: the lineage of its state is one longer.
    pub(super) fn note_record(&mut self, subtask: SubtaskId) -> &mut SubtaskView {
        self.state_changes += 1;
        let view = &mut self.subtasks[subtask.index()];
        view.counted = Lineage(self.state_changes);
        view
    }
}

impl SubtaskView {
    /// Watermarks are in no checkpoint: they begin again.
    pub(super) fn restart_event_time(&mut self, windows: &[(TimeWindow, Key, Decimal)]) {
        self.watermark = EventTime::NONE;
        self.is_idle = false;
        let restored = |(window, key, value): &(TimeWindow, Key, Decimal)| {
            let row = Row {
                value: *value,
                changed_us: None,
            };
            ((*window, key.clone()), row)
        };
        self.windows = windows.iter().map(restored).collect();
    }

    pub(super) fn captured_windows(&self) -> BTreeMap<(TimeWindow, Key), Decimal> {
        let windows = self.windows.iter();
        windows
            .map(|(place, row)| (place.clone(), row.value))
            .collect()
    }
}
