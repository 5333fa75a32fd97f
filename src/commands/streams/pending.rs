//! Entries that were delivered and not acknowledged: XACK, XPENDING, XCLAIM, XAUTOCLAIM.

use super::groups::{ensure_consumer, no_group};
use super::ids;
use super::read::write_entry;
use crate::commands::numbers::integer;
use crate::engine::ctx::{Lent, ReadCtx, WriteCtx};
use crate::engine::spec::Handled;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;
use crate::store::stream::{ConsumerId, Group, Log, Pending, Stream, StreamId};

/// Pending entries that XAUTOCLAIM looks at for each one it may claim.
const ATTEMPTS_FOR_ONE: usize = 10;

/// Largest COUNT of XAUTOCLAIM (Redis: what fits in memory as ids).
const AUTOCLAIM_COUNT_MAX: i64 = i64::MAX / 16;

const AUTOCLAIM_COUNT_DEFAULT: usize = 100;

pub fn xack(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let (key, name) = (args.arg(1), args.arg(2));
    let stream = ctx.read::<Stream>(key)?;
    ctx.count_lookup(stream.is_some());
    if !stream.is_some_and(|stream| stream.groups().contains_key(name)) {
        ctx.reply.integer(0);
        return Ok(());
    }
    let entries = args.from(3).iter().map(ids::strict);
    let entries: Vec<StreamId> = entries.collect::<Result<_, _>>()?;
    let acknowledged = ctx.update::<Stream, u64>(key, |stream, lent| {
        let mut count = 0;
        if let Some(group) = stream.groups_mut().get_mut(name) {
            count = entries.iter().filter(|&&id| group.acknowledge(id)).count() as u64;
        }
        lent.reply.integer(count as i64);
        count
    })?;
    ctx.changed(acknowledged.unwrap_or(0));
    Ok(())
}

/// Logs to whom an entry belongs now.
pub fn log_claim(
    lent: &mut Lent<'_>,
    group: &Group,
    group_name: &[u8],
    id: StreamId,
    pending: &Pending,
) {
    if !lent.wants_effects() {
        return;
    }
    let key = lent.key().to_vec();
    lent.effect(&[
        b"XCLAIM",
        &key,
        group_name,
        &group.consumer(pending.consumer).name,
        b"0",
        id.to_string().as_bytes(),
        b"TIME",
        pending.delivered_ms.to_string().as_bytes(),
        b"RETRYCOUNT",
        pending.deliveries.to_string().as_bytes(),
        b"FORCE",
        b"JUSTID",
        b"LASTID",
        group.last_id.to_string().as_bytes(),
    ]);
}

pub fn xpending(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let rows = match args.len() {
        3 => None,
        6..=9 => Some(Rows::parse(args)?),
        _ => return Err(CommandError::Syntax),
    };
    let (key, name) = (args.arg(1), args.arg(2));
    let group = ctx
        .read::<Stream>(key)?
        .and_then(|stream| stream.groups().get(name))
        .ok_or_else(|| no_group(key, name, ""))?;
    match rows {
        Some(rows) => rows.write(ctx, group),
        None => write_summary(ctx, group),
    }
    Ok(())
}

fn write_summary(ctx: &mut ReadCtx<'_>, group: &Group) {
    let reply = &mut *ctx.reply;
    let pending = group.pending();
    reply.array(4);
    reply.integer(pending.len() as i64);
    let (Some((&first, _)), Some((&last, _))) =
        (pending.first_key_value(), pending.last_key_value())
    else {
        reply.null();
        reply.null();
        reply.null_array();
        return;
    };
    ids::write(reply, first);
    ids::write(reply, last);
    let mark = reply.begin_array();
    let mut len = 0;
    for consumer in group.consumers() {
        let count = consumer.pending().len();
        if count > 0 {
            reply.array(2);
            reply.bulk(&consumer.name);
            reply.bulk_integer(count as i64);
            len += 1;
        }
    }
    reply.end_array(mark, len);
}

