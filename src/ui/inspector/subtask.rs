//! A subtask: what it does now, its state, its inputs and outputs.

use egui::{Ui, vec2};

use crate::engine::event::SubtaskStatus;
use crate::model::{ChannelId, OperatorSpec, SubtaskId};

use super::super::acts::fault_title;
use super::super::canvas::tone;
use super::super::command::{Selection, UiCommand};
use super::super::explain::{lost_state, not_up_text, status_of};
use super::super::figures::{value, watermark_words, window_span};
use super::super::paint::dot;
use super::super::phrases::fault_sentence;
use super::super::scene::Scene;
use super::super::theme::{Theme, medium};
use super::super::widgets::{
    ActionButton, Emphasis, PlateRow, figure, section, sentence, small_print, title,
};
use super::channel::{inputs_ui, why_ui};
use super::{RunInspector, ledger_ui, linked_row, sink, state};

pub fn subtask_ui(
    ui: &mut Ui,
    inspector: &RunInspector<'_>,
    id: SubtaskId,
    commands: &mut Vec<UiCommand>,
) {
    let scene = inspector.scene;
    let theme = Theme::of(ui.ctx());
    title(ui, &format!("Subtask {}", scene.plan.subtask_name(id)));
    let status = status_of(scene, id);
    ui.horizontal(|ui| {
        let (slot, _) = ui.allocate_exact_size(vec2(10.0, 18.0), egui::Sense::hover());
        dot(ui.painter(), slot.center(), 4.5, tone(theme, status.tone));
        ui.label(
            egui::RichText::new(&status.text)
                .font(medium(12.5))
                .color(theme.text_soft),
        );
    });
    if let Some(channel) = waiting_input(scene, id) {
        why_ui(ui, scene, channel);
    }
    armed_ui(ui, scene, id);
    load_ui(ui, scene, id);
    state_ui(ui, inspector, id);
    time_ui(ui, inspector, id);
    if !scene.plan.subtask(id).inputs.is_empty() {
        inputs_ui(ui, scene, id, commands);
    }
    outputs_ui(ui, scene, id, commands);
    ui.add_space(12.0);
    let can_crash = !matches!(
        scene.subtask(id).status,
        SubtaskStatus::Failed | SubtaskStatus::Canceled | SubtaskStatus::Finished
    );
    let crash = ActionButton {
        text: "Crash this subtask",
        emphasis: Emphasis::Danger,
        is_disabled: !can_crash,
        ..Default::default()
    };
    if crash.ui(ui).clicked() {
        commands.push(UiCommand::Crash(id));
    }
    ledger_ui(ui, inspector);
}

/// How it has spent its time, as Flink's busyTimeMsPerSecond and its like say.
fn load_ui(ui: &mut Ui, scene: Scene<'_>, id: SubtaskId) {
    let load = scene.load(id);
    let total = load.total_us();
    if total == 0 {
        return;
    }
    section(ui, "Time (modelled)");
    for (name, us) in [
        ("Busy", load.busy_us),
        ("Backpressured", load.backpressured_us),
        ("Idle", load.idle_us),
    ] {
        let share = us as f64 * 100.0 / total as f64;
        figure(ui, name, &format!("{share:.0} %"));
    }
}

/// What will go wrong here.
fn armed_ui(ui: &mut Ui, scene: Scene<'_>, id: SubtaskId) {
    if scene.armed(id).next().is_none() {
        return;
    }
    section(ui, "Armed");
    for kind in scene.armed(id) {
        sentence(ui, &fault_title(kind), Theme::of(ui.ctx()).error);
        small_print(ui, fault_sentence(kind));
    }
}

/// The input that is worth explaining: a shut one with records behind it.
fn waiting_input(scene: Scene<'_>, id: SubtaskId) -> Option<ChannelId> {
    let is_waiting = |channel: &ChannelId| scene.channel(*channel).blocked.is_some();
    scene
        .inputs_of(id)
        .filter(is_waiting)
        .max_by_key(|channel| scene.channel(*channel).records())
}

