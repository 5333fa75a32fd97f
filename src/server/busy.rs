//! What connections are told while a long script keeps the engine.

use super::Shared;
use super::fiber::Killed;
use crate::commands::connection::{greet, log_in};
use crate::engine::dispatch::refuse_transaction;
use crate::engine::session::{Session, Transaction};
use crate::engine::spec::Flags;
use crate::engine::table::Resolved;
use crate::resp::args::Args;
use crate::resp::reply::Reply;

/// When a request that has to wait is tried again.
pub const RETRY_MS: i64 = 5;

const BUSY: &str =
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";

const UNKILLABLE: &str = "UNKILLABLE Sorry the script already executed write commands against the dataset. You can \
either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.";

/// What became of a request.
pub enum Answer {
    Done,
    /// It is allowed now, but needs the engine: it is tried again.
    Later,
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
    if !session.authenticated && !command.flags.contains(Flags::NO_AUTH) {
        reply.error("NOAUTH Authentication required.");
        return Answer::Done;
    }
    let mark = reply.len();
    let handled = match &*command.full_name {
        "script|kill" | "function|kill" => {
            match shared.busy.kill() {
                Killed::WillEnd => reply.ok(),
                Killed::HasWritten => reply.error(UNKILLABLE),
                Killed::NotBusy => return Answer::Later,
            }
            Ok(())
        }
        "shutdown"
            if args
                .from(1)
                .iter()
                .any(|word| word.eq_ignore_ascii_case(b"nosave")) =>
        {
            tracing::warn!(
                "User requested shutdown while a script keeps the server: leaving at once"
            );
            std::process::exit(0);
        }
        "hello" => greet(
            session,
            reply,
            args,
            &shared.policy.values().password,
            "master",
        ),
        "auth" => log_in(session, reply, args, &shared.policy.values().password),
        "quit" => {
            session.close = true;
            reply.ok();
            Ok(())
        }
        "shutdown" => {
            reply.error(BUSY);
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
                "EXECABORT Transaction discarded because of: {BUSY}"
            ));
            Ok(())
        }
        "exec" if session.transaction.is_some() => return Answer::Later,
        _ if command.flags.contains(Flags::ALLOW_BUSY) => return Answer::Later,
        _ => {
            refuse_transaction(session);
            reply.error(BUSY);
            Ok(())
        }
    };
    if let Err(error) = handled {
        reply.truncate(mark);
        error.write(reply);
    }
    Answer::Done
}
