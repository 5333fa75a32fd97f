//! FUNCTION and FCALL: libraries of functions that stay.

use super::host::{Host, Task};
use super::{Scripts, check_flags, key_count, note_end, with_scripts};
use crate::engine::ScriptKind;
use crate::engine::ctx::{ControlCtx, ReadCtx};
use crate::engine::spec::{
    Begin, Categories, CommandSpec, Find, Flags, Group, Handled, KeyFlags, KeySpec, Run,
};
use crate::persist::rdb::dump;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::reply::Reply;
use crate::script::ScriptFlags;
use crate::script::functions::{Function, FunctionError, FunctionLibrary, RestorePolicy};
use crate::script::shebang::NAMED_FLAGS;
use crate::store::glob;
use std::sync::atomic::Ordering::Relaxed;

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "fcall",
        group: Group::Scripting,
        summary: "Calls a function.",
        since: "7.0.0",
        complexity: "Depends on the function that is executed.",
        arity: -3,
        flags: Flags::MAY_REPLICATE.union(Flags::NOSCRIPT).union(
            Flags::STALE.union(
                Flags::SKIP_MONITOR.union(Flags::NO_MANDATORY_KEYS.union(Flags::MOVABLE_KEYS)),
            ),
        ),
        categories: Categories::SCRIPTING,
        keys: &[KeySpec {
            begin: Begin::Index(2),
            find: Find::KeyNum {
                count: 0,
                first: 1,
                step: 1,
            },
            flags: KeyFlags::RW.union(KeyFlags::ACCESS.union(KeyFlags::UPDATE)),
            notes: "",
        }],
        tips: &[],
        syntax: "function numkeys:integer [key#0...] [arg...]",
        run: Run::Control(fcall),
    },
    CommandSpec {
        name: "fcall_ro",
        group: Group::Scripting,
        summary: "Calls a function that does not write.",
        since: "7.0.0",
        complexity: "Depends on the function that is executed.",
        arity: -3,
        flags: Flags::READONLY.union(Flags::NOSCRIPT.union(Flags::STALE.union(
            Flags::SKIP_MONITOR.union(Flags::NO_MANDATORY_KEYS.union(Flags::MOVABLE_KEYS)),
        ))),
        categories: Categories::SCRIPTING,
        keys: &[KeySpec {
            begin: Begin::Index(2),
            find: Find::KeyNum {
                count: 0,
                first: 1,
                step: 1,
            },
            flags: KeyFlags::RO.union(KeyFlags::ACCESS),
            notes: "",
        }],
        tips: &[],
        syntax: "function numkeys:integer [key#0...] [arg...]",
        run: Run::Control(fcall_ro),
    },
    CommandSpec {
        name: "function",
        group: Group::Scripting,
        summary: "Looks after the libraries of functions.",
        since: "7.0.0",
        complexity: "Depends on subcommand.",
        arity: -2,
        flags: Flags::empty(),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "",
        run: Run::Container(&[
            CommandSpec {
                name: "kill",
                group: Group::Scripting,
                summary: "Ends the running function if it has not written.",
                since: "7.0.0",
                complexity: "O(1)",
                arity: 2,
                flags: Flags::NOSCRIPT.union(Flags::ALLOW_BUSY),
                categories: Categories::SCRIPTING,
                keys: &[],
                tips: &["request_policy:all_shards", "response_policy:one_succeeded"],
                syntax: "",
                run: Run::Control(function_kill),
            },
            CommandSpec {
                name: "load",
                group: Group::Scripting,
                summary: "Makes a library from its source.",
                since: "7.0.0",
                complexity: "O(1) (considering compilation time is redundant)",
                arity: -3,
                flags: Flags::WRITE.union(Flags::DENYOOM.union(Flags::NOSCRIPT)),
                categories: Categories::SCRIPTING,
                keys: &[],
                tips: &["request_policy:all_shards", "response_policy:all_succeeded"],
                syntax: "[REPLACE] function-code",
                run: Run::Control(function_load),
            },
            CommandSpec {
                name: "restore",
                group: Group::Scripting,
                summary: "Makes the libraries of a payload.",
                since: "7.0.0",
                complexity: "O(N) where N is the number of functions on the payload",
                arity: -3,
                flags: Flags::WRITE.union(Flags::DENYOOM.union(Flags::NOSCRIPT)),
                categories: Categories::SCRIPTING,
                keys: &[],
                tips: &["request_policy:all_shards", "response_policy:all_succeeded"],
                syntax: "serialized-value [policy<FLUSH | APPEND | REPLACE>]",
                run: Run::Control(function_restore),
            },
            CommandSpec {
                name: "delete",
                group: Group::Scripting,
                summary: "Removes a library.",
                since: "7.0.0",
                complexity: "O(1)",
                arity: 3,
                flags: Flags::WRITE.union(Flags::NOSCRIPT),
                categories: Categories::SCRIPTING,
                keys: &[],
                tips: &["request_policy:all_shards", "response_policy:all_succeeded"],
                syntax: "library-name",
                run: Run::Control(function_delete),
            },
            CommandSpec {
                name: "help",
                group: Group::Scripting,
                summary: "Describes the subcommands.",
                since: "7.0.0",
                complexity: "O(1)",
                arity: 2,
                flags: Flags::LOADING.union(Flags::STALE),
                categories: Categories::SCRIPTING,
                keys: &[],
                tips: &[],
                syntax: "",
                run: Run::Read(function_help),
            },
            CommandSpec {
                name: "stats",
                group: Group::Scripting,
                summary: "Tells what runs now and how much there is.",
                since: "7.0.0",
                complexity: "O(1)",
                arity: 2,
                flags: Flags::NOSCRIPT.union(Flags::ALLOW_BUSY),
                categories: Categories::SCRIPTING,
                keys: &[],
                tips: &[
                    "nondeterministic_output",
                    "request_policy:all_shards",
                    "response_policy:special",
                ],
                syntax: "",
                run: Run::Control(function_stats),
            },
            CommandSpec {
                name: "dump",
                group: Group::Scripting,
                summary: "Puts all libraries into one payload.",
                since: "7.0.0",
                complexity: "O(N) where N is the number of functions",
                arity: 2,
                flags: Flags::NOSCRIPT,
                categories: Categories::SCRIPTING,
                keys: &[],
                tips: &[],
                syntax: "",
                run: Run::Control(function_dump),
            },
            CommandSpec {
                name: "list",
                group: Group::Scripting,
                summary: "Describes the libraries.",
                since: "7.0.0",
                complexity: "O(N) where N is the number of functions",
                arity: -2,
                flags: Flags::NOSCRIPT,
                categories: Categories::SCRIPTING,
                keys: &[],
                tips: &["nondeterministic_output_order"],
                syntax: "[LIBRARYNAME=library-name-pattern] [WITHCODE]",
                run: Run::Control(function_list),
            },
            CommandSpec {
                name: "flush",
                group: Group::Scripting,
                summary: "Removes all libraries.",
                since: "7.0.0",
                complexity: "O(N) where N is the number of functions deleted",
                arity: -2,
                flags: Flags::WRITE.union(Flags::NOSCRIPT),
                categories: Categories::SCRIPTING,
                keys: &[],
                tips: &["request_policy:all_shards", "response_policy:all_succeeded"],
                syntax: "[flush-type<ASYNC | SYNC>]",
                run: Run::Control(function_flush),
            },
        ]),
    },
];

