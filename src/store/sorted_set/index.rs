//! From members to handles: an extendible hash table of cache lines.
//!
//! A directory, addressed by the upper bits of a hash, points at segments. A segment
//! is an array of lines of 64 bytes with 12 handles each, a byte of the hash as tag
//! for each, and the count of handles that this line had to pass on to later ones.
//! The next 32 bits of the hash choose the line, proportionally, so that lines follow
//! the order of hashes; a segment may have any number of lines and grows in the
//! allocator's steps until it splits. Hence no insert moves more than one segment,
//! and a scan can say where it is by a prefix of the hash alone.
//!
//! Hashes are not stored: where a segment is laid out anew, they are computed from
//! the members, whose memory is asked for well ahead.
//!
//! A flood of members whose hashes collide makes segments longer than a split
//! allows; the depth of the directory is bounded by the count of members.
//!
//! Invariants, which `check` verifies: every handle is in its segment, and counted
//! in the overflow of each line between its home and its place; a tag of 0 marks a
//! free slot; directory ranges match the depths of segments.

use super::TINY_PARTS;
use super::arena::{Arena, Handle};
use super::lanes::tag_matches;
use super::prefetch;
use super::size_class::size_class;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;

const SLOTS: usize = 12;
/// Lines of a segment that splits rather than grows: 14 KiB, some 2,350 members.
const LINES_MAX: usize = if TINY_PARTS { 6 } else { 224 };
/// Members of a segment and its sibling that are merged.
const MERGE_LEN_MAX: usize = LINES_MAX * 5;
/// Records asked for ahead while a segment is laid out anew.
const PREFETCH_AHEAD: usize = 12;
/// Bits of the hash that a scan cursor holds; JavaScript's numbers hold 53.
const CURSOR_BITS: u32 = 48;

/// The hash of a member, seeded at random for each process.
#[inline]
pub(super) fn hash_of(member: &[u8]) -> u64 {
    static STATE: OnceLock<foldhash::quality::RandomState> = OnceLock::new();
    #[cfg(test)]
    if let Some(hash) = flood::hash_of(member) {
        return hash;
    }
    let mut hasher = STATE.get_or_init(Default::default).build_hasher();
    hasher.write(member);
    hasher.write_usize(member.len());
    hasher.finish()
}

#[cfg(test)]
pub(super) mod flood {
    //! Replaces the hash on one thread, so that a test can make members collide.
    use std::cell::Cell;

    thread_local! {
        static MASK: Cell<u64> = const { Cell::new(u64::MAX) };
    }

    pub(in super::super) fn set_mask(mask: u64) {
        MASK.set(mask);
    }

    pub(super) fn hash_of(member: &[u8]) -> Option<u64> {
        let mask = MASK.get();
        (mask != u64::MAX).then(|| {
            let sum = member.iter().fold(7u64, |sum, byte| {
                sum.wrapping_mul(0x100_0000_01b3) ^ u64::from(*byte)
            });
            sum.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask
        })
    }
}

#[repr(C, align(64))]
struct Line {
    tags: [u8; SLOTS],
    /// Handles at home here or before that were passed on beyond this line.
    overflow: u32,
    handles: [Handle; SLOTS],
}

/// A directory entry: a segment by copy of what lookups need.
#[derive(Clone, Copy)]
struct Segment {
    lines: *mut Line,
    line_count: u32,
    /// Number of the segment in `lens`.
    id: u32,
    depth: u32,
}

pub(super) struct Index {
    directory: Vec<Segment>,
    depth: u32,
    /// Members of each segment.
    lens: Vec<u32>,
    vacant_ids: Vec<u32>,
    /// Count of segments of each depth.
    at_depth: [u32; 33],
    len: usize,
    line_bytes: usize,
}

#[inline]
fn tag_of(hash: u64) -> u8 {
    (hash as u8).max(1)
}

fn lines_layout(count: usize) -> Layout {
    Layout::from_size_align(count * size_of::<Line>(), align_of::<Line>())
        .expect("a segment is small")
}

/// Handles that a segment of so many lines takes before it grows.
fn len_limit(line_count: usize) -> usize {
    (line_count * SLOTS * 7 / 8).max(SLOTS - 2)
}

fn next_line_count(line_count: usize) -> usize {
    size_class((line_count + 1) * size_of::<Line>()) / size_of::<Line>()
}

