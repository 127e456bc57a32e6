//! Below the files that are there: those that are gone, and why.

use egui::{Rect, pos2, vec2};

use crate::run::xray::Gone;

use super::StorageView;
use super::files::is_shared;
use super::picture::{Label, Picture};

/// Rows of deleted files that are told.
const GONE: usize = 12;
const GONE_ROW: f32 = 20.0;

/// A deleted file, or several that went together for the same reason.
pub struct GoneRow {
    pub name: String,
    pub why: String,
    pub position: usize,
    pub at_us: u64,
}

impl Picture {
    /// The rows of deleted files. Returns where they end.
    pub(super) fn put_gone(&mut self, view: &StorageView<'_>, column: Rect) -> f32 {
        let mut top = column.top() + 24.0;
        for gone in gone_rows(view.run.gone_files()) {
            let row = Rect::from_min_size(pos2(column.left(), top), vec2(column.width(), GONE_ROW));
            top = row.bottom();
            self.gone.push((row, gone));
        }
        if self.gone.is_empty() {
            return column.top();
        }
        let title = Rect::from_min_size(column.min, vec2(column.width(), 24.0));
        self.labels.push(Label::dim(title, "Deleted, latest first"));
        top
    }
}

/// A folder that went as a whole is one row.
fn gone_rows<'a>(gone: impl Iterator<Item = &'a Gone>) -> Vec<GoneRow> {
    let folder = |gone: &Gone| {
        gone.file
            .path
            .split('/')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let mut rows: Vec<(&Gone, usize)> = Vec::new();
    for gone in gone {
        let is_same = |last: &Gone| {
            !is_shared(&gone.file.path)
                && (folder(last), last.why, last.position)
                    == (folder(gone), gone.why, gone.position)
        };
        if let Some((_, count)) = rows.last_mut().filter(|(last, _)| is_same(last)) {
            *count += 1;
        } else if rows.len() == GONE {
            break;
        } else {
            rows.push((gone, 1));
        }
    }
    let row = |(gone, count): (&Gone, usize)| GoneRow {
        name: match count {
            1 => gone.file.path.replace("state-", ""),
            _ => format!("{} · {count} files", folder(gone)),
        },
        why: gone.sentence(),
        position: gone.position,
        at_us: gone.at_us,
    };
    rows.into_iter().map(row).collect()
}
