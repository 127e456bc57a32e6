//! Who has credit, and who is held up for want of it.
//!
//! As in Flink, a subtask is backpressured while one of its outputs is full, whether or not something waits at its inputs
//! (`StreamTask.processInput`: the output is asked first).

use super::{Stepper, Task};
use crate::engine::event::EventKind;
use crate::engine::subtask::Subtask;

impl Stepper {
    /// Whether every outgoing channel has room for one more record.
    pub(super) fn has_credit(&self, task: &Task) -> bool {
        let capacity = self.job.config.channel_capacity as usize;
        let mut outputs = task.subtask.iter().flat_map(Subtask::outputs);
        outputs.all(|channel| self.net.channels[channel.index()].records < capacity)
    }

    /// Tell of what has changed in this step.
    pub(super) fn note_pressure(&mut self) {
        for index in 0..self.tasks.len() {
            let task = &self.tasks[index];
            let goes_on = task
                .subtask
                .as_ref()
                .is_some_and(|subtask| subtask.is_running() || subtask.is_initializing());
            let is_on = goes_on && !self.has_credit(task);
            if is_on != task.is_backpressured {
                self.tasks[index].is_backpressured = is_on;
                let subtask = self.plan.subtasks[index].id;
                self.net.record(EventKind::Backpressured { subtask, is_on });
            }
        }
    }
}
