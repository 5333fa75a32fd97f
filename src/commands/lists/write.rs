//! Commands that push to lists, pop from them and edit them.

use super::{end_named, limits, write_elements};
use crate::commands::numbers::{count, integer, position, positive, range, symmetric};
use crate::engine::ctx::{Lent, WriteCtx};
use crate::engine::notify::EventClass;
use crate::engine::spec::Handled;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::store::decimal::Scratch;
use crate::store::list::{End, List};

fn push_event(end: End) -> &'static str {
    match end {
        End::Front => "lpush",
        End::Back => "rpush",
    }
}

fn pop_event(end: End) -> &'static str {
    match end {
        End::Front => "lpop",
        End::Back => "rpop",
    }
}

pub fn lpush(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    ctx.upsert::<List, ()>(args.arg(1), |list, lent| push(list, lent, End::Front, args))
}

pub fn rpush(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    ctx.upsert::<List, ()>(args.arg(1), |list, lent| push(list, lent, End::Back, args))
}

pub fn lpushx(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    push_if_present(ctx, End::Front, args)
}

pub fn rpushx(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    push_if_present(ctx, End::Back, args)
}

fn push_if_present(ctx: &mut WriteCtx<'_>, end: End, args: Args<'_>) -> Handled {
    let pushed = ctx.update::<List, ()>(args.arg(1), |list, lent| push(list, lent, end, args))?;
    if pushed.is_none() {
        ctx.reply.integer(0);
    }
    Ok(())
}

fn push(list: &mut List, lent: &mut Lent<'_>, end: End, args: Args<'_>) {
    let elements = args.from(2);
    list.extend(end, elements.iter(), limits(lent.settings));
    lent.changed(elements.len() as u64);
    lent.event(EventClass::LIST, push_event(end));
    lent.reply.integer(list.len() as i64);
}

pub fn lpop(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    pop(ctx, args, End::Front, "lpop")
}

pub fn rpop(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    pop(ctx, args, End::Back, "rpop")
}

fn pop(ctx: &mut WriteCtx<'_>, args: Args<'_>, end: End, command: &str) -> Handled {
    if args.len() > 3 {
        return Err(CommandError::wrong_arity(command));
    }
    let wanted = match args.get(2) {
        Some(text) => Some(count(text, CommandError::NotPositive)?),
        None => None,
    };
    let popped = ctx.update::<List, ()>(args.arg(1), |list, lent| match wanted {
        None => pop_one(list, lent, end),
        Some(0) => lent.reply.array(0),
        Some(wanted) => pop_some(list, lent, end, wanted),
    })?;
    match (popped, wanted) {
        (Some(()), _) => {}
        (None, None) => ctx.reply.null(),
        (None, Some(_)) => ctx.reply.null_array(),
    }
    Ok(())
}

/// Answers with the element at one end and removes it.
pub fn pop_one(list: &mut List, lent: &mut Lent<'_>, end: End) {
    if let Some(element) = list.peek(end) {
        lent.reply.bulk(element);
    }
    drop_popped(list, lent, end, 1);
}

/// Answers with up to `wanted` elements from one end on and removes them.
pub fn pop_some(list: &mut List, lent: &mut Lent<'_>, end: End, wanted: usize) {
    let wanted = wanted.min(list.len());
    match end {
        End::Front => write_elements(lent.reply, list.range(0, wanted)),
        End::Back => write_elements(lent.reply, list.range_back(list.len() - 1, wanted)),
    }
    drop_popped(list, lent, end, wanted);
}

fn drop_popped(list: &mut List, lent: &mut Lent<'_>, end: End, count: usize) {
    list.drop_end(end, count, limits(lent.settings));
    lent.changed(count as u64);
    lent.event(EventClass::LIST, pop_event(end));
}

/// What LMPOP and BLMPOP have behind the number of keys.
pub struct MultiPop<'a> {
    pub keys: Args<'a>,
    pub end: End,
    pub count: usize,
}

impl<'a> MultiPop<'a> {
    pub fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let keys = positive(args.arg(0), "ERR numkeys should be greater than 0")?;
        let rest = args.from(keys.saturating_add(1));
        let end = end_named(rest.get(0).ok_or(CommandError::Syntax)?)?;
        let mut count = None;
        let mut words = rest.from(1).iter();
        while let Some(word) = words.next() {
            if !word.eq_ignore_ascii_case(b"COUNT") || count.is_some() {
                return Err(CommandError::Syntax);
            }
            let text = words.next().ok_or(CommandError::Syntax)?;
            count = Some(positive(text, "ERR count should be greater than 0")?);
        }
        Ok(MultiPop {
            keys: args.from(1).first(keys),
            end,
            count: count.unwrap_or(1),
        })
    }

    /// Pops from the first list that exists; false if there is none.
    pub fn run(&self, ctx: &mut WriteCtx<'_>) -> Result<bool, CommandError> {
        for key in self.keys {
            let popped = ctx.update::<List, usize>(key, |list, lent| {
                lent.reply.array(2);
                lent.reply.bulk(key);
                let before = list.len();
                pop_some(list, lent, self.end, self.count);
                before - list.len()
            })?;
            if let Some(popped) = popped {
                let mut scratch = Scratch::default();
                let command: &[u8] = if self.end == End::Front {
                    b"LPOP"
                } else {
                    b"RPOP"
                };
                ctx.effect(&[command, key, scratch.print(popped as i64)]);
                return Ok(true);
            }
        }
        Ok(false)
    }
}

