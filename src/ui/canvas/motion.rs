//! How a queue moves up: when its head is taken, the others follow at a steady pace instead of jumping.
//!
//! The pace is virtual: at rest (paused, stepped, scrubbed) every element is exactly where the scene says.

use std::collections::BTreeMap;

use crate::model::{ChannelId, StreamElement, StreamEvent};

/// A leap of the clock beyond this is no motion but another moment.
const LEAP_US: u64 = 400_000;

/// Where elements were drawn last.
#[derive(Default)]
pub struct Motion {
    clock_us: u64,
    /// Virtual time since the last frame; 0: everything is put in its place.
    passed_us: u64,
    shown: BTreeMap<Identity, f32>,
    next: BTreeMap<Identity, f32>,
}

/// Tells the elements of a channel apart.
pub type Identity = (ChannelId, u8, u64, u64);

#[must_use]
pub fn identity(channel: ChannelId, element: &StreamElement) -> Identity {
    match element {
        StreamElement::Record(record) => {
            let origin = record.origin;
            (channel, 0, origin.split.0.into(), origin.offset)
        }
        StreamElement::Event(StreamEvent::Barrier(barrier)) => (channel, 1, barrier.id.0, 0),
        StreamElement::Event(StreamEvent::CancelCheckpoint(id)) => (channel, 2, id.0, 0),
        StreamElement::Event(StreamEvent::Watermark(time)) => {
            (channel, 5, time.0.cast_unsigned(), 0)
        }
        StreamElement::Event(StreamEvent::Idle) => (channel, 6, 0, 0),
        StreamElement::Event(StreamEvent::Active) => (channel, 7, 0, 0),
        StreamElement::Event(StreamEvent::EndOfData) => (channel, 3, 0, 0),
        StreamElement::Event(StreamEvent::EndOfPartition) => (channel, 4, 0, 0),
    }
}

impl Motion {
    /// Begin a frame at `clock_us`. `is_flowing`: time passes by itself, and motion is wanted.
    pub fn begin(&mut self, clock_us: u64, is_flowing: bool) {
        let passed_us = clock_us.saturating_sub(self.clock_us);
        let is_motion = is_flowing && clock_us >= self.clock_us && passed_us < LEAP_US;
        self.passed_us = if is_motion { passed_us } else { 0 };
        if !is_motion {
            self.shown.clear();
        }
        self.clock_us = clock_us;
    }

    /// Where to draw an element that belongs `target` before the gate, at most `pace` points per microsecond nearer
    /// than it was, and not before `least`.
    pub fn place(&mut self, id: Identity, target: f32, pace: f32, least: f32) -> f32 {
        let reached = match self.shown.get(&id) {
            Some(shown) => target.max(shown - pace * self.passed_us as f32),
            None => target,
        };
        let reached = reached.max(least);
        self.next.insert(id, reached);
        reached
    }

    /// End the frame: what was not drawn is forgotten.
    pub fn end(&mut self) {
        self.shown = std::mem::take(&mut self.next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: Identity = (ChannelId(0), 0, 0, 1);

    fn frame(motion: &mut Motion, clock_us: u64, is_flowing: bool, target: f32) -> f32 {
        motion.begin(clock_us, is_flowing);
        let place = motion.place(ID, target, 0.001, 0.0);
        motion.end();
        place
    }

    #[track_caller]
    fn assert_at(place: f32, expected: f32) {
        assert!((place - expected).abs() < 1e-3, "{place}, not {expected}");
    }

    #[test]
    fn a_queue_moves_up_at_its_pace() {
        let mut motion = Motion::default();
        assert_at(frame(&mut motion, 0, true, 100.0), 100.0);
        assert_at(frame(&mut motion, 10_000, true, 76.0), 90.0);
        assert_at(frame(&mut motion, 30_000, true, 76.0), 76.0);
    }

    #[test]
    fn a_paused_or_scrubbed_picture_is_exact() {
        let mut motion = Motion::default();
        frame(&mut motion, 0, true, 100.0);
        assert_at(frame(&mut motion, 1_000, false, 76.0), 76.0);
        frame(&mut motion, 2_000, true, 76.0);
        // Back in time.
        assert_at(frame(&mut motion, 1_000, true, 100.0), 100.0);
        // A leap.
        assert_at(frame(&mut motion, 900_000, true, 20.0), 20.0);
    }
}
