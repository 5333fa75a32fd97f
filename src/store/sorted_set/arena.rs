//! Records of members, packed into chunks of memory.
//!
//! A record is a header byte (form in the upper two bits, member length in the
//! lower six), a second length byte for members of 63 bytes and more, the score
//! (4 bytes if it is an integer of 32 bits, else 8), and the member. A member beyond
//! [`INLINE_LEN_MAX`] has an allocation of its own and its record points at it.
//!
//! A handle counts granules of 4 bytes from the start of the first chunk; 32 bits of
//! them reach 16 GiB. Freed records go to lists by size, doubly linked, and are
//! split for smaller ones. When much of the arena is free, its emptiest chunk is
//! evacuated a few records at a time and given back ([`Arena::evacuee`]).
//!
//! A handle passed to any method must be that of a live record of this arena.
//!
//! Invariants, which `check` verifies: every chunk but the one being filled is
//! covered without gaps by records and free blocks (a rest too small for a block
//! excepted); the lists hold exactly the free blocks outside the chunk that is being
//! evacuated; live and free counts are those of the blocks.

use super::TINY_PARTS;
use super::prefetch;
use super::score::Score;
use super::size_class::size_class;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error, realloc};

/// The place of a record, in granules.
pub(super) type Handle = u32;

/// Records asked for together in a search; fewer are asked for at once.
const ASKED_TOGETHER: usize = 4;
const GRANULE: usize = 4;
/// Granules in a whole chunk: 64 KiB.
const CHUNK_BITS: u32 = if TINY_PARTS { 8 } else { 14 };
const CHUNK_GRANULES: usize = 1 << CHUNK_BITS;
const CHUNK_BYTES: usize = CHUNK_GRANULES * GRANULE;
/// First size of the first chunk, which grows in place of a second one.
const FIRST_BYTES_MIN: usize = 256;
/// Longest member kept inside its record.
pub(super) const INLINE_LEN_MAX: usize = 255;
/// Longest length that the header byte holds.
const SHORT_LEN_MAX: usize = 62;
/// A free block holds its head and two links.
const BLOCK_GRANULES_MIN: usize = 3;
/// The largest record: two head bytes, a score, the longest inline member.
const BLOCK_GRANULES_MAX: usize = (2 + 8 + INLINE_LEN_MAX).div_ceil(GRANULE);
/// Granules of a record that points at its member: head, score, pointer, length.
const EXTERNAL_GRANULES: usize = 7;
const NIL: Handle = Handle::MAX;
/// Chunks that 32-bit handles reach, less one, so that `NIL` is no record's.
const CHUNKS_MAX: usize = (1 << (32 - CHUNK_BITS)) - 1;

/// Chunks kept back when an arena counts as full, for the largest of commands.
const CHUNKS_RESERVED: usize = CHUNKS_MAX / 16;

const FORM_INTEGER: u8 = 0;
const FORM_DOUBLE: u8 = 1;
const FORM_EXTERNAL: u8 = 2;
const FORM_FREE: u8 = 3;

pub(super) struct Arena {
    /// Null for a chunk that was given back.
    chunks: Vec<*mut u8>,
    /// Granules of each chunk that records occupy.
    live_in: Vec<u32>,
    /// Chunk numbers to use again.
    vacant: Vec<u32>,
    /// Next granule to hand out, and where the chunk that is being filled ends.
    fill: usize,
    fill_end: usize,
    lists: [Handle; BLOCK_GRANULES_MAX + 1],
    /// Bit n: list n is not empty.
    filled_lists: u128,
    live_granules: usize,
    free_granules: usize,
    external_count: usize,
    external_bytes: usize,
    /// The chunk that is being evacuated and the next granule to look at.
    evacuation: Option<(usize, usize)>,
}

fn chunk_layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, 8).expect("a chunk is far smaller than the address space")
}

