//! The timeline: activity, one bar per checkpoint, marks, and the cursor that a person drags.

pub mod index;
mod lanes;
mod marks;

use egui::{
    Align2, CursorIcon, Painter, Rangef, Rect, Response, Role, Sense, Shape, Stroke, Ui,
    WidgetInfo, pos2, vec2,
};

use crate::engine::plan::ExecutionGraph;
use crate::model::{Command, JobGraph, When};
use crate::run::RunAction;

use super::command::{Selection, UiCommand};
use super::figures::seconds;
use super::paint::{elided, filled};
use super::phrases::{command_words, when_words};
use super::theme::{Theme, medium, regular, semibold, size};
use index::{Mark, MarkKind, Phase, TimelineIndex};
use lanes::lanes_ui;
use marks::marks_ui;

/// Room for the lanes' names at the left of the axis.
const NAMES: f32 = 110.0;
const AXIS_HEIGHT: f32 = 26.0;
const ACTIVITY_HEIGHT: f32 = 24.0;
/// Half the width that the cursor's handle takes from the labels above it.
const CURSOR_ROOM: f32 = 24.0;
/// The room for a label at the end of the axis.
const END_LABEL: f32 = 56.0;
/// The time axis is never shorter than this.
const MIN_SPAN_US: u64 = 1_000_000;

/// Where the timeline looks, and the cursor.
pub struct TimelineView<'a> {
    pub job: &'a JobGraph,
    pub plan: &'a ExecutionGraph,
    pub index: &'a TimelineIndex,
    pub clock_us: u64,
    /// How many events lie before the cursor.
    pub position: usize,
    pub script_fired_us: &'a [Option<u64>],
    pub selection: &'a Selection,
    /// What just happened, as a sentence.
    pub sentence: &'a str,
}

/// The mapping between time and the axis.
#[derive(Clone, Copy)]
struct Axis {
    x: Rangef,
    end_us: u64,
}

impl Axis {
    fn x(self, us: u64) -> f32 {
        egui::lerp(self.x, (us as f64 / self.end_us as f64) as f32)
    }

    fn us(self, x: f32) -> u64 {
        let share = ((x - self.x.min) / self.x.span().max(1.0)).clamp(0.0, 1.0);
        (f64::from(share) * self.end_us as f64) as u64
    }

    /// The ticks every `step`, and one at the end if it has room for its label.
    fn tick_times(self, step: u64) -> Vec<u64> {
        let mut times: Vec<u64> = (0..=self.end_us / step).map(|i| i * step).collect();
        let last = times.last().copied().unwrap_or(0);
        if self.x(self.end_us) - self.x(last) > END_LABEL {
            times.push(self.end_us);
        }
        times
    }

    /// Ticks at round times, about `pitch` points apart.
    fn tick_us(self, pitch: f32) -> u64 {
        let wanted = self.end_us as f64 * f64::from(pitch / self.x.span().max(1.0));
        let power = 10_f64.powf(wanted.max(1.0).log10().floor());
        let nice = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|factor| factor * power)
            .find(|step| *step >= wanted);
        nice.unwrap_or(power * 10.0) as u64
    }
}

pub fn timeline_ui(ui: &mut Ui, view: &TimelineView<'_>, commands: &mut Vec<UiCommand>) {
    let theme = Theme::of(ui.ctx());
    let area = ui.available_rect_before_wrap();
    let footer = Rect::from_min_max(pos2(area.left(), area.bottom() - 26.0), area.max);
    let chart = Rect::from_min_max(area.min, pos2(area.right(), footer.top()));
    let axis = Axis {
        x: Rangef::new(
            area.left() + NAMES,
            (area.right() - 32.0).max(area.left() + NAMES + 40.0),
        ),
        end_us: axis_end(view.index.end_us.max(view.clock_us)),
    };
    let response = ui.allocate_rect(chart, Sense::click_and_drag());
    scrub(ui, &response, axis, view, commands);
    let painter = ui.painter_at(area);
    paint_axis(
        &painter,
        theme,
        chart,
        axis,
        axis.x(view.clock_us.min(axis.end_us)),
    );
    let activity = Rect::from_min_size(
        pos2(chart.left(), chart.top() + AXIS_HEIGHT),
        vec2(chart.width(), ACTIVITY_HEIGHT),
    );
    paint_activity(&painter, theme, activity, axis, view.index);
    let lanes = Rect::from_min_max(pos2(chart.left(), activity.bottom() + 10.0), chart.max);
    lanes_ui(ui, &painter, lanes, axis, view, commands);
    marks_ui(ui, &painter, chart, axis, view);
    script_ui(ui, &painter, chart, axis, view);
    paint_cursor(&painter, theme, chart, axis, view);
    footer_ui(ui, &painter, footer, view);
}

/// A little beyond what is recorded, in whole steps, so that the axis does not creep.
fn axis_end(recorded_us: u64) -> u64 {
    let wanted = recorded_us + recorded_us / 12;
    let mut end = MIN_SPAN_US;
    while end < wanted {
        end += (end / 2).max(1);
    }
    end
}

