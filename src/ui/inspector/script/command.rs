//! What a script does at a moment: any command of the window, with its parameters.

use egui::{TextEdit, Ui};

use crate::model::{
    CheckpointId, Command, Fault, FaultKind, JobGraph, OperatorSpec, SavepointFormat, SinkKind,
    Uid, Vertex,
};

use super::super::super::phrases::{FAULTS, fault_sentence, subtask_words};
use super::super::super::settings::{controls, remark};
use super::super::super::widgets::field;
use super::{first_operator, operator_choice, subtask_number};

const WHAT_IS_STORED: &str = "A file of the checkpoint storage, such as chk-3/_metadata, or all of a checkpoint: chk-3. The job \
     is not told; a restore will miss it.";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Checkpoint,
    Savepoint,
    StopWithSavepoint,
    CancelWithSavepoint,
    Crash,
    CrashSeveral,
    CrashTaskManager,
    Inject,
    Compact,
    DeleteStored,
    Restore,
    Stop,
    Suspend,
}

impl Kind {
    const ALL: [Self; 13] = [
        Self::Checkpoint,
        Self::Savepoint,
        Self::StopWithSavepoint,
        Self::CancelWithSavepoint,
        Self::Crash,
        Self::CrashSeveral,
        Self::CrashTaskManager,
        Self::Inject,
        Self::Compact,
        Self::DeleteStored,
        Self::Restore,
        Self::Stop,
        Self::Suspend,
    ];

    fn of(command: &Command) -> Self {
        match command {
            Command::Checkpoint => Self::Checkpoint,
            Command::Savepoint { .. } => Self::Savepoint,
            Command::StopWithSavepoint { .. } => Self::StopWithSavepoint,
            Command::CancelWithSavepoint { .. } => Self::CancelWithSavepoint,
            Command::Crash { .. } => Self::Crash,
            Command::CrashSeveral { .. } => Self::CrashSeveral,
            Command::CrashTaskManager { .. } => Self::CrashTaskManager,
            Command::Inject(_) => Self::Inject,
            Command::Compact { .. } => Self::Compact,
            Command::DeleteStored { .. } => Self::DeleteStored,
            Command::Restore { .. } => Self::Restore,
            Command::Stop => Self::Stop,
            Command::Suspend => Self::Suspend,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Checkpoint => "take a checkpoint",
            Self::Savepoint => "take a savepoint",
            Self::StopWithSavepoint => "stop with savepoint",
            Self::CancelWithSavepoint => "cancel with savepoint",
            Self::Crash => "crash a subtask",
            Self::CrashSeveral => "crash several",
            Self::CrashTaskManager => "crash a TaskManager",
            Self::Inject => "inject a fault",
            Self::Compact => "compact the files",
            Self::DeleteStored => "delete a stored file",
            Self::Restore => "restore",
            Self::Stop => "cancel the job",
            Self::Suspend => "suspend the job",
        }
    }

    fn first(self, job: &JobGraph) -> Command {
        let format = SavepointFormat::Canonical;
        // What has state is worth losing.
        let keyed = first_operator(job, |vertex| vertex.operator.is_keyed());
        let uid = if keyed.as_str().is_empty() {
            first_operator(job, |_| true)
        } else {
            keyed
        };
        match self {
            Self::Checkpoint => Command::Checkpoint,
            Self::Savepoint => Command::Savepoint { format },
            Self::StopWithSavepoint => Command::StopWithSavepoint {
                format,
                drain: false,
            },
            Self::CancelWithSavepoint => Command::CancelWithSavepoint { format },
            Self::Crash => Command::Crash { uid, subtask: 0 },
            Self::CrashSeveral => Command::CrashSeveral {
                subtasks: vec![(uid, 0)],
            },
            Self::CrashTaskManager => Command::CrashTaskManager { index: 0 },
            Self::Inject => Command::Inject(Fault {
                kind: FaultKind::SyncPart,
                uid,
                subtask: 0,
            }),
            Self::Compact => Command::Compact { uid },
            Self::DeleteStored => Command::DeleteStored {
                path: "chk-1/_metadata".to_owned(),
            },
            Self::Restore => Command::Restore { checkpoint: None },
            Self::Stop => Command::Stop,
            Self::Suspend => Command::Suspend,
        }
    }
}

/// Whether `command` lets something go wrong.
#[must_use]
pub fn is_harm(command: &Command) -> bool {
    matches!(
        Kind::of(command),
        Kind::Crash
            | Kind::CrashSeveral
            | Kind::CrashTaskManager
            | Kind::Inject
            | Kind::DeleteStored
    )
}