pub fn lmpop(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    if !MultiPop::parse(args.from(1))?.run(ctx)? {
        ctx.reply.null_array();
    }
    Ok(())
}

pub fn lset(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let (index, element) = (args.arg(2), args.arg(3));
    let handled = ctx.update::<List, Handled>(args.arg(1), |list, lent| {
        // Redis keeps the low 32 bits of this index, alone of all commands.
        let index = i64::from(integer(index)? as i32);
        let limits = limits(lent.settings);
        list.make_room(element, limits);
        let index = position(index, list.len()).ok_or(CommandError::OutOfRange)?;
        list.replace(index, element, limits);
        lent.changed(1);
        lent.event(EventClass::LIST, "lset");
        lent.reply.ok();
        Ok(())
    })?;
    handled.unwrap_or(Err(CommandError::NoSuchKey))
}

pub fn linsert(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let after = match args.arg(2) {
        word if word.eq_ignore_ascii_case(b"AFTER") => true,
        word if word.eq_ignore_ascii_case(b"BEFORE") => false,
        _ => return Err(CommandError::Syntax),
    };
    let (pivot, element) = (args.arg(3), args.arg(4));
    let inserted = ctx.update::<List, ()>(args.arg(1), |list, lent| {
        let limits = limits(lent.settings);
        list.make_room(element, limits);
        let Some(index) = list.iter().position(|other| other == pivot) else {
            lent.reply.integer(-1);
            return;
        };
        list.insert(index, after, element, limits);
        lent.changed(1);
        lent.event(EventClass::LIST, "linsert");
        lent.reply.integer(list.len() as i64);
    })?;
    if inserted.is_none() {
        ctx.reply.integer(0);
    }
    Ok(())
}

pub fn lrem(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let wanted = symmetric(args.arg(2))?;
    let from = if wanted < 0 { End::Back } else { End::Front };
    let max = match wanted {
        0 => usize::MAX,
        _ => usize::try_from(wanted.unsigned_abs()).unwrap_or(usize::MAX),
    };
    let removed = ctx.update::<List, usize>(args.arg(1), |list, lent| {
        let removed = list.remove_matching(args.arg(3), max, from, limits(lent.settings));
        if removed > 0 {
            lent.changed(removed as u64);
            lent.event(EventClass::LIST, "lrem");
        }
        removed
    })?;
    ctx.reply.integer(removed.unwrap_or(0) as i64);
    Ok(())
}

pub fn ltrim(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let (start, stop) = (integer(args.arg(2))?, integer(args.arg(3))?);
    ctx.update::<List, ()>(args.arg(1), |list, lent| {
        let limits = limits(lent.settings);
        let len = list.len();
        let (first, kept) = range(start, stop, len).unwrap_or((len, 0));
        list.remove_range(first + kept, len, limits);
        list.remove_range(0, first, limits);
        lent.changed((len - kept) as u64);
        lent.event(EventClass::LIST, "ltrim");
    })?;
    ctx.reply.ok();
    Ok(())
}

pub fn lmove(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let (from, to) = (end_named(args.arg(3))?, end_named(args.arg(4))?);
    move_or_null(ctx, args, from, to)
}

pub fn rpoplpush(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    move_or_null(ctx, args, End::Back, End::Front)
}

fn move_or_null(ctx: &mut WriteCtx<'_>, args: Args<'_>, from: End, to: End) -> Handled {
    if !move_element(ctx, args.arg(1), args.arg(2), from, to)? {
        ctx.reply.null();
    }
    Ok(())
}

/// Moves an element and answers with it; false if there is none.
pub fn move_element(
    ctx: &mut WriteCtx<'_>,
    source: &[u8],
    destination: &[u8],
    from: End,
    to: End,
) -> Result<bool, CommandError> {
    let Some(element) = ctx.read::<List>(source)?.and_then(|list| list.peek(from)) else {
        return Ok(false);
    };
    let element = element.to_vec();
    if source == destination {
        ctx.update::<List, ()>(source, |list, lent| {
            let limits = limits(lent.settings);
            list.rotate(from, to, limits);
            lent.changed(1);
            lent.event(EventClass::LIST, push_event(to));
            lent.event(EventClass::LIST, pop_event(from));
        })?;
    } else {
        ctx.upsert::<List, ()>(destination, |list, lent| {
            list.push(to, &element, limits(lent.settings));
            lent.changed(1);
            lent.event(EventClass::LIST, push_event(to));
        })?;
        ctx.update::<List, ()>(source, |list, lent| drop_popped(list, lent, from, 1))?;
    }
    ctx.reply.bulk(&element);
    Ok(true)
}
