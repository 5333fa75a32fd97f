//! List values: elements in order, pushed and popped at both ends.
//!
//! A small list is one flat block (`listpack`), a big one a row of chunks
//! (`quicklist`). A list changes its encoding both ways at the same element as in
//! Redis 7.2, by `list-max-listpack-size`: it grows out of the listpack when what a
//! command adds would exceed the limit, and comes back when it has shrunk to a single
//! chunk of half the limit.

mod chunks;
mod entries;
#[cfg(test)]
mod tests;

use self::chunks::{Chunk, Chunks, Fill};
use self::entries::{Counts, element_at, offset_of, start_before};
use super::block::Block;
use super::compact::{Compact, View, ViewMut};

/// When a list is no longer small: `list-max-listpack-size`.
#[derive(Clone, Copy, Debug)]
pub struct ListLimits {
    pub listpack_size: i32,
}

impl ListLimits {
    fn fill(self) -> Fill {
        Fill::new(self.listpack_size)
    }
}

/// One of the two ends of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Front,
    Back,
}

/// A list value in one word.
#[derive(Clone)]
pub struct List {
    body: Compact<Chunks>,
}

impl Default for List {
    fn default() -> Self {
        List::new()
    }
}

impl List {
    pub fn new() -> Self {
        List {
            body: Compact::small(Block::with_room(0)),
        }
    }

