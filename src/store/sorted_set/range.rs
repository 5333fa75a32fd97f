//! Ranges over a board, by score and by member, and the edges they end at.

use super::score::Score;
use std::cmp::Ordering;
use std::ops::Bound;

/// Scores from `min` to `max`. May be empty (`min` above `max`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreRange {
    pub min: Bound<Score>,
    pub max: Bound<Score>,
}

impl ScoreRange {
    pub const ALL: ScoreRange = ScoreRange {
        min: Bound::Unbounded,
        max: Bound::Unbounded,
    };

    pub fn contains(&self, score: Score) -> bool {
        self.first_edge().precedes(score, b"") && !self.end_edge().precedes(score, b"")
    }

    pub(super) fn first_edge(&self) -> Edge<'static> {
        match self.min {
            Bound::Unbounded => Edge::Start,
            Bound::Included(score) => Edge::BeforeScore(score),
            Bound::Excluded(score) => Edge::AfterScore(score),
        }
    }

    pub(super) fn end_edge(&self) -> Edge<'static> {
        match self.max {
            Bound::Unbounded => Edge::End,
            Bound::Included(score) => Edge::AfterScore(score),
            Bound::Excluded(score) => Edge::BeforeScore(score),
        }
    }
}

/// One end of a range by member: `-`, `+`, `[member`, `(member`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LexBound<'a> {
    Min,
    Max,
    Included(&'a [u8]),
    Excluded(&'a [u8]),
}

/// Members from `min` to `max` in byte order, on a board of equal scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LexRange<'a> {
    pub min: LexBound<'a>,
    pub max: LexBound<'a>,
}

impl<'a> LexRange<'a> {
    pub fn contains(&self, member: &[u8]) -> bool {
        self.first_edge().precedes(Score::ZERO, member)
            && !self.end_edge().precedes(Score::ZERO, member)
    }

    pub(super) fn first_edge(&self) -> Edge<'a> {
        match self.min {
            LexBound::Min => Edge::Start,
            LexBound::Max => Edge::End,
            LexBound::Included(member) => Edge::BeforeMember(member),
            LexBound::Excluded(member) => Edge::AfterMember(member),
        }
    }

    pub(super) fn end_edge(&self) -> Edge<'a> {
        match self.max {
            LexBound::Min => Edge::Start,
            LexBound::Max => Edge::End,
            LexBound::Included(member) => Edge::AfterMember(member),
            LexBound::Excluded(member) => Edge::BeforeMember(member),
        }
    }
}

/// A place between two entries.
#[derive(Clone, Copy, Debug)]
pub(super) enum Edge<'a> {
    Start,
    End,
    BeforeScore(Score),
    AfterScore(Score),
    /// Looks at members alone: meaningful on a board of equal scores.
    BeforeMember(&'a [u8]),
    AfterMember(&'a [u8]),
    /// The place of an entry in the order of the board.
    BeforeEntry(Score, &'a [u8]),
}

impl Edge<'_> {
    /// Whether the edge lies before the entry.
    #[inline]
    pub(super) fn precedes(&self, score: Score, member: &[u8]) -> bool {
        match self {
            Edge::Start => true,
            Edge::End => false,
            Edge::BeforeScore(edge) => *edge <= score,
            Edge::AfterScore(edge) => *edge < score,
            Edge::BeforeMember(edge) => *edge <= member,
            Edge::AfterMember(edge) => *edge < member,
            Edge::BeforeEntry(edge, edge_member) => match edge.cmp(&score) {
                Ordering::Less => true,
                Ordering::Greater => false,
                Ordering::Equal => *edge_member <= member,
            },
        }
    }
}
