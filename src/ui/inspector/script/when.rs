//! The moment of a command: a time, or so many records at a place.

use egui::Ui;

use crate::model::{JobGraph, Vertex, When};

use super::super::super::settings::controls;
use super::super::super::widgets::field;
use super::{first_operator, operator_choice, subtask_number};

/// What a moment is told by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Time,
    Emitted,
    Processed,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Time, Self::Emitted, Self::Processed];

    fn of(when: &When) -> Self {
        match when {
            When::AtMs(_) => Self::Time,
            When::Emitted { .. } => Self::Emitted,
            When::Processed { .. } => Self::Processed,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Time => "at a time",
            Self::Emitted => "records emitted",
            Self::Processed => "records processed",
        }
    }

    fn first(self, job: &JobGraph) -> When {
        match self {
            Self::Time => When::AtMs(1_000),
            Self::Emitted => When::Emitted {
                uid: first_operator(job, Vertex::is_source),
                records: 10,
            },
            Self::Processed => When::Processed {
                uid: first_operator(job, |vertex| !vertex.is_source()),
                subtask: 0,
                records: 10,
            },
        }
    }
}

pub fn when_ui(ui: &mut Ui, job: &JobGraph, when: &mut When) {
    let before = Kind::of(when);
    let mut kind = before;
    field(ui, "When", |ui| {
        controls::choice(ui, &mut kind, &Kind::ALL, Kind::name);
    });
    if kind != before {
        *when = kind.first(job);
    }
    match when {
        When::AtMs(ms) => field(ui, "At (modelled)", |ui| {
            controls::milliseconds(ui, ms, 0);
        }),
        When::Emitted { uid, records } => {
            field(ui, "By source", |ui| {
                operator_choice(ui, job, uid, Vertex::is_source);
            });
            field(ui, "Records", |ui| records_ui(ui, records));
        }
        When::Processed {
            uid,
            subtask,
            records,
        } => {
            field(ui, "By operator", |ui| {
                operator_choice(ui, job, uid, |vertex| !vertex.is_source());
            });
            field(ui, "By subtask", |ui| subtask_number(ui, job, uid, subtask));
            field(ui, "Records", |ui| records_ui(ui, records));
        }
    }
}

fn records_ui(ui: &mut Ui, records: &mut u64) {
    ui.add(controls::drag_value(records, 1..=u64::MAX).speed(0.2));
}
