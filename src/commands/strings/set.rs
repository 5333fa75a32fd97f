//! Commands that set whole strings, and those that read one on the way.

use super::lifetime::{Deadline, Lifetime, Taken};
use super::read_for_reply;
use crate::engine::ctx::WriteCtx;
use crate::engine::notify::EventClass;
use crate::engine::spec::Handled;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::write_i64;
use crate::store::string::StringValue;

/// When SET sets.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Condition {
    #[default]
    Always,
    IfAbsent,
    IfPresent,
}

#[derive(Clone, Copy, Default)]
struct SetOptions<'a> {
    condition: Condition,
    returns_old: bool,
    lifetime: Lifetime<'a>,
}

impl<'a> SetOptions<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut options = SetOptions::default();
        let mut at = 0;
        while let Some(word) = args.get(at) {
            if word.eq_ignore_ascii_case(b"NX") && options.condition != Condition::IfPresent {
                options.condition = Condition::IfAbsent;
            } else if word.eq_ignore_ascii_case(b"XX") && options.condition != Condition::IfAbsent {
                options.condition = Condition::IfPresent;
            } else if word.eq_ignore_ascii_case(b"GET") {
                options.returns_old = true;
            } else if word.eq_ignore_ascii_case(b"PERSIST") {
                return Err(CommandError::Syntax);
            } else {
                match options.lifetime.take(word, args.get(at + 1)) {
                    Taken::No => return Err(CommandError::Syntax),
                    Taken::Word => {}
                    Taken::WordAndArgument => at += 1,
                }
            }
            at += 1;
        }
        Ok(options)
    }
}

pub fn set(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let options = SetOptions::parse(args.from(3))?;
    let (key, value) = (args.arg(1), args.arg(2));
    let deadline = match options.lifetime {
        Lifetime::Until(deadline) => Some(deadline.resolve("set", ctx.now)?),
        _ => None,
    };
    if options.returns_old {
        read_for_reply(ctx, key)?;
    }
    if !allows(ctx, key, options.condition) {
        if !options.returns_old {
            ctx.reply.null();
        }
        return Ok(());
    }
    let keep = matches!(options.lifetime, Lifetime::Keep);
    store(ctx, key, value, keep, deadline);
    if options.returns_old && deadline.is_none() {
        if keep {
            ctx.effect(&[b"SET", key, value, b"KEEPTTL"]);
        } else {
            ctx.effect(&[b"SET", key, value]);
        }
    }
    if !options.returns_old {
        ctx.reply.ok();
    }
    Ok(())
}

fn allows(ctx: &WriteCtx<'_>, key: &[u8], condition: Condition) -> bool {
    match condition {
        Condition::Always => true,
        Condition::IfAbsent => !ctx.contains(key),
        Condition::IfPresent => ctx.contains(key),
    }
}

/// Sets a key; with a deadline, the log gets it as the absolute time.
fn store(ctx: &mut WriteCtx<'_>, key: &[u8], value: &[u8], keep: bool, deadline: Option<i64>) {
    let keep = keep || deadline.is_some();
    ctx.set_value(key, StringValue::new(value).into(), keep);
    ctx.event(EventClass::STRING, "set", key);
    if let Some(deadline) = deadline {
        ctx.set_deadline_at(ctx.session.db, key, Some(deadline));
        if ctx.wants_effects() {
            let mut text = Vec::new();
            write_i64(deadline, &mut text);
            ctx.effect(&[b"SET", key, value, b"PXAT", &text]);
        }
        ctx.event(EventClass::GENERIC, "expire", key);
    }
}

pub fn setnx(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let key = args.arg(1);
    let is_set = allows(ctx, key, Condition::IfAbsent);
    if is_set {
        store(ctx, key, args.arg(2), false, None);
    }
    ctx.reply.integer(i64::from(is_set));
    Ok(())
}

pub fn setex(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    set_until(ctx, args, Deadline::seconds(args.arg(2)), "setex")
}

pub fn psetex(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    set_until(ctx, args, Deadline::milliseconds(args.arg(2)), "psetex")
}

