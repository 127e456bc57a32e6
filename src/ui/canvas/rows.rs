//! The rows of a card: what there is to see of a subtask's state.

use egui::Color32;

use crate::model::{
    Key, OperatorSpec, SinkKind, SourceKind, SourceSpec, StateEntry, StateKind, SubtaskId,
};
use crate::recording::sink_view::TableRow;

use super::super::explain::lost_state;
use super::super::figures::{entries_figure, rate, rule_name, value, window_span};
use super::super::theme::Theme;
use super::outside::is_transactional;
use super::pen::Pen;

/// How long a changed row stays tinted, in virtual time.
const TINT_US: u64 = 400_000;

/// One line of a card: a dot, a name, a figure.
pub struct RowText {
    pub dot: Option<Color32>,
    pub name: String,
    pub value: String,
    /// What a person should be warned of, after the name where there is room.
    pub warning: Option<String>,
    /// 0 ..= 1: how recently the figure changed.
    pub fresh: f32,
    /// It shows what is lost.
    pub is_gone: bool,
}

/// What the card of subtask `id` shows of its state.
#[must_use]
pub fn rows(pen: &Pen<'_>, id: SubtaskId) -> Vec<RowText> {
    let subtask = pen.scene.subtask(id);
    match &pen.scene.plan.subtask(id).operator {
        OperatorSpec::Source(spec) => {
            let offset = plain(pen.theme, "offset", subtask.offset.to_string());
            let is_gone = lost_state(pen.scene, id).is_some();
            vec![
                RowText { is_gone, ..offset },
                RowText {
                    dot: None,
                    name: source_line(spec),
                    value: rate(spec.rate_per_s),
                    fresh: 0.0,
                    warning: None,
                    is_gone: false,
                },
            ]
        }
        OperatorSpec::Map(_) => {
            let processed = subtask.processed.to_string();
            vec![plain(pen.theme, "processed", processed)]
        }
        OperatorSpec::KeyedSum(spec) if spec.ttl.is_none() => sums(pen, id),
        OperatorSpec::KeyedSum(_) | OperatorSpec::KeyedProcess(_) => entries(pen, id),
        OperatorSpec::RuleFilter => rules(pen, id),
        OperatorSpec::Window(_) => windows(pen, id),
        OperatorSpec::Sink(_) => collected(pen, id),
    }
}

/// What has left the job here. A two-phase commit sink tells what readers see from what they do not see yet; an upsert
/// sink shows its table, whose values may go back for a while after a restart.
fn collected(pen: &Pen<'_>, id: SubtaskId) -> Vec<RowText> {
    let subtask = pen.scene.subtask(id);
    let plan = pen.scene.plan.subtask(id);
    if let Some(table) = pen.scene.table_of(id) {
        let rows = table.rows.iter().map(|(key, row)| table_row(pen, key, row));
        return rows.collect();
    }
    let first = if is_transactional(&plan.operator) {
        let visible = subtask.sink.visible.to_string();
        let waiting = subtask.sink.waiting().to_string();
        vec![
            RowText {
                dot: Some(pen.theme.ok),
                ..plain(pen.theme, "visible", visible)
            },
            RowText {
                dot: Some(pen.theme.warn),
                ..plain(pen.theme, "uncommitted", waiting)
            },
        ]
    } else {
        let collected = subtask.collected.to_string();
        let buffered = is_buffering(&pen.scene.plan.subtask(id).operator).then(|| RowText {
            dot: Some(pen.theme.warn),
            ..plain(
                pen.theme,
                "in the buffer",
                subtask.sink.buffer.len().to_string(),
            )
        });
        let first = plain(pen.theme, "collected", collected);
        std::iter::once(first).chain(buffered).collect()
    };
    let latest = subtask.recent.back().map(|record| {
        let key = record.key.as_ref();
        let color = key.map(|key| pen.theme.key(pen.keys.index(key)));
        RowText {
            dot: color.or(Some(pen.theme.neutral)),
            name: key.map_or_else(|| "latest".to_owned(), ToString::to_string),
            value: value(record.value),
            fresh: 0.0,
            warning: None,
            is_gone: false,
        }
    });
    first.into_iter().chain(latest).collect()
}

/// A key of an upsert sink's table. While it is behind what readers have seen, it says where it was.
fn table_row(pen: &Pen<'_>, key: &Key, row: &TableRow) -> RowText {
    let was = row.back_from.map(|before| format!("was {}", value(before)));
    RowText {
        dot: Some(pen.theme.key(pen.keys.index(key))),
        name: key.to_string(),
        value: value(row.value),
        warning: was,
        fresh: freshness(pen, Some(row.written_us)),
        is_gone: false,
    }
}

