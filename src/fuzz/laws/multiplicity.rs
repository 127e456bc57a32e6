//! How often a record counts at an operator: once for each way it takes there.

use std::collections::BTreeMap;

use super::History;
use crate::model::{JobGraph, Origin, Partitioning, SplitId, Uid};

/// How many records, each once.
pub type Tally = BTreeMap<Origin, u64>;

/// How often one record that arrives at `from` will be taken by `to`. What a window or an average gathers goes on as other
/// records, and a filter leaves some out.
pub fn times(job: &JobGraph, from: &Uid, to: &Uid) -> u64 {
    if from == to {
        return 1;
    }
    if gathers(job, from) {
        return 0;
    }
    let copies = |edge: &crate::model::Edge| match edge.partitioning {
        Partitioning::Broadcast => job
            .vertex(&edge.to)
            .map_or(0, |vertex| u64::from(vertex.parallelism)),
        _ => 1,
    };
    job.outputs_of(from)
        .map(|edge| copies(edge) * times(job, &edge.to, to))
        .sum()
}

fn gathers(job: &JobGraph, uid: &Uid) -> bool {
    let vertex = job.vertex(uid);
    vertex.is_some_and(|vertex| vertex.operator.gathers())
}

/// Whether a window is on a way to `uid`: what arrives there are not the sources' records.
pub fn is_behind_window(job: &JobGraph, uid: &Uid) -> bool {
    job.inputs_of(uid)
        .any(|edge| gathers(job, &edge.from) || is_behind_window(job, &edge.from))
}

/// What the first `offset` records of each split come to at `to`.
pub fn expected(history: &History, offsets: &BTreeMap<SplitId, u64>, to: &Uid) -> Tally {
    let mut tally = Tally::new();
    for (split, count) in offsets {
        let from = &history.plan.split(*split).uid;
        let each = times(history.job, from, to);
        if each > 0 {
            let origins = (1..=*count).map(|offset| Origin {
                split: *split,
                offset,
            });
            tally.extend(origins.map(|origin| (origin, each)));
        }
    }
    tally
}

pub fn add(tally: &mut Tally, origins: impl IntoIterator<Item = Origin>, each: u64) {
    for origin in origins {
        *tally.entry(origin).or_insert(0) += each;
    }
}

/// The first record that counts otherwise than it should; `at_least`: more often is right, too.
pub fn difference(actual: &Tally, expected: &Tally, at_least: bool) -> Option<(Origin, u64, u64)> {
    let mut origins: Vec<Origin> = expected.keys().chain(actual.keys()).copied().collect();
    origins.sort_unstable();
    let counts = origins.into_iter().map(|origin| {
        let count = |tally: &Tally| tally.get(&origin).copied().unwrap_or(0);
        (origin, count(actual), count(expected))
    });
    counts
        .into_iter()
        .find(|(_, actual, expected)| actual < expected || (!at_least && actual > expected))
}

/// How a person reads what [`difference`] found.
pub fn tell(
    history: &History,
    what: &str,
    (origin, actual, expected): (Origin, u64, u64),
) -> String {
    let split = history.plan.split_name(origin.split);
    format!(
        "record {} of {split} counts {actual} times {what}, not {expected}",
        origin.offset
    )
}
