//! Whether a failed job begins again, and after how long (Flink: `RestartBackoffTimeStrategy` and its kinds).

use std::collections::VecDeque;

use crate::model::{ExponentialDelay, RestartStrategy};

/// What the strategy says to a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Somebody must restore the job by hand.
    Wait,
    /// Begin again after this time.
    Restart { delay_us: u64 },
    /// The job has failed for good; why, as a sentence.
    GiveUp(String),
}

/// One job's strategy, with what it remembers of earlier failures.
#[derive(Clone, Debug)]
pub struct RestartBackoff {
    strategy: RestartStrategy,
    /// Restarts so far; for the exponential delay: since it was last reset.
    attempts: u32,
    /// The latest failures, oldest first: one more than are allowed within the interval.
    failures_us: VecDeque<u64>,
    /// When the last restart that was granted is due.
    restart_us: Option<u64>,
}

impl RestartBackoff {
    #[must_use]
    pub fn new(strategy: RestartStrategy) -> Self {
        Self {
            strategy,
            attempts: 0,
            failures_us: VecDeque::new(),
            restart_us: None,
        }
    }

    /// Whether [`on_failure`](Self::on_failure) looks at its chance.
    #[must_use]
    pub fn draws(&self) -> bool {
        matches!(self.strategy, RestartStrategy::ExponentialDelay(delay) if delay.jitter_percent > 0)
    }

    /// Something failed. `chance` is any number; the same one gives the same delay.
    pub fn on_failure(&mut self, now_us: u64, chance: u64) -> Verdict {
        match self.strategy {
            RestartStrategy::Manual => Verdict::Wait,
            RestartStrategy::NoRestart => {
                Verdict::GiveUp("The restart strategy allows no restart.".to_owned())
            }
            RestartStrategy::FixedDelay { attempts, delay_ms } => {
                self.attempts = self.attempts.saturating_add(1);
                if attempts != RestartStrategy::UNLIMITED_ATTEMPTS && self.attempts > attempts {
                    let count = count(attempts, "restart");
                    return Verdict::GiveUp(format!("The restart strategy allows {count}."));
                }
                Verdict::Restart {
                    delay_us: delay_ms.saturating_mul(1000),
                }
            }
            RestartStrategy::FailureRate {
                max_failures,
                interval_ms,
                delay_ms,
            } => {
                if self.is_too_often(now_us, max_failures, interval_ms.saturating_mul(1000)) {
                    let count = count(max_failures, "failure");
                    return Verdict::GiveUp(format!(
                        "The restart strategy allows {count} in {interval_ms} ms."
                    ));
                }
                Verdict::Restart {
                    delay_us: delay_ms.saturating_mul(1000),
                }
            }
            RestartStrategy::ExponentialDelay(delay) => self.exponential(now_us, delay, chance),
        }
    }

    /// More than `max` failures, this one included, lie within the interval.
    fn is_too_often(&mut self, now_us: u64, max: u32, interval_us: u64) -> bool {
        self.failures_us.push_back(now_us);
        if self.failures_us.len() > max as usize + 1 {
            self.failures_us.pop_front();
        }
        let first_us = self.failures_us.front().copied().unwrap_or(now_us);
        self.failures_us.len() > max as usize && now_us - first_us <= interval_us
    }

    fn exponential(&mut self, now_us: u64, delay: ExponentialDelay, chance: u64) -> Verdict {
        if let Some(restart_us) = self.restart_us {
            if now_us <= restart_us {
                // A restart is still to come: this failure is part of the same.
                return Verdict::Restart {
                    delay_us: restart_us - now_us,
                };
            }
            if now_us - restart_us >= delay.reset_after_ms.saturating_mul(1000) {
                self.attempts = 0;
            }
        }
        let is_unlimited = delay.attempts == RestartStrategy::UNLIMITED_ATTEMPTS;
        if !is_unlimited && self.attempts >= delay.attempts {
            let count = count(delay.attempts, "restart");
            return Verdict::GiveUp(format!("The restart strategy allows {count} in a row."));
        }
        let delay_us = backoff_us(delay, self.attempts, chance);
        self.attempts = self.attempts.saturating_add(1);
        self.restart_us = Some(now_us.saturating_add(delay_us));
        Verdict::Restart { delay_us }
    }
}

/// `initial × multiplier^k`, give or take the jitter; never above the maximum nor below the initial delay.
///
/// In whole numbers, so that it is the same on every machine.
fn backoff_us(delay: ExponentialDelay, k: u32, chance: u64) -> u64 {
    let (initial_us, max_us) = (
        delay.initial_ms.saturating_mul(1000),
        delay.max_ms.saturating_mul(1000),
    );
    let mut base_us = initial_us;
    for _ in 0..k {
        let next_us = percent(base_us, delay.multiplier_percent);
        if next_us == base_us {
            break;
        }
        base_us = next_us;
    }
    let range_us = percent(base_us, delay.jitter_percent);
    let offset_us = chance % range_us.saturating_mul(2).saturating_add(1);
    let jittered_us = base_us.saturating_add(offset_us).saturating_sub(range_us);
    jittered_us.min(max_us).max(initial_us.min(max_us))
}

