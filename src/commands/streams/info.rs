//! XINFO: what a stream, its groups and their consumers are like.

use super::groups::{no_group_of_key, syntax};
use super::ids;
use super::read::{write_entries, write_entry};
use crate::commands::help;
use crate::commands::numbers::integer;
use crate::engine::ctx::ReadCtx;
use crate::engine::spec::Handled;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::reply::Reply;
use crate::store::stream::{Consumer, Group, Log, Stream, StreamId};

/// Rows of each list that FULL shows unless told otherwise.
const FULL_COUNT_DEFAULT: usize = 10;

fn write_number(reply: &mut Reply, name: &str, number: u64) {
    reply.bulk(name.as_bytes());
    reply.integer(number as i64);
}

fn write_id(reply: &mut Reply, name: &str, id: StreamId) {
    reply.bulk(name.as_bytes());
    ids::write(reply, id);
}

fn write_known(reply: &mut Reply, name: &str, number: Option<u64>) {
    reply.bulk(name.as_bytes());
    match number {
        Some(number) => reply.integer(number as i64),
        None => reply.null(),
    }
}

/// How many entries of the stream the group was not given, if that can be told.
fn lag(log: &Log, group: &Group) -> Option<u64> {
    if log.is_empty() {
        return Some(0);
    }
    let first_id = log.first_id();
    if first_id > group.last_id && first_id > log.max_deleted_id {
        return Some(log.len());
    }
    let read = match group.entries_read {
        Some(read) if !log.has_gaps_from(group.last_id) => read,
        _ => log.count_up_to(group.last_id)?,
    };
    Some(log.entries_added.wrapping_sub(read))
}

fn read_stream<'a>(ctx: &mut ReadCtx<'a>, key: &[u8]) -> Result<&'a Stream, CommandError> {
    ctx.read::<Stream>(key)?.ok_or(CommandError::NoSuchKey)
}

pub fn stream(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let stream = read_stream(ctx, args.arg(2))?;
    let full = match args.len() {
        3 => None,
        4 | 6 if args.arg(3).eq_ignore_ascii_case(b"full") => {
            let mut count = FULL_COUNT_DEFAULT;
            if args.len() == 6 {
                if !args.arg(4).eq_ignore_ascii_case(b"count") {
                    return Err(syntax("XINFO", args.arg(1)));
                }
                count = match integer(args.arg(5))? {
                    ..0 => FULL_COUNT_DEFAULT,
                    0 => usize::MAX,
                    number => number as usize,
                };
            }
            Some(count)
        }
        _ => return Err(syntax("XINFO", args.arg(1))),
    };
    let log = stream.log();
    let reply = &mut *ctx.reply;
    reply.map(if full.is_some() { 9 } else { 10 });
    write_number(reply, "length", log.len());
    write_number(reply, "radix-tree-keys", log.node_count() as u64);
    write_number(reply, "radix-tree-nodes", log.tree_node_count() as u64);
    write_id(reply, "last-generated-id", log.last_id);
    write_id(reply, "max-deleted-entry-id", log.max_deleted_id);
    write_number(reply, "entries-added", log.entries_added);
    write_id(reply, "recorded-first-entry-id", log.first_id());
    match full {
        Some(count) => write_full(reply, stream, count),
        None => {
            write_number(reply, "groups", stream.groups().len() as u64);
            let first = log.range(StreamId::MIN, StreamId::MAX).next();
            let last = log.range_backward(StreamId::MIN, StreamId::MAX).next();
            for (name, entry) in [("first-entry", first), ("last-entry", last)] {
                reply.bulk(name.as_bytes());
                match entry {
                    Some(entry) => write_entry(reply, &entry),
                    None => reply.null(),
                }
            }
        }
    }
    Ok(())
}

