//! The big encoding: a simple form that keeps the order in one vector.

use super::Update;
use super::range::Edge;
use super::score::Score;
use std::collections::BTreeMap;
use std::hash::BuildHasher;

#[derive(Clone, Default)]
pub(super) struct Skiplist {
    order: Vec<(Score, Box<[u8]>)>,
    index: BTreeMap<(u64, Box<[u8]>), Score>,
}

fn hash_of(member: &[u8]) -> u64 {
    static HASHER: std::sync::OnceLock<foldhash::quality::RandomState> = std::sync::OnceLock::new();
    HASHER.get_or_init(Default::default).hash_one(member) >> 16
}

pub(super) type SkiplistIter<'a> = std::slice::Iter<'a, (Score, Box<[u8]>)>;

impl Skiplist {
    pub(super) fn new() -> Skiplist {
        Skiplist::default()
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn memory_usage(&self) -> usize {
        let members: usize = self.order.iter().map(|(_, member)| member.len()).sum();
        self.order.capacity() * 24 + self.len() * 48 + 2 * members
    }

    pub(super) fn score(&self, member: &[u8]) -> Option<Score> {
        self.index.get(&(hash_of(member), member.into())).copied()
    }

    pub(super) fn rank(&self, member: &[u8]) -> Option<(usize, Score)> {
        let score = self.score(member)?;
        Some((self.rank_of_edge(Edge::BeforeEntry(score, member)), score))
    }

    pub(super) fn update_with(
        &mut self,
        member: &[u8],
        f: impl FnOnce(Option<Score>) -> Option<Score>,
    ) -> Update {
        let old = self.score(member);
        let Some(new) = f(old) else {
            return Update { old, new: old };
        };
        if old != Some(new) {
            self.remove(member);
            let rank = self.rank_of_edge(Edge::BeforeEntry(new, member));
            self.order.insert(rank, (new, member.into()));
            self.index.insert((hash_of(member), member.into()), new);
        }
        Update {
            old,
            new: Some(new),
        }
    }

    /// Adds a member that is absent and sorts behind all others.
    pub(super) fn push(&mut self, member: &[u8], score: Score) {
        self.order.push((score, member.into()));
        self.index.insert((hash_of(member), member.into()), score);
    }

    pub(super) fn remove(&mut self, member: &[u8]) -> Option<Score> {
        let score = self.index.remove(&(hash_of(member), member.into()))?;
        let rank = self.rank_of_edge(Edge::BeforeEntry(score, member));
        self.order.remove(rank);
        Some(score)
    }

    pub(super) fn rank_of_edge(&self, edge: Edge<'_>) -> usize {
        self.order
            .partition_point(|(score, member)| !edge.precedes(*score, member))
    }

    pub(super) fn range(&self, first: usize, end: usize) -> SkiplistIter<'_> {
        self.order[first..end].iter()
    }

    pub(super) fn remove_rank_range(
        &mut self,
        first: usize,
        end: usize,
        removed: &mut dyn FnMut(&[u8], Score),
    ) {
        for (score, member) in self.order.drain(first..end) {
            removed(&member, score);
            self.index.remove(&(hash_of(&member), member));
        }
    }

    pub(super) fn scan(
        &self,
        cursor: u64,
        count: usize,
        found: &mut dyn FnMut(&[u8], Score),
    ) -> u64 {
        let mut last = None;
        for (reported, ((hash, member), score)) in
            self.index.range((cursor, Box::default())..).enumerate()
        {
            if reported >= count.max(1) && last != Some(*hash) {
                return *hash;
            }
            found(member, *score);
            last = Some(*hash);
        }
        0
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn check(&self) {
        assert!(self.order.is_sorted());
        assert_eq!(self.order.len(), self.index.len());
    }
}
