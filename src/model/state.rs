//! What keyed state is made of, as settings name it and as people read it: kinds, entries, and the time they live.

use std::fmt;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::element::Key;

/// For how long an entry of keyed state lives after it was last used, in processing time (Flink: `StateTtlConfig`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TtlSpec {
    /// An entry has expired when this much time has passed, to the millisecond: `last access + ttl ≤ now`.
    pub ttl_ms: u64,
    pub update: TtlUpdate,
    pub visibility: TtlVisibility,
    /// Entries that have expired are also removed when nobody reads them: on the heap a few with each access
    /// (`cleanupIncrementally`), in RocksDB when it compacts its files (`cleanupInRocksdbCompactFilter`). Off:
    /// `disableCleanupInBackground`.
    pub background_cleanup: bool,
    /// What has expired is left out of full snapshots; it stays in the working state (`cleanupFullSnapshot`).
    pub full_snapshot_cleanup: bool,
}

impl TtlSpec {
    /// Flink's defaults.
    #[must_use]
    pub fn new(ttl_ms: u64) -> Self {
        Self {
            ttl_ms,
            update: TtlUpdate::OnCreateAndWrite,
            visibility: TtlVisibility::NeverReturnExpired,
            background_cleanup: true,
            full_snapshot_cleanup: false,
        }
    }

    /// Whether what was last used at `last_access_ms` has expired at `now_ms` (Flink: `TtlUtils.expired`).
    #[must_use]
    pub fn is_expired(&self, last_access_ms: u64, now_ms: u64) -> bool {
        last_access_ms.saturating_add(self.ttl_ms) <= now_ms
    }
}

/// What makes an entry live on (Flink: `StateTtlConfig.UpdateType`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TtlUpdate {
    #[default]
    OnCreateAndWrite,
    OnReadAndWrite,
}

impl TtlUpdate {
    pub const ALL: [Self; 2] = [Self::OnCreateAndWrite, Self::OnReadAndWrite];

    /// As Flink writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OnCreateAndWrite => "OnCreateAndWrite",
            Self::OnReadAndWrite => "OnReadAndWrite",
        }
    }
}

/// Whether a read may return what has expired and is still there (Flink: `StateTtlConfig.StateVisibility`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TtlVisibility {
    #[default]
    NeverReturnExpired,
    ReturnExpiredIfNotCleanedUp,
}

impl TtlVisibility {
    pub const ALL: [Self; 2] = [Self::NeverReturnExpired, Self::ReturnExpiredIfNotCleanedUp];

    /// As Flink writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NeverReturnExpired => "NeverReturnExpired",
            Self::ReturnExpiredIfNotCleanedUp => "ReturnExpiredIfNotCleanedUp",
        }
    }
}

/// The kinds of keyed state (Flink: `StateDescriptor.Type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StateKind {
    Value,
    List,
    Map,
    Reducing,
    Aggregating,
}

impl StateKind {
    pub const ALL: [Self; 5] = [
        Self::Value,
        Self::List,
        Self::Map,
        Self::Reducing,
        Self::Aggregating,
    ];

    /// As Flink calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Value => "ValueState",
            Self::List => "ListState",
            Self::Map => "MapState",
            Self::Reducing => "ReducingState",
            Self::Aggregating => "AggregatingState",
        }
    }
}

/// What an entry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EntryValue {
    Number(Decimal),
    /// How many numbers, and their sum: the classic example's tuple, and the accumulator of an average.
    Average {
        count: u64,
        sum: Decimal,
    },
}

impl EntryValue {
    /// The number, or the sum.
    #[must_use]
    pub fn number(self) -> Decimal {
        match self {
            Self::Number(number) => number,
            Self::Average { sum, .. } => sum,
        }
    }
}

impl fmt::Display for EntryValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Average { count, sum } => write!(f, "count {count}, sum {sum}"),
        }
    }
}

/// One entry of keyed state as it is stored, whether it has expired or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StateEntry {
    /// Of a map: the user key.
    pub user_key: Option<Decimal>,
    pub value: EntryValue,
    /// In processing time; none: the state has no time to live.
    pub last_access_ms: Option<u64>,
}

impl StateEntry {
    /// Whether it has expired at `now_ms`, under `ttl`.
    #[must_use]
    pub fn is_expired(&self, ttl: Option<TtlSpec>, now_ms: u64) -> bool {
        match (ttl, self.last_access_ms) {
            (Some(ttl), Some(last)) => ttl.is_expired(last, now_ms),
            _ => false,
        }
    }
}

impl fmt::Display for StateEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.user_key {
            Some(user_key) => write!(f, "{user_key}: {}", self.value),
            None => self.value.fmt(f),
        }
    }
}

/// All that is stored of one key, in order: one entry, the elements of a list, or the entries of a map by user key.
pub type KeyContents = (Key, Vec<StateEntry>);

/// `entries` in one line: a list in brackets, a map in braces.
#[must_use]
pub fn entries_text(kind: StateKind, entries: &[StateEntry]) -> String {
    let texts: Vec<String> = entries.iter().map(ToString::to_string).collect();
    let text = texts.join(", ");
    match kind {
        StateKind::List => format!("[{text}]"),
        StateKind::Map => format!("{{{text}}}"),
        StateKind::Value | StateKind::Reducing | StateKind::Aggregating => text,
    }
}