fn scrub(
    ui: &Ui,
    response: &Response,
    axis: Axis,
    view: &TimelineView<'_>,
    commands: &mut Vec<UiCommand>,
) {
    let label = format!("Timeline, cursor at {}", seconds(view.clock_us));
    response.widget_info(|| WidgetInfo::slider(true, view.clock_us as f64 / 1e6, &label));
    let over_axis = response
        .hover_pos()
        .is_some_and(|at| axis.x.expand(8.0).contains(at.x));
    if over_axis {
        ui.ctx().set_cursor_icon(CursorIcon::ResizeHorizontal);
    }
    if (response.dragged() || response.clicked())
        && let Some(at) = response.interact_pointer_pos()
        && at.x > axis.x.min - 16.0
    {
        commands.push(UiCommand::Act(RunAction::SeekUs(axis.us(at.x))));
    }
}

/// `cursor_x`: where the cursor's handle hides a label.
fn paint_axis(painter: &Painter, theme: &Theme, chart: Rect, axis: Axis, cursor_x: f32) {
    let y = chart.top() + AXIS_HEIGHT - 8.0;
    painter.hline(axis.x, y, Stroke::new(1.0, theme.line));
    painter.text(
        pos2(chart.left(), y - 8.0),
        Align2::LEFT_CENTER,
        "modelled time",
        regular(size::SMALLEST),
        theme.dim,
    );
    let step = axis.tick_us(96.0).max(1);
    let decimals = if step < 10_000 {
        3
    } else if step < 100_000 {
        2
    } else {
        1
    };
    for us in axis.tick_times(step) {
        let x = axis.x(us);
        painter.vline(
            x,
            Rangef::new(y - 3.0, y + 3.0),
            Stroke::new(1.0, theme.line_strong),
        );
        if (x - cursor_x).abs() < CURSOR_ROOM {
            continue;
        }
        let words = format!("{:.decimals$} s", us as f64 / 1e6);
        painter.text(
            pos2(x, y - 11.0),
            Align2::CENTER_CENTER,
            words,
            regular(size::SMALLEST),
            theme.dim,
        );
    }
}

fn paint_activity(painter: &Painter, theme: &Theme, area: Rect, axis: Axis, index: &TimelineIndex) {
    let most = index.bins.iter().copied().max().unwrap_or(0).max(1) as f32;
    // Bins narrower than this are joined, so that bars stay bars.
    let join = (4.0 / (axis.x(index.bin_us) - axis.x.min).max(0.01))
        .ceil()
        .max(1.0) as usize;
    let most = if join > 1 {
        most * join as f32 * 0.7
    } else {
        most
    };
    for (place, group) in index.bins.chunks(join).enumerate() {
        let sum: u32 = group.iter().sum();
        if sum == 0 {
            continue;
        }
        let from = axis.x((place * join) as u64 * index.bin_us);
        let to = axis.x((place + 1) as u64 * join as u64 * index.bin_us);
        let height = (area.height() * (sum as f32 / most).min(1.0).sqrt()).max(2.0);
        let bar = Rect::from_min_max(
            pos2(from + 0.5, area.bottom() - height),
            pos2((to - 1.0).max(from + 1.5), area.bottom()),
        );
        filled(painter, bar, 1.0, theme.activity);
    }
    let y = area.center().y;
    painter.text(
        pos2(area.left(), y),
        Align2::LEFT_CENTER,
        "activity",
        regular(12.0),
        theme.dim,
    );
}

/// The script's commands: a flag where one was carried out, a hollow one where one is due; under the pointer, which.
fn script_ui(ui: &Ui, painter: &Painter, chart: Rect, axis: Axis, view: &TimelineView<'_>) {
    let theme = Theme::of(ui.ctx());
    let y = chart.top() + AXIS_HEIGHT - 8.0;
    for (entry, line) in view.job.script.iter().enumerate() {
        let fired = view.script_fired_us.get(entry).copied().flatten();
        let fired = fired.or_else(|| {
            let is_it = |mark: &&Mark| matches!(&mark.kind, MarkKind::Script { entry: known, .. } if *known == entry);
            view.index.marks.iter().find(is_it).map(|mark| mark.at_us)
        });
        let due = match line.when {
            When::AtMs(ms) => Some(ms.saturating_mul(1000)),
            When::Emitted { .. } | When::Processed { .. } => None,
        };
        let Some(at_us) = fired.or(due).filter(|at_us| *at_us <= axis.end_us) else {
            continue;
        };
        let x = axis.x(at_us);
        let points = vec![
            pos2(x, y + 1.0),
            pos2(x + 5.0, y + 8.0),
            pos2(x - 5.0, y + 8.0),
        ];
        let color = if is_harm(&line.command) {
            theme.error
        } else {
            theme.text_soft
        };
        let fill = if fired.is_some() { color } else { theme.panel };
        painter.add(Shape::convex_polygon(points, fill, Stroke::new(1.0, color)));
        let around = Rect::from_center_size(pos2(x, y + 4.0), vec2(14.0, 14.0));
        let response = ui.interact(
            around,
            ui.scope_id().with(("script", entry)),
            Sense::hover(),
        );
        let (when, what) = (
            when_words(view.job, &line.when),
            command_words(view.job, &line.command),
        );
        let state = if fired.is_some() { "done" } else { "due" };
        let words = format!("The script, {when}: {what} ({state})");
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &words));
        response.on_hover_text(words);
    }
}

