//! What the coordinator knows of the subtasks.

use super::CheckpointCoordinator;
use crate::engine::event::CheckpointKind;
use crate::model::SubtaskId;

/// How the coordinator knows a subtask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    NotRunning,
    Running,
    AtEndOfData,
    Finished,
}

impl CheckpointCoordinator {
    pub fn on_running(&mut self, subtask: SubtaskId) {
        self.tasks[subtask.index()] = Task::Running;
    }

    /// A subtask has no more input. When this holds for all, the job needs one more checkpoint to end.
    pub fn on_end_of_data(&mut self, subtask: SubtaskId, now_us: u64) {
        self.tasks[subtask.index()] = Task::AtEndOfData;
        self.request_final_if_due(now_us);
    }

    /// A subtask has ended. It may be the last one that the others waited for: one that is restored as finished ends without
    /// an end of data.
    pub fn on_finished(&mut self, subtask: SubtaskId, now_us: u64) {
        self.tasks[subtask.index()] = Task::Finished;
        self.request_final_if_due(now_us);
    }

    pub(super) fn request_final_if_due(&mut self, now_us: u64) {
        let at_end = |task: &Task| matches!(task, Task::AtEndOfData | Task::Finished);
        let waiting = self.tasks.contains(&Task::AtEndOfData);
        let ends_the_job = |kind: CheckpointKind| {
            matches!(
                kind,
                CheckpointKind::Final | CheckpointKind::StopWithSavepoint { .. }
            )
        };
        let asked = self.queue.iter().any(ends_the_job)
            || self
                .pending
                .values()
                .any(|pending| ends_the_job(pending.kind));
        let is_wanted = self.config.after_tasks_finish
            && !(asked || self.final_complete || self.is_failing || self.is_shut_down);
        if is_wanted && waiting && self.tasks.iter().all(at_end) {
            self.request(CheckpointKind::Final, now_us);
        }
    }

    /// Whether this subtask is known to have finished.
    #[must_use]
    pub fn is_finished(&self, subtask: SubtaskId) -> bool {
        self.tasks[subtask.index()] == Task::Finished
    }

    /// Whether this subtask is known to have come to the end of its data.
    #[must_use]
    pub fn has_ended(&self, subtask: SubtaskId) -> bool {
        matches!(
            self.tasks[subtask.index()],
            Task::AtEndOfData | Task::Finished
        )
    }

    /// Whether every subtask has finished.
    #[must_use]
    pub fn all_finished(&self) -> bool {
        self.tasks.iter().all(|task| *task == Task::Finished)
    }

    /// Those that hear of completed and aborted checkpoints.
    pub(super) fn listening(&self) -> Vec<SubtaskId> {
        self.split_by(|task| !matches!(task, Task::Finished | Task::NotRunning))
            .0
    }

    /// The subtasks that are as `wanted`, and the others.
    pub(super) fn split_by(
        &self,
        wanted: impl Fn(&Task) -> bool,
    ) -> (Vec<SubtaskId>, Vec<SubtaskId>) {
        let ids = (0_u32..).zip(&self.tasks);
        let (yes, no): (Vec<_>, Vec<_>) = ids.partition(|(_, task)| wanted(task));
        let strip =
            |list: Vec<(u32, &Task)>| list.into_iter().map(|(id, _)| SubtaskId(id)).collect();
        (strip(yes), strip(no))
    }
}
