//! Entries in reply: XRANGE, XREVRANGE, XREAD and XREADGROUP.

use super::groups::{ensure_consumer, no_group};
use super::ids;
use super::pending::log_claim;
use crate::commands::numbers::integer;
use crate::engine::blocking::{Block, TimeoutReply};
use crate::engine::ctx::{Lent, ReadCtx, WriteCtx};
use crate::engine::spec::{Attempt, Handled};
use crate::resp::args::{Args, OwnedArgs};
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;
use crate::resp::reply::{Mark, Reply};
use crate::store::stream::{ConsumerId, Entry, Group, Log, Pending, Stream, StreamId};
use crate::store::value::Type;

/// Writes an entry: its id and its words.
pub fn write_entry(reply: &mut Reply, entry: &Entry<'_>) {
    reply.array(2);
    ids::write(reply, entry.id);
    reply.array(entry.len() * 2);
    for (name, value) in entry.fields() {
        reply.bulk(name);
        reply.bulk(value);
    }
}

/// Writes entries, at most `count` of them.
pub fn write_entries<'a>(
    reply: &mut Reply,
    entries: impl Iterator<Item = Entry<'a>>,
    count: usize,
) {
    let mark = reply.begin_array();
    let mut len = 0;
    for entry in entries.take(count) {
        write_entry(reply, &entry);
        len += 1;
    }
    reply.end_array(mark, len);
}

pub fn xrange(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let start = ids::interval_start(args.arg(2))?;
    let end = ids::interval_end(args.arg(3))?;
    range(ctx, args, start, end, false)
}

pub fn xrevrange(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let start = ids::interval_start(args.arg(3))?;
    let end = ids::interval_end(args.arg(2))?;
    range(ctx, args, start, end, true)
}

fn range(
    ctx: &mut ReadCtx<'_>,
    args: Args<'_>,
    start: StreamId,
    end: StreamId,
    backward: bool,
) -> Handled {
    let mut count = None;
    let mut options = args.from(4);
    while !options.is_empty() {
        if options.len() < 2 || !options.arg(0).eq_ignore_ascii_case(b"count") {
            return Err(CommandError::Syntax);
        }
        count = Some(usize::try_from(integer(options.arg(1))?).unwrap_or(0));
        options = options.from(2);
    }
    let Some(stream) = ctx.read::<Stream>(args.arg(1))? else {
        ctx.reply.array(0);
        return Ok(());
    };
    let log = stream.log();
    match (count, backward) {
        (Some(0), _) => ctx.reply.null_array(),
        (_, false) => write_entries(
            ctx.reply,
            log.range(start, end),
            count.unwrap_or(usize::MAX),
        ),
        (_, true) => write_entries(
            ctx.reply,
            log.range_backward(start, end),
            count.unwrap_or(usize::MAX),
        ),
    }
    Ok(())
}

/// From where on a stream is read.
#[derive(Clone, Copy)]
enum From {
    /// Behind that id; for a group, what its consumer has pending there.
    After(StreamId),
    /// What the group was not given yet.
    New,
}

struct Query<'a> {
    group: Option<(&'a [u8], &'a [u8])>,
    no_ack: bool,
    count: usize,
    /// None does not wait; Some(None) waits without end.
    deadline_ms: Option<Option<i64>>,
    /// Position of the first key.
    first: usize,
    keys: Args<'a>,
    ids: Args<'a>,
}

