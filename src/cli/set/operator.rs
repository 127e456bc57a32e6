//! The settings of one operator: `operators.UID.FIELD`.

use super::value::{Value, ValueError, millis, number, or_none, switch, word};
use crate::model::{
    EventTimeSpec, JobGraph, KeyExpr, KeyedFunction, OperatorSpec, SinkKind, SourceKind,
    SourcePause, SourceSpec, TtlSpec, TtlUpdate, TtlVisibility, Vertex, WindowAggregate,
};

/// One of them.
pub struct Field {
    pub name: &'static str,
    /// What it may be, after “it is”.
    pub values: &'static str,
    /// What has it.
    pub of: &'static str,
    set: fn(&mut Vertex, &str) -> Value<()>,
}

/// The operator that is not of the right kind has no such thing.
const NOT_ITS: ValueError = ValueError::NotNow(String::new());

const PREFIX: &str = "operators.";
const NUMBER: &str = "a whole number";
const COST: &str = "a whole number of microseconds, or none (as the job's)";
const TIME: &str = "a time such as 500 (milliseconds) or 10s";
const ANY: &str = "any operator";
const SOURCE: &str = "a source";
const CSV: &str = "a CSV source";
const TIMED: &str = "a source; the first such setting gives it event time";
const KEYED: &str = "an operator with keyed state";
const TTL: &str = "a keyed sum or function; ttl.ttl_ms gives its state a time to live";
const FUNCTION: &str = "a keyed function";
const WINDOW: &str = "a window";
const SINK: &str = "a sink";
const TWO_PHASE: &str = "a two-phase commit sink";
const BUFFERING: &str = "a buffering sink";

macro_rules! field {
    ($name:literal, $values:expr, $of:expr, |$vertex:ident, $text:ident| $set:expr) => {
        Field {
            name: $name,
            values: $values,
            of: $of,
            set: |$vertex, $text| {
                $set;
                Ok(())
            },
        }
    };
}

