//! The primary's side of Redis's replication: SYNC, PSYNC, REPLCONF, WAIT, WAITAOF, ROLE, FAILOVER.

use crate::engine::blocking::{Block, TimeoutReply};
use crate::engine::client::client_flags;
use crate::engine::ctx::{ControlCtx, ReadCtx};
use crate::engine::followers::{AckWait, FollowState, NO_LOG};
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::{parse_i64, parse_u64};
use crate::store::value::Type;

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "sync",
        group: Group::Server,
        summary: "Asks for a snapshot and all effects from there on.",
        since: "1.0.0",
        complexity: "",
        arity: 1,
        flags: Flags::ADMIN
            .union(Flags::NOSCRIPT.union(Flags::NO_ASYNC_LOADING.union(Flags::NO_MULTI))),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "",
        run: Run::Control(sync),
    },
    CommandSpec {
        name: "psync",
        group: Group::Server,
        summary: "Asks for the effects from an offset on, or for a snapshot and all from there on.",
        since: "2.8.0",
        complexity: "",
        arity: -3,
        flags: Flags::ADMIN
            .union(Flags::NOSCRIPT.union(Flags::NO_ASYNC_LOADING.union(Flags::NO_MULTI))),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "replicationid offset:integer",
        run: Run::Control(psync),
    },
    CommandSpec {
        name: "replconf",
        group: Group::Server,
        summary: "Tells about the replica at the other end.",
        since: "3.0.0",
        complexity: "O(1)",
        arity: -1,
        flags: Flags::ADMIN.union(
            Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE.union(Flags::ALLOW_BUSY))),
        ),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "",
        run: Run::Control(replconf),
    },
    CommandSpec {
        name: "replicaof",
        group: Group::Server,
        summary: "Makes the server a replica, or a primary again.",
        since: "5.0.0",
        complexity: "O(1)",
        arity: 3,
        flags: Flags::ADMIN
            .union(Flags::NOSCRIPT.union(Flags::STALE.union(Flags::NO_ASYNC_LOADING))),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "args<host-port(host port:integer) | no-one(NO ONE)>",
        run: Run::Control(replicaof),
    },
    CommandSpec {
        name: "slaveof",
        group: Group::Server,
        summary: "The old name of REPLICAOF.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 3,
        flags: Flags::ADMIN
            .union(Flags::NOSCRIPT.union(Flags::STALE.union(Flags::NO_ASYNC_LOADING))),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "args<host-port(host port:integer) | no-one(NO ONE)>",
        run: Run::Control(replicaof),
    },
    CommandSpec {
        name: "role",
        group: Group::Server,
        summary: "Tells the part that the server has in replication.",
        since: "2.8.12",
        complexity: "O(1)",
        arity: 1,
        flags: Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE.union(Flags::FAST))),
        categories: Categories::ADMIN.union(Categories::DANGEROUS),
        keys: &[],
        tips: &[],
        syntax: "",
        run: Run::Read(role),
    },
    CommandSpec {
        name: "wait",
        group: Group::Generic,
        summary: "Waits until replicas have what this connection wrote.",
        since: "3.0.0",
        complexity: "O(1)",
        arity: 3,
        flags: Flags::BLOCKING,
        categories: Categories::CONNECTION,
        keys: &[],
        tips: &["request_policy:all_shards", "response_policy:agg_min"],
        syntax: "numreplicas:integer timeout:integer",
        run: Run::Control(wait),
    },
    CommandSpec {
        name: "waitaof",
        group: Group::Generic,
        summary: "Waits until the logs of this server and of replicas have what this connection wrote.",
        since: "7.2.0",
        complexity: "O(1)",
        arity: 4,
        flags: Flags::BLOCKING,
        categories: Categories::CONNECTION,
        keys: &[],
        tips: &["request_policy:all_shards", "response_policy:agg_min"],
        syntax: "numlocal:integer numreplicas:integer timeout:integer",
        run: Run::Control(waitaof),
    },
    CommandSpec {
        name: "failover",
        group: Group::Server,
        summary: "Hands the part of the primary to a replica.",
        since: "6.2.0",
        complexity: "O(1)",
        arity: -1,
        flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::STALE)),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "[TO=target(host port:integer [FORCE])] [ABORT] [TIMEOUT=milliseconds:integer]",
        run: Run::Control(failover),
    },
];