    /// The list of these elements, in the encoding that Redis gives a list it loads or sorts.
    pub fn collect<'a>(values: impl Iterator<Item = &'a [u8]>, limits: ListLimits) -> Self {
        let mut chunks = Chunks::new(limits.fill());
        values.for_each(|value| chunks.push(End::Back, value));
        let mut list = List {
            body: Compact::big(chunks),
        };
        list.become_small(limits, 1);
        list
    }

    pub fn len(&self) -> usize {
        match self.body.view() {
            View::Small(block) => Counts::unpack(block.tally()).elements,
            View::Big(chunks) => chunks.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name that OBJECT ENCODING gives.
    pub fn encoding(&self) -> &'static str {
        match self.body.view() {
            View::Small(_) => "listpack",
            View::Big(chunks) if chunks.flat => "listpack",
            View::Big(_) => "quicklist",
        }
    }

    /// Heap bytes behind the word. O(chunks).
    pub fn memory_usage(&self) -> usize {
        match self.body.view() {
            View::Small(block) => block.heap_bytes(),
            View::Big(chunks) => size_of::<Chunks>() + chunks.heap_bytes(),
        }
    }

    /// Grows out of the listpack if what a command adds would exceed the limit.
    fn prepare(&mut self, added: Added, limits: ListLimits) {
        let counts = match self.body.view() {
            View::Small(block) => Counts::unpack(block.tally()),
            View::Big(chunks) if chunks.flat => chunks.total(),
            View::Big(_) => return,
        };
        let bytes = counts.listpack_bytes() + added.bytes;
        let flat = !limits
            .fill()
            .is_exceeded_by(bytes, counts.elements + added.elements);
        match self.body.view_mut() {
            ViewMut::Big(chunks) => chunks.flat = flat,
            ViewMut::Small(block) => {
                if flat && added.fits_beside(counts) {
                    return;
                }
                let block = std::mem::replace(block, Block::with_room(0));
                let chunk = Chunk::new(block, counts);
                self.body = Compact::big(Chunks::of(chunk, limits.fill(), flat));
            }
        }
    }

    /// Grows out of the listpack if one more element would exceed the limit. Redis does so
    /// before it knows whether the element will be added at all.
    pub fn make_room(&mut self, value: &[u8], limits: ListLimits) {
        self.prepare(Added::all(std::iter::once(value)), limits);
    }

    /// Pushes elements at one end, one after the other.
    pub fn extend<'a>(
        &mut self,
        end: End,
        values: impl Iterator<Item = &'a [u8]> + Clone,
        limits: ListLimits,
    ) {
        self.prepare(Added::all(values.clone()), limits);
        match self.body.view_mut() {
            ViewMut::Big(chunks) => values.for_each(|value| chunks.push(end, value)),
            ViewMut::Small(block) => edit_small(block, |block, counts| {
                for value in values {
                    let at = if end == End::Front { 0 } else { block.len() };
                    entries::insert_at(block, counts, at, value);
                }
            }),
        }
    }

    pub fn push(&mut self, end: End, value: &[u8], limits: ListLimits) {
        self.extend(end, std::iter::once(value), limits);
    }

    /// The element `index`. O(chunks to the nearer end + a chunk's elements).
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.range(index, 1).next()
    }

    /// The element at one end. O(1).
    pub fn peek(&self, end: End) -> Option<&[u8]> {
        match end {
            End::Front => self.get(0),
            End::Back => self.get(self.len().checked_sub(1)?),
        }
    }

    /// Removes up to `count` elements at one end.
    pub fn drop_end(&mut self, end: End, count: usize, limits: ListLimits) {
        let count = count.min(self.len());
        let start = if end == End::Front {
            0
        } else {
            self.len() - count
        };
        self.remove_range(start, count, limits);
    }

    /// Moves the element at one end to one end, which may be the same.
    pub fn rotate(&mut self, from: End, to: End, limits: ListLimits) {
        let Some(element) = self.peek(from).map(<[u8]>::to_vec) else {
            return;
        };
        self.cut(
            if from == End::Front {
                0
            } else {
                self.len() - 1
            },
            1,
        );
        self.push(to, &element, limits);
        self.become_small(limits, 2);
    }

    /// Inserts beside the element `index`; false if there is no such element.
    pub fn insert(&mut self, index: usize, after: bool, value: &[u8], limits: ListLimits) -> bool {
        if index >= self.len() {
            return false;
        }
        self.prepare(Added::all(std::iter::once(value)), limits);
        match self.body.view_mut() {
            ViewMut::Big(chunks) => chunks.insert(index, after, value),
            ViewMut::Small(block) => edit_small(block, |block, counts| {
                entries::insert(block, counts, index + usize::from(after), value);
            }),
        }
        true
    }

    /// Replaces the element `index`; false if there is no such element.
    pub fn replace(&mut self, index: usize, value: &[u8], limits: ListLimits) -> bool {
        if index >= self.len() {
            return false;
        }
        self.prepare(Added::all(std::iter::once(value)), limits);
        match self.body.view_mut() {
            ViewMut::Big(chunks) => chunks.replace(index, value),
            ViewMut::Small(block) => edit_small(block, |block, counts| {
                entries::replace(block, counts, index, value);
            }),
        }
        self.become_small(limits, 2);
        true
    }

    /// Removes up to `count` elements from `start` on. O(chunks + a chunk's elements).
    pub fn remove_range(&mut self, start: usize, count: usize, limits: ListLimits) {
        let len = self.len();
        let start = start.min(len);
        self.cut(start, count.min(len - start));
        self.become_small(limits, 2);
    }

    /// Removes elements that exist, in whatever encoding the list has.
    fn cut(&mut self, start: usize, count: usize) {
        match self.body.view_mut() {
            ViewMut::Big(chunks) => chunks.remove_range(start, count),
            ViewMut::Small(block) => edit_small(block, |block, counts| {
                entries::remove_range(block, counts, start, count);
            }),
        }
    }

    /// Removes the elements equal to `value`, at most `max`, from one end on; returns
    /// how many. O(n).
    pub fn remove_matching(
        &mut self,
        value: &[u8],
        max: usize,
        from: End,
        limits: ListLimits,
    ) -> usize {
        let from_back = from == End::Back;
        let removed = match self.body.view_mut() {
            ViewMut::Big(chunks) => chunks.remove_matching(value, max, from_back),
            ViewMut::Small(block) => edit_small(block, |block, counts| {
                entries::remove_matching(block, counts, value, max, from_back)
            }),
        };
        if removed > 0 {
            self.become_small(limits, 2);
        }
        removed
    }

    /// Goes back to a listpack if one chunk is left within the limit over `divisor`.
    fn become_small(&mut self, limits: ListLimits, divisor: usize) {
        let ViewMut::Big(chunks) = self.body.view_mut() else {
            return;
        };
        let is_small = chunks.only_chunk().is_some_and(|counts| {
            counts.pack().is_some() && (chunks.flat || limits.fill().is_met_by(counts, divisor))
        });
        if !is_small {
            return;
        }
        if let Some(Chunk {
            mut block, counts, ..
        }) = chunks.take_only_chunk()
        {
            block.set_tally(counts.pack().unwrap_or(0));
            self.body = Compact::small(block);
        }
    }

    /// Up to `count` elements from `start` on, forward.
    pub fn range(&self, start: usize, count: usize) -> Range<'_> {
        let count = count.min(self.len().saturating_sub(start));
        Range {
            cursor: self.cursor(start, count > 0),
            left: count,
        }
    }

    /// Up to `count` elements from `start` on, backward.
    pub fn range_back(&self, start: usize, count: usize) -> RangeBack<'_> {
        let count = if start < self.len() {
            count.min(start + 1)
        } else {
            0
        };
        let mut cursor = self.cursor(start, count > 0);
        if count > 0 {
            cursor.at = element_at(cursor.bytes, cursor.at).1;
        }
        RangeBack {
            cursor,
            left: count,
        }
    }

    pub fn iter(&self) -> Range<'_> {
        self.range(0, usize::MAX)
    }

    fn cursor(&self, index: usize, exists: bool) -> Cursor<'_> {
        match self.body.view() {
            View::Small(block) => {
                let bytes = block.as_slice();
                let count = Counts::unpack(block.tally()).elements;
                let at = if exists {
                    offset_of(bytes, count, index)
                } else {
                    0
                };
                Cursor {
                    chunks: None,
                    nth: 0,
                    bytes,
                    at,
                }
            }
            View::Big(chunks) => {
                let (nth, inside) = if exists { chunks.locate(index) } else { (0, 0) };
                let mut cursor = Cursor {
                    chunks: Some(chunks),
                    nth,
                    bytes: &[],
                    at: 0,
                };
                if let Some(chunk) = chunks.chunk(nth) {
                    cursor.bytes = chunk.block.as_slice();
                    cursor.at = offset_of(cursor.bytes, chunk.counts.elements, inside);
                }
                cursor
            }
        }
    }

    #[cfg(test)]
    fn check(&self) {
        match self.body.view() {
            View::Small(block) => {
                let counts = Counts::unpack(block.tally());
                Chunks::of(Chunk::new(block.clone(), counts), Fill::new(1), true).check();
            }
            View::Big(chunks) => chunks.check(),
        }
    }
}

