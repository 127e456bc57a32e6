//! The whole picture: cards and tiles in their places, and the lines from checkpoints to the files they refer to.

use egui::epaint::CubicBezierShape;
use egui::{Align, Color32, Pos2, Rect, RichText, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use crate::model::{CheckpointId, Command, SubtaskId};
use crate::recording::view::CheckpointStatus;
use crate::run::RunAction;
use crate::run::xray::{FileRef, Gone};

use super::super::super::command::{Selection, UiCommand};
use super::super::super::figures::{bytes, seconds};
use super::super::super::paint::{
    checkpoint_square, dashed_frame, filled, foreign_square, framed, text_in,
};
use super::super::super::theme::{Theme, medium, regular, semibold, size, space};
use super::super::super::widgets::plate_line;
use super::files::{FileIndex, is_shared, tile_name};
use super::tile::{GAP, HEIGHT, Kind, Tile};
use super::{StorageView, is_selected, paint_tile};

pub const HEADER: f32 = 34.0;
pub const PADDING: f32 = 10.0;
/// Deleted files that are told.
const GONE: usize = 12;
const GONE_ROW: f32 = 20.0;

/// The horizontal extent of each column.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    pub local: (f32, f32),
    pub checkpoints: (f32, f32),
    pub shared: (f32, f32),
}

impl Columns {
    #[must_use]
    pub fn of(area: Rect) -> Self {
        let width = area.width();
        let at = |share: f32| area.left() + share * width;
        Self {
            local: (at(0.0), at(0.3)),
            checkpoints: (at(0.3) + 24.0, at(0.68)),
            shared: (at(0.68) + 72.0, at(1.0)),
        }
    }

    fn rect((left, right): (f32, f32), top: f32) -> Rect {
        Rect::from_min_max(pos2(left, top), pos2(right, top))
    }
}

pub struct Card {
    pub rect: Rect,
    pub title: String,
    pub detail: String,
    pub kind: CardKind,
}

pub enum CardKind {
    Subtask {
        id: SubtaskId,
        has_files: bool,
    },
    /// The folder of a checkpoint; what is wrong with it, if anything.
    Checkpoint {
        id: CheckpointId,
        is_complete: bool,
        damage: Option<String>,
    },
    Shared,
}

/// Small print in a slot.
pub struct Label {
    rect: Rect,
    text: String,
    is_error: bool,
}

impl Label {
    pub fn dim(rect: Rect, text: &str) -> Self {
        Self {
            rect,
            text: text.to_owned(),
            is_error: false,
        }
    }

    pub fn error(rect: Rect, text: &str) -> Self {
        Self {
            is_error: true,
            ..Self::dim(rect, text)
        }
    }
}

/// From a checkpoint's card to a file that it refers to.
struct Line {
    from: Pos2,
    to: Pos2,
    checkpoint: CheckpointId,
    path: String,
    /// The checkpoint has uploaded it.
    is_new: bool,
}

#[derive(Default)]
pub struct Picture {
    pub cards: Vec<Card>,
    pub tiles: Vec<Tile>,
    pub labels: Vec<Label>,
    lines: Vec<Line>,
    gone: Vec<(Rect, Gone)>,
    area: Option<Rect>,
}

impl Picture {
    #[must_use]
    pub fn of(view: &StorageView<'_>, area: Rect) -> Self {
        let theme = view.theme();
        let index = FileIndex::of(&view.look.stored);
        let columns = Columns::of(area);
        let mut picture = Self::default();
        let local = Columns::rect(columns.local, area.top());
        let mut bottom = picture.put_local(view, &index, local, theme);
        let stored = Columns::rect(columns.checkpoints, area.top());
        bottom = bottom.max(picture.put_checkpoints(view, &index, stored, theme));
        let shared = Columns::rect(columns.shared, area.top());
        bottom = bottom.max(picture.put_shared(view, &index, shared, theme));
        picture.put_lines(&index);
        let right = (columns.checkpoints.0, columns.shared.1);
        let gone = Columns::rect(right, bottom.max(area.top()) + 4.0);
        bottom = bottom.max(picture.put_gone(view, gone));
        picture.area = Some(area.with_max_y(bottom + 8.0));
        picture
    }

