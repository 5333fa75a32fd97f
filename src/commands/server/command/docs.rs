//! COMMAND DOCS: summaries, what became of commands, and the arguments of the declared syntax.

use super::arguments::{Argument, Repeats, Shape, parse};
use super::past;
use crate::engine::ctx::ReadCtx;
use crate::engine::spec::Handled;
use crate::engine::table::{Command, CommandTable};
use crate::resp::args::Args;
use crate::resp::reply::Reply;

pub fn command_docs(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let table = &ctx.engine().table;
    let commands: Vec<&Command> = if args.len() == 2 {
        table.top_level().collect()
    } else {
        args.from(2)
            .iter()
            .filter_map(|name| table.find_full(name))
            .collect()
    };
    ctx.reply.map(commands.len());
    for command in commands {
        ctx.reply.bulk(command.full_name.as_bytes());
        document(ctx.reply, table, command);
    }
    Ok(())
}

fn document(reply: &mut Reply, table: &CommandTable, command: &Command) {
    let spec = command.spec;
    let arguments = parse(spec.syntax);
    let past = past::of(&command.full_name);
    let texts = [
        ("summary", spec.summary),
        ("since", spec.since),
        ("group", spec.group.name()),
        ("complexity", spec.complexity),
    ];
    let texts = || texts.iter().filter(|(_, text)| !text.is_empty());
    let flags: Vec<&str> = [
        (past.deprecated.is_some(), "deprecated"),
        (past.internal, "syscmd"),
    ]
    .iter()
    .filter_map(|(set, name)| set.then_some(*name))
    .collect();
    let optional = [
        !flags.is_empty(),
        past.deprecated.is_some(),
        past.deprecated.is_some(),
        !past.history.is_empty(),
        !arguments.is_empty(),
        !command.subcommands.is_empty(),
    ];
    reply.map(texts().count() + optional.iter().filter(|there| **there).count());
    for (field, text) in texts() {
        reply.bulk(field.as_bytes());
        reply.bulk(text.as_bytes());
    }
    write_flags(reply, "doc_flags", &flags);
    if let Some((since, by)) = past.deprecated {
        write_text(reply, "deprecated_since", since);
        write_text(reply, "replaced_by", by);
    }
    if !past.history.is_empty() {
        reply.bulk(b"history");
        reply.set(past.history.len());
        for (_, version, change) in past.history {
            reply.array(2);
            reply.bulk(version.as_bytes());
            reply.bulk(change.as_bytes());
        }
    }
    if !arguments.is_empty() {
        reply.bulk(b"arguments");
        write_arguments(reply, &arguments);
    }
    if !command.subcommands.is_empty() {
        reply.bulk(b"subcommands");
        reply.map(command.subcommands.len());
        for &id in &command.subcommands {
            let child = table.get(id);
            reply.bulk(child.full_name.as_bytes());
            document(reply, table, child);
        }
    }
}

fn write_text(reply: &mut Reply, field: &str, text: &str) {
    reply.bulk(field.as_bytes());
    reply.bulk(text.as_bytes());
}

fn write_flags(reply: &mut Reply, field: &str, flags: &[&str]) {
    if !flags.is_empty() {
        reply.bulk(field.as_bytes());
        reply.set(flags.len());
        for flag in flags {
            reply.simple(flag);
        }
    }
}

fn write_arguments(reply: &mut Reply, arguments: &[Argument<'_>]) {
    reply.array(arguments.len());
    for argument in arguments {
        write_argument(reply, argument);
    }
}

fn write_argument(reply: &mut Reply, argument: &Argument<'_>) {
    let flags: Vec<&str> = [
        (argument.optional, "optional"),
        (argument.repeats != Repeats::Never, "multiple"),
        (argument.repeats == Repeats::WithToken, "multiple_token"),
    ]
    .iter()
    .filter_map(|(set, name)| set.then_some(*name))
    .collect();
    let is_shown = matches!(argument.shape, Shape::Token | Shape::Value);
    let optional = [
        is_shown,
        argument.key_spec.is_some(),
        argument.token.is_some(),
        argument.since.is_some(),
        argument.deprecated_since.is_some(),
        !flags.is_empty(),
        !argument.inner.is_empty(),
    ];
    reply.map(2 + optional.iter().filter(|there| **there).count());
    write_text(reply, "name", &argument.name);
    write_text(reply, "type", argument.kind);
    if is_shown {
        write_text(reply, "display_text", &argument.display);
    }
    if let Some(index) = argument.key_spec {
        reply.bulk(b"key_spec_index");
        reply.integer(index);
    }
    for (field, text) in [
        ("token", argument.token),
        ("since", argument.since),
        ("deprecated_since", argument.deprecated_since),
    ] {
        if let Some(text) = text {
            write_text(reply, field, text);
        }
    }
    write_flags(reply, "flags", &flags);
    if !argument.inner.is_empty() {
        reply.bulk(b"arguments");
        write_arguments(reply, &argument.inner);
    }
}
