//! OBJECT: layout, age and use of a value.

use crate::engine::ctx::ReadCtx;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::settings::MaxmemoryPolicy;
use crate::store::value::ValueRef;

pub const COMMANDS: &[CommandSpec] = &[CommandSpec {
    name: "object",
    group: Group::Generic,
    summary: "Looks inside the value of a key.",
    since: "2.2.3",
    complexity: "Depends on subcommand.",
    arity: -2,
    flags: Flags::empty(),
    categories: Categories::empty(),
    keys: &[],
    tips: &[],
    syntax: "",
    run: Run::Container(&[
        CommandSpec {
            name: "idletime",
            group: Group::Generic,
            summary: "Tells for how many seconds the key was not used.",
            since: "2.2.3",
            complexity: "O(1)",
            arity: 3,
            flags: Flags::READONLY,
            categories: Categories::KEYSPACE,
            keys: &[KeySpec::one(2, KeyFlags::RO)],
            tips: &["nondeterministic_output"],
            syntax: "key#0",
            run: Run::Read(object_idletime),
        },
        CommandSpec {
            name: "refcount",
            group: Group::Generic,
            summary: "Tells how many references the value has.",
            since: "2.2.3",
            complexity: "O(1)",
            arity: 3,
            flags: Flags::READONLY,
            categories: Categories::KEYSPACE,
            keys: &[KeySpec::one(2, KeyFlags::RO)],
            tips: &["nondeterministic_output"],
            syntax: "key#0",
            run: Run::Read(object_refcount),
        },
        CommandSpec {
            name: "freq",
            group: Group::Generic,
            summary: "Tells how often the key is used, on a logarithmic scale.",
            since: "4.0.0",
            complexity: "O(1)",
            arity: 3,
            flags: Flags::READONLY,
            categories: Categories::KEYSPACE,
            keys: &[KeySpec::one(2, KeyFlags::RO)],
            tips: &["nondeterministic_output"],
            syntax: "key#0",
            run: Run::Read(object_freq),
        },
        CommandSpec {
            name: "help",
            group: Group::Generic,
            summary: "Describes the subcommands.",
            since: "6.2.0",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::LOADING.union(Flags::STALE),
            categories: Categories::KEYSPACE,
            keys: &[],
            tips: &[],
            syntax: "",
            run: Run::Read(object_help),
        },
        CommandSpec {
            name: "encoding",
            group: Group::Generic,
            summary: "Names the layout of the value in memory.",
            since: "2.2.3",
            complexity: "O(1)",
            arity: 3,
            flags: Flags::READONLY,
            categories: Categories::KEYSPACE,
            keys: &[KeySpec::one(2, KeyFlags::RO)],
            tips: &["nondeterministic_output"],
            syntax: "key#0",
            run: Run::Read(object_encoding),
        },
    ]),
}];

/// References that Redis reports of the integers that it shares.
const SHARED_REFERENCES: i64 = i32::MAX as i64;

/// Integers below this are shared in Redis.
const SHARED_INTEGERS: i64 = 10_000;

fn tracks_frequency(ctx: &ReadCtx<'_>) -> bool {
    matches!(
        ctx.settings().maxmemory_policy,
        MaxmemoryPolicy::AllkeysLfu | MaxmemoryPolicy::VolatileLfu
    )
}

fn object_encoding(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    match ctx.peek(args.arg(2)) {
        Some(value) => ctx.reply.bulk(value.encoding().as_bytes()),
        None => ctx.reply.null(),
    }
    Ok(())
}

fn object_refcount(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    match ctx.peek(args.arg(2)) {
        Some(ValueRef::String(text))
            if text
                .as_int()
                .is_some_and(|number| (0..SHARED_INTEGERS).contains(&number)) =>
        {
            ctx.reply.integer(SHARED_REFERENCES);
        }
        Some(_) => ctx.reply.integer(1),
        None => ctx.reply.null(),
    }
    Ok(())
}

fn object_idletime(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let key = args.arg(2);
    if ctx.peek(key).is_none() {
        ctx.reply.null();
        return Ok(());
    }
    if tracks_frequency(ctx) {
        return Err(CommandError::Text(
            "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between \
             policies at runtime LRU and LFU data will take some time to adjust.",
        ));
    }
    let now_seconds = (ctx.now.unix_us / 1_000_000) as u64;
    let idle = ctx
        .db()
        .access(key)
        .map_or(0, |clock| clock.idle_seconds(now_seconds));
    ctx.reply.integer(idle as i64);
    Ok(())
}

fn object_freq(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let key = args.arg(2);
    if ctx.peek(key).is_none() {
        ctx.reply.null();
        return Ok(());
    }
    if !tracks_frequency(ctx) {
        return Err(CommandError::Text(
            "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when \
             switching between policies at runtime LRU and LFU data will take some time to adjust.",
        ));
    }
    let now_minutes = (ctx.now.unix_us / 60_000_000) as u64;
    let decay_minutes = ctx.settings().lfu_decay_time;
    let counter = ctx
        .db()
        .access(key)
        .map_or(0, |clock| clock.counter(now_minutes, decay_minutes));
    ctx.reply.integer(i64::from(counter));
    Ok(())
}

fn object_help(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    crate::commands::help::write(
        ctx.reply,
        "OBJECT",
        &[
            "ENCODING <key>",
            "    Return the kind of internal representation used in order to store the value",
            "    associated with a <key>.",
            "FREQ <key>",
            "    Return the access frequency index of the <key>. The returned integer is",
            "    proportional to the logarithm of the recent access frequency of the key.",
            "IDLETIME <key>",
            "    Return the idle time of the <key>, that is the approximated number of",
            "    seconds elapsed since the last access to the key.",
            "REFCOUNT <key>",
            "    Return the number of references of the value associated with the specified",
            "    <key>.",
        ],
    );
    Ok(())
}
