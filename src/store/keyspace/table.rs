//! All entries of a database: segments, and the directory that leads to them.
//!
//! The leading bits of a hash choose a place in the directory, and that says which segment
//! (extendible hashing). A full segment is split in two, and the directory doubled when
//! the two can't be told apart in it; two segments that became small are merged again.
//! No step moves more than one or two segments, so no single key waits for the whole.

use super::access::AccessClock;
use super::segment::{Segment, Spot};
use super::sip::SipKey;
use super::{Entry, POSITION_SHIFT, POSITIONS_END};
use crate::limits::{
    DIRECTORY_SPARSE_MAX, EXPIRED_GROUPS_FOR_KEY, EXPIRED_GROUPS_MIN, SEGMENT_ENTRIES_MAX,
    SEGMENT_WORDS_MAX,
};
use crate::store::value::{Value, ValueMut};

/// Random slots that are looked at before a random key is searched for in another way.
const CHANCES_MAX: usize = 100;

/// Where an entry is, until the table changes.
#[derive(Clone, Copy)]
pub(super) struct Place {
    segment: u32,
    /// How many segments of the chain are before its own.
    level: u32,
    spot: Spot,
}

/// Keys whose memory is asked for together: about as many as a core can wait for at once.
const PREFETCH_KEYS_MAX: usize = 16;

pub(super) struct Table {
    pub(super) hasher: SipKey,
    /// Indices of segments, by the leading `depth` bits of a hash.
    directory: Vec<u32>,
    depth: u32,
    segments: Vec<Segment>,
    /// For each segment a time before which none of its deadlines is.
    earliest: Vec<i64>,
    /// Segments as deep as the directory; without any, it can be halved.
    deepest: usize,
    len: usize,
    /// The segment that the next search for expired keys begins with.
    expired_from: usize,
}

impl Table {
    pub(super) fn new(hasher: SipKey) -> Self {
        Table {
            hasher,
            directory: vec![0],
            depth: 0,
            segments: vec![Segment::new(0, 0, 0, 0)],
            earliest: vec![i64::MAX],
            deepest: 1,
            len: 0,
            expired_from: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn segment_index(&self, hash: u64) -> u32 {
        let bits = if self.depth == 0 {
            0
        } else {
            hash >> (64 - self.depth)
        };
        self.directory[bits as usize]
    }

    /// The segment and the spot in it, for a reader.
    #[inline]
    pub(super) fn find(&self, hash: u64, key: &[u8]) -> Option<(&Segment, Spot)> {
        let mut segment = self.home_segment(hash);
        loop {
            if let Some(spot) = segment.find(hash, key) {
                return Some((segment, spot));
            }
            segment = segment.next()?;
        }
    }

    /// Asks for the memory that lookups of these keys will need.
    pub(super) fn prefetch(&self, keys: &[&[u8]]) {
        let mut hashes = [0; PREFETCH_KEYS_MAX];
        for keys in keys.chunks(PREFETCH_KEYS_MAX) {
            let hashes = &mut hashes[..keys.len()];
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = self.hasher.hash(key);
                self.home_segment(*hash).prefetch_line(*hash);
            }
            for &hash in &*hashes {
                self.home_segment(hash).prefetch_record(hash);
            }
            for &hash in &*hashes {
                self.home_segment(hash).prefetch_value(hash);
            }
        }
    }

    #[inline]
    fn home_segment(&self, hash: u64) -> &Segment {
        &self.segments[self.segment_index(hash) as usize]
    }

    /// The place, for a writer.
    #[inline]
    pub(super) fn place(&self, hash: u64, key: &[u8]) -> Option<Place> {
        let index = self.segment_index(hash);
        let mut segment = &self.segments[index as usize];
        let mut level = 0;
        loop {
            if let Some(spot) = segment.find(hash, key) {
                return Some(Place {
                    segment: index,
                    level,
                    spot,
                });
            }
            segment = segment.next()?;
            level += 1;
        }
    }

    /// The segment and the spot in it of a place, to change them.
    #[inline]
    pub(super) fn at_mut(&mut self, place: Place) -> (&mut Segment, Spot) {
        let mut segment = &mut self.segments[place.segment as usize];
        for _ in 0..place.level {
            segment = segment
                .next_mut()
                .as_mut()
                .expect("a place has its segment");
        }
        (segment, place.spot)
    }

    pub(super) fn value_mut(&mut self, place: Place) -> ValueMut<'_> {
        let (segment, spot) = self.at_mut(place);
        segment.value_mut(spot)
    }

