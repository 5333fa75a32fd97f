//! The small encoding: a whole board in one block of memory.
//!
//! The block holds two 32-bit integers, the bytes used and the count of entries,
//! then the entries in the order of the board. An entry is a header byte (score
//! form in the upper three bits, member length in the lower five), a longer
//! length if the five bits do not hold it, the score in as few bytes as it needs,
//! and the member. The block always fills the allocator's size class, so that an
//! insert reallocates only where the class changes.
//!
//! Lookups walk the entries and compare lengths and the last eight bytes before
//! they compare the rest: members of one board tend to share their beginning.
//!
//! Invariants, which `check` verifies: the entries fill the used bytes exactly,
//! are as many as the count says, ascend strictly by score and member, and every
//! score is in its shortest form.

use super::range::Edge;
use super::score::Score;
use super::size_class::size_class;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error, realloc};
use std::ptr::NonNull;

/// Bytes before the first entry.
const HEAD: usize = 8;
/// Longest member length that the header byte holds.
const SHORT_LEN_MAX: usize = 30;
/// Longest member length that a second byte holds.
const MEDIUM_LEN_MAX: usize = SHORT_LEN_MAX + 255;
/// Longest entry header: header byte, marker, length, score.
const ENTRY_HEAD_MAX: usize = 1 + 1 + 4 + 8;
/// A block stays below this (as Redis's listpack does), so that 32 bits count its bytes.
const BLOCK_BYTES_MAX: usize = 1 << 30;
/// Score bytes for each score form.
const SCORE_WIDTH: [u8; 8] = [0, 1, 2, 3, 4, 4, 6, 8];
const FORM_SINGLE: u8 = 5;
const FORM_DOUBLE: u8 = 7;

/// An owned block.
#[repr(transparent)]
pub(super) struct Small {
    block: NonNull<u8>,
}

// SAFETY: the block is owned like a boxed slice and nothing in it refers to a thread.
unsafe impl Send for Small {}
// SAFETY: a shared reference only reads.
unsafe impl Sync for Small {}

/// Where an entry lies in the block.
#[derive(Clone, Copy)]
pub(super) struct Place {
    offset: u32,
    score_offset: u32,
    member_offset: u32,
    end: u32,
    form: u8,
}

/// The bytes of an entry before its member.
struct EntryHead {
    bytes: [u8; ENTRY_HEAD_MAX],
    len: usize,
}

fn encode_score(score: Score) -> (u8, [u8; 8]) {
    let value = score.get();
    let integer = value as i64;
    if integer as f64 == value && (-(1 << 47)..1 << 47).contains(&integer) {
        let form = match integer {
            0 => 0,
            1..=0xff => 1,
            -0x8000..=0x7fff => 2,
            -0x80_0000..=0x7f_ffff => 3,
            -0x8000_0000..=0x7fff_ffff => 4,
            _ => 6,
        };
        return (form, integer.to_le_bytes());
    }
    let single = value as f32;
    if f64::from(single) == value {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&single.to_le_bytes());
        return (FORM_SINGLE, bytes);
    }
    (FORM_DOUBLE, value.to_le_bytes())
}

impl EntryHead {
    fn new(member_len: usize, score: Score) -> EntryHead {
        let (form, score_bytes) = encode_score(score);
        let mut bytes = [0; ENTRY_HEAD_MAX];
        let mut len = 1;
        let short = if member_len <= SHORT_LEN_MAX {
            member_len as u8
        } else {
            if member_len < MEDIUM_LEN_MAX {
                bytes[1] = (member_len - SHORT_LEN_MAX - 1) as u8;
                len = 2;
            } else {
                bytes[1] = u8::MAX;
                bytes[2..6].copy_from_slice(&(member_len as u32).to_le_bytes());
                len = 6;
            }
            (SHORT_LEN_MAX + 1) as u8
        };
        bytes[0] = form << 5 | short;
        let width = SCORE_WIDTH[usize::from(form)] as usize;
        bytes[len..len + width].copy_from_slice(&score_bytes[..width]);
        EntryHead {
            bytes,
            len: len + width,
        }
    }
}

fn layout(class: usize) -> Layout {
    Layout::from_size_align(class, 8).expect("a block is far smaller than the address space")
}