impl<'a> Query<'a> {
    fn parse(args: Args<'a>, by_group: bool, now_ms: i64) -> Result<Self, CommandError> {
        let mut query = Query {
            group: None,
            no_ack: false,
            count: usize::MAX,
            deadline_ms: None,
            first: 0,
            keys: args.first(0),
            ids: args.first(0),
        };
        let mut at = 1;
        while let Some(word) = args.get(at) {
            let values = args.from(at + 1);
            let is = |name: &[u8], count: usize| {
                values.len() >= count && word.eq_ignore_ascii_case(name)
            };
            if is(b"block", 1) {
                query.deadline_ms = Some(deadline(values.arg(0), now_ms)?);
                at += 1;
            } else if is(b"count", 1) {
                query.count = match integer(values.arg(0))? {
                    ..=0 => usize::MAX,
                    count => count as usize,
                };
                at += 1;
            } else if is(b"streams", 1) {
                query.take_streams(args, at + 1, by_group)?;
                break;
            } else if is(b"group", 2) {
                if !by_group {
                    return Err(CommandError::Text(
                        "ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.",
                    ));
                }
                query.group = Some((values.arg(0), values.arg(1)));
                at += 2;
            } else if is(b"noack", 0) {
                if !by_group {
                    return Err(CommandError::Text(
                        "ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.",
                    ));
                }
                query.no_ack = true;
            } else {
                return Err(CommandError::Syntax);
            }
            at += 1;
        }
        if query.first == 0 {
            return Err(CommandError::Syntax);
        }
        if by_group && query.group.is_none() {
            return Err(CommandError::Text(
                "ERR Missing GROUP option for XREADGROUP",
            ));
        }
        Ok(query)
    }

    fn take_streams(
        &mut self,
        args: Args<'a>,
        first: usize,
        by_group: bool,
    ) -> Result<(), CommandError> {
        let words = args.from(first);
        if words.len() % 2 == 1 {
            return Err(CommandError::Text(if by_group {
                "ERR Unbalanced 'xreadgroup' list of streams: for each stream key an ID or '>' must be specified."
            } else {
                "ERR Unbalanced 'xread' list of streams: for each stream key an ID or '$' must be specified."
            }));
        }
        self.first = first;
        self.keys = words.first(words.len() / 2);
        self.ids = words.from(words.len() / 2);
        Ok(())
    }

    /// From where on each stream is read. Refuses wrong types and groups that are not there.
    fn starts(&self, ctx: &mut ReadCtx<'_>) -> Result<Vec<From>, CommandError> {
        let mut starts = Vec::with_capacity(self.keys.len());
        for (key, text) in self.keys.iter().zip(self.ids) {
            let stream = ctx.glance::<Stream>(key)?;
            if let Some((group, _)) = self.group
                && !stream.is_some_and(|stream| stream.groups().contains_key(group))
            {
                return Err(no_group(key, group, " in XREADGROUP with GROUP option"));
            }
            starts.push(match (text, self.group) {
                (b"$", None) => From::After(stream.map_or(StreamId::MIN, |stream| stream.log().last_id)),
                (b"$", Some(_)) => {
                    return Err(CommandError::Text(
                        "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set.",
                    ));
                }
                (b">", Some(_)) => From::New,
                (b">", None) => {
                    return Err(CommandError::Text(
                        "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.",
                    ));
                }
                _ => From::After(ids::strict(text)?),
            });
        }
        Ok(starts)
    }

    fn wait(&self, ctx: &mut WriteCtx<'_>, args: Args<'_>, starts: &[From]) {
        let Some(deadline_ms) = self.deadline_ms else {
            ctx.reply.null_array();
            return;
        };
        // What `$` means is settled now.
        let mut retry = OwnedArgs::from_args(args.first(self.first + self.keys.len()));
        for (text, start) in self.ids.iter().zip(starts) {
            match start {
                From::After(id) if text == b"$" => retry.push(id.to_string().as_bytes()),
                _ => retry.push(text),
            }
        }
        ctx.block(Block {
            keys: self.keys.iter().map(Box::from).collect(),
            waits_for: Type::Stream,
            wakes_on_loss: self.group.is_some(),
            deadline_ms,
            timeout_reply: TimeoutReply::NullArray,
            retry: Some(retry),
        });
    }
}

