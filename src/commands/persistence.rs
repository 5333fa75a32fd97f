//! SAVE, BGSAVE, BGREWRITEAOF, LASTSAVE, DUMP, RESTORE: data on its way to files and back.

use crate::engine::ctx::{ControlCtx, ReadCtx, WriteCtx};
use crate::engine::notify::EventClass;
use crate::engine::session::Origin;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::persist::rdb::{Limits, dump as payload};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;
use crate::settings::MaxmemoryPolicy;
use crate::store::keyspace::AccessClock;

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "save",
        group: Group::Server,
        summary: "Writes a snapshot of all databases and answers when it is done.",
        since: "1.0.0",
        complexity: "O(N) where N is the total number of keys in all databases",
        arity: 1,
        flags: Flags::ADMIN
            .union(Flags::NOSCRIPT.union(Flags::NO_ASYNC_LOADING.union(Flags::NO_MULTI))),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "",
        run: Run::Control(save),
    },
    CommandSpec {
        name: "bgsave",
        group: Group::Server,
        summary: "Writes a snapshot of all databases in the background.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: -1,
        flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::NO_ASYNC_LOADING)),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "[SCHEDULE@3.2.2]",
        run: Run::Control(bgsave),
    },
    CommandSpec {
        name: "bgrewriteaof",
        group: Group::Server,
        summary: "Rewrites the append-only log in the background, so that it gets short.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 1,
        flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::NO_ASYNC_LOADING)),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "",
        run: Run::Control(bgrewriteaof),
    },
    CommandSpec {
        name: "lastsave",
        group: Group::Server,
        summary: "Tells when the last snapshot was written.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 1,
        flags: Flags::LOADING.union(Flags::STALE.union(Flags::FAST)),
        categories: Categories::ADMIN.union(Categories::DANGEROUS),
        keys: &[],
        tips: &["nondeterministic_output"],
        syntax: "",
        run: Run::Read(lastsave),
    },
    CommandSpec {
        name: "dump",
        group: Group::Generic,
        summary: "Answers with a value as bytes that RESTORE takes.",
        since: "2.6.0",
        complexity: "O(N) where N is the size of the value",
        arity: 2,
        flags: Flags::READONLY,
        categories: Categories::KEYSPACE,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output"],
        syntax: "key#0",
        run: Run::Read(dump),
    },
    CommandSpec {
        name: "restore",
        group: Group::Generic,
        summary: "Makes a key from the bytes of DUMP.",
        since: "2.6.0",
        complexity: "O(N) where N is the size of the value; O(N*log(N)) for boards that are not in order",
        arity: -4,
        flags: Flags::WRITE.union(Flags::DENYOOM),
        categories: Categories::KEYSPACE.union(Categories::DANGEROUS),
        keys: &[KeySpec::one(1, KeyFlags::OW.union(KeyFlags::UPDATE))],
        tips: &[],
        syntax: "key#0 ttl:integer serialized-value [REPLACE@3.0.0] [ABSTTL@5.0.0] [IDLETIME=seconds:integer@5.0.0] [FREQ=frequency:integer@5.0.0]",
        run: Run::Write(restore),
    },
    CommandSpec {
        name: "restore-asking",
        group: Group::Server,
        summary: "RESTORE as servers of a cluster send it to each other.",
        since: "3.0.0",
        complexity: "As RESTORE",
        arity: -4,
        flags: Flags::WRITE.union(Flags::DENYOOM).union(Flags::ASKING),
        categories: Categories::KEYSPACE.union(Categories::DANGEROUS),
        keys: &[KeySpec::one(1, KeyFlags::OW.union(KeyFlags::UPDATE))],
        tips: &[],
        syntax: "key#0 ttl:integer serialized-value [REPLACE@3.0.0] [ABSTTL@5.0.0] [IDLETIME=seconds:integer@5.0.0] [FREQ=frequency:integer@5.0.0]",
        run: Run::Write(restore),
    },
];

fn save(ctx: &mut ControlCtx<'_>, _args: Args<'_>) -> Handled {
    if ctx.engine.persistence.save_started_unix_s.is_some() {
        return Err(CommandError::Text(
            "ERR Background save already in progress",
        ));
    }
    ctx.engine.persistence.saves += 1;
    if ctx.engine.save(ctx.now).is_err() {
        // The reason is in the log, as the path of a file is not for clients.
        return Err(CommandError::Text("ERR"));
    }
    ctx.reply.ok();
    Ok(())
}

fn bgsave(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let schedule = match args.len() {
        1 => false,
        2 if args.arg(1).eq_ignore_ascii_case(b"schedule") => true,
        _ => return Err(CommandError::Syntax),
    };
    if ctx.engine.persistence.save_started_unix_s.is_some() {
        return Err(CommandError::Text(
            "ERR Background save already in progress",
        ));
    }
    let inside = ctx.session.origin == Origin::Transaction;
    if ctx.engine.job_is_running() || inside {
        if !schedule && !inside {
            return Err(CommandError::Text(
                "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE in order to \
                 schedule a BGSAVE whenever possible.",
            ));
        }
        ctx.engine.persistence.save_scheduled = true;
        ctx.reply.simple("Background saving scheduled");
        return Ok(());
    }
    ctx.engine.start_save(ctx.now);
    ctx.reply.simple("Background saving started");
    Ok(())
}