fn granules_for(member_len: usize, score: Score) -> usize {
    if member_len > INLINE_LEN_MAX {
        return EXTERNAL_GRANULES;
    }
    let head = 1 + usize::from(member_len > SHORT_LEN_MAX);
    let width = if score.as_i32().is_some() { 4 } else { 8 };
    (head + width + member_len)
        .div_ceil(GRANULE)
        .max(BLOCK_GRANULES_MIN)
}

/// Member length and offset of the score behind the head of an inline record.
#[inline]
unsafe fn inline_shape(record: *const u8) -> (usize, usize) {
    // SAFETY: the caller passes a record; a length of 63 says that a second byte follows.
    unsafe {
        let short = usize::from(*record & 63);
        if short <= SHORT_LEN_MAX {
            (short, 1)
        } else {
            (short + usize::from(*record.add(1)), 2)
        }
    }
}

impl Arena {
    pub(super) fn new() -> Arena {
        Arena {
            chunks: Vec::new(),
            live_in: Vec::new(),
            vacant: Vec::new(),
            fill: 0,
            fill_end: 0,
            lists: [NIL; BLOCK_GRANULES_MAX + 1],
            filled_lists: 0,
            live_granules: 0,
            free_granules: 0,
            external_count: 0,
            external_bytes: 0,
            evacuation: None,
        }
    }

    /// Whether handles are about to run out: 15 GiB of records.
    pub(super) fn is_full(&self) -> bool {
        self.chunks.len() - self.vacant.len() + CHUNKS_RESERVED >= CHUNKS_MAX
    }

    /// Bytes of the heap, external members included.
    pub(super) fn memory_usage(&self) -> usize {
        let whole = self.chunks.len() - self.vacant.len();
        let chunks = match whole {
            0 => 0,
            1 if self.vacant.is_empty() => size_class(self.fill_end * GRANULE),
            // Pages of a chunk that were never written are not resident.
            _ => whole * CHUNK_BYTES - (((self.fill_end - self.fill) * GRANULE) & !4095),
        };
        chunks
            + self.external_bytes
            + size_class(self.chunks.capacity() * 8)
            + size_class(self.live_in.capacity() * 4)
            + size_class(self.vacant.capacity() * 4)
    }

    #[inline]
    fn pointer(&self, handle: Handle) -> *mut u8 {
        debug_assert!(((handle >> CHUNK_BITS) as usize) < self.chunks.len());
        // SAFETY: the chunk of a live handle exists and is longer than the offset.
        unsafe {
            let chunk = *self.chunks.get_unchecked((handle >> CHUNK_BITS) as usize);
            chunk.add((handle as usize & (CHUNK_GRANULES - 1)) * GRANULE)
        }
    }

    #[inline]
    pub(super) fn prefetch(&self, handle: Handle) {
        prefetch(self.pointer(handle));
    }

    /// Asks for the records at which [`Arena::partition_point`] will look first.
    #[inline]
    pub(super) fn prefetch_for_search(&self, handles: &[Handle]) {
        if handles.len() > ASKED_TOGETHER {
            let quarter = handles.len() / 4;
            for quarters in [2, 1, 3] {
                self.prefetch(handles[quarters * quarter]);
            }
        } else {
            for handle in handles {
                self.prefetch(*handle);
            }
        }
    }

    /// How many of the records, which are in order, lie before a place. Each look at one may be a wait for memory: so
    /// they are searched by quarters, whose three records are asked for together.
    #[inline]
    pub(super) fn partition_point(
        &self,
        handles: &[Handle],
        mut is_before: impl FnMut(Handle) -> bool,
    ) -> usize {
        let (mut low, mut high) = (0, handles.len());
        while high - low > ASKED_TOGETHER {
            let quarter = (high - low) / 4;
            let [first, half, last] = [1, 2, 3].map(|quarters| low + quarters * quarter);
            for at in [half, first, last] {
                self.prefetch(handles[at]);
            }
            (low, high) = if is_before(handles[half]) {
                if is_before(handles[last]) {
                    (last + 1, high)
                } else {
                    (half + 1, last)
                }
            } else if is_before(handles[first]) {
                (first + 1, half)
            } else {
                (low, first)
            };
        }
        for handle in &handles[low..high] {
            self.prefetch(*handle);
        }
        low + handles[low..high].partition_point(|handle| is_before(*handle))
    }

