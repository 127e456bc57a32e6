//! Where state really lies: working state on each machine, and the files of the checkpoints with lines to those that
//! each refers to. All of it was read from the state backends and the storage, at a moment that is told.

mod files;
mod gone;
mod local;
mod picture;
mod show;
mod tile;

use egui::{Align, Rect, RichText, ScrollArea, Sense, Ui, pos2, vec2};

use crate::model::CheckpointId;
use crate::run::Run;
use crate::run::xray::{FileRef, StorageLook};

use super::super::command::{Selection, UiCommand};
use super::super::figures::seconds;
use super::super::paint::text_in;
use super::super::scene::Scene;
use super::super::theme::{Theme, regular, semibold, size};
use super::empty_ui;
pub use files::{FileIndex, Known};
use picture::Picture;

/// What the view is drawn from.
pub struct StorageView<'a> {
    pub scene: Scene<'a>,
    pub run: &'a Run,
    pub look: &'a StorageLook,
    pub selection: &'a Selection,
    theme: &'static Theme,
}

impl StorageView<'_> {
    /// Checkpoints that the job would restore, and of which the `_metadata` is gone.
    fn lost(&self) -> Vec<CheckpointId> {
        self.run.lost_checkpoints()
    }

    fn theme(&self) -> &'static Theme {
        self.theme
    }
}

pub fn storage_ui(
    ui: &mut Ui,
    (scene, run): (Scene<'_>, Option<&Run>),
    selection: &Selection,
    commands: &mut Vec<UiCommand>,
) {
    let Some((run, look)) = run.and_then(|run| Some((run, run.look()?))) else {
        return empty_ui(ui, "Nothing was looked at yet.");
    };
    let view = StorageView {
        scene,
        run,
        look,
        selection,
        theme: Theme::of(ui.ctx()),
    };
    headings_ui(ui, &view);
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        let origin = ui.cursor().min;
        let width = ui.available_width() - 12.0;
        let picture = Picture::of(&view, Rect::from_min_size(origin, vec2(width, 0.0)));
        picture.ui(ui, &view, commands);
    });
}

/// The columns' titles, and when this was read.
fn headings_ui(ui: &mut Ui, view: &StorageView<'_>) {
    let theme = Theme::of(ui.ctx());
    let (row, _) = ui.allocate_exact_size(vec2(ui.available_width(), 24.0), Sense::hover());
    let columns = picture::Columns::of(row.with_max_x(row.right() - 12.0));
    let title = |rect: Rect, text: &str| {
        text_in(
            ui.painter(),
            rect,
            Align::Min,
            text,
            semibold(12.0),
            theme.dim,
        )
    };
    title(slot(row, columns.local), "TaskManagers’ working state");
    let used = title(
        slot(row, (columns.checkpoints.0, columns.shared.1)),
        match &view.look.stored.folder {
            Some(_) => "Checkpoint storage",
            None => "Checkpoint storage: the JobManager’s heap",
        },
    );
    let when = format!("measured · as read at {}", seconds(view.look.at_us));
    let rest = Rect::from_min_max(
        pos2(used.right() + 12.0, row.top()),
        pos2(columns.shared.1, row.bottom()),
    );
    let said = text_in(
        ui.painter(),
        rest,
        Align::Max,
        &when,
        regular(size::SECONDARY),
        theme.dim,
    );
    if let Some(folder) = &view.look.stored.folder {
        let room = rest.with_max_x(said.left() - 12.0);
        let path = folder.display().to_string();
        text_in(
            ui.painter(),
            room,
            Align::Min,
            &path,
            regular(size::SECONDARY),
            theme.dim,
        );
        ui.interact(room, ui.scope_id().with("folder"), Sense::hover())
            .on_hover_text(RichText::new(path).font(regular(12.0)));
    }
}

fn slot(row: Rect, (left, right): (f32, f32)) -> Rect {
    Rect::from_x_y_ranges(left..=right, row.y_range())
}

/// Whether the selection is this file.
fn is_selected(view: &StorageView<'_>, file: &FileRef) -> bool {
    matches!(view.selection, Selection::File(selected) if selected == file)
}