pub static FIELDS: &[Field] = &[
    field!("name", "a text", ANY, |vertex, text| text
        .clone_into(&mut vertex.name)),
    field!("parallelism", NUMBER, ANY, |vertex, text| {
        vertex.parallelism = number(text)?;
    }),
    field!(
        "max_parallelism",
        "a whole number, or none (Flink's default)",
        ANY,
        |vertex, text| {
            vertex.max_parallelism = or_none(text, number)?;
        }
    ),
    field!("generated_uid", "true or false", ANY, |vertex, text| {
        vertex.has_explicit_uid = !switch(text)?;
    }),
    field!("costs.process_us", COST, ANY, |vertex, text| {
        vertex.costs.process_us = or_none(text, number)?;
    }),
    field!("costs.snapshot_sync_us", COST, ANY, |vertex, text| {
        vertex.costs.snapshot_sync_us = or_none(text, number)?;
    }),
    field!("costs.snapshot_async_us", COST, ANY, |vertex, text| {
        vertex.costs.snapshot_async_us = or_none(text, number)?;
    }),
    field!(
        "costs.only_subtask",
        "a subtask from 0, or none (all of them)",
        ANY,
        |vertex, text| {
            vertex.costs.only_subtask = or_none(text, number)?;
        }
    ),
    field!(
        "rate_per_s",
        "a number of records per second",
        SOURCE,
        |vertex, text| {
            source(vertex)?.rate_per_s = text.parse().map_err(|_| ValueError::NotOne)?;
        }
    ),
    field!(
        "end",
        "a whole number of records, or none",
        SOURCE,
        |vertex, text| {
            source(vertex)?.end = or_none(text, number)?;
        }
    ),
    field!(
        "splits",
        "a whole number, or none (one for each subtask)",
        SOURCE,
        |vertex, text| {
            source(vertex)?.splits = or_none(text, number)?;
        }
    ),
    field!("path", "a file", CSV, |vertex, text| csv(vertex)?.path =
        text.into()),
    field!("key_column", "the name of a column", CSV, |vertex, text| {
        text.clone_into(&mut csv(vertex)?.key_column);
    }),
    field!(
        "value_column",
        "the name of a column",
        CSV,
        |vertex, text| {
            text.clone_into(&mut csv(vertex)?.value_column);
        }
    ),
    field!("event_time", "none", SOURCE, |vertex, text| {
        let none: Option<()> = or_none(text, |_| Err(ValueError::NotOne))?;
        source(vertex)?.event_time = none.and(None);
    }),
    field!("event_time.step_ms", TIME, TIMED, |vertex, text| {
        event_time(vertex)?.step_ms = millis(text)?;
    }),
    field!("event_time.late_every", NUMBER, TIMED, |vertex, text| {
        event_time(vertex)?.late_every = number(text)?;
    }),
    field!("event_time.late_by_ms", TIME, TIMED, |vertex, text| {
        event_time(vertex)?.late_by_ms = millis(text)?;
    }),
    field!("event_time.max_lateness_ms", TIME, TIMED, |vertex, text| {
        event_time(vertex)?.max_lateness_ms = millis(text)?;
    }),
    field!(
        "event_time.idle_after_ms",
        "a time such as 500 (milliseconds) or 10s, or none",
        TIMED,
        |vertex, text| {
            event_time(vertex)?.idle_after_ms = or_none(text, millis)?;
        }
    ),
    field!("pause", "none", SOURCE, |vertex, text| {
        let none: Option<()> = or_none(text, |_| Err(ValueError::NotOne))?;
        source(vertex)?.pause = none.and(None);
    }),
    field!("pause.after_records", NUMBER, SOURCE, |vertex, text| {
        pause(vertex)?.after_records = number(text)?;
    }),
    field!("pause.for_ms", TIME, SOURCE, |vertex, text| {
        pause(vertex)?.for_ms = millis(text)?;
    }),
    field!("factor", "a whole number", "a map", |vertex, text| {
        match &mut vertex.operator {
            OperatorSpec::Map(spec) => spec.factor = number(text)?,
            _ => return Err(NOT_ITS),
        }
    }),
    field!(
        "key",
        "column, or modulo and a number such as modulo 3",
        KEYED,
        |vertex, text| {
            let key = key(text)?;
            *vertex.operator.key_mut().ok_or(NOT_ITS)? = Some(key);
        }
    ),
    field!(
        "function",
        "count-average, last, distinct, max or average",
        FUNCTION,
        |vertex, text| {
            let function = process(vertex)?;
            *function = word(text, &functions(*function))?;
        }
    ),
    field!("every", NUMBER, FUNCTION, |vertex, text| {
        match process(vertex)? {
            KeyedFunction::CountAverage { every } => *every = number(text)?,
            _ => return Err(NOT_ITS),
        }
    }),
    field!("n", NUMBER, FUNCTION, |vertex, text| {
        match process(vertex)? {
            KeyedFunction::LastN { n } => *n = number(text)?,
            _ => return Err(NOT_ITS),
        }
    }),
    field!("ttl", "none", TTL, |vertex, text| {
        let none: Option<()> = or_none(text, |_| Err(ValueError::NotOne))?;
        *vertex.operator.ttl_mut().ok_or(NOT_ITS)? = none.and(None);
    }),
    field!("ttl.ttl_ms", TIME, TTL, |vertex, text| {
        ttl(vertex)?.ttl_ms = millis(text)?;
    }),
    field!(
        "ttl.update",
        "OnCreateAndWrite or OnReadAndWrite",
        TTL,
        |vertex, text| {
            let all = TtlUpdate::ALL.map(|update| (update.name(), update));
            ttl(vertex)?.update = word(text, &all)?;
        }
    ),
    field!(
        "ttl.visibility",
        "NeverReturnExpired or ReturnExpiredIfNotCleanedUp",
        TTL,
        |vertex, text| {
            let all = TtlVisibility::ALL.map(|visibility| (visibility.name(), visibility));
            ttl(vertex)?.visibility = word(text, &all)?;
        }
    ),
    field!(
        "ttl.no_background_cleanup",
        "true or false",
        TTL,
        |vertex, text| {
            ttl(vertex)?.background_cleanup = !switch(text)?;
        }
    ),
    field!(
        "ttl.full_snapshot_cleanup",
        "true or false",
        TTL,
        |vertex, text| {
            ttl(vertex)?.full_snapshot_cleanup = switch(text)?;
        }
    ),
    field!("size_ms", TIME, WINDOW, |vertex, text| {
        match &mut vertex.operator {
            OperatorSpec::Window(spec) => spec.size_ms = millis(text)?,
            _ => return Err(NOT_ITS),
        }
    }),
    field!("aggregate", "sum or count", WINDOW, |vertex, text| {
        let all = [
            ("sum", WindowAggregate::Sum),
            ("count", WindowAggregate::Count),
        ];
        match &mut vertex.operator {
            OperatorSpec::Window(spec) => spec.aggregate = word(text, &all)?,
            _ => return Err(NOT_ITS),
        }
    }),
    field!(
        "kind",
        "plain, upsert, two-phase-commit or buffering",
        SINK,
        |vertex, text| {
            match &mut vertex.operator {
                OperatorSpec::Sink(spec) => spec.kind = sink_kind(text, spec.kind)?,
                _ => return Err(NOT_ITS),
            }
        }
    ),
    field!("transaction_timeout_ms", TIME, TWO_PHASE, |vertex, text| {
        let time = millis(text)?;
        match two_phase(vertex)? {
            SinkKind::TwoPhaseCommit {
                transaction_timeout_ms,
                ..
            } => {
                *transaction_timeout_ms = time;
            }
            _ => return Err(NOT_ITS),
        }
    }),
    field!(
        "ignore_failures_after_timeout",
        "true or false",
        TWO_PHASE,
        |vertex, text| {
            let is_on = switch(text)?;
            match two_phase(vertex)? {
                SinkKind::TwoPhaseCommit {
                    ignore_failures_after_timeout,
                    ..
                } => {
                    *ignore_failures_after_timeout = is_on;
                }
                _ => return Err(NOT_ITS),
            }
        }
    ),
    field!("threshold", NUMBER, BUFFERING, |vertex, text| {
        match two_phase(vertex)? {
            SinkKind::Buffering { threshold } => *threshold = number(text)?,
            _ => return Err(NOT_ITS),
        }
    }),
];

