//! The machine's clocks as the engine's [`TimeSource`].

use crate::engine::time::{Moment, TimeSource};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// One clock read a moment: the wall clock is the steady clock and a distance, which the server's ticks renew.
pub struct MachineClock {
    origin: Instant,
    /// Microseconds from `origin` back to the Unix epoch.
    unix_us_at_origin: AtomicI64,
}

impl MachineClock {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let clock = Self {
            origin: Instant::now(),
            unix_us_at_origin: AtomicI64::new(0),
        };
        clock.renew();
        clock
    }
}

impl TimeSource for MachineClock {
    #[inline]
    fn now(&self) -> Moment {
        let monotonic_ns = self.origin.elapsed().as_nanos() as u64;
        let unix_us = self.unix_us_at_origin.load(Relaxed) + (monotonic_ns / 1_000) as i64;
        Moment {
            unix_us,
            monotonic_ns,
        }
    }

    fn renew(&self) {
        let unix = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let since_origin_us = self.origin.elapsed().as_micros() as i64;
        self.unix_us_at_origin
            .store(unix.as_micros() as i64 - since_origin_us, Relaxed);
    }
}