fn bgrewriteaof(ctx: &mut ControlCtx<'_>, _args: Args<'_>) -> Handled {
    let running = &ctx.engine.persistence.log.rewrite_started_unix_s;
    if running.is_some() {
        return Err(CommandError::Text(
            "ERR Background append only file rewriting already in progress",
        ));
    }
    if ctx.engine.job_is_running() || ctx.session.origin == Origin::Transaction {
        ctx.engine.persistence.log.rewrite_scheduled = true;
        ctx.reply
            .simple("Background append only file rewriting scheduled");
        return Ok(());
    }
    ctx.engine.start_rewrite(ctx.now);
    ctx.reply
        .simple("Background append only file rewriting started");
    Ok(())
}

fn lastsave(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    ctx.reply.integer(ctx.engine().persistence.last_save_unix_s);
    Ok(())
}

fn dump(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let compress = ctx.settings().rdbcompression;
    match ctx.value(args.arg(1)) {
        None => ctx.reply.null(),
        Some(value) => {
            ctx.reply.bulk(&payload::encode(value, compress));
        }
    }
    Ok(())
}

/// What stands behind the payload of RESTORE.
#[derive(Default)]
struct RestoreOptions {
    replace: bool,
    absolute: bool,
    idle_s: Option<u64>,
    counter: Option<u8>,
}

fn restore_options(args: Args<'_>) -> Result<RestoreOptions, CommandError> {
    let mut options = RestoreOptions::default();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.to_ascii_lowercase().as_slice() {
            b"replace" => options.replace = true,
            b"absttl" => options.absolute = true,
            b"idletime" if options.counter.is_none() => {
                let text = words.next().ok_or(CommandError::Syntax)?;
                let idle_s = parse_i64(text).ok_or(CommandError::NotInteger)?;
                options.idle_s =
                    Some(u64::try_from(idle_s).map_err(|_| {
                        CommandError::Text("ERR Invalid IDLETIME value, must be >= 0")
                    })?);
            }
            b"freq" if options.idle_s.is_none() => {
                let text = words.next().ok_or(CommandError::Syntax)?;
                let counter = parse_i64(text).ok_or(CommandError::NotInteger)?;
                options.counter = Some(u8::try_from(counter).map_err(|_| {
                    CommandError::Text("ERR Invalid FREQ value, must be >= 0 and <= 255")
                })?);
            }
            _ => return Err(CommandError::Syntax),
        }
    }
    Ok(options)
}

fn restore(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let options = restore_options(args.from(4))?;
    let key = args.arg(1);
    if !options.replace && ctx.contains(key) {
        return Err(CommandError::Text(
            "BUSYKEY Target key name already exists.",
        ));
    }
    let ttl_ms = parse_i64(args.arg(2)).ok_or(CommandError::NotInteger)?;
    if ttl_ms < 0 {
        return Err(CommandError::Text("ERR Invalid TTL value, must be >= 0"));
    }
    let is_fit = payload::is_whole(args.arg(3))
        || ctx.engine().skips_checksums && payload::is_readable(args.arg(3));
    if !is_fit {
        return Err(CommandError::Text(
            "ERR DUMP payload version or checksum are wrong",
        ));
    }
    let value = payload::decode(args.arg(3), &Limits::from(ctx.settings()))
        .map_err(|_| CommandError::Text("ERR Bad data format"))?;
    let now_ms = ctx.now.unix_ms();
    let deadline_ms = match ttl_ms {
        0 => None,
        _ if options.absolute => Some(ttl_ms),
        _ => Some(now_ms.wrapping_add(ttl_ms)),
    };
    if deadline_ms.is_some_and(|deadline| deadline <= now_ms) && !ctx.keeps_expired_keys() {
        // The key would be gone at once; what it replaces goes.
        if ctx.remove(key) {
            ctx.effect(&[b"DEL", key]);
            ctx.event(EventClass::GENERIC, "del", key);
        }
        ctx.reply.ok();
        return Ok(());
    }
    if ctx.wants_effects() {
        // Made anew: the payload may be of a version that a follower does not read.
        let made = payload::encode(value.as_ref(), true);
        let deadline = deadline_ms.unwrap_or(0).to_string();
        let mut words: Vec<&[u8]> = vec![b"RESTORE", key, deadline.as_bytes(), &made];
        words.extend(args.from(4).iter());
        if deadline_ms.is_some() && !options.absolute {
            words.push(b"ABSTTL");
        }
        ctx.effect(&words);
    }
    ctx.set_value(key, value, false);
    if deadline_ms.is_some() {
        let db = ctx.session.db;
        ctx.set_deadline_at(db, key, deadline_ms);
    }
    set_clock(ctx, key, &options);
    ctx.event(EventClass::GENERIC, "restore", key);
    ctx.reply.ok();
    Ok(())
}

/// Sets the access clock, if the option speaks of the kind that the eviction policy has.
fn set_clock(ctx: &WriteCtx<'_>, key: &[u8], options: &RestoreOptions) {
    let counts = matches!(
        ctx.settings().maxmemory_policy,
        MaxmemoryPolicy::AllkeysLfu | MaxmemoryPolicy::VolatileLfu
    );
    let now_s = u64::try_from(ctx.now.unix_us / 1_000_000).unwrap_or(0);
    match (options.idle_s, options.counter) {
        (Some(idle_s), _) if !counts => {
            ctx.db()
                .set_access(key, AccessClock::lru_idle(now_s, idle_s));
        }
        (_, Some(counter)) if counts => {
            ctx.db()
                .set_access(key, AccessClock::lfu(now_s / 60, counter));
        }
        _ => {}
    }
}
