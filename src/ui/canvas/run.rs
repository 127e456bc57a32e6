//! The canvas while a job runs: subtasks, channels, what moves in them, gates; the coordinator above, the storage
//! below. Everything comes from one [`Scene`].

use egui::{
    Align2, CursorIcon, Pos2, Rect, Response, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2,
};

use crate::model::{ChannelId, SubtaskId};

use super::super::command::{Selection, UiCommand};
use super::super::explain::{input_line, status_of};
use super::super::paint::framed;
use super::super::scene::{KeyColors, Scene};
use super::super::theme::{Theme, medium};
use super::callout::callout;
use super::camera::Camera;
use super::card::{Highlight, paint_card};
use super::coordinator::{HudSize, coordinator_ui};
use super::density::{self, Density};
use super::layout::{Layout, LayoutCache, LayoutRequest};
use super::load_bar::load_words;
use super::motion::Motion;
use super::outside::{is_transactional, outside_ui};
use super::pen::Pen;
use super::shelf::shelf_ui;
use super::token::TubeScale;
use super::tube::{PlacedBarrier, paint_elements, paint_gate, paint_thread, paint_tube};
use super::zoom_control::zoom_ui;

/// The canvas height below which the cards above and below the graph become low.
const LOW_CANVAS: f32 = 560.0;

/// Channels thinner than this on the screen are threads, without what moves in them.
const MIN_TUBE: f32 = 2.5;

/// What the run canvas keeps between frames.
#[derive(Default)]
pub struct RunCanvas {
    pub camera: Camera,
    cache: LayoutCache,
    motion: Motion,
    pub keys: KeyColors,
    /// Where the canvas lies on the screen.
    pub area: Option<Rect>,
    /// The density and the room for each channel, chosen for a size of the canvas.
    density: Option<(egui::Vec2, (Density, f32))>,
}

/// How the canvas is to be shown.
#[derive(Clone, Copy)]
pub struct RunCanvasView<'a> {
    pub scene: Scene<'a>,
    pub selection: &'a Selection,
    /// The next click on a subtask crashes it.
    pub is_armed: bool,
    pub reduced_motion: bool,
    pub is_playing: bool,
}

impl RunCanvas {
    pub fn ui(&mut self, ui: &mut Ui, view: RunCanvasView<'_>, commands: &mut Vec<UiCommand>) {
        let area = ui.available_rect_before_wrap();
        self.area = Some(area);
        let mut background = ui.allocate_rect(area, Sense::click_and_drag());
        background.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, "Running job"));
        self.keys.learn(view.scene.view);
        let hud = if area.height() < LOW_CANVAS {
            HudSize::Low
        } else {
            HudSize::Tall
        };
        let graph_area = graph_area(area, hud);
        let (density, pitch) = self.density(view.scene, graph_area);
        let request = LayoutRequest::of(view.scene.job, view.scene.plan, density, pitch);
        let layout = self.cache.get(request);
        self.camera.take_input(ui, &mut background);
        self.camera.keep_fitted(graph_area, layout.bounds, true);
        let painter = ui.painter_at(area);
        let pen = Pen {
            painter: &painter,
            theme: Theme::of(ui.ctx()),
            to_screen: self.camera.to_screen,
            scene: view.scene,
            keys: &self.keys,
            reduced_motion: view.reduced_motion,
        };
        self.motion
            .begin(view.scene.clock_us, view.is_playing && !view.reduced_motion);
        let moving = (layout, &mut self.motion);
        let hovered = graph_ui(ui, &pen, moving, view, &background, commands);
        self.motion.end();
        if let Some(clicked) = background.clicked().then_some(hovered) {
            let selection = clicked.map_or(Selection::None, Selection::Channel);
            commands.push(UiCommand::Select(selection));
        }
        let above = Rect::from_min_max(
            graph_area.min - vec2(20.0, 36.0),
            graph_area.max + vec2(20.0, 12.0),
        );
        callout(&pen, layout, above);
        coordinator_ui(ui, &pen, area, hud, commands);
        shelf_ui(ui, &pen, area, hud, view.selection, commands);
        zoom_ui(ui, area, self.camera.zoom(), commands);
        if view.is_armed {
            armed_hint(&pen, area, hud);
        }
    }

    fn density(&mut self, scene: Scene<'_>, area: Rect) -> (Density, f32) {
        match self.density {
            Some((size, chosen)) if size == area.size() => chosen,
            _ => {
                let chosen = density::choose(scene.job, scene.plan, area);
                self.density = Some((area.size(), chosen));
                chosen
            }
        }
    }
}

