//! Sums are exact or refused.

use lockgate::engine::state::{StateError, add_exactly};
use lockgate::model::{BackendKind, Decimal, Key};
use proptest::prelude::*;

use crate::support::{Place, World};

const E28: i128 = 10_i128.pow(28);
const MAX_MANTISSA: i128 = (1 << 96) - 1;

/// Any decimal, often near the ends of what 96 bits hold.
fn decimal() -> impl Strategy<Value = Decimal> {
    let mantissa = prop_oneof![
        -MAX_MANTISSA..=MAX_MANTISSA,
        -1_000_i128..1_000,
        MAX_MANTISSA - 10..=MAX_MANTISSA,
        (0..28_u32).prop_map(|digits| 10_i128.pow(digits)),
    ];
    (mantissa, 0..=28_u32).prop_map(|(m, scale)| Decimal::from_i128_with_scale(m, scale))
}

/// The value as floor and fraction in units of 10⁻²⁸: enough room for any sum of two, and other arithmetic than the
/// code's.
fn parts(value: Decimal) -> (i128, i128) {
    let unit = 10_i128.pow(value.scale());
    let (floor, rest) = (
        value.mantissa().div_euclid(unit),
        value.mantissa().rem_euclid(unit),
    );
    (floor, rest * (E28 / unit))
}

fn sum_of_parts(left: Decimal, right: Decimal) -> (i128, i128) {
    let (a, b) = (parts(left), parts(right));
    let fraction = a.1 + b.1;
    (a.0 + b.0 + fraction / E28, fraction % E28)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    /// Catches rounding (`Decimal::checked_add` rounds), a wrong sign, and refusing what would fit.
    #[test]
    fn a_sum_is_exact_or_refused(left in decimal(), right in decimal()) {
        let (floor, fraction) = sum_of_parts(left, right);
        let scale = left.scale().max(right.scale());
        match add_exactly(left, right) {
            Some(sum) => {
                prop_assert_eq!(parts(sum), (floor, fraction));
                prop_assert_eq!(sum.scale(), scale);
            }
            None => {
                let unit = 10_i128.pow(scale);
                let mantissa = floor
                    .checked_mul(unit)
                    .map(|whole| whole + fraction / (E28 / unit));
                prop_assert!(mantissa.is_none_or(|m| m.abs() > MAX_MANTISSA), "{mantissa:?} fits");
            }
        }
    }
}

/// Catches an error that comes after the change.
#[test]
fn a_refused_addition_changes_nothing() {
    for kind in BackendKind::ALL {
        let mut backend = World::new(Place::JobManager).open(kind);
        let key = Key::text("rain");
        backend.add(&key, Decimal::MAX).unwrap();
        let tenth = Decimal::new(1, 1);
        for value in [Decimal::ONE, tenth] {
            let error = backend.add(&key, value).unwrap_err();
            assert!(matches!(error, StateError::Inexact { .. }));
            assert!(error.to_string().contains("key rain exactly"), "{error}");
        }
        assert_eq!(backend.entries().unwrap(), [(key.clone(), Decimal::MAX)]);
        let almost = Decimal::MAX - Decimal::ONE;
        assert_eq!(backend.add(&key, Decimal::NEGATIVE_ONE).unwrap(), almost);
    }
}

/// The digits after the point are those of the most precise value, on both backends and through a checkpoint.
#[test]
fn the_scale_is_kept() {
    for kind in BackendKind::ALL {
        let mut world = World::new(Place::Files);
        let mut backend = world.open(kind);
        for value in ["1", "0.50", "-0.5"] {
            backend
                .add(&Key::text("rain"), value.parse().unwrap())
                .unwrap();
        }
        let handle = world.checkpoint(&mut backend, crate::support::CP1);
        let restored = world.restore(kind, &handle).unwrap().entries().unwrap();
        assert_eq!(restored[0].1.to_string(), "1.00");
    }
}
