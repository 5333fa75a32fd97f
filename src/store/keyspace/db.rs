//! One database: what the engine asks of the keyspace.

use super::access::{AccessClock, Touch};
use super::segment::{Segment, Spot};
use super::sip::SipKey;
use super::table::{Place, Table};
use super::{POSITION_SHIFT, POSITIONS_END};
use crate::limits::KEY_INLINE_LEN_MAX;
use crate::store::slot::{SLOTS, slot};
use crate::store::value::{Value, ValueMut, ValueRef};
use crate::store::watch::{KeyWatch, MemberWatch};
use std::sync::Arc;

/// One key as a walk shows it; the key may be expired.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    pub key: &'a [u8],
    pub value: ValueRef<'a>,
    /// Unix milliseconds.
    pub deadline: Option<i64>,
    pub access: AccessClock,
}

impl Entry<'_> {
    pub fn is_expired(&self, now_ms: i64) -> bool {
        self.deadline.is_some_and(|deadline| now_ms > deadline)
    }
}

/// What [`Db::next_expired`] found.
#[derive(Default)]
pub struct Due {
    /// Keys past their deadline; they are still there.
    pub keys: Vec<Vec<u8>>,
    /// Whether another call may find more.
    pub more: bool,
}

/// Bytes that a database holds beside the heap blocks of its values.
#[derive(Clone, Copy, Debug, Default)]
pub struct DbMemory {
    /// Finding keys: directory and slots.
    pub table_bytes: usize,
    /// Keys, handles and deadlines.
    pub entry_bytes: usize,
    /// The part of `entry_bytes` that deadlines take.
    pub deadline_bytes: usize,
}

/// One database.
pub struct Db {
    table: Table,
    write_touch: Touch,
    expires_len: usize,
    /// Bytes of keys that have heap blocks of their own.
    long_key_bytes: usize,
    /// Keys by cluster slot, when they are counted.
    slot_lens: Option<Box<[u32]>>,
    /// A snapshot that walks over this database. It goes with the content when that is taken out.
    watch: Option<Arc<dyn KeyWatch>>,
}

impl Db {
    /// An empty database whose hashes are keyed by `seed`, which must be secret and differ
    /// from process to process.
    pub fn new(seed: impl Into<u128>) -> Self {
        Self::with_hasher(SipKey::new(seed.into()))
    }

    fn with_hasher(hasher: SipKey) -> Self {
        Db {
            table: Table::new(hasher),
            write_touch: Touch::No,
            expires_len: 0,
            long_key_bytes: 0,
            slot_lens: None,
            watch: None,
        }
    }

    /// Has changes of keys told before they happen, or ends that.
    pub fn set_watch(&mut self, watch: Option<Arc<dyn KeyWatch>>) {
        self.watch = watch;
    }

    /// Which watch is set.
    pub fn watch_id(&self) -> Option<usize> {
        self.watch.as_ref().map(|watch| watch.id())
    }

    /// Sets the watch of a board, past the watch of its key. False when there is no big board.
    pub fn watch_board(&mut self, key: &[u8], watch: Arc<dyn MemberWatch>) -> bool {
        let Some(place) = self.place(key) else {
            return false;
        };
        match self.table.value_mut(place) {
            ValueMut::SortedSet(board) => board.set_watch(watch),
            _ => false,
        }
    }

    /// Tells the watch of a change to come.
    #[inline]
    fn announce(&mut self, hash: u64, key: &[u8], leaves: bool) {
        if self.watch.is_some() {
            self.announce_to_watch(hash, key, leaves);
        }
    }

    #[cold]
    fn announce_to_watch(&mut self, hash: u64, key: &[u8], leaves: bool) {
        let Some(watch) = self.watch.clone() else {
            return;
        };
        let old = self
            .table
            .find(hash, key)
            .map(|(segment, spot)| segment.entry(spot));
        let members = watch.before_change(hash >> POSITION_SHIFT, key, old, leaves);
        if let Some(members) = members {
            self.watch_board(key, members);
        }
    }

    /// Keys, expired ones included.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keys with a deadline, expired ones included.
    pub fn expires_len(&self) -> usize {
        self.expires_len
    }

    /// What the lookups of writers ([`Db::get_mut`], [`Db::get_or_insert_with`],
    /// [`Db::insert`]) do to access clocks from now on.
    pub fn set_write_touch(&mut self, touch: Touch) {
        self.write_touch = touch;
    }

