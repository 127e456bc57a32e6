//! What a subtask does with a record. One file per kind; all state that a checkpoint must hold is in here.

mod keyed_sum;
mod source;

pub use keyed_sum::KeyedSum;
pub use source::{CsvRow, Source, SourceFeed, Split};

use crate::model::MapSpec;

/// The operator of one subtask.
pub enum Operator {
    Source(Source),
    Map(MapSpec),
    KeyedSum(KeyedSum),
    /// A plain sink: it has no state, and what it has taken is out of the job.
    Sink,
}
