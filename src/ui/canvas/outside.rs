//! The system outside the job, beside each two-phase commit sink: transactions that nobody sees yet, and how much is
//! visible. A commit moves a transaction from the one to the other.

use egui::{Align, Color32, Rect, Role, Stroke, Ui, pos2, vec2};

use crate::model::{OperatorSpec, SinkKind, SubtaskId};
use crate::recording::sink_view::{EndedTransaction, SinkView, TransactionView};

use super::super::figures::count;
use super::super::paint::{dashed_frame, filled, framed, text_in};
use super::super::theme::{medium, regular, semibold};
use super::pen::{Pen, font_size};

/// What the outside takes at the right of a card, in world points.
pub const REACH: f32 = GAP + WIDTH;
const GAP: f32 = 14.0;
const WIDTH: f32 = 136.0;
const ROW: f32 = 22.0;
/// A card lower than this gives each box half of its height.
const LOW: f32 = 84.0;
/// Points on the screen: two boxes on top of each other would not hold their words.
const FLAT: f32 = 34.0;
/// How long the end of a transaction is seen, in virtual time.
const END_US: u64 = 500_000;

/// Whether `operator` writes into transactions.
#[must_use]
pub fn is_transactional(operator: &OperatorSpec) -> bool {
    matches!(
        operator,
        OperatorSpec::Sink(spec) if matches!(spec.kind, SinkKind::TwoPhaseCommit { .. })
    )
}

/// Where the two boxes are, in screen space.
struct Boxes {
    /// What nobody sees yet.
    hidden: Rect,
    visible: Rect,
    /// There is room for one transaction and no caption.
    is_low: bool,
}

impl Boxes {
    /// In `area`, at zoom `z`: on top of each other (a low card gives each half of its height), or, where that is too
    /// low for words, side by side.
    fn of(area: Rect, z: f32) -> Self {
        if area.height() < FLAT {
            let split = area.left() + area.width() * 0.62;
            return Self {
                hidden: Rect::from_min_max(area.min, pos2(split - 4.0 * z, area.bottom())),
                visible: Rect::from_min_max(pos2(split, area.top()), area.max),
                is_low: true,
            };
        }
        let is_low = area.height() < LOW * z;
        let (height, gap) = if is_low {
            (area.height() * 0.5 - 2.0 * z, 4.0 * z)
        } else {
            (30.0 * z, 6.0 * z)
        };
        let visible = Rect::from_min_max(pos2(area.left(), area.bottom() - height), area.max);
        let hidden = Rect::from_min_max(area.min, pos2(area.right(), visible.top() - gap));
        Self {
            hidden,
            visible,
            is_low,
        }
    }
}

/// Draw what is outside of sink `id`, whose card is `card` (world).
pub fn outside_ui(ui: &Ui, pen: &Pen<'_>, id: SubtaskId, card: Rect) {
    let sink = &pen.scene.subtask(id).sink;
    let z = pen.zoom();
    let area = Rect::from_min_max(
        pos2(card.right() + GAP, card.top()),
        pos2(card.right() + REACH, card.bottom()),
    );
    let area = pen.rect(area);
    let boxes = Boxes::of(area, z);
    let Boxes {
        hidden, visible, ..
    } = boxes;
    arrow(
        pen,
        pos2(pen.rect(card).right(), hidden.center().y),
        area.left(),
    );
    let theme = pen.theme;
    if boxes.is_low {
        one_line(pen, hidden, sink);
    } else {
        dashed_frame(
            pen.painter,
            hidden,
            6.0 * z,
            Stroke::new(1.0, theme.line_strong),
        );
        words(pen, row(hidden, 0.0, z), "not visible yet", theme.dim);
        transactions(pen, hidden, sink);
    }
    framed(
        pen.painter,
        visible,
        6.0 * z,
        theme.card,
        Stroke::new(1.5, theme.ok),
    );
    let inner = visible.shrink2(vec2(9.0 * z, 0.0));
    if visible.width() > 60.0 {
        words(pen, inner, "visible", theme.text_soft);
    }
    if let Some(size) = font_size(if boxes.is_low { 11.5 } else { 13.5 }, z) {
        let figure = sink.visible.to_string();
        text_in(
            pen.painter,
            inner,
            Align::Max,
            &figure,
            semibold(size),
            theme.text,
        );
    }
    if let Some(end) = sink.last_end {
        ending(pen, &boxes, end);
    }
    describe(ui, pen, id, area);
}

