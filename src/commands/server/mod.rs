//! TIME, MONITOR, SHUTDOWN, LOLWUT.

mod command;
mod config;
mod debug;
mod info;
mod latency;
mod lolwut;
mod memory;
mod slow_log;

pub use command::COMMANDS as COMMAND_COMMANDS;
pub use config::COMMANDS as CONFIG_COMMANDS;
pub use debug::COMMANDS as DEBUG_COMMANDS;
pub use info::COMMANDS as INFO_COMMANDS;
pub use latency::COMMANDS as LATENCY_COMMANDS;
pub use memory::COMMANDS as MEMORY_COMMANDS;
pub use slow_log::COMMANDS as SLOW_LOG_COMMANDS;

use crate::engine::Engine;
use crate::engine::ShutdownOptions;
use crate::engine::client::client_flags;
use crate::engine::ctx::{ControlCtx, ReadCtx};
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use lolwut::lolwut;

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "time",
        group: Group::Server,
        summary: "Tells the server's time.",
        since: "2.6.0",
        complexity: "O(1)",
        arity: 1,
        flags: Flags::LOADING.union(Flags::STALE.union(Flags::FAST)),
        categories: Categories::empty(),
        keys: &[],
        tips: &["nondeterministic_output"],
        syntax: "",
        run: Run::Read(time),
    },
    CommandSpec {
        name: "monitor",
        group: Group::Server,
        summary: "Shows every command that the server runs.",
        since: "1.0.0",
        complexity: "",
        arity: 1,
        flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "",
        run: Run::Control(monitor),
    },
    CommandSpec {
        name: "shutdown",
        group: Group::Server,
        summary: "Ends the server.",
        since: "1.0.0",
        complexity: "O(N) when saving, where N is the total number of keys in all databases when saving data, otherwise O(1)",
        arity: -1,
        flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(
            Flags::LOADING.union(Flags::STALE.union(Flags::NO_MULTI.union(Flags::ALLOW_BUSY))),
        )),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "[save-selector<NOSAVE | SAVE>] [NOW@7.0.0] [FORCE@7.0.0] [ABORT@7.0.0]",
        run: Run::Control(shutdown),
    },
    CommandSpec {
        name: "lolwut",
        group: Group::Server,
        summary: "Draws something.",
        since: "5.0.0",
        complexity: "",
        arity: -1,
        flags: Flags::READONLY.union(Flags::FAST),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "[VERSION=version:integer]",
        run: Run::Read(lolwut),
    },
];

fn time(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    ctx.reply.array(2);
    ctx.reply
        .bulk((ctx.now.unix_us / 1_000_000).to_string().as_bytes());
    ctx.reply
        .bulk((ctx.now.unix_us % 1_000_000).to_string().as_bytes());
    Ok(())
}

fn monitor(ctx: &mut ControlCtx<'_>, _args: Args<'_>) -> Handled {
    if ctx.session.must_not_block() {
        return Err(CommandError::Text(
            "ERR MONITOR isn't allowed for DENY BLOCKING client",
        ));
    }
    let client = ctx.session.client.clone();
    if !client.has_flag(client_flags::MONITOR) {
        client.set_flag(client_flags::MONITOR, true);
        ctx.engine.monitors.push(client);
    }
    ctx.reply.ok();
    Ok(())
}

fn shutdown(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let mut options = ShutdownOptions::default();
    let mut abort = false;
    for word in args.from(1).iter() {
        match word.to_ascii_lowercase().as_slice() {
            b"save" if options.save != Some(false) => options.save = Some(true),
            b"nosave" if options.save != Some(true) => options.save = Some(false),
            b"now" => options.now = true,
            b"force" => options.force = true,
            b"abort" => abort = true,
            _ => return Err(CommandError::Syntax),
        }
    }
    if abort {
        if args.len() > 2 {
            return Err(CommandError::Syntax);
        }
        return Err(CommandError::Text("ERR No shutdown in progress."));
    }
    if ctx.engine.shut_down(options, ctx.now).is_err() {
        return Err(CommandError::Text(
            "ERR Errors trying to SHUTDOWN. Check logs.",
        ));
    }
    // The connection ends without a reply, which is how clients know that it worked.
    ctx.session.close = true;
    Ok(())
}

/// Bytes that connections take with their buffers.
fn clients_memory_bytes(engine: &Engine) -> u64 {
    engine
        .clients
        .all()
        .iter()
        .map(|client| client.memory_bytes())
        .sum()
}
