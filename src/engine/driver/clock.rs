//! Processing time where a run begins: the time that keyed state with a time to live lives by.
//!
//! It does not turn back when a run starts from a snapshot, since state would grow younger (Flink: time spent down counts).
//! The snapshot says when it was triggered, and subtasks have gone on after that until its barriers came.

use super::resources::{Prepared, StartPoint};
use crate::engine::operator::Operator;
use crate::model::KeyContents;

/// The earliest processing time, in milliseconds, that a run may have when it begins from `start` with this state.
///
/// # Errors
/// A sentence: the snapshot cannot be read.
pub fn begin_ms<'a>(
    start: Option<&StartPoint>,
    contents: impl Iterator<Item = &'a KeyContents>,
) -> Result<u64, String> {
    let Some(start) = start else { return Ok(0) };
    let metadata = start.storage.read_metadata(start.checkpoint);
    let metadata = metadata.map_err(|error| error.to_string())?;
    let triggered_ms = metadata.processing_time_ms.unwrap_or(0);
    let entries = contents.flat_map(|(_, entries)| entries);
    let newest = entries.filter_map(|entry| entry.last_access_ms).max();
    Ok(triggered_ms.max(newest.unwrap_or(0)))
}

/// The same for operators that are not yet looked into; only state with a time to live is.
///
/// # Errors
/// As for [`begin_ms`], or the state cannot be read.
pub fn begin_ms_of(start: Option<&StartPoint>, prepared: &[Prepared]) -> Result<u64, String> {
    let mut contents = Vec::new();
    for Prepared { operator, .. } in prepared {
        if let Operator::KeyedProcess(process) = operator
            && process.has_ttl()
            && start.is_some()
        {
            contents.extend(process.contents().map_err(|error| error.to_string())?);
        }
    }
    begin_ms(start, contents.iter())
}
