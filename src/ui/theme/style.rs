//! egui's own style, made from a table.

use std::collections::BTreeMap;

use egui::style::{Selection, WidgetVisuals, Widgets};
use egui::{CornerRadius, Margin, Shadow, Stroke, TextStyle, Visuals, vec2};

use super::{Theme, ThemeKind, kind_id, regular, semibold, size};

/// Make `kind` the theme of everything drawn from now on.
pub fn install(ctx: &egui::Context, kind: ThemeKind, reduced_motion: bool) {
    let theme = Theme::get(kind);
    ctx.data_mut(|data| data.insert_temp(kind_id(), kind));
    let base = if theme.is_dark() {
        egui::Theme::Dark
    } else {
        egui::Theme::Light
    };
    ctx.set_theme(base);
    ctx.style_mut_of(base, |style| {
        style.visuals = visuals(theme);
        style.text_styles = text_styles();
        style.animation_time = if reduced_motion { 0.0 } else { 0.1 };
        style.url_in_tooltip = true;
        let spacing = &mut style.spacing;
        spacing.item_spacing = vec2(8.0, 8.0);
        spacing.button_padding = vec2(12.0, 4.0);
        spacing.interact_size = vec2(40.0, 28.0);
        spacing.menu_margin = Margin::same(6);
        spacing.window_margin = Margin::same(16);
        spacing.combo_width = 96.0;
        spacing.tooltip_width = 320.0;
    });
}

fn text_styles() -> BTreeMap<TextStyle, egui::FontId> {
    [
        (TextStyle::Heading, semibold(size::TITLE)),
        (TextStyle::Body, regular(size::BODY)),
        (TextStyle::Button, regular(size::BODY)),
        (TextStyle::Small, regular(size::SECONDARY)),
        (TextStyle::Monospace, egui::FontId::monospace(12.0)),
    ]
    .into()
}

fn visuals(theme: &Theme) -> Visuals {
    let mut visuals = if theme.is_dark() {
        Visuals::dark()
    } else {
        Visuals::light()
    };
    visuals.widgets = widgets(theme);
    visuals.selection = Selection {
        bg_fill: theme.chosen,
        stroke: Stroke::new(1.0, theme.text),
    };
    visuals.hyperlink_color = theme.accent;
    visuals.faint_bg_color = theme.card;
    visuals.extreme_bg_color = theme.inset;
    visuals.code_bg_color = theme.inset;
    visuals.warn_fg_color = theme.warn;
    visuals.error_fg_color = theme.error;
    visuals.weak_text_color = Some(theme.dim);
    visuals.panel_fill = theme.panel;
    visuals.window_fill = theme.panel;
    visuals.window_stroke = Stroke::new(1.0, theme.line);
    visuals.window_corner_radius = CornerRadius::same(10);
    visuals.menu_corner_radius = CornerRadius::same(8);
    visuals.window_shadow = shadow(theme, 24);
    visuals.popup_shadow = shadow(theme, 16);
    visuals.slider_trailing_fill = true;
    visuals.handle_shape = egui::style::HandleShape::Circle;
    visuals
}

fn shadow(theme: &Theme, blur: u8) -> Shadow {
    Shadow {
        offset: [0, 6],
        blur,
        spread: 0,
        color: theme.shadow,
    }
}

fn widgets(theme: &Theme) -> Widgets {
    let visuals = |fill, stroke, text| WidgetVisuals {
        bg_fill: fill,
        weak_bg_fill: fill,
        bg_stroke: Stroke::new(1.0, stroke),
        corner_radius: CornerRadius::same(6),
        fg_stroke: Stroke::new(1.0, text),
        expansion: 0.0,
    };
    Widgets {
        noninteractive: visuals(theme.panel, theme.line, theme.text),
        inactive: visuals(theme.card, theme.line, theme.text),
        hovered: visuals(theme.card_hover, theme.line_strong, theme.text),
        active: visuals(theme.chosen, theme.accent, theme.text),
        open: visuals(theme.card_hover, theme.line_strong, theme.text),
    }
}
