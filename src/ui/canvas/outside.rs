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

/// Draw what is outside of sink `id`, whose card is `card` (world).
pub fn outside_ui(ui: &Ui, pen: &Pen<'_>, id: SubtaskId, card: Rect) {
    let sink = &pen.scene.subtask(id).sink;
    let z = pen.zoom();
    let area = Rect::from_min_max(
        pos2(card.right() + GAP, card.top()),
        pos2(card.right() + REACH, card.bottom()),
    );
    let area = pen.rect(area);
    let visible = Rect::from_min_max(pos2(area.left(), area.bottom() - 30.0 * z), area.max);
    let hidden = Rect::from_min_max(area.min, pos2(area.right(), visible.top() - 6.0 * z));
    arrow(
        pen,
        pos2(pen.rect(card).right(), hidden.center().y),
        area.left(),
    );
    let theme = pen.theme;
    dashed_frame(
        pen.painter,
        hidden,
        6.0 * z,
        Stroke::new(1.0, theme.line_strong),
    );
    words(pen, row(hidden, 0.0, z), "not visible yet", theme.dim);
    transactions(pen, hidden, sink);
    framed(
        pen.painter,
        visible,
        6.0 * z,
        theme.card,
        Stroke::new(1.5, theme.ok),
    );
    let inner = visible.shrink2(vec2(9.0 * z, 0.0));
    words(pen, inner, "visible", theme.text_soft);
    if let Some(size) = font_size(13.5, z) {
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
        ending(pen, (hidden, visible), end);
    }
    describe(ui, pen, id, area);
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
        chip(pen, row(hidden, 1.0 + place as f32, z), transaction);
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

fn chip(pen: &Pen<'_>, slot: Rect, transaction: &TransactionView) {
    let z = pen.zoom();
    let theme = pen.theme;
    let rect = slot.expand2(vec2(4.0 * z, 1.0));
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
        Some(checkpoint) => format!("{} · with {checkpoint}", transaction.id),
        None => format!("{} · open", transaction.id),
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
fn ending(pen: &Pen<'_>, (hidden, visible): (Rect, Rect), end: EndedTransaction) {
    let age_us = pen.scene.clock_us.saturating_sub(end.at_us);
    if age_us >= END_US {
        return;
    }
    let z = pen.zoom();
    let share = age_us as f32 / END_US as f32;
    let from = Rect::from_center_size(
        pos2(hidden.center().x, hidden.bottom() - 12.0 * z),
        vec2(hidden.width() - 14.0 * z, 20.0 * z),
    );
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