fn source(vertex: &mut Vertex) -> Value<&mut SourceSpec> {
    match &mut vertex.operator {
        OperatorSpec::Source(spec) => Ok(spec),
        _ => Err(NOT_ITS),
    }
}

fn csv(vertex: &mut Vertex) -> Value<&mut crate::model::CsvSpec> {
    match &mut source(vertex)?.kind {
        SourceKind::Csv(spec) => Ok(spec),
        SourceKind::Sequence => Err(NOT_ITS),
    }
}

fn event_time(vertex: &mut Vertex) -> Value<&mut EventTimeSpec> {
    const NEW: EventTimeSpec = EventTimeSpec {
        step_ms: 1,
        late_every: 0,
        late_by_ms: 0,
        max_lateness_ms: 0,
        idle_after_ms: None,
    };
    Ok(source(vertex)?.event_time.get_or_insert(NEW))
}

fn process(vertex: &mut Vertex) -> Value<&mut KeyedFunction> {
    match &mut vertex.operator {
        OperatorSpec::KeyedProcess(spec) => Ok(&mut spec.function),
        _ => Err(NOT_ITS),
    }
}

/// By their names; a function that has a number keeps it.
fn functions(now: KeyedFunction) -> [(&'static str, KeyedFunction); 5] {
    let keep = |function: KeyedFunction| {
        let is_it = function.name() == now.name();
        if is_it { now } else { function }
    };
    let [count_average, last, distinct, max, average] = KeyedFunction::ALL.map(keep);
    [
        ("count-average", count_average),
        ("last", last),
        ("distinct", distinct),
        ("max", max),
        ("average", average),
    ]
}

fn ttl(vertex: &mut Vertex) -> Value<&mut TtlSpec> {
    let ttl = vertex.operator.ttl_mut().ok_or(NOT_ITS)?;
    Ok(ttl.get_or_insert(TtlSpec::new(1_000)))
}

fn pause(vertex: &mut Vertex) -> Value<&mut SourcePause> {
    const NEW: SourcePause = SourcePause {
        after_records: 0,
        for_ms: 1_000,
    };
    Ok(source(vertex)?.pause.get_or_insert(NEW))
}

fn two_phase(vertex: &mut Vertex) -> Value<&mut SinkKind> {
    match &mut vertex.operator {
        OperatorSpec::Sink(spec) => Ok(&mut spec.kind),
        _ => Err(NOT_ITS),
    }
}

/// A two-phase commit sink keeps its timeout, and a buffering one its threshold.
fn sink_kind(text: &str, now: SinkKind) -> Value<SinkKind> {
    let buffering = match now {
        SinkKind::Buffering { .. } => now,
        _ => SinkKind::Buffering {
            threshold: SinkKind::DEFAULT_THRESHOLD,
        },
    };
    let two_phase = match now {
        SinkKind::TwoPhaseCommit { .. } => now,
        _ => SinkKind::TwoPhaseCommit {
            transaction_timeout_ms: SinkKind::DEFAULT_TRANSACTION_TIMEOUT_MS,
            ignore_failures_after_timeout: false,
        },
    };
    let all = [
        ("plain", SinkKind::Plain),
        ("sink", SinkKind::Plain),
        ("upsert", SinkKind::Upsert),
        ("upsert-sink", SinkKind::Upsert),
        ("two-phase-commit", two_phase),
        ("two-phase-commit-sink", two_phase),
        ("buffering", buffering),
        ("buffering-sink", buffering),
    ];
    word(text, &all)
}

fn key(text: &str) -> Value<KeyExpr> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("column") {
        return Ok(KeyExpr::Column);
    }
    let modulus = text.strip_prefix("modulo").ok_or(ValueError::NotOne)?;
    Ok(KeyExpr::Modulo {
        modulus: number(modulus.trim_matches([' ', '(', ')', ':']))?,
        labels: Vec::new(),
    })
}

