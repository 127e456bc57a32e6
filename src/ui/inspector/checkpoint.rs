//! A checkpoint: how far it is, what every subtask captured, and restoring it.

use egui::{Rect, Ui, vec2};

use crate::engine::event::{CheckpointKind, JobStatus};
use crate::model::{CheckpointId, Command, SubtaskId};
use crate::recording::view::{CheckpointStatus, CheckpointView, SnapshotView};
use crate::run::RunAction;

use super::super::command::{Selection, UiCommand};
use super::super::figures::{bytes, count, seconds, span, value};
use super::super::paint::{checkpoint_square, foreign_square};
use super::super::panels::facts::{Phases, start_words};
use super::super::theme::{Theme, semibold, size};
use super::super::widgets::{ActionButton, Emphasis, figure, section, sentence, small_print};
use super::{RunInspector, in_flight, ledger_ui, linked_row};

pub fn checkpoint_ui(
    ui: &mut Ui,
    inspector: &RunInspector<'_>,
    checkpoint: &CheckpointView,
    commands: &mut Vec<UiCommand>,
) {
    let theme = Theme::of(ui.ctx());
    ui.horizontal(|ui| {
        let (slot, _) = ui.allocate_exact_size(vec2(26.0, 24.0), egui::Sense::hover());
        checkpoint_square(ui.painter(), slot, checkpoint, theme);
        let name = format!("{} {}", heading(checkpoint.kind), checkpoint.id);
        ui.label(egui::RichText::new(name).font(semibold(size::TITLE)));
    });
    let (words, color) = match checkpoint.status {
        CheckpointStatus::Pending => (
            pending_text(inspector, checkpoint),
            theme.checkpoint_text(checkpoint.id),
        ),
        CheckpointStatus::Completed if checkpoint.retained => {
            ("Completed, and kept in the storage.".to_owned(), theme.ok)
        }
        CheckpointStatus::Completed if checkpoint.kind.is_savepoint() => (
            "Completed: it stays until you delete it, and no restart takes it by itself."
                .to_owned(),
            theme.ok,
        ),
        CheckpointStatus::Completed => (
            "Completed; a newer one took its place.".to_owned(),
            theme.text_soft,
        ),
        CheckpointStatus::Aborted(reason) => (
            format!("Aborted. {} ({})", reason.sentence(), reason.name()),
            theme.error,
        ),
    };
    sentence(ui, &words, color);
    ui.add_space(6.0);
    figures_ui(ui, inspector, checkpoint);
    let savepoints = inspector.scene.view.savepoints.iter();
    for (_, name) in savepoints.filter(|(id, _)| *id == checkpoint.id) {
        figure(ui, "Lies in", name);
    }
    if checkpoint.retained {
        restore_ui(ui, inspector, checkpoint.id, commands);
    }
    in_flight::in_flight_ui(ui, inspector, checkpoint, commands);
    section(ui, "Subtasks");
    for (id, snapshot) in &checkpoint.subtasks {
        snapshot_ui(ui, inspector, (*id, checkpoint, snapshot), commands);
    }
    for id in &checkpoint.finished {
        let name = inspector.scene.plan.subtask_name(*id);
        small_print(ui, &format!("{name} had finished before."));
    }
    ledger_ui(ui, inspector);
}

/// The snapshot of another run with which this one began.
pub fn start_ui(
    ui: &mut Ui,
    inspector: &RunInspector<'_>,
    id: CheckpointId,
    commands: &mut Vec<UiCommand>,
) {
    let theme = Theme::of(ui.ctx());
    ui.horizontal(|ui| {
        let (slot, _) = ui.allocate_exact_size(vec2(26.0, 24.0), egui::Sense::hover());
        foreign_square(ui.painter(), slot, id, theme);
        let name = format!("Snapshot {id} of another run");
        ui.label(egui::RichText::new(name).font(semibold(size::TITLE)));
    });
    let Some(start) = inspector.scene.view.started_from else {
        return;
    };
    sentence(ui, &capital(&start_words(&start)), theme.text_soft);
    if inspector.scene.view.store.contains(&id) {
        restore_ui(ui, inspector, id, commands);
    }
    ledger_ui(ui, inspector);
}

/// As a sentence of its own.
fn capital(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(char::to_uppercase);
    let first: String = first.into_iter().flatten().collect();
    format!("{first}{}.", letters.as_str())
}

fn heading(kind: CheckpointKind) -> String {
    match kind {
        CheckpointKind::Periodic | CheckpointKind::Manual => "Checkpoint".to_owned(),
        CheckpointKind::Final => "Final checkpoint".to_owned(),
        CheckpointKind::Savepoint(format) => format!("Savepoint ({})", format.name()),
        CheckpointKind::StopWithSavepoint { format, .. } => {
            format!("Stop with savepoint ({})", format.name())
        }
    }
}

fn restore_ui(
    ui: &mut Ui,
    inspector: &RunInspector<'_>,
    id: CheckpointId,
    commands: &mut Vec<UiCommand>,
) {
    ui.add_space(6.0);
    let status = &inspector.scene.view.job;
    let restore = ActionButton {
        text: "Restore this checkpoint",
        emphasis: Emphasis::Main,
        is_disabled: status.is_terminal(),
        ..Default::default()
    };
    if restore.ui(ui).clicked() {
        let command = Command::Restore {
            checkpoint: Some(id),
        };
        commands.push(UiCommand::Act(RunAction::Command(command)));
    }
    let reason = match status {
        JobStatus::Finished => "The job has finished: there is nothing left to restore.",
        JobStatus::Canceled => "The job was canceled: it cannot be restored any more.",
        _ => return,
    };
    small_print(ui, reason);
}

