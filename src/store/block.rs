//! A growable byte buffer behind one pointer, with room at both ends.
//!
//! The flat encodings of hashes, sets and lists and the long strings live in
//! one. Its header (capacity, extent, and a number that belongs to the owner) is
//! part of the heap block, so a value that holds a block is one word.
//!
//! Small blocks fit their allocator class exactly; larger ones grow by an eighth
//! more than asked, so that appending is amortised. Bytes that are inserted at the
//! front find room in front: lists push and pop at both ends without moving the rest.
//!
//! This module is one of the few with `unsafe`. It keeps these invariants:
//! - the pointer is to a live block of the global allocator, made with the layout
//!   that [`layout`] gives for its capacity;
//! - `start <= end <= capacity`, and the bytes from `start` to `end` are initialised;
//! - the block has one owner.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error, realloc};
use std::ptr::{self, NonNull};
use std::slice;

use super::heap::class_size;

/// Most bytes a block can hold: capacities are 32-bit.
pub const BLOCK_BYTES_MAX: usize = u32::MAX as usize - 4096;

/// Below this size a block gets no spare room beyond its allocator class.
const EXACT_BYTES_MAX: usize = 512;

#[repr(C, align(8))]
struct Header {
    capacity: u32,
    start: u32,
    end: u32,
    tally: u32,
}

const HEADER: usize = size_of::<Header>();

/// An owned, growable byte buffer in one word.
#[repr(transparent)]
pub struct Block {
    header: NonNull<Header>,
}

// SAFETY: the block is owned, not shared, and holds plain bytes.
unsafe impl Send for Block {}
// SAFETY: a shared reference only reads.
unsafe impl Sync for Block {}

fn layout(capacity: usize) -> Layout {
    Layout::from_size_align(HEADER + capacity, align_of::<Header>())
        .expect("a 32-bit capacity makes a valid layout")
}

/// The capacity of a block that must hold `len` bytes, `exact` or with room to grow.
fn roomy_capacity(len: usize, exact: bool) -> usize {
    assert!(len <= BLOCK_BYTES_MAX, "callers bound the length");
    let spare = if exact || len < EXACT_BYTES_MAX {
        0
    } else {
        len / 8
    };
    (class_size(HEADER + len + spare) - HEADER).min(BLOCK_BYTES_MAX)
}

impl Block {
    /// An empty block with room for `len` bytes.
    pub fn with_room(len: usize) -> Self {
        let capacity = roomy_capacity(len, true);
        let layout = layout(capacity);
        // SAFETY: the layout holds at least the header.
        let raw = unsafe { alloc(layout) }.cast::<Header>();
        let Some(header) = NonNull::new(raw) else {
            handle_alloc_error(layout)
        };
        let empty = Header {
            capacity: capacity as u32,
            start: 0,
            end: 0,
            tally: 0,
        };
        // SAFETY: the block is large enough and aligned for a header.
        unsafe { header.write(empty) };
        Block { header }
    }

    fn head(&self) -> &Header {
        // SAFETY: the header is always initialised.
        unsafe { self.header.as_ref() }
    }

    fn head_mut(&mut self) -> &mut Header {
        // SAFETY: the header is always initialised, and we own it.
        unsafe { self.header.as_mut() }
    }

    fn data(&self) -> *mut u8 {
        // SAFETY: the data begins right behind the header in the same allocation.
        unsafe { self.header.as_ptr().cast::<u8>().add(HEADER) }
    }

    pub fn len(&self) -> usize {
        (self.head().end - self.head().start) as usize
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number that the owner keeps here, at first 0.
    pub fn tally(&self) -> u32 {
        self.head().tally
    }

    pub fn set_tally(&mut self, tally: u32) {
        self.head_mut().tally = tally;
    }

    pub fn as_slice(&self) -> &[u8] {
        let start = self.head().start as usize;
        // SAFETY: the bytes from start to end are initialised.
        unsafe { slice::from_raw_parts(self.data().add(start), self.len()) }
    }

    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        let start = self.head().start as usize;
        // SAFETY: the bytes from start to end are initialised, and we own them.
        unsafe { slice::from_raw_parts_mut(self.data().add(start), self.len()) }
    }

    /// Heap bytes, rounded as the allocator does.
    pub fn heap_bytes(&self) -> usize {
        class_size(HEADER + self.head().capacity as usize)
    }

    /// Opens a gap of `gap` zero bytes at `at` and lends it to be filled.
    /// O(bytes on the nearer side), amortised.
    pub fn open(&mut self, at: usize, gap: usize) -> &mut [u8] {
        let start = self.open_stale(at, gap);
        // SAFETY: open_stale left room for the gap at this place of the data area.
        unsafe { self.data().add(start).write_bytes(0, gap) }
        &mut self.as_mut_slice()[at..at + gap]
    }