/// The operator and field that `path` names. A uid may have dots, too: the longest that fits is meant.
pub fn resolve<'a>(job: &'a mut JobGraph, path: &str) -> Option<(&'a mut Vertex, String)> {
    let rest = path.strip_prefix(PREFIX)?;
    let field_of = |uid: &str| {
        let field = rest.strip_prefix(uid)?.strip_prefix('.')?;
        Some(field.to_owned())
    };
    let vertices = job.vertices.iter_mut();
    vertices
        .filter_map(|vertex| {
            let field = field_of(vertex.uid.as_str())?;
            Some((vertex, field))
        })
        .min_by_key(|(_, field)| field.len())
}

/// # Errors
/// A sentence: the operator has no such setting, or the value is none of it.
pub fn set(vertex: &mut Vertex, path: &str, field: &str, value: &str) -> Result<(), String> {
    let Some(known) = FIELDS.iter().find(|known| known.name == field) else {
        let names: Vec<&str> = fields_of(vertex).map(|field| field.name).collect();
        return Err(format!(
            "{} is a {} and has no setting {field:?}; it has {}.",
            vertex.uid,
            vertex.operator.kind_name(),
            names.join(", ")
        ));
    };
    (known.set)(vertex, value).map_err(|error| match error {
        ValueError::NotNow(sentence) if sentence.is_empty() => format!(
            "{} is a {}, but {field} belongs to {}.",
            vertex.uid,
            vertex.operator.kind_name(),
            known.of
        ),
        error => error.sentence(path, known.values, value),
    })
}

/// The fields of operators such as `vertex`.
fn fields_of(vertex: &Vertex) -> impl Iterator<Item = &'static Field> {
    let operator = vertex.operator.clone();
    FIELDS.iter().filter(move |field| match field.of {
        ANY => true,
        SOURCE | TIMED => matches!(operator, OperatorSpec::Source(_)),
        CSV => matches!(&operator, OperatorSpec::Source(spec) if spec.kind != SourceKind::Sequence),
        KEYED => operator.is_keyed(),
        WINDOW => matches!(operator, OperatorSpec::Window(_)),
        FUNCTION => matches!(operator, OperatorSpec::KeyedProcess(_)),
        TTL => operator.clone().ttl_mut().is_some(),
        SINK | TWO_PHASE | BUFFERING => matches!(operator, OperatorSpec::Sink(_)),
        _ => matches!(operator, OperatorSpec::Map(_)),
    })
}

/// All paths of the operators of `job`.
pub fn paths(job: &JobGraph) -> impl Iterator<Item = String> {
    job.vertices.iter().flat_map(|vertex| {
        fields_of(vertex).map(|field| format!("{PREFIX}{}.{}", vertex.uid, field.name))
    })
}
