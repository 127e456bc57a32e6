//! A job's settings as rows: a label, a control, and on request one sentence, Flink's name for it, and where popular
//! articles tell it otherwise.
//!
//! What is said of each is in [`table`] and [`operator_table`]; here is how it looks.

pub mod controls;
pub mod operator_table;
pub mod table;

use egui::{CollapsingHeader, Id, RichText, Role, Sense, Ui, WidgetInfo, vec2};

use crate::model::validate::{Hint, Site};

use super::paint::text_in;
use super::theme::{Theme, medium, regular, size};
use super::widgets::{sentence, small_print};

/// Room for the label, left of the control.
const LABEL_WIDTH: f32 = 122.0;
/// How far the small print of a row is set in.
const INSET: f32 = 10.0;
const SUMMARY_INSET: f32 = 10.0;

/// What is told of one setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    pub label: &'static str,
    /// Flink's name for it; none: this program's own.
    pub key: Option<&'static str>,
    /// Its older names, as far as articles use them.
    pub old: Option<&'static str>,
    pub sentence: &'static str,
    /// Where Flink does otherwise than popular articles say, or this program otherwise than Flink.
    pub but: Option<&'static str>,
}

impl Setting {
    /// One that Flink calls `key`.
    #[must_use]
    pub const fn flink(label: &'static str, key: &'static str, sentence: &'static str) -> Self {
        Self {
            label,
            key: Some(key),
            old: None,
            sentence,
            but: None,
        }
    }

    /// One that only this program has.
    #[must_use]
    pub const fn own(label: &'static str, sentence: &'static str) -> Self {
        Self {
            label,
            key: None,
            old: None,
            sentence,
            but: None,
        }
    }

    #[must_use]
    pub const fn formerly(self, old: &'static str) -> Self {
        Self {
            old: Some(old),
            ..self
        }
    }

    #[must_use]
    pub const fn but(self, but: &'static str) -> Self {
        Self {
            but: Some(but),
            ..self
        }
    }

    /// What the key line says.
    #[must_use]
    pub fn key_line(&self) -> String {
        match (self.key, self.old) {
            (Some(key), Some(old)) => format!("{key} (formerly {old})"),
            (Some(key), None) => key.to_owned(),
            (None, _) => "Lockgate’s own, not Flink’s".to_owned(),
        }
    }

    fn explain_ui(&self, ui: &mut Ui) {
        let theme = Theme::of(ui.ctx());
        sentence(ui, self.sentence, theme.text_soft);
        let key = RichText::new(self.key_line()).font(medium(size::SECONDARY));
        ui.add(egui::Label::new(key.color(theme.accent)).wrap());
        if let Some(but) = self.but {
            small_print(ui, but);
        }
    }
}

/// One setting: its label (which explains it on a click, or while the pointer rests on it) and its control.
pub fn setting<R>(ui: &mut Ui, setting: &Setting, control: impl FnOnce(&mut Ui) -> R) -> R {
    let id = Id::unique(("explained", setting.label, setting.key));
    let is_open: bool = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    let inner = ui.horizontal(|ui| {
        if label_ui(ui, setting, is_open) {
            ui.data_mut(|data| data.insert_temp(id, !is_open));
        }
        ui.name_inputs(setting.label, control)
    });
    if is_open || explains_all(ui) {
        inset(ui, |ui| setting.explain_ui(ui));
    }
    inner.inner
}

/// Returns whether it was clicked.
fn label_ui(ui: &mut Ui, setting: &Setting, is_open: bool) -> bool {
    let theme = Theme::of(ui.ctx());
    let (slot, response) = ui.allocate_exact_size(vec2(LABEL_WIDTH, 26.0), Sense::click());
    let name = format!("What is {}?", setting.label);
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_open, &name));
    let is_live = response.hovered() || response.has_focus() || is_open;
    let color = if is_live { theme.text } else { theme.text_soft };
    text_in(
        ui.painter(),
        slot,
        egui::Align::Min,
        setting.label,
        regular(12.5),
        color,
    );
    let clicked = response.clicked();
    if !is_open && !explains_all(ui) {
        response.on_hover_ui(|ui| setting.explain_ui(ui));
    }
    clicked
}

/// Below a row, and set in: what holds of the value just chosen.
pub fn remark(ui: &mut Ui, text: &str) {
    inset(ui, |ui| small_print(ui, text));
}

/// The same for a value that does nothing or keeps the job from running.
pub fn warning(ui: &mut Ui, text: &str) {
    let color = Theme::of(ui.ctx()).warn;
    inset(ui, |ui| sentence(ui, text, color));
}

/// Below the row of the setting `field` of the part `site`: what to consider about it.
pub fn advice_ui(ui: &mut Ui, hints: &[Hint], site: &Site, field: &str) {
    for hint in hints {
        if hint.site == *site && hint.field == field {
            warning(ui, &hint.message);
        }
    }
}

fn inset(ui: &mut Ui, content: impl FnOnce(&mut Ui)) {
    ui.horizontal(|ui| {
        ui.add_space(INSET);
        ui.vertical(|ui| {
            ui.spacing_mut().item_spacing.y = 2.0;
            content(ui);
        });
    });
}

fn explain_id() -> Id {
    Id::unique("explain all settings")
}

fn explains_all(ui: &Ui) -> bool {
    ui.data(|data| data.get_temp(explain_id()))
        .unwrap_or_default()
}

/// The switch that opens all explanations at once.
pub fn explain_switch_ui(ui: &mut Ui) {
    let mut on = explains_all(ui);
    let words = RichText::new("Explain every setting").font(regular(12.0));
    if ui.checkbox(&mut on, words).changed() {
        ui.data_mut(|data| data.insert_temp(explain_id(), on));
    }
}

/// A group of settings; folded up, `summary` says what it comes to.
pub fn group(ui: &mut Ui, title: &str, summary: &str, content: impl FnOnce(&mut Ui)) {
    advised_group(ui, title, (summary, &[]), content);
}

/// The same with advice, which is also seen while the group is folded up.
pub fn advised_group(
    ui: &mut Ui,
    title: &str,
    (summary, advice): (&str, &[&Hint]),
    content: impl FnOnce(&mut Ui),
) {
    let theme = Theme::of(ui.ctx());
    ui.add_space(6.0);
    let header = RichText::new(title).font(medium(13.0)).color(theme.text);
    let group = CollapsingHeader::new(header).id_salt(("group", title));
    let shown = group.show_unindented(ui, |ui| {
        ui.add_space(2.0);
        content(ui);
    });
    if shown.body_returned.is_none() && !summary.is_empty() {
        // Below the title's first letter.
        ui.add_space(-4.0);
        ui.horizontal(|ui| {
            ui.add_space(SUMMARY_INSET);
            ui.vertical(|ui| {
                small_print(ui, summary);
                for hint in advice {
                    sentence(ui, &hint.message, theme.warn);
                }
            });
        });
    }
}

#[cfg(test)]
mod tests;