fn state_ui(ui: &mut Ui, inspector: &RunInspector<'_>, id: SubtaskId) {
    let scene = inspector.scene;
    let subtask = scene.subtask(id);
    let plan = scene.plan.subtask(id);
    section(ui, "State");
    match &plan.operator {
        OperatorSpec::Source(_) => {
            figure(ui, "Offset", &subtask.offset.to_string());
            figure(ui, "Emitted in all", &subtask.emitted.to_string());
        }
        OperatorSpec::Map(_) => {
            figure(ui, "Processed in all", &subtask.processed.to_string());
        }
        OperatorSpec::RuleFilter => {
            state::rules_ui(ui, scene, id);
            figure(ui, "Processed in all", &subtask.processed.to_string());
        }
        OperatorSpec::KeyedSum(_) | OperatorSpec::KeyedProcess(_) | OperatorSpec::Window(_) => {
            if plan.operator.entries_kind().is_some() {
                ui.scope(|ui| state::entries_ui(ui, inspector, id));
            } else if plan.operator.key().is_some() && !subtask.windows.is_empty() {
                ui.scope(|ui| windows_ui(ui, inspector, id));
            } else {
                ui.scope(|ui| rows_ui(ui, inspector, id));
            }
            let groups = &plan.key_groups;
            figure(
                ui,
                "Key groups",
                &format!(
                    "{} – {} of {}",
                    groups.start(),
                    groups.end(),
                    plan.max_parallelism
                ),
            );
            figure(ui, "Processed in all", &subtask.processed.to_string());
        }
        OperatorSpec::Sink(_) => sink::sink_ui(ui, inspector, id),
    }
}

/// One plate per window and key that has not fired.
fn windows_ui(ui: &mut Ui, inspector: &RunInspector<'_>, id: SubtaskId) {
    let theme = Theme::of(ui.ctx());
    if let Some(words) = lost_state(inspector.scene, id) {
        small_print(ui, &format!("{words}. Before that:"));
        ui.set_opacity(0.5);
    }
    for ((window, key), row) in &inspector.scene.subtask(id).windows {
        let (name, detail) = (
            format!("{key} · {}", window_span(*window)),
            value(row.value),
        );
        let color = theme.key(inspector.keys.index(key));
        let plate = PlateRow {
            name: &name,
            detail: &detail,
            height: 28.0,
            is_clickable: false,
        };
        plate.ui(ui, |painter, at| dot(painter, at, 5.0, color));
    }
}

/// How far event time has come here.
fn time_ui(ui: &mut Ui, inspector: &RunInspector<'_>, id: SubtaskId) {
    let subtask = inspector.scene.subtask(id);
    if inspector.scene.has_event_time() {
        figure(ui, "Watermark", &watermark_words(subtask.watermark));
    }
    if subtask.late > 0 {
        figure(ui, "Dropped as late", &subtask.late.to_string());
    }
    if subtask.is_idle {
        small_print(
            ui,
            "Idle: it does not hold back the watermark of those after it. Its barriers are still waited for.",
        );
    }
}

fn rows_ui(ui: &mut Ui, inspector: &RunInspector<'_>, id: SubtaskId) {
    let theme = Theme::of(ui.ctx());
    let rows = &inspector.scene.subtask(id).rows;
    let gone = lost_state(inspector.scene, id);
    match &gone {
        Some(words) => small_print(ui, &format!("{words}. Before that:")),
        None if rows.is_empty() => small_print(ui, "No key yet."),
        None => {}
    }
    if gone.is_some() {
        ui.set_opacity(0.5);
    }
    for (key, row) in rows {
        let (name, detail) = (key.to_string(), value(row.value));
        let color = theme.key(inspector.keys.index(key));
        let plate = PlateRow {
            name: &name,
            detail: &detail,
            height: 28.0,
            is_clickable: false,
        };
        plate.ui(ui, |painter, at| dot(painter, at, 5.0, color));
    }
}

fn outputs_ui(ui: &mut Ui, scene: Scene<'_>, id: SubtaskId, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    if scene.outputs_of(id).next().is_none() {
        return;
    }
    section(ui, "Outputs");
    for channel in scene.outputs_of(id) {
        let name = scene.plan.subtask_name(scene.plan.channel(channel).to);
        let records = scene.channel(channel).records();
        let capacity = scene.job.config.channel_capacity;
        let is_full = scene.is_full(channel);
        let detail = if !scene.is_up(id) {
            not_up_text(scene, id).to_owned()
        } else if is_full {
            format!("full · {records} of {capacity}")
        } else {
            format!("{records} of {capacity}")
        };
        let color = match scene.is_up(id) {
            false => theme.line_strong,
            true if is_full => theme.warn,
            true => theme.ok,
        };
        linked_row(
            ui,
            (&name, &detail),
            color,
            Selection::Channel(channel),
            commands,
        );
    }
}
