//! What connections are told while a long script keeps the engine.

use super::Shared;
use super::fiber::Killed;
use crate::commands::connection::{Login, greet, log_in};
use crate::commands::scripting::{RunningFunction, write_function_stats};
use crate::engine::ScriptKind;
use crate::engine::acl::{self, Refusal};
use crate::engine::dispatch::refuse_transaction;
use crate::engine::session::{Session, Transaction};
use crate::engine::spec::Flags;
use crate::engine::table::Resolved;
use crate::resp::args::Args;
use crate::resp::reply::Reply;
use std::sync::atomic::Ordering::Relaxed;

/// When a request that has to wait is tried again.
pub const RETRY_MS: i64 = 5;

const BUSY_WITH_SCRIPT: &str =
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";

const BUSY_WITH_FUNCTION: &str =
    "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.";

const UNKILLABLE: &str = "UNKILLABLE Sorry the script already executed write commands against the dataset. You can \
either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.";

/// What became of a request.
pub enum Answer {
    Done,
    /// It is allowed now, but needs the engine: it is tried again.
    Later,
}

fn busy_text(shared: &Shared) -> &'static str {
    if shared.busy.is_function() {
        BUSY_WITH_FUNCTION
    } else {
        BUSY_WITH_SCRIPT
    }
}

/// SCRIPT KILL and FUNCTION KILL.
fn kill(shared: &Shared, kind: ScriptKind, reply: &mut Reply) -> Answer {
    match shared.busy.kill(kind) {
        Killed::WillEnd => reply.ok(),
        Killed::HasWritten => reply.error(UNKILLABLE),
        Killed::OtherKind => reply.error(busy_text(shared)),
        Killed::NotBusy => return Answer::Later,
    }
    Answer::Done
}

/// FUNCTION STATS while something runs: scripts hide it, as in Redis.
fn function_stats(shared: &Shared, reply: &mut Reply) -> Answer {
    let Some(running) = shared.busy.running() else {
        return Answer::Later;
    };
    if running.kind == ScriptKind::Script {
        reply.error(BUSY_WITH_SCRIPT);
        return Answer::Done;
    }
    let function = RunningFunction {
        name: &running.name,
        call: running.call.as_args(),
        running_ms: running.running_ms,
    };
    write_function_stats(reply, Some(function), running.libraries, running.functions);
    Answer::Done
}

/// Answers a request without the engine.
pub fn answer(
    shared: &Shared,
    session: &mut Session,
    resolved: Resolved,
    args: Args<'_>,
    reply: &mut Reply,
) -> Answer {
    let command = match resolved {
        Ok(command) => command,
        Err(error) => {
            refuse_transaction(session);
            reply.error_bytes(&shared.table.describe(&error, args));
            return Answer::Done;
        }
    };
    if !session.authenticated
        && !command.flags.contains(Flags::NO_AUTH)
        && !shared.acl.default_is_open()
    {
        reply.error("NOAUTH Authentication required.");
        return Answer::Done;
    }
    let login = Login {
        args,
        acl: &shared.acl,
        now: shared.time.now(),
    };
    if let Err(denied) = session.user.check(command, args) {
        let refusal = Refusal {
            denied,
            command,
            args,
            now: login.now,
        };
        session.client.last_command.store(command.id.0, Relaxed);
        let context = acl::top_context(session);
        shared.acl.note_denied(session, context, &refusal);
        refuse_transaction(session);
        let text = acl::denial_text(&session.user, &refusal, false);
        reply.error(&format!("NOPERM {text}"));
        return Answer::Done;
    }
    let mark = reply.len();
    let handled = match &*command.full_name {
        "script|kill" => return kill(shared, ScriptKind::Script, reply),
        "function|kill" => return kill(shared, ScriptKind::Function, reply),
        "function|stats" => return function_stats(shared, reply),
        "shutdown"
            if args
                .from(1)
                .iter()
                .any(|word| word.eq_ignore_ascii_case(b"nosave")) =>
        {
            tracing::warn!(
                "User requested shutdown while a script keeps the server: leaving at once"
            );
            shared.listeners.close();
            std::process::exit(0);
        }
        "hello" => greet(session, reply, login, "master"),
        "auth" => log_in(session, reply, login),
        "quit" => {
            session.close = true;
            reply.ok();
            Ok(())
        }
        "shutdown" => {
            reply.error(busy_text(shared));
            Ok(())
        }
        "multi" if session.transaction.is_none() => {
            session.transaction = Some(Transaction::default());
            session.publish_counts();
            reply.ok();
            Ok(())
        }
        "discard" if session.transaction.is_some() && session.watched.is_empty() => {
            session.transaction = None;
            session.publish_counts();
            reply.ok();
            Ok(())
        }
        "exec" if session.transaction.is_some() && session.watched.is_empty() => {
            session.transaction = None;
            session.publish_counts();
            reply.error(&format!(
                "EXECABORT Transaction discarded because of: {}",
                busy_text(shared)
            ));
            Ok(())
        }
        "exec" if session.transaction.is_some() => return Answer::Later,
        _ if command.flags.contains(Flags::ALLOW_BUSY) => return Answer::Later,
        _ => {
            refuse_transaction(session);
            reply.error(busy_text(shared));
            Ok(())
        }
    };
    if let Err(error) = handled {
        reply.truncate(mark);
        error.write(reply);
    }
    Answer::Done
}
