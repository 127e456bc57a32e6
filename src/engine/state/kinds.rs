//! The kinds of keyed state as a function sees them: Flink's `ValueState`, `ListState`, `MapState`, `ReducingState` and
//! `AggregatingState`, each of the key at hand.
//!
//! They store nothing themselves and know nothing of time: see [`KeyedState`].

use super::{KeyedState, StateError};
use crate::model::{Decimal, EntryValue, StateKind};

/// One value.
pub struct ValueState<'a, 'b>(&'a mut KeyedState<'b>);

/// Several values in the order in which they came.
pub struct ElementsState<'a, 'b>(&'a mut KeyedState<'b>);

/// A value for each user key.
pub struct MapState<'a, 'b>(&'a mut KeyedState<'b>);

/// What a function of two values has made of all that were added.
pub struct ReducingState<'a, 'b>(&'a mut KeyedState<'b>);

/// The accumulator of all that were added.
pub struct AggregatingState<'a, 'b>(&'a mut KeyedState<'b>);

impl<'b> KeyedState<'b> {
    /// The state as a value.
    pub fn as_value(&mut self) -> ValueState<'_, 'b> {
        debug_assert!(self.is(StateKind::Value));
        ValueState(self)
    }

    /// The state as a list.
    pub fn as_list(&mut self) -> ElementsState<'_, 'b> {
        debug_assert!(self.is(StateKind::List));
        ElementsState(self)
    }

    /// The state as a map.
    pub fn as_map(&mut self) -> MapState<'_, 'b> {
        debug_assert!(self.is(StateKind::Map));
        MapState(self)
    }

    /// The state as what a function reduces values to.
    pub fn as_reducing(&mut self) -> ReducingState<'_, 'b> {
        debug_assert!(self.is(StateKind::Reducing));
        ReducingState(self)
    }

    /// The state as an accumulator.
    pub fn as_aggregating(&mut self) -> AggregatingState<'_, 'b> {
        debug_assert!(self.is(StateKind::Aggregating));
        AggregatingState(self)
    }
}

impl ValueState<'_, '_> {
    /// # Errors
    /// The backend's.
    pub fn value(&mut self) -> Result<Option<EntryValue>, StateError> {
        Ok(self.0.read(None)?.first().copied())
    }

    /// # Errors
    /// The backend's.
    pub fn update(&mut self, value: EntryValue) -> Result<(), StateError> {
        self.0.write(None, &[value])
    }

    /// # Errors
    /// The backend's.
    pub fn clear(&mut self) -> Result<(), StateError> {
        self.0.write(None, &[])
    }
}

impl ElementsState<'_, '_> {
    /// # Errors
    /// The backend's.
    pub fn get(&mut self) -> Result<Vec<Decimal>, StateError> {
        let values = self.0.read(None)?.into_iter();
        Ok(values.map(EntryValue::number).collect())
    }

    /// # Errors
    /// The backend's.
    pub fn add(&mut self, value: Decimal) -> Result<(), StateError> {
        self.0.append(EntryValue::Number(value))
    }

    /// Replace all elements: each is as good as new, however old it was.
    ///
    /// # Errors
    /// The backend's.
    pub fn update(&mut self, values: &[Decimal]) -> Result<(), StateError> {
        let values: Vec<_> = values.iter().copied().map(EntryValue::Number).collect();
        self.0.write(None, &values)
    }
}

impl MapState<'_, '_> {
    /// # Errors
    /// The backend's.
    pub fn get(&mut self, user_key: Decimal) -> Result<Option<Decimal>, StateError> {
        let value = self.0.read(Some(user_key))?;
        Ok(value.first().map(|value| value.number()))
    }

    /// # Errors
    /// The backend's.
    pub fn put(&mut self, user_key: Decimal, value: Decimal) -> Result<(), StateError> {
        self.0.write(Some(user_key), &[EntryValue::Number(value)])
    }

    /// # Errors
    /// The backend's.
    pub fn remove(&mut self, user_key: Decimal) -> Result<(), StateError> {
        self.0.write(Some(user_key), &[])
    }

    /// By user key.
    ///
    /// # Errors
    /// The backend's.
    pub fn entries(&mut self) -> Result<Vec<(Decimal, Decimal)>, StateError> {
        let entries = self.0.read_map()?.into_iter();
        Ok(entries
            .map(|(user_key, value)| (user_key, value.number()))
            .collect())
    }
}

impl ReducingState<'_, '_> {
    /// # Errors
    /// The backend's.
    pub fn get(&mut self) -> Result<Option<Decimal>, StateError> {
        Ok(self.0.read(None)?.first().map(|value| value.number()))
    }

    /// `reduce` makes one value of what is there and `value`.
    ///
    /// # Errors
    /// What `reduce` refuses, and the backend's.
    pub fn add(
        &mut self,
        value: Decimal,
        reduce: impl FnOnce(Decimal, Decimal) -> Result<Decimal, StateError>,
    ) -> Result<(), StateError> {
        self.0.accumulate(|old| {
            Ok(EntryValue::Number(match old {
                Some(old) => reduce(old.number(), value)?,
                None => value,
            }))
        })
    }
}

impl AggregatingState<'_, '_> {
    /// The accumulator.
    ///
    /// # Errors
    /// The backend's.
    pub fn get(&mut self) -> Result<Option<EntryValue>, StateError> {
        Ok(self.0.read(None)?.first().copied())
    }

    /// `add` puts the value at hand into the accumulator; none: into an empty one.
    ///
    /// # Errors
    /// What `add` refuses, and the backend's.
    pub fn add(
        &mut self,
        add: impl FnOnce(Option<EntryValue>) -> Result<EntryValue, StateError>,
    ) -> Result<(), StateError> {
        self.0.accumulate(add)
    }
}