fn is_buffering(operator: &OperatorSpec) -> bool {
    matches!(operator, OperatorSpec::Sink(spec) if matches!(spec.kind, SinkKind::Buffering { .. }))
}

fn plain(theme: &Theme, name: &str, value: String) -> RowText {
    RowText {
        dot: Some(theme.neutral),
        name: name.to_owned(),
        value,
        fresh: 0.0,
        warning: None,
        is_gone: false,
    }
}

fn sums(pen: &Pen<'_>, id: SubtaskId) -> Vec<RowText> {
    let subtask = pen.scene.subtask(id);
    let is_gone = lost_state(pen.scene, id).is_some();
    let row = |(key, row): (&Key, &crate::recording::view::Row)| RowText {
        dot: Some(pen.theme.key(pen.keys.index(key))),
        name: key.to_string(),
        value: value(row.value),
        fresh: if is_gone {
            0.0
        } else {
            freshness(pen, row.changed_us)
        },
        warning: None,
        is_gone,
    };
    subtask.rows.iter().map(row).collect()
}

/// One row per key. What has expired and is not cleaned up yet is told apart.
fn entries(pen: &Pen<'_>, id: SubtaskId) -> Vec<RowText> {
    let subtask = pen.scene.subtask(id);
    let operator = &pen.scene.plan.subtask(id).operator;
    let kind = operator.entries_kind().unwrap_or(StateKind::Value);
    let now_ms = pen.scene.view.processing_time_ms();
    let is_lost = lost_state(pen.scene, id).is_some();
    let rows = subtask.entries.iter().map(|(key, row)| {
        let is_expired = |entry: &StateEntry| entry.is_expired(operator.ttl(), now_ms);
        let has_expired = row.entries.iter().all(is_expired);
        let is_gone = is_lost || has_expired;
        let fresh = freshness(pen, row.changed_us);
        RowText {
            dot: Some(pen.theme.key(pen.keys.index(key))),
            name: key.to_string(),
            value: entries_figure(kind, &row.entries),
            warning: (has_expired && !is_lost).then(|| "expired".to_owned()),
            fresh: if is_gone { 0.0 } else { fresh },
            is_gone,
        }
    });
    rows.collect()
}

/// One row per rule, and how many records were against them.
fn rules(pen: &Pen<'_>, id: SubtaskId) -> Vec<RowText> {
    let subtask = pen.scene.subtask(id);
    let is_gone = lost_state(pen.scene, id).is_some();
    let filtered = plain(pen.theme, "left out", subtask.filtered.to_string());
    let rules = subtask.rules.values().map(|rule| RowText {
        dot: Some(pen.theme.neutral),
        name: rule_name(rule),
        value: format!("≥ {}", value(rule.value)),
        warning: None,
        fresh: 0.0,
        is_gone,
    });
    std::iter::once(filtered).chain(rules).collect()
}

/// One row per key and window that has not fired, and how many records came too late.
fn windows(pen: &Pen<'_>, id: SubtaskId) -> Vec<RowText> {
    let subtask = pen.scene.subtask(id);
    let is_gone = lost_state(pen.scene, id).is_some();
    let open = subtask.windows.iter().map(|((window, key), row)| RowText {
        dot: Some(pen.theme.key(pen.keys.index(key))),
        name: format!("{key} · {}", window_span(*window)),
        value: value(row.value),
        fresh: if is_gone {
            0.0
        } else {
            freshness(pen, row.changed_us)
        },
        warning: None,
        is_gone,
    });
    let late = (subtask.late > 0).then(|| RowText {
        dot: Some(pen.theme.warn),
        name: "came too late".to_owned(),
        value: subtask.late.to_string(),
        fresh: 0.0,
        warning: None,
        is_gone: false,
    });
    late.into_iter().chain(open).collect()
}

fn freshness(pen: &Pen<'_>, changed_us: Option<u64>) -> f32 {
    let Some(age_us) = changed_us.map(|changed_us| pen.scene.clock_us.saturating_sub(changed_us))
    else {
        return 0.0;
    };
    match age_us {
        age_us if age_us >= TINT_US => 0.0,
        _ if pen.reduced_motion => 1.0,
        age_us => 1.0 - age_us as f32 / TINT_US as f32,
    }
}

/// What a source reads.
#[must_use]
pub fn source_line(spec: &SourceSpec) -> String {
    match &spec.kind {
        SourceKind::Sequence => match spec.end {
            None => "1, 2, 3 …".to_owned(),
            Some(end) => format!("1, 2 … {end}"),
        },
        SourceKind::Csv(csv) => csv.path.file_name().map_or_else(
            || "no file".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        ),
    }
}