pub fn command_ui(ui: &mut Ui, job: &JobGraph, command: &mut Command) {
    let before = Kind::of(command);
    let mut kind = before;
    field(ui, "What", |ui| {
        controls::choice(ui, &mut kind, &Kind::ALL, Kind::name);
    });
    if kind != before {
        *command = kind.first(job);
    }
    match command {
        Command::Checkpoint | Command::Stop | Command::Suspend => {}
        Command::Savepoint { format } | Command::CancelWithSavepoint { format } => {
            format_ui(ui, format);
        }
        Command::StopWithSavepoint { format, drain } => {
            format_ui(ui, format);
            field(ui, "Drain", |ui| ui.checkbox(drain, "emit all first"));
        }
        Command::Crash { uid, subtask } => subtask_ui(ui, job, uid, subtask, |_| true),
        Command::CrashSeveral { subtasks } => several_ui(ui, job, subtasks),
        Command::CrashTaskManager { index } => task_manager_ui(ui, job, index),
        Command::Inject(fault) => fault_ui(ui, job, fault),
        Command::Compact { uid } => {
            field(ui, "Operator", |ui| {
                operator_choice(ui, job, uid, |vertex| vertex.operator.is_keyed());
            });
        }
        Command::DeleteStored { path } => {
            field(ui, "File", |ui| {
                ui.add(TextEdit::singleline(path).desired_width(f32::INFINITY))
            });
            remark(ui, WHAT_IS_STORED);
        }
        Command::Restore { checkpoint } => restore_ui(ui, checkpoint),
    }
}

fn format_ui(ui: &mut Ui, format: &mut SavepointFormat) {
    field(ui, "Format", |ui| {
        controls::choice(ui, format, &SavepointFormat::ALL, SavepointFormat::name);
    });
}

fn subtask_ui(
    ui: &mut Ui,
    job: &JobGraph,
    uid: &mut Uid,
    subtask: &mut u32,
    wanted: fn(&Vertex) -> bool,
) {
    let before = uid.clone();
    field(ui, "Operator", |ui| operator_choice(ui, job, uid, wanted));
    if *uid != before {
        *subtask = 0;
    }
    field(ui, "Subtask", |ui| subtask_number(ui, job, uid, subtask));
}

/// One box for each subtask of the job.
fn several_ui(ui: &mut Ui, job: &JobGraph, chosen: &mut Vec<(Uid, u32)>) {
    for vertex in &job.vertices {
        for subtask in 0..vertex.parallelism {
            let place = chosen
                .iter()
                .position(|(uid, index)| *uid == vertex.uid && *index == subtask);
            let mut is_on = place.is_some();
            let name = subtask_words(job, &vertex.uid, subtask);
            if ui.checkbox(&mut is_on, name).changed() {
                match place {
                    Some(place) => {
                        chosen.remove(place);
                    }
                    None => chosen.push((vertex.uid.clone(), subtask)),
                }
            }
        }
    }
}

fn task_manager_ui(ui: &mut Ui, job: &JobGraph, index: &mut u32) {
    let widest = job.vertices.iter().map(|vertex| vertex.parallelism).max();
    let count = widest
        .unwrap_or(1)
        .div_ceil(job.config.slots_per_task_manager.max(1));
    let mut number = index.saturating_add(1);
    let most = count.max(number);
    field(ui, "TaskManager", |ui| {
        let value = controls::drag_value(&mut number, 1..=most);
        if ui
            .add(value.speed(0.1).suffix(format!(" of {count}")))
            .changed()
        {
            *index = number.clamp(1, count.max(1)) - 1;
        }
    });
}

fn fault_ui(ui: &mut Ui, job: &JobGraph, fault: &mut Fault) {
    let mut place = FAULTS
        .iter()
        .position(|kind| is_same(*kind, fault.kind))
        .unwrap_or(0);
    let before = place;
    let places: Vec<usize> = (0..FAULTS.len()).collect();
    field(ui, "Fault", |ui| {
        controls::choice(ui, &mut place, &places, |place| FAULTS[place].name());
    });
    if place != before {
        fault.kind = FAULTS[place];
    }
    if let FaultKind::StorageSlow { by_ms } | FaultKind::DelayNotification { by_ms } =
        &mut fault.kind
    {
        field(ui, "Longer by", |ui| controls::milliseconds(ui, by_ms, 0));
    }
    let wanted = if fault.kind == FaultKind::Commit {
        commits
    } else {
        |_: &Vertex| true
    };
    subtask_ui(ui, job, &mut fault.uid, &mut fault.subtask, wanted);
    remark(ui, fault_sentence(fault.kind));
}

/// The same fault, however long it takes.
fn is_same(a: FaultKind, b: FaultKind) -> bool {
    a.name() == b.name()
}

fn commits(vertex: &Vertex) -> bool {
    matches!(
        &vertex.operator,
        OperatorSpec::Sink(spec) if matches!(spec.kind, SinkKind::TwoPhaseCommit { .. })
    )
}

fn restore_ui(ui: &mut Ui, checkpoint: &mut Option<CheckpointId>) {
    let mut is_latest = checkpoint.is_none();
    field(ui, "Checkpoint", |ui| {
        if ui.checkbox(&mut is_latest, "the latest").changed() {
            *checkpoint = (!is_latest).then_some(CheckpointId(1));
        }
        if let Some(CheckpointId(number)) = checkpoint {
            ui.add(controls::drag_value(number, 1..=u64::MAX).speed(0.1));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::validate::validate;
    use crate::model::{ScriptEntry, When};
    use crate::ui::samples;

    /// Breaks if a kind begins with parameters that name nothing.
    #[test]
    fn what_a_person_chooses_can_run_as_it_comes() {
        let mut job = samples::odd_even();
        job.config.savepoint_dir = Some("savepoints".into());
        for kind in Kind::ALL {
            job.script = vec![ScriptEntry {
                when: When::AtMs(1),
                command: kind.first(&job),
            }];
            assert!(Kind::of(&job.script[0].command) == kind, "{}", kind.name());
            assert_eq!(validate(&job), [], "{}", kind.name());
        }
    }
}
