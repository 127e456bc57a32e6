//! The JobManager's card above the graph: the checkpoint under way, and who has acknowledged it.

use egui::{Align, Align2, Color32, Rect, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use crate::engine::event::{AbortReason, JobStatus};
use crate::model::{CheckpointId, SubtaskId, Vertex};
use crate::recording::view::{CheckpointStatus, CheckpointView};

use super::super::command::{Selection, UiCommand};
use super::super::figures::{bytes, span};
use super::super::paint::{SquareKind, checkpoint_square, framed, text_in};
use super::super::scene::Scene;
use super::super::theme::{medium, regular, semibold};
use super::pen::Pen;

/// Whether there is room for a title line of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HudSize {
    Tall,
    Low,
}

impl HudSize {
    #[must_use]
    pub fn coordinator_height(self) -> f32 {
        match self {
            Self::Tall => 74.0,
            Self::Low => 42.0,
        }
    }

    #[must_use]
    pub fn shelf_height(self) -> f32 {
        match self {
            Self::Tall => 64.0,
            Self::Low => 46.0,
        }
    }
}

/// Draw the card centred at the top of `area`; returns its rectangle.
pub fn coordinator_ui(
    ui: &Ui,
    pen: &Pen<'_>,
    area: Rect,
    size: HudSize,
    commands: &mut Vec<UiCommand>,
) -> Rect {
    let groups = groups(pen.scene);
    // What cannot fit is folded into a count, and needs no room either.
    let ticks_width: f32 = groups.iter().map(|group| group.width(pen)).sum();
    let ticks_width = if ticks_width > area.width() - 300.0 {
        0.0
    } else {
        ticks_width
    };
    let title_width = if size == HudSize::Low { 100.0 } else { 0.0 };
    let width = (150.0 + title_width + ticks_width)
        .max(430.0)
        .min(area.width() - 32.0);
    let rect = Rect::from_center_size(
        pos2(
            area.center().x,
            area.top() + 16.0 + size.coordinator_height() / 2.0,
        ),
        vec2(width, size.coordinator_height()),
    );
    framed(
        pen.painter,
        rect,
        10.0,
        pen.theme.panel,
        Stroke::new(1.0, pen.theme.line),
    );
    let inner = rect.shrink2(vec2(18.0, 0.0));
    let mut row = inner;
    match size {
        HudSize::Tall => {
            let title = Rect::from_min_size(
                pos2(inner.left(), rect.top() + 12.0),
                vec2(inner.width(), 22.0),
            );
            text_in(
                pen.painter,
                title,
                Align::Min,
                "JobManager",
                semibold(13.5),
                pen.theme.text,
            );
            text_in(
                pen.painter,
                title,
                Align::Max,
                "CheckpointCoordinator",
                medium(11.5),
                pen.theme.dim,
            );
            row = Rect::from_min_max(
                pos2(inner.left(), rect.top() + 34.0),
                inner.max - vec2(0.0, 8.0),
            );
        }
        HudSize::Low => {
            let used = text_in(
                pen.painter,
                inner,
                Align::Min,
                "JobManager",
                semibold(13.0),
                pen.theme.text,
            );
            row.min.x = used.right() + 16.0;
        }
    }
    let shown = shown_checkpoint(pen.scene);
    state_row(pen, row, shown, &groups);
    interact(ui, rect, pen.scene, shown, commands);
    rect
}

/// The checkpoint that the headline is about: the one being restored; the pending one; else the one that a restore
/// would take, unless a newer one was given up for a reason of its own.
fn shown_checkpoint(scene: Scene<'_>) -> Option<&CheckpointView> {
    let of = |id: CheckpointId| scene.view.checkpoints.get(&id).map(AsRef::as_ref);
    match scene.view.job {
        JobStatus::Restoring { from } => return from.and_then(of),
        JobStatus::Restarting { .. } => return None,
        JobStatus::Running
        | JobStatus::Finished
        | JobStatus::Canceled
        | JobStatus::Failed { .. }
        | JobStatus::Suspended => {}
    }
    let newest = scene.checkpoints().next_back();
    let is_news = |newest: &&CheckpointView| match newest.status {
        CheckpointStatus::Aborted(reason) => reason != AbortReason::CoordinatorSuspend,
        CheckpointStatus::Pending | CheckpointStatus::Completed => false,
    };
    let latest = scene.view.store.last().copied().and_then(of);
    scene
        .pending()
        .or_else(|| newest.filter(is_news))
        .or(latest)
        .or(newest)
}

