//! Keyed functions, rules and buffers on threads: what does not hang on the order of things is as in the stepper.

use std::collections::BTreeMap;

use lockgate::engine::driver::live::LiveOptions;
use lockgate::engine::driver::{StartPoint, fit};
use lockgate::engine::event::JobStatus;
use lockgate::model::{
    BackendKind, Decimal, Edge, EntryValue, JobGraph, Key, KeyExpr, KeyedFunction,
    KeyedProcessSpec, MapSpec, OperatorSpec, Partitioning, Record, SavepointFormat, SinkKind,
    SinkSpec, SourceKind, SourceSpec, TtlSpec, Uid, Vertex, validate,
};

use crate::drivers::run_live_from;
use crate::rig::Rig;
use crate::state_kinds::savepoint;

const THRESHOLD: u32 = 4;

/// `numbers` → `function` (by value modulo 3, two subtasks) → `filter`, with the `rules` (6, 12 … 30, of which the last one
/// counts) → `out`, which gathers. One source of records, so that each key's come in their order.
fn job(function: KeyedFunction, backend: BackendKind) -> JobGraph {
    let source = |uid: &str, rate_per_s: f64, end: u64| {
        let spec = SourceSpec::new(SourceKind::Sequence, rate_per_s, Some(end));
        Vertex::new(Uid::new(uid), OperatorSpec::Source(spec))
    };
    let keyed = OperatorSpec::KeyedProcess(KeyedProcessSpec {
        key: Some(KeyExpr::Modulo {
            modulus: 3,
            labels: Vec::new(),
        }),
        function,
        ttl: None,
    });
    let kind = SinkKind::Buffering {
        threshold: THRESHOLD,
    };
    let mut keyed = Vertex::new(Uid::new("function"), keyed);
    keyed.parallelism = 2;
    let factor = OperatorSpec::Map(MapSpec { factor: 6 });
    let edge = |(from, to, partitioning): (&str, &str, Partitioning)| Edge {
        from: Uid::new(from),
        to: Uid::new(to),
        partitioning,
    };
    let mut job = JobGraph {
        name: "live states".to_owned(),
        vertices: vec![
            source("numbers", 60.0, 125),
            source("rules", 10.0, 5),
            Vertex::new(Uid::new("factor"), factor),
            keyed,
            Vertex::new(Uid::new("filter"), OperatorSpec::RuleFilter),
            Vertex::new(Uid::new("out"), OperatorSpec::Sink(SinkSpec { kind })),
        ],
        edges: [
            ("numbers", "function", Partitioning::Hash),
            ("function", "filter", Partitioning::Rebalance),
            ("rules", "factor", Partitioning::Forward),
            ("factor", "filter", Partitioning::Broadcast),
            ("filter", "out", Partitioning::Forward),
        ]
        .map(edge)
        .to_vec(),
        ..JobGraph::default()
    };
    job.config.backend = backend;
    assert_eq!(validate(&job), []);
    job
}

/// What one life of the job has come to, as far as no order matters.
#[derive(Debug, PartialEq)]
struct Life {
    /// Per key, without when they were used.
    entries: BTreeMap<Key, Vec<(Option<Decimal>, EntryValue)>>,
    /// How often each key and value came out.
    collected: BTreeMap<(String, Decimal), u32>,
}

fn count<'a>(records: impl Iterator<Item = &'a Record>) -> BTreeMap<(String, Decimal), u32> {
    let mut counts = BTreeMap::new();
    for record in records {
        *counts
            .entry((format!("{:?}", record.key), record.value))
            .or_default() += 1;
    }
    counts
}

/// The rest of the job, from the savepoint, in the stepper; and what is left in the buffer.
fn stepped(job: &JobGraph, start: Option<&StartPoint>) -> (Life, BTreeMap<(String, Decimal), u32>) {
    let mut rig = Rig::with_resources(job, |resources| resources.start = start.cloned());
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    let entries = rig.subtasks("function").into_iter().flat_map(|id| {
        let rows = &rig.view().subtasks[id.index()].entries;
        let row = rows.iter().map(|(key, row)| (key.clone(), &row.entries));
        row.collect::<Vec<_>>()
    });
    let entries = entries
        .map(|(key, entries)| {
            let plain = entries.iter().map(|entry| (entry.user_key, entry.value));
            (key, plain.collect())
        })
        .collect();
    let outputs = rig.recording.outputs(rig.view());
    let collected = count(outputs.map(|(_, record)| record));
    let out = rig.subtasks("out")[0];
    let buffer = &rig.view().subtasks[out.index()].sink.buffer;
    let life = Life { entries, collected };
    (life, count(buffer.iter()))
}

