//! COMMAND: the table in Redis's own description of commands.

mod arguments;
mod docs;
mod past;

use crate::engine::ctx::ReadCtx;
use crate::engine::keys;
use crate::engine::spec::{
    Begin, Categories, CommandSpec, Find, Flags, Group, Handled, KeyFlags, KeySpec, Run,
};
use crate::engine::table::{Command, CommandTable, ResolveError};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::reply::Reply;
use crate::store::glob;
use docs::command_docs;

pub const COMMANDS: &[CommandSpec] = &[CommandSpec {
    name: "command",
    group: Group::Server,
    summary: "Describes the commands.",
    since: "2.8.13",
    complexity: "O(N) where N is the total number of Redis commands",
    arity: -1,
    flags: Flags::LOADING.union(Flags::STALE),
    categories: Categories::CONNECTION,
    keys: &[],
    tips: &["nondeterministic_output_order"],
    syntax: "",
    run: Run::ReadOrContainer(
        describe_all,
        &[
            CommandSpec {
                name: "info",
                group: Group::Server,
                summary: "Describes the server.",
                since: "2.8.13",
                complexity: "O(N) where N is the number of commands to look up",
                arity: -2,
                flags: Flags::LOADING.union(Flags::STALE),
                categories: Categories::CONNECTION,
                keys: &[],
                tips: &["nondeterministic_output_order"],
                syntax: "[command-name...]",
                run: Run::Read(command_info),
            },
            CommandSpec {
                name: "docs",
                group: Group::Server,
                summary: "Describes commands in words and arguments.",
                since: "7.0.0",
                complexity: "O(N) where N is the number of commands to look up",
                arity: -2,
                flags: Flags::LOADING.union(Flags::STALE),
                categories: Categories::CONNECTION,
                keys: &[],
                tips: &["nondeterministic_output_order"],
                syntax: "[command-name...]",
                run: Run::Read(command_docs),
            },
            CommandSpec {
                name: "getkeys",
                group: Group::Server,
                summary: "Finds the keys in a call.",
                since: "2.8.13",
                complexity: "O(N) where N is the number of arguments to the command",
                arity: -3,
                flags: Flags::LOADING.union(Flags::STALE),
                categories: Categories::CONNECTION,
                keys: &[],
                tips: &[],
                syntax: "command [arg...]",
                run: Run::Read(command_getkeys),
            },
            CommandSpec {
                name: "getkeysandflags",
                group: Group::Server,
                summary: "Finds the keys in a call and what happens to them.",
                since: "7.0.0",
                complexity: "O(N) where N is the number of arguments to the command",
                arity: -3,
                flags: Flags::LOADING.union(Flags::STALE),
                categories: Categories::CONNECTION,
                keys: &[],
                tips: &[],
                syntax: "command [arg...]",
                run: Run::Read(command_getkeysandflags),
            },
            CommandSpec {
                name: "list",
                group: Group::Server,
                summary: "Names the commands.",
                since: "7.0.0",
                complexity: "O(N) where N is the total number of Redis commands",
                arity: -2,
                flags: Flags::LOADING.union(Flags::STALE),
                categories: Categories::CONNECTION,
                keys: &[],
                tips: &["nondeterministic_output_order"],
                syntax: "[FILTERBY=filterby<MODULE=module-name | ACLCAT=category | PATTERN=pattern:pattern>]",
                run: Run::Read(command_list),
            },
            CommandSpec {
                name: "help",
                group: Group::Server,
                summary: "Describes the subcommands.",
                since: "5.0.0",
                complexity: "O(1)",
                arity: 2,
                flags: Flags::LOADING.union(Flags::STALE),
                categories: Categories::CONNECTION,
                keys: &[],
                tips: &[],
                syntax: "",
                run: Run::Read(command_help),
            },
            CommandSpec {
                name: "count",
                group: Group::Server,
                summary: "Counts the commands.",
                since: "2.8.13",
                complexity: "O(1)",
                arity: 2,
                flags: Flags::LOADING.union(Flags::STALE),
                categories: Categories::CONNECTION,
                keys: &[],
                tips: &[],
                syntax: "",
                run: Run::Read(command_count),
            },
        ],
    ),
}];

/// COMMAND without a subcommand, which is COMMAND INFO of everything.
fn describe_all(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    let table = &ctx.engine().table;
    ctx.reply.array(table.top_level().count());
    for command in table.top_level() {
        describe(ctx.reply, table, command);
    }
    Ok(())
}

fn command_count(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    let count = ctx.engine().table.top_level().count();
    ctx.reply.integer(count as i64);
    Ok(())
}

