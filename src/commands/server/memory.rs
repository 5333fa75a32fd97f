//! MEMORY: what takes memory.

use crate::engine::ctx::ReadCtx;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;
use std::sync::atomic::Ordering::Relaxed;

pub const COMMANDS: &[CommandSpec] = &[CommandSpec {
    name: "memory",
    group: Group::Server,
    summary: "Looks at the use of memory.",
    since: "4.0.0",
    complexity: "Depends on subcommand.",
    arity: -2,
    flags: Flags::empty(),
    categories: Categories::empty(),
    keys: &[],
    tips: &[],
    syntax: "",
    run: Run::Container(&[
        CommandSpec {
            name: "stats",
            group: Group::Server,
            summary: "Tells what memory is used for.",
            since: "4.0.0",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::empty(),
            categories: Categories::empty(),
            keys: &[],
            tips: &[
                "nondeterministic_output",
                "request_policy:all_shards",
                "response_policy:special",
            ],
            syntax: "",
            run: Run::Read(memory_stats),
        },
        CommandSpec {
            name: "purge",
            group: Group::Server,
            summary: "Asks the allocator to give back free memory.",
            since: "4.0.0",
            complexity: "Depends on how much memory is allocated, could be slow",
            arity: 2,
            flags: Flags::empty(),
            categories: Categories::empty(),
            keys: &[],
            tips: &["request_policy:all_shards", "response_policy:all_succeeded"],
            syntax: "",
            run: Run::Read(memory_purge),
        },
        CommandSpec {
            name: "usage",
            group: Group::Server,
            summary: "Tells the bytes that a key takes.",
            since: "4.0.0",
            complexity: "O(N) where N is the number of samples.",
            arity: -3,
            flags: Flags::READONLY,
            categories: Categories::empty(),
            keys: &[KeySpec::one(2, KeyFlags::RO)],
            tips: &[],
            syntax: "key#0 [SAMPLES=count:integer]",
            run: Run::Read(memory_usage),
        },
        CommandSpec {
            name: "malloc-stats",
            group: Group::Server,
            summary: "Shows the allocator's figures.",
            since: "4.0.0",
            complexity: "Depends on how much memory is allocated, could be slow",
            arity: 2,
            flags: Flags::empty(),
            categories: Categories::empty(),
            keys: &[],
            tips: &[
                "nondeterministic_output",
                "request_policy:all_shards",
                "response_policy:special",
            ],
            syntax: "",
            run: Run::Read(memory_malloc_stats),
        },
        CommandSpec {
            name: "help",
            group: Group::Server,
            summary: "Describes the subcommands.",
            since: "4.0.0",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::LOADING.union(Flags::STALE),
            categories: Categories::empty(),
            keys: &[],
            tips: &[],
            syntax: "",
            run: Run::Read(memory_help),
        },
        CommandSpec {
            name: "doctor",
            group: Group::Server,
            summary: "Gives advice about what it finds.",
            since: "4.0.0",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::empty(),
            categories: Categories::empty(),
            keys: &[],
            tips: &[
                "nondeterministic_output",
                "request_policy:all_shards",
                "response_policy:special",
            ],
            syntax: "",
            run: Run::Read(memory_doctor),
        },
    ]),
}];

/// Below this much data there is nothing to give advice about.
const DOCTOR_BYTES_MIN: u64 = 5 * 1024 * 1024;

/// Peak over present use from which the doctor speaks up, in percent.
const DOCTOR_PEAK_PERCENT: u64 = 150;

fn memory_usage(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let mut options = args.from(3).iter();
    while let Some(option) = options.next() {
        let value = options
            .next()
            .filter(|_| option.eq_ignore_ascii_case(b"samples"))
            .ok_or(CommandError::Syntax)?;
        // Every value knows its exact size; the number of samples only has to be one.
        let samples = parse_i64(value).ok_or(CommandError::NotInteger)?;
        if samples < 0 {
            return Err(CommandError::Syntax);
        }
    }
    let key = args.arg(2);
    match ctx.peek(key) {
        None => ctx.reply.null(),
        Some(value) => {
            let bytes = value.memory_usage() + ctx.db().key_bytes(key).unwrap_or(0);
            ctx.reply.integer(bytes as i64);
        }
    }
    Ok(())
}

