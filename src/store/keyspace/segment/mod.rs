//! A segment: all entries whose hashes begin with the same bits.
//!
//! Lines of slots are probed one after the other, from the one that the next bits of
//! the hash choose (in the order of the hashes, so that a walk can go by position). A
//! slot leads to a record in the arena. Both grow by about a fifth at a time, along the
//! size classes of jemalloc, so that little is empty at any size.
//!
//! Invariants, which `check` verifies:
//! - a slot with a tag has the offset of a record of the arena, which no other slot has;
//! - an entry is in the first line from its home on that had a free slot, and each line
//!   from its home up to there counts it as passed (or counts no more);
//! - the words of all records are the living words of the arena;
//! - a deadline is not below the bound of its line's group.
//!
//! This module and its children hold the `unsafe` code of the keyspace; the doors are safe.

mod arena;
mod deadlines;
mod line;
mod prefetch;

use super::access::AccessClock;
use super::sip::SipKey;
use super::{Entry, POSITION_SHIFT};
use crate::limits::{SEGMENT_ENTRIES_MAX, SEGMENT_WORDS_MAX};
use crate::store::value::{Value, ValueMut, ValueRef};
pub use arena::reusable_bytes;
use arena::{ARENA_WORDS_MAX, Arena, Record, RecordMut, record_words};
use deadlines::Bounds;
#[cfg(test)]
use line::PASSED_MAX;
use line::{Line, SLOTS_PER_LINE};

/// Dead words that a small arena may have; moving its records for less isn't worth it.
const DEAD_WORDS_MIN: usize = 64;

// Deadlines are added to a full segment, and dead words wait for a move.
const _: () = assert!(2 * (SEGMENT_WORDS_MAX + SEGMENT_ENTRIES_MAX) < ARENA_WORDS_MAX);

/// Where an entry is in its segment, until the segment changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Spot {
    line: u32,
    slot: u32,
}

impl Spot {
    fn new(line: usize, slot: usize) -> Self {
        Spot {
            line: line as u32,
            slot: slot as u32,
        }
    }

    fn slot(self) -> usize {
        self.slot as usize
    }
}

pub(super) struct Segment {
    lines: Box<[Line]>,
    arena: Arena,
    len: usize,
    /// The leading bits that all hashes here share, and how many they are.
    prefix: u64,
    depth: u32,
    /// For each group of lines a time before which none of its deadlines is.
    bounds: Option<Box<Bounds>>,
    /// Where entries go when the segment is full and can't be split: the hashes collide,
    /// which only happens to someone who knows the seed.
    next: Option<Box<Segment>>,
}

impl Segment {
    /// An empty segment for `entries` entries whose records take `words`.
    pub(super) fn new(prefix: u64, depth: u32, entries: usize, words: usize) -> Self {
        Self::with_lines(prefix, depth, lines_for(entries), words)
    }

    fn with_lines(prefix: u64, depth: u32, lines: usize, words: usize) -> Self {
        Segment {
            lines: (0..lines).map(|_| Line::default()).collect(),
            arena: Arena::with_capacity(class_from(words)),
            len: 0,
            prefix,
            depth,
            bounds: None,
            next: None,
        }
    }

