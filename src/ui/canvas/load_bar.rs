//! How a subtask has spent its time, along its card's lower edge.

use egui::{Rect, pos2};

use crate::model::SubtaskId;
use crate::recording::load::Load;

use super::super::paint::filled;
use super::pen::Pen;

/// Along the card's lower edge: the shares of its time in which it was busy, held up, idle.
pub fn load_bar(pen: &Pen<'_>, id: SubtaskId, rect: Rect) {
    let load = pen.scene.load(id);
    if load.total_us() == 0 {
        return;
    }
    let z = pen.zoom();
    let inset = 10.0 * z;
    let bar = Rect::from_min_max(
        pos2(rect.left() + inset, rect.bottom() - 4.0 * z),
        pos2(rect.right() - inset, rect.bottom() - 1.5 * z),
    );
    filled(pen.painter, bar, 1.0, pen.theme.line);
    let mut x = bar.left();
    let shares = load_shares(load);
    for (share, color) in shares.into_iter().zip([pen.theme.ok, pen.theme.warn]) {
        let width = bar.width() * share;
        let part = Rect::from_min_max(pos2(x, bar.top()), pos2(x + width, bar.bottom()));
        filled(pen.painter, part, 1.0, color);
        x += width;
    }
}

/// The shares of its time in which it was busy and held up; the rest it was idle.
fn load_shares(load: Load) -> [f32; 2] {
    let total = load.total_us().max(1) as f64;
    [load.busy_us, load.backpressured_us].map(|us| (us as f64 / total) as f32)
}

/// `busy 50 %, backpressured 25 %`
#[must_use]
pub fn load_words(load: Load) -> String {
    let [busy, held_up] = load_shares(load).map(|share| share * 100.0);
    format!("busy {busy:.0} %, backpressured {held_up:.0} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_has_the_shares_of_the_time() {
        let load = Load {
            busy_us: 50,
            backpressured_us: 25,
            idle_us: 125,
        };
        assert!(load_shares(load).into_iter().eq([0.25, 0.125]));
        assert_eq!(load_words(load), "busy 25 %, backpressured 12 %");
        assert!(load_shares(Load::default()).into_iter().eq([0.0, 0.0]));
    }
}
