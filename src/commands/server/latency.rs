//! LATENCY: slow events and how long commands take.

use crate::engine::ctx::ReadCtx;
use crate::engine::latency::Series;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, Run};
use crate::engine::table::Command;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use std::sync::atomic::Ordering::Relaxed;

pub const COMMANDS: &[CommandSpec] = &[CommandSpec {
    name: "latency",
    group: Group::Server,
    summary: "Looks at slow events.",
    since: "2.8.13",
    complexity: "Depends on subcommand.",
    arity: -2,
    flags: Flags::empty(),
    categories: Categories::empty(),
    keys: &[],
    tips: &[],
    syntax: "",
    run: Run::Container(&[
        CommandSpec {
            name: "graph",
            group: Group::Server,
            summary: "Draws the samples of an event.",
            since: "2.8.13",
            complexity: "O(1)",
            arity: 3,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::empty(),
            keys: &[],
            tips: &[
                "nondeterministic_output",
                "request_policy:all_nodes",
                "response_policy:special",
            ],
            syntax: "event",
            run: Run::Read(latency_graph),
        },
        CommandSpec {
            name: "histogram",
            group: Group::Server,
            summary: "Tells how long commands took, in powers of two.",
            since: "7.0.0",
            complexity: "O(N) where N is the number of commands with latency information being retrieved.",
            arity: -2,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::empty(),
            keys: &[],
            tips: &[
                "nondeterministic_output",
                "request_policy:all_nodes",
                "response_policy:special",
            ],
            syntax: "[command...]",
            run: Run::Read(latency_histogram),
        },
        CommandSpec {
            name: "history",
            group: Group::Server,
            summary: "Lists the samples of an event.",
            since: "2.8.13",
            complexity: "O(1)",
            arity: 3,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::empty(),
            keys: &[],
            tips: &[
                "nondeterministic_output",
                "request_policy:all_nodes",
                "response_policy:special",
            ],
            syntax: "event",
            run: Run::Read(latency_history),
        },
        CommandSpec {
            name: "latest",
            group: Group::Server,
            summary: "Tells the newest sample of each event.",
            since: "2.8.13",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::empty(),
            keys: &[],
            tips: &[
                "nondeterministic_output",
                "request_policy:all_nodes",
                "response_policy:special",
            ],
            syntax: "",
            run: Run::Read(latency_latest),
        },
        CommandSpec {
            name: "reset",
            group: Group::Server,
            summary: "Forgets all entries.",
            since: "2.8.13",
            complexity: "O(1)",
            arity: -2,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::empty(),
            keys: &[],
            tips: &["request_policy:all_nodes", "response_policy:agg_sum"],
            syntax: "[event...]",
            run: Run::Read(latency_reset),
        },
        CommandSpec {
            name: "help",
            group: Group::Server,
            summary: "Describes the subcommands.",
            since: "2.8.13",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::LOADING.union(Flags::STALE),
            categories: Categories::empty(),
            keys: &[],
            tips: &[],
            syntax: "",
            run: Run::Read(latency_help),
        },
        CommandSpec {
            name: "doctor",
            group: Group::Server,
            summary: "Gives advice about what it finds.",
            since: "2.8.13",
            complexity: "O(1)",
            arity: 2,
            flags: Flags::ADMIN.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
            categories: Categories::empty(),
            keys: &[],
            tips: &[
                "nondeterministic_output",
                "request_policy:all_nodes",
                "response_policy:special",
            ],
            syntax: "",
            run: Run::Read(latency_doctor),
        },
    ]),
}];

/// Rows of the drawing of LATENCY GRAPH.
const GRAPH_ROWS: u64 = 4;

fn latency_latest(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    let events = ctx.engine().latency.events();
    ctx.reply.array(events.len());
    for (name, series) in events {
        let (unix_s, latest_ms) = series.samples.back().copied().unwrap_or_default();
        ctx.reply.array(4);
        ctx.reply.bulk(name.as_bytes());
        ctx.reply.integer(unix_s);
        ctx.reply.integer(latest_ms as i64);
        ctx.reply.integer(series.max_ms as i64);
    }
    Ok(())
}

fn latency_history(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let samples = find(ctx, args.arg(2))
        .map(|series| series.samples)
        .unwrap_or_default();
    ctx.reply.array(samples.len());
    for (unix_s, ms) in samples {
        ctx.reply.array(2);
        ctx.reply.integer(unix_s);
        ctx.reply.integer(ms as i64);
    }
    Ok(())
}

fn find(ctx: &ReadCtx<'_>, name: &[u8]) -> Option<Series> {
    let name = std::str::from_utf8(name).ok()?;
    ctx.engine().latency.events().remove(name)
}

fn latency_reset(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let names: Vec<&str> = args
        .from(2)
        .iter()
        .filter_map(|name| std::str::from_utf8(name).ok())
        .collect();
    let reset = if args.len() > 2 && names.is_empty() {
        0
    } else {
        ctx.engine().latency.reset(&names)
    };
    ctx.reply.integer(reset as i64);
    Ok(())
}

fn latency_graph(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let shown = String::from_utf8_lossy(args.arg(2)).into_owned();
    let series = find(ctx, args.arg(2)).ok_or_else(|| {
        CommandError::Owned(format!("ERR No samples available for event '{shown}'"))
    })?;
    let now_s = ctx.now.unix_us / 1_000_000;
    let graph = draw(&shown, &series, now_s);
    ctx.reply.verbatim("txt", graph.as_bytes());
    Ok(())
}

