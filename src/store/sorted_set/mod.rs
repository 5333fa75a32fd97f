//! The board: members with scores, in order of score and member.
//!
//! A board is one word. Up to the thresholds of its caller it lives in one flat
//! block of memory ([`Encoding::Listpack`], after Redis's name for it); beyond them
//! it becomes a blocked skiplist with an index of members ([`Encoding::Skiplist`]),
//! and stays one, as in Redis. Nobody outside this module branches on that.
//!
//! It knows nothing of commands, replies, keys or time. Ranks count from zero in
//! ascending order; a caller that wants the highest score first walks backwards.

mod arena;
mod index;
mod inner;
mod lanes;
mod leaf;
pub mod merge;
mod range;
mod score;
mod size_class;
mod skiplist;
mod small;
mod tower;

#[cfg(any(test, feature = "fuzzing"))]
pub mod model;

pub use range::{LexBound, LexRange, ScoreRange};
pub use score::Score;

use crate::store::watch::MemberWatch;
use range::Edge;
use skiplist::{Builder, Skiplist, SkiplistIter};
use small::{Small, SmallIter};
use std::iter::FusedIterator;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr::NonNull;

/// Tests and fuzzers work with tiny parts: few entries then reach every split and merge.
const TINY_PARTS: bool = cfg!(any(test, feature = "fuzzing"));

/// Up to where a board stays in the small encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// Setting zset-max-listpack-entries.
    pub max_entries: usize,
    /// Setting zset-max-listpack-value: longest member, in bytes.
    pub max_value: usize,
}

impl Thresholds {
    /// For a board that is known to outgrow the small encoding.
    pub const NEVER_SMALL: Thresholds = Thresholds {
        max_entries: 0,
        max_value: 0,
    };
}

impl Default for Thresholds {
    /// Redis's defaults.
    fn default() -> Self {
        Thresholds {
            max_entries: 128,
            max_value: 64,
        }
    }
}

impl Thresholds {
    /// Whether a small board may take another member.
    fn admit(&self, small: &Small, member: &[u8]) -> bool {
        small.len() < self.max_entries
            && member.len() <= self.max_value
            && small.has_room(member.len())
    }

    /// Whether a board may begin small with this member.
    fn admit_first(&self, member: &[u8]) -> bool {
        self.max_entries > 0
            && member.len() <= self.max_value
            && Small::may_begin_with(member.len())
    }
}

/// What OBJECT ENCODING calls the form in which a board is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Listpack,
    Skiplist,
}

impl Encoding {
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Listpack => "listpack",
            Encoding::Skiplist => "skiplist",
        }
    }
}

/// The score of a member before and after an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update {
    /// `None` if the member was absent.
    pub old: Option<Score>,
    /// `None` if the member is still absent.
    pub new: Option<Score>,
}

impl Update {
    pub fn added(&self) -> bool {
        self.old.is_none() && self.new.is_some()
    }

    pub fn changed(&self) -> bool {
        self.old != self.new
    }
}

/// Marks the pointer to a skiplist; blocks and skiplists are aligned to 8.
const SKIPLIST_TAG: usize = 1;

/// A board. An empty one owns no memory.
pub struct SortedSet {
    /// Null, a block from `Small::into_raw`, or a tagged pointer from `Box::into_raw`.
    word: *mut u8,
}

// SAFETY: the word owns what it points at, and both forms can be sent and shared.
unsafe impl Send for SortedSet {}
// SAFETY: as above; a shared reference only reads.
unsafe impl Sync for SortedSet {}

enum Owned {
    Empty,
    Small(Small),
    Big(Box<Skiplist>),
}

