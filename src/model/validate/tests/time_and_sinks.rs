//! Event time, windows, maps, kinds of sinks, and what single operators cost.

use super::*;
use crate::model::{
    EventTimeSpec, MapSpec, SinkKind, SourcePause, VertexCosts, WindowAggregate, WindowSpec,
};

fn event_time() -> EventTimeSpec {
    EventTimeSpec {
        step_ms: 10,
        late_every: 0,
        late_by_ms: 0,
        max_lateness_ms: 0,
        idle_after_ms: None,
    }
}

fn window(uid: &str, key: impl Into<Option<KeyExpr>>, size_ms: u64) -> Vertex {
    let spec = WindowSpec {
        key: key.into(),
        size_ms,
        aggregate: WindowAggregate::Sum,
    };
    vertex(uid, OperatorSpec::Window(spec))
}

fn map(uid: &str, factor: i32) -> Vertex {
    vertex(uid, OperatorSpec::Map(MapSpec { factor }))
}

#[test]
fn a_source_has_splits_times_and_pauses_within_reason() {
    says(
        |job| {
            let source = source_of(&mut job.vertices[0]);
            source.splits = Some(0);
            source.event_time = Some(EventTimeSpec {
                step_ms: 0,
                late_every: u32::MAX,
                late_by_ms: u64::MAX,
                max_lateness_ms: u64::MAX,
                idle_after_ms: Some(0),
            });
            source.pause = Some(SourcePause {
                after_records: u64::MAX,
                for_ms: 0,
            });
        },
        &[
            "numbers.splits!: The number of splits of “numbers” is 0: set it to 1 to 256.",
            "numbers.event_time.step_ms!: The event time from record to record in milliseconds of “numbers” is 0: set it to 1 to 1,000,000,000.",
            "numbers.event_time.late_every!: The number of records of which one is late of “numbers” is 4,294,967,295: set it to 0 to 1,000,000.",
            "numbers.event_time.late_by_ms!: The lateness of late records in milliseconds of “numbers” is 18,446,744,073,709,551,615: set it to 0 to 1,000,000,000.",
            "numbers.event_time.max_lateness_ms!: The lateness that the watermark waits for, in milliseconds, of “numbers” is 18,446,744,073,709,551,615: set it to 0 to 1,000,000,000.",
            "numbers.event_time.idle_after_ms!: The time without records that makes a subtask idle, in milliseconds, of “numbers” is 0: set it to 1 to 1,000,000,000.",
            "numbers.pause.after_records!: The number of records before the pause of “numbers” is 18,446,744,073,709,551,615: set it to 0 to 1,000,000,000,000.",
            "numbers.pause.for_ms!: The pause in milliseconds of “numbers” is 0: set it to 1 to 1,000,000,000.",
        ],
    );
}

/// numbers → same (map) → sums (window) → out
fn windowed(job: &mut JobGraph, key: Option<KeyExpr>, size_ms: u64) {
    job.vertices = vec![
        source("numbers"),
        map("same", 1),
        window("sums", key, size_ms),
        sink("out"),
    ];
    job.edges = vec![
        edge("numbers", "same", Partitioning::Rebalance),
        edge("same", "sums", Partitioning::Hash),
        edge("sums", "out", Partitioning::Rebalance),
    ];
}

/// Breaks if a window is let run on records without a timestamp, at the first of which Flink fails.
#[test]
fn a_window_needs_a_key_a_size_and_event_time_before_it() {
    says(
        |job| windowed(job, None, 0),
        &[
            "sums.key: “sums” has no key: choose the key column, or the value modulo a number.",
            "sums.size_ms!: The size of the windows of “sums” in milliseconds is 0: set it to 1 to 1,000,000,000.",
            "sums: “sums” gathers records by their event time, but those of “same” have none: give their source an event time.",
        ],
    );
    says(
        |job| {
            windowed(job, Some(parity()), 100);
            source_of(&mut job.vertices[0]).event_time = Some(event_time());
        },
        &[],
    );
    says(
        |job| {
            windowed(job, Some(KeyExpr::Column), 100);
            job.vertices[0] = csv("numbers");
            source_of(&mut job.vertices[0]).event_time = Some(event_time());
        },
        &[],
    );
    says(
        |job| {
            windowed(job, Some(parity()), 100);
            source_of(&mut job.vertices[0]).event_time = Some(event_time());
            job.vertices.push(source("late"));
            job.edges
                .push(edge("late", "same", Partitioning::Rebalance));
        },
        &[
            "sums: “sums” gathers records by their event time, but those of “same” have none: give their source an event time.",
        ],
    );
}

#[test]
fn a_map_passes_on_the_key_that_it_gets() {
    let hash_to_sink = |job: &mut JobGraph, source: Vertex| {
        job.vertices = vec![source, map("same", 20_000), sink("out")];
        job.edges = vec![
            edge("numbers", "same", Partitioning::Rebalance),
            edge("same", "out", Partitioning::Hash),
        ];
    };
    says(
        |job| hash_to_sink(job, source("numbers")),
        &[
            "same.factor!: The factor of “same” is 20000: set it to -10,000 to 10,000.",
            "edge 1.partitioning: The edge from “same” to “out” is hash, but the records have no key column: make it rebalance.",
        ],
    );
    says(
        |job| hash_to_sink(job, csv("numbers")),
        &["same.factor!: The factor of “same” is 20000: set it to -10,000 to 10,000."],
    );
}

#[test]
fn sinks_have_what_their_kind_needs() {
    let sink_of = |kind| vertex("out", OperatorSpec::Sink(SinkSpec { kind }));
    says(|job| job.vertices[2] = sink_of(SinkKind::Upsert), &[]);
    says(
        |job| {
            job.vertices = vec![source("numbers"), sink_of(SinkKind::Upsert)];
            job.edges = vec![edge("numbers", "out", Partitioning::Rebalance)];
        },
        &[
            "out.kind: “out” keeps the newest value of each key, but the records of “numbers” have no key: put a keyed sum before it, or choose another sink.",
        ],
    );
    let two_phase = SinkKind::TwoPhaseCommit {
        transaction_timeout_ms: 0,
        ignore_failures_after_timeout: false,
    };
    says(
        |job| job.vertices[2] = sink_of(two_phase),
        &[
            "out.transaction_timeout_ms!: The transaction timeout of “out” in milliseconds is 0: set it to 1 to 1,000,000,000.",
        ],
    );
}

#[test]
fn an_operators_own_costs_have_bounds_and_a_subtask() {
    says(
        |job| {
            job.vertices[1].costs = VertexCosts {
                process_us: Some(u64::MAX),
                only_subtask: Some(1),
                ..VertexCosts::default()
            };
        },
        &[
            "sum.costs.process_us!: The processing cost of “sum” in microseconds is 18,446,744,073,709,551,615: set it to 0 to 1,000,000,000.",
            "sum.costs.only_subtask: The costs of “sum” are those of subtask 1, but its subtasks are 0 to 0: name one of them, or raise the parallelism.",
        ],
    );
}
