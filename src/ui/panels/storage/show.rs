//! The picture on the screen: painted, and clicked.

use egui::epaint::CubicBezierShape;
use egui::{
    Align, Align2, Color32, Rect, Response, RichText, Role, Sense, Stroke, Ui, WidgetInfo, pos2,
    vec2,
};

use crate::model::Command;
use crate::run::RunAction;
use crate::run::xray::FileRef;

use super::super::super::command::{Selection, UiCommand};
use super::super::super::figures::seconds;
use super::super::super::paint::{
    checkpoint_square, dashed_frame, filled, foreign_square, framed, text_in,
};
use super::super::super::theme::{Theme, medium, regular, semibold, size, space};
use super::super::super::widgets::plate_line;
use super::gone::GoneRow;
use super::picture::{Card, CardKind, HEADER, Line, PADDING, Picture};
use super::tile::{Tile, paint_tile};
use super::{StorageView, is_selected};

/// As wide as the button on a database’s card.
const COMPACT: f32 = 68.0;

impl Picture {
    /// Paint it, and take clicks.
    pub fn ui(&self, ui: &mut Ui, view: &StorageView<'_>, commands: &mut Vec<UiCommand>) {
        let area = self.area.unwrap_or(Rect::NOTHING);
        ui.advance_cursor_after_rect(area);
        let pointed = self.interact(ui, view, commands);
        let focus = pointed.or(match view.selection {
            Selection::File(file) => Some(file.clone()),
            _ => None,
        });
        let focus_path = focus.as_ref().and_then(|focus| self.path_of(focus));
        let theme = Theme::of(ui.ctx());
        for card in &self.cards {
            paint_card(ui, theme, view, card);
        }
        self.paint_lines(ui, theme, focus_path);
        self.compact_buttons(ui, view, commands);
        for label in &self.labels {
            let color = if label.is_error {
                theme.error
            } else {
                theme.dim
            };
            let font = regular(size::SECONDARY);
            text_in(
                ui.painter(),
                label.rect,
                Align::Min,
                &label.text,
                font,
                color,
            );
        }
        for tile in &self.tiles {
            let is_focus = focus.as_ref() == Some(&tile.file);
            let is_linked = focus_path.is_some_and(|path| self.links(path, tile));
            paint_tile(
                ui.painter(),
                theme,
                tile,
                is_focus || is_linked,
                is_selected(view, &tile.file),
            );
        }
        for (row, gone) in &self.gone {
            paint_gone(ui, theme, *row, gone);
        }
    }

