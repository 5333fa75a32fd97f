//! Leaves: the bottom level of the skiplist, runs of entries in order.
//!
//! A leaf is one block: a head, then a 16-bit key and a 32-bit handle for each
//! entry, keys apart from handles. The key is the entry's score in units of the
//! leaf, `(order_bits >> shift) - origin`. Keys thus order as scores do, and only
//! entries with equal keys need their records looked at. Where an entry does not
//! fit the range of keys, the unit grows and all keys are shifted, which needs no
//! record either; a split that leaves few of the keys in use makes the unit finer.
//!
//! The block fills a size class of the allocator and moves to another as the leaf
//! grows and shrinks; whoever holds its address must then take the new one.
//!
//! Invariants, which `check` verifies: 1 to [`LEAF_MAX`] entries, strictly ascending
//! by score and member; every key is exact; neighbours point at each other.

use super::TINY_PARTS;
use super::arena::{Arena, Handle};
use super::lanes::{equal_range, position};
use super::prefetch;
use super::score::Score;
use super::size_class::size_class;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cmp::Ordering;
use std::ops::Range;

/// Entries of a full leaf; with its head it fills a size class of 896 bytes.
pub(super) const LEAF_MAX: usize = if TINY_PARTS { 16 } else { 144 };
/// A leaf with fewer entries is merged with a neighbour, if both fit well.
pub(super) const MERGE_BELOW: usize = LEAF_MAX / 3;
pub(super) const MERGED_MAX: usize = LEAF_MAX * 3 / 4;
/// Entries of a leaf that is built in bulk: fills a class, leaves room for more.
pub(super) const BULK_LEN: usize = if TINY_PARTS { 12 } else { 122 };
const HEAD: usize = size_of::<Leaf>();
const ENTRY: usize = 6;
const KEY_MAX: u64 = u16::MAX as u64;
/// A unit is made finer where the keys in use span less than this.
const KEY_SPAN_MIN: u16 = 1 << 12;

#[repr(C)]
pub(super) struct Leaf {
    pub(super) next: *mut Leaf,
    pub(super) previous: *mut Leaf,
    /// The unit of key 0.
    origin: u64,
    len: u16,
    capacity: u16,
    shift: u8,
}

/// A place in the order of the board: before, behind or at the entries of a score.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) order_bits: u64,
    pub(super) tie: Tie<'a>,
}

/// Which entries of the target's score lie before the target.
#[derive(Clone, Copy)]
pub(super) enum Tie<'a> {
    /// None.
    Before,
    /// All.
    After,
    /// Those with lesser members.
    BeforeMember(&'a [u8]),
    /// Those with members up to this one.
    AfterMember(&'a [u8]),
}

impl<'a> Target<'a> {
    #[inline]
    pub(super) fn entry(score: Score, member: &'a [u8]) -> Target<'a> {
        Target {
            order_bits: score.order_bits(),
            tie: Tie::BeforeMember(member),
        }
    }

    /// Whether an entry of the target's score lies before the target.
    #[inline]
    pub(super) fn is_behind_member(&self, arena: &Arena, handle: Handle) -> bool {
        match self.tie {
            Tie::Before => false,
            Tie::After => true,
            Tie::BeforeMember(member) => arena.member(handle) < member,
            Tie::AfterMember(member) => arena.member(handle) <= member,
        }
    }

    #[inline]
    fn is_behind(&self, arena: &Arena, handle: Handle) -> bool {
        match arena.score(handle).order_bits().cmp(&self.order_bits) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => self.is_behind_member(arena, handle),
        }
    }
}

fn block_layout(capacity: usize) -> Layout {
    Layout::from_size_align(size_class(HEAD + capacity * ENTRY), 8).expect("a leaf is small")
}

/// The even capacity that fills the class of a leaf of `len` entries.
fn capacity_for(len: usize) -> usize {
    let class = size_class(HEAD + (len + (len & 1)) * ENTRY);
    (((class - HEAD) / ENTRY) & !1).min(LEAF_MAX)
}

/// How much coarser a unit must be so that both ends fit within half of the keys.
fn coarser_by(low: u64, high: u64) -> u32 {
    let mut shift = (u64::BITS - (high - low).leading_zeros()).saturating_sub(15);
    while (high >> shift) - (low >> shift) > KEY_MAX / 2 {
        shift += 1;
    }
    shift
}

impl Leaf {
    /// A leaf of entries in order, not linked to any other. Each is the order bits
    /// of its score and its handle.
    pub(super) fn build(entries: &[(u64, Handle)]) -> *mut Leaf {
        let capacity = capacity_for(entries.len().max(1));
        let leaf = Leaf::allocate(capacity);
        // SAFETY: the block holds the head and `capacity` entries.
        unsafe {
            (*leaf).len = entries.len() as u16;
            for (at, (_, handle)) in entries.iter().enumerate() {
                Leaf::handles_at(leaf).add(at).write(*handle);
            }
            if let (Some(first), Some(last)) = (entries.first(), entries.last()) {
                Leaf::encode(leaf, entries.iter().map(|entry| entry.0), first.0, last.0);
            }
        }
        leaf
    }

    fn allocate(capacity: usize) -> *mut Leaf {
        let layout = block_layout(capacity);
        // SAFETY: the size is above zero, and the head lies inside the block.
        unsafe {
            let leaf = alloc(layout).cast::<Leaf>();
            if leaf.is_null() {
                handle_alloc_error(layout);
            }
            leaf.write(Leaf {
                next: std::ptr::null_mut(),
                previous: std::ptr::null_mut(),
                origin: 0,
                len: 0,
                capacity: capacity as u16,
                shift: 0,
            });
            leaf
        }
    }

    /// # Safety
    /// No one refers to the leaf any more.
    pub(super) unsafe fn free(leaf: *mut Leaf) {
        // SAFETY: allocated with the layout of its capacity.
        unsafe { dealloc(leaf.cast(), block_layout((*leaf).capacity as usize)) }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.len)
    }

    pub(super) fn memory_usage(&self) -> usize {
        block_layout(usize::from(self.capacity)).size()
    }
}

