//! Reasons to refuse a command, in the order in which clients of Redis see them.

use super::acl::{self, Refusal as AclRefusal};
use super::client::client_flags;
use super::session::{Origin, Session};
use super::spec::Flags;
use super::table::Command;
use super::time::Moment;
use super::{Engine, PauseKind};
use crate::resp::args::Args;
use crate::settings::ProtectedAction;
use std::sync::atomic::Ordering::Relaxed;

/// What a gate says of a command that may not pass.
pub enum Refusal {
    /// Answer with this error.
    Error(String),
    /// Run it later, when the pause ends (CLIENT PAUSE).
    Paused,
}

/// What the gates look at.
pub struct Call<'a> {
    pub engine: &'a Engine,
    pub session: &'a Session,
    pub command: &'a Command,
    pub args: Args<'a>,
    pub now: Moment,
}

/// The first gate that refuses the call.
#[inline]
pub fn check(call: &Call<'_>) -> Option<Refusal> {
    match call.session.origin {
        Origin::Client => client_gates(call),
        Origin::Script => script_gates(call),
        // Checked when it was queued or blocked first; permissions are checked again by `check_again`.
        Origin::Transaction | Origin::Unblocked | Origin::Replay => None,
    }
}

/// For commands of clients, in order.
#[inline]
fn client_gates(call: &Call<'_>) -> Option<Refusal> {
    protected(call)
        .or_else(|| authenticated(call))
        .or_else(|| not_in_transaction(call))
        .or_else(|| permitted(call))
        .or_else(|| memory(call))
        .or_else(|| disk(call))
        .or_else(|| followers(call))
        .or_else(|| replica(call))
        .or_else(|| subscriber(call))
        .or_else(|| loading(call))
        .or_else(|| paused(call))
}

/// For commands of scripts, in order.
#[inline]
fn script_gates(call: &Call<'_>) -> Option<Refusal> {
    script_allowed(call)
        .or_else(|| permitted(call))
        .or_else(|| read_only_script(call))
        .or_else(|| disk(call))
        .or_else(|| followers(call))
        .or_else(|| replica(call))
        .or_else(|| memory(call))
}

fn error(text: impl Into<String>) -> Option<Refusal> {
    Some(Refusal::Error(text.into()))
}

/// Whether the command has a flag; EXEC has those of what it runs.
#[inline]
fn has(call: &Call<'_>, flag: Flags) -> bool {
    if call.command.flags.contains(flag) {
        return true;
    }
    let Some(transaction) = &call.session.transaction else {
        return false;
    };
    let queued = &transaction.commands;
    call.command.spec.name == "exec"
        && queued
            .iter()
            .any(|(id, _)| call.engine.table.get(*id).flags.contains(flag))
}

fn protected(call: &Call<'_>) -> Option<Refusal> {
    let settings = &call.engine.settings;
    let (action, command, option) = if &*call.command.full_name == "debug" {
        (
            settings.enable_debug_command,
            "DEBUG",
            "enable-debug-command",
        )
    } else if call.command.flags.contains(Flags::MODULES) {
        (
            settings.enable_module_command,
            "MODULE",
            "enable-module-command",
        )
    } else {
        return None;
    };
    if allows(action, call.session.client.is_local()) {
        return None;
    }
    error(format!(
        "ERR {command} command not allowed. If the {option} option is set to \"local\", you can run it from a local \
         connection, otherwise you need to set this option in the configuration file, and then restart the server."
    ))
}

/// Whether a protected action is open to a client.
pub fn allows(action: ProtectedAction, local: bool) -> bool {
    match action {
        ProtectedAction::No => false,
        ProtectedAction::Yes => true,
        ProtectedAction::Local => local,
    }
}

fn authenticated(call: &Call<'_>) -> Option<Refusal> {
    let session = call.session;
    if session.authenticated || has(call, Flags::NO_AUTH) || call.engine.acl.default_is_open() {
        return None;
    }
    error("NOAUTH Authentication required.")
}

#[inline]
fn permitted(call: &Call<'_>) -> Option<Refusal> {
    if call.session.user.is_unrestricted() {
        return None;
    }
    refused_by_rights(call).map(Refusal::Error)
}

/// Looks at the call word by word; what is refused is logged.
#[cold]
fn refused_by_rights(call: &Call<'_>) -> Option<String> {
    let (session, command, args) = (call.session, call.command, call.args);
    let denied = session.user.check(command, args).err()?;
    let refusal = AclRefusal {
        denied,
        command,
        args,
        now: call.now,
    };
    if session.origin == Origin::Client {
        // The log tells the client as it is in the middle of this command.
        session.client.last_command.store(command.id.0, Relaxed);
    }
    let context = acl::top_context(session);
    call.engine.acl.note_denied(session, context, &refusal);
    Some(match session.origin {
        Origin::Transaction => format!(
            "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This \
             command is no longer allowed for the following reason: {}",
            denied.reason()
        ),
        Origin::Script => format!(
            "ERR ACL failure in script: {}",
            acl::denial_text(&session.user, &refusal, false)
        ),
        _ => format!(
            "NOPERM {}",
            acl::denial_text(&session.user, &refusal, false)
        ),
    })
}