    /// What is pointed at, if anything.
    fn interact(
        &self,
        ui: &Ui,
        view: &StorageView<'_>,
        commands: &mut Vec<UiCommand>,
    ) -> Option<FileRef> {
        let mut pointed = None;
        let mut take = |rect: Rect, file: FileRef, name: &str, words: &str| {
            let id = ui.scope_id().with(format!("{file:?}"));
            let response = ui.interact(rect, id, Sense::click());
            let is_chosen = is_selected(view, &file);
            response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_chosen, name));
            if response.clicked() {
                commands.push(UiCommand::Select(Selection::File(file.clone())));
            }
            if response.hovered() || response.has_focus() {
                pointed = Some(file);
            }
            response.on_hover_ui(|ui| {
                ui.set_max_width(320.0);
                ui.label(RichText::new(words).font(regular(12.0)));
            });
        };
        for card in &self.cards {
            if let CardKind::Checkpoint { id, .. } = &card.kind {
                let header = card.rect.with_max_y(card.rect.top() + HEADER);
                let words = format!("The folder of checkpoint {id}: {}.", card.detail);
                let name = format!("{}: {}", card.title, card.detail);
                take(header, FileRef::Stored(card.title.clone()), &name, &words);
            } else {
                let id = ui.scope_id().with(("card", &card.title));
                let header = card.rect.with_max_y(card.rect.top() + 4.0);
                let name = format!("{}: {}", card.title, card.detail);
                ui.interact(header, id, Sense::hover())
                    .widget_info(|| WidgetInfo::labeled(Role::Label, true, &name));
            }
        }
        for tile in &self.tiles {
            let name = format!("{}, {}", tile.name, tile.detail());
            take(tile.rect, tile.file.clone(), &name, &tile.words);
        }
        pointed
    }

    /// Where `file` lies in the checkpoint storage, too, if anywhere.
    fn path_of<'a>(&'a self, file: &'a FileRef) -> Option<&'a str> {
        match file {
            FileRef::Stored(path) => Some(path),
            FileRef::Local { .. } => {
                let tile = self.tiles.iter().find(|tile| tile.file == *file)?;
                tile.uploaded_as.as_deref()
            }
        }
    }

    /// Whether `tile` is the file at `path`, or one that the checkpoint at `path` refers to.
    fn links(&self, path: &str, tile: &Tile) -> bool {
        let Some(own) = self.path_of(&tile.file) else {
            return false;
        };
        let folder = path.split('/').next().unwrap_or_default();
        let is_referred =
            |line: &Line| line.path == own && folder == format!("chk-{}", line.checkpoint);
        own == path || self.lines.iter().any(is_referred)
    }

    fn paint_lines(&self, ui: &Ui, theme: &Theme, focus: Option<&str>) {
        for line in &self.lines {
            let is_meant = focus.is_none_or(|path| {
                let folder = path.split('/').next().unwrap_or_default();
                path == line.path || folder == format!("chk-{}", line.checkpoint)
            });
            let color = theme.checkpoint(line.checkpoint);
            let color = if is_meant {
                color
            } else {
                color.gamma_multiply(0.18)
            };
            let width = if line.is_new { 2.5 } else { 1.2 };
            let bend = vec2((line.to.x - line.from.x) * 0.5, 0.0);
            ui.painter().add(CubicBezierShape::from_points_stroke(
                [line.from, line.from + bend, line.to - bend, line.to],
                false,
                Color32::TRANSPARENT,
                Stroke::new(width, color),
            ));
        }
    }

    /// One on each card of a database.
    fn compact_buttons(&self, ui: &mut Ui, view: &StorageView<'_>, commands: &mut Vec<UiCommand>) {
        for card in &self.cards {
            let CardKind::Subtask {
                id,
                has_files: true,
            } = card.kind
            else {
                continue;
            };
            let slot = Rect::from_min_size(
                pos2(card.rect.right() - PADDING - COMPACT, card.rect.top() + 6.0),
                vec2(COMPACT, 22.0),
            );
            if compact_button(ui, slot, &view.scene.plan.subtask_name(id)).clicked() {
                let uid = view.scene.plan.subtask(id).uid.clone();
                let command = Command::Compact { uid };
                commands.push(UiCommand::Act(RunAction::Command(command)));
            }
        }
    }
}

fn compact_button(ui: &Ui, rect: Rect, name: &str) -> Response {
    let theme = Theme::of(ui.ctx());
    let id = ui.scope_id().with(("compact", name));
    let response = ui.interact(rect, id, Sense::click());
    let label = format!("Compact {name}");
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
    let is_live = response.hovered() || response.has_focus();
    let fill = if is_live {
        theme.card_hover
    } else {
        theme.inset
    };
    framed(ui.painter(), rect, 5.0, fill, Stroke::new(1.0, theme.line));
    let font = medium(size::SECONDARY);
    let middle = rect.center();
    ui.painter()
        .text(middle, Align2::CENTER_CENTER, "Compact", font, theme.text);
    let words = "Merge the files of this operator’s databases now. The merged file is new, so that the next checkpoint must \
                 upload all of it.";
    response.on_hover_text(RichText::new(words).font(regular(12.0)))
}

