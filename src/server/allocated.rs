//! How many bytes the allocator has handed out, cheap enough to be asked before every command.
//!
//! A full sample costs microseconds.  Between two of them each thread that asks adds what it allocated and freed
//! itself since it asked last, by counters that the allocator keeps for each thread; what other threads do meanwhile
//! comes in with the next sample.

use crate::store::keyspace::reusable_bytes;
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use tikv_jemalloc_ctl::thread::{ThreadLocal, allocatedp, deallocatedp};

static COUNTED: AtomicI64 = AtomicI64::new(0);
static SAMPLES: AtomicU64 = AtomicU64::new(0);

/// What the allocator counts for one thread.
struct Counters {
    allocated: ThreadLocal<u64>,
    deallocated: ThreadLocal<u64>,
    /// The balance that is in `COUNTED`.
    counted: Cell<i64>,
    /// The sample since which it is.
    sample: Cell<u64>,
}

thread_local! {
    static COUNTERS: Option<Counters> = Counters::of_this_thread();
}

impl Counters {
    fn of_this_thread() -> Option<Self> {
        Some(Self {
            allocated: allocatedp::read().ok()?,
            deallocated: deallocatedp::read().ok()?,
            counted: Cell::new(0),
            sample: Cell::new(0),
        })
    }

    fn balance(&self) -> i64 {
        self.allocated.get().wrapping_sub(self.deallocated.get()) as i64
    }
}

/// Bytes that count as handed out but lie in the caches of threads, free for the next who asks: some hundred KiB, which
/// would fill a small limit.
fn cached_by_threads() -> u64 {
    // The arenas of this number are all together.
    const NAME: &[u8] = b"stats.arenas.4096.tcache_bytes\0";
    // SAFETY: the name ends in a zero byte, and jemalloc documents this figure as a size_t.
    let cached = unsafe { tikv_jemalloc_ctl::raw::read::<usize>(NAME) };
    cached.unwrap_or(0) as u64
}

/// Bytes handed out at this moment, by a full sample.
pub fn sample() -> u64 {
    // The figures are a snapshot that has to be renewed first.
    if tikv_jemalloc_ctl::epoch::advance().is_err() {
        return 0;
    }
    let handed_out = tikv_jemalloc_ctl::stats::allocated::read().unwrap_or(0) as u64;
    let bytes = handed_out.saturating_sub(cached_by_threads());
    COUNTED.store(bytes as i64, Relaxed);
    let sample = SAMPLES.fetch_add(1, Relaxed) + 1;
    COUNTERS.with(|counters| {
        if let Some(counters) = counters {
            counters.counted.set(counters.balance());
            counters.sample.set(sample);
        }
    });
    in_use(bytes)
}

/// Less what keys have left for others: so every key that is given up counts at once.
fn in_use(bytes: u64) -> u64 {
    bytes.saturating_sub(reusable_bytes() as u64)
}

/// The last sample, and what threads that ask have allocated and freed since.
pub fn estimate() -> u64 {
    COUNTERS.with(|counters| {
        let Some(counters) = counters else {
            return sample();
        };
        let (sample, balance) = (SAMPLES.load(Relaxed), counters.balance());
        let change = if counters.sample.replace(sample) == sample {
            balance - counters.counted.get()
        } else {
            0
        };
        counters.counted.set(balance);
        let counted = COUNTED.fetch_add(change, Relaxed) + change;
        in_use(u64::try_from(counted).unwrap_or(0))
    })
}
