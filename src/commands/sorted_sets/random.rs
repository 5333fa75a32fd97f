//! ZRANDMEMBER.

use super::range::write_members;
use crate::engine::ctx::ReadCtx;
use crate::engine::random::Random;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::limits::RANDOM_REPLY_LEN_MAX;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;
use crate::store::sorted_set::SortedSet;
use std::collections::HashSet;

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
    syntax: "key [count [WITHSCORES]]",
    run: Run::Read(zrandmember),
}];

/// Above this share of the board (one in so many) ranks are picked in one pass over all of them instead of one by
/// one, where most of the draws would hit a rank that is already picked.
const DENSE_SHARE: usize = 3;

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
    let ranks = distinct_ranks(&mut ctx.session.random, board.len(), wanted);
    let members = ranks.iter().map(|&rank| {
        board
            .at(rank)
            .expect("the rank is below the board's length")
    });
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
    let start = ctx.reply.len();
    ctx.reply.array(if with_scores && !paired {
        wanted * 2
    } else {
        wanted
    });
    for _ in 0..wanted {
        let rank = ctx.session.random.below(board.len());
        let (member, score) = board
            .at(rank)
            .expect("the rank is below the board's length");
        if paired {
            ctx.reply.array(2);
        }
        ctx.reply.bulk(member);
        if with_scores {
            ctx.reply.double(score.get());
        }
        if ctx.reply.len() - start > RANDOM_REPLY_LEN_MAX {
            return Err(CommandError::Text("ERR value is out of range"));
        }
    }
    Ok(())
}

/// `wanted` different ranks below `len`, of which there are more.
fn distinct_ranks(random: &mut Random, len: usize, wanted: usize) -> Vec<usize> {
    if wanted > len / DENSE_SHARE {
        let mut ranks = Vec::with_capacity(wanted);
        for rank in 0..len {
            // Each rank is as likely as what is still wanted among those that are left.
            if random.below(len - rank) < wanted - ranks.len() {
                ranks.push(rank);
            }
        }
        return ranks;
    }
    let mut seen = HashSet::with_capacity(wanted);
    let mut ranks = Vec::with_capacity(wanted);
    while ranks.len() < wanted {
        let rank = random.below(len);
        if seen.insert(rank) {
            ranks.push(rank);
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_ranks_are_as_many_as_wanted_and_reach_all() {
        let mut random = Random::new(7);
        for (len, wanted) in [(10, 0), (10, 1), (10, 3), (10, 4), (10, 9), (1000, 20)] {
            let mut hits = vec![0; len];
            for _ in 0..400 {
                let ranks = distinct_ranks(&mut random, len, wanted);
                let different: HashSet<_> = ranks.iter().collect();
                assert_eq!((ranks.len(), different.len()), (wanted, wanted));
                ranks.iter().for_each(|&rank| hits[rank] += 1);
            }
            if wanted > 0 {
                let expected = 400 * wanted / len;
                assert!(
                    hits.iter().all(|&hits| hits > 0 && hits < expected * 6),
                    "{len} {wanted}"
                );
            }
        }
    }
}
