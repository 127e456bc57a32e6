//! Words on the edit canvas: why nothing happened, what the job is about, how to begin.

use std::time::Duration;

use egui::{Align2, Pos2, Rect, Role, Stroke, Ui, pos2, vec2};

use crate::model::validate::Site;
use crate::model::{JobGraph, Uid};

use super::super::paint::framed;
use super::super::theme::{medium, regular, semibold};
use super::edit::Frame;

/// How long it stays.
const SHOWN_S: f64 = 2.5;

pub struct Notice {
    words: &'static str,
    at: Pos2,
    since_s: f64,
}

impl Notice {
    #[must_use]
    pub fn new(ui: &Ui, words: &'static str, at: Pos2) -> Self {
        let since_s = ui.input(|input| input.time);
        Self { words, at, since_s }
    }

    /// Returns whether it is to be shown again.
    pub fn ui(&self, ui: &Ui, frame: &Frame<'_>) -> bool {
        let left_s = self.since_s + SHOWN_S - ui.input(|input| input.time);
        if left_s <= 0.0 {
            return false;
        }
        let theme = frame.theme;
        let words = self.words.to_owned();
        let galley = frame
            .painter
            .layout_no_wrap(words, medium(12.5), theme.text);
        let size = galley.size() + vec2(24.0, 14.0);
        let rect = Rect::from_min_size(self.at + vec2(14.0, 12.0), size);
        let line = Stroke::new(1.0, theme.line_strong);
        framed(&frame.painter, rect, 7.0, theme.inset, line);
        let corner = rect.min + vec2(12.0, 7.0);
        frame.painter.galley(corner, galley, theme.text);
        let id = ui.scope_id().with("notice");
        ui.ctx().accesskit_node_builder(id, |node| {
            node.set_role(Role::Alert);
            node.set_label(self.words);
        });
        ui.ctx()
            .request_repaint_after(Duration::from_secs_f64(left_s));
        true
    }
}

/// Why an edge cannot be drawn at all; other mistakes are shown where they are.
#[must_use]
pub fn refusal(job: &JobGraph, from: &Uid, to: &Uid) -> Option<&'static str> {
    let is_known = |edge: &crate::model::Edge| edge.from == *from && edge.to == *to;
    if from == to {
        Some("An operator cannot feed itself.")
    } else if job.edges.iter().any(is_known) {
        Some("They are connected already.")
    } else {
        None
    }
}

/// The job's note, or what is wrong with the job as a whole, at the bottom of the canvas.
pub fn note(frame: &Frame<'_>, area: Rect) {
    let whole = frame
        .document
        .problems()
        .iter()
        .find(|problem| matches!(problem.site, Site::Job | Site::Script(_)));
    let (text, color) = match whole {
        Some(problem) => (problem.message.as_str(), frame.theme.error),
        None => (frame.document.job().note.as_str(), frame.theme.text_soft),
    };
    if text.is_empty() {
        return;
    }
    let width = 560.0_f32.min(area.width() - 2.0 * 168.0).max(160.0);
    let galley = frame
        .painter
        .layout(text.to_owned(), regular(12.5), color, width);
    let size = galley.size() + vec2(32.0, 20.0);
    let center = pos2(area.center().x, area.bottom() - 16.0 - size.y / 2.0);
    let rect = Rect::from_center_size(center, size);
    framed(
        &frame.painter,
        rect,
        10.0,
        frame.theme.panel,
        Stroke::new(1.0, frame.theme.line),
    );
    frame
        .painter
        .galley(rect.min + vec2(16.0, 10.0), galley, color);
}

pub fn empty_hint(frame: &Frame<'_>, area: Rect) {
    let center = area.center();
    let title = center - vec2(0.0, 14.0);
    let align = Align2::CENTER_CENTER;
    frame.painter.text(
        title,
        align,
        "An empty canvas",
        semibold(14.5),
        frame.theme.text,
    );
    let hint =
        "Click or drag a source from the palette at the left, then a keyed sum, then a sink.";
    frame.painter.text(
        center + vec2(0.0, 10.0),
        align,
        hint,
        regular(13.0),
        frame.theme.dim,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::samples;

    #[test]
    fn edges_to_oneself_and_second_edges_are_refused_in_words() {
        let job = samples::odd_even();
        let edge = &job.edges[0];
        assert!(refusal(&job, &edge.from, &edge.from).is_some());
        assert!(refusal(&job, &edge.from, &edge.to).is_some());
        assert_eq!(refusal(&job, &edge.to, &edge.from), None);
    }
}
