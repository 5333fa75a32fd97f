//! CLIENT: looking at connections and changing them.

use super::hello::{BAD_NAME, is_plain};
use super::listing::{Filter, Kind};
use super::tracking;
use crate::engine::PauseKind;
use crate::engine::blocking::{TimeoutReply, Waiting};
use crate::engine::client::{ClientId, client_flags};
use crate::engine::client_line;
use crate::engine::ctx::{ControlCtx, ReadCtx};
use crate::engine::session::ReplyMode;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;

pub const COMMANDS: &[CommandSpec] = &[CommandSpec {
    name: "client",
    group: Group::Connection,
    summary: "Looks at connections and changes them.",
    since: "2.4.0",
    complexity: "Depends on subcommand.",
    arity: -2,
    flags: Flags::empty(),
    categories: Categories::empty(),
    keys: &[],
    tips: &[],
    syntax: "",
    run: Run::Container(&[
        tracking::CACHING,
        tracking::GETREDIR,
        tracking::TRACKING,
        tracking::TRACKINGINFO,
        CommandSpec {
            name: "no-touch",
            group: Group::Connection,
            summary: "Keeps the connection's reads from counting as use of keys.",
            since: "7.2.0",
            complexity: "O(1)",
            arity: 3,
            flags: Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE)),
            categories: Categories::CONNECTION,
            keys: &[],
            tips: &[],
            syntax: "enabled<ON | OFF>",
            run: Run::Read(client_no_touch),
        },
        CommandSpec {
            name: "setinfo",
            group: Group::Connection,
            summary: "Notes the client library of the connection.",
            since: "7.2.0",
            complexity: "O(1)",
            arity: 4,
            flags: Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE)),
            categories: Categories::CONNECTION,
            keys: &[],
            tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
            syntax: "attr<LIB-NAME=libname | LIB-VER=libver>",
            run: Run::Read(client_setinfo),
        },
        CommandSpec {
            name: "unblock",
            group: Group::Connection,
            summary: "Ends the wait of another connection.",
            since: "5.0.0",
            complexity: "O(log N) where N is the number of client connections",
            arity: -3,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::CONNECTION,
            keys: &[],
            tips: &[],
            syntax: "client-id:integer [unblock-type<TIMEOUT | ERROR>]",
            run: Run::Control(client_unblock),
        },
        CommandSpec {
            name: "info",
            group: Group::Connection,
            summary: "Describes this connection.",
            since: "6.2.0",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE)),
            categories: Categories::CONNECTION,
            keys: &[],
            tips: &["nondeterministic_output"],
            syntax: "",
            run: Run::Read(client_info),
        },
        CommandSpec {
            name: "unpause",
            group: Group::Connection,
            summary: "Lets held-back commands run again.",
            since: "6.2.0",
            complexity: "O(N) Where N is the number of paused clients",
            arity: 2,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::CONNECTION,
            keys: &[],
            tips: &[],
            syntax: "",
            run: Run::Control(client_unpause),
        },
        CommandSpec {
            name: "no-evict",
            group: Group::Connection,
            summary: "Protects the connection from eviction.",
            since: "7.0.0",
            complexity: "O(1)",
            arity: 3,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::CONNECTION,
            keys: &[],
            tips: &[],
            syntax: "enabled<ON | OFF>",
            run: Run::Read(client_no_evict),
        },
        CommandSpec {
            name: "reply",
            group: Group::Connection,
            summary: "Chooses whether commands are answered.",
            since: "3.2.0",
            complexity: "O(1)",
            arity: 3,
            flags: Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE)),
            categories: Categories::CONNECTION,
            keys: &[],
            tips: &[],
            syntax: "action<ON | OFF | SKIP>",
            run: Run::Read(client_reply),
        },
        CommandSpec {
            name: "kill",
            group: Group::Connection,
            summary: "Ends connections.",
            since: "2.4.0",
            complexity: "O(N) where N is the number of client connections",
            arity: -3,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::CONNECTION,
            keys: &[],
            tips: &[],
            syntax: "filter<old-format/ip:port!2.8.12 | new-format<[ID=client-id:integer@2.8.12] | [TYPE=client-type<NORMAL | MASTER@3.2.0 | SLAVE | REPLICA@5.0.0 | PUBSUB>@2.8.12] | [USER=username] | [ADDR=addr/ip:port] | [LADDR=laddr/ip:port@6.2.0] | [SKIPME=skipme<YES | NO>]>...>",
            run: Run::Control(client_kill),
        },
        CommandSpec {
            name: "getname",
            group: Group::Connection,
            summary: "Tells the name of the connection.",
            since: "2.6.9",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE)),
            categories: Categories::CONNECTION,
            keys: &[],
            tips: &[],
            syntax: "",
            run: Run::Read(client_getname),
        },
        CommandSpec {
            name: "help",
            group: Group::Connection,
            summary: "Describes the subcommands.",
            since: "5.0.0",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::LOADING.union(Flags::STALE),
            categories: Categories::CONNECTION,
            keys: &[],
            tips: &[],
            syntax: "",
            run: Run::Read(client_help),
        },
        CommandSpec {
            name: "pause",
            group: Group::Connection,
            summary: "Holds commands back for a time.",
            since: "3.0.0",
            complexity: "O(1)",
            arity: -3,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::CONNECTION,
            keys: &[],
            tips: &[],
            syntax: "timeout:integer [mode<WRITE | ALL>@6.2.0]",
            run: Run::Control(client_pause),
        },
        CommandSpec {
            name: "setname",
            group: Group::Connection,
            summary: "Names the connection.",
            since: "2.6.9",
            complexity: "O(1)",
            arity: 3,
            flags: Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE)),
            categories: Categories::CONNECTION,
            keys: &[],
            tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
            syntax: "connection-name",
            run: Run::Read(client_setname),
        },
        CommandSpec {
            name: "list",
            group: Group::Connection,
            summary: "Describes all connections.",
            since: "2.4.0",
            complexity: "O(N) where N is the number of client connections",
            arity: -2,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::CONNECTION,
            keys: &[],
            tips: &["nondeterministic_output"],
            syntax: "[TYPE=client-type<NORMAL | MASTER | REPLICA | PUBSUB>@5.0.0] [ID=client-id:integer...@6.2.0]",
            run: Run::Read(client_list),
        },
        CommandSpec {
            name: "id",
            group: Group::Connection,
            summary: "Tells the number of the connection.",
            since: "5.0.0",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE)),
            categories: Categories::CONNECTION,
            keys: &[],
            tips: &[],
            syntax: "",
            run: Run::Read(client_id),
        },
    ]),
}];

