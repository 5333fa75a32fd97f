//! A hash table of one-word entries that grows and shrinks a line at a time.
//!
//! Big hashes and sets live here. A line is two cache lines: thirteen entries,
//! a one-byte tag of the hash for each, and a pointer to an overflow line. The
//! table is linear hashing: with `n` lines, 2^level <= n < 2^(level+1), a hash belongs
//! to line `hash mod 2^(level+1)` if there is such a line, else to line `hash mod
//! 2^level`. Growing splits the one line whose turn it is, so no insertion ever
//! stalls on a rehash of the whole table.
//!
//! Cursors of [`Table::scan`] count with their bits reversed, as Redis's do: an entry
//! that stays in the table during a whole scan is visited at least once, however the
//! table grows or shrinks meanwhile.
//!
//! Hashes are seeded for each table, so that nobody can choose colliding keys.

use std::hash::BuildHasher;

use foldhash::quality::RandomState;

use super::heap::class_size;

/// An entry of a [`Table`].
pub trait Keyed {
    fn key(&self) -> &[u8];
    /// Bytes that the entry holds on the heap.
    fn heap_bytes(&self) -> usize;
}

const SLOTS: usize = 13;
/// Mean entries in a line above which another line is split.
const LINE_ENTRIES_MAX: usize = 10;
/// Mean entries in a line below which the last line is merged away.
const LINE_ENTRIES_MIN: usize = 4;
/// Lines in one allocation: 32 KiB.
const SEGMENT_LINES: usize = 256;
/// Tag of a free slot; tags of entries have their high bit set.
const FREE: u8 = 0;

#[derive(Clone)]
#[repr(align(64))]
struct Line<T> {
    tags: [u8; 16],
    slots: [Option<T>; SLOTS],
    overflow: Option<Box<Line<T>>>,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Line {
            tags: [FREE; 16],
            slots: [const { None }; SLOTS],
            overflow: None,
        }
    }
}

impl<T> Line<T> {
    /// One bit for each slot whose tag is `tag`.
    fn matching(&self, tag: u8) -> u32 {
        let mut mask = 0;
        for (slot, &other) in self.tags[..SLOTS].iter().enumerate() {
            mask |= u32::from(other == tag) << slot;
        }
        mask
    }

    fn entries(&self) -> impl Iterator<Item = &T> {
        let mut line = Some(self);
        std::iter::from_fn(move || {
            let this = line?;
            line = this.overflow.as_deref();
            Some(this.slots.iter().flatten())
        })
        .flatten()
    }

    fn count(&self) -> usize {
        self.entries().count()
    }
}

/// A hash table of `T`, keyed by [`Keyed::key`].
#[derive(Clone)]
pub struct Table<T> {
    segments: Vec<Vec<Line<T>>>,
    lines: usize,
    len: usize,
    overflow_lines: usize,
    entry_bytes: usize,
    seed: RandomState,
}

impl<T: Keyed> Default for Table<T> {
    fn default() -> Self {
        Table::new()
    }
}

fn tag_of(hash: u64) -> u8 {
    (hash >> 56) as u8 | 0x80
}

