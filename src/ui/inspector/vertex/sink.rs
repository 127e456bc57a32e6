//! A sink: what a restart does to what it has taken.

use egui::Ui;

use crate::model::limits;
use crate::model::validate::{Hint, Site};
use crate::model::{SinkKind, SinkSpec};

use super::super::super::settings::{advice_ui, controls, operator_table, setting};
use super::super::super::widgets::{section, small_print};

/// With the advice on this operator.
pub fn sink_ui(ui: &mut Ui, spec: &mut SinkSpec, (hints, site): (&[Hint], &Site)) {
    section(ui, "Sink");
    let transactional = match spec.kind {
        SinkKind::TwoPhaseCommit { .. } => spec.kind,
        _ => SinkKind::TwoPhaseCommit {
            transaction_timeout_ms: SinkKind::DEFAULT_TRANSACTION_TIMEOUT_MS,
            ignore_failures_after_timeout: false,
        },
    };
    let buffering = match spec.kind {
        SinkKind::Buffering { .. } => spec.kind,
        _ => SinkKind::Buffering {
            threshold: SinkKind::DEFAULT_THRESHOLD,
        },
    };
    for kind in [SinkKind::Plain, SinkKind::Upsert, transactional, buffering] {
        ui.radio_value(&mut spec.kind, kind, kind.name());
        ui.indent(kind.name(), |ui| small_print(ui, meaning(kind)));
    }
    advice_ui(ui, hints, site, "kind");
    if let SinkKind::Buffering { threshold } = &mut spec.kind {
        setting(ui, &operator_table::THRESHOLD, |ui| {
            ui.add(controls::drag_value(threshold, limits::SINK_THRESHOLD).speed(0.05));
        });
    }
    if let SinkKind::TwoPhaseCommit {
        transaction_timeout_ms,
        ignore_failures_after_timeout,
    } = &mut spec.kind
    {
        setting(ui, &operator_table::TRANSACTION_TIMEOUT, |ui| {
            controls::milliseconds(ui, transaction_timeout_ms, 1);
        });
        advice_ui(ui, hints, site, "transaction_timeout_ms");
        setting(ui, &operator_table::GIVE_UP, |ui| {
            ui.checkbox(ignore_failures_after_timeout, "drop it and go on");
        });
    }
}

fn meaning(kind: SinkKind) -> &'static str {
    match kind {
        SinkKind::Plain => {
            "What it has taken is out at once. After a restart everything since the last checkpoint comes out again."
        }
        SinkKind::Upsert => {
            "The newest value of each key counts. Replays overwrite, so the end is right; readers may see values go \
             back for a while."
        }
        SinkKind::TwoPhaseCommit { .. } => {
            "Records go into a transaction: pre-committed at the barrier, committed once the checkpoint is complete. \
             Nothing uncommitted is visible, nothing comes out twice."
        }
        SinkKind::Buffering { .. } => {
            "Records wait until there are enough, then all come out. Those that wait are operator list state: in every \
             snapshot, dealt out evenly when the parallelism changes. What waits at the end stays there."
        }
    }
}
