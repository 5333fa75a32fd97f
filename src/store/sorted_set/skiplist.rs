//! The big encoding: a blocked skiplist over an arena of records, and an index of
//! members.
//!
//! Each member is one record of the arena. The tower keeps the handles in order of
//! score and member, the index finds a handle by its member. A member's score is
//! stored in its record alone; the tower's keys and first entries derive from it.
//!
//! Most time goes to waiting for memory, so work that does not depend on other work
//! is begun early: a change of score descends to both of its places before it touches
//! either leaf, and walks ask for records ahead of use.
//!
//! Invariants, which `check` verifies: those of the three parts, and that index,
//! tower and arena hold the same records.

use super::Update;
use super::arena::{Arena, Handle};
use super::index::{Index, hash_of};
use super::leaf::{BULK_LEN, Leaf, Target, Tie};
use super::range::Edge;
use super::score::Score;
use super::tower::{Cursor, Tower};
use crate::store::watch::MemberWatch;
use std::sync::Arc;

/// Records moved for each one removed while chunks of the arena are given back.
const EVACUATED_PER_REMOVAL: usize = 4;
/// Members whose memory is asked for at once.
const PREFETCH_MEMBERS_MAX: usize = 16;
/// Records asked for ahead of a walk.
const PREFETCH_AHEAD: usize = 8;

pub(super) struct Skiplist {
    tower: Tower,
    index: Index,
    arena: Arena,
    /// A snapshot that walks over this board; a copy has none.
    watch: Option<Arc<dyn MemberWatch>>,
}

// SAFETY: all memory behind the pointers is owned, and nothing in it refers to a thread.
unsafe impl Send for Skiplist {}
// SAFETY: a shared reference only reads.
unsafe impl Sync for Skiplist {}