/// Whether the command lets something go wrong.
fn is_harm(command: &Command) -> bool {
    matches!(
        command,
        Command::Crash { .. }
            | Command::CrashSeveral { .. }
            | Command::CrashTaskManager { .. }
            | Command::DeleteStored { .. }
            | Command::Inject(_)
    )
}

fn paint_cursor(
    painter: &Painter,
    theme: &Theme,
    chart: Rect,
    axis: Axis,
    view: &TimelineView<'_>,
) {
    let x = axis.x(view.clock_us.min(axis.end_us));
    let top = chart.top() + AXIS_HEIGHT - 8.0;
    painter.vline(
        x,
        Rangef::new(top, chart.bottom() - 2.0),
        Stroke::new(1.5, theme.text),
    );
    let points = vec![
        pos2(x - 6.0, top - 7.0),
        pos2(x + 6.0, top - 7.0),
        pos2(x, top + 2.0),
    ];
    painter.add(Shape::convex_polygon(points, theme.text, Stroke::NONE));
    let words = format!("{} · event {}", seconds(view.clock_us), view.position);
    let galley = painter.layout_no_wrap(words, semibold(size::SECONDARY), theme.text);
    let left = if x + 12.0 + galley.size().x > chart.right() {
        x - 8.0 - galley.size().x
    } else {
        x + 8.0
    };
    let rect = Rect::from_min_size(
        pos2(left, chart.bottom() - galley.size().y - 3.0),
        galley.size(),
    );
    filled(painter, rect.expand2(vec2(3.0, 1.0)), 3.0, theme.panel);
    painter.galley(rect.min, galley, theme.text);
}

fn footer_ui(ui: &Ui, painter: &Painter, area: Rect, view: &TimelineView<'_>) {
    let theme = Theme::of(ui.ctx());
    let mut x = area.right() - 20.0;
    for phase in Phase::ALL.into_iter().rev() {
        let galley =
            painter.layout_no_wrap(phase.name().to_owned(), regular(size::SECONDARY), theme.dim);
        x -= galley.size().x;
        painter.galley(
            pos2(x, area.center().y - galley.size().y / 2.0),
            galley,
            theme.dim,
        );
        let swatch = Rect::from_center_size(pos2(x - 12.0, area.center().y), vec2(12.0, 12.0));
        filled(
            painter,
            swatch,
            2.0,
            theme.panel.lerp_to_gamma(theme.text_soft, phase.strength()),
        );
        x -= 36.0;
    }
    let room = x - area.left() - 8.0;
    let galley = elided(painter, view.sentence, medium(13.0), theme.text, room);
    let at = pos2(area.left(), area.center().y - galley.size().y / 2.0);
    painter.galley(at, galley, theme.text);
    let id = ui.scope_id().with("what just happened");
    ui.ctx().accesskit_node_builder(id, |node| {
        node.set_role(Role::Status);
        node.set_label(view.sentence.to_owned());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_holds_what_is_recorded_with_some_room() {
        for recorded_us in [0, 472_000, 1_000_000, 9_999_999, 3_600_000_000] {
            let end = axis_end(recorded_us);
            assert!(end >= MIN_SPAN_US && end >= recorded_us + recorded_us / 12);
        }
    }

    #[test]
    fn places_and_times_agree() {
        let axis = Axis {
            x: Rangef::new(100.0, 1100.0),
            end_us: 2_000_000,
        };
        for us in [0, 1_000_000, 2_000_000] {
            assert!(axis.us(axis.x(us)).abs_diff(us) < 100);
        }
    }

    #[test]
    fn the_end_of_the_axis_has_a_label_if_it_has_room() {
        let axis = Axis {
            x: Rangef::new(0.0, 1000.0),
            end_us: 1_080_000,
        };
        assert_eq!(axis.tick_times(200_000).last(), Some(&1_080_000));
        assert_eq!(axis.tick_times(120_000).last(), Some(&1_080_000));
        assert_eq!(axis.tick_times(210_000).last(), Some(&1_050_000));
    }

    #[test]
    fn ticks_are_round_and_not_crowded() {
        let axis = Axis {
            x: Rangef::new(0.0, 1290.0),
            end_us: 1_000_000,
        };
        assert_eq!(axis.tick_us(96.0), 100_000);
    }
}
