//! What a subtask keeps beside sums and windows: entries of any kind of state, rules, a buffer.

use egui::Ui;

use crate::model::{StateEntry, StateKind, SubtaskId, TtlSpec};

use super::super::explain::lost_state;
use super::super::figures::{count, entries_figure, rule_name, span, value};
use super::super::paint::dot;
use super::super::scene::Scene;
use super::super::theme::Theme;
use super::super::widgets::{PlateRow, figure, small_print};
use super::RunInspector;

/// One plate per key; below it, when its entries expire.
pub fn entries_ui(ui: &mut Ui, inspector: &RunInspector<'_>, id: SubtaskId) {
    let (theme, scene) = (Theme::of(ui.ctx()), inspector.scene);
    let operator = &scene.plan.subtask(id).operator;
    let kind = operator.entries_kind().unwrap_or(StateKind::Value);
    let subtask = scene.subtask(id);
    let gone = lost_state(scene, id);
    match &gone {
        Some(words) => small_print(ui, &format!("{words}. Before that:")),
        None if subtask.entries.is_empty() => small_print(ui, "No key yet."),
        None => {}
    }
    if gone.is_some() {
        ui.set_opacity(0.5);
    }
    figure(ui, "Kind", kind.name());
    let now_ms = scene.view.processing_time_ms();
    for (key, row) in &subtask.entries {
        let (name, detail) = (key.to_string(), entries_figure(kind, &row.entries));
        let color = theme.key(inspector.keys.index(key));
        let plate = PlateRow {
            name: &name,
            detail: &detail,
            height: 28.0,
            is_clickable: false,
        };
        plate.ui(ui, |painter, at| dot(painter, at, 5.0, color));
        if let Some(ttl) = operator.ttl() {
            small_print(ui, &expiry(ttl, &row.entries, now_ms));
        }
    }
    if operator.ttl().is_some() {
        figure(ui, "Cleaned up", &subtask.cleaned.to_string());
    }
}

/// When the first of `entries` expires that has not, and how many have.
fn expiry(ttl: TtlSpec, entries: &[StateEntry], now_ms: u64) -> String {
    let expired = entries
        .iter()
        .filter(|entry| entry.is_expired(Some(ttl), now_ms))
        .count();
    let ends = entries.iter().filter_map(|entry| {
        let end_ms = entry.last_access_ms?.saturating_add(ttl.ttl_ms);
        end_ms.checked_sub(now_ms).filter(|left_ms| *left_ms > 0)
    });
    let next = ends
        .min()
        .map(|left_ms| format!("expires in {}", span(left_ms.saturating_mul(1_000))));
    let stale = match (expired, entries.len()) {
        (0, _) => None,
        (some, all) if some == all => Some("expired, not cleaned up yet".to_owned()),
        (some, all) => Some(format!("{some} of {all} expired, not cleaned up yet")),
    };
    let parts: Vec<String> = stale.into_iter().chain(next).collect();
    parts.join(" · ")
}

/// One figure per rule.
pub fn rules_ui(ui: &mut Ui, scene: Scene<'_>, id: SubtaskId) {
    let subtask = scene.subtask(id);
    if subtask.rules.is_empty() {
        small_print(ui, "No rule yet: everything goes on.");
    }
    for rule in subtask.rules.values() {
        figure(ui, &rule_name(rule), &format!("≥ {}", value(rule.value)));
    }
    figure(ui, "Left out in all", &subtask.filtered.to_string());
    small_print(
        ui,
        "Broadcast state: each subtask has its copy of all rules, and writes it into every snapshot.",
    );
}

/// The records that a sink holds back.
pub fn buffer_ui(ui: &mut Ui, scene: Scene<'_>, id: SubtaskId) {
    let buffer = &scene.subtask(id).sink.buffer;
    if buffer.is_empty() {
        return;
    }
    figure(ui, "In the buffer", &count(buffer.len() as u64, "record"));
    small_print(
        ui,
        "Operator list state: in every snapshot, and dealt out evenly when the parallelism changes.",
    );
}
