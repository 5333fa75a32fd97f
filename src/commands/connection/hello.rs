//! Who the client is: AUTH, HELLO, RESET.

use crate::engine::client::{ClientId, client_flags};
use crate::engine::ctx::ControlCtx;
use crate::engine::session::{ReplyMode, Session};
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;
use crate::resp::reply::{Protocol, Reply};
use crate::settings::{RANKD_VERSION, REDIS_VERSION};

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "auth",
        group: Group::Connection,
        summary: "Authenticates the connection.",
        since: "1.0.0",
        complexity: "O(N) where N is the number of passwords defined for the user",
        arity: -2,
        flags: Flags::NOSCRIPT.union(
            Flags::LOADING.union(
                Flags::STALE.union(Flags::FAST.union(Flags::NO_AUTH.union(Flags::ALLOW_BUSY))),
            ),
        ),
        categories: Categories::CONNECTION,
        keys: &[],
        tips: &[],
        syntax: "[username@6.0.0] password",
        run: Run::Control(auth),
    },
    CommandSpec {
        name: "hello",
        group: Group::Connection,
        summary: "Chooses the protocol and introduces the client.",
        since: "6.0.0",
        complexity: "O(1)",
        arity: -1,
        flags: Flags::NOSCRIPT.union(
            Flags::LOADING.union(
                Flags::STALE.union(Flags::FAST.union(Flags::NO_AUTH.union(Flags::ALLOW_BUSY))),
            ),
        ),
        categories: Categories::CONNECTION,
        keys: &[],
        tips: &[],
        syntax: "[arguments(protover:integer [AUTH=auth(username password)] [SETNAME=clientname])]",
        run: Run::Control(hello),
    },
    CommandSpec {
        name: "reset",
        group: Group::Connection,
        summary: "Returns the connection to its first state.",
        since: "6.2.0",
        complexity: "O(1)",
        arity: 1,
        flags: Flags::NOSCRIPT.union(
            Flags::LOADING.union(
                Flags::STALE.union(Flags::FAST.union(Flags::NO_AUTH.union(Flags::ALLOW_BUSY))),
            ),
        ),
        categories: Categories::CONNECTION,
        keys: &[],
        tips: &[],
        syntax: "",
        run: Run::Control(reset),
    },
];

const WRONG_PASSWORD: CommandError =
    CommandError::Text("WRONGPASS invalid username-password pair or user is disabled.");

/// Compares without telling by the time it takes where the texts differ.
fn same_secret(given: &[u8], wanted: &[u8]) -> bool {
    let differing = given
        .iter()
        .zip(wanted)
        .fold(0, |differing, (a, b)| differing | (a ^ b));
    given.len() == wanted.len() && differing == 0
}

/// Checks a user's password; without a configured one, the default user takes any.
fn check_password(user: &[u8], given: &[u8], password: &[u8]) -> Handled {
    if user == b"default" && (password.is_empty() || same_secret(given, password)) {
        return Ok(());
    }
    Err(WRONG_PASSWORD)
}

fn auth(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let password = ctx.settings().requirepass.clone();
    let handled = log_in(ctx.session, ctx.reply, args, &password);
    count_refusal(ctx, &handled);
    handled
}

fn count_refusal(ctx: &ControlCtx<'_>, handled: &Handled) {
    if *handled == Err(WRONG_PASSWORD) {
        crate::engine::stats::count(&ctx.engine.stats.acl_denied_auth, 1);
    }
}

/// AUTH, also where the engine is out of reach.
pub fn log_in(
    session: &mut Session,
    reply: &mut Reply,
    args: Args<'_>,
    password: &[u8],
) -> Handled {
    match args.len() {
        2 if password.is_empty() => {
            return Err(CommandError::Text(
                "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
                 configuration is correct?",
            ));
        }
        2 => check_password(b"default", args.arg(1), password)?,
        3 => check_password(args.arg(1), args.arg(2), password)?,
        _ => return Err(CommandError::Syntax),
    }
    session.authenticated = true;
    reply.ok();
    Ok(())
}

/// A name that is safe in CLIENT LIST: printable, without spaces.
pub fn is_plain(name: &[u8]) -> bool {
    name.iter().all(|byte| (b'!'..=b'~').contains(byte))
}

