//! The generator behind math.random: the 48-bit linear congruential sequence of
//! drand48, so that a script which seeds it draws the same numbers on every server.
//! As in Redis the sequence goes on from script to script, and functions share it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Numbers drawn are below this, as in Redis (its REDIS_LRAND48_MAX).
const RANGE: u32 = i32::MAX as u32;

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const INCREMENT: u64 = 0xB;
const MASK: u64 = (1 << 48) - 1;

/// The low 16 bits of every seeded state.
const SEED_LOW: u64 = 0x330E;

/// Where drand48 starts without a seed.
const START: u64 = 0x1234_ABCD_330E;

pub struct Random {
    /// Used by one machine at a time; atomic only so that machines can share it.
    state: AtomicU64,
}

impl Default for Random {
    fn default() -> Self {
        Self {
            state: AtomicU64::new(START),
        }
    }
}

impl Random {
    pub fn seed(&self, seed: u32) {
        self.state.store(u64::from(seed) << 16 | SEED_LOW, Relaxed);
    }

    /// At least 0 and below 1.
    pub fn fraction(&self) -> f64 {
        let state = self
            .state
            .load(Relaxed)
            .wrapping_mul(MULTIPLIER)
            .wrapping_add(INCREMENT)
            & MASK;
        self.state.store(state, Relaxed);
        let drawn = (state >> 17) as u32;
        f64::from(drawn % RANGE) / f64::from(RANGE)
    }
}
