//! A naive board, and a way to run a board and the naive one in step.
//!
//! Random tests and the fuzzer share it: both feed bytes, the bytes choose
//! operations and arguments, and every answer of the board must be the model's.

use super::{LexBound, LexRange, Score, ScoreRange, SortedSet, Thresholds};
use std::collections::BTreeSet;
use std::ops::{Bound, Range};

/// Entries in order, nothing else.
#[derive(Clone, Debug, Default)]
pub struct Model {
    entries: Vec<(Score, Vec<u8>)>,
    outgrown: bool,
}

impl Model {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn position(&self, member: &[u8]) -> Option<usize> {
        self.entries.iter().position(|(_, other)| other == member)
    }

    pub fn insert(&mut self, member: &[u8], score: Score, thresholds: Thresholds) -> Option<Score> {
        let old = self.remove(member);
        if old.is_none() {
            self.outgrown |=
                self.entries.len() >= thresholds.max_entries || member.len() > thresholds.max_value;
        }
        let entry = (score, member.to_vec());
        let rank = self.entries.partition_point(|other| *other < entry);
        self.entries.insert(rank, entry);
        old
    }

    pub fn remove(&mut self, member: &[u8]) -> Option<Score> {
        self.position(member)
            .map(|rank| self.entries.remove(rank).0)
    }

    fn ranks_where(&self, contained: impl Fn(&(Score, Vec<u8>)) -> bool) -> Range<usize> {
        match self.entries.iter().position(&contained) {
            Some(first) => {
                first..first + self.entries.iter().filter(|entry| contained(entry)).count()
            }
            None => 0..0,
        }
    }
}

/// Members for one run: few enough to collide, of several shapes.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// How many distinct members there are.
    pub members: u32,
    /// How many distinct scores there are, besides the extremes.
    pub scores: u32,
    /// Every n-th member is long, and this long.
    pub long: Option<(u32, usize)>,
    pub thresholds: Thresholds,
}

/// Turns bytes into choices; zeros when they run out.
pub struct Choices<'a> {
    bytes: &'a [u8],
}

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8]) -> Choices<'a> {
        Choices { bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn byte(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                *first
            }
            None => 0,
        }
    }

    pub fn below(&mut self, end: u32) -> u32 {
        if end <= 1 {
            return 0;
        }
        let mut value = u32::from(self.byte());
        if end > 0x100 {
            value = value << 8 | u32::from(self.byte());
        }
        if end > 0x1_0000 {
            value = value << 16 | u32::from(self.byte()) << 8 | u32::from(self.byte());
        }
        value % end
    }

    fn member(&mut self, shape: &Shape) -> Vec<u8> {
        let number = self.below(shape.members);
        let mut member = match number % 7 {
            0 if number < 7 => Vec::new(),
            1 => number.to_be_bytes().to_vec(),
            2 => vec![0; number as usize % 40],
            3 => format!("{number}").into_bytes(),
            _ => format!("player:{number:012}").into_bytes(),
        };
        if let Some((every, len)) = shape.long
            && number.is_multiple_of(every)
        {
            member.resize(len + number as usize % 3, b'x');
        }
        member
    }

    fn score(&mut self, shape: &Shape) -> Score {
        const EXTREMES: [f64; 12] = [
            f64::INFINITY,
            f64::NEG_INFINITY,
            4.9e-324,
            -4.9e-324,
            1.79e308,
            -1.79e308,
            9007199254740993.0,
            -9007199254740994.0,
            2147483648.0,
            -2147483649.0,
            0.0,
            -0.0,
        ];
        let kind = self.byte();
        let value = match kind {
            0..12 => EXTREMES[usize::from(kind)],
            12..40 => f64::from(self.below(shape.scores)) / 8.0 - 1.0,
            40..50 => f64::from(self.below(shape.scores)) * 1e-300,
            50..60 => f64::from(self.below(shape.scores)) * 1.7e6,
            _ => f64::from(self.below(shape.scores)),
        };
        Score::new(value).expect("no value above is NaN")
    }
}

/// A board and its model.
pub struct Pair {
    pub board: SortedSet,
    pub model: Model,
    shape: Shape,
}

impl Pair {
    pub fn new(shape: Shape) -> Pair {
        Pair {
            board: SortedSet::new(),
            model: Model::default(),
            shape,
        }
    }

