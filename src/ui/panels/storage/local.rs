//! The left column: what each keyed subtask has in memory and on its machine's disk.

use egui::{Rect, pos2, vec2};

use crate::engine::plan::SubtaskPlan;
use crate::engine::state::{LocalState, TableFile};
use crate::engine::storage::shared_path;
use crate::model::SubtaskId;
use crate::run::xray::FileRef;

use super::super::super::figures::{bytes, count};
use super::super::super::theme::Theme;
use super::StorageView;
use super::picture::{Card, CardKind, HEADER, Label, PADDING, Picture};
use super::tile::{GAP, HEIGHT, Kind, Tile};

const LABELS: f32 = 66.0;
/// As wide as `000012` and a size.
const TABLE: f32 = 120.0;

impl Picture {
    /// The cards of the working state, one below the other. Returns where they end.
    pub(super) fn put_local(&mut self, view: &StorageView<'_>, column: Rect, theme: &Theme) -> f32 {
        let mut top = column.top();
        for look in &view.look.local {
            let card = column.with_min_y(top);
            let bottom = match &look.state {
                Ok(state) => self.put_state((look.subtask, state), card, theme),
                Err(error) => {
                    let row = Rect::from_min_size(
                        card.min + vec2(PADDING, HEADER),
                        vec2(card.width() - 2.0 * PADDING, HEIGHT),
                    );
                    self.labels.push(Label::error(row, error));
                    row.bottom()
                }
            };
            let rect = card.with_max_y(bottom + PADDING);
            self.cards.push(Card {
                rect,
                title: title(view, look.subtask),
                detail: look.state.as_ref().map(detail).unwrap_or_default(),
                kind: CardKind::Subtask {
                    id: look.subtask,
                    has_files: look
                        .state
                        .as_ref()
                        .is_ok_and(|state| !state.tables.is_empty()),
                },
            });
            top = rect.bottom() + 10.0;
        }
        if view.look.local.is_empty() {
            let row = Rect::from_min_size(column.min, vec2(column.width(), HEIGHT));
            let is_keyed = |subtask: &SubtaskPlan| subtask.operator.is_keyed();
            let words = if view.scene.plan.subtasks.iter().any(is_keyed) {
                "No keyed subtask is up."
            } else {
                "This job keeps no keyed state."
            };
            self.labels.push(Label::dim(row, words));
            top = row.bottom();
        }
        top
    }

    /// Returns where the last row ends.
    fn put_state(
        &mut self,
        (subtask, state): (SubtaskId, &LocalState),
        card: Rect,
        theme: &Theme,
    ) -> f32 {
        let mut rows = Rows {
            left: card.left() + PADDING,
            right: card.right() - PADDING,
            top: card.top() + HEADER,
        };
        let all = FileRef::Local {
            subtask,
            table: None,
        };
        let Some(memtable) = state.memtable else {
            let rect = rows.next_row("in memory", self);
            self.tiles.push(Tile {
                rect,
                file: all,
                name: "hash maps".to_owned(),
                size_bytes: state.size_bytes,
                stripe: None,
                kind: Kind::Logical,
                uploaded_as: None,
                words: "Working state on the heap: hash maps, by key group. Click to see what is in them."
                    .to_owned(),
            });
            return rect.bottom();
        };
        let rect = rows.next_row("memtable", self);
        self.tiles.push(Tile {
            rect,
            file: all,
            name: entries(memtable.entries),
            size_bytes: memtable.size_bytes,
            stripe: None,
            kind: Kind::Memory,
            uploaded_as: None,
            words: "What RocksDB has in memory and in no file yet (with its overhead). The next snapshot, or a full \
                    memtable, writes it out as a new file. Click to see all the working state."
                .to_owned(),
        });
        let mut bottom = rect.bottom();
        if let Some(timers) = state.timers {
            let row = rows.next_row("timers", self);
            let words =
                format!("{timers} on the heap, copied in the synchronous part of a snapshot");
            self.labels.push(Label::dim(row, &words));
            bottom = row.bottom();
        }
        let mut levels: Vec<u32> = state.tables.iter().map(|table| table.level).collect();
        levels.sort_unstable();
        levels.dedup();
        for level in levels {
            let tables = state.tables.iter().filter(|table| table.level == level);
            let mut row = rows.next_row(&format!("level {level}"), self);
            let start = row.left();
            let mut x = start;
            for table in tables {
                if x + TABLE > rows.right + 0.5 {
                    row = rows.next_row("", self);
                    x = start;
                }
                let rect = Rect::from_min_size(pos2(x, row.top()), vec2(TABLE, HEIGHT));
                let tile = table_tile((subtask, state, table), rect, theme);
                self.tiles.push(tile);
                x += TABLE + GAP;
            }
            bottom = row.bottom();
        }
        bottom
    }
}

/// Rows of tiles below each other, each with its label.
struct Rows {
    left: f32,
    right: f32,
    top: f32,
}

impl Rows {
    fn next_row(&mut self, label: &str, picture: &mut Picture) -> Rect {
        let row = Rect::from_min_max(
            pos2(self.left, self.top),
            pos2(self.right, self.top + HEIGHT),
        );
        if !label.is_empty() {
            let slot = row.with_max_x(self.left + LABELS - GAP);
            picture.labels.push(Label::dim(slot, label));
        }
        self.top = row.bottom() + GAP;
        row.with_min_x(self.left + LABELS)
    }
}

fn table_tile(
    (subtask, state, table): (SubtaskId, &LocalState, &TableFile),
    rect: Rect,
    theme: &Theme,
) -> Tile {
    let uploaded = state.upload_of(&table.name);
    let range = table.range().map(|[first, last]| {
        format!(
            "key group {} key {} to key group {} key {}",
            first.0, first.1, last.0, last.1
        )
    });
    let told = match uploaded {
        Some(file) if file.stream.shared_name().is_some() => {
            format!("Checkpoint {} has uploaded it.", file.created_by)
        }
        Some(_) => "It is so small that it lies inside the _metadata.".to_owned(),
        None => "No checkpoint that is known to be complete has it.".to_owned(),
    };
    Tile {
        rect,
        file: FileRef::Local {
            subtask,
            table: Some(table.name.clone()),
        },
        name: table.name.trim_end_matches(".sst").to_owned(),
        size_bytes: table.size_bytes,
        stripe: uploaded.map(|file| theme.checkpoint(file.created_by)),
        kind: Kind::File,
        uploaded_as: uploaded
            .and_then(|file| file.stream.shared_name())
            .map(shared_path),
        words: format!(
            "{}: {}, {}. {} {told}",
            table.name,
            bytes(table.size_bytes),
            entries(table.entries),
            range.map_or_else(String::new, |range| format!("From {range}.")),
        ),
    }
}

fn title(view: &StorageView<'_>, subtask: SubtaskId) -> String {
    view.scene.plan.subtask_name(subtask)
}

fn detail(state: &LocalState) -> String {
    if state.memtable.is_none() {
        return "heap".to_owned();
    }
    let files: u64 = state.tables.iter().map(|table| table.size_bytes).sum();
    let number = count(state.tables.len() as u64, "file");
    format!("RocksDB · {number} · {}", bytes(files))
}

fn entries(number: u64) -> String {
    match number {
        1 => "1 entry".to_owned(),
        _ => format!("{number} entries"),
    }
}
