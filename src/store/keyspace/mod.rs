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
mod sip;
mod store;

pub use access::{AccessClock, LFU_COUNTER_NEW, Touch};
pub use db::{Db, DbMemory, Due, Entry};
pub use store::Store;
