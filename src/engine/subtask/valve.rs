//! The watermark of a subtask: the least of its inputs', as Flink's `StatusWatermarkValve` finds it.
//!
//! An idle input does not hold the watermark back, and an input that has come back after it counts again only when it
//! has caught up: so the watermark never falls. Nothing of this is in a checkpoint: after a restore every
//! watermark begins again at its least.
//!
//! Barriers do not come through here, and idle inputs still align.

use crate::model::EventTime;

/// What comes out of the valve, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValveOutput {
    /// The subtask's watermark has risen to this.
    Watermark(EventTime),
    /// All inputs are idle.
    Idle,
    /// One of them is active again.
    Active,
}

#[derive(Clone, Copy, Debug)]
struct Input {
    watermark: EventTime,
    is_idle: bool,
}

/// The valve of one subtask.
#[derive(Clone, Debug)]
pub struct WatermarkValve {
    inputs: Vec<Input>,
    watermark: EventTime,
    is_idle: bool,
}

impl WatermarkValve {
    /// All inputs are active, and nothing is known of their time.
    #[must_use]
    pub fn new(inputs: usize) -> Self {
        let input = Input {
            watermark: EventTime::NONE,
            is_idle: false,
        };
        Self {
            inputs: vec![input; inputs],
            watermark: EventTime::NONE,
            is_idle: false,
        }
    }

    /// The newest watermark that came out; [`EventTime::NONE`]: none has.
    #[must_use]
    pub fn watermark(&self) -> EventTime {
        self.watermark
    }

    /// All inputs are idle.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// A watermark was taken from `input`. One that is not above its last, or from an idle input, says nothing.
    pub fn on_watermark(&mut self, input: usize, watermark: EventTime) -> Option<ValveOutput> {
        let state = &mut self.inputs[input];
        if state.is_idle || watermark <= state.watermark {
            return None;
        }
        state.watermark = watermark;
        self.rise_to(self.least_aligned()?)
    }

    /// `input` went idle: if it was the one that held the watermark back, those that are left may be further on.
    pub fn on_idle(&mut self, input: usize) -> Vec<ValveOutput> {
        let state = &mut self.inputs[input];
        if state.is_idle {
            return Vec::new();
        }
        state.is_idle = true;
        let held_back = state.watermark == self.watermark;
        let mut outputs = Vec::new();
        if self.inputs.iter().all(|input| input.is_idle) {
            // Nobody can hold anything back any more: it does not matter who went idle first.
            let newest = self.inputs.iter().map(|input| input.watermark).max();
            outputs.extend(newest.and_then(|newest| self.rise_to(newest)));
            self.is_idle = true;
            outputs.push(ValveOutput::Idle);
        } else if held_back {
            let least = self.least_aligned();
            outputs.extend(least.and_then(|least| self.rise_to(least)));
        }
        outputs
    }

    /// `input` is active again.
    pub fn on_active(&mut self, input: usize) -> Option<ValveOutput> {
        self.inputs[input].is_idle = false;
        std::mem::take(&mut self.is_idle).then_some(ValveOutput::Active)
    }

    /// Event time is over: nothing comes any more, from no input.
    pub fn end(&mut self) -> Vec<ValveOutput> {
        let woken = std::mem::take(&mut self.is_idle).then_some(ValveOutput::Active);
        let last = self.rise_to(EventTime::MAX);
        woken.into_iter().chain(last).collect()
    }

    /// The least watermark of the inputs that are active and not behind what has come out already.
    fn least_aligned(&self) -> Option<EventTime> {
        let aligned = self
            .inputs
            .iter()
            .filter(|input| !input.is_idle && input.watermark >= self.watermark);
        aligned.map(|input| input.watermark).min()
    }

    fn rise_to(&mut self, watermark: EventTime) -> Option<ValveOutput> {
        if watermark <= self.watermark {
            return None;
        }
        self.watermark = watermark;
        Some(ValveOutput::Watermark(watermark))
    }
}

#[cfg(test)]
mod tests {
    use super::ValveOutput::{Active, Idle, Watermark};
    use super::*;
    use proptest::prelude::*;

    fn at(time: i64) -> EventTime {
        EventTime(time)
    }

    #[test]
    fn the_slowest_input_decides() {
        let mut valve = WatermarkValve::new(2);
        assert_eq!(valve.on_watermark(0, at(10)), None, "nothing of the other");
        assert_eq!(valve.on_watermark(1, at(4)), Some(Watermark(at(4))));
        assert_eq!(valve.on_watermark(0, at(20)), None);
        assert_eq!(valve.on_watermark(1, at(30)), Some(Watermark(at(20))));
        assert_eq!(valve.on_watermark(1, at(5)), None, "older than its last");
    }

    #[test]
    fn an_idle_input_holds_back_nothing() {
        let mut valve = WatermarkValve::new(2);
        valve.on_watermark(0, at(10));
        assert_eq!(valve.on_idle(1), [Watermark(at(10))]);
        assert_eq!(valve.on_watermark(0, at(12)), Some(Watermark(at(12))));
        assert_eq!(valve.on_idle(1), [], "it is idle already");
    }

    #[test]
    fn an_input_that_comes_back_counts_when_it_has_caught_up() {
        let mut valve = WatermarkValve::new(2);
        valve.on_watermark(0, at(10));
        valve.on_idle(1);
        assert_eq!(valve.on_watermark(1, at(50)), None, "still idle");
        assert_eq!(valve.on_active(1), None);
        assert_eq!(valve.on_watermark(1, at(7)), None);
        assert_eq!(valve.on_watermark(0, at(12)), Some(Watermark(at(12))));
        assert_eq!(valve.on_watermark(1, at(15)), None);
        assert_eq!(valve.on_watermark(0, at(20)), Some(Watermark(at(15))));
    }

