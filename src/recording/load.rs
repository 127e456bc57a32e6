//! How a subtask spends its time: busy, held up, or idle.

/// Modelled time that a subtask has spent while it ran, in microseconds (Flink: `busyTimeMsPerSecond` and its like).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// It processed a record, or was in the synchronous part of a snapshot.
    pub busy_us: u64,
    /// It could have gone on but for a full channel behind it.
    pub backpressured_us: u64,
    /// It had nothing to do.
    pub idle_us: u64,
}

impl Load {
    #[must_use]
    pub fn total_us(&self) -> u64 {
        self.busy_us + self.backpressured_us + self.idle_us
    }
}

/// Adds up a subtask's time from one change to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadMeter {
    spent: Load,
    /// Until when it is added up.
    until_us: u64,
    is_counting: bool,
    busy_until_us: u64,
    is_backpressured: bool,
}

impl LoadMeter {
    /// What is spent at `at_us`, which is not before the last change.
    pub fn at(&self, at_us: u64) -> Load {
        let mut load = self.spent;
        if !self.is_counting {
            return load;
        }
        let passed_us = at_us.saturating_sub(self.until_us);
        let busy_us = self.busy_until_us.saturating_sub(self.until_us);
        let busy_us = busy_us.min(passed_us);
        load.busy_us += busy_us;
        if self.is_backpressured {
            load.backpressured_us += passed_us - busy_us;
        } else {
            load.idle_us += passed_us - busy_us;
        }
        load
    }

    fn settle(&mut self, at_us: u64) {
        self.spent = self.at(at_us);
        self.until_us = at_us;
    }

    /// It is busy until then.
    pub fn set_busy(&mut self, at_us: u64, busy_until_us: u64) {
        self.settle(at_us);
        self.busy_until_us = busy_until_us;
    }

    pub fn set_backpressured(&mut self, at_us: u64, is_on: bool) {
        self.settle(at_us);
        self.is_backpressured = is_on;
    }

    /// It runs, or does not: only time in which it does is counted.
    pub fn set_running(&mut self, at_us: u64, is_running: bool) {
        self.settle(at_us);
        self.is_counting = is_running;
        if !is_running {
            self.busy_until_us = 0;
        }
    }

    pub fn is_backpressured(&self) -> bool {
        self.is_backpressured
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a stretch of time is counted twice, not at all, or under the wrong name.
    #[test]
    fn each_microsecond_counts_once() {
        let mut meter = LoadMeter::default();
        meter.set_running(100, true);
        meter.set_busy(110, 130);
        meter.set_backpressured(120, true);
        assert_eq!(meter.at(125).busy_us, 15);
        meter.set_backpressured(150, false);
        meter.set_busy(160, 170);
        meter.set_running(180, false);
        let load = Load {
            busy_us: 20 + 10,
            backpressured_us: 20,
            idle_us: 10 + 10 + 10,
        };
        assert_eq!(meter.at(500), load);
        assert_eq!(load.total_us(), 80);
    }
}