/// The functions below take the address of a leaf that is alive and that nobody else
/// borrows; that is what their safety asks.
impl Leaf {
    #[inline]
    unsafe fn keys_at(leaf: *const Leaf) -> *mut u16 {
        // SAFETY: the keys follow the head.
        unsafe { leaf.cast_mut().cast::<u8>().add(HEAD).cast() }
    }

    #[inline]
    unsafe fn handles_at(leaf: *const Leaf) -> *mut Handle {
        // SAFETY: the handles follow the keys, of which there is an even number.
        unsafe {
            Leaf::keys_at(leaf)
                .add(usize::from((*leaf).capacity))
                .cast()
        }
    }

    #[inline]
    pub(super) unsafe fn keys<'a>(leaf: *const Leaf) -> &'a [u16] {
        // SAFETY: `len` keys are initialised.
        unsafe { std::slice::from_raw_parts(Leaf::keys_at(leaf), (*leaf).len()) }
    }

    #[inline]
    pub(super) unsafe fn handles<'a>(leaf: *const Leaf) -> &'a [Handle] {
        // SAFETY: `len` handles are initialised.
        unsafe { std::slice::from_raw_parts(Leaf::handles_at(leaf), (*leaf).len()) }
    }

    #[inline]
    pub(super) unsafe fn handle(leaf: *const Leaf, at: usize) -> Handle {
        // SAFETY: the caller passes the place of an entry.
        unsafe {
            debug_assert!(at < (*leaf).len());
            *Leaf::handles_at(leaf).add(at)
        }
    }

    /// Asks for the head and the keys.
    #[inline]
    pub(super) fn prefetch(leaf: *const Leaf) {
        for line in 0..(HEAD + 2 * LEAF_MAX).div_ceil(64) {
            prefetch(leaf.cast::<u8>().wrapping_add(64 * line));
        }
    }

    /// Asks for all of a leaf that is about to change.
    #[inline]
    pub(super) fn prefetch_all(leaf: *const Leaf) {
        for line in 0..(HEAD + ENTRY * LEAF_MAX).div_ceil(64) {
            prefetch(leaf.cast::<u8>().wrapping_add(64 * line));
        }
    }

    /// The key of a score, if the leaf has one.
    #[inline]
    unsafe fn key_of(leaf: *const Leaf, order_bits: u64) -> Result<u16, Ordering> {
        // SAFETY: the leaf is alive.
        unsafe {
            let units = order_bits >> (*leaf).shift;
            if units < (*leaf).origin {
                return Err(Ordering::Less);
            }
            u16::try_from(units - (*leaf).origin).map_err(|_| Ordering::Greater)
        }
    }

