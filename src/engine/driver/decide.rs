//! What a command comes to: decided here for both drivers, from facts, and carried out by each in its own way.

use std::collections::BTreeSet;

use super::faults::{MAX_ARMED, target_of};
use super::places::AfterSavepoint;
use crate::engine::event::{CheckpointKind, JobStatus};
use crate::engine::plan::ExecutionGraph;
use crate::model::{BackendKind, CheckpointId, Command, Fault, JobGraph, SubtaskId, Uid};

/// Whether a subtask is there for something to happen to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Here,
    Down,
    Finished,
}

/// What a decision depends on.
pub struct Facts<'a> {
    pub job: &'a JobGraph,
    pub plan: &'a ExecutionGraph,
    pub status: &'a JobStatus,
    /// The job is about to end with a savepoint.
    pub is_stopping: bool,
    /// It has a folder for savepoints.
    pub takes_savepoints: bool,
    /// How many faults wait to strike.
    pub armed: usize,
    /// By subtask.
    pub presence: Vec<Presence>,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    Request(CheckpointKind),
    /// Stop the periodic scheduler, and with it what is pending; then take this savepoint; then end.
    EndWith(CheckpointKind, AfterSavepoint),
    /// These subtasks fail, and close in good order.
    Fail(Vec<SubtaskId>, String),
    /// These are gone before they can close anything.
    Lose(Vec<SubtaskId>, String),
    Arm(SubtaskId, Fault),
    /// Merge the files of these subtasks' state.
    Compact(Vec<SubtaskId>),
    /// Remove this from the run's checkpoint storage. What is not there is refused.
    DeleteStored(String),
    /// Read this checkpoint (none: the latest), and begin again from it. What cannot be read is refused.
    Restore(Option<CheckpointId>),
    /// The job ends so.
    End(JobStatus),
}