/// One column a sample: a bar between the lowest and the highest, with its age below.
fn draw(name: &str, series: &Series, now_s: i64) -> String {
    let values = series.samples.iter().map(|(_, ms)| *ms);
    let (low, high) = (values.clone().min().unwrap_or(0), values.max().unwrap_or(0));
    let mut text = format!(
        "{name} - high {high} ms, low {low} ms (all time high {} ms)\n",
        series.max_ms
    );
    text.push_str(&"-".repeat(80));
    text.push('\n');
    for row in (1..=GRAPH_ROWS).rev() {
        for (_, ms) in &series.samples {
            let height = if high == low {
                GRAPH_ROWS
            } else {
                (ms - low) * (GRAPH_ROWS - 1) / (high - low) + 1
            };
            text.push(match height.cmp(&row) {
                std::cmp::Ordering::Greater => '|',
                std::cmp::Ordering::Equal => '#',
                std::cmp::Ordering::Less => ' ',
            });
        }
        text.push('\n');
    }
    text.push('\n');
    let ages: Vec<Vec<char>> = series
        .samples
        .iter()
        .map(|(unix_s, _)| age(now_s - unix_s).chars().collect())
        .collect();
    for row in 0..ages.iter().map(Vec::len).max().unwrap_or(0) {
        let line: String = ages
            .iter()
            .map(|age| age.get(row).copied().unwrap_or(' '))
            .collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Seconds as `5s`, `12m`, `3h`, `2d`.
fn age(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3_600 => format!("{}m", seconds / 60),
        seconds @ 3_600..86_400 => format!("{}h", seconds / 3_600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

fn latency_doctor(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    let latency = &ctx.engine().latency;
    let events = latency.events();
    let text = if latency.threshold_ms() == 0 {
        "Latency monitoring is off. CONFIG SET latency-monitor-threshold <milliseconds> turns it on.\n".to_string()
    } else if events.is_empty() {
        "No event was slower than latency-monitor-threshold.\n".to_string()
    } else {
        let mut text = String::from("Events slower than latency-monitor-threshold:\n");
        for (name, series) in &events {
            let count = series.samples.len().max(1) as u64;
            let sum: u64 = series.samples.iter().map(|(_, ms)| ms).sum();
            text.push_str(&format!(
                "- {name}: {count} samples, average {} ms, worst ever {} ms.\n",
                sum / count,
                series.max_ms
            ));
        }
        text.push_str("SLOWLOG GET shows which commands took long.\n");
        text
    };
    ctx.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

fn latency_histogram(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let engine = ctx.engine();
    let mut commands: Vec<&Command> = Vec::new();
    if args.len() == 2 {
        commands.extend(engine.table.iter());
    }
    for name in args.from(2).iter() {
        let Some(command) = engine.table.find_full(name) else {
            continue;
        };
        commands.push(command);
        commands.extend(command.subcommands.iter().map(|&id| engine.table.get(id)));
    }
    commands.retain(|command| engine.stats.command(command.id).calls.load(Relaxed) > 0);
    ctx.reply.map(commands.len());
    for command in commands {
        let stats = engine.stats.command(command.id);
        ctx.reply.bulk(command.full_name.as_bytes());
        ctx.reply.map(2);
        ctx.reply.bulk(b"calls");
        ctx.reply.integer(stats.calls.load(Relaxed) as i64);
        ctx.reply.bulk(b"histogram_usec");
        let buckets = cumulative_us(&stats.latency.each_ref().map(|bucket| bucket.load(Relaxed)));
        ctx.reply.map(buckets.len());
        for (bound_us, calls) in buckets {
            ctx.reply.integer(bound_us as i64);
            ctx.reply.integer(calls as i64);
        }
    }
    Ok(())
}

/// Calls that took at most so many microseconds, in powers of two, from buckets of nanoseconds;
/// a bound that adds no calls is left out.
fn cumulative_us(buckets: &[u64]) -> Vec<(u64, u64)> {
    let mut shown: Vec<(u64, u64)> = Vec::new();
    let mut calls = 0;
    for (bucket, &count) in buckets.iter().enumerate() {
        if count == 0 {
            continue;
        }
        calls += count;
        let bound_us = (1u64 << bucket).div_ceil(1_000).next_power_of_two();
        match shown.last_mut() {
            Some((last_us, last_calls)) if *last_us == bound_us => *last_calls = calls,
            _ => shown.push((bound_us, calls)),
        }
    }
    shown
}

fn latency_help(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    crate::commands::help::write(
        ctx.reply,
        "LATENCY",
        &[
            "DOCTOR",
            "    Return a human readable latency analysis report.",
            "GRAPH <event>",
            "    Return an ASCII latency graph for the <event> class.",
            "HISTORY <event>",
            "    Return time-latency samples for the <event> class.",
            "LATEST",
            "    Return the latest latency samples for all events.",
            "RESET [<event> ...]",
            "    Reset latency data of one or more <event> classes.",
            "    (default: reset all data for all event classes)",
            "HISTOGRAM [COMMAND ...]",
            "    Return a cumulative distribution of latencies in the format of a histogram for the specified command names.",
            "    If no commands are specified then all histograms are replied.",
        ],
    );
    Ok(())
}
