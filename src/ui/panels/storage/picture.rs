//! The whole picture: cards and tiles in their places, and the lines from checkpoints to the files they refer to.

use egui::{Pos2, Rect, pos2, vec2};

use crate::model::{CheckpointId, SubtaskId};
use crate::recording::view::CheckpointStatus;
use crate::run::xray::FileRef;

use super::super::super::figures::bytes;
use super::super::super::theme::Theme;
use super::StorageView;
use super::files::{FileIndex, is_shared, tile_name};
use super::gone::GoneRow;
use super::tile::{GAP, HEIGHT, Kind, Tile};

pub const HEADER: f32 = 36.0;
pub const PADDING: f32 = 10.0;
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
        /// What it has uploaded anew, and what a restore needs, in bytes.
        sizes: (u64, u64),
    },
    Shared,
}

/// Small print in a slot.
pub struct Label {
    pub rect: Rect,
    pub text: String,
    pub is_error: bool,
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
pub struct Line {
    pub from: Pos2,
    pub to: Pos2,
    pub checkpoint: CheckpointId,
    pub path: String,
    /// The checkpoint has uploaded it.
    pub is_new: bool,
}

#[derive(Default)]
pub struct Picture {
    pub cards: Vec<Card>,
    pub tiles: Vec<Tile>,
    pub labels: Vec<Label>,
    pub lines: Vec<Line>,
    pub gone: Vec<(Rect, GoneRow)>,
    /// All of it; none: it has no place.
    pub area: Option<Rect>,
}

impl Picture {
    #[must_use]
    pub fn of(view: &StorageView<'_>, area: Rect) -> Self {
        let theme = view.theme();
        let index = FileIndex::of(&view.look.stored);
        let columns = Columns::of(area);
        let mut picture = Self::default();
        let local = Columns::rect(columns.local, area.top());
        let mut bottom = picture.put_local(view, local, theme);
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
        let mut folders = stored.folders();
        folders.extend(view.lost());
        folders.sort_unstable();
        folders.dedup();
        if folders.is_empty() {
            let row = Rect::from_min_size(pos2(column.left(), top), vec2(column.width(), HEIGHT));
            self.labels.push(Label::dim(row, empty_words(view)));
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
        let is_lost = view.lost().contains(&id);
        let damage = if is_lost {
            Some(format!("chk-{id}/_metadata is missing."))
        } else {
            stored.damage(id)
        };
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
                kind: if known.is_some_and(|it| it.reference.size_bytes != file.size_bytes) {
                    Kind::Torn
                } else {
                    Kind::File
                },
                uploaded_as: None,
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
                sizes: stored.sizes(id),
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
        let present = stored.files.iter().filter(|file| is_shared(&file.path));
        let is_whole = |path: &str, size_bytes: u64| {
            let known = index.get(path);
            known.is_none_or(|known| known.reference.size_bytes == size_bytes)
        };
        let mut files: Vec<(&str, Option<u64>)> = present
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
                Some(known) => known.words(),
                None => "No completed checkpoint refers to it (yet).".to_owned(),
            };
            self.tiles.push(Tile {
                rect,
                file: FileRef::Stored((*path).to_owned()),
                name: tile_name(view.scene, path, known),
                size_bytes: size_bytes.unwrap_or(0),
                stripe: known.map(|known| theme.checkpoint(known.created_by())),
                kind: match size_bytes {
                    None => Kind::Missing,
                    Some(size_bytes) if !is_whole(path, *size_bytes) => Kind::Torn,
                    Some(_) => Kind::File,
                },
                uploaded_as: None,
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
                let known = index.get(path).filter(|_| is_shared(path));
                let Some(is_new) = known.and_then(|known| known.is_new_in(*id)) else {
                    continue;
                };
                self.lines.push(Line {
                    from: pos2(card.rect.right(), card.rect.top() + HEADER / 2.0),
                    to: tile.rect.left_center(),
                    checkpoint: *id,
                    path: path.clone(),
                    is_new,
                });
            }
        }
    }
}

fn empty_words(view: &StorageView<'_>) -> &'static str {
    if view.scene.view.checkpoints.is_empty() {
        "No checkpoint yet. Press Checkpoint (C) to take one."
    } else {
        "No checkpoint is kept."
    }
}

/// `uploaded 1.3 KiB · needs 5.8 KiB`
fn checkpoint_detail(view: &StorageView<'_>, id: CheckpointId) -> String {
    let stored = &view.look.stored;
    if view.lost().contains(&id) {
        return "the job still counts on it".to_owned();
    }
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
