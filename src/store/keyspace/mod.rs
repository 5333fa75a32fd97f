//! The keyspace: databases of keys with a value, a deadline and an access clock.
//!
//! - A key past its deadline is absent for a reader; a writer or the expiry cycle
//!   removes it. A key is expired when the time is greater than its deadline.
//! - Entries have a position: the high 48 bits of their hash under the secret seed. SCAN, the
//!   digest and snapshots walk in the order of positions, so a walk in pieces meets
//!   each key that stays exactly once, whatever happens between the pieces.
//! - No clock and no chance of its own: both come in as arguments.

mod access;
mod db;
mod segment;
mod sip;
mod store;
mod table;

#[cfg(test)]
mod tests;

pub use access::{AccessClock, LFU_COUNTER_NEW, Touch};
pub use db::{Db, DbMemory, Due, Entry};
pub use segment::reusable_bytes;
pub use store::Store;

/// Bits of the hash that a position leaves out, so that a cursor fits the integers of
/// every client.
const POSITION_SHIFT: u32 = 16;

/// Positions are below this.
pub const POSITIONS_END: u64 = 1 << (64 - POSITION_SHIFT);
