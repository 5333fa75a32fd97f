//! DEBUG: tools for tests, allowed by enable-debug-command.

mod knobs;
mod layouts;

use crate::commands::scripting::{forget_libraries, load_libraries};
use crate::engine::ctx::{ControlCtx, WriteCtx};
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::write_shortest;
use crate::resp::number::{parse_double, parse_i64};
use crate::resp::reply::Protocol;
use crate::settings::Extent;
use crate::store::digest::Digest;
use crate::store::glob;
use crate::store::string::StringValue;
use crate::store::value::Value;

pub const COMMANDS: &[CommandSpec] = &[CommandSpec {
    name: "debug",
    group: Group::Server,
    summary: "Tools for tests.",
    since: "1.0.0",
    complexity: "Depends on subcommand.",
    arity: -2,
    flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
    categories: Categories::empty(),
    keys: &[],
    tips: &[],
    syntax: "",
    run: Run::Control(debug),
}];

/// Keys that one DEBUG POPULATE makes at the most.
const POPULATE_MAX: i64 = 100_000_000;

/// Longest sleep of DEBUG SLEEP, in seconds.
const SLEEP_S_MAX: f64 = 3_600.0;

fn debug(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let word = args.arg(1).to_ascii_lowercase();
    match (word.as_slice(), args.len()) {
        (b"sleep", 3) => sleep(ctx, args.arg(2)),
        (b"object", 3 | 4) => layouts::object(ctx, args.arg(2)),
        (b"set-active-expire", 3) => {
            ctx.engine.active_expire = flag(args.arg(2));
            ctx.reply.ok();
            Ok(())
        }
        (b"error", 3) => Err(CommandError::Owned(
            String::from_utf8_lossy(args.arg(2)).into_owned(),
        )),
        (b"log", 3) => {
            let text = String::from_utf8_lossy(args.arg(2)).into_owned();
            ctx.engine.outside.log(&format!("DEBUG LOG: {text}"));
            ctx.reply.ok();
            Ok(())
        }
        (b"protocol", 3) => protocol(ctx, args.arg(2)),
        (b"populate", 3..=5) => populate(ctx, args.from(2)),
        (b"stringmatch-len", 4) => stringmatch(ctx, args),
        (b"change-repl-id", 2) => {
            ctx.engine.identity.replication_id = hex40(ctx);
            ctx.reply.ok();
            Ok(())
        }
        (b"jmap", 2) => {
            ctx.engine
                .outside
                .log("DEBUG JMAP: this process has no heap of a virtual machine");
            ctx.reply.ok();
            Ok(())
        }
        (b"sdslen", 3) => layouts::string_lengths(ctx, args.arg(2)),
        (b"listpack", 3) => layouts::print(ctx, args, "listpack"),
        (b"quicklist", 3 | 4) => layouts::print(ctx, args, "quicklist"),
        (b"htstats", 3 | 4) => layouts::keyspace_tables(ctx, args.arg(2)),
        (b"htstats-key", 3 | 4) => layouts::value_table(ctx, args.arg(2)),
        (b"mallctl", 3 | 4) => knobs::allocator_number(ctx, args),
        (b"mallctl-str", 3 | 4) => knobs::allocator_text(ctx, args),
        (b"quicklist-packed-threshold", 3) => knobs::packed_threshold(ctx, args.arg(2)),
        (b"replybuffer", 4) => knobs::reply_buffer(ctx, args),
        (b"client-eviction", 2) => Err(CommandError::Text("ERR maxmemory-clients is disabled.")),
        (b"clusterlink", 5..) => Err(CommandError::Text(
            "ERR Debug option only available for cluster mode enabled setup!",
        )),
        (b"set-skip-checksum-validation", 3) => {
            ctx.engine.skips_checksums = flag(args.arg(2));
            ctx.reply.ok();
            Ok(())
        }
        (b"segfault" | b"panic" | b"assert" | b"oom", 2) => {
            let how = String::from_utf8_lossy(args.arg(1)).to_ascii_uppercase();
            ctx.engine.outside.crash(&format!("DEBUG {how}"));
            ctx.reply.ok();
            Ok(())
        }
        (b"structsize", 2) => {
            let text = format!(
                "bits:{} value:{} session:{}",
                usize::BITS,
                size_of::<Value>(),
                size_of_val(ctx.session)
            );
            ctx.reply.simple(&text);
            Ok(())
        }
        (b"reload", _) => reload(ctx, args.from(2)),
        (b"loadaof", 2) => load_log(ctx),
        (b"digest", 2) => {
            let digest = Digest::of_store(&ctx.engine.store, write_shortest);
            ctx.reply.simple(&digest.to_string());
            Ok(())
        }
        (b"digest-value", _) => {
            digest_values(ctx, args.from(2));
            Ok(())
        }
        (b"set-disable-deny-scripts", 3) => {
            ctx.engine.scripts_may_all = flag(args.arg(2));
            ctx.reply.ok();
            Ok(())
        }
        // Knobs of layouts, leaks and timers of Redis that have no counterpart here.
        (
            b"dict-resizing"
            | b"pause-cron"
            | b"aof-flush-sleep"
            | b"leak"
            | b"client-enforce-reply-list"
            | b"drop-cluster-packet-filter",
            3,
        ) => {
            ctx.reply.ok();
            Ok(())
        }
        (b"help", 2) => {
            help(ctx);
            Ok(())
        }
        (b"config-rewrite-force-all", 2) => {
            ctx.engine
                .rewrite_settings(Extent::All)
                .map_err(CommandError::Owned)?;
            ctx.reply.ok();
            Ok(())
        }
        _ => Err(CommandError::subcommand_syntax("DEBUG", args.arg(1))),
    }
}

