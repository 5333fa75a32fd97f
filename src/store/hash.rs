//! Hash values: fields to values.
//!
//! A small hash is one flat block of fields and values in turn, in the order in which
//! the fields came (`listpack`); a big one is a [`Table`] (`hashtable`). A hash becomes
//! big by the thresholds of [`HashLimits`] and stays so, as in Redis.
//!
//! Field and value are bytes; each is at most 2 GiB long together.

use super::block::Block;
use super::compact::{Compact, View, ViewMut};
use super::packed::{Entries, entry_size, length_size, read_length, write_entry, write_length};
use super::table::{Keyed, Table};
use super::thin::ThinBytes;
use crate::limits::FLAT_BYTES_MAX;

/// When a hash is no longer small: `hash-max-listpack-entries` and `-value`.
#[derive(Clone, Copy, Debug)]
pub struct HashLimits {
    pub entries: usize,
    pub value_len: usize,
}

/// A field and its value in one block: the length of the field, then both.
#[derive(Clone)]
struct Pair(ThinBytes);

impl Pair {
    fn new(field: &[u8], value: &[u8]) -> Self {
        let mut length = [0; 4];
        let size = write_length(&mut length, field.len());
        Pair(ThinBytes::concat(&[&length[..size], field, value]))
    }

    fn parts(&self) -> (&[u8], &[u8]) {
        let bytes = self.0.as_slice();
        let (len, size) = read_length(bytes);
        bytes[size..].split_at(len)
    }

    fn set_value(&mut self, value: &[u8]) {
        let (field, old) = self.parts();
        if old.len() == value.len() {
            let at = length_size(field.len()) + field.len();
            self.0.as_mut_slice()[at..].copy_from_slice(value);
        } else {
            *self = Pair::new(field, value);
        }
    }
}

impl Keyed for Pair {
    fn key(&self) -> &[u8] {
        self.parts().0
    }

    fn heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }
}

/// Where a field and its value are in the flat block.
struct Place {
    /// Start of the field's entry.
    start: usize,
    /// Start of the value's entry.
    value: usize,
    end: usize,
}

/// A hash value in one word.
#[derive(Clone)]
pub struct Hash {
    body: Compact<Table<Pair>>,
}

impl Default for Hash {
    fn default() -> Self {
        Hash::new()
    }
}

impl Hash {
    pub fn new() -> Self {
        Hash {
            body: Compact::small(Block::with_room(0)),
        }
    }

    pub fn len(&self) -> usize {
        match self.body.view() {
            View::Small(block) => block.tally() as usize,
            View::Big(table) => table.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name that OBJECT ENCODING gives.
    pub fn encoding(&self) -> &'static str {
        match self.body.view() {
            View::Small(_) => "listpack",
            View::Big(_) => "hashtable",
        }
    }

    /// Heap bytes behind the word. O(1).
    pub fn memory_usage(&self) -> usize {
        match self.body.view() {
            View::Small(block) => block.heap_bytes(),
            View::Big(table) => size_of::<Table<Pair>>() + table.heap_bytes(),
        }
    }

    /// The value of a field.
    pub fn get(&self, field: &[u8]) -> Option<&[u8]> {
        match self.body.view() {
            View::Small(block) => {
                let bytes = block.as_slice();
                let place = find(bytes, field)?;
                let (_, size) = read_length(&bytes[place.value..]);
                Some(&bytes[place.value + size..place.end])
            }
            View::Big(table) => table.get(field).map(|pair| pair.parts().1),
        }
    }

    pub fn contains(&self, field: &[u8]) -> bool {
        self.get(field).is_some()
    }

    /// Makes the hash big if a command is about to add so much: Redis decides
    /// once before it adds the first of a command's fields.
    pub fn prepare<'a>(
        &mut self,
        parts: impl ExactSizeIterator<Item = &'a [u8]>,
        limits: HashLimits,
    ) {
        if self.body.is_big() {
            return;
        }
        let mut big = parts.len() / 2 > limits.entries;
        let mut sum = 0;
        for part in parts {
            big |= part.len() > limits.value_len;
            sum += part.len();
        }
        if big || self.flat_len() + sum > FLAT_BYTES_MAX {
            self.make_big();
        }
    }

