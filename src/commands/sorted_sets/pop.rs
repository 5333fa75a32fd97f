//! Taking the first or the last members: ZPOPMIN, ZPOPMAX, ZMPOP and their blocking forms.

use crate::commands::timeout::parse_timeout_seconds;
use crate::engine::blocking::{Block, TimeoutReply};
use crate::engine::ctx::{Lent, WriteCtx};
use crate::engine::notify::EventClass;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::{Decimal, parse_i64};
use crate::resp::reply::Reply;
use crate::store::sorted_set::{Score, SortedSet};
use crate::store::value::Type;

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "bzmpop",
        group: Group::SortedSet,
        summary: "Pops members from the first of several boards that has any; waits for one.",
        since: "7.0.0",
        complexity: "O(K) + O(M*log(N)) for K keys and M members popped from a board of N",
        arity: -5,
        flags: Flags::WRITE.union(Flags::BLOCKING.union(Flags::MOVABLE_KEYS)),
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::counted(
            2,
            KeyFlags::RW.union(KeyFlags::ACCESS.union(KeyFlags::DELETE)),
        )],
        tips: &[],
        syntax: "timeout:double numkeys:integer key#0... where<MIN | MAX> [COUNT=count:integer]",
        run: Run::Write(bzmpop),
    },
    CommandSpec {
        name: "bzpopmax",
        group: Group::SortedSet,
        summary: "Pops the highest member of the first of several boards that has any; waits for one.",
        since: "5.0.0",
        complexity: "O(log(N)) for a board of N members",
        arity: -3,
        flags: Flags::WRITE.union(Flags::BLOCKING.union(Flags::FAST)),
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::range(
            1,
            -2,
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS.union(KeyFlags::DELETE)),
        )],
        tips: &[],
        syntax: "key#0... timeout:double",
        run: Run::Write(bzpopmax),
    },
    CommandSpec {
        name: "bzpopmin",
        group: Group::SortedSet,
        summary: "Pops the lowest member of the first of several boards that has any; waits for one.",
        since: "5.0.0",
        complexity: "O(log(N)) for a board of N members",
        arity: -3,
        flags: Flags::WRITE.union(Flags::BLOCKING.union(Flags::FAST)),
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::range(
            1,
            -2,
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS.union(KeyFlags::DELETE)),
        )],
        tips: &[],
        syntax: "key#0... timeout:double",
        run: Run::Write(bzpopmin),
    },
    CommandSpec {
        name: "zmpop",
        group: Group::SortedSet,
        summary: "Pops members from the first of several boards that has any.",
        since: "7.0.0",
        complexity: "O(K) + O(M*log(N)) for K keys and M members popped from a board of N",
        arity: -4,
        flags: Flags::WRITE.union(Flags::MOVABLE_KEYS),
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::counted(
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS.union(KeyFlags::DELETE)),
        )],
        tips: &[],
        syntax: "numkeys:integer key#0... where<MIN | MAX> [COUNT=count:integer]",
        run: Run::Write(zmpop),
    },
    CommandSpec {
        name: "zpopmax",
        group: Group::SortedSet,
        summary: "Pops the members with the highest scores.",
        since: "5.0.0",
        complexity: "O(log(N)*M) for M members popped from a board of N",
        arity: -2,
        flags: Flags::WRITE.union(Flags::FAST),
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS.union(KeyFlags::DELETE)),
        )],
        tips: &[],
        syntax: "key#0 [count:integer]",
        run: Run::Write(zpopmax),
    },
    CommandSpec {
        name: "zpopmin",
        group: Group::SortedSet,
        summary: "Pops the members with the lowest scores.",
        since: "5.0.0",
        complexity: "O(log(N)*M) for M members popped from a board of N",
        arity: -2,
        flags: Flags::WRITE.union(Flags::FAST),
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS.union(KeyFlags::DELETE)),
        )],
        tips: &[],
        syntax: "key#0 [count:integer]",
        run: Run::Write(zpopmin),
    },
];

/// The end of a board that members are taken from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Min,
    Max,
}

impl End {
    fn parse(word: &[u8]) -> Option<Self> {
        if word.eq_ignore_ascii_case(b"min") {
            Some(End::Min)
        } else if word.eq_ignore_ascii_case(b"max") {
            Some(End::Max)
        } else {
            None
        }
    }

    fn event(self) -> &'static str {
        match self {
            End::Min => "zpopmin",
            End::Max => "zpopmax",
        }
    }

    /// The command that takes from this end, for the log.
    fn command(self) -> &'static [u8] {
        match self {
            End::Min => b"ZPOPMIN",
            End::Max => b"ZPOPMAX",
        }
    }
}

/// How the members taken are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Members and scores in turns.
    Flat,
    /// An array of pairs.
    Pairs,
    /// The key, then one member and its score.
    KeyAndOne,
    /// The key and an array of pairs.
    KeyAndPairs,
}

impl Shape {
    fn write_header(self, reply: &mut Reply, key: &[u8], count: usize) {
        match self {
            Shape::Flat => reply.array(count * 2),
            Shape::Pairs => reply.array(count),
            Shape::KeyAndOne => {
                reply.array(count * 2 + 1);
                reply.bulk(key);
            }
            Shape::KeyAndPairs => {
                reply.array(2);
                reply.bulk(key);
                reply.array(count);
            }
        }
    }

    fn write_member(self, reply: &mut Reply, member: &[u8], score: Score) {
        if matches!(self, Shape::Pairs | Shape::KeyAndPairs) {
            reply.array(2);
        }
        reply.bulk(member);
        reply.double(score.get());
    }
}