    /// The folders `chk-N`, newest first. Returns where they end.
    fn put_checkpoints(
        &mut self,
        view: &StorageView<'_>,
        index: &FileIndex<'_>,
        column: Rect,
        theme: &Theme,
    ) -> f32 {
        let stored = &view.look.stored;
        let mut top = column.top();
        if let Some(trouble) = &stored.trouble {
            let row = Rect::from_min_size(pos2(column.left(), top), vec2(column.width(), HEIGHT));
            self.labels.push(Label::error(row, trouble));
            top = row.bottom() + GAP;
        }
        let folders = stored.folders();
        if folders.is_empty() {
            let row = Rect::from_min_size(pos2(column.left(), top), vec2(column.width(), HEIGHT));
            self.labels.push(Label::dim(
                row,
                "No checkpoint yet. Press Checkpoint (C) to take one.",
            ));
            return row.bottom();
        }
        for id in folders.into_iter().rev() {
            let card = column.with_min_y(top);
            let bottom = self.put_checkpoint(view, index, (id, card), theme);
            top = bottom + 10.0;
        }
        top
    }

    fn put_checkpoint(
        &mut self,
        view: &StorageView<'_>,
        index: &FileIndex<'_>,
        (id, card): (CheckpointId, Rect),
        theme: &Theme,
    ) -> f32 {
        let stored = &view.look.stored;
        let is_complete = stored.checkpoints.contains_key(&id);
        let damage = stored.damage(id);
        let mut top = card.top() + HEADER;
        if let Some(damage) = &damage {
            let row = Rect::from_min_size(
                pos2(card.left() + PADDING, top),
                vec2(card.width() - 2.0 * PADDING, 18.0),
            );
            self.labels.push(Label::error(
                row,
                &format!("It cannot be restored: {damage}"),
            ));
            top = row.bottom() + 4.0;
        }
        let width = (card.width() - 2.0 * PADDING - GAP) / 2.0;
        let mut place = 0_u8;
        for file in stored.files_of(id) {
            let rect = Rect::from_min_size(
                pos2(
                    card.left() + PADDING + f32::from(place) * (width + GAP),
                    top,
                ),
                vec2(width, HEIGHT),
            );
            let known = index.get(&file.path);
            self.tiles.push(Tile {
                rect,
                file: FileRef::Stored(file.path.clone()),
                name: tile_name(view.scene, &file.path, known),
                size_bytes: file.size_bytes,
                stripe: is_complete.then(|| theme.checkpoint(id)),
                kind: Kind::File,
                words: format!(
                    "{}, {}. Click to see what is in it.",
                    file.path,
                    bytes(file.size_bytes)
                ),
            });
            place += 1;
            if place == 2 {
                place = 0;
                top = rect.bottom() + GAP;
            }
        }
        let bottom = if place == 0 { top - GAP } else { top + HEIGHT };
        let rect = card.with_max_y(bottom.max(card.top() + HEADER - PADDING) + PADDING);
        self.cards.push(Card {
            rect,
            title: format!("chk-{id}"),
            detail: checkpoint_detail(view, id),
            kind: CardKind::Checkpoint {
                id,
                is_complete,
                damage,
            },
        });
        rect.bottom()
    }

    /// The folder `shared`. Returns where it ends.
    fn put_shared(
        &mut self,
        view: &StorageView<'_>,
        index: &FileIndex<'_>,
        column: Rect,
        theme: &Theme,
    ) -> f32 {
        let stored = &view.look.stored;
        let there = stored.files.iter().filter(|file| is_shared(&file.path));
        let mut files: Vec<(&str, Option<u64>)> = there
            .map(|file| (file.path.as_str(), Some(file.size_bytes)))
            .collect();
        let missing = index
            .shared()
            .filter(|(path, _)| stored.file(path).is_none());
        files.extend(missing.map(|(path, _)| (path, None)));
        if files.is_empty() {
            return column.top();
        }
        let total: u64 = files.iter().filter_map(|(_, size)| *size).sum();
        let mut top = column.top() + HEADER;
        for (path, size_bytes) in &files {
            let known = index.get(path);
            let rect = Rect::from_min_max(
                pos2(column.left() + PADDING, top),
                pos2(column.right() - PADDING, top + HEIGHT),
            );
            let told = match known {
                Some(known) => users_text(known.created_by(), &known.users),
                None => "No completed checkpoint refers to it (yet).".to_owned(),
            };
            self.tiles.push(Tile {
                rect,
                file: FileRef::Stored((*path).to_owned()),
                name: tile_name(view.scene, path, known),
                size_bytes: size_bytes.unwrap_or(0),
                stripe: known.map(|known| theme.checkpoint(known.created_by())),
                kind: if size_bytes.is_some() {
                    Kind::File
                } else {
                    Kind::Missing
                },
                words: format!("{path}. {told}"),
            });
            top = rect.bottom() + GAP;
        }
        let rect = column.with_max_y(top - GAP + PADDING);
        self.cards.push(Card {
            rect,
            title: "shared".to_owned(),
            detail: bytes(total),
            kind: CardKind::Shared,
        });
        rect.bottom()
    }