fn live(job: &JobGraph, start: Option<&StartPoint>) -> Life {
    let options = LiveOptions {
        is_unpaced: true,
        ..LiveOptions::default()
    };
    let outcome = run_live_from(job, options, start.cloned());
    assert_eq!(outcome.status, JobStatus::Finished);
    let entries = outcome.entries.iter().flatten().map(|(key, entries)| {
        let plain = entries.iter().map(|entry| (entry.user_key, entry.value));
        (key.clone(), plain.collect())
    });
    let records = outcome.collected.iter().flat_map(|sink| &sink.records);
    Life {
        entries: entries.collect(),
        collected: count(records),
    }
}

/// All of it starts from a savepoint: then the rules are all there, and when they came no longer matters.
fn both_end_alike(function: KeyedFunction) {
    for backend in BackendKind::ALL {
        let job = job(function, backend);
        let (_, start) = savepoint(&job, 700_000, SavepointFormat::Canonical);
        let metadata = start.storage.read_metadata(start.checkpoint).unwrap();
        let job = fit::adapt(&job, &metadata).unwrap();
        compare(function.name(), &job, Some(&start));
    }
}

fn compare(name: &str, job: &JobGraph, start: Option<&StartPoint>) {
    let (stepped, left) = stepped(job, start);
    let live = live(job, start);
    assert_eq!(live.entries, stepped.entries, "{name}");
    assert!(!stepped.entries.is_empty(), "{name}");
    // Two channels meet before the buffer, so that what is left in it may be other records, but not more.
    let total = |life: &Life| life.collected.values().sum::<u32>();
    assert_eq!(total(&live), total(&stepped), "{name}");
    assert!(total(&live) >= THRESHOLD && total(&live).is_multiple_of(THRESHOLD));
    let mut all = stepped.collected;
    for (output, times) in left {
        *all.entry(output).or_default() += times;
    }
    for (output, times) in &live.collected {
        let there = all.get(output).copied().unwrap_or_default();
        assert!(*times <= there, "{name}: {output:?} came out {times} times");
    }
}

/// Breaks if the count and the sum of the classic example part on a thread.
#[test]
fn a_count_average_ends_alike_live() {
    both_end_alike(KeyedFunction::CountAverage { every: 2 });
}

/// Breaks if a list gets its elements in another order there.
#[test]
fn the_last_values_end_alike_live() {
    both_end_alike(KeyedFunction::LastN { n: 3 });
}

/// Breaks if a map loses a user key.
#[test]
fn distinct_values_end_alike_live() {
    both_end_alike(KeyedFunction::Distinct);
}

/// From the beginning, since virtual time begins at zero and the live driver's clock in 1970: what comes from the one has
/// expired in the other. There are no rules then, whose coming would matter. Breaks if an entry expires that has an hour.
#[test]
fn distinct_values_with_a_time_to_live_end_alike_live() {
    for backend in BackendKind::ALL {
        let mut job = job(KeyedFunction::Distinct, backend);
        let is_of_rules = |uid: &Uid| ["rules", "factor", "filter"].contains(&uid.as_str());
        job.vertices.retain(|vertex| !is_of_rules(&vertex.uid));
        job.edges
            .retain(|edge| !is_of_rules(&edge.from) && !is_of_rules(&edge.to));
        job.edges.push(Edge {
            from: Uid::new("function"),
            to: Uid::new("out"),
            partitioning: Partitioning::Rebalance,
        });
        for vertex in &mut job.vertices {
            if let Some(ttl) = vertex.operator.ttl_mut() {
                *ttl = Some(TtlSpec::new(3_600_000));
            }
        }
        assert_eq!(validate(&job), []);
        compare("distinct with TTL", &job, None);
    }
}

/// Breaks if the accumulator of a maximum is another key's.
#[test]
fn a_maximum_ends_alike_live() {
    both_end_alike(KeyedFunction::Max);
}

/// Breaks if an average is restored without its count; its outputs are mostly against the rules, which are restored, too.
#[test]
fn an_average_ends_alike_live() {
    both_end_alike(KeyedFunction::Average);
}