/// What the second line says.
#[must_use]
pub fn headline(scene: Scene<'_>, shown: Option<&CheckpointView>) -> String {
    match (&scene.view.job, shown) {
        (JobStatus::Restarting { cause }, _) => {
            let mut subtasks = scene.plan.subtasks.iter();
            let is_partial = subtasks.any(|subtask| scene.is_spared(subtask.id));
            let who = if is_partial { "region" } else { "job" };
            format!("{who} failed: {}", cause.trim_end_matches('.'))
        }
        (JobStatus::Restoring { from: Some(id) }, _) => format!("restoring checkpoint {id}"),
        (JobStatus::Restoring { from: None }, _) => "starting afresh".to_owned(),
        (JobStatus::Finished, _) => "job finished".to_owned(),
        (JobStatus::Canceled, _) => "job canceled".to_owned(),
        (JobStatus::Failed { .. }, _) => "job failed for good".to_owned(),
        (JobStatus::Suspended, _) => "job suspended".to_owned(),
        (JobStatus::Running, None) => "No checkpoint yet: press Checkpoint.".to_owned(),
        (JobStatus::Running, Some(checkpoint)) => status_text(scene, checkpoint),
    }
}

fn status_text(scene: Scene<'_>, checkpoint: &CheckpointView) -> String {
    match checkpoint.status {
        CheckpointStatus::Pending if scene.view.queued_triggers() > 0 => {
            format!("pending · {} queued", scene.view.queued_triggers())
        }
        CheckpointStatus::Pending => "pending".to_owned(),
        CheckpointStatus::Completed => {
            let is_turned_back = scene
                .checkpoints()
                .any(|other| other.id > checkpoint.id && other.retained);
            let word = if is_turned_back {
                "restored, now the latest"
            } else {
                "completed"
            };
            format!("{word} · {}", bytes(checkpoint.size_bytes()))
        }
        CheckpointStatus::Aborted(reason) => format!("aborted · {}", reason.sentence()),
    }
}

fn state_row(pen: &Pen<'_>, row: Rect, shown: Option<&CheckpointView>, groups: &[Group<'_>]) {
    let mut x = row.left();
    if let Some(checkpoint) = shown {
        let square = Rect::from_min_size(pos2(x, row.center().y - 12.0), vec2(26.0, 24.0));
        checkpoint_square(pen.painter, square, checkpoint, pen.theme);
        x = square.right() + 10.0;
    }
    let is_failed = matches!(pen.scene.view.job, JobStatus::Restarting { .. });
    let color = if is_failed {
        pen.theme.error
    } else {
        pen.theme.dim
    };
    let is_deciding =
        shown.is_some_and(|checkpoint| SquareKind::from(checkpoint) == SquareKind::Pending);
    let room = Rect::from_min_max(pos2(x, row.top()), row.max);
    if !is_deciding || is_failed {
        text_in(
            pen.painter,
            room,
            Align::Min,
            &headline(pen.scene, shown),
            regular(12.0),
            color,
        );
        return;
    }
    let used = text_in(
        pen.painter,
        room,
        Align::Min,
        &headline(pen.scene, shown),
        regular(12.0),
        color,
    );
    x = used.right() + 16.0;
    let Some(checkpoint) = shown else { return };
    let width: f32 = groups.iter().map(|group| group.width(pen)).sum();
    if x + width > row.right() + 12.0 {
        let acknowledged = format!(
            "{} of {} acknowledged",
            checkpoint.acknowledged(),
            checkpoint.subtasks.len()
        );
        let room = Rect::from_min_max(pos2(x, row.top()), row.max);
        let font = medium(12.0);
        text_in(
            pen.painter,
            room,
            Align::Min,
            &acknowledged,
            font,
            pen.theme.text,
        );
        return;
    }
    for group in groups {
        group.paint(pen, pos2(x, row.center().y), checkpoint);
        x += group.width(pen);
    }
}

/// The ticks of one operator.
struct Group<'a> {
    vertex: &'a Vertex,
    subtasks: Vec<SubtaskId>,
}

fn groups<'a>(scene: Scene<'a>) -> Vec<Group<'a>> {
    let group = |vertex: &'a Vertex| Group {
        vertex,
        subtasks: scene.plan.subtasks_of(&vertex.uid),
    };
    scene.job.vertices.iter().map(group).collect()
}

const TICK: f32 = 15.0;

