//! MODULE: there are no extensions, and none can be loaded.

use crate::engine::ctx::{ControlCtx, ReadCtx};
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;

pub const COMMANDS: &[CommandSpec] = &[CommandSpec {
    name: "module",
    group: Group::Server,
    summary: "Extensions, of which there are none.",
    since: "4.0.0",
    complexity: "Depends on subcommand.",
    arity: -2,
    flags: Flags::empty(),
    categories: Categories::empty(),
    keys: &[],
    tips: &[],
    syntax: "",
    run: Run::Container(&[
        CommandSpec {
            name: "list",
            group: Group::Server,
            summary: "Lists the loaded extensions.",
            since: "4.0.0",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT),
            categories: Categories::empty(),
            keys: &[],
            tips: &["nondeterministic_output_order"],
            syntax: "",
            run: Run::Read(list),
        },
        CommandSpec {
            name: "load",
            group: Group::Server,
            summary: "Loads an extension.",
            since: "4.0.0",
            complexity: "O(1)",
            arity: -3,
            flags: Flags::ADMIN
                .union(Flags::NOSCRIPT)
                .union(Flags::NO_ASYNC_LOADING)
                .union(Flags::MODULES),
            categories: Categories::empty(),
            keys: &[],
            tips: &[],
            syntax: "path [arg...]",
            run: Run::Control(load),
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
            run: Run::Read(help),
        },
        CommandSpec {
            name: "loadex",
            group: Group::Server,
            summary: "Loads an extension with settings.",
            since: "7.0.0",
            complexity: "O(1)",
            arity: -3,
            flags: Flags::ADMIN
                .union(Flags::NOSCRIPT)
                .union(Flags::NO_ASYNC_LOADING)
                .union(Flags::MODULES),
            categories: Categories::empty(),
            keys: &[],
            tips: &[],
            syntax: "path [CONFIG=configs(name value)&...] [ARGS=args...]",
            run: Run::Control(load),
        },
        CommandSpec {
            name: "unload",
            group: Group::Server,
            summary: "Unloads an extension.",
            since: "4.0.0",
            complexity: "O(1)",
            arity: 3,
            flags: Flags::ADMIN
                .union(Flags::NOSCRIPT)
                .union(Flags::NO_ASYNC_LOADING)
                .union(Flags::MODULES),
            categories: Categories::empty(),
            keys: &[],
            tips: &[],
            syntax: "name",
            run: Run::Control(unload),
        },
    ]),
}];

fn list(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    ctx.reply.array(0);
    Ok(())
}

fn load(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let path = String::from_utf8_lossy(args.arg(2)).into_owned();
    ctx.engine.outside.log(&format!(
        "Module {path} failed to load: this server has no modules"
    ));
    Err(CommandError::Text(
        "ERR Error loading the extension. Please check the server logs.",
    ))
}

fn unload(_ctx: &mut ControlCtx<'_>, _args: Args<'_>) -> Handled {
    Err(CommandError::Text(
        "ERR Error unloading module: no such module with that name",
    ))
}

fn help(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    super::help::write(
        ctx.reply,
        "MODULE",
        &[
            "LIST",
            "    Return a list of loaded modules.",
            "LOAD <path> [<arg> ...]",
            "    Load a module library from <path>, passing to it any optional arguments.",
            "LOADEX <path> [[CONFIG NAME VALUE] [CONFIG NAME VALUE]] [ARGS ...]",
            "    Load a module library from <path>, while passing it module configurations and optional arguments.",
            "UNLOAD <name>",
            "    Unload a module.",
        ],
    );
    Ok(())
}
