//! Asks for the memory of requests that are about to run.
//!
//! Finding a member of a big board costs two waits for memory, finding a key among millions two or three. A pipeline
//! says beforehand what it will look for, so the waits of its requests can go on side by side. Nothing here changes
//! what a request does: it only reads, and whatever it finds is found once more.

use super::Engine;
use super::table::{Command, Lookup};
use crate::limits::LOOK_AHEAD_REQUESTS_MAX;
use crate::resp::glimpse::glimpse;
use crate::store::keyspace::Touch;
use crate::store::value::ValueRef;

/// Different keys that are worth the effort.
const KEYS_MIN: usize = 3;

impl Engine {
    /// Looks at the requests at the start of `input`, on the word of `command`, which ran last: pipelines repeat
    /// themselves. Returns after how many requests to look again.
    pub fn look_ahead(&self, db: usize, command: &Command, input: &[u8], now_ms: i64) -> usize {
        if command.lookup == Lookup::Unknown {
            return LOOK_AHEAD_REQUESTS_MAX;
        }
        let mut keys: [&[u8]; LOOK_AHEAD_REQUESTS_MAX] = [&[]; LOOK_AHEAD_REQUESTS_MAX];
        let mut members = keys;
        let mut count = 0;
        let mut same_key = true;
        let mut rest = input;
        while count < LOOK_AHEAD_REQUESTS_MAX
            && let Some(seen) = glimpse(rest)
        {
            keys[count] = seen.first;
            members[count] = seen.last;
            same_key &= seen.first == keys[0];
            if count == 1 && same_key && command.lookup == Lookup::Key {
                // The last request has just brought this key near.
                return LOOK_AHEAD_REQUESTS_MAX;
            }
            rest = &rest[seen.len..];
            count += 1;
        }
        let Some(db) = self.store.db(db) else {
            return LOOK_AHEAD_REQUESTS_MAX;
        };
        if !same_key {
            if count >= KEYS_MIN {
                db.prefetch(&keys[..count]);
            }
        } else if command.lookup == Lookup::KeyAndMember
            && count > 1
            && let Some(ValueRef::SortedSet(board)) = db.get_touch(keys[0], now_ms, Touch::No)
        {
            board.prefetch_members(&members[..count]);
        }
        count.max(1)
    }
}
