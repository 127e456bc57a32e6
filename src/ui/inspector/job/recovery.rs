//! What happens after a failure.

use egui::Ui;

use crate::model::limits;
use crate::model::{ExponentialDelay, FailoverStrategy, JobConfig, RestartStrategy};

use super::super::super::settings::{controls, group, setting, table};

/// Flink's defaults for each strategy.
const STRATEGIES: [RestartStrategy; 5] = [
    RestartStrategy::Manual,
    RestartStrategy::NoRestart,
    RestartStrategy::FixedDelay {
        attempts: 1,
        delay_ms: 1_000,
    },
    RestartStrategy::FailureRate {
        max_failures: 1,
        interval_ms: 60_000,
        delay_ms: 1_000,
    },
    RestartStrategy::ExponentialDelay(ExponentialDelay {
        initial_ms: 1_000,
        max_ms: 60_000,
        multiplier_percent: 150,
        jitter_percent: 10,
        reset_after_ms: 3_600_000,
        attempts: RestartStrategy::UNLIMITED_ATTEMPTS,
    }),
];

pub fn group_ui(ui: &mut Ui, config: &mut JobConfig) {
    let region = match config.failover {
        FailoverStrategy::Region => "the failed region",
        FailoverStrategy::Full => "the whole job",
    };
    let summary = format!("{} · {region}", name(config.restart));
    group(ui, "Recovery", &summary, |ui| {
        setting(ui, &table::RESTART, |ui| {
            strategy_ui(ui, &mut config.restart);
        });
        parameters_ui(ui, &mut config.restart);
        setting(ui, &table::FAILOVER, |ui| {
            for (strategy, words) in [
                (FailoverStrategy::Region, "region"),
                (FailoverStrategy::Full, "full"),
            ] {
                ui.selectable_value(&mut config.failover, strategy, words);
            }
        });
    });
}

fn name(strategy: RestartStrategy) -> &'static str {
    match strategy {
        RestartStrategy::Manual => "wait for Restore",
        RestartStrategy::NoRestart => "none",
        RestartStrategy::FixedDelay { .. } => "fixed delay",
        RestartStrategy::FailureRate { .. } => "failure rate",
        RestartStrategy::ExponentialDelay(_) => "exponential delay",
    }
}

/// Another strategy begins with its defaults; the chosen one keeps what it was given.
fn strategy_ui(ui: &mut Ui, chosen: &mut RestartStrategy) {
    let options = STRATEGIES.map(|strategy| {
        if name(strategy) == name(*chosen) {
            *chosen
        } else {
            strategy
        }
    });
    controls::choice(ui, chosen, &options, name);
}

fn parameters_ui(ui: &mut Ui, strategy: &mut RestartStrategy) {
    let unlimited = RestartStrategy::UNLIMITED_ATTEMPTS;
    match strategy {
        RestartStrategy::Manual | RestartStrategy::NoRestart => {}
        RestartStrategy::FixedDelay { attempts, delay_ms } => {
            setting(ui, &table::ATTEMPTS, |ui| {
                controls::limited(ui, attempts, limits::RESTART_ATTEMPTS, (unlimited, 1));
            });
            setting(ui, &table::DELAY, |ui| {
                controls::milliseconds(ui, delay_ms, 0);
            });
        }
        RestartStrategy::FailureRate {
            max_failures,
            interval_ms,
            delay_ms,
        } => {
            setting(ui, &table::FAILURES, |ui| {
                controls::number(ui, max_failures, limits::FAILURES_PER_INTERVAL);
            });
            setting(ui, &table::FAILURE_INTERVAL, |ui| {
                controls::milliseconds(ui, interval_ms, 1);
            });
            setting(ui, &table::FAILURE_DELAY, |ui| {
                controls::milliseconds(ui, delay_ms, 0);
            });
        }
        RestartStrategy::ExponentialDelay(spec) => exponential_ui(ui, spec),
    }
}

fn exponential_ui(ui: &mut Ui, spec: &mut ExponentialDelay) {
    let ExponentialDelay {
        initial_ms,
        max_ms,
        multiplier_percent,
        jitter_percent,
        reset_after_ms,
        attempts,
    } = spec;
    setting(ui, &table::INITIAL_DELAY, |ui| {
        controls::milliseconds(ui, initial_ms, 1);
    });
    setting(ui, &table::MULTIPLIER, |ui| {
        controls::factor(ui, multiplier_percent, limits::MULTIPLIER_PERCENT);
    });
    setting(ui, &table::MAX_DELAY, |ui| {
        controls::milliseconds(ui, max_ms, 1);
    });
    setting(ui, &table::JITTER, |ui| {
        controls::percent(ui, jitter_percent, limits::JITTER_PERCENT);
    });
    setting(ui, &table::RESET_AFTER, |ui| {
        controls::milliseconds(ui, reset_after_ms, 1);
    });
    setting(ui, &table::EXPONENTIAL_ATTEMPTS, |ui| {
        let unlimited = RestartStrategy::UNLIMITED_ATTEMPTS;
        controls::limited(ui, attempts, limits::RESTART_ATTEMPTS, (unlimited, 1));
    });
}
