//! Commands that change hashes.

use super::limits;
use crate::commands::numbers::integer;
use crate::engine::ctx::WriteCtx;
use crate::engine::notify::EventClass;
use crate::engine::spec::Handled;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::{LongDouble, parse_i64};
use crate::store::decimal::Scratch;
use crate::store::hash::Hash;

pub fn hset(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let created = set_all(ctx, args, "hset")?;
    ctx.reply.integer(created);
    Ok(())
}

pub fn hmset(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    set_all(ctx, args, "hmset")?;
    ctx.reply.ok();
    Ok(())
}

/// Sets the fields behind the key; returns how many are new.
fn set_all(ctx: &mut WriteCtx<'_>, args: Args<'_>, command: &str) -> Result<i64, CommandError> {
    if !args.len().is_multiple_of(2) {
        return Err(CommandError::wrong_arity(command));
    }
    ctx.upsert::<Hash, i64>(args.arg(1), |hash, lent| {
        let limits = limits(lent.settings);
        let pairs = args.from(2);
        hash.prepare(pairs.iter(), limits);
        let mut created = 0;
        let mut words = pairs.iter();
        while let (Some(field), Some(value)) = (words.next(), words.next()) {
            created += i64::from(hash.set(field, value, limits));
        }
        lent.changed(pairs.len() as u64 / 2);
        lent.event(EventClass::HASH, "hset");
        created
    })
}

pub fn hsetnx(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let (field, value) = (args.arg(2), args.arg(3));
    ctx.upsert::<Hash, ()>(args.arg(1), |hash, lent| {
        if hash.contains(field) {
            lent.reply.integer(0);
            return;
        }
        let limits = limits(lent.settings);
        hash.prepare([field, value].into_iter(), limits);
        hash.set(field, value, limits);
        lent.changed(1);
        lent.event(EventClass::HASH, "hset");
        lent.reply.integer(1);
    })
}

pub fn hdel(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let removed = ctx.update::<Hash, i64>(args.arg(1), |hash, lent| {
        let mut removed = 0;
        for field in args.from(2) {
            removed += i64::from(hash.remove(field));
            if hash.is_empty() {
                break;
            }
        }
        if removed > 0 {
            lent.changed(removed as u64);
            lent.event(EventClass::HASH, "hdel");
        }
        removed
    })?;
    ctx.reply.integer(removed.unwrap_or(0));
    Ok(())
}

pub fn hincrby(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let field = args.arg(2);
    let change = integer(args.arg(3))?;
    ctx.upsert::<Hash, Handled>(args.arg(1), |hash, lent| {
        let old = match hash.get(field) {
            Some(text) => parse_i64(text).ok_or("ERR hash value is not an integer")?,
            None => 0,
        };
        let sum = old.checked_add(change).ok_or(CommandError::Overflow)?;
        hash.set(field, Scratch::default().print(sum), limits(lent.settings));
        lent.changed(1);
        lent.event(EventClass::HASH, "hincrby");
        lent.reply.integer(sum);
        Ok(())
    })?
}

pub fn hincrbyfloat(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let (key, field) = (args.arg(1), args.arg(2));
    let change = LongDouble::parse(args.arg(3)).ok_or(CommandError::NotFloat)?;
    if change.is_infinite() {
        return Err(CommandError::Text("ERR value is NaN or Infinity"));
    }
    ctx.upsert::<Hash, Handled>(key, |hash, lent| {
        let old = match hash.get(field) {
            Some(text) => LongDouble::parse(text).ok_or("ERR hash value is not a float")?,
            None => LongDouble::ZERO,
        };
        let sum = old.checked_add(change).ok_or(CommandError::NanOrInfinity)?;
        let mut text = Vec::new();
        sum.write(&mut text);
        hash.set(field, &text, limits(lent.settings));
        lent.changed(1);
        lent.event(EventClass::HASH, "hincrbyfloat");
        lent.effect(&[b"HSET", key, field, &text]);
        lent.reply.bulk(&text);
        Ok(())
    })?
}
