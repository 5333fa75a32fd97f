//! Union, intersection and difference of boards and sets (ZUNION and its family).
//!
//! A plain set takes part as a board on which every member has score 1. Scores follow
//! Redis: a score is multiplied by the weight of its input, a product or a sum that is
//! not a number counts as 0, inputs are combined from the smallest to the largest.
//!
//! Big boards are read in the order of memory, which is several times as fast as their
//! own order; each member is hashed once, for the table of the merge, for look-ups in
//! other boards and for the index of the result alike.

use super::index::hash_of;
use super::skiplist::{Builder, Skiplist};
use super::{Score, SortedSet, Thresholds, prefetch};
use crate::store::set::{Member, Set};
use hashbrown::HashTable;

/// How the scores of one member in several inputs become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Aggregate {
    #[default]
    Sum,
    Min,
    Max,
}

/// Entries asked for ahead where memory is visited in no order.
const PREFETCH_AHEAD: usize = 16;

/// A member, still in the memory of an input, its hash and its score so far.
#[derive(Clone, Copy)]
struct Entry<'s> {
    member: &'s [u8],
    hash: u64,
    score: f64,
}

impl<'s> Entry<'s> {
    #[inline]
    fn new(member: &'s [u8], score: f64) -> Entry<'s> {
        Entry {
            member,
            hash: hash_of(member),
            score,
        }
    }

    /// Sums and products here are never not a number.
    #[inline]
    fn score(&self) -> Score {
        Score::new(self.score).unwrap_or_default()
    }
}

/// The result of a merge: members, still in the memory of the inputs, in the order of a board.
#[derive(Default)]
pub struct Merged<'s> {
    entries: Vec<Entry<'s>>,
}

impl<'s> Merged<'s> {
    fn from_unsorted(entries: Vec<Entry<'s>>) -> Merged<'s> {
        // Scores first, because that moves small keys and looks at no member.
        let mut order: Vec<(u64, u32)> = Vec::with_capacity(entries.len());
        order.extend(
            entries
                .iter()
                .zip(0..)
                .map(|(entry, at)| (entry.score().order_bits(), at)),
        );
        order.sort_unstable_by_key(|(order_bits, _)| *order_bits);
        for tied in order
            .chunk_by_mut(|a, b| a.0 == b.0)
            .filter(|tied| tied.len() > 1)
        {
            tied.sort_unstable_by_key(|(_, at)| entries[*at as usize].member);
        }
        Merged {
            entries: order
                .into_iter()
                .map(|(_, at)| entries[at as usize])
                .collect(),
        }
    }

    /// The members in ascending order, to show them without a board.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&'s [u8], Score)> {
        self.entries
            .iter()
            .map(|entry| (entry.member, entry.score()))
    }