    /// The entries that only their records can compare with the target, as a range of
    /// places; what is before it lies before the target. Asks for the first records.
    #[inline]
    pub(super) unsafe fn tied_range(
        leaf: *const Leaf,
        target: &Target<'_>,
        arena: &Arena,
    ) -> Range<usize> {
        // SAFETY: the leaf is alive and its handles are those of records.
        unsafe {
            let key = match Leaf::key_of(leaf, target.order_bits) {
                Ok(key) => key,
                Err(Ordering::Less) => return 0..0,
                Err(_) => return (*leaf).len()..(*leaf).len(),
            };
            let (below, not_above) = equal_range(Leaf::keys(leaf), key);
            arena.prefetch_for_search(&Leaf::handles(leaf)[below..not_above]);
            below..not_above
        }
    }

    /// How many entries lie before the target, given the tied ones.
    #[inline]
    pub(super) unsafe fn count_before(
        leaf: *const Leaf,
        tied: Range<usize>,
        target: &Target<'_>,
        arena: &Arena,
    ) -> usize {
        // SAFETY: the leaf is alive and its handles are those of records.
        let handles = unsafe { &Leaf::handles(leaf)[tied.clone()] };
        tied.start + arena.partition_point(handles, |handle| target.is_behind(arena, handle))
    }

    /// The place of an entry that is in this leaf.
    pub(super) unsafe fn place_of(
        leaf: *const Leaf,
        order_bits: u64,
        handle: Handle,
    ) -> Option<usize> {
        // SAFETY: the leaf is alive.
        unsafe {
            let key = Leaf::key_of(leaf, order_bits).ok()?;
            let (below, not_above) = equal_range(Leaf::keys(leaf), key);
            if not_above == below + 1 {
                // The handles need not be looked at, which saves a wait for memory.
                debug_assert_eq!(Leaf::handle(leaf, below), handle);
                return Some(below);
            }
            position(&Leaf::handles(leaf)[below..not_above], handle).map(|at| below + at)
        }
    }

    /// The key of a score, which widens the range of keys if need be.
    unsafe fn make_key(leaf: *mut Leaf, order_bits: u64) -> u16 {
        // SAFETY: the leaf is alive and nobody else refers to its keys.
        unsafe {
            if let Ok(key) = Leaf::key_of(leaf, order_bits) {
                return key;
            }
            let units = order_bits >> (*leaf).shift;
            let keys = std::slice::from_raw_parts_mut(Leaf::keys_at(leaf), (*leaf).len());
            let (low, high) = match (keys.first(), keys.last()) {
                (Some(first), Some(last)) => (
                    (*leaf).origin + u64::from(*first),
                    (*leaf).origin + u64::from(*last),
                ),
                _ => (units, units),
            };
            let grows_down = units < low;
            let (low, high) = (low.min(units), high.max(units));
            let coarser = coarser_by(low, high);
            let spare = KEY_MAX - ((high >> coarser) - (low >> coarser));
            let origin = (low >> coarser).saturating_sub(if grows_down { spare } else { 0 });
            for key in keys {
                *key = (((*leaf).origin + u64::from(*key)) >> coarser).wrapping_sub(origin) as u16;
            }
            (*leaf).origin = origin;
            (*leaf).shift += coarser as u8;
            ((units >> coarser) - origin) as u16
        }
    }

    /// Keys in the finest unit for entries that are in place in `handles`.
    unsafe fn encode(leaf: *mut Leaf, orders: impl Iterator<Item = u64>, first: u64, last: u64) {
        // SAFETY: the leaf is alive and has room for the keys.
        unsafe {
            let shift = coarser_by(first, last);
            let spare = KEY_MAX - ((last >> shift) - (first >> shift));
            let origin = (first >> shift).saturating_sub(spare / 4);
            let keys = Leaf::keys_at(leaf);
            for (at, order_bits) in orders.enumerate() {
                keys.add(at).write(((order_bits >> shift) - origin) as u16);
            }
            (*leaf).origin = origin;
            (*leaf).shift = shift as u8;
        }
    }

