//! ACL: users and their rights. The rules themselves are the engine's.

mod report;

use crate::engine::acl::file;
use crate::engine::acl::rights::join_selectors;
use crate::engine::acl::selector::Selector;
use crate::engine::acl::{DEFAULT_USER, is_user_name};
use crate::engine::ctx::{ControlCtx, ReadCtx};
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::reply::Reply;

pub const COMMANDS: &[CommandSpec] = &[CommandSpec {
    name: "acl",
    group: Group::Server,
    summary: "Looks at users and their rights, and changes them.",
    since: "6.0.0",
    complexity: "Depends on subcommand.",
    arity: -2,
    flags: Flags::empty(),
    categories: Categories::empty(),
    keys: &[],
    tips: &[],
    syntax: "",
    run: Run::Container(&[
        CommandSpec {
            name: "whoami",
            group: Group::Server,
            summary: "Tells the user of the connection.",
            since: "6.0.0",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE)),
            categories: Categories::empty(),
            keys: &[],
            tips: &[],
            syntax: "",
            run: Run::Read(acl_whoami),
        },
        CommandSpec {
            name: "load",
            group: Group::Server,
            summary: "Reads the users from the ACL file again.",
            since: "6.0.0",
            complexity: "O(N), N being the number of users.",
            arity: 2,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::empty(),
            keys: &[],
            tips: &[],
            syntax: "",
            run: Run::Control(acl_load),
        },
        CommandSpec {
            name: "log",
            group: Group::Server,
            summary: "Lists calls and logins that were refused, or forgets them.",
            since: "6.0.0",
            complexity: "O(N) with N being the number of entries shown.",
            arity: -2,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::empty(),
            keys: &[],
            tips: &[],
            syntax: "[operation<count:integer | RESET>]",
            run: Run::Read(report::acl_log),
        },
        CommandSpec {
            name: "deluser",
            group: Group::Server,
            summary: "Deletes users and ends their connections.",
            since: "6.0.0",
            complexity: "O(1) amortized time considering the typical user.",
            arity: -3,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::empty(),
            keys: &[],
            tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
            syntax: "username...",
            run: Run::Control(acl_deluser),
        },
        CommandSpec {
            name: "getuser",
            group: Group::Server,
            summary: "Shows the rights of a user.",
            since: "6.0.0",
            complexity: "O(N), N being the number of the rules of the user.",
            arity: 3,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::empty(),
            keys: &[],
            tips: &[],
            syntax: "username",
            run: Run::Read(acl_getuser),
        },
        CommandSpec {
            name: "help",
            group: Group::Server,
            summary: "Describes the subcommands.",
            since: "6.0.0",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::LOADING.union(Flags::STALE),
            categories: Categories::empty(),
            keys: &[],
            tips: &[],
            syntax: "",
            run: Run::Read(report::acl_help),
        },
        CommandSpec {
            name: "save",
            group: Group::Server,
            summary: "Writes the users to the ACL file.",
            since: "6.0.0",
            complexity: "O(N), N being the number of users.",
            arity: 2,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::empty(),
            keys: &[],
            tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
            syntax: "",
            run: Run::Control(acl_save),
        },
        CommandSpec {
            name: "genpass",
            group: Group::Server,
            summary: "Makes a password that nobody can guess.",
            since: "6.0.0",
            complexity: "O(1)",
            arity: -2,
            flags: Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE)),
            categories: Categories::empty(),
            keys: &[],
            tips: &[],
            syntax: "[bits:integer]",
            run: Run::Control(report::acl_genpass),
        },
        CommandSpec {
            name: "dryrun",
            group: Group::Server,
            summary: "Tells whether a user may make a call, without making it.",
            since: "7.0.0",
            complexity: "O(1).",
            arity: -4,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::empty(),
            keys: &[],
            tips: &[],
            syntax: "username command [arg...]",
            run: Run::Read(report::acl_dryrun),
        },
        CommandSpec {
            name: "users",
            group: Group::Server,
            summary: "Lists the names of all users.",
            since: "6.0.0",
            complexity: "O(N), N being the number of users.",
            arity: 2,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::empty(),
            keys: &[],
            tips: &[],
            syntax: "",
            run: Run::Read(acl_users),
        },
        CommandSpec {
            name: "cat",
            group: Group::Server,
            summary: "Lists the categories, or the commands of one.",
            since: "6.0.0",
            complexity: "O(1) since the categories and commands are a fixed set.",
            arity: -2,
            flags: Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE)),
            categories: Categories::empty(),
            keys: &[],
            tips: &[],
            syntax: "[category]",
            run: Run::Read(report::acl_cat),
        },
        CommandSpec {
            name: "list",
            group: Group::Server,
            summary: "Lists all users with their rules.",
            since: "6.0.0",
            complexity: "O(N), N being the number of users.",
            arity: 2,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::empty(),
            keys: &[],
            tips: &[],
            syntax: "",
            run: Run::Read(acl_list),
        },
        CommandSpec {
            name: "setuser",
            group: Group::Server,
            summary: "Creates a user or changes its rules.",
            since: "6.0.0",
            complexity: "O(N), N being the number of rules given.",
            arity: -3,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::empty(),
            keys: &[],
            tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
            syntax: "username [rule...]",
            run: Run::Control(acl_setuser),
        },
    ]),
}];