/// Loads the libraries of a snapshot.
pub fn load_libraries(
    ctx: &mut ControlCtx<'_>,
    sources: &[Vec<u8>],
    replace: bool,
) -> Result<(), String> {
    with_scripts(ctx, |scripts, ctx| {
        let mut host = Host::for_loading(ctx);
        let loaded = sources.iter().try_for_each(|source| {
            let loaded = scripts.functions.load(source, replace, &mut host);
            loaded.map(|_| ()).map_err(refuse)
        });
        host.finish();
        note_libraries(scripts, ctx);
        loaded.map_err(|error| error.to_string())
    })
}

/// Removes all libraries.
pub fn forget_libraries(ctx: &mut ControlCtx<'_>) {
    with_scripts(ctx, |scripts, ctx| {
        scripts.functions.flush();
        note_libraries(scripts, ctx);
    });
}

/// Shows the engine which libraries there are now.
fn note_libraries(scripts: &Scripts, ctx: &mut ControlCtx<'_>) {
    let sources = scripts.functions.libraries();
    ctx.engine.libraries = sources.map(|library| library.source.clone()).collect();
}

fn refuse(error: FunctionError) -> CommandError {
    CommandError::Owned(String::from_utf8_lossy(&error.0).into_owned())
}

fn fcall(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    call(ctx, args, false)
}

fn fcall_ro(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    call(ctx, args, true)
}

fn call(ctx: &mut ControlCtx<'_>, args: Args<'_>, read_only: bool) -> Handled {
    with_scripts(ctx, |scripts, ctx| {
        let missing = CommandError::Text("ERR Function not found");
        let (id, function) = scripts.functions.find(args.arg(1)).ok_or(missing.clone())?;
        let flags = function.flags;
        let name = function.name.clone();
        let keys = key_count(args, "ERR Bad number of keys provided")?;
        check_flags(ctx, flags, read_only)?;
        let rest = args.from(3);
        let errors_before = ctx.engine.stats.error_replies.load(Relaxed);
        let mut reply = std::mem::take(ctx.reply);
        let mark = reply.len();
        let task = Task {
            kind: ScriptKind::Function,
            name: &name,
            call: args,
        };
        let mut host = Host::new(ctx, task, flags, read_only);
        let ended = scripts.functions.run(
            &id,
            rest.first(keys),
            rest.from(keys),
            &mut host,
            &mut reply,
        );
        host.finish();
        *ctx.reply = reply;
        note_end(ctx, ended.ok_or(missing)?, mark, errors_before);
        Ok(())
    })
}

