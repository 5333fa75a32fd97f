//! The connection itself: PING, ECHO, SELECT, QUIT.

mod client;
mod hello;
mod listing;
mod tracking;

pub use client::COMMANDS as CLIENT_COMMANDS;
pub use hello::{COMMANDS as HELLO_COMMANDS, Login, greet, log_in};

use crate::engine::ctx::ReadCtx;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;

pub const COMMANDS: &[CommandSpec] =
    &[
        CommandSpec {
            name: "ping",
            group: Group::Connection,
            summary: "Answers PONG, or the given message.",
            since: "1.0.0",
            complexity: "O(1)",
            arity: -1,
            flags: Flags::FAST,
            categories: Categories::CONNECTION,
            keys: &[],
            tips: &["request_policy:all_shards", "response_policy:all_succeeded"],
            syntax: "[message]",
            run: Run::Read(ping),
        },
        CommandSpec {
            name: "echo",
            group: Group::Connection,
            summary: "Answers the given message.",
            since: "1.0.0",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::LOADING.union(Flags::STALE.union(Flags::FAST)),
            categories: Categories::CONNECTION,
            keys: &[],
            tips: &[],
            syntax: "message",
            run: Run::Read(echo),
        },
        CommandSpec {
            name: "select",
            group: Group::Connection,
            summary: "Chooses the database of the connection.",
            since: "1.0.0",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::LOADING.union(Flags::STALE.union(Flags::FAST)),
            categories: Categories::CONNECTION,
            keys: &[],
            tips: &[],
            syntax: "index:integer",
            run: Run::Read(select),
        },
        CommandSpec {
            name: "quit",
            group: Group::Connection,
            summary: "Ends the connection.",
            since: "1.0.0",
            complexity: "O(1)",
            arity: -1,
            flags: Flags::NOSCRIPT.union(Flags::LOADING.union(
                Flags::STALE.union(Flags::FAST.union(Flags::NO_AUTH.union(Flags::ALLOW_BUSY))),
            )),
            categories: Categories::CONNECTION,
            keys: &[],
            tips: &[],
            syntax: "",
            run: Run::Read(quit),
        },
    ];

fn ping(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    if args.len() > 2 {
        return Err(CommandError::wrong_arity("ping"));
    }
    let message = args.get(1);
    if ctx.session.is_subscriber() && !ctx.reply.is_resp3() {
        ctx.reply.array(2);
        ctx.reply.bulk(b"pong");
        ctx.reply.bulk(message.unwrap_or_default());
        return Ok(());
    }
    match message {
        Some(message) => ctx.reply.bulk(message),
        None => ctx.reply.simple("PONG"),
    }
    Ok(())
}

fn echo(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    ctx.reply.bulk(args.arg(1));
    Ok(())
}

fn select(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let index = parse_i64(args.arg(1)).ok_or(CommandError::NotInteger)?;
    let index = usize::try_from(index)
        .ok()
        .filter(|&index| index < ctx.engine().store.len())
        .ok_or(CommandError::DbOutOfRange)?;
    ctx.session.set_db(index);
    ctx.reply.ok();
    Ok(())
}

fn quit(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    ctx.session.close = true;
    ctx.reply.ok();
    Ok(())
}