    /// A board of the members. As in Redis it is small only if it is so as a whole, else big from its first member
    /// on, which shows in the sign of a zero that the small encoding drops.
    pub fn to_board(&self, thresholds: Thresholds) -> SortedSet {
        let small = self.entries.len() <= thresholds.max_entries
            && self
                .iter()
                .all(|(member, _)| member.len() <= thresholds.max_value);
        if small || self.entries.is_empty() {
            return SortedSet::from_sorted(self.iter(), thresholds);
        }
        let mut builder = Builder::new(self.entries.len());
        for (at, entry) in self.entries.iter().enumerate() {
            if let Some(ahead) = self.entries.get(at + PREFETCH_AHEAD) {
                prefetch(ahead.member.as_ptr());
                builder.prefetch(ahead.hash);
            }
            builder.push_hashed(entry.hash, entry.member, entry.score());
        }
        SortedSet::from_big(builder.finish())
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

    /// The skiplist of a big board.
    fn as_big(&self) -> Option<&Skiplist> {
        match &self.source {
            Source::Board(board) => board.as_big(),
            _ => None,
        }
    }

    #[inline]
    fn score(&self, entry: &Entry<'_>) -> Option<Score> {
        match &self.source {
            Source::Board(board) => match board.as_big() {
                Some(list) => list.score_hashed(entry.hash, entry.member),
                None => board.score(entry.member),
            },
            Source::Set { set, .. } => set.contains(entry.member).then_some(Score::ONE),
            Source::Nothing => None,
        }
    }

    /// Visits all members, in no order.
    #[inline]
    fn visit_all<'s>(&'s self, mut visit: impl FnMut(&'s [u8], Score)) {
        if let Some(list) = self.as_big() {
            return list.for_each_unordered(visit);
        }
        self.visit(|member, score| {
            visit(member, score);
            true
        });
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

/// Every member of any input.
pub fn union<'s>(inputs: &'s [Input<'_>], aggregate: Aggregate) -> Merged<'s> {
    let inputs = by_len(inputs);
    let total: usize = inputs.iter().map(|input| input.len()).sum();
    let most = inputs.last().map_or(0, |input| input.len());
    // Boards that are combined tend to share members.
    let expected = total.min(most * 2);
    let mut entries: Vec<Entry<'s>> = Vec::with_capacity(expected);
    let mut table: HashTable<u32> = HashTable::with_capacity(expected);
    for input in inputs {
        input.visit_all(|member, score| {
            let entry = Entry::new(member, number(score.get() * input.weight));
            let same = |at: &u32| {
                let other = &entries[*at as usize];
                other.hash == entry.hash && other.member == member
            };
            if let Some(at) = table.find(entry.hash, same) {
                let target = &mut entries[*at as usize].score;
                *target = aggregate.apply(*target, entry.score);
            } else {
                table.insert_unique(entry.hash, entries.len() as u32, |at| {
                    entries[*at as usize].hash
                });
                entries.push(entry);
            }
        });
    }
    Merged::from_unsorted(entries)
}

/// Keeps the entries that `keep` wants after it was told their score in an input.
fn retain(
    entries: &mut Vec<Entry<'_>>,
    input: &Input<'_>,
    mut keep: impl FnMut(&mut Entry<'_>, Option<Score>) -> bool,
) {
    let list = input.as_big();
    let mut kept = 0;
    for at in 0..entries.len() {
        if let (Some(list), Some(ahead)) = (list, entries.get(at + PREFETCH_AHEAD)) {
            list.prefetch(ahead.hash);
        }
        let mut entry = entries[at];
        let score = input.score(&entry);
        if keep(&mut entry, score) {
            entries[kept] = entry;
            kept += 1;
        }
    }
    entries.truncate(kept);
}

/// The members that every input has. No input, no members.
pub fn intersect<'s>(inputs: &'s [Input<'_>], aggregate: Aggregate) -> Merged<'s> {
    let inputs = by_len(inputs);
    let Some((smallest, others)) = inputs.split_first() else {
        return Merged::default();
    };
    let mut entries = Vec::with_capacity(smallest.len());
    smallest.visit_all(|member, score| {
        entries.push(Entry::new(member, number(score.get() * smallest.weight)));
    });
    for other in others {
        retain(&mut entries, other, |entry, score| {
            let Some(score) = score else { return false };
            entry.score = aggregate.apply(entry.score, score.get() * other.weight);
            true
        });
    }
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
    smallest.visit(|member, score| {
        if count == limit {
            return false;
        }
        let entry = Entry::new(member, score.get());
        if others.iter().all(|other| other.score(&entry).is_some()) {
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
    let mut entries = Vec::with_capacity(first.len());
    first.visit_all(|member, score| entries.push(Entry::new(member, score.get())));
    for other in others {
        retain(&mut entries, other, |_, score| score.is_none());
    }
    Merged::from_unsorted(entries)
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

    #[test]
    fn big_boards_merge_as_maps_do() {
        use std::collections::BTreeMap;
        let names = |step: u32| {
            (0..if cfg!(miri) { 70 } else { 700 })
                .map(move |number| format!("member{}", number * step))
        };
        let boards: Vec<SortedSet> = (1..4)
            .map(|step| {
                let mut board = SortedSet::new();
                for (number, name) in names(step).enumerate() {
                    board.insert(name.as_bytes(), Score::from(number as i32 % 90), EITHER[0]);
                }
                board
            })
            .collect();
        let inputs: Vec<Input<'_>> = boards.iter().map(Input::board).collect();
        let mut sums: BTreeMap<String, (usize, i32)> = BTreeMap::new();
        for step in 1..4 {
            for (number, name) in names(step).enumerate() {
                let sum = sums.entry(name).or_default();
                *sum = (sum.0 + 1, sum.1 + number as i32 % 90);
            }
        }
        let agrees = |merged: Merged<'_>, least: usize| {
            let board = merged.to_board(EITHER[0]);
            board.check();
            assert!(board.iter().eq(merged.iter()));
            let found: BTreeMap<Vec<u8>, f64> = board
                .iter()
                .map(|(member, score)| (member.to_vec(), score.get()))
                .collect();
            let expected = sums.iter().filter(|(_, (count, _))| *count >= least);
            let expected: BTreeMap<Vec<u8>, f64> = expected
                .map(|(name, (_, sum))| (name.clone().into_bytes(), f64::from(*sum)))
                .collect();
            assert_eq!(found, expected);
        };
        agrees(union(&inputs, Aggregate::Sum), 1);
        agrees(intersect(&inputs, Aggregate::Sum), 3);
        assert_eq!(
            intersect_count(&inputs, None),
            sums.values().filter(|(count, _)| *count == 3).count()
        );
        let left = diff(&inputs).to_board(EITHER[0]);
        left.check();
        let expected = boards[0].iter().filter(|(member, _)| {
            boards[1..]
                .iter()
                .all(|other| other.score(member).is_none())
        });
        assert!(left.iter().eq(expected));
    }
}
