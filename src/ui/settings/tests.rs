//! Every setting is told of, and its telling opens.

use std::collections::BTreeSet;

use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

use super::{Setting, operator_table, setting, table};
use crate::ui::{fonts, theme};

fn all() -> impl Iterator<Item = &'static Setting> {
    table::ALL.into_iter().chain(operator_table::ALL)
}

#[test]
fn each_setting_is_told_in_one_sentence_of_its_own() {
    let mut known = BTreeSet::new();
    for told in all() {
        let sentence = told.sentence;
        assert!(sentence.ends_with('.'), "{}: {sentence}", told.label);
        assert_eq!(
            sentence.matches(". ").count(),
            0,
            "{}: {sentence}",
            told.label
        );
        assert!(
            known.insert((told.label, told.key, sentence)),
            "{} is told twice",
            told.label
        );
    }
}

/// Where Flink's names are wrong, a class looks for them in vain.
#[test]
fn the_names_of_checkpointing_are_those_of_flink() {
    let key = |told: &Setting| told.key.unwrap_or_default();
    for (told, name) in [
        (&table::INTERVAL, "execution.checkpointing.interval"),
        (&table::MODE, "execution.checkpointing.mode"),
        (&table::TIMEOUT, "execution.checkpointing.timeout"),
        (&table::MIN_PAUSE, "execution.checkpointing.min-pause"),
        (
            &table::MAX_CONCURRENT,
            "execution.checkpointing.max-concurrent-checkpoints",
        ),
        (
            &table::TOLERABLE,
            "execution.checkpointing.tolerable-failed-checkpoints",
        ),
        (&table::RETAINED, "execution.checkpointing.num-retained"),
        (
            &table::RETENTION,
            "execution.checkpointing.externalized-checkpoint-retention",
        ),
        (
            &table::UNALIGNED,
            "execution.checkpointing.unaligned.enabled",
        ),
        (
            &table::ALIGNED_TIMEOUT,
            "execution.checkpointing.aligned-checkpoint-timeout",
        ),
        (&table::FAILOVER, "jobmanager.execution.failover-strategy"),
        (&table::SLOTS, "taskmanager.numberOfTaskSlots"),
    ] {
        assert_eq!(key(told), name);
    }
}

#[test]
fn a_click_on_a_label_opens_its_explanation() {
    for told in all() {
        let mut harness = Harness::builder()
            .with_size(egui::vec2(340.0, 300.0))
            .with_context_setup(|ctx| {
                fonts::install(ctx);
                theme::install(ctx, theme::ThemeKind::Dark, true);
            })
            .build_ui(|ui| {
                setting(ui, told, |_| ());
            });
        harness.run_steps(2);
        assert!(harness.query_by_label(told.sentence).is_none());
        harness
            .get_by_label(&format!("What is {}?", told.label))
            .click();
        harness.run_steps(3);
        assert!(
            harness.query_by_label(told.sentence).is_some(),
            "{}",
            told.label
        );
        assert!(
            harness.query_by_label(&told.key_line()).is_some(),
            "{}",
            told.label
        );
    }
}
