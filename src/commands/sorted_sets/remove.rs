//! Removing members: ZREM and the removal of ranges.

use super::bounds::{RankRange, parse_lex_range, parse_score_range};
use crate::engine::ctx::WriteCtx;
use crate::engine::notify::EventClass;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::resp::args::Args;
use crate::store::sorted_set::SortedSet;
use std::ops::Range;

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "zrem",
        group: Group::SortedSet,
        summary: "Removes members.",
        since: "1.2.0",
        complexity: "O(M*log(N)) for M members removed from a board of N",
        arity: -3,
        flags: Flags::WRITE.union(Flags::FAST),
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::DELETE))],
        tips: &[],
        syntax: "key#0 member...",
        run: Run::Write(zrem),
    },
    CommandSpec {
        name: "zremrangebylex",
        group: Group::SortedSet,
        summary: "Removes the members in a range of the alphabet.",
        since: "2.8.9",
        complexity: "O(log(N)+M) for M members removed from a board of N",
        arity: 4,
        flags: Flags::WRITE,
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::DELETE))],
        tips: &[],
        syntax: "key#0 min max",
        run: Run::Write(zremrangebylex),
    },
    CommandSpec {
        name: "zremrangebyrank",
        group: Group::SortedSet,
        summary: "Removes the members in a range of ranks.",
        since: "2.0.0",
        complexity: "O(log(N)+M) for M members removed from a board of N",
        arity: 4,
        flags: Flags::WRITE,
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::DELETE))],
        tips: &[],
        syntax: "key#0 start:integer stop:integer",
        run: Run::Write(zremrangebyrank),
    },
    CommandSpec {
        name: "zremrangebyscore",
        group: Group::SortedSet,
        summary: "Removes the members with scores in a range.",
        since: "1.2.0",
        complexity: "O(log(N)+M) for M members removed from a board of N",
        arity: 4,
        flags: Flags::WRITE,
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::DELETE))],
        tips: &[],
        syntax: "key#0 min:double max:double",
        run: Run::Write(zremrangebyscore),
    },
];

fn zrem(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let removed = ctx.update::<SortedSet, _>(args.arg(1), |board, lent| {
        let members = args.from(2).iter();
        let removed = members
            .filter(|member| board.remove(member).is_some())
            .count();
        if removed > 0 {
            lent.changed(removed as u64);
            lent.event(EventClass::ZSET, "zrem");
        }
        removed
    })?;
    ctx.reply.integer(removed.unwrap_or(0) as i64);
    Ok(())
}

fn zremrangebyrank(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let range = RankRange::parse(args.arg(2), args.arg(3))?;
    remove_ranks(ctx, args, "zremrangebyrank", |board| range.on(board.len()))
}

fn zremrangebyscore(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let range = parse_score_range(args.arg(2), args.arg(3))?;
    remove_ranks(ctx, args, "zremrangebyscore", |board| {
        board.rank_range_by_score(&range)
    })
}

fn zremrangebylex(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let range = parse_lex_range(args.arg(2), args.arg(3))?;
    remove_ranks(ctx, args, "zremrangebylex", |board| {
        board.rank_range_by_lex(&range)
    })
}

fn remove_ranks(
    ctx: &mut WriteCtx<'_>,
    args: Args<'_>,
    event: &'static str,
    ranks: impl FnOnce(&SortedSet) -> Range<usize>,
) -> Handled {
    let removed = ctx.update::<SortedSet, _>(args.arg(1), |board, lent| {
        let ranks = ranks(board);
        let removed = ranks.len();
        if removed > 0 {
            board.remove_rank_range(ranks, |_, _| {});
            lent.changed(removed as u64);
            lent.event(EventClass::ZSET, event);
        }
        removed
    })?;
    ctx.reply.integer(removed.unwrap_or(0) as i64);
    Ok(())
}
