//! What Flink 2.3.0 itself computes, and laws 28 and 29 in general.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;

type Elements = Vec<Arc<[u8]>>;

fn list(distribution: Distribution, elements: &[u8]) -> Vec<ListState> {
    named("x", distribution, elements)
}

fn named(name: &str, distribution: Distribution, elements: &[u8]) -> Vec<ListState> {
    vec![ListState {
        name: name.to_owned(),
        distribution,
        elements: elements.iter().map(|element| [*element].into()).collect(),
    }]
}

/// Subtask `i` has the elements `100 i`, `100 i + 1` …, as many as `sizes` say; what each new subtask gets.
fn after(distribution: Distribution, sizes: &[u8], parallelism: u32) -> Vec<Vec<u8>> {
    let old: Vec<Vec<ListState>> = (0_u8..)
        .zip(sizes)
        .map(|(index, size)| {
            let elements: Vec<u8> = (0..*size).map(|element| 100 * index + element).collect();
            list(distribution, &elements)
        })
        .collect();
    let new = lists(&old, parallelism);
    assert_eq!(new.len(), parallelism as usize);
    new.iter().map(|lists| bytes_of(lists)).collect()
}

fn bytes_of(lists: &[ListState]) -> Vec<u8> {
    let elements = lists.iter().flat_map(|list| &list.elements);
    elements.map(|element| element[0]).collect()
}

/// Catches any other cut: round robin by element, longer runs at the end, a cut where nothing has changed.
#[test]
fn even_split_agrees_with_flink() {
    use Distribution::Split;
    let three: [&[u8]; 3] = [&[0, 1], &[100, 101], &[102]];
    assert_eq!(after(Split, &[2, 3], 3), three);
    assert_eq!(after(Split, &[2, 3], 1), [[0, 1, 100, 101, 102]]);
    let two: [&[u8]; 2] = [&[0, 1, 2, 100], &[101, 102, 200]];
    assert_eq!(after(Split, &[3, 3, 1], 2), two);
    let four: [&[u8]; 4] = [&[0], &[100], &[], &[]];
    assert_eq!(after(Split, &[1, 1], 4), four);
    let same: [&[u8]; 2] = [&[0, 1, 2, 3, 4], &[100]];
    assert_eq!(
        after(Split, &[5, 1], 2),
        same,
        "the parallelism has not changed"
    );
}

#[test]
fn broadcast_agrees_with_flink() {
    let four = [[0], [100], [0], [100]];
    assert_eq!(after(Distribution::Broadcast, &[1, 1], 4), four);
}

/// Also when the parallelism has not changed.
#[test]
fn union_gives_everyone_everything() {
    for parallelism in [1, 2, 3] {
        let new = after(Distribution::Union, &[2, 1], parallelism);
        assert_eq!(new, vec![vec![0, 1, 100]; parallelism as usize]);
    }
}

/// The second list goes on with the subtask after the last one that got one more.
#[test]
fn several_lists_share_what_is_left_over() {
    let old = [[
        named("x", Distribution::Split, &[1, 2, 3, 4]),
        named("y", Distribution::Split, &[5, 6]),
    ]
    .concat()];
    let new = lists(&old, 3);
    let bytes: Vec<Vec<u8>> = new.iter().map(|lists| bytes_of(lists)).collect();
    assert_eq!(bytes, [vec![1, 2], vec![3, 5], vec![4, 6]]);
}

/// Appendix A's vectors of channel state.
#[test]
fn channel_state_agrees_with_flink() {
    use SubtaskMapper::{First, Range, RoundRobin};
    let all = |mapper: SubtaskMapper, old, new| -> Vec<Vec<u32>> {
        let new_subtasks = 0..new;
        new_subtasks
            .map(|index| mapper.old_subtasks(index, old, new))
            .collect()
    };
    assert_eq!(all(Range, 3, 2), [vec![0, 1], vec![1, 2]]);
    assert_eq!(all(RoundRobin, 3, 2), [vec![0, 2], vec![1]]);
    assert_eq!(all(Range, 2, 3), [vec![0], vec![0, 1], vec![1]]);
    assert_eq!(all(RoundRobin, 2, 3), [vec![0], vec![1], vec![]]);
    assert_eq!(all(First, 3, 2), [vec![0, 1, 2], vec![]]);
}

fn sorted(mut elements: Elements) -> Elements {
    elements.sort();
    elements
}

fn elements(lists: &[Vec<ListState>]) -> Elements {
    let lists = lists.iter().flatten();
    lists.flat_map(|list| list.elements.clone()).collect()
}

proptest! {
    /// Law 29. Catches an element that is lost or doubled, and runs that are too uneven.
    #[test]
    fn an_even_split_keeps_every_element(
        sizes in proptest::collection::vec(0_u8..20, 1..6), others in 0_u8..7, parallelism in 1_u32..7,
    ) {
        let mut old: Vec<Vec<ListState>> = (0_u8..)
            .zip(&sizes)
            .map(|(index, size)| {
                let own: Vec<u8> = (0..*size).map(|element| 40 * index + element).collect();
                list(Distribution::Split, &own)
            })
            .collect();
        let other: Vec<u8> = (0..others).collect();
        old[0].extend(named("y", Distribution::Split, &other));
        let new = lists(&old, parallelism);
        prop_assert_eq!(sorted(elements(&old)), sorted(elements(&new)));
        if old.len() == new.len() {
            prop_assert_eq!(old, new);
        } else {
            prop_assert_eq!(elements(&old).len(), elements(&new).len());
            for name in ["x", "y"] {
                let sizes: Vec<usize> = new
                    .iter()
                    .map(|lists| lists.iter().filter(|list| list.name == name).map(|list| list.elements.len()).sum())
                    .collect();
                prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{:?}", sizes);
            }
        }
    }

    /// Law 28 for records in flight: each old subtask's part goes to at least one new one; by key, to all those that can
    /// own one of its keys; otherwise to exactly one.
    #[test]
    fn no_channel_state_is_left_behind(old in 1_u32..9, new in 1_u32..9, group in 0_u32..1 << 15) {
        for mapper in [SubtaskMapper::Range, SubtaskMapper::RoundRobin, SubtaskMapper::First] {
            let from: Vec<Vec<u32>> = (0..new).map(|index| mapper.old_subtasks(index, old, new)).collect();
            for subtask in 0..old {
                let takers = from.iter().filter(|from| from.contains(&subtask)).count();
                prop_assert!(takers == 1 || (mapper == SubtaskMapper::Range && takers > 0));
            }
        }
        let (was, is) = (owner(group, old, 1 << 15), owner(group, new, 1 << 15));
        prop_assert!(SubtaskMapper::Range.old_subtasks(is, old, new).contains(&was));
    }
}
