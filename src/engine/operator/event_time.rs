//! A source's sense of event time: when its records happened, and which watermark follows from them.
//!
//! Nothing of it is in a checkpoint: after a restore the watermark begins again at its least and is found anew from
//! the records that are read again. Event times are not: they follow from a record's place.

use crate::model::{EventTime, EventTimeSpec};

/// Event times beyond this are cut to it, so that every window has an end.
const LATEST: i64 = i64::MAX / 2;

/// The watermark generator of one source subtask (Flink: `BoundedOutOfOrdernessWatermarks`, one for all its splits).
#[derive(Clone, Debug)]
pub struct EventClock {
    spec: EventTimeSpec,
    /// Of the newest record that was emitted.
    newest: EventTime,
    /// The last watermark that was given out.
    watermark: EventTime,
}

impl EventClock {
    #[must_use]
    pub fn new(spec: EventTimeSpec) -> Self {
        Self {
            spec,
            newest: EventTime::NONE,
            watermark: EventTime::NONE,
        }
    }

    /// When the record at `position` (from 0) of the whole source happened.
    #[must_use]
    pub fn time_of(&self, position: u64) -> EventTime {
        let EventTimeSpec {
            step_ms,
            late_every,
            late_by_ms,
            ..
        } = self.spec;
        let on_time = millis(position.saturating_mul(step_ms));
        let late_every = u64::from(late_every);
        let is_late = late_every > 0 && position % late_every == late_every - 1;
        let late_by = if is_late { millis(late_by_ms) } else { 0 };
        EventTime(on_time - late_by)
    }

    /// A record of this time was emitted.
    pub fn on_record(&mut self, time: EventTime) {
        self.newest = self.newest.max(time);
    }

    /// The watermark, if it has risen since the last call: all further records that are late by no more than what is
    /// allowed for have a later time.
    pub fn risen_watermark(&mut self) -> Option<EventTime> {
        if !self.newest.is_some() {
            return None;
        }
        let lateness = millis(self.spec.max_lateness_ms);
        let watermark = EventTime(self.newest.0 - lateness - 1);
        (watermark > self.watermark).then(|| {
            self.watermark = watermark;
            watermark
        })
    }
}

fn millis(millis: u64) -> i64 {
    i64::try_from(millis).unwrap_or(LATEST).min(LATEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(late_every: u32) -> EventClock {
        EventClock::new(EventTimeSpec {
            step_ms: 100,
            late_every,
            late_by_ms: 250,
            max_lateness_ms: 50,
            idle_after_ms: None,
        })
    }

    fn times(clock: &EventClock) -> Vec<i64> {
        (0..6).map(|position| clock.time_of(position).0).collect()
    }

    #[test]
    fn of_every_so_many_records_the_last_one_is_late() {
        assert_eq!(times(&clock(0)), [0, 100, 200, 300, 400, 500]);
        assert_eq!(times(&clock(3)), [0, 100, -50, 300, 400, 250]);
        assert_eq!(times(&clock(1))[..2], [-250, -150]);
    }

    #[test]
    fn the_watermark_follows_the_newest_record_and_never_falls() {
        let mut clock = clock(3);
        let mut watermarks = Vec::new();
        for position in 0..6 {
            clock.on_record(clock.time_of(position));
            watermarks.push(clock.risen_watermark().map(|time| time.0));
        }
        let risen = [Some(-51), Some(49), None, Some(249), Some(349), None];
        assert_eq!(watermarks, risen);
    }

    #[test]
    fn the_end_of_time_is_cut_off() {
        let mut clock = clock(0);
        assert_eq!(clock.time_of(u64::MAX), EventTime(LATEST));
        clock.on_record(clock.time_of(u64::MAX));
        assert_eq!(clock.risen_watermark(), Some(EventTime(LATEST - 51)));
    }
}
