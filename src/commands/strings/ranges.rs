//! Parts of strings: lengths, ranges, appending.

use crate::commands::numbers::{integer, range};
use crate::engine::ctx::{ReadCtx, WriteCtx};
use crate::engine::notify::EventClass;
use crate::engine::session::Origin;
use crate::engine::spec::Handled;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::store::decimal::Scratch;
use crate::store::string::StringValue;

pub fn strlen(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let len = ctx
        .read::<StringValue>(args.arg(1))?
        .map_or(0, StringValue::len);
    ctx.reply.integer(len as i64);
    Ok(())
}

/// GETRANGE and its old name SUBSTR.
pub fn getrange(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let (start, end) = (integer(args.arg(2))?, integer(args.arg(3))?);
    let Some(value) = ctx.read::<StringValue>(args.arg(1))? else {
        ctx.reply.bulk(b"");
        return Ok(());
    };
    let mut scratch = Scratch::default();
    let bytes = value.bytes(&mut scratch);
    // An end before the beginning counts as the first byte, unless both bounds are
    // negative and the wrong way round.
    let last = end.max(-(bytes.len() as i64));
    let part = match range(start, last, bytes.len()) {
        Some((first, count)) if !(start < 0 && end < 0 && start > end) => {
            &bytes[first..first + count]
        }
        _ => b"",
    };
    ctx.reply.bulk(part);
    Ok(())
}

/// Refuses what would be longer than a string may be.
fn check_len(ctx: &WriteCtx<'_>, len: usize, added: usize) -> Result<(), CommandError> {
    let max = ctx.settings().proto_max_bulk_len.min(StringValue::LEN_MAX);
    let is_replay = ctx.session.origin == Origin::Replay;
    match len.checked_add(added) {
        Some(total) if total <= max || is_replay && total <= StringValue::LEN_MAX => Ok(()),
        _ => Err(CommandError::StringTooLong),
    }
}

pub fn append(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let (key, added) = (args.arg(1), args.arg(2));
    let Some(len) = ctx.read::<StringValue>(key)?.map(StringValue::len) else {
        ctx.set_value(key, StringValue::new(added).into(), false);
        ctx.event(EventClass::STRING, "append", key);
        ctx.reply.integer(added.len() as i64);
        return Ok(());
    };
    check_len(ctx, len, added.len())?;
    ctx.update::<StringValue, ()>(key, |value, lent| {
        let len = value.append(added);
        lent.changed(1);
        lent.event(EventClass::STRING, "append");
        lent.reply.integer(len as i64);
    })?;
    Ok(())
}

pub fn setrange(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let (key, bytes) = (args.arg(1), args.arg(3));
    let offset = usize::try_from(integer(args.arg(2))?)
        .map_err(|_| CommandError::Text("ERR offset is out of range"))?;
    let len = ctx.read::<StringValue>(key)?.map_or(0, StringValue::len);
    if bytes.is_empty() {
        ctx.reply.integer(len as i64);
        return Ok(());
    }
    check_len(ctx, offset, bytes.len())?;
    ctx.upsert::<StringValue, ()>(key, |value, lent| {
        let len = value.set_range(offset, bytes);
        lent.changed(1);
        lent.event(EventClass::STRING, "setrange");
        lent.reply.integer(len as i64);
    })
}
