//! Deadlines: EXPIRE and its kin, TTL and its kin, PERSIST.

use crate::engine::ctx::{ReadCtx, WriteCtx};
use crate::engine::notify::EventClass;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::{parse_i64, write_i64};

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "expire",
        group: Group::Generic,
        summary: "Sets the time to live of a key in seconds.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: -3,
        flags: Flags::WRITE.union(Flags::FAST),
        categories: Categories::KEYSPACE,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::UPDATE))],
        tips: &[],
        syntax: "key#0 seconds:integer [condition<NX | XX | GT | LT>@7.0.0]",
        run: Run::Write(expire),
    },
    CommandSpec {
        name: "expireat",
        group: Group::Generic,
        summary: "Sets the deadline of a key as Unix seconds.",
        since: "1.2.0",
        complexity: "O(1)",
        arity: -3,
        flags: Flags::WRITE.union(Flags::FAST),
        categories: Categories::KEYSPACE,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::UPDATE))],
        tips: &[],
        syntax: "key#0 unix-time-seconds:unix-time [condition<NX | XX | GT | LT>@7.0.0]",
        run: Run::Write(expireat),
    },
    CommandSpec {
        name: "expiretime",
        group: Group::Generic,
        summary: "Tells the deadline of a key as Unix seconds.",
        since: "7.0.0",
        complexity: "O(1)",
        arity: 2,
        flags: Flags::READONLY.union(Flags::FAST),
        categories: Categories::KEYSPACE,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0",
        run: Run::Read(expiretime),
    },
    CommandSpec {
        name: "persist",
        group: Group::Generic,
        summary: "Removes the deadline of a key.",
        since: "2.2.0",
        complexity: "O(1)",
        arity: 2,
        flags: Flags::WRITE.union(Flags::FAST),
        categories: Categories::KEYSPACE,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::UPDATE))],
        tips: &[],
        syntax: "key#0",
        run: Run::Write(persist),
    },
    CommandSpec {
        name: "pexpire",
        group: Group::Generic,
        summary: "Sets the time to live of a key in milliseconds.",
        since: "2.6.0",
        complexity: "O(1)",
        arity: -3,
        flags: Flags::WRITE.union(Flags::FAST),
        categories: Categories::KEYSPACE,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::UPDATE))],
        tips: &[],
        syntax: "key#0 milliseconds:integer [condition<NX | XX | GT | LT>@7.0.0]",
        run: Run::Write(pexpire),
    },
    CommandSpec {
        name: "pexpireat",
        group: Group::Generic,
        summary: "Sets the deadline of a key as Unix milliseconds.",
        since: "2.6.0",
        complexity: "O(1)",
        arity: -3,
        flags: Flags::WRITE.union(Flags::FAST),
        categories: Categories::KEYSPACE,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::UPDATE))],
        tips: &[],
        syntax: "key#0 unix-time-milliseconds:unix-time [condition<NX | XX | GT | LT>@7.0.0]",
        run: Run::Write(pexpireat),
    },
    CommandSpec {
        name: "pexpiretime",
        group: Group::Generic,
        summary: "Tells the deadline of a key as Unix milliseconds.",
        since: "7.0.0",
        complexity: "O(1)",
        arity: 2,
        flags: Flags::READONLY.union(Flags::FAST),
        categories: Categories::KEYSPACE,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0",
        run: Run::Read(pexpiretime),
    },
    CommandSpec {
        name: "pttl",
        group: Group::Generic,
        summary: "Tells the time to live of a key in milliseconds.",
        since: "2.6.0",
        complexity: "O(1)",
        arity: 2,
        flags: Flags::READONLY.union(Flags::FAST),
        categories: Categories::KEYSPACE,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output"],
        syntax: "key#0",
        run: Run::Read(pttl),
    },
    CommandSpec {
        name: "ttl",
        group: Group::Generic,
        summary: "Tells the time to live of a key in seconds.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 2,
        flags: Flags::READONLY.union(Flags::FAST),
        categories: Categories::KEYSPACE,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output"],
        syntax: "key#0",
        run: Run::Read(ttl),
    },
];

/// How the number of an EXPIRE command is meant.
#[derive(Clone, Copy)]
struct Unit {
    command: &'static str,
    ms: i64,
    /// Counted from now, not from the epoch.
    relative: bool,
}

fn expire(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    set_deadline(
        ctx,
        args,
        Unit {
            command: "expire",
            ms: 1_000,
            relative: true,
        },
    )
}

fn expireat(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    set_deadline(
        ctx,
        args,
        Unit {
            command: "expireat",
            ms: 1_000,
            relative: false,
        },
    )
}