    /// Sets a field; true if it is new.
    pub fn set(&mut self, field: &[u8], value: &[u8], limits: HashLimits) -> bool {
        let grown = entry_size(field.len()) + entry_size(value.len());
        let long = field.len().max(value.len()) > limits.value_len;
        if !self.body.is_big() && (long || self.flat_len() + grown > FLAT_BYTES_MAX) {
            self.make_big();
        }
        let is_new = match self.body.view_mut() {
            ViewMut::Small(block) => set_flat(block, field, value),
            ViewMut::Big(table) => {
                let known = table.update(field, |pair| pair.set_value(value)).is_some();
                if !known {
                    table.insert_new(Pair::new(field, value));
                }
                !known
            }
        };
        if !self.body.is_big() && self.len() > limits.entries {
            self.make_big();
        }
        is_new
    }

    /// Removes a field; true if it was there.
    pub fn remove(&mut self, field: &[u8]) -> bool {
        match self.body.view_mut() {
            ViewMut::Small(block) => {
                let Some(place) = find(block.as_slice(), field) else {
                    return false;
                };
                block.close(place.start, place.end - place.start);
                block.set_tally(block.tally() - 1);
                true
            }
            ViewMut::Big(table) => table.remove(field).is_some(),
        }
    }

    fn flat_len(&self) -> usize {
        match self.body.view() {
            View::Small(block) => block.len(),
            View::Big(_) => 0,
        }
    }

    fn make_big(&mut self) {
        let mut table = Table::new();
        for (field, value) in self.iter() {
            table.insert_new(Pair::new(field, value));
        }
        self.body = Compact::big(table);
    }

    /// Fields and values: a small hash in order of arrival, a big one in any order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
        let (flat, table) = match self.body.view() {
            View::Small(block) => (Entries::new(block.as_slice()), None),
            View::Big(table) => (Entries::new(&[]), Some(table)),
        };
        Pairs(flat).chain(
            table
                .into_iter()
                .flat_map(|table| table.iter().map(Pair::parts)),
        )
    }

    /// A field and its value, each field as likely as the others. `below` draws a
    /// number below its argument. None if the hash is empty.
    pub fn random(&self, below: &mut dyn FnMut(usize) -> usize) -> Option<(&[u8], &[u8])> {
        match self.body.view() {
            View::Small(block) if block.tally() == 0 => None,
            View::Small(block) => {
                let nth = below(block.tally() as usize);
                Pairs(Entries::new(block.as_slice())).nth(nth)
            }
            View::Big(table) => table.random(below).map(Pair::parts),
        }
    }

    /// Visits some fields from `cursor` (at first 0) on; returns the next cursor, 0 at
    /// the end. A field that stays during a whole scan is visited at least once.
    pub fn scan(&self, cursor: u64, count: usize, mut visit: impl FnMut(&[u8], &[u8])) -> u64 {
        match self.body.view() {
            View::Small(_) => {
                self.iter().for_each(|(field, value)| visit(field, value));
                0
            }
            View::Big(table) => table.scan(cursor, count, |pair| {
                let (field, value) = pair.parts();
                visit(field, value);
            }),
        }
    }
}

#[derive(Clone)]
struct Pairs<'a>(Entries<'a>);

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let field = self.0.next()?;
        let value = self.0.next()?;
        Some((field, value))
    }
}

fn find(bytes: &[u8], field: &[u8]) -> Option<Place> {
    let mut start = 0;
    while start < bytes.len() {
        let (field_len, field_size) = read_length(&bytes[start..]);
        let value = start + field_size + field_len;
        let (value_len, value_size) = read_length(&bytes[value..]);
        let end = value + value_size + value_len;
        if &bytes[start + field_size..value] == field {
            return Some(Place { start, value, end });
        }
        start = end;
    }
    None
}

