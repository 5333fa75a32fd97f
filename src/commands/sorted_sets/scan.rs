//! ZSCAN.

use crate::commands::keys::{ScanOptions, parse_cursor};
use crate::engine::ctx::ReadCtx;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::resp::args::Args;
use crate::resp::number::{Decimal, write_g17};
use crate::resp::reply::Reply;
use crate::store::sorted_set::{Encoding, SortedSet};

pub const COMMANDS: &[CommandSpec] = &[CommandSpec {
    name: "zscan",
    group: Group::SortedSet,
    summary: "Walks through members and scores in steps.",
    since: "2.8.0",
    complexity: "O(1) for a step, O(N) for the whole walk through N members",
    arity: -3,
    flags: Flags::READONLY,
    categories: Categories::SORTED_SET,
    keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
    tips: &["nondeterministic_output"],
    syntax: "key#0 cursor:integer [MATCH=pattern:pattern] [COUNT=count:integer]",
    run: Run::Read(zscan),
}];

fn zscan(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let cursor = parse_cursor(args.arg(2))?;
    let Some(board) = ctx.read::<SortedSet>(args.arg(1))? else {
        write_step(ctx.reply, 0, 0, &[]);
        return Ok(());
    };
    let options = ScanOptions::parse(args.from(3), false)?;
    // Redis shows scores here with all seventeen digits once a board is big, and as everywhere else while it is small.
    let exact = board.encoding() == Encoding::Skiplist;
    let mut text = Vec::new();
    let mut shown = 0;
    let mut members = Reply::new(ctx.reply.protocol());
    let next = board.scan(cursor, options.count, |member, score| {
        if !options.matches(member) {
            return;
        }
        shown += 1;
        members.bulk(member);
        if exact {
            text.clear();
            write_g17(score.get(), &mut text);
            members.bulk(&text);
        } else {
            members.bulk_double(score.get());
        }
    });
    write_step(ctx.reply, next, shown, members.as_bytes());
    Ok(())
}

/// One step of a walk: where to go on, and the members with their scores, already written.
fn write_step(reply: &mut Reply, next: u64, shown: usize, members: &[u8]) {
    reply.array(2);
    reply.bulk(Decimal::new(next).as_bytes());
    reply.array(shown * 2);
    reply.raw(members);
}
