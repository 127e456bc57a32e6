//! The checkpoints' rows below the timeline's axis.

use egui::{Align2, Painter, Rangef, Rect, Role, Sense, Shape, Stroke, Ui, WidgetInfo, pos2, vec2};

use crate::model::CheckpointId;

use super::super::command::{Selection, UiCommand};
use super::super::figures::span;
use super::super::paint::{filled, paint_pin};
use super::super::theme::{Theme, regular, semibold};
use super::index::CheckpointBar;
use super::{Axis, TimelineView};

/// Scrolling so many points moves by one row.
const SCROLL_PER_ROW: f32 = 24.0;

/// One row per checkpoint, the latest in view until a person scrolls.
pub fn lanes_ui(
    ui: &Ui,
    painter: &Painter,
    area: Rect,
    axis: Axis,
    view: &TimelineView<'_>,
    commands: &mut Vec<UiCommand>,
) {
    let theme = Theme::of(ui.ctx());
    let pitch = if area.height() >= 84.0 { 28.0 } else { 22.0 };
    let room = ((area.height() - 4.0) / pitch).floor().max(1.0) as usize;
    let bars = &view.index.checkpoints;
    if bars.is_empty() {
        let at = pos2(axis.x.min, area.top() + 12.0);
        painter.text(
            at,
            Align2::LEFT_CENTER,
            "Each checkpoint gets a bar here.",
            regular(12.0),
            theme.dim,
        );
        return;
    }
    let window = Window {
        rows: bars.len(),
        room,
        below: scrolled(ui, area, bars.len(), room),
    };
    let shown = bars.iter().skip(window.first()).take(room);
    for (lane, (id, bar)) in shown.enumerate() {
        let y = area.top() + pitch * (lane as f32 + 0.5);
        let lane = Rect::from_x_y_ranges(area.x_range(), y - 11.0..=y + 11.0);
        lane_ui(ui, painter, (*id, bar), lane, axis, view, commands);
    }
    window.paint_thumb(painter, theme, area);
}

/// Which rows are in view.
#[derive(Clone, Copy)]
struct Window {
    rows: usize,
    room: usize,
    /// How many rows lie hidden below.
    below: usize,
}

impl Window {
    fn first(self) -> usize {
        self.rows.saturating_sub(self.room + self.below)
    }

    /// The part of a scroll bar that the thumb takes; none if all rows are in view.
    fn thumb(self) -> Option<(f32, f32)> {
        let share = |row: usize| row as f32 / self.rows as f32;
        (self.rows > self.room).then(|| (share(self.first()), share(self.first() + self.room)))
    }

    fn paint_thumb(self, painter: &Painter, theme: &Theme, area: Rect) {
        let Some((from, to)) = self.thumb() else {
            return;
        };
        let bar = Rect::from_min_max(
            pos2(area.right() - 12.0, area.top()),
            pos2(area.right() - 8.0, area.bottom() - 4.0),
        );
        let y = |share: f32| egui::lerp(bar.y_range(), share);
        let thumb = Rect::from_x_y_ranges(bar.x_range(), y(from)..=y(to));
        filled(painter, bar, 2.0, theme.inset);
        filled(painter, thumb, 2.0, theme.line_strong);
    }
}

/// How many rows the person has scrolled up from the latest one, with the wheel or by dragging the bar.
fn scrolled(ui: &Ui, area: Rect, rows: usize, room: usize) -> usize {
    let most = rows.saturating_sub(room) as f32;
    let id = ui.scope_id().with("lanes scrolled");
    let mut below: f32 = ui.data(|data| data.get_temp(id)).unwrap_or(0.0);
    if ui.rect_contains_pointer(area) {
        below += ui.input(|input| input.smooth_scroll_delta().y) / SCROLL_PER_ROW;
    }
    let bar = Rect::from_min_max(pos2(area.right() - 18.0, area.top()), area.max);
    if most > 0.0 {
        let response = ui.interact(bar, id, Sense::click_and_drag());
        let label = "Checkpoint rows";
        response.widget_info(|| WidgetInfo::labeled(Role::ScrollBar, true, label));
        if let Some(at) = response.interact_pointer_pos() {
            let share = (at.y - area.top()) / area.height().max(1.0);
            below = rows as f32 * (1.0 - share) - room as f32 / 2.0;
        }
    }
    below = below.clamp(0.0, most);
    ui.data_mut(|data| data.insert_temp(id, below));
    below.round() as usize
}

fn lane_ui(
    ui: &Ui,
    painter: &Painter,
    (id, bar): (CheckpointId, &CheckpointBar),
    lane: Rect,
    axis: Axis,
    view: &TimelineView<'_>,
    commands: &mut Vec<UiCommand>,
) {
    let theme = Theme::of(ui.ctx());
    let name = Rect::from_min_max(lane.min, pos2(axis.x.min - 14.0, lane.bottom()));
    let response = ui.interact(name, ui.scope_id().with(("lane", id)), Sense::click());
    let is_selected = *view.selection == Selection::Checkpoint(id);
    let color = if is_selected || response.hovered() {
        theme.text
    } else {
        theme.dim
    };
    let font = if is_selected {
        semibold(12.0)
    } else {
        regular(12.0)
    };
    let noun = if bar.is_savepoint {
        "savepoint"
    } else {
        "checkpoint"
    };
    painter.text(
        lane.left_center(),
        Align2::LEFT_CENTER,
        format!("{noun} {id}"),
        font,
        color,
    );
    let now = view.index.end_us.max(view.clock_us);
    let (y, fill) = (lane.center().y, theme.checkpoint(id));
    let phases = bar.phases(now);
    for (phase, from, to) in &phases {
        let (from, to) = (axis.x(*from), axis.x(*to).max(axis.x(*from) + 1.5));
        let rect = Rect::from_min_max(pos2(from, y - 6.0), pos2(to, y + 6.0));
        filled(
            painter,
            rect,
            2.0,
            theme.panel.lerp_to_gamma(fill, phase.strength()),
        );
    }
    if bar.is_aborted {
        let strike = Rangef::new(
            axis.x(bar.triggered_us) - 3.0,
            axis.x(bar.decided_us.unwrap_or(now)) + 3.0,
        );
        painter.hline(strike, y, Stroke::new(2.0, theme.error));
    }
    let tip = pos2(axis.x(bar.triggered_us) + 1.0, y + 7.0);
    let points = vec![tip, tip + vec2(4.0, 7.0), tip + vec2(-4.0, 7.0)];
    painter.add(Shape::convex_polygon(points, fill, Stroke::NONE));
    if let Some((_, _, to)) = phases.last().filter(|_| bar.is_savepoint) {
        paint_pin(painter, pos2(axis.x(*to) + 2.0, y - 6.0), theme);
    }
    let state = match bar.decided_us {
        None => "pending".to_owned(),
        Some(_) if bar.is_aborted => "aborted".to_owned(),
        Some(decided_us) => format!(
            "completed in {}",
            span(decided_us.saturating_sub(bar.triggered_us))
        ),
    };
    let label = format!("{noun} {id}, {state}");
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
    if response.clicked() {
        commands.push(UiCommand::Select(Selection::Checkpoint(id)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_rows_are_in_view_until_scrolled() {
        let window = |below| Window {
            rows: 10,
            room: 3,
            below,
        };
        assert_eq!(window(0).first(), 7);
        assert_eq!(window(7).first(), 0);
        assert_eq!(window(0).thumb(), Some((0.7, 1.0)));
        let all = Window {
            rows: 2,
            room: 3,
            below: 0,
        };
        assert_eq!((all.first(), all.thumb()), (0, None));
    }
}