impl Facts<'_> {
    /// # Errors
    /// Why not, as a sentence.
    pub fn decide(&self, command: &Command) -> Result<Deed, String> {
        if self.status.is_terminal() {
            return Err("The job has ended. Start a new run.".to_owned());
        }
        Ok(match command {
            Command::Checkpoint => {
                self.check_not_stopping()?;
                Deed::Request(CheckpointKind::Manual)
            }
            Command::Savepoint { format } => {
                self.check_savepoint()?;
                Deed::Request(CheckpointKind::Savepoint(*format))
            }
            Command::StopWithSavepoint { format, drain } => {
                self.check_savepoint()?;
                let (format, drain) = (*format, *drain);
                let kind = CheckpointKind::StopWithSavepoint { format, drain };
                Deed::EndWith(kind, AfterSavepoint::Finish { stored: None })
            }
            Command::CancelWithSavepoint { format } => {
                self.check_savepoint()?;
                Deed::EndWith(CheckpointKind::Savepoint(*format), AfterSavepoint::Cancel)
            }
            Command::Crash { uid, subtask } => {
                let id = self.find_here(uid, *subtask)?;
                Deed::Fail(vec![id], self.crash_cause(&[id]))
            }
            Command::CrashSeveral { subtasks } => {
                let ids = self.find_several(subtasks)?;
                let cause = self.crash_cause(&ids);
                Deed::Fail(ids, cause)
            }
            Command::CrashTaskManager { index } => {
                let ids = self.find_task_manager(*index)?;
                Deed::Lose(ids, format!("TaskManager {} was lost.", index + 1))
            }
            Command::Inject(fault) => Deed::Arm(self.check_fault(fault)?, fault.clone()),
            Command::Compact { uid } => Deed::Compact(self.find_databases(uid)?),
            Command::DeleteStored { path } => Deed::DeleteStored(path.clone()),
            Command::Restore { checkpoint } => Deed::Restore(*checkpoint),
            Command::Stop => Deed::End(JobStatus::Canceled),
            Command::Suspend => Deed::End(JobStatus::Suspended),
        })
    }

    fn check_not_stopping(&self) -> Result<(), String> {
        if self.is_stopping {
            return Err(
                "The job is stopping with a savepoint. Wait until it has ended.".to_owned(),
            );
        }
        Ok(())
    }

    fn check_savepoint(&self) -> Result<(), String> {
        self.check_not_stopping()?;
        if self.takes_savepoints {
            return Ok(());
        }
        Err(
            "No savepoint directory configured. Choose a savepoint folder in the job's settings \
             (execution.checkpointing.savepoint-dir)."
                .to_owned(),
        )
    }

    /// The subtask that is to crash, if it can.
    fn find_here(&self, uid: &Uid, index: u32) -> Result<SubtaskId, String> {
        let id = self.plan.find_subtask(uid, index)?;
        let name = self.plan.subtask_name(id);
        match self.presence[id.index()] {
            Presence::Here => Ok(id),
            Presence::Down => Err(format!("{name} is not running. Restore the job first.")),
            Presence::Finished => Err(format!("{name} has finished; it cannot crash any more.")),
        }
    }

    /// In the plan's order, each once.
    fn find_several(&self, wanted: &[(Uid, u32)]) -> Result<Vec<SubtaskId>, String> {
        let found = wanted
            .iter()
            .map(|(uid, index)| self.find_here(uid, *index));
        let found: BTreeSet<SubtaskId> = found.collect::<Result<_, _>>()?;
        if found.is_empty() {
            return Err("No subtask is named. Say which ones are to crash.".to_owned());
        }
        Ok(found.into_iter().collect())
    }

    /// What runs in the slots of a `TaskManager`: slot `i` holds subtask `i` of every operator.
    fn find_task_manager(&self, index: u32) -> Result<Vec<SubtaskId>, String> {
        let slots = self.job.config.slots_per_task_manager;
        let all = self.plan.subtasks_on(index, slots);
        if all.is_empty() {
            let managers = self.plan.task_managers(slots);
            return Err(format!(
                "This job has no TaskManager {}: its subtasks are on {managers}, with {slots} slots each.",
                index + 1
            ));
        }
        let is_here = |id: &SubtaskId| self.presence[id.index()] == Presence::Here;
        let here: Vec<SubtaskId> = all.into_iter().filter(is_here).collect();
        if here.is_empty() {
            return Err(format!("Nothing runs on TaskManager {} now.", index + 1));
        }
        Ok(here)
    }

    /// Those subtasks of an operator whose state lies in files now.
    fn find_databases(&self, uid: &Uid) -> Result<Vec<SubtaskId>, String> {
        let vertex = self.job.vertices.iter().find(|vertex| vertex.uid == *uid);
        let vertex = vertex.ok_or_else(|| format!("The job has no operator {uid}."))?;
        let name = &vertex.name;
        if !vertex.operator.is_keyed() {
            return Err(format!("{name} has no keyed state."));
        }
        if self.job.config.backend == BackendKind::Heap {
            return Err(format!(
                "The state of {name} is on the heap: there are no files to merge. Choose RocksDB as the state backend."
            ));
        }
        let is_here = |id: &SubtaskId| self.presence[id.index()] == Presence::Here;
        let ids = self.plan.subtasks_of(uid).into_iter();
        let here: Vec<SubtaskId> = ids.filter(is_here).collect();
        if here.is_empty() {
            return Err(format!("No subtask of {uid} runs now."));
        }
        Ok(here)
    }

    /// The subtask that `fault` is meant for, if it can ever strike there.
    fn check_fault(&self, fault: &Fault) -> Result<SubtaskId, String> {
        let id = target_of(self.plan, fault)?;
        if self.presence[id.index()] == Presence::Finished {
            let name = self.plan.subtask_name(id);
            return Err(format!("{name} has finished; nothing can go wrong there."));
        }
        if self.armed >= MAX_ARMED {
            return Err(format!(
                "{MAX_ARMED} faults wait already. Let some of them strike first."
            ));
        }
        Ok(id)
    }

    /// `sum 1/2 and out 1/1 crashed.`
    fn crash_cause(&self, ids: &[SubtaskId]) -> String {
        let names = ids.iter().map(|id| self.plan.subtask_name(*id));
        let names: Vec<String> = names.collect();
        match &names[..] {
            [] => String::new(),
            [one] => format!("{one} crashed."),
            [others @ .., last] => format!("{} and {last} crashed.", others.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::parse;

    const JOB: &str = r#"(
        version: 2, name: "two",
        operators: [
            (uid: "a", kind: SequenceSource(rate_per_s: 1, end: 1, splits: 2), parallelism: 2, at: (0, 0)),
            (uid: "out", kind: Sink, parallelism: 2, at: (0, 0)),
        ],
        edges: [("a", "out", Forward)],
    )"#;

    fn job() -> (JobGraph, ExecutionGraph) {
        let mut job = parse(JOB, "two").unwrap().job;
        job.config.slots_per_task_manager = 1;
        let plan = ExecutionGraph::of(&job);
        (job, plan)
    }

    fn facts<'a>((job, plan): &'a (JobGraph, ExecutionGraph), status: &'a JobStatus) -> Facts<'a> {
        Facts {
            job,
            plan,
            status,
            is_stopping: false,
            takes_savepoints: true,
            armed: 0,
            presence: vec![Presence::Here; 4],
        }
    }

    /// Breaks if one driver obeys a command that the other refuses: neither decides for itself.
    #[test]
    fn what_has_ended_obeys_no_command() {
        let job = job();
        for status in [
            JobStatus::Finished,
            JobStatus::Canceled,
            JobStatus::Suspended,
        ] {
            for command in [
                Command::Checkpoint,
                Command::Restore { checkpoint: None },
                Command::Stop,
            ] {
                let sentence = facts(&job, &status).decide(&command).unwrap_err();
                assert!(sentence.contains("has ended"), "{sentence}");
            }
        }
    }

    #[test]
    fn a_task_manager_is_lost_with_what_runs_there() {
        let job = job();
        let mut facts = facts(&job, &JobStatus::Running);
        let lose = Command::CrashTaskManager { index: 1 };
        let all = vec![SubtaskId(1), SubtaskId(3)];
        let cause = || "TaskManager 2 was lost.".to_owned();
        assert_eq!(facts.decide(&lose), Ok(Deed::Lose(all, cause())));
        facts.presence[1] = Presence::Finished;
        assert_eq!(
            facts.decide(&lose),
            Ok(Deed::Lose(vec![SubtaskId(3)], cause()))
        );
        facts.presence[3] = Presence::Finished;
        assert!(facts.decide(&lose).unwrap_err().contains("Nothing runs"));
    }

    #[test]
    fn who_is_named_twice_crashes_once() {
        let job = job();
        let subtasks = vec![
            (Uid::new("out"), 1),
            (Uid::new("a"), 0),
            (Uid::new("out"), 1),
        ];
        let deed = facts(&job, &JobStatus::Running).decide(&Command::CrashSeveral { subtasks });
        let cause = "a 1/2 and out 2/2 crashed.".to_owned();
        assert_eq!(
            deed,
            Ok(Deed::Fail(vec![SubtaskId(0), SubtaskId(3)], cause))
        );
    }
}
