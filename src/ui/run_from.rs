//! The dialog that starts the job from a savepoint or a retained checkpoint in a folder: what is in it, what may be
//! changed, and why this job can or cannot.

use std::path::PathBuf;

use egui::{RichText, ScrollArea, Ui};

use crate::model::{BackendKind, ClaimMode, JobGraph, SnapshotKind};
use crate::run::{SnapshotLook, fits};

use super::command::UiCommand;
use super::dialogs::{answers, heading, path_field};
use super::figures::bytes;
use super::theme::{Theme, regular, semibold};
use super::topbar::backend_name;
use super::widgets::{ActionButton, Emphasis, figure, section, sentence, small_print};

/// What has been chosen so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFrom {
    pub path: String,
    pub claim: ClaimMode,
    pub allow_non_restored_state: bool,
    look: Option<Result<SnapshotLook, String>>,
    /// Why the job cannot start from it.
    misfit: Option<String>,
    /// What was looked at, so that it is not read again in each frame.
    seen: Option<(String, bool)>,
}

impl RunFrom {
    #[must_use]
    pub fn at(path: String) -> Self {
        Self {
            path,
            ..Self::default()
        }
    }

    /// Read what the path leads to, if that has changed.
    fn update(&mut self, job: &JobGraph, backend: BackendKind) {
        let wanted = (self.path.trim().to_owned(), self.allow_non_restored_state);
        if self.seen.as_ref() == Some(&wanted) {
            return;
        }
        let path = PathBuf::from(&wanted.0);
        self.look = (!wanted.0.is_empty())
            .then(|| SnapshotLook::into_folder(&path).map_err(|error| error.to_string()));
        self.misfit = match &self.look {
            Some(Ok(_)) => fits(&path, job, backend, wanted.1)
                .err()
                .map(|error| error.to_string()),
            _ => None,
        };
        self.seen = Some(wanted);
    }

    fn can_start(&self) -> bool {
        matches!(self.look, Some(Ok(_))) && self.misfit.is_none()
    }
}

pub fn run_from_ui(ui: &mut Ui, from: &mut RunFrom, job: &JobGraph, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    heading(ui, "Run from a savepoint or checkpoint");
    small_print(
        ui,
        "Its folder (savepoint-…, chk-…), or the _metadata file in it.",
    );
    ui.horizontal(|ui| {
        let width = ui.available_width() - 92.0;
        path_field(ui, &mut from.path, (width, "savepoints/savepoint-…"));
        let choose = ActionButton {
            text: "Choose…",
            ..Default::default()
        };
        if choose.ui(ui).clicked() {
            commands.push(UiCommand::ChooseSnapshot);
        }
    });
    from.update(job, job.config.backend);
    match &from.look {
        None => {}
        Some(Err(text)) => sentence(ui, text, theme.error),
        Some(Ok(look)) => look_ui(ui, look),
    }
    if matches!(from.look, Some(Ok(_))) {
        section(ui, "This job");
        match &from.misfit {
            Some(text) => sentence(ui, text, theme.error),
            None => sentence(ui, "It can start from there.", theme.ok),
        }
        choices_ui(ui, from);
    }
    let start = UiCommand::RunFrom {
        path: PathBuf::from(from.path.trim()),
        claim: from.claim,
        allow_non_restored_state: from.allow_non_restored_state,
    };
    let buttons = [
        ("Cancel", Emphasis::Plain, UiCommand::Cancel),
        ("Run from it", Emphasis::Main, start),
    ];
    let count = if from.can_start() { 2 } else { 1 };
    answers(ui, &buttons[..count], commands);
}

fn look_ui(ui: &mut Ui, look: &SnapshotLook) {
    let theme = Theme::of(ui.ctx());
    let kind = match (look.kind, look.kind.format()) {
        (SnapshotKind::Checkpoint, _) | (_, None) => "Checkpoint".to_owned(),
        (_, Some(format)) => format!("{} savepoint", format.name()),
    };
    section(ui, "What is in it");
    let title = format!(
        "{kind} {}, of {}",
        look.checkpoint,
        backend_name(look.backend)
    );
    ui.label(RichText::new(title).font(semibold(13.0)));
    ScrollArea::vertical().max_height(150.0).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 1.0;
        for operator in &look.operators {
            let uid = if operator.has_explicit_uid {
                format!("uid {}", operator.uid)
            } else {
                "generated id".to_owned()
            };
            let name = format!("{} · {uid}", operator.name);
            let value = format!(
                "{} of {} · {}",
                operator.parallelism,
                operator.max_parallelism,
                bytes(operator.stored_bytes)
            );
            figure(ui, &name, &value);
        }
    });
    section(ui, "What may be changed");
    ui.spacing_mut().item_spacing.y = 3.0;
    for ability in &look.abilities {
        let (word, color) = match ability.refused {
            None => ("yes", theme.ok),
            Some(_) => ("no", theme.error),
        };
        ui.horizontal_wrapped(|ui| {
            ui.label(RichText::new(word).font(semibold(12.5)).color(color));
            let mut words = ability.what.to_owned();
            if let Some(reason) = ability.refused {
                words = format!("{words}: {reason}");
            }
            ui.label(
                RichText::new(words)
                    .font(regular(12.5))
                    .color(theme.text_soft),
            );
        });
    }
}

fn choices_ui(ui: &mut Ui, from: &mut RunFrom) {
    ui.checkbox(
        &mut from.allow_non_restored_state,
        "Leave out state of operators that this job does not have",
    )
    .on_hover_text(
        "Flink: --allowNonRestoredState, execution.state-recovery.ignore-unclaimed-state",
    );
    for (claim, words) in [
        (
            ClaimMode::NoClaim,
            "It stays yours: never deleted (NO_CLAIM)",
        ),
        (
            ClaimMode::Claim,
            "It becomes the job’s: deleted once subsumed (CLAIM)",
        ),
    ] {
        ui.radio_value(&mut from.claim, claim, words)
            .on_hover_text("Flink: execution.state-recovery.claim-mode");
    }
}
