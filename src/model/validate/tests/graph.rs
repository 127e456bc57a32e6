//! How operators are connected, and how many there are.

use super::*;

#[test]
fn a_good_job_has_no_problem() {
    says(|_| {}, &[]);
    says(
        |job| {
            job.vertices.truncate(2);
            job.edges.truncate(1);
        },
        &[],
    );
}

#[test]
fn a_job_needs_a_source() {
    says(
        |job| *job = JobGraph::default(),
        &[
            "job.operators: The job is empty: add a source and connect it to a keyed sum or to a sink.",
        ],
    );
    says(
        |job| {
            job.vertices.remove(0);
            job.edges.remove(0);
        },
        &[
            "job.operators: The job has no source: add one, because all records come from sources.",
            "sum: “sum” has no input: connect the output of a source or keyed sum to it.",
        ],
    );
}

#[test]
fn a_source_takes_no_input_and_a_sink_has_no_output() {
    says(
        |job| {
            job.vertices.push(source("more"));
            job.edges[0] = edge("more", "numbers", Partitioning::Rebalance);
            job.edges.push(edge("numbers", "sum", Partitioning::Hash));
        },
        &["numbers: “numbers” is a source and takes no input: remove the edge that leads to it."],
    );
    says(
        |job| {
            job.vertices.push(sink("end"));
            job.edges.push(edge("out", "end", Partitioning::Rebalance));
        },
        &["out: “out” is a sink and has no output: remove the edge that leaves it."],
    );
    says(
        |job| job.vertices.push(source("idle")),
        &["idle: “idle” leads nowhere: connect its output to a keyed sum or to a sink."],
    );
}

#[test]
fn only_the_nodes_of_a_cycle_are_marked() {
    let found = problems(|job| {
        job.vertices.push(sum("again", parity()));
        job.edges.push(edge("sum", "again", Partitioning::Hash));
        job.edges.push(edge("again", "sum", Partitioning::Hash));
        // Behind the cycle, and on none.
        job.vertices.push(sum("after", parity()));
        job.edges.push(edge("again", "after", Partitioning::Hash));
    });
    let message = |uid| {
        format!(
            "{uid}: “{uid}” is on a cycle: remove one of the cycle’s edges, because its records would go round for ever."
        )
    };
    assert_eq!(found, [message("sum"), message("again")]);
    says(
        |job| job.edges.push(edge("sum", "sum", Partitioning::Hash)),
        &[
            "edge 2: An edge leads from “sum” back to itself: remove it, because its records would go round for ever.",
        ],
    );
}

#[test]
fn uids_and_names_tell_operators_apart() {
    says(
        |job| {
            job.vertices.push(sink("out"));
            job.vertices[0].name = " ".into();
        },
        &[
            "numbers.name: The operator with the uid “numbers” has no name: give it one.",
            "out.uid!: Two operators have the uid “out”: give each its own.",
        ],
    );
    says(
        |job| {
            job.vertices[2].uid = "".into();
            job.edges[1].to = "".into();
        },
        &[
            ".uid: An operator has no uid: give it one, because state in a checkpoint belongs to a uid.",
        ],
    );
    assert_eq!(
        problems(|job| job.vertices[2].name = "x".repeat(101)).len(),
        1
    );
    says(|job| job.vertices[2].name = "é".repeat(100), &[]);
}

#[test]
fn the_partitioning_fits_both_ends() {
    says(
        |job| job.edges[0].partitioning = Partitioning::Forward,
        &[
            "edge 0.partitioning: The edge from “numbers” to “sum” is forward: make it hash, because keyed state needs every record at the subtask that owns its key.",
        ],
    );
    says(
        |job| {
            job.vertices[2].parallelism = 2;
            job.edges[1].partitioning = Partitioning::Forward;
        },
        &[
            "edge 1.partitioning: The edge from “sum” to “out” is forward, but their parallelisms differ (1 and 2): make them equal, or make the edge rebalance.",
        ],
    );
    says(|job| job.edges[1].partitioning = Partitioning::Hash, &[]);
    says(
        |job| job.edges.push(edge("numbers", "out", Partitioning::Hash)),
        &[
            "edge 2.partitioning: The edge from “numbers” to “out” is hash, but the records have no key column: make it rebalance.",
        ],
    );
}

#[test]
fn an_edge_has_two_ends_and_no_double() {
    says(
        |job| {
            job.edges
                .push(edge("nobody", "nowhere", Partitioning::Hash));
        },
        &[
            "edge 2.from!: An edge leads from “nobody”, but there is no operator of that uid: correct the uid, or remove the edge.",
            "edge 2.to!: An edge leads to “nowhere”, but there is no operator of that uid: correct the uid, or remove the edge.",
        ],
    );
    says(
        |job| job.edges.push(edge("sum", "out", Partitioning::Broadcast)),
        &["edge 2: The edge from “sum” to “out” is there twice: remove one."],
    );
}

#[test]
fn a_job_beyond_all_size_is_refused_at_once() {
    says(
        |job| {
            job.vertices = (0..50_000).map(|i| sink(&format!("out {i}"))).collect();
            job.edges = vec![edge("out 1", "out 2", Partitioning::Hash); 500_000];
        },
        &[
            "job.operators!: The job has 50,000 operators; at most 1,000 are possible: remove some.",
            "job.edges!: The job has 500,000 edges; at most 10,000 are possible: remove some.",
        ],
    );
}

/// The worst graph within the bounds: one cycle through all operators, and thousands of edges across it. A search of
/// all paths would never come back from it.
#[test]
fn the_largest_job_is_validated_while_a_person_edits_it() {
    let uid = |i: usize| format!("sum {}", i % MAX_OPERATORS);
    let mut job = good();
    job.vertices = (0..MAX_OPERATORS).map(|i| sum(&uid(i), parity())).collect();
    job.edges = (0..MAX_EDGES)
        .map(|i| edge(&uid(i), &uid(i + 1 + i / MAX_OPERATORS), Partitioning::Hash))
        .collect();
    let found = validate(&job);
    let marked = found
        .iter()
        .filter(|problem| problem.message.contains("cycle"));
    assert_eq!(marked.count(), MAX_OPERATORS);
}
