//! SLOWLOG: commands that took long.

use crate::engine::ctx::ReadCtx;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;

pub const COMMANDS: &[CommandSpec] = &[CommandSpec {
    name: "slowlog",
    group: Group::Server,
    summary: "Looks at commands that took long.",
    since: "2.2.12",
    complexity: "Depends on subcommand.",
    arity: -2,
    flags: Flags::empty(),
    categories: Categories::empty(),
    keys: &[],
    tips: &[],
    syntax: "",
    run: Run::Container(&[
        CommandSpec {
            name: "reset",
            group: Group::Server,
            summary: "Forgets all entries.",
            since: "2.2.12",
            complexity: "O(N) where N is the number of entries in the slowlog",
            arity: 2,
            flags: Flags::ADMIN.union(Flags::LOADING.union(Flags::STALE)),
            categories: Categories::empty(),
            keys: &[],
            tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
            syntax: "",
            run: Run::Read(slowlog_reset),
        },
        CommandSpec {
            name: "len",
            group: Group::Server,
            summary: "Counts the entries.",
            since: "2.2.12",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::ADMIN.union(Flags::LOADING.union(Flags::STALE)),
            categories: Categories::empty(),
            keys: &[],
            tips: &[
                "request_policy:all_nodes",
                "response_policy:agg_sum",
                "nondeterministic_output",
            ],
            syntax: "",
            run: Run::Read(slowlog_len),
        },
        CommandSpec {
            name: "help",
            group: Group::Server,
            summary: "Describes the subcommands.",
            since: "6.2.0",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::LOADING.union(Flags::STALE),
            categories: Categories::empty(),
            keys: &[],
            tips: &[],
            syntax: "",
            run: Run::Read(slowlog_help),
        },
        CommandSpec {
            name: "get",
            group: Group::Server,
            summary: "Tells settings whose names match.",
            since: "2.2.12",
            complexity: "O(N) where N is the number of entries returned",
            arity: -2,
            flags: Flags::ADMIN.union(Flags::LOADING.union(Flags::STALE)),
            categories: Categories::empty(),
            keys: &[],
            tips: &["request_policy:all_nodes", "nondeterministic_output"],
            syntax: "[count:integer]",
            run: Run::Read(slowlog_get),
        },
    ]),
}];

/// Entries that SLOWLOG GET shows when no count is given.
const COUNT_DEFAULT: usize = 10;

fn slowlog_get(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    if args.len() > 3 {
        return Err(CommandError::subcommand_syntax("SLOWLOG", args.arg(1)));
    }
    let count = match args.get(2) {
        None => COUNT_DEFAULT,
        Some(text) => match parse_i64(text) {
            Some(-1) => usize::MAX,
            Some(count) if count >= 0 => count as usize,
            _ => {
                return Err(CommandError::Text(
                    "ERR count should be greater than or equal to -1",
                ));
            }
        },
    };
    let entries = ctx.engine().slow_log.newest(count);
    ctx.reply.array(entries.len());
    for entry in entries {
        ctx.reply.array(6);
        ctx.reply.integer(entry.id as i64);
        ctx.reply.integer(entry.unix_s);
        ctx.reply.integer(entry.duration_us as i64);
        ctx.reply.array(entry.args.len());
        for arg in &entry.args {
            ctx.reply.bulk(arg);
        }
        ctx.reply.bulk(entry.address.as_bytes());
        ctx.reply.bulk(&entry.name);
    }
    Ok(())
}

fn slowlog_len(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    let len = ctx.engine().slow_log.len();
    ctx.reply.integer(len as i64);
    Ok(())
}

fn slowlog_reset(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    ctx.engine().slow_log.reset();
    ctx.reply.ok();
    Ok(())
}

fn slowlog_help(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    crate::commands::help::write(
        ctx.reply,
        "SLOWLOG",
        &[
            "GET [<count>]",
            "    Return top <count> entries from the slowlog (default: 10, -1 mean all).",
            "    Entries are made of:",
            "    id, timestamp, time in microseconds, arguments array, client IP and port,",
            "    client name",
            "LEN",
            "    Return the length of the slowlog.",
            "RESET",
            "    Reset the slowlog.",
        ],
    );
    Ok(())
}