/// What the cards above and below leave for the graph.
fn graph_area(area: Rect, hud: HudSize) -> Rect {
    let (above, below) = (hud.coordinator_height() + 56.0, hud.shelf_height() + 36.0);
    Rect::from_min_max(area.min + vec2(36.0, above), area.max - vec2(36.0, below))
}

/// Everything in world space. Returns the channel under the pointer.
fn graph_ui(
    ui: &Ui,
    pen: &Pen<'_>,
    (layout, motion): (&Layout, &mut Motion),
    view: RunCanvasView<'_>,
    background: &Response,
    commands: &mut Vec<UiCommand>,
) -> Option<ChannelId> {
    let scale = TubeScale {
        width: layout.tube_width,
    };
    let hovered = background
        .hover_pos()
        .and_then(|at| channel_at(pen, layout, at));
    if hovered.is_some() && !view.is_armed {
        ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
    }
    let visible = pen.to_screen.inverse() * pen.painter.clip_rect();
    let margin = scale.width;
    let is_visible = |id: &ChannelId| {
        let bounds = layout.curves[id.index()].bounds();
        bounds.expand(margin).intersects(visible)
    };
    let channels = pen.scene.plan.channels.iter().map(|channel| channel.id);
    let channels = channels.filter(is_visible);
    if pen.scaled(scale.width) < MIN_TUBE {
        for id in channels {
            let is_selected = *view.selection == Selection::Channel(id);
            paint_thread(pen, &layout.curves[id.index()], id, is_selected);
        }
        for subtask in &pen.scene.plan.subtasks {
            subtask_widget(ui, pen, layout, subtask.id, view, commands);
        }
        return hovered;
    }
    for id in channels.clone() {
        let is_selected = *view.selection == Selection::Channel(id);
        paint_tube(
            pen,
            &layout.curves[id.index()],
            scale,
            id,
            is_selected || hovered == Some(id),
        );
    }
    for id in channels.clone() {
        let barriers = paint_elements(pen, &layout.curves[id.index()], scale, id, motion);
        for (place, barrier) in barriers.iter().enumerate() {
            describe_barrier(ui, pen, barrier, place);
        }
        channel_widget(ui, pen, layout, id, commands);
    }
    for subtask in &pen.scene.plan.subtasks {
        subtask_widget(ui, pen, layout, subtask.id, view, commands);
    }
    for id in channels {
        paint_gate(
            pen,
            &layout.curves[id.index()],
            scale,
            pen.scene.channel(id),
        );
    }
    hovered
}

fn channel_at(pen: &Pen<'_>, layout: &Layout, at: Pos2) -> Option<ChannelId> {
    let world = pen.to_screen.inverse() * at;
    let reach = layout.tube_width / 2.0 + 3.0;
    let curves = layout.curves.iter().enumerate();
    let near = curves.filter(|(_, curve)| curve.bounds().expand(reach).contains(world));
    let distances = near.map(|(index, curve)| (index, curve.distance_to(world)));
    let nearest = distances.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (nearest.1 <= reach).then(|| pen.scene.plan.channels[nearest.0].id)
}

