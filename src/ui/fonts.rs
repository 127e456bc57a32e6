//! Inter in three weights, before egui's own fonts.

use std::sync::Arc;

use egui::{FontData, FontDefinitions, FontFamily, FontTweak};

const WEIGHTS: [(&str, &[u8]); 3] = [
    (
        "inter",
        include_bytes!("../../assets/fonts/Inter-Regular.ttf"),
    ),
    (
        "inter-medium",
        include_bytes!("../../assets/fonts/Inter-Medium.ttf"),
    ),
    (
        "inter-semibold",
        include_bytes!("../../assets/fonts/Inter-SemiBold.ttf"),
    ),
];

/// Make Inter the proportional font, and the families `medium` and `semibold` its heavier weights.
pub fn install(ctx: &egui::Context) {
    let mut fonts = FontDefinitions::default();
    // Hinted, the dot of a semibold i melts into its stem.
    let tweak = FontTweak {
        hinting: Some(false),
        ..FontTweak::default()
    };
    for (name, bytes) in WEIGHTS {
        fonts.font_data.insert(
            name.to_owned(),
            Arc::new(FontData::from_static(bytes).tweak(tweak.clone())),
        );
    }
    let fallbacks = fonts
        .families
        .get(&FontFamily::Proportional)
        .cloned()
        .unwrap_or_default();
    for (family, first) in [
        (FontFamily::Proportional, "inter"),
        (FontFamily::Name("medium".into()), "inter-medium"),
        (FontFamily::Name("semibold".into()), "inter-semibold"),
    ] {
        let names = std::iter::once(first.to_owned()).chain(fallbacks.iter().cloned());
        fonts.families.insert(family, names.collect());
    }
    ctx.set_fonts(fonts);
}
