//! What is wrong with an operator or an edge, in words, on a plate beside it.

use std::sync::Arc;

use egui::{
    Align2, Color32, Galley, Painter, Pos2, Rect, Role, Shape, Stroke, Ui, Vec2, pos2, vec2,
};

use super::super::figures::count;
use super::super::paint::framed;
use super::super::theme::{Theme, regular, semibold};

const MIN_WIDTH: f32 = 176.0;
/// Below this zoom, plates only count.
const FULL_ZOOM: f32 = 0.45;
/// Room beside the words: the sign at the left, and a margin.
const MARGINS: Vec2 = vec2(38.0, 12.0);
/// Between a card and its plate.
const GAP: f32 = 8.0;

/// The first problem in full; how many more there are. The inspector lists them all.
pub struct ProblemPlate<'a> {
    problems: &'a [&'a str],
    words: Arc<Galley>,
    width: f32,
}

impl<'a> ProblemPlate<'a> {
    #[must_use]
    pub fn of(painter: &Painter, width: f32, problems: &'a [&'a str], zoom: f32) -> Self {
        let width = width.max(MIN_WIDTH);
        let color = Color32::PLACEHOLDER;
        let words = summary(problems, zoom);
        Self {
            problems,
            words: painter.layout(words, regular(12.0), color, width - MARGINS.x),
            width,
        }
    }

    #[must_use]
    pub fn size(&self) -> Vec2 {
        vec2(self.width, self.words.size().y + MARGINS.y)
    }

    pub fn ui(&self, ui: &Ui, painter: &Painter, corner: Pos2) {
        let theme = Theme::of(ui.ctx());
        let rect = Rect::from_min_size(corner, self.size());
        let line = Stroke::new(1.0, theme.error);
        framed(painter, rect, 6.0, theme.inset, line);
        let sign = pos2(rect.left() + 16.0, rect.top() + 14.0);
        warning_sign(painter, sign, theme.error, theme.inset);
        let text = rect.min + vec2(28.0, 6.0);
        painter.galley(text, self.words.clone(), theme.error);
        for (place, problem) in self.problems.iter().enumerate() {
            describe(ui, rect, place, problem);
        }
    }
}

/// From afar there is only room for how many.
fn summary(problems: &[&str], zoom: f32) -> String {
    match problems {
        all if zoom < FULL_ZOOM => count(all.len() as u64, "problem"),
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first, more @ ..] => {
            let more = count(more.len() as u64, "more problem");
            format!("{first}\n{more}.")
        }
    }
}

/// Where a plate of `size` for `card` covers nothing in `taken`: below it or above, centred or flush with a side; else,
/// below, and false.
#[must_use]
pub fn free_plate(card: Rect, size: Vec2, taken: &[Rect]) -> (Rect, bool) {
    let lefts = [
        card.center().x - size.x / 2.0,
        card.right() - size.x,
        card.left(),
    ];
    let tops = [card.bottom() + GAP, card.top() - GAP - size.y];
    let corners = lefts
        .into_iter()
        .flat_map(|left| tops.map(|top| pos2(left, top)));
    let mut candidates = corners.map(|corner| Rect::from_min_size(corner, size));
    let below = Rect::from_min_size(pos2(lefts[0], tops[0]), size);
    let is_free = |rect: &Rect| !taken.iter().any(|other| other.intersects(*rect));
    let free = candidates.find(is_free);
    (free.unwrap_or(below), free.is_some())
}

fn describe(ui: &Ui, rect: Rect, place: usize, problem: &str) {
    let id = ui.scope_id().with((
        "problem",
        problem,
        place,
        rect.min.x as i32,
        rect.min.y as i32,
    ));
    ui.ctx().accesskit_node_builder(id, |node| {
        node.set_role(Role::Alert);
        node.set_label(format!("Problem: {problem}"));
        node.set_bounds(egui::accesskit::Rect {
            x0: rect.min.x.into(),
            y0: rect.min.y.into(),
            x1: rect.max.x.into(),
            y1: rect.max.y.into(),
        });
    });
}

fn warning_sign(painter: &Painter, center: Pos2, color: Color32, ink: Color32) {
    let points = [vec2(0.0, -6.5), vec2(7.0, 5.5), vec2(-7.0, 5.5)].map(|offset| center + offset);
    painter.add(Shape::convex_polygon(points.to_vec(), color, Stroke::NONE));
    painter.text(
        center + vec2(0.0, 1.5),
        Align2::CENTER_CENTER,
        "!",
        semibold(11.0),
        ink,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plate_goes_above_its_card_where_another_is_below() {
        let card = Rect::from_min_size(pos2(100.0, 200.0), vec2(176.0, 112.0));
        let other = card.translate(vec2(0.0, 130.0));
        let size = vec2(176.0, 40.0);
        assert!(free_plate(card, size, &[card]).0.top() > card.bottom());
        assert!(free_plate(card, size, &[card, other]).0.bottom() < card.top());
        let beside = other.translate(vec2(-140.0, 0.0));
        let narrow = vec2(120.0, 40.0);
        let (plate, is_free) = free_plate(
            card,
            narrow,
            &[card, card.translate(vec2(0.0, -130.0)), beside],
        );
        assert!(is_free && (plate.right() - card.right()).abs() < 0.1);
        let third = card.translate(vec2(0.0, -130.0));
        assert!(!free_plate(card, size, &[card, other, third]).1);
    }

    #[test]
    fn a_plate_says_one_problem_and_counts_the_others() {
        assert_eq!(summary(&["a.", "b.", "c."], 1.0), "a.\n2 more problems.");
        assert_eq!(summary(&["a."], 1.0), "a.");
        assert_eq!(summary(&["a.", "b."], 0.3), "2 problems");
    }
}
