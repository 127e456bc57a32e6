//! Names and numbers by which the parts of a job are known.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The stable name of an operator, unique in its job. State in a checkpoint belongs to a uid, not to a position
/// in the graph (Flink: `uid()`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Uid(Arc<str>);

impl Uid {
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &self.0)
    }
}

impl From<&str> for Uid {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number_id! {
    /// The number of a checkpoint; 1 is the first. Never used twice in a run, not even after a restart.
    CheckpointId(u64)
}

number_id! {
    /// One parallel instance of an operator: its index in the execution graph.
    SubtaskId(u32)
}

number_id! {
    /// One part of a source's records, read in order: its index in the execution graph.
    SplitId(u32)
}

number_id! {
    /// One FIFO connection between two subtasks: its index in the execution graph.
    ChannelId(u32)
}

impl SubtaskId {
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl SplitId {
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ChannelId {
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A transaction of a two-phase commit sink in the system that it writes to.
///
/// Numbered per sink subtask, over all attempts of a run: never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TransactionId {
    /// The run's sink subtask that began it.
    pub subtask: SubtaskId,
    pub number: u64,
}

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tx{}", self.number)
    }
}
