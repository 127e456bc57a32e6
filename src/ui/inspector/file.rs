//! A file of state: whose it is, which checkpoints need it, what is in it, and what would break without it.

use egui::{RichText, Ui};

use crate::model::CheckpointId;
use crate::run::xray::{FileContents, FileRef, LookedInto, Role, StorageLook, StoredLook};
use crate::run::{Run, RunAction};

use super::super::command::{Dialog, Selection, UiCommand};
use super::super::figures::{bytes, count, list, seconds};
use super::super::panels::{FileIndex, Known};
use super::super::theme::{Theme, semibold, size};
use super::super::widgets::{
    ActionButton, Emphasis, figure, section, sentence, small_print, title,
};
use super::{RunInspector, linked_row};

/// What the inspector knows of where state lies.
#[derive(Clone, Copy)]
pub struct StorageFacts<'a> {
    pub look: &'a StorageLook,
    pub looked_into: Option<&'a LookedInto>,
    /// The run, which knows what became of files.
    pub run: &'a Run,
    /// The cursor is in the past: what is in a file is read now.
    pub is_past: bool,
}

impl StorageFacts<'_> {
    /// Whether there is something to look into, or was at the cursor.
    fn is_there(&self, file: &FileRef) -> bool {
        match file {
            FileRef::Stored(path) if path.contains('/') => self.look.stored.file(path).is_some(),
            FileRef::Stored(path) => crate::run::xray::checkpoint_of(path)
                .is_some_and(|id| self.look.stored.checkpoints.contains_key(&id)),
            FileRef::Local { .. } => true,
        }
    }
}

