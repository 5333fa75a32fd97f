//! One database.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use super::access::{AccessClock, Touch};
use super::sip::SipKey;
use crate::store::slot::slot;
use crate::store::value::{Value, ValueMut, ValueRef};

/// Bits of the hash that a position leaves out, so that a cursor fits the integers of
/// every client.
const POSITION_SHIFT: u32 = 16;

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

struct Item {
    key: Box<[u8]>,
    value: Value,
    deadline: Option<i64>,
    access: AtomicU32,
}

impl Item {
    fn is_expired(&self, now_ms: i64) -> bool {
        self.deadline.is_some_and(|deadline| now_ms > deadline)
    }

    fn access(&self) -> AccessClock {
        AccessClock::from_bits(self.access.load(Ordering::Relaxed))
    }

    fn touch(&self, touch: Touch, hash: u64) {
        if touch != Touch::No {
            let clock = touch.applied(self.access(), hash);
            self.access.store(clock.to_bits(), Ordering::Relaxed);
        }
    }

    fn entry(&self) -> Entry<'_> {
        Entry {
            key: &self.key,
            value: self.value.as_ref(),
            deadline: self.deadline,
            access: self.access(),
        }
    }
}

/// One database.
pub struct Db {
    hasher: SipKey,
    write_touch: Touch,
    items: BTreeMap<u64, Vec<Item>>,
    len: usize,
    expires_len: usize,
}

impl Db {
    /// An empty database whose hashes are keyed by `seed`, which must be secret and differ
    /// from process to process.
    pub fn new(seed: impl Into<u128>) -> Self {
        Self::with_hasher(SipKey::new(seed.into()))
    }

    fn with_hasher(hasher: SipKey) -> Self {
        Db {
            hasher,
            write_touch: Touch::No,
            items: BTreeMap::new(),
            len: 0,
            expires_len: 0,
        }
    }

    /// Keys, expired ones included.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
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

    fn position_of_hash(hash: u64) -> u64 {
        hash >> POSITION_SHIFT
    }

    fn find(&self, key: &[u8]) -> Option<(&Item, u64)> {
        let hash = self.hasher.hash(key);
        let items = self.items.get(&Self::position_of_hash(hash))?;
        let item = items.iter().find(|item| *item.key == *key)?;
        Some((item, hash))
    }

    fn find_mut(&mut self, key: &[u8]) -> Option<(&mut Item, u64)> {
        let hash = self.hasher.hash(key);
        let items = self.items.get_mut(&Self::position_of_hash(hash))?;
        let item = items.iter_mut().find(|item| *item.key == *key)?;
        Some((item, hash))
    }

