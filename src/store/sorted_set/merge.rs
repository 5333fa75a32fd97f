//! Union, intersection and difference of boards and sets (ZUNION and its family).
//!
//! Scores follow Redis: a score is multiplied by the weight of its input, a product
//! or a sum that is not a number counts as 0, inputs are combined from the smallest
//! to the largest. The result has the encoding of a board built afresh.

use super::{Score, SortedSet, Thresholds};
use hashbrown::{HashMap, HashSet};
use std::borrow::Cow;

/// How the scores of one member in several inputs become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Aggregate {
    #[default]
    Sum,
    Min,
    Max,
}

/// Members to combine.
#[derive(Debug)]
pub enum Source<'a> {
    Board(&'a SortedSet),
    /// The distinct members of a set; each has score 1.
    Members(Vec<Cow<'a, [u8]>>),
}

/// A source and the factor of its scores.
#[derive(Debug)]
pub struct Input<'a> {
    pub source: Source<'a>,
    pub weight: f64,
}

impl<'a> Input<'a> {
    pub fn board(board: &'a SortedSet) -> Input<'a> {
        Input {
            source: Source::Board(board),
            weight: 1.0,
        }
    }

    fn len(&self) -> usize {
        match &self.source {
            Source::Board(board) => board.len(),
            Source::Members(members) => members.len(),
        }
    }

    fn for_each<'s>(&'s self, mut visit: impl FnMut(&'s [u8], Score)) {
        match &self.source {
            Source::Board(board) => board
                .iter()
                .for_each(|(member, score)| visit(member, score)),
            Source::Members(members) => members.iter().for_each(|member| visit(member, Score::ONE)),
        }
    }
}

/// Not a number counts as zero.
fn number(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value }
}

impl Aggregate {
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

fn finish(
    entries: impl Iterator<Item = (impl AsRef<[u8]>, f64)>,
    thresholds: Thresholds,
) -> SortedSet {
    let entries: Vec<_> = entries
        .map(|(member, score)| (member, Score::new(score).unwrap_or_default()))
        .collect();
    let borrowed = entries
        .iter()
        .map(|(member, score)| (member.as_ref(), *score))
        .collect();
    SortedSet::from_unsorted(borrowed, thresholds)
}

/// Every member of any input.
pub fn union(inputs: &[Input<'_>], aggregate: Aggregate, thresholds: Thresholds) -> SortedSet {
    let mut scores: HashMap<&[u8], f64, foldhash::fast::RandomState> = HashMap::default();
    for input in by_len(inputs) {
        input.for_each(|member, score| {
            let value = number(score.get() * input.weight);
            scores
                .entry(member)
                .and_modify(|target| *target = aggregate.apply(*target, value))
                .or_insert(value);
        });
    }
    finish(scores.into_iter(), thresholds)
}

/// Looks members up in an input.
enum Lookup<'s> {
    Board(&'s SortedSet),
    Members(HashSet<&'s [u8], foldhash::fast::RandomState>),
}

impl<'s> Lookup<'s> {
    fn new(input: &'s Input<'_>) -> Lookup<'s> {
        match &input.source {
            Source::Board(board) => Lookup::Board(board),
            Source::Members(members) => {
                Lookup::Members(members.iter().map(|member| &**member).collect())
            }
        }
    }

    fn score(&self, member: &[u8]) -> Option<Score> {
        match self {
            Lookup::Board(board) => board.score(member),
            Lookup::Members(members) => members.contains(member).then_some(Score::ONE),
        }
    }
}

/// The members that every input has. No input, no members.
pub fn intersect(inputs: &[Input<'_>], aggregate: Aggregate, thresholds: Thresholds) -> SortedSet {
    let inputs = by_len(inputs);
    let Some((smallest, others)) = inputs.split_first() else {
        return SortedSet::new();
    };
    if smallest.len() == 0 {
        return SortedSet::new();
    }
    let lookups: Vec<_> = others
        .iter()
        .map(|input| (Lookup::new(input), input.weight))
        .collect();
    let mut entries = Vec::new();
    smallest.for_each(|member, score| {
        let mut target = number(score.get() * smallest.weight);
        for (lookup, weight) in &lookups {
            let Some(score) = lookup.score(member) else {
                return;
            };
            target = aggregate.apply(target, score.get() * weight);
        }
        entries.push((member, target));
    });
    finish(entries.into_iter(), thresholds)
}

/// How many members every input has, counting no further than `limit` if it is given.
pub fn intersect_count(inputs: &[Input<'_>], limit: Option<usize>) -> usize {
    let inputs = by_len(inputs);
    let Some((smallest, others)) = inputs.split_first() else {
        return 0;
    };
    let limit = limit.unwrap_or(usize::MAX);
    if smallest.len() == 0 || limit == 0 {
        return 0;
    }
    let lookups: Vec<_> = others.iter().map(|input| Lookup::new(input)).collect();
    let in_all = |member: &[u8]| lookups.iter().all(|lookup| lookup.score(member).is_some());
    match &smallest.source {
        Source::Board(board) => board
            .iter()
            .filter(|(member, _)| in_all(member))
            .take(limit)
            .count(),
        Source::Members(members) => members
            .iter()
            .filter(|member| in_all(member))
            .take(limit)
            .count(),
    }
}

/// The members of the first input that no other has, with their scores in the first.
pub fn diff(inputs: &[Input<'_>], thresholds: Thresholds) -> SortedSet {
    let Some((first, others)) = inputs.split_first() else {
        return SortedSet::new();
    };
    let lookups: Vec<_> = others.iter().map(Lookup::new).collect();
    let mut entries = Vec::new();
    first.for_each(|member, score| {
        if lookups.iter().all(|lookup| lookup.score(member).is_none()) {
            entries.push((member, score));
        }
    });
    match first.source {
        Source::Board(_) => SortedSet::from_sorted(entries, thresholds),
        Source::Members(_) => SortedSet::from_unsorted(entries, thresholds),
    }
}
