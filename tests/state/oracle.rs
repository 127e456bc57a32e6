//! What the kinds of state mean, written from Flink's documentation with maps and lists and nothing else.
//!
//! Where a backend may clean up in the background, what it still stores is its own affair: judged is what reads give.

use std::collections::BTreeMap;

use lockgate::engine::state::{KeyedState, StateError, StateId};
use lockgate::model::{
    Decimal, EntryValue, Key, StateEntry, StateKind, TtlSpec, TtlUpdate, TtlVisibility,
};
use proptest::prelude::*;

/// What a test may do to the state of a key.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// The value; the elements; the entries of a map; what an accumulator has come to.
    Read,
    /// The map's entry for this user key.
    Get(i64),
    /// Set the value; add an element or to an accumulator; set the map's entry for the number modulo 3.
    Add(i64),
    /// Replace the list by this and the number after it.
    Replace(i64),
    Clear(i64),
}

pub fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => Just(Op::Read),
        1 => (0_i64..3).prop_map(Op::Get),
        5 => (-9_i64..9).prop_map(Op::Add),
        1 => (-9_i64..9).prop_map(Op::Replace),
        1 => (0_i64..3).prop_map(Op::Clear),
    ]
}

/// A key, how much time passes first, and what is done.
pub type Step = (usize, u64, Op);

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(
        (0_usize..6, prop_oneof![Just(0_u64), 1_u64..40], op()),
        0..60,
    )
}

pub fn ttl() -> impl Strategy<Value = Option<TtlSpec>> {
    let spec = (1_u64..80, 0_usize..2, 0_usize..2, any::<bool>()).prop_map(
        |(ttl_ms, update, visibility, background_cleanup)| TtlSpec {
            update: TtlUpdate::ALL[update],
            visibility: TtlVisibility::ALL[visibility],
            background_cleanup,
            ..TtlSpec::new(ttl_ms)
        },
    );
    prop_oneof![1 => Just(None), 3 => spec.prop_map(Some)]
}

pub const STATES: [StateId; 6] = [
    StateId::CountAverage,
    StateId::LastN,
    StateId::Distinct,
    StateId::Max,
    StateId::Average,
    StateId::TtlSums,
];

pub fn keys() -> [Key; 6] {
    [
        Key::int(0),
        Key::int(-7),
        Key::text(""),
        Key::text("sun"),
        Key::text("Nebel ☁"),
        Key::text("sun\0"),
    ]
}

/// What an operation gave: user keys and values, in order.
pub type Answer = Vec<(Option<Decimal>, Decimal)>;

fn number(value: EntryValue) -> Decimal {
    value.number()
}

/// Do `op` to a real state.
pub fn act(state: &mut KeyedState<'_>, kind: StateKind, op: Op) -> Result<Answer, StateError> {
    let plain = |value: Option<Decimal>| value.into_iter().map(|value| (None, value)).collect();
    match (kind, op) {
        (StateKind::Value, Op::Read | Op::Get(_)) => {
            let value = state.as_value().value()?;
            return Ok(plain(value.map(number)));
        }
        (StateKind::Value, Op::Add(value) | Op::Replace(value)) => {
            let value = EntryValue::Number(value.into());
            state.as_value().update(value)?;
        }
        (StateKind::Value, Op::Clear(_)) => state.as_value().clear()?,
        (StateKind::List, Op::Read | Op::Get(_)) => {
            let elements = state.as_list().get()?;
            return Ok(elements
                .into_iter()
                .map(|element| (None, element))
                .collect());
        }
        (StateKind::List, Op::Add(value)) => state.as_list().add(value.into())?,
        (StateKind::List, Op::Replace(value)) => {
            state
                .as_list()
                .update(&[value.into(), (value + 1).into()])?;
        }
        (StateKind::List, Op::Clear(_)) => state.as_list().update(&[])?,
        (StateKind::Map, Op::Read) => {
            let entries = state.as_map().entries()?;
            return Ok(entries
                .into_iter()
                .map(|(key, value)| (Some(key), value))
                .collect());
        }
        (StateKind::Map, Op::Get(key)) => {
            let value = state.as_map().get(key.into())?;
            return Ok(plain(value));
        }
        (StateKind::Map, Op::Add(value) | Op::Replace(value)) => {
            let key = value.rem_euclid(3).into();
            state.as_map().put(key, value.into())?;
        }
        (StateKind::Map, Op::Clear(key)) => state.as_map().remove(key.into())?,
        (StateKind::Reducing, Op::Add(value) | Op::Replace(value)) => {
            state
                .as_reducing()
                .add(value.into(), |old, new| Ok(old + new))?;
        }
        (StateKind::Aggregating, Op::Add(value) | Op::Replace(value)) => {
            state.as_aggregating().add(|old| {
                let sum = old.map_or(Decimal::ZERO, number) + Decimal::from(value);
                Ok(EntryValue::Number(sum))
            })?;
        }
        (StateKind::Reducing, _) => return Ok(plain(state.as_reducing().get()?)),
        (StateKind::Aggregating, _) => {
            let value = state.as_aggregating().get()?;
            return Ok(plain(value.map(number)));
        }
    }
    Ok(Vec::new())
}

/// One entry of the model: its user key, its value, and when it was last used.
pub type Entry = (Option<Decimal>, Decimal, u64);

/// What is there, by key.
#[derive(Clone, Debug)]
pub struct Model {
    pub kind: StateKind,
    pub ttl: Option<TtlSpec>,
    pub entries: BTreeMap<usize, Vec<Entry>>,
}