fn set_flat(block: &mut Block, field: &[u8], value: &[u8]) -> bool {
    let size = entry_size(value.len());
    if let Some(place) = find(block.as_slice(), field) {
        write_entry(
            block.resize_range(place.value, place.end - place.value, size),
            value,
        );
        return false;
    }
    let out = block.open(block.len(), entry_size(field.len()) + size);
    let at = write_entry(out, field);
    write_entry(&mut out[at..], value);
    block.set_tally(block.tally() + 1);
    true
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    const LIMITS: HashLimits = HashLimits {
        entries: 16,
        value_len: 20,
    };

    fn below(state: &mut u64, bound: usize) -> usize {
        *state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (*state >> 33) as usize % bound
    }

    #[test]
    fn random_edits_match_a_map() {
        for seed in 1..30u64 {
            let mut state = seed;
            let mut hash = Hash::new();
            let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
            let fields = [10, 16, 40, 600][seed as usize % 4];
            let value_len = [5, 20, 22, 300][below(&mut state, 4)];
            let mut was_big = false;
            for step in 0..2000 {
                let field = below(&mut state, fields).to_string().into_bytes();
                if below(&mut state, 10) < 6 {
                    let value = vec![step as u8; below(&mut state, value_len + 1)];
                    was_big |= value.len() > LIMITS.value_len;
                    let is_new = hash.set(&field, &value, LIMITS);
                    assert_eq!(model.insert(field, value).is_none(), is_new, "seed {seed}");
                } else {
                    assert_eq!(hash.remove(&field), model.remove(&field).is_some());
                }
                was_big |= model.len() > LIMITS.entries;
                assert_eq!(
                    hash.encoding(),
                    if was_big { "hashtable" } else { "listpack" }
                );
                assert_eq!(hash.len(), model.len());
                assert_eq!(hash.is_empty(), model.is_empty());
                let probe = below(&mut state, fields).to_string().into_bytes();
                assert_eq!(hash.get(&probe), model.get(&probe).map(Vec::as_slice));
            }
            let copy = hash.clone();
            drop(hash);
            let all: BTreeMap<Vec<u8>, Vec<u8>> =
                copy.iter().map(|(f, v)| (f.to_vec(), v.to_vec())).collect();
            assert_eq!(all, model);
            assert!(copy.memory_usage() > 0);
        }
    }

    #[test]
    fn a_small_hash_keeps_the_order_of_arrival() {
        let mut hash = Hash::new();
        for field in ["c", "a", "b"] {
            hash.set(field.as_bytes(), b"1", LIMITS);
        }
        hash.set(b"c", b"longer", LIMITS);
        let fields: Vec<&[u8]> = hash.iter().map(|(field, _)| field).collect();
        assert_eq!(fields, [b"c", b"a", b"b"]);
        assert_eq!(size_of::<Hash>(), 8);
    }

    #[test]
    fn many_or_long_parts_make_it_big_beforehand() {
        let parts = |n: usize| vec![&b"x"[..]; n];
        let mut hash = Hash::new();
        hash.prepare(parts(32).into_iter(), LIMITS);
        assert_eq!(hash.encoding(), "listpack");
        hash.prepare(parts(34).into_iter(), LIMITS);
        assert_eq!(hash.encoding(), "hashtable");
        let mut hash = Hash::new();
        hash.prepare([&b"f"[..], &[b'x'; 21]].into_iter(), LIMITS);
        assert_eq!(hash.encoding(), "hashtable");
    }

    #[test]
    fn scans_and_random_draws_meet_every_field() {
        for fields in [5, 300] {
            let mut hash = Hash::new();
            for field in 0..fields {
                hash.set(field.to_string().as_bytes(), b"v", LIMITS);
            }
            let mut met = BTreeSet::new();
            let mut cursor = 0;
            loop {
                cursor = hash.scan(cursor, 10, |field, value| {
                    assert_eq!(value, b"v");
                    met.insert(field.to_vec());
                });
                if cursor == 0 {
                    break;
                }
            }
            assert_eq!(met.len(), fields);
            let mut state = 5;
            let mut drawn = BTreeSet::new();
            for _ in 0..fields * 20 {
                let (field, _) = hash
                    .random(&mut |n| below(&mut state, n))
                    .expect("not empty");
                drawn.insert(field.to_vec());
            }
            assert_eq!(drawn.len(), fields);
        }
    }
}