    /// Entries, without those of the segments behind.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn live_words(&self) -> usize {
        self.arena.live()
    }

    pub(super) fn prefix(&self) -> u64 {
        self.prefix
    }

    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    pub(super) fn next(&self) -> Option<&Segment> {
        self.next.as_deref()
    }

    pub(super) fn next_mut(&mut self) -> &mut Option<Box<Segment>> {
        &mut self.next
    }

    /// Whether another entry with such a key may come in.
    pub(super) fn has_room(&self, key_len: usize) -> bool {
        self.len < SEGMENT_ENTRIES_MAX
            && self.arena.live() + record_words(key_len) <= SEGMENT_WORDS_MAX
    }

    /// The home line of a hash.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        // Only the bits of the position count, so that a line is a range of positions.
        let position_bits = hash >> POSITION_SHIFT << POSITION_SHIFT;
        let next_bits = (position_bits << self.depth) >> 32;
        ((next_bits * self.lines.len() as u64) >> 32) as usize
    }

    fn after(&self, line: usize) -> usize {
        if line + 1 == self.lines.len() {
            0
        } else {
            line + 1
        }
    }

    #[inline]
    fn record(&self, spot: Spot) -> Record<'_> {
        let offset = self.lines[spot.line as usize].offset(spot.slot());
        // SAFETY: spots are made for slots in use only, and those have records.
        unsafe { self.arena.record(offset) }
    }

    #[inline]
    fn record_mut(&mut self, spot: Spot) -> RecordMut<'_> {
        let offset = self.lines[spot.line as usize].offset(spot.slot());
        // SAFETY: spots are made for slots in use only, and those have records.
        unsafe { self.arena.record_mut(offset) }
    }

    #[inline]
    pub(super) fn find(&self, hash: u64, key: &[u8]) -> Option<Spot> {
        let tag = Line::tag(hash);
        let mut at = self.home(hash);
        for _ in 0..self.lines.len() {
            let line = &self.lines[at];
            for slot in line.with_tag(tag) {
                let spot = Spot::new(at, slot);
                if self.record(spot).key() == key {
                    return Some(spot);
                }
            }
            if !line.is_passed() {
                return None;
            }
            at = self.after(at);
        }
        None
    }

    pub(super) fn value(&self, spot: Spot) -> ValueRef<'_> {
        self.record(spot).value()
    }

    pub(super) fn value_mut(&mut self, spot: Spot) -> ValueMut<'_> {
        self.record_mut(spot).into_value()
    }

    pub(super) fn replace(&mut self, spot: Spot, value: Value) -> Value {
        self.record_mut(spot).replace(value)
    }

    pub(super) fn deadline(&self, spot: Spot) -> Option<i64> {
        self.record(spot).deadline()
    }

    #[inline]
    pub(super) fn is_expired(&self, spot: Spot, now_ms: i64) -> bool {
        self.record(spot).is_expired(now_ms)
    }

    pub(super) fn clock(&self, spot: Spot) -> AccessClock {
        self.lines[spot.line as usize].clock(spot.slot())
    }

    pub(super) fn set_clock(&self, spot: Spot, clock: AccessClock) {
        self.lines[spot.line as usize].set_clock(spot.slot(), clock);
    }

    /// Bytes of the record, and of the slot that leads to it.
    pub(super) fn entry_bytes(&self, spot: Spot) -> usize {
        self.record(spot).words() * size_of::<u64>() + size_of::<Line>() / SLOTS_PER_LINE
    }

    pub(super) fn entry(&self, spot: Spot) -> Entry<'_> {
        let record = self.record(spot);
        Entry {
            key: record.key(),
            value: record.value(),
            deadline: record.deadline(),
            access: self.clock(spot),
        }
    }

    /// Adds an entry whose key is not here, for which [`Segment::has_room`].
    pub(super) fn insert(
        &mut self,
        hash: u64,
        key: &[u8],
        value: Value,
        clock: AccessClock,
        hasher: SipKey,
    ) -> Spot {
        if self.len >= entries_max(self.lines.len()) {
            let lines = class_after(self.lines.len());
            if self.has_many_dead() {
                self.rebuild(lines, self.arena.live() + record_words(key.len()), hasher);
                self.arena.keep_reusable();
            } else {
                self.spread(lines, hasher);
            }
        }
        self.make_room(record_words(key.len()), hasher);
        let offset = self.arena.push(key, value);
        self.len += 1;
        self.place(hash, offset, clock)
    }

    /// Fills the first free slot from the home of the hash on.
    fn place(&mut self, hash: u64, offset: u16, clock: AccessClock) -> Spot {
        let mut at = self.home(hash);
        loop {
            if let Some(slot) = self.lines[at].first_free() {
                self.lines[at].fill(slot, Line::tag(hash), offset, clock);
                return Spot::new(at, slot);
            }
            self.lines[at].pass();
            at = self.after(at);
        }
    }

    /// Sees to it that the arena has room for `words`; may move all records.
    fn make_room(&mut self, words: usize, hasher: SipKey) {
        if self.arena.has_room(words) {
            return;
        }
        if self.has_many_dead() {
            self.rebuild(self.lines.len(), self.arena.live() + words, hasher);
            self.arena.keep_reusable();
        } else {
            let used = self.arena.live() + self.arena.dead();
            self.arena.grow(class_from(used + words));
        }
    }

    /// Whether it pays to move all records, so that the dead words between them can be used again.
    fn has_many_dead(&self) -> bool {
        self.arena.dead() > self.arena.live() / 8
    }

    /// Removes an entry and hands out its value and its deadline.
    pub(super) fn remove(&mut self, spot: Spot, hash: u64, hasher: SipKey) -> (Value, Option<i64>) {
        let removed = self.unlink(spot, hash);
        let sparse = self.len < entries_max(self.lines.len()) * 2 / 5 && self.lines.len() > 1;
        let dead = self.arena.dead() > self.arena.live() + DEAD_WORDS_MIN;
        if sparse || dead {
            self.rebuild(lines_for(self.len), self.arena.live(), hasher);
        }
        removed
    }

    fn unlink(&mut self, spot: Spot, hash: u64) -> (Value, Option<i64>) {
        let mut at = self.home(hash);
        while at != spot.line as usize {
            self.lines[at].unpass();
            at = self.after(at);
        }
        let offset = self.lines[at].offset(spot.slot());
        self.lines[at].free(spot.slot());
        self.len -= 1;
        // SAFETY: the slot had the record, and is free now.
        unsafe { self.arena.free(offset) }
    }

    /// Moves all slots to new lines; their records stay where they are.
    fn spread(&mut self, lines: usize, hasher: SipKey) {
        let new = (0..lines).map(|_| Line::default()).collect();
        let old = std::mem::replace(&mut self.lines, new);
        self.bounds = None;
        for line in &old {
            for slot in line.occupied() {
                let offset = line.offset(slot);
                // SAFETY: the slot is in use, so it has the record.
                let record = unsafe { self.arena.record(offset) };
                let (hash, deadline) = (hasher.hash(record.key()), record.deadline());
                let spot = self.place(hash, offset, line.clock(slot));
                if let Some(deadline) = deadline {
                    self.lower_bound(spot, deadline);
                }
            }
        }
    }

    /// Moves everything to new lines and a new arena.
    fn rebuild(&mut self, lines: usize, words: usize, hasher: SipKey) {
        let mut rebuilt = Segment::with_lines(self.prefix, self.depth, lines, words);
        for at in 0..self.lines.len() {
            for slot in self.lines[at].occupied() {
                let spot = Spot::new(at, slot);
                let hash = hasher.hash(self.record(spot).key());
                self.move_to(&mut rebuilt, spot, hash);
            }
        }
        rebuilt.next = self.next.take();
        *self = rebuilt;
    }

    /// Moves one entry to another segment, which has the lines for it.
    fn move_to(&mut self, target: &mut Segment, spot: Spot, hash: u64) {
        let line = &mut self.lines[spot.line as usize];
        let (offset, clock) = (line.offset(spot.slot()), line.clock(spot.slot()));
        line.free(spot.slot());
        self.len -= 1;
        // SAFETY: the slot had the record, and is free now.
        let offset = unsafe { self.arena.move_to(offset, &mut target.arena) };
        target.len += 1;
        let spot = target.place(hash, offset, clock);
        if let Some(deadline) = target.deadline(spot) {
            target.lower_bound(spot, deadline);
        }
    }

    /// Splits off the entries that have the bit after the prefix set.
    pub(super) fn split(&mut self, hasher: SipKey) -> Segment {
        debug_assert!(
            self.next.is_none(),
            "segments behind this one would be lost"
        );
        let bit = 1 << (63 - self.depth);
        let spots: Vec<(Spot, u64)> = self
            .spots()
            .map(|spot| (spot, hasher.hash(self.record(spot).key())))
            .collect();
        let (mut upper_len, mut upper_words) = (0, 0);
        for (spot, _) in spots.iter().filter(|(_, hash)| hash & bit != 0) {
            upper_len += 1;
            upper_words += self.record(*spot).words();
        }
        let words = self.arena.live() - upper_words;
        let (prefix, depth) = (self.prefix, self.depth + 1);
        let mut lower = Segment::new(prefix, depth, self.len - upper_len, words);
        let mut upper = Segment::new(prefix | bit, depth, upper_len, upper_words);
        for (spot, hash) in spots {
            let target = if hash & bit == 0 {
                &mut lower
            } else {
                &mut upper
            };
            self.move_to(target, spot, hash);
        }
        *self = lower;
        upper
    }

    /// Takes in all entries of the segment that differs in the last bit of the prefix.
    /// Neither may have segments behind it.
    pub(super) fn merge(&mut self, mut other: Segment, hasher: SipKey) {
        debug_assert!(self.next.is_none() && other.next.is_none());
        let depth = self.depth - 1;
        let prefix = self.prefix.min(other.prefix);
        let words = self.arena.live() + other.arena.live();
        let mut merged = Segment::new(prefix, depth, self.len + other.len, words);
        for half in [&mut *self, &mut other] {
            let spots: Vec<Spot> = half.spots().collect();
            for spot in spots {
                let hash = hasher.hash(half.record(spot).key());
                half.move_to(&mut merged, spot, hash);
            }
        }
        *self = merged;
    }

    fn spots(&self) -> impl Iterator<Item = Spot> {
        (0..self.lines.len()).flat_map(|at| {
            self.lines[at]
                .occupied()
                .map(move |slot| Spot::new(at, slot))
        })
    }

    /// All entries, without those of the segments behind.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.spots().map(|spot| self.entry(spot))
    }

    /// This segment and those behind it.
    pub(super) fn chain(&self) -> impl Iterator<Item = &Segment> {
        std::iter::successors(Some(self), |segment| segment.next.as_deref())
    }

    /// A slot by chance, if it is in use.
    pub(super) fn slot_by_chance(&self, chance: u64) -> Option<&[u8]> {
        let at = ((chance >> 32) * self.lines.len() as u64) >> 32;
        let slot = ((chance & 0xFFFF_FFFF) * SLOTS_PER_LINE as u64) >> 32;
        let spot = Spot::new(at as usize, slot as usize);
        let used = self.lines[at as usize]
            .occupied()
            .any(|used| used == slot as usize);
        used.then(|| self.record(spot).key())
    }

    /// The position where the range of positions ends of the line that has this one.
    pub(super) fn line_end(&self, position: u64) -> u64 {
        let line = self.home(position << POSITION_SHIFT) as u64 + 1;
        let lines = self.lines.len() as u64;
        let position_bits = 64 - POSITION_SHIFT;
        let start = self.prefix >> POSITION_SHIFT;
        if line == lines {
            return start + (1 << (position_bits - self.depth));
        }
        // The first value of the 32 bits after the prefix whose home is the next line,
        // as a position, both rounded up.
        let next_bits = (line << 32).div_ceil(lines);
        let shift = 32 - i64::from(POSITION_SHIFT) - i64::from(self.depth);
        if shift >= 0 {
            start + (next_bits << shift)
        } else {
            start + next_bits.div_ceil(1 << -shift)
        }
    }

    /// Shows the entries with positions from `from` to before `end`.
    pub(super) fn show_range<'a>(
        &'a self,
        from: u64,
        end: u64,
        hasher: SipKey,
        show: &mut impl FnMut(Entry<'a>),
    ) {
        let first = self.home(from << POSITION_SHIFT);
        let last = self.home((end - 1) << POSITION_SHIFT);
        for home in first..=last {
            let mut at = home;
            for _ in 0..self.lines.len() {
                for slot in self.lines[at].occupied() {
                    let spot = Spot::new(at, slot);
                    let hash = hasher.hash(self.record(spot).key());
                    let wanted = (from..end).contains(&(hash >> POSITION_SHIFT));
                    if wanted && self.home(hash) == home {
                        show(self.entry(spot));
                    }
                }
                if !self.lines[at].is_passed() {
                    break;
                }
                at = self.after(at);
            }
        }
    }

    /// Bytes of the lines, and of the arena.
    pub(super) fn memory(&self) -> (usize, usize) {
        (
            self.lines.len() * size_of::<Line>(),
            self.arena.capacity() * size_of::<u64>(),
        )
    }

    /// Verifies the invariants in the head of this file.
    #[cfg(test)]
    pub(super) fn check(&self, hasher: SipKey) {
        let mut words = 0;
        let mut passed = vec![0u8; self.lines.len()];
        let mut offsets = std::collections::BTreeSet::new();
        for spot in self.spots() {
            let record = self.record(spot);
            words += record.words();
            assert!(offsets.insert(self.lines[spot.line as usize].offset(spot.slot())));
            let hash = hasher.hash(record.key());
            if self.depth > 0 {
                assert_eq!((hash ^ self.prefix) >> (64 - self.depth), 0);
            }
            let mut at = self.home(hash);
            while at != spot.line as usize {
                passed[at] = passed[at].saturating_add(1);
                at = self.after(at);
            }
            assert_eq!(self.find(hash, record.key()), Some(spot));
            self.check_bound(spot);
        }
        assert_eq!(offsets.len(), self.len);
        assert_eq!(words, self.arena.live());
        for (at, passed) in passed.into_iter().enumerate() {
            let counted = self.lines[at].passed();
            assert!(counted == passed || counted == PASSED_MAX);
        }
        assert!(self.len <= entries_max(self.lines.len()));
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        for line in &mut self.lines {
            for slot in line.occupied() {
                line.free(slot);
                // SAFETY: the slot had the record, and is free now.
                drop(unsafe { self.arena.free(line.offset(slot)) });
            }
        }
        // One after the other, because a long chain would overflow the stack.
        let mut next = self.next.take();
        while let Some(mut segment) = next {
            next = segment.next.take();
        }
    }
}

/// Entries that so many lines hold, at nine tenths of their slots.
fn entries_max(lines: usize) -> usize {
    (lines * SLOTS_PER_LINE * 9 / 10).max(1)
}

/// The least lines of a size class that hold so many entries.
fn lines_for(entries: usize) -> usize {
    class_from(entries.div_ceil(SLOTS_PER_LINE * 9 / 10).max(1))
}

/// The next size class: four for each power of two, as in jemalloc.
fn class_after(size: usize) -> usize {
    let step = (1usize << size.ilog2()) / 4;
    size + step.max(1)
}

/// The least size class that is not smaller.
fn class_from(size: usize) -> usize {
    if size <= 4 {
        return size;
    }
    let step = 1usize << ((size - 1).ilog2() - 2);
    size.next_multiple_of(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_classes_are_those_of_jemalloc() {
        let mut classes = vec![1];
        while classes.len() < 17 {
            classes.push(class_after(*classes.last().unwrap()));
        }
        assert_eq!(
            classes,
            [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40]
        );
        for size in 1..=40 {
            let class = classes.iter().find(|class| **class >= size);
            assert_eq!(class_from(size), *class.unwrap());
        }
        assert_eq!(class_from(0), 0);
    }
}