    fn put_lines(&mut self, index: &FileIndex<'_>) {
        for card in &self.cards {
            let CardKind::Checkpoint { id, .. } = &card.kind else {
                continue;
            };
            for tile in &self.tiles {
                let FileRef::Stored(path) = &tile.file else {
                    continue;
                };
                let known = index
                    .get(path)
                    .filter(|known| is_shared(path) && known.users.contains(id));
                let Some(known) = known else { continue };
                self.lines.push(Line {
                    from: pos2(card.rect.right(), card.rect.top() + HEADER / 2.0),
                    to: tile.rect.left_center(),
                    checkpoint: *id,
                    path: path.clone(),
                    is_new: known.created_by() == *id,
                });
            }
        }
    }

    fn put_gone(&mut self, view: &StorageView<'_>, column: Rect) -> f32 {
        let mut top = column.top() + 24.0;
        for gone in view.run.gone_files().take(GONE) {
            let row = Rect::from_min_size(pos2(column.left(), top), vec2(column.width(), GONE_ROW));
            self.gone.push((row, gone.clone()));
            top = row.bottom();
        }
        if self.gone.is_empty() {
            return column.top();
        }
        let title = Rect::from_min_size(column.min, vec2(column.width(), 24.0));
        self.labels.push(Label::dim(title, "Deleted, latest first"));
        top
    }

    /// Paint it, and take clicks.
    pub fn ui(&self, ui: &mut Ui, view: &StorageView<'_>, commands: &mut Vec<UiCommand>) {
        let area = self.area.unwrap_or(Rect::NOTHING);
        ui.advance_cursor_after_rect(area);
        let pointed = self.interact(ui, view, commands);
        let focus = pointed.or(match view.selection {
            Selection::File(file) => Some(file.clone()),
            _ => None,
        });
        let theme = Theme::of(ui.ctx());
        self.paint_lines(ui, theme, focus.as_ref(), view);
        for card in &self.cards {
            paint_card(ui, theme, view, card);
        }
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
            let is_linked = focus
                .as_ref()
                .is_some_and(|focus| self.links(focus, tile, view));
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
                commands.push(UiCommand::Act(RunAction::LookInto(file.clone())));
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
                take(
                    header,
                    FileRef::Stored(card.title.clone()),
                    &card.title,
                    &words,
                );
            }
        }
        for tile in &self.tiles {
            take(tile.rect, tile.file.clone(), &tile.name, &tile.words);
        }
        pointed
    }

    /// Whether `tile` is what `focus` refers to, or the same file elsewhere.
    fn links(&self, focus: &FileRef, tile: &Tile, view: &StorageView<'_>) -> bool {
        match (focus, &tile.file) {
            (FileRef::Stored(focus), FileRef::Stored(path)) => {
                let folder = focus.split('/').next().unwrap_or_default();
                self.lines
                    .iter()
                    .any(|line| line.path == *path && folder == format!("chk-{}", line.checkpoint))
            }
            (local @ FileRef::Local { .. }, FileRef::Stored(path))
            | (FileRef::Stored(path), local @ FileRef::Local { .. }) => view
                .stored_path_of(local)
                .is_some_and(|stored| stored == path),
            (FileRef::Local { .. }, FileRef::Local { .. }) => false,
        }
    }

    fn paint_lines(&self, ui: &Ui, theme: &Theme, focus: Option<&FileRef>, view: &StorageView<'_>) {
        let focused = focus.and_then(|focus| match focus {
            FileRef::Stored(path) => Some(path.clone()),
            local => view.stored_path_of(local).map(str::to_owned),
        });
        for line in &self.lines {
            let is_meant = focused.as_ref().is_none_or(|path| {
                let folder = path.split('/').next().unwrap_or_default();
                *path == line.path || folder == format!("chk-{}", line.checkpoint)
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
                pos2(card.rect.right() - PADDING - 66.0, card.rect.top() + 7.0),
                vec2(66.0, 22.0),
            );
            let name = view.scene.plan.subtask_name(id);
            let text = RichText::new("Compact").font(medium(size::SECONDARY));
            let button = egui::Button::new(text).min_size(slot.size());
            let words = "Merge the files of this operator’s databases now. The merged file is new, so that the next \
                         checkpoint must upload all of it.";
            let response = ui.name_inputs(format!("Compact {name}"), |ui| ui.put(slot, button));
            if response
                .on_hover_text(RichText::new(words).font(regular(12.0)))
                .clicked()
            {
                let uid = view.scene.plan.subtask(id).uid.clone();
                let command = Command::Compact { uid };
                commands.push(UiCommand::Act(RunAction::Command(command)));
            }
        }
    }
}

