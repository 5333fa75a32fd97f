//! Commands that wait for an element.
//!
//! A client that waited runs its command again when one of its keys holds a list, so
//! each handler first tries and asks to wait only if there is nothing.

use super::end_named;
use super::write::{MultiPop, move_element, pop_one};
use crate::commands::timeout::parse_timeout_seconds;
use crate::engine::blocking::{Block, TimeoutReply};
use crate::engine::ctx::WriteCtx;
use crate::engine::spec::Handled;
use crate::resp::args::Args;
use crate::store::list::{End, List};
use crate::store::value::Type;

pub fn blpop(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    pop(ctx, args, End::Front)
}

pub fn brpop(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    pop(ctx, args, End::Back)
}

fn pop(ctx: &mut WriteCtx<'_>, args: Args<'_>, end: End) -> Handled {
    let last = args.len() - 1;
    let deadline_ms = parse_timeout_seconds(args.arg(last), ctx.now.unix_ms())?;
    let keys = args.from(1).first(last - 1);
    for key in keys {
        let popped = ctx.update::<List, ()>(key, |list, lent| {
            lent.reply.array(2);
            lent.reply.bulk(key);
            pop_one(list, lent, end);
            lent.effect(&[if end == End::Front { b"LPOP" } else { b"RPOP" }, key]);
        })?;
        if popped.is_some() {
            return Ok(());
        }
    }
    wait(ctx, keys, deadline_ms);
    Ok(())
}

pub fn blmpop(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    // A wrong timeout is told last.
    let pop = MultiPop::parse(args.from(2))?;
    let deadline_ms = parse_timeout_seconds(args.arg(1), ctx.now.unix_ms())?;
    if !pop.run(ctx)? {
        wait(ctx, pop.keys, deadline_ms);
    }
    Ok(())
}

pub fn blmove(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let (from, to) = (end_named(args.arg(3))?, end_named(args.arg(4))?);
    let deadline_ms = parse_timeout_seconds(args.arg(5), ctx.now.unix_ms())?;
    let (source, destination) = (args.arg(1), args.arg(2));
    if move_element(ctx, source, destination, from, to)? {
        ctx.effect(&[b"LMOVE", source, destination, args.arg(3), args.arg(4)]);
    } else {
        wait_to_move(ctx, args.from(1).first(1), deadline_ms);
    }
    Ok(())
}

pub fn brpoplpush(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let deadline_ms = parse_timeout_seconds(args.arg(3), ctx.now.unix_ms())?;
    let (source, destination) = (args.arg(1), args.arg(2));
    if move_element(ctx, source, destination, End::Back, End::Front)? {
        ctx.effect(&[b"RPOPLPUSH", source, destination]);
    } else {
        wait_to_move(ctx, args.from(1).first(1), deadline_ms);
    }
    Ok(())
}

/// Who may not wait gets the answer of LMOVE, whose null is that of a string; who waited
/// in vain gets a null array, as after any wait.
fn wait_to_move(ctx: &mut WriteCtx<'_>, source: Args<'_>, deadline_ms: Option<i64>) {
    if ctx.session.must_not_block() {
        ctx.reply.null();
    } else {
        wait(ctx, source, deadline_ms);
    }
}

fn wait(ctx: &mut WriteCtx<'_>, keys: Args<'_>, deadline_ms: Option<i64>) {
    ctx.block(Block {
        keys: keys.iter().map(Box::from).collect(),
        waits_for: Type::List,
        wakes_on_loss: false,
        retry: None,
        deadline_ms,
        timeout_reply: TimeoutReply::NullArray,
    });
}
