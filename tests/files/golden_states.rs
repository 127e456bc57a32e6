//! Format 2: operators with the other kinds of state, and how long state lives. The file is what the window writes; what it
//! is silent about is what it was when format 2 got these parts.

use lockgate::model::{
    CsvSpec, Edge, JobGraph, KeyExpr, KeyedFunction, KeyedProcessSpec, KeyedSumSpec, OperatorSpec,
    Partitioning, SinkKind, SinkSpec, SourceKind, SourceSpec, TtlSpec, TtlUpdate, TtlVisibility,
    Uid, Vertex,
};
use lockgate::project;

fn states() -> JobGraph {
    let key = Some(KeyExpr::Column);
    let csv = CsvSpec {
        path: "rows.csv".into(),
        key_column: "k".to_owned(),
        value_column: "v".to_owned(),
    };
    let rows = SourceSpec::new(SourceKind::Csv(csv), 1.0, None);
    let ttl = |ttl_ms| TtlSpec {
        ttl_ms,
        update: TtlUpdate::OnCreateAndWrite,
        visibility: TtlVisibility::NeverReturnExpired,
        background_cleanup: true,
        full_snapshot_cleanup: false,
    };
    let process = |function, ttl| {
        let key = key.clone();
        OperatorSpec::KeyedProcess(KeyedProcessSpec { key, function, ttl })
    };
    let sum = KeyedSumSpec {
        key: key.clone(),
        ttl: Some(ttl(5)),
    };
    let odd = TtlSpec {
        update: TtlUpdate::OnReadAndWrite,
        visibility: TtlVisibility::ReturnExpiredIfNotCleanedUp,
        background_cleanup: false,
        full_snapshot_cleanup: true,
        ..ttl(1_000)
    };
    let buffering = |threshold| {
        let kind = SinkKind::Buffering { threshold };
        OperatorSpec::Sink(SinkSpec { kind })
    };
    let operators = [
        ("rows", OperatorSpec::Source(rows)),
        ("sum", OperatorSpec::KeyedSum(sum)),
        (
            "pairs",
            process(KeyedFunction::CountAverage { every: 2 }, None),
        ),
        ("last", process(KeyedFunction::LastN { n: 3 }, Some(odd))),
        ("distinct", process(KeyedFunction::Distinct, None)),
        ("max", process(KeyedFunction::Max, None)),
        ("average", process(KeyedFunction::Average, None)),
        ("filter", OperatorSpec::RuleFilter),
        ("fives", buffering(5)),
        ("twos", buffering(2)),
    ];
    let edge = |(from, to, partitioning)| Edge {
        from: Uid::new(from),
        to: Uid::new(to),
        partitioning,
    };
    JobGraph {
        name: "states".to_owned(),
        vertices: operators
            .into_iter()
            .map(|(uid, operator)| Vertex::new(Uid::new(uid), operator))
            .collect(),
        edges: [
            ("rows", "sum", Partitioning::Hash),
            ("rows", "pairs", Partitioning::Hash),
            ("rows", "last", Partitioning::Hash),
            ("rows", "distinct", Partitioning::Hash),
            ("rows", "max", Partitioning::Hash),
            ("rows", "average", Partitioning::Hash),
            ("max", "filter", Partitioning::Broadcast),
            ("average", "filter", Partitioning::Forward),
            ("filter", "fives", Partitioning::Forward),
            ("sum", "twos", Partitioning::Forward),
        ]
        .map(edge)
        .into(),
        ..JobGraph::default()
    }
}

#[test]
fn operators_with_state_keep_their_meaning_in_format_2() {
    let text = include_str!("v2-states.ron");
    assert_eq!(project::to_text(&states()), text);
    let loaded = project::parse(text, "states.ron").unwrap();
    assert!(!loaded.is_draft());
    assert_eq!(loaded.job, states());
}

/// A number out of bounds and a filter without rules are told at their places.
#[test]
fn what_is_wrong_with_state_is_told_where_it_is() {
    let text = include_str!("v2-states.ron")
        .replace("ttl_ms: 5)", "ttl_ms: 0)")
        .replace("every: 2", "every: 0")
        .replace("threshold: 2", "threshold: 0");
    let error = project::parse(&text, "states.ron").unwrap_err().to_string();
    for part in [
        "states.ron:6:",
        "lives for 0 milliseconds",
        "states.ron:7:",
        "The number of records of an average",
        "states.ron:14:",
        "gathers 0 records",
    ] {
        assert!(error.contains(part), "{part} is not in {error}");
    }
    for (from, to, part) in [
        ("Broadcast", "Forward", "“filter” has no rules"),
        (
            "\"filter\", Forward",
            "\"filter\", Broadcast",
            "nothing to filter",
        ),
    ] {
        let text = include_str!("v2-states.ron").replace(from, to);
        let error = project::parse(&text, "states.ron").unwrap_err().to_string();
        assert!(error.contains(part), "{part} is not in {error}");
    }
}
