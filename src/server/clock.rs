//! The machine's clocks as the engine's [`TimeSource`].

use crate::engine::time::{Moment, TimeSource};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Reads both clocks for every moment.
pub struct MachineClock {
    origin: Instant,
}

impl MachineClock {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self {
            origin: Instant::now(),
        }
    }
}

impl TimeSource for MachineClock {
    fn now(&self) -> Moment {
        let unix = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Moment {
            unix_us: unix.as_micros() as i64,
            monotonic_ns: self.origin.elapsed().as_nanos() as u64,
        }
    }
}
