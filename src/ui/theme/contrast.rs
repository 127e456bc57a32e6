//! How well one colour can be read on another (WCAG 2).

use egui::Color32;

/// The contrast ratio of two opaque colours, 1 ..= 21. Text needs at least 4.5.
#[must_use]
pub fn contrast_ratio(a: Color32, b: Color32) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn luminance(color: Color32) -> f64 {
    let linear = |channel: u8| {
        let value = f64::from(channel) / 255.0;
        if value <= 0.040_45 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * linear(color.r()) + 0.7152 * linear(color.g()) + 0.0722 * linear(color.b())
}

#[cfg(test)]
mod tests {
    use super::super::{Theme, ThemeKind};
    use super::*;

    const AA: f64 = 4.5;

    fn themes() -> [&'static Theme; 3] {
        [ThemeKind::Dark, ThemeKind::Light, ThemeKind::HighContrast].map(Theme::get)
    }

    fn assert_legible(theme: &Theme, what: &str, text: Color32, ground: Color32) {
        let ratio = contrast_ratio(text, ground);
        assert!(
            ratio >= AA,
            "{:?}: {what} has only {ratio:.2} : 1",
            theme.kind
        );
    }

    #[test]
    fn black_on_white_is_21_to_1() {
        assert!((contrast_ratio(Color32::BLACK, Color32::WHITE) - 21.0).abs() < 1e-9);
    }

    #[test]
    fn text_is_legible_on_every_ground() {
        for theme in themes() {
            for (name, ground) in [
                ("ground", theme.ground),
                ("panel", theme.panel),
                ("card", theme.card),
                ("hovered card", theme.card_hover),
                ("inset", theme.inset),
            ] {
                for (what, text) in [
                    ("text", theme.text),
                    ("soft text", theme.text_soft),
                    ("dim text", theme.dim),
                    ("accent", theme.accent),
                    ("ok", theme.ok),
                    ("warning", theme.warn),
                    ("error", theme.error),
                ] {
                    assert_legible(theme, &format!("{what} on {name}"), text, ground);
                }
                for (i, text) in theme.checkpoint_texts.into_iter().enumerate() {
                    assert_legible(
                        theme,
                        &format!("checkpoint {} on {name}", i + 1),
                        text,
                        ground,
                    );
                }
            }
        }
    }

    #[test]
    fn text_is_legible_on_buttons_and_bright_fills() {
        for theme in themes() {
            assert_legible(theme, "main action", theme.action_text, theme.action);
            assert_legible(theme, "chosen button", theme.text, theme.chosen);
            assert_legible(theme, "danger", theme.danger_text, theme.danger);
            for fill in theme.checkpoints.into_iter().chain(theme.keys) {
                assert_legible(theme, "ink on a token", theme.ink, fill);
            }
        }
    }

    /// A changed row is tinted with its key's colour: its text must stay legible at the strongest tint.
    #[test]
    fn text_is_legible_on_tinted_rows() {
        for theme in themes() {
            for key in theme.keys {
                let tinted = theme.card.lerp_to_gamma(key, crate::ui::paint::TINT_ALPHA);
                assert_legible(theme, "text on a tinted row", theme.text, tinted);
            }
        }
    }

    #[test]
    fn no_key_looks_like_a_checkpoint() {
        let distance = |a: Color32, b: Color32| {
            let d = |x: u8, y: u8| (i32::from(x) - i32::from(y)).pow(2);
            d(a.r(), b.r()) + d(a.g(), b.g()) + d(a.b(), b.b())
        };
        for theme in themes() {
            for key in theme.keys {
                for checkpoint in theme.checkpoints {
                    assert!(
                        distance(key, checkpoint) > 40 * 40,
                        "{:?}: {key:?} is near {checkpoint:?}",
                        theme.kind
                    );
                }
            }
        }
    }
}
