//! A keyed function and its state: what it does, and for how long an entry lives.

use egui::Ui;

use crate::model::limits;
use crate::model::{KeyedFunction, KeyedProcessSpec, TtlSpec, TtlUpdate, TtlVisibility};

use super::super::super::settings::{controls, operator_table, setting};
use super::super::super::widgets::{section, small_print};
use super::keyed;

/// What an entry's time to live is when it is switched on.
const FIRST_TTL_MS: u64 = 1_000;

/// What a rule filter has to be told: nothing, but where its rules come from.
pub const RULES: &str = "Rules come on a broadcast edge: every subtask has all of them, as broadcast state. A rule is a \
    record; records of its key go on from its value on. One without key is for all keys without a rule of their own.";

pub fn process_ui(ui: &mut Ui, spec: &mut KeyedProcessSpec) {
    section(ui, "Function");
    setting(ui, &operator_table::FUNCTION, |ui| {
        ui.vertical(|ui| {
            for function in KeyedFunction::ALL {
                let is_it = spec.function.name() == function.name();
                if ui.radio(is_it, function.name()).clicked() && !is_it {
                    spec.function = function;
                }
            }
        });
    });
    small_print(ui, meaning(spec.function));
    match &mut spec.function {
        KeyedFunction::CountAverage { every } => setting(ui, &operator_table::EVERY, |ui| {
            controls::number(ui, every, limits::FUNCTION_NUMBER);
        }),
        KeyedFunction::LastN { n } => setting(ui, &operator_table::LAST, |ui| {
            controls::number(ui, n, limits::FUNCTION_NUMBER);
        }),
        KeyedFunction::Distinct | KeyedFunction::Max | KeyedFunction::Average => {}
    }
    keyed::key_ui(ui, &mut spec.key);
    ttl_ui(ui, &mut spec.ttl);
}

pub fn ttl_ui(ui: &mut Ui, ttl: &mut Option<TtlSpec>) {
    section(ui, "Time to live");
    let mut is_on = ttl.is_some();
    setting(ui, &operator_table::TTL, |ui| {
        if ui.checkbox(&mut is_on, "expires after").changed() {
            *ttl = is_on.then(|| TtlSpec::new(FIRST_TTL_MS));
        }
        if let Some(ttl) = ttl {
            controls::milliseconds(ui, &mut ttl.ttl_ms, 1);
        }
    });
    let Some(ttl) = ttl else { return };
    setting(ui, &operator_table::TTL_UPDATE, |ui| {
        ui.vertical(|ui| {
            for update in TtlUpdate::ALL {
                ui.radio_value(&mut ttl.update, update, update.name());
            }
        });
    });
    setting(ui, &operator_table::TTL_VISIBILITY, |ui| {
        ui.vertical(|ui| {
            for visibility in TtlVisibility::ALL {
                ui.radio_value(&mut ttl.visibility, visibility, visibility.name());
            }
        });
    });
    setting(ui, &operator_table::TTL_BACKGROUND, |ui| {
        ui.checkbox(&mut ttl.background_cleanup, "cleaned up");
    });
    setting(ui, &operator_table::TTL_FULL_SNAPSHOT, |ui| {
        ui.checkbox(&mut ttl.full_snapshot_cleanup, "left out");
    });
}

fn meaning(function: KeyedFunction) -> &'static str {
    match function {
        KeyedFunction::CountAverage { .. } => {
            "ValueState of a count and a sum. Flink’s CountWindowAverage: the whole part of the average goes on."
        }
        KeyedFunction::LastN { .. } => "ListState of the newest values; the sum of those goes on.",
        KeyedFunction::Distinct => {
            "MapState from each value to how often it came; how many different ones there are goes on."
        }
        KeyedFunction::Max => "ReducingState: the larger of two values stays, and goes on.",
        KeyedFunction::Average => {
            "AggregatingState of a count and a sum; the average goes on, to six digits after the point."
        }
    }
}
