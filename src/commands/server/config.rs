//! CONFIG: settings at run time.

use crate::engine::ctx::{ControlCtx, ReadCtx};
use crate::engine::gates::allows;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::settings::{Access, Extent};

pub const COMMANDS: &[CommandSpec] = &[CommandSpec {
    name: "config",
    group: Group::Server,
    summary: "Looks at settings and changes them.",
    since: "2.0.0",
    complexity: "Depends on subcommand.",
    arity: -2,
    flags: Flags::empty(),
    categories: Categories::empty(),
    keys: &[],
    tips: &[],
    syntax: "",
    run: Run::Container(&[
        CommandSpec {
            name: "resetstat",
            group: Group::Server,
            summary: "Sets the counters that INFO shows back to zero.",
            since: "2.0.0",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::empty(),
            keys: &[],
            tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
            syntax: "",
            run: Run::Control(config_resetstat),
        },
        CommandSpec {
            name: "rewrite",
            group: Group::Server,
            summary: "Writes the settings in force to the settings file.",
            since: "2.8.0",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::empty(),
            keys: &[],
            tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
            syntax: "",
            run: Run::Control(config_rewrite),
        },
        CommandSpec {
            name: "set",
            group: Group::Server,
            summary: "Changes settings, all of the given or none.",
            since: "2.0.0",
            complexity: "O(N) when N is the number of configuration parameters provided",
            arity: -4,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::empty(),
            keys: &[],
            tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
            syntax: "data(parameter value)...",
            run: Run::Control(config_set),
        },
        CommandSpec {
            name: "get",
            group: Group::Server,
            summary: "Tells settings whose names match.",
            since: "2.0.0",
            complexity: "O(N) when N is the number of configuration parameters provided",
            arity: -3,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::empty(),
            keys: &[],
            tips: &[],
            syntax: "parameter...",
            run: Run::Read(config_get),
        },
        CommandSpec {
            name: "help",
            group: Group::Server,
            summary: "Describes the subcommands.",
            since: "5.0.0",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::LOADING.union(Flags::STALE),
            categories: Categories::empty(),
            keys: &[],
            tips: &[],
            syntax: "",
            run: Run::Read(config_help),
        },
    ]),
}];

fn config_get(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let patterns: Vec<&[u8]> = args.from(2).iter().collect();
    let found = ctx.settings().config_get(&patterns);
    ctx.reply.map(found.len());
    for (name, value) in found {
        ctx.reply.bulk(&name);
        ctx.reply.bulk(&value);
    }
    Ok(())
}

fn config_set(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let words = args.from(2);
    if !words.len().is_multiple_of(2) {
        return Err(CommandError::Syntax);
    }
    let pairs: Vec<(&[u8], &[u8])> = (0..words.len() / 2)
        .map(|pair| (words.arg(2 * pair), words.arg(2 * pair + 1)))
        .collect();
    let local = ctx.session.client.is_local();
    let access = Access {
        protected_allowed: allows(ctx.settings().enable_protected_configs, local),
        loading: ctx.engine.loading.is_some(),
    };
    ctx.engine.set_settings(&pairs, access).map_err(|error| {
        CommandError::Owned(String::from_utf8_lossy(&error.wire_text()).into_owned())
    })?;
    ctx.reply.ok();
    Ok(())
}

fn config_resetstat(ctx: &mut ControlCtx<'_>, _args: Args<'_>) -> Handled {
    ctx.engine.stats.reset();
    ctx.reply.ok();
    Ok(())
}

fn config_rewrite(ctx: &mut ControlCtx<'_>, _args: Args<'_>) -> Handled {
    ctx.engine
        .rewrite_settings(Extent::Changed)
        .map_err(CommandError::Owned)?;
    ctx.reply.ok();
    Ok(())
}

fn config_help(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    crate::commands::help::write(
        ctx.reply,
        "CONFIG",
        &[
            "GET <pattern>",
            "    Return parameters matching the glob-like <pattern> and their values.",
            "SET <directive> <value>",
            "    Set the configuration <directive> to <value>.",
            "RESETSTAT",
            "    Reset statistics reported by the INFO command.",
            "REWRITE",
            "    Rewrite the configuration file.",
        ],
    );
    Ok(())
}