impl Skiplist {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.tower.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.arena.is_full()
    }

    pub(super) fn memory_usage(&self) -> usize {
        super::size_class::size_class(size_of::<Skiplist>())
            + self.arena.memory_usage()
            + self.index.memory_usage()
            + self.tower.memory_usage()
    }

    #[inline]
    pub(super) fn score(&self, member: &[u8]) -> Option<Score> {
        self.score_hashed(hash_of(member), member)
    }

    #[inline]
    pub(super) fn score_hashed(&self, hash: u64, member: &[u8]) -> Option<Score> {
        self.index
            .find(hash, &self.arena, member)
            .map(|handle| self.arena.score(handle))
    }

    pub(super) fn rank(&self, member: &[u8]) -> Option<(usize, Score)> {
        let handle = self.index.find(hash_of(member), &self.arena, member)?;
        let score = self.arena.score(handle);
        let target = Target::entry(score, member);
        let path = self.tower.descend(&target, &self.arena);
        Some((
            path.rank + Tower::place_of(&path, target.order_bits, handle),
            score,
        ))
    }

    pub(super) fn update_with(
        &mut self,
        member: &[u8],
        f: impl FnOnce(Option<Score>) -> Option<Score>,
    ) -> Update {
        let hash = hash_of(member);
        let Some(handle) = self.index.find(hash, &self.arena, member) else {
            let new = f(None);
            if let Some(score) = new {
                self.announce(member, None);
                self.add(hash, member, score);
            }
            return Update { old: None, new };
        };
        let old = self.arena.score(handle);
        let Some(new) = f(Some(old)) else {
            return Update {
                old: Some(old),
                new: Some(old),
            };
        };
        if new != old {
            self.announce(member, Some(old));
            self.rescore(hash, handle, member, old, new);
        }
        Update {
            old: Some(old),
            new: Some(new),
        }
    }

    /// Tells everyone who wants to know of changes to come.
    pub(super) fn set_watch(&mut self, watch: Arc<dyn MemberWatch>) {
        self.watch = Some(watch);
    }

    #[inline]
    fn announce(&mut self, member: &[u8], old: Option<Score>) {
        if let Some(watch) = &self.watch
            && !watch.before_change(member, old)
        {
            self.watch = None;
        }
    }

    /// Adds a member that is absent.
    fn add(&mut self, hash: u64, member: &[u8], score: Score) {
        let target = Target::entry(score, member);
        if self.tower.is_empty() {
            let handle = self.arena.insert(member, score);
            self.index.insert(hash, handle, &self.arena);
            return self
                .tower
                .insert_first(target.order_bits, handle, &self.arena);
        }
        // The leaf arrives while the record is written, the records of tied entries
        // while the index is.
        let path = self.tower.descend_to_change(&target, &self.arena);
        let handle = self.arena.insert(member, score);
        let tied = Tower::tied_range(&path, &target, &self.arena);
        self.index.insert(hash, handle, &self.arena);
        let at = Tower::count_before(&path, tied, &target, &self.arena);
        self.tower.insert(path, at, &target, handle, &self.arena);
    }

    fn rescore(&mut self, hash: u64, handle: Handle, member: &[u8], old: Score, new: Score) {
        let (from, to) = (Target::entry(old, member), Target::entry(new, member));
        let path_from = self.tower.descend_to_change(&from, &self.arena);
        let path_to = self.tower.descend_to_change(&to, &self.arena);
        let tied = Tower::tied_range(&path_to, &to, &self.arena);
        let at_from = Tower::place_of(&path_from, from.order_bits, handle);
        let at_to = Tower::count_before(&path_to, tied, &to, &self.arena);
        // From here on nothing compares with this record until it is in its new place.
        let new_handle = if self.arena.set_score(handle, new) {
            handle
        } else {
            let new_handle = self.arena.insert(member, new);
            self.index.replace(hash, handle, new_handle);
            new_handle
        };
        if path_from.leaf == path_to.leaf {
            let at_to = at_to - usize::from(at_to > at_from);
            self.tower.relocate(
                &path_from,
                at_from,
                at_to,
                to.order_bits,
                new_handle,
                &self.arena,
            );
        } else if self.tower.stays_after_removal(&path_from) && !Tower::is_full(&path_to) {
            self.tower.remove_at(&path_from, at_from, 1, &self.arena);
            self.tower
                .insert_at(&path_to, at_to, to.order_bits, new_handle);
        } else {
            self.tower.remove_at(&path_from, at_from, 1, &self.arena);
            let path = self.tower.descend(&to, &self.arena);
            let tied = Tower::tied_range(&path, &to, &self.arena);
            let at = Tower::count_before(&path, tied, &to, &self.arena);
            self.tower.insert(path, at, &to, new_handle, &self.arena);
        }
        if new_handle != handle {
            self.arena.remove(handle);
            self.evacuate(1);
        }
    }

    pub(super) fn remove(&mut self, member: &[u8]) -> Option<Score> {
        let hash = hash_of(member);
        let handle = self.index.find(hash, &self.arena, member)?;
        let score = self.arena.score(handle);
        self.announce(member, Some(score));
        let target = Target::entry(score, member);
        let path = self.tower.descend_to_change(&target, &self.arena);
        self.index.remove(hash, handle, &self.arena);
        let at = Tower::place_of(&path, target.order_bits, handle);
        self.tower.remove_at(&path, at, 1, &self.arena);
        self.arena.remove(handle);
        self.evacuate(1);
        Some(score)
    }

    /// After so many removals: moves a few records out of a chunk that is to be given
    /// back. Every record is in the tower and in the index.
    #[inline]
    fn evacuate(&mut self, removed: usize) {
        if !self.arena.wants_evacuation() {
            return;
        }
        for _ in 0..removed * EVACUATED_PER_REMOVAL {
            let Some(old) = self.arena.evacuee() else {
                return;
            };
            let member = self.arena.member(old);
            let hash = hash_of(member);
            let target = Target::entry(self.arena.score(old), member);
            let order_bits = target.order_bits;
            let path = self.tower.descend(&target, &self.arena);
            let at = Tower::place_of(&path, order_bits, old);
            // Nothing may look at the old copy after this.
            let new = self.arena.relocate(old);
            self.tower.set_handle(&path, at, order_bits, new);
            self.index.replace(hash, old, new);
        }
    }

    pub(super) fn rank_of_edge(&self, edge: Edge<'_>) -> usize {
        // On a board of equal scores, a place among members is one behind the first score.
        let tied = |tie| {
            let first = self.tower.first()?;
            Some(Target {
                order_bits: self.arena.score(first).order_bits(),
                tie,
            })
        };
        let target = match edge {
            Edge::Start => return 0,
            Edge::End => return self.len(),
            Edge::BeforeScore(score) => Some(Target {
                order_bits: score.order_bits(),
                tie: Tie::Before,
            }),
            Edge::AfterScore(score) => Some(Target {
                order_bits: score.order_bits(),
                tie: Tie::After,
            }),
            Edge::BeforeEntry(score, member) => Some(Target::entry(score, member)),
            Edge::BeforeMember(member) => tied(Tie::BeforeMember(member)),
            Edge::AfterMember(member) => tied(Tie::AfterMember(member)),
        };
        target.map_or(0, |target| self.tower.rank_of(&target, &self.arena))
    }

    pub(super) fn range(&self, first: usize, end: usize) -> SkiplistIter<'_> {
        SkiplistIter {
            list: self,
            front: None,
            back: None,
            first,
            end,
        }
    }

    pub(super) fn remove_rank_range(
        &mut self,
        first: usize,
        end: usize,
        removed: &mut dyn FnMut(&[u8], Score),
    ) {
        let mut left = end - first;
        while left > 0 {
            let handles = self.tower.remove_run(first, left, &self.arena);
            for handle in &handles {
                self.arena.prefetch(*handle);
            }
            let count = handles.len();
            left -= count;
            for handle in handles {
                let member = self.arena.member(handle);
                let score = self.arena.score(handle);
                if let Some(watch) = &self.watch
                    && !watch.before_change(member, Some(score))
                {
                    self.watch = None;
                }
                removed(member, score);
                self.index.remove(hash_of(member), handle, &self.arena);
                self.arena.remove(handle);
            }
            self.evacuate(count);
        }
    }

    pub(super) fn scan(
        &self,
        cursor: u64,
        count: usize,
        found: &mut dyn FnMut(&[u8], Score),
    ) -> u64 {
        self.index.scan(cursor, count, &self.arena, |handle| {
            found(self.arena.member(handle), self.arena.score(handle))
        })
    }

    /// Tells of every member in the order of memory, which is the fastest.
    pub(super) fn for_each_unordered<'a>(&'a self, mut visit: impl FnMut(&'a [u8], Score)) {
        for handle in self.arena.handles() {
            visit(self.arena.member(handle), self.arena.score(handle));
        }
    }

    /// Asks for what `score_hashed` will look at first.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        self.index.prefetch(hash);
    }

    /// Asks for the memory that finding these members will need, all of it at once.
    pub(super) fn prefetch_members(&self, members: &[&[u8]]) {
        let mut hashes = [0; PREFETCH_MEMBERS_MAX];
        for members in members.chunks(PREFETCH_MEMBERS_MAX) {
            let hashes = &mut hashes[..members.len()];
            for (hash, member) in hashes.iter_mut().zip(members) {
                *hash = hash_of(member);
                self.index.prefetch(*hash);
            }
            for &hash in &*hashes {
                if let Some(handle) = self.index.candidate(hash) {
                    self.arena.prefetch(handle);
                }
            }
        }
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn check(&self) {
        self.arena.check(self.len());
        self.index.check(&self.arena, self.len());
        self.tower.check(&self.arena);
        let mut entries = self.range(0, self.len());
        while let Some(handle) = entries.next_handle() {
            let member = self.arena.member(handle);
            assert_eq!(
                self.index.find(hash_of(member), &self.arena, member),
                Some(handle)
            );
        }
    }
}

