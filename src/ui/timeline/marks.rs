//! The moments worth a mark: failures, restores, the snapshot that the run began with, the end.

use egui::{
    Align2, Color32, Painter, Rangef, Rect, Role, Sense, Stroke, Ui, Vec2, WidgetInfo, pos2,
};

use crate::engine::plan::ExecutionGraph;
use crate::model::ClaimMode;

use super::super::figures::seconds;
use super::super::theme::{Theme, semibold, size};
use super::index::MarkKind;
use super::{ACTIVITY_HEIGHT, AXIS_HEIGHT, Axis, TimelineView};

/// Marks nearer to each other than this would hide each other.
const MARK_PITCH: f32 = 15.0;

/// Under the pointer, and for screen readers, each says what it is.
pub fn marks_ui(ui: &Ui, painter: &Painter, chart: Rect, axis: Axis, view: &TimelineView<'_>) {
    let theme = Theme::of(ui.ctx());
    let top = chart.top() + AXIS_HEIGHT - 8.0;
    let y = chart.top() + AXIS_HEIGHT + ACTIVITY_HEIGHT + 3.0;
    let shown = view
        .index
        .marks
        .iter()
        .filter_map(|mark| Some((mark, look(theme, &mark.kind)?)));
    let shown: Vec<_> = shown.collect();
    let places = spread(shown.iter().map(|(mark, _)| axis.x(mark.at_us)), MARK_PITCH);
    for (place, ((mark, (color, letter)), x)) in shown.into_iter().zip(places).enumerate() {
        let line = Stroke::new(1.0, color.gamma_multiply(0.6));
        painter.vline(axis.x(mark.at_us), Rangef::new(top, chart.bottom()), line);
        let center = pos2(x, y);
        painter.circle_filled(center, 8.0, theme.panel);
        painter.circle_filled(center, 6.5, color);
        let font = semibold(size::SMALLEST);
        painter.text(center, Align2::CENTER_CENTER, letter, font, theme.panel);
        let around = Rect::from_center_size(center, Vec2::splat(15.0));
        let id = ui.scope_id().with(("mark", place));
        let response = ui.interact(around, id, Sense::hover());
        let words = format!("{}: {}", seconds(mark.at_us), words(view.plan, &mark.kind));
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &words));
        response.on_hover_text(words);
    }
}

/// Colour and letter; none: it is drawn elsewhere.
fn look(theme: &Theme, kind: &MarkKind) -> Option<(Color32, &'static str)> {
    match kind {
        MarkKind::Crash(_) => Some((theme.error, "×")),
        MarkKind::Restore(_) => Some((theme.ok, "↑")),
        MarkKind::StartedFrom(..) => Some((theme.accent, "→")),
        MarkKind::Released(_) => Some((theme.dim, "−")),
        MarkKind::End => Some((theme.dim, "■")),
        MarkKind::Script { .. } => None,
    }
}

fn words(plan: &ExecutionGraph, kind: &MarkKind) -> String {
    match kind {
        MarkKind::Crash(id) => format!("{} failed", plan.subtask_name(*id)),
        MarkKind::Restore(Some(id)) => format!("restored from checkpoint {id}"),
        MarkKind::Restore(None) => "began again without a checkpoint".to_owned(),
        MarkKind::StartedFrom(id, ClaimMode::NoClaim) => {
            format!("started from snapshot {id} (no-claim: it stays yours)")
        }
        MarkKind::StartedFrom(id, ClaimMode::Claim) => {
            format!("started from snapshot {id} (claim: the run owns it)")
        }
        MarkKind::Released(id) => format!("snapshot {id} is not needed any more; it stays"),
        MarkKind::End => "the job has ended".to_owned(),
        MarkKind::Script { .. } => "the script".to_owned(),
    }
}

/// The places `xs`, in order, each moved right as little as keeps `pitch` from the one before.
fn spread(xs: impl Iterator<Item = f32>, pitch: f32) -> Vec<f32> {
    let mut least = f32::NEG_INFINITY;
    let place = |x: f32| {
        let place = x.max(least);
        least = place + pitch;
        place
    };
    xs.map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CheckpointId, SubtaskId};
    use crate::ui::fixture::two_sources;

    #[test]
    fn marks_at_one_time_stand_beside_each_other() {
        let places = spread([10.0, 10.0, 12.0, 90.0].into_iter(), 15.0);
        assert_eq!(places, [10.0, 25.0, 40.0, 90.0]);
    }

    #[test]
    fn every_mark_says_what_it_is() {
        let plan = two_sources().plan;
        assert_eq!(
            words(&plan, &MarkKind::Crash(SubtaskId(2))),
            "sum 1/2 failed"
        );
        let started = MarkKind::StartedFrom(CheckpointId(7), ClaimMode::Claim);
        assert!(words(&plan, &started).ends_with("(claim: the run owns it)"));
    }
}
