//! Ranges as commands write them, and what they mean on a board.
//!
//! Whatever a client asks for ends as a range of ascending ranks; a reversed
//! request walks that range from its end.

use crate::resp::error::CommandError;
use crate::resp::number::{parse_i64, parse_range_double};
use crate::store::sorted_set::{LexBound, LexRange, Score, ScoreRange};
use std::ops::{Bound, Range};

/// `5`, `(5`, `-inf`.
fn parse_score_bound(text: &[u8]) -> Option<Bound<Score>> {
    match text {
        [b'(', text @ ..] => Some(Bound::Excluded(Score::new(parse_range_double(text)?)?)),
        text => Some(Bound::Included(Score::new(parse_range_double(text)?)?)),
    }
}

/// The scores between two bounds, the lower one first.
pub fn parse_score_range(min: &[u8], max: &[u8]) -> Result<ScoreRange, CommandError> {
    match (parse_score_bound(min), parse_score_bound(max)) {
        (Some(min), Some(max)) => Ok(ScoreRange { min, max }),
        _ => Err(CommandError::MinMaxNotFloat),
    }
}

/// `-`, `+`, `[member`, `(member`. As in Redis, a NUL after a sign ends the text.
fn parse_lex_bound(text: &[u8]) -> Option<LexBound<'_>> {
    match text {
        [b'-'] | [b'-', 0, ..] => Some(LexBound::Min),
        [b'+'] | [b'+', 0, ..] => Some(LexBound::Max),
        [b'(', member @ ..] => Some(LexBound::Excluded(member)),
        [b'[', member @ ..] => Some(LexBound::Included(member)),
        _ => None,
    }
}

/// The members between two bounds, the lower one first.
pub fn parse_lex_range<'a>(min: &'a [u8], max: &'a [u8]) -> Result<LexRange<'a>, CommandError> {
    match (parse_lex_bound(min), parse_lex_bound(max)) {
        (Some(min), Some(max)) => Ok(LexRange { min, max }),
        _ => Err(CommandError::MinMaxNotString),
    }
}

/// Ranks from `start` to `stop`, both included; negative ones count from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankRange {
    start: i64,
    stop: i64,
}

impl RankRange {
    pub fn parse(start: &[u8], stop: &[u8]) -> Result<Self, CommandError> {
        match (parse_i64(start), parse_i64(stop)) {
            (Some(start), Some(stop)) => Ok(Self { start, stop }),
            _ => Err(CommandError::NotInteger),
        }
    }

    /// The ranks on a board of `len` members.
    pub fn on(self, len: usize) -> Range<usize> {
        let from_end = |rank: i64| len.saturating_sub(rank.unsigned_abs() as usize);
        let start = if self.start < 0 {
            from_end(self.start)
        } else {
            self.start as usize
        };
        let end = if self.stop < 0 {
            // The rank itself is included; before the first one nothing is.
            match from_end(self.stop) {
                0 if self.stop.unsigned_abs() as usize > len => 0,
                stop => stop + 1,
            }
        } else {
            (self.stop as usize).saturating_add(1).min(len)
        };
        start.min(end)..end
    }

    /// As [`RankRange::on`], for ranks that count from the highest score.
    pub fn on_reversed(self, len: usize) -> Range<usize> {
        let ranks = self.on(len);
        len - ranks.end..len - ranks.start
    }
}

/// LIMIT: members to pass over and members to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Negative: nothing is shown.
    pub offset: i64,
    /// Negative: all are shown.
    pub count: i64,
}

impl Limit {
    pub const NONE: Limit = Limit {
        offset: 0,
        count: -1,
    };

    pub fn parse(offset: &[u8], count: &[u8]) -> Result<Self, CommandError> {
        match (parse_i64(offset), parse_i64(count)) {
            (Some(offset), Some(count)) => Ok(Self { offset, count }),
            _ => Err(CommandError::NotInteger),
        }
    }