    /// One operation, chosen by the bytes. Panics where the board differs.
    pub fn step(&mut self, choices: &mut Choices<'_>) {
        let shape = self.shape;
        match choices.byte() {
            0..110 => {
                let (member, score) = (choices.member(&shape), choices.score(&shape));
                let expected = self.model.insert(&member, score, shape.thresholds);
                assert_eq!(
                    self.board.insert(&member, score, shape.thresholds),
                    expected
                );
            }
            110..150 => self.add_points(choices),
            150..190 => {
                let member = choices.member(&shape);
                assert_eq!(self.board.remove(&member), self.model.remove(&member));
            }
            190..205 => self.look_up(&choices.member(&shape)),
            205..220 => self.ranges(choices),
            220..224 => self.remove_ranks(choices),
            224..232 => self.pop(choices.byte() & 1 == 0),
            232..236 => self.rebuild(choices.byte()),
            236..240 => self.scan_while_changing(choices),
            _ => self.lex(choices),
        }
        if self.model.is_empty() {
            self.model.outgrown = false;
        }
    }

    fn add_points(&mut self, choices: &mut Choices<'_>) {
        let (member, score) = (choices.member(&self.shape), choices.score(&self.shape));
        let old = self
            .model
            .position(&member)
            .map(|rank| self.model.entries[rank].0);
        let only_if_greater = choices.byte() & 1 == 0;
        let decide = |old: Option<Score>| match old {
            Some(old) if only_if_greater => (score > old).then_some(score),
            Some(old) => old.checked_add(score.get()),
            None => Some(score),
        };
        let new = decide(old);
        let update = self
            .board
            .update_with(&member, self.shape.thresholds, |seen| {
                assert_eq!(seen, old);
                decide(seen)
            });
        assert_eq!((update.old, update.new), (old, new.or(old)));
        if let Some(new) = new {
            self.model.insert(&member, new, self.shape.thresholds);
        }
    }

    fn look_up(&self, member: &[u8]) {
        let expected = self
            .model
            .position(member)
            .map(|rank| (rank, self.model.entries[rank].0));
        assert_eq!(self.board.rank(member), expected);
        assert_eq!(self.board.score(member), expected.map(|(_, score)| score));
    }

