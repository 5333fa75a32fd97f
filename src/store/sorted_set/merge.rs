//! Union, intersection and difference of boards and sets (ZUNION and its family).
//!
//! A plain set takes part as a board on which every member has score 1. Scores follow
//! Redis: a score is multiplied by the weight of its input, a product or a sum that is
//! not a number counts as 0, inputs are combined from the smallest to the largest.

use super::{Score, SortedSet, Thresholds};
use crate::store::set::{Member, Set};
use hashbrown::HashMap;

/// How the scores of one member in several inputs become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Aggregate {
    #[default]
    Sum,
    Min,
    Max,
}

/// The result of a merge: members, still in the memory of the inputs, in the order of a board.
#[derive(Default)]
pub struct Merged<'s> {
    entries: Vec<(&'s [u8], Score)>,
}

impl<'s> Merged<'s> {
    fn from_unsorted(mut entries: Vec<(&'s [u8], Score)>) -> Merged<'s> {
        entries.sort_unstable_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(b.0)));
        Merged { entries }
    }

    /// The members in ascending order, to show them without a board.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&'s [u8], Score)> {
        self.entries.iter().copied()
    }

    /// A board of the members. As in Redis it is small only if it is so as a whole, else big from its first member
    /// on, which shows in the sign of a zero that the small encoding drops.
    pub fn to_board(&self, thresholds: Thresholds) -> SortedSet {
        let small = self.entries.len() <= thresholds.max_entries
            && self
                .iter()
                .all(|(member, _)| member.len() <= thresholds.max_value);
        SortedSet::from_sorted(
            self.iter(),
            if small {
                thresholds
            } else {
                Thresholds::NEVER_SMALL
            },
        )
    }
}

enum Source<'a> {
    Board(&'a SortedSet),
    Set {
        set: &'a Set,
        /// The members if they are kept as numbers, which is so for small sets only.
        texts: Vec<Vec<u8>>,
    },
    Nothing,
}

/// Members to combine and the factor of their scores.
pub struct Input<'a> {
    source: Source<'a>,
    pub weight: f64,
}

impl<'a> Input<'a> {
    fn new(source: Source<'a>) -> Input<'a> {
        Input {
            source,
            weight: 1.0,
        }
    }

    pub fn board(board: &'a SortedSet) -> Input<'a> {
        Input::new(Source::Board(board))
    }

    pub fn set(set: &'a Set) -> Input<'a> {
        let texts = match set.iter().next() {
            Some(Member::Int(_)) => set.iter().map(|member| member.to_vec()).collect(),
            _ => Vec::new(),
        };
        Input::new(Source::Set { set, texts })
    }

    /// No members.
    pub fn nothing() -> Input<'a> {
        Input::new(Source::Nothing)
    }

    fn len(&self) -> usize {
        match &self.source {
            Source::Board(board) => board.len(),
            Source::Set { set, .. } => set.len(),
            Source::Nothing => 0,
        }
    }

    #[inline]
    fn score(&self, member: &[u8]) -> Option<Score> {
        match &self.source {
            Source::Board(board) => board.score(member),
            Source::Set { set, .. } => set.contains(member).then_some(Score::ONE),
            Source::Nothing => None,
        }
    }

    /// Visits the members until `visit` says false.
    #[inline]
    fn visit<'s>(&'s self, mut visit: impl FnMut(&'s [u8], Score) -> bool) {
        match &self.source {
            Source::Board(board) => {
                board.iter().all(|(member, score)| visit(member, score));
            }
            Source::Set { set, texts } if texts.is_empty() => {
                set.iter().all(|member| match member {
                    Member::Bytes(member) => visit(member, Score::ONE),
                    // A set keeps either all of its members as numbers or none.
                    Member::Int(_) => true,
                });
            }
            Source::Set { texts, .. } => {
                texts.iter().all(|member| visit(member, Score::ONE));
            }
            Source::Nothing => {}
        }
    }
}

/// Not a number counts as zero.
fn number(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value }
}

impl Aggregate {
    #[inline]
    fn apply(self, target: f64, value: f64) -> f64 {
        match self {
            Aggregate::Sum => number(target + value),
            Aggregate::Min if value < target => value,
            Aggregate::Max if value > target => value,
            Aggregate::Min | Aggregate::Max => target,
        }
    }
}

fn by_len<'s, 'a>(inputs: &'s [Input<'a>]) -> Vec<&'s Input<'a>> {
    let mut inputs: Vec<_> = inputs.iter().collect();
    inputs.sort_by_key(|input| input.len());
    inputs
}