/// The last eight bytes as an integer, and the mask of those that exist.
#[inline]
fn tail_of(member: &[u8]) -> (u64, u64) {
    match member.last_chunk::<8>() {
        Some(tail) => (u64::from_le_bytes(*tail), u64::MAX),
        None => {
            let mut tail = [0; 8];
            tail[8 - member.len()..].copy_from_slice(member);
            let mask = if member.is_empty() {
                0
            } else {
                u64::MAX << (64 - 8 * member.len())
            };
            (u64::from_le_bytes(tail), mask)
        }
    }
}

impl Small {
    /// A block with no entries; the caller adds one before it is kept.
    pub(super) fn new() -> Small {
        Small::with_room(HEAD, 0)
    }

    /// A block with one entry.
    pub(super) fn with_entry(member: &[u8], score: Score) -> Small {
        let head = EntryHead::new(member.len(), score);
        let mut small = Small::with_room(HEAD + head.len + member.len(), 1);
        small.write_entry(HEAD, &head, member);
        small
    }

    /// A block that says that it has `len` entries up to byte `used`, which the caller writes.
    fn with_room(used: usize, len: usize) -> Small {
        let layout = layout(size_class(used));
        // SAFETY: the layout is at least as large as the head, whose two words are written.
        unsafe {
            let Some(block) = NonNull::new(alloc(layout)) else {
                handle_alloc_error(layout)
            };
            block.cast::<u32>().write(used as u32);
            block.cast::<u32>().add(1).write(len as u32);
            Small { block }
        }
    }

    pub(super) fn into_raw(self) -> NonNull<u8> {
        let block = self.block;
        std::mem::forget(self);
        block
    }

    /// # Safety
    /// `block` comes from `into_raw` and is owned by one `Small` at a time (or is
    /// only read, through a `ManuallyDrop`).
    pub(super) unsafe fn from_raw(block: NonNull<u8>) -> Small {
        Small { block }
    }

    #[inline]
    fn used(&self) -> usize {
        // SAFETY: the block always starts with its head.
        unsafe { self.block.cast::<u32>().read() as usize }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        // SAFETY: the block always starts with its head.
        unsafe { self.block.cast::<u32>().add(1).read() as usize }
    }

    pub(super) fn memory_usage(&self) -> usize {
        size_class(self.used())
    }

    /// Whether a member of this length can be added within the limits of the block.
    pub(super) fn has_room(&self, member_len: usize) -> bool {
        member_len < BLOCK_BYTES_MAX && self.used() + member_len + ENTRY_HEAD_MAX <= BLOCK_BYTES_MAX
    }

    /// The same for the first member of a block.
    pub(super) fn may_begin_with(member_len: usize) -> bool {
        member_len <= BLOCK_BYTES_MAX - HEAD - ENTRY_HEAD_MAX
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        // SAFETY: the first `used` bytes of the block are initialised.
        unsafe { std::slice::from_raw_parts(self.block.as_ptr(), self.used()) }
    }

    /// The entry that starts at `offset`, which is that of an entry.
    #[inline]
    fn place(&self, offset: usize) -> Place {
        debug_assert!(offset < self.used());
        // SAFETY: `offset` is the start of a whole entry inside the used bytes.
        unsafe {
            let entry = self.block.as_ptr().add(offset);
            let head = *entry;
            let form = head >> 5;
            let mut len = usize::from(head & 31);
            let mut score_offset = offset + 1;
            if len > SHORT_LEN_MAX {
                let second = *entry.add(1);
                if second < u8::MAX {
                    len += usize::from(second);
                    score_offset += 1;
                } else {
                    len = entry.add(2).cast::<u32>().read_unaligned() as usize;
                    score_offset += 5;
                }
            }
            let member_offset = score_offset + usize::from(SCORE_WIDTH[usize::from(form)]);
            Place {
                offset: offset as u32,
                score_offset: score_offset as u32,
                member_offset: member_offset as u32,
                end: (member_offset + len) as u32,
                form,
            }
        }
    }

    #[inline]
    pub(super) fn score_at(&self, place: Place) -> Score {
        let bytes = &self.bytes()[place.score_offset as usize..place.member_offset as usize];
        let value = match (place.form, bytes) {
            (0, _) => 0.0,
            (1, &[low]) => f64::from(low),
            (2, &[low, high]) => f64::from(i16::from_le_bytes([low, high])),
            (3, &[low, middle, high]) => f64::from(i32::from_le_bytes([0, low, middle, high]) >> 8),
            (4, bytes) => f64::from(i32::from_le_bytes(bytes.try_into().unwrap_or_default())),
            (FORM_SINGLE, bytes) => {
                f64::from(f32::from_le_bytes(bytes.try_into().unwrap_or_default()))
            }
            (6, &[a, b, c, d, e, f]) => (i64::from_le_bytes([0, 0, a, b, c, d, e, f]) >> 16) as f64,
            (_, bytes) => f64::from_le_bytes(bytes.try_into().unwrap_or_default()),
        };
        Score::from_stored(value)
    }

