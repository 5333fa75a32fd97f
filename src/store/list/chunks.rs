//! A big list: a row of chunks, each a flat block of elements.
//!
//! Chunks are filled, split and merged by the rules of Redis's quicklist, because a
//! client can see their number: a list turns back into a listpack when it has come
//! down to one chunk of half the size. Elements that alone exceed the limit have a
//! chunk of their own.
//!
//! Invariants ([`Chunks::check`]): no chunk is empty, the counts of each chunk are
//! those of its elements, and `len` is their sum.

use std::collections::VecDeque;

use super::super::block::Block;
use super::super::heap::class_size;
use super::End;
use super::entries::{self, Counts};

/// Largest listpack by count alone (Redis: SIZE_SAFETY_LIMIT).
const BYTES_MAX_BY_COUNT: usize = 8192;
/// Sizes that the settings -1 to -5 stand for.
const BYTES_MAX_BY_LEVEL: [usize; 5] = [4096, 8192, 16_384, 32_768, 65_536];
/// Bytes that Redis reckons for a new element beyond its length.
const ELEMENT_OVERHEAD: usize = 8;
/// Positive settings are cut to this (Redis: FILL_MAX).
const FILL_MAX: i32 = (1 << 15) - 1;

/// `list-max-listpack-size`: positive, how many elements; negative, which of five sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fill(i32);

impl Fill {
    pub fn new(setting: i32) -> Self {
        Fill(setting.clamp(-(BYTES_MAX_BY_LEVEL.len() as i32), FILL_MAX))
    }

    fn bytes_max(self) -> Option<usize> {
        let level = self.0.unsigned_abs() as usize;
        (self.0 < 0).then(|| BYTES_MAX_BY_LEVEL[level - 1])
    }

    fn elements_max(self) -> usize {
        self.0.max(1) as usize
    }

    /// Whether a listpack of so many bytes and elements is beyond the limit.
    pub fn is_exceeded_by(self, bytes: usize, elements: usize) -> bool {
        match self.bytes_max() {
            Some(max) => bytes > max,
            None => bytes > BYTES_MAX_BY_COUNT || elements > self.elements_max(),
        }
    }

    /// Whether a single chunk is small enough to become a listpack, a limit divided by
    /// `divisor`.
    pub fn is_met_by(self, counts: Counts, divisor: usize) -> bool {
        match self.bytes_max() {
            Some(max) => counts.listpack_bytes() <= max / divisor,
            None => counts.elements <= self.elements_max() / divisor,
        }
    }

    /// Whether an element gets a chunk of its own.
    fn is_large(self, len: usize) -> bool {
        len > self.bytes_max().unwrap_or(BYTES_MAX_BY_COUNT)
    }
}

#[derive(Clone)]
pub struct Chunk {
    pub block: Block,
    pub counts: Counts,
    /// A large element alone: nothing is added to it.
    alone: bool,
}

impl Chunk {
    pub fn new(block: Block, counts: Counts) -> Self {
        Chunk {
            block,
            counts,
            alone: false,
        }
    }

    fn of(value: &[u8], alone: bool) -> Self {
        let mut chunk = Chunk {
            block: Block::with_room(0),
            counts: Counts::default(),
            alone,
        };
        chunk.insert(0, value);
        chunk
    }

    fn len(&self) -> usize {
        self.counts.elements
    }

    fn insert(&mut self, index: usize, value: &[u8]) {
        entries::insert(&mut self.block, &mut self.counts, index, value);
    }

    fn split_off(&mut self, index: usize) -> Chunk {
        let (block, counts) = entries::split_off(&mut self.block, &mut self.counts, index);
        Chunk::new(block, counts)
    }
}

/// The body of a big list.
#[derive(Clone)]
pub struct Chunks {
    chunks: VecDeque<Chunk>,
    len: usize,
    fill: Fill,
    /// Still a listpack for OBJECT ENCODING, in one chunk however large: what a single
    /// command of very many tiny elements leaves behind.
    pub flat: bool,
}

impl Chunks {
    pub fn new(fill: Fill) -> Self {
        Chunks {
            chunks: VecDeque::new(),
            len: 0,
            fill,
            flat: false,
        }
    }