impl Clone for Skiplist {
    fn clone(&self) -> Self {
        let mut builder = Builder::new(self.len());
        let mut entries = self.range(0, self.len());
        while let Some((member, score)) = entries.next() {
            builder.push(member, score);
        }
        builder.finish()
    }
}

impl Drop for Skiplist {
    fn drop(&mut self) {
        if self.arena.has_external() {
            let handles: Vec<_> = self.arena.handles().collect();
            for handle in handles {
                self.arena.remove(handle);
            }
        }
    }
}

/// Builds a skiplist from members in order, in linear time.
pub(super) struct Builder {
    list: Skiplist,
    pending: Vec<(u64, Handle)>,
}

impl Builder {
    /// `expected` members are provided for; more or fewer may come.
    pub(super) fn new(expected: usize) -> Builder {
        let list = Skiplist {
            tower: Tower::new(),
            index: Index::new(expected),
            arena: Arena::new(),
            watch: None,
        };
        Builder {
            list,
            pending: Vec::with_capacity(BULK_LEN),
        }
    }

    /// Adds a member that sorts behind all others.
    pub(super) fn push(&mut self, member: &[u8], score: Score) {
        self.push_hashed(hash_of(member), member, score);
    }

    pub(super) fn push_hashed(&mut self, hash: u64, member: &[u8], score: Score) {
        let handle = self.list.arena.insert(member, score);
        self.list.index.insert(hash, handle, &self.list.arena);
        self.pending.push((score.order_bits(), handle));
        if self.pending.len() == BULK_LEN {
            self.flush();
        }
    }