    /// Makes the unit finer if few keys are in use and a finer one helps.
    unsafe fn refine(leaf: *mut Leaf, arena: &Arena) {
        // SAFETY: the leaf is alive and its handles are those of records.
        unsafe {
            let keys = Leaf::keys(leaf);
            let (Some(first), Some(last)) = (keys.first(), keys.last()) else {
                return;
            };
            if last - first >= KEY_SPAN_MIN || (*leaf).shift == 0 {
                return;
            }
            let handles = Leaf::handles(leaf);
            let order_of = |handle: &Handle| arena.score(*handle).order_bits();
            let (first, last) = (order_of(&handles[0]), order_of(&handles[handles.len() - 1]));
            if coarser_by(first, last) + 2 > u32::from((*leaf).shift) {
                return;
            }
            handles.iter().for_each(|handle| arena.prefetch(*handle));
            Leaf::encode(leaf, handles.iter().map(order_of), first, last);
        }
    }

    /// Moves the leaf to a block for `len` entries if its own is too small, or much
    /// too large. Returns the address from now on; neighbours are told, the parent
    /// is the caller's to tell.
    pub(super) unsafe fn fit(leaf: *mut Leaf, len: usize) -> *mut Leaf {
        // SAFETY: the leaf is alive; both blocks hold its entries.
        unsafe {
            let capacity = usize::from((*leaf).capacity);
            if len <= capacity && capacity_for(len + len / 4 + 2) >= capacity {
                return leaf;
            }
            let moved = Leaf::allocate(capacity_for(len));
            let entries = (*leaf).len();
            (*moved).len = (*leaf).len;
            (*moved).origin = (*leaf).origin;
            (*moved).shift = (*leaf).shift;
            (*moved).next = (*leaf).next;
            (*moved).previous = (*leaf).previous;
            std::ptr::copy_nonoverlapping(Leaf::keys_at(leaf), Leaf::keys_at(moved), entries);
            std::ptr::copy_nonoverlapping(Leaf::handles_at(leaf), Leaf::handles_at(moved), entries);
            Leaf::tell_neighbours(moved);
            Leaf::free(leaf);
            moved
        }
    }

    unsafe fn tell_neighbours(leaf: *mut Leaf) {
        // SAFETY: neighbours of a live leaf are alive.
        unsafe {
            if !(*leaf).next.is_null() {
                (*(*leaf).next).previous = leaf;
            }
            if !(*leaf).previous.is_null() {
                (*(*leaf).previous).next = leaf;
            }
        }
    }

    /// Puts `leaf` behind `previous` in the list of leaves.
    pub(super) unsafe fn link_after(previous: *mut Leaf, leaf: *mut Leaf) {
        // SAFETY: both are alive.
        unsafe {
            (*leaf).previous = previous;
            (*leaf).next = (*previous).next;
            Leaf::tell_neighbours(leaf);
        }
    }

    /// Takes the leaf out of the list of leaves.
    pub(super) unsafe fn unlink(leaf: *mut Leaf) {
        // SAFETY: neighbours of a live leaf are alive.
        unsafe {
            if !(*leaf).next.is_null() {
                (*(*leaf).next).previous = (*leaf).previous;
            }
            if !(*leaf).previous.is_null() {
                (*(*leaf).previous).next = (*leaf).next;
            }
        }
    }

    /// Adds an entry at its place. The leaf is not full. Returns its address from now on.
    pub(super) unsafe fn insert(
        leaf: *mut Leaf,
        at: usize,
        order_bits: u64,
        handle: Handle,
    ) -> *mut Leaf {
        // SAFETY: after `fit` the block has room for one more entry.
        unsafe {
            let len = (*leaf).len();
            debug_assert!(len < LEAF_MAX && at <= len);
            let leaf = Leaf::fit(leaf, len + 1);
            let key = Leaf::make_key(leaf, order_bits);
            let (keys, handles) = (Leaf::keys_at(leaf).add(at), Leaf::handles_at(leaf).add(at));
            std::ptr::copy(keys, keys.add(1), len - at);
            std::ptr::copy(handles, handles.add(1), len - at);
            keys.write(key);
            handles.write(handle);
            (*leaf).len += 1;
            leaf
        }
    }

    /// Removes `count` entries from a place on.
    pub(super) unsafe fn remove(leaf: *mut Leaf, at: usize, count: usize) {
        // SAFETY: the entries exist.
        unsafe {
            let len = (*leaf).len();
            debug_assert!(at + count <= len);
            let (keys, handles) = (Leaf::keys_at(leaf).add(at), Leaf::handles_at(leaf).add(at));
            std::ptr::copy(keys.add(count), keys, len - at - count);
            std::ptr::copy(handles.add(count), handles, len - at - count);
            (*leaf).len -= count as u16;
        }
    }