/// A small handle near the sender, so that a channel can be reached by keyboard, by name and by clicking a label.
fn channel_widget(
    ui: &Ui,
    pen: &Pen<'_>,
    layout: &Layout,
    id: ChannelId,
    commands: &mut Vec<UiCommand>,
) {
    let curve = &layout.curves[id.index()];
    let center = pen.pos(curve.along(curve.length() * 0.2));
    let rect = Rect::from_center_size(center, vec2(24.0, pen.scaled(layout.tube_width)));
    if !ui.clip_rect().intersects(rect) {
        return;
    }
    let response = ui.interact(rect, ui.scope_id().with(("channel", id)), Sense::click());
    let label = format!(
        "{}: {}",
        pen.scene.plan.channel_name(id),
        input_line(pen.scene, id)
    );
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
    if response.has_focus() {
        pen.painter
            .circle_stroke(center, 8.0, Stroke::new(2.0, pen.theme.accent));
    }
    if response.clicked() {
        commands.push(UiCommand::Select(Selection::Channel(id)));
    }
}

fn describe_barrier(ui: &Ui, pen: &Pen<'_>, barrier: &PlacedBarrier, place: usize) {
    let id = ui
        .scope_id()
        .with(("barrier", barrier.channel, barrier.id, place));
    let label = format!(
        "barrier {} on {}",
        barrier.id,
        pen.scene.plan.channel_name(barrier.channel)
    );
    let bounds = Rect::from_center_size(barrier.at, vec2(26.0, 30.0) * pen.zoom());
    ui.ctx().accesskit_node_builder(id, |node| {
        node.set_role(Role::Image);
        node.set_label(label);
        node.set_bounds(egui::accesskit::Rect {
            x0: bounds.min.x.into(),
            y0: bounds.min.y.into(),
            x1: bounds.max.x.into(),
            y1: bounds.max.y.into(),
        });
    });
}

fn subtask_widget(
    ui: &Ui,
    pen: &Pen<'_>,
    layout: &Layout,
    id: SubtaskId,
    view: RunCanvasView<'_>,
    commands: &mut Vec<UiCommand>,
) {
    let world = layout.cards[id.index()];
    if !pen.painter.clip_rect().intersects(pen.rect(world)) {
        return;
    }
    let response = ui.interact(
        pen.rect(world),
        ui.scope_id().with(("subtask", id)),
        Sense::click(),
    );
    let mut label = format!(
        "{}: {}",
        pen.scene.plan.subtask_name(id),
        status_of(pen.scene, id).text
    );
    let load = pen.scene.load(id);
    if load.total_us() > 0 {
        label = format!("{label}, {}", load_words(load));
    }
    for kind in pen.scene.armed(id) {
        label = format!("{label}, armed: {}", kind.name());
    }
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
    let is_pointed = response.hovered() || response.has_focus();
    let highlight = match (view.is_armed, is_pointed) {
        (true, true) => Highlight::Target,
        _ if *view.selection == Selection::Subtask(id) => Highlight::Selected,
        (_, true) => Highlight::Hovered,
        _ => Highlight::None,
    };
    paint_card(pen, id, world, layout.density, highlight);
    if is_transactional(&pen.scene.plan.subtask(id).operator) {
        outside_ui(ui, pen, id, world);
    }
    if response.hovered() && view.is_armed {
        ui.ctx().set_cursor_icon(CursorIcon::Crosshair);
    }
    if response.clicked() {
        commands.push(if view.is_armed {
            UiCommand::Crash(id)
        } else {
            UiCommand::Select(Selection::Subtask(id))
        });
    }
}

fn armed_hint(pen: &Pen<'_>, area: Rect, hud: HudSize) {
    let words = "Click a subtask to crash it. Esc cancels.";
    let galley = pen
        .painter
        .layout_no_wrap(words.to_owned(), medium(12.5), pen.theme.danger_text);
    let center = pos2(
        area.center().x,
        area.top() + hud.coordinator_height() + 38.0,
    );
    let rect = Rect::from_center_size(center, galley.size() + vec2(28.0, 14.0));
    framed(pen.painter, rect, 7.0, pen.theme.danger, Stroke::NONE);
    pen.text(
        center,
        Align2::CENTER_CENTER,
        words,
        medium(12.5),
        pen.theme.danger_text,
    );
}
