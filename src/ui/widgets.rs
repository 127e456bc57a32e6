//! The window's own buttons, rows and headings, so that they look and are named the same everywhere.

use egui::{
    Align, Align2, Color32, FontId, Painter, Rect, Response, RichText, Role, Sense, Stroke, Ui,
    WidgetInfo, pos2, vec2,
};

use super::icons::{Icon, paint_icon};
use super::paint::{elided, filled, framed, text_in};
use super::theme::{Theme, ThemeKind, medium, regular, semibold, size, space};

pub const BUTTON_HEIGHT: f32 = 32.0;

/// How a button stands out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Emphasis {
    #[default]
    Plain,
    Main,
    Danger,
    /// Pressed in.
    Chosen,
}

impl Emphasis {
    fn colors(self, theme: &Theme) -> (Color32, Color32) {
        match self {
            Self::Plain => (theme.card, theme.text),
            Self::Main => (theme.action, theme.action_text),
            Self::Danger => (theme.danger, theme.danger_text),
            Self::Chosen => (theme.chosen, theme.text),
        }
    }
}

/// A button of the top bar: icon, words, and the key that does the same.
#[derive(Clone, Copy, Default)]
pub struct ActionButton<'a> {
    pub text: &'a str,
    /// For screen readers and tests; `text` if none.
    pub label: Option<&'a str>,
    pub icon: Option<Icon>,
    pub key: Option<&'a str>,
    pub emphasis: Emphasis,
    pub is_disabled: bool,
}

impl ActionButton<'_> {
    pub fn ui(self, ui: &mut Ui) -> Response {
        let theme = Theme::of(ui.ctx());
        let font = semibold(size::BODY);
        let words = ui
            .painter()
            .layout_no_wrap(self.text.to_owned(), font.clone(), Color32::PLACEHOLDER)
            .size()
            .x;
        let icon_width = if self.icon.is_some() { 20.0 } else { 0.0 };
        let key_width = if self.key.is_some() { 30.0 } else { 0.0 };
        let padding = if self.text.is_empty() { 2.0 } else { 12.0 };
        let width = (padding * 2.0 + words + icon_width + key_width
            - if self.key.is_some() { 4.0 } else { 0.0 })
        .max(26.0);
        let sense = if self.is_disabled {
            Sense::hover()
        } else {
            Sense::click()
        };
        let (rect, response) = ui.allocate_exact_size(vec2(width, BUTTON_HEIGHT), sense);
        let label = self.label.unwrap_or(self.text);
        response.widget_info(|| WidgetInfo::labeled(Role::Button, !self.is_disabled, label));
        let (fill, ink) = self.emphasis.colors(theme);
        let painter = button_painter(ui, self.is_disabled);
        button_ground(&painter, theme, rect, fill, &response);
        let mut x = rect.left() + padding;
        if let Some(icon) = self.icon {
            let center = pos2(
                if self.text.is_empty() {
                    rect.center().x
                } else {
                    x + 5.0
                },
                rect.center().y,
            );
            paint_icon(&painter, theme, icon, center, ink);
            x += icon_width;
        }
        painter.text(
            pos2(x, rect.center().y),
            Align2::LEFT_CENTER,
            self.text,
            font,
            ink,
        );
        if let Some(key) = self.key {
            key_cap(
                &painter,
                theme,
                pos2(rect.right() - 17.0, rect.center().y),
                key,
            );
        }
        response
    }
}

/// Disabled things are drawn at less than half their strength.
fn button_painter(ui: &Ui, is_disabled: bool) -> Painter {
    let mut painter = ui.painter().clone();
    if is_disabled {
        painter.multiply_opacity(0.42);
    }
    painter
}