fn command_info(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    if args.len() == 2 {
        return describe_all(ctx, args);
    }
    let table = &ctx.engine().table;
    let names = args.from(2);
    ctx.reply.array(names.len());
    for name in names.iter() {
        match table.find_full(name) {
            Some(command) => describe(ctx.reply, table, command),
            None => ctx.reply.null(),
        }
    }
    Ok(())
}

/// One entry of COMMAND INFO.
fn describe(reply: &mut Reply, table: &CommandTable, command: &Command) {
    let spec = command.spec;
    reply.array(10);
    reply.bulk(command.full_name.as_bytes());
    reply.integer(i64::from(spec.arity));
    let flags: Vec<&str> = Flags::SHOWN
        .iter()
        .filter(|(flag, _)| command.flags.contains(*flag))
        .map(|(_, name)| *name)
        .collect();
    write_simple_set(reply, flags.iter().copied(), "");
    let (first, last, step) = legacy_range(spec);
    reply.integer(first);
    reply.integer(last);
    reply.integer(step);
    write_simple_set(reply, command.categories.names(), "@");
    reply.set(spec.tips.len());
    for tip in spec.tips {
        reply.bulk(tip.as_bytes());
    }
    reply.set(spec.keys.len());
    for key in spec.keys {
        describe_keys(reply, key);
    }
    reply.array(command.subcommands.len());
    for &id in &command.subcommands {
        describe(reply, table, table.get(id));
    }
}

fn write_simple_set<'a>(reply: &mut Reply, names: impl Iterator<Item = &'a str>, prefix: &str) {
    let names: Vec<&str> = names.collect();
    reply.set(names.len());
    for name in names {
        reply.simple(&format!("{prefix}{name}"));
    }
}

/// First key, last key and step, as clients that know no key specs want them.
fn legacy_range(spec: &CommandSpec) -> (i64, i64, i64) {
    let mut range: Option<(i64, i64, i64)> = None;
    for key in spec.keys {
        let (
            Begin::Index(first),
            Find::Range {
                last,
                step,
                limit: 0,
            },
        ) = (key.begin, key.find)
        else {
            continue;
        };
        let first = first as i64;
        let last = if last >= 0 {
            first + i64::from(last)
        } else {
            i64::from(last)
        };
        range = Some(match range {
            None => (first, last, step as i64),
            // Ranges that follow each other without a gap are one.
            Some((start, end, old_step)) if end >= 0 && end + 1 == first => (start, last, old_step),
            Some(old) => old,
        });
    }
    range.unwrap_or((0, 0, 0))
}

fn describe_keys(reply: &mut Reply, key: &KeySpec) {
    reply.map(if key.notes.is_empty() { 3 } else { 4 });
    if !key.notes.is_empty() {
        reply.bulk(b"notes");
        reply.bulk(key.notes.as_bytes());
    }
    reply.bulk(b"flags");
    write_simple_set(reply, key.flags.names(), "");
    reply.bulk(b"begin_search");
    match key.begin {
        Begin::Index(index) => {
            write_search(reply, "index", &[("index", Word::Number(index as i64))])
        }
        Begin::Keyword(word, from) => write_search(
            reply,
            "keyword",
            &[
                ("keyword", Word::Text(word)),
                ("startfrom", Word::Number(i64::from(from))),
            ],
        ),
        Begin::Unknown => write_search(reply, "unknown", &[]),
    }
    reply.bulk(b"find_keys");
    match key.find {
        Find::Range { last, step, limit } => write_search(
            reply,
            "range",
            &[
                ("lastkey", Word::Number(i64::from(last))),
                ("keystep", Word::Number(step as i64)),
                ("limit", Word::Number(i64::from(limit))),
            ],
        ),
        Find::KeyNum { count, first, step } => write_search(
            reply,
            "keynum",
            &[
                ("keynumidx", Word::Number(count as i64)),
                ("firstkey", Word::Number(first as i64)),
                ("keystep", Word::Number(step as i64)),
            ],
        ),
        Find::Unknown => write_search(reply, "unknown", &[]),
    }
}

