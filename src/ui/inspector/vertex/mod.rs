//! An operator: its name, parallelism and parameters, and what it is connected to.

mod costs;
mod keyed;
mod process;
mod sink;
mod source;

use egui::{TextEdit, Ui};

use crate::model::limits;
use crate::model::validate::{Hint, Site};
use crate::model::{OperatorSpec, Uid, Vertex};

use super::super::command::{Selection, UiCommand};
use super::super::document::Document;
use super::super::settings::{self, advice_ui, controls, operator_table, remark, setting};
use super::super::theme::Theme;
use super::super::widgets::{ActionButton, Emphasis, field, section, sentence, small_print, title};

pub use source::empty_csv;

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
    settings::explain_switch_ui(ui);
    field(ui, "Name", |ui| {
        ui.add(TextEdit::singleline(&mut edited.name).desired_width(f32::INFINITY))
    });
    uid_ui(ui, document, vertex, &mut edited);
    explicit_uid_ui(ui, &mut edited, document.hints());
    parallelism_ui(ui, &mut edited);
    match &mut edited.operator {
        OperatorSpec::Source(spec) => {
            if source::source_ui(ui, spec, vertex.parallelism) {
                commands.push(UiCommand::ChooseCsv(vertex.uid.clone()));
            }
        }
        OperatorSpec::Map(spec) => {
            section(ui, "Map");
            setting(ui, &operator_table::FACTOR, |ui| {
                ui.add(controls::drag_value(&mut spec.factor, limits::FACTOR).speed(0.05));
            });
        }
        OperatorSpec::KeyedSum(spec) => {
            keyed::key_ui(ui, &mut spec.key);
            process::ttl_ui(ui, &mut spec.ttl);
        }
        OperatorSpec::KeyedProcess(spec) => process::process_ui(ui, spec),
        OperatorSpec::RuleFilter => {
            section(ui, "Rule filter");
            small_print(ui, process::RULES);
        }
        OperatorSpec::Window(spec) => keyed::window_ui(ui, spec),
        OperatorSpec::Sink(spec) => {
            let advice = (document.hints(), &Site::Vertex(vertex.uid.clone()));
            sink::sink_ui(ui, spec, advice);
        }
    }
    costs::costs_ui(ui, &document.job().config.costs, &mut edited);
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
    let response = setting(ui, &operator_table::UID, |ui| {
        if vertex.has_explicit_uid {
            ui.add(TextEdit::singleline(&mut text).desired_width(f32::INFINITY))
        } else {
            let generated = TextEdit::singleline(&mut text).desired_width(f32::INFINITY);
            ui.add_enabled(false, generated)
        }
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

/// Whether the uid is a person's. Without one, state is lost when the graph changes, and the row says so.
fn explicit_uid_ui(ui: &mut Ui, edited: &mut Vertex, hints: &[Hint]) {
    setting(ui, &operator_table::EXPLICIT_UID, |ui| {
        ui.checkbox(&mut edited.has_explicit_uid, "set by you");
    });
    if edited.has_explicit_uid {
        return;
    }
    let site = Site::Vertex(edited.uid.clone());
    let is_advised = hints
        .iter()
        .any(|hint| hint.site == site && hint.field == "generated_uid");
    if is_advised {
        advice_ui(ui, hints, &site, "generated_uid");
    } else {
        remark(
            ui,
            "Generated from the graph’s structure: after a change of the graph its state in a savepoint has no \
             operator.",
        );
    }
}

fn parallelism_ui(ui: &mut Ui, vertex: &mut Vertex) {
    setting(ui, &operator_table::PARALLELISM, |ui| {
        controls::number(ui, &mut vertex.parallelism, limits::PARALLELISM);
    });
    let mut is_default = vertex.max_parallelism.is_none();
    let effective = vertex.effective_max_parallelism();
    setting(ui, &operator_table::MAX_PARALLELISM, |ui| {
        let mut groups = effective;
        let value = controls::drag_value(&mut groups, limits::KEY_GROUPS).speed(0.2);
        if ui.add_enabled(!is_default, value).changed() {
            vertex.max_parallelism = Some(groups);
        }
        if ui.checkbox(&mut is_default, "default").changed() {
            vertex.max_parallelism = if is_default { None } else { Some(effective) };
        }
    });
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
