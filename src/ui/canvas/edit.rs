//! The canvas while a job is built: one card per operator, edges between them, what is wrong marked where it is.

use std::cell::Cell;

use egui::{
    CursorIcon, Pos2, Rect, Response, Role, Sense, Shape, Stroke, Ui, Vec2, WidgetInfo, pos2, vec2,
};

use crate::model::validate::Site;
use crate::model::{Partitioning, Position, Uid, Vertex};

use super::super::command::{Selection, UiCommand};
use super::super::document::Document;
use super::super::paint::framed;
use super::super::theme::{Theme, regular};
use super::camera::Camera;
use super::curve::Curve;
use super::layout::NODE_SIZE;
use super::node::{NodeLook, in_port, node_rect, out_port, paint_node};
use super::notice::{Notice, empty_hint, note, refusal};
use super::problems::{ProblemPlate, free_plate};
use super::zoom_control::{control_rect, zoom_ui};

/// Positions snap to this, so that things line up.
const GRID: f32 = 8.0;
const GRID_DOT: f32 = 32.0;
const EDGE_WIDTH: f32 = 12.0;
/// Below a card, for what is wrong with it.
const PLATE_ROOM: f32 = 84.0;

/// What the edit canvas keeps between frames.
#[derive(Default)]
pub struct EditCanvas {
    pub camera: Camera,
    drag: Option<Drag>,
    /// Where the canvas lies on the screen.
    pub area: Option<Rect>,
    /// Something was dropped from the palette: the view must stay where the person aimed.
    dropped: Cell<bool>,
    notice: Option<Notice>,
}

enum Drag {
    /// Moving an operator, held this far from its corner (world).
    Node { uid: Uid, grip: Vec2 },
    /// Pulling an edge out of this operator.
    Edge { from: Uid },
}

/// One frame of the edit canvas.
pub struct Frame<'a> {
    pub document: &'a Document,
    selection: &'a Selection,
    pub theme: &'static Theme,
    pub painter: egui::Painter,
}