    /// Adds an entry whose key is absent.
    pub(super) fn insert(
        &mut self,
        hash: u64,
        key: &[u8],
        value: Value,
        clock: AccessClock,
    ) -> Place {
        let mut index = self.segment_index(hash);
        while !self.segments[index as usize].has_room(key.len()) && self.can_split(index) {
            self.split(index);
            index = self.segment_index(hash);
        }
        let hasher = self.hasher;
        let mut segment = &mut self.segments[index as usize];
        let mut level = 0;
        while !segment.has_room(key.len()) {
            let (prefix, depth) = (segment.prefix(), segment.depth());
            segment = segment
                .next_mut()
                .get_or_insert_with(|| Box::new(Segment::new(prefix, depth, 0, 0)));
            level += 1;
        }
        let spot = segment.insert(hash, key, value, clock, hasher);
        self.len += 1;
        Place {
            segment: index,
            level,
            spot,
        }
    }

    /// Removes an entry.
    pub(super) fn remove(&mut self, place: Place, hash: u64) -> (Value, Option<i64>) {
        let hasher = self.hasher;
        let (segment, spot) = self.at_mut(place);
        let removed = segment.remove(spot, hash, hasher);
        let emptied = segment.len() == 0 && place.level > 0;
        self.len -= 1;
        if emptied {
            self.drop_level(place);
        }
        self.merge(place.segment);
        removed
    }

    /// Takes an empty segment out of its chain.
    fn drop_level(&mut self, place: Place) {
        let mut before = &mut self.segments[place.segment as usize];
        for _ in 1..place.level {
            before = before.next_mut().as_mut().expect("a place has its segment");
        }
        let empty = before.next_mut().take();
        *before.next_mut() = empty.and_then(|mut empty| empty.next_mut().take());
    }

    /// Whether a segment may be split: not when others are behind it already, and not
    /// when the directory is far larger than what it leads to, which only happens when
    /// hashes collide.
    fn can_split(&self, index: u32) -> bool {
        let segment = &self.segments[index as usize];
        let sparse = self.directory.len() >= DIRECTORY_SPARSE_MAX * (self.segments.len() + 8);
        segment.next().is_none() && (segment.depth() < self.depth || !sparse)
    }

    fn split(&mut self, index: u32) {
        if self.segments[index as usize].depth() == self.depth {
            self.directory = self
                .directory
                .iter()
                .flat_map(|&segment| [segment, segment])
                .collect();
            self.depth += 1;
            self.deepest = 0;
        }
        let new = self.segments.len() as u32;
        let lower = &mut self.segments[index as usize];
        let upper = lower.split(self.hasher);
        self.deepest += 2 * usize::from(upper.depth() == self.depth);
        self.earliest[index as usize] = lower.earliest();
        self.earliest.push(upper.earliest());
        self.segments.push(upper);
        self.point_to(new);
    }

    /// Makes the directory lead to a segment for all hashes with its prefix.
    fn point_to(&mut self, index: u32) {
        let segment = &self.segments[index as usize];
        let count = 1usize << (self.depth - segment.depth());
        let first = segment.prefix().checked_shr(64 - self.depth).unwrap_or(0) as usize;
        self.directory[first..first + count].fill(index);
    }

    /// Merges a segment with its other half when both together are small.
    fn merge(&mut self, index: u32) {
        let segment = &self.segments[index as usize];
        let small = |len: usize, words: usize| {
            len <= SEGMENT_ENTRIES_MAX / 4 && words <= SEGMENT_WORDS_MAX / 4
        };
        if segment.depth() == 0 || !small(segment.len(), segment.live_words()) {
            return;
        }
        let depth = segment.depth();
        let other_index = self.segment_index(segment.prefix() ^ (1 << (64 - depth)));
        let other = &self.segments[other_index as usize];
        let alone = segment.next().is_none() && other.next().is_none();
        let together = small(
            segment.len() + other.len(),
            segment.live_words() + other.live_words(),
        );
        if other.depth() != depth || !alone || !together {
            return;
        }
        let other = self.segments.swap_remove(other_index as usize);
        self.earliest.swap_remove(other_index as usize);
        let moved = self.segments.len() as u32;
        if other_index != moved {
            self.point_to(other_index);
        }
        // The segment itself may be what was moved to the free index.
        let index = if index == moved { other_index } else { index };
        let merged = &mut self.segments[index as usize];
        merged.merge(other, self.hasher);
        self.earliest[index as usize] = merged.earliest();
        self.point_to(index);
        if depth == self.depth {
            self.deepest -= 2;
        }
        while self.deepest == 0 && self.depth > 0 {
            self.halve();
        }
    }

    fn halve(&mut self) {
        self.directory = self.directory.iter().step_by(2).copied().collect();
        self.depth -= 1;
        let depth = self.depth;
        self.deepest = self
            .segments
            .iter()
            .filter(|segment| segment.depth() == depth)
            .count();
    }