    #[inline]
    pub(super) fn member_at(&self, place: Place) -> &[u8] {
        &self.bytes()[place.member_offset as usize..place.end as usize]
    }

    /// The rank and place of a member.
    pub(super) fn find(&self, member: &[u8]) -> Option<(usize, Place)> {
        let (tail, mask) = tail_of(member);
        let mut offset = HEAD;
        let used = self.used();
        let mut rank = 0;
        while offset < used {
            let place = self.place(offset);
            if (place.end - place.member_offset) as usize == member.len() {
                // SAFETY: the eight bytes of the head precede every entry, so the eight bytes
                // before the end of an entry are initialised bytes of the block.
                let found = unsafe {
                    let end = self.block.as_ptr().add(place.end as usize);
                    u64::from_le_bytes(end.sub(8).cast::<[u8; 8]>().read())
                };
                if (found ^ tail) & mask == 0 && self.member_at(place) == member {
                    return Some((rank, place));
                }
            }
            offset = place.end as usize;
            rank += 1;
        }
        None
    }

    /// Rank and offset of the first entry behind `edge`.
    fn seek(&self, edge: Edge<'_>) -> (usize, usize) {
        let mut offset = HEAD;
        let used = self.used();
        let mut rank = 0;
        while offset < used {
            let place = self.place(offset);
            if edge.precedes(self.score_at(place), self.member_at(place)) {
                break;
            }
            offset = place.end as usize;
            rank += 1;
        }
        (rank, offset)
    }

    pub(super) fn rank_of_edge(&self, edge: Edge<'_>) -> usize {
        match edge {
            Edge::Start => 0,
            Edge::End => self.len(),
            _ => self.seek(edge).0,
        }
    }

    fn offset_of_rank(&self, rank: usize) -> usize {
        let mut offset = HEAD;
        for _ in 0..rank {
            offset = self.place(offset).end as usize;
        }
        offset
    }

    /// Replaces `removed` bytes at `offset` by a gap of `added` bytes, which the
    /// caller fills before anything reads the block.
    fn splice(&mut self, offset: usize, removed: usize, added: usize) {
        let used = self.used();
        let used_after = used - removed + added;
        let (class, class_after) = (size_class(used), size_class(used_after));
        if class_after > class {
            self.reallocate(class, class_after);
        }
        if removed != added {
            let tail = offset + removed;
            // SAFETY: both ranges end inside the block: at `used` and at `used_after`.
            unsafe {
                let block = self.block.as_ptr();
                std::ptr::copy(block.add(tail), block.add(offset + added), used - tail);
                self.block.cast::<u32>().write(used_after as u32);
            }
        }
        if class_after < class {
            self.reallocate(class, class_after);
        }
    }

    fn reallocate(&mut self, class: usize, class_after: usize) {
        // SAFETY: the block was allocated with this layout; the new size is above zero.
        let block = unsafe { realloc(self.block.as_ptr(), layout(class), class_after) };
        let Some(block) = NonNull::new(block) else {
            handle_alloc_error(layout(class_after))
        };
        self.block = block;
    }

    fn write_entry(&mut self, offset: usize, head: &EntryHead, member: &[u8]) {
        // SAFETY: the caller has made a gap of exactly this size at `offset`.
        unsafe {
            let entry = self.block.as_ptr().add(offset);
            std::ptr::copy_nonoverlapping(head.bytes.as_ptr(), entry, head.len);
            std::ptr::copy_nonoverlapping(member.as_ptr(), entry.add(head.len), member.len());
        }
    }

    fn set_len(&mut self, len: usize) {
        // SAFETY: the block always starts with its head.
        unsafe { self.block.cast::<u32>().add(1).write(len as u32) }
    }

    fn insert_at(&mut self, offset: usize, member: &[u8], score: Score) {
        let head = EntryHead::new(member.len(), score);
        self.splice(offset, 0, head.len + member.len());
        self.write_entry(offset, &head, member);
        self.set_len(self.len() + 1);
    }