fn percent(value: u64, percent: u32) -> u64 {
    let product = u128::from(value) * u128::from(percent) / 100;
    u64::try_from(product).unwrap_or(u64::MAX)
}

fn count(number: u32, what: &str) -> String {
    match number {
        0 => format!("no {what}"),
        1 => format!("one {what}"),
        _ => format!("{number} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000;

    fn delay(strategy: &mut RestartBackoff, now_us: u64) -> Option<u64> {
        match strategy.on_failure(now_us, 0) {
            Verdict::Restart { delay_us } => Some(delay_us),
            Verdict::GiveUp(_) | Verdict::Wait => None,
        }
    }

    #[test]
    fn none_gives_up_at_once_and_manual_waits() {
        let mut none = RestartBackoff::new(RestartStrategy::NoRestart);
        assert!(matches!(none.on_failure(0, 0), Verdict::GiveUp(_)));
        let mut manual = RestartBackoff::new(RestartStrategy::Manual);
        assert_eq!(manual.on_failure(0, 0), Verdict::Wait);
    }

    #[test]
    fn fixed_delay_restarts_so_many_times() {
        let mut strategy = RestartBackoff::new(RestartStrategy::FixedDelay {
            attempts: 2,
            delay_ms: 1_000,
        });
        let delays: Vec<_> = (0..4).map(|at| delay(&mut strategy, at * SECOND)).collect();
        assert_eq!(delays, [Some(SECOND), Some(SECOND), None, None]);
    }

    /// More than two within ten seconds are too many; exactly ten seconds apart still counts as within.
    #[test]
    fn failure_rate_looks_at_an_interval() {
        let strategy = || {
            RestartBackoff::new(RestartStrategy::FailureRate {
                max_failures: 2,
                interval_ms: 10_000,
                delay_ms: 500,
            })
        };
        let at = |seconds: &[u64]| {
            let mut strategy = strategy();
            let delays = seconds.iter().map(|at| delay(&mut strategy, at * SECOND));
            delays.map(|delay| delay.is_some()).collect::<Vec<_>>()
        };
        assert_eq!(at(&[0, 5, 10]), [true, true, false]);
        assert_eq!(at(&[0, 5, 11, 16, 22]), [true; 5]);
        assert_eq!(at(&[0, 5, 11, 12]), [true, true, true, false]);
    }

    fn exponential(jitter_percent: u32, attempts: u32) -> RestartStrategy {
        RestartStrategy::ExponentialDelay(ExponentialDelay {
            jitter_percent,
            attempts,
            reset_after_ms: 100_000,
            ..ExponentialDelay::default()
        })
    }

    #[test]
    fn the_exponential_delay_grows_to_its_maximum_and_is_reset() {
        let unlimited = RestartStrategy::UNLIMITED_ATTEMPTS;
        let mut strategy = RestartBackoff::new(exponential(0, unlimited));
        let mut now_us = 0;
        let mut delays = Vec::new();
        for _ in 0..13 {
            let delay_us = delay(&mut strategy, now_us).unwrap_or_default();
            delays.push(delay_us);
            now_us += delay_us + SECOND;
        }
        assert_eq!(delays[..4], [1_000_000, 1_500_000, 2_250_000, 3_375_000]);
        assert_eq!(delays[11..], [60 * SECOND, 60 * SECOND]);
        now_us += 100 * SECOND;
        assert_eq!(delay(&mut strategy, now_us), Some(SECOND), "reset");
    }

    #[test]
    fn failures_within_a_pending_delay_are_one() {
        let mut strategy = RestartBackoff::new(exponential(0, 1));
        assert_eq!(delay(&mut strategy, 0), Some(SECOND));
        assert_eq!(delay(&mut strategy, SECOND / 4), Some(SECOND * 3 / 4));
        assert_eq!(delay(&mut strategy, SECOND), Some(0));
        assert_eq!(
            delay(&mut strategy, SECOND + 1),
            None,
            "one attempt was allowed"
        );
    }

    proptest! {
        /// Breaks if the jitter leaves its range, or the delay its bounds.
        #[test]
        fn jitter_stays_in_its_range(chance in any::<u64>(), k in 0_u32..40) {
            let settings = ExponentialDelay::default();
            let plain = backoff_us(ExponentialDelay { jitter_percent: 0, ..settings }, k, chance);
            let jittered = backoff_us(settings, k, chance);
            prop_assert!((1_000_000..=60_000_000).contains(&jittered));
            let range = plain / 10 + 1;
            prop_assert!(jittered >= plain.saturating_sub(range * 3 / 2) && jittered <= plain + range);
        }
    }
}
