//! A sink: what readers see of it, and, apart from that, what they do not see yet.

use egui::Ui;

use crate::model::{Record, SubtaskId};
use crate::recording::sink_view::{TableView, TransactionView};

use super::super::canvas::is_transactional;
use super::super::figures::{count, seconds, value};
use super::super::paint::{dashed_frame, dot, framed};
use super::super::theme::Theme;
use super::super::widgets::{PlateRow, figure, section, sentence, small_print};
use super::{RunInspector, state};

/// At most so many records are listed.
const MAX_LISTED: usize = 8;

pub fn sink_ui(ui: &mut Ui, inspector: &RunInspector<'_>, id: SubtaskId) {
    let scene = inspector.scene;
    let subtask = scene.subtask(id);
    figure(ui, "Collected", &subtask.collected.to_string());
    if let Some(table) = scene.table_of(id) {
        table_ui(ui, inspector, table);
        return;
    }
    let is_transactional = is_transactional(&scene.plan.subtask(id).operator);
    if is_transactional {
        figure(
            ui,
            "Transactions committed",
            &subtask.sink.committed.to_string(),
        );
        figure(
            ui,
            "Transactions aborted",
            &subtask.sink.aborted.to_string(),
        );
        uncommitted_ui(ui, inspector, id);
        section(
            ui,
            &format!("Visible to readers · {}", subtask.sink.visible),
        );
    }
    state::buffer_ui(ui, scene, id);
    let latest = subtask.recent.iter().rev().take(MAX_LISTED);
    for record in latest {
        let (name, detail) = record_words(inspector, record);
        figure(ui, &name, &detail);
    }
    if is_transactional && subtask.recent.is_empty() {
        small_print(ui, "Nothing yet: the first commit comes with a checkpoint.");
    }
}

fn record_words(inspector: &RunInspector<'_>, record: &Record) -> (String, String) {
    let key = record.key.as_ref();
    let key = key.map_or_else(|| "value".to_owned(), ToString::to_string);
    let name = format!("{key} · {}", inspector.scene.origin_name(record));
    (name, value(record.value))
}

/// What a two-phase commit sink has written and not committed, newest first.
fn uncommitted_ui(ui: &mut Ui, inspector: &RunInspector<'_>, id: SubtaskId) {
    let sink = &inspector.scene.subtask(id).sink;
    section(ui, &format!("Not visible yet · {}", sink.waiting()));
    if sink.uncommitted.is_empty() {
        small_print(ui, "No transaction is open.");
    }
    for transaction in sink.uncommitted.iter().rev() {
        transaction_ui(ui, transaction);
        for record in transaction.records.iter().rev().take(MAX_LISTED) {
            let (name, detail) = record_words(inspector, record);
            ui.scope(|ui| {
                ui.set_opacity(0.8);
                figure(ui, &name, &detail);
            });
        }
        let hidden = transaction.records.len().saturating_sub(MAX_LISTED);
        if hidden > 0 {
            small_print(ui, &format!("and {hidden} more"));
        }
    }
    small_print(
        ui,
        "A pre-committed transaction is committed once its checkpoint, or a later one, is complete.",
    );
}

fn transaction_ui(ui: &mut Ui, transaction: &TransactionView) {
    let theme = Theme::of(ui.ctx());
    let records = count(transaction.records.len() as u64, "record");
    let detail = match transaction.pre_committed {
        Some(checkpoint) => format!("pre-committed for {checkpoint} · {records}"),
        None => format!("open · {records}"),
    };
    let name = transaction.id.to_string();
    let plate = PlateRow {
        name: &name,
        detail: &detail,
        height: 28.0,
        is_clickable: false,
    };
    let response = plate.ui(ui, |painter, at| {
        let rect = egui::Rect::from_center_size(at, egui::vec2(14.0, 12.0));
        match transaction.pre_committed {
            Some(checkpoint) => {
                let stroke = egui::Stroke::new(2.0, theme.checkpoint(checkpoint));
                framed(painter, rect, 2.0, theme.card, stroke);
            }
            None => dashed_frame(painter, rect, 2.0, egui::Stroke::new(1.0, theme.dim)),
        }
    });
    let times = format!(
        "Begun at {}; the outside system aborts it at {} (modelled).",
        seconds(transaction.begun_us),
        seconds(transaction.timeout_us)
    );
    response.on_hover_text(times);
}

