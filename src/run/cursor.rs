//! Where a person is in a recording: a position among the events, and the time that shows there.

use crate::recording::{Recording, View};

/// A place in a recording. Moving it never changes anything else.
pub struct Cursor {
    view: View,
    /// At least the view's time, and before the next event's.
    clock_us: u64,
}

impl Cursor {
    /// Just after the first `position` events.
    pub fn at(recording: &Recording, position: usize) -> Self {
        let view = recording.seek(position);
        Self {
            clock_us: view.at_us,
            view,
        }
    }

    pub fn view(&self) -> &View {
        &self.view
    }

    pub fn clock_us(&self) -> u64 {
        self.clock_us
    }

    /// To the end, at a time that the engine has reached.
    pub fn follow(&mut self, recording: &Recording, reached_us: u64) {
        self.move_to_position(recording, recording.events().len());
        self.clock_us = reached_us.max(self.view.at_us);
    }

    /// Forward in time, as playing does. A cursor that stands between two events of the same moment goes on from
    /// there.
    pub fn move_to_time(&mut self, recording: &Recording, at_us: u64) {
        self.move_to_position(recording, recording.at_time(at_us).max(self.view.position));
        self.clock_us = at_us.max(self.view.at_us);
    }

    /// To any time.
    pub fn jump_to_time(&mut self, recording: &Recording, at_us: u64) {
        self.move_to_position(recording, recording.at_time(at_us));
        self.clock_us = at_us.max(self.view.at_us);
    }

    /// A short way forward is folded; any other is sought.
    fn move_to_position(&mut self, recording: &Recording, position: usize) {
        const SHORT: usize = 512;
        let ahead = position.checked_sub(self.view.position);
        match ahead {
            Some(0) => {}
            Some(events) if events <= SHORT => {
                for event in &recording.events()[self.view.position..position] {
                    self.view.apply(&recording.plan, event);
                }
            }
            _ => self.view = recording.seek(position),
        }
    }
}