pub fn file_ui(
    ui: &mut Ui,
    inspector: &RunInspector<'_>,
    (facts, file): (StorageFacts<'_>, &FileRef),
    commands: &mut Vec<UiCommand>,
) {
    match file {
        FileRef::Stored(path) => stored_ui(ui, inspector, facts, path, commands),
        FileRef::Local { subtask, table } => {
            let name = inspector.scene.plan.subtask_name(*subtask);
            let heading = table.clone().unwrap_or_else(|| "Working state".to_owned());
            title(ui, &heading);
            let theme = Theme::of(ui.ctx());
            sentence(
                ui,
                &format!("On the local disk or in the memory of {name}."),
                theme.text_soft,
            );
            if let Some(table) = table {
                table_figures(ui, facts.look, (*subtask, table));
            }
        }
    }
    if facts.is_there(file) {
        contents_ui(ui, facts, file);
    }
}

fn table_figures(
    ui: &mut Ui,
    look: &StorageLook,
    (subtask, name): (crate::model::SubtaskId, &str),
) {
    let mut local = look.local.iter().filter(|local| local.subtask == subtask);
    let state = local.find_map(|local| local.state.as_ref().ok());
    let table = state.and_then(|state| state.tables.iter().find(|table| table.name == name));
    let Some(table) = table else {
        return small_print(
            ui,
            "It is not there any more: it was merged into another file.",
        );
    };
    figure(ui, "Size (measured)", &bytes(table.size_bytes));
    figure(ui, "Level", &table.level.to_string());
    figure(ui, "Entries", &table.entries.to_string());
    if table.deletions > 0 {
        figure(ui, "of which say “deleted”", &table.deletions.to_string());
    }
    if let Some([first, last]) = table.range() {
        figure(ui, "From", &format!("group {} · {}", first.0, first.1));
        figure(ui, "To", &format!("group {} · {}", last.0, last.1));
    }
}

fn stored_ui(
    ui: &mut Ui,
    inspector: &RunInspector<'_>,
    facts: StorageFacts<'_>,
    path: &str,
    commands: &mut Vec<UiCommand>,
) {
    let theme = Theme::of(ui.ctx());
    let stored = &facts.look.stored;
    title(ui, path.rsplit('/').next().unwrap_or(path));
    sentence(ui, &whereabouts(stored, path), theme.text_soft);
    let is_folder = !path.contains('/');
    let is_there = if is_folder {
        folder_figures(ui, stored, path, commands)
    } else {
        file_figures(ui, inspector, facts.look, path, commands)
    };
    let loss = stored.loss_of(path, &facts.run.counted());
    section(
        ui,
        if is_there {
            "Without it"
        } else {
            "Since it is gone"
        },
    );
    let words = loss.sentences();
    if is_there {
        sentence(
            ui,
            &words,
            if loss.is_none() { theme.ok } else { theme.warn },
        );
        ui.add_space(4.0);
        let button = ActionButton {
            text: "Try to delete it …",
            emphasis: Emphasis::Danger,
            ..Default::default()
        };
        if button.ui(ui).clicked() {
            // Time stands while a person thinks, so that what is told stays true.
            commands.push(UiCommand::Act(RunAction::Pause));
            commands.push(UiCommand::Show(Dialog::DeleteStored {
                path: path.to_owned(),
                consequences: words,
            }));
        }
    } else {
        let mut broken: Vec<CheckpointId> = stored.users(path).collect();
        let own = crate::run::xray::checkpoint_of(path);
        broken.extend(own.filter(|id| facts.run.lost_checkpoints().contains(id)));
        let ids: Vec<String> = broken.iter().map(ToString::to_string).collect();
        let words = if ids.is_empty() {
            "Nothing that is retained refers to it.".to_owned()
        } else {
            format!(
                "The job still counts on checkpoint {}, and cannot restore it any more.",
                list(&ids)
            )
        };
        sentence(
            ui,
            &words,
            if ids.is_empty() {
                theme.text_soft
            } else {
                theme.error
            },
        );
    }
}

fn whereabouts(stored: &StoredLook, path: &str) -> String {
    match &stored.folder {
        Some(folder) => folder.join(path).display().to_string(),
        None => format!("{path}, in the JobManager’s heap"),
    }
}

/// Returns whether it is there.
fn folder_figures(
    ui: &mut Ui,
    stored: &StoredLook,
    path: &str,
    commands: &mut Vec<UiCommand>,
) -> bool {
    let theme = Theme::of(ui.ctx());
    let Some(id) = crate::run::xray::checkpoint_of(path) else {
        return false;
    };
    if !stored.folders().contains(&id) {
        return false;
    }
    let references = stored.references(id);
    if stored.checkpoints.contains_key(&id) {
        let (uploaded, needed) = stored.sizes(id);
        figure(ui, "Uploaded anew (measured)", &bytes(uploaded));
        figure(ui, "Needed for a restore", &bytes(needed));
        let tables = references
            .iter()
            .filter(|it| matches!(it.role, Role::Table { .. }));
        let (new, reused): (Vec<_>, Vec<_>) = tables.partition(|table| table.is_created_by(id));
        if !new.is_empty() || !reused.is_empty() {
            figure(ui, "Table files, new", &new.len().to_string());
            figure(ui, "Table files, reused", &reused.len().to_string());
        }
        let inside = references.iter().filter(|it| it.path.is_none());
        let inside: Vec<u64> = inside.map(|it| it.size_bytes).collect();
        if !inside.is_empty() {
            let words = format!(
                "{} · {}",
                count(inside.len() as u64, "stream"),
                bytes(inside.iter().sum())
            );
            figure(ui, "Inside its _metadata", &words);
        }
    }
    if let Some(damage) = stored.damage(id) {
        sentence(ui, &format!("It cannot be restored: {damage}"), theme.error);
    }
    let target = Selection::Checkpoint(id);
    let name = format!("Checkpoint {id}");
    linked_row(
        ui,
        (&name, "what was captured"),
        theme.checkpoint(id),
        target,
        commands,
    );
    true
}

/// Returns whether it is there.
fn file_figures(
    ui: &mut Ui,
    inspector: &RunInspector<'_>,
    look: &StorageLook,
    path: &str,
    commands: &mut Vec<UiCommand>,
) -> bool {
    let theme = Theme::of(ui.ctx());
    let stored = &look.stored;
    let file = stored.file(path);
    match file {
        Some(file) => figure(ui, "Size (measured)", &bytes(file.size_bytes)),
        None => sentence(ui, "It is missing.", theme.error),
    }
    if stored.users(path).next().is_some() {
        section(ui, "Checkpoints that refer to it");
    }
    let index = FileIndex::of(stored);
    let known = index.get(path);
    for (id, created_by) in known.into_iter().flat_map(|known| &known.users) {
        let name = format!("Checkpoint {id}");
        let detail = if created_by == id {
            "uploaded it"
        } else {
            "reuses it"
        };
        let target = Selection::File(FileRef::Stored(format!("chk-{id}")));
        linked_row(ui, (&name, detail), theme.checkpoint(*id), target, commands);
    }
    if let Some(id) = known.and_then(Known::gone_creator) {
        let words =
            format!("Uploaded by checkpoint {id}, which is gone. What others refer to stays.");
        small_print(ui, &words);
    }
    if file.is_some() && known.is_none() && !path.ends_with("/_metadata") {
        let pending = inspector.scene.pending().map(|checkpoint| checkpoint.id);
        let words = match pending {
            Some(id) => {
                format!("No completed checkpoint refers to it yet; checkpoint {id} is being taken.")
            }
            None => "No completed checkpoint refers to it.".to_owned(),
        };
        small_print(ui, &words);
    }
    file.is_some()
}

fn contents_ui(ui: &mut Ui, facts: StorageFacts<'_>, file: &FileRef) {
    let theme = Theme::of(ui.ctx());
    let Some(looked) = facts.looked_into.filter(|looked| looked.file == *file) else {
        return;
    };
    section(ui, "What is in it");
    match &looked.contents {
        Err(error) => match facts.run.fate_of(file).filter(|_| facts.is_past) {
            Some(gone) => {
                let words = format!(
                    "It can only be read while it is there, and was deleted later, at {}. {}",
                    seconds(gone.at_us),
                    gone.sentence()
                );
                sentence(ui, &words, theme.text_soft);
            }
            None => sentence(ui, error, theme.error),
        },
        Ok(contents) => {
            sentence(ui, &contents.what, theme.text_soft);
            let is_working_state = matches!(file, FileRef::Local { table: None, .. });
            if facts.is_past || is_working_state {
                small_print(ui, &format!("Read at {}.", seconds(looked.at_us)));
            }
            facts_ui(ui, contents);
            entries_ui(ui, contents);
        }
    }
}

fn facts_ui(ui: &mut Ui, contents: &FileContents) {
    for (name, value) in &contents.facts {
        if value.is_empty() {
            small_print(ui, name);
        } else {
            figure(ui, name, value);
        }
    }
}

/// Stream by stream, and key group by key group.
fn entries_ui(ui: &mut Ui, contents: &FileContents) {
    let theme = Theme::of(ui.ctx());
    for part in &contents.parts {
        if !part.name.is_empty() && part.entries.count > 0 {
            section(ui, &part.name);
        }
        let mut group = None;
        for entry in &part.entries.first {
            if group != Some(entry.key_group) {
                group = Some(entry.key_group);
                ui.add_space(4.0);
                let words = format!("Key group {} · {}", entry.key_group, entry.state);
                let words = RichText::new(words).font(semibold(size::SECONDARY));
                ui.label(words.color(theme.dim));
            }
            figure(ui, &entry.key, &entry.value);
        }
        let (shown, all) = (part.entries.first.len(), part.entries.count);
        if all > shown {
            small_print(
                ui,
                &format!("{all} entries in all; the first {shown} are shown."),
            );
        }
    }
}