/// The newest value of each key, and whether readers have seen a newer one.
fn table_ui(ui: &mut Ui, inspector: &RunInspector<'_>, table: &TableView) {
    let theme = Theme::of(ui.ctx());
    figure(ui, "Writes", &table.writes.to_string());
    figure(ui, "Writes repeated", &table.overwrites.to_string());
    figure(ui, "Values that went back", &table.went_back.to_string());
    section(ui, "The table, as readers see it");
    for (key, row) in &table.rows {
        let (name, now) = (key.to_string(), value(row.value));
        let (detail, color) = match row.back_from {
            Some(before) => (format!("{now} · back from {}", value(before)), theme.warn),
            None => (now, theme.key(inspector.keys.index(key))),
        };
        let plate = PlateRow {
            name: &name,
            detail: &detail,
            height: 28.0,
            is_clickable: false,
        };
        plate.ui(ui, |painter, at| dot(painter, at, 5.0, color));
    }
    let behind = table.rows.values().filter(|row| row.back_from.is_some());
    match behind.count() as u64 {
        0 => small_print(
            ui,
            "After a restart, repeated writes overwrite their own effect: in the end each record counts once.",
        ),
        n => {
            let values = count(n, "value");
            let words = format!(
                "{values} went back with the restored state: readers have seen a newer one, and see it again once the \
                 records are replayed."
            );
            sentence(ui, &words, theme.warn);
        }
    }
}

#[cfg(test)]
mod tests {
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    use super::*;
    use crate::engine::event::{EventKind, TraceEvent};
    use crate::engine::plan::ExecutionGraph;
    use crate::model::{
        CheckpointId, Decimal, EventTime, Key, OperatorSpec, Origin, SinkKind, SinkSpec, SplitId,
        TransactionId,
    };
    use crate::recording::Ledger;
    use crate::ui::command::Selection;
    use crate::ui::fixture::{Moment, two_sources};
    use crate::ui::fonts;
    use crate::ui::scene::KeyColors;

    const SINK: SubtaskId = SubtaskId(4);

    fn with_sink(kind: SinkKind, events: Vec<EventKind>) -> Moment {
        let mut moment = two_sources();
        moment.job.vertices[3].operator = OperatorSpec::Sink(SinkSpec { kind });
        moment.plan = ExecutionGraph::of(&moment.job);
        for kind in events {
            let event = TraceEvent {
                at_us: moment.clock_us,
                step: 0,
                kind,
            };
            moment.view.apply(&moment.plan, &event);
        }
        moment
    }

    fn collected(offset: u64, transaction: Option<TransactionId>) -> EventKind {
        let origin = Origin {
            split: SplitId(0),
            offset,
        };
        EventKind::Collected {
            subtask: SINK,
            record: Record {
                key: Some(Key::int(1)),
                value: Decimal::from(10 * offset),
                origin,
                event_time: EventTime::NONE,
            },
            transaction,
        }
    }

    fn inspector_of(moment: Moment) -> Harness<'static, Moment> {
        let mut harness = Harness::builder()
            .with_size(egui::vec2(340.0, 900.0))
            .with_context_setup(fonts::install)
            .build_ui_state(
                |ui, moment: &mut Moment| {
                    let inspector = RunInspector {
                        scene: moment.scene(),
                        keys: &KeyColors::default(),
                        ledger: &Ledger::default(),
                        parts: None,
                        twice: &[],
                        selection: &Selection::Subtask(SINK),
                        is_playing: false,
                        storage: None,
                    };
                    inspector.ui(ui, &mut Vec::new());
                },
                moment,
            );
        harness.run_steps(2);
        harness
    }

    #[test]
    fn a_value_that_readers_saw_go_back_is_told() {
        let writes = [5, 7, 3].map(|offset| collected(offset, None));
        let behind = inspector_of(with_sink(SinkKind::Upsert, writes.to_vec()));
        behind.get_by_label("1 30 · back from 70");
        behind.get_by_label("Values that went back: 1");
        let writes = [5, 7, 3, 5, 7].map(|offset| collected(offset, None));
        let replayed = inspector_of(with_sink(SinkKind::Upsert, writes.to_vec()));
        replayed.get_by_label("1 70");
    }

    #[test]
    fn what_is_committed_is_apart_from_what_is_not() {
        let transaction = |number| TransactionId {
            subtask: SINK,
            number,
        };
        let begun = |number| EventKind::TransactionBegun {
            subtask: SINK,
            transaction: transaction(number),
            timeout_us: 9_000_000,
        };
        let events = vec![
            begun(1),
            collected(1, Some(transaction(1))),
            collected(2, Some(transaction(1))),
            EventKind::PreCommitted {
                subtask: SINK,
                transaction: transaction(1),
                checkpoint: CheckpointId(3),
            },
            begun(2),
            collected(3, Some(transaction(2))),
            EventKind::Committed {
                subtask: SINK,
                transaction: transaction(1),
                again: false,
            },
        ];
        let kind = SinkKind::TwoPhaseCommit {
            transaction_timeout_ms: 9_000,
            ignore_failures_after_timeout: false,
        };
        let before = inspector_of(with_sink(kind, events[..6].to_vec()));
        before.get_by_label("Not visible yet · 3");
        before.get_by_label("tx1 pre-committed for 3 · 2 records");
        before.get_by_label("tx2 open · 1 record");
        before.get_by_label("Visible to readers · 0");
        let after = inspector_of(with_sink(kind, events));
        after.get_by_label("Not visible yet · 1");
        after.get_by_label("Visible to readers · 2");
    }
}
