//! What editing does to a job: pure functions from a job to the changed job.

use std::path::PathBuf;

use crate::model::{
    Command, Edge, Fault, JobGraph, KeyedProcessSpec, KeyedSumSpec, MapSpec, OperatorSpec,
    Partitioning, Position, SinkSpec, SourceKind, SourceSpec, Uid, Vertex, VertexCosts, When,
    WindowAggregate, WindowSpec,
};

use super::canvas::NODE_SIZE;
use super::command::{ScriptEdit, Selection, VertexKind};

/// Add an operator of `kind`, at `at` or in the first free place of its column. Returns its uid.
pub fn add_vertex(job: &mut JobGraph, kind: VertexKind, at: Option<Position>) -> Uid {
    let base = match kind {
        VertexKind::Sequence => "numbers",
        VertexKind::Csv => "rows",
        VertexKind::Map => "map",
        VertexKind::KeyedSum => "sum",
        VertexKind::KeyedProcess => "function",
        VertexKind::RuleFilter => "filter",
        VertexKind::Window => "window",
        VertexKind::Sink => "sink",
    };
    let uid = free_uid(job, base);
    let position = at.unwrap_or_else(|| free_place(job, kind));
    job.vertices.push(Vertex {
        name: uid.as_str().to_owned(),
        uid: uid.clone(),
        parallelism: 1,
        max_parallelism: None,
        position,
        operator: operator(kind),
        has_explicit_uid: true,
        costs: VertexCosts::default(),
    });
    uid
}

fn operator(kind: VertexKind) -> OperatorSpec {
    let source = |kind, rate_per_s| {
        OperatorSpec::Source(SourceSpec {
            kind,
            rate_per_s,
            end: None,
            splits: None,
            event_time: None,
            pause: None,
        })
    };
    match kind {
        VertexKind::Sequence => source(SourceKind::Sequence, 10.0),
        VertexKind::Csv => source(SourceKind::Csv(super::inspector::empty_csv()), 10.0),
        VertexKind::Map => OperatorSpec::Map(MapSpec::default()),
        VertexKind::KeyedSum => OperatorSpec::KeyedSum(KeyedSumSpec::default()),
        VertexKind::KeyedProcess => OperatorSpec::KeyedProcess(KeyedProcessSpec::default()),
        VertexKind::RuleFilter => OperatorSpec::RuleFilter,
        VertexKind::Window => OperatorSpec::Window(WindowSpec {
            key: None,
            size_ms: 1_000,
            aggregate: WindowAggregate::Sum,
        }),
        VertexKind::Sink => OperatorSpec::Sink(SinkSpec::default()),
    }
}

fn free_uid(job: &JobGraph, base: &str) -> Uid {
    let mut uid = Uid::new(base);
    let mut number = 2_u32;
    while job.vertex(&uid).is_some() {
        uid = Uid::new(&format!("{base}-{number}"));
        number += 1;
    }
    uid
}

/// Below an operator: for what is wrong with it, in words.
const ROOM_BELOW: f32 = 120.0;

/// Sources stand at the left, sinks at the right; below what is there.
fn free_place(job: &JobGraph, kind: VertexKind) -> Position {
    let same_kind = |vertex: &&Vertex| match kind {
        VertexKind::Sequence | VertexKind::Csv => vertex.is_source(),
        VertexKind::Map
        | VertexKind::KeyedSum
        | VertexKind::KeyedProcess
        | VertexKind::RuleFilter
        | VertexKind::Window => !vertex.is_source() && !vertex.is_sink(),
        VertexKind::Sink => vertex.is_sink(),
    };
    let x = job
        .vertices
        .iter()
        .find(same_kind)
        .map_or_else(|| default_x(job, kind), |vertex| vertex.position.x);
    let mut position = Position { x, y: 200.0 };
    // Each operator can be in the way at most once on the way down.
    for _ in 0..=job.vertices.len() {
        let in_the_way = job
            .vertices
            .iter()
            .filter(|vertex| overlaps(vertex.position, position));
        match in_the_way.map(|vertex| vertex.position.y).reduce(f32::max) {
            Some(y) => position.y = y + NODE_SIZE.y + ROOM_BELOW,
            None => break,
        }
    }
    position
}

