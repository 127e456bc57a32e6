//! Addition that is exact or refused.

use crate::model::Decimal;

/// `left + right` with the larger of both scales, or none when that needs more than the 96 bits of a decimal.
///
/// `Decimal::checked_add` is not enough: rather than refuse, it drops digits after the point. As the scale only
/// ever grows, a sum's digits do not depend on the order in which values arrive. There is no negative zero.
#[must_use]
pub fn add_exactly(left: Decimal, right: Decimal) -> Option<Decimal> {
    if left.scale() == right.scale() {
        // Two numbers below 2^96.
        let sum = left.mantissa() + right.mantissa();
        return Decimal::try_from_i128_with_scale(sum, left.scale()).ok();
    }
    let scale = left.scale().max(right.scale());
    let sum = mantissa_at(left, scale)?.checked_add(mantissa_at(right, scale)?)?;
    Decimal::try_from_i128_with_scale(sum, scale).ok()
}

/// `scale` is not below the value's own.
fn mantissa_at(value: Decimal, scale: u32) -> Option<i128> {
    // At most 10^28, which an i128 holds.
    let factor = 10_i128.pow(scale - value.scale());
    value.mantissa().checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(left: &str, right: &str) -> Option<String> {
        let parse = |text: &str| text.parse::<Decimal>().unwrap();
        add_exactly(parse(left), parse(right)).map(|sum| sum.to_string())
    }

    #[test]
    fn the_scale_is_the_larger_one() {
        assert_eq!(sum("1.5", "2.50").as_deref(), Some("4.00"));
        assert_eq!(sum("0", "-0.10").as_deref(), Some("-0.10"));
        assert_eq!(sum("5", "-5").as_deref(), Some("0"));
        assert_eq!(
            add_exactly(-Decimal::ZERO, Decimal::ZERO)
                .unwrap()
                .to_string(),
            "0"
        );
    }

    #[test]
    fn nothing_is_rounded() {
        let tiny = "0.0000000000000000000000000001";
        assert_eq!(
            sum("1", tiny).as_deref(),
            Some("1.0000000000000000000000000001")
        );
        assert_eq!(sum("10", tiny), None, "needs 30 digits");
        assert_eq!(sum("79228162514264337593543950335", "0.1"), None);
    }

    #[test]
    fn overflow_is_refused() {
        let max = "79228162514264337593543950335";
        assert_eq!(sum(max, "1"), None);
        assert_eq!(
            sum(max, "-1").as_deref(),
            Some("79228162514264337593543950334")
        );
        assert_eq!(
            add_exactly(Decimal::MIN, Decimal::NEGATIVE_ONE),
            None,
            "below the least"
        );
    }
}