impl<T: Keyed> Table<T> {
    pub fn new() -> Self {
        Table {
            segments: vec![vec![Line::default()]],
            lines: 1,
            len: 0,
            overflow_lines: 0,
            entry_bytes: 0,
            seed: RandomState::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Heap bytes of the table and its entries. O(1).
    pub fn heap_bytes(&self) -> usize {
        let line = class_size(size_of::<Line<T>>());
        let first = class_size(self.segments[0].capacity() * size_of::<Line<T>>());
        let others = (self.segments.len() - 1) * class_size(SEGMENT_LINES * size_of::<Line<T>>());
        class_size(self.segments.capacity() * size_of::<Vec<Line<T>>>())
            + first
            + others
            + self.overflow_lines * line
            + self.entry_bytes
    }

    fn hash(&self, key: &[u8]) -> u64 {
        self.seed.hash_one(key)
    }

    fn line_of(&self, hash: u64) -> usize {
        let wide = (self.lines + 1).next_power_of_two().max(2) - 1;
        let index = hash as usize & wide;
        if index < self.lines {
            index
        } else {
            hash as usize & (wide >> 1)
        }
    }

    fn line(&self, index: usize) -> &Line<T> {
        &self.segments[index / SEGMENT_LINES][index % SEGMENT_LINES]
    }

    fn line_mut(&mut self, index: usize) -> &mut Line<T> {
        &mut self.segments[index / SEGMENT_LINES][index % SEGMENT_LINES]
    }

    /// The entry with this key. O(1).
    pub fn get(&self, key: &[u8]) -> Option<&T> {
        let hash = self.hash(key);
        let tag = tag_of(hash);
        let mut line = Some(self.line(self.line_of(hash)));
        while let Some(this) = line {
            let mut candidates = this.matching(tag);
            while candidates != 0 {
                let slot = candidates.trailing_zeros() as usize;
                if let Some(entry) = &this.slots[slot]
                    && entry.key() == key
                {
                    return Some(entry);
                }
                candidates &= candidates - 1;
            }
            line = this.overflow.as_deref();
        }
        None
    }

    /// Lets `change` change the entry with this key (but not its key). O(1).
    /// None if there is no such entry.
    pub fn update<R>(&mut self, key: &[u8], change: impl FnOnce(&mut T) -> R) -> Option<R> {
        let hash = self.hash(key);
        let index = self.line_of(hash);
        let (depth, slot) = self.find(index, tag_of(hash), key)?;
        let entry = line_at(self.line_mut(index), depth).slots[slot]
            .as_mut()
            .expect("find names a used slot");
        let before = entry.heap_bytes();
        let result = change(entry);
        let after = entry.heap_bytes();
        self.entry_bytes = self.entry_bytes - before + after;
        Some(result)
    }

    /// Where the key is: how many overflow lines down, and in which slot.
    fn find(&self, index: usize, tag: u8, key: &[u8]) -> Option<(usize, usize)> {
        let mut line = Some(self.line(index));
        let mut depth = 0;
        while let Some(this) = line {
            let mut candidates = this.matching(tag);
            while candidates != 0 {
                let slot = candidates.trailing_zeros() as usize;
                if this.slots[slot]
                    .as_ref()
                    .is_some_and(|entry| entry.key() == key)
                {
                    return Some((depth, slot));
                }
                candidates &= candidates - 1;
            }
            line = this.overflow.as_deref();
            depth += 1;
        }
        None
    }

    /// Adds an entry whose key is not in the table. O(1).
    pub fn insert_new(&mut self, entry: T) {
        debug_assert!(self.get(entry.key()).is_none());
        self.len += 1;
        self.entry_bytes += entry.heap_bytes();
        let hash = self.hash(entry.key());
        let index = self.line_of(hash);
        self.place(index, tag_of(hash), entry);
        if self.len > self.lines * LINE_ENTRIES_MAX {
            self.grow();
        }
    }

    /// Puts an entry into the first free slot of a line or its overflow lines.
    fn place(&mut self, index: usize, tag: u8, entry: T) {
        let mut added = 0;
        let mut line = self.line_mut(index);
        let slot = loop {
            let free = line.matching(FREE);
            if free != 0 {
                break free.trailing_zeros() as usize;
            }
            line = line.overflow.get_or_insert_with(|| {
                added = 1;
                Box::default()
            });
        };
        line.tags[slot] = tag;
        line.slots[slot] = Some(entry);
        self.overflow_lines += added;
    }

    /// Takes the entry with this key out. O(1).
    pub fn remove(&mut self, key: &[u8]) -> Option<T> {
        let hash = self.hash(key);
        let index = self.line_of(hash);
        let (depth, slot) = self.find(index, tag_of(hash), key)?;
        let line = line_at(self.line_mut(index), depth);
        line.tags[slot] = FREE;
        let entry = line.slots[slot].take().expect("find names a used slot");
        self.len -= 1;
        self.entry_bytes -= entry.heap_bytes();
        if self.line(index).overflow.is_some() {
            self.settle(index);
        }
        if self.lines > 1 && self.len < self.lines * LINE_ENTRIES_MIN {
            self.shrink();
        }
        Some(entry)
    }

    /// Lays a line's entries out anew, without needless overflow lines.
    fn settle(&mut self, index: usize) {
        let mut chain = 1;
        let mut line = self.line(index);
        while let Some(next) = &line.overflow {
            line = next;
            chain += 1;
        }
        if self.line(index).count() > SLOTS * (chain - 1) {
            return;
        }
        let entries = self.empty_line(index);
        for entry in entries {
            let tag = tag_of(self.hash(entry.key()));
            self.place(index, tag, entry);
        }
    }

    /// Takes all entries out of a line, and drops its overflow lines.
    fn empty_line(&mut self, index: usize) -> Vec<T> {
        let mut line = std::mem::take(self.line_mut(index));
        let mut entries = Vec::with_capacity(2 * SLOTS);
        loop {
            entries.extend(line.slots.iter_mut().filter_map(Option::take));
            let Some(next) = line.overflow.take() else {
                return entries;
            };
            self.overflow_lines -= 1;
            line = *next;
        }
    }

    /// Adds a line, and splits the one whose entries it shares.
    fn grow(&mut self) {
        let fresh = self.lines;
        let partner = fresh - (1 << fresh.ilog2());
        if fresh.is_multiple_of(SEGMENT_LINES) {
            self.segments.push(Vec::with_capacity(SEGMENT_LINES));
        }
        self.segments[fresh / SEGMENT_LINES].push(Line::default());
        self.lines += 1;
        self.spread(partner);
    }

    /// Merges the last line into the one it was split from.
    fn shrink(&mut self) {
        let last = self.lines - 1;
        let entries = self.empty_line(last);
        self.lines = last;
        let segment = last / SEGMENT_LINES;
        self.segments[segment].pop();
        if self.segments[segment].is_empty() {
            self.segments.pop();
        } else if segment == 0 && self.segments[0].capacity() > 4 * self.lines {
            self.segments[0].shrink_to(2 * self.lines);
        }
        self.put_all(entries);
    }

    /// Puts the entries of one line where they belong now.
    fn spread(&mut self, index: usize) {
        let entries = self.empty_line(index);
        self.put_all(entries);
    }

    fn put_all(&mut self, entries: Vec<T>) {
        for entry in entries {
            let hash = self.hash(entry.key());
            let index = self.line_of(hash);
            self.place(index, tag_of(hash), entry);
        }
    }

    /// All entries, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &T> + Clone + use<'_, T> {
        Iter {
            table: self,
            index: 0,
            line: Some(self.line(0)),
            slot: 0,
        }
    }

    /// An entry, each as likely as the others. `below` draws a number below its argument.
    /// None if the table is empty. O(1) expected.
    pub fn random(&self, below: &mut dyn FnMut(usize) -> usize) -> Option<&T> {
        if self.len == 0 {
            return None;
        }
        // A place is drawn among equally many for each line, and drawn again if it is
        // free, so that lines with few entries are not favoured. A line with more
        // entries than that loses a little.
        const PLACES: usize = 2 * SLOTS;
        loop {
            let line = self.line(below(self.lines));
            let place = below(PLACES.max(line.count()));
            if let Some(entry) = line.entries().nth(place) {
                return Some(entry);
            }
        }
    }

    /// Visits some entries from `cursor` (at first 0) on; returns the next cursor, 0 at the end.
    ///
    /// About `count` entries are visited, at most all in ten times as many lines.
    pub fn scan(&self, mut cursor: u64, count: usize, mut visit: impl FnMut(&T)) -> u64 {
        let level_lines = 1 << self.lines.ilog2();
        let mask = level_lines as u64 - 1;
        let mut visited = 0;
        let mut steps = count.saturating_mul(10);
        loop {
            let index = (cursor & mask) as usize;
            for line in [index, index + level_lines] {
                if line < self.lines {
                    for entry in self.line(line).entries() {
                        visit(entry);
                        visited += 1;
                    }
                }
            }
            cursor = (cursor | !mask)
                .reverse_bits()
                .wrapping_add(1)
                .reverse_bits();
            steps = steps.saturating_sub(1);
            if cursor == 0 || visited >= count || steps == 0 {
                return cursor;
            }
        }
    }

    #[cfg(test)]
    fn check(&self) {
        let mut count = 0;
        let mut bytes = 0;
        let mut overflow = 0;
        for index in 0..self.lines {
            let mut line = Some(self.line(index));
            let mut first = true;
            while let Some(this) = line {
                overflow += usize::from(!first);
                first = false;
                for (slot, entry) in this.slots.iter().enumerate() {
                    assert_eq!(entry.is_none(), this.tags[slot] == FREE);
                    if let Some(entry) = entry {
                        let hash = self.hash(entry.key());
                        assert_eq!(self.line_of(hash), index);
                        assert_eq!(tag_of(hash), this.tags[slot]);
                        count += 1;
                        bytes += entry.heap_bytes();
                    }
                }
                line = this.overflow.as_deref();
            }
        }
        assert_eq!(count, self.len);
        assert_eq!(bytes, self.entry_bytes);
        assert_eq!(overflow, self.overflow_lines);
        assert_eq!(
            self.segments.iter().map(Vec::len).sum::<usize>(),
            self.lines
        );
    }
}

/// The line `depth` overflow lines down.
fn line_at<T>(mut line: &mut Line<T>, depth: usize) -> &mut Line<T> {
    for _ in 0..depth {
        line = line
            .overflow
            .as_deref_mut()
            .expect("find counted the overflow lines");
    }
    line
}

struct Iter<'a, T> {
    table: &'a Table<T>,
    index: usize,
    line: Option<&'a Line<T>>,
    slot: usize,
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter { ..*self }
    }
}