fn function_load(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let mut replace = false;
    for option in args.first(args.len() - 1).from(2).iter() {
        if !option.eq_ignore_ascii_case(b"replace") {
            let shown = String::from_utf8_lossy(option);
            return Err(CommandError::Owned(format!(
                "ERR Unknown option given: {shown}"
            )));
        }
        replace = true;
    }
    let source = args.arg(args.len() - 1);
    with_scripts(ctx, |scripts, ctx| {
        let mut host = Host::for_loading(ctx);
        let loaded = scripts
            .functions
            .load(source, replace, &mut host)
            .map(|library| library.name.clone());
        host.finish();
        let name = loaded.map_err(refuse)?;
        note_libraries(scripts, ctx);
        ctx.changed(1);
        ctx.reply.bulk(&name);
        Ok(())
    })
}

fn function_delete(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let deleted = with_scripts(ctx, |scripts, ctx| {
        let deleted = scripts.functions.delete(args.arg(2));
        note_libraries(scripts, ctx);
        deleted
    });
    if !deleted {
        return Err(CommandError::Text("ERR Library not found"));
    }
    ctx.changed(1);
    ctx.reply.ok();
    Ok(())
}

fn function_flush(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let known = match args.len() {
        2 => true,
        3 => {
            args.arg(2).eq_ignore_ascii_case(b"sync") || args.arg(2).eq_ignore_ascii_case(b"async")
        }
        _ => {
            return Err(CommandError::Text(
                "ERR unknown subcommand or wrong number of arguments for 'flush'. Try FUNCTION HELP.",
            ));
        }
    };
    if !known {
        return Err(CommandError::Text(
            "ERR FUNCTION FLUSH only supports SYNC|ASYNC option",
        ));
    }
    forget_libraries(ctx);
    ctx.changed(1);
    ctx.reply.ok();
    Ok(())
}

fn function_dump(ctx: &mut ControlCtx<'_>, _args: Args<'_>) -> Handled {
    let compress = ctx.settings().rdbcompression;
    let payload = with_scripts(ctx, |scripts, _| {
        dump::encode_functions(
            scripts
                .functions
                .libraries()
                .map(|library| &*library.source),
            compress,
        )
    });
    ctx.reply.bulk(&payload);
    Ok(())
}

fn function_restore(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    if args.len() > 4 {
        return Err(CommandError::Text(
            "ERR unknown subcommand or wrong number of arguments for 'restore'. Try FUNCTION HELP.",
        ));
    }
    let policy = match args.get(3).map(<[u8]>::to_ascii_lowercase).as_deref() {
        None | Some(b"append") => RestorePolicy::Append,
        Some(b"replace") => RestorePolicy::Replace,
        Some(b"flush") => RestorePolicy::Flush,
        Some(_) => {
            return Err(CommandError::Text(
                "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.",
            ));
        }
    };
    let payload = args.arg(2);
    if !dump::is_whole(payload) {
        return Err(CommandError::Text(
            "ERR DUMP payload version or checksum are wrong",
        ));
    }
    let sources = dump::decode_functions(payload)
        .ok_or(CommandError::Text("ERR given type is not a function"))?;
    with_scripts(ctx, |scripts, ctx| {
        let mut host = Host::for_loading(ctx);
        let restored =
            scripts
                .functions
                .restore(sources.iter().map(Vec::as_slice), policy, &mut host);
        host.finish();
        note_libraries(scripts, ctx);
        restored.map_err(refuse)?;
        ctx.changed(1);
        ctx.reply.ok();
        Ok(())
    })
}

/// A running function is told to end before a command reaches the engine; who gets here finds none.
fn function_kill(_ctx: &mut ControlCtx<'_>, _args: Args<'_>) -> Handled {
    Err(CommandError::Text(
        "NOTBUSY No scripts in execution right now.",
    ))
}

fn function_stats(ctx: &mut ControlCtx<'_>, _args: Args<'_>) -> Handled {
    let (libraries, functions) = with_scripts(ctx, |scripts, _| {
        (
            scripts.functions.libraries().len(),
            scripts.functions.function_count(),
        )
    });
    write_function_stats(ctx.reply, None, libraries, functions);
    Ok(())
}

