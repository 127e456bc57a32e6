//! An operator: its name, parallelism and parameters, and what it is connected to.

use std::path::PathBuf;
use std::sync::Arc;

use egui::{DragValue, TextEdit, Ui};

use crate::model::{CsvSpec, KeyExpr, OperatorSpec, SourceKind, SourceSpec, Uid, Vertex};

use super::super::command::{Selection, UiCommand};
use super::super::document::Document;
use super::super::theme::Theme;
use super::super::widgets::{ActionButton, Emphasis, field, section, sentence, small_print, title};

const MAX_PARALLELISM: u32 = 128;
const MAX_KEY_GROUPS: u32 = 1 << 15;
const MAX_LABELS: u32 = 64;

pub fn vertex_ui(ui: &mut Ui, document: &Document, vertex: &Vertex, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    let mut edited = vertex.clone();
    title(ui, &vertex.name);
    small_print(
        ui,
        &format!("{} · {}", vertex.operator.kind_name(), vertex.uid),
    );
    for problem in document.problems_of(&vertex.uid) {
        sentence(ui, &problem.message, theme.error);
    }
    field(ui, "Name", |ui| {
        ui.add(TextEdit::singleline(&mut edited.name).desired_width(f32::INFINITY))
    });
    uid_ui(ui, document, vertex, &mut edited);
    parallelism_ui(ui, &mut edited);
    match &mut edited.operator {
        OperatorSpec::Source(spec) => {
            if source_ui(ui, spec) {
                commands.push(UiCommand::ChooseCsv(vertex.uid.clone()));
            }
        }
        OperatorSpec::Map(_) => {}
        OperatorSpec::KeyedSum(spec) => key_ui(ui, &mut spec.key),
        OperatorSpec::Window(spec) => key_ui(ui, &mut spec.key),
        OperatorSpec::Sink(_) => {
            section(ui, "Sink");
            small_print(
                ui,
                "Collects what arrives. Plain: what it has taken is out, also after a restart.",
            );
        }
    }
    if edited != *vertex {
        commands.push(UiCommand::SetVertex {
            uid: vertex.uid.clone(),
            vertex: Box::new(edited),
        });
    }
    connections_ui(ui, document, vertex, commands);
    ui.add_space(12.0);
    let delete = ActionButton {
        text: "Delete operator",
        emphasis: Emphasis::Danger,
        ..Default::default()
    };
    if delete.ui(ui).clicked() {
        commands.push(UiCommand::Delete(Selection::Vertex(vertex.uid.clone())));
    }
}

/// A uid is taken over when editing ends, so that half-typed ones never collide.
fn uid_ui(ui: &mut Ui, document: &Document, vertex: &Vertex, edited: &mut Vertex) {
    let id = ui.scope_id().with(("uid", &vertex.uid));
    let mut text: String = ui
        .data(|data| data.get_temp(id))
        .unwrap_or_else(|| vertex.uid.as_str().to_owned());
    let response = field(ui, "Uid", |ui| {
        ui.add(TextEdit::singleline(&mut text).desired_width(f32::INFINITY))
    });
    let is_taken = document
        .job()
        .vertex(&Uid::new(text.trim()))
        .is_some_and(|other| other.uid != vertex.uid);
    if response.lost_focus() {
        ui.data_mut(|data| data.remove::<String>(id));
        let text = text.trim();
        if !text.is_empty() && !is_taken {
            edited.uid = Uid::new(text);
        }
    } else if response.has_focus() {
        ui.data_mut(|data| data.insert_temp(id, text));
        if is_taken {
            sentence(
                ui,
                "Another operator has this uid.",
                Theme::of(ui.ctx()).error,
            );
        }
    }
}

fn parallelism_ui(ui: &mut Ui, vertex: &mut Vertex) {
    field(ui, "Parallelism", |ui| {
        ui.add(
            DragValue::new(&mut vertex.parallelism)
                .range(1..=MAX_PARALLELISM)
                .speed(0.05),
        )
    });
    let mut is_default = vertex.max_parallelism.is_none();
    let effective = vertex.effective_max_parallelism();
    field(ui, "Max parallelism", |ui| {
        let mut groups = effective;
        let value = DragValue::new(&mut groups)
            .range(1..=MAX_KEY_GROUPS)
            .speed(0.2);
        if ui.add_enabled(!is_default, value).changed() {
            vertex.max_parallelism = Some(groups);
        }
        if ui.checkbox(&mut is_default, "default").changed() {
            vertex.max_parallelism = if is_default { None } else { Some(effective) };
        }
    });
}

/// Returns whether a CSV file is to be chosen.
fn source_ui(ui: &mut Ui, spec: &mut SourceSpec) -> bool {
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
    field(ui, "Rate", |ui| {
        ui.add(
            DragValue::new(&mut spec.rate_per_s)
                .range(0.01..=100_000.0)
                .speed(0.5)
                .max_decimals(2)
                .suffix(" records/s"),
        )
    });
    field(ui, "End", |ui| {
        let mut has_end = spec.end.is_some();
        if ui.checkbox(&mut has_end, "after").changed() {
            spec.end = has_end.then_some(100);
        }
        if let Some(end) = &mut spec.end {
            ui.add(
                DragValue::new(end)
                    .range(1..=u64::from(u32::MAX))
                    .suffix(" records"),
            );
        }
    });
    small_print(ui, "The rate is that of each subtask.");
    chooses
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

fn key_ui(ui: &mut Ui, key: &mut Option<KeyExpr>) {
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
        ui.add(DragValue::new(modulus).range(1..=1_000_000).speed(0.05))
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

/// Where the operator sends to, and a way to connect it without dragging.
fn connections_ui(
    ui: &mut Ui,
    document: &Document,
    vertex: &Vertex,
    commands: &mut Vec<UiCommand>,
) {
    if vertex.is_sink() {
        return;
    }
    let job = document.job();
    section(ui, "Sends to");
    for (index, edge) in job
        .edges
        .iter()
        .enumerate()
        .filter(|(_, edge)| edge.from == vertex.uid)
    {
        let name = job
            .vertex(&edge.to)
            .map_or_else(|| edge.to.to_string(), |target| target.name.clone());
        if ui
            .link(format!("{name} ({})", edge.partitioning.name()))
            .clicked()
        {
            commands.push(UiCommand::Select(Selection::Edge(index)));
        }
    }
    let is_target = |other: &&Vertex| {
        other.uid != vertex.uid
            && !other.is_source()
            && !job.outputs_of(&vertex.uid).any(|edge| edge.to == other.uid)
    };
    let targets: Vec<&Vertex> = job.vertices.iter().filter(is_target).collect();
    if targets.is_empty() {
        return;
    }
    ui.menu_button("Connect to …", |ui| {
        for target in targets {
            if ui.button(&target.name).clicked() {
                commands.push(UiCommand::Connect {
                    from: vertex.uid.clone(),
                    to: target.uid.clone(),
                });
                ui.close();
            }
        }
    });
}
