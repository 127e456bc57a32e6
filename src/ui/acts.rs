//! The small menus beside Checkpoint and Crash: savepoints and ways to end a job, and all that can go wrong in one.
//!
//! An item that cannot be chosen now says why under the pointer.

use egui::{Button, Id, Popup, PopupCloseBehavior, Response, RichText, Ui};

use crate::engine::event::{JobStatus, SubtaskStatus};
use crate::model::{Command, Fault, FaultKind, OperatorSpec, SavepointFormat, SinkKind, SubtaskId};
use crate::run::RunAction;

use super::command::{Dialog, Selection, UiCommand};
use super::phrases::{FAULTS, fault_sentence};
use super::scene::Scene;
use super::settings::controls;
use super::theme::{Theme, medium, regular, size};

/// What the menus need to know of a run.
#[derive(Clone, Debug, Default)]
pub struct ActFacts {
    /// The subtask that is selected.
    target: Option<Target>,
    /// What fails with each `TaskManager`.
    task_managers: Vec<String>,
    /// Why no savepoint can be taken and nothing can fail.
    not_running: Option<&'static str>,
    /// Why the job cannot be ended.
    ended: Option<&'static str>,
}

#[derive(Clone, Debug)]
struct Target {
    id: SubtaskId,
    name: String,
    fault: Fault,
    /// Whether it commits transactions.
    commits: bool,
    /// Why it cannot fail.
    is_down: bool,
}

impl ActFacts {
    #[must_use]
    pub fn of(scene: Scene<'_>, selection: &Selection) -> Self {
        let not_running = match &scene.view.job {
            JobStatus::Running => None,
            JobStatus::Restarting { .. } => Some("The job is down: restore it first."),
            JobStatus::Restoring { .. } => Some("Subtasks are still reading their state back."),
            _ => Some("The job has ended."),
        };
        let is_over = scene.view.job.is_terminal();
        Self {
            target: target(scene, selection),
            task_managers: task_managers(scene),
            not_running,
            ended: is_over.then_some("The job has ended."),
        }
    }
}

fn target(scene: Scene<'_>, selection: &Selection) -> Option<Target> {
    let Selection::Subtask(id) = selection else {
        return None;
    };
    let plan = scene.plan.subtasks.get(id.index())?;
    let commits = matches!(
        &plan.operator,
        OperatorSpec::Sink(spec) if matches!(spec.kind, SinkKind::TwoPhaseCommit { .. })
    );
    Some(Target {
        id: *id,
        name: scene.plan.subtask_name(*id),
        fault: Fault {
            kind: FaultKind::SyncPart,
            uid: plan.uid.clone(),
            subtask: plan.index,
        },
        commits,
        is_down: matches!(
            scene.subtask(*id).status,
            SubtaskStatus::Failed | SubtaskStatus::Canceled | SubtaskStatus::Finished
        ),
    })
}

/// Slot `i` holds subtask `i` of every operator.
fn task_managers(scene: Scene<'_>) -> Vec<String> {
    let slots = scene.job.config.slots_per_task_manager.max(1);
    let widest = scene
        .plan
        .subtasks
        .iter()
        .map(|subtask| subtask.parallelism)
        .max();
    let count = widest.unwrap_or(0).div_ceil(slots);
    let on = |manager: u32| {
        let holds = |index: u32| index / slots == manager;
        scene
            .plan
            .subtasks
            .iter()
            .filter(|subtask| holds(subtask.index))
            .count()
    };
    (0..count)
        .map(|manager| match on(manager) {
            1 => "1 subtask".to_owned(),
            n => format!("{n} subtasks"),
        })
        .collect()
}

/// One line of a menu.
struct Item<'a> {
    text: &'a str,
    key: &'a str,
    hint: &'a str,
    /// Why it cannot be chosen.
    hindrance: Option<&'a str>,
}

impl Item<'_> {
    fn ui(&self, ui: &mut Ui, command: UiCommand, commands: &mut Vec<UiCommand>) {
        let mut button = Button::new(self.text);
        if !self.key.is_empty() {
            button = button.shortcut_text(self.key);
        }
        let response = ui.add_enabled(self.hindrance.is_none(), button);
        if response.clicked() {
            commands.push(command);
            ui.close();
        }
        let _ = match self.hindrance {
            Some(reason) => response.on_disabled_hover_text(reason),
            None => response.on_hover_text(self.hint),
        };
    }
}