    #[test]
    fn when_all_are_idle_the_newest_comes_out_and_then_idleness() {
        let mut valve = WatermarkValve::new(2);
        valve.on_watermark(0, at(10));
        valve.on_watermark(1, at(4));
        assert_eq!(valve.on_idle(0), []);
        assert_eq!(valve.on_idle(1), [Watermark(at(10)), Idle]);
        assert!(valve.is_idle());
        assert_eq!(valve.on_active(1), Some(Active));
        assert_eq!(valve.on_active(0), None);
        assert_eq!(valve.on_watermark(1, at(6)), None, "it never falls");
    }

    /// As in Flink: an input that comes back far ahead raises nothing by itself, nor does one that idles behind.
    #[test]
    fn only_the_input_that_held_back_lets_go_when_it_idles() {
        let mut valve = WatermarkValve::new(3);
        for (input, time) in [(0, 42), (1, 10), (2, 10)] {
            valve.on_watermark(input, at(time));
        }
        assert_eq!(valve.on_idle(0), []);
        assert_eq!(valve.on_watermark(2, at(20)), None);
        assert_eq!(valve.on_idle(1), [Watermark(at(20))]);
        assert_eq!(valve.on_active(1), None, "behind now");
        assert_eq!(valve.on_idle(2), [], "nobody else counts");
        assert_eq!(valve.on_active(0), None, "far ahead");
        assert_eq!(valve.on_idle(1), [], "it did not hold back");
        assert_eq!(valve.on_watermark(0, at(43)), Some(Watermark(at(43))));
    }

    #[test]
    fn the_end_of_event_time_wakes_the_idle() {
        let mut valve = WatermarkValve::new(1);
        assert_eq!(valve.on_idle(0), [Idle]);
        assert_eq!(valve.end(), [Active, Watermark(EventTime::MAX)]);
        assert_eq!(valve.end(), [], "it ends once");
    }

    /// The same valve told the long way, as Flink does: each input remembers whether it is *aligned*.
    struct Reference {
        inputs: Vec<(EventTime, bool, bool)>,
        last: EventTime,
    }

    impl Reference {
        fn emit_least(&mut self) -> Option<EventTime> {
            let aligned = self.inputs.iter().filter(|(_, _, aligned)| *aligned);
            let least = aligned.map(|(time, ..)| *time).min()?;
            (least > self.last).then(|| {
                self.last = least;
                least
            })
        }

        fn apply(&mut self, deed: Deed) -> Option<EventTime> {
            match deed {
                Deed::Watermark(input, time) => {
                    let (known, idle, aligned) = &mut self.inputs[input];
                    if *idle || at(time) <= *known {
                        return None;
                    }
                    *known = at(time);
                    *aligned |= *known >= self.last;
                    self.emit_least()
                }
                Deed::Idle(input) if !self.inputs[input].1 => {
                    let was_last = self.inputs[input].0 == self.last;
                    self.inputs[input].1 = true;
                    self.inputs[input].2 = false;
                    if self.inputs.iter().all(|(_, idle, _)| *idle) {
                        let newest = self.inputs.iter().map(|(time, ..)| *time).max()?;
                        let rises = newest > self.last;
                        self.last = self.last.max(newest);
                        return rises.then_some(newest);
                    }
                    was_last.then(|| self.emit_least()).flatten()
                }
                Deed::Active(input) if self.inputs[input].1 => {
                    self.inputs[input].1 = false;
                    self.inputs[input].2 = self.inputs[input].0 >= self.last;
                    None
                }
                Deed::Idle(_) | Deed::Active(_) => None,
            }
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum Deed {
        Watermark(usize, i64),
        Idle(usize),
        Active(usize),
    }

    fn deed() -> impl Strategy<Value = Deed> {
        let input = 0_usize..3;
        prop_oneof![
            3 => (input.clone(), 0_i64..50).prop_map(|(input, time)| Deed::Watermark(input, time)),
            1 => input.clone().prop_map(Deed::Idle),
            1 => input.prop_map(Deed::Active),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// Breaks if the watermark falls, if an input that counts is passed, or if one that does not holds it back.
        #[test]
        fn the_valve_does_what_flinks_does(deeds in prop::collection::vec(deed(), 0..60)) {
            let mut valve = WatermarkValve::new(3);
            let mut reference = Reference {
                inputs: vec![(EventTime::NONE, false, true); 3],
                last: EventTime::NONE,
            };
            for deed in deeds {
                let (before, was_idle) = (valve.watermark(), valve.is_idle());
                let outputs = match deed {
                    Deed::Watermark(input, time) => {
                        valve.on_watermark(input, at(time)).into_iter().collect()
                    }
                    Deed::Idle(input) => valve.on_idle(input),
                    Deed::Active(input) => valve.on_active(input).into_iter().collect(),
                };
                let mut expected: Vec<ValveOutput> =
                    reference.apply(deed).map(Watermark).into_iter().collect();
                match (was_idle, reference.inputs.iter().all(|(_, idle, _)| *idle)) {
                    (false, true) => expected.push(Idle),
                    (true, false) => expected.push(Active),
                    _ => {}
                }
                prop_assert_eq!(outputs, expected);
                prop_assert!(valve.watermark() >= before);
            }
        }
    }
}