/// A sum or product as a score; those above make none that is not a number.
fn score_of(value: f64) -> Score {
    Score::new(value).unwrap_or_default()
}

/// Every member of any input.
pub fn union<'s>(inputs: &'s [Input<'_>], aggregate: Aggregate) -> Merged<'s> {
    let inputs = by_len(inputs);
    let most = inputs.last().map_or(0, |input| input.len());
    let mut scores: HashMap<&[u8], f64, foldhash::fast::RandomState> =
        HashMap::with_capacity_and_hasher(most, Default::default());
    for input in inputs {
        input.visit(|member, score| {
            let value = number(score.get() * input.weight);
            scores
                .entry(member)
                .and_modify(|target| *target = aggregate.apply(*target, value))
                .or_insert(value);
            true
        });
    }
    let entries = scores.into_iter();
    Merged::from_unsorted(
        entries
            .map(|(member, value)| (member, score_of(value)))
            .collect(),
    )
}

/// The members that every input has. No input, no members.
pub fn intersect<'s>(inputs: &'s [Input<'_>], aggregate: Aggregate) -> Merged<'s> {
    let inputs = by_len(inputs);
    let Some((smallest, others)) = inputs.split_first() else {
        return Merged::default();
    };
    let mut entries = Vec::new();
    smallest.visit(|member, score| {
        let mut target = number(score.get() * smallest.weight);
        for other in others {
            let Some(score) = other.score(member) else {
                return true;
            };
            target = aggregate.apply(target, score.get() * other.weight);
        }
        entries.push((member, score_of(target)));
        true
    });
    Merged::from_unsorted(entries)
}

/// How many members every input has, counting no further than `limit` if it is given.
pub fn intersect_count(inputs: &[Input<'_>], limit: Option<usize>) -> usize {
    let inputs = by_len(inputs);
    let Some((smallest, others)) = inputs.split_first() else {
        return 0;
    };
    let limit = limit.unwrap_or(usize::MAX);
    let mut count = 0;
    smallest.visit(|member, _| {
        if count == limit {
            return false;
        }
        if others.iter().all(|other| other.score(member).is_some()) {
            count += 1;
        }
        true
    });
    count
}

/// The members of the first input that no other has, with their scores in the first.
pub fn diff<'s>(inputs: &'s [Input<'_>]) -> Merged<'s> {
    let Some((first, others)) = inputs.split_first() else {
        return Merged::default();
    };
    let mut entries = Vec::new();
    first.visit(|member, score| {
        if others.iter().all(|other| other.score(member).is_none()) {
            entries.push((member, score));
        }
        true
    });
    match first.source {
        Source::Board(_) | Source::Nothing => Merged { entries },
        Source::Set { .. } => Merged::from_unsorted(entries),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::set::SetLimits;
    use crate::store::sorted_set::{Encoding, Thresholds};

    const SET_LIMITS: SetLimits = SetLimits {
        intset_entries: 4,
        listpack_entries: 4,
        listpack_value_len: 8,
    };

    fn board(entries: &[(&str, f64)], thresholds: Thresholds) -> SortedSet {
        let mut board = SortedSet::new();
        for (member, score) in entries {
            board.insert(member.as_bytes(), Score::new(*score).unwrap(), thresholds);
        }
        board
    }

    fn set(members: &[&str]) -> Set {
        let mut set = Set::new();
        for member in members {
            set.insert(member.as_bytes(), SET_LIMITS);
        }
        set
    }

    fn shown(merged: Merged<'_>) -> String {
        let entries = merged.iter();
        let shown: Vec<_> = entries
            .map(|(member, score)| format!("{}={}", member.escape_ascii(), score.get()))
            .collect();
        shown.join(" ")
    }

    fn weighted<'a>(mut input: Input<'a>, weight: f64) -> Input<'a> {
        input.weight = weight;
        input
    }

    /// Both encodings of boards.
    const EITHER: [Thresholds; 2] = [
        Thresholds {
            max_entries: 128,
            max_value: 64,
        },
        Thresholds::NEVER_SMALL,
    ];

    #[test]
    fn boards_and_sets_of_each_form_combine() {
        for thresholds in EITHER {
            let first = board(&[("1", 10.0), ("2", 20.0), ("x", 5.0)], thresholds);
            let sets = [
                set(&["2", "3", "1"]),
                set(&["2", "3", "1", "y"]),
                set(&["2", "3", "1", "y", "a member of some length"]),
            ];
            for set in &sets {
                let inputs = [Input::board(&first), weighted(Input::set(set), 3.0)];
                let union = shown(union(&inputs, Aggregate::Sum));
                assert!(union.starts_with("3=3 "), "{union}");
                assert!(union.ends_with("x=5 1=13 2=23"), "{union}");
                assert_eq!(
                    shown(intersect(&inputs, Aggregate::Max)),
                    "1=10 2=20",
                    "{}",
                    set.encoding()
                );
                assert_eq!(intersect_count(&inputs, None), 2);
                assert_eq!(intersect_count(&inputs, Some(1)), 1);
                assert_eq!(shown(diff(&inputs)), "x=5");
                let inputs = [Input::set(set), Input::board(&first)];
                assert!(shown(diff(&inputs)).starts_with("3=1"));
            }
        }
    }

    #[test]
    fn nothing_is_neutral_or_absorbing() {
        let first = board(&[("a", 1.0)], EITHER[0]);
        let inputs = [Input::nothing(), Input::board(&first)];
        assert_eq!(shown(union(&inputs, Aggregate::Sum)), "a=1");
        assert_eq!(shown(intersect(&inputs, Aggregate::Sum)), "");
        assert_eq!(intersect_count(&inputs, None), 0);
        assert_eq!(shown(diff(&inputs)), "");
        assert_eq!(shown(diff(&[])), "");
        assert_eq!(shown(union(&[], Aggregate::Min)), "");
        assert_eq!(shown(intersect(&[], Aggregate::Min)), "");
    }

    #[test]
    fn a_result_is_small_only_as_a_whole() {
        let long = "x".repeat(65);
        let first = board(&[("a", 0.0), ("b", 1.0), (&long, 2.0)], EITHER[1]);
        let inputs = [weighted(Input::board(&first), -1.0)];
        let merged = union(&inputs, Aggregate::Sum);
        let big = merged.to_board(EITHER[0]);
        big.check();
        assert!(big.iter().eq(merged.iter()));
        assert_eq!(big.encoding(), Encoding::Skiplist);
        assert!(big.score(b"a").unwrap().get().is_sign_negative());
        let short = board(&[("a", 0.0), ("b", 1.0)], EITHER[1]);
        let inputs = [weighted(Input::board(&short), -1.0)];
        let small = union(&inputs, Aggregate::Sum).to_board(EITHER[0]);
        small.check();
        assert_eq!(small.encoding(), Encoding::Listpack);
        assert_eq!(small.len(), 2);
    }

    #[test]
    fn what_is_not_a_number_counts_as_zero() {
        let up = board(&[("a", f64::INFINITY)], EITHER[0]);
        let down = board(&[("a", f64::NEG_INFINITY)], EITHER[0]);
        let inputs = [Input::board(&up), Input::board(&down)];
        assert_eq!(shown(union(&inputs, Aggregate::Sum)), "a=0");
        assert_eq!(shown(intersect(&inputs, Aggregate::Sum)), "a=0");
        assert_eq!(shown(intersect(&inputs, Aggregate::Min)), "a=-inf");
        let inputs = [weighted(Input::board(&up), 0.0)];
        assert_eq!(shown(union(&inputs, Aggregate::Sum)), "a=0");
    }

    #[test]
    fn one_board_may_be_several_inputs() {
        let first = board(&[("a", 1.0), ("b", 2.0)], EITHER[0]);
        let inputs = [Input::board(&first), weighted(Input::board(&first), 2.0)];
        assert_eq!(shown(union(&inputs, Aggregate::Sum)), "a=3 b=6");
        assert_eq!(shown(intersect(&inputs, Aggregate::Min)), "a=1 b=2");
        assert_eq!(shown(diff(&inputs)), "");
    }
}
