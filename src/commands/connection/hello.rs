//! Who the client is: AUTH, HELLO, RESET.

use crate::engine::acl::{Acl, DEFAULT_USER};
use crate::engine::client::{ClientId, client_flags};
use crate::engine::ctx::ControlCtx;
use crate::engine::session::{ReplyMode, Session};
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, Run};
use crate::engine::time::Moment;
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

/// Makes the session that of the user whose password this is; what fails is logged.
fn become_user(session: &mut Session, login: &Login<'_>, name: &[u8], password: &[u8]) -> Handled {
    match login.acl.authenticate(name, password) {
        Some(user) => {
            session.log_in(user);
            Ok(())
        }
        None => {
            login
                .acl
                .note_bad_login(session, login.args, name, login.now);
            Err(WRONG_PASSWORD)
        }
    }
}

/// A request to log in, and what it is held against.
#[derive(Clone, Copy)]
pub struct Login<'a> {
    pub args: Args<'a>,
    pub acl: &'a Acl,
    pub now: Moment,
}

fn auth(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let login = Login {
        args,
        acl: &ctx.engine.acl,
        now: ctx.now,
    };
    log_in(ctx.session, ctx.reply, login)
}

/// AUTH, also where the engine is out of reach.
pub fn log_in(session: &mut Session, reply: &mut Reply, login: Login<'_>) -> Handled {
    let args = login.args;
    match args.len() {
        2 if login.acl.default_needs_no_password() => {
            return Err(CommandError::Text(
                "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
                 configuration is correct?",
            ));
        }
        2 => become_user(session, &login, DEFAULT_USER, args.arg(1))?,
        3 => become_user(session, &login, args.arg(1), args.arg(2))?,
        _ => return Err(CommandError::Syntax),
    }
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
    let role = if ctx.engine.read_only_replica {
        "replica"
    } else {
        "master"
    };
    let login = Login {
        args,
        acl: &ctx.engine.acl,
        now: ctx.now,
    };
    greet(ctx.session, ctx.reply, login, role)
}

/// HELLO, also where the engine is out of reach.
pub fn greet(session: &mut Session, reply: &mut Reply, login: Login<'_>, role: &str) -> Handled {
    let args = login.args;
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
        become_user(session, &login, user, given)?;
    }
    if !session.authenticated && !login.acl.default_is_open() {
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
    let (user, open) = (
        ctx.engine.acl.default_user(),
        ctx.engine.acl.default_is_open(),
    );
    let id = ctx.session.client.id;
    ctx.engine.unwatch(ctx.session);
    ctx.engine.unsubscribe_all(ctx.session);
    ctx.engine.tracking.disable(&ctx.session.client);
    ctx.engine.monitors.retain(|client| client.id != id);
    let session: &mut Session = ctx.session;
    session.transaction = None;
    session.set_db(0);
    session.set_protocol(Protocol::Resp2);
    session.reply_mode = ReplyMode::On;
    session.log_in(user);
    session.authenticated = open;
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