    #[inline]
    fn hash(&self, key: &[u8]) -> u64 {
        self.table.hasher.hash(key)
    }

    #[inline]
    fn find(&self, key: &[u8]) -> Option<(&Segment, Spot)> {
        self.table.find(self.hash(key), key)
    }

    fn place(&self, key: &[u8]) -> Option<Place> {
        self.table.place(self.hash(key), key)
    }

    /// Asks for the memory that lookups of these keys will need, all of it at once: for
    /// a batch of commands. Worth it from about three keys on.
    pub fn prefetch(&self, keys: &[&[u8]]) {
        self.table.prefetch(keys);
    }

    /// The value of a key that is not expired.
    pub fn get(&self, key: &[u8], now_ms: i64) -> Option<ValueRef<'_>> {
        self.get_touch(key, now_ms, Touch::No)
    }

    /// The same, and counts the access.
    pub fn get_touch(&self, key: &[u8], now_ms: i64, touch: Touch) -> Option<ValueRef<'_>> {
        let hash = self.hash(key);
        let (segment, spot) = self.table.find(hash, key)?;
        if segment.is_expired(spot, now_ms) {
            return None;
        }
        touch_spot(segment, spot, touch, hash);
        Some(segment.value(spot))
    }

    /// The value, to change it, of a key that is not expired.
    pub fn get_mut(&mut self, key: &[u8], now_ms: i64) -> Option<ValueMut<'_>> {
        let hash = self.hash(key);
        let touch = self.write_touch;
        self.announce(hash, key, false);
        let place = self.table.place(hash, key)?;
        let (segment, spot) = self.table.at_mut(place);
        if segment.is_expired(spot, now_ms) {
            return None;
        }
        touch_spot(segment, spot, touch, hash);
        Some(segment.value_mut(spot))
    }

    /// The value of a key, which is made when the key is absent; true when it was. An
    /// expired value is dropped and made anew without a deadline: a caller that has to
    /// tell of its end asks [`Db::is_expired`] before.
    pub fn get_or_insert_with(
        &mut self,
        key: &[u8],
        now_ms: i64,
        make: impl FnOnce() -> Value,
    ) -> (ValueMut<'_>, bool) {
        let hash = self.hash(key);
        let touch = self.write_touch;
        if self.watch.is_some() {
            let leaves = self.is_expired(key, now_ms);
            self.announce(hash, key, leaves);
        }
        let Some(place) = self.table.place(hash, key) else {
            let place = self.insert_absent(hash, key, make());
            return (self.table.value_mut(place), true);
        };
        let (segment, spot) = self.table.at_mut(place);
        let expired = segment.is_expired(spot, now_ms);
        if expired {
            drop(segment.replace(spot, make()));
            segment.clear_deadline(spot);
            segment.set_clock(spot, touch.fresh());
            self.expires_len -= 1;
        } else {
            touch_spot(segment, spot, touch, hash);
        }
        (self.table.value_mut(place), expired)
    }

    fn insert_absent(&mut self, hash: u64, key: &[u8], value: Value) -> Place {
        if key.len() > KEY_INLINE_LEN_MAX {
            self.long_key_bytes += key.len();
        }
        if let Some(lens) = &mut self.slot_lens {
            lens[usize::from(slot(key))] += 1;
        }
        self.table
            .insert(hash, key, value, self.write_touch.fresh())
    }

    /// Stores a value without a deadline; the old one, expired or not, is handed back.
    pub fn insert(&mut self, key: &[u8], value: Value) -> Option<Value> {
        self.store(key, value, false)
    }

    /// Stores a value; an old one, expired or not, is handed back and its deadline stays.
    pub fn replace_keeping_deadline(&mut self, key: &[u8], value: Value) -> Option<Value> {
        self.store(key, value, true)
    }

    fn store(&mut self, key: &[u8], value: Value, keep_deadline: bool) -> Option<Value> {
        let hash = self.hash(key);
        let touch = self.write_touch;
        self.announce(hash, key, true);
        let Some(place) = self.table.place(hash, key) else {
            self.insert_absent(hash, key, value);
            return None;
        };
        let (segment, spot) = self.table.at_mut(place);
        let old = segment.replace(spot, value);
        segment.set_clock(spot, touch.overwritten(segment.clock(spot)));
        if !keep_deadline && segment.clear_deadline(spot) {
            self.expires_len -= 1;
        }
        Some(old)
    }

    /// Removes a key, expired or not.
    pub fn remove(&mut self, key: &[u8]) -> Option<Value> {
        self.take(key).map(|(value, _)| value)
    }

    /// Removes a key, expired or not, with its deadline.
    pub fn take(&mut self, key: &[u8]) -> Option<(Value, Option<i64>)> {
        let hash = self.hash(key);
        let place = self.table.place(hash, key)?;
        self.announce(hash, key, true);
        let (value, deadline) = self.table.remove(place, hash);
        self.expires_len -= usize::from(deadline.is_some());
        if key.len() > KEY_INLINE_LEN_MAX {
            self.long_key_bytes -= key.len();
        }
        if let Some(lens) = &mut self.slot_lens {
            lens[usize::from(slot(key))] -= 1;
        }
        Some((value, deadline))
    }

    /// Whether the key is there and not expired.
    pub fn contains(&self, key: &[u8], now_ms: i64) -> bool {
        self.get(key, now_ms).is_some()
    }

    /// Whether the key is there, past its deadline.
    pub fn is_expired(&self, key: &[u8], now_ms: i64) -> bool {
        self.expires_len > 0
            && self
                .find(key)
                .is_some_and(|(segment, spot)| segment.is_expired(spot, now_ms))
    }

    /// All about a key, expired or not.
    pub fn entry(&self, key: &[u8]) -> Option<Entry<'_>> {
        self.find(key).map(|(segment, spot)| segment.entry(spot))
    }

    /// The deadline of a key in Unix milliseconds.
    pub fn deadline(&self, key: &[u8]) -> Option<i64> {
        let (segment, spot) = self.find(key)?;
        segment.deadline(spot)
    }

    /// Gives a key a deadline; false when the key is absent.
    pub fn set_deadline(&mut self, key: &[u8], deadline_ms: i64) -> bool {
        let hash = self.hash(key);
        self.announce(hash, key, false);
        let new = self.table.set_deadline(hash, key, deadline_ms);
        self.expires_len += usize::from(new == Some(true));
        new.is_some()
    }

    /// Takes the deadline from a key; false when it had none.
    pub fn clear_deadline(&mut self, key: &[u8]) -> bool {
        self.announce(self.hash(key), key, false);
        let Some(place) = self.place(key) else {
            return false;
        };
        let (segment, spot) = self.table.at_mut(place);
        let had = segment.clear_deadline(spot);
        self.expires_len -= usize::from(had);
        had
    }

    /// Counts an access; false when the key is absent or expired.
    pub fn touch(&self, key: &[u8], now_ms: i64, touch: Touch) -> bool {
        self.get_touch(key, now_ms, touch).is_some()
    }

    /// The access clock of a key.
    pub fn access(&self, key: &[u8]) -> Option<AccessClock> {
        self.find(key).map(|(segment, spot)| segment.clock(spot))
    }

    /// Sets the access clock of a key; false when the key is absent.
    pub fn set_access(&self, key: &[u8], clock: AccessClock) -> bool {
        self.find(key)
            .map(|(segment, spot)| segment.set_clock(spot, clock))
            .is_some()
    }

    /// A key chosen by chance, expired or not; each has about the same chance.
    pub fn random_key(&self, random: impl FnMut() -> u64) -> Option<&[u8]> {
        self.table.random_key(random)
    }

    /// Where walks meet the key: below [`POSITIONS_END`].
    pub fn position(&self, key: &[u8]) -> u64 {
        self.hash(key) >> POSITION_SHIFT
    }

    /// Shows about `count` entries from the position `cursor` on, expired ones included,
    /// and returns where to go on; 0 means that the walk is complete. A key that is there
    /// during the whole walk is shown exactly once, a key that comes or goes at most once.
    pub fn scan<'a>(&'a self, cursor: u64, count: usize, show: impl FnMut(Entry<'a>)) -> u64 {
        if cursor >= POSITIONS_END {
            return 0;
        }
        self.table.scan(cursor, count, show)
    }

    /// All entries in no particular order, expired ones included.
    pub fn iter(&self) -> impl Iterator<Item = Entry<'_>> {
        self.table.segments().flat_map(Segment::entries)
    }

    /// Up to `max` keys past their deadline. They stay: the caller removes them (and
    /// tells of it).
    ///
    /// A deadline costs eight bytes in the record of its key and one more for 64 groups in
    /// a segment, each with a bound below which none of its deadlines is; the bounds of
    /// whole segments lie side by side. So looking for due keys costs one comparison a
    /// segment, and for one that is due some twenty records.
    pub fn next_expired(&mut self, now_ms: i64, max: usize) -> Due {
        let mut keys = Vec::new();
        let more = self.expires_len > 0 && self.table.collect_expired(now_ms, max, &mut keys);
        Due { keys, more }
    }

    /// A time before which no key expires.
    pub fn earliest_deadline(&self) -> Option<i64> {
        let earliest = self.table.earliest();
        (self.expires_len > 0 && earliest < i64::MAX).then_some(earliest)
    }

    /// Empties the database. The old content is handed out, so that it can be dropped
    /// where it doesn't hold up anyone.
    pub fn clear(&mut self) -> Db {
        let mut empty = Self::with_hasher(self.table.hasher);
        empty.write_touch = self.write_touch;
        if self.slot_lens.is_some() {
            empty.count_slots();
        }
        std::mem::replace(self, empty)
    }

    /// Bytes beside the heap blocks of the values. O(keys / 1000).
    pub fn memory(&self) -> DbMemory {
        let mut memory = DbMemory {
            table_bytes: self.table.memory(),
            entry_bytes: self.long_key_bytes,
            deadline_bytes: self.expires_len * size_of::<i64>(),
        };
        for segment in self.table.segments() {
            let (lines, arena) = segment.memory();
            memory.table_bytes += lines + segment.bounds_memory();
            memory.entry_bytes += arena;
            memory.deadline_bytes += segment.bounds_memory();
        }
        memory
    }

    /// Bytes that a key costs, without the heap blocks of its value (MEMORY USAGE adds
    /// [`ValueRef::memory_usage`]).
    pub fn key_bytes(&self, key: &[u8]) -> Option<usize> {
        let (segment, spot) = self.find(key)?;
        let boxed = if key.len() > KEY_INLINE_LEN_MAX {
            key.len()
        } else {
            0
        };
        Some(segment.entry_bytes(spot) + boxed)
    }

    /// Counts keys by slot from now on, so that [`Db::slot_len`] needs no walk.
    pub fn count_slots(&mut self) {
        let mut lens = vec![0; SLOTS].into_boxed_slice();
        for entry in self.iter() {
            lens[usize::from(slot(entry.key))] += 1;
        }
        self.slot_lens = Some(lens);
    }

    /// Keys in a cluster slot, expired ones included. O(1) after [`Db::count_slots`],
    /// else O(keys).
    pub fn slot_len(&self, wanted: u16) -> usize {
        match &self.slot_lens {
            Some(lens) => lens.get(usize::from(wanted)).map_or(0, |&len| len as usize),
            None => self.slot_iter(wanted).count(),
        }
    }

    /// Up to `count` keys in a cluster slot. O(keys).
    pub fn slot_keys(&self, wanted: u16, count: usize) -> Vec<&[u8]> {
        self.slot_iter(wanted).take(count).collect()
    }

    fn slot_iter(&self, wanted: u16) -> impl Iterator<Item = &[u8]> {
        self.iter()
            .map(|entry| entry.key)
            .filter(move |key| slot(key) == wanted)
    }

    /// Verifies that all of the structure agrees with itself.
    #[cfg(test)]
    pub(super) fn check(&self) {
        self.table.check();
        let expires = self.iter().filter(|entry| entry.deadline.is_some());
        assert_eq!(expires.count(), self.expires_len);
        let long = self.iter().map(|entry| entry.key.len());
        let long_bytes: usize = long.filter(|&len| len > KEY_INLINE_LEN_MAX).sum();
        assert_eq!(long_bytes, self.long_key_bytes);
    }
}

#[inline]
fn touch_spot(segment: &Segment, spot: Spot, touch: Touch, hash: u64) {
    if touch != Touch::No {
        let clock = touch.applied(segment.clock(spot), hash);
        segment.set_clock(spot, clock);
    }
}