/// Lines for a segment that starts with so many members.
fn line_count_for(len: usize) -> usize {
    let mut count = 1;
    while len_limit(count) <= len + len / 16 {
        count = next_line_count(count);
    }
    count
}

impl Segment {
    fn allocate(line_count: usize, id: u32, depth: u32) -> Segment {
        let layout = lines_layout(line_count);
        // SAFETY: the size is above zero; zeroed lines are lines of free slots.
        let lines = unsafe { alloc_zeroed(layout) }.cast::<Line>();
        if lines.is_null() {
            handle_alloc_error(layout);
        }
        Segment {
            lines,
            line_count: line_count as u32,
            id,
            depth,
        }
    }

    fn free(self) {
        // SAFETY: allocated with this layout; the caller drops its last copy.
        unsafe { dealloc(self.lines.cast(), lines_layout(self.line_count as usize)) }
    }

    /// The line that a hash belongs to.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        let fraction = (hash << self.depth) >> 32;
        ((fraction * u64::from(self.line_count)) >> 32) as usize
    }

    #[inline]
    fn line(&self, number: usize) -> *mut Line {
        debug_assert!(number < self.line_count as usize);
        // SAFETY: the number is that of a line of the segment.
        unsafe { self.lines.add(number) }
    }

    #[inline]
    fn after(&self, number: usize) -> usize {
        let next = number + 1;
        if next == self.line_count as usize {
            0
        } else {
            next
        }
    }

    /// Stores a handle; there is a free slot.
    fn place(&self, hash: u64, handle: Handle) {
        let mut number = self.home(hash);
        loop {
            // SAFETY: the line exists, and the index is borrowed exclusively by the caller.
            let line = unsafe { &mut *self.line(number) };
            let free = tag_matches(&line.tags, 0);
            if free != 0 {
                let slot = free.trailing_zeros() as usize;
                line.tags[slot] = tag_of(hash);
                line.handles[slot] = handle;
                return;
            }
            line.overflow += 1;
            number = self.after(number);
        }
    }

    fn collect(&self, handles: &mut Vec<Handle>) {
        for number in 0..self.line_count as usize {
            // SAFETY: the line exists.
            let line = unsafe { &*self.line(number) };
            handles.extend(
                (0..SLOTS)
                    .filter(|slot| line.tags[*slot] != 0)
                    .map(|slot| line.handles[slot]),
            );
        }
    }
}

/// Calls `f` with each handle and its hash.
fn with_hashes(handles: &[Handle], arena: &Arena, mut f: impl FnMut(Handle, u64)) {
    for handle in handles.iter().take(PREFETCH_AHEAD) {
        arena.prefetch(*handle);
    }
    for (at, handle) in handles.iter().enumerate() {
        if let Some(ahead) = handles.get(at + PREFETCH_AHEAD) {
            arena.prefetch(*ahead);
        }
        f(*handle, hash_of(arena.member(*handle)));
    }
}

impl Index {
    /// An index laid out for `capacity` members.
    pub(super) fn new(capacity: usize) -> Index {
        let segment_len = len_limit(LINES_MAX) * 3 / 4;
        let depth = capacity
            .div_ceil(segment_len)
            .next_power_of_two()
            .trailing_zeros();
        let line_count = line_count_for(capacity >> depth);
        let count = 1usize << depth;
        let mut at_depth = [0; 33];
        at_depth[depth as usize] = count as u32;
        Index {
            directory: (0..count)
                .map(|id| Segment::allocate(line_count, id as u32, depth))
                .collect(),
            depth,
            lens: vec![0; count],
            vacant_ids: Vec::new(),
            at_depth,
            len: 0,
            line_bytes: count * size_class(line_count * size_of::<Line>()),
        }
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.line_bytes
            + size_class(self.directory.capacity() * size_of::<Segment>())
            + size_class(self.lens.capacity() * 4)
            + size_class(self.vacant_ids.capacity() * 4)
    }

    #[inline]
    fn entry_number(&self, hash: u64) -> usize {
        // In two steps, because a depth of 0 would shift by 64.
        (hash >> 1 >> (63 - self.depth)) as usize
    }

    #[inline]
    fn segment(&self, hash: u64) -> Segment {
        // SAFETY: the directory has 2^depth entries, and the number has `depth` bits.
        unsafe { *self.directory.get_unchecked(self.entry_number(hash)) }
    }