fn memory_doctor(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    let engine = ctx.engine();
    let used = engine.used_memory_bytes.load(Relaxed);
    let peak = engine.stats.peak_memory_bytes.load(Relaxed).max(used);
    let text = if used < DOCTOR_BYTES_MIN {
        "There is too little data here for any advice about memory."
    } else if peak * 100 > used * DOCTOR_PEAK_PERCENT {
        "Much more memory was in use at the peak than now; the allocator may not have given all of it back yet. \
         MEMORY PURGE asks it to."
    } else {
        "Memory looks fine."
    };
    ctx.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

fn memory_malloc_stats(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    let text = ctx.engine().outside.allocator_report();
    ctx.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

fn memory_purge(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    ctx.engine().outside.purge_memory();
    ctx.reply.ok();
    Ok(())
}

enum Figure {
    Bytes(u64),
    Signed(i64),
    Fraction(f64),
    /// Main table and deadlines of one database.
    Tables(u64, u64),
}

/// `part / whole`, 0 when there is no whole.
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

fn memory_stats(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    let engine = ctx.engine();
    let memory = engine.outside.memory();
    let used = engine.used_memory_bytes.load(Relaxed);
    let peak = engine.stats.peak_memory_bytes.load(Relaxed).max(used);
    let clients = super::clients_memory_bytes(engine);
    let keys = engine.store.keys_len() as u64;
    let mut overhead = memory.startup_bytes + clients;
    let mut figures: Vec<(String, Figure)> = vec![
        ("peak.allocated".into(), Figure::Bytes(peak)),
        ("total.allocated".into(), Figure::Bytes(used)),
        (
            "startup.allocated".into(),
            Figure::Bytes(memory.startup_bytes),
        ),
        ("replication.backlog".into(), Figure::Bytes(0)),
        ("clients.slaves".into(), Figure::Bytes(0)),
        ("clients.normal".into(), Figure::Bytes(clients)),
        ("cluster.links".into(), Figure::Bytes(0)),
        (
            "aof.buffer".into(),
            Figure::Bytes(engine.persistence.log.waiting_bytes),
        ),
    ];
    for (index, db) in engine
        .store
        .iter()
        .enumerate()
        .filter(|(_, db)| !db.is_empty())
    {
        let tables = db.memory();
        overhead += tables.table_bytes as u64 + tables.deadline_bytes as u64;
        let figure = Figure::Tables(tables.table_bytes as u64, tables.deadline_bytes as u64);
        figures.push((format!("db.{index}"), figure));
    }
    let net = used.saturating_sub(memory.startup_bytes);
    let dataset = used.saturating_sub(overhead);
    let differs = |part: u64, whole: u64| Figure::Signed(part as i64 - whole as i64);
    let rest = [
        ("overhead.total", Figure::Bytes(overhead)),
        ("keys.count", Figure::Bytes(keys)),
        (
            "keys.bytes-per-key",
            Figure::Bytes(net.checked_div(keys).unwrap_or(0)),
        ),
        ("dataset.bytes", Figure::Bytes(dataset)),
        (
            "dataset.percentage",
            Figure::Fraction(ratio(dataset, net) * 100.0),
        ),
        (
            "peak.percentage",
            Figure::Fraction(ratio(used, peak) * 100.0),
        ),
        ("allocator.allocated", Figure::Bytes(memory.allocated_bytes)),
        ("allocator.active", Figure::Bytes(memory.active_bytes)),
        ("allocator.resident", Figure::Bytes(memory.resident_bytes)),
        (
            "allocator-fragmentation.ratio",
            Figure::Fraction(ratio(memory.active_bytes, memory.allocated_bytes)),
        ),
        (
            "allocator-fragmentation.bytes",
            differs(memory.active_bytes, memory.allocated_bytes),
        ),
        (
            "allocator-rss.ratio",
            Figure::Fraction(ratio(memory.resident_bytes, memory.active_bytes)),
        ),
        (
            "allocator-rss.bytes",
            differs(memory.resident_bytes, memory.active_bytes),
        ),
        (
            "rss-overhead.ratio",
            Figure::Fraction(ratio(memory.process_bytes, memory.resident_bytes)),
        ),
        (
            "rss-overhead.bytes",
            differs(memory.process_bytes, memory.resident_bytes),
        ),
        (
            "fragmentation",
            Figure::Fraction(ratio(memory.process_bytes, used)),
        ),
        ("fragmentation.bytes", differs(memory.process_bytes, used)),
    ];
    figures.extend(
        rest.into_iter()
            .map(|(name, figure)| (name.to_string(), figure)),
    );
    ctx.reply.map(figures.len());
    for (name, figure) in figures {
        ctx.reply.bulk(name.as_bytes());
        match figure {
            Figure::Bytes(bytes) => ctx.reply.integer(bytes as i64),
            Figure::Signed(bytes) => ctx.reply.integer(bytes),
            Figure::Fraction(fraction) => ctx.reply.double(fraction),
            Figure::Tables(main, deadlines) => {
                ctx.reply.map(2);
                ctx.reply.bulk(b"overhead.hashtable.main");
                ctx.reply.integer(main as i64);
                ctx.reply.bulk(b"overhead.hashtable.expires");
                ctx.reply.integer(deadlines as i64);
            }
        }
    }
    Ok(())
}

fn memory_help(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    crate::commands::help::write(
        ctx.reply,
        "MEMORY",
        &[
            "DOCTOR",
            "    Return memory problems reports.",
            "MALLOC-STATS",
            "    Return internal statistics report from the memory allocator.",
            "PURGE",
            "    Attempt to purge dirty pages for reclamation by the allocator.",
            "STATS",
            "    Return information about the memory usage of the server.",
            "USAGE <key> [SAMPLES <count>]",
            "    Return memory in bytes used by <key> and its value. Nested values are",
            "    sampled up to <count> times (default: 5, 0 means sample all).",
        ],
    );
    Ok(())
}
