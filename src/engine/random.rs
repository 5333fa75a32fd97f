//! Random numbers for picks; seeded from outside, so that a whole run can be repeated.

/// A small fast generator (splitmix64). Not for secrets.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is over 0.
    pub fn below(&mut self, bound: usize) -> usize {
        debug_assert!(bound > 0, "a bound of 0 leaves nothing to pick");
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// A generator with its own sequence.
    pub fn fork(&mut self) -> Self {
        Self(self.next_u64())
    }
}
