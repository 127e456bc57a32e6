//! Operators and edges.

use crate::fuzz::chance::Chance;
use crate::model::{
    Edge, EventTimeSpec, JobGraph, KeyExpr, KeyedFunction, KeyedProcessSpec, KeyedSumSpec, MapSpec,
    OperatorSpec, Partitioning, SinkKind, SinkSpec, SourceKind, SourcePause, SourceSpec, TtlSpec,
    TtlUpdate, TtlVisibility, Uid, Vertex, VertexCosts, WindowAggregate, WindowSpec,
};

/// Records of one source, over its subtasks.
const MAX_RECORDS: u64 = 40;

/// Sources, some operators behind them, and sinks behind everything that is left open.
pub fn add(chance: &mut Chance, job: &mut JobGraph) {
    let has_time = chance.percent(35);
    let sources = chance.one_of(&[1, 1, 1, 2, 2, 3]);
    for number in 0..sources {
        let source = source(chance, has_time);
        add_vertex(chance, job, &format!("s{number}"), source);
    }
    let middle = chance.one_of(&[0, 1, 1, 1, 2, 2, 3]);
    for number in 0..middle {
        let inputs = chance.one_of(&[1, 1, 2]);
        let from = pick_inputs(chance, job, inputs);
        let operator = middle_operator(chance, job, &from, has_time);
        let uid = add_vertex(chance, job, &format!("op{number}"), operator);
        connect(chance, job, &from, &uid);
    }
    add_sinks(chance, job);
}

fn add_sinks(chance: &mut Chance, job: &mut JobGraph) {
    let mut open = open_ends(job);
    let mut number = 0;
    while !open.is_empty() {
        let together = if chance.percent(40) { open.len() } else { 1 };
        let from: Vec<Uid> = open.drain(..together).collect();
        let has_keys = from.iter().all(|uid| {
            job.vertex(uid)
                .is_some_and(|vertex| vertex.operator.is_keyed())
        });
        let kind = match sink_kind(chance) {
            SinkKind::Upsert if !has_keys => SinkKind::Plain,
            kind => kind,
        };
        let spec = SinkSpec { kind };
        let uid = add_vertex(
            chance,
            job,
            &format!("out{number}"),
            OperatorSpec::Sink(spec),
        );
        connect(chance, job, &from, &uid);
        number += 1;
    }
}

fn sink_kind(chance: &mut Chance) -> SinkKind {
    match chance.between(0, 9) {
        0..=2 => SinkKind::Plain,
        3 => SinkKind::Upsert,
        5 => SinkKind::Buffering {
            threshold: chance.small(1, 6),
        },
        4 => SinkKind::TwoPhaseCommit {
            transaction_timeout_ms: chance.between(300, 3_000),
            ignore_failures_after_timeout: chance.percent(50),
        },
        _ => SinkKind::TwoPhaseCommit {
            transaction_timeout_ms: SinkKind::DEFAULT_TRANSACTION_TIMEOUT_MS,
            ignore_failures_after_timeout: false,
        },
    }
}

fn source(chance: &mut Chance, has_time: bool) -> OperatorSpec {
    let end = if chance.percent(5) {
        0
    } else {
        chance.between(1, MAX_RECORDS)
    };
    let rate = chance.one_of(&[3.0, 10.0, 25.0, 50.0, 100.0, 400.0]);
    let mut spec = SourceSpec::new(SourceKind::Sequence, rate, Some(end));
    spec.splits = chance.percent(25).then(|| chance.small(1, 4));
    if has_time {
        spec.event_time = Some(EventTimeSpec {
            step_ms: chance.between(1, 40),
            late_every: chance.one_of(&[0, 0, 3, 5]),
            late_by_ms: chance.between(1, 200),
            max_lateness_ms: chance.one_of(&[0, 20, 100]),
            idle_after_ms: chance.percent(30).then(|| chance.between(20, 300)),
        });
        spec.pause = chance.percent(25).then(|| SourcePause {
            after_records: chance.between(1, 10),
            for_ms: chance.between(50, 800),
        });
    }
    OperatorSpec::Source(spec)
}

fn middle_operator(
    chance: &mut Chance,
    job: &JobGraph,
    from: &[Uid],
    has_time: bool,
) -> OperatorSpec {
    // A window's results carry a time of their own; one window a path is enough.
    let is_timed = has_time && !from.iter().any(|uid| is_behind_window(job, uid));
    match chance.between(0, 9) {
        0..=2 => OperatorSpec::Map(MapSpec {
            factor: chance.one_of(&[-1, 1, 2, 3]),
        }),
        3..=6 if is_timed => OperatorSpec::Window(WindowSpec {
            key: Some(key(chance, job, from)),
            size_ms: chance.between(10, 150),
            aggregate: chance.one_of(&[WindowAggregate::Sum, WindowAggregate::Count]),
        }),
        _ if from.len() == 2 && chance.percent(30) => OperatorSpec::RuleFilter,
        _ if chance.percent(50) => OperatorSpec::KeyedProcess(KeyedProcessSpec {
            key: Some(key(chance, job, from)),
            function: function(chance),
            ttl: chance.percent(60).then(|| ttl(chance)),
        }),
        _ => OperatorSpec::KeyedSum(KeyedSumSpec {
            key: Some(key(chance, job, from)),
            ttl: chance.percent(15).then(|| ttl(chance)),
        }),
    }
}

