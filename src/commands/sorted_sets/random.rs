//! ZRANDMEMBER.

use super::range::write_members;
use crate::commands::picks::{distinct_indexes, write_repeated};
use crate::engine::ctx::ReadCtx;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;
use crate::store::sorted_set::{Score, SortedSet};

pub const COMMANDS: &[CommandSpec] = &[CommandSpec {
    name: "zrandmember",
    group: Group::SortedSet,
    summary: "Picks members at random.",
    since: "6.2.0",
    complexity: "O(N*log(S)) for N members picked from a board of S",
    arity: -2,
    flags: Flags::READONLY,
    categories: Categories::SORTED_SET,
    keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
    tips: &["nondeterministic_output"],
    syntax: "key#0 [options(count:integer [WITHSCORES])]",
    run: Run::Read(zrandmember),
}];

fn zrandmember(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let Some(text) = args.get(2) else {
        let board = ctx.read::<SortedSet>(args.arg(1))?;
        let picked = board.and_then(|board| board.at(ctx.session.random.below(board.len())));
        match picked {
            Some((member, _)) => ctx.reply.bulk(member),
            None => ctx.reply.null(),
        }
        return Ok(());
    };
    let count = parse_i64(text).ok_or(CommandError::NotInteger)?;
    if count == i64::MIN {
        return Err(CommandError::Text(
            "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
        ));
    }
    let with_scores = match args.get(3) {
        None => false,
        Some(word) if args.len() == 4 && word.eq_ignore_ascii_case(b"withscores") => true,
        Some(_) => return Err(CommandError::Syntax),
    };
    if with_scores && count.unsigned_abs() > i64::MAX as u64 / 2 {
        return Err(CommandError::Text("ERR value is out of range"));
    }
    let Some(board) = ctx.read::<SortedSet>(args.arg(1))? else {
        ctx.reply.array(0);
        return Ok(());
    };
    let wanted = count.unsigned_abs() as usize;
    if count < 0 {
        return pick_repeatedly(ctx, board, wanted, with_scores);
    }
    if wanted >= board.len() {
        // Redis happens to show all of them backwards.
        write_members(ctx.reply, board.iter().rev(), with_scores);
        return Ok(());
    }
    let ranks = distinct_indexes(board.len(), wanted, &mut ctx.session.random);
    let members = ranks.iter().map(|&rank| member_at(board, rank));
    write_members(ctx.reply, members, with_scores);
    Ok(())
}

/// Shows `wanted` members, each picked from all.
fn pick_repeatedly(
    ctx: &mut ReadCtx<'_>,
    board: &SortedSet,
    wanted: usize,
    with_scores: bool,
) -> Handled {
    let paired = with_scores && ctx.reply.is_resp3();
    ctx.reply.array(if with_scores && !paired {
        wanted * 2
    } else {
        wanted
    });
    let random = &mut ctx.session.random;
    write_repeated(ctx.reply, wanted as u64, |reply| {
        let (member, score) = member_at(board, random.below(board.len()));
        if paired {
            reply.array(2);
        }
        reply.bulk(member);
        if with_scores {
            reply.double(score.get());
        }
    })
}

/// The member at a rank below the board's length.
fn member_at(board: &SortedSet, rank: usize) -> (&[u8], Score) {
    board.at(rank).expect("the rank is below the length")
}
