//! Inner nodes: the levels above the leaves, which tell where to descend and how
//! many entries each branch holds.
//!
//! For each child a node keeps the first entry below it (order bits and handle), its
//! address, and the count of entries below it. The four arrays share one block that
//! grows in steps, each filling a size class of the allocator.
//!
//! Invariants, which the skiplist's `check` verifies: at least one child; first
//! entries and counts are exact.

use super::TINY_PARTS;
use super::arena::{Arena, Handle};
use super::leaf::{Target, Tie};
use super::prefetch;
use super::size_class::size_class;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};

/// Children of a full node.
pub(super) const CHILDREN_MAX: usize = if TINY_PARTS { 5 } else { 63 };
/// A node with fewer children is merged with a neighbour, if both fit well.
pub(super) const MERGE_BELOW: usize = if TINY_PARTS { 2 } else { CHILDREN_MAX / 3 };
pub(super) const MERGED_MAX: usize = CHILDREN_MAX * 3 / 4;
const CHILD: usize = 24;

/// A leaf or an inner node, as the level tells.
pub(super) type Node = *mut u8;

#[repr(C)]
pub(super) struct Inner {
    len: u32,
    capacity: u32,
}

/// The head and eight bytes of rest, so that capacities of 2^n - 1 fill their classes.
const HEAD: usize = size_of::<Inner>() + 8;

/// What a node keeps of a child.
#[derive(Clone, Copy)]
pub(super) struct Child {
    pub(super) order_bits: u64,
    pub(super) first: Handle,
    pub(super) node: Node,
    pub(super) count: u32,
}

fn block_layout(capacity: usize) -> Layout {
    Layout::from_size_align(size_class(HEAD + capacity * CHILD), 8).expect("a node is small")
}

/// Capacities 7, 15, 31, 63.
fn capacity_for(len: usize) -> usize {
    ((len + 1).next_power_of_two() - 1).max(7)
}

/// Everything below takes the address of a node that is alive and that nobody else
/// borrows; that is what its safety asks.
impl Inner {
    pub(super) fn new() -> *mut Inner {
        Inner::allocate(7)
    }

    fn allocate(capacity: usize) -> *mut Inner {
        let layout = block_layout(capacity);
        // SAFETY: the size is above zero, and the head lies inside the block.
        unsafe {
            let inner = alloc(layout).cast::<Inner>();
            if inner.is_null() {
                handle_alloc_error(layout);
            }
            inner.write(Inner {
                len: 0,
                capacity: capacity as u32,
            });
            inner
        }
    }

