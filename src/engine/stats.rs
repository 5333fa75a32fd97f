//! Counters that INFO shows. Relaxed atomics: readers beside each other may count too.

use super::dispatch::Access;
use super::table::CommandId;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// Number of power-of-two buckets of a latency histogram: up to 2^39 ns, nine minutes.
pub const LATENCY_BUCKETS: usize = 40;

/// Most distinct error prefixes that are counted apart (Redis disables the list at the same size).
const ERROR_KINDS_MAX: usize = 128;

/// Figures of one command.
pub struct CommandStats {
    pub calls: AtomicU64,
    pub total_ns: AtomicU64,
    pub rejected: AtomicU64,
    pub failed: AtomicU64,
    /// Calls by duration: bucket b counts durations below 2^b nanoseconds not counted before.
    pub latency: [AtomicU64; LATENCY_BUCKETS],
}

impl CommandStats {
    fn new() -> Self {
        Self {
            calls: AtomicU64::new(0),
            total_ns: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            latency: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    fn reset(&self) {
        for counter in [&self.calls, &self.total_ns, &self.rejected, &self.failed] {
            counter.store(0, Relaxed);
        }
        for bucket in &self.latency {
            bucket.store(0, Relaxed);
        }
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Server-wide counters.
        pub struct Stats {
            $($(#[$doc])* pub $name: AtomicU64,)*
            /// Keys that fell to a deadline in recent cycles, in percent (estimate of the active cycle).
            pub expired_stale_percent: AtomicU64,
            pub started_unix_us: AtomicI64,
            commands: Box<[CommandStats]>,
            errors: Mutex<BTreeMap<String, u64>>,
        }

        impl Stats {
            /// Zeroed counters for a table of `positions` commands.
            pub fn new(positions: usize) -> Self {
                Self {
                    $($name: AtomicU64::new(0),)*
                    expired_stale_percent: AtomicU64::new(0),
                    started_unix_us: AtomicI64::new(0),
                    commands: (0..positions).map(|_| CommandStats::new()).collect(),
                    errors: Mutex::default(),
                }
            }

            /// CONFIG RESETSTAT.
            pub fn reset(&self) {
                $(self.$name.store(0, Relaxed);)*
                self.expired_stale_percent.store(0, Relaxed);
                self.reset_commands();
                self.lock_errors().clear();
            }
        }
    };
}

counters! {
    connections_received,
    connections_rejected,
    commands_processed,
    net_input_bytes,
    net_output_bytes,
    keyspace_hits,
    keyspace_misses,
    expired_keys,
    evicted_keys,
    error_replies,
    reads_processed,
    writes_processed,
    sync_full,
    unblocked_clients,
    evicted_clients,
    output_limit_disconnections,
    query_limit_disconnections,
    peak_memory_bytes,
    expire_cycle_us,
    acl_denied_auth,
    acl_denied_cmd,
    acl_denied_key,
    acl_denied_channel,
    lazy_freed_objects,
}

/// Adds to a counter. Relaxed: only sums matter.
#[inline]
pub fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Relaxed);
}

impl Access {
    /// Adds to a counter of the engine. Who is alone needs no atomic addition, which costs several times as much.
    #[inline]
    pub fn count(self, counter: &AtomicU64, by: u64) {
        match self {
            Access::Exclusive => counter.store(counter.load(Relaxed).wrapping_add(by), Relaxed),
            Access::Shared => count(counter, by),
        }
    }
}

impl Stats {
    pub fn command(&self, id: CommandId) -> &CommandStats {
        &self.commands[id.0 as usize]
    }

    pub fn reset_commands(&self) {
        for command in &self.commands {
            command.reset();
        }
    }

    /// Counts a call that ran for `duration_ns` with the given access.
    #[inline]
    pub fn record_call(&self, id: CommandId, duration_ns: u64, access: Access) {
        let command = self.command(id);
        let bucket = (64 - duration_ns.leading_zeros() as usize).min(LATENCY_BUCKETS - 1);
        access.count(&command.calls, 1);
        access.count(&command.total_ns, duration_ns);
        access.count(&command.latency[bucket], 1);
        access.count(&self.commands_processed, 1);
    }

    /// Counts an error reply by the first word of its text.
    pub fn record_error(&self, text: &str) {
        count(&self.error_replies, 1);
        let prefix = text.split(' ').next().unwrap_or(text);
        let mut errors = self.lock_errors();
        if let Some(seen) = errors.get_mut(prefix) {
            *seen += 1;
        } else if errors.len() < ERROR_KINDS_MAX {
            errors.insert(prefix.to_string(), 1);
        }
    }

    /// Error replies by first word.
    pub fn errors(&self) -> BTreeMap<String, u64> {
        self.lock_errors().clone()
    }

    fn lock_errors(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, u64>> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