fn client_id(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    let ClientId(id) = ctx.session.client.id;
    ctx.reply.integer(id as i64);
    Ok(())
}

fn client_getname(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    let name = ctx.session.client.names().name.clone();
    if name.is_empty() {
        ctx.reply.null();
    } else {
        ctx.reply.bulk(&name);
    }
    Ok(())
}

fn client_setname(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let name = args.arg(2);
    if !is_plain(name) {
        return Err(BAD_NAME);
    }
    ctx.session.client.names().name = name.to_vec();
    ctx.reply.ok();
    Ok(())
}

fn client_setinfo(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let (option, value) = (args.arg(2), args.arg(3));
    let is_name = option.eq_ignore_ascii_case(b"lib-name");
    if !is_name && !option.eq_ignore_ascii_case(b"lib-ver") {
        let shown = String::from_utf8_lossy(option);
        return Err(CommandError::Owned(format!(
            "ERR Unrecognized option '{shown}'"
        )));
    }
    if !is_plain(value) {
        let shown = if is_name { "lib-name" } else { "lib-ver" };
        return Err(CommandError::Owned(format!(
            "ERR {shown} cannot contain spaces, newlines or special characters."
        )));
    }
    let mut names = ctx.session.client.names();
    if is_name {
        names.client_library = value.to_vec();
    } else {
        names.client_library_version = value.to_vec();
    }
    drop(names);
    ctx.reply.ok();
    Ok(())
}