    fn ranges(&self, choices: &mut Choices<'_>) {
        let bound = |choices: &mut Choices<'_>| {
            let score = choices.score(&self.shape);
            match choices.byte() % 5 {
                0 => Bound::Unbounded,
                1 | 2 => Bound::Included(score),
                _ => Bound::Excluded(score),
            }
        };
        let range = ScoreRange {
            min: bound(choices),
            max: bound(choices),
        };
        let expected = self.model.ranks_where(|(score, _)| range.contains(*score));
        let ranks = self.board.rank_range_by_score(&range);
        assert!(ranks.start <= ranks.end && ranks.end <= self.board.len());
        assert_eq!(ranks.len(), expected.len());
        assert!(ranks.is_empty() || ranks == expected);
        let from = choices.below(self.model.len() as u32 + 2) as usize;
        let to = from + choices.below(300) as usize;
        self.compare_range(from, to, choices.byte());
    }

    fn compare_range(&self, from: usize, to: usize, mix: u8) {
        let end = to.min(self.model.len());
        let mut expected = self.model.entries[from.min(end)..end].iter();
        let mut entries = self.board.range(from..to);
        for turn in 0.. {
            assert_eq!(entries.len(), expected.len());
            let backwards = match mix % 3 {
                0 => false,
                1 => true,
                _ => turn % 3 == 1,
            };
            let (found, expected) = if backwards {
                (entries.next_back(), expected.next_back())
            } else {
                (entries.next(), expected.next())
            };
            assert_eq!(found, expected.map(|(score, member)| (&**member, *score)));
            if found.is_none() {
                break;
            }
        }
        assert_eq!(
            self.board.at(from),
            self.model
                .entries
                .get(from)
                .map(|(score, member)| (&**member, *score))
        );
    }

    fn remove_ranks(&mut self, choices: &mut Choices<'_>) {
        let from = choices.below(self.model.len() as u32 + 1) as usize;
        let count = match choices.byte() {
            0..3 => self.model.len(),
            3..40 => choices.below(1000) as usize,
            _ => choices.below(8) as usize,
        };
        let end = (from + count).min(self.model.len());
        let expected: Vec<_> = self.model.entries.drain(from..end).collect();
        let mut removed = Vec::new();
        self.board
            .remove_rank_range(from..from + count, |member, score| {
                removed.push((score, member.to_vec()))
            });
        assert_eq!(removed, expected);
    }

    fn pop(&mut self, first: bool) {
        let (popped, expected) = if self.model.is_empty() {
            (
                if first {
                    self.board.pop_first()
                } else {
                    self.board.pop_last()
                },
                None,
            )
        } else if first {
            (self.board.pop_first(), Some(self.model.entries.remove(0)))
        } else {
            (self.board.pop_last(), self.model.entries.pop())
        };
        assert_eq!(
            popped.map(|(member, score)| (score, member.into_vec())),
            expected
        );
    }

    fn rebuild(&mut self, kind: u8) {
        let thresholds = self.shape.thresholds;
        let entries = || {
            self.model
                .entries
                .iter()
                .map(|(score, member)| (&**member, *score))
        };
        let fits = self.model.len() <= thresholds.max_entries
            && self
                .model
                .entries
                .iter()
                .all(|(_, member)| member.len() <= thresholds.max_value);
        self.board = match kind % 3 {
            0 => SortedSet::from_sorted(entries(), thresholds),
            1 => SortedSet::from_unsorted(entries().rev().collect(), thresholds),
            _ => self.board.clone(),
        };
        if kind % 3 < 2 {
            self.model.outgrown = !fits;
        }
    }

    /// Steps through a scan, changing the board between steps.
    fn scan_while_changing(&mut self, choices: &mut Choices<'_>) {
        let mut staying: BTreeSet<Vec<u8>> = self
            .model
            .entries
            .iter()
            .map(|(_, member)| member.clone())
            .collect();
        let mut seen = BTreeSet::new();
        let mut cursor = 0;
        loop {
            cursor = self
                .board
                .scan(cursor, choices.below(50) as usize, |member, score| {
                    let rank = self
                        .model
                        .position(member)
                        .expect("a scan tells of members only");
                    assert_eq!(self.model.entries[rank].0, score);
                    seen.insert(member.to_vec());
                });
            if cursor == 0 {
                break;
            }
            for _ in 0..choices.below(20) {
                let (member, score) = (choices.member(&self.shape), choices.score(&self.shape));
                if choices.byte() & 1 == 0 {
                    self.model.insert(&member, score, self.shape.thresholds);
                    self.board.insert(&member, score, self.shape.thresholds);
                } else {
                    staying.remove(&member);
                    assert_eq!(self.board.remove(&member), self.model.remove(&member));
                }
            }
        }
        assert!(
            staying.is_subset(&seen),
            "a scan tells of every member that stays"
        );
    }

    fn lex(&self, choices: &mut Choices<'_>) {
        let (low, high) = (choices.member(&self.shape), choices.member(&self.shape));
        let kinds = choices.byte();
        let bound = |kind: u8, member| match kind % 4 {
            0 => LexBound::Included(member),
            1 => LexBound::Excluded(member),
            2 => LexBound::Min,
            _ => LexBound::Max,
        };
        let range = LexRange {
            min: bound(kinds, &low),
            max: bound(kinds >> 2, &high),
        };
        let ranks = self.board.rank_range_by_lex(&range);
        assert!(ranks.start <= ranks.end && ranks.end <= self.board.len());
        let one_score = self.model.entries.first().map(|entry| entry.0)
            == self.model.entries.last().map(|entry| entry.0);
        if one_score {
            let expected = self.model.ranks_where(|(_, member)| range.contains(member));
            assert_eq!(ranks.len(), expected.len());
            assert!(ranks.is_empty() || ranks == expected);
        }
    }

    /// Compares everything.
    pub fn check(&self) {
        self.board.check();
        assert_eq!(self.board.len(), self.model.len());
        assert_eq!(self.board.is_empty(), self.model.is_empty());
        let big = self.board.encoding() == super::Encoding::Skiplist;
        assert_eq!(
            big,
            self.model.outgrown && !self.model.is_empty(),
            "the encoding follows the thresholds"
        );
        let expected = self
            .model
            .entries
            .iter()
            .map(|(score, member)| (&**member, *score));
        assert!(self.board.iter().eq(expected));
    }
}
