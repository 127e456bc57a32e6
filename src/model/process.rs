//! Operators that need a certain kind of state: one function per key, and a filter by rules that every subtask has.

use super::graph::KeyExpr;
use super::state::{StateKind, TtlSpec};

/// A function with state of one kind for each key (Flink: `KeyedProcessFunction`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedProcessSpec {
    /// None until a person has chosen one: such a job does not run.
    pub key: Option<KeyExpr>,
    pub function: KeyedFunction,
    /// None: what is stored stays until it is cleared.
    pub ttl: Option<TtlSpec>,
}

/// What is done with each record, and in which kind of state it is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyedFunction {
    /// `ValueState` of a count and a sum: of every so many records the average, as a whole number; then cleared
    /// (Flink's documentation: `CountWindowAverage`, with 2).
    CountAverage { every: u32 },
    /// `ListState` of the newest so many values; emits their sum.
    LastN { n: u32 },
    /// `MapState` from each value to how often it came; emits how many different ones there are.
    Distinct,
    /// `ReducingState`; emits the largest value so far.
    Max,
    /// `AggregatingState` of a count and a sum; emits the average so far.
    Average,
}

impl KeyedFunction {
    /// One of each, with its defaults.
    pub const ALL: [Self; 5] = [
        Self::CountAverage { every: 2 },
        Self::LastN { n: 3 },
        Self::Distinct,
        Self::Max,
        Self::Average,
    ];

    /// In a person's words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CountAverage { .. } => "count-window average",
            Self::LastN { .. } => "last values",
            Self::Distinct => "distinct count",
            Self::Max => "maximum",
            Self::Average => "running average",
        }
    }

    /// The kind of state that it keeps.
    #[must_use]
    pub fn state_kind(self) -> StateKind {
        match self {
            Self::CountAverage { .. } => StateKind::Value,
            Self::LastN { .. } => StateKind::List,
            Self::Distinct => StateKind::Map,
            Self::Max => StateKind::Reducing,
            Self::Average => StateKind::Aggregating,
        }
    }

    /// Whether some records come to nothing by themselves: what goes on is less than what comes in.
    #[must_use]
    pub fn gathers(self) -> bool {
        matches!(self, Self::CountAverage { .. })
    }

    /// The number that it takes, if it takes one: the records of an average, or the length of a list.
    #[must_use]
    pub fn number(self) -> Option<u32> {
        match self {
            Self::CountAverage { every: number } | Self::LastN { n: number } => Some(number),
            Self::Distinct | Self::Max | Self::Average => None,
        }
    }
}
