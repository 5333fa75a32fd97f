//! ZADD and ZINCRBY.

use super::thresholds;
use crate::engine::ctx::{Lent, WriteCtx};
use crate::engine::notify::EventClass;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::{parse_double, write_score};
use crate::store::sorted_set::{Score, SortedSet, Thresholds};
use bitflags::bitflags;

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "zadd",
        group: Group::SortedSet,
        summary: "Adds members with their scores, or gives members new scores.",
        since: "1.2.0",
        complexity: "O(log(N)) for each member, on a board of N",
        arity: -4,
        flags: Flags::WRITE.union(Flags::DENYOOM.union(Flags::FAST)),
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::UPDATE))],
        tips: &[],
        syntax: "key#0 [condition<NX | XX>@3.0.2] [comparison<GT | LT>@6.2.0] [change='CH'@3.0.2] [increment='INCR'@3.0.2] data(score:double member)...",
        run: Run::Write(zadd),
    },
    CommandSpec {
        name: "zincrby",
        group: Group::SortedSet,
        summary: "Adds points to the score of a member.",
        since: "1.2.0",
        complexity: "O(log(N)) for a board of N members",
        arity: 4,
        flags: Flags::WRITE.union(Flags::DENYOOM.union(Flags::FAST)),
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS.union(KeyFlags::UPDATE)),
        )],
        tips: &[],
        syntax: "key#0 increment:integer member",
        run: Run::Write(zincrby),
    },
];

bitflags! {
    /// The options of ZADD.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct Options: u8 {
        /// Only add, never change a score.
        const NX = 1;
        /// Only change scores, never add.
        const XX = 1 << 1;
        /// Only change a score to a greater one.
        const GT = 1 << 2;
        /// Only change a score to a lesser one.
        const LT = 1 << 3;
        /// Answer with the count of changed members, not of added ones.
        const CH = 1 << 4;
        /// The score is added to that of the member.
        const INCR = 1 << 5;
    }
}

impl Options {
    #[inline]
    fn parse(word: &[u8]) -> Option<Self> {
        let lower = |byte: u8| byte | 0x20;
        match *word {
            [first, second] => match [lower(first), lower(second)] {
                [b'n', b'x'] => Some(Self::NX),
                [b'x', b'x'] => Some(Self::XX),
                [b'g', b't'] => Some(Self::GT),
                [b'l', b't'] => Some(Self::LT),
                [b'c', b'h'] => Some(Self::CH),
                _ => None,
            },
            [_, _, _, _] if word.eq_ignore_ascii_case(b"incr") => Some(Self::INCR),
            _ => None,
        }
    }

    /// Refuses options that contradict each other.
    fn check(self, pairs: usize) -> Result<(), CommandError> {
        if self.contains(Self::NX | Self::XX) {
            return Err(CommandError::Text(
                "ERR XX and NX options at the same time are not compatible",
            ));
        }
        let directions = self & (Self::NX | Self::GT | Self::LT);
        if directions.bits().count_ones() > 1 {
            return Err(CommandError::Text(
                "ERR GT, LT, and/or NX options at the same time are not compatible",
            ));
        }
        if self.contains(Self::INCR) && pairs > 1 {
            return Err(CommandError::Text(
                "ERR INCR option supports a single increment-element pair",
            ));
        }
        Ok(())
    }

    /// What becomes of a member with the score `old` when `score` comes.
    #[inline]
    fn decide(self, old: Option<Score>, score: Score) -> Decision {
        let Some(old) = old else {
            return if self.contains(Self::XX) {
                Decision::Leave
            } else {
                Decision::Set(score)
            };
        };
        if self.contains(Self::NX) {
            return Decision::Leave;
        }
        let new = if self.contains(Self::INCR) {
            match old.checked_add(score.get()) {
                Some(sum) => sum,
                None => return Decision::NotANumber,
            }
        } else {
            score
        };
        if (self.contains(Self::LT) && new >= old) || (self.contains(Self::GT) && new <= old) {
            return Decision::Leave;
        }
        Decision::Set(new)
    }
}

#[derive(Clone, Copy)]
enum Decision {
    /// The options forbid a change.
    Leave,
    Set(Score),
    /// Infinities of opposite sign met.
    NotANumber,
}