impl<'a, T: Keyed> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        loop {
            let line = self.line?;
            while self.slot < SLOTS {
                self.slot += 1;
                if let Some(entry) = &line.slots[self.slot - 1] {
                    return Some(entry);
                }
            }
            self.slot = 0;
            self.line = line.overflow.as_deref().or_else(|| {
                self.index += 1;
                (self.index < self.table.lines).then(|| self.table.line(self.index))
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::super::thin::ThinBytes;
    use super::*;

    impl Keyed for Box<(Vec<u8>, usize)> {
        fn key(&self) -> &[u8] {
            &self.0
        }
        fn heap_bytes(&self) -> usize {
            self.1
        }
    }

    fn entry(key: usize, weight: usize) -> Box<(Vec<u8>, usize)> {
        Box::new((key.to_string().into_bytes(), weight))
    }

    #[test]
    fn a_line_is_two_cache_lines() {
        assert_eq!(size_of::<Line<ThinBytes>>(), 128);
    }

    #[test]
    fn random_edits_match_a_map() {
        let mut state = 1u64;
        let mut below = move |bound: usize| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) as usize % bound
        };
        let mut table: Table<Box<(Vec<u8>, usize)>> = Table::new();
        let mut model = BTreeMap::new();
        for step in 0..60_000 {
            let growing = step % 20_000 < 10_000;
            let key = below(8000);
            let name = key.to_string().into_bytes();
            if below(10) < if growing { 8 } else { 1 } {
                let known = table.update(&name, |entry| entry.1 = step).is_some();
                if !known {
                    table.insert_new(entry(key, step));
                }
                assert_eq!(model.insert(key, step).is_some(), known);
            } else {
                assert_eq!(table.remove(&name).map(|e| e.1), model.remove(&key));
            }
            assert_eq!(table.len(), model.len());
            if step % 1000 == 0 {
                table.check();
                let all: BTreeMap<usize, usize> = table
                    .iter()
                    .map(|e| (std::str::from_utf8(&e.0).unwrap().parse().unwrap(), e.1))
                    .collect();
                assert_eq!(all, model);
                for key in 0..100 {
                    let name = key.to_string().into_bytes();
                    assert_eq!(table.get(&name).map(|e| e.1), model.get(&key).copied());
                }
            }
        }
    }

    #[test]
    fn a_scan_meets_all_that_stay_while_the_table_changes() {
        for growing in [true, false] {
            let mut table: Table<Box<(Vec<u8>, usize)>> = Table::new();
            for key in 0..5000 {
                table.insert_new(entry(key, 0));
            }
            let mut met = BTreeSet::new();
            let (mut cursor, mut round) = (0, 0);
            loop {
                cursor = table.scan(cursor, 10, |e| {
                    met.insert(e.0.clone());
                });
                round += 1;
                for key in 0..100 {
                    if growing {
                        table.insert_new(entry(10_000 + round * 100 + key, 0));
                    } else {
                        table.remove((500 + round * 100 + key).to_string().as_bytes());
                    }
                }
                if cursor == 0 {
                    break;
                }
            }
            assert!(
                (0..500).all(|key| met.contains(key.to_string().as_bytes())),
                "growing {growing}"
            );
            table.check();
        }
    }

    #[test]
    fn a_random_entry_is_any_of_them_alike() {
        let mut table: Table<Box<(Vec<u8>, usize)>> = Table::new();
        for key in 0..25 {
            table.insert_new(entry(key, 0));
        }
        let mut state = 7u64;
        let mut below = move |bound: usize| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) as usize % bound
        };
        let mut counts = BTreeMap::new();
        for _ in 0..25_000 {
            let entry = table.random(&mut below).expect("not empty");
            *counts.entry(entry.0.clone()).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 25);
        assert!(
            counts.values().all(|&n| (800..1200).contains(&n)),
            "{counts:?}"
        );
    }
}