fn write_full(reply: &mut Reply, stream: &Stream, count: usize) {
    let log = stream.log();
    reply.bulk(b"entries");
    write_entries(reply, log.range(StreamId::MIN, StreamId::MAX), count);
    reply.bulk(b"groups");
    reply.array(stream.groups().len());
    for (name, group) in stream.groups() {
        reply.map(7);
        reply.bulk(b"name");
        reply.bulk(name);
        write_id(reply, "last-delivered-id", group.last_id);
        write_known(reply, "entries-read", group.entries_read);
        write_known(reply, "lag", lag(log, group));
        write_number(reply, "pel-count", group.pending().len() as u64);
        reply.bulk(b"pending");
        reply.array(group.pending().len().min(count));
        for (&id, pending) in group.pending().iter().take(count) {
            reply.array(4);
            ids::write(reply, id);
            reply.bulk(&group.consumer(pending.consumer).name);
            reply.integer(pending.delivered_ms);
            reply.integer(pending.deliveries as i64);
        }
        reply.bulk(b"consumers");
        reply.array(group.consumers().len());
        for consumer in group.consumers() {
            write_consumer(reply, group, consumer, count);
        }
    }
}

fn write_consumer(reply: &mut Reply, group: &Group, consumer: &Consumer, count: usize) {
    let ids = consumer.pending();
    reply.map(5);
    reply.bulk(b"name");
    reply.bulk(&consumer.name);
    reply.bulk(b"seen-time");
    reply.integer(consumer.seen_ms);
    reply.bulk(b"active-time");
    reply.integer(consumer.active_ms.unwrap_or(-1));
    write_number(reply, "pel-count", ids.len() as u64);
    reply.bulk(b"pending");
    reply.array(ids.len().min(count));
    let pending = ids.iter().take(count);
    for (id, pending) in pending.filter_map(|id| group.pending().get_key_value(id)) {
        reply.array(3);
        ids::write(reply, *id);
        reply.integer(pending.delivered_ms);
        reply.integer(pending.deliveries as i64);
    }
}

pub fn groups(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let stream = read_stream(ctx, args.arg(2))?;
    let reply = &mut *ctx.reply;
    reply.array(stream.groups().len());
    for (name, group) in stream.groups() {
        reply.map(6);
        reply.bulk(b"name");
        reply.bulk(name);
        write_number(reply, "consumers", group.consumers().len() as u64);
        write_number(reply, "pending", group.pending().len() as u64);
        write_id(reply, "last-delivered-id", group.last_id);
        write_known(reply, "entries-read", group.entries_read);
        write_known(reply, "lag", lag(stream.log(), group));
    }
    Ok(())
}

pub fn consumers(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let (key, name) = (args.arg(2), args.arg(3));
    let now_ms = ctx.now.unix_ms();
    let stream = read_stream(ctx, key)?;
    let group = stream
        .groups()
        .get(name)
        .ok_or_else(|| no_group_of_key(key, name))?;
    ctx.reply.array(group.consumers().len());
    for consumer in group.consumers() {
        let reply = &mut *ctx.reply;
        reply.map(4);
        reply.bulk(b"name");
        reply.bulk(&consumer.name);
        write_number(reply, "pending", consumer.pending().len() as u64);
        reply.bulk(b"idle");
        reply.integer(now_ms.saturating_sub(consumer.seen_ms).max(0));
        reply.bulk(b"inactive");
        let inactive_ms = consumer
            .active_ms
            .map(|active_ms| now_ms.saturating_sub(active_ms));
        reply.integer(inactive_ms.map_or(-1, |ms| ms.max(0)));
    }
    Ok(())
}

pub fn help(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    help::write(
        ctx.reply,
        "XINFO",
        &[
            "CONSUMERS <key> <groupname>",
            "    Show consumers of <groupname>.",
            "GROUPS <key>",
            "    Show the stream consumer groups.",
            "STREAM <key> [FULL [COUNT <count>]",
            "    Show information about the stream.",
        ],
    );
    Ok(())
}