fn button_ground(painter: &Painter, theme: &Theme, rect: Rect, fill: Color32, response: &Response) {
    let is_live = response.hovered() || response.is_pointer_button_down_on();
    let fill = match (is_live, fill == theme.card) {
        (false, _) => fill,
        (true, true) => theme.card_hover,
        (true, false) => fill.lerp_to_gamma(theme.text, 0.08),
    };
    let line = if response.has_focus() {
        Stroke::new(2.0, theme.accent)
    } else {
        plate_line(theme)
    };
    framed(painter, rect, 7.0, fill, line);
}

pub fn key_cap(painter: &Painter, theme: &Theme, center: egui::Pos2, key: &str) {
    let rect = Rect::from_center_size(center, vec2(18.0, 18.0));
    framed(
        painter,
        rect,
        4.0,
        theme.inset,
        Stroke::new(1.0, theme.line),
    );
    painter.text(
        rect.center(),
        Align2::CENTER_CENTER,
        key,
        semibold(size::SMALLEST),
        theme.dim,
    );
}

/// A square button of the transport.
pub fn icon_button(
    ui: &mut Ui,
    icon: Icon,
    label: &str,
    is_enabled: bool,
    emphasis: Emphasis,
) -> Response {
    let theme = Theme::of(ui.ctx());
    let sense = if is_enabled {
        Sense::click()
    } else {
        Sense::hover()
    };
    let (rect, response) = ui.allocate_exact_size(vec2(38.0, BUTTON_HEIGHT), sense);
    response.widget_info(|| WidgetInfo::labeled(Role::Button, is_enabled, label));
    let (fill, ink) = emphasis.colors(theme);
    let painter = button_painter(ui, !is_enabled);
    button_ground(&painter, theme, rect, fill, &response);
    paint_icon(&painter, theme, icon, rect.center(), ink);
    response
}

/// A heading between groups of rows.
pub fn section(ui: &mut Ui, title: &str) {
    ui.add_space(14.0);
    let theme = Theme::of(ui.ctx());
    ui.label(RichText::new(title).font(semibold(12.0)).color(theme.dim));
}

pub fn title(ui: &mut Ui, text: &str) {
    ui.add(egui::Label::new(RichText::new(text).font(semibold(size::TITLE))).wrap());
}

pub fn sentence(ui: &mut Ui, text: &str, color: Color32) {
    ui.add(egui::Label::new(RichText::new(text).font(regular(12.5)).color(color)).wrap());
}

/// The outline of plates: none where the fill alone tells them from the panel.
#[must_use]
pub fn plate_line(theme: &Theme) -> Stroke {
    match theme.kind {
        ThemeKind::Dark => Stroke::NONE,
        ThemeKind::Light | ThemeKind::HighContrast => Stroke::new(1.0, theme.line),
    }
}

/// A row on a plate: something at the left (painted by `lead` in its slot), a name, a figure at the right.
pub struct PlateRow<'a> {
    pub name: &'a str,
    pub detail: &'a str,
    pub height: f32,
    pub is_clickable: bool,
}

impl PlateRow<'_> {
    pub fn ui(self, ui: &mut Ui, lead: impl FnOnce(&Painter, egui::Pos2)) -> Response {
        self.ui_beside(ui, 0.0, lead)
    }

    /// The same beside a lead of `width`, which gets the room it needs.
    pub fn ui_beside(
        self,
        ui: &mut Ui,
        width: f32,
        lead: impl FnOnce(&Painter, egui::Pos2),
    ) -> Response {
        let theme = Theme::of(ui.ctx());
        let sense = if self.is_clickable {
            Sense::click()
        } else {
            Sense::hover()
        };
        let (rect, response) =
            ui.allocate_exact_size(vec2(ui.available_width(), self.height), sense);
        let is_live = self.is_clickable && (response.hovered() || response.has_focus());
        filled(
            ui.painter(),
            rect,
            space::RADIUS_SMALL,
            if is_live {
                theme.card_hover
            } else {
                theme.card
            },
        );
        framed(
            ui.painter(),
            rect,
            space::RADIUS_SMALL,
            Color32::TRANSPARENT,
            plate_line(theme),
        );
        let middle = (8.0 + width / 2.0).max(17.0);
        lead(ui.painter(), pos2(rect.left() + middle, rect.center().y));
        let start = (middle + width / 2.0 + 8.0).max(36.0);
        let inner = Rect::from_min_max(rect.min + vec2(start, 0.0), rect.max - vec2(12.0, 0.0));
        let used = text_in(
            ui.painter(),
            inner,
            Align::Max,
            self.detail,
            regular(size::SECONDARY),
            theme.dim,
        );
        let room = Rect::from_min_max(inner.min, pos2(used.left() - 8.0, inner.bottom()));
        text_in(
            ui.painter(),
            room,
            Align::Min,
            self.name,
            semibold(size::BODY),
            theme.text,
        );
        let label = format!("{} {}", self.name, self.detail);
        let role = if self.is_clickable {
            Role::Button
        } else {
            Role::Label
        };
        response.widget_info(|| WidgetInfo::labeled(role, true, &label));
        response
    }
}