    /// Sets the deadline of a key; whether it had none before, `None` when it is absent.
    pub(super) fn set_deadline(&mut self, hash: u64, key: &[u8], deadline: i64) -> Option<bool> {
        let place = self.place(hash, key)?;
        let hasher = self.hasher;
        let (segment, _) = self.at_mut(place);
        let new = segment.set_deadline(hash, key, deadline, hasher);
        let earliest = &mut self.earliest[place.segment as usize];
        *earliest = deadline.min(*earliest);
        new
    }

    /// Collects up to `max` keys past their deadline; whether there may be more.
    pub(super) fn collect_expired(
        &mut self,
        now_ms: i64,
        max: usize,
        keys: &mut Vec<Vec<u8>>,
    ) -> bool {
        let mut groups = EXPIRED_GROUPS_MIN + EXPIRED_GROUPS_FOR_KEY * max;
        let count = self.segments.len();
        let from = self.expired_from % count;
        for index in (from..count).chain(0..from) {
            if self.earliest[index] >= now_ms {
                continue;
            }
            self.expired_from = index;
            let mut segment = Some(&mut self.segments[index]);
            let mut earliest = i64::MAX;
            while let Some(current) = segment {
                groups = current.collect_expired(now_ms, max, groups, keys);
                earliest = earliest.min(current.earliest());
                segment = current.next_mut().as_deref_mut();
            }
            self.earliest[index] = earliest;
            if groups == 0 || keys.len() >= max {
                return true;
            }
        }
        false
    }

    /// A time before which no deadline is.
    pub(super) fn earliest(&self) -> i64 {
        self.earliest.iter().copied().min().unwrap_or(i64::MAX)
    }

    pub(super) fn random_key(&self, mut random: impl FnMut() -> u64) -> Option<&[u8]> {
        if self.len == 0 {
            return None;
        }
        for _ in 0..CHANCES_MAX {
            let first = &self.segments[self.segment_index(random()) as usize];
            let level = random() as usize % first.chain().count();
            let segment = first.chain().nth(level).unwrap_or(first);
            if let Some(key) = segment.slot_by_chance(random()) {
                return Some(key);
            }
        }
        // Few keys in many slots: the next one from a random position on.
        let mut found = None;
        let mut cursor = random() >> POSITION_SHIFT;
        for _ in 0..2 {
            while found.is_none() {
                cursor = self.scan(cursor, 1, |entry| found = found.or(Some(entry.key)));
                if cursor == 0 {
                    break;
                }
            }
        }
        found
    }

    pub(super) fn scan<'a>(
        &'a self,
        cursor: u64,
        count: usize,
        mut show: impl FnMut(Entry<'a>),
    ) -> u64 {
        let mut left = count.max(1);
        let mut position = cursor;
        while position < POSITIONS_END {
            if left == 0 {
                return position;
            }
            let first = &self.segments[self.segment_index(position << POSITION_SHIFT) as usize];
            let end = first.line_end(position);
            for segment in first.chain() {
                segment.show_range(position, end, self.hasher, &mut |entry| {
                    left = left.saturating_sub(1);
                    show(entry);
                });
            }
            position = end;
        }
        0
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter().flat_map(Segment::chain)
    }

    /// Bytes of directory and segments, without lines and arenas.
    pub(super) fn memory(&self) -> usize {
        self.directory.capacity() * size_of::<u32>()
            + self.segments.capacity() * size_of::<Segment>()
            + self.earliest.capacity() * size_of::<i64>()
    }

    /// Verifies that directory and segments agree, and each segment itself.
    #[cfg(test)]
    pub(super) fn check(&self) {
        assert_eq!(self.directory.len(), 1 << self.depth);
        let mut len = 0;
        for (index, first) in self.segments.iter().enumerate() {
            let earliest = first.chain().map(Segment::earliest).min();
            assert!(self.earliest[index] <= earliest.unwrap());
            assert_eq!(self.segment_index(first.prefix()), index as u32);
            for segment in first.chain() {
                segment.check(self.hasher);
                len += segment.len();
            }
        }
        assert_eq!(len, self.len);
        for (bits, &index) in self.directory.iter().enumerate() {
            let segment = &self.segments[index as usize];
            let prefix = (bits as u64).checked_shl(64 - self.depth).unwrap_or(0);
            let differing = prefix ^ segment.prefix();
            assert_eq!(differing.checked_shr(64 - segment.depth()).unwrap_or(0), 0);
        }
        let depth = self.depth;
        let deepest = self.segments.iter().filter(|s| s.depth() == depth);
        assert_eq!(deepest.count(), self.deepest);
    }
}
