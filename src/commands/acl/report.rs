//! What ACL tells without changing users: categories, refusals, trial runs, new passwords.

use super::shown;
use crate::engine::acl::{Refusal, denial_text};
use crate::engine::ctx::{ControlCtx, ReadCtx};
use crate::engine::spec::{Categories, Handled};
use crate::engine::table::ResolveError;
use crate::limits::ACL_PASSWORD_BITS_MAX;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;

/// Entries that ACL LOG shows unless asked for more.
const LOG_COUNT: i64 = 10;

pub(super) fn acl_cat(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let name = match args.len() {
        2 => {
            ctx.reply.array(Categories::NAMES.len());
            for name in Categories::NAMES {
                ctx.reply.bulk(name.as_bytes());
            }
            return Ok(());
        }
        3 => args.arg(2),
        _ => return Err(CommandError::subcommand_syntax("ACL", args.arg(1))),
    };
    let category = Categories::find(name).ok_or_else(|| {
        let name = shown(&name[..name.len().min(128)]);
        CommandError::Owned(format!("ERR Unknown category '{name}'"))
    })?;
    let table = ctx.engine().table;
    let commands: Vec<_> = table
        .iter()
        .filter(|command| command.categories.contains(category))
        .collect();
    ctx.reply.array(commands.len());
    for command in commands {
        ctx.reply.bulk(command.full_name.as_bytes());
    }
    Ok(())
}

pub(super) fn acl_log(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let acl = &ctx.engine().acl;
    let count = match args.len() {
        2 => LOG_COUNT,
        3 if args.arg(2).eq_ignore_ascii_case(b"reset") => {
            acl.clear_log();
            ctx.reply.ok();
            return Ok(());
        }
        3 => parse_i64(args.arg(2)).ok_or(CommandError::NotInteger)?,
        _ => return Err(CommandError::subcommand_syntax("ACL", args.arg(1))),
    };
    let entries = acl.log_entries(usize::try_from(count).unwrap_or(0));
    let now_ms = ctx.now.unix_ms();
    let reply = &mut *ctx.reply;
    reply.array(entries.len());
    for entry in entries {
        reply.map(10);
        reply.bulk(b"count");
        reply.integer(entry.count as i64);
        reply.bulk(b"reason");
        reply.bulk(entry.reason.name().as_bytes());
        reply.bulk(b"context");
        reply.bulk(entry.context.name().as_bytes());
        reply.bulk(b"object");
        reply.bulk(&entry.object);
        reply.bulk(b"username");
        reply.bulk(&entry.user);
        reply.bulk(b"age-seconds");
        reply.double((now_ms - entry.updated_ms) as f64 / 1_000.0);
        reply.bulk(b"client-info");
        reply.bulk(&entry.client);
        reply.bulk(b"entry-id");
        reply.integer(entry.id as i64);
        reply.bulk(b"timestamp-created");
        reply.integer(entry.created_ms);
        reply.bulk(b"timestamp-last-updated");
        reply.integer(entry.updated_ms);
    }
    Ok(())
}

pub(super) fn acl_dryrun(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let (name, call) = (args.arg(2), args.from(3));
    let user = ctx
        .engine()
        .acl
        .user(name)
        .ok_or_else(|| CommandError::Owned(format!("ERR User '{}' not found", shown(name))))?;
    let table = ctx.engine().table;
    let command = table.resolve(call).map_err(|error| match error {
        ResolveError::Arity(id) => CommandError::wrong_arity(&table.get(id).full_name),
        ResolveError::Unknown | ResolveError::UnknownSubcommand(_) => {
            CommandError::Owned(format!("ERR Command '{}' not found", shown(call.name())))
        }
    })?;
    match user.check(command, call) {
        Ok(()) => ctx.reply.ok(),
        Err(denied) => {
            let refusal = Refusal {
                denied,
                command,
                args: call,
                now: ctx.now,
            };
            let text = denial_text(&user, &refusal, true);
            ctx.reply.bulk(text.as_bytes());
        }
    }
    Ok(())
}

pub(super) fn acl_genpass(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let bits = match args.len() {
        2 => 256,
        3 => parse_i64(args.arg(2)).ok_or(CommandError::NotInteger)?,
        _ => return Err(CommandError::subcommand_syntax("ACL", args.arg(1))),
    };
    if !(1..=ACL_PASSWORD_BITS_MAX).contains(&bits) {
        return Err(CommandError::Owned(format!(
            "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to \
             {ACL_PASSWORD_BITS_MAX}"
        )));
    }
    let digits = bits.unsigned_abs().div_ceil(4) as usize;
    let mut secret = vec![0; digits.div_ceil(2)];
    ctx.engine
        .outside
        .fill_secret(&mut secret)
        .map_err(|reason| CommandError::Owned(format!("ERR {reason}")))?;
    let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    ctx.reply.bulk(&hex.as_bytes()[..digits]);
    Ok(())
}

pub(super) fn acl_help(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    crate::commands::help::write(
        ctx.reply,
        "ACL",
        &[
            "CAT [<category>]",
            "    List all commands that belong to <category>, or all command categories",
            "    when no category is specified.",
            "DELUSER <username> [<username> ...]",
            "    Delete a list of users.",
            "DRYRUN <username> <command> [<arg> ...]",
            "    Returns whether the user can execute the given command without executing the command.",
            "GETUSER <username>",
            "    Get the user's details.",
            "GENPASS [<bits>]",
            "    Generate a secure 256-bit user password. The optional `bits` argument can",
            "    be used to specify a different size.",
            "LIST",
            "    Show users details in config file format.",
            "LOAD",
            "    Reload users from the ACL file.",
            "LOG [<count> | RESET]",
            "    Show the ACL log entries.",
            "SAVE",
            "    Save the current config to the ACL file.",
            "SETUSER <username> <attribute> [<attribute> ...]",
            "    Create or modify a user with the specified attributes.",
            "USERS",
            "    List all the registered usernames.",
            "WHOAMI",
            "    Return the current connection username.",
        ],
    );
    Ok(())
}