fn act(command: Command) -> UiCommand {
    UiCommand::Act(RunAction::Command(command))
}

fn roomy(ui: &mut Ui) {
    ui.set_min_width(236.0);
    ui.spacing_mut().button_padding = egui::vec2(8.0, 3.0);
    ui.spacing_mut().item_spacing.y = 3.0;
}

fn caption(ui: &mut Ui, text: &str) {
    let dim = Theme::of(ui.ctx()).dim;
    ui.horizontal(|ui| {
        ui.add_space(8.0);
        ui.label(RichText::new(text).font(medium(size::SECONDARY)).color(dim));
    });
}

/// Savepoints, and the ways to end the job.
pub fn savepoint_menu_ui(anchor: &Response, facts: &ActFacts, commands: &mut Vec<UiCommand>) {
    Popup::menu(anchor).show(|ui| {
        roomy(ui);
        let canonical = SavepointFormat::Canonical;
        let savepoints: [(&str, &str, &str, Command); 5] = [
            (
                "Savepoint, canonical",
                "S",
                "Kept until you delete it; the same for every backend, so that another can read it.",
                Command::Savepoint { format: canonical },
            ),
            (
                "Savepoint, native",
                "",
                "Kept until you delete it; in the backend’s own format, which only that can read.",
                Command::Savepoint {
                    format: SavepointFormat::Native,
                },
            ),
            (
                "Stop with savepoint",
                "",
                "Sources stop, a savepoint is taken, its transactions are committed, and the job finishes: made for \
                 going on later.",
                Command::StopWithSavepoint {
                    format: canonical,
                    drain: false,
                },
            ),
            (
                "Stop with savepoint, and drain",
                "",
                "The same, but first all windows fire and everything is emitted: not made for going on later.",
                Command::StopWithSavepoint {
                    format: canonical,
                    drain: true,
                },
            ),
            (
                "Cancel with savepoint",
                "",
                "A savepoint, then cancel: not in one step, so records in between are processed and their \
                 transactions aborted (deprecated in Flink).",
                Command::CancelWithSavepoint { format: canonical },
            ),
        ];
        for (place, (text, key, hint, command)) in savepoints.into_iter().enumerate() {
            if place == 2 {
                ui.separator();
            }
            let item = Item {
                text,
                key,
                hint,
                hindrance: facts.not_running,
            };
            item.ui(ui, act(command), commands);
        }
        ui.separator();
        let item = |text, hint| Item {
            text,
            key: "",
            hint,
            hindrance: facts.ended,
        };
        item(
            "Cancel the job",
            "The job ends here; which checkpoints stay is the job’s retention setting.",
        )
        .ui(ui, act(Command::Stop), commands);
        item(
            "Suspend the job",
            "The JobManager goes away and leaves the job as it is: the run ends here.",
        )
        .ui(ui, act(Command::Suspend), commands);
    });
}

/// Crashes of one, several, a `TaskManager`; faults that strike at the next occasion.
pub fn crash_menu_ui(anchor: &Response, facts: &ActFacts, commands: &mut Vec<UiCommand>) {
    // A click on a time does not close it; each item closes it itself.
    let menu = Popup::menu(anchor).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    menu.show(|ui| {
        roomy(ui);
        one_ui(ui, facts, commands);
        let several = Item {
            text: "Crash several subtasks…",
            key: "",
            hint: "Choose which fail in the same moment.",
            hindrance: facts.not_running,
        };
        let chosen = facts.target.iter().map(|target| target.id).collect();
        several.ui(
            ui,
            UiCommand::Show(Dialog::CrashSeveral { chosen }),
            commands,
        );
        for (index, holds) in (0..).zip(&facts.task_managers) {
            let text = format!("Crash TaskManager {} ({holds})", index + 1);
            let item = Item {
                text: &text,
                key: "",
                hint: "All its slots go with it; slot i holds subtask i of every operator.",
                hindrance: facts.not_running,
            };
            item.ui(ui, act(Command::CrashTaskManager { index }), commands);
        }
        ui.separator();
        faults_ui(ui, facts, commands);
    });
}