fn pexpire(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    set_deadline(
        ctx,
        args,
        Unit {
            command: "pexpire",
            ms: 1,
            relative: true,
        },
    )
}

fn pexpireat(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    set_deadline(
        ctx,
        args,
        Unit {
            command: "pexpireat",
            ms: 1,
            relative: false,
        },
    )
}

/// Conditions on the deadline that a key has already.
#[derive(Clone, Copy, Default)]
struct Conditions {
    none_set: bool,
    one_set: bool,
    later: bool,
    earlier: bool,
}

impl Conditions {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let mut conditions = Self::default();
        for option in args.iter() {
            match option.to_ascii_lowercase().as_slice() {
                b"nx" => conditions.none_set = true,
                b"xx" => conditions.one_set = true,
                b"gt" => conditions.later = true,
                b"lt" => conditions.earlier = true,
                _ => {
                    let shown = String::from_utf8_lossy(option);
                    return Err(CommandError::Owned(format!(
                        "ERR Unsupported option {shown}"
                    )));
                }
            }
        }
        if conditions.none_set && (conditions.one_set || conditions.later || conditions.earlier) {
            return Err(CommandError::Text(
                "ERR NX and XX, GT or LT options at the same time are not compatible",
            ));
        }
        if conditions.later && conditions.earlier {
            return Err(CommandError::Text(
                "ERR GT and LT options at the same time are not compatible",
            ));
        }
        Ok(conditions)
    }

    /// A key without a deadline counts as living for ever.
    fn allow(self, old: Option<i64>, new: i64) -> bool {
        match old {
            None => !self.one_set && !self.later,
            Some(old) => !(self.none_set || self.later && new <= old || self.earlier && new >= old),
        }
    }
}

fn set_deadline(ctx: &mut WriteCtx<'_>, args: Args<'_>, unit: Unit) -> Handled {
    let key = args.arg(1);
    let conditions = Conditions::parse(args.from(3))?;
    let number = parse_i64(args.arg(2)).ok_or(CommandError::NotInteger)?;
    let now_ms = ctx.now.unix_ms();
    let deadline = number
        .checked_mul(unit.ms)
        .and_then(|ms| {
            if unit.relative {
                ms.checked_add(now_ms)
            } else {
                Some(ms)
            }
        })
        .ok_or_else(|| CommandError::invalid_expire(unit.command))?;
    if !ctx.contains(key) {
        ctx.reply.integer(0);
        return Ok(());
    }
    if !conditions.allow(ctx.db().deadline(key), deadline) {
        ctx.reply.integer(0);
        return Ok(());
    }
    if deadline <= now_ms && !ctx.keeps_expired_keys() {
        ctx.remove(key);
        let verb: &[u8] = if ctx.settings().lazyfree_lazy_expire {
            b"UNLINK"
        } else {
            b"DEL"
        };
        ctx.effect(&[verb, key]);
        ctx.event(EventClass::GENERIC, "del", key);
    } else {
        ctx.set_deadline(key, Some(deadline));
        if ctx.wants_effects() {
            let mut text = Vec::new();
            write_i64(deadline, &mut text);
            ctx.effect(&[b"PEXPIREAT", key, &text]);
        }
        ctx.event(EventClass::GENERIC, "expire", key);
    }
    ctx.reply.integer(1);
    Ok(())
}

fn persist(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let key = args.arg(1);
    if !ctx.contains(key) || ctx.db().deadline(key).is_none() {
        ctx.reply.integer(0);
        return Ok(());
    }
    ctx.set_deadline(key, None);
    ctx.event(EventClass::GENERIC, "persist", key);
    ctx.reply.integer(1);
    Ok(())
}

/// Answers the deadline as `show` makes a number of it; -1 without one, -2 without the key.
fn answer(ctx: &mut ReadCtx<'_>, args: Args<'_>, show: impl FnOnce(i64) -> i64) -> Handled {
    let key = args.arg(1);
    let number = match ctx.untouched(key) {
        None => -2,
        Some(_) => ctx.db().deadline(key).map_or(-1, show),
    };
    ctx.reply.integer(number);
    Ok(())
}

fn ttl(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let now_ms = ctx.now.unix_ms();
    answer(ctx, args, |deadline| {
        ((deadline - now_ms).max(0) + 500) / 1_000
    })
}

fn pttl(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let now_ms = ctx.now.unix_ms();
    answer(ctx, args, |deadline| (deadline - now_ms).max(0))
}

fn expiretime(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    answer(ctx, args, |deadline| {
        deadline / 1_000 + i64::from(deadline % 1_000 >= 500)
    })
}

fn pexpiretime(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    answer(ctx, args, |deadline| deadline)
}