fn client_info(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    let mut line = client_line::describe(&ctx.session.client, ctx.engine().table, ctx.now);
    line.push(b'\n');
    ctx.reply.verbatim("txt", &line);
    Ok(())
}

fn client_list(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let mut clients = ctx.engine().clients.all();
    if args.len() == 4 && args.arg(2).eq_ignore_ascii_case(b"type") {
        let kind = Kind::parse(args.arg(3))?;
        clients.retain(|client| Kind::of(client) == kind);
    } else if args.len() > 3 && args.arg(2).eq_ignore_ascii_case(b"id") {
        let mut wanted = Vec::new();
        for text in args.from(3).iter() {
            let id = parse_i64(text).ok_or(CommandError::Text("ERR Invalid client ID"))?;
            wanted.extend(
                u64::try_from(id)
                    .ok()
                    .and_then(|id| ctx.engine().clients.get(ClientId(id))),
            );
        }
        clients = wanted;
    } else if args.len() > 2 {
        return Err(CommandError::Syntax);
    }
    let mut text = Vec::new();
    for client in clients {
        text.extend_from_slice(&client_line::describe(&client, ctx.engine().table, ctx.now));
        text.push(b'\n');
    }
    ctx.reply.verbatim("txt", &text);
    Ok(())
}

fn client_kill(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let old_form = args.len() == 3;
    let filter = if old_form {
        Filter::address(args.arg(2))
    } else {
        Filter::parse(args.from(2), ctx.session.client.id, &ctx.engine.acl)?
    };
    let mut killed = 0;
    for client in ctx.engine.clients.all() {
        if !filter.matches(&client, ctx.now) {
            continue;
        }
        killed += 1;
        ctx.engine.end_connection(&client, ctx.session);
    }
    match (old_form, killed) {
        (true, 0) => return Err(CommandError::Text("ERR No such client")),
        (true, _) => ctx.reply.ok(),
        (false, _) => ctx.reply.integer(killed),
    }
    Ok(())
}

fn client_pause(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    if args.len() > 4 {
        return Err(CommandError::subcommand_syntax("CLIENT", args.arg(1)));
    }
    let kind = match args.get(3) {
        None => PauseKind::All,
        Some(mode) if mode.eq_ignore_ascii_case(b"all") => PauseKind::All,
        Some(mode) if mode.eq_ignore_ascii_case(b"write") => PauseKind::Write,
        Some(_) => {
            return Err(CommandError::Text(
                "ERR CLIENT PAUSE mode must be WRITE or ALL",
            ));
        }
    };
    let timeout = parse_i64(args.arg(2)).ok_or(CommandError::Text(
        "ERR timeout is not an integer or out of range",
    ))?;
    if timeout < 0 {
        return Err(CommandError::Text("ERR timeout is negative"));
    }
    let until_ms = timeout
        .checked_add(ctx.now.unix_ms())
        .ok_or(CommandError::Text("ERR timeout is out of range"))?;
    ctx.engine.pause(kind, until_ms);
    ctx.reply.ok();
    Ok(())
}

fn client_unpause(ctx: &mut ControlCtx<'_>, _args: Args<'_>) -> Handled {
    ctx.engine.unpause();
    ctx.reply.ok();
    Ok(())
}

fn client_unblock(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    if args.len() > 4 {
        return Err(CommandError::subcommand_syntax("CLIENT", args.arg(1)));
    }
    let error = match args.get(3) {
        None => None,
        Some(word) if word.eq_ignore_ascii_case(b"timeout") => None,
        Some(word) if word.eq_ignore_ascii_case(b"error") => {
            Some("UNBLOCKED client unblocked via CLIENT UNBLOCK")
        }
        Some(_) => {
            return Err(CommandError::Text(
                "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR",
            ));
        }
    };
    let id = parse_i64(args.arg(2)).ok_or(CommandError::NotInteger)?;
    let ended = u64::try_from(id).is_ok_and(|id| {
        let waits_for_peer =
            |waiting: &Waiting| waiting.block.timeout_reply == TimeoutReply::Transfer;
        let id = ClientId(id);
        !ctx.engine.blocking.get(id).is_some_and(waits_for_peer)
            && ctx.engine.stop_waiting(id, error)
    });
    ctx.reply.integer(i64::from(ended));
    Ok(())
}

