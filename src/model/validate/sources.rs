//! The parameters of a source.

use super::nodes::site;
use super::{Problem, grouped, quoted};
use crate::model::graph::{CsvSpec, EventTimeSpec, SourceKind, SourcePause, SourceSpec, Vertex};
use crate::model::limits::{self, Bounds};

/// A number of a source: its field, what people call it, its value and its bounds.
type Bounded = (&'static str, &'static str, u64, Bounds);

pub(super) fn check(vertex: &Vertex, spec: &SourceSpec, problems: &mut Vec<Problem>) {
    let name = quoted(&vertex.name);
    // A rate that is no number is within no range.
    if !limits::RATE_PER_S.contains(&spec.rate_per_s) {
        let message = format!(
            "The rate of {name} is {:?} records per second: set it to {} to 1,000,000.",
            spec.rate_per_s,
            limits::RATE_PER_S.start()
        );
        problems.push(Problem::absurd(site(vertex), "rate_per_s", message));
    }
    if let Some(end) = spec.end.filter(|end| !limits::SOURCE_RECORDS.contains(end)) {
        let message = format!(
            "{name} ends after {} records: let it end after at most {}, or never.",
            grouped(end),
            grouped(*limits::SOURCE_RECORDS.end())
        );
        problems.push(Problem::absurd(site(vertex), "end", message));
    }
    if let SourceKind::Csv(csv) = &spec.kind {
        problems.extend(path_problem(vertex, csv));
        problems.extend(column_problem(vertex, "key_column", "key", &csv.key_column));
        problems.extend(column_problem(
            vertex,
            "value_column",
            "value",
            &csv.value_column,
        ));
    }
    let event_time = spec.event_time.iter().flat_map(event_time);
    let pause = spec.pause.iter().flat_map(pause);
    for (field, title, value, bounds) in splits(spec).into_iter().chain(event_time).chain(pause) {
        if !bounds.contains(&value) {
            let (min, max) = (grouped(*bounds.start()), grouped(*bounds.end()));
            let message = format!(
                "{title} of {name} is {}: set it to {min} to {max}.",
                grouped(value)
            );
            problems.push(Problem::absurd(site(vertex), field, message));
        }
    }
}

fn splits(spec: &SourceSpec) -> Option<Bounded> {
    let splits = spec.splits?.into();
    Some(("splits", "The number of splits", splits, limits::SPLITS))
}

fn event_time(spec: &EventTimeSpec) -> Vec<Bounded> {
    let mut numbers = vec![
        (
            "event_time.step_ms",
            "The event time from record to record in milliseconds",
            spec.step_ms,
            limits::POSITIVE_TIME_MS,
        ),
        (
            "event_time.late_every",
            "The number of records of which one is late",
            spec.late_every.into(),
            limits::LATE_EVERY,
        ),
        (
            "event_time.late_by_ms",
            "The lateness of late records in milliseconds",
            spec.late_by_ms,
            limits::TIME_MS,
        ),
        (
            "event_time.max_lateness_ms",
            "The lateness that the watermark waits for, in milliseconds,",
            spec.max_lateness_ms,
            limits::TIME_MS,
        ),
    ];
    numbers.extend(spec.idle_after_ms.map(|idle_after_ms| {
        (
            "event_time.idle_after_ms",
            "The time without records that makes a subtask idle, in milliseconds,",
            idle_after_ms,
            limits::POSITIVE_TIME_MS,
        )
    }));
    numbers
}

fn pause(pause: &SourcePause) -> [Bounded; 2] {
    [
        (
            "pause.after_records",
            "The number of records before the pause",
            pause.after_records,
            limits::SOURCE_RECORDS,
        ),
        (
            "pause.for_ms",
            "The pause in milliseconds",
            pause.for_ms,
            limits::POSITIVE_TIME_MS,
        ),
    ]
}

fn path_problem(vertex: &Vertex, csv: &CsvSpec) -> Option<Problem> {
    let name = quoted(&vertex.name);
    match csv.path.to_str() {
        None => {
            let message = format!(
                "The path of the CSV file of {name} is not Unicode text: rename the file or its folder."
            );
            Some(Problem::absurd(site(vertex), "path", message))
        }
        Some(path) if path.trim().is_empty() => {
            let message = format!("{name} has no CSV file: choose one.");
            Some(Problem::unfinished(site(vertex), "path", message))
        }
        Some(_) => None,
    }
}

fn column_problem(
    vertex: &Vertex,
    field: &'static str,
    role: &str,
    column: &str,
) -> Option<Problem> {
    column.is_empty().then(|| {
        let name = quoted(&vertex.name);
        let message = format!("{name} has no {role} column: name the column of the CSV file.");
        Problem::unfinished(site(vertex), field, message)
    })
}
