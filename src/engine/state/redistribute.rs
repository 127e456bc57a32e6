//! Who gets what when an operator has another number of subtasks than the one that wrote the state: pure functions.
//!
//! Keyed state is not in here: its key groups belong to whoever owns them (`model::key_group`).

use crate::engine::storage::{Distribution, ListState};
use crate::model::Partitioning;
use crate::model::key_group::{UPPER_BOUND_MAX_PARALLELISM, key_group_range, owner};

/// The lists of each of `parallelism` new subtasks, from those of the `old` ones
/// (Flink: `RoundRobinOperatorStateRepartitioner`).
///
/// *Union*: everybody gets all elements, in the order of the old subtasks. *Broadcast*: each old subtask had written its
/// copy; new subtask `i` gets copy `i` modulo their number. *Split*: with the parallelism unchanged, everybody gets its
/// own list back, however uneven; otherwise the lists are put together in order and cut into contiguous runs, of which some
/// are longer by one. With several lists, those are not always the first subtasks': each list begins with the subtask
/// after the last one that got one more.
#[must_use]
pub fn lists(old: &[Vec<ListState>], parallelism: u32) -> Vec<Vec<ListState>> {
    let mut new = vec![Vec::new(); parallelism as usize];
    let mut start = 0;
    for name in names(old) {
        let copies: Vec<Option<&ListState>> = old
            .iter()
            .map(|lists| lists.iter().find(|list| list.name == name))
            .collect();
        for (index, list) in distribute(&copies, new.len(), &mut start)
            .into_iter()
            .enumerate()
        {
            new[index].extend(list);
        }
    }
    new
}

/// In the order in which they come first.
fn names(old: &[Vec<ListState>]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for list in old.iter().flatten() {
        if !names.contains(&list.name.as_str()) {
            names.push(&list.name);
        }
    }
    names
}

/// One list, by old subtask and then by new one. `start`: which new subtask's turn it is first.
fn distribute(
    old: &[Option<&ListState>],
    parallelism: usize,
    start: &mut usize,
) -> Vec<Option<ListState>> {
    let known: Vec<&ListState> = old.iter().copied().flatten().collect();
    let Some(first) = known.first() else {
        return vec![None; parallelism];
    };
    let all = || known.iter().flat_map(|list| list.elements.iter().cloned());
    let list = |elements: Vec<_>| {
        Some(ListState {
            name: first.name.clone(),
            distribution: first.distribution,
            elements,
        })
    };
    match first.distribution {
        Distribution::Union => (0..parallelism).map(|_| list(all().collect())).collect(),
        Distribution::Broadcast => (0..parallelism)
            .map(|index| Some(known[index % known.len()].clone()))
            .collect(),
        Distribution::Split if old.len() == parallelism => {
            old.iter().map(|list| list.cloned()).collect()
        }
        Distribution::Split => {
            let mut elements = all();
            let (base, longer) = match parallelism {
                0 => (0, 0),
                _ => (all().count() / parallelism, all().count() % parallelism),
            };
            let mut new = vec![None; parallelism];
            for turn in 0..parallelism {
                let length = base + usize::from(turn < longer);
                let run = elements.by_ref().take(length).collect();
                new[(*start + turn) % parallelism] = list(run);
            }
            *start += longer;
            new
        }
    }
}

/// Which old subtasks' channel state a new subtask gets (Flink: `SubtaskStateMapper`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubtaskMapper {
    /// Those whose key groups overlap with the new one's. A record may be in several new subtasks' part: each keeps those
    /// that it owns.
    Range,
    /// Those whose index is the same modulo the new number.
    RoundRobin,
    /// The first gets all.
    First,
}

impl SubtaskMapper {
    /// At the receiving end of an edge (Flink: `StreamPartitioner.getDownstreamSubtaskStateMapper`). None: such an edge
    /// cannot be rescaled with records in flight.
    #[must_use]
    pub fn downstream(partitioning: Partitioning) -> Option<Self> {
        match partitioning {
            Partitioning::Hash => Some(Self::Range),
            Partitioning::Rebalance => Some(Self::RoundRobin),
            Partitioning::Forward | Partitioning::Broadcast => None,
        }
    }

    /// At the sending end it does not matter which one it is, as long as it is one (Flink: `ARBITRARY`).
    pub const UPSTREAM: Self = Self::RoundRobin;

    /// The old subtasks, of `old` in number, whose state the new subtask `index` of `new` gets; in order.
    #[must_use]
    pub fn old_subtasks(self, index: u32, old: u32, new: u32) -> Vec<u32> {
        match self {
            Self::Range => {
                // As fine as can be: the real number of key groups need not be known.
                const MAX: u32 = UPPER_BOUND_MAX_PARALLELISM;
                let range = key_group_range(index, new, MAX);
                if range.is_empty() {
                    return Vec::new();
                }
                (owner(*range.start(), old, MAX)..=owner(*range.end(), old, MAX)).collect()
            }
            Self::RoundRobin => (index..old).step_by(new.max(1) as usize).collect(),
            Self::First if index == 0 => (0..old).collect(),
            Self::First => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