impl Group<'_> {
    fn width(&self, pen: &Pen<'_>) -> f32 {
        let font = regular(11.5);
        let name = pen
            .painter
            .layout_no_wrap(self.vertex.name.clone(), font, Color32::PLACEHOLDER);
        TICK * self.subtasks.len() as f32 + name.size().x + 20.0
    }

    fn paint(&self, pen: &Pen<'_>, at: egui::Pos2, checkpoint: &CheckpointView) {
        let mut all = true;
        for (place, id) in self.subtasks.iter().enumerate() {
            let center = pos2(at.x + 6.0 + TICK * place as f32, at.y);
            let tick = Tick::of(checkpoint, *id);
            tick.paint(pen, center);
            all &= tick != Tick::Open;
        }
        let color = if all { pen.theme.text } else { pen.theme.dim };
        let x = at.x + TICK * self.subtasks.len() as f32 + 3.0;
        pen.text(
            pos2(x, at.y),
            Align2::LEFT_CENTER,
            &self.vertex.name,
            regular(11.5),
            color,
        );
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tick {
    Open,
    Acknowledged,
    Declined,
    /// Finished before the checkpoint: need not acknowledge.
    Excused,
}

impl Tick {
    fn of(checkpoint: &CheckpointView, id: SubtaskId) -> Self {
        match checkpoint.subtasks.get(&id) {
            None => Self::Excused,
            Some(snapshot) if snapshot.declined.is_some() => Self::Declined,
            Some(snapshot) if snapshot.acknowledged_us.is_some() => Self::Acknowledged,
            Some(_) => Self::Open,
        }
    }

    fn paint(self, pen: &Pen<'_>, center: egui::Pos2) {
        let theme = pen.theme;
        match self {
            Self::Open => {
                pen.painter
                    .circle_stroke(center, 5.5, Stroke::new(1.5, theme.line_strong));
            }
            Self::Acknowledged => {
                pen.painter.circle_filled(center, 6.0, theme.ok);
                let stroke = Stroke::new(1.5, theme.card);
                let elbow = center + vec2(-0.8, 2.4);
                pen.painter
                    .line_segment([center + vec2(-2.8, 0.2), elbow], stroke);
                pen.painter
                    .line_segment([elbow, center + vec2(3.0, -2.4)], stroke);
            }
            Self::Declined => {
                pen.painter.circle_filled(center, 6.0, theme.error);
                let stroke = Stroke::new(1.5, theme.card);
                pen.painter
                    .line_segment([center - vec2(2.3, 2.3), center + vec2(2.3, 2.3)], stroke);
                pen.painter
                    .line_segment([center + vec2(-2.3, 2.3), center + vec2(2.3, -2.3)], stroke);
            }
            Self::Excused => {
                pen.painter.line_segment(
                    [center - vec2(4.0, 0.0), center + vec2(4.0, 0.0)],
                    Stroke::new(2.0, theme.line_strong),
                );
            }
        }
    }
}

fn interact(
    ui: &Ui,
    rect: Rect,
    scene: Scene<'_>,
    shown: Option<&CheckpointView>,
    commands: &mut Vec<UiCommand>,
) {
    let response = ui.interact(rect, ui.scope_id().with("coordinator"), Sense::click());
    let label = match shown {
        Some(checkpoint) => format!(
            "JobManager: checkpoint {} {}, {} of {} acknowledged",
            checkpoint.id,
            headline(scene, shown),
            checkpoint.acknowledged(),
            checkpoint.subtasks.len(),
        ),
        None => format!("JobManager: {}", headline(scene, None)),
    };
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
    if let Some(checkpoint) = shown {
        if response.clicked() {
            commands.push(UiCommand::Select(Selection::Checkpoint(checkpoint.id)));
        }
        let age = span(scene.clock_us.saturating_sub(checkpoint.triggered_us));
        response.on_hover_text(format!(
            "Checkpoint {} was triggered {age} ago (modelled).",
            checkpoint.id
        ));
    }
}

/// `2 retained`
#[must_use]
pub fn retained_text(scene: Scene<'_>) -> String {
    let retained = scene
        .checkpoints()
        .filter(|checkpoint| checkpoint.retained)
        .count();
    match retained {
        0 if !scene.view.store.is_empty() => "the start’s snapshot".to_owned(),
        0 => "empty".to_owned(),
        n => format!("{n} retained"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::fixture::two_sources;

    #[test]
    fn the_badge_is_the_checkpoint_that_is_restored() {
        let mut moment = two_sources();
        let older = *moment.view.checkpoints.keys().next().unwrap();
        moment.view.job = JobStatus::Restoring { from: Some(older) };
        let shown = shown_checkpoint(moment.scene());
        assert_eq!(shown.map(|checkpoint| checkpoint.id), Some(older));
        assert_eq!(
            headline(moment.scene(), shown),
            format!("restoring checkpoint {older}")
        );
    }

    #[test]
    fn a_failed_job_shows_no_badge() {
        let mut moment = two_sources();
        let cause = "sum 1/2 crashed".to_owned();
        moment.view.job = JobStatus::Restarting { cause };
        assert!(shown_checkpoint(moment.scene()).is_none());
    }
}
