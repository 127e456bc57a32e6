//! The periodic scheduler (Flink: `CheckpointCoordinator.ScheduledTrigger`).

use crate::model::CheckpointConfig;

/// When the next periodic checkpoint is due.
#[derive(Clone, Debug)]
pub struct Periodic {
    /// At least the minimum pause. None: there are no periodic checkpoints.
    interval_ms: Option<u64>,
    min_pause_ms: u64,
    /// None: switched off.
    next_us: Option<u64>,
}

impl Periodic {
    pub fn new(config: &CheckpointConfig) -> Self {
        let interval = |interval_ms: u64| interval_ms.max(config.min_pause_ms).max(1);
        Self {
            interval_ms: config.interval_ms.map(interval),
            min_pause_ms: config.min_pause_ms,
            next_us: None,
        }
    }

    #[must_use]
    pub fn has_interval(&self) -> bool {
        self.interval_ms.is_some()
    }

    #[must_use]
    pub fn is_on(&self) -> bool {
        self.next_us.is_some()
    }

    #[must_use]
    pub fn next_us(&self) -> Option<u64> {
        self.next_us
    }

    /// The first tick comes after a random time between the minimum pause and the interval, so that jobs started
    /// together do not checkpoint together. Without a number drawn by chance (after a failover), exactly after the pause.
    pub fn start(&mut self, now_us: u64, chance: Option<u64>) {
        let Some(interval_ms) = self.interval_ms else {
            return;
        };
        let spread = (interval_ms - self.min_pause_ms).saturating_add(1);
        let delay_ms = self.min_pause_ms + chance.map_or(0, |chance| chance % spread);
        self.rearm(now_us, delay_ms.saturating_mul(1000));
    }

    pub fn stop(&mut self) {
        self.next_us = None;
    }

    /// A tick has come: the next one is an interval after it was due, not after it came.
    pub fn tick(&mut self) {
        if let (Some(next_us), Some(interval_ms)) = (self.next_us, self.interval_ms) {
            self.next_us = Some(next_us.saturating_add(interval_ms.saturating_mul(1000)));
        }
    }

    /// The next tick is `delay_us` from now, and the others follow that one.
    pub fn rearm(&mut self, now_us: u64, delay_us: u64) {
        self.next_us = Some(now_us.saturating_add(delay_us));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn periodic(interval_ms: u64, min_pause_ms: u64) -> Periodic {
        Periodic::new(&CheckpointConfig {
            interval_ms: Some(interval_ms),
            min_pause_ms,
            ..CheckpointConfig::default()
        })
    }

    #[test]
    fn the_first_tick_is_between_the_pause_and_the_interval() {
        let mut timer = periodic(100, 30);
        let mut seen = std::collections::BTreeSet::new();
        for chance in 0..1000 {
            timer.start(0, Some(chance));
            seen.extend(timer.next_us());
        }
        assert_eq!((seen.first(), seen.last()), (Some(&30_000), Some(&100_000)));
        timer.start(5_000, None);
        assert_eq!(timer.next_us(), Some(35_000), "after a failover: the pause");
    }

    #[test]
    fn the_interval_is_at_least_the_pause_and_keeps_its_beat() {
        let mut timer = periodic(100, 300);
        timer.start(0, None);
        timer.tick();
        assert_eq!(timer.next_us(), Some(600_000));
        timer.stop();
        timer.tick();
        assert!(!timer.is_on());
    }
}