    #[inline]
    pub(super) fn score(&self, handle: Handle) -> Score {
        let record = self.pointer(handle);
        // SAFETY: a live record holds a score where its head says.
        let value = unsafe {
            match *record >> 6 {
                FORM_INTEGER => {
                    let (_, at) = inline_shape(record);
                    return Score::from(record.add(at).cast::<i32>().read_unaligned());
                }
                FORM_DOUBLE => record
                    .add(inline_shape(record).1)
                    .cast::<f64>()
                    .read_unaligned(),
                _ => record.add(4).cast::<f64>().read_unaligned(),
            }
        };
        Score::from_stored(value)
    }

    #[inline]
    pub(super) fn member(&self, handle: Handle) -> &[u8] {
        let record = self.pointer(handle);
        // SAFETY: a live record holds its member, or its address and length, where its head says.
        unsafe {
            let form = *record >> 6;
            if form == FORM_EXTERNAL {
                let member = record.add(12).cast::<*const u8>().read_unaligned();
                let len = record.add(20).cast::<usize>().read_unaligned();
                return std::slice::from_raw_parts(member, len);
            }
            let (len, at) = inline_shape(record);
            let width = if form == FORM_INTEGER { 4 } else { 8 };
            std::slice::from_raw_parts(record.add(at + width), len)
        }
    }

    /// Writes the score into the record, unless it has no place there.
    #[inline]
    pub(super) fn set_score(&mut self, handle: Handle, score: Score) -> bool {
        let record = self.pointer(handle);
        // SAFETY: as in `score`; the borrow is exclusive.
        unsafe {
            match *record >> 6 {
                FORM_INTEGER => {
                    let Some(integer) = score.as_i32() else {
                        return false;
                    };
                    record
                        .add(inline_shape(record).1)
                        .cast::<i32>()
                        .write_unaligned(integer);
                }
                FORM_DOUBLE => record
                    .add(inline_shape(record).1)
                    .cast::<f64>()
                    .write_unaligned(score.get()),
                _ => record.add(4).cast::<f64>().write_unaligned(score.get()),
            }
        }
        true
    }

    /// Stores a record.
    pub(super) fn insert(&mut self, member: &[u8], score: Score) -> Handle {
        let handle = self.allocate(granules_for(member.len(), score));
        let record = self.pointer(handle);
        // SAFETY: the block has the granules that this member and score need.
        unsafe {
            if member.len() > INLINE_LEN_MAX {
                let len = member.len();
                self.external_count += 1;
                self.external_bytes += size_class(len);
                record.write(FORM_EXTERNAL << 6);
                record.add(4).cast::<f64>().write_unaligned(score.get());
                record
                    .add(12)
                    .cast::<*mut u8>()
                    .write_unaligned(Box::into_raw(Box::<[u8]>::from(member)).cast());
                record.add(20).cast::<usize>().write_unaligned(len);
                return handle;
            }
            let at = if member.len() <= SHORT_LEN_MAX {
                record.write(member.len() as u8);
                1
            } else {
                record.write(63);
                record.add(1).write((member.len() - 63) as u8);
                2
            };
            let width = match score.as_i32() {
                Some(integer) => {
                    record.add(at).cast::<i32>().write_unaligned(integer);
                    4
                }
                None => {
                    *record |= FORM_DOUBLE << 6;
                    record.add(at).cast::<f64>().write_unaligned(score.get());
                    8
                }
            };
            std::ptr::copy_nonoverlapping(member.as_ptr(), record.add(at + width), member.len());
        }
        handle
    }