    /// A list of one chunk, which may be empty.
    pub fn of(chunk: Chunk, fill: Fill, flat: bool) -> Self {
        let len = chunk.len();
        let chunks = if len > 0 {
            VecDeque::from([chunk])
        } else {
            VecDeque::new()
        };
        Chunks {
            chunks,
            len,
            fill,
            flat,
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn heap_bytes(&self) -> usize {
        class_size(self.chunks.capacity() * size_of::<Chunk>())
            + self
                .chunks
                .iter()
                .map(|chunk| chunk.block.heap_bytes())
                .sum::<usize>()
    }

    pub fn chunk(&self, index: usize) -> Option<&Chunk> {
        self.chunks.get(index)
    }

    /// The counts of the only chunk, if there is just one that could be a listpack.
    pub fn only_chunk(&self) -> Option<Counts> {
        match (self.chunks.len(), self.chunks.front()) {
            (1, Some(chunk)) if !chunk.alone => Some(chunk.counts),
            _ => None,
        }
    }

    pub fn take_only_chunk(&mut self) -> Option<Chunk> {
        self.only_chunk()?;
        self.len = 0;
        self.chunks.pop_front()
    }

    /// The counts of everything.
    pub fn total(&self) -> Counts {
        self.chunks
            .iter()
            .fold(Counts::default(), |sum, chunk| sum.plus(chunk.counts))
    }

    fn takes(&self, chunk: Option<&Chunk>, len: usize) -> bool {
        let Some(chunk) = chunk else {
            return false;
        };
        if self.flat {
            return true;
        }
        let bytes = chunk.counts.listpack_bytes() + len + ELEMENT_OVERHEAD;
        !chunk.alone
            && !self.fill.is_large(len)
            && !self.fill.is_exceeded_by(bytes, chunk.len() + 1)
    }

    fn is_large(&self, len: usize) -> bool {
        !self.flat && self.fill.is_large(len)
    }

    /// O(1) amortised, up to a chunk's size.
    pub fn push(&mut self, end: End, value: &[u8]) {
        self.len += 1;
        let at_end = match end {
            End::Front => self.chunks.front(),
            End::Back => self.chunks.back(),
        };
        if !self.takes(at_end, value.len()) {
            let full = match end {
                End::Front => self.chunks.front_mut(),
                End::Back => self.chunks.back_mut(),
            };
            if let Some(full) = full {
                full.block.fit();
            }
            let chunk = Chunk::of(value, self.is_large(value.len()));
            match end {
                End::Front => self.chunks.push_front(chunk),
                End::Back => self.chunks.push_back(chunk),
            }
            return;
        }
        match end {
            End::Front => {
                if let Some(chunk) = self.chunks.front_mut() {
                    chunk.insert(0, value);
                }
            }
            End::Back => {
                if let Some(chunk) = self.chunks.back_mut() {
                    chunk.insert(chunk.len(), value);
                }
            }
        }
    }

    /// Chunk and index in it of the element `index < len`. O(chunks to the nearer end).
    pub fn locate(&self, index: usize) -> (usize, usize) {
        debug_assert!(index < self.len);
        if index < self.len / 2 {
            let mut rest = index;
            for (nth, chunk) in self.chunks.iter().enumerate() {
                if rest < chunk.len() {
                    return (nth, rest);
                }
                rest -= chunk.len();
            }
        }
        let mut before = self.len;
        let mut nth = self.chunks.len();
        while nth > 0 && before > index {
            nth -= 1;
            before -= self.chunks[nth].len();
        }
        (nth, index - before)
    }

    /// Inserts beside the element `index`.
    pub fn insert(&mut self, index: usize, after: bool, value: &[u8]) {
        let (nth, inside) = self.locate(index);
        self.len += 1;
        let chunk = &self.chunks[nth];
        let position = inside + usize::from(after);
        let is_full = !self.takes(Some(chunk), value.len());
        let at_edge = position == if after { chunk.len() } else { 0 };
        if self.is_large(value.len()) {
            if !at_edge {
                let tail = self.chunks[nth].split_off(position);
                self.chunks.insert(nth + 1, tail);
            }
            let place = nth + usize::from(position > 0);
            self.chunks.insert(place, Chunk::of(value, true));
        } else if !is_full {
            self.chunks[nth].insert(position, value);
        } else if at_edge {
            self.insert_between(nth, after, value);
        } else {
            let mut tail = self.chunks[nth].split_off(position);
            if after {
                tail.insert(0, value);
            } else {
                let head = &mut self.chunks[nth];
                head.insert(head.len(), value);
            }
            self.chunks.insert(nth + 1, tail);
            // Redis merges around the half that kept the node: the one before an element
            // inserted after, the one behind an element inserted before.
            self.merge_around(if after { nth } else { nth + 1 });
        }
    }

    /// Inserts at the edge of a full chunk: into its neighbour, or a chunk of its own.
    fn insert_between(&mut self, nth: usize, after: bool, value: &[u8]) {
        let neighbour = if after {
            Some(nth + 1)
        } else {
            nth.checked_sub(1)
        };
        let open = neighbour.filter(|&n| self.takes(self.chunks.get(n), value.len()));
        match open {
            Some(next) if after => self.chunks[next].insert(0, value),
            Some(previous) => {
                let chunk = &mut self.chunks[previous];
                chunk.insert(chunk.len(), value);
            }
            None => self
                .chunks
                .insert(nth + usize::from(after), Chunk::of(value, false)),
        }
    }

    fn merge_around(&mut self, center: usize) {
        let mut center = center;
        if center >= 2 && self.merge(center - 2) {
            center -= 1;
        }
        self.merge(center + 1);
        if center >= 1 && self.merge(center - 1) {
            center -= 1;
        }
        self.merge(center);
    }

    /// Merges a chunk with the next one if both together are within the limit.
    fn merge(&mut self, nth: usize) -> bool {
        let (Some(first), Some(second)) = (self.chunks.get(nth), self.chunks.get(nth + 1)) else {
            return false;
        };
        let both = first.counts.plus(second.counts);
        if first.alone
            || second.alone
            || self
                .fill
                .is_exceeded_by(both.listpack_bytes(), both.elements)
        {
            return false;
        }
        if let Some(second) = self.chunks.remove(nth + 1) {
            let first = &mut self.chunks[nth];
            first.block.append(second.block.as_slice());
            first.counts = both;
        }
        true
    }

    /// Replaces the element `index`.
    pub fn replace(&mut self, index: usize, value: &[u8]) {
        let (nth, inside) = self.locate(index);
        let is_large = self.is_large(value.len());
        let chunk = &mut self.chunks[nth];
        if chunk.alone && !is_large {
            // The element moves to a chunk beside, as if inserted after, then the old one goes.
            self.insert(index, true, value);
            self.chunks.remove(nth);
            self.len -= 1;
        } else if chunk.alone || !is_large {
            entries::replace(&mut chunk.block, &mut chunk.counts, inside, value);
        } else {
            let tail = chunk.split_off(inside + 1);
            entries::remove_range(&mut chunk.block, &mut chunk.counts, inside, 1);
            let emptied = chunk.len() == 0;
            if tail.len() > 0 {
                self.chunks.insert(nth + 1, tail);
            }
            self.chunks.insert(nth + 1, Chunk::of(value, true));
            if emptied {
                self.chunks.remove(nth);
            }
        }
    }

    /// Removes `count` elements from `index` on; they exist. O(chunks + a chunk's size).
    pub fn remove_range(&mut self, index: usize, count: usize) {
        if count == 0 {
            return;
        }
        let (first, inside) = self.locate(index);
        self.len -= count;
        let mut rest = count;
        let mut nth = first;
        if inside > 0 {
            let chunk = &mut self.chunks[nth];
            let here = rest.min(chunk.len() - inside);
            entries::remove_range(&mut chunk.block, &mut chunk.counts, inside, here);
            rest -= here;
            nth += 1;
        }
        let whole = nth;
        while rest > 0 && self.chunks[nth].len() <= rest {
            rest -= self.chunks[nth].len();
            nth += 1;
        }
        if rest > 0 {
            let chunk = &mut self.chunks[nth];
            entries::remove_range(&mut chunk.block, &mut chunk.counts, 0, rest);
        }
        self.chunks.drain(whole..nth);
    }

    /// Removes the elements equal to `value`, at most `max`; returns how many.
    pub fn remove_matching(&mut self, value: &[u8], max: usize, from_back: bool) -> usize {
        let mut removed = 0;
        let total = self.chunks.len();
        for step in 0..total {
            if removed == max {
                break;
            }
            let nth = if from_back { total - 1 - step } else { step };
            let Chunk { block, counts, .. } = &mut self.chunks[nth];
            removed += entries::remove_matching(block, counts, value, max - removed, from_back);
        }
        if removed > 0 {
            self.chunks.retain(|chunk| chunk.len() > 0);
            self.len -= removed;
        }
        removed
    }

    #[cfg(test)]
    pub fn check(&self) {
        let mut len = 0;
        for chunk in &self.chunks {
            assert!(chunk.len() > 0);
            let mut copy = chunk.clone();
            let (_, counts) = entries::split_off(&mut copy.block, &mut copy.counts, 0);
            assert_eq!(counts, chunk.counts);
            assert_eq!(copy.counts, Counts::default());
            len += chunk.len();
        }
        assert_eq!(len, self.len);
    }
}
