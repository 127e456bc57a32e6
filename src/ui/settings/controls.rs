//! The controls of settings: times, numbers that may be unlimited, choices.
//!
//! Looking changes nothing: a value out of bounds stays what it is until a person sets another, and only that one is
//! held to the bounds, which are those of the checks.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use egui::emath::Numeric;
use egui::{ComboBox, DragValue, Response, TextEdit, Ui};

use crate::model::limits::{Bounds, COST_US, MAX_TIME_MS};

const COMBO_WIDTH: f32 = 152.0;

/// A number that a person sets within `bounds`.
pub fn drag_value<N: Numeric, B: Numeric>(
    number: &mut N,
    bounds: RangeInclusive<B>,
) -> DragValue<'_> {
    DragValue::new(number)
        .range(bounds)
        .clamp_existing_to_range(false)
}

/// A time in milliseconds, at least `least`.
pub fn milliseconds(ui: &mut Ui, ms: &mut u64, least: u64) {
    milliseconds_input(ui, ms, least);
}

/// The same, called `name` by screen readers and tests where no row names it.
pub fn named_milliseconds(ui: &mut Ui, ms: &mut u64, least: u64, name: String) {
    let response = milliseconds_input(ui, ms, least);
    let node = |node: &mut egui::accesskit::Node| node.set_label(name);
    ui.ctx().accesskit_node_builder(response.id, node);
}

fn milliseconds_input(ui: &mut Ui, ms: &mut u64, least: u64) -> Response {
    let speed = (*ms as f64 * 0.01).max(1.0);
    ui.add(
        drag_value(ms, least..=MAX_TIME_MS)
            .speed(speed)
            .suffix(" ms"),
    )
}

/// A time that may be off; `first` is what it is when switched on.
pub fn optional_milliseconds(ui: &mut Ui, ms: &mut Option<u64>, (least, first): (u64, u64)) {
    let mut is_on = ms.is_some();
    if ui.checkbox(&mut is_on, "every").changed() {
        *ms = is_on.then_some(first);
    }
    if let Some(ms) = ms {
        milliseconds(ui, ms, least);
    }
}

/// Shown in milliseconds, kept in microseconds.
pub fn cost(ui: &mut Ui, us: &mut u64) {
    let value = |new: Option<f64>| {
        if let Some(ms) = new {
            *us = (ms * 1e3).round().max(0.0) as u64;
        }
        *us as f64 / 1e3
    };
    ui.add(
        DragValue::from_get_set(value)
            .range(0.0..=*COST_US.end() as f64 / 1e3)
            .clamp_existing_to_range(false)
            .suffix(" ms")
            .speed(1.0)
            .max_decimals(3),
    );
}

/// A cost that may be as the job says, which is `usual_us`.
pub fn optional_cost(ui: &mut Ui, us: &mut Option<u64>, usual_us: u64) {
    let mut is_own = us.is_some();
    if ui.checkbox(&mut is_own, "own").changed() {
        *us = is_own.then_some(usual_us);
    }
    match us {
        Some(us) => cost(ui, us),
        None => {
            let mut shown_us = usual_us;
            ui.add_enabled_ui(false, |ui| cost(ui, &mut shown_us));
        }
    }
}

/// A number within `bounds`, or `unlimited`; `first` is what it is when limited again.
pub fn limited(ui: &mut Ui, number: &mut u32, bounds: Bounds, (unlimited, first): (u32, u32)) {
    let mut is_unlimited = *number == unlimited;
    if !is_unlimited {
        ui.add(drag_value(number, bounds).speed(0.1));
    }
    if ui.checkbox(&mut is_unlimited, "unlimited").changed() {
        *number = if is_unlimited { unlimited } else { first };
    }
}

/// A whole number within `bounds`.
pub fn number(ui: &mut Ui, number: &mut u32, bounds: Bounds) -> Response {
    ui.add(drag_value(number, bounds).speed(0.1))
}

/// Hundredths, shown as a share.
pub fn percent(ui: &mut Ui, percent: &mut u32, bounds: Bounds) {
    ui.add(drag_value(percent, bounds).speed(0.5).suffix(" %"));
}

/// One of `all`, by name.
pub fn choice<T: PartialEq + Copy>(
    ui: &mut Ui,
    chosen: &mut T,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) {
    let salt = ui.next_auto_id();
    ComboBox::from_id_salt(salt)
        .selected_text(name(*chosen))
        .width(COMBO_WIDTH)
        .show_ui(ui, |ui| {
            for option in all {
                ui.selectable_value(chosen, *option, name(*option));
            }
        });
}

/// A folder that may be left out.
pub fn folder(ui: &mut Ui, folder: &mut Option<PathBuf>, hint: &str) {
    let known = folder
        .as_ref()
        .map_or_else(String::new, |path| path.to_string_lossy().into_owned());
    let mut text = known.clone();
    ui.add(
        TextEdit::singleline(&mut text)
            .desired_width(f32::INFINITY)
            .hint_text(hint),
    );
    if text != known {
        *folder = (!text.trim().is_empty()).then(|| PathBuf::from(text));
    }
}

/// Hundredths, shown as a factor.
pub fn factor(ui: &mut Ui, percent: &mut u32, bounds: Bounds) {
    let (least, most) = (*bounds.start() as f64, *bounds.end() as f64);
    let value = |new: Option<f64>| {
        if let Some(factor) = new {
            *percent = (factor * 100.0).round() as u32;
        }
        f64::from(*percent) / 100.0
    };
    ui.add(
        DragValue::from_get_set(value)
            .range(least / 100.0..=most / 100.0)
            .clamp_existing_to_range(false)
            .speed(0.01)
            .max_decimals(2)
            .suffix(" ×"),
    );
}