fn sync(ctx: &mut ControlCtx<'_>, _args: Args<'_>) -> Handled {
    begin(ctx, false);
    Ok(())
}

/// No past of the stream is kept, so that the answer is always a snapshot.
fn psync(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    parse_i64(args.arg(2)).ok_or(CommandError::NotInteger)?;
    begin(ctx, true);
    Ok(())
}

fn begin(ctx: &mut ControlCtx<'_>, wants_offset: bool) {
    if ctx.session.client.has_flag(client_flags::REPLICA) {
        return;
    }
    ctx.session.client.set_flag(client_flags::REPLICA, true);
    ctx.engine.follow(ctx.session, wants_offset, ctx.now);
}

fn replconf(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    if args.len().is_multiple_of(2) {
        return Err(CommandError::Syntax);
    }
    for at in (1..args.len()).step_by(2) {
        let value = args.arg(at + 1);
        let number = || parse_i64(value).ok_or(CommandError::NotInteger);
        match args.arg(at).to_ascii_lowercase().as_slice() {
            b"listening-port" => ctx.session.follow_terms.port = number()? as u16,
            b"ip-address" | b"capa" => {}
            b"ack" => {
                note_ack(ctx, args, at);
                return Ok(());
            }
            // A question for replicas.
            b"getack" => return Ok(()),
            b"rdb-only" => ctx.session.follow_terms.snapshot_only = number()? == 1,
            b"rdb-filter-only" => filter(ctx, value)?,
            _ => {
                let shown = String::from_utf8_lossy(args.arg(at));
                return Err(CommandError::Owned(format!(
                    "ERR Unrecognized REPLCONF option: {shown}"
                )));
            }
        }
    }
    ctx.reply.ok();
    Ok(())
}

/// REPLCONF ACK offset [FACK offset], which is never answered.
fn note_ack(ctx: &mut ControlCtx<'_>, args: Args<'_>, at: usize) {
    let Some(acked) = parse_u64(args.arg(at + 1)) else {
        return;
    };
    let durable = args
        .get(at + 2)
        .filter(|word| word.eq_ignore_ascii_case(b"fack"))
        .and_then(|_| parse_u64(args.get(at + 3)?));
    let id = ctx.session.client.id;
    ctx.engine.note_ack(id, acked, durable, ctx.now);
}

/// Which parts of the data a snapshot for this connection is made of.
fn filter(ctx: &mut ControlCtx<'_>, parts: &[u8]) -> Handled {
    let terms = &mut ctx.session.follow_terms;
    terms.without_data = true;
    terms.without_functions = true;
    let words = parts.split(|byte| byte.is_ascii_whitespace());
    for word in words.filter(|word| !word.is_empty()) {
        if !word.eq_ignore_ascii_case(b"functions") {
            let shown = String::from_utf8_lossy(word);
            return Err(CommandError::Owned(format!(
                "ERR Unsupported rdb-filter-only option: {shown}"
            )));
        }
        terms.without_functions = false;
    }
    Ok(())
}

fn replicaof(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    if args.arg(1).eq_ignore_ascii_case(b"no") && args.arg(2).eq_ignore_ascii_case(b"one") {
        ctx.reply.ok();
        return Ok(());
    }
    let port = parse_i64(args.arg(2)).and_then(|port| u16::try_from(port).ok());
    Err(CommandError::Text(match port {
        Some(_) => "ERR This server is always a primary and follows no other",
        None => "ERR Invalid master port",
    }))
}

