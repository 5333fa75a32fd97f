//! Strings as counters.

use crate::commands::numbers::integer;
use crate::engine::ctx::WriteCtx;
use crate::engine::notify::EventClass;
use crate::engine::spec::Handled;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::LongDouble;
use crate::store::decimal::Scratch;
use crate::store::string::StringValue;

pub fn incr(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    add(ctx, args.arg(1), 1)
}

pub fn decr(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    add(ctx, args.arg(1), -1)
}

pub fn incrby(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    add(ctx, args.arg(1), integer(args.arg(2))?)
}

pub fn decrby(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let change = integer(args.arg(2))?
        .checked_neg()
        .ok_or(CommandError::Text("ERR decrement would overflow"))?;
    add(ctx, args.arg(1), change)
}

fn add(ctx: &mut WriteCtx<'_>, key: &[u8], change: i64) -> Handled {
    ctx.upsert::<StringValue, Handled>(key, |value, lent| {
        let old = if lent.created() {
            0
        } else {
            value.as_int().ok_or(CommandError::NotInteger)?
        };
        let sum = old.checked_add(change).ok_or(CommandError::Overflow)?;
        *value = StringValue::from_int(sum);
        lent.changed(1);
        lent.event(EventClass::STRING, "incrby");
        lent.reply.integer(sum);
        Ok(())
    })?
}

pub fn incrbyfloat(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let key = args.arg(1);
    let old = match ctx.read::<StringValue>(key)? {
        Some(value) => LongDouble::parse(value.bytes(&mut Scratch::default())),
        None => Some(LongDouble::ZERO),
    };
    let old = old.ok_or(CommandError::NotFloat)?;
    let change = LongDouble::parse(args.arg(2)).ok_or(CommandError::NotFloat)?;
    let sum = old.checked_add(change).ok_or(CommandError::NanOrInfinity)?;
    let mut text = Vec::new();
    sum.write(&mut text);
    ctx.upsert::<StringValue, ()>(key, |value, lent| {
        *value = StringValue::text(&text);
        lent.changed(1);
        lent.event(EventClass::STRING, "incrbyfloat");
        lent.effect(&[b"SET", key, &text, b"KEEPTTL"]);
        lent.reply.bulk(&text);
    })
}