/// A labelled input: the label in a column of its own, the input filling the rest.
pub fn field<R>(ui: &mut Ui, label: &str, input: impl FnOnce(&mut Ui) -> R) -> R {
    let theme = Theme::of(ui.ctx());
    ui.horizontal(|ui| {
        let (slot, _) = ui.allocate_exact_size(vec2(116.0, 28.0), Sense::hover());
        text_in(
            ui.painter(),
            slot,
            Align::Min,
            label,
            regular(12.5),
            theme.text_soft,
        );
        ui.name_inputs(label.to_owned(), input)
    })
    .inner
}

/// Secondary figures in one line: a dim name and a plain value.
pub fn figure(ui: &mut Ui, name: &str, value: &str) {
    let theme = Theme::of(ui.ctx());
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 22.0), Sense::hover());
    // A long value leaves the name what it needs, up to two fifths.
    let named = elided(
        ui.painter(),
        name,
        regular(12.5),
        theme.dim,
        rect.width() * 0.4,
    );
    let told = rect.with_min_x(rect.left() + named.size().x + 8.0);
    let used = text_in(
        ui.painter(),
        told,
        Align::Max,
        value,
        medium(12.5),
        theme.text,
    );
    let room = rect.with_max_x(used.left() - 8.0);
    text_in(
        ui.painter(),
        room,
        Align::Min,
        name,
        regular(12.5),
        theme.dim,
    );
    let is_cut = used.width() > told.width() - 1.0;
    let label = format!("{name}: {value}");
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &label));
    if is_cut {
        response.on_hover_text(label);
    }
}

/// Small print.
pub fn small_print(ui: &mut Ui, text: &str) {
    let theme = Theme::of(ui.ctx());
    ui.add(
        egui::Label::new(
            RichText::new(text)
                .font(regular(size::SECONDARY))
                .color(theme.dim),
        )
        .wrap(),
    );
}

/// A flat text button, for tabs.
pub fn tab_button(ui: &mut Ui, text: &str, is_current: bool) -> Response {
    let theme = Theme::of(ui.ctx());
    let font: FontId = if is_current {
        semibold(size::BODY)
    } else {
        medium(size::BODY)
    };
    let color = if is_current { theme.text } else { theme.dim };
    let galley = ui.painter().layout_no_wrap(text.to_owned(), font, color);
    let (rect, response) = ui.allocate_exact_size(galley.size() + vec2(4.0, 18.0), Sense::click());
    response.widget_info(|| WidgetInfo::selected(Role::Tab, true, is_current, text));
    let color = if response.hovered() || response.has_focus() {
        theme.text
    } else {
        color
    };
    let at = pos2(rect.left() + 2.0, rect.center().y - galley.size().y / 2.0);
    ui.painter()
        .galley_with_override_text_color(at, galley, color);
    if is_current {
        let y = rect.bottom() - 1.0;
        ui.painter()
            .hline(rect.x_range(), y, Stroke::new(2.0, theme.accent));
    }
    response
}
