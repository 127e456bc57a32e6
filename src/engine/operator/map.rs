//! One record in, one record out: the value times a whole number, exactly.

use crate::engine::subtask::TaskFailure;
use crate::model::{Decimal, MapSpec, Record};

/// One subtask of a map. It has no state.
#[derive(Clone, Copy, Debug)]
pub struct Map {
    factor: Decimal,
}

impl Map {
    #[must_use]
    pub fn new(spec: MapSpec) -> Self {
        Self {
            factor: Decimal::from(spec.factor),
        }
    }

    /// The record with its value multiplied; key, origin and event time stay.
    ///
    /// # Errors
    /// [`TaskFailure::TooLarge`] when the product has more digits than a decimal holds: it would have to be rounded.
    pub fn apply(&self, mut record: Record) -> Result<Record, TaskFailure> {
        record.value = self.multiply(record.value).ok_or(TaskFailure::TooLarge)?;
        Ok(record)
    }

    /// `Decimal::checked_mul` is not enough: rather than refuse, it drops digits after the point.
    fn multiply(&self, value: Decimal) -> Option<Decimal> {
        let product = value.mantissa().checked_mul(self.factor.mantissa())?;
        Decimal::try_from_i128_with_scale(product, value.scale()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{EventTime, Key, Origin, SplitId};

    fn record(value: &str) -> Record {
        Record {
            key: Some(Key::text("a")),
            value: value.parse().unwrap(),
            origin: Origin {
                split: SplitId(3),
                offset: 7,
            },
            event_time: EventTime(40),
        }
    }

    fn map(factor: i32, value: &str) -> Result<Record, TaskFailure> {
        Map::new(MapSpec { factor }).apply(record(value))
    }

    #[test]
    fn only_the_value_changes() {
        assert_eq!(map(-3, "1.50").unwrap(), record("-4.50"));
        assert_eq!(map(0, "-2").unwrap(), record("0"));
    }

    #[test]
    fn nothing_is_rounded() {
        let many_digits = "7.9228162514264337593543950335";
        assert_eq!(map(1, many_digits).unwrap(), record(many_digits));
        for factor in [2, 10, i32::MIN] {
            let failure = map(factor, many_digits).unwrap_err();
            assert!(matches!(failure, TaskFailure::TooLarge), "{failure}");
        }
    }
}
