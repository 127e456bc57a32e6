//! How fast a live source emits, when it falls silent, and when it is idle: all by the wall clock.

use std::time::{Duration, Instant};

use crate::engine::plan::SubtaskPlan;
use crate::model::{OperatorSpec, SourcePause};

/// The pace of one source subtask in one attempt.
pub struct Pace {
    /// None: as fast as possible.
    rate_per_s: Option<f64>,
    /// The pause that is still to come, and how many records there are until then.
    pause: Option<(SourcePause, u64)>,
    idle_after: Option<Duration>,
    /// The rate counts from here; a silence moves it on.
    started: Instant,
    emitted: u64,
    silent_until: Option<Instant>,
    /// When the last record was emitted (or the attempt began). None: the source is idle.
    last_record: Option<Instant>,
}

impl Pace {
    /// `emitted_before`: by earlier attempts of this run. A pause that one of them has begun is over.
    pub fn new(plan: &SubtaskPlan, is_unpaced: bool, emitted_before: u64, now: Instant) -> Self {
        let spec = match &plan.operator {
            OperatorSpec::Source(spec) if !is_unpaced => Some(spec),
            _ => None,
        };
        let pause = spec.and_then(|spec| {
            let pause = spec.pause?;
            let left = pause.after_records.checked_sub(emitted_before)?;
            (left > 0 || emitted_before == 0).then_some((pause, left))
        });
        let idle_after = spec.and_then(|spec| spec.event_time.as_ref()?.idle_after_ms);
        let mut pace = Self {
            rate_per_s: spec.map(|spec| spec.rate_per_s),
            pause,
            idle_after: idle_after.map(Duration::from_millis),
            started: now,
            emitted: 0,
            silent_until: None,
            last_record: Some(now),
        };
        pace.fall_silent_if_due(now);
        pace
    }

    /// How many records the source may emit now, at most `most`.
    pub fn due(&self, most: usize, now: Instant) -> usize {
        if self.silent_until.is_some_and(|until| now < until) {
            return 0;
        }
        let mut due = most as u64;
        if let Some(rate_per_s) = self.rate_per_s {
            let elapsed_s = now.saturating_duration_since(self.started).as_secs_f64();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a float-to-integer cast saturates; both factors are positive"
            )]
            let should = (elapsed_s * rate_per_s) as u64;
            due = due.min(should.saturating_sub(self.emitted));
        }
        if let Some((_, left)) = self.pause {
            due = due.min(left);
        }
        usize::try_from(due).unwrap_or(most)
    }

    /// The source has emitted so many, perhaps none.
    pub fn on_emitted(&mut self, records: u64, now: Instant) {
        if records == 0 {
            return;
        }
        self.emitted += records;
        self.last_record = Some(now);
        if let Some((_, left)) = &mut self.pause {
            *left = left.saturating_sub(records);
        }
        self.fall_silent_if_due(now);
    }

    fn fall_silent_if_due(&mut self, now: Instant) {
        if let Some((pause, 0)) = self.pause {
            let silence = Duration::from_millis(pause.for_ms);
            self.silent_until = Some(now + silence);
            self.started += silence;
            self.pause = None;
        }
    }

    /// Whether the source has just become idle: told once.
    pub fn becomes_idle(&mut self, now: Instant) -> bool {
        let (Some(idle_after), Some(last)) = (self.idle_after, self.last_record) else {
            return false;
        };
        let is_idle = now.saturating_duration_since(last) >= idle_after;
        if is_idle {
            self.last_record = None;
        }
        is_idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::plan::ExecutionGraph;
    use crate::model::{EventTimeSpec, JobGraph, SourceKind, SourceSpec, Uid, Vertex};

    fn pace(emitted_before: u64, now: Instant) -> Pace {
        pace_with_pause_after(5, emitted_before, now)
    }

    fn pace_with_pause_after(after_records: u64, emitted_before: u64, now: Instant) -> Pace {
        let mut spec = SourceSpec::new(SourceKind::Sequence, 100.0, None);
        spec.pause = Some(SourcePause {
            after_records,
            for_ms: 1000,
        });
        spec.event_time = Some(EventTimeSpec {
            step_ms: 10,
            late_every: 0,
            late_by_ms: 0,
            max_lateness_ms: 0,
            idle_after_ms: Some(200),
        });
        let job = JobGraph {
            vertices: vec![Vertex::new(Uid::new("s"), OperatorSpec::Source(spec))],
            ..JobGraph::default()
        };
        Pace::new(
            &ExecutionGraph::of(&job).subtasks[0],
            false,
            emitted_before,
            now,
        )
    }

    fn after(start: Instant, millis: u64) -> Instant {
        start + Duration::from_millis(millis)
    }

    #[test]
    fn a_source_keeps_its_rate_and_falls_silent_once() {
        let start = Instant::now();
        let mut pace = pace(0, start);
        assert_eq!(pace.due(100, start), 0);
        assert_eq!(pace.due(100, after(start, 31)), 3);
        pace.on_emitted(3, after(start, 31));
        assert_eq!(pace.due(100, after(start, 91)), 2, "the pause comes first");
        pace.on_emitted(2, after(start, 91));
        assert_eq!(pace.due(100, after(start, 1090)), 0);
        assert_eq!(
            pace.due(100, after(start, 1092)),
            4,
            "it has not lost its pace"
        );
        assert_eq!(pace.due(3, after(start, 9000)), 3);
    }

    #[test]
    fn a_pause_of_an_earlier_attempt_is_over() {
        let start = Instant::now();
        assert_eq!(pace(5, start).due(100, after(start, 91)), 9);
        assert_eq!(pace(4, start).due(100, after(start, 91)), 1);
    }

    #[test]
    fn a_source_may_begin_with_its_pause() {
        let start = Instant::now();
        let pace = pace_with_pause_after(0, 0, start);
        assert_eq!(pace.due(100, after(start, 999)), 0);
        assert_eq!(pace.due(100, after(start, 1051)), 5);
    }

    #[test]
    fn idleness_is_told_once_until_the_next_record() {
        let start = Instant::now();
        let mut pace = pace(0, start);
        assert!(!pace.becomes_idle(after(start, 199)));
        assert!(pace.becomes_idle(after(start, 200)));
        assert!(!pace.becomes_idle(after(start, 900)));
        pace.on_emitted(1, after(start, 900));
        assert!(!pace.becomes_idle(after(start, 1000)));
        assert!(pace.becomes_idle(after(start, 1100)));
    }
}
