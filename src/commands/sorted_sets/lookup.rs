//! Looking at a board: scores, ranks and counts.

use super::bounds::{parse_lex_range, parse_score_range};
use crate::engine::ctx::ReadCtx;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::store::sorted_set::SortedSet;

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "zcard",
        group: Group::SortedSet,
        summary: "Counts the members.",
        since: "1.2.0",
        complexity: "O(1)",
        arity: 2,
        flags: Flags::READONLY.union(Flags::FAST),
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(1, KeyFlags::RO)],
        tips: &[],
        syntax: "key#0",
        run: Run::Read(zcard),
    },
    CommandSpec {
        name: "zcount",
        group: Group::SortedSet,
        summary: "Counts the members with scores in a range.",
        since: "2.0.0",
        complexity: "O(log(N)) for a board of N members",
        arity: 4,
        flags: Flags::READONLY.union(Flags::FAST),
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 min:double max:double",
        run: Run::Read(zcount),
    },
    CommandSpec {
        name: "zlexcount",
        group: Group::SortedSet,
        summary: "Counts the members in a range of the alphabet.",
        since: "2.8.9",
        complexity: "O(log(N)) for a board of N members",
        arity: 4,
        flags: Flags::READONLY.union(Flags::FAST),
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 min max",
        run: Run::Read(zlexcount),
    },
    CommandSpec {
        name: "zmscore",
        group: Group::SortedSet,
        summary: "Tells the scores of members.",
        since: "6.2.0",
        complexity: "O(N) for N members asked for",
        arity: -3,
        flags: Flags::READONLY.union(Flags::FAST),
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 member...",
        run: Run::Read(zmscore),
    },
    CommandSpec {
        name: "zrank",
        group: Group::SortedSet,
        summary: "Tells the rank of a member, the lowest score first.",
        since: "2.0.0",
        complexity: "O(log(N)) for a board of N members",
        arity: -3,
        flags: Flags::READONLY.union(Flags::FAST),
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 member [WITHSCORE]",
        run: Run::Read(zrank),
    },
    CommandSpec {
        name: "zrevrank",
        group: Group::SortedSet,
        summary: "Tells the rank of a member, the highest score first.",
        since: "2.0.0",
        complexity: "O(log(N)) for a board of N members",
        arity: -3,
        flags: Flags::READONLY.union(Flags::FAST),
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 member [WITHSCORE]",
        run: Run::Read(zrevrank),
    },
    CommandSpec {
        name: "zscore",
        group: Group::SortedSet,
        summary: "Tells the score of a member.",
        since: "1.2.0",
        complexity: "O(1)",
        arity: 3,
        flags: Flags::READONLY.union(Flags::FAST),
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 member",
        run: Run::Read(zscore),
    },
];

fn zcard(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let len = ctx
        .read::<SortedSet>(args.arg(1))?
        .map_or(0, SortedSet::len);
    ctx.reply.integer(len as i64);
    Ok(())
}

fn zcount(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let range = parse_score_range(args.arg(2), args.arg(3))?;
    let count = ctx
        .read::<SortedSet>(args.arg(1))?
        .map_or(0, |board| board.rank_range_by_score(&range).len());
    ctx.reply.integer(count as i64);
    Ok(())
}

fn zlexcount(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let range = parse_lex_range(args.arg(2), args.arg(3))?;
    let count = ctx
        .read::<SortedSet>(args.arg(1))?
        .map_or(0, |board| board.rank_range_by_lex(&range).len());
    ctx.reply.integer(count as i64);
    Ok(())
}

fn zscore(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let board = ctx.read::<SortedSet>(args.arg(1))?;
    match board.and_then(|board| board.score(args.arg(2))) {
        Some(score) => ctx.reply.double(score.get()),
        None => ctx.reply.null(),
    }
    Ok(())
}

fn zmscore(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let board = ctx.read::<SortedSet>(args.arg(1))?;
    let members = args.from(2);
    ctx.reply.array(members.len());
    for member in members {
        match board.and_then(|board| board.score(member)) {
            Some(score) => ctx.reply.double(score.get()),
            None => ctx.reply.null(),
        }
    }
    Ok(())
}

fn zrank(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    rank(ctx, args, "zrank", |rank, _| rank)
}

fn zrevrank(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    rank(ctx, args, "zrevrank", |rank, len| len - 1 - rank)
}

/// `counted` makes the told rank of an ascending one and the count of members.
fn rank(
    ctx: &mut ReadCtx<'_>,
    args: Args<'_>,
    name: &str,
    counted: impl FnOnce(usize, usize) -> usize,
) -> Handled {
    if args.len() > 4 {
        return Err(CommandError::wrong_arity(name));
    }
    let with_score = match args.get(3) {
        None => false,
        Some(word) if word.eq_ignore_ascii_case(b"withscore") => true,
        Some(_) => return Err(CommandError::Syntax),
    };
    let board = ctx.read::<SortedSet>(args.arg(1))?;
    let found = board.and_then(|board| {
        let (rank, score) = board.rank(args.arg(2))?;
        Some((counted(rank, board.len()), score))
    });
    match found {
        Some((rank, score)) if with_score => {
            ctx.reply.array(2);
            ctx.reply.integer(rank as i64);
            ctx.reply.double(score.get());
        }
        Some((rank, _)) => ctx.reply.integer(rank as i64),
        None if with_score => ctx.reply.null_array(),
        None => ctx.reply.null(),
    }
    Ok(())
}
