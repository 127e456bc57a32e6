//! A sink takes what reaches it out of the job.

use crate::engine::subtask::Effects;
use crate::model::Record;

/// One subtask of a plain sink: it has no state, and what it has taken is out of the job.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sink;

impl Sink {
    pub fn collect<E: Effects>(&mut self, record: Record, out: &mut E) {
        out.on_collected(record);
    }
}
