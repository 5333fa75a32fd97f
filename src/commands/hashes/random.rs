//! HRANDFIELD.

use crate::commands::numbers::symmetric;
use crate::commands::picks::{distinct_indexes, write_repeated};
use crate::engine::ctx::ReadCtx;
use crate::engine::spec::Handled;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::reply::Reply;
use crate::store::hash::Hash;

pub fn hrandfield(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let key = args.arg(1);
    let Some(count) = args.get(2) else {
        let hash = ctx.read::<Hash>(key)?;
        let random = &mut ctx.session.random;
        match hash.and_then(|hash| hash.random(&mut |bound| random.below(bound))) {
            Some((field, _)) => ctx.reply.bulk(field),
            None => ctx.reply.null(),
        }
        return Ok(());
    };
    let count = symmetric(count)?;
    let with_values = match args.get(3) {
        None => false,
        Some(word) if args.len() == 4 && word.eq_ignore_ascii_case(b"WITHVALUES") => true,
        Some(_) => return Err(CommandError::Syntax),
    };
    if with_values && count.unsigned_abs() > i64::MAX as u64 / 2 {
        return Err(CommandError::Text("ERR value is out of range"));
    }
    let Some(hash) = ctx.read::<Hash>(key)?.filter(|_| count != 0) else {
        ctx.reply.array(0);
        return Ok(());
    };
    if count < 0 {
        repeated(ctx, hash, count.unsigned_abs(), with_values)
    } else {
        distinct(ctx, hash, count.unsigned_abs(), with_values);
        Ok(())
    }
}

fn repeated(ctx: &mut ReadCtx<'_>, hash: &Hash, count: u64, with_values: bool) -> Handled {
    begin(ctx.reply, count as usize, with_values);
    let random = &mut ctx.session.random;
    // A small hash is walked through for each draw, which an index of its fields spares.
    let small: Option<Vec<_>> = (hash.encoding() == "listpack").then(|| hash.iter().collect());
    write_repeated(ctx.reply, count, |reply| {
        let drawn = match &small {
            Some(pairs) => pairs.get(random.below(pairs.len())).copied(),
            None => hash.random(&mut |bound| random.below(bound)),
        };
        if let Some(pair) = drawn {
            write(reply, pair, with_values);
        }
    })
}

fn distinct(ctx: &mut ReadCtx<'_>, hash: &Hash, count: u64, with_values: bool) {
    let len = hash.len();
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(len);
    begin(ctx.reply, count, with_values);
    if count == len {
        hash.iter()
            .for_each(|pair| write(ctx.reply, pair, with_values));
        return;
    }
    let chosen = distinct_indexes(len, count, &mut ctx.session.random);
    let mut chosen = chosen.into_iter().peekable();
    for (index, pair) in hash.iter().enumerate() {
        if chosen.next_if_eq(&index).is_some() {
            write(ctx.reply, pair, with_values);
        }
        if chosen.peek().is_none() {
            break;
        }
    }
}

/// RESP3 puts each field and its value into an array of their own.
fn begin(reply: &mut Reply, count: usize, with_values: bool) {
    let flat = with_values && !reply.is_resp3();
    reply.array(if flat { 2 * count } else { count });
}

fn write(reply: &mut Reply, (field, value): (&[u8], &[u8]), with_values: bool) {
    if with_values && reply.is_resp3() {
        reply.array(2);
    }
    reply.bulk(field);
    if with_values {
        reply.bulk(value);
    }
}