    /// Moves an entry to another place of the leaf and gives it a score and a handle.
    /// `to` counts without the entry.
    pub(super) unsafe fn relocate(
        leaf: *mut Leaf,
        from: usize,
        to: usize,
        order_bits: u64,
        handle: Handle,
    ) {
        // SAFETY: both places exist.
        unsafe {
            let key = Leaf::make_key(leaf, order_bits);
            let (keys, handles) = (Leaf::keys_at(leaf), Leaf::handles_at(leaf));
            if from < to {
                std::ptr::copy(keys.add(from + 1), keys.add(from), to - from);
                std::ptr::copy(handles.add(from + 1), handles.add(from), to - from);
            } else {
                std::ptr::copy(keys.add(to), keys.add(to + 1), from - to);
                std::ptr::copy(handles.add(to), handles.add(to + 1), from - to);
            }
            keys.add(to).write(key);
            handles.add(to).write(handle);
        }
    }

    /// Puts another handle in the place of an entry's.
    pub(super) unsafe fn set_handle(leaf: *mut Leaf, at: usize, handle: Handle) {
        // SAFETY: the place exists.
        unsafe { Leaf::handles_at(leaf).add(at).write(handle) }
    }

    /// Moves the entries from `at` on to a new leaf behind this one. Returns this
    /// leaf's address from now on, and the new leaf's.
    pub(super) unsafe fn split(
        leaf: *mut Leaf,
        at: usize,
        arena: &Arena,
    ) -> (*mut Leaf, *mut Leaf) {
        // SAFETY: the new block holds the entries that move.
        unsafe {
            let count = (*leaf).len() - at;
            let right = Leaf::allocate(capacity_for(count));
            std::ptr::copy_nonoverlapping(Leaf::keys_at(leaf).add(at), Leaf::keys_at(right), count);
            std::ptr::copy_nonoverlapping(
                Leaf::handles_at(leaf).add(at),
                Leaf::handles_at(right),
                count,
            );
            (*right).len = count as u16;
            (*right).origin = (*leaf).origin;
            (*right).shift = (*leaf).shift;
            (*leaf).len = at as u16;
            Leaf::link_after(leaf, right);
            let left = Leaf::fit(leaf, at);
            Leaf::refine(left, arena);
            Leaf::refine(right, arena);
            (left, right)
        }
    }

    /// Moves all entries of the next leaf to the end of this one and frees it.
    /// Returns this leaf's address from now on.
    pub(super) unsafe fn absorb_next(leaf: *mut Leaf, arena: &Arena) -> *mut Leaf {
        // SAFETY: both leaves are alive, and together no more than a leaf holds.
        unsafe {
            let right = (*leaf).next;
            let (count, added) = ((*leaf).len(), (*right).len());
            let leaf = Leaf::fit(leaf, count + added);
            std::ptr::copy_nonoverlapping(
                Leaf::handles_at(right),
                Leaf::handles_at(leaf).add(count),
                added,
            );
            Leaf::unlink(right);
            Leaf::free(right);
            (*leaf).len = (count + added) as u16;
            let handles = Leaf::handles(leaf);
            handles.iter().for_each(|handle| arena.prefetch(*handle));
            let order_of = |handle: &Handle| arena.score(*handle).order_bits();
            let (first, last) = (order_of(&handles[0]), order_of(&handles[handles.len() - 1]));
            Leaf::encode(leaf, handles.iter().map(order_of), first, last);
            leaf
        }
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) unsafe fn check(leaf: *const Leaf, arena: &Arena) {
        // SAFETY: the leaf is alive.
        unsafe {
            assert!((1..=LEAF_MAX).contains(&(*leaf).len()));
            assert!((*leaf).len() <= usize::from((*leaf).capacity));
            let entry = |handle: Handle| (arena.score(handle), arena.member(handle));
            let handles = Leaf::handles(leaf);
            assert!(
                handles
                    .windows(2)
                    .all(|pair| entry(pair[0]) < entry(pair[1])),
                "entries ascend"
            );
            for (key, handle) in Leaf::keys(leaf).iter().zip(handles) {
                assert_eq!(
                    Leaf::key_of(leaf, arena.score(*handle).order_bits()),
                    Ok(*key),
                    "keys are exact"
                );
            }
            let next = (*leaf).next;
            if !next.is_null() {
                assert_eq!((*next).previous.cast_const(), leaf);
                assert!(
                    entry(handles[handles.len() - 1]) < entry(Leaf::handle(next, 0)),
                    "leaves ascend"
                );
            }
        }
    }
}