fn zadd(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let mut options = Options::empty();
    let mut first = 2;
    while let Some(option) = args.get(first).and_then(Options::parse) {
        options |= option;
        first += 1;
    }
    let pairs = args.from(first);
    if pairs.is_empty() || !pairs.len().is_multiple_of(2) {
        return Err(CommandError::Syntax);
    }
    options.check(pairs.len() / 2)?;
    add(ctx, args.arg(1), pairs, options)
}

fn zincrby(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    add(ctx, args.arg(1), args.from(2), Options::INCR)
}

/// For a board that fills what handles can address, which no memory of today reaches by chance.
const FULL: CommandError =
    CommandError::Text("ERR the sorted set is full: its members take 15 GiB");

fn parse_score(text: &[u8]) -> Result<Score, CommandError> {
    parse_double(text)
        .and_then(Score::new)
        .ok_or(CommandError::NotFloat)
}

/// `pairs` are scores and members in turns.
pub fn add(ctx: &mut WriteCtx<'_>, key: &[u8], pairs: Args<'_>, options: Options) -> Handled {
    let first_score = parse_score(pairs.arg(0))?;
    for position in (2..pairs.len()).step_by(2) {
        parse_score(pairs.arg(position))?;
    }
    let change = |board: &mut SortedSet, lent: &mut Lent<'_>| {
        if board.is_full() && !options.contains(Options::XX) {
            return Err(FULL);
        }
        if options.contains(Options::INCR) {
            increment(board, lent, key, (first_score, pairs.arg(1)), options)
        } else {
            add_all(board, lent, first_score, pairs, options);
            Ok(())
        }
    };
    if !options.contains(Options::XX) {
        return ctx.upsert(key, change)?;
    }
    if let Some(handled) = ctx.update(key, change)? {
        return handled;
    }
    if options.contains(Options::INCR) {
        ctx.reply.null();
    } else {
        ctx.reply.integer(0);
    }
    Ok(())
}

fn add_all(
    board: &mut SortedSet,
    lent: &mut Lent<'_>,
    first_score: Score,
    pairs: Args<'_>,
    options: Options,
) {
    let mut thresholds = thresholds(lent.settings);
    if pairs.len() / 2 > thresholds.max_entries {
        // As in Redis, which counts pairs even if they name one member twice.
        board.outgrow();
        thresholds = Thresholds::NEVER_SMALL;
    }
    let (mut added, mut rescored) = (0, 0);
    for position in (0..pairs.len()).step_by(2) {
        // Reading a number twice costs less than memory for all of them.
        let score = if position == 0 {
            first_score
        } else {
            parse_score(pairs.arg(position)).expect("all scores were read before")
        };
        let member = pairs.arg(position + 1);
        let update =
            board.update_with(member, thresholds, |old| match options.decide(old, score) {
                Decision::Set(new) => Some(new),
                Decision::Leave | Decision::NotANumber => None,
            });
        if update.added() {
            added += 1;
        } else if update.changed() {
            rescored += 1;
        }
    }
    if added + rescored > 0 {
        lent.changed(added + rescored);
        lent.event(EventClass::ZSET, "zadd");
    }
    let told = if options.contains(Options::CH) {
        added + rescored
    } else {
        added
    };
    lent.reply.integer(told as i64);
}

fn increment(
    board: &mut SortedSet,
    lent: &mut Lent<'_>,
    key: &[u8],
    (delta, member): (Score, &[u8]),
    options: Options,
) -> Handled {
    let mut decision = Decision::Leave;
    let update = board.update_with(member, thresholds(lent.settings), |old| {
        decision = options.decide(old, delta);
        match decision {
            Decision::Set(new) => Some(new),
            Decision::Leave | Decision::NotANumber => None,
        }
    });
    let new = match decision {
        Decision::Set(new) => new,
        Decision::Leave => {
            lent.reply.null();
            return Ok(());
        }
        Decision::NotANumber => return Err(CommandError::ResultingNan),
    };
    if update.changed() {
        lent.changed(1);
        lent.event(EventClass::ZSET, "zincr");
        if lent.wants_effects() {
            let mut text = Vec::new();
            write_score(new.get(), &mut text);
            lent.effect(&[b"ZADD", key, &text, member]);
        }
    }
    lent.reply.double(new.get());
    Ok(())
}