/// A function in the middle of its run.
pub struct RunningFunction<'a> {
    pub name: &'a [u8],
    /// The command that runs it.
    pub call: Args<'a>,
    pub running_ms: u64,
}

/// The reply to FUNCTION STATS.
pub fn write_function_stats(
    reply: &mut Reply,
    running: Option<RunningFunction<'_>>,
    libraries: usize,
    functions: usize,
) {
    reply.map(2);
    reply.bulk(b"running_script");
    match running {
        None => reply.null(),
        Some(running) => {
            reply.map(3);
            reply.bulk(b"name");
            reply.bulk(running.name);
            reply.bulk(b"command");
            reply.array(running.call.len());
            running.call.iter().for_each(|word| reply.bulk(word));
            reply.bulk(b"duration_ms");
            reply.integer(running.running_ms as i64);
        }
    }
    reply.bulk(b"engines");
    reply.map(1);
    reply.bulk(b"LUA");
    reply.map(2);
    reply.bulk(b"libraries_count");
    reply.integer(libraries as i64);
    reply.bulk(b"functions_count");
    reply.integer(functions as i64);
}

fn function_list(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let mut with_code = false;
    let mut pattern = None;
    let mut words = args.from(2).iter();
    while let Some(word) = words.next() {
        if !with_code && word.eq_ignore_ascii_case(b"withcode") {
            with_code = true;
        } else if pattern.is_none() && word.eq_ignore_ascii_case(b"libraryname") {
            pattern = Some(words.next().ok_or(CommandError::Text(
                "ERR library name argument was not given",
            ))?);
        } else {
            let shown = String::from_utf8_lossy(word);
            return Err(CommandError::Owned(format!("ERR Unknown argument {shown}")));
        }
    }
    with_scripts(ctx, |scripts, ctx| {
        let shown: Vec<&FunctionLibrary> = scripts
            .functions
            .libraries()
            .filter(|library| {
                pattern.is_none_or(|pattern| glob::matches(pattern, &library.name, true))
            })
            .collect();
        ctx.reply.array(shown.len());
        for library in shown {
            describe(ctx.reply, library, with_code);
        }
    });
    Ok(())
}

fn describe(reply: &mut Reply, library: &FunctionLibrary, with_code: bool) {
    reply.map(if with_code { 4 } else { 3 });
    reply.bulk(b"library_name");
    reply.bulk(&library.name);
    reply.bulk(b"engine");
    reply.bulk(b"LUA");
    reply.bulk(b"functions");
    reply.array(library.functions.len());
    for function in &library.functions {
        describe_function(reply, function);
    }
    if with_code {
        reply.bulk(b"library_code");
        reply.bulk(&library.source);
    }
}

fn describe_function(reply: &mut Reply, function: &Function) {
    reply.map(3);
    reply.bulk(b"name");
    reply.bulk(&function.name);
    reply.bulk(b"description");
    match &function.description {
        Some(description) => reply.bulk(description),
        None => reply.null(),
    }
    reply.bulk(b"flags");
    let is_set = |flag: &(&str, ScriptFlags)| function.flags.contains(flag.1);
    let flags: Vec<&str> = NAMED_FLAGS
        .iter()
        .filter(|flag| is_set(flag))
        .map(|(name, _)| *name)
        .collect();
    reply.set(flags.len());
    for flag in flags {
        reply.simple(flag);
    }
}

fn function_help(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    crate::commands::help::write(
        ctx.reply,
        "FUNCTION",
        &[
            "LOAD [REPLACE] <FUNCTION CODE>",
            "    Create a new library with the given library name and code.",
            "DELETE <LIBRARY NAME>",
            "    Delete the given library.",
            "LIST [LIBRARYNAME PATTERN] [WITHCODE]",
            "    Return general information on all the libraries:",
            "    * Library name",
            "    * The engine used to run the Library",
            "    * Functions list",
            "    * Library code (if WITHCODE is given)",
            "    It also possible to get only function that matches a pattern using LIBRARYNAME argument.",
            "STATS",
            "    Return what the running function is called, which command runs it and for how many milliseconds,",
            "    and the number of libraries and functions of the engine.",
            "KILL",
            "    Kill the current running function.",
            "FLUSH [ASYNC|SYNC]",
            "    Delete all the libraries.",
            "DUMP",
            "    Return a serialized payload representing the current libraries, can be restored using FUNCTION RESTORE command",
            "RESTORE <PAYLOAD> [FLUSH|APPEND|REPLACE]",
            "    Restore the libraries represented by the given payload (default APPEND):",
            "    * FLUSH: delete all existing libraries.",
            "    * APPEND: appends the restored libraries to the existing libraries. On collision, abort.",
            "    * REPLACE: as APPEND, but on collision the new library takes the place of the old one.",
        ],
    );
    Ok(())
}