/// How much of what a restore needs was uploaded anew.
fn paint_share(
    ui: &Ui,
    theme: &Theme,
    card: &Card,
    (uploaded, needed): (u64, u64),
    color: Color32,
) {
    let y = card.rect.top() + HEADER - 5.0;
    let bar = Rect::from_min_max(
        pos2(card.rect.left() + PADDING, y),
        pos2(card.rect.right() - PADDING, y + 3.0),
    );
    filled(ui.painter(), bar, 1.5, theme.line);
    let share = uploaded as f32 / needed.max(1) as f32;
    let part = bar.with_max_x(bar.left() + share * bar.width());
    filled(ui.painter(), part, 1.5, color);
}

fn paint_card(ui: &Ui, theme: &Theme, view: &StorageView<'_>, card: &Card) {
    let painter = ui.painter();
    let (is_dashed, accent) = match &card.kind {
        CardKind::Checkpoint {
            id,
            is_complete,
            damage,
            ..
        } => {
            let file = FileRef::Stored(card.title.clone());
            let color = if damage.is_some() {
                theme.error
            } else {
                theme.checkpoint(*id)
            };
            let width = if is_selected(view, &file) { 2.0 } else { 1.0 };
            (!is_complete, Some(Stroke::new(width, color)))
        }
        CardKind::Subtask { .. } | CardKind::Shared => (false, None),
    };
    let line = accent.unwrap_or_else(|| plate_line(theme));
    if is_dashed {
        filled(painter, card.rect, space::RADIUS, theme.card);
        dashed_frame(painter, card.rect, space::RADIUS, line);
    } else {
        framed(painter, card.rect, space::RADIUS, theme.card, line);
    }
    if let CardKind::Checkpoint {
        id,
        is_complete: true,
        sizes,
        ..
    } = &card.kind
    {
        paint_share(ui, theme, card, *sizes, theme.checkpoint(*id));
    }
    let header = Rect::from_min_max(
        card.rect.min + vec2(PADDING, 0.0),
        pos2(card.rect.right() - PADDING, card.rect.top() + HEADER - 4.0),
    );
    let mut inner = header;
    if let CardKind::Checkpoint { id, .. } = &card.kind {
        let square = Rect::from_min_size(header.min + vec2(0.0, 5.0), vec2(20.0, 20.0));
        match view.scene.view.checkpoints.get(id) {
            Some(checkpoint) => checkpoint_square(painter, square, checkpoint, theme),
            None => foreign_square(painter, square, *id, theme),
        }
        inner = header.with_min_x(square.right() + 8.0);
    }
    if let CardKind::Subtask {
        has_files: true, ..
    } = card.kind
    {
        inner = inner.with_max_x(inner.right() - COMPACT - 8.0);
    }
    let title = text_in(
        painter,
        inner,
        Align::Min,
        &card.title,
        semibold(12.5),
        theme.text,
    );
    let rest = inner.with_min_x(title.right() + 10.0);
    text_in(
        painter,
        rest,
        Align::Max,
        &card.detail,
        regular(size::SECONDARY),
        theme.dim,
    );
}

fn paint_gone(ui: &Ui, theme: &Theme, row: Rect, gone: &GoneRow) {
    let painter = ui.painter();
    let slot = row.with_max_x(row.left() + row.width() * 0.36);
    let used = text_in(
        painter,
        slot,
        Align::Min,
        &gone.name,
        regular(size::SECONDARY),
        theme.dim,
    );
    painter.hline(
        used.x_range(),
        used.center().y,
        Stroke::new(1.0, theme.line_strong),
    );
    let when = seconds(gone.at_us);
    let rest = row.with_min_x(slot.right() + 8.0);
    let at = text_in(
        painter,
        rest,
        Align::Max,
        &when,
        regular(size::SECONDARY),
        theme.dim,
    );
    let words = &gone.why;
    let room = rest.with_max_x(at.left() - 10.0);
    text_in(
        painter,
        room,
        Align::Min,
        words,
        regular(size::SECONDARY),
        theme.text_soft,
    );
    let id = ui.scope_id().with(("gone", gone.position, &gone.name));
    let response = ui.interact(row, id, Sense::hover());
    let label = format!("{} deleted: {words}", gone.name);
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &label));
    response.on_hover_text(RichText::new(label.clone()).font(regular(12.0)));
}