/// The form of XPENDING that shows entries.
struct Rows<'a> {
    idle_ms_min: i64,
    start: StreamId,
    end: StreamId,
    count: usize,
    consumer: Option<&'a [u8]>,
}

impl<'a> Rows<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut first = 3;
        let mut idle_ms_min = 0;
        if args.arg(3).eq_ignore_ascii_case(b"idle") {
            idle_ms_min = integer(args.arg(4))?;
            if args.len() < 8 {
                return Err(CommandError::Syntax);
            }
            first = 5;
        }
        let count = integer(args.arg(first + 2))?;
        Ok(Self {
            idle_ms_min,
            start: ids::interval_start(args.arg(first))?,
            end: ids::interval_end(args.arg(first + 1))?,
            count: usize::try_from(count).unwrap_or(0),
            consumer: args.get(first + 3),
        })
    }

    fn write(&self, ctx: &mut ReadCtx<'_>, group: &Group) {
        let now_ms = ctx.now.unix_ms();
        let mark = ctx.reply.begin_array();
        let mut len = 0;
        let mut show = |id: StreamId, pending: &Pending| {
            let idle_ms = now_ms.saturating_sub(pending.delivered_ms);
            if self.idle_ms_min != 0 && idle_ms < self.idle_ms_min {
                return len < self.count;
            }
            ctx.reply.array(4);
            ids::write(ctx.reply, id);
            ctx.reply.bulk(&group.consumer(pending.consumer).name);
            ctx.reply.integer(idle_ms.max(0));
            ctx.reply.integer(pending.deliveries as i64);
            len += 1;
            len < self.count
        };
        let is_empty = self.count == 0 || self.start > self.end;
        match self.consumer.map(|name| group.find(name)) {
            _ if is_empty => {}
            Some(None) => {}
            Some(Some(consumer)) => {
                let ids = group.consumer(consumer).pending();
                for &id in ids.range(self.start..=self.end) {
                    if group
                        .pending()
                        .get(&id)
                        .is_some_and(|pending| !show(id, pending))
                    {
                        break;
                    }
                }
            }
            None => {
                for (&id, pending) in group.pending().range(self.start..=self.end) {
                    if !show(id, pending) {
                        break;
                    }
                }
            }
        }
        ctx.reply.end_array(mark, len);
    }
}

fn idle_ms_min(text: &[u8], refusal: &'static str) -> Result<i64, CommandError> {
    let idle_ms = parse_i64(text).ok_or(CommandError::Text(refusal))?;
    Ok(idle_ms.max(0))
}

/// What becomes of the entries that are claimed.
struct Claim<'a> {
    group_name: &'a [u8],
    idle_ms_min: i64,
    delivered_ms: i64,
    deliveries: Option<u64>,
    force: bool,
    just_id: bool,
}

/// What one try to claim an entry came to.
enum Claimed {
    Yes,
    No,
    /// The entry does not exist any more, and is no longer pending.
    Gone,
}

impl Claim<'_> {
    fn one(
        &self,
        log: &Log,
        group: &mut Group,
        lent: &mut Lent<'_>,
        consumer: ConsumerId,
        id: StreamId,
    ) -> Claimed {
        let old = group.pending().get(&id).copied();
        let Some(entry) = log.get(id) else {
            let Some(old) = old else {
                return Claimed::No;
            };
            log_claim(lent, group, self.group_name, id, &old);
            group.acknowledge(id);
            return Claimed::Gone;
        };
        let now_ms = lent.now.unix_ms();
        match old {
            None if !self.force => return Claimed::No,
            Some(old)
                if self.idle_ms_min > 0
                    && now_ms.saturating_sub(old.delivered_ms) < self.idle_ms_min =>
            {
                return Claimed::No;
            }
            _ => {}
        }
        let before = old.map_or(1, |old| old.deliveries);
        let pending = Pending {
            consumer,
            delivered_ms: self.delivered_ms,
            deliveries: match self.deliveries {
                Some(deliveries) => deliveries,
                None if self.just_id => before,
                None => before.saturating_add(1).min(Pending::DELIVERIES_MAX),
            },
        };
        group.set_pending(id, pending);
        group.consumer_mut(consumer).active_ms = Some(now_ms);
        if self.just_id {
            ids::write(lent.reply, id);
        } else {
            write_entry(lent.reply, &entry);
        }
        log_claim(lent, group, self.group_name, id, &pending);
        Claimed::Yes
    }
}