fn pending_text(inspector: &RunInspector<'_>, checkpoint: &CheckpointView) -> String {
    let open: Vec<String> = checkpoint
        .subtasks
        .iter()
        .filter(|(_, snapshot)| snapshot.acknowledged_us.is_none())
        .map(|(id, _)| inspector.scene.short_name(*id))
        .collect();
    match open.len() {
        0 => "All have acknowledged; the metadata is being written.".to_owned(),
        1..=4 => format!("Pending: waits for {}.", super::super::figures::list(&open)),
        n => format!("Pending: waits for {n} subtasks."),
    }
}

fn figures_ui(ui: &mut Ui, inspector: &RunInspector<'_>, checkpoint: &CheckpointView) {
    figure(
        ui,
        "Triggered (modelled)",
        &seconds(checkpoint.triggered_us),
    );
    let until_us = checkpoint.decided_us.unwrap_or(inspector.scene.clock_us);
    figure(
        ui,
        "Duration (modelled)",
        &span(until_us.saturating_sub(checkpoint.triggered_us)),
    );
    figure(
        ui,
        "Acknowledged",
        &format!(
            "{} of {}",
            checkpoint.acknowledged(),
            checkpoint.subtasks.len()
        ),
    );
    let (size_bytes, upload_bytes) = (checkpoint.size_bytes(), checkpoint.upload_bytes());
    figure(ui, "Size", &bytes(size_bytes));
    if upload_bytes != size_bytes {
        figure(ui, "Uploaded anew", &bytes(upload_bytes));
    }
}

fn snapshot_ui(
    ui: &mut Ui,
    inspector: &RunInspector<'_>,
    (id, checkpoint, snapshot): (SubtaskId, &CheckpointView, &SnapshotView),
    commands: &mut Vec<UiCommand>,
) {
    let theme = Theme::of(ui.ctx());
    let name = inspector.scene.plan.subtask_name(id);
    let (detail, color) = stage(inspector.scene.clock_us, snapshot, theme);
    linked_row(
        ui,
        (&name, &detail),
        color,
        Selection::Subtask(id),
        commands,
    );
    let mut captured: Vec<(String, String)> = Vec::new();
    if let Some(offset) = snapshot.offset {
        captured.push(("offset".to_owned(), offset.to_string()));
    }
    captured.extend(
        snapshot
            .rows
            .iter()
            .map(|(key, sum)| (key.to_string(), value(*sum))),
    );
    let phases = Phases::of(checkpoint, snapshot);
    for (name, us) in [
        ("start delay", phases.start_delay_us),
        ("alignment", phases.alignment_us),
        ("sync part", phases.sync_us),
        ("async part", phases.async_us),
        ("end to end", phases.end_to_end_us),
    ] {
        captured.extend(us.map(|us| (name.to_owned(), span(us))));
    }
    if snapshot.processed_bytes + snapshot.persisted_bytes > 0 {
        let (processed, persisted) = (snapshot.processed_bytes, snapshot.persisted_bytes);
        let figures = format!("{} ({})", bytes(processed), bytes(persisted));
        captured.push(("in flight, processed (persisted)".to_owned(), figures));
    }
    if snapshot.is_unaligned() {
        let records = count(snapshot.persisted_records, "record");
        captured.push(("unaligned".to_owned(), format!("{records} in flight")));
    }
    for (name, value) in captured {
        let rect = ui.available_rect_before_wrap();
        let inset =
            Rect::from_min_size(rect.min + vec2(36.0, 0.0), vec2(rect.width() - 48.0, 22.0));
        let mut child = ui.new_child(egui::UiBuilder::new().max_rect(inset));
        figure(&mut child, &name, &value);
        ui.advance_cursor_after_rect(Rect::from_min_size(rect.min, vec2(rect.width(), 22.0)));
    }
}

/// How far one subtask's part is.
fn stage(now_us: u64, snapshot: &SnapshotView, theme: &Theme) -> (String, egui::Color32) {
    if let Some(reason) = snapshot.declined {
        return (format!("declined: {}", reason.name()), theme.error);
    }
    match snapshot {
        SnapshotView {
            acknowledged_us: Some(_),
            size_bytes,
            ..
        } => (format!("acknowledged · {}", bytes(*size_bytes)), theme.ok),
        SnapshotView {
            written_us: Some(_),
            ..
        } => ("written".to_owned(), theme.ok),
        SnapshotView {
            sync_until_us: Some(until),
            ..
        } if now_us < *until => ("sync part".to_owned(), theme.warn),
        SnapshotView {
            captured_us: Some(_),
            ..
        } => ("async part".to_owned(), theme.warn),
        SnapshotView {
            first_barrier_us: Some(_),
            ..
        } => ("aligning".to_owned(), theme.warn),
        _ => ("waits for the barrier".to_owned(), theme.line_strong),
    }
}