const NO_FILE: CommandError = CommandError::Text(
    "ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER \
     command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store \
     users in the Redis configuration.",
);

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn acl_whoami(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    ctx.reply.bulk(ctx.session.user.name());
    Ok(())
}

fn acl_users(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    let users = ctx.engine().acl.users();
    ctx.reply.array(users.len());
    for user in users {
        ctx.reply.bulk(user.name());
    }
    Ok(())
}

fn acl_list(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    let lines = ctx.engine().acl.lines();
    ctx.reply.array(lines.len());
    for line in lines {
        ctx.reply.bulk(&line);
    }
    Ok(())
}

fn acl_getuser(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let Some(user) = ctx.engine().acl.user(args.arg(2)) else {
        ctx.reply.null();
        return Ok(());
    };
    let rights = user.rights();
    let reply = &mut *ctx.reply;
    reply.map(6);
    reply.bulk(b"flags");
    let flags: Vec<&str> = rights.flags().collect();
    reply.set(flags.len());
    for flag in flags {
        reply.bulk(flag.as_bytes());
    }
    reply.bulk(b"passwords");
    reply.array(rights.passwords().len());
    for password in rights.passwords() {
        reply.bulk(password.hex().as_bytes());
    }
    describe(reply, rights.root());
    reply.bulk(b"selectors");
    reply.array(rights.selectors().len());
    for selector in rights.selectors() {
        reply.map(3);
        describe(reply, selector);
    }
    Ok(())
}

/// The three fields of a selector.
fn describe(reply: &mut Reply, selector: &Selector) {
    reply.bulk(b"commands");
    reply.bulk(&selector.describe_commands());
    reply.bulk(b"keys");
    reply.bulk(&selector.describe_keys());
    reply.bulk(b"channels");
    reply.bulk(&selector.describe_channels());
}

fn acl_setuser(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let name = args.arg(2);
    if !is_user_name(name) {
        return Err(CommandError::Text(
            "ERR Usernames can't contain spaces or null characters",
        ));
    }
    let words: Vec<Vec<u8>> = args.from(3).iter().map(<[u8]>::to_vec).collect();
    let rules = join_selectors(&words).map_err(|word| {
        let word = shown(word);
        CommandError::Owned(format!(
            "ERR Unmatched parenthesis in acl selector starting at '{word}'."
        ))
    })?;
    let acl = ctx.engine.acl.clone();
    let rights = acl.propose(name, &rules).map_err(|bad| {
        let (rule, reason) = (shown(&bad.rule), bad.error.text());
        CommandError::Owned(format!(
            "ERR Error in ACL SETUSER modifier '{rule}': {reason}"
        ))
    })?;
    if let (Some(before), Some(user)) = (acl.set(name, rights), acl.user(name)) {
        ctx.engine.end_lost_listeners(&user, &before, ctx.session);
    }
    ctx.reply.ok();
    Ok(())
}

fn acl_deluser(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let names = args.from(2);
    if names.iter().any(|name| name == DEFAULT_USER) {
        return Err(CommandError::Text(
            "ERR The 'default' user cannot be removed",
        ));
    }
    let mut deleted = 0;
    for name in names.iter() {
        if ctx.engine.acl.remove(name) {
            ctx.engine.end_connections_of(name, ctx.session);
            deleted += 1;
        }
    }
    ctx.reply.integer(deleted);
    Ok(())
}

fn acl_load(ctx: &mut ControlCtx<'_>, _args: Args<'_>) -> Handled {
    let Some(path) = &ctx.settings().aclfile else {
        return Err(NO_FILE);
    };
    let path = path.display().to_string();
    let text = ctx.engine.outside.read_users(&ctx.engine.settings);
    let users = text
        .map_err(|reason| format!("Error loading ACLs, opening file '{path}': {reason}"))
        .and_then(|text| file::parse(&text, &path, ctx.engine.acl.scope()))
        .map_err(|error| CommandError::Owned(format!("ERR {error}")))?;
    let replaced = ctx.engine.acl.replace_all(users);
    ctx.engine.end_after_replacement(&replaced, ctx.session);
    ctx.reply.ok();
    Ok(())
}

fn acl_save(ctx: &mut ControlCtx<'_>, _args: Args<'_>) -> Handled {
    if ctx.settings().aclfile.is_none() {
        return Err(NO_FILE);
    }
    let mut text = ctx.engine.acl.lines().join(&b'\n');
    text.push(b'\n');
    let engine = &mut *ctx.engine;
    engine
        .outside
        .write_users(&engine.settings, &text)
        .map_err(|reason| {
            engine
                .outside
                .log(&format!("Writing ACL file for ACL SAVE: {reason}"));
            CommandError::Text(
                "ERR There was an error trying to save the ACLs. Please check the server logs for more information",
            )
        })?;
    ctx.reply.ok();
    Ok(())
}