/// For a command that passed its gates once, and may have lost its permission since: the error for the client.
#[inline]
pub fn check_again(call: &Call<'_>) -> Option<String> {
    if call.session.user.is_unrestricted() {
        return None;
    }
    refused_by_rights(call)
}

fn not_in_transaction(call: &Call<'_>) -> Option<Refusal> {
    if call.session.transaction.is_some() && has(call, Flags::NO_MULTI) {
        return error("ERR Command not allowed inside a transaction");
    }
    None
}

fn script_allowed(call: &Call<'_>) -> Option<Refusal> {
    if has(call, Flags::NOSCRIPT) && !call.engine.scripts_may_all {
        return error("ERR This Redis command is not allowed from script");
    }
    None
}

fn read_only_script(call: &Call<'_>) -> Option<Refusal> {
    if call.session.script_read_only
        && call
            .command
            .flags
            .intersects(Flags::WRITE | Flags::MAY_REPLICATE)
    {
        return error("ERR Write commands are not allowed from read-only scripts.");
    }
    None
}

fn memory(call: &Call<'_>) -> Option<Refusal> {
    let excused = call.session.script_allows_oom || call.session.script_has_written;
    if has(call, Flags::DENYOOM) && !excused && call.engine.out_of_memory() {
        return error("OOM command not allowed when used memory > 'maxmemory'.");
    }
    None
}

fn disk(call: &Call<'_>) -> Option<Refusal> {
    let refusal = call.engine.write_refusal.as_ref()?;
    if !has(call, Flags::WRITE) && call.command.spec.name != "ping" {
        return None;
    }
    error(refusal.clone())
}

fn followers(call: &Call<'_>) -> Option<Refusal> {
    if call.engine.settings.min_replicas_to_write == 0 || !has(call, Flags::WRITE) {
        return None;
    }
    call.engine.lack_of_followers(call.now).and_then(error)
}

fn replica(call: &Call<'_>) -> Option<Refusal> {
    if call.engine.read_only_replica && has(call, Flags::WRITE) {
        return error("READONLY You can't write against a read only replica.");
    }
    None
}

fn subscriber(call: &Call<'_>) -> Option<Refusal> {
    if call.session.protocol != crate::resp::reply::Protocol::Resp2 || !call.session.is_subscriber()
    {
        return None;
    }
    const ALLOWED: &[&str] = &[
        "ping",
        "subscribe",
        "ssubscribe",
        "unsubscribe",
        "sunsubscribe",
        "psubscribe",
        "punsubscribe",
        "quit",
        "reset",
    ];
    if ALLOWED.contains(&call.command.spec.name) {
        return None;
    }
    error(format!(
        "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
        call.command.full_name
    ))
}

fn loading(call: &Call<'_>) -> Option<Refusal> {
    if call.engine.loading.is_some() && !has(call, Flags::LOADING) {
        return error("LOADING Redis is loading the dataset in memory");
    }
    None
}

fn paused(call: &Call<'_>) -> Option<Refusal> {
    let pause = call.engine.pause_at(call.now.unix_ms())?;
    if call.session.client.has_flag(client_flags::REPLICA) {
        return None;
    }
    let waits = match pause {
        PauseKind::All => true,
        PauseKind::Write => may_write(call),
    };
    waits.then_some(Refusal::Paused)
}

/// Whether the call, or what EXEC would run, may change something.
fn may_write(call: &Call<'_>) -> bool {
    let writes = |command: &Command, args: Args<'_>| {
        command
            .flags
            .intersects(Flags::WRITE | Flags::MAY_REPLICATE)
            && !(command.spec.name == "eval" && declares_no_writes(args))
    };
    let queued = || {
        let transaction = call.session.transaction.as_ref()?;
        (call.command.spec.name == "exec").then_some(&transaction.commands)
    };
    writes(call.command, call.args)
        || queued().is_some_and(|commands| {
            commands
                .iter()
                .any(|(id, args)| writes(call.engine.table.get(*id), args.as_args()))
        })
}

/// Whether the first line of an EVAL's script says that it writes nothing.
fn declares_no_writes(args: Args<'_>) -> bool {
    const WORD: &[u8] = b"no-writes";
    let source = args.get(1).unwrap_or_default();
    let line = source.split(|&byte| byte == b'\n').next();
    source.starts_with(b"#!")
        && line.is_some_and(|line| line.windows(WORD.len()).any(|word| word == WORD))
}
