//! EVAL and its kin, SCRIPT: Lua scripts of clients.

mod functions;
mod host;

pub use functions::COMMANDS as FUNCTION_COMMANDS;
pub use functions::{RunningFunction, write_function_stats};
pub use functions::{forget_libraries, load_libraries};

use crate::engine::ctx::{ControlCtx, ReadCtx};
use crate::engine::spec::{
    Begin, Categories, CommandSpec, Find, Flags, Group, Handled, KeyFlags, KeySpec, Run,
};
use crate::engine::{ScriptFigures, ScriptKind};
use crate::limits::SCRIPT_MEMORY_BYTES_MAX;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;
use crate::script::functions::Functions;
use crate::script::{Ended, Interpreter, Origin, ScriptFlags, ScriptId};
use host::{Host, Task};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "eval",
        group: Group::Scripting,
        summary: "Runs a script.",
        since: "2.6.0",
        complexity: "Depends on the script that is executed.",
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
        syntax: "script numkeys:integer [key#0...] [arg...]",
        run: Run::Control(eval),
    },
    CommandSpec {
        name: "evalsha",
        group: Group::Scripting,
        summary: "Runs a known script by its digest.",
        since: "2.6.0",
        complexity: "Depends on the script that is executed.",
        arity: -3,
        flags: Flags::MAY_REPLICATE.union(Flags::NOSCRIPT).union(
            Flags::STALE.union(
                Flags::SKIP_MONITOR.union(Flags::NO_MANDATORY_KEYS.union(Flags::MOVABLE_KEYS)),
            ),
        ),
        categories: Categories::SCRIPTING,
        keys: &[KeySpec::counted(
            2,
            KeyFlags::RW.union(KeyFlags::ACCESS.union(KeyFlags::UPDATE)),
        )],
        tips: &[],
        syntax: "sha1 numkeys:integer [key#0...] [arg...]",
        run: Run::Control(evalsha),
    },
    CommandSpec {
        name: "eval_ro",
        group: Group::Scripting,
        summary: "Runs a script that must not write.",
        since: "7.0.0",
        complexity: "Depends on the script that is executed.",
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
        syntax: "script numkeys:integer [key#0...] [arg...]",
        run: Run::Control(eval_ro),
    },
    CommandSpec {
        name: "evalsha_ro",
        group: Group::Scripting,
        summary: "Runs a known script by its digest; it must not write.",
        since: "7.0.0",
        complexity: "Depends on the script that is executed.",
        arity: -3,
        flags: Flags::READONLY.union(Flags::NOSCRIPT.union(Flags::STALE.union(
            Flags::SKIP_MONITOR.union(Flags::NO_MANDATORY_KEYS.union(Flags::MOVABLE_KEYS)),
        ))),
        categories: Categories::SCRIPTING,
        keys: &[KeySpec::counted(2, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "sha1 numkeys:integer [key#0...] [arg...]",
        run: Run::Control(evalsha_ro),
    },
    CommandSpec {
        name: "script",
        group: Group::Scripting,
        summary: "Looks after the known scripts.",
        since: "2.6.0",
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
                summary: "Ends the running script if it has not written.",
                since: "2.6.0",
                complexity: "O(1)",
                arity: 2,
                flags: Flags::NOSCRIPT.union(Flags::ALLOW_BUSY),
                categories: Categories::SCRIPTING,
                keys: &[],
                tips: &["request_policy:all_shards", "response_policy:one_succeeded"],
                syntax: "",
                run: Run::Control(script_kill),
            },
            CommandSpec {
                name: "debug",
                group: Group::Scripting,
                summary: "Refuses to debug scripts: there is no debugger.",
                since: "3.2.0",
                complexity: "O(1)",
                arity: 3,
                flags: Flags::NOSCRIPT,
                categories: Categories::SCRIPTING,
                keys: &[],
                tips: &[],
                syntax: "mode<YES | SYNC | NO>",
                run: Run::Read(script_debug),
            },
            CommandSpec {
                name: "load",
                group: Group::Scripting,
                summary: "Compiles a script and keeps it.",
                since: "2.6.0",
                complexity: "O(N) with N being the length in bytes of the script body.",
                arity: 3,
                flags: Flags::NOSCRIPT.union(Flags::STALE),
                categories: Categories::SCRIPTING,
                keys: &[],
                tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
                syntax: "script",
                run: Run::Control(script_load),
            },
            CommandSpec {
                name: "exists",
                group: Group::Scripting,
                summary: "Tells which digests belong to known scripts.",
                since: "2.6.0",
                complexity: "O(N) with N being the number of scripts to check (so checking a single script is an O(1) operation).",
                arity: -3,
                flags: Flags::NOSCRIPT,
                categories: Categories::SCRIPTING,
                keys: &[],
                tips: &[
                    "request_policy:all_shards",
                    "response_policy:agg_logical_and",
                ],
                syntax: "sha1...",
                run: Run::Control(script_exists),
            },
            CommandSpec {
                name: "help",
                group: Group::Scripting,
                summary: "Describes the subcommands.",
                since: "5.0.0",
                complexity: "O(1)",
                arity: 2,
                flags: Flags::LOADING.union(Flags::STALE),
                categories: Categories::SCRIPTING,
                keys: &[],
                tips: &[],
                syntax: "",
                run: Run::Read(script_help),
            },
            CommandSpec {
                name: "flush",
                group: Group::Scripting,
                summary: "Forgets all scripts.",
                since: "2.6.0",
                complexity: "O(N) with N being the number of scripts in cache",
                arity: -2,
                flags: Flags::NOSCRIPT,
                categories: Categories::SCRIPTING,
                keys: &[],
                tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
                syntax: "[flush-type<ASYNC | SYNC>@6.2.0]",
                run: Run::Control(script_flush),
            },
        ]),
    },
];

