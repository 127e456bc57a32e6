//! The fuzzer's own source of chance: a seed means the same job on every machine and in every version that keeps the
//! generator's order of questions.

/// Sebastiano Vigna's `SplitMix64`, with the questions that a generator asks.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` to `high`, both possible. `high` below `low` counts as `low`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let span = high.saturating_sub(low).saturating_add(1);
        low + self.next() % span
    }

    /// The same for small numbers.
    pub fn small(&mut self, low: u32, high: u32) -> u32 {
        u32::try_from(self.between(low.into(), high.into())).unwrap_or(low)
    }

    /// An index below `len` (0 where there is none).
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.between(0, (len as u64).saturating_sub(1))).unwrap_or(0)
    }

    /// True in so many of 100 cases.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    /// One of `choices`, which must not be empty.
    pub fn one_of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if the algorithm changes: then a seed that somebody noted down is another job.
    #[test]
    fn the_algorithm_is_pinned() {
        let mut chance = Chance::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| chance.next()).collect();
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(first, published);
    }
}
