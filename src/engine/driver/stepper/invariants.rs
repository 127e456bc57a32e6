//! What holds between any two steps, whatever the job and whatever has happened to it. Tests ask after each step.

use super::Stepper;
use crate::engine::event::JobStatus;
use crate::model::SubtaskId;

impl Stepper {
    /// What is wrong with the engine's own state, as a sentence; none: nothing is.
    #[must_use]
    pub fn broken_invariant(&self) -> Option<String> {
        if self.status.is_terminal() {
            return None;
        }
        let ids = self.plan.subtasks.iter().map(|plan| plan.id);
        self.broken_recovery()
            .or_else(|| ids.clone().find_map(|id| self.forgotten(id)))
            .or_else(|| ids.clone().find_map(|id| self.restored_amiss(id)))
    }

    /// Periodic checkpoints begin in a job that runs, and each status has something that ends it.
    fn broken_recovery(&self) -> Option<String> {
        let recovery = &self.recovery;
        let is_planned = match self.status {
            JobStatus::Restoring { .. } => recovery.deployment.is_some(),
            JobStatus::Restarting { .. } => !recovery.down.is_empty(),
            _ => recovery.down.is_empty() && recovery.deployment.is_none(),
        };
        if !is_planned {
            return Some(format!(
                "The job is {:?}, and {} subtasks wait to begin again.",
                self.status,
                recovery.down.len()
            ));
        }
        let is_amiss = self.status != JobStatus::Running && self.coordinator.is_scheduling();
        is_amiss.then(|| {
            format!(
                "Periodic checkpoints are on while the job is {:?}.",
                self.status
            )
        })
    }

    /// A subtask is here, or somebody will bring it back.
    fn forgotten(&self, id: SubtaskId) -> Option<String> {
        let mut deployed = self.recovery.deployment.iter().flat_map(|it| &it.ready);
        let is_known = self.tasks[id.index()].subtask.is_some()
            || self.recovery.down.contains(&id)
            || deployed.any(|(deployed, _)| *deployed == id);
        let name = || self.plan.subtask_name(id);
        (!is_known).then(|| format!("{} is down, and nothing brings it back.", name()))
    }

    /// A subtask with restored records to process finds exactly so many on its inputs.
    fn restored_amiss(&self, id: SubtaskId) -> Option<String> {
        let awaited = self.tasks[id.index()].subtask.as_ref()?.restored_left();
        let inputs = self.plan.subtask(id).inputs.iter();
        let found: usize = inputs
            .map(|id| self.net.channels[id.index()].restored)
            .sum();
        (found != awaited).then(|| {
            let name = self.plan.subtask_name(id);
            format!("{name} awaits {awaited} restored records, and {found} are on its inputs.")
        })
    }
}