enum Word {
    Text(&'static str),
    Number(i64),
}

fn write_search(reply: &mut Reply, kind: &str, fields: &[(&str, Word)]) {
    reply.map(2);
    reply.bulk(b"type");
    reply.bulk(kind.as_bytes());
    reply.bulk(b"spec");
    reply.map(fields.len());
    for (name, word) in fields {
        reply.bulk(name.as_bytes());
        match word {
            Word::Text(text) => reply.bulk(text.as_bytes()),
            Word::Number(number) => reply.integer(*number),
        }
    }
}

fn command_list(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let table = &ctx.engine().table;
    type Wanted<'a> = Box<dyn Fn(&Command) -> bool + 'a>;
    let wanted: Wanted<'_> = match args.len() {
        2 => Box::new(|_| true),
        5 if args.arg(2).eq_ignore_ascii_case(b"filterby") => {
            let value = args.arg(4);
            match args.arg(3).to_ascii_lowercase().as_slice() {
                b"module" => Box::new(|_| false),
                b"aclcat" => {
                    let name = String::from_utf8_lossy(value).to_ascii_lowercase();
                    Box::new(move |command| {
                        command.categories.names().any(|category| category == name)
                    })
                }
                b"pattern" => Box::new(move |command| {
                    glob::matches(value, command.full_name.as_bytes(), true)
                }),
                _ => return Err(CommandError::Syntax),
            }
        }
        _ => return Err(CommandError::Syntax),
    };
    let names: Vec<&str> = table
        .iter()
        .filter(|command| wanted(command))
        .map(|command| &*command.full_name)
        .collect();
    ctx.reply.array(names.len());
    for name in names {
        ctx.reply.bulk(name.as_bytes());
    }
    Ok(())
}

const INVALID_ARGUMENTS: &str = "ERR Invalid arguments specified for command";

/// The keys of the call that follows the subcommand, with their flags.
fn keys_of<'a>(
    ctx: &ReadCtx<'_>,
    args: Args<'a>,
) -> Result<Vec<(&'a [u8], KeyFlags)>, CommandError> {
    let call = args.from(2);
    let table = &ctx.engine().table;
    let (command, takes_so_many) = match table.resolve(call) {
        Ok(command) => (command, true),
        Err(ResolveError::Arity(id)) => (table.get(id), false),
        Err(ResolveError::Unknown | ResolveError::UnknownSubcommand(_)) => {
            return Err(CommandError::Text("ERR Invalid command specified"));
        }
    };
    let specs = || {
        let specs = command.spec.keys.iter();
        specs.filter(|spec| !spec.flags.contains(KeyFlags::NOT_KEY))
    };
    if specs().next().is_none() {
        return Err(CommandError::Text("ERR The command has no key arguments"));
    }
    if !takes_so_many {
        return Err(CommandError::Text(
            "ERR Invalid number of arguments specified for command",
        ));
    }
    if let Some(positions) = keys::listed_keys(command, call) {
        let flags = command.spec.keys[0].flags;
        return match positions.is_empty() {
            true => Err(CommandError::Text(INVALID_ARGUMENTS)),
            false => Ok(positions.map(|at| (call.arg(at), flags)).collect()),
        };
    }
    let mut found = Vec::new();
    let mut fits = true;
    for spec in specs() {
        let known = !matches!(spec.begin, Begin::Unknown) && !matches!(spec.find, Find::Unknown);
        let optional = matches!(spec.begin, Begin::Keyword(..));
        let before = found.len();
        let walked = keys::for_each_position(spec, call, |position| {
            found.push((call.arg(position), keys::flags_in(command, spec, call)))
        });
        fits &= (walked && found.len() > before) || !known || optional;
    }
    found.extend(
        keys::hidden_key(command, call).map(|(position, flags)| (call.arg(position), flags)),
    );
    if command.flags.contains(Flags::NO_MANDATORY_KEYS) {
        return Ok(if fits { found } else { Vec::new() });
    }
    if !fits || found.is_empty() {
        return Err(CommandError::Text(INVALID_ARGUMENTS));
    }
    Ok(found)
}

fn command_getkeys(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let keys = keys_of(ctx, args)?;
    ctx.reply.array(keys.len());
    for (key, _) in keys {
        ctx.reply.bulk(key);
    }
    Ok(())
}

fn command_getkeysandflags(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let keys = keys_of(ctx, args)?;
    ctx.reply.array(keys.len());
    for (key, flags) in keys {
        ctx.reply.array(2);
        ctx.reply.bulk(key);
        write_simple_set(ctx.reply, flags.names(), "");
    }
    Ok(())
}

fn command_help(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    crate::commands::help::write(
        ctx.reply,
        "COMMAND",
        &[
            "(no subcommand)",
            "    Return details about all Redis commands.",
            "COUNT",
            "    Return the total number of commands in this Redis server.",
            "LIST",
            "    Return a list of all commands in this Redis server.",
            "INFO [<command-name> ...]",
            "    Return details about multiple Redis commands.",
            "    If no command names are given, documentation details for all",
            "    commands are returned.",
            "DOCS [<command-name> ...]",
            "    Return documentation details about multiple Redis commands.",
            "    If no command names are given, documentation details for all",
            "    commands are returned.",
            "GETKEYS <full-command>",
            "    Return the keys from a full Redis command.",
            "GETKEYSANDFLAGS <full-command>",
            "    Return the keys and the access flags from a full Redis command.",
        ],
    );
    Ok(())
}
