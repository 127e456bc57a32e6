//! Operators that keep state by key: how they find it, and a window's length and result.

use std::sync::Arc;

use egui::{TextEdit, Ui};

use crate::model::limits;
use crate::model::{KeyExpr, WindowAggregate, WindowSpec};

use super::super::super::settings::{controls, operator_table, setting};
use super::super::super::widgets::{field, section};

const MAX_LABELS: u32 = 64;

pub fn window_ui(ui: &mut Ui, spec: &mut WindowSpec) {
    section(ui, "Window");
    setting(ui, &operator_table::WINDOW_SIZE, |ui| {
        controls::milliseconds(ui, &mut spec.size_ms, 1);
    });
    setting(ui, &operator_table::AGGREGATE, |ui| {
        for (aggregate, words) in [
            (WindowAggregate::Sum, "sum"),
            (WindowAggregate::Count, "count"),
        ] {
            ui.selectable_value(&mut spec.aggregate, aggregate, words);
        }
    });
    key_ui(ui, &mut spec.key);
}

pub fn key_ui(ui: &mut Ui, key: &mut Option<KeyExpr>) {
    section(ui, "Key");
    if ui
        .radio(
            matches!(key, Some(KeyExpr::Column)),
            "the record’s key column",
        )
        .clicked()
    {
        *key = Some(KeyExpr::Column);
    }
    let is_modulo = matches!(key, Some(KeyExpr::Modulo { .. }));
    if ui.radio(is_modulo, "value modulo m").clicked() && !is_modulo {
        *key = Some(parity());
    }
    if let Some(KeyExpr::Modulo { modulus, labels }) = key {
        modulo_ui(ui, modulus, labels);
    }
}

/// The key that most people try first.
#[must_use]
pub fn parity() -> KeyExpr {
    KeyExpr::Modulo {
        modulus: 2,
        labels: vec![Arc::from("even"), Arc::from("odd")],
    }
}

fn modulo_ui(ui: &mut Ui, modulus: &mut u32, labels: &mut Vec<Arc<str>>) {
    if field(ui, "m", |ui| {
        ui.add(controls::drag_value(modulus, limits::MODULUS).speed(0.05))
    })
    .changed()
    {
        labels.truncate(*modulus as usize);
    }
    for value in 0..(*modulus).min(MAX_LABELS.min(8)) {
        let known = labels
            .get(value as usize)
            .map_or("", |label| label)
            .to_owned();
        let mut text = known.clone();
        let edit = TextEdit::singleline(&mut text)
            .desired_width(f32::INFINITY)
            .hint_text(value.to_string());
        field(ui, &format!("Label of {value}"), |ui| ui.add(edit));
        if text != known {
            while labels.len() <= value as usize {
                labels.push(Arc::from(labels.len().to_string()));
            }
            labels[value as usize] = Arc::from(text);
        }
    }
}
