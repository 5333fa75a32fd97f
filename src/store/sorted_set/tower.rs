//! The levels of the skiplist: leaves, and the inner nodes above them.
//!
//! Every entry is the order bits of a score and the handle of a record. The tower
//! keeps entries in order and counts them on every level, so that a descent finds a
//! place and its rank together. Nodes split when they are full (at the end of the
//! board by starting a new one, so that ascending loads leave full nodes behind) and
//! merge when both are small, so heights are a matter of the count of entries alone.
//!
//! It does not own records: whoever calls passes the arena, and keeps the records of
//! all entries alive and their scores equal to the order bits.

use super::TINY_PARTS;
use super::arena::{Arena, Handle};
use super::inner::{self, CHILDREN_MAX, Child, Inner, Node};
use super::leaf::{self, LEAF_MAX, Leaf, Target};
use std::ops::Range;

/// Levels of inner nodes. Neighbours hold 16 children on average even after
/// removals, so this is out of reach of any memory.
const HEIGHT_MAX: usize = if TINY_PARTS { 16 } else { 9 };

pub(super) struct Tower {
    /// A leaf at height 0, else an inner node; null without entries.
    root: Node,
    height: usize,
    len: usize,
    bytes: usize,
}

/// The way down to a leaf.
pub(super) struct Path {
    /// From the level above the leaves upwards: the node and the slot of the descent.
    steps: [(*mut Inner, usize); HEIGHT_MAX],
    pub(super) leaf: *mut Leaf,
    /// Entries before the leaf.
    pub(super) rank: usize,
}

/// An entry's place in a leaf.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    pub(super) leaf: *const Leaf,
    pub(super) at: usize,
}