    /// Adds a member that is absent.
    pub(super) fn insert(&mut self, member: &[u8], score: Score) {
        let (_, offset) = self.seek(Edge::BeforeEntry(score, member));
        self.insert_at(offset, member, score);
    }

    /// Adds a member behind all others, whose scores and members are less.
    pub(super) fn push(&mut self, member: &[u8], score: Score) {
        self.insert_at(self.used(), member, score);
    }

    /// Gives the member at `place` another score.
    pub(super) fn rescore(&mut self, place: Place, member: &[u8], score: Score) {
        let (offset, end) = (place.offset as usize, place.end as usize);
        let (_, target) = self.seek(Edge::BeforeEntry(score, member));
        if target == offset || target == end {
            let head = EntryHead::new(member.len(), score);
            self.splice(offset, end - offset, head.len + member.len());
            self.write_entry(offset, &head, member);
        } else {
            self.remove(place);
            let target = if target > offset {
                target - (end - offset)
            } else {
                target
            };
            self.insert_at(target, member, score);
        }
    }

    pub(super) fn remove(&mut self, place: Place) {
        let (offset, end) = (place.offset as usize, place.end as usize);
        self.set_len(self.len() - 1);
        self.splice(offset, end - offset, 0);
    }

    /// Removes the entries with these ranks.
    pub(super) fn remove_rank_range(
        &mut self,
        first: usize,
        end: usize,
        removed: &mut dyn FnMut(&[u8], Score),
    ) {
        let from = self.offset_of_rank(first);
        let mut to = from;
        for _ in first..end {
            let place = self.place(to);
            removed(self.member_at(place), self.score_at(place));
            to = place.end as usize;
        }
        self.set_len(self.len() - (end - first));
        self.splice(from, to - from, 0);
    }

    pub(super) fn range(&self, first: usize, end: usize) -> SmallIter<'_> {
        SmallIter {
            small: self,
            offset: self.offset_of_rank(first),
            left: end - first,
            offsets: Vec::new(),
        }
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn check(&self) {
        let mut offset = HEAD;
        let mut previous: Option<(Score, &[u8])> = None;
        let mut count = 0;
        while offset < self.used() {
            let place = self.place(offset);
            let entry = (self.score_at(place), self.member_at(place));
            assert!(
                previous.is_none_or(|previous| previous < entry),
                "entries ascend"
            );
            assert_eq!(
                place.form,
                encode_score(entry.0).0,
                "scores are in their shortest form"
            );
            previous = Some(entry);
            offset = place.end as usize;
            count += 1;
        }
        assert_eq!(offset, self.used(), "entries fill the used bytes");
        assert_eq!(count, self.len(), "the count is that of the entries");
    }
}

impl Clone for Small {
    fn clone(&self) -> Self {
        let used = self.used();
        let layout = layout(size_class(used));
        // SAFETY: the new block holds at least `used` bytes, and as many are initialised in the old.
        unsafe {
            let Some(block) = NonNull::new(alloc(layout)) else {
                handle_alloc_error(layout)
            };
            std::ptr::copy_nonoverlapping(self.block.as_ptr(), block.as_ptr(), used);
            Small { block }
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // SAFETY: the block was allocated with this layout and is not used again.
        unsafe { dealloc(self.block.as_ptr(), layout(size_class(self.used()))) }
    }
}

/// Entries of a small board in order, from both ends.
pub(super) struct SmallIter<'a> {
    small: &'a Small,
    offset: usize,
    left: usize,
    /// Where the entries that are left start; filled when the first is asked for from the back.
    offsets: Vec<u32>,
}

impl<'a> SmallIter<'a> {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.left
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<(&'a [u8], Score)> {
        if self.left == 0 {
            return None;
        }
        let place = self.small.place(self.offset);
        self.offset = place.end as usize;
        self.left -= 1;
        Some((self.small.member_at(place), self.small.score_at(place)))
    }

    pub(super) fn next_back(&mut self) -> Option<(&'a [u8], Score)> {
        if self.left == 0 {
            return None;
        }
        if self.offsets.is_empty() {
            self.offsets.reserve_exact(self.left);
            let mut offset = self.offset;
            for _ in 0..self.left {
                self.offsets.push(offset as u32);
                offset = self.small.place(offset).end as usize;
            }
        }
        self.left -= 1;
        let place = self.small.place(self.offsets.pop()? as usize);
        Some((self.small.member_at(place), self.small.score_at(place)))
    }
}