fn set_until(
    ctx: &mut WriteCtx<'_>,
    args: Args<'_>,
    deadline: Deadline<'_>,
    command: &str,
) -> Handled {
    let deadline = deadline.resolve(command, ctx.now)?;
    store(ctx, args.arg(1), args.arg(3), false, Some(deadline));
    ctx.reply.ok();
    Ok(())
}

pub fn mset(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    if args.len().is_multiple_of(2) {
        return Err(CommandError::wrong_arity("mset"));
    }
    store_all(ctx, args);
    ctx.reply.ok();
    Ok(())
}

pub fn msetnx(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    if args.len().is_multiple_of(2) {
        return Err(CommandError::wrong_arity("msetnx"));
    }
    let free = args.from(1).iter().step_by(2).all(|key| !ctx.contains(key));
    if free {
        store_all(ctx, args);
    }
    ctx.reply.integer(i64::from(free));
    Ok(())
}

fn store_all(ctx: &mut WriteCtx<'_>, args: Args<'_>) {
    for at in (1..args.len()).step_by(2) {
        store(ctx, args.arg(at), args.arg(at + 1), false, None);
    }
}

pub fn getset(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let (key, value) = (args.arg(1), args.arg(2));
    read_for_reply(ctx, key)?;
    store(ctx, key, value, false, None);
    ctx.effect(&[b"SET", key, value]);
    Ok(())
}

pub fn getdel(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let key = args.arg(1);
    if read_for_reply(ctx, key)? {
        let lazily = ctx.settings().lazyfree_lazy_server_del;
        remove(ctx, key, lazily);
    }
    Ok(())
}

/// Removes a key as DEL or UNLINK would, which is what the log gets.
fn remove(ctx: &mut WriteCtx<'_>, key: &[u8], lazily: bool) {
    ctx.remove(key);
    ctx.effect(&[if lazily { b"UNLINK" } else { b"DEL" }, key]);
    ctx.event(EventClass::GENERIC, "del", key);
}

pub fn getex(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let key = args.arg(1);
    let lifetime = getex_lifetime(args.from(2))?;
    // The deadline is refused only after the type, and only of a key that exists.
    let exists = ctx.read::<StringValue>(key)?.is_some();
    let deadline = match lifetime {
        Lifetime::Until(deadline) if exists => {
            Some((deadline.resolve("getex", ctx.now)?, deadline.is_absolute()))
        }
        _ => None,
    };
    if !read_for_reply(ctx, key)? {
        return Ok(());
    }
    match (lifetime, deadline) {
        (_, Some((deadline, true)))
            if deadline <= ctx.now.unix_ms() && !ctx.keeps_expired_keys() =>
        {
            let lazily = ctx.settings().lazyfree_lazy_expire;
            remove(ctx, key, lazily);
        }
        (_, Some((deadline, _))) => {
            ctx.set_deadline(key, Some(deadline));
            if ctx.wants_effects() {
                let mut text = Vec::new();
                write_i64(deadline, &mut text);
                ctx.effect(&[b"PEXPIREAT", key, &text]);
            }
            ctx.event(EventClass::GENERIC, "expire", key);
        }
        (Lifetime::Persist, _) if ctx.db().deadline(key).is_some() => {
            ctx.set_deadline(key, None);
            ctx.effect(&[b"PERSIST", key]);
            ctx.event(EventClass::GENERIC, "persist", key);
        }
        _ => {}
    }
    Ok(())
}

fn getex_lifetime(args: Args<'_>) -> Result<Lifetime<'_>, CommandError> {
    let mut lifetime = Lifetime::Default;
    let mut at = 0;
    while let Some(word) = args.get(at) {
        let taken = lifetime.take(word, args.get(at + 1));
        if taken == Taken::No || word.eq_ignore_ascii_case(b"KEEPTTL") {
            return Err(CommandError::Syntax);
        }
        at += 1 + usize::from(taken == Taken::WordAndArgument);
    }
    Ok(lifetime)
}