fn paint_card(ui: &Ui, theme: &Theme, view: &StorageView<'_>, card: &Card) {
    let painter = ui.painter();
    let (is_dashed, accent) = match &card.kind {
        CardKind::Checkpoint {
            id,
            is_complete,
            damage,
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
    let header = Rect::from_min_max(
        card.rect.min + vec2(PADDING, 0.0),
        pos2(card.rect.right() - PADDING, card.rect.top() + HEADER),
    );
    let mut inner = header;
    if let CardKind::Checkpoint { id, .. } = &card.kind {
        let square = Rect::from_min_size(header.min + vec2(0.0, 7.0), vec2(20.0, 20.0));
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
        inner = inner.with_max_x(inner.right() - 74.0);
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

fn paint_gone(ui: &Ui, theme: &Theme, row: Rect, gone: &Gone) {
    let painter = ui.painter();
    let name = gone.file.path.replace("state-", "");
    let slot = row.with_max_x(row.left() + row.width() * 0.36);
    let used = text_in(
        painter,
        slot,
        Align::Min,
        &name,
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
    let words = gone.sentence();
    let room = rest.with_max_x(at.left() - 10.0);
    text_in(
        painter,
        room,
        Align::Min,
        &words,
        regular(size::SECONDARY),
        theme.text_soft,
    );
    let id = ui.scope_id().with(("gone", gone.position, &gone.file.path));
    let response = ui.interact(row, id, Sense::hover());
    let label = format!("{} deleted: {words}", gone.file.path);
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &label));
    response.on_hover_text(RichText::new(label.clone()).font(regular(12.0)));
}

/// `uploaded 1.3 KiB · needs 5.8 KiB`
fn checkpoint_detail(view: &StorageView<'_>, id: CheckpointId) -> String {
    let stored = &view.look.stored;
    if !stored.checkpoints.contains_key(&id) {
        let is_pending = view
            .scene
            .view
            .checkpoints
            .get(&id)
            .is_some_and(|checkpoint| checkpoint.status == CheckpointStatus::Pending);
        return if is_pending {
            "is being written"
        } else {
            "has no _metadata"
        }
        .to_owned();
    }
    let (uploaded, needed) = stored.sizes(id);
    format!("uploaded {} · needs {}", bytes(uploaded), bytes(needed))
}

/// `Uploaded by checkpoint 3; 4 and 5 refer to it, too.`
pub fn users_text(created_by: CheckpointId, users: &[CheckpointId]) -> String {
    let others: Vec<String> = users
        .iter()
        .filter(|id| **id != created_by)
        .map(ToString::to_string)
        .collect();
    match others.len() {
        0 => format!("Uploaded by checkpoint {created_by}."),
        1 => format!(
            "Uploaded by checkpoint {created_by}; {} refers to it.",
            others[0]
        ),
        _ => format!(
            "Uploaded by checkpoint {created_by}; {} refer to it.",
            super::super::super::figures::list(&others)
        ),
    }
}