fn function(chance: &mut Chance) -> KeyedFunction {
    match chance.one_of(&KeyedFunction::ALL) {
        KeyedFunction::CountAverage { .. } => KeyedFunction::CountAverage {
            every: chance.small(1, 4),
        },
        KeyedFunction::LastN { .. } => KeyedFunction::LastN {
            n: chance.small(1, 4),
        },
        function => function,
    }
}

/// Short against the time between records, or long.
fn ttl(chance: &mut Chance) -> TtlSpec {
    TtlSpec {
        update: chance.one_of(&TtlUpdate::ALL),
        visibility: chance.one_of(&[
            TtlVisibility::NeverReturnExpired,
            TtlVisibility::NeverReturnExpired,
            TtlVisibility::ReturnExpiredIfNotCleanedUp,
        ]),
        background_cleanup: chance.percent(70),
        ..TtlSpec::new(chance.one_of(&[1, 20, 100, 400, 3_000]))
    }
}

/// Whether a window is on the way to `uid`, or is it.
fn is_behind_window(job: &JobGraph, uid: &Uid) -> bool {
    let is_window = |vertex: &Vertex| matches!(vertex.operator, OperatorSpec::Window(_));
    job.vertex(uid).is_some_and(is_window)
        || job
            .inputs_of(uid)
            .any(|edge| is_behind_window(job, &edge.from))
}

fn key(chance: &mut Chance, job: &JobGraph, from: &[Uid]) -> KeyExpr {
    let keyed = |uid: &Uid| {
        job.vertex(uid)
            .is_some_and(|vertex| vertex.operator.is_keyed())
    };
    if from.iter().all(keyed) && chance.percent(50) {
        return KeyExpr::Column;
    }
    KeyExpr::Modulo {
        modulus: chance.small(1, 6),
        labels: Vec::new(),
    }
}

fn add_vertex(chance: &mut Chance, job: &mut JobGraph, uid: &str, operator: OperatorSpec) -> Uid {
    let uid = Uid::new(uid);
    let mut vertex = Vertex::new(uid.clone(), operator);
    vertex.parallelism = chance.one_of(&[1, 1, 2, 2, 3]);
    if vertex.operator.is_keyed() && chance.percent(40) {
        vertex.max_parallelism = Some(chance.small(vertex.parallelism, 12));
    }
    vertex.has_explicit_uid = chance.percent(80);
    if chance.percent(20) {
        vertex.costs = costs(chance, vertex.parallelism);
    }
    job.vertices.push(vertex);
    uid
}

/// One slow operator, or one slow subtask of it.
fn costs(chance: &mut Chance, parallelism: u32) -> VertexCosts {
    VertexCosts {
        process_us: chance.percent(60).then(|| chance.between(0, 80_000)),
        snapshot_sync_us: chance.percent(30).then(|| chance.between(0, 80_000)),
        snapshot_async_us: chance.percent(30).then(|| chance.between(0, 300_000)),
        only_subtask: chance.percent(40).then(|| chance.small(0, parallelism - 1)),
    }
}

/// Those that have no output yet, but are no sinks.
fn open_ends(job: &JobGraph) -> Vec<Uid> {
    let open = |vertex: &&Vertex| !vertex.is_sink() && job.outputs_of(&vertex.uid).next().is_none();
    let uids = job.vertices.iter().filter(open);
    uids.map(|vertex| vertex.uid.clone()).collect()
}

/// Open ends first; now and then one that has an output already.
fn pick_inputs(chance: &mut Chance, job: &JobGraph, count: usize) -> Vec<Uid> {
    let mut choices = open_ends(job);
    if choices.len() < count || chance.percent(20) {
        choices = job
            .vertices
            .iter()
            .map(|vertex| vertex.uid.clone())
            .collect();
    }
    let mut picked = Vec::new();
    while picked.len() < count && !choices.is_empty() {
        picked.push(choices.remove(chance.index(choices.len())));
    }
    picked
}

fn connect(chance: &mut Chance, job: &mut JobGraph, from: &[Uid], to: &Uid) {
    for from in from {
        let partitioning = partitioning(chance, job, from, to);
        job.edges.push(Edge {
            from: from.clone(),
            to: to.clone(),
            partitioning,
        });
    }
}

fn partitioning(chance: &mut Chance, job: &JobGraph, from: &Uid, to: &Uid) -> Partitioning {
    let (Some(from), Some(to)) = (job.vertex(from), job.vertex(to)) else {
        return Partitioning::Rebalance;
    };
    if to.operator.is_keyed() {
        return Partitioning::Hash;
    }
    // The first of its two inputs is filtered, the second has the rules.
    let is_filter = to.operator == OperatorSpec::RuleFilter;
    if is_filter && job.inputs_of(&to.uid).next().is_some() {
        return Partitioning::Broadcast;
    }
    let mut choices = vec![Partitioning::Rebalance; 3];
    if from.parallelism == to.parallelism {
        choices.extend([Partitioning::Forward; 3]);
    }
    if from.operator.is_keyed() {
        choices.extend([Partitioning::Hash; 3]);
    }
    if !is_filter {
        choices.push(Partitioning::Broadcast);
    }
    chance.one_of(&choices)
}
