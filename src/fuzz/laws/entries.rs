//! Law 30, and what keyed functions mean: each change of a key's entries is worked out again from those before it.
//!
//! By other rules than the engine's: over the entries as the log shows them, without cells, backends or accesses.

use super::{History, Violation, violation};
use crate::fuzz::history::{Change, is_over};
use crate::model::{
    BackendKind, Decimal, EntryValue, KeyedFunction, OperatorSpec, StateEntry, TtlSpec, TtlUpdate,
    TtlVisibility,
};

/// Breaks if a function or its state counts wrongly, if an entry is renewed or lost for another's sake, or if anything
/// expires a millisecond too soon or too late.
pub fn changes(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    for change in &history.changes {
        let operator = &history.plan.subtask(change.subtask).operator;
        let now_ms = history.now_ms(change.at);
        let is_right = match change.value {
            Some(value) => follows(history, operator, (change, value), now_ms),
            None => is_cleanup(history, operator, change, now_ms),
        };
        if !is_right {
            let name = history.plan.subtask_name(change.subtask);
            let text = format!(
                "{name} had {:?} and comes to {:?} at {now_ms} ms",
                change.before, change.after
            );
            found.push(violation(30, change.at, text));
        }
    }
    found
}

/// Whether something is gone, all of which had expired, and nothing is new. Of a list, all that had expired goes at once.
fn is_cleanup(history: &History, operator: &OperatorSpec, change: &Change, now_ms: u64) -> bool {
    let Change { before, after, .. } = change;
    let is_expired = |entry: &StateEntry| is_over(entry, operator.ttl(), now_ms);
    if is_list(operator) || history.job.config.backend == BackendKind::RocksDb {
        let alive = before.iter().filter(|entry| !is_expired(entry));
        return after.len() < before.len() && alive.eq(after);
    }
    let lost = before.iter().filter(|entry| !after.contains(entry));
    after.len() < before.len()
        && lost.clone().all(is_expired)
        && after.iter().all(|entry| before.contains(entry))
}

fn is_list(operator: &OperatorSpec) -> bool {
    matches!(operator, OperatorSpec::KeyedProcess(spec) if matches!(spec.function, KeyedFunction::LastN { .. }))
}

/// Whether these are a key's entries after a record of this value. On the heap, the access may have cleaned up the cell that
/// it uses just before: the value, the list, or the map's entry for the user key. (Of a map all other entries are read,
/// so that what has expired of them goes anyway.)
fn follows(
    history: &History,
    operator: &OperatorSpec,
    (change, value): (&Change, Decimal),
    now_ms: u64,
) -> bool {
    let after = |before: &[StateEntry]| expected(operator, (before, value), now_ms);
    if after(&change.before) == change.after {
        return true;
    }
    let cleans_up = operator.ttl().is_some_and(|ttl| ttl.background_cleanup);
    let mut alive = change.before.clone();
    alive.retain(|entry| !is_over(entry, operator.ttl(), now_ms));
    cleans_up && history.job.config.backend == BackendKind::Heap && after(&alive) == change.after
}

/// The entries of a key after a record of this value, if no clean-up has been there just before.
fn expected(
    operator: &OperatorSpec,
    (before, value): (&[StateEntry], Decimal),
    now_ms: u64,
) -> Vec<StateEntry> {
    let ttl = operator.ttl();
    let shows_expired = |ttl: TtlSpec| ttl.visibility == TtlVisibility::ReturnExpiredIfNotCleanedUp;
    let counts =
        |entry: &&StateEntry| ttl.is_some_and(shows_expired) || !is_over(entry, ttl, now_ms);
    let alive = before.iter().filter(|entry| !is_over(entry, ttl, now_ms));
    let new = |user_key, value| StateEntry {
        user_key,
        value,
        last_access_ms: ttl.map(|_| now_ms),
    };
    let number = |number| new(None, EntryValue::Number(number));
    let first = before.iter().find(counts).map(|entry| entry.value);
    let one_more = || match first {
        Some(EntryValue::Average { count, sum }) => (count + 1, sum + value),
        _ => (1, value),
    };
    let renews = ttl.is_some_and(|ttl| ttl.update == TtlUpdate::OnReadAndWrite);
    let read = |entry: &StateEntry| {
        if renews {
            new(entry.user_key, entry.value)
        } else {
            *entry
        }
    };
    let function = match operator {
        OperatorSpec::KeyedProcess(spec) => spec.function,
        _ => {
            let sum = first.map_or(Decimal::ZERO, EntryValue::number) + value;
            return vec![number(sum)];
        }
    };
    match function {
        KeyedFunction::CountAverage { every } => match one_more() {
            (count, _) if count >= every.into() => Vec::new(),
            (count, sum) => vec![new(None, EntryValue::Average { count, sum })],
        },
        KeyedFunction::Average => {
            let (count, sum) = one_more();
            vec![new(None, EntryValue::Average { count, sum })]
        }
        KeyedFunction::Max => {
            let old = first.map(EntryValue::number);
            vec![number(old.map_or(value, |old| old.max(value)))]
        }
        KeyedFunction::LastN { n } => {
            let seen: Vec<&StateEntry> = before.iter().filter(counts).collect();
            if seen.len() + 1 > n as usize {
                let values = seen.iter().map(|entry| entry.value.number());
                let values: Vec<Decimal> = values.chain([value]).collect();
                let newest = &values[values.len() - n as usize..];
                newest.iter().copied().map(number).collect()
            } else if renews {
                alive.map(read).chain([number(value)]).collect()
            } else {
                // What is not written anew keeps what has expired: the new element lives.
                before.iter().copied().chain([number(value)]).collect()
            }
        }
        KeyedFunction::Distinct => {
            let user_key = Some(value.normalize());
            let old = before.iter().filter(counts);
            let old = old.clone().find(|entry| entry.user_key == user_key);
            let times = old.map_or(Decimal::ZERO, |old| old.value.number()) + Decimal::ONE;
            let others = alive.filter(|entry| entry.user_key != user_key).map(read);
            let mut entries: Vec<StateEntry> = others
                .chain([new(user_key, EntryValue::Number(times))])
                .collect();
            entries.sort_by_key(|entry| entry.user_key);
            entries
        }
    }
}
