//! COMMAND DOCS: summaries, and the arguments read from the declared syntax.
//!
//! The syntax text is the only place where arguments are declared; this file
//! parses it into the tree that COMMAND DOCS answers.  The notation: capital
//! words are tokens, small words are values, `[x]` is optional, `<a | b>` is a
//! choice, `x [x ...]` repeats.

use crate::engine::ctx::ReadCtx;
use crate::engine::spec::Handled;
use crate::engine::table::{Command, CommandTable};
use crate::resp::args::Args;
use crate::resp::reply::Reply;

/// How deep brackets nest in a declared syntax; the declarations are ours, so this is only a stop.
const DEPTH_MAX: usize = 16;

#[derive(Debug, PartialEq, Clone)]
enum Shape {
    /// A word to be given as it stands.
    Token,
    /// A value of the caller's.
    Value,
    OneOf(Vec<Argument>),
    Block(Vec<Argument>),
}

#[derive(Debug, PartialEq, Clone)]
struct Argument {
    name: String,
    token: Option<String>,
    shape: Shape,
    optional: bool,
    multiple: bool,
}

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
    let has_arguments = !arguments.is_empty();
    let has_subcommands = !command.subcommands.is_empty();
    reply.map(4 + usize::from(has_arguments) + usize::from(has_subcommands));
    for (field, text) in [
        ("summary", spec.summary),
        ("since", spec.since),
        ("group", spec.group.name()),
        ("complexity", spec.complexity),
    ] {
        reply.bulk(field.as_bytes());
        reply.bulk(text.as_bytes());
    }
    if has_arguments {
        reply.bulk(b"arguments");
        write_arguments(reply, &arguments);
    }
    if has_subcommands {
        reply.bulk(b"subcommands");
        reply.map(command.subcommands.len());
        for &id in &command.subcommands {
            let child = table.get(id);
            reply.bulk(child.full_name.as_bytes());
            document(reply, table, child);
        }
    }
}

fn write_arguments(reply: &mut Reply, arguments: &[Argument]) {
    reply.array(arguments.len());
    for argument in arguments {
        let flags: Vec<&str> = [
            (argument.optional, "optional"),
            (argument.multiple, "multiple"),
        ]
        .iter()
        .filter(|(set, _)| *set)
        .map(|(_, name)| *name)
        .collect();
        let inner = match &argument.shape {
            Shape::OneOf(inner) | Shape::Block(inner) => Some(inner),
            Shape::Token | Shape::Value => None,
        };
        let fields = 2 + usize::from(argument.token.is_some()) + usize::from(!flags.is_empty());
        reply.map(fields + usize::from(inner.is_some()));
        reply.bulk(b"name");
        reply.bulk(argument.name.as_bytes());
        reply.bulk(b"type");
        reply.bulk(type_name(argument).as_bytes());
        if let Some(token) = &argument.token {
            reply.bulk(b"token");
            reply.bulk(token.as_bytes());
        }
        if !flags.is_empty() {
            reply.bulk(b"flags");
            reply.array(flags.len());
            for flag in flags {
                reply.simple(flag);
            }
        }
        if let Some(inner) = inner {
            reply.bulk(b"arguments");
            write_arguments(reply, inner);
        }
    }
}

fn type_name(argument: &Argument) -> &'static str {
    const INTEGERS: &[&str] = &[
        "count",
        "numkeys",
        "seconds",
        "milliseconds",
        "offset",
        "start",
        "stop",
        "index",
        "increment",
        "decrement",
        "cursor",
        "limit",
        "rank",
        "len",
        "bit",
        "db",
        "destination-db",
        "port",
    ];
    match &argument.shape {
        Shape::Token => "pure-token",
        Shape::OneOf(_) => "oneof",
        Shape::Block(_) => "block",
        Shape::Value => match argument.name.as_str() {
            "key" | "newkey" | "source" | "destination" | "destkey" | "numkey" => "key",
            "pattern" => "pattern",
            "score" | "timeout" | "weight" | "longitude" | "latitude" => "double",
            name if name.starts_with("unix-time") => "unix-time",
            name if INTEGERS.contains(&name) => "integer",
            _ => "string",
        },
    }
}