fn default_x(job: &JobGraph, kind: VertexKind) -> f32 {
    let right = job
        .vertices
        .iter()
        .map(|vertex| vertex.position.x)
        .fold(f32::NEG_INFINITY, f32::max);
    match kind {
        VertexKind::Sequence | VertexKind::Csv => 40.0,
        VertexKind::Map
        | VertexKind::KeyedSum
        | VertexKind::KeyedProcess
        | VertexKind::RuleFilter
        | VertexKind::Window => 400.0,
        VertexKind::Sink => 760.0_f32.max(right + 320.0),
    }
}

fn overlaps(a: Position, b: Position) -> bool {
    (a.x - b.x).abs() < NODE_SIZE.x + 16.0 && (a.y - b.y).abs() < NODE_SIZE.y + ROOM_BELOW
}

/// Connect two operators, if they are not yet. Into a keyed operator records go by key; into a rule filter the second
/// stream is the rules.
pub fn connect(job: &mut JobGraph, from: &Uid, to: &Uid) {
    let (Some(_), Some(target)) = (job.vertex(from), job.vertex(to)) else {
        return;
    };
    if job
        .edges
        .iter()
        .any(|edge| edge.from == *from && edge.to == *to)
    {
        return;
    }
    let has_rules = job
        .inputs_of(to)
        .any(|edge| edge.partitioning == Partitioning::Broadcast);
    let partitioning = match target.operator {
        _ if target.operator.is_keyed() => Partitioning::Hash,
        // What is to be filtered is connected first, then the rules.
        OperatorSpec::RuleFilter if job.inputs_of(to).next().is_some() && !has_rules => {
            Partitioning::Broadcast
        }
        _ => Partitioning::Rebalance,
    };
    job.edges.push(Edge {
        from: from.clone(),
        to: to.clone(),
        partitioning,
    });
}

/// Replace operator `uid`; a new uid is carried over to its edges and the script.
pub fn set_vertex(job: &mut JobGraph, uid: &Uid, vertex: Vertex) {
    let is_taken = vertex.uid != *uid && job.vertex(&vertex.uid).is_some();
    let Some(place) = job
        .vertices
        .iter()
        .position(|known| known.uid == *uid)
        .filter(|_| !is_taken)
    else {
        return;
    };
    let renamed = vertex.uid.clone();
    job.vertices[place] = vertex;
    for edge in &mut job.edges {
        for end in [&mut edge.from, &mut edge.to] {
            if *end == *uid {
                *end = renamed.clone();
            }
        }
    }
    for name in job
        .script
        .iter_mut()
        .flat_map(|entry| script_uids(&mut entry.when, &mut entry.command))
    {
        if *name == *uid {
            *name = renamed.clone();
        }
    }
}

fn script_uids<'a>(
    when: &'a mut When,
    command: &'a mut Command,
) -> impl Iterator<Item = &'a mut Uid> {
    let of_when = match when {
        When::Emitted { uid, .. } | When::Processed { uid, .. } => Some(uid),
        When::AtMs(_) => None,
    };
    let of_command: Vec<&mut Uid> = match command {
        Command::Crash { uid, .. } | Command::Inject(Fault { uid, .. }) => vec![uid],
        Command::CrashSeveral { subtasks } => subtasks.iter_mut().map(|(uid, _)| uid).collect(),
        _ => Vec::new(),
    };
    of_when.into_iter().chain(of_command)
}

/// Let CSV source `uid` read `path`.
pub fn set_csv_path(job: &mut JobGraph, uid: &Uid, path: PathBuf) {
    let vertex = job.vertices.iter_mut().find(|vertex| vertex.uid == *uid);
    if let Some(OperatorSpec::Source(source)) = vertex.map(|vertex| &mut vertex.operator)
        && let SourceKind::Csv(csv) = &mut source.kind
    {
        csv.path = path;
    }
}

/// Change the script; a place that it does not have is left alone.
pub fn edit_script(job: &mut JobGraph, edit: ScriptEdit) {
    let script = &mut job.script;
    match edit {
        ScriptEdit::Add(entry) => script.push(entry),
        ScriptEdit::Set { index, entry } => {
            if let Some(known) = script.get_mut(index) {
                *known = *entry;
            }
        }
        ScriptEdit::Move { from, to } => {
            if from < script.len() && to < script.len() {
                let entry = script.remove(from);
                script.insert(to, entry);
            }
        }
        ScriptEdit::Delete(index) => {
            if index < script.len() {
                script.remove(index);
            }
        }
    }
}