/// The options of XCLAIM behind its ids.
struct ClaimOptions {
    delivered_ms: Option<i64>,
    deliveries: Option<u64>,
    force: bool,
    just_id: bool,
    last_id: StreamId,
}

impl ClaimOptions {
    fn parse(words: Args<'_>, now_ms: i64) -> Result<Self, CommandError> {
        let mut options = Self {
            delivered_ms: None,
            deliveries: None,
            force: false,
            just_id: false,
            last_id: StreamId::MIN,
        };
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let value = words.get(at + 1);
            let is = |name: &[u8]| word.eq_ignore_ascii_case(name);
            let number = |text: &[u8], refusal: &'static str| {
                parse_i64(text).ok_or(CommandError::Text(refusal))
            };
            at += match value {
                _ if is(b"force") => {
                    options.force = true;
                    1
                }
                _ if is(b"justid") => {
                    options.just_id = true;
                    1
                }
                Some(text) if is(b"idle") => {
                    let idle_ms = number(text, "ERR Invalid IDLE option argument for XCLAIM")?;
                    options.delivered_ms = Some(now_ms.wrapping_sub(idle_ms));
                    2
                }
                Some(text) if is(b"time") => {
                    let time_ms = number(text, "ERR Invalid TIME option argument for XCLAIM")?;
                    options.delivered_ms = Some(time_ms);
                    2
                }
                Some(text) if is(b"retrycount") => {
                    let count = number(text, "ERR Invalid RETRYCOUNT option argument for XCLAIM")?;
                    options.deliveries = u64::try_from(count).ok();
                    2
                }
                Some(text) if is(b"lastid") => {
                    options.last_id = ids::strict(text)?;
                    2
                }
                _ => {
                    return Err(CommandError::Owned(format!(
                        "ERR Unrecognized XCLAIM option '{}'",
                        String::from_utf8_lossy(word)
                    )));
                }
            };
        }
        Ok(options)
    }
}

pub fn xclaim(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let (key, name) = (args.arg(1), args.arg(2));
    let stream = ctx.read::<Stream>(key)?;
    ctx.count_lookup(stream.is_some());
    if !stream.is_some_and(|stream| stream.groups().contains_key(name)) {
        return Err(no_group(key, name, ""));
    }
    let idle_ms_min = idle_ms_min(args.arg(4), "ERR Invalid min-idle-time argument for XCLAIM")?;
    let words = args.from(5);
    let entries: Vec<StreamId> = words
        .iter()
        .map_while(|text| ids::strict(text).ok())
        .collect();
    let now_ms = ctx.present().unix_ms();
    let options = ClaimOptions::parse(words.from(entries.len()), now_ms)?;
    let claim = Claim {
        group_name: name,
        idle_ms_min,
        delivered_ms: options
            .delivered_ms
            .filter(|time_ms| (0..=now_ms).contains(time_ms))
            .unwrap_or(now_ms),
        deliveries: options.deliveries,
        force: options.force,
        just_id: options.just_id,
    };
    ctx.no_effect();
    let changes = ctx.update::<Stream, u64>(key, |stream, lent| {
        let (log, groups) = stream.parts_mut();
        let Some(group) = groups.get_mut(name) else {
            return 0;
        };
        let mut changes = 0;
        let moved = options.last_id > group.last_id;
        if moved {
            group.last_id = options.last_id;
        }
        let consumers = group.consumers().len();
        let consumer = ensure_consumer(group, lent, name, args.arg(3));
        changes += u64::from(group.consumers().len() > consumers);
        let mark = lent.reply.begin_array();
        let (mut len, mut told) = (0, false);
        for &id in &entries {
            match claim.one(log, group, lent, consumer, id) {
                Claimed::Yes => {
                    len += 1;
                    told = true;
                }
                Claimed::Gone => told = true,
                Claimed::No => continue,
            }
            changes += 1;
        }
        lent.reply.end_array(mark, len);
        if moved && !told {
            super::groups::log_position(lent, group, name);
            changes += 1;
        }
        changes
    })?;
    ctx.changed(changes.unwrap_or(0));
    Ok(())
}