    /// Inserts `bytes` at `at`.
    pub fn insert(&mut self, at: usize, bytes: &[u8]) {
        let start = self.open_stale(at, bytes.len());
        // SAFETY: open_stale left room for the bytes at this place of the data area,
        // and bytes borrowed from elsewhere can't overlap a block that we hold mutably.
        unsafe {
            self.data()
                .add(start)
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }

    /// Opens a gap whose bytes may be uninitialised; returns its place in the data area.
    /// The caller fills the gap at once.
    fn open_stale(&mut self, at: usize, gap: usize) -> usize {
        let len = self.len();
        assert!(at <= len, "a gap lies inside the block");
        let start = self.head().start as usize;
        let back_room = (self.head().capacity - self.head().end) as usize;
        let near_front = at < len - at;
        if near_front && start >= gap {
            self.shift(start, start - gap, at);
            self.head_mut().start -= gap as u32;
        } else if !near_front && back_room >= gap {
            self.shift(start + at, start + at + gap, len - at);
            self.head_mut().end += gap as u32;
        } else {
            self.make_room(at, gap, near_front);
        }
        self.head().start as usize + at
    }

    /// Moves `count` bytes inside the data area.
    fn shift(&mut self, from: usize, to: usize, count: usize) {
        assert!(from.max(to) + count <= self.head().capacity as usize);
        // SAFETY: both ranges lie inside the data area; copy allows overlap.
        unsafe { ptr::copy(self.data().add(from), self.data().add(to), count) }
    }

    /// Opens the gap by laying the bytes out anew, with all the room on the side that grows.
    fn make_room(&mut self, at: usize, gap: usize, room_in_front: bool) {
        let (start, len) = (self.head().start as usize, self.len());
        let total = len + gap;
        let capacity = self.head().capacity as usize;
        let ample = total + total / 8 <= capacity;
        if ample && room_in_front {
            // Everything moves back, so the back part goes first.
            let fresh_start = capacity - total;
            self.shift(start + at, fresh_start + at + gap, len - at);
            self.shift(start, fresh_start, at);
            self.set_extent(fresh_start, total);
        } else if room_in_front {
            self.grow_in_front(at, gap);
        } else {
            self.compact();
            if !ample {
                self.reallocate(roomy_capacity(total, false));
            }
            self.shift(at, at + gap, len - at);
            self.set_extent(0, total);
        }
    }

    fn set_extent(&mut self, start: usize, len: usize) {
        let head = self.head_mut();
        head.start = start as u32;
        head.end = (start + len) as u32;
    }

    /// Moves to a larger block that has its room in front.
    fn grow_in_front(&mut self, at: usize, gap: usize) {
        let len = self.len();
        let total = len + gap;
        let mut fresh = Block::with_room(roomy_capacity(total, false));
        let start = fresh.head().capacity as usize - total;
        let old = self.as_slice();
        // SAFETY: fresh has room for start + total bytes, and the blocks are disjoint.
        unsafe {
            let to = fresh.data().add(start);
            to.copy_from_nonoverlapping(old.as_ptr(), at);
            to.add(at + gap)
                .copy_from_nonoverlapping(old.as_ptr().add(at), len - at);
        }
        fresh.set_extent(start, total);
        fresh.set_tally(self.tally());
        *self = fresh;
    }

    /// Moves the bytes to the front of the data area.
    fn compact(&mut self) {
        let (start, len) = (self.head().start as usize, self.len());
        if start > 0 {
            self.shift(start, 0, len);
            self.set_extent(0, len);
        }
    }

    /// Changes the capacity; the bytes already lie at the front.
    fn reallocate(&mut self, capacity: usize) {
        debug_assert!(self.head().start == 0 && self.head().end as usize <= capacity);
        let old = layout(self.head().capacity as usize);
        let new = layout(capacity);
        // SAFETY: the block was allocated with `old`, and the new size is not zero.
        let raw = unsafe { realloc(self.header.as_ptr().cast(), old, new.size()) };
        let Some(header) = NonNull::new(raw.cast::<Header>()) else {
            handle_alloc_error(new)
        };
        self.header = header;
        self.head_mut().capacity = capacity as u32;
    }

    /// Removes `count` bytes at `at`. O(bytes on the nearer side).
    pub fn close(&mut self, at: usize, count: usize) {
        let len = self.len();
        assert!(at + count <= len, "what is removed is there");
        let start = self.head().start as usize;
        let behind = len - at - count;
        if at < behind {
            self.shift(start, start + count, at);
            self.head_mut().start += count as u32;
        } else {
            self.shift(start + at + count, start + at, behind);
            self.head_mut().end -= count as u32;
        }
        self.give_back();
    }

    /// Returns memory when less than half of the block is in use.
    fn give_back(&mut self) {
        let capacity = self.head().capacity as usize;
        if capacity > 64 && self.len() + 32 < capacity / 2 {
            self.fit();
        }
    }

    /// Lets go of all room that is not needed.
    pub fn fit(&mut self) {
        let capacity = roomy_capacity(self.len(), true);
        if capacity < self.head().capacity as usize {
            self.compact();
            self.reallocate(capacity);
        }
    }

    /// Makes `old` bytes at `at` into `new` bytes and lends these to be filled.
    pub fn resize_range(&mut self, at: usize, old: usize, new: usize) -> &mut [u8] {
        if new > old {
            self.open(at + old, new - old);
        } else if new < old {
            self.close(at + new, old - new);
        }
        &mut self.as_mut_slice()[at..at + new]
    }

    /// Appends `bytes`.
    pub fn append(&mut self, bytes: &[u8]) {
        self.insert(self.len(), bytes);
    }

    /// Cuts off everything from `len` on.
    pub fn truncate(&mut self, len: usize) {
        if len < self.len() {
            self.close(len, self.len() - len);
        }
    }

    /// Gives up ownership; [`Block::from_raw`] takes it back.
    pub fn into_raw(self) -> NonNull<u8> {
        std::mem::ManuallyDrop::new(self).header.cast()
    }

    /// Takes back what [`Block::into_raw`] gave.
    ///
    /// # Safety
    /// `raw` came from `into_raw` and is owned by nobody else.
    pub unsafe fn from_raw(raw: NonNull<u8>) -> Self {
        Block { header: raw.cast() }
    }
}

impl From<&[u8]> for Block {
    fn from(bytes: &[u8]) -> Self {
        let mut block = Block::with_room(bytes.len());
        block.append(bytes);
        block
    }
}

impl Clone for Block {
    fn clone(&self) -> Self {
        let mut copy = Block::from(self.as_slice());
        copy.set_tally(self.tally());
        copy
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let layout = layout(self.head().capacity as usize);
        // SAFETY: the block was allocated with this layout and has one owner.
        unsafe { dealloc(self.header.as_ptr().cast(), layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator, so that the tests need no crate and print their seed.
    pub(crate) struct Chance(pub u64);

    impl Chance {
        pub fn below(&mut self, bound: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            ((self.0 >> 33) as usize) % bound
        }
    }

    #[test]
    fn random_edits_match_a_vec() {
        for seed in 0..20 {
            let mut chance = Chance(seed);
            let mut block = Block::with_room(0);
            let mut model: Vec<u8> = Vec::new();
            block.set_tally(7);
            for step in 0..3000 {
                let len = model.len();
                let at = match chance.below(4) {
                    0 => 0,
                    1 => len,
                    _ => chance.below(len + 1),
                };
                let growing = step % 1000 < 600;
                if chance.below(10) < if growing { 7 } else { 2 } {
                    let fresh = vec![step as u8; chance.below(40)];
                    if chance.below(2) == 0 {
                        block.insert(at, &fresh);
                    } else {
                        block.open(at, fresh.len()).copy_from_slice(&fresh);
                    }
                    model.splice(at..at, fresh);
                } else {
                    let count = chance.below((len - at).min(60) + 1);
                    block.close(at, count);
                    model.drain(at..at + count);
                }
                assert_eq!(block.as_slice(), model, "seed {seed} step {step}");
                assert!(block.heap_bytes() <= 2 * model.len() + 160);
            }
            assert_eq!(block.tally(), 7);
            assert_eq!(block.clone().as_slice(), model);
        }
    }

    #[test]
    fn pushing_in_front_is_amortised() {
        let mut block = Block::with_room(0);
        for i in 0..100_000u32 {
            block.insert(0, &i.to_le_bytes());
        }
        assert_eq!(block.len(), 400_000);
        assert_eq!(&block.as_slice()[..4], 99_999u32.to_le_bytes());
    }

    #[test]
    fn ranges_resize_in_place() {
        let mut block = Block::from(&b"abcdef"[..]);
        block.resize_range(1, 2, 4).copy_from_slice(b"WXYZ");
        assert_eq!(block.as_slice(), b"aWXYZdef");
        block.resize_range(1, 4, 0);
        assert_eq!(block.as_slice(), b"adef");
        block.truncate(1);
        assert_eq!(block.as_slice(), b"a");
    }
}