/// The deadline that a number of milliseconds means; None for 0.
fn deadline(text: &[u8], now_ms: i64) -> Result<Option<i64>, CommandError> {
    let timeout_ms = parse_i64(text).ok_or(CommandError::Text(
        "ERR timeout is not an integer or out of range",
    ))?;
    match timeout_ms {
        ..0 => Err(CommandError::TimeoutNegative),
        0 => Ok(None),
        _ => now_ms
            .checked_add(timeout_ms)
            .map(Some)
            .ok_or(CommandError::TimeoutOutOfRange),
    }
}

/// The head of one stream in the reply of several.
fn write_key(reply: &mut Reply, key: &[u8]) {
    if !reply.is_resp3() {
        reply.array(2);
    }
    reply.bulk(key);
}

/// Where the reply of several streams begins. The head is an array in RESP2 and a map in RESP3.
struct Shown {
    start: usize,
    mark: Mark,
    streams: usize,
}

impl Shown {
    fn begin(reply: &mut Reply) -> Self {
        let start = reply.len();
        let mark = if reply.is_resp3() {
            reply.begin_map()
        } else {
            reply.begin_array()
        };
        Self {
            start,
            mark,
            streams: 0,
        }
    }

    /// Ends the reply; false if no stream was shown, and then nothing is written.
    fn end(self, reply: &mut Reply) -> bool {
        match self.streams {
            0 => reply.truncate(self.start),
            streams if reply.is_resp3() => reply.end_map(self.mark, streams),
            streams => reply.end_array(self.mark, streams),
        }
        self.streams > 0
    }
}

/// Whether the stream has entries behind the start, and the first id that one may have.
fn first_behind(stream: &Stream, start: From) -> Option<StreamId> {
    let From::After(id) = start else { return None };
    id.next()
        .filter(|_| stream.log().last_entry_id() > Some(id))
}

/// Writes what the streams have behind their starts; false if they have nothing.
fn show_streams(ctx: &mut ReadCtx<'_>, query: &Query<'_>, starts: &[From]) -> bool {
    let mut shown = Shown::begin(ctx.reply);
    for (key, start) in query.keys.iter().zip(starts) {
        let Ok(Some(stream)) = ctx.read::<Stream>(key) else {
            continue;
        };
        if let Some(first) = first_behind(stream, *start) {
            write_key(ctx.reply, key);
            let entries = stream.log().range(first, StreamId::MAX);
            write_entries(ctx.reply, entries, query.count);
            shown.streams += 1;
        }
    }
    shown.end(ctx.reply)
}

/// Answers unless the client has to wait.
pub fn try_xread(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Result<Attempt, CommandError> {
    let query = Query::parse(args, false, ctx.now.unix_ms())?;
    let starts = query.starts(ctx)?;
    let has_any = |(key, start): (&[u8], &From)| {
        let stream = ctx.glance::<Stream>(key).ok().flatten();
        stream.is_some_and(|stream| first_behind(stream, *start).is_some())
    };
    if query.deadline_ms.is_some() && !query.keys.iter().zip(&starts).any(has_any) {
        return Ok(Attempt::MustWrite);
    }
    if !show_streams(ctx, &query, &starts) {
        ctx.reply.null_array();
    }
    Ok(Attempt::Answered)
}

pub fn xread(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let query = Query::parse(args, false, ctx.now.unix_ms())?;
    let mut reader = ctx.reader();
    let starts = query.starts(&mut reader)?;
    if !show_streams(&mut reader, &query, &starts) {
        query.wait(ctx, args, &starts);
    }
    Ok(())
}

pub fn xreadgroup(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let query = Query::parse(args, true, ctx.now.unix_ms())?;
    let starts = query.starts(&mut ctx.reader())?;
    ctx.no_effect();
    let mut shown = Shown::begin(ctx.reply);
    for (key, start) in query.keys.iter().zip(&starts) {
        ctx.count_lookup(ctx.contains(key));
        let read = ctx.update::<Stream, bool>(key, |stream, lent| {
            read_by_group(stream, lent, &query, key, *start)
        })?;
        if read == Some(true) {
            shown.streams += 1;
            ctx.changed(1);
        }
    }
    if !shown.end(ctx.reply) {
        query.wait(ctx, args, &starts);
    }
    Ok(())
}

/// Reads one stream for a group; false if it has nothing to give.
fn read_by_group(
    stream: &mut Stream,
    lent: &mut Lent<'_>,
    query: &Query<'_>,
    key: &[u8],
    start: From,
) -> bool {
    let Some((group_name, consumer_name)) = query.group else {
        return false;
    };
    let (log, groups) = stream.parts_mut();
    let Some(group) = groups.get_mut(group_name) else {
        return false;
    };
    let consumer = ensure_consumer(group, lent, group_name, consumer_name);
    match start {
        From::After(id) => {
            write_key(lent.reply, key);
            let delivery = Delivery {
                group_name,
                consumer,
                no_ack: query.no_ack,
                count: query.count,
            };
            delivery.history(log, group, lent, id);
            true
        }
        From::New if log.last_entry_id() > Some(group.last_id) => {
            write_key(lent.reply, key);
            let delivery = Delivery {
                group_name,
                consumer,
                no_ack: query.no_ack,
                count: query.count,
            };
            delivery.new_entries(log, group, lent);
            true
        }
        From::New => false,
    }
}

/// One delivery of entries to a consumer.
struct Delivery<'a> {
    group_name: &'a [u8],
    consumer: ConsumerId,
    no_ack: bool,
    count: usize,
}