enum View<'a> {
    Empty,
    Small(&'a Small),
    Big(&'a Skiplist),
}

impl SortedSet {
    pub const fn new() -> SortedSet {
        SortedSet {
            word: std::ptr::null_mut(),
        }
    }

    #[inline]
    fn is_big(&self) -> bool {
        self.word.addr() & SKIPLIST_TAG != 0
    }

    #[inline]
    fn big(&self) -> *mut Skiplist {
        self.word.map_addr(|address| address & !SKIPLIST_TAG).cast()
    }

    #[inline]
    fn small(&self) -> Option<ManuallyDrop<Small>> {
        // SAFETY: an untagged word is null or owned by this board; the value is not dropped.
        NonNull::new(self.word).map(|block| ManuallyDrop::new(unsafe { Small::from_raw(block) }))
    }

    #[inline]
    fn with_view<R>(&self, f: impl FnOnce(View<'_>) -> R) -> R {
        if self.is_big() {
            // SAFETY: a tagged word points at a skiplist that this board owns.
            f(View::Big(unsafe { &*self.big() }))
        } else {
            match self.small() {
                None => f(View::Empty),
                Some(small) => f(View::Small(&small)),
            }
        }
    }

    /// Moves the content out, leaving the board empty.
    #[inline]
    fn take(&mut self) -> Owned {
        let taken = SortedSet {
            word: std::mem::replace(&mut self.word, std::ptr::null_mut()),
        };
        let taken = ManuallyDrop::new(taken);
        if taken.is_big() {
            // SAFETY: the pointer came from `Box::into_raw` and nothing else owns it now.
            Owned::Big(unsafe { Box::from_raw(taken.big()) })
        } else {
            taken.small().map_or(Owned::Empty, |small| {
                Owned::Small(ManuallyDrop::into_inner(small))
            })
        }
    }

    /// Puts content into the empty board.
    #[inline]
    fn put(&mut self, owned: Owned) {
        debug_assert!(self.word.is_null());
        self.word = match owned {
            Owned::Empty => std::ptr::null_mut(),
            Owned::Small(small) if small.len() == 0 => std::ptr::null_mut(),
            Owned::Small(small) => small.into_raw().as_ptr(),
            Owned::Big(big) if big.len() == 0 => std::ptr::null_mut(),
            Owned::Big(big) => Box::into_raw(big)
                .cast::<u8>()
                .map_addr(|address| address | SKIPLIST_TAG),
        };
    }

    /// O(1).
    #[inline]
    pub fn len(&self) -> usize {
        self.with_view(|view| match view {
            View::Empty => 0,
            View::Small(small) => small.len(),
            View::Big(big) => big.len(),
        })
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.word.is_null()
    }

    pub fn encoding(&self) -> Encoding {
        if self.is_big() {
            Encoding::Skiplist
        } else {
            Encoding::Listpack
        }
    }

    /// Whether the board should take no more members: its records fill 15 of the 16 GiB that it can address, some
    /// 600 million members of 20 bytes. One that grows on regardless ends as if memory ran out. O(1).
    pub fn is_full(&self) -> bool {
        self.as_big().is_some_and(Skiplist::is_full)
    }

    /// Bytes of heap that the board occupies, in sizes of the allocator. O(1).
    pub fn memory_usage(&self) -> usize {
        self.with_view(|view| match view {
            View::Empty => 0,
            View::Small(small) => small.memory_usage(),
            View::Big(big) => big.memory_usage(),
        })
    }

    /// O(1) in the big encoding.
    #[inline]
    pub fn score(&self, member: &[u8]) -> Option<Score> {
        self.with_view(|view| match view {
            View::Empty => None,
            View::Small(small) => small.find(member).map(|(_, place)| small.score_at(place)),
            View::Big(big) => big.score(member),
        })
    }

    /// Asks for the memory that finding these members will need: for a batch of commands on one board.
    pub fn prefetch_members(&self, members: &[&[u8]]) {
        if let Some(big) = self.as_big() {
            big.prefetch_members(members);
        }
    }

    /// The ascending rank of a member and its score. O(log n).
    #[inline]
    pub fn rank(&self, member: &[u8]) -> Option<(usize, Score)> {
        self.with_view(|view| match view {
            View::Empty => None,
            View::Small(small) => small
                .find(member)
                .map(|(rank, place)| (rank, small.score_at(place))),
            View::Big(big) => big.rank(member),
        })
    }

    /// Looks `member` up once and lets `f` decide on its score: `f` gets the old
    /// score (`None` if absent) and returns the new one, or `None` to change nothing.
    /// O(log n).
    pub fn update_with(
        &mut self,
        member: &[u8],
        thresholds: Thresholds,
        f: impl FnOnce(Option<Score>) -> Option<Score>,
    ) -> Update {
        if self.is_big() {
            // SAFETY: a tagged word points at a skiplist that this board owns alone.
            return unsafe { &mut *self.big() }.update_with(member, f);
        }
        let Some(mut small) = self.small() else {
            let new = f(None);
            if let Some(score) = new {
                self.insert_first(member, score, thresholds);
            }
            return Update { old: None, new };
        };
        let place = small.find(member).map(|(_, place)| place);
        let old = place.map(|place| small.score_at(place));
        let new = f(old);
        match (place, new) {
            (_, None) => return Update { old, new: old },
            (Some(place), Some(score)) if old != Some(score) => {
                small.rescore(place, member, score);
                self.word = ManuallyDrop::into_inner(small).into_raw().as_ptr();
            }
            (Some(_), Some(_)) => {}
            (None, Some(score)) => {
                self.word = std::ptr::null_mut();
                self.insert_into_small(ManuallyDrop::into_inner(small), member, score, thresholds);
            }
        }
        Update { old, new }
    }

    /// Adds a member to an empty board.
    fn insert_first(&mut self, member: &[u8], score: Score, thresholds: Thresholds) {
        if thresholds.admit_first(member) {
            self.put(Owned::Small(Small::with_entry(member, score)));
        } else {
            self.insert_into_small(Small::new(), member, score, thresholds);
        }
    }

    /// Adds an absent member to what was taken out of the board, and puts it back.
    fn insert_into_small(
        &mut self,
        mut small: Small,
        member: &[u8],
        score: Score,
        thresholds: Thresholds,
    ) {
        if thresholds.admit(&small, member) {
            small.insert(member, score);
            self.put(Owned::Small(small));
            return;
        }
        let mut big = Box::new(convert(&small, small.len() + 1, &[]).finish());
        big.update_with(member, |_| Some(score));
        self.put(Owned::Big(big));
    }

    /// Leaves the small encoding for good, as some commands of Redis make a board do. O(n) the first time.
    pub fn outgrow(&mut self) {
        if self.is_big() || self.is_empty() {
            return;
        }
        let small = SortedSet {
            word: std::mem::replace(&mut self.word, std::ptr::null_mut()),
        };
        *self = SortedSet::from_sorted(&small, Thresholds::NEVER_SMALL);
    }

    /// Sets the score of a member; returns the old one. O(log n).
    pub fn insert(&mut self, member: &[u8], score: Score, thresholds: Thresholds) -> Option<Score> {
        self.update_with(member, thresholds, |_| Some(score)).old
    }

    /// Removes a member; returns its score. O(log n).
    pub fn remove(&mut self, member: &[u8]) -> Option<Score> {
        let mut owned = self.take();
        let old = match &mut owned {
            Owned::Empty => None,
            Owned::Small(small) => small.find(member).map(|(_, place)| {
                let score = small.score_at(place);
                small.remove(place);
                score
            }),
            Owned::Big(big) => big.remove(member),
        };
        self.put(owned);
        old
    }

    fn rank_of_edge(&self, edge: Edge<'_>) -> usize {
        self.with_view(|view| match view {
            View::Empty => 0,
            View::Small(small) => small.rank_of_edge(edge),
            View::Big(big) => big.rank_of_edge(edge),
        })
    }

    /// The ranks of the members with scores in `range`; an empty range of ranks if
    /// there are none. O(log n).
    pub fn rank_range_by_score(&self, range: &ScoreRange) -> Range<usize> {
        let first = self.rank_of_edge(range.first_edge());
        first..self.rank_of_edge(range.end_edge()).max(first)
    }

    /// The ranks of the members in `range`, on a board of equal scores. On other
    /// boards the answer is some range of ranks. O(log n).
    pub fn rank_range_by_lex(&self, range: &LexRange<'_>) -> Range<usize> {
        let first = self.rank_of_edge(range.first_edge());
        first..self.rank_of_edge(range.end_edge()).max(first)
    }

    fn clamp(&self, ranks: Range<usize>) -> (usize, usize) {
        let end = ranks.end.min(self.len());
        (ranks.start.min(end), end)
    }

    /// The member at an ascending rank. O(log n).
    pub fn at(&self, rank: usize) -> Option<(&[u8], Score)> {
        self.range(rank..rank.saturating_add(1)).next()
    }

    /// Members in ascending order; ranks beyond the end are left out. O(log n) to
    /// start from either end, then O(1) each.
    pub fn range(&self, ranks: Range<usize>) -> Iter<'_> {
        let (first, end) = self.clamp(ranks);
        if first == end {
            return Iter {
                form: IterForm::Empty,
            };
        }
        if self.is_big() {
            // SAFETY: a tagged word points at a skiplist that this board owns; it stays
            // unchanged while the board is borrowed.
            let big = unsafe { &*self.big() };
            return Iter {
                form: IterForm::Big(big.range(first, end)),
            };
        }
        // SAFETY: `Small` is a transparent wrapper around the pointer that `word` is, and
        // `word` is not null because the board is not empty.
        let small = unsafe { &*(&raw const self.word).cast::<Small>() };
        Iter {
            form: IterForm::Small(small.range(first, end)),
        }
    }

    pub fn iter(&self) -> Iter<'_> {
        self.range(0..self.len())
    }

    /// Removes the members with these ranks, telling each to `removed` first.
    /// O(log n + removed).
    pub fn remove_rank_range(
        &mut self,
        ranks: Range<usize>,
        mut removed: impl FnMut(&[u8], Score),
    ) {
        let (first, end) = self.clamp(ranks);
        if first == end {
            return;
        }
        let mut owned = self.take();
        match &mut owned {
            Owned::Empty => {}
            Owned::Small(small) => small.remove_rank_range(first, end, &mut removed),
            Owned::Big(big) => big.remove_rank_range(first, end, &mut removed),
        }
        self.put(owned);
    }

    fn pop_at(&mut self, rank: usize) -> Option<(Box<[u8]>, Score)> {
        let mut popped = None;
        self.remove_rank_range(rank..rank + 1, |member, score| {
            popped = Some((Box::from(member), score))
        });
        popped
    }

    /// Removes the member with the least score. O(log n).
    pub fn pop_first(&mut self) -> Option<(Box<[u8]>, Score)> {
        self.pop_at(0)
    }

    /// Removes the member with the greatest score. O(log n).
    pub fn pop_last(&mut self) -> Option<(Box<[u8]>, Score)> {
        self.pop_at(self.len().checked_sub(1)?)
    }

    /// One step of an iteration that starts and ends with cursor 0 and tells about
    /// `count` members a step. A member that stays from the first step to the last is
    /// told at least once, however the board changes in between. A small board is
    /// told in one step.
    pub fn scan(&self, cursor: u64, count: usize, mut found: impl FnMut(&[u8], Score)) -> u64 {
        if self.is_big() {
            // SAFETY: a tagged word points at a skiplist that this board owns.
            return unsafe { &*self.big() }.scan(cursor, count, &mut found);
        }
        for (member, score) in self {
            found(member, score);
        }
        0
    }

    /// How many members stand before this entry, whether it is there or not. O(log n).
    pub fn rank_before(&self, score: Score, member: &[u8]) -> usize {
        self.rank_of_edge(Edge::BeforeEntry(score, member))
    }

    /// Has changes of members told before they happen; false for a small board.
    pub fn set_watch(&mut self, watch: std::sync::Arc<dyn MemberWatch>) -> bool {
        if self.is_big() {
            // SAFETY: a tagged word points at a skiplist that this board owns alone.
            unsafe { &mut *self.big() }.set_watch(watch);
        }
        self.is_big()
    }

    /// Builds a board from entries that ascend strictly by score and member. O(n).
    pub fn from_sorted<'a>(
        entries: impl IntoIterator<Item = (&'a [u8], Score)>,
        thresholds: Thresholds,
    ) -> SortedSet {
        let mut entries = entries.into_iter();
        let mut small = Small::new();
        let mut board = SortedSet::new();
        // The small encoding drops the sign of zero, and the entries may have to leave it again.
        let mut negative_zeros = Vec::new();
        while let Some((member, score)) = entries.next() {
            if thresholds.admit(&small, member) {
                if score.is_negative_zero() {
                    negative_zeros.push(small.len());
                }
                small.push(member, score);
                continue;
            }
            let expected = small.len() + 1 + entries.size_hint().0;
            let mut builder = convert(&small, expected, &negative_zeros);
            builder.push(member, score);
            entries.for_each(|(member, score)| builder.push(member, score));
            board.put(Owned::Big(Box::new(builder.finish())));
            return board;
        }
        board.put(Owned::Small(small));
        board
    }

    /// Builds a board from distinct members in any order. O(n log n), most of it a
    /// sort of pointers.
    pub fn from_unsorted(mut entries: Vec<(&[u8], Score)>, thresholds: Thresholds) -> SortedSet {
        entries.sort_unstable_by(|a, b| (a.1, a.0).cmp(&(b.1, b.0)));
        SortedSet::from_sorted(entries, thresholds)
    }

    fn from_big(list: Skiplist) -> SortedSet {
        let mut board = SortedSet::new();
        board.put(Owned::Big(Box::new(list)));
        board
    }

    /// The skiplist, if the board has outgrown the small encoding.
    fn as_big(&self) -> Option<&Skiplist> {
        // SAFETY: a tagged word points at a skiplist that this board owns.
        self.is_big().then(|| unsafe { &*self.big() })
    }

    /// Verifies the invariants of the encoding.
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn check(&self) {
        self.with_view(|view| match view {
            View::Empty => {}
            View::Small(small) => {
                assert_ne!(small.len(), 0, "a board without members owns nothing");
                small.check();
            }
            View::Big(big) => {
                assert_ne!(big.len(), 0, "a board without members owns nothing");
                big.check();
            }
        });
    }
}