/// The newest transaction alone, and how many there are besides.
fn one_line(pen: &Pen<'_>, hidden: Rect, sink: &SinkView) {
    let z = pen.zoom();
    // A chip is a little larger than its slot.
    let slot = hidden.shrink2(vec2(4.0 * z, 1.0));
    match &sink.uncommitted[..] {
        [] => {
            let stroke = Stroke::new(1.0, pen.theme.line_strong);
            dashed_frame(pen.painter, hidden, 4.0 * z, stroke);
            let slot = hidden.shrink2(vec2(9.0 * z, 0.0));
            words(pen, slot, "nothing hidden", pen.theme.dim);
        }
        [only] => chip(pen, slot, only, ""),
        [.., newest] => {
            let more = format!(" + {} more", sink.uncommitted.len() - 1);
            chip(pen, slot, newest, &more);
        }
    }
}

fn arrow(pen: &Pen<'_>, from: egui::Pos2, to: f32) {
    let stroke = Stroke::new(1.5, pen.theme.line_strong);
    pen.painter.hline(from.x..=to, from.y, stroke);
}

/// The `place`-th line of the upper part.
fn row(hidden: Rect, place: f32, z: f32) -> Rect {
    let top = hidden.top() + (5.0 + ROW * place) * z;
    Rect::from_min_max(
        pos2(hidden.left() + 9.0 * z, top),
        pos2(hidden.right() - 9.0 * z, top + 18.0 * z),
    )
}

fn words(pen: &Pen<'_>, slot: Rect, text: &str, color: Color32) {
    if let Some(size) = font_size(11.5, pen.zoom()) {
        text_in(pen.painter, slot, Align::Min, text, regular(size), color);
    }
}

/// Newest first: the open one is where records go.
fn transactions(pen: &Pen<'_>, hidden: Rect, sink: &SinkView) {
    let z = pen.zoom();
    let room = ((hidden.height() / z - 28.0) / ROW).floor().max(1.0) as usize;
    let all = sink.uncommitted.len();
    let shown = if all > room { room - 1 } else { all };
    for (place, transaction) in sink.uncommitted.iter().rev().take(shown).enumerate() {
        chip(pen, row(hidden, 1.0 + place as f32, z), transaction, "");
    }
    if all > shown {
        let more = format!("and {} more", all - shown);
        words(
            pen,
            row(hidden, 1.0 + shown as f32, z),
            &more,
            pen.theme.dim,
        );
    }
}

fn chip(pen: &Pen<'_>, slot: Rect, transaction: &TransactionView, more: &str) {
    let z = pen.zoom();
    let theme = pen.theme;
    let rect = slot.expand2(vec2(4.0 * z, 1.0));
    let slot = slot.shrink2(vec2(3.0 * z, 0.0));
    match transaction.pre_committed {
        Some(checkpoint) => {
            let color = theme.checkpoint(checkpoint);
            framed(pen.painter, rect, 4.0, theme.card, Stroke::new(1.5, color));
        }
        None => dashed_frame(pen.painter, rect, 4.0, Stroke::new(1.0, theme.dim)),
    }
    let Some(size) = font_size(11.5, z) else {
        return;
    };
    let state = match transaction.pre_committed {
        Some(checkpoint) => format!("{} · with {checkpoint}{more}", transaction.id),
        None => format!("{} · open{more}", transaction.id),
    };
    let records = transaction.records.len().to_string();
    let used = text_in(
        pen.painter,
        slot,
        Align::Max,
        &records,
        semibold(size),
        theme.text,
    );
    let room = Rect::from_min_max(slot.min, pos2(used.left() - 4.0, slot.bottom()));
    text_in(
        pen.painter,
        room,
        Align::Min,
        &state,
        medium(size),
        theme.text_soft,
    );
}