/// What scripts leave in the engine.
pub(super) struct Scripts {
    pub interpreter: Interpreter,
    pub functions: Functions,
}

impl Default for Scripts {
    fn default() -> Self {
        let interpreter = Interpreter::default();
        let functions = Functions::with_random(SCRIPT_MEMORY_BYTES_MAX, interpreter.random());
        Self {
            interpreter,
            functions,
        }
    }
}

impl Scripts {
    fn figures(&self) -> ScriptFigures {
        let (script_lua_bytes, source_bytes) = self.interpreter.memory_bytes();
        ScriptFigures {
            scripts: self.interpreter.script_count(),
            functions: self.functions.function_count(),
            libraries: self.functions.libraries().len(),
            script_lua_bytes,
            function_lua_bytes: self.functions.memory_bytes(),
            source_bytes,
        }
    }
}

/// The scripts as the engine keeps them. The lock is never waited for: who reaches the engine alone reaches this
/// alone; it only lets the engine be shared between threads.
type Kept = Mutex<Scripts>;

/// Takes the scripts out of the engine for one command; they are made when first asked for.
fn with_scripts<R>(
    ctx: &mut ControlCtx<'_>,
    run: impl FnOnce(&mut Scripts, &mut ControlCtx<'_>) -> R,
) -> R {
    let mut kept = ctx
        .engine
        .extension
        .take()
        .and_then(|extension| extension.downcast::<Kept>().ok())
        .unwrap_or_default();
    let scripts = kept
        .get_mut()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    // After a panic, which a command of the script may cause, the scripts are still known.
    let result = catch_unwind(AssertUnwindSafe(|| run(scripts, ctx)));
    ctx.engine.script_figures = scripts.figures();
    ctx.engine.extension = Some(kept);
    result.unwrap_or_else(|payload| resume_unwind(payload))
}

fn with_interpreter<R>(
    ctx: &mut ControlCtx<'_>,
    run: impl FnOnce(&mut Interpreter, &mut ControlCtx<'_>) -> R,
) -> R {
    with_scripts(ctx, |scripts, ctx| run(&mut scripts.interpreter, ctx))
}

fn eval(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    run_script(ctx, args, false, false)
}

fn eval_ro(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    run_script(ctx, args, false, true)
}

fn evalsha(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    run_script(ctx, args, true, false)
}

fn evalsha_ro(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    run_script(ctx, args, true, true)
}

/// The number of keys behind the script.
fn key_count(args: Args<'_>, not_a_number: &'static str) -> Result<usize, CommandError> {
    let count = parse_i64(args.arg(2)).ok_or(CommandError::Text(not_a_number))?;
    if count > (args.len() - 3) as i64 {
        return Err(CommandError::Text(
            "ERR Number of keys can't be greater than number of args",
        ));
    }
    usize::try_from(count).map_err(|_| CommandError::Text("ERR Number of keys can't be negative"))
}

fn run_script(ctx: &mut ControlCtx<'_>, args: Args<'_>, by_sha: bool, read_only: bool) -> Handled {
    let keys = key_count(args, "ERR value is not an integer or out of range")?;
    with_interpreter(ctx, |interpreter, ctx| {
        let id = find_script(interpreter, args.arg(1), by_sha)?;
        let flags = interpreter.script(id).flags;
        check_flags(ctx, flags, read_only)?;
        let rest = args.from(3);
        let errors_before = ctx.engine.stats.error_replies.load(Relaxed);
        let mut reply = std::mem::take(ctx.reply);
        let mark = reply.len();
        let task = Task {
            kind: ScriptKind::Script,
            name: b"",
            call: args,
        };
        let mut host = Host::new(ctx, task, flags, read_only);
        let ended = interpreter.run(id, rest.first(keys), rest.from(keys), &mut host, &mut reply);
        host.finish();
        *ctx.reply = reply;
        note_end(ctx, ended, mark, errors_before);
        Ok(())
    })
}

/// Counts a run that answered with an error, raised or returned. An error that a command of the script was counted
/// for is not counted again.
fn note_end(ctx: &mut ControlCtx<'_>, ended: Ended, mark: usize, errors_before: u64) {
    let is_error = ctx.reply.as_bytes().get(mark) == Some(&b'-');
    let counted = ctx.engine.stats.error_replies.load(Relaxed) != errors_before;
    match ended {
        Ended::Error { counted } => ctx.note_failure(counted),
        Ended::Value if is_error => ctx.note_failure(counted),
        Ended::Value => {}
    }
}

fn find_script(
    interpreter: &mut Interpreter,
    source: &[u8],
    by_sha: bool,
) -> Result<ScriptId, CommandError> {
    if by_sha {
        return interpreter.find(source).ok_or(CommandError::NoScript);
    }
    if let Some(id) = interpreter.find_source(source) {
        return Ok(id);
    }
    load(interpreter, source, Origin::Eval)
}

fn load(
    interpreter: &mut Interpreter,
    source: &[u8],
    origin: Origin,
) -> Result<ScriptId, CommandError> {
    interpreter
        .load(source, origin)
        .map_err(|error| CommandError::Owned(String::from_utf8_lossy(&error.0).into_owned()))
}

/// What a script's flags rule out before it starts. A script without a first line is checked command by command.
fn check_flags(ctx: &ControlCtx<'_>, flags: ScriptFlags, read_only: bool) -> Handled {
    if flags.contains(ScriptFlags::COMPATIBLE) {
        return Ok(());
    }
    let no_writes = flags.contains(ScriptFlags::NO_WRITES);
    if read_only && !no_writes {
        return Err(CommandError::Text(
            "ERR Can not execute a script with write flag using *_ro command.",
        ));
    }
    if !no_writes {
        if let Some(refusal) = &ctx.engine.write_refusal {
            return Err(CommandError::Owned(refusal.clone()));
        }
        if let Some(lack) = ctx.engine.lack_of_followers(ctx.now) {
            return Err(CommandError::Text(lack));
        }
        if ctx.engine.read_only_replica {
            return Err(CommandError::ReadOnly);
        }
    }
    if !flags.contains(ScriptFlags::ALLOW_OOM) && !no_writes && ctx.engine.out_of_memory() {
        return Err(CommandError::OutOfMemory);
    }
    Ok(())
}

fn script_load(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    with_interpreter(ctx, |interpreter, ctx| {
        let id = load(interpreter, args.arg(2), Origin::Load)?;
        let sha = interpreter.script(id).sha.hex();
        ctx.reply.bulk(&sha);
        Ok(())
    })
}

fn script_exists(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    with_interpreter(ctx, |interpreter, ctx| {
        let digests = args.from(2);
        ctx.reply.array(digests.len());
        for digest in digests.iter() {
            let known = interpreter.find(digest).is_some();
            ctx.reply.integer(i64::from(known));
        }
        Ok(())
    })
}

fn script_flush(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let known = match args.len() {
        2 => true,
        3 => {
            args.arg(2).eq_ignore_ascii_case(b"sync") || args.arg(2).eq_ignore_ascii_case(b"async")
        }
        _ => false,
    };
    if !known {
        return Err(CommandError::Text(
            "ERR SCRIPT FLUSH only support SYNC|ASYNC option",
        ));
    }
    with_interpreter(ctx, |interpreter, _| interpreter.flush());
    ctx.reply.ok();
    Ok(())
}

/// A running script is told to end before a command reaches the engine; who gets here finds none.
fn script_kill(_ctx: &mut ControlCtx<'_>, _args: Args<'_>) -> Handled {
    Err(CommandError::Text(
        "NOTBUSY No scripts in execution right now.",
    ))
}

/// A client that asks for the debugger would from then on speak the debugger's language; it is told at once
/// that there is none.
fn script_debug(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    match args.arg(2).to_ascii_lowercase().as_slice() {
        b"no" => {
            ctx.reply.ok();
            Ok(())
        }
        b"yes" | b"sync" => Err(CommandError::Text(
            "ERR SCRIPT DEBUG is not supported: scripts run without a debugger",
        )),
        _ => Err(CommandError::Text("ERR Use SCRIPT DEBUG YES/SYNC/NO")),
    }
}

fn script_help(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    crate::commands::help::write(
        ctx.reply,
        "SCRIPT",
        &[
            "DEBUG (YES|SYNC|NO)",
            "    Answer whether scripts can be debugged: only NO is taken.",
            "EXISTS <sha1> [<sha1> ...]",
            "    Return information about the existence of the scripts in the script cache.",
            "FLUSH [ASYNC|SYNC]",
            "    Flush the Lua scripts cache. Very dangerous on replicas.",
            "    When called without the optional mode argument, the behavior is determined by the",
            "    lazyfree-lazy-user-flush configuration directive. Valid modes are:",
            "    * ASYNC: Asynchronously flush the scripts cache.",
            "    * SYNC: Synchronously flush the scripts cache.",
            "KILL",
            "    Kill the currently executing Lua script.",
            "LOAD <script>",
            "    Load a script into the scripts cache without executing it.",
        ],
    );
    Ok(())
}