    /// The part of `ranks` that is shown, passing over those at the start, or at the end when reversed.
    pub fn on(self, ranks: Range<usize>, reversed: bool) -> Range<usize> {
        let offset = usize::try_from(self.offset)
            .unwrap_or(usize::MAX)
            .min(ranks.len());
        let count = usize::try_from(self.count)
            .unwrap_or(usize::MAX)
            .min(ranks.len() - offset);
        if reversed {
            let end = ranks.end - offset;
            end - count..end
        } else {
            let start = ranks.start + offset;
            start..start + count
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(start: i64, stop: i64, len: usize) -> Range<usize> {
        RankRange { start, stop }.on(len)
    }

    #[test]
    fn ranks_count_from_both_ends() {
        assert_eq!(ranks(0, -1, 5), 0..5);
        assert_eq!(ranks(1, 3, 5), 1..4);
        assert_eq!(ranks(-2, -1, 5), 3..5);
        assert_eq!(ranks(-100, -5, 5), 0..1);
        assert_eq!(ranks(2, 2, 5), 2..3);
        assert_eq!(RankRange { start: 0, stop: 1 }.on_reversed(5), 3..5);
        assert_eq!(
            RankRange {
                start: -1,
                stop: -1
            }
            .on_reversed(5),
            0..1
        );
    }

    #[test]
    fn ranks_outside_the_board_are_empty() {
        for (start, stop) in [(3, 1), (5, 9), (-1, 0), (0, -6), (-9, -6), (4, -3)] {
            assert!(ranks(start, stop, 5).is_empty(), "{start} {stop}");
            let reversed = RankRange { start, stop }.on_reversed(5);
            assert!(reversed.is_empty() && reversed.end <= 5, "{start} {stop}");
        }
        assert!(ranks(0, -1, 0).is_empty());
        assert!(ranks(0, 0, 0).is_empty());
    }

    #[test]
    fn ranks_beyond_32_bits_are_ranks() {
        assert_eq!(ranks(0, 1 << 32, 5), 0..5);
        assert_eq!(ranks(1, i64::MAX, 5), 1..5);
        assert!(ranks(1 << 32, 1 << 33, 5).is_empty());
        assert_eq!(ranks(i64::MIN, i64::MAX, 5), 0..5);
        assert!(ranks(i64::MAX, i64::MIN, 5).is_empty());
        assert!(ranks(0, -(1 << 32), 5).is_empty());
    }

    #[test]
    fn a_limit_passes_over_members_at_the_end_it_starts_from() {
        let limit = |offset, count| Limit { offset, count };
        assert_eq!(Limit::NONE.on(3..9, false), 3..9);
        assert_eq!(Limit::NONE.on(3..9, true), 3..9);
        assert_eq!(limit(1, 2).on(3..9, false), 4..6);
        assert_eq!(limit(1, 2).on(3..9, true), 6..8);
        assert_eq!(limit(4, 100).on(3..9, false), 7..9);
        assert_eq!(limit(4, 100).on(3..9, true), 3..5);
        assert_eq!(limit(2, -7).on(3..9, false), 5..9);
        for (offset, count) in [(0, 0), (-1, 5), (-1, -1), (6, 1), (i64::MAX, i64::MAX)] {
            assert!(limit(offset, count).on(3..9, false).is_empty());
            assert!(limit(offset, count).on(3..9, true).is_empty());
            assert!(limit(offset, count).on(0..0, true).is_empty());
        }
    }

    #[test]
    fn bounds_of_scores_are_read_as_redis_reads_them() {
        let score = |value| Score::new(value).unwrap();
        let bound = parse_score_bound;
        assert_eq!(bound(b"5"), Some(Bound::Included(score(5.0))));
        assert_eq!(bound(b"(5"), Some(Bound::Excluded(score(5.0))));
        assert_eq!(bound(b"-inf"), Some(Bound::Included(Score::MIN)));
        assert_eq!(bound(b"(+inf"), Some(Bound::Excluded(Score::MAX)));
        assert_eq!(bound(b""), Some(Bound::Included(Score::ZERO)));
        assert_eq!(bound(b"("), Some(Bound::Excluded(Score::ZERO)));
        assert_eq!(bound(b"1e400"), Some(Bound::Included(Score::MAX)));
        for text in ["nan", "(nan", "((1", "1 ", "a", "0x1", "[1", "1.2.3"] {
            assert_eq!(bound(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn bounds_of_members_need_a_bracket_or_a_sign() {
        assert_eq!(parse_lex_bound(b"-"), Some(LexBound::Min));
        assert_eq!(parse_lex_bound(b"+"), Some(LexBound::Max));
        assert_eq!(parse_lex_bound(b"+\0x"), Some(LexBound::Max));
        assert_eq!(parse_lex_bound(b"["), Some(LexBound::Included(b"")));
        assert_eq!(parse_lex_bound(b"(a b"), Some(LexBound::Excluded(b"a b")));
        assert_eq!(
            parse_lex_bound(b"[\0\xff"),
            Some(LexBound::Included(b"\0\xff"))
        );
        for text in ["", "a", "-5", "+x", "--", "5"] {
            assert_eq!(parse_lex_bound(text.as_bytes()), None, "{text}");
        }
    }
}