    /// Asks for the line of a hash.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        let segment = self.segment(hash);
        prefetch(segment.line(segment.home(hash)));
    }

    /// The first handle in the line of a hash that may be the member's.
    #[inline]
    pub(super) fn candidate(&self, hash: u64) -> Option<Handle> {
        let segment = self.segment(hash);
        // SAFETY: the line exists.
        let line = unsafe { &*segment.line(segment.home(hash)) };
        let matches = tag_matches(&line.tags, tag_of(hash));
        (matches != 0).then(|| line.handles[matches.trailing_zeros() as usize])
    }

    /// The handle of a member.
    #[inline]
    pub(super) fn find(&self, hash: u64, arena: &Arena, member: &[u8]) -> Option<Handle> {
        let segment = self.segment(hash);
        let home = segment.home(hash);
        let mut number = home;
        loop {
            // SAFETY: the line exists.
            let line = unsafe { &*segment.line(number) };
            let mut matches = tag_matches(&line.tags, tag_of(hash));
            while matches != 0 {
                let handle = line.handles[matches.trailing_zeros() as usize];
                if arena.member(handle) == member {
                    return Some(handle);
                }
                matches &= matches - 1;
            }
            if line.overflow == 0 {
                return None;
            }
            number = segment.after(number);
            if number == home {
                return None;
            }
        }
    }

    /// The slot that holds `handle`, whose hash is `hash`, and the lines before it.
    fn slot_of(&self, segment: &Segment, hash: u64, handle: Handle) -> Option<(usize, usize)> {
        let home = segment.home(hash);
        let mut number = home;
        loop {
            // SAFETY: the line exists.
            let line = unsafe { &*segment.line(number) };
            let mut matches = tag_matches(&line.tags, tag_of(hash));
            while matches != 0 {
                let slot = matches.trailing_zeros() as usize;
                if line.handles[slot] == handle {
                    return Some((number, slot));
                }
                matches &= matches - 1;
            }
            number = segment.after(number);
            if line.overflow == 0 || number == home {
                return None;
            }
        }
    }

    /// Puts another handle in the place of one.
    pub(super) fn replace(&mut self, hash: u64, old: Handle, new: Handle) {
        let segment = self.segment(hash);
        if let Some((number, slot)) = self.slot_of(&segment, hash, old) {
            // SAFETY: the line exists and the index is borrowed exclusively.
            unsafe { (*segment.line(number)).handles[slot] = new };
        }
    }

    /// Adds the handle of a member that is absent.
    pub(super) fn insert(&mut self, hash: u64, handle: Handle, arena: &Arena) {
        loop {
            let segment = self.segment(hash);
            let len = self.lens[segment.id as usize] as usize;
            if len < len_limit(segment.line_count as usize) {
                self.lens[segment.id as usize] += 1;
                self.len += 1;
                segment.place(hash, handle);
                return;
            }
            self.grow(self.entry_number(hash), arena);
        }
    }

    /// Removes a handle.
    pub(super) fn remove(&mut self, hash: u64, handle: Handle, arena: &Arena) {
        let segment = self.segment(hash);
        let Some((found, slot)) = self.slot_of(&segment, hash, handle) else {
            return;
        };
        let mut number = segment.home(hash);
        // SAFETY: the lines exist and the index is borrowed exclusively.
        unsafe {
            (*segment.line(found)).tags[slot] = 0;
            while number != found {
                (*segment.line(number)).overflow -= 1;
                number = segment.after(number);
            }
        }
        self.len -= 1;
        let len = &mut self.lens[segment.id as usize];
        *len -= 1;
        let len = *len as usize;
        if segment.line_count > 1 && len < segment.line_count as usize * (SLOTS / 3) {
            self.shrink(self.entry_number(hash), len, arena);
        }
    }

    /// Deepest split that the count of members justifies.
    fn depth_max(&self) -> u32 {
        let segments = self.len / (len_limit(LINES_MAX) / 4) + 1;
        (segments.ilog2() + 4).min(32)
    }

    fn set_range(&mut self, number: usize, segment: Segment) {
        let width = 1usize << (self.depth - segment.depth);
        let start = number & !(width - 1);
        self.directory[start..start + width].fill(segment);
    }

    fn track_lines(&mut self, added: &[Segment], removed: &[Segment]) {
        let bytes = |segment: &Segment| size_class(segment.line_count as usize * size_of::<Line>());
        self.line_bytes += added.iter().map(bytes).sum::<usize>();
        self.line_bytes -= removed.iter().map(bytes).sum::<usize>();
    }

    fn grow(&mut self, number: usize, arena: &Arena) {
        let segment = self.directory[number];
        let line_count = segment.line_count as usize;
        if line_count < LINES_MAX || segment.depth >= self.depth_max() {
            self.lay_out(number, next_line_count(line_count), arena);
        } else {
            self.split(number, arena);
        }
    }

    /// Gives a segment another count of lines.
    fn lay_out(&mut self, number: usize, line_count: usize, arena: &Arena) {
        let segment = self.directory[number];
        let mut handles = Vec::with_capacity(self.lens[segment.id as usize] as usize);
        segment.collect(&mut handles);
        let grown = Segment::allocate(line_count, segment.id, segment.depth);
        with_hashes(&handles, arena, |handle, hash| grown.place(hash, handle));
        self.track_lines(&[grown], &[segment]);
        self.set_range(number, grown);
        segment.free();
    }

    fn split(&mut self, number: usize, arena: &Arena) {
        let segment = self.directory[number];
        if segment.depth == self.depth {
            self.directory = self
                .directory
                .iter()
                .flat_map(|segment| [*segment, *segment])
                .collect();
            self.depth += 1;
            return self.split(number * 2, arena);
        }
        let mut handles = Vec::with_capacity(self.lens[segment.id as usize] as usize);
        segment.collect(&mut handles);
        let depth = segment.depth + 1;
        let new_id = self.vacant_ids.pop().unwrap_or_else(|| {
            self.lens.push(0);
            self.lens.len() as u32 - 1
        });
        let mut entries = [
            Vec::with_capacity(handles.len()),
            Vec::with_capacity(handles.len()),
        ];
        with_hashes(&handles, arena, |handle, hash| {
            entries[(hash << segment.depth >> 63) as usize].push((handle, hash));
        });
        let halves = [0, 1].map(|half| {
            let id = if half == 0 { segment.id } else { new_id };
            let made = Segment::allocate(line_count_for(entries[half].len()), id, depth);
            entries[half]
                .iter()
                .for_each(|(handle, hash)| made.place(*hash, *handle));
            self.lens[id as usize] = entries[half].len() as u32;
            made
        });
        self.track_lines(&halves, &[segment]);
        let width = 1usize << (self.depth - depth);
        let start = number & !(2 * width - 1);
        self.set_range(start, halves[0]);
        self.set_range(start + width, halves[1]);
        self.at_depth[depth as usize - 1] -= 1;
        self.at_depth[depth as usize] += 2;
        segment.free();
    }

    fn shrink(&mut self, number: usize, len: usize, arena: &Arena) {
        let segment = self.directory[number];
        if segment.depth > 0 {
            let sibling = self.directory[number ^ (1 << (self.depth - segment.depth))];
            let sum = len + self.lens[sibling.id as usize] as usize;
            if sibling.depth == segment.depth && sum <= MERGE_LEN_MAX {
                return self.merge(number, segment, sibling, sum, arena);
            }
        }
        let line_count = line_count_for(len);
        if line_count < segment.line_count as usize {
            self.lay_out(number, line_count, arena);
        }
    }

    fn merge(
        &mut self,
        number: usize,
        segment: Segment,
        sibling: Segment,
        len: usize,
        arena: &Arena,
    ) {
        let mut handles = Vec::with_capacity(len);
        segment.collect(&mut handles);
        sibling.collect(&mut handles);
        let depth = segment.depth - 1;
        let merged = Segment::allocate(line_count_for(len), segment.id, depth);
        with_hashes(&handles, arena, |handle, hash| merged.place(hash, handle));
        self.track_lines(&[merged], &[segment, sibling]);
        self.lens[segment.id as usize] = len as u32;
        self.lens[sibling.id as usize] = 0;
        self.vacant_ids.push(sibling.id);
        self.set_range(number, merged);
        self.at_depth[depth as usize + 1] -= 2;
        self.at_depth[depth as usize] += 1;
        segment.free();
        sibling.free();
        while self.depth > 0 && self.at_depth[self.depth as usize] == 0 {
            self.directory = self.directory.iter().step_by(2).copied().collect();
            self.depth -= 1;
        }
    }

    /// Tells of the members whose hashes start at `cursor`, about `count` of them;
    /// returns where to go on, 0 at the end.
    pub(super) fn scan(
        &self,
        cursor: u64,
        count: usize,
        arena: &Arena,
        mut found: impl FnMut(Handle),
    ) -> u64 {
        let mut cursor = cursor & ((1 << CURSOR_BITS) - 1);
        let mut reported = 0;
        loop {
            let first = cursor << (64 - CURSOR_BITS);
            let segment = self.segment(first);
            let home = segment.home(first);
            let end = self.line_end(first, &segment, home).max(cursor + 1);
            // Segments end where cursors do, so the last hash before `end` is in this one.
            let last = segment.home((end << (64 - CURSOR_BITS)).wrapping_sub(1));
            let mut number = home;
            let mut reached_last = false;
            loop {
                // SAFETY: the line exists.
                let line = unsafe { &*segment.line(number) };
                for slot in (0..SLOTS).filter(|slot| line.tags[*slot] != 0) {
                    let prefix = hash_of(arena.member(line.handles[slot])) >> (64 - CURSOR_BITS);
                    if (cursor..end).contains(&prefix) {
                        found(line.handles[slot]);
                        reported += 1;
                    }
                }
                reached_last |= number == last;
                number = segment.after(number);
                if (reached_last && line.overflow == 0) || number == home {
                    break;
                }
            }
            if end >= 1 << CURSOR_BITS {
                return 0;
            }
            cursor = end;
            if reported >= count {
                return cursor;
            }
        }
    }

    /// The cursor at which the hashes of this line end, rounded down.
    fn line_end(&self, first: u64, segment: &Segment, line: usize) -> u64 {
        let upper = if segment.depth == 0 {
            0
        } else {
            first >> (64 - segment.depth) << (64 - segment.depth)
        };
        let fraction = ((line as u64 + 1) << 32).div_ceil(u64::from(segment.line_count));
        // Beyond the last line lies 2^64.
        let end = u128::from(upper) + (u128::from(fraction) << (32 - segment.depth));
        (end >> (64 - CURSOR_BITS)) as u64
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn check(&self, arena: &Arena, len: usize) {
        assert_eq!(self.directory.len(), 1 << self.depth);
        assert_eq!(self.len, len);
        let (mut number, mut seen, mut bytes) = (0, 0, 0);
        let mut at_depth = [0; 33];
        while number < self.directory.len() {
            let segment = self.directory[number];
            let width = 1usize << (self.depth - segment.depth);
            assert_eq!(number % width, 0);
            assert!(
                self.directory[number..number + width]
                    .iter()
                    .all(|entry| entry.lines == segment.lines
                        && (entry.line_count, entry.id, entry.depth)
                            == (segment.line_count, segment.id, segment.depth))
            );
            at_depth[segment.depth as usize] += 1;
            bytes += size_class(segment.line_count as usize * size_of::<Line>());
            let here = self.check_segment(&segment, arena);
            assert_eq!(here, self.lens[segment.id as usize] as usize);
            seen += here;
            number += width;
        }
        assert_eq!(
            (seen, bytes, at_depth),
            (len, self.line_bytes, self.at_depth)
        );
        assert!(
            self.depth == 0 || at_depth[self.depth as usize] > 0,
            "the directory is no deeper than its segments"
        );
    }

    #[cfg(any(test, feature = "fuzzing"))]
    fn check_segment(&self, segment: &Segment, arena: &Arena) -> usize {
        let count = segment.line_count as usize;
        let mut overflow = vec![0; count];
        let mut len = 0;
        for number in 0..count {
            // SAFETY: the line exists.
            let line = unsafe { &*segment.line(number) };
            for slot in (0..SLOTS).filter(|slot| line.tags[*slot] != 0) {
                let hash = hash_of(arena.member(line.handles[slot]));
                assert_eq!(line.tags[slot], tag_of(hash));
                assert_eq!(self.segment(hash).lines, segment.lines);
                let mut passed = segment.home(hash);
                while passed != number {
                    overflow[passed] += 1;
                    passed = segment.after(passed);
                }
                len += 1;
            }
        }
        for (number, expected) in overflow.iter().enumerate() {
            // SAFETY: the line exists.
            assert_eq!(unsafe { (*segment.line(number)).overflow }, *expected);
        }
        len
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        let mut number = 0;
        while number < self.directory.len() {
            let segment = self.directory[number];
            segment.free();
            number += 1 << (self.depth - segment.depth);
        }
    }
}