    /// Asks for what a push with this hash will look at first.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        self.list.index.prefetch(hash);
    }

    fn flush(&mut self) {
        if !self.pending.is_empty() {
            self.list.tower.append_leaf(&self.pending, &self.list.arena);
            self.pending.clear();
        }
    }

    pub(super) fn finish(mut self) -> Skiplist {
        self.flush();
        self.list
    }
}

/// Entries of a skiplist in order, from both ends. Descends to an end when it is
/// first asked for.
pub(super) struct SkiplistIter<'a> {
    list: &'a Skiplist,
    front: Option<Cursor>,
    back: Option<Cursor>,
    first: usize,
    end: usize,
}

impl<'a> SkiplistIter<'a> {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.end - self.first
    }

    fn prefetch(&self, leaf: *const Leaf, ats: std::ops::Range<usize>) {
        for at in ats {
            // SAFETY: the caller passes places of a live leaf.
            self.list.arena.prefetch(unsafe { Leaf::handle(leaf, at) });
        }
    }

    #[inline]
    fn next_handle(&mut self) -> Option<Handle> {
        if self.first == self.end {
            return None;
        }
        let left = self.end - self.first;
        // SAFETY: leaves are alive while the skiplist is borrowed; as long as entries are left,
        // a leaf that is used up has a next one.
        unsafe {
            let (mut cursor, fresh) = match self.front {
                Some(cursor) if cursor.at < (*cursor.leaf).len() => (cursor, false),
                Some(cursor) => (
                    Cursor {
                        leaf: (*cursor.leaf).next,
                        at: 0,
                    },
                    true,
                ),
                None => (self.list.tower.cursor_at(self.first), true),
            };
            let ahead = cursor.at + PREFETCH_AHEAD.min(left - 1);
            let len = (*cursor.leaf).len();
            if fresh {
                Leaf::prefetch((*cursor.leaf).next);
                self.prefetch(cursor.leaf, cursor.at..ahead.min(len));
            }
            if left > PREFETCH_AHEAD && ahead < len {
                self.prefetch(cursor.leaf, ahead..ahead + 1);
            }
            let handle = Leaf::handle(cursor.leaf, cursor.at);
            cursor.at += 1;
            self.front = Some(cursor);
            self.first += 1;
            Some(handle)
        }
    }

    #[inline]
    fn next_back_handle(&mut self) -> Option<Handle> {
        if self.first == self.end {
            return None;
        }
        let left = self.end - self.first;
        // SAFETY: as in `next_handle`, in the other direction.
        unsafe {
            // The entry told last is at the cursor.
            let (cursor, fresh) = match self.back {
                Some(cursor) if cursor.at > 0 => (
                    Cursor {
                        at: cursor.at - 1,
                        ..cursor
                    },
                    false,
                ),
                Some(cursor) => {
                    let leaf = (*cursor.leaf).previous;
                    (
                        Cursor {
                            leaf,
                            at: (*leaf).len() - 1,
                        },
                        true,
                    )
                }
                None => (self.list.tower.cursor_at(self.end - 1), true),
            };
            if fresh {
                Leaf::prefetch((*cursor.leaf).previous);
                let ahead = PREFETCH_AHEAD.min(left - 1);
                self.prefetch(cursor.leaf, cursor.at.saturating_sub(ahead)..cursor.at);
            } else if left > PREFETCH_AHEAD && cursor.at >= PREFETCH_AHEAD {
                let ahead = cursor.at - PREFETCH_AHEAD;
                self.prefetch(cursor.leaf, ahead..ahead + 1);
            }
            self.back = Some(cursor);
            self.end -= 1;
            Some(Leaf::handle(cursor.leaf, cursor.at))
        }
    }

    #[inline]
    fn entry(&self, handle: Handle) -> (&'a [u8], Score) {
        (
            self.list.arena.member(handle),
            self.list.arena.score(handle),
        )
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<(&'a [u8], Score)> {
        self.next_handle().map(|handle| self.entry(handle))
    }

    #[inline]
    pub(super) fn next_back(&mut self) -> Option<(&'a [u8], Score)> {
        self.next_back_handle().map(|handle| self.entry(handle))
    }
}
