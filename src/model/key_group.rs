//! Which subtask owns a key, exactly as in Flink's `KeyGroupRangeAssignment`.
//!
//! A key's hash is scrambled by Murmur3 and reduced to a *key group*; key groups are cut into contiguous ranges,
//! one per subtask. State is stored by key group, so that a range can move as a whole.

use std::ops::RangeInclusive;

use super::element::Key;

/// The largest max parallelism that Flink accepts.
pub const UPPER_BOUND_MAX_PARALLELISM: u32 = 1 << 15;
const DEFAULT_LOWER_BOUND: u32 = 1 << 7;

/// Java's `hashCode` of the key: the value of an `Integer`; the polynomial over UTF-16 units of a `String`.
#[must_use]
pub fn java_hash(key: &Key) -> i32 {
    match key {
        Key::Int { value, .. } => *value,
        Key::Text(text) => text.encode_utf16().fold(0_i32, |hash, unit| {
            hash.wrapping_mul(31).wrapping_add(i32::from(unit))
        }),
    }
}

/// Murmur3 (32 bit) of one word, made non-negative as Flink's `MathUtils.murmurHash` does.
#[must_use]
pub fn murmur(code: i32) -> i32 {
    let mut hash = code.cast_unsigned();
    hash = hash
        .wrapping_mul(0xcc9e_2d51)
        .rotate_left(15)
        .wrapping_mul(0x1b87_3593);
    hash = hash
        .rotate_left(13)
        .wrapping_mul(5)
        .wrapping_add(0xe654_6b64);
    hash ^= 4;
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x85eb_ca6b);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(0xc2b2_ae35);
    hash ^= hash >> 16;
    match hash.cast_signed() {
        i32::MIN => 0,
        signed => signed.abs(),
    }
}

/// The key group of `key`, in `0..max_parallelism`.
#[must_use]
pub fn key_group(key: &Key, max_parallelism: u32) -> u32 {
    murmur(java_hash(key)).cast_unsigned() % max_parallelism
}

/// The index of the subtask that owns `group`, in `0..parallelism`.
#[must_use]
pub fn owner(group: u32, parallelism: u32, max_parallelism: u32) -> u32 {
    let index = u64::from(group) * u64::from(parallelism) / u64::from(max_parallelism);
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// The key groups that subtask `index` of `parallelism` owns.
#[must_use]
pub fn key_group_range(index: u32, parallelism: u32, max_parallelism: u32) -> RangeInclusive<u32> {
    let (index, parallelism, max) = (
        u64::from(index),
        u64::from(parallelism),
        u64::from(max_parallelism),
    );
    let start = (index * max).div_ceil(parallelism);
    let end = ((index + 1) * max).div_ceil(parallelism);
    let bound = |group: u64| u32::try_from(group).unwrap_or(u32::MAX);
    if end == 0 {
        RangeInclusive::new(1, 0)
    } else {
        bound(start)..=bound(end - 1)
    }
}

/// The number of key groups when a person has set none: about 1.5 times the parallelism, up to a power of two,
/// within 128 ..= 32768.
#[must_use]
pub fn default_max_parallelism(parallelism: u32) -> u32 {
    let wanted = parallelism
        .saturating_add(parallelism / 2)
        .min(UPPER_BOUND_MAX_PARALLELISM);
    wanted
        .next_power_of_two()
        .clamp(DEFAULT_LOWER_BOUND, UPPER_BOUND_MAX_PARALLELISM)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that Flink 2.3.0 itself computes.
    #[test]
    fn murmur_agrees_with_flink() {
        let vectors = [
            (0, 593_689_054),
            (1, 68_075_478),
            (2, 1_085_422_463),
            (3, 847_579_505),
            (-1, 1_982_413_648),
            (42, 1_134_849_565),
            (i32::MIN, 1_718_298_732),
        ];
        for (code, expected) in vectors {
            assert_eq!(murmur(code), expected, "murmur({code})");
        }
    }

    #[test]
    fn key_groups_agree_with_flink() {
        let ints = [
            (0, 94),
            (1, 86),
            (2, 127),
            (3, 113),
            (4, 7),
            (5, 126),
            (10, 67),
            (100, 64),
        ];
        for (value, group) in ints {
            assert_eq!(key_group(&Key::int(value), 128), group, "key {value}");
        }
        let texts = [
            ("a", 81),
            ("b", 22),
            ("c", 62),
            ("odd", 110),
            ("even", 111),
            ("user-1", 121),
            ("user-2", 22),
        ];
        for (text, group) in texts {
            assert_eq!(key_group(&Key::text(text), 128), group, "key {text}");
        }
    }

    #[test]
    fn ranges_agree_with_flink() {
        let cut = |p| {
            (0..p)
                .map(|i| key_group_range(i, p, 128).into_inner())
                .collect::<Vec<_>>()
        };
        assert_eq!(cut(3), [(0, 42), (43, 85), (86, 127)]);
        assert_eq!(cut(5), [(0, 25), (26, 51), (52, 76), (77, 102), (103, 127)]);
        assert_eq!(
            cut(7),
            [
                (0, 18),
                (19, 36),
                (37, 54),
                (55, 73),
                (74, 91),
                (92, 109),
                (110, 127)
            ]
        );
    }

    #[test]
    fn default_max_parallelism_agrees_with_flink() {
        let vectors = [
            (1, 128),
            (85, 128),
            (86, 256),
            (171, 256),
            (200, 512),
            (341, 512),
            (342, 1024),
        ];
        for (parallelism, expected) in vectors {
            assert_eq!(
                default_max_parallelism(parallelism),
                expected,
                "p = {parallelism}"
            );
        }
        assert_eq!(default_max_parallelism(1000), 2048);
        assert_eq!(default_max_parallelism(20_000), 32_768);
    }

    #[test]
    fn the_odd_even_surprise() {
        let subtask = |value, max| owner(key_group(&Key::int(value), max), 2, max);
        assert_eq!(
            (subtask(0, 128), subtask(1, 128)),
            (1, 1),
            "both parities share a subtask by default"
        );
        assert_eq!(
            (subtask(0, 6), subtask(1, 6)),
            (1, 0),
            "six key groups separate them"
        );
    }

    proptest::proptest! {
        /// Every group has exactly one owner, and it is the subtask whose range holds it.
        #[test]
        fn ranges_and_owners_agree(max in 1_u32..2048, share in 0.0_f64..1.0, group in 0_u32..2048) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 1..=max")]
            let parallelism = ((f64::from(max) * share) as u32).max(1);
            let group = group % max;
            let holders: Vec<u32> =
                (0..parallelism).filter(|i| key_group_range(*i, parallelism, max).contains(&group)).collect();
            proptest::prop_assert_eq!(holders, vec![owner(group, parallelism, max)]);
        }
    }
}