/// What a command is about to add.
#[derive(Clone, Copy)]
struct Added {
    elements: usize,
    /// The elements' bytes alone, as Redis reckons them.
    bytes: usize,
}

impl Added {
    fn all<'a>(values: impl Iterator<Item = &'a [u8]>) -> Self {
        values.fold(
            Added {
                elements: 0,
                bytes: 0,
            },
            |sum, value| Added {
                elements: sum.elements + 1,
                bytes: sum.bytes + value.len(),
            },
        )
    }

    /// Whether the counts still fit into a block's tally afterwards.
    fn fits_beside(self, counts: Counts) -> bool {
        /// A listpack entry takes at most so many bytes beyond its element's.
        const OVERHEAD_MAX: usize = 10;
        const PACKED_BYTES_MAX: usize = 1 << 16;
        const PACKED_ELEMENTS_MAX: usize = 1 << 14;
        let bytes = counts.listpack_bytes() + self.bytes + self.elements * OVERHEAD_MAX;
        counts.pack().is_some()
            && bytes <= 2 * PACKED_BYTES_MAX - OVERHEAD_MAX
            && counts.elements + self.elements <= PACKED_ELEMENTS_MAX
    }
}

/// Lets `edit` change a small list's block and counts; the counts still fit.
fn edit_small<R>(block: &mut Block, edit: impl FnOnce(&mut Block, &mut Counts) -> R) -> R {
    let mut counts = Counts::unpack(block.tally());
    let result = edit(block, &mut counts);
    let packed = counts.pack().expect("prepare moves larger lists to chunks");
    block.set_tally(packed);
    result
}

#[derive(Clone)]
struct Cursor<'a> {
    chunks: Option<&'a Chunks>,
    nth: usize,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn enter(&mut self, nth: usize) -> Option<()> {
        self.nth = nth;
        self.bytes = self.chunks?.chunk(nth)?.block.as_slice();
        Some(())
    }
}

/// Elements of a list, forward.
#[derive(Clone)]
pub struct Range<'a> {
    cursor: Cursor<'a>,
    left: usize,
}

impl<'a> Iterator for Range<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        let cursor = &mut self.cursor;
        if cursor.at == cursor.bytes.len() {
            cursor.enter(cursor.nth + 1)?;
            cursor.at = 0;
        }
        let (value, next) = element_at(cursor.bytes, cursor.at);
        cursor.at = next;
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Range<'_> {}

/// Elements of a list, backward.
#[derive(Clone)]
pub struct RangeBack<'a> {
    cursor: Cursor<'a>,
    left: usize,
}

impl<'a> Iterator for RangeBack<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        let cursor = &mut self.cursor;
        if cursor.at == 0 {
            cursor.enter(cursor.nth.checked_sub(1)?)?;
            cursor.at = cursor.bytes.len();
        }
        cursor.at = start_before(cursor.bytes, cursor.at);
        Some(element_at(cursor.bytes, cursor.at).0)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for RangeBack<'_> {}
