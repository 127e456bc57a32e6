//! The bounds of a job's numbers, each said once: what is checked here is what a person can set elsewhere.

use std::ops::RangeInclusive;

use super::key_group::UPPER_BOUND_MAX_PARALLELISM;

/// Both ends belong to it.
pub type Bounds = RangeInclusive<u64>;

/// Some eleven days of virtual time.
pub const MAX_TIME_MS: u64 = 1_000_000_000;
/// Times that may be zero, and times that may not.
pub const TIME_MS: Bounds = 0..=MAX_TIME_MS;
pub const POSITIVE_TIME_MS: Bounds = 1..=MAX_TIME_MS;
/// Up to 1,000 seconds of virtual time.
pub const COST_US: Bounds = 0..=1_000_000_000;
/// Subtasks of one operator, and of all of them together: each can be seen on the screen.
pub const MAX_PARALLELISM: u32 = 64;
pub const MAX_SUBTASKS: u64 = 256;
/// Beyond this, a person says that there is no limit.
const MAX_TIMES: u64 = 1_000_000;
/// The sum of 1, 2, 3 … up to here still fits into an exact decimal, with digits to spare for sums of sums.
const MAX_RECORDS: u64 = 1_000_000_000_000;

/// Intervals and timeouts. Flink refuses shorter ones, too (`CheckpointCoordinator`).
pub const CHECKPOINT_MS: Bounds = 10..=MAX_TIME_MS;
pub const RETAINED: Bounds = 1..=100;
pub const MAX_CONCURRENT: Bounds = 1..=16;
pub const TOLERABLE_FAILED: Bounds = 0..=MAX_TIMES;

pub const RESTART_ATTEMPTS: Bounds = 0..=MAX_TIMES;
pub const FAILURES_PER_INTERVAL: Bounds = 1..=MAX_TIMES;
pub const MULTIPLIER_PERCENT: Bounds = 100..=10_000;
pub const JITTER_PERCENT: Bounds = 0..=100;

pub const CHANNEL_CAPACITY: Bounds = 1..=1_000;
pub const SLOTS: Bounds = PARALLELISM;
pub const INLINE_THRESHOLD_BYTES: Bounds = 0..=1 << 20;
pub const COMPACTION_TRIGGER: Bounds = 0..=1_000;
pub const MEMORY_MIB: Bounds = 1..=4_096;
pub const MAX_STATE_BYTES: Bounds = 1..=1 << 30;

pub const PARALLELISM: Bounds = 1..=MAX_PARALLELISM as u64;
pub const KEY_GROUPS: Bounds = 1..=UPPER_BOUND_MAX_PARALLELISM as u64;
pub const SPLITS: Bounds = 1..=MAX_SUBTASKS;
pub const RATE_PER_S: RangeInclusive<f64> = 0.001..=1_000_000.0;
/// After which a source ends or pauses.
pub const SOURCE_RECORDS: Bounds = 0..=MAX_RECORDS;
pub const LATE_EVERY: Bounds = 0..=1_000_000;
/// The sum of the largest numbers that a source emits is still exact when it is so many times as much.
pub const FACTOR: RangeInclusive<i32> = -10_000..=10_000;
pub const MODULUS: Bounds = 1..=1_000_000;
/// Records of one average, or elements of one list.
pub const FUNCTION_NUMBER: Bounds = 1..=1_000;
pub const SINK_THRESHOLD: Bounds = 1..=10_000;