impl Model {
    pub fn is_expired(&self, entry: &Entry, now_ms: u64) -> bool {
        self.ttl.is_some_and(|ttl| entry.2 + ttl.ttl_ms <= now_ms)
    }

    /// A list is read as a whole. What has expired stays in it as long as anything lives, unless what lives is renewed and
    /// so the list is written anew; once nothing lives, a read clears it.
    fn read_list(&mut self, key: usize, now_ms: u64) -> Answer {
        let entries = self.entries.remove(&key).unwrap_or_default();
        let is_expired = |entry: &Entry| self.is_expired(entry, now_ms);
        let (shows_expired, renews) = self.ttl.map_or((true, false), |ttl| {
            (
                ttl.visibility == TtlVisibility::ReturnExpiredIfNotCleanedUp,
                ttl.update == TtlUpdate::OnReadAndWrite,
            )
        });
        let given = entries.iter().filter(|it| shows_expired || !is_expired(it));
        let answer = given.map(|entry| (entry.0, entry.1)).collect();
        let living = entries.iter().filter(|it| !is_expired(it));
        let left = if living.clone().next().is_none() {
            Vec::new()
        } else if renews {
            living.map(|entry| (entry.0, entry.1, now_ms)).collect()
        } else {
            entries
        };
        self.entries.insert(key, left);
        answer
    }

    /// Read those entries that are `wanted`; what has expired of them is gone afterwards.
    fn read(&mut self, key: usize, now_ms: u64, wanted: impl Fn(&Entry) -> bool) -> Answer {
        let mut answer = Answer::new();
        let mut left = Vec::new();
        for mut entry in self.entries.remove(&key).unwrap_or_default() {
            if !wanted(&entry) {
                left.push(entry);
                continue;
            }
            let is_expired = self.is_expired(&entry, now_ms);
            let shows_expired = self
                .ttl
                .is_some_and(|ttl| ttl.visibility == TtlVisibility::ReturnExpiredIfNotCleanedUp);
            if !is_expired || shows_expired {
                answer.push((entry.0, entry.1));
            }
            if !is_expired {
                if self
                    .ttl
                    .is_some_and(|ttl| ttl.update == TtlUpdate::OnReadAndWrite)
                {
                    entry.2 = now_ms;
                }
                left.push(entry);
            }
        }
        self.entries.insert(key, left);
        answer
    }

    pub fn act(&mut self, key: usize, now_ms: u64, op: Op) -> Answer {
        let user_key = |number: i64| Some(Decimal::from(number.rem_euclid(3)));
        let entries = self.entries.entry(key).or_default();
        match (self.kind, op) {
            (StateKind::Map, Op::Get(wanted)) => {
                let answer = self.read(key, now_ms, |entry| entry.0 == user_key(wanted));
                return answer.into_iter().map(|(_, value)| (None, value)).collect();
            }
            (StateKind::Map, Op::Add(value) | Op::Replace(value)) => {
                entries.retain(|entry| entry.0 != user_key(value));
                entries.push((user_key(value), value.into(), now_ms));
                entries.sort_by_key(|entry| entry.0);
            }
            (StateKind::Map, Op::Clear(wanted)) => {
                entries.retain(|entry| entry.0 != user_key(wanted));
            }
            (StateKind::Value, Op::Add(value) | Op::Replace(value)) => {
                *entries = vec![(None, value.into(), now_ms)];
            }
            (StateKind::List, Op::Add(value)) => entries.push((None, value.into(), now_ms)),
            (StateKind::List, Op::Replace(value)) => {
                let new = |value: i64| (None, value.into(), now_ms);
                *entries = vec![new(value), new(value + 1)];
            }
            (StateKind::Value | StateKind::List, Op::Clear(_)) => entries.clear(),
            (StateKind::Reducing | StateKind::Aggregating, Op::Add(value) | Op::Replace(value)) => {
                let old = entries.first().copied();
                let counts = old.filter(|old| {
                    let shows = self.ttl.is_some_and(|ttl| {
                        ttl.visibility == TtlVisibility::ReturnExpiredIfNotCleanedUp
                    });
                    shows || !self.is_expired(old, now_ms)
                });
                let sum = counts.map_or(Decimal::ZERO, |old| old.1) + Decimal::from(value);
                self.entries.insert(key, vec![(None, sum, now_ms)]);
            }
            (StateKind::List, _) => return self.read_list(key, now_ms),
            _ => return self.read(key, now_ms, |_| true),
        }
        Answer::new()
    }

    /// The clean-up in the background may take any expired entry away at any time: those that the backend does not store
    /// any more. One that has not expired must be there.
    pub fn follow_cleanup(&mut self, key: usize, now_ms: u64, stored: &[StateEntry]) {
        let Some(ttl) = self.ttl.filter(|ttl| ttl.background_cleanup) else {
            return;
        };
        let entries = self.entries.remove(&key).unwrap_or_default();
        let mut stored = stored.iter().peekable();
        let mut left = Vec::new();
        for entry in entries {
            let is_there = stored
                .peek()
                .is_some_and(|stored| same(stored, &entry, true));
            if is_there {
                stored.next();
                left.push(entry);
            } else {
                let may_go = entry.2 + ttl.ttl_ms <= now_ms;
                assert!(
                    may_go,
                    "{entry:?} was cleaned up at {now_ms}, and has not expired"
                );
            }
        }
        self.entries.insert(key, left);
    }
}

pub fn same(stored: &StateEntry, (user_key, value, used_ms): &Entry, has_ttl: bool) -> bool {
    stored.user_key == *user_key
        && stored.value.number() == *value
        && stored.last_access_ms == has_ttl.then_some(*used_ms)
}