/// Looks at the call as Redis does; in the end there is no replica that this server could follow.
fn failover(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    if args.len() == 2 && args.arg(1).eq_ignore_ascii_case(b"abort") {
        return Err(CommandError::Text("ERR No failover in progress."));
    }
    let mut target: Option<(&[u8], i64)> = None;
    let mut timeout_ms = None;
    let mut force = false;
    let mut at = 1;
    while let Some(word) = args.get(at) {
        at += match word.to_ascii_lowercase().as_slice() {
            b"timeout" if timeout_ms.is_none() && at + 1 < args.len() => {
                let number = parse_i64(args.arg(at + 1)).ok_or(CommandError::NotInteger)?;
                if number <= 0 {
                    return Err(CommandError::Text(
                        "ERR FAILOVER timeout must be greater than 0",
                    ));
                }
                timeout_ms = Some(number);
                2
            }
            b"to" if target.is_none() && at + 2 < args.len() => {
                let port = parse_i64(args.arg(at + 2)).ok_or(CommandError::NotInteger)?;
                target = Some((args.arg(at + 1), port));
                3
            }
            b"force" if !force => {
                force = true;
                1
            }
            _ => return Err(CommandError::Syntax),
        };
    }
    let online = |host: &[u8], port: i64| {
        ctx.engine.followers.iter().any(|follower| {
            follower.client.host().as_bytes() == host && i64::from(follower.terms.port) == port
        })
    };
    Err(CommandError::Text(match target {
        _ if ctx.engine.followers.is_empty() => "ERR FAILOVER requires connected replicas.",
        _ if force && (timeout_ms.is_none() || target.is_none()) => {
            "ERR FAILOVER with force option requires both a timeout and target HOST and IP."
        }
        Some((host, port)) if !online(host, port) => {
            "ERR FAILOVER target HOST and PORT is not a replica."
        }
        _ => "ERR This server is always a primary and follows no other",
    }))
}

fn role(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    let engine = ctx.engine();
    let reply = &mut *ctx.reply;
    reply.array(3);
    reply.bulk(b"master");
    reply.integer(engine.effects.offset() as i64);
    let online = || {
        engine
            .followers
            .iter()
            .filter(|follower| follower.state() == FollowState::Online)
    };
    reply.array(online().count());
    for follower in online() {
        reply.array(3);
        reply.bulk(follower.client.host().as_bytes());
        reply.bulk(follower.terms.port.to_string().as_bytes());
        reply.bulk(follower.acked.to_string().as_bytes());
    }
    Ok(())
}

fn wait(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let replicas = parse_i64(args.arg(1)).ok_or(CommandError::NotInteger)?;
    let deadline_ms = deadline(ctx, args.arg(2))?;
    let wait = AckWait {
        offset: ctx.session.write_offset,
        local: None,
        replicas: usize::try_from(replicas).unwrap_or(0),
    };
    wait_for_acks(ctx, wait, deadline_ms);
    Ok(())
}

fn waitaof(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let local = parse_i64(args.arg(1)).ok_or(CommandError::NotInteger)?;
    if !(0..=1).contains(&local) {
        return Err(CommandError::Text(
            "ERR value is out of range, value must between 0 and 1",
        ));
    }
    let replicas = parse_i64(args.arg(2)).ok_or(CommandError::NotInteger)?;
    let replicas = usize::try_from(replicas)
        .map_err(|_| CommandError::Text("ERR value is out of range, must be positive"))?;
    let deadline_ms = deadline(ctx, args.arg(3))?;
    if local == 1 && !ctx.settings().appendonly {
        return Err(CommandError::Text(NO_LOG));
    }
    let wait = AckWait {
        offset: ctx.session.write_offset,
        local: Some(local == 1),
        replicas,
    };
    wait_for_acks(ctx, wait, deadline_ms);
    Ok(())
}

/// When a wait of so many milliseconds ends, in Unix milliseconds; None for 0, which waits without end.
fn deadline(ctx: &ControlCtx<'_>, text: &[u8]) -> Result<Option<i64>, CommandError> {
    let timeout_ms = parse_i64(text).ok_or(CommandError::Text(
        "ERR timeout is not an integer or out of range",
    ))?;
    match timeout_ms {
        ..0 => Err(CommandError::TimeoutNegative),
        0 => Ok(None),
        _ => ctx
            .now
            .unix_ms()
            .checked_add(timeout_ms)
            .map(Some)
            .ok_or(CommandError::TimeoutOutOfRange),
    }
}

fn wait_for_acks(ctx: &mut ControlCtx<'_>, wait: AckWait, deadline_ms: Option<i64>) {
    // Asked for ahead of the look, so that nothing falls between.
    ctx.engine.outside.watch_durable();
    if ctx.session.must_not_block() || ctx.engine.acks_are_there(wait) {
        ctx.engine.write_acks(wait, ctx.reply);
        return;
    }
    if wait.replicas > 0 {
        ctx.engine.ask_for_acks();
    }
    ctx.block(Block {
        keys: Vec::new(),
        waits_for: Type::String,
        wakes_on_loss: false,
        deadline_ms,
        timeout_reply: TimeoutReply::Acks(wait),
        retry: None,
    });
}