pub fn xautoclaim(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let (key, name) = (args.arg(1), args.arg(2));
    let idle_ms_min = idle_ms_min(
        args.arg(4),
        "ERR Invalid min-idle-time argument for XAUTOCLAIM",
    )?;
    let start = ids::interval_start(args.arg(5))?;
    let (mut count, mut just_id) = (AUTOCLAIM_COUNT_DEFAULT, false);
    let mut options = args.from(6);
    while let Some(word) = options.get(0) {
        if word.eq_ignore_ascii_case(b"count") && options.len() > 1 {
            const REFUSAL: CommandError = CommandError::Text("ERR COUNT must be > 0");
            count = match parse_i64(options.arg(1)) {
                Some(number @ 1..=AUTOCLAIM_COUNT_MAX) => number as usize,
                _ => return Err(REFUSAL),
            };
            options = options.from(2);
        } else if word.eq_ignore_ascii_case(b"justid") {
            just_id = true;
            options = options.from(1);
        } else {
            return Err(CommandError::Syntax);
        }
    }
    let stream = ctx.read::<Stream>(key)?;
    ctx.count_lookup(stream.is_some());
    if !stream.is_some_and(|stream| stream.groups().contains_key(name)) {
        return Err(no_group(key, name, ""));
    }
    let claim = Claim {
        group_name: name,
        idle_ms_min,
        delivered_ms: ctx.present().unix_ms(),
        deliveries: None,
        force: false,
        just_id,
    };
    ctx.no_effect();
    let changes = ctx.update::<Stream, u64>(key, |stream, lent| {
        let (log, groups) = stream.parts_mut();
        match groups.get_mut(name) {
            Some(group) => claim.scan(log, group, lent, args.arg(3), start, count),
            None => 0,
        }
    })?;
    ctx.changed(changes.unwrap_or(0));
    Ok(())
}

impl Claim<'_> {
    /// Claims what is pending from `start` on, at most `count` entries; how much changed.
    fn scan(
        &self,
        log: &Log,
        group: &mut Group,
        lent: &mut Lent<'_>,
        consumer_name: &[u8],
        start: StreamId,
        count: usize,
    ) -> u64 {
        let consumers = group.consumers().len();
        let consumer = ensure_consumer(group, lent, self.group_name, consumer_name);
        let mut changes = u64::from(group.consumers().len() > consumers);
        // The position stands in front of the rows in the reply, so these are written apart.
        let mut rows = crate::resp::reply::Reply::new(lent.reply.protocol());
        std::mem::swap(&mut rows, lent.reply);
        let mut left = count;
        let mut attempts = count.saturating_mul(ATTEMPTS_FOR_ONE);
        let (mut claimed, mut gone) = (0, Vec::new());
        let mut next = group.pending().range(start..).next().map(|(&id, _)| id);
        while let Some(id) = next.filter(|_| left > 0 && attempts > 0) {
            attempts -= 1;
            let following = id.next();
            match self.one(log, group, lent, consumer, id) {
                Claimed::Yes => {
                    claimed += 1;
                    left -= 1;
                    changes += 1;
                }
                Claimed::Gone => {
                    gone.push(id);
                    left -= 1;
                    changes += 1;
                }
                Claimed::No => {}
            }
            next = following
                .and_then(|from| group.pending().range(from..).next())
                .map(|(&id, _)| id);
        }
        std::mem::swap(&mut rows, lent.reply);
        lent.reply.array(3);
        ids::write(lent.reply, next.unwrap_or(StreamId::MIN));
        lent.reply.array(claimed);
        lent.reply.raw(rows.as_bytes());
        lent.reply.array(gone.len());
        for id in gone {
            ids::write(lent.reply, id);
        }
        changes
    }
}
