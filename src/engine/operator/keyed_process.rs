//! A function per key over state of one kind, which may have a time to live (Flink: `KeyedProcessFunction`).
//!
//! Everything that is remembered goes through [`KeyedState`], so that what a function sees does not depend on the backend.

use crate::engine::router::Router;
use crate::engine::state::{
    KeyedBackend, KeyedState, StateDescriptor, StateError, StateId, add_exactly,
};
use crate::engine::subtask::{Effects, TaskFailure};
use crate::model::{
    Decimal, EntryValue, Key, KeyContents, KeyExpr, KeyedFunction, Record, TtlSpec,
};

/// Digits after the point of a running average; the last one is rounded half to even.
const AVERAGE_SCALE: u32 = 6;

/// What is done with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Of(KeyedFunction),
    /// A keyed sum with a time to live. One without has a faster operator of its own: [`super::KeyedSum`].
    Sum,
}

impl Function {
    fn state(self) -> StateId {
        match self {
            Self::Of(KeyedFunction::CountAverage { .. }) => StateId::CountAverage,
            Self::Of(KeyedFunction::LastN { .. }) => StateId::LastN,
            Self::Of(KeyedFunction::Distinct) => StateId::Distinct,
            Self::Of(KeyedFunction::Max) => StateId::Max,
            Self::Of(KeyedFunction::Average) => StateId::Average,
            Self::Sum => StateId::TtlSums,
        }
    }
}

/// One subtask of a keyed function. It owns the keys of its key groups, and nobody else's.
pub struct KeyedProcess {
    pub key: KeyExpr,
    pub state: KeyedBackend,
    function: Function,
    descriptor: StateDescriptor,
}

impl KeyedProcess {
    /// # Errors
    /// `state` was restored and is not what the function keeps: see [`KeyedBackend::declare`].
    pub fn new(
        key: KeyExpr,
        (function, ttl): (Function, Option<TtlSpec>),
        mut state: KeyedBackend,
    ) -> Result<Self, StateError> {
        let id = function.state();
        let descriptor = StateDescriptor { id, ttl };
        state.declare(descriptor)?;
        Ok(Self {
            key,
            state,
            function,
            descriptor,
        })
    }

    /// Whether what it keeps lives for a time only.
    #[must_use]
    pub fn has_ttl(&self) -> bool {
        self.descriptor.ttl.is_some()
    }

    /// Process `record` at the driver's processing time, and send on what comes of it.
    ///
    /// # Errors
    /// The record has no key, a number has no exact form, the state backend failed, or the result cannot be routed.
    pub fn process<E: Effects>(
        &mut self,
        record: &Record,
        router: &mut Router,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        let key = self.key.key_of(record).ok_or(TaskFailure::NoKey)?;
        let now_ms = out.processing_time_ms();
        let mut state = KeyedState::new(&mut self.state, self.descriptor, (&key, now_ms));
        let result = apply(self.function, record.value, &mut state)?;
        let cleaned = state.into_cleaned();
        if out.is_traced() {
            self.trace((&key, record), cleaned, out)?;
        }
        let Some(value) = result else {
            return Ok(());
        };
        let result = Record {
            key: Some(key),
            value,
            origin: record.origin,
            event_time: record.event_time,
        };
        router.route(result, out)
    }

    /// Tell what is stored now of the record's key, and of those that the clean-up has been at.
    fn trace<E: Effects>(
        &self,
        (key, record): (&Key, &Record),
        cleaned: Vec<Key>,
        out: &mut E,
    ) -> Result<(), StateError> {
        let others: Vec<Key> = cleaned.into_iter().filter(|other| other != key).collect();
        self.tell_cleaned(&others, out)?;
        let entries = self.state.contents_of(self.descriptor.id, key)?;
        out.on_entries_changed(key, entries, record.origin);
        Ok(())
    }

    /// Tell what is stored now of keys that a clean-up has been at.
    ///
    /// # Errors
    /// The state backend failed.
    pub fn tell_cleaned<E: Effects>(&self, keys: &[Key], out: &mut E) -> Result<(), StateError> {
        for key in keys {
            let entries = self.state.contents_of(self.descriptor.id, key)?;
            out.on_entries_cleaned(&self.key.with_label(key.clone()), entries);
        }
        Ok(())
    }