/// The arguments of a syntax text.
fn parse(syntax: &str) -> Vec<Argument> {
    let spaced = syntax
        .replace("...", " ... ")
        .replace('[', " [ ")
        .replace(']', " ] ")
        .replace('<', " < ")
        .replace('>', " > ")
        .replace('|', " | ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut position = 0;
    sequence(&words, &mut position, 0)
}

/// Reads up to a closing bracket; alternatives become one choice.
fn sequence(words: &[&str], position: &mut usize, depth: usize) -> Vec<Argument> {
    let mut alternatives: Vec<Vec<Argument>> = vec![Vec::new()];
    while let Some(&word) = words.get(*position) {
        *position += 1;
        let current = alternatives
            .last_mut()
            .expect("there is always a current alternative");
        match word {
            "]" | ">" => break,
            "|" => alternatives.push(Vec::new()),
            "..." => {}
            "[" if depth < DEPTH_MAX => {
                if repeats(words, *position) {
                    skip_bracket(words, position);
                    if let Some(last) = current.last_mut() {
                        last.multiple = true;
                    }
                } else {
                    let inner = sequence(words, position, depth + 1);
                    current.extend(group(inner).map(|argument| Argument {
                        optional: true,
                        ..argument
                    }));
                }
            }
            "<" if depth < DEPTH_MAX => {
                let inner = sequence(words, position, depth + 1);
                current.extend(group(inner));
            }
            word => current.push(single(word)),
        }
    }
    if alternatives.len() == 1 {
        return join_tokens(alternatives.pop().unwrap_or_default());
    }
    let choices: Vec<Argument> = alternatives
        .into_iter()
        .filter_map(|inner| group(join_tokens(inner)))
        .collect();
    let name = choices
        .iter()
        .map(|choice| choice.name.as_str())
        .collect::<Vec<_>>()
        .join("-or-");
    vec![Argument {
        name,
        token: None,
        shape: Shape::OneOf(choices),
        optional: false,
        multiple: false,
    }]
}

/// Whether the bracket that opened before `position` ends in `...`: it repeats what stands before it.
fn repeats(words: &[&str], mut position: usize) -> bool {
    let mut depth = 0;
    let mut last = "";
    while let Some(&word) = words.get(position) {
        match word {
            "[" | "<" => depth += 1,
            "]" | ">" if depth == 0 => return last == "...",
            "]" | ">" => depth -= 1,
            _ => {}
        }
        last = word;
        position += 1;
    }
    false
}

fn skip_bracket(words: &[&str], position: &mut usize) {
    let mut depth = 0;
    while let Some(&word) = words.get(*position) {
        *position += 1;
        match word {
            "[" | "<" => depth += 1,
            "]" | ">" if depth == 0 => return,
            "]" | ">" => depth -= 1,
            _ => {}
        }
    }
}

fn single(word: &str) -> Argument {
    let is_token = !word.bytes().any(|byte| byte.is_ascii_lowercase());
    Argument {
        name: word.to_ascii_lowercase(),
        token: is_token.then(|| word.to_string()),
        shape: if is_token { Shape::Token } else { Shape::Value },
        optional: false,
        multiple: false,
    }
}

/// A token directly before a value belongs to it (`COUNT count`).
fn join_tokens(arguments: Vec<Argument>) -> Vec<Argument> {
    let mut joined: Vec<Argument> = Vec::new();
    for mut argument in arguments {
        let takes_token =
            !argument.optional && argument.token.is_none() && argument.shape != Shape::Token;
        let before = joined
            .last()
            .filter(|last| last.shape == Shape::Token && !last.optional && takes_token);
        if let Some(token) = before.and_then(|last| last.token.clone()) {
            joined.pop();
            argument.token = Some(token);
        }
        joined.push(argument);
    }
    joined
}

/// Several arguments as one.
fn group(mut inner: Vec<Argument>) -> Option<Argument> {
    if inner.len() <= 1 {
        return inner.pop();
    }
    let name = inner
        .iter()
        .map(|argument| argument.name.as_str())
        .collect::<Vec<_>>()
        .join("-");
    Some(Argument {
        name,
        token: None,
        shape: Shape::Block(inner),
        optional: false,
        multiple: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_becomes_a_tree() {
        let arguments = parse("key [NX | XX] [COUNT count] score member [score member ...]");
        let names: Vec<&str> = arguments
            .iter()
            .map(|argument| argument.name.as_str())
            .collect();
        assert_eq!(names, ["key", "nx-or-xx", "count", "score", "member"]);
        assert!(
            arguments[1].optional
                && matches!(&arguments[1].shape, Shape::OneOf(inner) if inner.len() == 2)
        );
        assert_eq!(arguments[2].token.as_deref(), Some("COUNT"));
        assert!(arguments[2].optional && arguments[4].multiple);
    }

    #[test]
    fn brackets_that_do_not_close_end_with_the_text() {
        assert_eq!(parse("key [a").len(), 2);
        assert_eq!(parse("] key").len(), 0);
    }
}