/// A number that is not 0, as C's atoi reads it.
fn flag(text: &[u8]) -> bool {
    parse_i64(text).is_some_and(|number| number != 0)
}

fn hex40(ctx: &mut ControlCtx<'_>) -> String {
    let mut text: String = (0..3)
        .map(|_| format!("{:016x}", ctx.engine.random.next_u64()))
        .collect();
    text.truncate(40);
    text
}

fn sleep(ctx: &mut ControlCtx<'_>, text: &[u8]) -> Handled {
    let seconds = parse_double(text).unwrap_or(0.0).clamp(0.0, SLEEP_S_MAX);
    ctx.engine.outside.sleep_us((seconds * 1e6) as u64);
    ctx.reply.ok();
    Ok(())
}

fn protocol(ctx: &mut ControlCtx<'_>, kind: &[u8]) -> Handled {
    let reply = &mut *ctx.reply;
    match kind.to_ascii_lowercase().as_slice() {
        b"string" => reply.bulk(b"Hello World"),
        b"integer" => reply.integer(12_345),
        // The value that Redis answers, not an attempt at pi.
        #[allow(clippy::approx_constant)]
        b"double" => reply.double(3.141),
        b"null" => reply.null(),
        b"array" => {
            reply.array(3);
            (0..3).for_each(|number| reply.integer(number));
        }
        b"set" => {
            reply.set(3);
            (0..3).for_each(|number| reply.integer(number));
        }
        b"map" => {
            reply.map(3);
            for number in 0..3 {
                reply.integer(number);
                reply.bool(number == 1);
            }
        }
        b"attrib" => {
            if reply.protocol() == Protocol::Resp3 {
                reply.attribute(1);
                reply.bulk(b"key-popularity");
                reply.array(2);
                reply.bulk(b"key:123");
                reply.integer(90);
            }
            reply.bulk(b"Some real reply following the attribute");
        }
        b"push" => {
            if reply.protocol() == Protocol::Resp2 {
                return Err(CommandError::Text(
                    "ERR RESP2 is not supported by this command",
                ));
            }
            reply.push(2);
            reply.bulk(b"server-cpu-usage");
            reply.integer(42);
            reply.bulk(b"Some real reply following the push reply");
        }
        b"verbatim" => reply.verbatim("txt", b"This is a verbatim\nstring"),
        b"true" => reply.bool(true),
        b"false" => reply.bool(false),
        b"bignum" => reply.big_number("1234567999999999999999999999999999999"),
        _ => {
            return Err(CommandError::Text(
                "ERR Wrong protocol type name. Please use one of the following: \
                 string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false",
            ));
        }
    }
    Ok(())
}

/// Makes string keys that are not there yet. Nothing is logged, as in Redis.
fn populate(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let count = parse_i64(args.arg(0)).ok_or(CommandError::NotPositive)?;
    let size = match args.get(2) {
        Some(text) => parse_i64(text)
            .and_then(|size| usize::try_from(size).ok())
            .ok_or(CommandError::NotPositive)?,
        None => 0,
    };
    let prefix = args.get(1).unwrap_or(b"key").to_vec();
    if !(0..=POPULATE_MAX).contains(&count) {
        return Err(CommandError::NotPositive);
    }
    let mut write: WriteCtx<'_> = ctx.as_write();
    for number in 0..count {
        let key = [&prefix[..], b":", number.to_string().as_bytes()].concat();
        if write.contains(&key) {
            continue;
        }
        let mut text = format!("value:{number}").into_bytes();
        if size > 0 {
            text.resize(size, 0);
        }
        write.set_value(&key, Value::String(StringValue::new(&text)), false);
    }
    write.no_effect();
    ctx.reply.ok();
    Ok(())
}

fn stringmatch(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let len = parse_i64(args.arg(2))
        .and_then(|len| usize::try_from(len).ok())
        .ok_or(CommandError::NotInteger)?;
    if len > ctx.settings().proto_max_bulk_len {
        return Err(CommandError::StringTooLong);
    }
    let matches = glob::matches(args.arg(3), &vec![b'a'; len], false);
    ctx.reply.integer(i64::from(matches));
    Ok(())
}