    /// The value of a key that is not expired.
    pub fn get(&self, key: &[u8], now_ms: i64) -> Option<ValueRef<'_>> {
        self.get_touch(key, now_ms, Touch::No)
    }

    /// The same, and counts the access.
    pub fn get_touch(&self, key: &[u8], now_ms: i64, touch: Touch) -> Option<ValueRef<'_>> {
        let (item, hash) = self.find(key)?;
        if item.is_expired(now_ms) {
            return None;
        }
        item.touch(touch, hash);
        Some(item.value.as_ref())
    }

    /// The value, to change it, of a key that is not expired.
    pub fn get_mut(&mut self, key: &[u8], now_ms: i64) -> Option<ValueMut<'_>> {
        let touch = self.write_touch;
        let (item, hash) = self.find_mut(key)?;
        if item.is_expired(now_ms) {
            return None;
        }
        item.touch(touch, hash);
        Some(item.value.as_mut())
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
        let hash = self.hasher.hash(key);
        let touch = self.write_touch;
        let items = self.items.entry(Self::position_of_hash(hash)).or_default();
        let found = items.iter().position(|item| *item.key == *key);
        let (index, created) = match found {
            Some(index) if !items[index].is_expired(now_ms) => {
                items[index].touch(touch, hash);
                (index, false)
            }
            Some(index) => {
                items[index].value = make();
                items[index].deadline = None;
                items[index].access = AtomicU32::new(touch.fresh().to_bits());
                self.expires_len -= 1;
                (index, true)
            }
            None => {
                self.len += 1;
                items.push(Item {
                    key: key.into(),
                    value: make(),
                    deadline: None,
                    access: AtomicU32::new(touch.fresh().to_bits()),
                });
                (items.len() - 1, true)
            }
        };
        (items[index].value.as_mut(), created)
    }

    /// Stores a value without a deadline; the old one, expired or not, is handed back.
    pub fn insert(&mut self, key: &[u8], value: Value) -> Option<Value> {
        self.clear_deadline(key);
        self.replace_keeping_deadline(key, value)
    }

    /// Stores a value; an old one, expired or not, is handed back and its deadline stays.
    pub fn replace_keeping_deadline(&mut self, key: &[u8], value: Value) -> Option<Value> {
        let touch = self.write_touch;
        if let Some((item, _)) = self.find_mut(key) {
            let clock = touch.overwritten(item.access());
            item.access = AtomicU32::new(clock.to_bits());
            return Some(std::mem::replace(&mut item.value, value));
        }
        self.get_or_insert_with(key, i64::MIN, || value);
        None
    }

    /// Removes a key, expired or not.
    pub fn remove(&mut self, key: &[u8]) -> Option<Value> {
        self.take(key).map(|(value, _)| value)
    }

    /// Removes a key, expired or not, with its deadline.
    pub fn take(&mut self, key: &[u8]) -> Option<(Value, Option<i64>)> {
        let position = self.position(key);
        let items = self.items.get_mut(&position)?;
        let index = items.iter().position(|item| *item.key == *key)?;
        let item = items.swap_remove(index);
        if items.is_empty() {
            self.items.remove(&position);
        }
        self.len -= 1;
        self.expires_len -= usize::from(item.deadline.is_some());
        Some((item.value, item.deadline))
    }

    /// Whether the key is there and not expired.
    pub fn contains(&self, key: &[u8], now_ms: i64) -> bool {
        self.find(key)
            .is_some_and(|(item, _)| !item.is_expired(now_ms))
    }

    /// Whether the key is there, past its deadline.
    pub fn is_expired(&self, key: &[u8], now_ms: i64) -> bool {
        self.expires_len > 0
            && self
                .find(key)
                .is_some_and(|(item, _)| item.is_expired(now_ms))
    }

    /// All about a key, expired or not.
    pub fn entry(&self, key: &[u8]) -> Option<Entry<'_>> {
        self.find(key).map(|(item, _)| item.entry())
    }

    /// The deadline of a key in Unix milliseconds.
    pub fn deadline(&self, key: &[u8]) -> Option<i64> {
        self.find(key)?.0.deadline
    }

    /// Gives a key a deadline; false when the key is absent.
    pub fn set_deadline(&mut self, key: &[u8], deadline_ms: i64) -> bool {
        let Some((item, _)) = self.find_mut(key) else {
            return false;
        };
        let new = item.deadline.replace(deadline_ms).is_none();
        self.expires_len += usize::from(new);
        true
    }

    /// Takes the deadline from a key; false when it had none.
    pub fn clear_deadline(&mut self, key: &[u8]) -> bool {
        let had = self
            .find_mut(key)
            .is_some_and(|(item, _)| item.deadline.take().is_some());
        self.expires_len -= usize::from(had);
        had
    }

    /// Counts an access; false when the key is absent or expired.
    pub fn touch(&self, key: &[u8], now_ms: i64, touch: Touch) -> bool {
        self.get_touch(key, now_ms, touch).is_some()
    }

    /// The access clock of a key.
    pub fn access(&self, key: &[u8]) -> Option<AccessClock> {
        self.find(key).map(|(item, _)| item.access())
    }

    /// Sets the access clock of a key; false when the key is absent.
    pub fn set_access(&self, key: &[u8], clock: AccessClock) -> bool {
        self.find(key)
            .map(|(item, _)| item.access.store(clock.to_bits(), Ordering::Relaxed))
            .is_some()
    }

    /// A key chosen by chance, expired or not; each has about the same chance.
    pub fn random_key(&self, mut random: impl FnMut() -> u64) -> Option<&[u8]> {
        let position = random() >> POSITION_SHIFT;
        let (_, items) = self
            .items
            .range(position..)
            .next()
            .or_else(|| self.items.first_key_value())?;
        let index = random() as usize % items.len();
        items.get(index).map(|item| &*item.key)
    }

    /// Where walks meet the key.
    pub fn position(&self, key: &[u8]) -> u64 {
        Self::position_of_hash(self.hasher.hash(key))
    }

    /// Shows about `count` entries from the position `cursor` on, expired ones included,
    /// and returns where to go on; 0 means that the walk is complete. A key that is there
    /// during the whole walk is shown exactly once, a key that comes or goes at most once.
    pub fn scan(&self, cursor: u64, count: usize, mut show: impl FnMut(Entry<'_>)) -> u64 {
        let mut left = count.max(1);
        for (&position, items) in self.items.range(cursor..) {
            if left == 0 {
                return position;
            }
            for item in items {
                show(item.entry());
                left = left.saturating_sub(1);
            }
        }
        0
    }

    /// All entries in the order of positions, expired ones included.
    pub fn iter(&self) -> impl Iterator<Item = Entry<'_>> {
        self.items.values().flatten().map(Item::entry)
    }

    /// Up to `max` keys past their deadline. They stay: the caller removes them (and
    /// tells of it).
    pub fn next_expired(&mut self, now_ms: i64, max: usize) -> Due {
        let mut keys: Vec<Vec<u8>> = self
            .items
            .values()
            .flatten()
            .filter(|item| item.is_expired(now_ms))
            .take(max + 1)
            .map(|item| item.key.to_vec())
            .collect();
        let more = keys.len() > max;
        keys.truncate(max);
        Due { keys, more }
    }

    /// Empties the database. The old content is handed out, so that it can be dropped
    /// where it doesn't hold up anyone.
    pub fn clear(&mut self) -> Db {
        let mut empty = Self::with_hasher(self.hasher);
        empty.write_touch = self.write_touch;
        std::mem::replace(self, empty)
    }

    /// Bytes beside the heap blocks of the values.
    pub fn memory(&self) -> DbMemory {
        let keys: usize = self
            .items
            .values()
            .flatten()
            .map(|item| item.key.len())
            .sum();
        DbMemory {
            table_bytes: 8 * self.len,
            entry_bytes: keys + self.len * size_of::<Item>(),
            deadline_bytes: self.expires_len * size_of::<Option<i64>>(),
        }
    }

    /// Bytes that a key costs, without the heap blocks of its value (MEMORY USAGE adds
    /// [`ValueRef::memory_usage`]).
    pub fn key_bytes(&self, key: &[u8]) -> Option<usize> {
        let (item, _) = self.find(key)?;
        Some(item.key.len() + size_of::<Item>())
    }

    /// Keys in a cluster slot, expired ones included.
    pub fn slot_len(&self, wanted: u16) -> usize {
        self.iter()
            .filter(|entry| slot(entry.key) == wanted)
            .count()
    }

    /// Up to `count` keys in a cluster slot.
    pub fn slot_keys(&self, wanted: u16, count: usize) -> Vec<&[u8]> {
        self.iter()
            .map(|entry| entry.key)
            .filter(|key| slot(key) == wanted)
            .take(count)
            .collect()
    }
}