/// A commit goes down to what is visible; an abort is struck out where it was.
fn ending(pen: &Pen<'_>, boxes: &Boxes, end: EndedTransaction) {
    let age_us = pen.scene.clock_us.saturating_sub(end.at_us);
    if age_us >= END_US {
        return;
    }
    let z = pen.zoom();
    let share = age_us as f32 / END_US as f32;
    let Boxes {
        hidden, visible, ..
    } = *boxes;
    let from = Rect::from_center_size(
        pos2(hidden.center().x, hidden.bottom() - 12.0 * z),
        vec2(hidden.width() - 14.0 * z, 20.0 * z),
    );
    let from = if boxes.is_low { hidden } else { from };
    let (rect, color) = match end.aborted {
        Some(_) => (from, pen.theme.error),
        None if pen.reduced_motion => (
            from.translate(visible.center() - from.center()),
            pen.theme.ok,
        ),
        None => (
            from.translate((visible.center() - from.center()) * share),
            pen.theme.ok,
        ),
    };
    filled(pen.painter, rect, 4.0, pen.theme.card);
    framed(
        pen.painter,
        rect,
        4.0,
        Color32::TRANSPARENT,
        Stroke::new(2.0, color),
    );
    let what = match end.aborted {
        Some(_) => format!("{} aborted · {}", end.id, end.records),
        None => format!("{} commits {}", end.id, end.records),
    };
    if let Some(size) = font_size(11.5, z) {
        let inner = rect.shrink2(vec2(6.0 * z, 0.0));
        text_in(
            pen.painter,
            inner,
            Align::Center,
            &what,
            medium(size),
            pen.theme.text,
        );
    }
    if end.aborted.is_some() {
        pen.painter
            .hline(rect.x_range(), rect.center().y, Stroke::new(1.5, color));
    }
}

fn describe(ui: &Ui, pen: &Pen<'_>, id: SubtaskId, area: Rect) {
    let label = outside_label(
        &pen.scene.plan.subtask_name(id),
        &pen.scene.subtask(id).sink,
    );
    let node = ui.scope_id().with(("outside", id));
    ui.ctx().accesskit_node_builder(node, |node| {
        node.set_role(Role::Image);
        node.set_label(label);
        node.set_bounds(egui::accesskit::Rect {
            x0: area.min.x.into(),
            y0: area.min.y.into(),
            x1: area.max.x.into(),
            y1: area.max.y.into(),
        });
    });
}

/// `outside of sink 1/1: 20 records visible, tx3 open with 4 records`
#[must_use]
pub fn outside_label(name: &str, sink: &SinkView) -> String {
    let mut parts = vec![format!("{} visible", count(sink.visible, "record"))];
    parts.extend(sink.uncommitted.iter().map(|transaction| {
        let records = count(transaction.records.len() as u64, "record");
        match transaction.pre_committed {
            Some(checkpoint) => {
                format!(
                    "{} pre-committed for {checkpoint} with {records}",
                    transaction.id
                )
            }
            None => format!("{} open with {records}", transaction.id),
        }
    }));
    format!("outside of {name}: {}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CheckpointId, TransactionId};

    #[test]
    fn both_boxes_lie_in_their_area_at_every_height_and_do_not_touch() {
        for height in [36.0, 48.0, 64.0, 96.0, 152.0] {
            for z in [0.7, 1.0, 2.0] {
                let area = Rect::from_min_size(pos2(10.0, 10.0), vec2(136.0, height) * z);
                let Boxes {
                    hidden, visible, ..
                } = Boxes::of(area, z);
                assert!(area.contains_rect(hidden) && area.contains_rect(visible));
                assert!(!hidden.intersects(visible));
                assert!(hidden.height() >= 15.0, "{height}: {hidden:?}");
                assert!(visible.height() >= 15.0, "{height}: {visible:?}");
            }
        }
    }

    #[test]
    fn what_readers_see_is_told_from_what_they_do_not_see_yet() {
        let transaction = |number, pre_committed| TransactionView {
            id: TransactionId {
                subtask: SubtaskId(4),
                number,
            },
            begun_us: 0,
            timeout_us: 1,
            pre_committed,
            records: Vec::new(),
        };
        let sink = SinkView {
            uncommitted: vec![transaction(2, Some(CheckpointId(1))), transaction(3, None)],
            visible: 20,
            ..SinkView::default()
        };
        assert_eq!(
            outside_label("sink 1/1", &sink),
            "outside of sink 1/1: 20 records visible, tx2 pre-committed for 1 with 0 records, tx3 open with 0 records"
        );
    }
}
