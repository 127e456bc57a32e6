//! What an unaligned checkpoint records at the inputs, until the last barrier has come (Flink: `ChannelStatePersister`).

use crate::model::{CheckpointId, Record};

/// One checkpoint's recording.
pub struct Recording {
    pub checkpoint: CheckpointId,
    /// By input: what was processed since the snapshot, as long as its barrier has not come.
    inputs: Vec<Option<Vec<Record>>>,
}

impl Recording {
    pub fn new(checkpoint: CheckpointId, inputs: usize) -> Self {
        Self {
            checkpoint,
            inputs: vec![Some(Vec::new()); inputs],
        }
    }

    /// `record` was taken from `input`.
    pub fn note(&mut self, input: usize, record: &Record) {
        if let Some(records) = &mut self.inputs[input] {
            records.push(record.clone());
        }
    }

    /// The barrier of `input` has come: what was recorded, once.
    pub fn end(&mut self, input: usize) -> Option<Vec<Record>> {
        self.inputs[input].take()
    }
}