    pub(super) unsafe fn free(inner: *mut Inner) {
        // SAFETY: allocated with the layout of its capacity.
        unsafe { dealloc(inner.cast(), block_layout((*inner).capacity as usize)) }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    pub(super) fn memory_usage(&self) -> usize {
        block_layout(self.capacity as usize).size()
    }

    /// Asks for the orders and addresses of a node that will be searched.
    #[inline]
    pub(super) fn prefetch(inner: *const Inner) {
        for line in 0..(HEAD + CHILDREN_MAX * 16).div_ceil(64) {
            prefetch(inner.cast::<u8>().wrapping_add(64 * line));
        }
    }

    #[inline]
    unsafe fn orders_at(inner: *const Inner) -> *mut u64 {
        // SAFETY: the arrays follow the head.
        unsafe { inner.cast_mut().cast::<u8>().add(HEAD).cast() }
    }

    #[inline]
    unsafe fn nodes_at(inner: *const Inner) -> *mut Node {
        // SAFETY: as above; each array has `capacity` places.
        unsafe {
            Inner::orders_at(inner)
                .add((*inner).capacity as usize)
                .cast()
        }
    }

    #[inline]
    unsafe fn counts_at(inner: *const Inner) -> *mut u32 {
        // SAFETY: as above.
        unsafe {
            Inner::nodes_at(inner)
                .add((*inner).capacity as usize)
                .cast()
        }
    }

    #[inline]
    unsafe fn firsts_at(inner: *const Inner) -> *mut Handle {
        // SAFETY: as above.
        unsafe {
            Inner::counts_at(inner)
                .add((*inner).capacity as usize)
                .cast()
        }
    }

    #[inline]
    unsafe fn counts<'a>(inner: *const Inner) -> &'a [u32] {
        // SAFETY: `len` counts are initialised.
        unsafe { std::slice::from_raw_parts(Inner::counts_at(inner), (*inner).len()) }
    }

    #[inline]
    pub(super) unsafe fn node(inner: *const Inner, slot: usize) -> Node {
        // SAFETY: the slot is that of a child.
        unsafe {
            debug_assert!(slot < (*inner).len());
            *Inner::nodes_at(inner).add(slot)
        }
    }

    #[inline]
    pub(super) unsafe fn set_node(inner: *mut Inner, slot: usize, node: Node) {
        // SAFETY: the slot is that of a child.
        unsafe { *Inner::nodes_at(inner).add(slot) = node }
    }

    #[inline]
    pub(super) unsafe fn add_count(inner: *mut Inner, slot: usize, change: isize) {
        // SAFETY: the slot is that of a child.
        unsafe {
            let count = Inner::counts_at(inner).add(slot);
            *count = (*count).wrapping_add(change as u32);
        }
    }

    #[inline]
    pub(super) unsafe fn set_first(inner: *mut Inner, slot: usize, order_bits: u64, first: Handle) {
        // SAFETY: the slot is that of a child.
        unsafe {
            *Inner::orders_at(inner).add(slot) = order_bits;
            *Inner::firsts_at(inner).add(slot) = first;
        }
    }

    pub(super) unsafe fn child(inner: *const Inner, slot: usize) -> Child {
        // SAFETY: the slot is that of a child.
        unsafe {
            debug_assert!(slot < (*inner).len());
            Child {
                order_bits: *Inner::orders_at(inner).add(slot),
                first: *Inner::firsts_at(inner).add(slot),
                node: *Inner::nodes_at(inner).add(slot),
                count: *Inner::counts_at(inner).add(slot),
            }
        }
    }

    unsafe fn write(inner: *mut Inner, slot: usize, child: Child) {
        // SAFETY: the slot is within the capacity.
        unsafe {
            *Inner::orders_at(inner).add(slot) = child.order_bits;
            *Inner::firsts_at(inner).add(slot) = child.first;
            *Inner::nodes_at(inner).add(slot) = child.node;
            *Inner::counts_at(inner).add(slot) = child.count;
        }
    }

    /// Entries below the first `slots` children.
    #[inline]
    pub(super) unsafe fn count_before(inner: *const Inner, slots: usize) -> usize {
        // SAFETY: the node is alive.
        unsafe { Inner::counts(inner)[..slots].iter().sum::<u32>() as usize }
    }

    /// Entries below the node.
    pub(super) unsafe fn count(inner: *const Inner) -> usize {
        // SAFETY: the node is alive.
        unsafe { Inner::count_before(inner, (*inner).len()) }
    }

    /// The child to descend into for a target: the last whose first entry is not
    /// behind it, or the first child.
    #[inline]
    pub(super) unsafe fn slot_for(
        inner: *const Inner,
        target: &Target<'_>,
        arena: &Arena,
    ) -> usize {
        // SAFETY: the node is alive, its first handles are those of records.
        unsafe {
            let orders = std::slice::from_raw_parts(Inner::orders_at(inner), (*inner).len());
            let mut before = orders.partition_point(|order| *order < target.order_bits);
            if before < orders.len() && orders[before] == target.order_bits {
                let tied = orders[before..].partition_point(|order| *order == target.order_bits);
                let firsts = std::slice::from_raw_parts(Inner::firsts_at(inner).add(before), tied);
                before += match target.tie {
                    Tie::Before => 0,
                    Tie::After => tied,
                    Tie::BeforeMember(member) | Tie::AfterMember(member) => {
                        arena.partition_point(firsts, |first| arena.member(first) <= member)
                    }
                };
            }
            before.saturating_sub(1)
        }
    }

    /// The child that holds the entry of a rank, which becomes the rank below it.
    #[inline]
    pub(super) unsafe fn slot_of_rank(inner: *const Inner, rank: &mut usize) -> usize {
        // SAFETY: the node is alive.
        unsafe {
            let counts = Inner::counts(inner);
            for (slot, count) in counts.iter().enumerate() {
                if *rank < *count as usize {
                    return slot;
                }
                *rank -= *count as usize;
            }
            // A rank beyond the end is behind the last entry.
            let last = counts.len() - 1;
            *rank += counts[last] as usize;
            last
        }
    }

    /// Adds a child. The node is not full. Returns its address from now on.
    pub(super) unsafe fn insert(inner: *mut Inner, slot: usize, child: Child) -> *mut Inner {
        // SAFETY: after growing, the block has room for one more child.
        unsafe {
            let len = (*inner).len();
            let inner = Inner::fit(inner, len + 1);
            let moved = len - slot;
            let (orders, nodes) = (
                Inner::orders_at(inner).add(slot),
                Inner::nodes_at(inner).add(slot),
            );
            let (counts, firsts) = (
                Inner::counts_at(inner).add(slot),
                Inner::firsts_at(inner).add(slot),
            );
            std::ptr::copy(orders, orders.add(1), moved);
            std::ptr::copy(nodes, nodes.add(1), moved);
            std::ptr::copy(counts, counts.add(1), moved);
            std::ptr::copy(firsts, firsts.add(1), moved);
            (*inner).len += 1;
            Inner::write(inner, slot, child);
            inner
        }
    }

    pub(super) unsafe fn remove(inner: *mut Inner, slot: usize) {
        // SAFETY: the slot is that of a child.
        unsafe {
            let moved = (*inner).len() - slot - 1;
            let (orders, nodes) = (
                Inner::orders_at(inner).add(slot),
                Inner::nodes_at(inner).add(slot),
            );
            let (counts, firsts) = (
                Inner::counts_at(inner).add(slot),
                Inner::firsts_at(inner).add(slot),
            );
            std::ptr::copy(orders.add(1), orders, moved);
            std::ptr::copy(nodes.add(1), nodes, moved);
            std::ptr::copy(counts.add(1), counts, moved);
            std::ptr::copy(firsts.add(1), firsts, moved);
            (*inner).len -= 1;
        }
    }

    /// Moves the node to a larger block if it needs one for `len` children.
    unsafe fn fit(inner: *mut Inner, len: usize) -> *mut Inner {
        // SAFETY: the new block holds all children.
        unsafe {
            if len <= (*inner).capacity as usize {
                return inner;
            }
            let moved = Inner::allocate(capacity_for(len));
            Inner::move_children(inner, 0, moved);
            Inner::free(inner);
            moved
        }
    }

    /// Moves the children from `slot` on to the end of another node, which has room.
    unsafe fn move_children(inner: *mut Inner, slot: usize, target: *mut Inner) {
        // SAFETY: the slots exist here and there.
        unsafe {
            for from in slot..(*inner).len() {
                let to = (*target).len();
                Inner::write(target, to, Inner::child(inner, from));
                (*target).len += 1;
            }
            (*inner).len = slot as u32;
        }
    }

    /// Moves the children from `slot` on to a new node.
    pub(super) unsafe fn split(inner: *mut Inner, slot: usize) -> *mut Inner {
        // SAFETY: the new block holds what moves.
        unsafe {
            let right = Inner::allocate(capacity_for((*inner).len() - slot));
            Inner::move_children(inner, slot, right);
            right
        }
    }

    /// Moves all children of `right`, which follows, to this node and frees it.
    /// Returns this node's address from now on.
    pub(super) unsafe fn absorb(inner: *mut Inner, right: *mut Inner) -> *mut Inner {
        // SAFETY: together they have no more children than a node takes.
        unsafe {
            let inner = Inner::fit(inner, (*inner).len() + (*right).len());
            Inner::move_children(right, 0, inner);
            Inner::free(right);
            inner
        }
    }
}