impl Tower {
    pub(super) fn new() -> Tower {
        Tower {
            root: std::ptr::null_mut(),
            height: 0,
            len: 0,
            bytes: 0,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.root.is_null()
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.bytes
    }

    fn replace_bytes(&mut self, old: usize, new: usize) {
        self.bytes = self.bytes + new - old;
    }

    /// The leaf in which a target lies. The tower is not empty.
    #[inline]
    pub(super) fn descend(&self, target: &Target<'_>, arena: &Arena) -> Path {
        // SAFETY: nodes of the tower are alive, and levels tell their kind.
        self.descend_by(|inner| unsafe { Inner::slot_for(inner, target, arena) })
    }

    /// The same for a leaf that is about to change.
    #[inline]
    pub(super) fn descend_to_change(&self, target: &Target<'_>, arena: &Arena) -> Path {
        let path = self.descend(target, arena);
        Leaf::prefetch_all(path.leaf);
        path
    }

    #[inline]
    fn descend_by(&self, mut choose: impl FnMut(*const Inner) -> usize) -> Path {
        debug_assert!(!self.root.is_null());
        let mut path = Path {
            steps: [(std::ptr::null_mut(), 0); HEIGHT_MAX],
            leaf: std::ptr::null_mut(),
            rank: 0,
        };
        let mut node = self.root;
        for level in (0..self.height).rev() {
            let inner = node.cast::<Inner>();
            let slot = choose(inner);
            path.steps[level] = (inner, slot);
            // SAFETY: the slot is that of a child of this live node.
            unsafe {
                node = Inner::node(inner, slot);
                if level == 0 {
                    Leaf::prefetch(node.cast());
                } else {
                    Inner::prefetch(node.cast());
                }
                path.rank += Inner::count_before(inner, slot);
            }
        }
        path.leaf = node.cast();
        path
    }

    /// The leaf and place of a rank, which is below `len`.
    fn descend_to_rank(&self, rank: usize) -> (Path, usize) {
        let mut rest = rank;
        // SAFETY: nodes of the tower are alive.
        let path = self.descend_by(|inner| unsafe { Inner::slot_of_rank(inner, &mut rest) });
        (path, rest)
    }

    fn descend_to_end(&self) -> Path {
        // SAFETY: nodes of the tower are alive and have children.
        self.descend_by(|inner| unsafe { (*inner).len() - 1 })
    }

    /// How many entries lie before a target.
    #[inline]
    pub(super) fn rank_of(&self, target: &Target<'_>, arena: &Arena) -> usize {
        if self.root.is_null() {
            return 0;
        }
        let path = self.descend(target, arena);
        path.rank
            + Tower::count_before(
                &path,
                Tower::tied_range(&path, target, arena),
                target,
                arena,
            )
    }

    pub(super) fn cursor_at(&self, rank: usize) -> Cursor {
        let (path, at) = self.descend_to_rank(rank);
        Cursor {
            leaf: path.leaf,
            at,
        }
    }

    /// The handle of the first entry.
    pub(super) fn first(&self) -> Option<Handle> {
        if self.root.is_null() {
            return None;
        }
        let cursor = self.cursor_at(0);
        // SAFETY: a leaf has at least one entry.
        Some(unsafe { Leaf::handle(cursor.leaf, 0) })
    }

    /// Adds an entry, given the way to its leaf and its place there, which nothing
    /// has changed since.
    pub(super) fn insert(
        &mut self,
        mut path: Path,
        mut at: usize,
        target: &Target<'_>,
        handle: Handle,
        arena: &Arena,
    ) {
        // SAFETY: nodes on a fresh path are alive; each change below is followed by a new descent.
        unsafe {
            while (*path.leaf).len() >= LEAF_MAX {
                if self.has_room_for_leaf(&path, arena) {
                    if self.extends(&path, at) {
                        return self.insert_leaf_of_one(&path, at, target.order_bits, handle);
                    }
                    self.split_leaf(&path, arena);
                }
                path = self.descend(target, arena);
                let tied = Leaf::tied_range(path.leaf, target, arena);
                at = Leaf::count_before(path.leaf, tied, target, arena);
            }
            self.insert_at(&path, at, target.order_bits, handle);
        }
    }

    /// Adds the first entry.
    pub(super) fn insert_first(&mut self, order_bits: u64, handle: Handle, arena: &Arena) {
        debug_assert!(self.root.is_null());
        let entry = [(order_bits, handle)];
        self.append_leaf(&entry, arena);
    }

    pub(super) fn is_full(path: &Path) -> bool {
        // SAFETY: the path is fresh.
        unsafe { (*path.leaf).len() >= LEAF_MAX }
    }

    /// Adds an entry at a place of a leaf that is not full.
    pub(super) fn insert_at(&mut self, path: &Path, at: usize, order_bits: u64, handle: Handle) {
        // SAFETY: the path is fresh.
        unsafe {
            let before = (*path.leaf).memory_usage();
            let leaf = Leaf::insert(path.leaf, at, order_bits, handle);
            self.replace_bytes(before, (*leaf).memory_usage());
            self.set_node(path, 0, leaf.cast());
            self.add_counts(path, 0, 1);
            self.len += 1;
            if at == 0 {
                self.set_first(path, 0, order_bits, handle);
            }
        }
    }

    /// Whether an entry at this place of a full leaf is the first or last of all.
    unsafe fn extends(&self, path: &Path, at: usize) -> bool {
        // SAFETY: the path is fresh.
        unsafe {
            let leaf = &*path.leaf;
            (at == 0 && leaf.previous.is_null()) || (at == leaf.len() && leaf.next.is_null())
        }
    }

    unsafe fn insert_leaf_of_one(
        &mut self,
        path: &Path,
        at: usize,
        order_bits: u64,
        handle: Handle,
    ) {
        let leaf = Leaf::build(&[(order_bits, handle)]);
        let child = Child {
            order_bits,
            first: handle,
            node: leaf.cast(),
            count: 1,
        };
        // SAFETY: the path is fresh, and the node above the leaves has room.
        unsafe {
            self.bytes += (*leaf).memory_usage();
            self.len += 1;
            if at == 0 {
                (*leaf).next = path.leaf;
                (*path.leaf).previous = leaf;
                self.insert_child(path, 0, 0, child);
                self.set_first(path, 1, order_bits, handle);
            } else {
                Leaf::link_after(path.leaf, leaf);
                self.insert_child(path, 0, path.steps[0].1 + 1, child);
            }
            self.add_counts(path, 1, 1);
        }
    }

    unsafe fn split_leaf(&mut self, path: &Path, arena: &Arena) {
        // SAFETY: the path is fresh, and the node above the leaves has room.
        unsafe {
            let before = (*path.leaf).memory_usage();
            let (left, right) = Leaf::split(path.leaf, LEAF_MAX / 2, arena);
            self.replace_bytes(before, (*left).memory_usage() + (*right).memory_usage());
            self.set_node(path, 0, left.cast());
            let first = Leaf::handle(right, 0);
            let count = (*right).len();
            let order_bits = arena.score(first).order_bits();
            Inner::add_count(path.steps[0].0, path.steps[0].1, -(count as isize));
            let child = Child {
                order_bits,
                first,
                node: right.cast(),
                count: count as u32,
            };
            self.insert_child(path, 0, path.steps[0].1 + 1, child);
        }
    }

    /// Whether the node above the leaves takes another child. If not, makes one step
    /// towards it, after which the path is stale.
    unsafe fn has_room_for_leaf(&mut self, path: &Path, arena: &Arena) -> bool {
        // SAFETY: the path is fresh.
        unsafe {
            let full = |level: usize| (*path.steps[level].0).len() >= CHILDREN_MAX;
            let Some(open) = (0..self.height).find(|level| !full(*level)) else {
                self.grow(arena);
                return false;
            };
            if open == 0 {
                return true;
            }
            let level = open - 1;
            let (inner, slot) = path.steps[level];
            let at_end = path.steps[level..self.height]
                .iter()
                .all(|(inner, slot)| slot + 1 == (**inner).len());
            let before = (*inner).memory_usage();
            // A single child moves on at the end of the board.
            let right = Inner::split(inner, if at_end { slot } else { CHILDREN_MAX / 2 });
            self.replace_bytes(before, (*inner).memory_usage() + (*right).memory_usage());
            let count = Inner::count(right);
            let first = Inner::child(right, 0);
            let (parent, parent_slot) = path.steps[open];
            Inner::add_count(parent, parent_slot, -(count as isize));
            let child = Child {
                node: right.cast(),
                count: count as u32,
                ..first
            };
            self.insert_child(path, open, parent_slot + 1, child);
            false
        }
    }

    /// Puts a new root above the old one.
    unsafe fn grow(&mut self, arena: &Arena) {
        assert!(self.height < HEIGHT_MAX, "heights are logarithmic");
        // SAFETY: the old root is alive and not empty; the new one has room.
        unsafe {
            let (order_bits, first) = if self.height > 0 {
                let child = Inner::child(self.root.cast(), 0);
                (child.order_bits, child.first)
            } else {
                let first = Leaf::handle(self.root.cast(), 0);
                (arena.score(first).order_bits(), first)
            };
            let child = Child {
                order_bits,
                first,
                node: self.root,
                count: self.len as u32,
            };
            let root = Inner::insert(Inner::new(), 0, child);
            self.bytes += (*root).memory_usage();
            self.root = root.cast();
            self.height += 1;
        }
    }

    /// Adds a child to the node at a level of the path.
    unsafe fn insert_child(&mut self, path: &Path, level: usize, slot: usize, child: Child) {
        // SAFETY: the path is fresh, and the node has room.
        unsafe {
            let inner = path.steps[level].0;
            let before = (*inner).memory_usage();
            let inner = Inner::insert(inner, slot, child);
            self.replace_bytes(before, (*inner).memory_usage());
            self.set_node(path, level + 1, inner.cast());
        }
    }

    /// Tells the parent of a level's node its address.
    #[inline]
    unsafe fn set_node(&mut self, path: &Path, level: usize, node: Node) {
        if level == self.height {
            self.root = node;
        } else {
            let (inner, slot) = path.steps[level];
            // SAFETY: the path is fresh.
            unsafe { Inner::set_node(inner, slot, node) };
        }
    }

    #[inline]
    unsafe fn add_counts(&mut self, path: &Path, level: usize, change: isize) {
        for (inner, slot) in &path.steps[level..self.height.max(level)] {
            // SAFETY: the path is fresh.
            unsafe { Inner::add_count(*inner, *slot, change) };
        }
    }

    /// Tells the nodes from a level on that the first entry below the path has changed.
    unsafe fn set_first(&mut self, path: &Path, level: usize, order_bits: u64, first: Handle) {
        for (inner, slot) in &path.steps[level..self.height.max(level)] {
            // SAFETY: the path is fresh.
            unsafe { Inner::set_first(*inner, *slot, order_bits, first) };
            if *slot != 0 {
                break;
            }
        }
    }

    /// The place of an entry in the leaf of its path.
    #[inline]
    pub(super) fn place_of(path: &Path, order_bits: u64, handle: Handle) -> usize {
        // SAFETY: the path is fresh.
        let place = unsafe { Leaf::place_of(path.leaf, order_bits, handle) };
        place.expect("the index names entries of the tower only")
    }

    /// The entries of the leaf that only their records can compare with a target.
    #[inline]
    pub(super) fn tied_range(path: &Path, target: &Target<'_>, arena: &Arena) -> Range<usize> {
        // SAFETY: the path is fresh.
        unsafe { Leaf::tied_range(path.leaf, target, arena) }
    }

    /// How many entries of the leaf lie before a target, given the tied ones.
    #[inline]
    pub(super) fn count_before(
        path: &Path,
        tied: Range<usize>,
        target: &Target<'_>,
        arena: &Arena,
    ) -> usize {
        // SAFETY: the path is fresh.
        unsafe { Leaf::count_before(path.leaf, tied, target, arena) }
    }

    /// Whether removing one entry leaves the leaf as it is otherwise.
    pub(super) fn stays_after_removal(&self, path: &Path) -> bool {
        // SAFETY: the path is fresh.
        unsafe {
            (*path.leaf).len()
                > if self.height == 0 {
                    1
                } else {
                    leaf::MERGE_BELOW
                }
        }
    }

    /// Removes entries that follow each other in the leaf of a path.
    pub(super) fn remove_at(&mut self, path: &Path, at: usize, count: usize, arena: &Arena) {
        // SAFETY: the path is fresh.
        unsafe {
            Leaf::remove(path.leaf, at, count);
            self.add_counts(path, 0, -(count as isize));
            self.len -= count;
            let len = (*path.leaf).len();
            let before = (*path.leaf).memory_usage();
            if len == 0 {
                Leaf::unlink(path.leaf);
                Leaf::free(path.leaf);
                self.bytes -= before;
                return self.remove_child(path, 0);
            }
            let leaf = Leaf::fit(path.leaf, len);
            self.replace_bytes(before, (*leaf).memory_usage());
            self.set_node(path, 0, leaf.cast());
            if at == 0 {
                let first = Leaf::handle(leaf, 0);
                self.set_first(path, 0, arena.score(first).order_bits(), first);
            }
            if len < leaf::MERGE_BELOW && self.height > 0 {
                self.merge_leaf(path, arena);
            }
        }
    }

    unsafe fn merge_leaf(&mut self, path: &Path, arena: &Arena) {
        // SAFETY: the path is fresh but for the address of the leaf.
        unsafe {
            let (parent, slot) = path.steps[0];
            let leaf_at = |slot: usize| Inner::node(parent, slot).cast::<Leaf>();
            let fits = |left: usize| {
                left + 1 < (*parent).len()
                    && (*leaf_at(left)).len() + (*leaf_at(left + 1)).len() <= leaf::MERGED_MAX
            };
            let left = if fits(slot) {
                slot
            } else if slot > 0 && fits(slot - 1) {
                slot - 1
            } else {
                return;
            };
            let before = (*leaf_at(left)).memory_usage() + (*leaf_at(left + 1)).memory_usage();
            let merged = Leaf::absorb_next(leaf_at(left), arena);
            self.replace_bytes(before, (*merged).memory_usage());
            self.close_gap(path, 0, left, merged.cast());
        }
    }

    /// After two children became one: tells their parent, at a level of the path.
    unsafe fn close_gap(&mut self, path: &Path, level: usize, left: usize, merged: Node) {
        // SAFETY: the node at this level is alive.
        unsafe {
            let parent = path.steps[level].0;
            let added = Inner::child(parent, left + 1).count;
            Inner::set_node(parent, left, merged);
            Inner::add_count(parent, left, added as isize);
            Inner::remove(parent, left + 1);
            self.balance(path, level);
        }
    }

    /// After the child of a path at a level was freed.
    unsafe fn remove_child(&mut self, path: &Path, level: usize) {
        if level == self.height {
            self.root = std::ptr::null_mut();
            self.height = 0;
            return;
        }
        // SAFETY: the path is fresh from this level on.
        unsafe {
            let (inner, slot) = path.steps[level];
            Inner::remove(inner, slot);
            if (*inner).len() == 0 {
                self.bytes -= (*inner).memory_usage();
                Inner::free(inner);
                return self.remove_child(path, level + 1);
            }
            if slot == 0 {
                let first = Inner::child(inner, 0);
                self.set_first(path, level + 1, first.order_bits, first.first);
            }
            self.balance(path, level);
        }
    }

    /// After the node at a level lost a child: merges it, or lowers the root.
    unsafe fn balance(&mut self, path: &Path, level: usize) {
        // SAFETY: nodes of the path from this level on are alive.
        unsafe {
            let inner = path.steps[level].0;
            if level + 1 == self.height {
                while self.height > 0 && (*self.root.cast::<Inner>()).len() == 1 {
                    let root = self.root.cast::<Inner>();
                    self.root = Inner::node(root, 0);
                    self.bytes -= (*root).memory_usage();
                    Inner::free(root);
                    self.height -= 1;
                }
                return;
            }
            if (*inner).len() >= inner::MERGE_BELOW {
                return;
            }
            let (parent, slot) = path.steps[level + 1];
            let node_at = |slot: usize| Inner::node(parent, slot).cast::<Inner>();
            let fits = |left: usize| {
                left + 1 < (*parent).len()
                    && (*node_at(left)).len() + (*node_at(left + 1)).len() <= inner::MERGED_MAX
            };
            let left = if fits(slot) {
                slot
            } else if slot > 0 && fits(slot - 1) {
                slot - 1
            } else {
                return;
            };
            let before = (*node_at(left)).memory_usage() + (*node_at(left + 1)).memory_usage();
            let merged = Inner::absorb(node_at(left), node_at(left + 1));
            self.replace_bytes(before, (*merged).memory_usage());
            self.close_gap(path, level + 1, left, merged.cast());
        }
    }

    /// Moves an entry within the leaf of its path; `to` counts without the entry.
    pub(super) fn relocate(
        &mut self,
        path: &Path,
        from: usize,
        to: usize,
        order_bits: u64,
        handle: Handle,
        arena: &Arena,
    ) {
        // SAFETY: the path is fresh.
        unsafe {
            Leaf::relocate(path.leaf, from, to, order_bits, handle);
            if to == 0 {
                self.set_first(path, 0, order_bits, handle);
            } else if from == 0 {
                let first = Leaf::handle(path.leaf, 0);
                self.set_first(path, 0, arena.score(first).order_bits(), first);
            }
        }
    }

    /// Puts another handle in the place of an entry's.
    pub(super) fn set_handle(&mut self, path: &Path, at: usize, order_bits: u64, handle: Handle) {
        // SAFETY: the path is fresh.
        unsafe {
            Leaf::set_handle(path.leaf, at, handle);
            if at == 0 {
                self.set_first(path, 0, order_bits, handle);
            }
        }
    }

    /// Removes up to `count` entries from a rank on, as many as are in one leaf, and
    /// returns their handles.
    pub(super) fn remove_run(&mut self, rank: usize, count: usize, arena: &Arena) -> Vec<Handle> {
        let (path, at) = self.descend_to_rank(rank);
        // SAFETY: the path is fresh.
        let handles = unsafe { &Leaf::handles(path.leaf)[at..] };
        let handles = handles[..count.min(handles.len())].to_vec();
        self.remove_at(&path, at, handles.len(), arena);
        handles
    }

    /// Adds a leaf of entries that sort behind all others.
    pub(super) fn append_leaf(&mut self, entries: &[(u64, Handle)], arena: &Arena) {
        let leaf = Leaf::build(entries);
        // SAFETY: the leaf is alive; paths are fresh.
        unsafe {
            if self.root.is_null() {
                self.root = leaf.cast();
            } else {
                let mut path = self.descend_to_end();
                while !self.has_room_for_leaf(&path, arena) {
                    path = self.descend_to_end();
                }
                Leaf::link_after(path.leaf, leaf);
                let (order_bits, first) = entries[0];
                let child = Child {
                    order_bits,
                    first,
                    node: leaf.cast(),
                    count: entries.len() as u32,
                };
                self.insert_child(&path, 0, path.steps[0].1 + 1, child);
                self.add_counts(&path, 1, entries.len() as isize);
            }
            self.bytes += (*leaf).memory_usage();
            self.len += entries.len();
        }
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn check(&self, arena: &Arena) {
        if self.root.is_null() {
            assert_eq!((self.len, self.height, self.bytes), (0, 0, 0));
            return;
        }
        let mut leaves = Vec::new();
        let (_, count, bytes) = self.check_node(self.root, self.height, arena, &mut leaves);
        assert_eq!((count, bytes), (self.len, self.bytes));
        // SAFETY: leaves are alive.
        unsafe {
            assert!((*leaves[0]).previous.is_null());
            for (at, leaf) in leaves.iter().enumerate() {
                assert_eq!(
                    (**leaf).next.cast_const(),
                    leaves.get(at + 1).copied().unwrap_or(std::ptr::null())
                );
            }
        }
    }

    /// The first entry, the count of entries and the bytes below a node.
    #[cfg(any(test, feature = "fuzzing"))]
    fn check_node(
        &self,
        node: Node,
        height: usize,
        arena: &Arena,
        leaves: &mut Vec<*const Leaf>,
    ) -> ((u64, Handle), usize, usize) {
        // SAFETY: nodes of the tower are alive.
        unsafe {
            if height == 0 {
                let leaf = node.cast::<Leaf>();
                Leaf::check(leaf, arena);
                leaves.push(leaf);
                let first = Leaf::handle(leaf, 0);
                return (
                    (arena.score(first).order_bits(), first),
                    (*leaf).len(),
                    (*leaf).memory_usage(),
                );
            }
            let inner = node.cast::<Inner>();
            assert!((1..=CHILDREN_MAX).contains(&(*inner).len()));
            assert!(
                height < self.height || (*inner).len() > 1,
                "a root has two children"
            );
            let (mut total, mut bytes) = (0, (*inner).memory_usage());
            for slot in 0..(*inner).len() {
                let child = Inner::child(inner, slot);
                let (first, count, below) = self.check_node(child.node, height - 1, arena, leaves);
                assert_eq!(
                    (child.order_bits, child.first),
                    first,
                    "first entries are exact"
                );
                assert_eq!(child.count as usize, count, "counts are exact");
                total += count;
                bytes += below;
            }
            let first = Inner::child(inner, 0);
            ((first.order_bits, first.first), total, bytes)
        }
    }

    /// Frees a node and what is below it.
    unsafe fn free_node(node: Node, height: usize) {
        // SAFETY: nobody refers to the node any more.
        unsafe {
            if height == 0 {
                return Leaf::free(node.cast());
            }
            let inner = node.cast::<Inner>();
            for slot in 0..(*inner).len() {
                Tower::free_node(Inner::node(inner, slot), height - 1);
            }
            Inner::free(inner);
        }
    }
}

impl Drop for Tower {
    fn drop(&mut self) {
        if !self.root.is_null() {
            // SAFETY: the tower owns its nodes.
            unsafe { Tower::free_node(self.root, self.height) };
        }
    }
}
