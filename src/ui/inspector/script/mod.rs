//! The job's script: commands with their moments, which a person adds, changes, moves and deletes here.

mod command;
mod when;

use egui::{ComboBox, Id, Ui};

use crate::model::limits::MAX_TIME_MS;
use crate::model::validate::Site;
use crate::model::{Command, JobGraph, ScriptEntry, Uid, Vertex, When};

use super::super::command::{ScriptEdit, UiCommand};
use super::super::document::Document;
use super::super::figures::count;
use super::super::paint::dot;
use super::super::phrases::{command_words, when_words};
use super::super::settings::{controls, group};
use super::super::theme::Theme;
use super::super::widgets::{ActionButton, Emphasis, PlateRow, sentence, small_print};

const COMBO_WIDTH: f32 = 152.0;

pub fn script_ui(ui: &mut Ui, document: &Document, commands: &mut Vec<UiCommand>) {
    let job = document.job();
    let summary = match job.script.len() as u64 {
        0 => "no command".to_owned(),
        n => count(n, "command"),
    };
    group(ui, "Script", &summary, |ui| {
        let id = Id::unique("open entry of the script");
        let mut open: Option<usize> = ui.data(|data| data.get_temp(id)).unwrap_or_default();
        for index in 0..job.script.len() {
            entry_ui(ui, document, index, &mut open, commands);
        }
        let add = ActionButton {
            text: "Add a command",
            ..Default::default()
        };
        if add.ui(ui).clicked() {
            commands.push(UiCommand::EditScript(ScriptEdit::Add(next_entry(job))));
            open = Some(job.script.len());
        }
        ui.data_mut(|data| data.insert_temp(id, open));
        small_print(
            ui,
            "A run carries them out by itself. Flags on the timeline: filled where one was carried out, hollow where \
             one is due.",
        );
    });
}

/// A checkpoint, a second after the last moment that the script knows.
fn next_entry(job: &JobGraph) -> ScriptEntry {
    let at = |entry: &ScriptEntry| match entry.when {
        When::AtMs(ms) => Some(ms),
        When::Emitted { .. } | When::Processed { .. } => None,
    };
    let last = job.script.iter().filter_map(at).max().unwrap_or(0);
    ScriptEntry {
        when: When::AtMs(last.saturating_add(1_000).min(MAX_TIME_MS)),
        command: Command::Checkpoint,
    }
}

/// One line; its controls below it while it is open.
fn entry_ui(
    ui: &mut Ui,
    document: &Document,
    index: usize,
    open: &mut Option<usize>,
    commands: &mut Vec<UiCommand>,
) {
    let theme = Theme::of(ui.ctx());
    let job = document.job();
    let entry = &job.script[index];
    let site = Site::Script(index);
    let problems = document.problems().iter();
    let problems = problems.filter(|problem| problem.site == site);
    let is_wrong = problems.clone().next().is_some();
    let (what, when) = (
        command_words(job, &entry.command),
        when_words(job, &entry.when),
    );
    let row = PlateRow {
        name: &what,
        detail: &when,
        height: 30.0,
        is_clickable: true,
    };
    let color = match (is_wrong, command::is_harm(&entry.command)) {
        (true, _) | (false, true) => theme.error,
        (false, false) => theme.text_soft,
    };
    let is_open = *open == Some(index);
    if row
        .ui(ui, |painter, at| dot(painter, at, 4.0, color))
        .clicked()
    {
        *open = if is_open { None } else { Some(index) };
    }
    for problem in problems {
        sentence(ui, &problem.message, theme.error);
    }
    if !is_open {
        return;
    }
    let mut edited = entry.clone();
    ui.indent(("entry", index), |ui| {
        when::when_ui(ui, job, &mut edited.when);
        command::command_ui(ui, job, &mut edited.command);
        if edited != *entry {
            let edit = ScriptEdit::Set {
                index,
                entry: Box::new(edited),
            };
            commands.push(UiCommand::EditScript(edit));
        }
        buttons_ui(ui, job, index, open, commands);
    });
    ui.add_space(6.0);
}

fn buttons_ui(
    ui: &mut Ui,
    job: &JobGraph,
    index: usize,
    open: &mut Option<usize>,
    commands: &mut Vec<UiCommand>,
) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        let last = job.script.len() - 1;
        for (text, is_possible, to) in [
            ("Up", index > 0, index.saturating_sub(1)),
            ("Down", index < last, index + 1),
        ] {
            let button = ActionButton {
                text,
                is_disabled: !is_possible,
                ..Default::default()
            };
            if button.ui(ui).clicked() {
                let edit = ScriptEdit::Move { from: index, to };
                commands.push(UiCommand::EditScript(edit));
                *open = Some(to);
            }
        }
        let delete = ActionButton {
            text: "Delete command",
            emphasis: Emphasis::Danger,
            ..Default::default()
        };
        if delete.ui(ui).clicked() {
            commands.push(UiCommand::EditScript(ScriptEdit::Delete(index)));
            *open = None;
        }
    });
}

/// One of the job's operators that are `wanted`, by name.
fn operator_choice(ui: &mut Ui, job: &JobGraph, chosen: &mut Uid, wanted: fn(&Vertex) -> bool) {
    let name = |uid: &Uid| match job.vertex(uid) {
        Some(vertex) => vertex.name.clone(),
        None => format!("{uid} (gone)"),
    };
    let salt = ui.next_auto_id();
    ComboBox::from_id_salt(salt)
        .selected_text(name(chosen))
        .width(COMBO_WIDTH)
        .show_ui(ui, |ui| {
            for vertex in job.vertices.iter().filter(|vertex| wanted(vertex)) {
                ui.selectable_value(chosen, vertex.uid.clone(), &vertex.name);
            }
        });
}

/// A subtask of `uid`: counted from 1 where people see it, from 0 where it is kept.
fn subtask_number(ui: &mut Ui, job: &JobGraph, uid: &Uid, subtask: &mut u32) {
    let count = job
        .vertex(uid)
        .map_or(1, |vertex| vertex.parallelism)
        .max(1);
    let mut number = subtask.saturating_add(1);
    let most = count.max(number);
    let value = controls::drag_value(&mut number, 1..=most);
    if ui
        .add(value.speed(0.1).suffix(format!(" of {count}")))
        .changed()
    {
        *subtask = number.clamp(1, count) - 1;
    }
}

/// The first operator that is `wanted`; none: an empty uid, of which the problems will say that it names nothing.
fn first_operator(job: &JobGraph, wanted: fn(&Vertex) -> bool) -> Uid {
    let found = job.vertices.iter().find(|vertex| wanted(vertex));
    found.map_or_else(|| Uid::new(""), |vertex| vertex.uid.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::samples;

    #[test]
    fn a_new_command_comes_after_the_others() {
        let mut job = samples::odd_even();
        job.script.clear();
        assert_eq!(next_entry(&job).when, When::AtMs(1_000));
        job.script.push(ScriptEntry {
            when: When::AtMs(2_500),
            command: Command::Stop,
        });
        assert_eq!(next_entry(&job).when, When::AtMs(3_500));
    }
}