    /// Frees a record.
    pub(super) fn remove(&mut self, handle: Handle) {
        let record = self.pointer(handle);
        // SAFETY: the record is live; its external member, if any, was leaked from a box.
        unsafe {
            if *record >> 6 == FORM_EXTERNAL {
                let member = record.add(12).cast::<*mut u8>().read_unaligned();
                let len = record.add(20).cast::<usize>().read_unaligned();
                self.external_count -= 1;
                self.external_bytes -= size_class(len);
                drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(
                    member, len,
                )));
            }
        }
        self.release(handle);
    }

    /// Gives the granules of a record back.
    fn release(&mut self, handle: Handle) {
        let granules = self.block_granules(handle);
        self.live_granules -= granules;
        self.live_in[(handle >> CHUNK_BITS) as usize] -= granules as u32;
        self.link(handle, granules);
    }

    /// Granules of a record or free block.
    fn block_granules(&self, handle: Handle) -> usize {
        let record = self.pointer(handle);
        // SAFETY: records and free blocks start with a head.
        unsafe {
            match *record >> 6 {
                FORM_FREE => usize::from(*record.add(1)),
                FORM_EXTERNAL => EXTERNAL_GRANULES,
                form => {
                    let (len, at) = inline_shape(record);
                    let width = if form == FORM_INTEGER { 4 } else { 8 };
                    (at + width + len).div_ceil(GRANULE).max(BLOCK_GRANULES_MIN)
                }
            }
        }
    }

    fn links(&self, handle: Handle) -> *mut [Handle; 2] {
        self.pointer(handle).wrapping_add(4).cast()
    }

    /// Makes a free block of the granules and lists it, unless its chunk is being evacuated.
    fn link(&mut self, handle: Handle, granules: usize) {
        let record = self.pointer(handle);
        // SAFETY: the granules belong to nobody now and are enough for a free block.
        unsafe {
            record.write(FORM_FREE << 6);
            record.add(1).write(granules as u8);
        }
        self.free_granules += granules;
        if self
            .evacuation
            .is_some_and(|(chunk, _)| chunk == (handle >> CHUNK_BITS) as usize)
        {
            return;
        }
        let next = std::mem::replace(&mut self.lists[granules], handle);
        self.filled_lists |= 1 << granules;
        // SAFETY: both are free blocks, whose links are theirs.
        unsafe {
            *self.links(handle) = [next, NIL];
            if next != NIL {
                (*self.links(next))[1] = handle;
            }
        }
    }

    fn unlink(&mut self, handle: Handle, granules: usize) {
        self.free_granules -= granules;
        // SAFETY: listed blocks are free blocks with valid links.
        unsafe {
            let [next, previous] = *self.links(handle);
            if next != NIL {
                (*self.links(next))[1] = previous;
            }
            if previous != NIL {
                (*self.links(previous))[0] = next;
            } else {
                self.lists[granules] = next;
                if next == NIL {
                    self.filled_lists &= !(1 << granules);
                }
            }
        }
    }

    fn allocate(&mut self, granules: usize) -> Handle {
        self.live_granules += granules;
        let fitting =
            self.filled_lists & (1 << granules | u128::MAX << (granules + BLOCK_GRANULES_MIN));
        let handle = if fitting != 0 {
            let found = fitting.trailing_zeros() as usize;
            let handle = self.lists[found];
            self.unlink(handle, found);
            if found > granules {
                self.link(handle + granules as Handle, found - granules);
            }
            handle
        } else {
            if self.fill + granules > self.fill_end {
                self.extend(granules);
            }
            let handle = self.fill as Handle;
            self.fill += granules;
            handle
        };
        self.live_in[(handle >> CHUNK_BITS) as usize] += granules as u32;
        handle
    }

    /// Makes room for `granules` at the fill position.
    fn extend(&mut self, granules: usize) {
        if self.chunks.len() <= 1 && self.fill_end < CHUNK_GRANULES {
            let bytes = self.fill_end * GRANULE;
            let wanted =
                size_class(((self.fill + granules) * GRANULE).max(bytes + 1)).max(FIRST_BYTES_MIN);
            let wanted = wanted.min(CHUNK_BYTES);
            // SAFETY: the first chunk, if it exists, was allocated with this many bytes.
            let chunk = unsafe {
                match self.chunks.first() {
                    None => alloc(chunk_layout(wanted)),
                    Some(chunk) => realloc(*chunk, chunk_layout(bytes), wanted),
                }
            };
            if chunk.is_null() {
                handle_alloc_error(chunk_layout(wanted));
            }
            if self.chunks.is_empty() {
                self.chunks.push(chunk);
                self.live_in.push(0);
            } else {
                self.chunks[0] = chunk;
            }
            self.fill_end = wanted / GRANULE;
            if self.fill + granules <= self.fill_end {
                return;
            }
        }
        let rest = self.fill_end - self.fill;
        if rest >= BLOCK_GRANULES_MIN {
            self.link(self.fill as Handle, rest);
        }
        // SAFETY: the size is above zero.
        let chunk = unsafe { alloc(chunk_layout(CHUNK_BYTES)) };
        if chunk.is_null() || self.chunks.len() - self.vacant.len() >= CHUNKS_MAX {
            // A board of 16 GiB of records ends as one that memory does not suffice for.
            handle_alloc_error(chunk_layout(CHUNK_BYTES));
        }
        let number = match self.vacant.pop() {
            Some(number) => {
                self.chunks[number as usize] = chunk;
                number as usize
            }
            None => {
                self.chunks.push(chunk);
                self.live_in.push(0);
                self.chunks.len() - 1
            }
        };
        self.fill = number * CHUNK_GRANULES;
        self.fill_end = self.fill + CHUNK_GRANULES;
    }

    /// Where the blocks of a chunk end.
    fn chunk_end(&self, number: usize) -> usize {
        let start = number * CHUNK_GRANULES;
        if (start..start + CHUNK_GRANULES).contains(&(self.fill_end - 1)) {
            self.fill
        } else {
            start + CHUNK_GRANULES - (BLOCK_GRANULES_MIN - 1)
        }
    }

    /// The next record that must move, if chunks are to be given back; the caller
    /// stores it anew and passes the old handle to `moved`.
    pub(super) fn evacuee(&mut self) -> Option<Handle> {
        loop {
            let Some((chunk, mut at)) = self.evacuation else {
                if !self.start_evacuation() {
                    return None;
                }
                continue;
            };
            let end = self.chunk_end(chunk);
            while at < end {
                let handle = at as Handle;
                let granules = self.block_granules(handle);
                // SAFETY: `at` is the start of a block.
                if unsafe { *self.pointer(handle) } >> 6 != FORM_FREE {
                    self.evacuation = Some((chunk, at));
                    return Some(handle);
                }
                at += granules;
            }
            self.give_back(chunk);
        }
    }

    /// Whether enough is free that giving chunks back is worth the moves.
    #[inline]
    pub(super) fn wants_evacuation(&self) -> bool {
        self.evacuation.is_some()
            || (self.free_granules > 2 * CHUNK_GRANULES
                && self.free_granules * 5 > (self.free_granules + self.live_granules) * 2)
    }

    fn start_evacuation(&mut self) -> bool {
        if !self.wants_evacuation() {
            return false;
        }
        let filling = (self.fill_end - 1) >> CHUNK_BITS;
        let candidates = (0..self.chunks.len())
            .filter(|&chunk| chunk != filling && !self.chunks[chunk].is_null());
        let Some(chunk) = candidates.min_by_key(|&chunk| self.live_in[chunk]) else {
            return false;
        };
        let (mut at, end) = (chunk * CHUNK_GRANULES, self.chunk_end(chunk));
        self.evacuation = Some((chunk, at));
        while at < end {
            let granules = self.block_granules(at as Handle);
            // SAFETY: `at` is the start of a block.
            if unsafe { *self.pointer(at as Handle) } >> 6 == FORM_FREE {
                self.unlink(at as Handle, granules);
                // Unlisted blocks of the chunk still count as free.
                self.free_granules += granules;
            }
            at += granules;
        }
        true
    }

    fn give_back(&mut self, chunk: usize) {
        let (mut at, end) = (chunk * CHUNK_GRANULES, self.chunk_end(chunk));
        while at < end {
            let granules = self.block_granules(at as Handle);
            self.free_granules -= granules;
            at += granules;
        }
        // SAFETY: no record is left in the chunk and no list refers to it.
        unsafe { dealloc(self.chunks[chunk], chunk_layout(CHUNK_BYTES)) };
        self.chunks[chunk] = std::ptr::null_mut();
        self.vacant.push(chunk as u32);
        self.evacuation = None;
    }

    /// Copies an evacuee; its old place is freed.
    pub(super) fn relocate(&mut self, handle: Handle) -> Handle {
        let granules = self.block_granules(handle);
        let target = self.allocate(granules);
        // SAFETY: both blocks have this many granules and are distinct.
        unsafe {
            std::ptr::copy_nonoverlapping(
                self.pointer(handle),
                self.pointer(target),
                granules * GRANULE,
            );
        }
        self.release(handle);
        target
    }

    /// Every live record, in the order of memory.
    pub(super) fn handles(&self) -> impl Iterator<Item = Handle> {
        let numbers = (0..self.chunks.len()).filter(|number| !self.chunks[*number].is_null());
        numbers.flat_map(move |number| {
            let (mut at, end) = (number * CHUNK_GRANULES, self.chunk_end(number));
            std::iter::from_fn(move || {
                while at < end {
                    let handle = at as Handle;
                    at += self.block_granules(handle);
                    // SAFETY: the handle is the start of a block.
                    if unsafe { *self.pointer(handle) } >> 6 != FORM_FREE {
                        return Some(handle);
                    }
                }
                None
            })
        })
    }

    /// Whether records exist that own more than their granules.
    pub(super) fn has_external(&self) -> bool {
        self.external_count > 0
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn check(&self, records: usize) {
        let (mut live, mut free, mut unlisted, mut count) = (0, 0, 0, 0);
        for number in 0..self.chunks.len() {
            if self.chunks[number].is_null() {
                assert!(self.vacant.contains(&(number as u32)));
                continue;
            }
            let (mut at, end) = (number * CHUNK_GRANULES, self.chunk_end(number));
            let mut live_here = 0;
            while at < end {
                let granules = self.block_granules(at as Handle);
                // SAFETY: `at` is the start of a block.
                if unsafe { *self.pointer(at as Handle) } >> 6 == FORM_FREE {
                    free += granules;
                    if self.evacuation.is_some_and(|(chunk, _)| chunk == number) {
                        unlisted += granules;
                    }
                } else {
                    live_here += granules;
                    count += 1;
                }
                at += granules;
            }
            assert!(
                at <= (number + 1) * CHUNK_GRANULES,
                "blocks end with their chunk"
            );
            assert_eq!(live_here, self.live_in[number] as usize);
            live += live_here;
        }
        assert_eq!(
            (live, free, count),
            (self.live_granules, self.free_granules, records)
        );
        let mut listed = 0;
        for granules in 0..self.lists.len() {
            assert_eq!(
                self.lists[granules] != NIL,
                self.filled_lists >> granules & 1 == 1
            );
            let (mut handle, mut previous) = (self.lists[granules], NIL);
            while handle != NIL {
                assert_eq!(self.block_granules(handle), granules);
                // SAFETY: a listed block has links.
                let links = unsafe { *self.links(handle) };
                assert_eq!(links[1], previous);
                listed += granules;
                (previous, handle) = (handle, links[0]);
            }
        }
        assert_eq!(listed + unlisted, free, "the lists hold what is free");
    }
}

impl Drop for Arena {
    /// Frees the chunks; external members are the owner's to remove first.
    fn drop(&mut self) {
        let only_first = self.chunks.len() == 1;
        for chunk in self.chunks.iter().filter(|chunk| !chunk.is_null()) {
            let bytes = if only_first {
                self.fill_end * GRANULE
            } else {
                CHUNK_BYTES
            };
            // SAFETY: chunks are whole, except the first while it is the only one.
            unsafe { dealloc(*chunk, chunk_layout(bytes)) };
        }
    }
}