impl Delivery<'_> {
    /// What the consumer has pending behind an id; entries that are gone are shown as null.
    fn history(&self, log: &Log, group: &mut Group, lent: &mut Lent<'_>, after: StreamId) {
        let now_ms = lent.now.unix_ms();
        let pending = group.consumer(self.consumer).pending();
        let ids: Vec<StreamId> = match after.next() {
            Some(first) => pending.range(first..).take(self.count).copied().collect(),
            None => Vec::new(),
        };
        lent.reply.array(ids.len());
        for id in ids {
            let Some(entry) = log.get(id) else {
                lent.reply.array(2);
                ids::write(lent.reply, id);
                lent.reply.null_array();
                continue;
            };
            write_entry(lent.reply, &entry);
            let Some(mut pending) = group.pending().get(&id).copied() else {
                continue;
            };
            pending.delivered_ms = now_ms;
            pending.deliveries = pending
                .deliveries
                .saturating_add(1)
                .min(Pending::DELIVERIES_MAX);
            group.set_pending(id, pending);
            log_claim(lent, group, self.group_name, id, &pending);
        }
    }

    /// What the group was not given yet.
    fn new_entries(&self, log: &Log, group: &mut Group, lent: &mut Lent<'_>) {
        let now_ms = lent.now.unix_ms();
        let Some(first) = group.last_id.next() else {
            lent.reply.array(0);
            return;
        };
        let mark = lent.reply.begin_array();
        let mut len = 0;
        for entry in log.range(first, StreamId::MAX).take(self.count) {
            advance(log, group, entry.id);
            write_entry(lent.reply, &entry);
            len += 1;
            if self.no_ack {
                continue;
            }
            let pending = Pending {
                consumer: self.consumer,
                delivered_ms: now_ms,
                deliveries: 1,
            };
            group.set_pending(entry.id, pending);
            group.consumer_mut(self.consumer).active_ms = Some(now_ms);
            log_claim(lent, group, self.group_name, entry.id, &pending);
        }
        lent.reply.end_array(mark, len);
        if len > 0 {
            super::groups::log_position(lent, group, self.group_name);
        }
    }
}

/// Moves the position of a group to an entry behind it.
fn advance(log: &Log, group: &mut Group, id: StreamId) {
    group.entries_read = match group.entries_read {
        Some(read) if group.last_id >= log.first_id() && !log.has_gaps_from(group.last_id) => {
            Some(read + 1)
        }
        read if log.entries_added == 0 => read,
        _ => log.count_up_to(id),
    };
    group.last_id = id;
}