    /// The state, as people read it: sorted by key, with labels.
    ///
    /// # Errors
    /// The state backend failed.
    pub fn contents(&self) -> Result<Vec<KeyContents>, StateError> {
        let contents = self.state.contents()?.into_iter();
        Ok(contents
            .map(|(key, entries)| (self.key.with_label(key), entries))
            .collect())
    }
}

/// What comes of `value`; none: nothing goes on.
fn apply(
    function: Function,
    value: Decimal,
    state: &mut KeyedState<'_>,
) -> Result<Option<Decimal>, TaskFailure> {
    match function {
        Function::Of(KeyedFunction::CountAverage { every }) => count_average(value, every, state),
        Function::Of(KeyedFunction::LastN { n }) => last_n(value, n, state),
        Function::Of(KeyedFunction::Distinct) => distinct(value, state),
        Function::Of(KeyedFunction::Max) => {
            let mut max = state.as_reducing();
            max.add(value, |old, new| Ok(old.max(new)))?;
            Ok(max.get()?)
        }
        Function::Of(KeyedFunction::Average) => average(value, state),
        Function::Sum => {
            let key = state.key().clone();
            let mut sum = state.as_reducing();
            sum.add(value, |old, new| {
                add_exactly(old, new).ok_or_else(|| StateError::inexact(&key, old, new))
            })?;
            Ok(sum.get()?)
        }
    }
}

/// Flink's documentation, `CountWindowAverage`: update first; at the last one emit the whole part of the average, and
/// clear.
fn count_average(
    value: Decimal,
    every: u32,
    state: &mut KeyedState<'_>,
) -> Result<Option<Decimal>, TaskFailure> {
    let key = state.key().clone();
    let mut state = state.as_value();
    let old = state.value()?;
    let (count, sum) = counted(old, value, &key)?;
    state.update(EntryValue::Average { count, sum })?;
    if count < u64::from(every) {
        return Ok(None);
    }
    state.clear()?;
    Ok(Some((sum / Decimal::from(count)).trunc()))
}

/// An element more. When there are too many, the newest stay: the list is written anew then.
fn last_n(
    value: Decimal,
    n: u32,
    state: &mut KeyedState<'_>,
) -> Result<Option<Decimal>, TaskFailure> {
    let key = state.key().clone();
    let mut list = state.as_list();
    list.add(value)?;
    let mut elements = list.get()?;
    let surplus = elements.len().saturating_sub(n as usize);
    if surplus > 0 {
        elements.drain(..surplus);
        list.update(&elements)?;
    }
    let add = |sum, element| {
        add_exactly(sum, element).ok_or_else(|| StateError::inexact(&key, sum, element))
    };
    Ok(Some(elements.into_iter().try_fold(Decimal::ZERO, add)?))
}

/// Each value and how often it came.
fn distinct(value: Decimal, state: &mut KeyedState<'_>) -> Result<Option<Decimal>, TaskFailure> {
    let mut map = state.as_map();
    let times = map.get(value)?.unwrap_or_default();
    map.put(value, times + Decimal::ONE)?;
    Ok(Some(Decimal::from(map.entries()?.len())))
}

fn average(value: Decimal, state: &mut KeyedState<'_>) -> Result<Option<Decimal>, TaskFailure> {
    let key = state.key().clone();
    let mut average = state.as_aggregating();
    average.add(|old| {
        let (count, sum) = counted(old, value, &key)?;
        Ok(EntryValue::Average { count, sum })
    })?;
    Ok(match average.get()? {
        Some(EntryValue::Average { count, sum }) => {
            Some((sum / Decimal::from(count)).round_dp(AVERAGE_SCALE))
        }
        Some(EntryValue::Number(_)) | None => None,
    })
}

/// One more, and `value` more. A count is never zero.
fn counted(
    old: Option<EntryValue>,
    value: Decimal,
    key: &Key,
) -> Result<(u64, Decimal), StateError> {
    let (count, sum) = match old {
        Some(EntryValue::Average { count, sum }) => (count, sum),
        Some(EntryValue::Number(_)) | None => (0, Decimal::ZERO),
    };
    let new = add_exactly(sum, value).ok_or_else(|| StateError::inexact(key, sum, value))?;
    Ok((count.saturating_add(1), new))
}