const NO_TARGET: &str = "Select a subtask on the canvas first.";

fn one_ui(ui: &mut Ui, facts: &ActFacts, commands: &mut Vec<UiCommand>) {
    let text = match &facts.target {
        Some(target) => format!("Crash {}", target.name),
        None => "Crash the selected subtask".to_owned(),
    };
    let hindrance = facts.not_running.or(match &facts.target {
        None => Some(NO_TARGET),
        Some(target) if target.is_down => Some("This subtask does not run."),
        Some(_) => None,
    });
    let item = Item {
        text: &text,
        key: "X",
        hint: "It fails, and the restart strategy is asked.",
        hindrance,
    };
    let id = facts.target.as_ref().map(|target| target.id);
    item.ui(ui, UiCommand::Crash(id.unwrap_or(SubtaskId(0))), commands);
}

fn faults_ui(ui: &mut Ui, facts: &ActFacts, commands: &mut Vec<UiCommand>) {
    let Some(target) = &facts.target else {
        caption(ui, "Inject a fault");
        let words = RichText::new("Select a subtask first: a fault strikes one.");
        ui.label(words.font(regular(12.0)).color(Theme::of(ui.ctx()).dim));
        return;
    };
    caption(ui, &format!("Inject at {}, once", target.name));
    for kind in FAULTS {
        let kind = with_chosen_time(ui, kind);
        let hindrance = facts
            .ended
            .or((kind == FaultKind::Commit && !target.commits)
                .then_some("Only a two-phase commit sink commits transactions."));
        let text = fault_title(kind);
        let item = Item {
            text: &text,
            key: "",
            hint: fault_sentence(kind),
            hindrance,
        };
        let fault = Fault {
            kind,
            ..target.fault.clone()
        };
        item.ui(ui, act(Command::Inject(fault)), commands);
        time_ui(ui, kind);
    }
}

/// How long a person last chose that `kind` takes.
fn with_chosen_time(ui: &Ui, mut kind: FaultKind) -> FaultKind {
    let id = time_id(kind);
    if let FaultKind::StorageSlow { by_ms } | FaultKind::DelayNotification { by_ms } = &mut kind {
        *by_ms = ui.data(|data| data.get_temp(id)).unwrap_or(*by_ms);
    }
    kind
}

fn time_id(kind: FaultKind) -> Id {
    Id::unique(("time of fault", kind.name()))
}

/// Below a fault that takes its time: how long.
fn time_ui(ui: &mut Ui, kind: FaultKind) {
    let (FaultKind::StorageSlow { mut by_ms } | FaultKind::DelayNotification { mut by_ms }) = kind
    else {
        return;
    };
    ui.horizontal(|ui| {
        let theme = Theme::of(ui.ctx());
        ui.add_space(18.0);
        ui.label(RichText::new("by").font(regular(12.0)).color(theme.dim));
        // Menus draw controls without a frame; this one is to be seen as a field.
        let look = &mut ui.visuals_mut().widgets.inactive;
        look.weak_bg_fill = theme.inset;
        look.bg_stroke = egui::Stroke::new(1.0, theme.line);
        let name = format!("Time of {}", kind.name());
        controls::named_milliseconds(ui, &mut by_ms, 1, name);
    });
    ui.data_mut(|data| data.insert_temp(time_id(kind), by_ms));
}

/// `Slow storage, 2 s`.
#[must_use]
pub fn fault_title(kind: FaultKind) -> String {
    let name = kind.name();
    let mut letters = name.chars();
    let capital: String = letters
        .next()
        .map(|first| first.to_uppercase().collect())
        .unwrap_or_default();
    let title = format!("{capital}{}", letters.as_str());
    match kind {
        FaultKind::StorageSlow { by_ms } | FaultKind::DelayNotification { by_ms } => {
            format!("{title}, {}", super::figures::span(by_ms * 1_000))
        }
        _ => title,
    }
}