/// Delete an operator with its edges, or an edge.
pub fn delete(job: &mut JobGraph, what: &Selection) {
    match what {
        Selection::Vertex(uid) => {
            job.vertices.retain(|vertex| vertex.uid != *uid);
            job.edges
                .retain(|edge| edge.from != *uid && edge.to != *uid);
        }
        Selection::Edge(index) if *index < job.edges.len() => {
            job.edges.remove(*index);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ScriptEntry;
    use crate::ui::fixture::two_sources_job;
    use crate::ui::samples;

    #[test]
    fn what_the_palette_adds_never_lies_on_something() {
        let mut job = JobGraph::default();
        for _ in 0..5 {
            for kind in VertexKind::ALL {
                add_vertex(&mut job, kind, None);
            }
        }
        for (i, a) in job.vertices.iter().enumerate() {
            for b in &job.vertices[i + 1..] {
                assert!(
                    !overlaps(a.position, b.position),
                    "{} lies on {}",
                    a.uid,
                    b.uid
                );
                assert_ne!(a.uid, b.uid);
            }
        }
    }

    #[test]
    fn records_go_into_a_keyed_sum_by_key() {
        let mut job = JobGraph::default();
        let source = add_vertex(&mut job, VertexKind::Sequence, None);
        let sum = add_vertex(&mut job, VertexKind::KeyedSum, None);
        let sink = add_vertex(&mut job, VertexKind::Sink, None);
        connect(&mut job, &source, &sum);
        connect(&mut job, &sum, &sink);
        connect(&mut job, &sum, &sink);
        let kinds: Vec<_> = job.edges.iter().map(|edge| edge.partitioning).collect();
        assert_eq!(kinds, [Partitioning::Hash, Partitioning::Rebalance]);
    }

    #[test]
    fn deleting_an_operator_takes_its_edges_along() {
        let mut job = two_sources_job();
        delete(&mut job, &Selection::Vertex(Uid::new("sum")));
        assert_eq!(job.vertices.len(), 3);
        assert!(job.edges.is_empty());
    }

    #[test]
    fn a_new_uid_is_known_everywhere() {
        let mut job = samples::odd_even();
        let crash = Command::Crash {
            uid: Uid::new("sum"),
            subtask: 0,
        };
        job.script = vec![ScriptEntry {
            when: When::Emitted {
                uid: Uid::new("numbers"),
                records: 3,
            },
            command: crash,
        }];
        let mut vertex = job.vertex(&Uid::new("sum")).unwrap().clone();
        vertex.uid = Uid::new("totals");
        set_vertex(&mut job, &Uid::new("sum"), vertex);
        assert_eq!(job.edges[0].to, Uid::new("totals"));
        assert_eq!(job.edges[1].from, Uid::new("totals"));
        assert_eq!(
            job.script[0].command,
            Command::Crash {
                uid: Uid::new("totals"),
                subtask: 0
            }
        );
    }

    #[test]
    fn the_script_is_moved_and_deleted_in_place_and_wrong_places_do_nothing() {
        let mut job = samples::odd_even();
        let entry = |ms| ScriptEntry {
            when: When::AtMs(ms),
            command: Command::Checkpoint,
        };
        job.script.clear();
        for ms in [1, 2, 3] {
            edit_script(&mut job, ScriptEdit::Add(entry(ms)));
        }
        edit_script(&mut job, ScriptEdit::Move { from: 2, to: 0 });
        assert_eq!(job.script, [entry(3), entry(1), entry(2)]);
        edit_script(&mut job, ScriptEdit::Delete(1));
        let set = ScriptEdit::Set {
            index: 1,
            entry: Box::new(entry(9)),
        };
        edit_script(&mut job, set);
        assert_eq!(job.script, [entry(3), entry(9)]);
        edit_script(&mut job, ScriptEdit::Move { from: 0, to: 2 });
        edit_script(&mut job, ScriptEdit::Delete(2));
        assert_eq!(job.script, [entry(3), entry(9)]);
    }

    #[test]
    fn a_taken_uid_is_refused() {
        let mut job = samples::odd_even();
        let before = job.clone();
        let mut vertex = job.vertex(&Uid::new("sum")).unwrap().clone();
        vertex.uid = Uid::new("out");
        set_vertex(&mut job, &Uid::new("sum"), vertex);
        assert_eq!(job, before);
    }
}
