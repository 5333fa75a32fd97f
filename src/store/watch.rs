//! How a snapshot in progress hears of changes before they happen.
//!
//! A walk in pieces sees the data as it was when the walk began only if whatever
//! changes ahead of it is told first. Databases tell of keys, a big board of its
//! members; without a watch this costs one comparison a change.

use super::keyspace::Entry;
use super::sorted_set::Score;
use std::sync::Arc;

/// Hears of keys before they change.
pub trait KeyWatch: Send + Sync {
    /// Tells this watch from others.
    fn id(&self) -> usize;

    /// The key at this position of the walk is about to change, to be made (`old` is None) or, if
    /// `leaves`, to lose its value. An answer is put into the board that the key holds.
    fn before_change(
        &self,
        position: u64,
        key: &[u8],
        old: Option<Entry<'_>>,
        leaves: bool,
    ) -> Option<Arc<dyn MemberWatch>>;
}

/// Hears of the members of one board before they change.
pub trait MemberWatch: Send + Sync {
    /// The member, which has this score or is absent, is about to change. False ends the watch.
    fn before_change(&self, member: &[u8], old: Option<Score>) -> bool;
}