impl EditCanvas {
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        document: &Document,
        selection: &Selection,
        commands: &mut Vec<UiCommand>,
    ) {
        let area = ui.available_rect_before_wrap();
        self.area = Some(area);
        if self.dropped.take() {
            self.camera.hold();
        }
        let mut background = ui.allocate_rect(area, Sense::click_and_drag());
        background.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, "Job being edited"));
        let bounds = document
            .job()
            .vertices
            .iter()
            .fold(Rect::NOTHING, |all, vertex| {
                all.union(with_plate(document, vertex))
            });
        let room = Rect::from_min_max(area.min + vec2(48.0, 56.0), area.max - vec2(48.0, 96.0));
        self.camera.take_input(ui, &mut background);
        self.camera.keep_fitted(room, bounds, false);
        let frame = Frame {
            document,
            selection,
            theme: Theme::of(ui.ctx()),
            painter: ui.painter_at(area),
        };
        self.paint_grid(&frame, area);
        let hovered = self.edges_ui(ui, &frame, &background, commands);
        if background.clicked() {
            let selection = hovered.map_or(Selection::None, Selection::Edge);
            commands.push(UiCommand::Select(selection));
        }
        for index in 0..document.job().vertices.len() {
            self.node_ui(ui, &frame, index, commands);
        }
        self.problems_ui(ui, &frame, area);
        self.pulled_edge(ui, &frame, commands);
        self.notice = self.notice.take().filter(|notice| notice.ui(ui, &frame));
        note(&frame, area);
        zoom_ui(ui, area, self.camera.zoom(), commands);
        if document.job().vertices.is_empty() {
            empty_hint(&frame, area);
        }
    }

    fn paint_grid(&self, frame: &Frame<'_>, area: Rect) {
        let step = GRID_DOT * self.camera.zoom();
        if step < 10.0 {
            return;
        }
        let origin = self.camera.to_screen * Pos2::ZERO;
        let mut y = area.top() + (origin.y - area.top()).rem_euclid(step);
        while y < area.bottom() {
            let mut x = area.left() + (origin.x - area.left()).rem_euclid(step);
            while x < area.right() {
                frame
                    .painter
                    .circle_filled(pos2(x, y), 1.0, frame.theme.grid);
                x += step;
            }
            y += step;
        }
    }

    /// Returns the edge under the pointer.
    fn edges_ui(
        &self,
        ui: &Ui,
        frame: &Frame<'_>,
        background: &Response,
        commands: &mut Vec<UiCommand>,
    ) -> Option<usize> {
        let job = frame.document.job();
        let ends = |index: usize| {
            let edge = &job.edges[index];
            Some((
                out_port(job.vertex(&edge.from)?),
                in_port(job.vertex(&edge.to)?),
            ))
        };
        let curves: Vec<_> = (0..job.edges.len())
            .filter_map(|index| ends(index).map(|(from, to)| (index, Curve::between(from, to))))
            .collect();
        let pointer = background
            .hover_pos()
            .map(|at| self.camera.world_from_screen(at));
        let is_near = |curve: &Curve| pointer.is_some_and(|at| curve.distance_to(at) < EDGE_WIDTH);
        let hovered = curves
            .iter()
            .find(|(_, curve)| is_near(curve))
            .map(|(index, _)| *index);
        for (index, curve) in &curves {
            self.edge_ui(
                ui,
                frame,
                (*index, curve),
                hovered == Some(*index),
                commands,
            );
        }
        hovered
    }

    fn edge_ui(
        &self,
        ui: &Ui,
        frame: &Frame<'_>,
        (index, curve): (usize, &Curve),
        is_hovered: bool,
        commands: &mut Vec<UiCommand>,
    ) {
        let theme = frame.theme;
        let is_selected = *frame.selection == Selection::Edge(index);
        let problem = frame
            .document
            .problems()
            .iter()
            .find(|problem| problem.site == Site::Edge(index));
        let rim = match problem {
            _ if is_selected => theme.accent,
            Some(_) => theme.error,
            None if is_hovered => theme.line_strong,
            None => theme.tube_line,
        };
        let width = EDGE_WIDTH * self.camera.zoom();
        let points = curve.on_screen(self.camera.to_screen);
        frame
            .painter
            .add(Shape::line(points.clone(), Stroke::new(width + 3.0, rim)));
        frame
            .painter
            .add(Shape::line(points, Stroke::new(width, theme.tube)));
        let middle = self.camera.to_screen * curve.along(curve.length() / 2.0);
        let edge = &frame.document.job().edges[index];
        let chip = chip(frame, middle, edge.partitioning, rim);
        let response = ui.interact(chip, ui.scope_id().with(("edge", index)), Sense::click());
        let label = format!(
            "edge {} → {}, {}",
            edge.from,
            edge.to,
            edge.partitioning.name()
        );
        response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
        if response.clicked() {
            commands.push(UiCommand::Select(Selection::Edge(index)));
        }
        if let Some(problem) = problem {
            let words = [problem.message.as_str()];
            let plate = ProblemPlate::of(&frame.painter, 200.0, &words, self.camera.zoom());
            let cards = frame.document.job().vertices.iter().map(node_rect);
            let cards: Vec<Rect> = cards.map(|card| self.camera.to_screen * card).collect();
            let (rect, _) = free_plate(chip, plate.size(), &cards);
            plate.ui(ui, &frame.painter, rect.min);
        }
    }

    fn node_ui(&mut self, ui: &Ui, frame: &Frame<'_>, index: usize, commands: &mut Vec<UiCommand>) {
        let job = frame.document.job();
        let vertex = &job.vertices[index];
        let rect = self.camera.to_screen * node_rect(vertex);
        let response = ui.interact(
            rect,
            ui.scope_id().with(("node", &vertex.uid)),
            Sense::click_and_drag(),
        );
        let label = format!("{} ({})", vertex.name, vertex.operator.kind_name());
        response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
        let look = NodeLook {
            is_selected: *frame.selection == Selection::Vertex(vertex.uid.clone()),
            is_hovered: response.hovered() || response.has_focus(),
            is_wrong: frame.document.problems_of(&vertex.uid).next().is_some(),
        };
        paint_node(
            &frame.painter,
            frame.theme,
            vertex,
            rect,
            self.camera.zoom(),
            look,
        );
        if response.clicked() || response.drag_started() {
            commands.push(UiCommand::Select(Selection::Vertex(vertex.uid.clone())));
        }
        self.drag_node(&response, vertex.uid.clone(), vertex.position, commands);
        if !vertex.is_sink() {
            self.out_port_ui(
                ui,
                frame,
                vertex.uid.clone(),
                self.camera.to_screen * out_port(vertex),
            );
        }
    }

    /// What is wrong with each operator, beside its card and never over another one.
    fn problems_ui(&self, ui: &Ui, frame: &Frame<'_>, area: Rect) {
        let job = frame.document.job();
        let zoom = self.camera.zoom();
        let cards = job.vertices.iter().map(node_rect);
        let mut taken: Vec<Rect> = cards.map(|card| self.camera.to_screen * card).collect();
        taken.push(control_rect(area).expand(4.0));
        for (index, vertex) in job.vertices.iter().enumerate() {
            let problems = frame.document.problems_of(&vertex.uid);
            let problems: Vec<&str> = problems.map(|problem| problem.message.as_str()).collect();
            if problems.is_empty() {
                continue;
            }
            let made = |zoom: f32| {
                let plate = ProblemPlate::of(&frame.painter, taken[index].width(), &problems, zoom);
                let found = free_plate(taken[index], plate.size(), &taken);
                (plate, found)
            };
            let (plate, (rect, is_free)) = made(zoom);
            // Without room for the words, their number has to do.
            let (plate, rect) = if is_free {
                (plate, rect)
            } else {
                let (plate, (rect, _)) = made(0.0);
                (plate, rect)
            };
            plate.ui(ui, &frame.painter, rect.min);
            taken.push(rect);
        }
    }

    fn drag_node(
        &mut self,
        response: &Response,
        uid: Uid,
        position: Position,
        commands: &mut Vec<UiCommand>,
    ) {
        let Some(pointer) = response.interact_pointer_pos() else {
            return;
        };
        let world = self.camera.world_from_screen(pointer);
        if response.drag_started() {
            // The drag begins a few points after the press: hold the card where it was pressed.
            let pressed = response
                .ctx
                .input(|input| input.pointer.press_origin())
                .unwrap_or(pointer);
            let grip = self.camera.world_from_screen(pressed) - pos2(position.x, position.y);
            self.drag = Some(Drag::Node {
                uid: uid.clone(),
                grip,
            });
        }
        let Some(Drag::Node { uid: held, grip }) = &self.drag else {
            return;
        };
        if *held != uid {
            return;
        }
        if response.dragged() {
            let at = world - *grip;
            let snap = |x: f32| (x / GRID).round() * GRID;
            let to = Position {
                x: snap(at.x),
                y: snap(at.y),
            };
            if to != position {
                commands.push(UiCommand::MoveVertex { uid, to });
            }
        }
        if response.drag_stopped() {
            self.drag = None;
        }
    }

    fn out_port_ui(&mut self, ui: &Ui, frame: &Frame<'_>, uid: Uid, at: Pos2) {
        let radius = 7.0 * self.camera.zoom().max(0.7);
        let rect = Rect::from_center_size(at, Vec2::splat(radius * 2.0 + 10.0));
        let response = ui.interact(rect, ui.scope_id().with(("out", &uid)), Sense::drag());
        let name = frame
            .document
            .job()
            .vertex(&uid)
            .map_or_else(String::new, |vertex| vertex.name.clone());
        response
            .widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("output of {name}")));
        let is_live = response.hovered() || response.dragged();
        let fill = if is_live {
            frame.theme.accent
        } else {
            frame.theme.card
        };
        let stroke = if is_live {
            frame.theme.accent
        } else {
            frame.theme.line_strong
        };
        frame
            .painter
            .circle(at, radius, fill, Stroke::new(1.5, stroke));
        if is_live {
            ui.ctx().set_cursor_icon(CursorIcon::Crosshair);
        }
        if response.drag_started() {
            self.drag = Some(Drag::Edge { from: uid });
        }
    }

    /// The edge being pulled out, and what happens where it is let go.
    fn pulled_edge(&mut self, ui: &Ui, frame: &Frame<'_>, commands: &mut Vec<UiCommand>) {
        let Some(Drag::Edge { from }) = &self.drag else {
            return;
        };
        let job = frame.document.job();
        let (Some(vertex), Some(pointer)) = (job.vertex(from), ui.ctx().pointer_latest_pos())
        else {
            self.drag = None;
            return;
        };
        let world = self.camera.world_from_screen(pointer);
        let target = job
            .vertices
            .iter()
            .find(|other| other.uid != *from && node_rect(other).expand(14.0).contains(world));
        let end = target.map_or(world, in_port);
        let curve = Curve::between(out_port(vertex), end);
        let color = if target.is_some() {
            frame.theme.accent
        } else {
            frame.theme.line_strong
        };
        frame.painter.add(Shape::line(
            curve.on_screen(self.camera.to_screen),
            Stroke::new(3.0, color),
        ));
        if let Some(target) = target {
            let rect = (self.camera.to_screen * node_rect(target)).expand(3.0);
            framed(
                &frame.painter,
                rect,
                11.0,
                egui::Color32::TRANSPARENT,
                Stroke::new(2.0, frame.theme.accent),
            );
        }
        if ui.input(|input| !input.pointer.primary_down()) {
            let dropped_on = match target {
                Some(target) => Some(target),
                // A click on the circle pulls nothing.
                None => Some(vertex).filter(|own| node_rect(own).shrink(12.0).contains(world)),
            };
            if let Some(target) = dropped_on {
                match refusal(job, from, &target.uid) {
                    Some(words) => self.notice = Some(Notice::new(ui, words, pointer)),
                    None => commands.push(UiCommand::Connect {
                        from: from.clone(),
                        to: target.uid.clone(),
                    }),
                }
            }
            self.drag = None;
        }
    }

    /// The world position at the middle of a node dropped at `screen`, if that is on the canvas.
    #[must_use]
    pub fn drop_position(&self, screen: Pos2) -> Option<Position> {
        self.area.filter(|area| area.contains(screen))?;
        self.dropped.set(true);
        let corner = self.camera.world_from_screen(screen) - NODE_SIZE / 2.0;
        let snap = |x: f32| (x / GRID).round() * GRID;
        Some(Position {
            x: snap(corner.x),
            y: snap(corner.y),
        })
    }
}

/// An operator's card, with room for what is wrong with it.
fn with_plate(document: &Document, vertex: &Vertex) -> Rect {
    let mut rect = node_rect(vertex);
    if document.problems_of(&vertex.uid).next().is_some() {
        rect.max.y += PLATE_ROOM;
    }
    rect
}

/// The partitioning, on its edge.
fn chip(frame: &Frame<'_>, center: Pos2, partitioning: Partitioning, rim: egui::Color32) -> Rect {
    let galley = frame.painter.layout_no_wrap(
        partitioning.name().to_owned(),
        regular(11.5),
        frame.theme.text_soft,
    );
    let rect = Rect::from_center_size(center, galley.size() + vec2(18.0, 8.0));
    framed(
        &frame.painter,
        rect,
        6.0,
        frame.theme.panel,
        Stroke::new(1.0, rim),
    );
    frame.painter.galley(
        rect.center() - galley.size() / 2.0,
        galley,
        frame.theme.text_soft,
    );
    rect
}
