//! The run as a whole, while nothing is selected: what is going on, and what a click would tell.

use egui::Ui;

use crate::engine::event::JobStatus;
use crate::model::Command;
use crate::recording::view::CheckpointStatus;
use crate::run::RunAction;

use super::super::command::UiCommand;
use super::super::figures::{count, seconds, span};
use super::super::scene::Scene;
use super::super::theme::{Theme, semibold};
use super::super::widgets::{
    ActionButton, Emphasis, figure, section, sentence, small_print, title,
};
use super::channel::{inputs_ui, why_ui};
use super::{RunInspector, ledger_ui};

pub fn overview_ui(ui: &mut Ui, inspector: &RunInspector<'_>, commands: &mut Vec<UiCommand>) {
    let scene = inspector.scene;
    let theme = Theme::of(ui.ctx());
    if let Some((channel, checkpoint, _)) = scene.longest_blocked() {
        title(ui, &format!("Channel {}", scene.channel_title(channel)));
        let words = format!("shut by barrier {checkpoint}");
        ui.label(
            egui::RichText::new(words)
                .font(semibold(12.0))
                .color(theme.checkpoint_text(checkpoint)),
        );
        why_ui(ui, scene, channel);
        inputs_ui(ui, scene, scene.plan.channel(channel).to, commands);
    } else {
        let heading = if is_partly_down(scene) {
            "A region has failed"
        } else {
            heading(scene, inspector.is_playing)
        };
        title(ui, heading);
        job_ui(ui, inspector, commands);
    }
    section(ui, "Run");
    figure(ui, "Time (modelled)", &seconds(scene.clock_us));
    figure(ui, "Events", &scene.view.position.to_string());
    let completed = scene
        .checkpoints()
        .filter(|c| c.status == CheckpointStatus::Completed)
        .count();
    figure(ui, "Checkpoints completed", &completed.to_string());
    figure(ui, "Restarts", &scene.view.restarts.to_string());
    ledger_ui(ui, inspector);
    ui.add_space(8.0);
    small_print(
        ui,
        "Click a channel to see why its records wait, a card to see its state, a checkpoint to restore it.",
    );
}

fn heading(scene: Scene<'_>, is_playing: bool) -> &'static str {
    match &scene.view.job {
        JobStatus::Running if is_playing => "The job is running",
        JobStatus::Running => "The job is paused",
        JobStatus::Restarting { .. } => "The job has failed",
        JobStatus::Restoring { .. } => "The job is being restored",
        JobStatus::Finished if scene.stopped_with().is_some() => "The job has stopped",
        JobStatus::Finished => "The job has finished",
        JobStatus::Canceled => "The job was canceled",
        JobStatus::Failed { .. } => "The job has failed for good",
        JobStatus::Suspended => "The job is suspended",
    }
}

fn how_it_ended(scene: Scene<'_>) -> String {
    let restarts = count(scene.view.restarts.into(), "restart");
    match scene.stopped_with() {
        None => format!("All sources reached their end, after {restarts}."),
        Some(savepoint) => format!(
            "It stopped with savepoint {} at {}, after {restarts}.",
            savepoint.id,
            seconds(savepoint.decided_us.unwrap_or(savepoint.triggered_us))
        ),
    }
}

fn job_ui(ui: &mut Ui, inspector: &RunInspector<'_>, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    let scene = inspector.scene;
    match &scene.view.job {
        JobStatus::Running if inspector.is_playing => {
            sentence(
                ui,
                "Press Checkpoint (C), and watch its barriers.",
                theme.text_soft,
            );
        }
        JobStatus::Running => {
            sentence(
                ui,
                "Press Space to play, → for one step, C for a checkpoint.",
                theme.text_soft,
            );
        }
        JobStatus::Restarting { cause } => {
            let cause = cause.trim_end_matches('.');
            sentence(ui, &format!("{cause}. {}", who_is_down(scene)), theme.error);
            // Such as: why the last restore came to nothing.
            let notice = inspector.storage.and_then(|facts| facts.run.notice());
            if let Some(notice) = notice {
                sentence(ui, notice, theme.error);
            }
            if let Some(at_us) = scene.view.failover.as_ref().and_then(|plan| plan.at_us) {
                let left = span(at_us.saturating_sub(scene.clock_us));
                let words = format!("The restart strategy begins again in {left} (modelled).");
                sentence(ui, &words, theme.text_soft);
                return;
            }
            let words = scene.view.store.last().map_or_else(
                || "Restore: afresh, from the beginning".to_owned(),
                |latest| format!("Restore checkpoint {latest}"),
            );
            let button = ActionButton {
                text: &words,
                emphasis: Emphasis::Main,
                ..Default::default()
            };
            if button.ui(ui).clicked() {
                commands.push(UiCommand::Act(RunAction::Command(Command::Restore {
                    checkpoint: None,
                })));
            }
        }
        JobStatus::Restoring { .. } => {
            sentence(ui, "Every subtask reads its state back.", theme.text_soft);
        }
        JobStatus::Finished => sentence(ui, &how_it_ended(scene), theme.text_soft),
        JobStatus::Failed { cause } => sentence(ui, cause, theme.error),
        JobStatus::Canceled | JobStatus::Suspended => {
            sentence(ui, "Press Edit, then Run, to start again.", theme.text_soft);
        }
    }
}

/// Some subtasks are down, and others work on.
fn is_partly_down(scene: Scene<'_>) -> bool {
    let mut subtasks = scene.plan.subtasks.iter();
    subtasks.any(|subtask| scene.is_spared(subtask.id))
}

/// Whom a failure has taken down.
fn who_is_down(scene: Scene<'_>) -> String {
    let all = scene.plan.subtasks.len();
    let restarting = scene
        .view
        .failover
        .as_ref()
        .map(|plan| plan.restarting.len());
    match restarting {
        Some(n) if n < all => format!(
            "{n} of {all} subtasks are one region: they are canceled, and what was in flight between them is gone. \
             The others work on."
        ),
        _ => "All subtasks are canceled; what was in flight is gone.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::event::CheckpointKind;
    use crate::model::{CheckpointId, SavepointFormat};
    use crate::ui::fixture::two_sources;

    /// Breaks if every job that has finished is said to have read all of its sources.
    #[test]
    fn a_job_that_stopped_with_a_savepoint_says_so() {
        let mut moment = two_sources();
        moment.view.job = JobStatus::Finished;
        assert_eq!(heading(moment.scene(), false), "The job has finished");
        let id = CheckpointId(3);
        let checkpoint = moment.view.checkpoints.get_mut(&id).expect("checkpoint 3");
        let checkpoint = Arc::make_mut(checkpoint);
        checkpoint.kind = CheckpointKind::StopWithSavepoint {
            format: SavepointFormat::Canonical,
            drain: false,
        };
        checkpoint.status = CheckpointStatus::Completed;
        checkpoint.decided_us = Some(1_500_000);
        assert_eq!(heading(moment.scene(), false), "The job has stopped");
        assert_eq!(
            how_it_ended(moment.scene()),
            "It stopped with savepoint 3 at 1.500 s, after 0 restarts."
        );
    }
}