/// Starts a skiplist with the members of a small board; the scores at some ranks, which ascend, are negative zero.
fn convert(small: &Small, expected: usize, negative_zeros: &[usize]) -> Builder {
    let mut builder = Builder::new(expected);
    let mut entries = small.range(0, small.len());
    let mut rank = 0;
    while let Some((member, score)) = entries.next() {
        let is_negative_zero = negative_zeros.binary_search(&rank).is_ok();
        builder.push(
            member,
            if is_negative_zero {
                Score::NEGATIVE_ZERO
            } else {
                score
            },
        );
        rank += 1;
    }
    builder
}

/// Asks for the cache line of an address, which need not be valid.
#[inline]
fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

impl Default for SortedSet {
    fn default() -> Self {
        SortedSet::new()
    }
}

impl Drop for SortedSet {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl Clone for SortedSet {
    fn clone(&self) -> Self {
        let mut board = SortedSet::new();
        board.put(self.with_view(|view| match view {
            View::Empty => Owned::Empty,
            View::Small(small) => Owned::Small(small.clone()),
            View::Big(big) => Owned::Big(Box::new(big.clone())),
        }));
        board
    }
}

impl std::fmt::Debug for SortedSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map()
            .entries(
                self.iter()
                    .map(|(member, score)| (member.escape_ascii().to_string(), score)),
            )
            .finish()
    }
}

impl PartialEq for SortedSet {
    /// Equal content, whatever the encoding.
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for SortedSet {}

impl<'a> IntoIterator for &'a SortedSet {
    type Item = (&'a [u8], Score);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Members of a board in order, from both ends.
pub struct Iter<'a> {
    form: IterForm<'a>,
}

enum IterForm<'a> {
    Empty,
    Small(SmallIter<'a>),
    Big(SkiplistIter<'a>),
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a [u8], Score);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.form {
            IterForm::Empty => None,
            IterForm::Small(entries) => entries.next(),
            IterForm::Big(entries) => entries.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match &self.form {
            IterForm::Empty => 0,
            IterForm::Small(entries) => entries.len(),
            IterForm::Big(entries) => entries.len(),
        };
        (left, Some(left))
    }
}

impl DoubleEndedIterator for Iter<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.form {
            IterForm::Empty => None,
            IterForm::Small(entries) => entries.next_back(),
            IterForm::Big(entries) => entries.next_back(),
        }
    }
}

impl ExactSizeIterator for Iter<'_> {}
impl FusedIterator for Iter<'_> {}

#[cfg(test)]
mod tests;
