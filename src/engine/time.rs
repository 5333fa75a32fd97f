//! Time as the engine sees it: an argument, never asked for by a handler.

/// One instant, read once for a command, a script or a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Microseconds since the Unix epoch.
    pub unix_us: i64,
    /// Nanoseconds of a clock that never goes back.
    pub monotonic_ns: u64,
}

impl Moment {
    /// Milliseconds since the Unix epoch.
    pub fn unix_ms(&self) -> i64 {
        self.unix_us / 1_000
    }
}

/// Where moments come from; the server reads the machine's clocks, a simulation counts.
pub trait TimeSource: Send + Sync {
    fn now(&self) -> Moment;

    /// Follows a wall clock that was set; called by every tick of the server.
    fn renew(&self) {}
}