fn client_reply(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let mode = args.arg(2);
    if mode.eq_ignore_ascii_case(b"on") {
        ctx.session.reply_mode = ReplyMode::On;
        ctx.reply.ok();
    } else if mode.eq_ignore_ascii_case(b"off") {
        ctx.session.reply_mode = ReplyMode::Off;
    } else if mode.eq_ignore_ascii_case(b"skip") {
        if ctx.session.reply_mode != ReplyMode::Off {
            ctx.session.reply_mode = ReplyMode::SkipNext;
        }
    } else {
        return Err(CommandError::Syntax);
    }
    Ok(())
}

pub fn on_or_off(text: &[u8]) -> Result<bool, CommandError> {
    if text.eq_ignore_ascii_case(b"on") {
        Ok(true)
    } else if text.eq_ignore_ascii_case(b"off") {
        Ok(false)
    } else {
        Err(CommandError::Syntax)
    }
}

fn client_no_evict(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    ctx.session
        .client
        .set_flag(client_flags::NO_EVICT, on_or_off(args.arg(2))?);
    ctx.reply.ok();
    Ok(())
}

fn client_no_touch(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    ctx.session
        .client
        .set_flag(client_flags::NO_TOUCH, on_or_off(args.arg(2))?);
    ctx.reply.ok();
    Ok(())
}

fn client_help(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    crate::commands::help::write(
        ctx.reply,
        "CLIENT",
        &[
            "CACHING (YES|NO)",
            "    Enable/disable tracking of the keys for next command in OPTIN/OPTOUT modes.",
            "GETREDIR",
            "    Return the client ID we are redirecting to when tracking is enabled.",
            "GETNAME",
            "    Return the name of the current connection.",
            "ID",
            "    Return the ID of the current connection.",
            "INFO",
            "    Return information about the current client connection.",
            "KILL <ip:port>",
            "    Kill connection made from <ip:port>.",
            "KILL <option> <value> [<option> <value> [...]]",
            "    Kill connections. Options are:",
            "    * ADDR (<ip:port>|<unixsocket>:0)",
            "      Kill connections made from the specified address",
            "    * LADDR (<ip:port>|<unixsocket>:0)",
            "      Kill connections made to specified local address",
            "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
            "      Kill connections by type.",
            "    * USER <username>",
            "      Kill connections authenticated by <username>.",
            "    * SKIPME (YES|NO)",
            "      Skip killing current connection (default: yes).",
            "LIST [options ...]",
            "    Return information about client connections. Options:",
            "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
            "      Return clients of specified type.",
            "UNPAUSE",
            "    Stop the current client pause, resuming traffic.",
            "PAUSE <timeout> [WRITE|ALL]",
            "    Suspend all, or just write, clients for <timeout> milliseconds.",
            "REPLY (ON|OFF|SKIP)",
            "    Control the replies sent to the current connection.",
            "SETNAME <name>",
            "    Assign the name <name> to the current connection.",
            "SETINFO <option> <value>",
            "    Set client meta attr. Options are:",
            "    * LIB-NAME: the client lib name.",
            "    * LIB-VER: the client lib version.",
            "UNBLOCK <clientid> [TIMEOUT|ERROR]",
            "    Unblock the specified blocked client.",
            "TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]",
            "         [OPTIN] [OPTOUT] [NOLOOP]",
            "    Control server assisted client side caching.",
            "TRACKINGINFO",
            "    Report tracking status for the current connection.",
            "NO-EVICT (ON|OFF)",
            "    Protect current client connection from eviction.",
            "NO-TOUCH (ON|OFF)",
            "    Will not touch LRU/LFU stats when this mode is on.",
        ],
    );
    Ok(())
}
