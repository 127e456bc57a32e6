//! A source: what it reads, how fast, until when; its splits, its event time, its silence.

use std::path::PathBuf;

use egui::{DragValue, TextEdit, Ui};

use crate::model::limits;
use crate::model::{CsvSpec, EventTimeSpec, SourceKind, SourcePause, SourceSpec};

use super::super::super::settings::{controls, operator_table, setting};
use super::super::super::widgets::{field, section, small_print};

/// What a person gets who switches event time on: one record in each tenth of a second, half a second out of order.
const FIRST_EVENT_TIME: EventTimeSpec = EventTimeSpec {
    step_ms: 100,
    late_every: 0,
    late_by_ms: 1_000,
    max_lateness_ms: 500,
    idle_after_ms: None,
};

const FIRST_PAUSE: SourcePause = SourcePause {
    after_records: 20,
    for_ms: 2_000,
};

/// Returns whether a CSV file is to be chosen.
pub fn source_ui(ui: &mut Ui, spec: &mut SourceSpec, parallelism: u32) -> bool {
    section(ui, "Source");
    field(ui, "Kind", |ui| {
        let is_csv = matches!(spec.kind, SourceKind::Csv(_));
        let name = if is_csv {
            "CSV file"
        } else {
            "sequence 1, 2, 3 …"
        };
        egui::ComboBox::from_id_salt("source kind")
            .selected_text(name)
            .width(170.0)
            .show_ui(ui, |ui| {
                if ui.selectable_label(!is_csv, "sequence 1, 2, 3 …").clicked() {
                    spec.kind = SourceKind::Sequence;
                }
                if ui.selectable_label(is_csv, "CSV file").clicked() && !is_csv {
                    spec.kind = SourceKind::Csv(empty_csv());
                }
            })
    });
    let chooses = match &mut spec.kind {
        SourceKind::Csv(csv) => csv_ui(ui, csv),
        SourceKind::Sequence => false,
    };
    setting(ui, &operator_table::RATE, |ui| {
        ui.add(
            controls::drag_value(&mut spec.rate_per_s, limits::RATE_PER_S)
                .speed(0.5)
                .max_decimals(6)
                .suffix(" records/s"),
        );
    });
    setting(ui, &operator_table::END, |ui| {
        let mut has_end = spec.end.is_some();
        if ui.checkbox(&mut has_end, "after").changed() {
            spec.end = has_end.then_some(100);
        }
        if let Some(end) = &mut spec.end {
            ui.add(records(end));
        }
    });
    small_print(ui, "The rate is that of each subtask.");
    splits_ui(ui, &mut spec.splits, parallelism);
    pause_ui(ui, &mut spec.pause);
    event_time_ui(ui, &mut spec.event_time);
    chooses
}

fn records(number: &mut u64) -> DragValue<'_> {
    controls::drag_value(number, limits::SOURCE_RECORDS).suffix(" records")
}

fn splits_ui(ui: &mut Ui, splits: &mut Option<u32>, parallelism: u32) {
    setting(ui, &operator_table::SPLITS, |ui| {
        let mut shown = splits.unwrap_or(parallelism);
        let value = controls::drag_value(&mut shown, limits::SPLITS).speed(0.05);
        if ui.add_enabled(splits.is_some(), value).changed() {
            *splits = Some(shown);
        }
        let mut is_default = splits.is_none();
        if ui
            .checkbox(&mut is_default, "one for each subtask")
            .changed()
        {
            *splits = (!is_default).then_some(parallelism);
        }
    });
}

fn pause_ui(ui: &mut Ui, pause: &mut Option<SourcePause>) {
    let mut is_on = pause.is_some();
    setting(ui, &operator_table::PAUSE, |ui| {
        if ui.checkbox(&mut is_on, "after").changed() {
            *pause = is_on.then_some(FIRST_PAUSE);
        }
        if let Some(pause) = pause {
            ui.add(records(&mut pause.after_records));
        }
    });
    if let Some(pause) = pause {
        setting(ui, &operator_table::PAUSE_FOR, |ui| {
            controls::milliseconds(ui, &mut pause.for_ms, 1);
        });
    }
}

fn event_time_ui(ui: &mut Ui, event_time: &mut Option<EventTimeSpec>) {
    let mut is_on = event_time.is_some();
    setting(ui, &operator_table::EVENT_TIME, |ui| {
        if ui.checkbox(&mut is_on, "each").changed() {
            *event_time = is_on.then_some(FIRST_EVENT_TIME);
        }
        if let Some(spec) = event_time {
            controls::milliseconds(ui, &mut spec.step_ms, 1);
        }
    });
    let Some(spec) = event_time else { return };
    setting(ui, &operator_table::OUT_OF_ORDER, |ui| {
        controls::milliseconds(ui, &mut spec.max_lateness_ms, 0);
    });
    setting(ui, &operator_table::LATE, |ui| {
        let mut comes = spec.late_every > 0;
        if ui.checkbox(&mut comes, "one of").changed() {
            spec.late_every = if comes { 10 } else { 0 };
        }
        if comes && spec.late_every > 0 {
            controls::number(ui, &mut spec.late_every, 1..=*limits::LATE_EVERY.end());
        }
    });
    if spec.late_every > 0 {
        setting(ui, &operator_table::LATE_BY, |ui| {
            controls::milliseconds(ui, &mut spec.late_by_ms, 0);
        });
    }
    setting(ui, &operator_table::IDLE, |ui| {
        let mut is_on = spec.idle_after_ms.is_some();
        if ui.checkbox(&mut is_on, "after").changed() {
            spec.idle_after_ms = is_on.then_some(1_000);
        }
        if let Some(ms) = &mut spec.idle_after_ms {
            controls::milliseconds(ui, ms, 1);
        }
    });
}

/// A CSV source whose file is still to be chosen.
#[must_use]
pub fn empty_csv() -> CsvSpec {
    CsvSpec {
        path: PathBuf::new(),
        key_column: String::new(),
        value_column: String::new(),
    }
}

/// Returns whether the file is to be chosen in a dialog.
fn csv_ui(ui: &mut Ui, csv: &mut CsvSpec) -> bool {
    let mut path = csv.path.to_string_lossy().into_owned();
    let chooses = field(ui, "File", |ui| {
        ui.add(
            TextEdit::singleline(&mut path)
                .desired_width(ui.available_width() - 84.0)
                .hint_text("data/file.csv"),
        );
        ui.button("Choose…").clicked()
    });
    if path != csv.path.to_string_lossy() {
        csv.path = PathBuf::from(path);
    }
    field(ui, "Key column", |ui| {
        ui.add(TextEdit::singleline(&mut csv.key_column).desired_width(f32::INFINITY))
    });
    field(ui, "Value column", |ui| {
        ui.add(TextEdit::singleline(&mut csv.value_column).desired_width(f32::INFINITY))
    });
    small_print(ui, "The path is relative to the folder of the job file.");
    chooses
}