/// Writes a snapshot and reads it back.
fn reload(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let (mut save, mut flush, mut merge) = (true, true, false);
    for word in args.iter() {
        match word.to_ascii_lowercase().as_slice() {
            b"nosave" => save = false,
            b"noflush" => flush = false,
            b"merge" => merge = true,
            _ => {
                return Err(CommandError::Text(
                    "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.",
                ));
            }
        }
    }
    if save && ctx.engine.save(ctx.now).is_err() {
        return Err(CommandError::Text("ERR"));
    }
    if flush {
        flush_all(ctx);
    }
    let reloaded = ctx.engine.reload_snapshot(merge, ctx.now);
    let loaded = reloaded.and_then(|libraries| {
        let loaded = load_libraries(ctx, &libraries, merge);
        if let Err(error) = &loaded {
            ctx.engine.outside.log(error);
        }
        loaded
    });
    loaded.map_err(|_| {
        CommandError::Text("ERR Error trying to load the RDB dump, check server logs")
    })?;
    ctx.engine.outside.log("DB reloaded by DEBUG RELOAD");
    ctx.reply.ok();
    Ok(())
}

/// Empties everything and replays the log.
fn load_log(ctx: &mut ControlCtx<'_>) -> Handled {
    flush_all(ctx);
    ctx.engine.reload_log().map_err(|_| {
        CommandError::Text("ERR Error trying to load the AOF files, check server logs")
    })?;
    ctx.engine.dirty = 0;
    let text = "Append Only File loaded by DEBUG LOADAOF";
    ctx.engine.outside.log(text);
    ctx.reply.ok();
    Ok(())
}

fn flush_all(ctx: &mut ControlCtx<'_>) {
    for db in 0..ctx.engine.store.len() {
        ctx.engine.flush_db(db, ctx.now);
    }
    ctx.engine.all_keys_changed();
    forget_libraries(ctx);
}

fn digest_values(ctx: &mut ControlCtx<'_>, keys: Args<'_>) {
    let db = ctx.engine.db(ctx.session.db);
    ctx.reply.array(keys.len());
    for key in keys.iter() {
        let digest = db.entry(key).map_or(Digest::default(), |entry| {
            Digest::of_value(entry.value, entry.deadline.is_some(), write_shortest)
        });
        ctx.reply.simple(&digest.to_string());
    }
}

fn help(ctx: &mut ControlCtx<'_>) {
    crate::commands::help::write(
        ctx.reply,
        "DEBUG",
        &[
            "CHANGE-REPL-ID",
            "    Give the data set another replication id.",
            "CONFIG-REWRITE-FORCE-ALL",
            "    Write all settings to the settings file, defaults too.",
            "CLIENT-EVICTION",
            "    Describe the pools from which clients are evicted.",
            "DIGEST",
            "    Answer with a digest of all data.",
            "DIGEST-VALUE <key> [<key> ...]",
            "    Answer with the digests of the values of keys.",
            "ERROR <string>",
            "    Answer with an error of that text.",
            "HTSTATS <dbid>",
            "    Describe the key table of a database.",
            "HTSTATS-KEY <key>",
            "    Describe the table of a value.",
            "LISTPACK <key>",
            "    Describe a small value in the log.",
            "LOADAOF",
            "    Empty all databases and replay the append-only log.",
            "LOG <message>",
            "    Write <message> to the server's log.",
            "MALLCTL <name>",
            "    Answer with a figure of the allocator.",
            "MALLCTL-STR <name>",
            "    Answer with a text of the allocator.",
            "OBJECT <key>",
            "    Describe the value of a key.",
            "POPULATE <count> [<prefix>] [<size>]",
            "    Make <count> string keys named <prefix>:<number>.",
            "PROTOCOL <type>",
            "    Answer with a test value of the given type.",
            "QUICKLIST <key>",
            "    Describe a long list in the log.",
            "RELOAD [NOSAVE] [NOFLUSH] [MERGE]",
            "    Write a snapshot and read it back.",
            "SDSLEN <key>",
            "    Tell how long a key and its string are.",
            "SEGFAULT",
            "    End the process as a crash does. Also ASSERT, OOM and PANIC.",
            "SET-ACTIVE-EXPIRE <0|1>",
            "    Stop or start the removal of expired keys nobody asks for.",
            "SET-DISABLE-DENY-SCRIPTS <0|1>",
            "    Let scripts run what is denied to them.",
            "SET-SKIP-CHECKSUM-VALIDATION <0|1>",
            "    Let RESTORE take payloads with a wrong checksum.",
            "SLEEP <seconds>",
            "    Stop the server for <seconds>. Decimals allowed.",
            "STRINGMATCH-LEN <len> <pattern>",
            "    Match a pattern against a text of <len> letters.",
            "STRUCTSIZE",
            "    Tell the sizes of structures.",
        ],
    );
}