pub const BAD_NAME: CommandError =
    CommandError::Text("ERR Client names cannot contain spaces, newlines or special characters.");

fn hello(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let password = ctx.settings().requirepass.clone();
    let role = if ctx.engine.read_only_replica {
        "replica"
    } else {
        "master"
    };
    let handled = greet(ctx.session, ctx.reply, args, &password, role);
    count_refusal(ctx, &handled);
    handled
}

/// HELLO, also where the engine is out of reach.
pub fn greet(
    session: &mut Session,
    reply: &mut Reply,
    args: Args<'_>,
    password: &[u8],
    role: &str,
) -> Handled {
    let mut protocol = None;
    if let Some(version) = args.get(1) {
        let version = parse_i64(version).ok_or(CommandError::Text(
            "ERR Protocol version is not an integer or out of range",
        ))?;
        protocol = match version {
            2 => Some(Protocol::Resp2),
            3 => Some(Protocol::Resp3),
            _ => return Err(CommandError::Text("NOPROTO unsupported protocol version")),
        };
    }
    let mut name = None;
    let mut credentials = None;
    let mut position = 2;
    while let Some(option) = args.get(position) {
        let more = args.len() - position - 1;
        if option.eq_ignore_ascii_case(b"auth") && more >= 2 {
            credentials = Some((args.arg(position + 1), args.arg(position + 2)));
            position += 3;
        } else if option.eq_ignore_ascii_case(b"setname") && more >= 1 {
            name = Some(args.arg(position + 1));
            if !name.is_some_and(is_plain) {
                return Err(BAD_NAME);
            }
            position += 2;
        } else {
            let shown = String::from_utf8_lossy(option);
            return Err(CommandError::Owned(format!(
                "ERR Syntax error in HELLO option '{shown}'"
            )));
        }
    }
    if let Some((user, given)) = credentials {
        check_password(user, given, password)?;
        session.authenticated = true;
    }
    if !session.authenticated {
        return Err(CommandError::Text(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> \
             <pass> option can be used to authenticate the client and select the RESP protocol version at the same time",
        ));
    }
    if let Some(name) = name {
        session.client.names().name = name.to_vec();
    }
    if let Some(protocol) = protocol {
        session.set_protocol(protocol);
        reply.set_protocol(protocol);
    }
    write_greeting(session, reply, role);
    Ok(())
}

fn write_greeting(session: &Session, reply: &mut Reply, role: &str) {
    let version = if session.protocol == Protocol::Resp3 {
        3
    } else {
        2
    };
    let ClientId(id) = session.client.id;
    reply.map(8);
    reply.bulk(b"server");
    reply.bulk(b"redis");
    reply.bulk(b"version");
    reply.bulk(REDIS_VERSION.as_bytes());
    reply.bulk(b"proto");
    reply.integer(version);
    reply.bulk(b"id");
    reply.integer(id as i64);
    reply.bulk(b"mode");
    reply.bulk(b"standalone");
    reply.bulk(b"role");
    reply.bulk(role.as_bytes());
    reply.bulk(b"modules");
    reply.array(0);
    reply.bulk(b"rankd_version");
    reply.bulk(RANKD_VERSION.as_bytes());
}

/// Ends whatever the session is in the middle of.
fn reset_session(ctx: &mut ControlCtx<'_>) {
    let needs_password = !ctx.settings().requirepass.is_empty();
    let id = ctx.session.client.id;
    ctx.engine.unwatch(ctx.session);
    ctx.engine.unsubscribe_all(ctx.session);
    ctx.engine.monitors.retain(|client| client.id != id);
    let session: &mut Session = ctx.session;
    session.transaction = None;
    session.set_db(0);
    session.set_protocol(Protocol::Resp2);
    session.reply_mode = ReplyMode::On;
    session.authenticated = !needs_password;
    let client = &session.client;
    client.set_flag(
        client_flags::MONITOR | client_flags::NO_EVICT | client_flags::NO_TOUCH,
        false,
    );
    client.names().name.clear();
    session.publish_counts();
}

fn reset(ctx: &mut ControlCtx<'_>, _args: Args<'_>) -> Handled {
    reset_session(ctx);
    ctx.reply.set_protocol(Protocol::Resp2);
    ctx.reply.simple("RESET");
    Ok(())
}