/// Takes up to `count` members, over 0, from a board that has some; answers how many.
fn pop(
    board: &mut SortedSet,
    lent: &mut Lent<'_>,
    key: &[u8],
    end: End,
    count: usize,
    shape: Shape,
) -> usize {
    let len = board.len();
    let count = count.min(len);
    shape.write_header(lent.reply, key, count);
    let ranks = match end {
        End::Min => 0..count,
        End::Max => len - count..len,
    };
    if end == End::Max && count > 1 {
        // A removal tells in ascending order, the client hears of the greatest first.
        for (member, score) in board.range(ranks.clone()).rev() {
            shape.write_member(lent.reply, member, score);
        }
        board.remove_rank_range(ranks, |_, _| {});
    } else {
        board.remove_rank_range(ranks, |member, score| {
            shape.write_member(lent.reply, member, score);
        });
    }
    lent.changed(count as u64);
    lent.event(EventClass::ZSET, end.event());
    count
}

fn zpopmin(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    pop_of_one(ctx, args, End::Min)
}

fn zpopmax(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    pop_of_one(ctx, args, End::Max)
}

fn pop_of_one(ctx: &mut WriteCtx<'_>, args: Args<'_>, end: End) -> Handled {
    if args.len() > 3 {
        return Err(CommandError::Syntax);
    }
    let (count, shape) = match args.get(2) {
        None => (1, Shape::Flat),
        Some(text) => {
            let count = parse_i64(text)
                .and_then(|count| usize::try_from(count).ok())
                .ok_or(CommandError::NotPositive)?;
            let shape = if ctx.reply.is_resp3() {
                Shape::Pairs
            } else {
                Shape::Flat
            };
            (count, shape)
        }
    };
    let key = args.arg(1);
    let found = ctx.update::<SortedSet, _>(key, |board, lent| {
        if count == 0 {
            lent.reply.array(0);
        } else {
            pop(board, lent, key, end, count, shape);
        }
    })?;
    if found.is_none() {
        ctx.reply.array(0);
    }
    Ok(())
}

/// What ZMPOP and BZMPOP ask for behind the count of keys.
struct MultiPop<'a> {
    keys: Args<'a>,
    end: End,
    count: usize,
}

impl<'a> MultiPop<'a> {
    /// Reads `numkeys key [key ...] MIN|MAX [COUNT count]`.
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let key_count = parse_i64(args.arg(0))
            .and_then(|count| usize::try_from(count).ok())
            .filter(|&count| count > 0)
            .ok_or(CommandError::NumkeysNotPositive)?;
        let end_position = key_count.saturating_add(1);
        let end = args
            .get(end_position)
            .and_then(End::parse)
            .ok_or(CommandError::Syntax)?;
        let options = args.from(end_position + 1);
        let count = match (options.get(0), options.get(1)) {
            (None, _) => 1,
            (Some(word), Some(text)) if word.eq_ignore_ascii_case(b"count") => parse_i64(text)
                .and_then(|count| usize::try_from(count).ok())
                .filter(|&count| count > 0)
                .ok_or(CommandError::Text("ERR count should be greater than 0"))?,
            _ => return Err(CommandError::Syntax),
        };
        if options.len() > 2 {
            return Err(CommandError::Syntax);
        }
        Ok(Self {
            keys: args.from(1).first(key_count),
            end,
            count,
        })
    }
}

/// How a command that has several keys takes members from one of them.
#[derive(Clone, Copy)]
struct Taking {
    end: End,
    count: usize,
    shape: Shape,
}

/// Takes members from the first of the keys that holds any; false when none does.
fn pop_of_first(
    ctx: &mut WriteCtx<'_>,
    keys: Args<'_>,
    taking: Taking,
) -> Result<bool, CommandError> {
    for key in keys {
        let popped = ctx.update::<SortedSet, _>(key, |board, lent| {
            let count = pop(board, lent, key, taking.end, taking.count, taking.shape);
            let command = taking.end.command();
            if taking.shape == Shape::KeyAndOne {
                lent.effect(&[command, key]);
            } else {
                lent.effect(&[command, key, Decimal::new(count as u64).as_bytes()]);
            }
        })?;
        if popped.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn zmpop(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let MultiPop { keys, end, count } = MultiPop::parse(args.from(1))?;
    let taking = Taking {
        end,
        count,
        shape: Shape::KeyAndPairs,
    };
    if !pop_of_first(ctx, keys, taking)? {
        ctx.reply.null_array();
    }
    Ok(())
}

fn bzmpop(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let MultiPop { keys, end, count } = MultiPop::parse(args.from(2))?;
    let taking = Taking {
        end,
        count,
        shape: Shape::KeyAndPairs,
    };
    pop_or_wait(ctx, keys, taking, args.arg(1))
}

fn bzpopmin(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    pop_one_or_wait(ctx, args, End::Min)
}

fn bzpopmax(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    pop_one_or_wait(ctx, args, End::Max)
}

fn pop_one_or_wait(ctx: &mut WriteCtx<'_>, args: Args<'_>, end: End) -> Handled {
    let last = args.len() - 1;
    let taking = Taking {
        end,
        count: 1,
        shape: Shape::KeyAndOne,
    };
    let keys = args.from(1).first(last - 1);
    pop_or_wait(ctx, keys, taking, args.arg(last))
}

fn pop_or_wait(ctx: &mut WriteCtx<'_>, keys: Args<'_>, taking: Taking, timeout: &[u8]) -> Handled {
    let deadline_ms = parse_timeout_seconds(timeout, ctx.now.unix_ms())?;
    if !pop_of_first(ctx, keys, taking)? {
        ctx.block(Block {
            keys: keys.iter().map(Box::from).collect(),
            waits_for: Type::SortedSet,
            wakes_on_loss: false,
            retry: None,
            deadline_ms,
            timeout_reply: TimeoutReply::NullArray,
        });
    }
    Ok(())
}
